"""What a diagnosis gets wrong goes by family; each test here is one, with cells as esxtop prints them."""

from __future__ import annotations

import pytest
from cells import capture, disk

import esxparse as ex

SAMPLES = 60
SPELL = range(20, 45)


def flat(level):
    return [level] * SAMPLES


def spell(calm, level):
    return [level if sample in SPELL else calm for sample in range(SAMPLES)]


def vm(name, number, *, vcpus=2, helper=None, **levels):
    """Worlds and group of a VM; a level is one number, or one for each sample."""
    counters = {
        "run": "% Run",
        "used": "% Used",
        "ready": "% Ready",
        "limited": "% Max Limited",
        "overlap": "% Overlap",
    }
    levels = {"run": 20.0, "used": 20.0, "ready": 0.5, **levels}
    cells = {}
    total = dict.fromkeys(levels, flat(0.0))
    for vcpu in range(vcpus):
        for short, level in levels.items():
            column = level if isinstance(level, list) else flat(level)
            cells["Vcpu", f"{number}:{name}:{number}{vcpu}:vmx-vcpu-{vcpu}:{name}", counters[short]] = column
            total[short] = [one + more for one, more in zip(total[short], column, strict=True)]
    if helper:
        for counter in ("% Run", "% Used"):
            cells["Vcpu", f"{number}:{name}:{number}9:NetWorld-VM-{number}0", counter] = helper
    return cells | {("Group Cpu", f"{number}:{name}", counters[short]): column for short, column in total.items()}


def pcpus(count, util, *, core=None, used=None):
    cells = {}
    for pcpu in range(count):
        cells["Physical Cpu", str(pcpu), "% Util Time"] = util
        cells["Physical Cpu", str(pcpu), "% Processor Time"] = used or util
        if core:
            cells["Physical Cpu", str(pcpu), "% Core Util Time"] = core
    return cells


def port(name, number, **levels):
    cells = {}
    for counter, level in levels.items():
        cells["Network Port", f"vSwitch0:{number}:{name}", counter] = level if isinstance(level, list) else flat(level)
    return cells


def diagnosed(folder, *parts):
    found = ex.diagnose(ex.open(capture(folder, {key: column for part in parts for key, column in part.items()})))
    return found, [one for one in found if one.severity != "info"]


def first(folder, *parts):
    found, told = diagnosed(folder, *parts)
    one = (told or list(found))[0]
    return one.trouble, one.entity["name"]


@pytest.fixture
def calm():
    return {key: column for number in (5, 6) for key, column in vm(f"calm{number}", number).items()}


def test_without_mlmtd_one_vm_that_is_ready_alone_waits_or_is_limited_and_that_is_a_warning(tmp_path, calm):
    found, told = diagnosed(tmp_path, calm, vm("db", 7, ready=spell(0.5, 50.0)), pcpus(8, flat(20.0)))
    assert [(one.trouble, one.severity) for one in told] == [("cpu.waiting_or_limited", "warning")]
    assert "cpu.contention" not in {one.trouble for one in found}


def test_with_mlmtd_it_is_known(tmp_path, calm):
    limited = vm("db", 7, ready=spell(0.5, 50.0), limited=spell(0.0, 49.0))
    assert first(tmp_path, calm, limited, pcpus(8, flat(20.0))) == ("cpu.limit", "db")


def test_few_counters_do_not_make_a_finding_more_likely_than_not(tmp_path):
    lone = {("Physical Disk SCSI Device", "naa.1", "Average Driver MilliSec/Command"): spell(1.0, 30.0)}
    lone["Physical Disk SCSI Device", "naa.1", "Commands/sec"] = flat(100.0)
    more = disk("naa.1", davg=spell(1.0, 30.0), iops=flat(100.0), mib_read=flat(5.0), mib_written=flat(5.0))
    more["Physical Disk SCSI Device", "naa.1", "Average Kernel MilliSec/Command"] = flat(0.01)
    alone, beside = (
        next(one for one in diagnosed(tmp_path, cells)[0] if one.trouble == "storage.array_slow")
        for cells in (lone, more)
    )
    assert alone.confidence < beside.confidence


@pytest.mark.parametrize(("vcpus", "trouble"), [(12, "numa.wide_vm"), (8, "numa.remote")])
def test_a_node_holds_as_many_vcpus_as_it_has_cores(tmp_path, vcpus, trouble):
    memory = {
        "Numa % Local": flat(60.0),
        "Numa Local Memory MBytes": flat(9600.0),
        "Numa Remote Memory MBytes": flat(6400.0),
        "Memory Size MBytes": flat(16000.0),
    }
    cells = {("Group Memory", "7:db", counter): column for counter, column in memory.items()}
    cells |= {("Numa Node", node, "Free MBytes"): flat(4000.0) for node in ("0", "1")}
    cells["Memory", "", "Machine MBytes"] = flat(131072.0)
    cells = {key: column for key, column in cells.items() if key[1]}
    assert first(tmp_path, vm("db", 7, vcpus=vcpus), pcpus(32, flat(20.0), core=flat(35.0)), cells) == (trouble, "db")


def test_a_home_node_that_keeps_changing_is_a_migration_without_nmig(tmp_path):
    home = [float(sample % 10 < 5) if sample in SPELL else 0.0 for sample in range(SAMPLES)]
    local = [60.0 if one else 99.0 for one in home]
    cells = {
        ("Group Memory", "7:db", "Numa Home Nodes"): home,
        ("Group Memory", "7:db", "Numa % Local"): local,
        ("Group Memory", "7:db", "Numa Local Memory MBytes"): [80 * one for one in local],
        ("Group Memory", "7:db", "Numa Remote Memory MBytes"): [8000 - 80 * one for one in local],
    } | {("Numa Node", node, "Free MBytes"): flat(4000.0) for node in ("0", "1")}
    assert first(tmp_path, vm("db", 7), pcpus(16, flat(20.0)), cells) == ("numa.migrations", "db")


def _path(name, iops, **errors):
    counters = {"aborts": "Aborts/sec", "resets": "Resets/sec", "failed": "Failed Commands/sec"}
    cells = {("Physical Disk Path", name, "Commands/sec"): iops}
    return cells | {("Physical Disk Path", name, counters[one]): column for one, column in errors.items()}


@pytest.mark.parametrize(("paths", "trouble"), [(2, "storage.aborts"), (1, "storage.path_flapping")])
def test_aborts_of_all_paths_are_the_device_s_and_those_of_one_are_the_path_s(tmp_path, paths, trouble):
    aborts, failed = spell(0.0, 6.0), spell(0.0, 8.0)
    davg = spell(1.0, 180.0 if paths == 2 else 12.0)
    cells = disk("naa.1", iops=flat(400.0), davg=davg, gavg=davg, failed=failed)
    cells["Physical Disk SCSI Device", "naa.1", "Aborts/sec"] = aborts
    cells["Physical Disk SCSI Device", "naa.1", "Resets/sec"] = spell(0.0, 0.4)
    for number in range(2):
        share = [one / paths if number < paths else 0.0 for one in aborts]
        cells |= _path(f"vmhba{number}:C0:T0:L1", flat(200.0), aborts=share, resets=flat(0.0), failed=share)
    cells |= _path("vmhba2:C0:T0:L2", flat(300.0), aborts=flat(0.0), resets=flat(0.0), failed=flat(0.0))
    assert first(tmp_path, cells) == (trouble, "naa.1")


def test_large_commands_of_one_job_use_the_bandwidth_and_no_read_ahead_is_missing(tmp_path):
    cells = disk("naa.1", iops=spell(20.0, 146.0), davg=spell(1.0, 215.0), mib_read=spell(1.0, 73.0))
    cells |= disk("naa.1", mib_written=flat(0.5), reads=spell(10.0, 140.0), writes=flat(6.0))
    cells["Physical Disk SCSI Device", "naa.1", "Average Driver MilliSec/Read"] = spell(1.0, 220.0)
    cells["Physical Disk SCSI Device", "naa.1", "Average Driver MilliSec/Write"] = flat(1.0)
    cells["Physical Disk SCSI Device", "naa.1", "Active Commands"] = spell(0.0, 31.0)
    assert first(tmp_path, cells) == ("storage.bandwidth", "naa.1")


def test_an_uplink_without_a_cable_is_not_one_that_comes_and_goes(tmp_path):
    up = port("vmnic0", 1, **{"Link Up?": 1.0, "Link Speed (Mb/s)": 10000.0, "MBits Transmitted/sec": 300.0})
    down = port("vmnic1", 2, **{"Link Up?": 0.0, "Link Speed (Mb/s)": 0.0, "MBits Transmitted/sec": 0.0})
    assert not diagnosed(tmp_path, up, down)[1]


def test_a_lost_link_still_is(tmp_path):
    up = port("vmnic0", 1, **{"Link Up?": spell(1.0, 0.0), "MBits Transmitted/sec": spell(300.0, 0.0)})
    assert first(tmp_path, up) == ("network.link_flapping", "vmnic0")


def test_drops_of_a_physical_card(tmp_path):
    rates = {"Packets Received/sec": spell(20000.0, 400000.0), "% Received Packets Dropped": spell(0.0, 6.0)}
    card = port("vmnic0", 1, **{"Link Up?": 1.0, "Link Speed (Mb/s)": 10000.0, "MBits Received/sec": 3000.0}, **rates)
    assert first(tmp_path, card) == ("network.uplink_drops", "vmnic0")


def test_a_flood_of_broadcasts_is_not_harmless(tmp_path, calm):
    cells = {}
    for number in (5, 6):
        rates = {"Packets Received/sec": spell(500.0, 20500.0), "Broadcast Packets Received/sec": spell(2.0, 20000.0)}
        cells |= port(f"10{number}:calm{number}", number, **rates, **{"% Received Packets Dropped": spell(0.0, 3.0)})
    assert first(tmp_path, calm, cells) == ("network.broadcasts", "host")


@pytest.mark.parametrize(
    ("levels", "trouble"),
    [
        ({"helper": spell(1.0, 90.0)}, "cpu.helper_world"),
        ({"overlap": spell(0.2, 22.0), "run": flat(60.0)}, "cpu.overlap"),
    ],
)
def test_a_full_helper_world_and_overlap_are_told(tmp_path, calm, levels, trouble):
    assert first(tmp_path, calm, vm("web", 7, **levels), pcpus(16, flat(20.0))) == (trouble, "web")


def test_one_full_vcpu_of_four(tmp_path, calm):
    cells = vm("web", 7, vcpus=4)
    cells["Vcpu", "7:web:70:vmx-vcpu-0:web", "% Run"] = spell(20.0, 98.0)
    assert first(tmp_path, calm, cells, pcpus(16, flat(20.0))) == ("guest.one_vcpu", "web")


def test_a_process_of_the_host(tmp_path, calm):
    hostd = {("Group Cpu", "90:hostd.66694", counter): spell(1.0, 150.0) for counter in ("% Run", "% Used")}
    assert first(tmp_path, calm, hostd, pcpus(4, spell(20.0, 57.0))) == ("cpu.host_group", "host")


@pytest.mark.parametrize("core", [None, spell(30.0, 84.0)])
def test_clocks_are_low_if_vms_are_charged_half_of_what_they_run(tmp_path, core):
    run, used = spell(20.0, 70.0), spell(20.0, 33.0)
    busy = {
        key: column for number in range(5, 9) for key, column in vm(f"v{number}", number, run=run, used=used).items()
    }
    cells = pcpus(16, spell(16.0, 60.0), core=core, used=spell(15.0, 27.0))
    assert first(tmp_path, busy, cells) == ("power.p_states", "host")


def test_hyper_threads_that_share_their_cores_are_no_slow_clock(tmp_path):
    run, used = spell(20.0, 70.0), spell(20.0, 49.0)
    busy = {
        key: column for number in range(5, 9) for key, column in vm(f"v{number}", number, run=run, used=used).items()
    }
    cells = pcpus(16, spell(16.0, 60.0), core=spell(30.0, 84.0), used=spell(15.0, 42.0))
    assert not [one for one in diagnosed(tmp_path, busy, cells)[0] if one.trouble == "power.p_states"]


def test_a_c_state_that_the_host_never_enters_is_not_its_deep_sleep(tmp_path):
    cells = {}
    for pcpu in range(4):
        state = f"PCPU {pcpu}"
        columns = {"C0": flat(15.0), "C1": spell(5.0, 84.0), "C2": spell(80.0, 1.0), "C3": flat(0.0)}
        cells |= {("PCPU Power State", state, f"%C-State {name}"): column for name, column in columns.items()}
    assert first(tmp_path, cells) == ("power.c_states", "host")
