"""ioping: what the program prints, and what else such files hold."""

from __future__ import annotations

import json
import subprocess

import pytest
from compose import write

import esxparse as ex
from esxparse.formats.benchmarks import ioping
from esxparse.formats.kit.head import Head

SAMPLES = ex.datasets_dir() / "formats"
OLD = """4096 bytes from . (ext4 /dev/sda1): request=1 time=0.2 ms
4096 bytes from . (ext4 /dev/sda1): request=2 time=1.5 ms

--- . (ext4 /dev/sda1) ioping statistics ---
2 requests completed in 1001.9 ms, 1.2 k iops, 4.5 mb/s
min/avg/max/mdev = 0.2 ms / 0.9 ms / 1.5 ms / 650.0 us
"""


def figures(rec):
    rows = rec["benchmark_results"].collect().rows(named=True)
    return {(row["test"], row["repetition"], row["metric"]): row["value"] for row in rows}


@pytest.mark.needs("ioping")
@pytest.mark.parametrize("options", [["-c", "4"], ["-c", "4", "-W"], ["-c", "5", "-p", "2"], ["-c", "4", "-B"]])
def test_the_program_in_each_form_says_what_its_json_says(tmp_path, options):
    for form in ([], ["-J"]):
        command = ["ioping", "-i", "0.01", *options, *form, tmp_path]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rec = ex.open(write(tmp_path, done.stdout, "run.txt"))
        assert rec.format == "ioping"
        last = rec["intervals"].collect().rows(named=True)[-1]
        assert last["generated"] == int(options[1])
        assert last["min_ms"] <= last["mean_ms"] <= last["max_ms"]
        assert last["busy_s"] == pytest.approx(last["requests"] * last["mean_ms"] / 1e3, rel=0.02)
        rate = last["requests"] / last["busy_s"]
        # Whole numbers below a thousand, cut off.
        assert last["iops"] == pytest.approx(rate, rel=0.02, abs=1)
        assert last["bytes_per_s"] == pytest.approx(4096 * rate, rel=0.02)
        assert rec.notes == ()
        if form:
            stated = json.loads(done.stdout)[-1]["stat"]
            assert last["mean_ms"] == pytest.approx(stated["avg"] / 1e6)
            assert "-B" in options or rec["requests"].collect()["time"].is_sorted()


def test_runs_in_one_file_are_told_apart_and_the_warm_up_is_not_counted():
    rec = ex.open(SAMPLES / "ioping-runs.txt")
    requests = rec["requests"].collect()
    assert requests["run"].unique().sort().to_list() == [1, 2]
    assert requests.filter(run=1)["counted"].to_list() == [False, True, True, True, True]
    assert requests.filter(run=2)["operation"].unique().to_list() == ["write"]
    assert rec["intervals"].collect()["run"].to_list() == [1, 1, 1, 2, 3]
    tests = rec["benchmark_results"].collect().select("test", "configuration", "repetition").unique(maintain_order=True)
    assert tests["test"].to_list() == ["read", "write", "read"]


def test_an_old_release_and_its_units(tmp_path):
    rec = ex.open(write(tmp_path, OLD))
    assert rec["requests"].collect()["latency_ms"].to_list() == [0.2, 1.5]
    found = figures(rec)
    assert found["read", 1, "iops"] == 1200.0
    assert found["read", 1, "throughput"] == pytest.approx(4.5)
    assert found["read", 1, "latency_mdev"] == pytest.approx(0.65)


def test_raw_lines_are_known_by_their_arithmetic(tmp_path):
    line = "3 531273 5646 23129352 95953 177091 230865 58378 4 300392549\n"
    assert ioping.recognise(Head(line.encode()))
    assert not ioping.recognise(Head(line.replace("5646", "7000").encode()))
    assert not ioping.recognise(Head(b"1 2 3 4 5 6 7 8 9 10\n"))
    rec = ex.open(write(tmp_path, line * 2))
    assert figures(rec)["unknown", 1, "latency_mean"] == pytest.approx(0.177091)
    assert rec["intervals"].collect().height == 2


def test_a_killed_run_and_an_error_are_told(tmp_path):
    rec = ex.open(write(tmp_path, "\n".join(OLD.splitlines()[:2]) + "\nioping: request failed: Input/output error\n"))
    told = [str(note) for note in rec.notes if note.severity == "warning"]
    assert told == [
        "line 3: ioping says: ioping: request failed: Input/output error",
        "run 1 has no statistics: it was killed, or the file was cut",
    ]


def test_json_without_its_end_keeps_what_is_whole(tmp_path):
    whole = (SAMPLES / "ioping-objects.json").read_text()
    rec = ex.open(write(tmp_path, whole[: whole.index('"stat"')], "x.json"))
    assert rec["requests"].collect().height == 4
    assert "intervals" not in rec
    assert {note.severity for note in rec.notes} == {"warning"}
