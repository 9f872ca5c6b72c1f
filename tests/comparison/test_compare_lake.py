"""Two times of a lake: windows, the last week against the week before, and a page for each host."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import polars as pl
import pytest

import esxparse as ex
from esxparse.cli import main

pytestmark = pytest.mark.needs("obstore")

LATENCY = {"esx-1": (8.0, 0.5), "esx-2": (0.5, 8.0), "esx-3": (1.0, None)}
"""Latency of the disks (ms) of each host in the first week and in the second, in which one host was not captured."""
WEEKS = ("2026-05-16T00:00/2026-05-23T00:00", "2026-05-23T00:00/2026-05-30T00:00")


@pytest.fixture(scope="module")
def where(tmp_path_factory):
    """A lake with a capture of each host, 14:00:00 to 14:04:55 on 2026-05-16 and a week later."""
    folder = tmp_path_factory.mktemp("weeks")
    lake = ex.lake(folder / "lake")
    for host, latencies in LATENCY.items():
        for week, latency in enumerate(latencies):
            if latency is None:
                continue
            (run,) = ex.simulate.load_experiment("healthy-storage", seed=3 + week, samples=60).runs
            disks = tuple(replace(one, read_ms=latency, write_ms=latency) for one in run.scenario.devices)
            start = run.scenario.start + timedelta(days=7 * week)
            file = folder / f"{host}-{week}.csv"
            ex.simulate.write_esxtop(
                file, ex.simulate.capture(replace(run.scenario, devices=disks, start=start)), host=host
            )
            lake.add([file])
    return str(folder / "lake")


@pytest.mark.search
def test_the_last_week_is_compared_with_the_week_before(where):
    found = ex.compare(ex.lake(where).of("esx-1"), last="7d")
    assert found.verdict.startswith("Better: Storage.")
    # The second week begins after the moment at which the first ends, though both end at 14:04:55.
    assert (found.before.samples, found.after.samples) == (60, 60)
    assert found.before.side.label == "esx-1, 1 capture, 2026-05-16 14:00:00 to 2026-05-16 14:04:55"
    windows = [tuple(week.split("/")) for week in WEEKS]
    same = ex.compare(ex.lake(where).of("esx-1"), windows=windows).frame
    both = found.frame.join(same, on=["table", "column", "instance"], how="full")
    assert both.height == same.height == found.frame.height
    assert (both["change"] - both["change_right"]).abs().max() < 1e-9


def test_a_part_of_a_lake_ends_where_it_is_asked_to(where):
    part = ex.lake(where).of("esx-1", until="2026-05-16T14:04:00")
    found = ex.compare(part, last="2m")
    # 14:00:05 to 14:02:00, and 14:02:05 to 14:03:55: a part of a lake ends before its last moment.
    assert (found.before.samples, found.after.samples) == (24, 23)


def test_hosts_of_a_lake_are_compared_together(where):
    found = ex.compare(ex.lake(where).of("esx-1", "esx-2"), last="7d")
    assert found.before.side.label.startswith("2 hosts, 2 captures")
    disks = found.frame.filter(table="device", column="davg_ms").filter("differs")
    better = disks.select(pl.col("instance").str.split(":").list.first(), "verdict").unique().sort("instance")
    assert better.rows() == [("esx-1", "better"), ("esx-2", "worse")]


def test_a_moment_where_windows_meet_is_in_the_later_one(where):
    lake = ex.lake(where).of("esx-1")
    windows = [("2026-05-16T14:00", "2026-05-16T14:02"), ("2026-05-16T14:02", "2026-05-16T14:04")]
    found = ex.compare(lake, windows=windows)
    assert (found.before.samples, found.after.samples) == (24, 25)
    other = ex.compare(lake, windows=windows[::-1])
    assert (other.before.samples, other.after.samples) == (25, 24)


@pytest.mark.search
def test_the_command_compares_two_times_of_a_lake(where, capsys):
    assert main(["compare", "--lake", where, "--host", "esx-2", "--last", "7d", "--fail-on", "worse"]) == 3
    assert "Worse: Storage." in capsys.readouterr().out
    assert main(["compare", "--lake", where, "--host", "esx-1", *(f"--window={week}" for week in WEEKS)]) == 0
    assert "Better: Storage." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--lake", "{lake}"], "--lake takes its two times from --last LENGTH, --at TIME or --window twice"),
        (["--lake", "{lake}", "--last", "7d", "x.csv"], "either captures or --lake"),
        (["--lake", "{lake}", "--last", "7d", "--at", "2026-05-20"], "not several of them"),
        (["--lake", "{lake}", "--last", "soon"], "last 'soon' is not a length of time"),
        (["--lake", "{lake}", "--last", "7d", "--host", "esx-7"], "has no host 'esx-7': did you mean 'esx-"),
        (
            ["--lake", "{lake}", "--last", "7d", "--host", "esx-3"],
            "no sample of esx-3 from 2026-05-16 14:04:55 to 2026-05-23 14:04:55 (UTC); it has samples from 2026-05-16",
        ),
        (["--lake", "{lake}", "--last", "1d"], "no sample from 2026-05-21 14:04:55"),
        (
            ["--lake", "{lake}", "--window", "2026-05-16/2026-05-23", "--window", "2026-05-22/2026-05-30"],
            "the windows overlap",
        ),
        (["--last", "7d", "a.csv", "b.csv"], "--last is for lakes: name one with --lake"),
        (["--host", "esx-1", "a.csv", "b.csv"], "--host is for lakes: name one with --lake"),
        (["--lake", "{lake}-2", "--last", "7d"], "there is no lake at"),
    ],
)
def test_a_mistake_is_one_clear_line(arguments, told, where, capsys):
    assert main(["compare", *(one.format(lake=where) for one in arguments)]) == 1
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert told in lines[0]


def test_last_is_of_a_lake_alone(where, busy_host):
    with pytest.raises(ex.EsxparseError, match="last counts back from the end of a lake"):
        ex.compare(busy_host, last="7d")
    with pytest.raises(ex.EsxparseError, match="leave out the second side"):
        ex.compare(ex.lake(where), busy_host, last="7d")


@pytest.mark.search
def test_a_batch_has_a_page_for_each_host(where, tmp_path, capsys):
    folder = tmp_path / "pages"
    command = ["batch", where, "-t", "before_after", "-p", "last=7d", "-o", str(folder), "--to", "md", "--jobs", "1"]
    assert main([*command, "-q"]) == 1
    assert "esx-3: template 'before_after' failed" in capsys.readouterr().err
    pages = {one.stem: one.read_text(encoding="utf-8") for one in folder.glob("esx-*.md")}
    assert sorted(pages) == ["esx-1", "esx-2"]
    assert "Better: Storage." in pages["esx-1"]
    assert "Worse: Storage." in pages["esx-2"]
    index = (folder / "index.html").read_text(encoding="utf-8")
    assert index.index("Worse: Storage.") < index.index("Better: Storage.")
    summary = pl.read_parquet(folder / "summary.parquet")
    assert summary.select("item", "host").sort("item").rows() == [
        ("esx-1", "esx-1"),
        ("esx-2", "esx-2"),
        ("esx-3", None),
    ]
    one = ex.batch(where, folder, template="before_after", parameters={"last": "7d", "host": "esx-1"}, to="md", jobs=1)
    assert (one.items, one.reused) == (1, 1)


@pytest.mark.search
def test_a_report_is_on_one_host_or_all(where, tmp_path):
    page = ex.report(where, "before_after", tmp_path / "r.md", {"last": "7d", "host": "esx-2"}).read_text("utf-8")
    assert "Worse: Storage." in page
    assert "esx-2, 1 capture" in page
    with pytest.raises(ex.EsxparseError, match="a report is on one lake, but 2 inputs"):
        ex.report([where, where], "before_after", tmp_path / "r.md", {"last": "7d"})
