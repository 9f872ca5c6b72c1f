"""Every figure of a profile that suites judge, against arithmetic on the cells of captures written for it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import timedelta
from importlib import import_module
from statistics import mean, median

import cells
import polars as pl
import pytest

import esxparse as ex
from esxparse.quality import profile


def rows(rec, table, **keys):
    """Rows of a table's profile, by their name."""
    found = profile(rec)[table].to_dicts()
    return {row["name"]: row for row in found if all(row[key] == value for key, value in keys.items())}


def at(sample):
    return (cells.START + timedelta(seconds=5 * sample)).replace(tzinfo=None)


def naive(time):
    return None if time is None else time.replace(tzinfo=None)


NODES = {"0": [10.5, 7.25, 12, 12, 3.5, 20, 11, 9], "1": [6, 8, 8, 8, 30.75, 4, 5, 2]}


def test_a_counter_that_is_a_state_has_its_extremes_sum_changes_and_fractions(tmp_path):
    rec = ex.open(
        cells.capture(tmp_path, {("Numa Node", node, "Free MBytes"): values for node, values in NODES.items()})
    )
    row = rows(rec, "numa_node", kind="counter")["free_mbytes"]
    every = [value for pair in zip(*NODES.values(), strict=True) for value in pair]
    assert (row["rows"], row["nulls"], row["infinite"]) == (16, 0, 0)
    assert (row["min"], row["min_at"], naive(row["min_time"])) == (2.0, "1", at(7))
    assert (row["max"], row["max_at"], naive(row["max_time"])) == (30.75, "1", at(4))
    assert (row["sum"], row["mean"]) == pytest.approx((sum(every), mean(every)))
    assert row["fractions"] == sum(value != int(value) for value in every) == 4
    steps = [(one, other) for values in NODES.values() for one, other in itertools.pairwise(values)]
    assert row["changes"] == sum(one != other for one, other in steps) == 11


@pytest.mark.parametrize(("value", "fractions"), [(7.5, 6), (7.0, 0)])
def test_a_counter_that_never_moves_has_as_many_fractions_as_rows(tmp_path, value, fractions):
    rec = ex.open(cells.capture(tmp_path, {("Numa Node", node, "Free MBytes"): [value] * 3 for node in "01"}))
    row = rows(rec, "numa_node", kind="counter")["free_mbytes"]
    assert (row["fractions"], row["changes"], row["min"], row["max"]) == (fractions, 0, value, value)


UTIL = {
    # Rises all the time; whole numbers, 100 and numbers below 1 do not tell whether they are measured anew.
    "0": [10.5, 11.5, 12.5, 13.5, 14.5, 15.5, 16.5, 17.5],
    "1": [20.25, 20.25, 20.25, 20.25, 25.5, 25.5, 30, 30],
    "2": [9.75, 9.75, 9.75, 9.75, 9.75, 100, 100, 0.5],
}
C1 = {node: [value + 1.25 for value in values] for node, values in UTIL.items()} | {"2": [5.5, 6.5, 7.5, 8.5] * 2}
CORE = {node: [one + 0.03 * place for place, one in enumerate(values)] for node, values in UTIL.items()}


def repeats(columns):
    """Numbers after the first sample that have decimals, and those of them that are as before."""
    odd = same = 0
    for values in columns.values():
        for before, now in itertools.pairwise(values):
            tells = now >= 1 and now != 100 and now != int(now)
            odd, same = odd + tells, same + (tells and now == before)
    return odd, 100 * same / odd


def test_a_counter_that_is_measured_anew_tells_how_often_it_repeats(tmp_path):
    counters = {"% Util Time": UTIL, "% Processor Time": C1, "% Core Util Time": CORE}
    columns = {
        ("Physical Cpu", pcpu, counter): values for counter, of in counters.items() for pcpu, values in of.items()
    }
    found = rows(ex.open(cells.capture(tmp_path, columns)), "physical_cpu", kind="counter")
    shares = {}
    for name, of in (("pct_util_time", UTIL), ("pct_processor_time", C1), ("pct_core_util_time", CORE)):
        rounded = {pcpu: [round(value, 2) for value in values] for pcpu, values in of.items()}
        steps, shares[name] = repeats(rounded)
        assert (found[name]["steps"], found[name]["repeats_pct"]) == (steps, pytest.approx(shares[name])), name
    # PCPU 1 stood still for three steps of 10 % and more; that 2 did for four does not count below 10 %.
    util = found["pct_util_time"]
    assert (util["stuck"], util["stuck_at"], naive(util["stuck_time"])) == (3, "1", at(3))
    for name, share in shares.items():
        others = median(other for key, other in shares.items() if key != name)
        assert found[name]["frozen_pct"] == pytest.approx(share - others), name


def captured(folder, samples, seconds=None):
    """A capture of the util of PCPUs, a list for each sample."""
    columns = {
        ("Physical Cpu", str(pcpu), "% Util Time"): list(one) for pcpu, one in enumerate(zip(*samples, strict=True))
    }
    return ex.open(cells.capture(folder, columns, seconds=seconds))


def busy(samples=12, pcpus=24):
    """Numbers that all differ, and no number far from those before and after it."""
    return [[20.01 + 0.37 * pcpu + 0.05 * sample for pcpu in range(pcpus)] for sample in range(samples)]


def of_samples(rec):
    found = rows(rec, "samples", kind="sample")
    return {name: (row["max"], naive(row["max_time"])) for name, row in found.items()}


def test_whole_samples_of_a_sound_capture_tell_nothing(tmp_path):
    nothing = (0.0, None)
    expected = {"repeated": nothing, "unlike_pct": nothing, "first_pct": nothing, "empty": nothing}
    assert of_samples(captured(tmp_path, busy())) == expected


def test_samples_that_come_again_are_counted_and_the_last_is_named(tmp_path):
    samples = busy()
    samples[7] = samples[9] = samples[3]
    assert of_samples(captured(tmp_path, samples))["repeated"] == (2.0, at(9))


@pytest.mark.parametrize(("pcpus", "judged"), [(20, True), (19, False)])
def test_a_sample_is_compared_with_its_neighbours_from_20_numbers_on(tmp_path, pcpus, judged):
    samples = busy(pcpus=pcpus)
    before, after = samples[4], samples[6]
    least, most = (list(map(end, zip(before, after, strict=True))) for end in (min, max))
    samples[5] = [*(3.02 * one for one in most[:6]), *(one / 3.02 for one in least[6:8]), *samples[5][8:]]
    samples[5][8:10] = [2.9 * one for one in most[8:10]]
    assert of_samples(captured(tmp_path, samples)).get("unlike_pct") == ((40.0, at(5)) if judged else None)


def test_neighbours_that_do_not_agree_judge_nothing(tmp_path):
    samples = busy()
    samples[5][:12] = [4 * one for one in samples[5][:12]]
    # Of the first four the numbers before and after are two to one.
    samples[6][:4] = [2.1 * one for one in samples[4][:4]]
    assert of_samples(captured(tmp_path, samples))["unlike_pct"] == (pytest.approx(100 * 8 / 20), at(5))


def test_a_first_sample_since_boot_is_far_above_all_later_ones(tmp_path):
    samples = busy()
    later = [max(column) for column in zip(*samples[1:], strict=True)]
    samples[0] = [*(5.1 * one for one in later[:6]), *(4.9 * one for one in later[6:])]
    assert of_samples(captured(tmp_path, samples))["first_pct"] == (25.0, at(0))
    # Three samples are too few to say so.
    assert "first_pct" not in of_samples(captured(tmp_path, samples[:3]))


def test_samples_without_any_number_are_counted_and_the_first_is_named(tmp_path):
    samples = busy()
    samples[4] = samples[8] = [0.0] * 24
    assert of_samples(captured(tmp_path, samples))["empty"] == (2.0, at(4))


def of_clock(folder, seconds):
    rec = captured(folder, busy(len(seconds), 2), seconds)
    found = rows(rec, "samples", kind="clock")
    return {
        name: [(row[end], since_start(row[f"{end}_time"])) for end in ("min", "max")] for name, row in found.items()
    }


def since_start(time):
    return time and (time - cells.START).total_seconds()


def test_a_clock_has_steps_gaps_and_times_met_twice(tmp_path):
    found = of_clock(tmp_path, [0, 5, 10, 15, 15, 20, 30, 33, 38, 43, 48])
    assert found["samples"][1] == (11.0, 0.0)
    assert found["year"][0] == (2026.0, 0.0)
    assert found["step_s"] == [(0.0, 15.0), (10.0, 30.0)]
    assert found["step_ratio"] == [(0.0, 15.0), (2.0, 30.0)]
    assert found["duplicates"][1][0] == 1.0
    # 3 s are neither none nor one of the usual 5 s; 10 s are two.
    assert found["irregular_pct"][1] == (10.0, 33.0)
    assert found["drift_ratio"][1] == (1.0, 48.0)


@pytest.mark.parametrize(
    ("steps", "drift"),
    [
        ([4, 4, 4, 4, 5, 5, 6, 6, 6, 6], 1.5),  # medians of the first and the last four steps
        ([4, 4, 9, 4, 5, 5, 5, 6, 8, 8], 7 / 4),
        ([4, 4, 4, 5, 5, 5, 6, 6, 6], 6 / 4),  # nine steps are enough
        ([4, 4, 4, 5, 5, 6, 6, 6], None),
    ],
)
def test_a_clock_that_slows_down_drifts(tmp_path, steps, drift):
    seconds = [sum(steps[:place]) for place in range(len(steps) + 1)]
    found = of_clock(tmp_path, seconds)
    assert found.get("drift_ratio", [None, None])[1] == (None if drift is None else (pytest.approx(drift), seconds[-1]))


def test_of_equal_steps_of_several_meters_the_first_is_named(tmp_path):
    moments = {"a": (0, 10, 20, 30, 60, 70), "b": (0, 10, 40, 50, 60, 70)}
    lines = [(second, sensor) for sensor, seconds in moments.items() for second in seconds]
    times = [(cells.START + timedelta(seconds=second), sensor) for second, sensor in sorted(lines)]
    text = "time,sensor,watts\n" + "".join(f"{time:%Y-%m-%dT%H:%M:%SZ},{sensor},5\n" for time, sensor in times)
    (tmp_path / "power.csv").write_text(text)
    found = rows(ex.open(tmp_path / "power.csv"), "power", kind="clock")
    step = found["step_s"]
    assert (step["max"], step["min"]) == (30.0, 10.0)
    assert (step["max_at"], since_start(step["max_time"])) == (step["min_at"], 60.0)
    assert since_start(step["min_time"]) == 10.0
    assert step["max_at"].startswith("a ") or " a " in step["max_at"] or step["max_at"].endswith("a")


def test_numbers_just_three_times_their_neighbours_are_not_unlike_them(tmp_path):
    samples = busy(pcpus=20)
    samples[4] = samples[6] = [12.0] * 20
    samples[5] = [36.0] * 4 + [4.0] * 4 + [36.01] * 2 + [3.99] * 2 + [12.0] * 8
    assert of_samples(captured(tmp_path, samples))["unlike_pct"] == (20.0, at(5))


@pytest.mark.parametrize(("pcpus", "repeated"), [(20, 1.0), (19, None), (10, None)])
def test_few_numbers_are_told_to_come_again_by_several_samples_on_end(tmp_path, pcpus, repeated):
    """Of 20 numbers a sample tells by itself; of fewer, one sample that comes again tells nothing, two do."""
    samples = busy(pcpus=pcpus)
    samples[7] = samples[3]
    found = of_samples(captured(tmp_path, samples)).get("repeated")
    assert (found and found[0]) == (repeated or 0.0)
    samples[8] = samples[4]
    assert of_samples(captured(tmp_path, samples))["repeated"][0] == (2.0 if repeated else 1.0)


def test_numbers_without_an_end_are_counted_and_are_no_extremes():
    values = [1.0, None, float("inf"), 3.0, float("-inf"), 2.0, float("inf")]
    rec = ex.Recording("fio", "x", {"jobs": pl.DataFrame({"iops": values}).lazy()})
    (row,) = profile(rec)["jobs"].filter(pl.col("name") == "iops", pl.col("kind") == "counter").to_dicts()
    assert (row["rows"], row["nulls"], row["infinite"]) == (7, 1, 3)
    # Rows without a time do not follow one another.
    assert (row["changes"], row["steps"]) == (0, 0)


def test_repeats_of_a_long_capture_are_weighed_by_the_steps_of_its_spans(monkeypatch, tmp_path):
    """What is profiled in one go and span by span is the same but for the steps between spans."""
    samples = busy(samples=24, pcpus=6)
    for place in (3, 4, 5, 9, 15, 16):
        samples[place][:2] = samples[place - 1][:2]
    rec = captured(tmp_path, samples)
    monkeypatch.setattr(
        import_module("esxparse.quality.profile"), "_AT_ONCE", rec.meta["samples"] * rec.meta["columns"] / 2
    )
    row = rows(rec, "physical_cpu", kind="counter")["pct_util_time"]
    spans = [samples[:12], samples[12:]]
    parts = [repeats(dict(enumerate(zip(*span, strict=True)))) for span in spans]
    steps = sum(count for count, _ in parts)
    assert row["steps"] == steps
    assert row["repeats_pct"] == pytest.approx(sum(count * share for count, share in parts) / steps)


def test_the_mean_of_a_long_capture_is_of_the_numbers_that_are_there(monkeypatch, tmp_path):
    """Half of the first span is missing: the second weighs twice as much."""
    rec = captured(tmp_path, busy(samples=24, pcpus=6))
    late = pl.col("time") >= pl.col("time").min() + timedelta(seconds=5 * 6)
    lacking = {
        name: one.with_columns(pct_util_time=pl.when(late).then("pct_util_time")) for name, one in rec.tables.items()
    }
    rec = replace(rec, tables=lacking)
    monkeypatch.setattr(
        import_module("esxparse.quality.profile"), "_AT_ONCE", rec.meta["samples"] * rec.meta["columns"] / 2
    )
    row = rows(rec, "physical_cpu", kind="counter")["pct_util_time"]
    values = [round(value, 2) for sample in busy(samples=24, pcpus=6)[6:] for value in sample]
    assert (row["rows"], row["nulls"]) == (144, 36)
    assert row["mean"] == pytest.approx(mean(values))
