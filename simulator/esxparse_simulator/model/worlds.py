"""Who runs on the host: groups and their worlds, in the order esxtop lists them.

World ids count up from the first world of a release, which its data file says (`esxtop/releases`). A VM's ids follow
the pattern of real captures: the vmx world, then the leader (never listed itself, but it names
`NetWorld-VM-<leader>`, `PVSCSI-<leader>:0`, network ports and per-world disk rows), then the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esxparse_simulator.host import Scenario, Vm

Kind = Literal["idle", "system", "vmx", "net", "mks", "vcpu", "pvscsi"]


@dataclass(frozen=True, slots=True)
class World:
    """One schedulable thing. `number` counts from the release's first id; `busy` is its run time in percent."""

    number: int
    name: str
    kind: Kind
    index: int = 0
    busy: float = 0.0

    def label(self, base: int, leader: int) -> str:
        """The world's name as printed; network and disk worlds carry the id of their VM's leader."""
        return self.name.replace("{leader}", str(base + leader)) if self.kind in {"net", "pvscsi"} else self.name


@dataclass(frozen=True, slots=True)
class Group:
    """A group of worlds: a VM (`vm` is set), the VMkernel's own, or a user world process.

    `own` groups (system, helper, drivers) have no memory row; processes are named `name.<leader's id>`.
    """

    gid: int
    label: str
    worlds: tuple[World, ...]
    vm: Vm | None = None
    own: bool = False

    @property
    def leader(self) -> int:
        """Number of the world that leads: the unlisted vmm leader of a VM, else the first world."""
        return self.worlds[0].number + (1 if self.vm else 0)

    def name(self, base: int) -> str:
        """The group's name as printed for a release whose first world id is `base`."""
        return self.label if self.own or self.vm else f"{self.label}.{base + self.worlds[0].number}"


# name and run time in percent of what a quiet VMkernel runs; a few of the hundreds a real host lists
_SYSTEM = (("netCoalesce2World", 0.02), ("CmdCompl-0", 0.05))
_HELPERS = (("HELPER_MISC_QUEUE-1-0", 0.01), ("SCSI path scan helpers-38-0", 0.0))
_DRIVERS = (("AsyncTimeout", 0.0),)
_BEFORE_VMS = (
    ("hostd", ("hostd-worker", "hostd-poll"), (1.6, 0.4)),
    ("vpxa", ("vpxa",), (0.6,)),
)
_AFTER_VMS = (("esxtop", ("esxtop",), (2.4,)),)

_FIRST_PROCESS = 620  # where process worlds begin after the VMkernel's own
_FIRST_VM = 3_318


def groups_of(scenario: Scenario) -> tuple[Group, ...]:
    """Every group of the host in the order of a capture: VMkernel, processes, VMs, the session that runs esxtop."""
    vms = tuple(_vm_groups(scenario))
    last = vms[-1].worlds[-1].number if vms else _FIRST_VM
    return (
        *_own_groups(scenario.host.pcpus),
        *_processes(_BEFORE_VMS, _FIRST_PROCESS, 5_320),
        *vms,
        *_processes(_AFTER_VMS, last + 214, 52_400),
    )


def _own_groups(pcpus: int) -> Iterator[Group]:
    # idle0 comes after the worlds the boot processor starts before it can idle
    idle = [World(n, f"idle{n}", "idle", n) for n in range(1, pcpus)]
    last = World(pcpus + len(_SYSTEM), "idle0", "idle", 0)
    system = [World(pcpus + n, name, "system", busy=busy) for n, (name, busy) in enumerate(_SYSTEM)]
    yield Group(1, "system", (*idle, *system, last), own=True)
    helpers = tuple(World(pcpus + 40 + n, name, "system", busy=busy) for n, (name, busy) in enumerate(_HELPERS))
    yield Group(8, "helper", helpers, own=True)
    drivers = tuple(World(pcpus + 30 + n, name, "system", busy=busy) for n, (name, busy) in enumerate(_DRIVERS))
    yield Group(9, "drivers", drivers, own=True)


def _processes(
    rows: tuple[tuple[str, tuple[str, ...], tuple[float, ...]], ...], first: int, gid: int
) -> Iterator[Group]:
    for n, (label, names, busy) in enumerate(rows):
        start = first + 71 * n
        worlds = tuple(
            World(start + k, name, "system", busy=load) for k, (name, load) in enumerate(zip(names, busy, strict=True))
        )
        yield Group(gid + 137 * n, label, worlds)


def _vm_groups(scenario: Scenario) -> Iterator[Group]:
    number, gid = _FIRST_VM, 21_764
    for vm in scenario.vms:
        worlds = [
            World(number, "vmx", "vmx", busy=0.05),
            World(number + 2, "NetWorld-VM-{leader}", "net"),
            World(number + 4, f"vmx-mks:{vm.name}", "mks", busy=0.004),
        ]
        # ids: the PVSCSI world is made when the first vCPU runs, between vcpu-0 and vcpu-1
        controllers = sorted({disk.slot.removeprefix("scsi").partition(":")[0] for disk in vm.disks})
        first = number + 5
        after = first + 1 + len(controllers)
        ids = [first, *range(after, after + vm.vcpus - 1)]
        worlds += [World(ids[n], f"vmx-vcpu-{n}:{vm.name}", "vcpu", n) for n in range(vm.vcpus)]
        worlds += [World(first + 1 + n, f"PVSCSI-{{leader}}:{c}", "pvscsi", n) for n, c in enumerate(controllers)]
        yield Group(gid, vm.name, tuple(worlds), vm)
        number = after + vm.vcpus + 11
        gid += 975
