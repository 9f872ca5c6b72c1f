"""Iometer result files of each release, composed cell by cell from the lists of columns that the program writes."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest
from compose import opened, real_data
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.metrics.workers import median_read_latency

FRONT = "Target Type,Target Name,Access Specification Name,# Managers,# Workers,# Disks,IOps,Read IOps,Write IOps"
MBPS = {
    "2003.12.16": "MBps,Read MBps,Write MBps",
    "2006.07.27": "MBps,Read MBps,Write MBps",
    "1.1.0-rc1": "MBps (Binary),Read MBps (Binary),Write MBps (Binary),MBps (Decimal),Read MBps (Decimal),"
    "Write MBps (Decimal)",
    "1.1.0": "MiBps (Binary),Read MiBps (Binary),Write MiBps (Binary),MBps (Decimal),Read MBps (Decimal),"
    "Write MBps (Decimal)",
}
REST = (
    "Transactions per Second,Connections per Second,Average Response Time,Average Read Response Time,"
    "Average Write Response Time,Average Transaction Time,Average Connection Time,Maximum Response Time,"
    "Maximum Read Response Time,Maximum Write Response Time,Maximum Transaction Time,Maximum Connection Time,"
    "Errors,Read Errors,Write Errors,Bytes Read,Bytes Written,Read I/Os,Write I/Os,Connections,"
    "Transactions per Connection,Total Raw Read Response Time,Total Raw Write Response Time,"
    "Total Raw Transaction Time,Total Raw Connection Time,Maximum Raw Read Response Time,"
    "Maximum Raw Write Response Time,Maximum Raw Transaction Time,Maximum Raw Connection Time,Total Raw Run Time,"
    "Starting Sector,Maximum Size,Queue Depth,% CPU Utilization,% User Time,% Privileged Time,% DPC Time,"
    "% Interrupt Time,Processor Speed,Interrupts per Second,CPU Effectiveness,Packets/Second,Packet Errors,"
    "Segments Retransmitted/Second"
)
NAMES_OF_REST = (
    "transactions_per_s connections_per_s latency_mean_ms read_latency_mean_ms write_latency_mean_ms "
    "transaction_time_mean_ms connection_time_mean_ms latency_max_ms read_latency_max_ms write_latency_max_ms "
    "transaction_time_max_ms connection_time_max_ms errors read_errors write_errors read_bytes write_bytes read_ios "
    "write_ios connections transactions_per_connection read_latency_total_ticks write_latency_total_ticks "
    "transaction_time_total_ticks connection_time_total_ticks read_latency_max_ticks write_latency_max_ticks "
    "transaction_time_max_ticks connection_time_max_ticks run_time_ticks starting_sector maximum_size_sectors "
    "queue_depth cpu_pct cpu_user_pct cpu_privileged_pct cpu_dpc_pct cpu_interrupt_pct ticks_per_s interrupts_per_s "
    "cpu_effectiveness packets_per_s packet_errors segments_retransmitted_per_s"
)
BINS = (
    "0 to 50 uS,50 to 100 uS,100 to 200 uS,200 to 500 uS,0.5 to 1 mS,1 to 2 mS,2 to 5 mS,5 to 10 mS,10 to 15 mS,"
    "15 to 20 mS,20 to 30 mS,30 to 50 mS,50 to 100 mS,100 to 200 mS,200 to 500 mS,0.5 to 1 S,1 to 2 s,2 to 4.7 s,"
    "4.7 to 5 s,5 to 10 s, >= 10 s"
)
RELEASES = list(MBPS)
SPEC = "4K; 75% Read; 100% random"
MIB = 1 << 20


def columns(release):
    return ",".join([FRONT, MBPS[release], REST, *([BINS] if release == "1.1.0" else [])]).split(",")


def values(release, number):
    """A number of our own for each cell: rates with six decimals, counts whole; megabytes agree with each other."""
    cells = {}
    for place, name in enumerate(columns(release)):
        whole = name in WHOLE or name in BINS.split(",")
        cells[name] = str(1000 * number + place) if whole else f"{1000 * number + place + 0.125:.6f}"
    for title in ("", "Read ", "Write "):
        megabytes = 10.0 * number
        cells |= {
            f"{title}MBps": f"{megabytes:.6f}",
            f"{title}MBps (Binary)": f"{megabytes:.6f}",
            f"{title}MiBps (Binary)": f"{megabytes:.6f}",
            f"{title}MBps (Decimal)": f"{megabytes * 1.048576:.6f}",
        }
    return cells


WHOLE = {
    *("# Managers", "# Workers", "# Disks", "Errors", "Read Errors", "Write Errors", "Bytes Read", "Bytes Written"),
    *("Read I/Os", "Write I/Os", "Connections", "Transactions per Connection", "Starting Sector", "Maximum Size"),
    *("Queue Depth", "Total Raw Read Response Time", "Total Raw Write Response Time", "Total Raw Transaction Time"),
    *("Total Raw Connection Time", "Maximum Raw Read Response Time", "Maximum Raw Write Response Time"),
    *("Maximum Raw Transaction Time", "Maximum Raw Connection Time", "Total Raw Run Time"),
}


def row(release, row_type, name, number, spec=SPEC, **cells):
    there = values(release, number) | {"Target Type": row_type, "Target Name": name, "Access Specification Name": spec}
    there |= {title.replace("_", " "): cell for title, cell in cells.items()}
    if row_type == "PROCESSOR":
        there = {
            title: cell for title, cell in there.items() if title.startswith(("Target", "%", "Processor", "Interr"))
        }
    return ",".join(there.get(title, "") for title in columns(release))


def rows_of_a_test(release):
    return [
        row(release, "ALL", "All", 1, Queue_Depth="-2"),
        row(release, "MANAGER", "GUEST-1", 2),
        row(release, "PROCESSOR", "CPU 0", 3),
        row(release, "WORKER", "Worker 1", 4),
        row(release, "DISK", "PHYSICALDRIVE:1", 5),
        row(release, "WORKER", "Worker 2", 6),
        row(release, "DISK", 'E: "data"', 7),
    ]


def results_block(release, rows):
    header = "'" + ",".join(columns(release))
    return ["'Results", header, *rows, "'Time Stamp", "2026-03-02 08:35:56:007"]


def specs_block(*specs):
    lines = ["'Access specifications"]
    for name, *of_spec in specs:
        lines += ["'Access specification name,default assignment", f"{name},0"]
        lines += ["'size,% of size,% reads,% random,delay,burst,align,reply", *of_spec]
    return [*lines, "'End access specifications"]


def document(release, *tests, specs=((SPEC, "4096,100,75,100,0,1,0,0"),)):
    head = ["'Test Type,Test Description", "0,night, first", "'Version", f"{release} ", "'Time Stamp"]
    lines = [*head, "2026-03-02 08:34:56:007", *specs_block(*specs)]
    return "\n".join([*lines, *(line for one in tests for line in one)]) + "\n"


def warnings(rec):
    return [note.message for note in rec.notes if note.severity == "warning"]


@pytest.mark.parametrize("release", RELEASES)
def test_every_cell_of_every_release(tmp_path, release):
    rows = rows_of_a_test(release)
    rec = opened(tmp_path, document(release, results_block(release, rows)))
    assert not warnings(rec)
    assert rec.meta["release"] == release
    assert rec.meta["description"] == "night, first"
    assert rec.meta["host"] == "GUEST-1"
    frame = rec["results"].collect()
    assert frame["row_type"].to_list() == ["ALL", "MANAGER", "PROCESSOR", "WORKER", "DISK", "WORKER", "DISK"]
    assert frame["time"].unique().to_list() == [datetime(2026, 3, 2, 8, 35, 56, 7000, tzinfo=UTC)]
    names = dict(zip(REST.split(","), NAMES_OF_REST.split(), strict=True))
    names |= {"IOps": "iops", "Read IOps": "read_iops", "Write IOps": "write_iops"}
    names |= {"# Managers": "managers", "# Workers": "workers", "# Disks": "disks"}
    for title, name in names.items():
        assert frame.schema[name] == (pl.Int64 if title in WHOLE else pl.Float64), title
    for line, found in zip(rows, frame.to_dicts(), strict=True):
        cells = dict(zip(columns(release), line.split(","), strict=True))
        for title, name in names.items():
            ambiguous = cells[title] in {"", "-2"}
            assert found[name] == (None if ambiguous else float(cells[title])), title
        for title, name in (("", ""), ("Read ", "read_"), ("Write ", "write_")):
            binary = next(
                cells[f"{title}{unit}"]
                for unit in ("MBps", "MBps (Binary)", "MiBps (Binary)")
                if f"{title}{unit}" in cells
            )
            expected = None if binary == "" else pytest.approx(float(binary) * MIB, rel=1e-6)
            assert found[f"{name}bandwidth_bytes_per_s"] == expected


@pytest.mark.parametrize(
    ("titles", "factor"),
    [
        ("MBps,Read MBps,Write MBps", 1_048_576),
        ("MBps (Binary),Read MBps (Binary),Write MBps (Binary)", 1_048_576),
        ("MiBps (Binary),Read MiBps (Binary),Write MiBps (Binary)", 1_048_576),
        ("MBps (Decimal),Read MBps (Decimal),Write MBps (Decimal)", 1_000_000),
    ],
)
def test_a_megabyte_is_what_its_title_says(tmp_path, titles, factor):
    header = f"'{FRONT},{titles},{REST}"
    cells = ["WORKER", "Worker 1", SPEC, "0", "1", "1", "9", "9", "9", "1", "2", "3", *["0"] * len(REST.split(","))]
    block = ["'Results", header, ",".join(cells), "'Time Stamp", "2026-03-02 08:35:56:007"]
    got = opened(tmp_path, document("1.1.0", block))["results"].collect()
    names = [f"{which}bandwidth_bytes_per_s" for which in ("", "read_", "write_")]
    assert got.select(names).row(0) == (factor, 2 * factor, 3 * factor)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_locales(tmp_path, separator):
    usual = document(
        "1.1.0", results_block("1.1.0", rows_of_a_test("1.1.0")), specs=((SPEC, "8192,100,50,12.5,0,1,0,0"),)
    )
    local = usual.replace(".", "\1").replace(",", separator).replace("\1", ",")
    # What the program calls its specifications has semicolons in it: spreadsheets put such cells in quotes.
    local = local.replace(SPEC, f'"{SPEC}"').replace("1,1,0", "1.1.0")
    for name, frame in opened(tmp_path, usual).tables.items():
        assert frame.collect().equals(opened(tmp_path, local)[name].collect()), name
    assert not warnings(opened(tmp_path, local))


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("lost", range(7))
def test_a_row_without_one_of_its_cells_is_left_out(tmp_path, release, lost):
    lines = rows_of_a_test(release)
    cells = lines[lost].split(",")
    shifted = [*lines[:lost], ",".join([*cells[:6], *cells[7:]]), *lines[lost + 1 :]]
    whole = opened(tmp_path, document(release, results_block(release, lines)))["results"].collect().rows()
    rec = opened(tmp_path, document(release, results_block(release, shifted)))
    assert rec["results"].collect().rows() == [*whole[:lost], *whole[lost + 1 :]]
    (told,) = [note for note in rec.notes if note.severity == "warning"]
    assert (told.line, "the row is left out" in told.message) == (15 + lost, True)


def test_the_median_of_the_workers(tmp_path):
    rec = opened(tmp_path, document("1.1.0", results_block("1.1.0", rows_of_a_test("1.1.0"))))
    place = columns("1.1.0").index("Average Read Response Time")
    two = [float(line.split(",")[place]) for line in rows_of_a_test("1.1.0") if line.startswith("WORKER")]
    assert median_read_latency(rec["results"]).collect().rows() == [(1, 1, 2, sum(two) / 2)]


@pytest.mark.parametrize("name", ["2003-2006.07.27", "1.1.0-rc", "1.1.0-git"])
def test_the_columns_of_the_program_itself(tmp_path, name):
    path = real_data("iometer", f"RECONSTRUCTED_from_iometer_source__skeleton_{name}.csv")
    rec = ex.open(path)
    assert warnings(rec) == ["no results: the test did not finish, or the copy failed"]
    assert rec["access_specs"].collect()["size_bytes"].to_list() == [4096]
    assert str(rec.meta["start"]) == "2007-01-31 12:34:56.007000+00:00"
    text = path.read_text()
    header = next(line for line in text.splitlines() if line.startswith("'Target Type"))
    cells = [str(place) for place in range(len(header.split(",")))]
    filled = text.replace(header, header + "\n" + ",".join(["WORKER", "Worker 1", "4K", *cells[3:]]))
    frame = opened(tmp_path, filled)["results"].collect()
    titles = header.removeprefix("'").split(",")
    (found,) = frame.to_dicts()
    assert found["read_latency_mean_ms"] == titles.index("Average Read Response Time")
    assert found["segments_retransmitted_per_s"] == titles.index("Segments Retransmitted/Second")
    assert not [note for note in opened(tmp_path, filled).notes if "unknown" in note.message]


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from(RELEASES),
    st.lists(st.floats(0, 1e7).map(lambda value: round(value, 6)), min_size=3, max_size=3),
    st.integers(0, (1 << 63) - 1),
)
def test_numbers_written_are_read_back(tmp_path_factory, release, numbers, count):
    names = ("IOps", "Average Response Time", "% CPU Utilization")
    cells = {name: f"{number:.6f}" for name, number in zip(names, numbers, strict=True)} | {"Bytes Read": str(count)}
    line = row(release, "WORKER", "Worker 1", 1, **cells)
    rec = opened(tmp_path_factory.mktemp("round"), document(release, results_block(release, [line])))
    got = rec["results"].collect().select("iops", "latency_mean_ms", "cpu_pct", "read_bytes").row(0)
    assert got == (*(pytest.approx(number, abs=1e-6) for number in numbers), count)
