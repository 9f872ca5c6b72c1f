"""perf stat, real: captures checked number by number by another parse, and the perf of this machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

import compose
import pytest

import esxparse as ex

EVENTS = "task-clock,context-switches,page-faults"


def opened(*names):
    return ex.open(compose.real_data("perf", *names))


def numbers(rec, *columns):
    return rec["events"].collect().select(columns).rows()


def test_csv_of_intervals():
    path = compose.real_data("perf", "interval_csv_perf5.13.txt")
    rec = ex.open(path)
    expected = []
    for line in path.read_text().splitlines()[2:]:
        time, value, unit, event, runtime, pct, metric, text = line.split(",")
        expected.append(
            (float(time), event, float(value), unit or None, int(runtime) / 1e6, float(pct), float(metric), text)
        )
    columns = ("elapsed_s", "event", "value", "unit", "runtime_ms", "counted_pct", "metric_value", "metric_unit")
    assert numbers(rec, *columns) == expected
    assert len(expected) == 69
    assert (rec.meta["release"], rec.meta["samples"], rec.meta["interval"]) == ("5.13.g303392fd5c16", 3, 1.0)
    assert "perf stat -a --scale -I 1000 -x ," in rec["runs"].collect()["command"].item()
    assert not rec.notes


def test_intervals_between_blanks():
    path = compose.real_data("perf", "interval_space_separated.txt")
    rec = ex.open(path)
    expected = []
    for line in path.read_text().splitlines()[1:]:
        words = line.split()
        unit = words.pop(2) if words[2] == "msec" else None
        time, value, event, runtime, pct, metric, *text = words
        expected.append(
            (float(time), event, float(value), unit, int(runtime) / 1e6, float(pct), float(metric), " ".join(text))
        )
    columns = ("elapsed_s", "event", "value", "unit", "runtime_ms", "counted_pct", "metric_value", "metric_unit")
    assert numbers(rec, *columns) == expected
    assert len(expected) == 29
    assert not rec.notes


def test_json_lines():
    path = compose.real_data("perf", "json_lines.jsonl")
    rec = ex.open(path)
    objects = [json.loads(line) for line in path.read_text().splitlines()]
    counted = [one for one in objects if "event" in one]
    expected = [
        (
            one["event"],
            float(one["counter-value"]),
            one["unit"] or None,
            one["event-runtime"] / 1e6,
            one["pcnt-running"],
            float(one["metric-value"]),
            one["metric-unit"],
        )
        for one in counted
    ]
    columns = ("event", "value", "unit", "runtime_ms", "counted_pct", "metric_value", "metric_unit")
    assert numbers(rec, *columns) == expected
    metrics = rec["metrics"].collect()
    values = [one["metric-value"] for one in objects if "metric-value" in one]
    assert metrics["metric_value"].to_list() == [None if value == "nan" else float(value) for value in values]
    groups = metrics["metric_group"].to_list()
    assert groups.count("TopdownL1") == 4
    assert groups.count("TopdownL2") == 3
    assert groups.count("TopdownL1 (cpu_core)") == 3
    assert groups.count("TopdownL1 (cpu_atom)") == 2
    # Two recordings stand one after the other, both beginning with cpu-clock.
    assert rec["events"].collect()["run"].to_list() == [1] * 8 + [2] * 4


def text_rows(path, decimal="."):
    """Each line with a count, taken apart by columns: count, unit, event, what follows."""
    group = "," if decimal == "." else "."

    def plain(text):
        return float(text.replace(group, "").replace(decimal, "."))

    rows = []
    for line in path.read_text().splitlines():
        found = re.match(r"\s+([\d.,]+|<not supported>)\s+(?:(msec)\s+)?([A-Za-z][\w.:/-]+)\s*(.*)", line)
        if found and "seconds time" not in line:
            stddev, pct = re.search(r"\+-\s*([\d.,]+)%", found[4]), re.search(r"\(([\d.,]+)%\)$", found[4].strip())
            metric = re.match(r"#\s*([\d.,]+)", found[4])
            count = None if found[1].startswith("<") else plain(found[1])
            others = (plain(one[1]) if one else None for one in (stddev, pct, metric))
            rows.append((found[3], count, found[2], *others))
    return rows


COLUMNS = ("event", "value", "unit", "stddev_pct", "counted_pct", "metric_value")


def test_text_of_ten_runs_with_events_not_supported():
    path = compose.real_data("perf", "text_ddd_r10_not_supported.txt")
    rec = ex.open(path)
    expected = text_rows(path)
    # The deviation and share of instructions stand on the line of their second metric.
    at = next(place for place, row in enumerate(expected) if row[0] == "instructions")
    expected[at] = (*expected[at][:3], 0.07, 33.48, expected[at][5])
    assert numbers(rec, *COLUMNS) == expected
    assert len(expected) == 22
    assert rec["events"].collect()["state"].to_list().count("not supported") == 3
    second = [row for row in rec["metrics"].collect().to_dicts() if row["event"] == "instructions"][1]
    assert (second["metric_value"], second["metric_unit"]) == (0.23, "stalled cycles per insn")
    (run,) = rec["runs"].collect().to_dicts()
    assert (run["repetitions"], run["elapsed_s"], run["elapsed_stddev_s"], run["elapsed_stddev_pct"]) == (
        10, 1.7488, 0.0130, 0.74,
    )  # fmt: skip
    assert not rec.notes


def test_text_with_a_table_of_repetitions_and_names_of_metrics():
    path = compose.real_data("perf", "text_r20_table.txt")
    rec = ex.open(path)
    assert numbers(rec, *COLUMNS) == text_rows(path)
    took = [float(one) for one in re.findall(r"(?m)^\s+(\d\.\d+) \([+-]", path.read_text())]
    assert rec["repetitions"].collect()["elapsed_s"].to_list() == took
    (run,) = rec["runs"].collect().to_dicts()
    assert len(took) == run["repetitions"] == 20
    assert f"{run['started_local']:%a %b %d %H:%M:%S %Y}" == "Tue Jun 16 21:38:49 2026"
    assert (run["elapsed_s"], run["elapsed_stddev_s"]) == (8.938353692, 0.008355056)
    names = re.findall(r"#\s+[\d.]+ (?:\S+  )?(\w+)", path.read_text())
    assert rec["events"].collect()["metric_name"].to_list() == names
    assert not rec.notes


def test_text_of_hybrid_pmus_in_a_european_locale():
    path = compose.real_data("perf", "text_r5_hybrid_european_locale.txt")
    rec = ex.open(path)
    assert numbers(rec, *COLUMNS) == text_rows(path, ",")
    assert set(rec["events"].collect()["pmu"]) == {"cpu_atom", "cpu_core"}
    run = rec["runs"].collect().row(0, named=True)
    assert (run["repetitions"], run["elapsed_s"], run["elapsed_stddev_pct"]) == (5, 3.4814, 0.37)
    assert ["decimal comma" in str(note) for note in rec.notes] == [True]


def test_a_log_of_another_program_is_not_taken_for_perf_stat():
    # It has the name of one, and holds no line of perf.
    path = compose.real_data("perf", "text_plain.txt")
    assert "Performance counter" not in path.read_text()
    with pytest.raises(ex.EsxparseError, match="not in a format esxparse reads"):
        ex.open(path)


def run_perf(folder, *options, seconds="0.02"):
    """perf stat of a short sleep, as a file."""
    perf = shutil.which("perf")
    path = folder / "perf.out"
    command = [perf, "stat", "-o", str(path), "-e", EVENTS, *options, "sleep", seconds]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    if done.returncode or not path.exists():
        pytest.skip(f"perf stat {' '.join(options)} is not permitted here: {done.stderr.strip()[:120]}")
    return path


@pytest.mark.needs("perf")
@pytest.mark.parametrize(
    "options", [(), ("-x,",), ("-x;",), ("-j",), ("-r", "3"), ("-r", "3", "-x,"), ("-r", "3", "-j")]
)
def test_perf_of_this_machine_says_the_same_in_every_form(tmp_path, options):
    rec = ex.open(run_perf(tmp_path, *options))
    rows = rec["events"].collect().to_dicts()
    assert [row["event"].partition(":")[0] for row in rows] == EVENTS.split(",")
    assert [row["unit"] for row in rows] == ["msec", None, None]
    assert all(row["state"] == "counted" and row["value"] >= 0 for row in rows)
    assert rows[0]["value"] > 0
    (run,) = rec["runs"].collect().to_dicts()
    assert run["started_local"] is not None
    if not {"-x,", "-x;", "-j"} & set(options):
        # The clock of a busy virtual machine may lag behind its timers.
        assert 0.005 <= run["elapsed_s"] < 20
        assert run["command"] == "sleep 0.02"
        assert run["repetitions"] == (3 if options else None)
    else:
        assert rows[0]["runtime_ms"] == pytest.approx(rows[0]["value"], rel=0.1)
    assert not [note for note in rec.notes if note.severity == "warning"]


SCRIPT = r"""# Waits a moment, and defines what nobody calls.
wait_for() {
    cat <<'EOF'
EOF
    sleep 0.02;
}
function first {
    true;
}
function second {
    true;
}
function third {
    true;
}
if false; then
    echo "performance" \
        "counters"
fi
for host in one two; do
    echo "$host"
done
wait_for"""
"""A command of more than 20 lines that looks like source code."""


@pytest.mark.needs("perf")
@pytest.mark.parametrize("repeats", [(), ("-r", "2")])
@pytest.mark.parametrize("script", [SCRIPT, f"if true; then :\n{SCRIPT}\nfi", "case x in\ny) :\nesac\n:"])
def test_a_command_of_several_lines_is_one(tmp_path, repeats, script):
    path = tmp_path / "perf"
    command = ["perf", "stat", "-o", str(path), "-e", EVENTS, *repeats, "bash", "-c", script]
    subprocess.run(command, check=True, capture_output=True)
    rec = ex.open(path)
    (run,) = rec["runs"].collect().to_dicts()
    assert run["command"] == "bash -c " + script.replace("\n", " ")
    assert run["repetitions"] == (2 if repeats else None)
    assert [row["event"].partition(":")[0] for row in rec["events"].collect().to_dicts()] == EVENTS.split(",")
    assert [note.message for note in rec.notes] == ["a command of several lines: its lines are joined with blanks"]


@pytest.mark.needs("perf")
@pytest.mark.parametrize("form", [(), ("-x,",), ("-x ",), ("-j",)])
def test_intervals_of_this_machine(tmp_path, form):
    path = run_perf(tmp_path, "-I", "20", *form, seconds="0.1")
    rec = ex.open(path)
    rows = rec["events"].collect()
    ends = rows["elapsed_s"].unique().sort().to_list()
    assert ends == sorted({float(end) for end in re.findall(r"\b\d+\.\d{9}\b", path.read_text())})
    assert rec.meta["samples"] == len(ends)
    assert rows.height == 3 * len(ends)
    assert rec["runs"].collect()["elapsed_s"].item() == ends[-1]
    assert not [note for note in rec.notes if note.severity == "warning"]


@pytest.mark.needs("perf")
@pytest.mark.parametrize("form", [(), ("-x,",), ("-j",)])
@pytest.mark.parametrize(
    ("by", "pattern"),
    [("-A", r"CPU\d+"), ("--per-socket", r"S\d+"), ("--per-core", r"S\d+-D\d+-C\d+"), ("--per-node", r"N\d+")],
)
def test_aggregates_of_this_machine(tmp_path, by, pattern, form):
    rec = ex.open(run_perf(tmp_path, "-a", by, *form))
    rows = rec["events"].collect()
    assert all(re.fullmatch(pattern, aggregate) for aggregate in rows["aggregate"])
    assert rows.height == 3 * rows["aggregate"].n_unique()
    if by != "-A":
        assert rows.filter(rows["event"] == "context-switches")["cpus"].sum() == os.cpu_count()
    assert not [note for note in rec.notes if note.severity == "warning"]
