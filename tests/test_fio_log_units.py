"""Where the guesses of a fio log's unit turn over, and what each unit makes of a value."""

from __future__ import annotations

import pytest

import esxparse as ex
from esxparse.formats.fio import log_units
from esxparse.formats.fio.log_units import Told, Unit, release_in, unit_of


def rows(times, values, size=4096, directions=(0,)):
    return [
        {"time": time, "value": value, "direction": directions[place % len(directions)], "size": size}
        for place, (time, value) in enumerate(zip(times, values, strict=True))
    ]


def of(release):
    return Told(release, "out.json")


# 0.02 I/Os in flight over 100 ms are 2 ms of latencies, in nanoseconds.
IN_FLIGHT = [((0, 100), (1_000_000, 1_000_000), "ns"), ((0, 100), (1_000_000, 999_999), "us")]
# Four entries a second and direction, and one, over ten seconds.
AT_41 = [10_000 * place // 40 for place in range(41)]
AT_42 = [10_000 * place // 41 for place in range(42)]
AT_82 = [10_000 * place // 81 for place in range(82)]
AT_84 = [10_000 * place // 83 for place in range(84)]


@pytest.mark.parametrize(
    ("metric", "entries", "told", "name", "factor", "guessed"),
    [
        *((kind, rows(times, values), None, unit, {"ns": 1e-6, "us": 1e-3}[unit], True)
          for kind in ("lat", "clat") for times, values, unit in IN_FLIGHT),
        # Without block sizes, or a span, or of submission alone, the median decides.
        *((kind, rows((0, 1, 2), (0, median, 10**9), size), None, unit, {"ns": 1e-6, "us": 1e-3}[unit], True)
          for kind, size, median, unit in [
              ("slat", 4096, 200, "ns"), ("slat", 4096, 199, "us"), ("clat", 0, 5000, "ns"), ("clat", 0, 4999, "us"),
              ("lat", 0, 5000, "ns"), ("lat", 0, 4999, "us")]),
        ("clat", rows((7, 7, 7), (9, 5000, 9000)), None, "ns", 1e-6, True),
        ("clat", rows((7, 7, 7), (9, 4999, 9000)), None, "us", 1e-3, True),
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
    assert unit_of("lat", entries, ("priority",), of((2, 1))) == Unit("us", 1e-3, "release 2.1, as out.json says")


def test_a_factor_is_a_ratio_of_whole_numbers():
    assert [Unit("", one, "").ratio for one in (1e-6, 1e-3, 1.0, 1000.0, 1024.0)] == [
        (1, 1_000_000), (1, 1000), (1, 1), (1000, 1), (1024, 1),
    ]  # fmt: skip


def test_a_release_is_found_in_the_beginning():
    assert release_in(b'{"fio version" : "fio-3.35"') == (3, 35)
    assert release_in(b"fio-2.2.10\nStarting") == (2, 2)
    assert release_in(b"xfio-3.35") is None
    assert release_in(b" " * (64 << 10) + b"fio-3.35") is None


def test_outputs_beside_a_log_have_to_agree(tmp_path):
    log = tmp_path / "run_lat.1.log"
    assert log_units.release_beside(None) is None
    for name, text in (("run_lat.1.log", "fio-2.1"), ("other.log", "fio-2.2"), ("a.json", "fio-3.35"), ("b", "none")):
        (tmp_path / name).write_text(text)
    (tmp_path / "fio-2.9").mkdir()
    assert log_units.release_beside(log) == Told((3, 35), "a.json")
    (tmp_path / "c.json").write_text("fio-3.35")
    assert log_units.release_beside(log) == Told((3, 35), "a.json")
    (tmp_path / "d.json").write_text("fio-3.36")
    assert log_units.release_beside(log) is None
    assert log_units.release_beside(tmp_path / "nowhere" / "x.log") is None


def log(entries):
    return "".join(f"{time}, {value}, 0, {size}\n" for time, value, size in entries)


def averages(value):
    return log((1000 * second, value + second, 0) for second in range(1, 9))


HIST = ", ".join(map(str, (1000, 0, 4096, *range(1856)))) + "\n"


@pytest.mark.parametrize(
    ("files", "unit", "evidence", "warned"),
    [
        # Of a slow disk under fio 2: 30 ms are 30,000 us, which as ns would be likely too.
        ({"slat": averages(39), "clat": averages(30_000), "lat": averages(30_039)}, "us", "in run_slat.1.log", True),
        ({"slat": averages(9_000), "clat": averages(3_000)}, "ns", "in run_slat.1.log", True),
        ({"slat": averages(239), "clat": averages(30_000), "lat": averages(30_239), "iops": averages(33)}, "us",
         "in the logs of run", True),
        ({"clat": averages(30_000), "iops": averages(33_000)}, "ns", "in the logs of run", True),
        ({"clat": averages(4_000), "lat": log((n, 4_000, 4096) for n in range(9))}, "us", "in run_lat.1.log", True),
        ({"slat": averages(100), "clat_hist": HIST}, "ns", "1,856 bins, in run_clat_hist.1.log", False),
    ],
)  # fmt: skip
def test_the_logs_of_one_run_have_one_unit(tmp_path, files, unit, evidence, warned):
    for kind, text in files.items():
        (tmp_path / f"run_{kind}.1.log").write_text(text)
    kinds = [kind for kind in files if kind in log_units.LATENCIES]
    alone = [ex.open(tmp_path / f"run_{kind}.1.log") for kind in kinds]
    assert {rec.meta["unit"] for rec in alone} == {unit}
    assert any(rec.meta["unit_evidence"].endswith(evidence) for rec in alone)
    whole = ex.open(tmp_path)
    units = {name: one for name, one in whole.meta["units"].items() if "iops" not in name}
    assert set(units.values()) == {unit}
    for rec in (whole, *alone):
        assert any("a guess" in note.message for note in rec.notes if note.severity == "warning") == warned
