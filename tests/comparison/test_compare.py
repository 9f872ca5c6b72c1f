"""Comparisons of captures whose differences are known: what is matched, told, explained by load, and refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from made_recordings import SAMPLES, recording

import esxparse as ex
from esxparse.cli import main
from esxparse.comparison.sides import within


@pytest.fixture
def noise():
    random = np.random.default_rng(4)
    return lambda level=10.0: random.normal(level, level / 10, SAMPLES)


def devices(noise, *, latency, commands, names=("naa.1", "naa.2")):
    """A capture with disks of a latency (ms, GAVG) and commands (1/s)."""
    counters = {
        name: {
            "commands_per_sec": noise(commands),
            "reads_per_sec": noise(commands / 2),
            "writes_per_sec": noise(commands / 2),
            "average_guest_millisec_per_command": noise(latency),
        }
        for name in names
    }
    return recording({"physical_disk_scsi_device": counters})


def row_of(found, column="gavg_ms", instance="naa.1", table="device"):
    (row,) = found.frame.filter(table=table, column=column, instance=instance).to_dicts()
    return row


def test_two_captures_differ_in_what_differs(noise):
    calm, busy = noise(), noise() + 3
    random = np.random.default_rng(7)
    same = [random.normal(10, 1, SAMPLES) for _ in range(2)]
    before = recording({"vm": {"a": {"ready": calm, "rests": np.zeros(SAMPLES)}, "b": {"ready": same[0]}}})
    after = recording({"vm": {"a": {"ready": busy, "rests": np.zeros(SAMPLES)}, "b": {"ready": same[1]}}})
    found = ex.compare(before, after).frame
    (first, *others) = found.to_dicts()
    assert (first["instance"], first["column"], first["differs"]) == ("a", "ready", True)
    assert first["change"] == pytest.approx(busy.mean() - calm.mean(), rel=1e-5)
    assert first["change_pct"] == pytest.approx(100 * first["change"] / calm.mean(), rel=1e-5)
    assert first["change_low"] < 3 < first["change_high"]
    assert first["change_high"] - first["change_low"] < 2
    assert [row["differs"] for row in others] == [False, False]


def test_nothing_is_nan_so_that_filters_mean_what_they_say(busy_host):
    halves = [within(busy_host, None, moment_of(busy_host, 60)), within(busy_host, moment_of(busy_host, 61), None)]
    found = ex.compare(*halves).frame
    floats = [name for name, kind in found.schema.items() if kind == pl.Float64]
    assert not found.select(pl.col(floats).is_nan().any()).row(0).count(True)
    assert found.filter(pl.col("change_low") > 0).height < 300


def moment_of(rec, place):
    return rec["host"].select("time").collect()["time"][place]


@pytest.mark.search
def test_samples_that_are_like_their_neighbours_count_less():
    random = np.random.default_rng(6)
    wrong = 0
    for _ in range(40):
        walks = []
        for _ in range(2):
            steps, values = random.normal(size=SAMPLES), np.zeros(SAMPLES)
            for place in range(1, SAMPLES):
                values[place] = 0.9 * values[place - 1] + steps[place]
            walks.append(recording({"vm": {"a": {"ready": values}}}))
        wrong += ex.compare(*walks).frame["differs"].item()
    # Counted as they are, 21 of these 40 would differ; 2 may by chance.
    assert wrong <= 2


def test_what_cannot_differ_is_not_counted_in_the_correction(noise):
    still = {f"still-{number}": {"ready": np.zeros(SAMPLES)} for number in range(500)}
    before = recording({"vm": {"a": {"ready": noise(10)}, **still}})
    after = recording({"vm": {"a": {"ready": noise(10) + 1}, **still}})
    found = ex.compare(before, after).frame
    alone = ex.compare(*(recording({"vm": {"a": one}}) for one in values_of(before, after))).frame
    row = found.filter(instance="a").to_dicts()[0]
    assert row["p"] == pytest.approx(alone["p"].item())
    assert set(found.filter(pl.col("instance") != "a")["verdict"]) == {"no difference shown"}


def values_of(*recordings):
    return [{"ready": one.tables["vm"].filter(instance="a").collect()["ready"].to_numpy()} for one in recordings]


def test_less_than_what_is_printed_is_no_difference():
    before = recording({"vm": {"a": {"ready": np.full(SAMPLES, 0.40)}, "b": {"ready": np.full(SAMPLES, 0.40)}}})
    after = recording({"vm": {"a": {"ready": np.full(SAMPLES, 0.41)}, "b": {"ready": np.full(SAMPLES, 0.45)}}})
    found = dict(ex.compare(before, after).frame.select("instance", "differs").rows())
    assert found == {"a": False, "b": True}


def test_latency_that_fell_with_the_load_is_said_to(noise):
    found = ex.compare(devices(noise, latency=20, commands=1000), devices(noise, latency=14, commands=600))
    row = row_of(found)
    assert (row["verdict"], row["load"], row["load_explains"]) == ("better", "device.good_iops", True)
    assert row["load_change_pct"] == pytest.approx(-40, abs=3)
    assert found.areas.row(0)[:2] == ("Storage", "changed with the load")
    (first, *_) = found.changes()
    assert "guest latency fell 30 % (19.9 to 13.9 ms)" in first
    assert "but so did the load: successful commands fell 40 %" in first
    assert not found.is_worse


def test_latency_that_rose_at_the_same_load_is_worse(noise):
    found = ex.compare(devices(noise, latency=10, commands=1000), devices(noise, latency=20, commands=1000))
    row = row_of(found)
    assert (row["verdict"], row["load_explains"]) == ("worse", False)
    assert found.verdict.startswith("Worse: Storage.")
    assert any("rose" in one and "at the same load" in one for one in found.changes())
    assert found.is_worse


def test_objects_are_matched_by_name_and_by_rule(noise):
    before = devices(noise, latency=10, commands=100, names=("naa.1", "old-7", "gone"))
    after = devices(noise, latency=10, commands=100, names=("naa.1", "new-7", "came"))
    found = ex.compare(before, after, rename={"old-(.*)": r"new-\1"})
    assert set(found.frame["instance"]) - {"host"} == {"naa.1", "new-7"}
    assert found.unmatched.rows() == [("before", "device", "gone"), ("after", "device", "came")]
    plural = replace(found, unmatched=found.unmatched.with_columns(table=pl.lit("tasks")))
    assert plural.missing()[0] == "1 row of tasks disappeared: gone"
    assert found.missing()[:2] == ["1 device disappeared: gone", "1 device appeared: came"]
    first, second = found.series("device", "gavg_ms", "new-7")
    assert first["value"].to_list() == before["device"].filter(instance="old-7").collect()["gavg_ms"].to_list()
    assert second.columns == ["time", "value"]
    with pytest.raises(ex.EsxparseError, match=r"rule of renaming '\(' to 'x' is wrong"):
        ex.compare(before, after, rename={"(": "x"})


def test_worlds_of_two_captures_are_the_same_by_name(busy_host_file):
    before = ex.open(busy_host_file, end="2026-03-11 09:02:00")
    after = ex.open(busy_host_file, start="2026-03-11 09:02:05", end="2026-03-11 09:03:30")
    found = ex.compare(before, after, tables=list(before.tables)).frame
    assert "orders-app:vmx-vcpu-0:orders-app" in found["instance"].to_list()
    # The burst of orders-app is what tells the two apart (datasets/busy-host/README.md).
    largest = found.filter(table="group_cpu", column="pct_run").sort("size", descending=True).head(1)
    assert largest["instance"].item() == "orders-app"


def test_too_few_samples_are_told_with_the_number_that_is_needed(busy_host_file):
    found = ex.compare(
        busy_host_file, windows=[("2026-03-11T09:00", "2026-03-11T09:01"), ("2026-03-11T09:01:05", "2026-03-11T09:02")]
    )
    few = found.frame.filter(verdict="too few samples")
    assert few["change_low"].null_count() == few.height > 0
    assert (few["samples_needed"].drop_nulls() > 12).all()
    assert "have too few independent samples" in found.missing()[-1]


def test_several_captures_are_one_side(noise):
    parts = [devices(noise, latency=10, commands=1000) for _ in range(2)]
    after = devices(noise, latency=20, commands=1000)
    found = ex.compare(parts, [after])
    assert found.before.samples == 2 * SAMPLES
    assert row_of(found)["before"] == pytest.approx(10, rel=0.02)
    hosts = [replace(one, meta={"host": name}) for one, name in zip(parts, ("esx-1", "esx-2"), strict=True)]
    both = ex.compare(hosts, hosts)
    assert set(both.frame.filter(table="device")["instance"]) >= {"esx-1: naa.1", "esx-2: naa.1"}


@pytest.mark.search
def test_a_lake_is_a_side(busy_host_file, tmp_path):
    lake = ex.lake(tmp_path / "lake")
    lake.add([busy_host_file], host="esx-a")
    part = lake.of("esx-a", since="2026-03-11T09:05")
    found = ex.compare(lake.of("esx-a", until="2026-03-11T09:05"), part)
    same = ex.compare(busy_host_file, at="2026-03-11T09:05")
    both = found.frame.join(same.frame, on=["table", "column", "instance"], how="full")
    assert both.height == same.frame.height
    assert (both["change"] - both["change_right"]).abs().max() < 1e-9


@pytest.mark.search
def test_findings_come_and_go(busy_host_file):
    found = ex.compare(busy_host_file, at="2026-03-11T09:05").findings
    by_trouble = dict(found.select("trouble", "what").rows())
    assert by_trouble["network.receive_drops"] == "went"
    assert by_trouble["storage.queue_device"] == "came"
    assert by_trouble["cpu.limit"] == "stayed"


def test_the_result_is_shown_in_each_form(noise):
    found = ex.compare(devices(noise, latency=10, commands=1000), devices(noise, latency=20, commands=1000))
    assert repr(found) == found.text()
    assert "Worse: Storage." in found._repr_html_()
    told = json.loads(found.json())
    assert told["verdict"] == found.verdict
    assert len(told["series"]) == found.frame["differs"].sum()
    assert found.markdown().startswith("# x.csv against x.csv\n\nWorse: Storage.")
    assert found.html().startswith("<!doctype html>")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Captures of a host with a slow array, and of the same host with a fast one."""
    folder = tmp_path_factory.mktemp("array")
    simulate = ex.simulate
    made = {}
    for name, latency in (("slow", 8.0), ("fast", 0.5)):
        (run,) = simulate.load_experiment("healthy-storage", seed=3 if name == "slow" else 4, samples=60).runs
        disks = tuple(replace(one, read_ms=latency, write_ms=latency) for one in run.scenario.devices)
        simulate.write_esxtop(folder / f"{name}.csv", simulate.capture(replace(run.scenario, devices=disks)))
        made[name] = str(folder / f"{name}.csv")
    return made


@pytest.mark.search
def test_the_command_says_what_got_worse_and_fails_on_it(files, capsys):
    assert main(["compare", files["fast"], files["slow"], "--fail-on", "worse"]) == 3
    assert "Worse: Storage" in capsys.readouterr().out
    assert main(["compare", files["slow"], files["fast"], "--fail-on", "worse"]) in {0, 3}
    assert "Better: Storage" in capsys.readouterr().out
    assert main(["compare", files["slow"], files["slow"], "--fail-on", "worse", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["areas"]
    assert main(["compare", "--before", files["slow"], files["slow"], "--after", files["fast"], "--format", "md"]) == 0
    assert capsys.readouterr().out.startswith("# slow.csv against fast.csv")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "no capture given: compare takes BEFORE and AFTER"),
        (["{busy}"], "1 capture given: compare takes BEFORE and AFTER"),
        (["{busy}", "nope.csv"], "nope.csv does not exist"),
        (["{busy}", "{busy}", "--window", "9"], "window '9' has no slash"),
        (["{busy}", "--at", "noon"], "at 'noon' is not a time"),
        (["{busy}", "--at", "2020-01-01"], "no sample in the requested window"),
        (["{busy}", "{busy}", "--vm", "orders"], "no capture has a VM 'orders': did you mean 'orders-app'"),
        (["--before", "{busy}"], "all of them with --before and --after"),
        (["{busy}", "{busy}", "--rename", "x"], "the rule 'x' has no equals sign"),
    ],
)
def test_a_mistake_is_one_clear_line(arguments, told, busy_host_file, capsys):
    assert main(["compare", *(one.format(busy=busy_host_file) for one in arguments)]) == 1
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert told in lines[0]


def test_bad_arguments_of_the_function_are_refused(busy_host):
    with pytest.raises(ex.EsxparseError, match="nothing to compare with"):
        ex.compare(busy_host)
    with pytest.raises(ex.EsxparseError, match="either at or windows"):
        ex.compare(busy_host, at="2026-03-11", windows=[(None, None), (None, None)])
    with pytest.raises(ex.EsxparseError, match="windows has 1"):
        ex.compare(busy_host, windows=[(None, None)])
    with pytest.raises(ex.MissingTableError, match="no table 'vmm'; did you mean 'vm'"):
        ex.compare(busy_host, busy_host, tables=["vmm"])
    with pytest.raises(ex.EsxparseError, match="confidence must lie between 0 and 1"):
        ex.compare(busy_host, busy_host, confidence=95)
    with pytest.raises(ex.EsxparseError, match="has no sample from"):
        ex.compare(busy_host, at="2020-01-01")
    with pytest.raises(ex.EsxparseError, match="ends before it begins"):
        ex.compare(busy_host, windows=[("2026-03-12", "2026-03-11"), (None, None)])


def test_vms_that_are_asked_for_are_shown_with_the_host(busy_host):
    found = ex.compare(busy_host, busy_host, vms=["orders-app"]).frame
    assert set(found.filter(table="vm")["instance"]) == {"orders-app"}
    assert set(found["table"]) == {"vm", "host"}
