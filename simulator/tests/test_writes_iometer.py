"""Iometer result files as the simulator writes them: what our reader gets back, what agrees, what is refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import fsum

import polars as pl
import pytest
from compose import real_data, write
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.metrics.workers import median_read_latency
from esxparse_simulator.measured import SHAPES, Access, Distribution, Measured, Side, Worker
from esxparse_simulator.writers.iometer import LAYOUTS, lines

VERSIONS = tuple(LAYOUTS)
COLUMNS = {"2006.07.27": 56, "1.1.0-rc1": 59, "1.1.0": 80}
SKELETONS = {
    "2006.07.27": "2003-2006.07.27",
    "1.1.0-rc1": "1.1.0-rc",
    "1.1.0": "1.1.0-git",
}
BEGIN = datetime(2026, 3, 2, 8, 30, tzinfo=UTC)


def worker(number=1, manager="GUEST-1", read=(4000.0, 2.0), write=None, size=4096, cpu=12.5):
    sides = [Side(side[0], size, Distribution(side[1], "flash")) if side else None for side in (read, write)]
    return Worker(f"Worker {number}", manager, f"PHYSICALDRIVE:{number}", *sides, cpu_pct=cpu)


def measured(*workers, access=None, start=BEGIN, ramp=120.0, seconds=120.0):
    return Measured(access or Access("4K read", 4096, 100.0, 0.0, 16), start, ramp, seconds, workers or (worker(),))


def opened(tmp_path, tests, version="1.1.0", **more):
    return ex.open(write(tmp_path, b"".join(lines(tests, version, **more)), "results.csv"))


def text_lines(tests, version="1.1.0", **more):
    return [line.decode().removesuffix("\r\n") for line in lines(tests, version, **more)]


def names(most):
    return st.lists(
        st.text("ABCxyz 0189%;:-_()", min_size=1, max_size=20).map(lambda text: f"n{text}n"),
        min_size=1,
        max_size=most,
        unique=True,
    )


@st.composite
def sweeps(draw):
    """Tests one after the other, each of its own specification, workers of several machines in any order."""
    machines, tests, start = draw(names(3)), [], BEGIN + timedelta(milliseconds=draw(st.integers(-(10**12), 10**11)))
    for name in draw(names(3)):
        size = draw(st.sampled_from([512, 1024, 4096, 73728, 524288]))
        read_pct = draw(st.sampled_from([0, 50, 70, 100]))
        access = Access(name, size, read_pct, draw(st.integers(0, 100)), draw(st.integers(1, 128)))
        side = st.builds(
            Side,
            iops=st.floats(0, 90000),
            block_bytes=st.just(size),
            latency=st.builds(Distribution, st.floats(0.01, 400.0), st.sampled_from(list(SHAPES))),
        )
        use = {machine: draw(st.floats(0, 100)) for machine in machines}
        workers = [
            Worker(
                f"Worker {number}",
                machine := draw(st.sampled_from(machines)),
                draw(st.sampled_from(["PHYSICALDRIVE:1", 'E: "data"', "sdb [0x1]"])),
                draw(side) if read_pct else None,
                draw(side) if read_pct < 100 else None,
                use[machine],
            )
            for number in range(draw(st.integers(1, 4)))
        ]
        seconds = draw(st.integers(10, 3600))
        tests.append(Measured(access, start, 30.0, float(seconds), tuple(workers)))
        start += timedelta(seconds=30 + seconds)
    return tests


@settings(max_examples=examples(30), deadline=None)
@given(sweeps(), st.sampled_from(VERSIONS), st.integers(1, 3))
def test_what_was_measured_is_read_back(tmp_path_factory, tests, version, processors):
    folder = tmp_path_factory.mktemp("iometer")
    rec = opened(folder, tests, version, processors=processors, description="a, sweep")
    assert [note.severity for note in rec.notes] == ["info"]
    assert (rec.meta["release"], rec.meta["description"], rec.meta["samples"]) == (version, "a, sweep", len(tests))
    specs = rec["access_specs"].collect()
    for number, test in enumerate(tests, 1):
        rows = rec["results"].collect().filter(pl.col("test") == number)
        end = test.start + timedelta(seconds=test.ramp_s + test.seconds)
        assert rows["time"].unique().to_list() == [end.replace(microsecond=end.microsecond // 1000 * 1000)]
        spec = specs.filter(pl.col("access_spec") == test.access.name)
        assert spec.select("size_bytes", "share_pct", "read_pct", "random_pct", "burst").rows() == [
            (test.access.block_bytes, 100.0, test.access.read_pct, test.access.random_pct, 1)
        ]
        assert set(rows.filter(pl.col("row_type") != "PROCESSOR")["queue_depth"]) == {test.access.outstanding}
        for one in test.workers:
            whose = (pl.col("manager") == one.manager) & (pl.col("worker") == one.name)
            for row in rows.filter(whose).to_dicts():
                assert row["name"] == (one.name if row["row_type"] == "WORKER" else one.disk)
                for kind, side in (("read", one.read), ("write", one.write)):
                    did(row, kind, side or Side(0.0, 1, Distribution(0.0)), test.seconds)
            (machine,) = rows.filter((pl.col("row_type") == "MANAGER") & (pl.col("name") == one.manager)).to_dicts()
            assert machine["cpu_pct"] == pytest.approx(one.cpu_pct, abs=1e-6)


def did(row, kind, side, seconds):
    """One side of a worker or its disk, to half an I/O in the test and the sixth decimal."""
    count = row[f"{kind}_ios"]
    assert row[f"{kind}_iops"] == pytest.approx(side.iops, abs=0.5 / seconds + 1e-6)
    assert row[f"{kind}_iops"] == pytest.approx(count / seconds, abs=1e-6)
    assert row[f"{kind}_bytes"] == count * side.block_bytes
    assert row[f"{kind}_bandwidth_bytes_per_s"] == pytest.approx(count * side.block_bytes / seconds, abs=1.1)
    if not count:
        assert row[f"{kind}_latency_mean_ms"] == row[f"{kind}_latency_max_ms"] == 0.0
        return
    tick = 1000.0 / row["ticks_per_s"]
    assert row[f"{kind}_latency_mean_ms"] == pytest.approx(side.latency.mean, abs=tick / count + 1e-6)
    least = max(side.latency.mean, side.latency.quantile(0.5)) - tick
    assert least <= row[f"{kind}_latency_max_ms"] <= side.latency.maximum + tick


SUMS = [
    *("iops", "read_iops", "write_iops", "bandwidth_bytes_per_s", "read_bandwidth_bytes_per_s"),
    *("write_bandwidth_bytes_per_s", "transactions_per_s", "read_bytes", "write_bytes", "read_ios", "write_ios"),
]


@settings(max_examples=examples(20), deadline=None)
@given(sweeps(), st.sampled_from(VERSIONS), st.integers(1, 4))
def test_rows_above_are_the_sums_of_those_below(tmp_path_factory, tests, version, processors):
    rec = opened(tmp_path_factory.mktemp("iometer"), tests, version, processors=processors)
    rows = rec["results"].collect()
    for number, test in enumerate(tests, 1):
        of_it = rows.filter(pl.col("test") == number)
        (whole,) = of_it.filter(pl.col("row_type") == "ALL").to_dicts()
        machines = of_it.filter(pl.col("row_type") == "MANAGER").to_dicts()
        workers = of_it.filter(pl.col("row_type") == "WORKER").to_dicts()
        assert (whole["managers"], whole["workers"], whole["disks"]) == (len(machines), *[len(test.workers)] * 2)
        adds_up(whole, workers)
        for machine in machines:
            own = [row for row in workers if row["manager"] == machine["name"]]
            assert (machine["workers"], machine["disks"]) == (len(own), len(own))
            adds_up(machine, own)
            cpus = of_it.filter((pl.col("row_type") == "PROCESSOR") & (pl.col("manager") == machine["name"]))
            assert cpus["name"].to_list() == [f"CPU {cpu}" for cpu in range(processors)]
            for name in ("cpu_pct", "cpu_user_pct", "cpu_privileged_pct", "cpu_dpc_pct", "cpu_interrupt_pct"):
                assert machine[name] == pytest.approx(cpus[name].mean(), abs=2e-6)
            assert machine["interrupts_per_s"] == pytest.approx(cpus["interrupts_per_s"].sum(), abs=1e-5)
            used = machine["cpu_user_pct"] + machine["cpu_privileged_pct"]
            assert machine["cpu_pct"] == pytest.approx(used, abs=2e-6)
            assert machine["cpu_dpc_pct"] + machine["cpu_interrupt_pct"] <= machine["cpu_privileged_pct"] + 2e-6
            assert cpus["cpu_pct"].is_between(0.0, 100.0).all()
        assert whole["cpu_pct"] == pytest.approx(fsum(row["cpu_pct"] for row in machines) / len(machines), abs=2e-6)
        for name in ("interrupts_per_s", "packets_per_s"):
            assert whole[name] == pytest.approx(fsum(row[name] for row in machines), abs=1e-5)
        for row in (whole, *machines):
            if row["cpu_pct"] > 1:
                assert row["cpu_effectiveness"] == pytest.approx(row["iops"] / row["cpu_pct"], rel=1e-5, abs=1e-6)


def adds_up(above, below):
    for name in SUMS:
        assert above[name] == pytest.approx(fsum(row[name] for row in below), rel=1e-9, abs=2e-6 * (1 << 20))
    for kind in ("", "read_", "write_"):
        assert above[f"{kind}latency_max_ms"] == max(row[f"{kind}latency_max_ms"] for row in below)
        ios = [row["read_ios"] + row["write_ios"] if not kind else row[f"{kind}ios"] for row in below]
        weighted = fsum(n * row[f"{kind}latency_mean_ms"] for n, row in zip(ios, below, strict=True))
        assert above[f"{kind}latency_mean_ms"] == pytest.approx(weighted / max(1, sum(ios)), abs=2e-6)
    assert above["transaction_time_mean_ms"] == above["latency_mean_ms"]


OWN_LIMITS = {15.0: 1000 / 67, 30.0: 1000 / 33, 4700.0: 4000.0}
"""Where the program's limits are not what its columns are called, ms."""


@settings(max_examples=examples(20), deadline=None)
@given(sweeps())
def test_latency_bins_hold_each_io_once(tmp_path_factory, tests):
    rec = opened(tmp_path_factory.mktemp("iometer"), tests)
    bins = rec["latency_bins"].collect()
    counted = bins.group_by("test", "row_type", "manager", "worker", maintain_order=True).agg(pl.col("ios").sum())
    rows = rec["results"].collect().filter(pl.col("row_type") != "PROCESSOR")
    for own, row in zip(counted.to_dicts(), rows.to_dicts(), strict=True):
        assert {key: row[key] for key in ("test", "row_type", "manager", "worker")}.items() <= own.items()
        ios = row["read_ios"] + row["write_ios"]
        assert own["ios"] <= ios
        if row["latency_max_ms"] < 10_000:
            assert own["ios"] == ios
    whose = ["test", "row_type", "manager", "worker"]
    longest = {tuple(row[key] for key in whose): row["latency_max_ms"] for row in rows.to_dicts()}
    for row in bins.filter(pl.col("ios") > 0).to_dicts():
        begin = OWN_LIMITS.get(row["from_ms"], row["from_ms"])
        assert begin <= longest[tuple(row[key] for key in whose)] + 1e-6
    assert bins.filter(pl.col("to_ms").is_null())["ios"].sum() == 0


def test_bins_follow_the_distribution(tmp_path):
    latency = Distribution(3.0, "disk")
    one = replace(worker(), read=Side(50000.0, 4096, latency))
    bins = opened(tmp_path, [measured(one)])["latency_bins"].collect().filter(pl.col("row_type") == "DISK")
    for row in bins.head(8).to_dicts():
        share = latency.share_below(row["to_ms"]) - latency.share_below(row["from_ms"])
        assert row["ios"] == pytest.approx(50000 * 120 * share, abs=1.1)
    # The program's limit at "15 mS" is 1/67 s.
    ios = dict(bins.select("from_ms", "ios").rows())
    expected = latency.share_below(1000 / 67) - latency.share_below(10.0)
    assert ios[10.0] == pytest.approx(50000 * 120 * expected, abs=1.1)


@pytest.mark.parametrize("version", VERSIONS)
def test_columns_and_sections_are_the_programs_own(version):
    skeleton = real_data("iometer", f"RECONSTRUCTED_from_iometer_source__skeleton_{SKELETONS[version]}.csv")
    known = [line.strip() for line in skeleton.read_text().splitlines() if line.startswith("'")]
    written = text_lines([measured(worker(write=(1.0, 1.0), read=None), access=Access("W", 4096, 0.0))], version)
    sections = [line for line in written if line.startswith("'")]
    assert sections[: len(known)] == known
    assert sections[len(known) :] == (["'End Test"] if version.startswith("1.1") else [])
    assert written[3] == f"{version} "
    header = next(line for line in sections if line.startswith("'Target Type"))
    assert len(header.split(",")) == COLUMNS[version]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_row_has_the_cells_that_the_program_writes(version):
    written = text_lines([measured()], version, processors=2)
    rows = [line.split(",") for line in written if line.startswith(("ALL", "MANAGER", "PROC", "WORKER", "DISK"))]
    assert [row[0] for row in rows] == ["ALL", "MANAGER", "PROCESSOR", "PROCESSOR", "WORKER", "DISK"]
    shorter = 21 if version == "1.1.0" else 0
    cells = [COLUMNS[version] - (shorter if row[0] == "PROCESSOR" else 0) for row in rows]
    assert [len(row) for row in rows] == cells
    titles = next(line for line in written if line.startswith("'Target")).removeprefix("'").split(",")
    empty = {row[0]: [title for title, cell in zip(titles, row, strict=False) if not cell] for row in rows}
    raw = [title for title in titles if title.startswith(("Total Raw", "Maximum Raw"))]
    machine = ["% CPU Utilization", "% User Time", "% Privileged Time", "% DPC Time", "% Interrupt Time"]
    machine += ["Interrupts per Second", "CPU Effectiveness", *titles[titles.index("Packets/Second") :][:3]]
    assert empty["ALL"] == [*raw, "Processor Speed"]
    assert empty["MANAGER"] == ["# Managers"]
    assert empty["WORKER"] == ["# Managers", "# Workers", *machine]
    assert empty["DISK"] == ["Access Specification Name", "# Managers", "# Workers", "# Disks", *machine]
    place = titles.index("Transactions per Connection")
    assert [row[place] for row in rows] == ["-1", "-1", "", "", "-1", "-1"]
    speed = rows[-1][titles.index("Processor Speed")]
    assert speed == "2343750.000000"


def test_a_specification_is_written_when_its_tests_begin(tmp_path):
    sizes = [4096, 4096, 8192, 4096]
    tests = [
        measured(
            worker(size=size),
            access=Access(f"{size // 1024}K", size, 100.0, 0.0, number),
            start=BEGIN + timedelta(minutes=4 * number),
        )
        for number, size in enumerate(sizes, 1)
    ]
    written = text_lines(tests)
    assert [line for line in written if line in {"'Access specifications", "'Results", "'End Test"}] == [
        *("'Access specifications", "'Results", "'Results", "'Access specifications", "'Results"),
        *("'Access specifications", "'Results", "'End Test"),
    ]
    assert written[4:6] == ["'Time Stamp", "2026-03-02 08:34:00:000"]
    frame = opened(tmp_path, tests)["results"].collect().filter(pl.col("row_type") == "ALL")
    assert frame.select("test", "access_spec", "queue_depth").rows() == [
        *((1, "4K", 1), (2, "4K", 2), (3, "8K", 3), (4, "4K", 4)),
    ]


def test_starts_of_the_program_follow_one_another_in_a_file(tmp_path):
    first, second = measured(), measured(start=BEGIN + timedelta(hours=1))
    content = b"".join([*lines([first], "2006.07.27"), *lines([second], "2006.07.27")])
    rec = ex.open(write(tmp_path, content, "results.csv"))
    rows = rec["results"].collect().filter(pl.col("row_type") == "ALL")
    assert rows.select("run", "test").rows() == [(1, 1), (2, 2)]


def test_the_workers_of_a_study(tmp_path):
    """VAIO: 32 VMs of one worker each; the published latency is the median of the workers' averages."""
    workers = [worker(1, f"VM{number:02d}", (2200.0, 1.5 + number / 20)) for number in range(32)]
    rec = opened(tmp_path, [measured(*workers)], processors=2)
    assert median_read_latency(rec["results"]).collect().rows() == [(1, 1, 32, pytest.approx(2.275, abs=1e-5))]


def test_the_same_bytes_each_time_and_other_noise_by_seed():
    tests = [measured(worker(1), worker(2), worker(1, "GUEST-2"))]
    once = list(lines(tests, processors=4, seed=5))
    assert once == list(lines(tests, processors=4, seed=5))
    other = list(lines(tests, processors=4, seed=6))
    assert [line.split(b",")[6] for line in once if b"WORKER" in line] == [
        line.split(b",")[6] for line in other if b"WORKER" in line
    ]
    assert once != other
    assert all(line.endswith(b"\r\n") and line.count(b"\n") == 1 for line in once)


def test_commas_in_names_of_disks():
    (disk,) = [line for line in text_lines([measured(replace(worker(), disk="A, B"))]) if "DISK," in line]
    assert disk.startswith("DISK,A  B,,,,,")


BAD = [
    ([], {}, "without a test"),
    ([measured()], {"version": "2011"}, "'2011' cannot be written: choose one of 2006.07.27"),
    ([measured()], {"processors": 0}, "0 processors"),
    ([measured()], {"description": "line\nend"}, "printable ASCII"),
    ([measured(seconds=0.0)], {}, "lasts 0.0 s"),
    ([measured(start=datetime(2026, 1, 1))], {}, "without a zone"),  # noqa: DTZ001  what is refused
    ([measured(), measured()], {}, "before the one before it ended"),
    ([replace(measured(), workers=())], {}, "no workers"),
    ([measured(worker(), worker())], {}, "twice"),
    ([measured(worker(1, cpu=10.0), worker(2, cpu=11.0))], {}, "the same to all workers"),
    ([measured(worker(cpu=101.0))], {}, "101.0 % busy"),
    ([measured(worker(read=(-1.0, 1.0)))], {}, "-1.0 reads per second"),
    ([measured(worker(read=(1.0, float("nan"))))], {}, "of nan ms"),
    ([measured(worker(size=8192))], {}, "8192 bytes, its access specification has 4096"),
    ([measured(worker(write=(1.0, 1.0)))], {}, "did writes, its access specification has none"),
    ([measured(replace(worker(), read=Side(1.0, 4096, Distribution(1.0, "tape"))))], {}, "the shape 'tape'"),
    ([measured(replace(worker(), manager="A,B"))], {}, "without commas"),
    ([measured(access=Access("4K, read", 4096))], {}, "without commas"),
    ([measured(access=Access("4K", 4096, 33.3))], {}, "whole ones"),
    ([measured(access=Access("4K", 4096, outstanding=0))], {}, "asks for 0 I/Os"),
    (
        [measured(), measured(access=Access("4K read", 4096, random_pct=50), start=BEGIN + timedelta(hours=1))],
        {},
        "another access specification",
    ),
]


@pytest.mark.parametrize(("tests", "more", "message"), BAD, ids=[message for *_, message in BAD])
def test_what_makes_no_sense_is_refused(tests, more, message):
    with pytest.raises(ex.EsxparseError) as caught:
        lines(tests, **more)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
