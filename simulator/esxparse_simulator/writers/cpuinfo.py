"""/proc/cpuinfo of an x86 Linux: 2.6.32 (Debian 6) and 6.1.

Evidence: arch/x86/kernel/cpu/proc.c, and the file of a machine here. What differs: 6.1 has `microcode` and `bugs`, and
prints the place of a processor always; 2.6.32 only where a socket has more than one.
Assumptions: APIC numbers count threads, cores and sockets in fields of whole bits, as VMware's virtual ones do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from esxparse.errors import EsxparseError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esxparse_simulator.writers.topology import Place, Topology

__all__ = ["Model", "Version", "lines"]

Version = Literal["2.6.32", "6.1"]

_FLAGS = (
    "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush dts mmx fxsr sse sse2 ss ht "
    "syscall nx rdtscp lm constant_tsc arch_perfmon pebs bts xtopology tsc_reliable nonstop_tsc aperfmperf pni "
    "pclmulqdq ssse3 cx16 sse4_1 sse4_2 popcnt aes hypervisor lahf_lm ida arat"
)


@dataclass(frozen=True, slots=True)
class Model:
    """A processor; the default is a Xeon of the days of vSphere 5 as its guests see it. `mhz` is its speed now."""

    name: str = "Intel(R) Xeon(R) CPU           X5650  @ 2.67GHz"
    vendor: str = "GenuineIntel"
    family: int = 6
    model: int = 44
    stepping: int = 2
    microcode: int = 0x1F
    mhz: float = 2666.761
    cache_kb: int = 12288
    flags: str = _FLAGS
    bugs: str = "cpu_meltdown spectre_v1 spectre_v2 spec_store_bypass l1tf mds swapgs itlb_multihit mmio_unknown"
    physical_bits: int = 40


def lines(machine: Topology, model: Model | None = None, version: Version = "6.1") -> Iterator[bytes]:
    """The file, one processor after another.

    Raises:
        EsxparseError: The version is not known, or the processor stands still.
    """
    if version not in get_args(Version):
        msg = f"/proc/cpuinfo of Linux {version!r} is not written here: take one of {', '.join(get_args(Version))}"
        raise EsxparseError(msg)
    known = model or Model()
    if known.mhz <= 0.0 or known.cache_kb < 0:
        msg = f"a processor of {known.mhz:g} MHz and {known.cache_kb} KB of cache: give more than 0 MHz"
        raise EsxparseError(msg)
    for place in machine.places():
        yield "".join(f"{line}\n" for line in (*_block(place, machine, known, version), "")).encode()


def _block(place: Place, machine: Topology, model: Model, version: Version) -> Iterator[str]:
    new = version == "6.1"
    yield f"processor\t: {place.cpu}"
    yield f"vendor_id\t: {model.vendor}"
    yield f"cpu family\t: {model.family}"
    yield f"model\t\t: {model.model}"
    yield f"model name\t: {model.name}"
    yield f"stepping\t: {model.stepping}"
    if new:
        yield f"microcode\t: 0x{model.microcode:x}"
    yield f"cpu MHz\t\t: {model.mhz:.3f}"
    yield f"cache size\t: {model.cache_kb} KB"
    if new or machine.cores * machine.threads > 1:
        apic = _apic(place, machine)
        yield f"physical id\t: {place.socket}"
        yield f"siblings\t: {machine.cores * machine.threads}"
        yield f"core id\t\t: {place.core}"
        yield f"cpu cores\t: {machine.cores}"
        yield f"apicid\t\t: {apic}"
        yield f"initial apicid\t: {apic}"
    yield from ("fpu\t\t: yes", "fpu_exception\t: yes", "cpuid level\t: 11", "wp\t\t: yes")
    yield f"flags\t\t: {model.flags}"
    if new:
        yield f"bugs\t\t: {model.bugs}"
    # Two loops a cycle of the time stamp counter; the kernel cuts, and does not round.
    yield f"bogomips\t: {int(model.mhz * 200.0 + 1e-6) / 100.0:.2f}"
    yield from ("clflush size\t: 64", "cache_alignment\t: 64")
    yield f"address sizes\t: {model.physical_bits} bits physical, 48 bits virtual"
    yield "power management:"


def _apic(place: Place, machine: Topology) -> int:
    threads = (machine.threads - 1).bit_length()
    cores = (machine.cores - 1).bit_length()
    return place.socket << (cores + threads) | place.core << threads | place.thread
