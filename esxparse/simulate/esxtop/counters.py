"""Counters of every esxtop object in the order esxtop writes them.

Evidence: real captures of ESXi 6.0 and 6.5 for order, spelling and number of decimals. Assumed: the place of
`Numa Node` and `Physical Disk NFS Volume` among the objects, `% of aperf/mperf` as the last counter of
`PCPU Power State` (6.7), and which counters stand in a capture with default fields (without `-a`).

A line of a list is `kind default name`: kind `i` for whole numbers, `f` for two decimals; `*` for counters that a
capture with default fields has too, `-` for those it has not.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["COUNTERS", "Counter"]


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter: its name as written, whether it is a whole number, and whether default fields include it."""

    name: str
    whole: bool
    default: bool


def _counters(text: str) -> tuple[Counter, ...]:
    rows = [line.split(" ", 2) for line in map(str.strip, text.splitlines()) if line]
    return tuple(Counter(name, kind == "i", default == "*") for kind, default, name in rows)


_WORLD_STATES = """
    f * % Used
    f * % Run
    f * % System
    f * % Wait
    f * % VmWait
    f * % Ready
    f * % Idle
    f * % Overlap
    f * % CoStop
    f * % Max Limited
    f * % Swap Wait
    f - Switches/sec
    f - Migrates/sec
    f - Quantum Expires/sec
    f - Wakeups/sec
    i - Alloc Min
    i - Alloc Max
    i - Alloc Shares
    i - Alloc Min Limited
    f - % CPU Latency
    f - % Memory Latency
    i - % Demand
    i - Effective Min (MHz)
"""
_IO = """
    f * Commands/sec
    f * Reads/sec
    f * Writes/sec
    f * MBytes Read/sec
    f * MBytes Written/sec
"""
_LATENCY = """
    f * Average Driver MilliSec/Command
    f * Average Kernel MilliSec/Command
    f * Average Guest MilliSec/Command
    f * Average Queue MilliSec/Command
    f - Average Driver MilliSec/Read
    f - Average Kernel MilliSec/Read
    f - Average Guest MilliSec/Read
    f - Average Queue MilliSec/Read
    f - Average Driver MilliSec/Write
    f - Average Kernel MilliSec/Write
    f - Average Guest MilliSec/Write
    f - Average Queue MilliSec/Write
"""
_RESERVES = """
    f - Reserves/sec
    f - Conflicts/sec
"""
_ERRORS = """
    f - Failed Commands/sec
    f - Failed Reads/sec
    f - Failed Writes/sec
    f - Failed Bytes Read/sec
    f - Failed Bytes Written/sec
    f - Failed Reserves/sec
    f - Aborts/sec
    f - Resets/sec
"""
_COPIES = """
    f - PAE Commands/sec
    f - PAE Copies/sec
    f - Split Commands/sec
    f - Split Copies/sec
"""
_QUEUES = """
    i * Device Q Depth
    i * World Q Depth
    i * Active Commands
    i * Queued Commands
    f * % Used
    f * Load
"""

_TEXT = {
    "Memory/overcommit": """
    f * Memory Overcommit (1 Minute Avg)
    f * Memory Overcommit (5 Minute Avg)
    f * Memory Overcommit (15 Minute Avg)
""",
    "Physical Cpu Load": """
    f * Cpu Load (1 Minute Avg)
    f * Cpu Load (5 Minute Avg)
    f * Cpu Load (15 Minute Avg)
""",
    "Physical Cpu/used": "f * % Processor Time",
    "Physical Cpu/util": "f * % Util Time",
    "Physical Cpu/core": "f * % Core Util Time",
    "Memory": """
    i * Machine MBytes
    i * Kernel MBytes
    i * NonKernel MBytes
    i * Free MBytes
    i * Kernel Managed MBytes
    i * Kernel MinFree MBytes
    i * Kernel Reserved MBytes
    i * Kernel Unreserved MBytes
    i * Kernel State
    i * PShare Shared MBytes
    i * PShare Common MBytes
    i * PShare Savings MBytes
    i * Swap Used MBytes
    i * Swap Target MBytes
    f * Swap MBytes Read/sec
    f * Swap MBytes Write/sec
    i * Total Compressed MBytes
    i * Total Saved By Compression MBytes
    i * Memctl Current MBytes
    i * Memctl Target MBytes
    i * Memctl Max MBytes
""",
    "Numa Node": """
    f - % Processor Time
    i * Free MBytes
""",
    "Power": """
    i - Power Usage Now Watts
    i - Power Usage Cap Watts
""",
    "Power/p-state": "i - P-State MHZ",
    "VSAN": "i - Enabled?",
    "Group Cpu": "i * Members" + _WORLD_STATES + "f - Timers/sec\ni - Power Usage Watts",
    "Vcpu": _WORLD_STATES + "i - Physical Cpu",
    "Group Memory": """
    i * Members
    i - Alloc Min
    i - Alloc Max
    i - Alloc Shares
    i - Alloc Min Limited
    i - Numa Home Nodes
    i - Numa Rebalance Count Delta
    f - Numa Remote Memory MBytes
    f - Numa Local Memory MBytes
    i - Numa % Local
    f * Memory Size MBytes
    f * Memory Granted Size MBytes
    f * Memory Consumed Size MBytes
    f * Target Size MBytes
    f * Touched MBytes
    f - Touched Write MBytes
    i * % Active Estimate
    i - % Active Slow Estimate
    i - % Active Fast Estimate
    i - % Active Next Estimate
    i * Memctl?
    f * Memctl MBytes
    f * Memctl Target MBytes
    f * Memctl Max MBytes
    f * Swapped MBytes
    f * Swap Target MBytes
    f * Swap Read MBytes/sec
    f * Swap Written MBytes/sec
    f * Llswap Read MBytes/sec
    f * Llswap Written MBytes/sec
    f - Checkpoint Read MBytes
    f - Checkpoint Target MBytes
    f - Zero MBytes
    f - Shared MBytes
    f - Shared Saved MBytes
    f - Copy On Write Hint MBytes
    f * Overhead UW MBytes
    f * Overhead MBytes
    f * Overhead Max MBytes
    f - Min Commit Target MBytes
    f - Commit Target MBytes
    f - Commit Charged MBytes
    i - Commit Pages Per Share
    f - Compressed Memory MBytes
    f - Used Compressed Memory MBytes
    f - Compression MBytes/sec
    f - Decompression MBytes/sec
""",
    "Physical Disk/adapter": "i - Adapter Q Depth",
    "Physical Disk Adapter": _IO + _RESERVES + _LATENCY + _ERRORS + _COPIES,
    "Physical Disk": "i - Adapter Q Depth" + _IO + _RESERVES + _LATENCY + _ERRORS + _COPIES,
    "Physical Disk Path": _IO + _RESERVES + _LATENCY + _ERRORS + _COPIES,
    "Physical Disk SCSI Device": _QUEUES
    + _IO
    + _RESERVES
    + _LATENCY
    + _ERRORS
    + """
    i - CReads
    i - CWrites
    i - CFailed
    f - MBytes CReads/sec
    f - MBytes CWrites/sec
    i - ATS
    i - ATS Failed
    i - Zeros
    i - Zeros Failed
    f - MBytes Zeroed/sec
    i - Delete
    i - Deletes Failed
    f - MBytes Deletes/sec
    f - Average Success Latency ms/Clone
    f - Average Failure Latency ms/Clone
    f - Average Success Latency ms/ATS
    f - Average Failure Latency ms/ATS
    f - Average Success Latency ms/Zero
    f - Average Failure Latency ms/Zero
""",
    "Physical Disk Per-Device-Per-World": "i - Shares" + _QUEUES + _IO + _RESERVES + _LATENCY + _ERRORS,
    "Physical Disk Partition": _IO + _LATENCY,
    "Physical Disk NFS Volume": "i * Active Commands"
    + _IO
    + """
    f * Average Guest MilliSec/Command
    f * Average Guest MilliSec/Read
    f * Average Guest MilliSec/Write
    f - Failed Commands/sec
    f - Failed Reads/sec
    f - Failed Writes/sec
    f - Failed MBytes Read/sec
    f - Failed MBytes Written/sec
    f - Failed Reserves/sec
    f - Aborts/sec
    f - Resets/sec
""",
    "Virtual Disk": """
    i - FailedIOs
    i - TotalIOs
    i - Latency
"""
    + _IO
    + """
    f * Average MilliSec/Read
    f * Average MilliSec/Write
""",
    "Network Port": """
    i - Link Up?
    i - Link Speed (Mb/s)
    i - Full Duplex?
    f * Packets Transmitted/sec
    f * MBits Transmitted/sec
    f * Average Packet Size  Transmitted (Bytes)
    f * Packets Received/sec
    f * MBits Received/sec
    f * Average Packet Size  Received (Bytes)
    f * % Outbound Packets Dropped
    f * % Received Packets Dropped
    f - Actions Posted/sec
    f - Multicast Packets Transmitted/sec
    f - Multicast Packets Received/sec
    f - Broadcast Packets Transmitted/sec
    f - Broadcast Packets Received/sec
""",
    "Interrupt Cookie": """
    f * Interrupts/second
    f * Processing Time MicroSec/Interrupt
""",
}

COUNTERS: dict[str, tuple[Counter, ...]] = {key: _counters(text) for key, text in _TEXT.items()}
"""Counters by object; where an object's instances differ, or it stands in several runs, a part follows a `/`."""
