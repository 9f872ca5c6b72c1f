"""Series that rules judge, through rules of one's own, against arithmetic on the cells of a capture written for it."""

from __future__ import annotations

import cells
import compose
import pytest

import esxparse as ex

SAMPLES = 12
CELLS = {
    # A VM of two vCPUs and two other worlds, beside one of one vCPU.
    "Vcpu(7:db:100:vmx)": {"% Used": 3, "% Run": 4},
    "Vcpu(7:db:103:NetWorld-db)": {"% Used": 9, "% Run": 2},
    "Vcpu(7:db:101:vmx-vcpu-0:db)": {
        "% Used": 41,
        "% Run": 53,
        "% Ready": 11,
        "% Max Limited": 2,
        "% CoStop": 1.5,
        "% Swap Wait": 0.5,
        "% Overlap": 0.25,
        "% VmWait": 6,
    },
    "Vcpu(7:db:102:vmx-vcpu-1:db)": {
        "% Used": 21,
        "% Run": 24,
        "% Ready": 7,
        "% Max Limited": 1,
        "% CoStop": 2.5,
        "% Swap Wait": 1,
        "% Overlap": 0.75,
        "% VmWait": 3,
    },
    "Vcpu(9:web:200:vmx-vcpu-0:web)": {"% Used": 5, "% Run": 6, "% Ready": 1, "% Max Limited": 0, "% CoStop": 0},
    "Group Cpu(7:db)": {
        "% Used": 74,
        "% Run": 83,
        "% System": 8,
        "% Ready": 20,
        "% Max Limited": 4,
        "% CoStop": 6,
        "% Demand": 90,
        "% VmWait": 12,
        "% CPU Latency": 14,
        "Timers/sec": 300,
        "Alloc Max": 4000,
    },
    "Group Cpu(9:web)": {"% Used": 5, "% Run": 7, "% Ready": 2, "% CoStop": 1, "% Demand": 6, "Timers/sec": 11},
    "Group Cpu(1:system)": {"% Used": 13, "% Run": 70},
    "Group Cpu(2:helper)": {"% Used": 5, "% Run": 60, "Migrates/sec": 17},
    "Group Cpu(3:drivers)": {"% Used": 1, "% Run": 50},
    "Group Memory(7:db)": {
        "Memory Size MBytes": 8192,
        "Memctl MBytes": 300,
        "Memctl Target MBytes": 500,
        "Memctl Max MBytes": 900,
        "Swapped MBytes": 40,
        "Swap Target MBytes": 60,
        "Swap Read MBytes/sec": 2,
        "Swap Written MBytes/sec": 3,
        "Numa Local Memory MBytes": 3000,
        "Numa Remote Memory MBytes": 1000,
        "Target Size MBytes": 7000,
    },
    "Virtual Disk(db:scsi0:0)": {"Commands/sec": 30, "Reads/sec": 20, "Writes/sec": 10}
    | {"Average MilliSec/Read": 4, "Average MilliSec/Write": 9, "MBytes Read/sec": 2, "MBytes Written/sec": 1},
    "Virtual Disk(db:scsi0:1)": {"Commands/sec": 70, "Reads/sec": 40, "Writes/sec": 30}
    | {"Average MilliSec/Read": 7, "Average MilliSec/Write": 1, "MBytes Read/sec": 5, "MBytes Written/sec": 3},
    "Network Port(vSwitch0:33554449:444768:db)": {
        "MBits Transmitted/sec": 100,
        "MBits Received/sec": 50,
        "Packets Transmitted/sec": 900,
        "Packets Received/sec": 400,
        "% Outbound Packets Dropped": 10,
        "% Received Packets Dropped": 0,
    },
    "Network Port(vSwitch1:50331650:444769:db)": {
        "MBits Transmitted/sec": 20,
        "MBits Received/sec": 30,
        "Packets Transmitted/sec": 99,
        "Packets Received/sec": 599,
        "% Outbound Packets Dropped": 0,
        "% Received Packets Dropped": 20,
    },
    "Network Port(vSwitch0:33554434:vmnic0)": {
        "Link Up?": 1,
        "Link Speed (Mb/s)": 1000,
        "Full Duplex?": 1,
        "MBits Transmitted/sec": 500,
        "MBits Received/sec": 200,
    },
    "Network Port(vSwitch0:33554435:vmnic1)": {
        "Link Up?": 1,
        "Link Speed (Mb/s)": 100,
        "Full Duplex?": 0,
        "MBits Transmitted/sec": 30,
        "MBits Received/sec": 40,
    },
    "Network Port(vSwitch0:33554436:vmk0)": {"MBits Transmitted/sec": 5, "MBits Received/sec": 6},
    "Physical Disk SCSI Device(naa.6)": {
        "Device Q Depth": 64,
        "Active Commands": 16,
        "Queued Commands": 3,
        "Commands/sec": 100,
        "Reads/sec": 60,
        "Writes/sec": 40,
        "MBytes Read/sec": 6,
        "MBytes Written/sec": 4,
        "Average Guest MilliSec/Read": 5,
        "Average Guest MilliSec/Write": 10,
        "Aborts/sec": 0.5,
        "Resets/sec": 0.25,
    },
    "Physical Cpu(0)": {"% Util Time": 90, "% Processor Time": 80},
    "Physical Cpu(1)": {"% Util Time": 70, "% Processor Time": 60},
    "Physical Cpu(2)": {"% Util Time": 10, "% Processor Time": 9},
    "Physical Cpu(3)": {"% Util Time": 20, "% Processor Time": 19},
    "Numa Node(0)": {"% Processor Time": 70, "Free MBytes": 5000},
    "Numa Node(1)": {"% Processor Time": 14, "Free MBytes": 9000},
    "Interrupt Cookie(0x21:PCPU 0)": {},
    "PCPU Power State(PCPU 0)": {"%C-State C0": 80, "%C-State C1": 5, "%C-State C2": 15}
    | {"%P-State P0": 60, "%P-State P1": 40, "%T-State T0": 97, "%T-State T1": 3, "% of aperf/mperf": 120},
    "PCPU Power State(PCPU 1)": {"%C-State C0": 20, "%C-State C1": 30, "%C-State C2": 50}
    | {"%P-State P0": 90, "%P-State P1": 10, "%T-State T0": 99, "%T-State T1": 1, "% of aperf/mperf": 70},
    "Physical Cpu Load": {"Cpu Load (1 Minute Avg)": 1.75},
    "Memory": {"Machine MBytes": 65536, "Free MBytes": 4096, "Memctl Current MBytes": 300, "Memctl Target MBytes": 500},
}
MBIT = 1.048576
"""esxtop's megabits are of 2**20 bits."""
EXPECTED = {
    "vm": {
        # Waits are those of the worlds of vCPUs, by the number of these.
        ("ready_pct", "db"): (11 + 7) / 2,
        ("max_limited_pct", "db"): (2 + 1) / 2,
        ("costop_pct", "db"): (1.5 + 2.5) / 2,
        ("swap_wait_pct", "db"): (0.5 + 1) / 2,
        ("overlap_pct", "db"): (0.25 + 0.75) / 2,
        ("contention_pct", "db"): (11 - 2 + 7 - 1) / 2,
        ("worst_ready_pct", "db"): 11 - 2,
        ("worst_costop_pct", "db"): 2.5,
        ("vm_wait_pct", "db"): (6 + 3) / 2,
        ("vcpu_run_pct", "db"): (53 + 24) / 2,
        ("vcpu_used_pct", "db"): (41 + 21) / 2,
        ("worst_run_pct", "db"): 53,
        ("least_run_pct", "db"): 24,
        ("helper_used_pct", "db"): 9,
        ("vcpus", "db"): 2,
        # What only groups have is theirs, per vCPU; settings and rates are of the whole VM.
        ("used_pct", "db"): 74 / 2,
        ("run_pct", "db"): 83 / 2,
        ("system_pct", "db"): 8 / 2,
        ("lat_c_pct", "db"): 14 / 2,
        ("timers_per_s", "db"): 300,
        ("cpu_max_mhz", "db"): 4000,
        ("used_pct", "web"): 5,
        ("ready_pct", "web"): 1,
        ("size_mib", "db"): 8192,
        ("balloon_mib", "db"): 300,
        ("balloon_target_mib", "db"): 500,
        ("balloon_max_mib", "db"): 900,
        ("swapped_mib", "db"): 40,
        ("swap_target_mib", "db"): 60,
        ("swap_in_mib_per_s", "db"): 2,
        ("swap_out_mib_per_s", "db"): 3,
        ("numa_local_pct", "db"): 100 * 3000 / 4000,
        ("target_mib", "db"): 7000,
        # Without a row of the VM its disks are added up, and their latencies weighted by their commands.
        ("vdisk_iops", "db"): 100,
        ("vdisk_read_iops", "db"): 60,
        ("vdisk_write_iops", "db"): 40,
        ("vdisk_read_mib", "db"): 7,
        ("vdisk_write_mib", "db"): 4,
        ("vdisk_read_ms", "db"): (20 * 4 + 40 * 7) / 60,
        ("vdisk_write_ms", "db"): (10 * 9 + 30 * 1) / 40,
        ("worst_disk_ms", "db"): 9,
        ("tx_mbits", "db"): MBIT * 120,
        ("rx_mbits", "db"): MBIT * 80,
        ("tx_packets", "db"): 999,
        ("rx_packets", "db"): 999,
        ("tx_dropped_per_s", "db"): 900 * 10 / 90,
        ("rx_dropped_per_s", "db"): 599 * 20 / 80,
        # One packet a second more in each, so that an idle port has a weight.
        ("drop_tx_pct", "db"): 10 * 901 / (901 + 100),
        ("drop_rx_pct", "db"): 20 * 600 / (600 + 401),
    },
    "port": {
        ("traffic_mbits", "vmnic0"): MBIT * 500,
        ("line_pct", "vmnic0"): MBIT * 50,
        ("both_pct", "vmnic0"): MBIT * 70,
        ("line_pct", "vmnic1"): MBIT * 40,
        ("both_pct", "vmnic1"): MBIT * 70,
        ("traffic_mbits", "vmnic1"): MBIT * 40,
        ("team_mbits", "vmnic1"): 1000,
        ("speed_mbits", "vmnic1"): 100,
        ("duplex", "vmnic1"): 0,
        ("is_uplink", "vmk0"): 0,
        ("is_uplink", "vmnic0"): 1,
        ("traffic_mbits", "vmk0"): MBIT * 6,
        # At least a link of 1 Gbit/s.
        ("guessed_line_pct", "vmnic0"): MBIT * 50,
        ("guessed_line_pct", "vmnic1"): MBIT * 4,
    },
    "device": {
        ("iops", "naa.6"): 100,
        ("read_mib_per_s", "naa.6"): 6,
        ("mib_per_s", "naa.6"): 10,
        ("fill_pct", "naa.6"): 25,
        ("depth", "naa.6"): 64,
        ("queued", "naa.6"): 3,
        ("aborts_per_s", "naa.6"): 0.5,
        ("resets_per_s", "naa.6"): 0.25,
        ("gavg_read_ms", "naa.6"): 5,
        ("gavg_write_ms", "naa.6"): 10,
    },
    "pcpu": {
        ("util_pct", "1"): 70,
        ("c0_pct", "0"): 80,
        ("c1_pct", "0"): 5,
        ("deepest_c_pct", "1"): 50,
        ("slowest_p_pct", "0"): 40,
        ("throttled_pct", "0"): 3,
        ("aperf_pct", "1"): 70,
    },
    "node": {("node_used_pct", "0"): 70, ("node_free_mib", "1"): 9000},
    "host": {
        ("pcpu_mean_pct", ""): (90 + 70 + 10 + 20) / 4,
        ("pcpu_max_pct", ""): 90,
        ("pcpu_min_pct", ""): 10,
        ("spread_pct", ""): 80,
        ("fullest_node_pct", ""): 80,
        ("nodes", ""): 2,
        ("load", ""): 1.75,
        ("kernel_used_pct", ""): 13 + 5 + 1,
        ("helper_used_pct", ""): 5,
        ("helper_migrates_per_s", ""): 17,
        ("vms_run_pct", ""): 90,
        ("vms_ready_pct", ""): 22,
        ("vms_costop_pct", ""): 7,
        # By the time in C0, in which a clock matters.
        ("clock_pct", ""): (120 * 80 + 70 * 20) / 100,
        ("c0_pct", ""): 50,
        ("deepest_c_pct", ""): 32.5,
        ("shallow_c_pct", ""): 17.5,
        ("slowest_p_pct", ""): 25,
        ("throttled_pct", ""): 2,
        ("deep_share_pct", ""): 100 * 32.5 / 50,
        ("machine_mib", ""): 65536,
        ("free_mib", ""): 4096,
        ("balloon_mib", ""): 300,
        ("balloon_target_mib", ""): 500,
    },
}
"""By kind, series and object."""
RULE = """
[[rule]]
id = "own.{kind}_{value}"
screen = "own"
kind = "{kind}"
value = "{value}"
unit = "%"
direction = "above"
warn = -1.0
meaning = "one value"
source = "chosen here"
"""


def judged(folder, rec, names):
    """The mean and peak of series by rules whose limits all values pass: by kind, series and object."""
    profile = folder / "own.toml"
    profile.write_text("".join(RULE.format(kind=kind, value=value) for kind, value in names))
    return {
        (one["kind"], one["rule"].removeprefix(f"own.{one['kind']}_"), "" if one["kind"] == "host" else one["name"]): (
            one["mean"],
            one["peak"],
        )
        for one in ex.diagnose(rec, profile=str(profile)).symptoms
    }


def test_the_clock_has_its_usual_step_and_how_often_it_was_set_back(tmp_path):
    seconds = [0, 5, 10, 15, 20, 60, 65, 70, 75, 80, 85, 90]
    rec = ex.open(cells.capture(tmp_path, {("Numa Node", "0", "Free MBytes"): [5.0] * 12}, seconds=seconds))
    found = judged(tmp_path, rec, [("host", "interval_s"), ("host", "steps_back"), ("host", "step_s")])
    assert found["host", "interval_s", ""] == (5.0, 5.0)
    assert found["host", "steps_back", ""] == (0.0, 0.0)
    assert found["host", "step_s", ""][1] == 40.0


def test_series_are_what_their_cells_make_of_them(tmp_path):
    columns = {(owner, counter): value for owner, counters in CELLS.items() for counter, value in counters.items()}
    rows = [[f"{value:.2f}" for value in columns.values()]] * SAMPLES
    rec = ex.open(compose.write(tmp_path, compose.text(list(columns), rows)))
    found = judged(tmp_path, rec, dict.fromkeys((kind, value) for kind, of in EXPECTED.items() for value, _ in of))
    wrong = {
        (kind, *key): (expected, found.get((kind, *key)))
        for kind, of in EXPECTED.items()
        for key, expected in of.items()
        if found.get((kind, *key)) != pytest.approx((expected, expected), abs=0.002)
    }
    assert wrong == {}
