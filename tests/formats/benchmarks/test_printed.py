"""Lines that programs print, sorted by the kinds that the TOML file beside a reader declares."""

from __future__ import annotations

import re

from esxparse.formats.benchmarks.printed import Lines, figures_in
from esxparse.formats.benchmarks.table import higher
from esxparse.schema import schema

KINDS = r"""
[parts]
N = '\d+'

[lines]
any = '\S'
begins = '^run (?P<name>\w+)'
row = '^(?P<second><N>): (?P<rate>\S+)'
two = '^two'
error = ['failed', 'cannot \w+']
"""
COLUMNS = {"rows": schema("run second i64, rate f64"), "benchmark_results": schema("run i64")}


def program(tmp_path):
    (tmp_path / "tool.toml").write_text(KINDS)
    lines = Lines(str(tmp_path / "tool.py"))

    @lines.reads("any")
    def count(report, _):
        report.coming["lines"] = report.coming.get("lines", 0) + 1
        return False

    @lines.reads("begins")
    def begin(report, found):
        report.begin(**found.groupdict())

    @lines.reads_in_run("row")
    def add(report, found):
        report.run.rows["rows"].append(found.groupdict())

    @lines.reads("two")
    def take(report, _):
        report.coming["below"] = next(report.below, "")
        report.place += 1

    return lines


def test_each_line_goes_to_the_first_kind_that_takes_it(tmp_path):
    report = program(tmp_path).read(["1: 9", "run a", "", "2: 1.5", "  cannot write", "two", "3: 4", "run b", "4: nan"])
    assert [(run.line, run.facts) for run in report.runs] == [(2, {"name": "a"}), (8, {"name": "b"})]
    assert report.kept["unknown"] == [(1, "1: 9")], "a row before the first run, not the blank line"
    assert report.kept["error"] == [(5, "  cannot write")]
    assert report.coming == {"lines": 7, "below": "3: 4"}


def test_rows_get_the_number_of_their_run_and_the_types_of_their_columns(tmp_path):
    report = program(tmp_path).read(["run a", "2: 1.5", "run b", "4: nan"])
    assert report.details(COLUMNS) == {
        "rows": (
            [{"second": 2, "rate": 1.5, "run": 1}, {"second": 4, "rate": None, "run": 2}],
            COLUMNS["rows"],
        )
    }
    shared = report.details(COLUMNS, [{"test": "x"}, {"test": "y"}])["rows"][0]
    assert [row["test"] for row in shared] == ["x", "y"]


def test_what_goes_wrong_becomes_notes(tmp_path):
    report = program(tmp_path).read(["failed: no space"])
    assert [(note.message, note.severity) for note in report.notes("tool")] == [
        ("tool says: failed: no space", "warning")
    ]


def test_named_groups_are_parts_of_the_names_of_figures():
    found = re.match(r"p(?P<which>\S+): (\S+) of (\S+)", "p95.0: 1.5 of 20")
    assert found
    assert figures_in(found, [["latency_p{which:g}", "ms", "down"], ["count", "1"]])[0].metric == "latency_p95"
    assert figures_in(found, [["a", "1/s", "up"], ["count", "1"]])[0] == higher("a", 1.5, "1/s")
    assert figures_in(found, [["a", "1/s", "up"], ["count", "1"]])[1].higher_is_better is None
