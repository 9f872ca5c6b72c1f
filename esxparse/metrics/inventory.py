"""The VMs of a capture, and the kind of each world.

esxtop groups worlds (VMkernel threads). A VM is a group that has vCPU worlds: `vmx-vcpu-0:NAME` since ESXi 5,
`vcpu-0:NAME` and `vmm0:NAME` on ESX 3.5 and 4. Its name is free text: only `group_id` identifies a group.

Source: instances of real captures of ESXi 6.0 and 6.5; "Interpreting esxtop Statistics", section 2.1.
"""

from __future__ import annotations

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.worlds import IDLE_WORLD

from .frames import finite, first_true

KINDS = ("vcpu", "vm helper", "idle", "system")

# ESX 3.5 and 4 have the monitor's world of a vCPU, `vmmN:NAME`, besides its `vcpu-N` world.
WORLD_OF_VCPU = r"^(?:(?:vmx-)?vcpu-|vmm)(\d+)(?::|$)"
_HELPER_WORLD = r"^(?:vmx(?:$|-)|vmast\.\d+$|(?:PVSCSI|LSI)-\d+:\d+$|NetWorld-VM-\d+$)"


def vcpu_number() -> pl.Expr:
    """Return the N of a vCPU world (`vmx-vcpu-N:...`, `vcpu-N:...`, `vmmN:...`) as Int64, null for other worlds.

    Needs column `world`.
    """
    return pl.col("world").str.extract(WORLD_OF_VCPU, 1).cast(pl.Int64)


def vcpu_worlds(vcpu: pl.LazyFrame, name: str) -> pl.LazyFrame:
    """Keep the worlds of vCPUs, in their order, and add the number of each (`vcpu_number`) as the column `name`.

    Needs column `world`. The number is parsed once per world, not in each sample.

    >>> worlds = pl.LazyFrame({"time": [0, 0, 1, 1], "world": ["vmx", "vmx-vcpu-3:db"] * 2})
    >>> vcpu_worlds(worlds, "vcpu").collect().rows()
    [(0, 'vmx-vcpu-3:db', 3), (1, 'vmx-vcpu-3:db', 3)]
    """
    numbers = vcpu.select("world").unique().with_columns(vcpu_number().alias(name))
    return vcpu.join(numbers.filter(pl.col(name).is_not_null()), on="world", maintain_order="left")


def world_kind() -> pl.Expr:
    """Return the kind of each world of a `vcpu` table: one of `KINDS`, never null for a named world.

    vcpu        a virtual CPU of a VM
    vm helper   any other world of a VM: vmx, vmx-mks, vmx-svga, vmx-vthread, vmast, NetWorld-VM, PVSCSI, LSI ...
    idle        the idle loop of a physical CPU, which is busy when the host is not
    system      the rest: kernel worlds, drivers, daemons, shells

    Needs columns `group_id`, `group`, `world`. Looks at all rows of a group, so call it before filtering worlds. A
    helper whose VM has no vCPU world in the capture (powered off in the first samples) is recognised by its own name.

    >>> worlds = pl.LazyFrame({
    ...     "group_id": [1, 1, 7, 7],
    ...     "group": ["system", "system", "db: (1)", "db: (1)"],
    ...     "world": ["idle0", "NetEventWorld", "vmx-vcpu-0:db: (1)", "vmast.480214"],
    ... })
    >>> worlds.select(world_kind()).collect().to_series().to_list()
    ['idle', 'system', 'vcpu', 'vm helper']
    """
    world = pl.col("world")
    is_vcpu = world.str.contains(WORLD_OF_VCPU)
    # Groups of a damaged instance have no id; do not mistake them for one VM.
    of_a_vm = is_vcpu.any().over("group_id") & pl.col("group_id").is_not_null()
    idle = world.str.contains(IDLE_WORLD) | (pl.col("group") == "idle")
    helper = world.str.contains(_HELPER_WORLD)
    cases = (is_vcpu, "vcpu"), (of_a_vm, "vm helper"), (idle, "idle"), (helper, "vm helper")
    return first_true(*cases, otherwise="system").alias("kind")


def only_kinds(vcpu: pl.LazyFrame, *kinds: str) -> pl.LazyFrame:
    """Keep the worlds of the given kinds and add their kind as the column `kind`.

    Use it to exclude idle and helper worlds from a ranking: `only_kinds(vcpu, "vcpu")`.
    Needs columns `group_id`, `group`, `world`; returns all columns and `kind`.

    Raises EsxparseError: A kind is not in `KINDS`, or there are no kinds.

    >>> worlds = pl.LazyFrame({
    ...     "group_id": [1, 7], "group": ["system", "db"], "world": ["idle0", "vmx-vcpu-0:db"], "pct_used": [99.0, 2.0],
    ... })
    >>> only_kinds(worlds, "vcpu").collect().select("world", "pct_used", "kind").rows()
    [('vmx-vcpu-0:db', 2.0, 'vcpu')]
    """
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds:
        what = f"unknown kind of world {unknown[0]!r}" if unknown else "no kind of world given"
        raise EsxparseError(f"{what}: choose from {', '.join(repr(kind) for kind in KINDS)}")
    return vcpu.with_columns(world_kind()).filter(pl.col("kind").is_in(kinds))


def vms(vcpu: pl.LazyFrame) -> pl.LazyFrame:
    """List the VMs of a capture with the number of their vCPUs, one row per VM.

    Needs columns `group_id`, `group`, `world`. Returns, sorted by name and then id:

    group_id  i64  id of the VM's group
    vm        str  name of the VM, which is the name of its group
    vcpus     i64  number of virtual CPUs, 1 or more

    `vcpus` is the highest N of `vmx-vcpu-N:...` plus 1, not the number of worlds: ESX 3.5 and 4 show a `vmm` and a
    `vcpu` world per vCPU, and part of a capture may miss some worlds.

    >>> worlds = pl.LazyFrame({
    ...     "group_id": [1, 7, 7, 7, 9, 9],
    ...     "group": ["system", "db", "db", "db", "old", "old"],
    ...     "world": ["idle0", "vmx", "vmx-vcpu-0:db", "vmx-vcpu-1:db", "vcpu-0:old", "vmm0:old"],
    ... })
    >>> vms(worlds).collect().rows()
    [(7, 'db', 2), (9, 'old', 1)]
    """
    vcpu = finite(vcpu)
    return (
        vcpu.select("group_id", "group", "world")
        .unique(maintain_order=True)
        .with_columns(vcpu_number().alias("number"))
        .filter(pl.col("number").is_not_null() & pl.col("group_id").is_not_null())
        .group_by("group_id")
        .agg(pl.col("group").min().alias("vm"), (pl.col("number").max() + 1).alias("vcpus"))
        .sort("vm", "group_id")
    )


def most_at_once(vcpu: pl.LazyFrame) -> tuple[int, int]:
    """Return the numbers of VMs and of their vCPUs: the most at once, as a VM that restarts has another group.

    Needs columns `time`, `group_id`, `group`, `world`.

    >>> most_at_once(pl.LazyFrame({
    ...     "time": [0, 0, 1], "group_id": [7, 8, 9], "group": ["db", "web", "db"],
    ...     "world": ["vmx-vcpu-0:db", "vmx-vcpu-1:web", "vmx-vcpu-0:db"],
    ... }))
    (2, 3)
    """
    found = vms(vcpu).collect()
    if found["vm"].is_unique().all():
        return found.height, int(found["vcpus"].sum())
    present = vcpu.select("time", "group_id").unique().join(found.lazy(), on="group_id")
    each = present.group_by("time").agg(pl.len().alias("vms"), pl.col("vcpus").sum())
    most = each.select(pl.col("vms", "vcpus").max()).collect().row(0)
    return int(most[0]), int(most[1])


def only_vms(frame: pl.LazyFrame, vms: pl.LazyFrame) -> pl.LazyFrame:
    """Keep the rows of VM groups and add the VM's name.

    Needs `group_id` in `frame` (`group_cpu`, `group_memory`, `vcpu`) and `group_id`, `vm` in `vms` (see `vms`).
    Returns the columns of `frame`, in its order of rows, and `vm`.

    >>> group_cpu = pl.LazyFrame({"group_id": [1, 7], "group": ["system", "db"], "pct_used": [135.0, 40.0]})
    >>> found = pl.LazyFrame({"group_id": [7], "vm": ["db"], "vcpus": [2]})
    >>> only_vms(group_cpu, found).collect().rows()
    [(7, 'db', 40.0, 'db')]
    """
    return frame.join(vms.select("group_id", "vm"), on="group_id", how="inner", maintain_order="left")
