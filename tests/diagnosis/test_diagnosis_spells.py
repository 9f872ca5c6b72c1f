"""When a trouble began and ended, what its evidence is taken of, and what is told without the plain counter."""

from __future__ import annotations

import numpy as np
import pytest
from test_diagnose import TABLE, capture, series, told

import esxparse as ex
from esxparse.charts import findings as charts
from esxparse.diagnosis import cases, engine, evidence, spells


def mask(text):
    return np.array([one == "x" for one in text])


def shown(inside):
    return "".join("x" if one else "." for one in inside)


def test_a_spell_is_where_samples_lie_densely_and_stray_ones_are_left_out():
    held = mask("..x.........xxxxxxx.xxxx....................xxxx.xxx.......x..")
    found = spells.spell(held, persist=1, gap=3)
    assert shown(found) == "............xxxxxxxxxxxx....................xxxxxxxx.........."


def test_pulses_of_one_height_are_all_of_one_trouble():
    held = mask("....xxx......xxx......xxx......xxx....")
    found = spells.spell(held, persist=2, gap=3)
    assert (found.argmax(), found[::-1].argmax()) == (held.argmax(), held[::-1].argmax())


def test_what_a_cause_leaves_behind_does_not_lengthen_it_and_what_it_has_not_undone_does():
    free = np.array([100.0] * 10 + [5.0] * 20 + [100.0] * 20)
    ended = spells.spell(mask("." * 10 + "x" * 35 + "." * 5), persist=1, gap=3, until=free)
    went_on = spells.spell(mask("." * 10 + "x" * 4 + "." * 36), persist=1, gap=3, until=free)
    assert shown(ended) == shown(went_on) == "." * 10 + "x" * 20 + "." * 20


def edges(found):
    return int(found.argmax()), int(found.size - found[::-1].argmax())


def test_what_grows_slowly_begins_where_it_leaves_its_noise_and_not_where_its_limit_is_passed():
    noise = np.array([2.0, 1.0, 3.0, 2.0, 4.0, 1.0])
    level = np.concatenate([np.tile(noise, 4), np.linspace(2.0, 200.0, 37)[1:], np.tile(noise, 4)])
    found = spells.spell(level >= 150, persist=2, gap=3, level=level)
    begun, ended = edges(found)
    assert 24 <= begun <= 26
    assert ended == 60


def test_an_end_is_where_a_level_stops_to_recover_even_if_it_drifts_from_there_on():
    free = np.concatenate(
        [np.full(20, 9000.0), np.full(20, 200.0), np.linspace(200, 4000, 11), 4000 - 20.0 * np.arange(40)]
    )
    found = spells.spell(mask("." * 20 + "x" * 22 + "." * 49), persist=1, gap=3, until=free)
    assert abs(edges(found)[1] - 50) <= 1


def test_a_start_is_told_by_what_was_before_it_whatever_comes_after():
    free = np.array([9000.0] * 10 + [200.0] * 10 + [12000.0] * 25)
    found = spells.spell(mask("." * 12 + "x" * 8 + "." * 25), persist=1, gap=3, level=free)
    assert edges(found) == (10, 20)


def test_what_shows_a_trouble_first_tells_its_start_alone():
    traffic = np.array([5.0] * 15 + [90.0] * 15 + [5.0] * 20)
    found = spells.spell(mask("." * 20 + "x" * 8 + "." * 22), persist=1, gap=3, since=traffic)
    assert edges(found) == (15, 28)


def test_a_limit_that_is_met_now_and_then_is_not_the_beginning_of_when_it_is_met_all_the_time():
    level = np.array([0.0, 0.0, 0.0, 9.0] * 12 + [30.0] * 40 + [0.0, 0.0, 0.0, 9.0] * 12)
    found = spells.spell(level > 1, persist=2, gap=3, level=level)
    begun, ended = edges(found)
    assert abs(begun - 48) <= 1
    assert abs(ended - 88) <= 1


def test_a_relapse_that_is_shorter_than_a_spell_has_to_be_counts_beside_one_that_is_long_enough():
    found = spells.spell(mask("....xxxxxx........xxx......."), persist=5, gap=3)
    assert edges(found) == (4, 21)
    assert spells.spell(mask("....xxx........xxx......."), persist=5, gap=3) is None


def test_spreads_compare_with_what_varies_anyway():
    calm = [4.0, 5.0, 6.0, 5.0, 4.0, 6.0, 5.0, 9.0, 9.0, 9.0]
    restless = [1.0, 9.0, 3.0, 7.0, 5.0, 2.0, 8.0, 9.0, 9.0, 9.0]
    made = series("vm", used_pct=[calm, restless])
    inside = np.arange(10) >= 7
    assert made.spell("vm", 0, inside, "used_pct_spreads") > 2.5
    assert made.spell("vm", 1, inside, "used_pct_spreads") < 1.5


def test_evidence_is_of_the_samples_in_which_the_trigger_holds():
    case = cases.parse(TABLE, "x.toml")
    pulses = [1.0] * 10 + [9.0, 9.0, 9.0, 1.0] * 4 + [1.0] * 10
    (one,) = engine.stories([case], series("vm", used_pct=[pulses]))
    assert one.values["used_pct"] == 9.0
    assert one.evidence == ("much",)


def test_what_comes_and_goes_is_less_likely_than_what_stays():
    case = cases.parse(TABLE, "x.toml")
    stays = [1.0] * 12 + [9.0] * 16 + [1.0] * 12
    goes = [1.0] * 12 + [9.0, 1.0, 1.0, 1.0] * 4 + [1.0] * 12
    one, other = engine.stories([case], series("vm", used_pct=[stays, goes]))
    assert one.confidence > other.confidence
    assert any("comes and goes" in text for text in other.against)


def test_a_case_may_tell_another_object_than_the_one_that_shows_it():
    case = cases.parse(
        TABLE.replace("[[evidence]]", 'entity = { kind = "vsan", name = "store" }\n[[evidence]]', 1), "x"
    )
    (one,) = engine.stories([case], series("vm", used_pct=[[9.0] * 9]))
    assert (one.kind, one.name) == ("vsan", "store")


def test_a_full_line_is_told_without_the_speed_of_the_link(tmp_path):
    full = [20.0] * 15 + [900.3] * 10 + [20.0] * 15  # 944 million bits per second: esxtop counts 2**20
    port = "Network Port(vSwitch0:33554434:vmnic0)\\"
    columns = {f"{port}MBits Transmitted/sec": full, f"{port}MBits Received/sec": 3.0}
    assert told(ex.diagnose(capture(tmp_path / "full.csv", columns)))[0] == "network.line_rate"
    columns[f"{port}MBits Transmitted/sec"] = [one * 0.6 for one in full]
    assert not told(ex.diagnose(capture(tmp_path / "half.csv", columns)))


def test_a_spell_over_a_clock_set_back_is_where_its_samples_are(tmp_path):
    """Its first sample is in the middle of all times, and so is its last: between them in time is what it is not."""
    header, *rows = (ex.datasets_dir() / "busy-host" / "busy-host.csv").read_text(encoding="utf-8").splitlines()
    back = [row.replace("03/11/2026 09:", "03/11/2026 08:", 1) for row in rows[60:]]
    (tmp_path / "back.csv").write_text("\n".join([header, *rows[:60], *back]) + "\n", encoding="utf-8")
    rec = ex.open(tmp_path / "back.csv")
    found = ex.diagnose(rec)
    limit = next(one for one in found if one.trouble == "cpu.limit")
    times = sorted(set(found.times))
    assert (limit.start, limit.end) == (times[0], times[-1])
    (seen,) = evidence.of(limit, found.series, found.times, "standard")
    assert " in the spell, median " not in charts.spell(seen).to_dict()["title"]["text"]


def test_one_sample_has_no_rates_of_disks_and_that_may_be_why(tmp_path):
    lines = (ex.datasets_dir() / "busy-host" / "busy-host.csv").read_text(encoding="utf-8").splitlines()
    few = "too few samples, as esxtop measures it from one to the next: GAVG/cmd"
    for samples, said in ((1, True), (2, False)):
        (tmp_path / f"{samples}.csv").write_text("\n".join(lines[: samples + 1]) + "\n", encoding="utf-8")
        reasons = {one["id"]: one["reason"] for one in ex.diagnose(ex.open(tmp_path / f"{samples}.csv")).not_judged}
        assert (reasons.get("disk.gavg", "") == few) == said


@pytest.mark.parametrize(("commands", "elsewhere"), [(30.0, True), (300.0, False)])
def test_slow_virtual_disks_are_said_to_lie_on_vsan_if_devices_do_not_get_their_commands(tmp_path, commands, elsewhere):
    columns = {"Physical Disk SCSI Device(naa.6)\\Average Driver MilliSec/Command": 0.4}
    columns["Physical Disk SCSI Device(naa.6)\\Commands/sec"] = commands
    for vm in ("a", "b", "c"):
        columns[f"Virtual Disk({vm}:scsi0:0)\\Average MilliSec/Write"] = [0.5] * 15 + [18.0] * 12 + [0.5] * 13
        columns[f"Virtual Disk({vm}:scsi0:0)\\Writes/sec"] = 80.0
    told = {one.trouble: one.entity["kind"] for one in ex.diagnose(capture(tmp_path / "vsan.csv", columns))}
    assert told.get("storage.vsan_congestion") == ("vsan" if elsewhere else None)


def test_a_limit_ends_when_no_more_is_taken_and_not_when_the_last_page_is_back(tmp_path):
    memory, cpu = "Group Memory(7:db)\\", "Group Cpu(7:db)\\"
    decay = [12.0 * 0.93**one for one in range(40)]
    columns = {
        f"{memory}Memory Size MBytes": 8192.0,
        f"{memory}Alloc Max": 4096.0,
        f"{memory}Memctl Target MBytes": [0.0] * 15 + [900.0] * 15 + [0.0] * 30,
        f"{memory}Swapped MBytes": [0.0] * 15 + [400.0] * 15 + [20.0 * one for one in decay[:30]],
        f"{memory}Swap Read MBytes/sec": [0.0] * 15 + [4.0] * 15 + decay[:30],
        f"{memory}Swap Written MBytes/sec": [0.0] * 15 + [6.0] * 15 + [0.0] * 30,
        f"{cpu}% Swap Wait": [0.0] * 15 + [15.0] * 15 + decay[:30],
    }
    found = ex.diagnose(capture(tmp_path / "limit.csv", columns, samples=60))
    first = next(one for one in found if one.trouble == "memory.limit")
    assert (first.end - first.start).total_seconds() == pytest.approx(14 * 5, abs=10)


def test_swapping_until_balloons_have_grown_is_ballooning(tmp_path):
    host = "Memory\\"
    columns = {
        f"{host}Machine MBytes": 65536.0,
        f"{host}Free MBytes": [9000.0] * 10 + [200.0] * 5 + [5000.0] * 20 + [12000.0] * 15,
        f"{host}Minfree MBytes": 2400.0,
        f"{host}Memctl Current MBytes": [0.0] * 10 + [400.0 * one for one in range(25)] + [0.0] * 15,
        f"{host}Memctl Target MBytes": [0.0] * 10 + [9500.0] * 25 + [0.0] * 15,
        f"{host}Swap Used MBytes": [0.0] * 10 + [3000.0] * 40,
        f"{host}Swap MBytes Write/sec": [0.0] * 10 + [500.0] * 4 + [0.0] * 36,
        f"{host}Swap MBytes Read/sec": [0.0] * 10 + [8.0] * 40,
    }
    found = ex.diagnose(capture(tmp_path / "balloon.csv", columns, samples=50))
    assert told(found)[0] == "memory.balloon"
    assert (found[0].end - found[0].start).total_seconds() == pytest.approx(24 * 5, abs=10)


def test_who_waits_longest_for_cpu_is_no_noisy_neighbour(busy_host):
    found = {(one.trouble, one.entity["name"]): one for one in ex.diagnose(busy_host)}
    assert ("cpu.noisy_neighbour", "orders-app") not in found
    waited = found["cpu.contention", "host"]
    assert waited.verdict.startswith("orders-app waited for CPU")
    assert (waited.start.strftime("%H:%M:%S"), waited.end.strftime("%H:%M:%S")) == ("09:02:00", "09:03:30")


@pytest.mark.parametrize(("rise", "begun"), [(15, 15), (18, 18), (20, 20), (24, 24)])
def test_a_trouble_begins_with_the_first_sample_of_what_shows_it(rise, begun):
    traffic = np.array([5.0] * rise + [90.0] * (30 - rise) + [5.0] * 20)
    found = spells.spell(mask("." * 20 + "x" * 10 + "." * 20), persist=1, gap=3, since=traffic)
    assert edges(found) == (begun, 30)


def test_a_faint_stretch_before_the_shorter_of_two_troubles_is_no_part_of_it_and_does_not_hide_it():
    held = mask("." * 20 + ("x" + "." * 9) * 10 + "x" * 12 + "." * 70 + "x" * 60 + "." * 20)
    found = spells.spell(held, persist=1, gap=10, level=np.where(held, 90.0, 5.0))
    assert spells.runs(found) == [(120, 132), (202, 262)]


def test_the_density_of_a_spell_is_the_part_of_it_in_which_its_trigger_holds():
    made = series("vm", used_pct=[[1.0] * 9])
    inside, core = mask("...xxxxx."), mask("...x.xx..")
    told = {name: made.spell("vm", 0, inside, f"spell_{name}", core) for name in ("samples", "density")}
    assert told == {"samples": 3, "density": 3 / 4}
    assert made.spell("vm", 0, inside, "spell_density") == 1.0


def test_parts_of_a_trouble_weigh_what_they_have_less_what_lies_between_them():
    """Two parts of 5 with 5 samples between them weigh 8; the next is 24 away, which weighs 9.6."""
    held = mask("." * 10 + "x" * 5 + "." * 5 + "x" * 5 + "." * 24 + "x" * 10 + "." * 10)
    assert spells.runs(spells.spell(held, persist=1, gap=1)) == [(10, 25), (49, 59)]
