"""ioping: what the program prints, and what else such files hold."""

from __future__ import annotations

import json
import subprocess

import pytest
from compose import write

import esxparse as ex
from esxparse.formats.benchmarks import ioping
from esxparse.formats.kit.head import Head


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


def test_raw_lines_are_known_by_their_arithmetic(tmp_path):
    line = "3 531273 5646 23129352 95953 177091 230865 58378 4 300392549\n"
    assert ioping.recognise(Head(line.encode()))
    assert not ioping.recognise(Head(line.replace("5646", "7000").encode()))
    assert not ioping.recognise(Head(b"1 2 3 4 5 6 7 8 9 10\n"))
    rec = ex.open(write(tmp_path, line * 2))
    assert figures(rec)["unknown", 1, "latency_mean"] == pytest.approx(0.177091)
    assert rec["intervals"].collect().height == 2
