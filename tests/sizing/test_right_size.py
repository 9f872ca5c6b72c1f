"""Right-sizing: percentiles against arithmetic on cells, verdicts, missing counters, days of a lake, the command."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta

import numpy as np
import polars as pl
import pytest
from cells import START, capture

import esxparse as ex
from esxparse.cli import main
from esxparse.sizing.suggestions import LIMITS

SAMPLES = 40
MIB = {"size": "Memory Size MBytes", "granted": "Memory Granted Size MBytes", "active": "Touched MBytes"}
TAKEN = {"swapped": "Swapped MBytes", "balloon": "Memctl MBytes"}


def vcpu_cells(vm, group, run, ready=0.0, costop=0.0, drop=()):
    """Cells of one VM: for each vCPU the % Run of all samples; the same ready time and co-stop in all."""
    found = {}
    for number, values in enumerate(run):
        instance = f"{group}:{vm}:{group * 10 + number}:vmx-vcpu-{number}:{vm}"
        counters = {"% Run": values, "% Ready": [ready] * len(values), "% CoStop": [costop] * len(values)}
        found |= {("Vcpu", instance, name): cells for name, cells in counters.items() if name not in drop}
    return found


def memory_cells(vm, group, samples=SAMPLES, **mib):
    mib = {"size": 16384, "granted": 15000, "active": 8000, "swapped": 0, "balloon": 0} | mib
    names = MIB | TAKEN
    return {("Group Memory", f"{group}:{vm}", names[key]): [float(value)] * samples for key, value in mib.items()}


def sized(folder, *parts, name="capture.csv", **options):
    cells = {key: values for part in parts for key, values in part.items()}
    return ex.right_size(capture(folder, cells, name, **options))


def row(found, vm="db"):
    return found.frame.row(by_predicate=pl.col("vm") == vm, named=True)


def test_percentiles_are_those_of_the_cells(tmp_path):
    noise = np.random.default_rng(5).uniform(5, 60, (6, SAMPLES)).round(2)
    found = row(sized(tmp_path, vcpu_cells("db", 7, noise.tolist(), ready=4.0, costop=2.5)))
    running, wanted = noise.sum(axis=0) / 100, (noise + 6.5).sum(axis=0) / 100
    assert found["vcpus"] == 6
    assert found["running_mean"] == pytest.approx(running.mean())
    assert found["running_p95"] == pytest.approx(np.percentile(running, 95))
    assert found["wanted_p99"] == pytest.approx(np.percentile(wanted, 99))
    assert found["costop_pct"] == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("vcpus", "pct", "verdict", "suggested"),
    [
        (8, 5.0, "fewer vCPUs", 4),  # 0.4 vCPUs would do: no more than half is taken
        (8, 62.5, "fewer vCPUs", 6),  # 5.0 and 20 %: 6
        (8, 63.0, "keep", None),  # 5.04 and 20 %: 7, even 8
        (8, 95.0, "all vCPUs busy", None),
        (3, 10.0, "fewer vCPUs", 2),
        (2, 1.0, "keep", None),
        (1, 1.0, "keep", None),
    ],
)
def test_vcpus_are_suggested_by_what_ran_at_once(tmp_path, vcpus, pct, verdict, suggested):
    found = row(sized(tmp_path, vcpu_cells("db", 7, [[pct] * SAMPLES] * vcpus)))
    assert (found["cpu"], found["vcpus_suggested"]) == (verdict, suggested)
    assert bool(found["risk"]) == (suggested is not None)


def test_ready_time_and_costop_count_as_wanted(tmp_path):
    idle = vcpu_cells("db", 7, [[5.0] * SAMPLES] * 8)
    waiting = vcpu_cells("web", 8, [[5.0] * SAMPLES] * 8, ready=40.0, costop=30.0)
    found = sized(tmp_path, idle, waiting)
    assert row(found, "db")["vcpus_suggested"] == 4
    assert row(found, "web")["vcpus_suggested"] is None


@pytest.mark.parametrize(
    ("mib", "verdict", "suggested"),
    [
        ({"size": 65536, "granted": 40960, "active": 9000}, "less memory", 48 * 1024),  # 40 GiB and 20 %
        ({"size": 65536, "granted": 9000, "active": 900}, "less memory", 32 * 1024),  # half at most
        ({"size": 65536, "granted": 9000, "active": 900, "balloon": 1}, "memory reclaimed", None),
        ({"size": 65536, "granted": 9000, "active": 900, "swapped": 64}, "memory reclaimed", None),
        ({"size": 65536, "granted": 64000, "active": 16384}, "ask the guest", None),
        ({"size": 65536, "granted": 64000, "active": 16385}, "keep", None),
        ({"size": 3072, "granted": 100, "active": 50}, "keep", None),  # half of it is not worth the work
    ],
)
def test_memory_is_suggested_by_what_was_touched(tmp_path, mib, verdict, suggested):
    found = row(sized(tmp_path, vcpu_cells("db", 7, [[50.0] * SAMPLES] * 2), memory_cells("db", 7, **mib)))
    assert (found["memory"], found["size_suggested_mib"]) == (verdict, suggested)


@pytest.mark.parametrize("lost", ["% Run", "% Ready", "% CoStop"])
def test_nothing_is_suggested_without_a_counter(tmp_path, lost):
    found = row(sized(tmp_path, vcpu_cells("db", 7, [[5.0] * SAMPLES] * 8, drop=(lost,))))
    assert (found["cpu"], found["vcpus_suggested"]) == ("unknown", None)
    assert lost == "% Run" or "%RDY or %CSTP" in found["cpu_evidence"]


def test_nothing_is_suggested_from_a_few_samples_or_without_worlds(tmp_path):
    few = vcpu_cells("db", 7, [[5.0] * 19] * 8)
    assert row(sized(tmp_path, few, memory_cells("db", 7, 19, size=65536, granted=900)))["cpu"] == "unknown"
    only_memory = row(sized(tmp_path, memory_cells("db", 7, size=65536, granted=900, active=100)))
    assert (only_memory["cpu"], only_memory["vcpus"]) == ("unknown", None)
    assert only_memory["memory"] == "less memory"


def test_a_vcpu_without_a_number_leaves_its_sample_out(tmp_path):
    cells = vcpu_cells("db", 7, [[5.0] * SAMPLES] * 8)
    path = capture(tmp_path, cells)
    lines = path.read_text().splitlines()
    # One cell of the third sample is empty: its sum would be too small.
    lines[3] = lines[3].replace('"5.00"', '""', 1)
    path.write_text("\n".join(lines) + "\n")
    assert row(ex.right_size(path))["samples"] == SAMPLES - 1


def test_the_busiest_day_decides(tmp_path):
    day = [5.0] * SAMPLES
    for number, pct in enumerate((5.0, 60.0, 5.0)):
        cells = vcpu_cells("db", 7, [[pct] * SAMPLES] * 8) if number else vcpu_cells("db", 7, [day] * 8)
        capture(tmp_path, cells, f"{number}.csv", [86_400 * number + 60 * sample for sample in range(SAMPLES)])
    found = row(ex.right_size([tmp_path / f"{number}.csv" for number in range(3)]))
    assert found["days"] == 3
    assert found["wanted_p99"] == pytest.approx(4.8)
    assert found["busiest_day"] == (START + timedelta(days=1)).date()
    assert found["vcpus_suggested"] == 6
    assert found["hours"] == pytest.approx(3 * SAMPLES / 60)


@pytest.mark.needs("obstore")
def test_weeks_of_a_lake(tmp_path, capsys):
    lake = ex.lake(tmp_path / "lake")
    for week, pct in enumerate((60.0, 5.0)):
        cells = vcpu_cells("db", 7, [[pct] * SAMPLES] * 8)
        file = capture(tmp_path, cells, f"{week}.csv", [604_800 * week + 60 * sample for sample in range(SAMPLES)])
        lake.add([file], host="esx-1")
    where = str(tmp_path / "lake")
    assert row(ex.right_size(lake, last="4w"))["vcpus_suggested"] == 6
    assert main(["right-size", "--lake", where, "--host", "esx-1", "--last", "1w", "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [(one["host"], one["vm"], one["vcpus_suggested"]) for one in printed["vms"]] == [("esx-1", "db", 4)]
    assert main(["right-size", "--lake", where, "--host", "esx-2"]) == 1
    assert "has no host 'esx-2'" in capsys.readouterr().err


def test_every_shape_has_the_suggestion(tmp_path, capsys):
    cells = vcpu_cells("a|b", 7, [[5.0] * SAMPLES] * 8)
    file = str(capture(tmp_path, cells))
    shown = {}
    for shape in ("table", "md", "json", "csv"):
        assert main(["right-size", file, "--format", shape]) == 0
        shown[shape] = capsys.readouterr().out
    assert "fewer vCPUs: 4" in shown["table"]
    assert "8 to 4 vCPUs: at its p99 it wanted 0.40 of 8 vCPUs" in shown["table"]
    assert "risk: peak hours may be missing: 0.1 h in 1 day were seen" in shown["table"]
    assert "| a\\|b | 8 |" in shown["md"]
    assert json.loads(shown["json"])["limits"]["buffer"]["value"] == LIMITS["buffer"]["value"] == 1.2
    (of_csv,) = csv.DictReader(io.StringIO(shown["csv"]))
    assert (of_csv["vm"], of_csv["vcpus_suggested"], of_csv["size_mib"]) == ("a|b", "4", "")


def test_mistakes_are_one_line(tmp_path, capsys):
    other = tmp_path / "stream.txt"
    other.write_bytes((ex.datasets_dir() / "formats" / "stream-runs.txt").read_bytes())
    for arguments, told in (
        ([], "give either captures or --lake"),
        (["a.csv", "--lake", "x"], "give either captures or --lake"),
        (["a.csv", "--last", "4w"], "--last is for lakes"),
        ([str(other)], "right-sizing needs captures of esxtop"),
    ):
        assert main(["right-size", *arguments]) == 1
        (line,) = capsys.readouterr().err.strip().splitlines()
        assert told in line
