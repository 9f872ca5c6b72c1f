"""Memory of the host and of each VM: its use, and the amounts being reclaimed.

Sizes of ballooned, swapped and compressed memory are states that may be hours old; the rates show current activity.
MBytes are 2**20 bytes (general knowledge; the capture does not specify).
"""

from __future__ import annotations

import re

import polars as pl

from esxparse import toml

from .frames import column, finite, names, renamed

_HOST, _VM = (toml.beside(__file__, "counters.toml")["memory"][whose] for whose in ("host", "vm"))
_SWAP_RATES = {"swap_in_mib_per_s": "swap_mbytes_read_per_sec", "swap_out_mib_per_s": "swap_mbytes_write_per_sec"}
_SINCE_6 = {0: "high", 1: "clear", 2: "soft", 3: "hard", 4: "low"}
_BEFORE_6 = {0: "high", 1: "soft", 2: "hard", 3: "low"}
# 4 exists only on the newer scale.
_ON_ANY = {0: "high", 4: "low"}


def state_names(release: str | None) -> dict[int, str]:
    """Return the names of the numbers of `Kernel State` in a release.

    ESXi 6.0 put "clear" between "high" and "soft", so 1 to 3 differ before and after. Without a known release, only
    numbers with the same meaning in all releases have a name.

    `release`: text whose first number of the form `n` or `n.n` is the release ("6.5", "ESXi 6.7 or later"), or None.

    Source: high, soft, hard, low = 0..3 from "vSphere 5 ESXTOP quick overview" (Lesslhumer); "clear" since vSphere 6
    from the vSphere 6 Resource Management guide; its place in the numbers is general knowledge.

    >>> state_names("6.5")[1], state_names("ESXi 5.5")[1], state_names(None).get(1)
    ('clear', 'soft', None)
    """
    number = re.search(r"\d+(?:\.\d+)?", release or "")
    if number is None:
        return _ON_ANY
    first_with_clear = 6.0
    return _SINCE_6 if float(number.group()) >= first_with_clear else _BEFORE_6


def host(memory: pl.LazyFrame, release: str | None = None) -> pl.LazyFrame:
    """Return the host's memory under short names, one row per sample.

    Needs `time` and any of the counters of the table `memory`; `release` decides the names of states (see
    `state_names`). Returns, in input order; MiB, null if the counter is missing:

    time
    machine_mib        all memory of the machine (PMEM total)
    vmkernel_mib       used by the VMkernel
    other_mib          used by everything else: VMs and user worlds
    free_mib           free
    minfree_mib        the VMkernel reclaims memory if less is free
    balloon_mib        reclaimed from guests by ballooning (MEMCTL curr)
    swap_used_mib      swapped out by the VMkernel (SWAP curr)
    compressed_mib     compressed, by its uncompressed size (ZIP zipped)
    pshare_saved_mib   saved by page sharing (PSHARE saving)
    swap_in_mib_per_s, swap_out_mib_per_s   read from and written to the VMkernel's swap
    state              number of the memory state, 0 is the best
    state_name         "high", "clear", "soft", "hard", "low"; null if it depends on the release and that is unknown
    overcommit         ratio, 1 minute average: 0.2 means 20 % more than the host's memory is promised

    ESX 4 and older print two pairs of swap rates, first the service console's and then the VMkernel's. They also print
    two `Free MBytes`, the VMkernel's first. The function takes the VMkernel's.

    >>> table = pl.LazyFrame({"time": [0], "free_mbytes": [500.0], "kernel_state": [1.0]})
    >>> host(table, release="6.5").select("free_mib", "state", "state_name", "balloon_mib").collect().rows()
    [(500.0, 1.0, 'clear', None)]
    """
    memory = finite(memory)
    there = names(memory)
    swap = {metric: f"{counter}_2" if f"{counter}_2" in there else counter for metric, counter in _SWAP_RATES.items()}
    state = column(there, "kernel_state")
    return memory.select(
        "time",
        *renamed(there, {**_HOST, **swap}),
        state.alias("state"),
        state.cast(pl.Int64)
        .replace_strict(state_names(release), default=None, return_dtype=pl.String)
        .alias("state_name"),
        column(there, "memory_overcommit_1_minute_avg").alias("overcommit"),
    )


def vms(group_memory: pl.LazyFrame, vms: pl.LazyFrame) -> pl.LazyFrame:
    """Return the memory of each VM under short names, one row per sample and VM.

    Needs `time`, `group_id` and any of the counters in `group_memory`; `group_id`, `vm` in `vms` (`inventory.vms`).
    Returns, in the order of `group_memory`; MiB, null if the counter is missing:

    time, group_id, vm
    size_mib, granted_mib, consumed_mib    MEMSZ, GRANT, CNSM
    active_mib                             touched lately (TCHD), an estimate from samples
    balloon_mib, balloon_target_mib        MCTLSZ, MCTLTGT
    swapped_mib                            SWCUR: swapped out at some time, not a current problem by itself
    swap_in_mib_per_s, swap_out_mib_per_s  SWR/s, SWW/s: swapping now
    compressed_mib                         CACHEUSD: used part of the cache of compressed pages
    zip_mib_per_s, unzip_mib_per_s         ZIP/s, UNZIP/s: compressing now, reading compressed pages now
    shared_mib, shared_saved_mib           SHRD, SHRDSVD
    overhead_mib                           OVHD: memory that the VM needs on top
    numa_local_mib, numa_remote_mib        NLMEM, NRMEM
    numa_local_pct                         N%L, % of its memory on its home node

    On a host with one NUMA node esxtop writes 0 for all three NUMA counters. The result is null: nothing was measured.

    >>> table = pl.LazyFrame({
    ...     "time": [0, 0], "group_id": [7, 9], "memctl_mbytes": [1230.57, 0.0], "numa_pct_local": [0.0, 0.0],
    ...     "numa_local_memory_mbytes": [0.0, 0.0], "numa_remote_memory_mbytes": [0.0, 512.0],
    ... })
    >>> found = pl.LazyFrame({"group_id": [7, 9], "vm": ["db", "web"], "vcpus": [2, 1]})
    >>> vms(table, found).select("vm", "balloon_mib", "numa_local_pct").collect().rows()
    [('db', 1230.57, None), ('web', 0.0, 0.0)]
    """
    group_memory, vms = finite(group_memory), finite(vms)
    there = names(group_memory)
    local = column(there, "numa_local_memory_mbytes")
    remote = column(there, "numa_remote_memory_mbytes")
    nothing_counted = ((local + remote) == 0).fill_null(value=False)
    return group_memory.join(vms.select("group_id", "vm"), on="group_id", how="inner", maintain_order="left").select(
        "time",
        "group_id",
        "vm",
        *renamed(there, _VM),
        local.alias("numa_local_mib"),
        remote.alias("numa_remote_mib"),
        pl.when(~nothing_counted).then(column(there, "numa_pct_local")).alias("numa_local_pct"),
    )
