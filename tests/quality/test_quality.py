"""`ex.check`: sound recordings pass, and what was done to others is named with its entity, time and value."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from importlib import import_module

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import esxparse as ex
from esxparse import cli
from esxparse.quality import data, evaluate, profile, suites

BUSY = ex.datasets_dir() / "busy-host" / "busy-host.csv"
SAMPLES = 25


@pytest.fixture(scope="module")
def rows():
    """The bundled capture, its first samples: header and rows of cells."""
    with BUSY.open(newline="", encoding="utf-8") as stream:
        return [row for _, row in zip(range(SAMPLES + 1), csv.reader(stream), strict=False)]


def cells(rows, pattern):
    return [place for place, name in enumerate(rows[0]) if re.search(pattern, name)]


def checked(tmp_path, rows, change):
    """What the check says of a capture after a change of its cells."""
    changed = [list(row) for row in rows]
    change(changed)
    path = tmp_path / "capture.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(changed)
    return ex.check(ex.open(path))


def scaled(pattern, factor, lines=slice(1, None)):
    def change(rows):
        places = cells(rows, pattern)
        assert places
        for row in rows[lines]:
            for place in places:
                row[place] = f"{float(row[place]) * factor:.2f}"

    return change


def ids(found):
    return {one.id for one in (*found.failed, *found.warned)}


def test_the_bundled_capture_is_sound():
    found = ex.check(ex.open(BUSY))
    assert (found.status, found.failed, found.warned) == ("pass", (), ())
    assert len(found.of("pass")) > 300
    assert found.verdict == f"All {len(found.of('pass'))} expectations are met."


def formats():
    for path in sorted((ex.datasets_dir() / "formats").iterdir()):
        marks = [pytest.mark.needs("tshark")] if path.suffix == ".pcapng" else []
        yield pytest.param(path, id=path.name, marks=marks)


@pytest.mark.parametrize("path", list(formats()))
def test_recordings_of_every_format_are_sound(path):
    rec = ex.open(path, format="results_csv" if path.name.startswith("results") else None)
    found = ex.check(rec)
    # Three samples are too few to judge a host by, and the check says so.
    warned = ["samples.enough"] if path.name == "esxtop-api-host.jsonl" else []
    assert ([one.id for one in found.failed], [one.id for one in found.warned]) == ([], warned)


def test_a_fault_is_named_with_entity_time_and_value(tmp_path, rows):
    place = cells(rows, r"Physical Cpu\(3\)\\% Util Time")[0]

    def change(rows):
        rows[5][place] = "-12.50"

    found = checked(tmp_path, rows, change)
    (one,) = [one for one in found.failed if one.id == "negative"]
    assert (one.table, one.name, one.entity, one.value) == ("physical_cpu", "pct_util_time (pcpu)", "3", -12.5)
    assert one.time == datetime(2026, 3, 11, 9, 0, 20, tzinfo=UTC)
    assert str(one).startswith(
        "physical_cpu: pct_util_time (pcpu) of 3 at 2026-03-11 09:00:20 is -12.5, expected 0 or more"
    )


@pytest.mark.parametrize(
    ("pattern", "factor", "caught"),
    [
        (r"Vcpu\(.*\\% Ready$", 0.01, "states"),
        (r"Physical Cpu\(_Total\)\\% Util Time", 1.3, "total_pct_util_time"),
        (r"SCSI Device\(.*Average Driver MilliSec/Command", 1000, "gavg_command"),
        (r"Network Port\(.*\\MBits Transmitted", 0.125, "bits_transmitted"),
        (r"Virtual Disk\(.*\\MBytes Read", 8, "vm_mbytes_read_per_sec"),
        (r"Memory\\Machine MBytes", 0.001, "memory_sum"),
        (r"Power\\Power Usage Now", 1000, "watts_plausible"),
    ],
    ids=str,
)
def test_a_counter_in_another_unit_fails_what_it_adds_up_to(tmp_path, rows, pattern, factor, caught):
    change = scaled(pattern, factor)
    if pattern.startswith("Virtual"):
        pattern = r"Virtual Disk\([^:]*\)\\MBytes Read"
        change = scaled(pattern, factor)
    assert caught in ids(checked(tmp_path, rows, change))


def test_samples_out_of_order_in_gaps_and_repeated(tmp_path, rows):
    def repeated(rows):
        for row, again in zip(rows[15:20], rows[5:10], strict=True):
            row[1:] = again[1:]

    def gap(rows):
        del rows[8:14]

    assert ids(checked(tmp_path, rows, repeated)) >= {"samples.repeated"}
    found = checked(tmp_path, rows, gap)
    assert [(one.id, one.value) for one in found.warned] == [("clock.gap", 7.0)]


def test_a_counter_that_stands_still(tmp_path, rows):
    def frozen(rows):
        for place in cells(rows, r"Vcpu\(.*\\% Used$"):
            for row in rows[6:]:
                row[place] = rows[5][place]

    assert "frozen" in ids(checked(tmp_path, rows, frozen))


def test_files_of_one_run_have_one_host_and_one_clock():
    rec = ex.open(BUSY)
    fio = ex.open(ex.datasets_dir() / "formats" / "fio-json-plus.json")
    found = ex.check([rec, fio])
    assert "files.clock" in {one.id for one in found.warned}
    other = ex.Recording("esxtop", "b.csv", rec.tables, {**rec.meta, "host": "esx-08"})
    assert "files.host" in {one.id for one in ex.check([rec, other]).failed}
    assert ex.check([rec, rec]).status == "pass"


def test_what_it_says_in_text_html_json_and_as_a_frame(tmp_path, rows):
    found = checked(tmp_path, rows, scaled(r"Memory\\Free MBytes", 4.0))
    assert found.text().splitlines()[0] == found.verdict
    assert "memory_sum at 2026-03-11 09:0" in found.text()
    assert "Memory of the VMkernel" in found._repr_html_()
    said = json.loads(found.json())
    assert said["status"] == "fail"
    assert {one["status"] for one in said["expectations"]} == {
        "fail",
        "pass",
        "not judged",
        *(["warn"] if found.warned else []),
    }
    frame = found.frame()
    assert frame.height == len(found)
    assert frame["status"][0] == "fail"


def test_a_profile_tells_each_counter_and_class():
    told = profile(ex.open(BUSY))
    vcpu = told["vcpu"].filter(pl.col("kind") == "counter", pl.col("name") == "pct_ready")
    assert vcpu["of"].sort().to_list() == ["idle", "vcpu", "world"]
    rows = ex.open(BUSY)["vcpu"].filter(pl.col("world").str.starts_with("vmx-vcpu-")).collect()
    (row,) = vcpu.filter(pl.col("of") == "vcpu").to_dicts()
    assert (row["rows"], row["nulls"], row["unit"]) == (rows.height, 0, "% of one core")
    assert (row["min"], row["max"]) == (rows["pct_ready"].min(), rows["pct_ready"].max())
    assert row["sum"] == pytest.approx(rows["pct_ready"].sum())
    at = rows.filter(pl.col("time") == row["max_time"], pl.col("instance") == row["max_at"])
    assert at["pct_ready"].item() == row["max"]
    clock = told["samples"].filter(pl.col("name") == "step_s")
    assert clock.select("min", "max", "rows").row(0) == (5.0, 5.0, 120)


@pytest.mark.search
def test_a_large_capture_is_profiled_span_by_span(monkeypatch):
    rec = ex.open(BUSY)
    whole = profile(rec)
    monkeypatch.setattr(import_module("esxparse.quality.profile"), "_AT_ONCE", 200_000)
    parts = profile(rec)
    assert list(parts) == list(whole)
    own = pl.col("kind").ne("sample") & ~pl.col("name").is_in(
        ["kernel_spikes", "load_of_util"]
    )  # they look across spans
    told = ["name", "of", "rows", "nulls", "min", "max", "sum", "infinite"]
    for table in whole:
        one, other = (found[table].filter(own).sort("kind", "name", "of").select(told) for found in (whole, parts))
        assert_frame_equal(one, other, abs_tol=1e-9)
    assert ex.check(ex.open(BUSY)).status == "pass"


@pytest.mark.search
def test_it_does_not_matter_how_many_numbers_are_looked_at_together(monkeypatch, tmp_path, rows):
    """A counter that stands still is followed from one part of its numbers to the next."""
    place = cells(rows, r"vmx-vcpu-0.*% Run$")[0]
    changed = [list(row) for row in rows]
    for row in changed[2:22]:
        row[place] = "51.37"
    with (tmp_path / "stuck.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(changed)
    rec = ex.open(tmp_path / "stuck.csv")
    whole = profile(rec)
    monkeypatch.setattr(import_module("esxparse.quality.profile"), "_NEAR", 13)
    parts = profile(rec)
    stuck = whole["vcpu"].row(by_predicate=(pl.col("name") == "pct_run") & (pl.col("of") == "vcpu"), named=True)
    assert stuck["stuck"] == 19
    assert "vmx-vcpu-0" in stuck["stuck_at"]
    for table, frame in whole.items():
        assert_frame_equal(frame, parts[table], abs_tol=1e-9)


def test_the_suites_are_those_that_checks_toml_makes():
    there = {path.name: path.read_text(encoding="utf-8") for path in suites.SUITES.glob("*.json")}
    assert there == suites.written(), "run `make written`"


def test_every_identity_of_esxtop_can_be_computed_of_the_bundled_capture():
    rec = ex.open(BUSY)
    frames = {name: frame.collect() for name, frame in rec.tables.items()}
    computed = {name for _, _, values in data.identities("esxtop", frames) for name in values.columns}
    wanted = {rule.id for rule in data.rules("identity") if any(table.startswith("esxtop.") for table in rule.tables)}
    assert wanted == computed


@pytest.mark.parametrize(
    "text", ['unit == "ms"', 'unit in ["ms"] and not name.str.contains("a|b")', 'rows >= 3 or (kind != "clock")']
)
def test_conditions_of_pandas(text):
    frame = pl.DataFrame({"unit": ["ms", "W", None], "name": ["b", "c", "d"], "rows": [1, 3, 5], "kind": ["clock"] * 3})
    pandas = pytest.importorskip("pandas")
    told = pandas.DataFrame(frame.to_dict(as_series=False)).query(text)["name"].tolist()
    assert frame.filter(evaluate.condition(text))["name"].to_list() == told


def test_rows_of_profiles_are_judged_as_tables_are():
    """Each of our expectations on faulty profiles: missing values, NaN, numbers below and above the limits."""
    for table, frame in profile(ex.open(BUSY)).items():
        expectations = suites.ours("esxtop", table).config["expectations"]
        columns = {one["kwargs"]["column"] for one in expectations}
        values = pl.Series([None, float("nan"), -1e12, 1e12, 98.0, float("inf")]).to_frame("value")
        wrong = frame.join(values, how="cross").with_columns(pl.col("value").alias(name) for name in columns)
        judged = zip(evaluate.judge_limits(expectations, wrong), evaluate.judge(expectations, wrong), strict=True)
        for one, (mine, other) in zip(expectations, judged, strict=True):
            assert mine[0] == other[0], one
            assert mine[1].equals(other[1]), one


def test_of_equal_extremes_of_a_query_the_first_is_told():
    rec = ex.open(BUSY)
    frames = {name: rec.tables[name].collect() for name in ("interrupt_cookie", "group_cpu", "vcpu")}
    told = {
        name: keys
        for name, keys, values in data.identities("esxtop", frames)
        if {"cookie_sum", "worlds_pct_run"} & set(values.columns)
    }
    for name in ("interrupt_cookie", "group_cpu"):
        assert told[name].select("time", "instance").equals(told[name].select("time", "instance").sort(pl.all())), name


@pytest.mark.parametrize("text", ["__import__('os')", "name.str.upper()", "a +", "1 < rows < 3"])
def test_other_conditions_are_refused(text):
    with pytest.raises(evaluate.UnknownConditionError):
        evaluate.condition(text)


def suite(tmp_path, expectations, **meta):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"name": "mine", "expectations": expectations, "meta": {"esxparse": meta}}))
    return path


BETWEEN = "expect_column_values_to_be_between"


def test_a_suite_of_ones_own_on_profiles_and_on_tables(tmp_path):
    rec = ex.open(BUSY)
    ready = {
        "column": "max",
        "max_value": 10,
        "row_condition": 'name == "pct_ready" and of == "vcpu"',
        "condition_parser": "pandas",
    }
    mine = suite(tmp_path, [{"type": BETWEEN, "kwargs": ready, "severity": "warning"}], format="esxtop", table="vcpu")
    (one,) = ex.check(rec, mine)
    assert (one.status, one.table, one.name) == ("warn", "vcpu", "pct_ready (vcpu)")
    mine = suite(
        tmp_path, [{"type": BETWEEN, "kwargs": {"column": "pct_ready", "max_value": 10}}], table="vcpu", on="table"
    )
    (one,) = ex.check(rec, mine)
    worst = rec["vcpu"].collect().sort("pct_ready", descending=True, maintain_order=True).row(0, named=True)
    assert (one.status, one.entity, one.time, one.value) == (
        "fail",
        worst["instance"],
        worst["time"],
        worst["pct_ready"],
    )
    mine = suite(
        tmp_path,
        [{"type": BETWEEN, "kwargs": {"column": "pct_ready", "max_value": 10, "mostly": 0.5}}],
        table="vcpu",
        on="table",
    )
    assert ex.check(rec, mine).status == "pass"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not valid JSON"),
        ("[]", "has no"),
        ('{"expectations": [{"type": "x"}]}', "expectation 1 has no type and kwargs"),
        ('{"expectations": [], "meta": {"esxparse": {"on": "moon"}}}', "'moon'"),
        ('{"expectations": [], "meta": {"esxparse": {"table": "moon"}}}', "'moon'"),
        ('{"expectations": [], "meta": {"esxparse": {"format": "fio"}}}', "is for fio"),
    ],
)
def test_a_suite_that_is_none_is_refused_in_a_sentence(tmp_path, text, said):
    path = tmp_path / "mine.json"
    path.write_text(text)
    with pytest.raises(ex.EsxparseError, match=re.escape(said)):
        ex.check(ex.open(BUSY), path)


@pytest.mark.search
def test_the_command(tmp_path, rows, capsys):
    assert cli.main(["check", str(BUSY), "--fail-on", "warn"]) == 0
    assert "expectations are met" in capsys.readouterr().out
    checked(tmp_path, rows, scaled(r"Memory\\Free MBytes", 4.0))
    bad = str(tmp_path / "capture.csv")
    assert cli.main(["check", bad, "--fail-on", "fail", "--format", "json"]) == 3
    assert json.loads(capsys.readouterr().out)["status"] == "fail"
    assert cli.main(["check", bad, "--format", "html"]) == 0
    assert "memory_sum" in capsys.readouterr().out
    assert cli.main(["check", str(tmp_path / "none.csv")]) == 1


@pytest.mark.search
def test_a_check_imports_neither_pandas_nor_great_expectations():
    code = (
        "import sys, esxparse as ex; ex.check(ex.open(sys.argv[1])); "
        "print([name for name in ('pandas', 'great_expectations', 'altair') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code, str(BUSY)], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
