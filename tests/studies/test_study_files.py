"""What a study writes (CSV, Parquet, HTML), the command line, and the manifest that is written for a directory."""

from __future__ import annotations

import io
import re
import shutil

import polars as pl
import pytest
import studies
from checkout import DOCS
from hypothesis import given
from hypothesis import strategies as st

import esxparse as ex
from esxparse import metrics
from esxparse.cli import main
from esxparse.errors import EsxparseError
from esxparse.studies import draft, export, patterns, study
from esxparse.studies.columns import COLUMNS, HEADLINES
from esxparse.studies.expand import expand
from esxparse.studies.roles import ROLES
from esxparse.studies.study_file import load
from esxparse.toml import lines

DOCS = DOCS / "study.md"
TEXT = """title = "Mean & <max>"
baseline = { filter = "default" }
axis = "vms"
[[run]]
filter = "default"
vms = [1, 2]
[run.values]
read_iops = 1000.5
read_latency_mean_ms = 2.5
[[run]]
filter = "null"
vms = 1
[run.values]
read_iops = 1100
[[run]]
filter = "null"
vms = 2
esxtop = "gone.csv"
"""


@pytest.fixture
def small(tmp_path):
    return studies.computed(tmp_path, TEXT)


def run(*arguments):
    return main(["study", *map(str, arguments)])


def test_csv_and_parquet_give_the_table_back(small, tmp_path):
    small.to_csv(tmp_path / "runs.csv")
    small.to_parquet(tmp_path / "runs.parquet")
    frame = small.runs.collect()
    assert pl.read_parquet(tmp_path / "runs.parquet").equals(frame)
    told = pl.read_parquet_metadata(tmp_path / "runs.parquet")
    assert told["baseline"] == "filter=default"
    assert told["unit.read_latency_mean_ms"] == "ms"
    again = pl.read_csv(tmp_path / "runs.csv")
    assert again.columns == frame.columns
    assert again["read_iops"].to_list() == frame["read_iops"].to_list()


def test_times_in_csv_are_utc_and_say_so(tmp_path):
    studies.write_capture(tmp_path / "c.csv")
    studies.computed(tmp_path, '[[run]]\nesxtop = "c.csv"\n').to_csv(tmp_path / "runs.csv")
    assert ",2026-03-02T08:30:00Z,2026-03-02T08:35:00Z,300.0,31," in (tmp_path / "runs.csv").read_text()


def test_a_comparison_is_written_like_the_runs(small, tmp_path):
    table = small.compare("read_iops")
    small.to_csv(tmp_path / "c.csv", table)
    assert pl.read_csv(tmp_path / "c.csv")["ratio"].drop_nulls().round(3).to_list() == [1.0, 1.0, 1.099]
    small.to_table(tmp_path / "c.html", table)
    page = (tmp_path / "c.html").read_text()
    assert "Read IOPS: baseline filter=default" in page
    assert "1 repetition: an interval needs 2 or more" in page


def test_the_table_names_units_baseline_and_what_is_missing_and_reaches_for_nothing(small, tmp_path):
    small.to_table(tmp_path / "t.html", columns=["filter", "vms", "read_iops", "read_latency_mean_ms", "gap"])
    page = (tmp_path / "t.html").read_text(encoding="utf-8")
    assert "Mean &amp; &lt;max&gt;" in page
    assert "Read latency mean<br><small>ms</small>" in page
    assert "Baseline: filter=default (2 of 4 rows)." in page
    assert "there is no file gone.csv" in page
    assert ">\u2013<" in page
    assert not re.findall(r"""(?:src|href)\s*=|https?:|@import|url\(""", page)


def test_a_column_that_is_not_there_is_refused(small):
    with pytest.raises(EsxparseError, match="no column 'rpm' to show"):
        small.to_table(columns=["rpm"])
    with pytest.raises(EsxparseError, match=r"no column 'rpm' in the runs of"):
        small.compare("rpm")


def test_a_study_without_a_baseline_has_nothing_to_compare_with(tmp_path):
    found = studies.computed(tmp_path, "[[run]]\nvalues = { users = 3 }\n")
    with pytest.raises(EsxparseError, match="has no baseline to compare with: add baseline = "):
        found.compare("users")
    assert found.runs.collect()["is_baseline"].to_list() == [None]


def test_a_file_that_cannot_be_written_is_one_line(small, tmp_path):
    for write in (small.to_csv, small.to_parquet, small.to_table):
        with pytest.raises(EsxparseError, match=r"gone/x cannot be written"):
            write(tmp_path / "gone" / "x")


def test_headings_of_all_columns_are_words():
    for name in COLUMNS:
        text, unit = export.heading(name)
        assert text
        assert "_" not in text
        assert not unit.endswith("_per_s")
    assert set(HEADLINES) <= set(COLUMNS)


def test_check_says_all_that_is_wrong_and_computes_nothing(tmp_path, capsys):
    studies.write_capture(tmp_path / "c.csv")
    text = '[window]\nwarmup = "1m"\n[[run]]\nx = 1\nesxtop = "c.csv"\n'
    studies.manifest(tmp_path, text)
    assert run("check", tmp_path) == 0
    assert capsys.readouterr().out.endswith("study.toml: 1 run by x, 1 file, all well\n")
    studies.manifest(tmp_path, text + '[[run]]\nx = 2\nesxtop = "d.csv"\n[[run]]\nx = 3\npower = "c.csv"\n')
    assert run("check", tmp_path) == 1
    told = capsys.readouterr()
    assert "study.toml:8: run 2 (x=2): esxtop: there is no file d.csv" in told.err
    assert "is a recording of esxtop: name it as esxtop = ..." in told.err
    assert told.out.endswith("3 runs by x, 1 file, 2 problems\n")


def test_check_lists_every_complaint_above_the_runs(tmp_path, capsys):
    studies.manifest(tmp_path, 'titel = "x"\n[window]\nwarmup = "soon"\n[[run]]\nesxtop = "a"\n')
    assert run("check", tmp_path / "study.toml") == 1
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2
    assert 'study.toml:1: unknown key "titel"' in told[0]
    assert "study.toml:3: warmup 'soon'" in told[1]
    studies.manifest(tmp_path, "title =")
    assert run("check", tmp_path) == 1
    assert "study.toml:1: not TOML" in capsys.readouterr().err


def test_run_prints_and_writes_by_the_ending(tmp_path, capsys):
    studies.manifest(tmp_path, TEXT)
    outputs = [tmp_path / f"o.{kind}" for kind in ("csv", "parquet", "html")]
    arguments = [argument for out in outputs for argument in ("-o", out)]
    assert run("run", tmp_path, *arguments) == 1
    told = capsys.readouterr()
    assert "1100.0" in told.out
    assert "there is no file gone.csv" in told.err
    assert all(out.stat().st_size for out in outputs)
    assert run("run", tmp_path, "-o", "x.xlsx") == 2
    assert "must end in .csv, .parquet, .html" in capsys.readouterr().err
    assert run("run", tmp_path, "--compare", "read_iops", "-o", tmp_path / "r.csv") == 1
    assert "ratio" in (tmp_path / "r.csv").read_text()


def test_new_writes_a_manifest_that_finds_every_file(tmp_path, capsys):
    raw = studies.FORMATS
    for name in ("default", "null"):
        for vms in (2, 16):
            studies.write_capture(tmp_path / f"{name}-{vms}vm.csv", samples=3)
            shutil.copy(raw / "iometer-1.1.0.csv", tmp_path / f"{name}-{vms}vm.iometer.csv")
    shutil.copy(raw / "lscpu-host.txt", tmp_path)
    (tmp_path / "notes.txt").write_text("nothing")
    assert run("new", tmp_path) == 0
    assert "study.toml: 4 runs" in capsys.readouterr().out
    text = (tmp_path / "study.toml").read_text()
    assert 'esxtop = "{name}-{vm}vm.csv"' in text
    assert 'hardware = "lscpu-host.txt"' in text
    assert 'axis = ["vm"]' in text
    assert 'baseline = { name = "default" }' in text
    found = expand(load(tmp_path))
    assert [dict(one.labels) for one in found] == [{"name": n, "vm": v} for n in ("default", "null") for v in (2, 16)]
    assert all(set(one.files) == {"esxtop", "iometer", "hardware"} and not one.problems for one in found)
    assert run("new", tmp_path) == 1
    assert "already exists" in capsys.readouterr().err


def test_new_leaves_out_what_no_study_has_a_use_for(tmp_path, capsys):
    shutil.copytree(studies.FORMATS, tmp_path / "f")
    assert run("new", tmp_path) == 0
    told = capsys.readouterr().out
    assert "left out: " in told
    (tmp_path / "g").mkdir()
    assert run("new", tmp_path / "g") == 1
    assert "holds no files for a study" in capsys.readouterr().err
    assert run("new", tmp_path / "h") == 1
    assert "is no directory" in capsys.readouterr().err
    load(tmp_path)


WORD = st.sampled_from(["default", "null", "raid5", "ключ", "a b", "x[1]", "{z}"])


@given(st.sets(st.tuples(WORD, st.integers(0, 999)), min_size=1, max_size=12))
def test_patterns_of_names_match_the_names_they_were_made_of(pairs):
    names = [f"{word}/vm{number}.csv" for word, number in sorted(pairs)]
    found = draft.name_patterns(names)
    matched = {name for one in found for name in names if patterns._expression(one.pattern).fullmatch(name)}
    assert matched == set(names)


def test_a_manifest_written_for_files_is_toml_whatever_their_names(tmp_path):
    for name in ('a "b" 1.csv', 'a "b" 2.csv', "{x}.csv"):
        studies.write_capture(tmp_path / name, samples=3)
    path, other = draft.write(tmp_path)
    assert other == []
    found = expand(load(path))
    assert sorted(name for one in found for name in one.files["esxtop"].names) == sorted(
        ['a "b" 1.csv', 'a "b" 2.csv', "{x}.csv"]
    )


def test_every_column_and_key_is_documented_with_where_its_formula_is(capsys):
    for name, column in COLUMNS.items():
        assert column.means, name
        if column.source.startswith("metrics."):
            module, _, function = (
                column.source.removeprefix("metrics.").partition(",")[0].partition(":")[0].partition(".")
            )
            assert hasattr(getattr(metrics, module), function or "__name__"), name
    assert all(f"`{role}`" in DOCS.read_text(encoding="utf-8") for role in ROLES)
    assert run("columns") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(COLUMNS)
    assert run("columns", "PCPU UTIL, mean") == 0
    assert capsys.readouterr().out.split()[:3] == ["host_util_pct", "%", "esxtop"]


def test_the_examples_of_the_documentation_are_manifests(tmp_path):
    blocks = re.findall(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    for number, text in enumerate(one for one in blocks if "[[run]]" in one):
        path = tmp_path / f"{number}.toml"
        path.write_text(text)
        assert lines.index(text)
        found = load(path)
        assert found.runs
        assert not any(one.problems for one in found.runs)
        study(path)


def test_a_study_is_small_in_its_words(small):
    buffer = io.StringIO()
    print(small.title, small.axis, small.baseline, small.labels, small.within, file=buffer)
    assert buffer.getvalue() == "Mean & <max> ('vms',) {'filter': 'default'} ('filter', 'vms') ('vms',)\n"
    assert isinstance(small.runs, pl.LazyFrame)
    assert ex.datasets_dir().exists()
