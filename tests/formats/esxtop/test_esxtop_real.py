"""Real captures, kept outside the repository, read to the last cell."""

from __future__ import annotations

import datetime as dt
import math
import re

import compose
import polars as pl
import pytest

import esxparse as ex
from esxparse.counters.naming import column_name, table_name

STATES = ("_q_depth", "active_commands", "queued_commands", "pct_used", "load")


def independent_cells(line: str) -> list[str]:
    """Cells of a 6.5 `-a` line, by rules of this test's own: quoted runs, and bare runs between or after them."""
    return [quoted or bare.strip() for quoted, bare in re.findall(r'"([^"]*)"|([^",]+)', line)]


@pytest.mark.search
def test_every_cell_of_the_65_capture_is_in_its_table():
    file = compose.real_data("esxtop", "esxi65_all_counters.csv")
    rec = ex.open(file)
    header, *lines = file.read_text().splitlines()
    assert {len(line.split(",")) for line in [header, *lines]} == {17427}, "raw cells to a line"
    names = independent_cells(header)
    assert len(names) == 17428
    assert names.count("-") == 2

    for place, name in enumerate(names):
        if name == "-":
            names[place] = names[place - 1].rpartition("\\")[0] + "\\% of aperf/mperf"
    frames = {name: frame.collect() for name, frame in rec.tables.items()}
    for number, line in enumerate(lines):
        cells = independent_cells(line)
        assert len(cells) == 17428
        time = dt.datetime.strptime(cells[0], "%m/%d/%Y %H:%M:%S").replace(tzinfo=dt.UTC)
        expected: dict[tuple[str, str | None], dict[str, float]] = {}
        for name, cell in zip(names[1:], cells[1:], strict=True):
            _, object_, instance, counter = re.fullmatch(
                r"\\\\([^\\]+)\\([^(\\]+)(?:\((.*)\))?\\([^\\]+)", name
            ).groups()
            expected.setdefault((table_name(object_), instance), {})[column_name(counter)] = float(cell)
        found = unmeasured = 0
        for (table, instance), values in expected.items():
            got = frames[table].filter(pl.col("time") == time, pl.col("instance").eq_missing(instance))
            assert got.height == 1, (table, instance, number)
            record = got.row(0, named=True)
            if number == 0 and "disk" in table:
                # Not measured yet: 0.00 in the capture and null in the table, but for the states of queues.
                nulls = {name for name in values if not name.endswith(STATES)}
                assert {values[name] for name in nulls} <= {0.0}
                assert {record[name] for name in nulls} <= {None}
                unmeasured += len(nulls)
            else:
                nulls = set()
            assert {name: record[name] for name in values if name not in nulls} == {
                name: value for name, value in values.items() if name not in nulls
            }
            found += len(values) - len(nulls)
        assert found + unmeasured == 17427
        stored = sum(
            frame.filter(pl.col("time") == time).select(pl.selectors.float()).count().transpose().to_series().sum()
            for frame in frames.values()
        )
        assert stored == found, "and nothing that the line does not have"
        assert (unmeasured > 1000) == (number == 0)
    assert sum(frame.height for frame in frames.values()) == 3 * sum(rec.meta["objects"].values())


def test_facts_of_the_65_capture():
    rec = ex.open(compose.real_data("esxtop", "esxi65_all_counters.csv"))
    meta = rec.meta
    assert meta["host"] == "localhost.home"
    assert meta["start"] == dt.datetime(2018, 4, 24, 10, 49, 12, tzinfo=dt.UTC)
    assert (meta["samples"], meta["interval"], meta["columns"], meta["pcpus"]) == (3, 5.0, 17428, 2)
    assert meta["release"] == "6.5"
    assert set(meta["vms"]) == {"styx", "portunus", "hermes", "ananke", "ouranos", "poseidon"}
    header, first = rec.notes
    assert (header.line, header.column) == (1, 17399)
    assert "aperf/mperf" in header.message
    assert first.line == 2
    assert "no rates of disks" in first.message
    power = rec["pcpu_power_state"].select("pcpu", "pct_of_aperf_per_mperf").collect()
    assert power.rows() == [(0, 73.1), (1, 73.3), (0, 70.2), (1, 77.6), (0, 68.5), (1, 73.9)]


def test_worlds_of_the_65_capture_belong_to_their_groups():
    rec = ex.open(compose.real_data("esxtop", "esxi65_all_counters.csv"))
    keys = ["time", "group_id", "group"]
    worlds = rec["vcpu"].group_by(keys).agg(pl.len().alias("worlds"), pl.col("pct_ready").sum().alias("sum"))
    groups = rec["group_cpu"].select(*keys, "members", "pct_ready").collect()
    both = groups.join(worlds.collect(), on=keys)
    assert both.height == groups.height
    # A group's members are its worlds, and its value is their sum, each printed to two decimals.
    assert (both["members"] == both["worlds"]).all()
    assert ((both["pct_ready"] - both["sum"]).abs() <= 0.005 * (both["worlds"] + 1) + 1e-9).all()


@pytest.mark.parametrize("name", ["header_cells_esxi5.txt", "header_cells_other_hosts.txt"])
def test_header_cells_of_other_hosts_are_told_apart(name, tmp_path):
    lines = compose.real_data("esxtop", name).read_text().splitlines()
    paths = [match[1] for line in lines if (match := re.search(r'"(\\\\[^"]*)"', line))]
    header = ",".join(f'"{cell}"' for cell in [compose.STAMP, *paths])
    file = compose.write(tmp_path, header + "\n" + compose.row(0, [f"{n}.25" for n in range(len(paths))]) + "\n")
    rec = ex.open(file)
    assert rec.meta["columns"] == len(paths) + 1
    values = [
        value
        for frame in rec.tables.values()
        for value in frame.select(pl.selectors.float()).collect().to_numpy().ravel().tolist()
        if not math.isnan(value)
    ]
    assert sorted(values) == [n + 0.25 for n in range(len(paths))]


def test_a_capture_saved_by_a_spreadsheet_is_read_with_notes():
    rec = ex.open(compose.real_data("esxtop", "excel_resaved.csv"))
    assert rec.meta["samples"] == 514
    assert rec["physical_cpu"].select("pct_processor_time").collect().head(2).to_series().to_list() == [24.41, 40.7]
    assert any("quotes" in note.message for note in rec.notes)
    assert any("time of the row before" in note.message for note in rec.notes)
