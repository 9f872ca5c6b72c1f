"""What is no recording does not open: sources, manuals and scripts, those that quote a recording included."""

from __future__ import annotations

import sys
from itertools import cycle, islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import esxparse as ex
from esxparse.formats.kit.head import Head

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "fuzz"))

import strangers  # noqa: E402  stands beside the tests

SOURCE = (ROOT / "esxparse" / "formats" / "registry.py").read_text().splitlines()
MANUAL = [line for line in (ROOT / "README.md").read_text().splitlines() if line and "|" not in line]
SCRIPT = """#!/bin/bash
# Runs the benchmark on each host and keeps what it printed.
set -euo pipefail
for host in $(cat hosts); do
    echo "benchmark on $host"
    if ! ssh "$host" true; then
        exit 1
    fi
    ssh "$host" ./bench.sh >"$host.txt" 2>&1 || true
done""".splitlines()
TEST = """package parser

import "testing"

// TestParse checks that the output is parsed.
func TestParse(t *testing.T) {
\tgot, err := Parse(strings.NewReader(sample))
\tif err != nil {
\t\tt.Fatalf("unexpected error: %v", err)
\t}
}""".splitlines()
QUOTING = {
    "source": (SOURCE, 'SAMPLE = """', '"""', ""),
    "manual": (MANUAL, "```", "```", ""),
    "indented": (MANUAL, "", "", "    "),
    "script": (SCRIPT, "cat <<'EOF'", "EOF", ""),
    "test": (TEST, "const sample = `", "`", ""),
}
SAMPLES = (
    "cpuinfo-guest.txt", "diskspd-2.1.txt", "diskspd-2.0.21.xml", "esxcli-host.txt", "fio-json-plus.json",
    "fio-normal.txt", "hpl-netlib.txt", "iometer-2006.csv", "iperf3-udp.txt", "ipmi-sensor-loop.txt", "linpack-mkl.txt",
    "lscpu-host.txt",
    "memtier-report.txt", "netperf-classic.txt", "netperf-keyval.txt", "numactl-hardware.txt", "perf-plain.txt",
    "power-pdu-export.csv", "redis-old.txt", "ribcl-power-readings.xml", "stream-runs.txt", "sysbench-oltp.txt",
    "vmkperf-poll.txt", "vmx-database.vmx", "vscsistats-web.csv",
)  # fmt: skip


def quoting(kind, lines):
    """A document of which a third is quoted."""
    about, begin, end, indent = QUOTING[kind]
    around = list(islice(cycle(about), max(len(lines), 12)))
    return "\n".join([*around, begin, *(indent + line for line in lines), end, *around]) + "\n"


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("kind", QUOTING)
def test_what_quotes_a_recording_is_none(tmp_path, name, kind):
    lines = (ex.datasets_dir() / "formats" / name).read_text().splitlines()[:150]
    path = tmp_path / "document"
    path.write_text(quoting(kind, lines))
    with pytest.raises(ex.EsxparseError) as caught:
        ex.open(path)
    assert "\n" not in str(caught.value)


def test_a_quotation_opens_when_its_format_is_said(tmp_path):
    path = tmp_path / "notes.md"
    path.write_text(quoting("manual", (ex.datasets_dir() / "formats" / "netperf-classic.txt").read_text().splitlines()))
    with pytest.raises(ex.UnknownFormatError, match=r"quotes netperf output.*format='netperf'"):
        ex.open(path)
    assert ex.open(path, format="netperf")["benchmark_results"].collect().height > 5


def test_what_a_launcher_prints_around_a_result_hides_none(tmp_path):
    path = tmp_path / "job.out"
    result = (ex.datasets_dir() / "formats" / "hpl-netlib.txt").read_text()
    path.write_text("".join(f"[{n}] MPI startup(): {n} {6340 + n} node-{n}  {n}\n" for n in range(150)) + result)
    assert ex.open(path)["solves"].collect().height == 2


def test_no_source_and_no_document_of_this_project_opens():
    met = strangers.Met()
    for folder in ("esxparse", "tests", "docs", "simulator", "benchmarks"):
        for path, head in strangers.texts(ROOT / folder):
            if "data" not in path.parts and "__pycache__" not in path.parts and path.suffix in {".py", ".md", ".toml"}:
                strangers.show(path, head, met)
    assert met.tried > 300
    assert met.opened == []


def test_a_recording_that_a_stranger_is_shown_is_listed(tmp_path):
    path = tmp_path / "run.txt"
    path.write_text((ex.datasets_dir() / "formats" / "perf-plain.txt").read_text())
    met = strangers.Met()
    strangers.show(path, path.read_bytes(), met)
    assert (met.tried, met.opened) == (1, [(path, "perf_stat")])
    assert Head(path.read_bytes()).holds("performance counter stats")


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["watts", "Node 0 cpus:", "İ", "STREAM", "x", "|", "GFlops", "\n"]), max_size=40),
    st.integers(0, 2),
)
def test_words_looked_for_at_once_are_those_looked_for_one_by_one(parts, large):
    text = " ".join(parts) + large * (" filling" * 3000)
    words = ("watts", " cpus:", "stream", "gflops", "|", "tream", "cpu")
    at_once = Head(text.encode())
    at_once.look_for(words)
    for word in words:
        assert at_once.holds(word) == Head(text.encode()).holds(word) == (word in text.lower())
    near = at_once.near(["stream", "tream", "watts"])
    assert near.lower().count("stream") == text.lower().count("stream")
