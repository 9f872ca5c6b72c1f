"""The .vmx of a VM, ESXi 4 to 8: `key = "value"` lines.

Evidence: keys as articles on NUMA, vPMC and MMU virtualization and VMware's documents print them; the quoting is that
of the dictionaries of open-vm-tools. Assumptions: the order of the keys and which of them are written at all; that
`numvcpus` and `cpuid.coresPerSocket` are left out where they are 1.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Literal

from esxparse.errors import EsxparseError

__all__ = ["Vm", "text"]

_OLDEST, _NEWEST = 3, 21
_MOST_VCPUS = 768


@dataclass(frozen=True, slots=True)
class Vm:
    """A VM: its size, how it is shown to the guest, and what of it was set by hand.

    `max_per_virtual_node` is `numa.vcpu.maxPerVirtualNode`; `autosized_per_node` what ESXi itself worked out and wrote
    down (`numa.autosize.vcpu.maxPerVirtualNode`). `affinity` are PCPUs, `mmu` is `hardware` for nested paging and
    `software` for shadow page tables. `more` are other settings, in their order.
    """

    name: str
    vcpus: int = 1
    memory_mb: int = 4096
    cores_per_socket: int = 1
    hardware_version: int = 8
    guest_os: str = "debian6-64"
    max_per_virtual_node: int | None = None
    autosized_per_node: int | None = None
    affinity: tuple[int, ...] = ()
    mmu: Literal["automatic", "hardware", "software"] | None = None
    vpmc: bool = False
    freeze_mode: Literal["guest", "vcpu", "hybrid"] | None = None
    more: tuple[tuple[str, str], ...] = ()


def text(vm: Vm) -> str:
    """The file.

    Raises:
        EsxparseError: There can be no such VM.
    """
    _check(vm)
    settings = {
        ".encoding": "UTF-8",
        "config.version": "8",
        "virtualHW.version": str(vm.hardware_version),
        "pciBridge0.present": "TRUE",
        "vmci0.present": "TRUE",
        "displayName": vm.name,
        "extendedConfigFile": f"{vm.name}.vmxf",
        "nvram": f"{vm.name}.nvram",
    }
    if vm.vcpus > 1:
        settings["numvcpus"] = str(vm.vcpus)
    if vm.cores_per_socket > 1:
        settings["cpuid.coresPerSocket"] = str(vm.cores_per_socket)
    settings |= {
        "memSize": str(vm.memory_mb),
        "scsi0.present": "TRUE",
        "scsi0.virtualDev": "pvscsi",
        "scsi0:0.present": "TRUE",
        "scsi0:0.deviceType": "scsi-hardDisk",
        "scsi0:0.fileName": f"{vm.name}.vmdk",
        "ethernet0.present": "TRUE",
        "ethernet0.virtualDev": "vmxnet3",
        "guestOS": vm.guest_os,
        "uuid.bios": _uuid(vm.name),
    }
    if vm.affinity:
        settings["sched.cpu.affinity"] = ",".join(map(str, vm.affinity))
    if vm.autosized_per_node is not None:
        settings["numa.autosize.vcpu.maxPerVirtualNode"] = str(vm.autosized_per_node)
    if vm.max_per_virtual_node is not None:
        settings["numa.vcpu.maxPerVirtualNode"] = str(vm.max_per_virtual_node)
    if vm.mmu is not None:
        settings["monitor.virtual_mmu"] = vm.mmu
    if vm.vpmc:
        settings["vpmc.enable"] = "TRUE"
    if vm.freeze_mode is not None:
        settings["vpmc.freezeMode"] = vm.freeze_mode
    settings |= dict(vm.more)
    return "".join(f'{key} = "{_escaped(value)}"\n' for key, value in settings.items())


def _check(vm: Vm) -> None:
    what = f"VM {vm.name!r}"
    if not vm.name or not 1 <= vm.vcpus <= _MOST_VCPUS or vm.memory_mb < 1:
        msg = f"{what} of {vm.vcpus} vCPUs and {vm.memory_mb} MB: give a name, 1 to {_MOST_VCPUS} vCPUs, some memory"
        raise EsxparseError(msg)
    if vm.cores_per_socket < 1 or vm.vcpus % vm.cores_per_socket:
        msg = (
            f"{what}: {vm.vcpus} vCPUs make no whole sockets of {vm.cores_per_socket}: take a number that divides them"
        )
        raise EsxparseError(msg)
    if not _OLDEST <= vm.hardware_version <= _NEWEST:
        msg = f"{what}: there is no hardware version {vm.hardware_version}: take {_OLDEST} to {_NEWEST}"
        raise EsxparseError(msg)
    if any(limit is not None and limit < 1 for limit in (vm.max_per_virtual_node, vm.autosized_per_node)):
        msg = f"{what}: a virtual node of no vCPU: give 1 or more"
        raise EsxparseError(msg)
    odd = next((key for key, _ in vm.more if not key or any(sign in key for sign in ' \t\n="#')), None)
    if odd is not None:
        msg = f"{what}: {odd!r} is no key of a .vmx: leave out blanks, quotes and signs"
        raise EsxparseError(msg)


def _uuid(name: str) -> str:
    """A UUID in VMware's way of writing, the same for the same name."""
    digits = "".join(f"{zlib.crc32(f'{name} {part}'.encode()):08x}" for part in range(4))
    pairs = [digits[at : at + 2] for at in range(0, len(digits), 2)]
    return f"{' '.join(pairs[:8])}-{' '.join(pairs[8:])}"


def _escaped(value: str) -> str:
    """Quotes, bars and control signs as a bar and two digits."""
    return "".join(f"|{ord(sign):02X}" if sign in '"|' or ord(sign) < ord(" ") else sign for sign in value)
