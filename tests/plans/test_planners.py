"""Planners: the examples of their sources to the digit, cases, ranges, recordings, and what they refuse."""

from __future__ import annotations

import inspect
import json

import pytest

import esxparse as ex
from esxparse import plan
from esxparse.errors import EsxparseError
from esxparse.plans.forms import NAMES
from esxparse.plans.values import Range

DATA = ex.datasets_dir()
ARTICLE = {"vms": 15, "size": 102_400, "change": 5, "rpo": 15}
"""The scenario of "vSphere Replication 6.0 - Part 2"."""


def results(found, case=""):
    return found.results[case]


def test_replication_takes_as_long_as_published():
    found = plan.replication(rate={"local": 901, "routed": 440}, **ARTICLE)
    assert [round(one["initial_sync_h"], 2) for one in found.results.values()] == [3.79, 7.76]
    assert [round(one["replication_min"], 1) for one in found.results.values()] == [11.4, 23.3]
    local = results(found, "local")
    # 15 x 102,400 MB x 5 % = 76,800 MB; spread evenly, 15 of 1,440 minutes.
    assert local["changed_mb"] == 76_800
    assert local["replication_even_min"] == pytest.approx(76_800 * 15 / 1440 / 112.625 / 60)
    assert (local["allowed_min"], local["fits"], local["fits_evenly"]) == (7.5, False, True)
    assert local["needed_mbit"] == pytest.approx(76_800 / 450 * 8)
    assert local["shortest_rpo_min"] == pytest.approx(2 * 76_800 / 112.625 / 60)
    assert "fits only if the change is spread: a day's change takes 11.4 min" in found.verdicts["local"]


@pytest.mark.parametrize(
    ("vms", "servers", "supported", "setting"),
    [
        (200, 1, True, False),
        (201, 2, True, False),
        (500, 3, True, False),
        (501, 3, True, True),
        (2000, 10, True, True),
        (2001, 11, False, True),
    ],
)
def test_replication_counts_servers(vms, servers, supported, setting):
    one = results(plan.replication(rate=901, **ARTICLE | {"vms": vms}))
    assert (one["servers"], one["supported"], one["setting_beyond_500"]) == (servers, supported, setting)


def test_compression_is_compared_as_cases():
    found = plan.replication(rate={"off": 901, "on": 600}, compression={"off": 1, "on": 2}, **ARTICLE)
    # 600 Mbit/s at 2 to 1 move 150 MB of data in a second.
    assert results(found, "on")["replication_min"] == pytest.approx(76_800 / 150 / 60)
    assert results(found, "on")["needed_mbit"] == pytest.approx(results(found, "off")["needed_mbit"] / 2)
    assert any("measured with compression on" in note for note in found.notes)


def test_mebibytes_and_a_known_change_take_the_place_of_others():
    one = results(plan.replication(vms=15, size_mib=102_400, changed=76_800, rate=901, rpo=15))
    assert one["initial_sync_h"] == pytest.approx(15 * 102_400 * 1.048576 / 112.625 / 3600)
    assert one["replication_min"] == pytest.approx(76_800 / 112.625 / 60)
    with pytest.raises(EsxparseError, match="give either change or changed, not both"):
        plan.replication(changed=1, rate=901, **ARTICLE)


def test_power_costs_as_published():
    found = plan.power(
        hosts=20, watts={"high": 230, "saving": 170}, price=0.25, climate=1.5, ready={"high": 1, "saving": 2}
    )
    assert [one["cost"] for one in found.results.values()] == [15_111, 11_169]
    assert [one["ready_ms"] for one in found.results.values()] == [200, 400]
    saving = results(found, "saving")
    assert (saving["saved"], saving["ready_more_ms"]) == (3942, 200)
    assert saving["saved_pct"] == pytest.approx(3942 / 15_111 * 100)


@pytest.mark.parametrize(
    ("ready", "costop", "met"),
    [(3.4, 0.4, True), (3.5, 0.4, False), (2, 0.5, False), (2, None, None), (4, None, False)],
)
def test_power_meets_targets_as_printed(ready, costop, met):
    one = results(plan.power(hosts=1, watts=1, price=1, climate=1, ready=ready, costop=costop))
    assert one.get("meets_targets") is met


def test_ranges_make_a_table():
    found = plan.power(hosts=20, watts=170, price="0.10..0.30", climate=(1.3, 1.5))
    # 20 x 0.17 kW x 8,760 h = 29,784 kWh.
    assert results(found)["cost"] == Range(pytest.approx(29_784 * 0.1 * 1.3), pytest.approx(29_784 * 0.3 * 1.5))
    costs = [row["cost of a year, currency"] for row in found.sensitivity]
    assert costs == pytest.approx(
        [29_784 * price * climate for price in (0.1, 0.2, 0.3) for climate in (1.3, 1.4, 1.5)]
    )
    assert "3,872 to 13,403 currency" in found.verdicts[""]
    policies = plan.power(hosts=20, watts={"high": 230, "saving": 170}, price=(0.1, 0.3), climate=1)
    # 20 x 0.06 kW x 8,760 h = 10,512 kWh, at the same price.
    assert results(policies, "saving")["saved"] == Range(pytest.approx(1051.2), pytest.approx(3153.6))
    # An RPO of 24 h is too short for some of them.
    some = plan.replication(vms=1500, size=51_200, rate="400..900", change="2..5", rpo=60)
    assert results(some)["shortest_rpo_min"] == "455 to 1,138 or none"
    assert results(some)["fits_evenly"] == "yes or no"
    assert (
        "disks for the wanted I/Os, disks" not in plan.raid(disks=4, disk_iops=(1, 2), level="5", read=0).sensitivity[0]
    )
    with pytest.raises(EsxparseError, match="give ranges for 2 inputs at most"):
        plan.power(hosts="10..20", watts="1..2", price="1..2", climate=1)


def test_links_carry_what_fits():
    found = plan.wan(link=100)
    fitting = {case: one["connections"] for case, one in found.results.items()}
    assert fitting == {
        "console, typing": 100_000 // (8 * 1400),
        "console, browsing": 100_000 // (8 * 1600),
        "console, video": 100_000 // (8 * 3000),
        "web client, Chrome": 142,  # 21 MB in 240 s
        "web client, Firefox": 115,  # 26 MB in 240 s
        "RDP": 1312,  # 2 MB in 210 s
    }
    one = results(plan.wan(link=10, share=50, rate=100, users=7))
    assert (one["connections"], one["fits"], one["needed_mbit"]) == (6, False, pytest.approx(7 * 0.8 * 2))


def test_arrays_pay_for_writes():
    one = results(plan.raid(disks=9, disk_iops=3000, level="5", read=70, wanted=20_000, block=4096))
    # 0.7 + 0.3 x 4 = 1.9 I/Os of the disks for each.
    assert one["iops"] == pytest.approx(27_000 / 1.9)
    assert (one["raw_iops"], one["read_iops"], one["write_iops"]) == (27_000, 27_000, 6750)
    assert one["overhead_pct"] == pytest.approx(100 * 0.9 / 1.9)
    assert (one["fits"], one["disks_needed"]) == (False, 13)
    assert one["mb_per_s"] == pytest.approx(27_000 / 1.9 * 4096 / 1e6)
    assert results(plan.raid(disks=4, disk_iops=100, level="10", read=0, wanted=450))["disks_needed"] == 10
    for level, disks in (("5", 2), ("6", 3), ("10", 5), ("1", 1)):
        with pytest.raises(EsxparseError, match=f"raid: disks is {disks}: RAID {level} takes"):
            plan.raid(disks=disks, disk_iops=100, level=level, read=0)


def test_a_group_of_no_preferred_size_has_a_note():
    notes = {disks: plan.raid(disks=disks, disk_iops=1, level="5", read=100).notes for disks in (5, 9, 15, 7)}
    assert [disks for disks, said in notes.items() if any("multiple of five or nine" in one for one in said)] == [7]


def test_ports_reach_the_published_line_rate():
    found = plan.pci(
        ports=2, speed=10_000, generation="2", lanes="8", tcp_options={"with": 12, "without": 0}, host_packet=9792
    )
    assert [round(one["data_mbit"]) for one in found.results.values()] == [9415, 9493]
    one = results(found, "without")
    # "Each dual-port Intel 10GbE adapter needs at least a PCI Gen 2.0 x8 to reach line rate."
    assert (one["fits"], one["lanes_needed"], one["slot_mbit"]) == (True, 8, 32_000)
    assert one["usable_mbit"] == pytest.approx(32_000 * 128 / 152)
    # "close to 10K" and "120K packets per second"
    assert one["host_packets"] == pytest.approx(120_000, rel=0.02)
    assert not results(plan.pci(ports=2, speed=10_000, generation="2", lanes="4"))["fits"]
    assert results(plan.pci(ports=2, speed=10_000, generation="3", lanes="4"))["slot_mbit"] == pytest.approx(
        31_508, abs=1
    )
    assert results(plan.pci(ports=8, speed=400_000, generation="1", lanes="1"))["lanes_needed"] is None


def test_consolidation_continues_cpu_in_a_straight_line():
    known = {"vms": 20, "cpu": 50, "idle": 10, "cpus": 16, "mhz": 2000}
    one = results(plan.consolidation(cycles_per_io=200_000, wanted_iops=40_000, **known))
    # 2 % for each VM; 40 % of 32,000 MHz are left, and 40,000 I/Os take 8,000 MHz.
    assert (one["more_at_cpu"], one["binding"]) == (20, "CPU")
    assert one["unknown"] == "response time, ready time"
    assert (one["headroom_mhz"], one["more_iops"]) == (12_800, 64_000)
    assert (one["wanted_pct"], one["traffic_fits"]) == (25, True)
    more = results(plan.consolidation(mhz_per_mbit=0.5, wanted_mbit=30_000, **known))
    assert (more["more_mbit"], more["traffic_fits"]) == (25_600, False)
    with pytest.raises(EsxparseError, match="idle is 50: give less than cpu, 50 %"):
        plan.consolidation(**known | {"idle": 50})


def test_consolidation_stops_at_the_first_limit():
    one = results(plan.consolidation(vms=400, vms_at_cpu=465, vms_at_p95=470, vms_at_ready=390))
    assert (one["more_at_cpu"], one["more_at_p95"], one["more"], one["binding"]) == (65, 70, -10, "ready time")
    passed = plan.consolidation(vms=10, cpu=20, p95=150)
    assert (results(passed)["more"], results(passed)["binding"]) == (0, "response time")
    assert passed.verdicts[""] == "no more VMs: 0 more until response time reaches its limit"


HOST = {"vms": 80, "vcpus": 160, "pcpus": 80, "util": 50, "uplink": 40, "packets": 400_000, "latency_sensitive": "no"}


def test_dense_mode_takes_all_three_thresholds():
    assert results(plan.dense_mode(**HOST))["on"]
    for name, below in (("vms", 79), ("vcpus", 159), ("util", 49.9)):
        found = plan.dense_mode(**HOST | {name: below})
        assert not results(found)["on"]
        assert found.verdicts[""] == "would not come into effect: not all three thresholds hold"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"uplink": 80}, "the network is the bottleneck"),
        ({"packets": 39_999}, "there is little network traffic"),
        ({"latency_sensitive": "yes"}, "VMs need low latency"),
    ],
)
def test_dense_mode_is_wrong_for_some_workloads(change, why):
    assert plan.dense_mode(**HOST | change).verdicts[""] == f"wrong for this workload: {why}"
    unknown = plan.dense_mode(**{name: value for name, value in HOST.items() if name not in change})
    assert unknown.verdicts[""] == "would come into effect, but whether it suits the workload is not known"
    assert any(f"whether {why}" in note for note in unknown.notes)


def test_the_load_of_a_full_uplink_is_that_of_the_rule():
    assert plan.dense_mode.form.inputs["network_bound"].default == ex.rules()["network.uplink"].warn


def test_a_capture_gives_inputs_and_the_user_wins():
    capture = ex.open(DATA / "busy-host" / "busy-host.csv")
    found = plan.consolidation(recordings=capture, cpu=50)
    inputs = found.inputs[""]
    assert (inputs["vms"].value, inputs["cpus"].value, inputs["mhz"].value) == (8, 16, 2600)
    assert (inputs["cpu"].origin, inputs["cpu_limit"].origin) == ("given", "constant: the study of dense mode")
    assert inputs["vms"].origin.endswith("most at once")
    busy = plan.consolidation(recordings=capture).inputs[""]["cpu"].value
    used = capture["host"].collect()["util_pct"].drop_nulls().sort()
    assert used[int(0.94 * len(used))] <= busy <= used[int(0.97 * len(used))]
    # The first sample has no rates yet.
    writes = capture["vm"].select("time", "vdisk_write_mib").drop_nulls().collect()
    copied = plan.replication(recordings=capture, vm="all", port="vmnic0", vms=8, size=1000, rpo=60)
    per_sample = writes.group_by("time").sum()["vdisk_write_mib"].mean()
    assert results(copied)["changed_mb"] == pytest.approx(per_sample * 1.048576 * 86_400, rel=1e-3)
    assert "upper bound" in copied.inputs[""]["changed"].origin
    # A change of one's own takes the place of the measured one.
    own = plan.replication(recordings=capture, vm="all", port="vmnic0", vms=8, size=1000, rpo=60, change=5)
    assert results(own)["changed_mb"] == 400
    assert "changed" not in own.inputs[""]
    with pytest.raises(EsxparseError, match=r"has no port 'vmnic9': .*vmnic0"):
        plan.replication(recordings=capture, port="vmnic9", **ARTICLE)


def test_power_readings_give_watts_for_each_case():
    folder = DATA / "formats"
    found = plan.power(
        hosts=1,
        price=1,
        climate=1,
        recordings={"ilo4": folder / "ribcl-power-readings.xml", "ilo5": folder / "redfish-ilo5-power.json"},
    )
    assert found.inputs["ilo5"]["watts"].value == 308
    readings = ex.open(folder / "ribcl-power-readings.xml")["power"].collect()["watts"].drop_nulls()
    assert readings.min() <= found.inputs["ilo4"]["watts"].value <= readings.max()
    busy = plan.power(hosts=1, price=1, climate=1, recordings=DATA / "busy-host" / "busy-host.csv")
    own = ex.open(DATA / "busy-host" / "busy-host.csv")["host"].collect()["watts"].mean()
    assert busy.inputs[""]["watts"].value == pytest.approx(own, rel=1e-6)
    with pytest.raises(EsxparseError, match="has no power readings"):
        plan.power(hosts=1, price=1, climate=1, recordings=folder / "esxcli-host.txt")


def test_one_error_lists_all_that_is_missing():
    with pytest.raises(EsxparseError) as caught:
        plan.replication(vms=15, rate={"a": 1})
    assert str(caught.value) == (
        "replication: 3 inputs are missing: size [MB (10^6 bytes)]: size of one VM (or size_mib, MiB (2^20 bytes)); "
        "change [% per day]: change of a VM's data in a day (or changed, MB per day) (more than 100 % is possible: "
        "blocks written over and over); rpo [min]: recovery point objective"
    )
    with pytest.raises(EsxparseError, match=r"1 input is missing: rate \[Mbit/s\] for b: "):
        plan.replication(**ARTICLE | {"vms": {"a": 1, "b": 2}}, rate={"a": 901})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rpo": 14}, "rpo is 14: give a number from 15 to 1440"),
        ({"rpo": "1441"}, "rpo is '1441': give a number from 15 to 1440"),
        ({"vms": 1.5}, "vms is 1.5: give a whole number from 1"),
        ({"rate": 0}, "rate is 0: give a number above 0"),
        ({"rate": "fast"}, "rate is 'fast': give a number above 0"),
        ({"rate": True}, "rate is True: give a number above 0"),
        ({"rate": float("nan")}, "rate is nan: give a number above 0"),
        ({"rate": "9..1"}, "the range '9..1' of rate begins above its end"),
        ({"rate": ["a=1", "a=2"]}, "rate is given twice for a"),
        ({"speed": 1}, "has no input 'speed'"),
    ],
)
def test_impossible_inputs_are_refused(given, said):
    with pytest.raises(EsxparseError) as caught:
        plan.replication(**{"rate": 901} | ARTICLE | given)
    assert said in str(caught.value)


def test_unknown_choices_and_wrong_recordings_are_refused():
    with pytest.raises(EsxparseError, match="level is 7: choose from 0, 1, 5, 6, 10"):
        plan.raid(disks=3, disk_iops=1, level=7, read=0)
    with pytest.raises(EsxparseError, match="raid takes no recording"):
        plan.raid(recordings=DATA / "busy-host" / "busy-host.csv")


@pytest.mark.parametrize("name", NAMES)
def test_every_form_is_complete(name):
    planner = plan.PLANNERS[name]
    assert planner.form.sources
    for key, one in planner.form.inputs.items():
        assert one.meaning
        assert one.unit or one.choices or one.name, key
        assert one.default is None or one.source, key
        assert not one.replaces or one.replaces in planner.form.inputs
    names = [*planner.form.inputs, *(["recordings"] if planner.measure else [])]
    assert list(inspect.signature(planner).parameters) == names


def test_every_shape_has_the_same_numbers():
    found = plan.replication(rate={"a|b": 901}, **ARTICLE | {"change": (4, 6)})
    read = json.loads(found.json())
    value = next(one for one in read["results"] if one["name"] == "replication_min")
    assert value["low"] == pytest.approx(0.8 * 76_800 / 112.625 / 60)
    assert value["high"] == pytest.approx(1.2 * 76_800 / 112.625 / 60)
    rate = next(one for one in read["inputs"] if one["name"] == "rate")
    assert (rate["value"], rate["unit"], rate["origin"]) == (901, "Mbit/s", "given")
    assert "9.09 to 13.6" in found.text()
    assert "9.09 to 13.6" in found._repr_html_()
    assert "| a\\|b |" in found.markdown()
    row = found.frame().filter(result="replication_min").row(0, named=True)
    assert (row["case"], row["low"], row["unit"]) == ("a|b", pytest.approx(value["low"]), "min")


POLICIES = """
title = "One run of each policy"
baseline = {{ policy = "static-high" }}
[host]
cores = 16
mhz = 2400
[[run]]
policy = ["dynamic", "static-high"]
esxtop = "{folder}/{{policy}}-1.csv.bz2"
power = "{folder}/{{policy}}-1.ilo.xml"
"""


@pytest.mark.search
def test_a_study_of_policies_gives_a_case_for_each(tmp_path):
    manifest = tmp_path / "study.toml"
    manifest.write_text(POLICIES.format(folder=DATA / "power"))
    policies = ex.study(manifest, outside=True)
    power = plan.power(hosts=20, price=0.25, climate=1.5, recordings=policies)
    assert list(power.results) == ["static-high", "dynamic"]
    assert results(power, "dynamic")["cost"] == pytest.approx(11_169, rel=0.02)
    assert results(power, "static-high")["cost"] == pytest.approx(15_111, rel=0.02)
    with pytest.raises(EsxparseError, match="dense-mode takes no study"):
        plan.dense_mode(recordings=policies)


CURVE = """
title = "A part of the study of dense mode"
axis = ["vms"]
[window]
warmup = "1m"
measure = "3m"
[host]
cores = 40
mhz = 2400
[[run]]
rate = 25
vms = [460, 480]
esxtop = "{folder}/25rps-default-{{vms}}vm.csv.bz2"
results_csv = "{folder}/25rps-default-{{vms}}vm.clients.csv"
"""


@pytest.mark.search
def test_a_measured_curve_gives_the_largest_numbers_of_vms(tmp_path):
    manifest = tmp_path / "study.toml"
    manifest.write_text(CURVE.format(folder=DATA / "dense"))
    curve = ex.study(manifest, outside=True)
    found = plan.consolidation(vms=400, recordings=curve)
    one = results(found, "25")
    # Published: 465 VMs at 90 % CPU and 470 at 100 ms.
    assert (one["more_at_cpu"], one["more_at_p95"]) == (pytest.approx(65, abs=5), pytest.approx(70, abs=5))
    assert "beyond" not in found.inputs["25"]["vms_at_cpu"].origin
    over = plan.consolidation(vms=400, cpu_limit=50, recordings=curve)
    assert over.inputs["25"]["vms_at_cpu"].value == 459
    assert "beyond from the start" in over.inputs["25"]["vms_at_cpu"].origin


@pytest.mark.search
def test_dense_mode_from_a_capture():
    found = plan.dense_mode(recordings=DATA / "dense" / "25rps-default-480vm.csv.bz2", latency_sensitive="no")
    assert (found.inputs[""]["vms"].value, found.inputs[""]["pcpus"].value) == (480, 80)
    one = results(found)
    assert (one["on"], one["eligible_pct"], one["longest_min"], one["little_network"]) == (True, 100, 3, False)
    assert found.tables["When all thresholds held"]["minutes"].to_list() == [3]
