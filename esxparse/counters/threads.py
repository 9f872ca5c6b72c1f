"""What two busy hyper-threads of a core are charged: one rule for metrics and simulator.

A core of two threads is two PCPUs. While one thread runs and the other rests, the running one is charged all its time,
scaled by the clock. While both run, the two kinds of counters part:

PCPU    `% Processor Time` of `Physical Cpu` and `Numa Node`, PCPU USED(%): half each, so a core is charged 100 % of
        one core at its nominal clock, and no more: its two PCPUs add up to CORE UTIL(%) x clock. The sum over PCPUs is
        in percent of cores.
WORLD   `% Used` of `Vcpu` and `Group Cpu`, %USED: 62.5 % each, as two threads are taken to do 1.25 of one's work; the
        other 37.5 % are in `% CPU Latency`. The sum over worlds is up to a quarter more than that over PCPUs.

No release is known to differ: the halves are told of ESX 4 and of ESXi 7 and 8, the 62.5 % of ESXi 7 and 8; for worlds
of older releases they are assumed. Before ESXi 7.0 U3 %USED of worlds that often move between PCPUs may be too low, by
a fault whose size nobody states (KB 335065).

Sources: S. Drummonds, "Processor Utilization Calculations" (vPivot, April 2010: two threads running fully, `% Processor
Time` 50 %); I. Rahabok, "VMware vSphere Metrics", on hosts ("Used splits the Utilization into 2 when both threads are
running") and on VMs against hosts (24 vCPUs on 12 cores: Used of the VM rises from 240,000 to 300,000 ms while the
usage of the host stays at 100 %); Broadcom KB 335065 ("a flat 25% throughput benefit"). The capture of ESXi 6.5 that
was at hand has no hyper-threads: it cannot tell.
"""

from __future__ import annotations

from typing import Final

PCPU: Final = 0.5
"""Share of its running time that a PCPU is charged in `% Processor Time` while its sibling runs."""

WORLD: Final = 0.625
"""Share of its running time that a world is charged in `% Used` while the other thread of its core runs."""
