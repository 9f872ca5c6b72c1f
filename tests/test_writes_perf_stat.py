"""perf stat output, written: our reader, perf's own rules for its JSON, and the perf of this machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from datetime import datetime
from math import floor

import compose
import needs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.errors import EsxparseError
from esxparse_simulator.writers.perf_stat import Event, Interval, Run, csv, interval_lines, json_lines, text

MANY = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
VERSIONS = {"text": ("2.6.32", "3.6", "5.4", "6.1", "6.8"), "csv": ("5.4", "6.1", "6.8"), "json": ("6.1", "6.8")}
FORMS = [(form, version) for form, versions in VERSIONS.items() for version in versions]
NAMES = (
    "cycles", "instructions", "branches", "branch-misses", "dTLB-loads", "dTLB-load-misses", "page-faults",
    "cache-references", "cache-misses", "stalled-cycles-frontend", "L1-dcache-load-misses",
)  # fmt: skip
WORK = Run(
    "./work --all",
    (10.0,),
    (
        Event("task-clock", (8000.0,), "msec"),
        Event("cycles", (24_000_000_000,)),
        Event("instructions", (36_000_000_000,), running_pct=66.61),
        Event("stalled-cycles-backend", (12_000_000_000,)),
        Event("branches", (5_000_000_000,)),
        Event("branch-misses", (50_000_000,)),
        Event("dTLB-loads", (1_000_000_000,)),
        Event("dTLB-load-misses", (2_500_000,)),
        Event("LLC-loads", (), state="not supported"),
        Event("LLC-load-misses", (), state="not counted", running_pct=0.0),
    ),
    user_s=7.5,
    sys_s=0.5,
)


def written(run, form, version, **more):
    return {"text": text, "csv": csv, "json": json_lines}[form](run, version, **more)


def opened(folder, content):
    rec = ex.open(compose.write(folder, content, "perf.txt"))
    assert rec.format == "perf_stat"
    assert not [str(note) for note in rec.notes if note.severity == "warning"]
    return rec


def events(rec):
    return rec["events"].collect().to_dicts()


@st.composite
def runs(draw):
    repeated = draw(st.integers(1, 4))
    elapsed = draw(st.lists(st.floats(0.01, 5000), min_size=repeated, max_size=repeated, unique=True))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    counts = st.lists(st.integers(0, 10**13), min_size=repeated, max_size=repeated).map(tuple)
    found = [Event(name, draw(counts), running_pct=draw(st.sampled_from([100.0, 83.31, 50.0, 0.4]))) for name in names]
    if draw(st.booleans()):
        clock = st.lists(st.floats(1.0, 1e7), min_size=repeated, max_size=repeated).map(tuple)
        found.insert(0, Event("task-clock", draw(clock), "msec"))
    return Run("perl stress.pl", tuple(elapsed), tuple(found))


@MANY
@given(run=runs(), form=st.sampled_from(FORMS), grouping=st.sampled_from([",", ""]))
def test_every_count_comes_back(tmp_path, run, form, grouping):
    kind, version = form
    rec = opened(tmp_path, written(run, kind, version, **({"grouping": grouping} if kind == "text" else {})))
    rows = events(rec)
    assert len(rows) == len(run.events)
    for event, row in zip(run.events, rows, strict=True):
        mean = sum(event.counts) / len(event.counts)
        assert row["event"].removesuffix("-msecs") == event.name
        assert row["value"] == pytest.approx(mean, abs=0.5 if not event.unit else 0.005, rel=1e-12)
        share = event.running_pct
        whole = kind != "text" and version != "5.4"
        told = 100.0 if row["counted_pct"] is None else row["counted_pct"]
        assert told == pytest.approx(floor(share) if whole else share, abs=0.011)
        if len(event.counts) > 1 and row["stddev_pct"] is not None and mean:
            error = (
                sum((one - mean) ** 2 for one in event.counts) / (len(event.counts) - 1) / len(event.counts)
            ) ** 0.5
            assert row["stddev_pct"] == pytest.approx(100 * error / mean, abs=0.0051)
    if kind == "text":
        (one,) = rec["runs"].collect().to_dicts()
        assert (one["command"], one["repetitions"] or 1) == (run.command, len(run.elapsed_s))
        assert one["elapsed_s"] == pytest.approx(sum(run.elapsed_s) / len(run.elapsed_s), rel=1e-2)


@pytest.mark.parametrize(("form", "version"), FORMS)
def test_metrics_follow_from_the_counts(tmp_path, form, version):
    rec = opened(tmp_path, written(WORK, form, version))
    rows = {row["event"].removesuffix("-msecs"): row for row in events(rec)}
    old = version == "2.6.32"
    assert rows["task-clock"]["metric_value"] == pytest.approx(0.8)
    assert rows["instructions"]["metric_value"] == pytest.approx(1.5)
    assert rows["cycles"]["metric_value"] == pytest.approx(3000.0 if old else 3.0)
    assert rows["dTLB-load-misses"]["metric_value"] == pytest.approx(0.312 if old else 0.25, abs=0.001)
    assert rows["branch-misses"]["metric_value"] == pytest.approx(6.25 if old else 1.0)
    assert rows["branches"]["metric_value"] == pytest.approx(625.0)
    assert rows["LLC-loads"]["state"] == ("not counted" if old else "not supported")
    assert rows["LLC-load-misses"]["state"] == "not counted"
    if not old:
        stalled = [row for row in rec["metrics"].collect().to_dicts() if "stalled" in str(row["metric_unit"])]
        assert [round(row["metric_value"], 2) for row in stalled] == [0.33]
    assert rows["instructions"]["counted_pct"] == (66.61 if form == "text" or version == "5.4" else 66.0)


def test_the_published_counts_are_as_published(tmp_path):
    nested = Run("perl tlbstress.pl", (60.072490066,), (Event("dTLB-load-misses", (68_456_568,)),))
    shadow = Run("perl tlbstress.pl", (59.116399919,), (Event("dTLB-load-misses", (38_750_437,)),))
    content = text(nested, "2.6.32") + text(shadow, "2.6.32")
    squeezed = [" ".join(line.split()) for line in content.splitlines() if line.strip()]
    assert squeezed == [
        "Performance counter stats for 'perl tlbstress.pl':",
        "68456568 dTLB-load-misses # 0.000 M/sec",
        "60.072490066 seconds time elapsed",
        "Performance counter stats for 'perl tlbstress.pl':",
        "38750437 dTLB-load-misses # 0.000 M/sec",
        "59.116399919 seconds time elapsed",
    ]
    rec = opened(tmp_path, content)
    assert [row["value"] for row in events(rec)] == [68_456_568, 38_750_437]
    assert rec["runs"].collect()["elapsed_s"].to_list() == [60.072490066, 59.116399919]


def intervals(count, step=1.0):
    for number in range(count):
        clock = Event("task-clock", (950.0 + number,), "msec")
        yield Interval((number + 1) * step + number * 1e-6, (clock, Event("dTLB-load-misses", (1000 + number,))))


@pytest.mark.parametrize(("form", "version"), [one for one in FORMS if one[1] not in {"2.6.32", "3.6"}])
def test_intervals_come_back_with_their_times(tmp_path, form, version):
    content = b"".join(interval_lines(intervals(60), 1.0, form, version))
    rec = opened(tmp_path, content)
    rows = events(rec)
    assert [row["value"] for row in rows] == [one for n in range(60) for one in (950.0 + n, 1000 + n)]
    assert [row["elapsed_s"] for row in rows[::2]] == pytest.approx([n + 1 + n * 1e-6 for n in range(60)], abs=1e-9)
    assert rows[0]["metric_value"] == pytest.approx(0.95)
    assert rec.meta["interval"] == pytest.approx(1.0, abs=1e-5)
    heads = [n for n, line in enumerate(content.splitlines()) if line.startswith(b"#")]
    assert heads == ([] if form != "text" else [0, 53, 106] if version == "6.8" else [0, 51, 102])


def test_repetitions_and_their_table(tmp_path):
    run = Run("sleep 0.05", (0.0514436, 0.0513295, 0.0512936), (Event("task-clock", (0.75, 0.77, 0.74), "msec"),))
    rec = opened(tmp_path, text(run, table=True))
    assert rec["repetitions"].collect()["elapsed_s"].to_list() == list(run.elapsed_s)
    (one,) = rec["runs"].collect().to_dicts()
    assert (one["elapsed_s"], one["elapsed_stddev_s"], one["elapsed_stddev_pct"]) == (0.0513556, 0.0000452, 0.09)


def test_a_file_of_o_says_when_it_started(tmp_path):
    run = Run("x", (1.0,), (Event("cycles", (5,)),), started_local=datetime(2026, 3, 2, 8, 5, 9))  # noqa: DTZ001  as perf
    assert text(run).startswith("# started on Mon Mar  2 08:05:09 2026\n\n\n Performance")
    assert opened(tmp_path, text(run))["runs"].collect()["started_local"].item() == run.started_local


CHECKS = {
    "counter-value": lambda x: x in {"<not counted>", "<not supported>"} or float(x) >= 0,
    "event": bool,
    "event-runtime": lambda x: float(x) >= 0,
    "interval": lambda x: float(x) > 0,
    "metric-unit": lambda _: True,
    "metric-value": lambda x: float(x) >= 0,
    "pcnt-running": lambda x: 0 <= float(x) <= 100,
    "unit": lambda _: True,
}
"""Keys and values that perf's own test of its JSON lets pass, of those that are written here."""


@MANY
@given(run=runs(), version=st.sampled_from(VERSIONS["json"]), interval=st.booleans())
def test_json_lines_pass_the_rules_of_perfs_own_test(run, version, interval):
    single = Run(
        run.command, run.elapsed_s[:1], tuple(Event(e.name, e.counts[:1], e.unit, e.running_pct) for e in run.events)
    )
    if interval:
        every = (Interval(n + 1.0, single.events) for n in range(3))
        content = b"".join(interval_lines(every, 1.0, "json", version)).decode()
    else:
        content = json_lines(single, version)
    wanted = {6, 8} if interval else {5, 7}
    for line in content.splitlines():
        item = json.loads(line)
        alone = 1 <= len(item) <= 7 and "metric-value" in item and "event" not in item
        assert len(item) in wanted or alone
        assert all(CHECKS[key](value) for key, value in item.items())


def perf(*options):
    program = shutil.which("perf")
    command = [
        program,
        "stat",
        "-e",
        "task-clock,context-switches,page-faults,cycles,instructions",
        *options,
        "--",
        "sleep",
        "0.15",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    if done.returncode:
        needs.missing(f"a perf that may count ({done.stderr.strip()[:60]})")
    if not re.match(
        r"perf version 6\.[01]\b",
        subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout,
    ):
        pytest.skip("another release of perf than 6.1")
    return done.stderr


def shape(content):
    """Every number a 0; those of text keep where they end."""
    return re.sub(r" *\d[\d.]*", lambda found: "0".rjust(len(found[0])), content)


def squeezed(content):
    return [re.sub(r"[KM]?/sec", "/sec", re.sub(r"\d+(\.\d+)?", "0", line)) for line in content.splitlines()]


@pytest.mark.needs("perf")
@pytest.mark.parametrize("options", [(), ("-r", "2"), ("-r", "2", "--table"), ("-I", "100")])
@pytest.mark.parametrize("form", ["text", "csv", "json"])
def test_the_perf_here_prints_the_same(form, options, tmp_path):
    flags = {"text": (), "csv": ("-x,",), "json": ("-j",)}[form]
    if form != "text" and "--table" in options:
        options = options[:2]
    real = perf(*flags, *options)
    rows = events(ex.open(compose.write(tmp_path, real)))
    if "-I" in options:
        ends = sorted({row["elapsed_s"] for row in rows})
        every = [Interval(at, tuple(_again(row) for row in rows if row["elapsed_s"] == at)) for at in ends]
        ours = b"".join(interval_lines(every, 0.1, form, "6.1", grouping="")).decode()
    else:
        count = 2 if options else 1
        found = tuple(_again(row, count) for row in rows)
        run = Run("sleep 0.15", (0.1515, 0.1525)[:count], found, user_s=0.001, sys_s=0.0)
        ours = written(run, form, "6.1", **({"grouping": "", "table": "--table" in options} if form == "text" else {}))
    assert squeezed(_without_noise(ours)) == squeezed(_without_noise(real))
    if form == "text" and not options:
        assert shape(ours).splitlines()[:-5] == shape(real).splitlines()[:-5]


def _without_noise(content):
    """Deviations are not of the same counts: perf prints none where it is 0; nor are bars and signs of the table."""
    lines = re.sub(r"\s*\( \+-\s*[\d.]+% \)|[-+](?=\d)|#+$", "", content, flags=re.MULTILINE)
    return re.sub(r" +", " ", re.sub(r" +$", "", lines, flags=re.MULTILINE))


def _again(row, count=1):
    if row["state"] != "counted":
        return Event(row["event"], (), row["unit"] or "", 100.0, row["state"])
    return Event(row["event"], (row["value"],) * count, row["unit"] or "")


def test_metrics_are_those_of_a_real_capture():
    path = compose.real_data("perf", "interval_csv_perf5.13.txt")
    lines = [line.split(",") for line in path.read_text().splitlines()[2:]]
    ends = sorted({float(line[0]) for line in lines})
    every = [
        Interval(at, tuple(Event(one[3], (float(one[1]),), one[2]) for one in lines if float(one[0]) == at))
        for at in ends
    ]
    ours = [line.split(",") for line in b"".join(interval_lines(every, 1.0)).decode().splitlines()]
    assert [(*one[:4], *one[6:]) for one in ours] == [(*one[:4], *one[6:]) for one in lines]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: text(Run("x", (), WORK.events)),
        lambda: text(Run("x", (1.0,), ())),
        lambda: text(Run("x", (0.0,), WORK.events)),
        lambda: text(Run("x", (1.0, 1.0), (Event("cycles", (1, 2)),))),
        lambda: text(Run("x", (1.0, 2.0), (Event("cycles", (1,)),))),
        lambda: text(Run("x", (1.0,), (Event("cycles", (-1,)),))),
        lambda: text(Run("x", (1.0,), (Event("cycles", (1,), running_pct=0.0),))),
        lambda: text(Run("x", (1.0,), (Event('a"b', (1,)),))),
        lambda: text(WORK, "7.99"),
        lambda: text(Run("x", (1.0, 2.0), (Event("cycles", (1, 2)),)), "3.6", table=True),
        lambda: csv(WORK, "3.6"),
        lambda: json_lines(WORK, "5.4"),
        lambda: list(interval_lines(intervals(2), 0.0)),
        lambda: list(interval_lines(intervals(2), 1.0, "text", "3.6")),
        lambda: list(interval_lines([*intervals(2), *intervals(1)], 1.0)),
        lambda: list(interval_lines(intervals(2), 1.0, "xml")),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(wrong):
    with pytest.raises(EsxparseError, match=r"^[^\n]+$"):
        wrong()


def test_text_is_that_of_a_real_capture_byte_by_byte():
    path = compose.real_data("perf", "text_ddd_r10_not_supported.txt")
    real = path.read_text()
    (run,) = ex.open(path)["runs"].collect().to_dicts()
    found = []
    for row in events(ex.open(path)):
        # Ten counts whose standard error of the mean is what was printed: each off by three times as much.
        count, off = row["value"] or 0.0, 3.0 * (row["stddev_pct"] or 0.0) / 100.0
        counts = tuple(count * (1 + off * sign) for sign in (1, -1)) * 5 if row["state"] == "counted" else ()
        share = 100.0 if row["counted_pct"] is None else row["counted_pct"]
        found.append(Event(row["event"], counts, row["unit"] or "", share, row["state"]))
    off = 3.0 * run["elapsed_stddev_s"]
    elapsed = tuple(run["elapsed_s"] + off * sign for sign in (1, -1)) * 5
    ours = text(Run(run["command"], elapsed, tuple(found)), "5.4")
    # The mean of a small count has decimals that are not printed; a ratio of two such shows them.
    mine, theirs = (
        [re.sub(r"# +[1-9]\d\d\.\d\d%", "# many", line) for line in one.splitlines() if line.strip()]
        for one in (ours, real)
    )
    assert mine == theirs
