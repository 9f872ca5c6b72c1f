"""Where the guesses of a fio log's unit turn over, and what each unit makes of a value."""

from __future__ import annotations

from itertools import product

import fio_queues
import pytest
from fio_outputs import direction, document, job, terse, terse_direction

import esxparse as ex
from esxparse.formats.fio.log_clues import LATENCIES
from esxparse.formats.fio.log_outputs import KnownRelease, common_release, release_in
from esxparse.formats.fio.log_units import Unit, unit_of


def rows(times, values, size=4096, directions=(0,)):
    return [
        {"time": time, "value": value, "direction": directions[place % len(directions)], "size": size}
        for place, (time, value) in enumerate(zip(times, values, strict=True))
    ]


def of(release):
    return KnownRelease(release, "out.json")


# Four entries a second and direction, and one, over ten seconds.
AT_41 = [10_000 * place // 40 for place in range(41)]
AT_42 = [10_000 * place // 41 for place in range(42)]
AT_82 = [10_000 * place // 81 for place in range(82)]
AT_84 = [10_000 * place // 83 for place in range(84)]


@pytest.mark.parametrize(
    ("metric", "entries", "told", "name", "factor", "guessed"),
    [
        # Without entries per I/O, or with few, the median decides.
        *((kind, rows((1000, 2000, 3000), (0, median, 6_000), size), None, unit, {"ns": 1e-6, "us": 1e-3}[unit], True)
          for kind, size, median, unit in [
              ("slat", 4096, 200, "ns"), ("slat", 4096, 199, "us"), ("clat", 0, 5000, "ns"), ("clat", 0, 4999, "us"),
              ("lat", 0, 5000, "ns"), ("lat", 0, 4999, "us"), ("lat", 4096, 5000, "ns"), ("lat", 4096, 4999, "us")]),
        ("clat", rows((0, 1), (1, 1)), of((2, 99)), "ns", 1e-6, False),
        ("clat", rows((0, 1), (10**9, 10**9)), of((2, 98)), "us", 1e-3, False),
        ("bw", rows((0, 1), (1, 1), size=0), of((3, 1)), "KiB/s", 1024, False),
        ("bw", rows((0, 1), (1, 1)), of((2, 10)), "KiB/s", 1024, False),
        ("bw", rows((0, 1000), (1, 1)), of((2, 11)), "kB/s", 1000, False),
        ("bw", rows(AT_41, [9] * 41), None, "KiB/s", 1024, True),
        ("bw", rows(AT_42, [9] * 42), None, "kB/s", 1000, False),
        ("bw", rows(AT_82, [9] * 82, directions=(0, 1)), None, "KiB/s", 1024, True),
        ("bw", rows(AT_84, [9] * 84, directions=(0, 1)), None, "kB/s", 1000, False),
        ("bw", rows((0,), (9,)), None, "kB/s", 1000, False),
        ("iops", rows((0, 1), (1, 1), size=0), None, "IOPS", 1, False),
        ("iops", rows((0, 1), (1, 2)), None, "IOPS", 1, False),
        ("iops", rows((0, 1), (1, 1)), None, "I/Os", 1, False),
        (None, rows((0, 1), (1, 1)), None, "unknown", 1, True),
    ],
)  # fmt: skip
def test_the_unit_and_whether_it_is_a_guess(metric, entries, told, name, factor, guessed):
    unit = unit_of(metric, entries, (), told)
    assert (unit.name, unit.factor, unit.guessed) == (name, factor, guessed)


def test_a_priority_tells_nanoseconds_and_a_release_tells_more():
    entries = rows((0, 100), (1, 1))
    assert unit_of("lat", entries, ("priority",), None) == Unit(
        "ns", 1e-6, "lines have a priority, which fio writes from 3.19 on"
    )
    assert unit_of("lat", entries, ("priority",), of((2, 1))) == Unit("us", 1e-3, "release 2.1 in out.json")


def test_a_factor_is_a_ratio_of_whole_numbers():
    assert [Unit("", one, "").ratio for one in (1e-6, 1e-3, 1.0, 1000.0, 1024.0)] == [
        (1, 1_000_000), (1, 1000), (1, 1), (1000, 1), (1024, 1),
    ]  # fmt: skip


def test_a_release_is_found_in_the_beginning():
    assert release_in(b'{"fio version" : "fio-3.35"') == (3, 35)
    assert release_in(b"fio-2.2.10\nStarting") == (2, 2)
    assert release_in(b"xfio-3.35") is None
    assert release_in(b"3;fio-2.1.10;job") == (2, 1)
    assert release_in(b"<node1> hostname=node1, be=0, 64-bit, os=Linux, fio=fio-3.7, flags=1") == (3, 7)
    assert release_in(b"see the thread on fio-2.2") is None
    assert release_in(b" " * (64 << 10) + b"fio-3.35") is None


def test_releases_with_logs_in_different_units_show_nothing():
    assert common_release([]) is None
    assert common_release([of((3, 7)), of((3, 35)), of((2, 99))]) == of((3, 35))
    assert common_release([of((3, 7)), of((2, 98))]) is None
    assert common_release([of((2, 10)), of((2, 11))]) is None


@pytest.mark.parametrize(("known", "guessed"), [(of((2, 10)), False), (KnownRelease((2, 10), "a", "why"), True)])
def test_the_bandwidth_of_a_doubtful_release_is_a_guess(known, guessed):
    unit = unit_of("bw", rows((0, 1), (1, 1)), (), known)
    assert (unit.name, unit.guessed) == ("KiB/s", guessed)


def log(entries):
    return "".join(f"{time}, {value}, 0, {size}\n" for time, value, size in entries)


def averages(value):
    return log((1000 * second, value + second, 0) for second in range(1, 9))


def answered(lines):
    return "".join(f"{line}\n" for line in lines)


HIST = ", ".join(map(str, (1000, 0, 4096, *range(1856)))) + "\n"


@pytest.mark.parametrize(
    ("files", "unit", "evidence", "warned"),
    [
        # Of a slow disk under fio 2: 30 ms are 30,000 us, which as ns would be likely too.
        ({"slat": averages(39), "clat": averages(30_000), "lat": averages(30_039)}, "us", "in run_slat.1.log", True),
        ({"slat": averages(9_000), "clat": averages(3_000)}, "ns", "in run_slat.1.log", True),
        ({"slat": averages(239), "clat": averages(30_000), "lat": averages(30_239), "iops": averages(33)}, "us",
         "in run_clat.1.log and run_iops.1.log", True),
        ({"clat": averages(30_000), "iops": averages(33_000)}, "ns", "in run_clat.1.log and run_iops.1.log", True),
        ({"clat": averages(4_000), "lat": log((n, 4_000, 4096) for n in range(4, 13))}, "us", "in run_lat.1.log", True),
        ({"slat": averages(100), "clat_hist": HIST}, "ns", "1,856 bins, in run_clat_hist.1.log", False),
    ],
)  # fmt: skip
def test_the_logs_of_one_run_have_one_unit(tmp_path, files, unit, evidence, warned):
    for kind, text in files.items():
        (tmp_path / f"run_{kind}.1.log").write_text(text)
    kinds = [kind for kind in files if kind in LATENCIES]
    alone = [ex.open(tmp_path / f"run_{kind}.1.log") for kind in kinds]
    assert {rec.meta["unit"] for rec in alone} == {unit}
    assert any(rec.meta["unit_evidence"].endswith(evidence) for rec in alone)
    whole = ex.open(tmp_path)
    units = {name: one for name, one in whole.meta["units"].items() if "iops" not in name}
    assert set(units.values()) == {unit}
    for rec in (whole, *alone):
        assert any("a guess" in note.message for note in rec.notes if note.severity == "warning") == warned


DEPTHS = (1, 4, 20, 32, 128, 256)
LATENCIES_MS = (0.05, 0.5, 5, 20, 200)
GRID = [
    pytest.param(*pair, marks=[] if place % 4 == 2 else [pytest.mark.search])
    for place, pair in enumerate(product(DEPTHS, LATENCIES_MS))
]
"""`make test` takes a few pairs that have each depth and each latency, and (256, 0.5), which is in doubt."""
UNITS = {"ns": 1, "us": 1000}


def opened(folder, files):
    folder.mkdir(parents=True)
    for name, lines in files.items():
        (folder / name).write_text(answered(lines))
    return ex.open(folder / next(iter(files)))


def verdict(rec, unit):
    """Whether the unit is right, and whether the reader calls the other one possible too."""
    warnings = [note.message for note in rec.notes if note.severity == "warning"]
    ambiguous = any("other unit is possible" in message for message in warnings)
    assert bool(rec.meta["guessed_units"]) == any("a guess" in message for message in warnings)
    if rec.meta["unit"] == unit:
        return "right"
    assert ambiguous, (unit, rec.meta["unit_evidence"])
    return "ambiguous"


@pytest.mark.parametrize(("depth", "latency_ms"), GRID)
@pytest.mark.parametrize("unit", UNITS)
def test_entries_per_io_alone_show_the_unit_of_a_full_queue(tmp_path, depth, latency_ms, unit):
    found = fio_queues.completions(depth, latency_ms)
    rec = opened(tmp_path / "run", {"run_lat.1.log": fio_queues.each(found, UNITS[unit])})
    # Half a million I/Os per second and job are as many as memory gives.
    assert verdict(rec, unit) == ("ambiguous" if (depth, latency_ms, unit) == (256, 0.5, "us") else "right")


@pytest.mark.parametrize(("depth", "latency_ms"), [(32, 240), (20, 50), (128, 20), (1, 8), (256, 200)])
@pytest.mark.parametrize("form", ["epoch", "late", "ramp"])
def test_a_full_queue_shows_its_unit_without_the_beginning_of_the_job(tmp_path, depth, latency_ms, form):
    found = fio_queues.completions(depth, latency_ms)
    half = found[len(found) // 2].at_ns // fio_queues.NS_PER_MS
    times = {"epoch": {"shift_ms": 1_700_000_000_000}, "late": {"after_ms": half}}
    times["ramp"] = {"after_ms": half, "shift_ms": -half}
    for unit, size in UNITS.items():
        rec = opened(tmp_path / unit, {"run_clat.1.log": fio_queues.each(found, size, **times[form])})
        assert verdict(rec, unit) == "right", rec.meta["unit_evidence"]


@pytest.mark.parametrize(("depth", "latency_ms"), GRID)
@pytest.mark.parametrize("unit", UNITS)
def test_averages_with_rates_beside_them_show_the_unit(tmp_path, depth, latency_ms, unit):
    found = fio_queues.completions(depth, latency_ms, number=8000)
    lines, rates = fio_queues.averages(found, UNITS[unit], 500 if found[-1].at_ns > 3 * 10**9 else 10)
    rec = opened(tmp_path / "run", {"run_clat.1.log": lines, "run_iops.1.log": rates})
    assert verdict(rec, unit) == ("ambiguous" if (depth, latency_ms, unit) == (256, 0.5, "us") else "right")


@pytest.mark.parametrize(("rate", "latency_ms"), [*product((10, 100, 1000), (0.05, 1))])
@pytest.mark.parametrize("unit", UNITS)
def test_a_limited_rate_is_never_taken_for_a_full_queue(tmp_path, rate, latency_ms, unit):
    found = fio_queues.paced(rate, latency_ms)
    verdict(opened(tmp_path / "each", {"run_lat.1.log": fio_queues.each(found, UNITS[unit])}), unit)
    lines, rates = fio_queues.averages(found, UNITS[unit])
    verdict(opened(tmp_path / "both", {"run_lat.1.log": lines, "run_iops.1.log": rates}), unit)


def test_averages_alone_are_a_guess_with_both_readings_in_the_warning(tmp_path):
    lines, _ = fio_queues.averages(fio_queues.completions(32, 20), UNITS["us"], 500)
    rec = opened(tmp_path / "run", {"run_lat.1.log": lines})
    (warning,) = (note.message for note in rec.notes if note.severity == "warning")
    assert " ms if ns, " in warning
    assert " ms if us" in warning
    # 200 ms as microseconds, read as such, would be 200 s.
    slow, _ = fio_queues.averages(fio_queues.completions(1, 200), UNITS["ns"], 500)
    assert verdict(opened(tmp_path / "slow", {"run_lat.1.log": slow}), "ns") == "right"


def test_the_bandwidth_of_single_ios_shows_the_unit(tmp_path):
    found = fio_queues.completions(4, 0.5, number=40)
    rates = [f"{one.at_ns // 10**6}, {4096 * 10**6 // one.latency_ns}, 0, 4096" for one in found]
    for unit, size in UNITS.items():
        rec = opened(tmp_path / unit, {"run_lat.1.log": fio_queues.each(found, size), "run_bw.1.log": rates})
        assert verdict(rec, unit) == "right"
        assert "run_bw.1.log has 0.5" in rec.meta["unit_evidence"]
        assert not rec.meta["guessed_units"]


def output(unit, mean_ms=20.0, name="run", **options):
    """JSON of fio 3 (ns) or fio 2 (us) with one job that reads."""
    new = unit == "ns"
    mean = round(mean_ms * {"ns": 1e6, "us": 1e3}[unit] / 1.1)
    read = direction(4000, new=new, mean=mean)
    return document(job(name, new=new, options=options, read=read), release="fio-3.7" if new else "fio-2.16")


def run_of(unit, latency_ms=20):
    lines, _ = fio_queues.averages(fio_queues.completions(4, latency_ms), UNITS[unit], 500)
    return {"run_lat.1.log": lines}


@pytest.mark.parametrize("up", [False, True])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    "named", [{}, {"name": "other", "write_lat_log": "run"}, {"name": "other", "write_bw_log": "/logs/run"}]
)
def test_an_output_of_the_run_settles_the_unit(tmp_path, up, unit, named):
    folder = tmp_path / "logs"
    folder.mkdir()
    (tmp_path / "of_another.json").write_text(output("us" if unit == "ns" else "ns", name="another"))
    ((tmp_path if up else folder) / "out.json").write_text(output(unit, **named))
    (folder / "run_lat.1.log").write_text(answered(run_of(unit)["run_lat.1.log"]))
    for rec in (ex.open(folder / "run_lat.1.log"), ex.open(folder)):
        assert rec["series"].collect()["value"].mean() == pytest.approx(20, rel=0.1)
        assert not any("a guess" in note.message for note in rec.notes)
        assert not rec.meta["guessed_units"]


FOREIGN = {
    "another job": ({"name": "another"}, "no job or log prefix run in it"),
    "another prefix": ({"name": "another", "write_lat_log": "rerun"}, "no job or log prefix run in it"),
    "other latencies": ({"mean_ms": 3}, "its latencies are not the log's in either unit"),
    "another release": ({}, "its latencies fit the log in"),
}


@pytest.mark.parametrize("up", [False, True])
@pytest.mark.parametrize("of_output", UNITS)
@pytest.mark.parametrize("case", FOREIGN)
def test_an_output_of_another_run_proves_nothing(tmp_path, up, of_output, case):
    how, why = FOREIGN[case]
    unit = "us" if of_output == "ns" else "ns"
    folder = tmp_path / "logs"
    folder.mkdir()
    ((tmp_path if up else folder) / "out.json").write_text(output(of_output, **how))
    (folder / "run_lat.1.log").write_text(answered(run_of(unit)["run_lat.1.log"]))
    for rec in (ex.open(folder / "run_lat.1.log"), ex.open(folder)):
        (warning,) = (note.message for note in rec.notes if "a guess" in note.message)
        assert f"out.json: {why}" in warning
        # Read as us, 20 ms in ns would be hours.
        assert ("other unit is possible" in warning) == (unit == "us")
        assert rec.meta["guessed_units"]


@pytest.mark.parametrize("name", ["run", "another"])
def test_an_output_does_not_overrule_a_full_queue(tmp_path, name):
    found = fio_queues.completions(32, 240)
    # Of the same number: 240,000 us are not 0.24 ms.
    (tmp_path / "newer.json").write_text(output("ns", 0.24, name))
    rec = opened(tmp_path / "logs", {"run_lat.1.log": fio_queues.each(found, UNITS["us"])})
    assert rec.meta["unit"] == "us"
    assert "against release 3.7" in rec.meta["unit_evidence"]
    assert rec.meta["guessed_units"] == ["us"]


def test_a_slow_beginning_of_the_run_needs_the_same_rate(tmp_path):
    found = [f"{time}, {30_000_000}, 0, 0" for time in range(500, 5000, 500)]
    (tmp_path / "out.json").write_text(output("ns", 20))
    rates = {rate: [f"{time}, {rate}, 0, 0" for time in range(500, 5000, 500)] for rate in (2000, 200)}
    for rate, guessed in ((2000, []), (200, ["ns"])):
        rec = opened(tmp_path / f"at {rate}", {"run_lat.1.log": found, "run_iops.1.log": rates[rate]})
        assert (rec.meta["unit"], rec.meta["guessed_units"]) == ("ns", guessed)


def test_the_logs_of_another_run_prove_nothing(tmp_path):
    lines = [f"{time}, {time + 3000}, 0, 0" for time in range(500, 5000, 500)]
    rec = opened(tmp_path / "run", {"run_lat.1.log": lines, "other_lat.1.log": ["500, 9000, 0, 0, 1"] * 9})
    assert rec.meta["guessed_units"] == [rec.meta["unit"]]
    whole = ex.open(tmp_path / "run")
    assert [note.message.startswith("run_lat.1.log: ") for note in whole.notes if "a guess" in note.message] == [True]


def test_many_logs_do_not_hide_the_output(tmp_path):
    more = {f"a_{number}_lat.1.log": ["1, 1, 0, 0"] for number in range(100)}
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "out.json").write_text(output("us"))
    for name, lines in (more | run_of("us")).items():
        (tmp_path / "run" / name).write_text(answered(lines))
    rec = ex.open(tmp_path / "run" / "run_lat.1.log")
    assert rec.meta["unit_evidence"] == "release 2.16 in out.json"


def test_the_latencies_of_an_output_without_a_release_settle_the_unit(tmp_path):
    found = fio_queues.completions(4, 20)
    (tmp_path / "job.txt").write_text(
        terse("run", [terse_direction(4000), terse_direction(0)], version=2).replace(";106.000000;", ";20100.000000;")
    )
    for unit, size in UNITS.items():
        lines, _ = fio_queues.averages(found, size, 500)
        rec = opened(tmp_path / unit, {"run_lat.1.log": lines})
        assert (rec.meta["unit"], rec.meta["guessed_units"]) == (unit, [])
        assert "job.txt has 20.1 ms" in rec.meta["unit_evidence"]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: text + " " * (16 << 20), "not compared, as it has 16 MiB or more"),
        (lambda text: text[: text.index('"jobs"')] + '"jobs": [{"jobname": "run"', "cannot be read"),
    ],
)
def test_an_output_that_is_not_compared_is_named_with_the_true_reason(tmp_path, unit, change, why):
    (tmp_path / "out.json").write_text(change(output(unit)))
    rec = opened(tmp_path / "logs", run_of("us"))
    (warning,) = (note.message for note in rec.notes if "a guess" in note.message)
    assert why in warning
    assert "no job or log prefix" not in warning
