"""HPC Challenge: the summary, each part, and files of several or broken runs."""

from __future__ import annotations

import os
import re
import subprocess

import pytest
from compose import write

import esxparse as ex

SAMPLE = ex.datasets_dir() / "formats" / "hpcc-hpccoutf.txt"


def value(rec, test, metric):
    rows = rec["benchmark_results"].collect().filter(test=test, metric=metric)
    return rows["value"].item(), rows["unit"].item()


def test_each_part_is_read_with_its_unit():
    rec = ex.open(SAMPLE)
    summary = dict(re.findall(r"^(\w+)=(\S+)$", SAMPLE.read_text(), re.MULTILINE))
    assert value(rec, "HPL", "performance") == (float(summary["HPL_Tflops"]) * 1e3, "GFlop/s")
    assert value(rec, "StarDGEMM", "performance") == (float(summary["StarDGEMM_Gflops"]), "GFlop/s")
    assert value(rec, "PTRANS", "bandwidth") == (float(summary["PTRANS_GBs"]), "GB/s")
    assert value(rec, "MPIRandomAccess", "updates") == (float(summary["MPIRandomAccess_GUPs"]), "GUP/s")
    assert value(rec, "SingleSTREAM_Triad", "bandwidth") == (float(summary["SingleSTREAM_Triad"]), "GB/s")
    assert value(rec, "MPIFFT", "performance") == (float(summary["MPIFFT_Gflops"]), "GFlop/s")
    assert value(rec, "MaxPingPong", "latency") == (float(summary["MaxPingPongLatency_usec"]), "us")
    assert value(rec, "RandomlyOrderedRing", "bandwidth") == (
        float(summary["RandomlyOrderedRingBandwidth_GBytes"]),
        "GB/s",
    )
    assert rec["benchmark_results"].collect()["valid"].to_list() == [True] * 35
    assert rec["summary"].collect().height == len(summary)
    spread = rec["spread"].collect().filter(part="StarDGEMM").row(0, named=True)
    assert (spread["minimum"], spread["mean"], spread["maximum"]) == (3.803097, 5.56676, 7.330423)
    assert rec["solves"].collect().select("size", "gflops", "passed").rows() == [(200, 4.34, True)]
    assert rec["checks"].collect()["finished"].all()
    assert (rec.meta["release"], rec.notes) == ("1.5.0", ())


def test_runs_that_were_appended_are_kept_apart(tmp_path):
    rec = ex.open(write(tmp_path, SAMPLE.read_text() * 2))
    rows = rec["benchmark_results"].collect().filter(test="HPL", metric="performance")
    assert rows["repetition"].to_list() == [1, 2]
    assert rec["checks"].collect()["run"].unique().sort().to_list() == [1, 2]


def test_a_run_that_was_stopped_keeps_its_parts(tmp_path):
    text = SAMPLE.read_text()
    rec = ex.open(write(tmp_path, text[: text.index("End of StarSTREAM")]))
    assert "benchmark_results" not in rec
    assert rec["spread"].collect().filter(part="StarDGEMM")["mean"].item() == 5.56676
    told = [note.message for note in rec.notes]
    assert told == [
        "run 1: StarSTREAM did not end: HPCC was stopped, or the file was cut",
        "run 1 has no summary: what its parts printed is read",
    ]


def test_a_part_that_failed_its_check_is_told(tmp_path):
    text = SAMPLE.read_text().replace("...... PASSED", "...... FAILED").replace("Success=1", "Success=0")
    rec = ex.open(write(tmp_path, text))
    assert rec["checks"].collect().filter(part="HPL")["passed"].item() is False
    assert rec["benchmark_results"].collect()["valid"].to_list() == [False] * 35
    assert "run 1: HPL failed its own check: its result is wrong" in [note.message for note in rec.notes]


@pytest.mark.needs("hpcc")
def test_the_program_is_read_back(tmp_path):
    sample = SAMPLE.read_text()
    lines = ["HPLinpack", "UTK", "HPL.out", "8", "1", "100", "1", "32", "0", "1", "1", "1", "16.0", "1", "2", "1", "4"]
    lines += ["1", "2", "1", "1", "1", "1", "1", "1", "2", "64", "0", "0", "1", "8", "-", "0", "100", "0", "32"]
    (tmp_path / "hpccinf.txt").write_text("\n".join(lines) + "\n")
    env = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = ["hpcc"]
    subprocess.run(command, cwd=tmp_path, env=env, check=True, capture_output=True)
    rec = ex.open(tmp_path / "hpccoutf.txt")
    assert sample.startswith("#" * 72)
    assert value(rec, "HPL", "performance")[0] > 0
    assert rec["solves"].collect()["size"].to_list() == [100]
    assert rec["checks"].collect()["finished"].all()
