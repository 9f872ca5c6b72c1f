"""What is no recording does not open: sources, manuals and scripts, those that quote a recording included."""

from __future__ import annotations

import json
import sys
import time
from itertools import cycle, islice
from pathlib import Path

import pytest
from checkout import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

import esxparse as ex
from esxparse.formats.enclosed import is_enclosed
from esxparse.formats.kit.head import Head

sys.path.insert(0, str(ROOT / "fuzz"))

import strangers

SOURCE = (ROOT / "esxparse" / "formats" / "registry.py").read_text().splitlines()


def prose(name):
    """The lines of a document of ours, without tables."""
    return [line for line in (ROOT / name).read_text().splitlines() if line and "|" not in line]


MANUAL = prose("docs/python.md")
PICTURED = prose("README.md")
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
C_SOURCE = """#include <stdio.h>
#include <string.h>

static int parse(const char *line) {
    if (strlen(line) == 0)
        return -1;
    return 0;
}

int main(int argc, char **argv) {
    printf("%d\\n", parse(argv[1]));
    return 0;
}""".splitlines()
RUST = """use std::fs;

pub struct Parser;

impl Parser {
    pub fn parse(text: &str) -> Option<f64> {
        let first = text.lines().next()?;
        first.trim().parse().ok()
    }
}""".splitlines()
PAGE = """<h2>How to run it</h2>
<p>Install the package, and start it as root.</p>
<ul>
<li>Choose the interval.</li>
</ul>""".splitlines()
QUOTING = {
    "source": (SOURCE, 'SAMPLE = """', '"""', ""),
    "manual": (MANUAL, "```", "```", ""),
    "indented": (MANUAL, "", "", "    "),
    "pictured": (PICTURED, "", "", "    "),
    "script": (SCRIPT, "cat <<'EOF'", "EOF", ""),
    "test": (TEST, "const sample = `", "`", ""),
    "comment": (C_SOURCE, "/*", "*/", " * "),
    "rust": (RUST, 'const OUT: &str = r#"', '"#;', ""),
    "page": (PAGE, "<pre>", "</pre>", ""),
}
SAMPLES = sorted(
    path.name
    for path in (ROOT / "datasets" / "formats").iterdir()
    if path.suffix != ".pcapng" and len(path.read_bytes().splitlines()) > 6
)


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


ENCLOSING = {
    "python": ('SAMPLE = """', '"""\nassert parse(SAMPLE)\n'),
    "go": ("package parse\n\nconst sample = `", "`\n"),
    "go test": ("package parse\n\nfunc TestParse(t *testing.T) {\n\tgot := Parse(`", "`)\n\tcheck(t, got)\n}\n"),
    "rust": ('#[test]\nfn parses() {\n    let out = r#"\n', '"#;\n    assert!(parse(out).is_some());\n}\n'),
    "script": ("#!/bin/sh\ncat <<'EOF'\n", "EOF\n"),
    "perl": ("use strict;\nmy $out = <<'END';\n", "END\nis(parse($out)->{cpus}, 4);\n"),
    "page": ("<html><body><p>We ran the tool:</p><pre>\n", "</pre><p>The host was idle.</p></body></html>\n"),
    "markdown": ("# Measuring\n\nWe ran the tool on the host and got this:\n\n```\n", "```\n\nThe host was idle.\n"),
}


@pytest.mark.parametrize("name", ["lscpu-host.txt", "turbostat-samples.txt", "fio-normal.txt", "perf-plain.txt"])
@pytest.mark.parametrize("kind", ENCLOSING)
def test_a_file_that_is_little_else_than_a_quotation_is_none(tmp_path, kind, name):
    before, after = ENCLOSING[kind]
    path = tmp_path / "file"
    path.write_text(before + (ROOT / "datasets" / "formats" / name).read_text() + after)
    with pytest.raises(ex.UnknownFormatError, match=r"quotes|not in a format"):
        ex.open(path)


def indented(by):
    return lambda line: " " * by + line if line.strip() else line


def in_c(line):
    return json.dumps(line, ensure_ascii=False)


WRAPPED = {
    "rst": ("Measuring\n=========\n\nWe ran it on the host::\n\n", indented(4), "\nThe host was idle.\n"),
    "rst code": ("Measuring\n=========\n\n.. code-block:: text\n\n", indented(3), ""),
    "sentence": ("# Measuring\n\nWe ran the tool on the host:\n\n", indented(4), "\nThe host was idle.\n"),
    "yaml": ("name: parse\noutput: |\n", indented(2), "expect: 4\n"),
    "yaml list": ("---\ntests:\n  - input: |2-\n", indented(6), "    rows: 4\n"),
    "man": (".TH TOOL 1\n.SH EXAMPLES\n.nf\n", str, ".fi\n.SH AUTHOR\nAnn\n"),
    "man example": (".TH TOOL 1\n.SH EXAMPLES\n.EX\n", str, ".EE\n"),
    "lisp": ('(defconst sample "\n', str, '")\n\n(should (parse sample))\n'),
    "lisp below": ('(defvar sample\n  "\n', str, '"\n  "Output of the tool.")\n'),
    "mail": ("Hi,\n\nyou wrote:\n", "> {}".format, "\nLooks fine to me.\n"),
    "mail twice": ("On Monday Ann wrote:\n\n", ">> {}".format, ""),
    "python list": ("LINES = [\n", lambda line: f"    {line!r},", "]\n\nassert parse(LINES)\n"),
    "python text": ("OUT = (\n", lambda line: f"    {line + chr(10)!r}", ")\n"),
    "c": ("static const char *out =\n", lambda line: f"    {in_c(line + chr(10))}", "    ;\n"),
    "php": ("<?php\n$out = <<<'END'\n", str, "END;\n"),
    "tex": ("\\section{Output}\n\\begin{verbatim}\n", str, "\\end{verbatim}\nThe host was idle.\n"),
    "asciidoc": ("= Measuring\n\n----\n", str, "----\n"),
    "org": ("* Measuring\n#+begin_example\n", str, "#+end_example\n"),
    "org lines": ("* Measuring\n", ": {}".format, ""),
    "comment": ("/*\n", " * {}".format, " */\nint main(void) { return 0; }\n"),
}
"""What stands above a whole output, what becomes of each line of it, and what stands below."""


@pytest.mark.parametrize("name", [name for name in SAMPLES if not name.endswith((".csv", ".jsonl"))][::4])
@pytest.mark.parametrize("kind", WRAPPED)
def test_a_document_around_a_whole_output_is_none(tmp_path, kind, name):
    before, each, after = WRAPPED[kind]
    lines = (ROOT / "datasets" / "formats" / name).read_text().splitlines()
    path = tmp_path / "file"
    path.write_text(before + "".join(each(line) + "\n" for line in lines) + after)
    with pytest.raises(ex.EsxparseError) as caught:
        ex.open(path)
    assert "\n" not in str(caught.value)


GENUINE = {
    "sentence": "Running the benchmark on both hosts of the cluster:\n",
    "trace": "+ export OMP_NUM_THREADS=16\n+ cat hosts\nnode-1\n+ ssh node-1 ./bench.sh --output '-'\n",
    "slurm": "srun: job 4711 queued and waiting for resources\nsrun: job 4711 has been allocated resources\n",
    "frame": "----\n",
    "rule": "======\n",
    "module": "Loading gcc/12.2.0\n  Loading requirement: binutils/2.38\n\nStarting at Tue Nov 24 20:21:16 UTC 2026:\n",
}


@pytest.mark.parametrize(
    "name", ["perf-plain.txt", "vmstat-wide.txt", "sysbench-oltp.txt", "memtier-report.txt", "vcenter-chart.csv"]
)
@pytest.mark.parametrize("kind", GENUINE)
def test_what_a_launcher_prints_above_a_result_quotes_nothing(tmp_path, kind, name):
    text = (ROOT / "datasets" / "formats" / name).read_text()
    path = tmp_path / "job.out"
    path.write_text(GENUINE[kind] + text + GENUINE[kind] * (kind == "frame"))
    try:
        rec = ex.open(path)
    except ex.UnknownFormatError as error:
        # Some formats begin with their first line.
        assert "quotes" not in str(error)  # noqa: PT017  other errors are welcome
    else:
        assert list(rec) == list(ex.open(ROOT / "datasets" / "formats" / name))


def test_comments_above_the_parameters_of_vdbench_enclose_nothing():
    text = "* the disks of the two hosts\n" * 12 + "sd=sd1,lun=/dev/sdb\nwd=wd1,sd=sd*\nrd=rd1,wd=wd1\n"
    assert not is_enclosed(text, text)
    assert is_enclosed(f"/*\n{text} */\n", f"/*\n{text} */\n")


@pytest.mark.parametrize(
    "text",
    [
        "x = `" * 200_000,
        '{"a": [' + '"`b", ' * 150_000 + "]}",
        '(a "' + "\\" * 1_000_000,
        "X = [\n    '" + "'" * 1_000_000,
        "key: |\n" + "   12 cycles 13\n" * 60_000,
        "= " * 500_000,
        "\n" * 1_000_000,
    ],
)
def test_a_large_file_is_weighed_in_a_tenth_of_a_second(text):
    begun = time.process_time()
    is_enclosed(text, text)
    assert time.process_time() - begun < 0.1


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


CHATTER = """Loading module gcc/12.2.0
+ export OMP_NUM_THREADS=16
+ for host in node-1 node-2
+ ssh node-1 true
Warning: Permanently added 'node-1' to the list of known hosts.
Traceback (most recent call last):
  File "/opt/bench/notify.py", line 12, in <module>
    from mailer import send
ModuleNotFoundError: No module named 'mailer'
srun: Job step creation temporarily disabled, retrying
"""


@pytest.mark.parametrize("name", SAMPLES)
def test_what_a_console_has_beside_a_recording_refuses_none(tmp_path, name):
    path = tmp_path / "job.out"
    whole = (ROOT / "datasets" / "formats" / name).read_text()
    path.write_text(CHATTER.splitlines()[0] + "\n" + whole)
    try:
        ex.open(path)
    except ex.UnknownFormatError as error:
        # Some formats begin with their first line.
        assert "quotes" not in str(error)  # noqa: PT017  other errors are welcome
    except ex.EsxparseError:
        pass


@pytest.mark.parametrize("name", ["hpl-netlib.txt", "netperf-classic.txt", "perf-plain.txt", "turbostat-samples.txt"])
def test_a_long_console_with_a_recording_opens(tmp_path, name):
    path = tmp_path / "job.out"
    path.write_text(CHATTER + (ROOT / "datasets" / "formats" / name).read_text() + CHATTER)
    assert ex.open(path).tables


def test_a_program_that_defines_functions_is_none_however_much_it_quotes(tmp_path):
    quoted = (ROOT / "datasets" / "formats" / "lscpu-host.txt").read_text() * 9
    path = tmp_path / "test_lscpu.py"
    path.write_text("".join(f'TEXT_{n} = """\n{quoted}"""\n\ndef test_{n}(text):\n    assert text\n' for n in range(3)))
    with pytest.raises(ex.UnknownFormatError, match="quotes lscpu output"):
        ex.open(path)


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


@pytest.mark.parametrize("name", ["lscpu", "vmx", "iostat", "vmstat", "turbostat", "esxcli"])
def test_source_code_is_no_recording_even_if_its_format_is_set(name):
    source = Path(ex.__file__).parent / "formats" / "packets" / "tshark.py"
    with pytest.raises(ex.EsxparseError):
        ex.open(source, format=name)
