"""Recognising and reading take time in proportion to the file, whatever it is made of.

Every part of every sample is tried by `make fuzz` (`fuzz/growth.py`); here, those that once hung and a few of each.
"""

from __future__ import annotations

import random
import time

import pumps
import pytest

import esxparse as ex
from esxparse.formats import registry
from esxparse.formats.kit.head import Head

SAMPLES = [path for path in sorted((ex.datasets_dir() / "formats").iterdir()) if path.suffix not in {".md", ".pcapng"}]
_OF_EACH = 3

ONCE_HUNG = {
    "blank lines": b"\n",
    "blanks and lines": b" \n",
    "a long number": b"7",
    "openings": b"{\n",
    "brackets": b"[\n",
    "named openings": b'{"a":\n',
    "closings of RIBCL": b"</RIBCL>",
    "empty documents of DiskSpd": b"<Results></Results>\n",
    "beginnings of DiskSpd": b"<Results>\n",
    "parentheses": b"(",
    "banners of iperf3": b"Connecting to host 10.0.0.1, port 5201\n",
    "cut documents of fio": b'{"fio version" : "fio-3.1", "jobs" : [\n',
    "jobs in jobs": b'{"jobname" : ',
    "titles of omni": b"Throughput,Throughput Units,Elapsed Time (sec)\n",
    "intervals of iperf3": b'{"intervals":[\n',
    "lines before a broken document of iperf3": b"{" + 8 * b"\n",
    "lines before a broken document of Redfish": b"{" + 8 * b"\n",
    "lines before a broken document of fio": b'{"fio version" : "fio-3.1", "jobs" : [\n{"jobname" : ]\n',
    "blanks in a name of fio": b" ",
    "a value of HPL": b"=",
    "names of vmkperf": b"pcpu0 pcpu1 pcpu2 pcpu3\n",
    "blanks in a value of a VM": b" ",
}
_BEFORE = {
    "a long number": b'{"fio version" : "fio-3.1", "jobs" : []}\n',
    "parentheses": b"(vim.host.HardwareInfo) {\n",
    "intervals of iperf3": b'{"start":{"version":"iperf 3.9"}\n',
    "lines before a broken document of iperf3": b'{"start":{"version":"iperf 3.9"}}\n',
    "lines before a broken document of Redfish": b'{"@odata.id": "/a", "PowerControl": [{"PowerConsumedWatts": 1}]}\n',
    "blanks in a name of fio": b"a: (groupid=0, jobs=1): err= 0: pid=1: Mon Mar  2\n  lat",
    "names of vmkperf": b"tlb_misses per second per cpu\n-----\n",
    "a value of HPL": b"HPLinpack 2.3  --  High-Performance Linpack benchmark\n||Ax-b",
    "blanks in a value of a VM": b"config.version = 8\nguestos =",
}
_AFTER = {"blanks in a name of fio": b"x\n", "a value of HPL": b" x\n", "blanks in a value of a VM": b'x"\n'}


@pytest.mark.parametrize("name", ONCE_HUNG)
def test_what_once_hung_is_read_in_linear_time(tmp_path, name):
    begin, part, end = _BEFORE.get(name, b""), ONCE_HUNG[name], _AFTER.get(name, b"")
    assert pumps.exponent(tmp_path / "x", lambda times: begin + part * times + end, 16_000) <= pumps.STEEPEST


def test_a_wrapped_poll_of_vmkperf_that_is_cut_is_read_in_linear_time(tmp_path):
    def build(times):
        return b"tlb_misses per second per cpu\n-----\n" + b"pcpu0\n" * times + b"12345678901234.5\n" * (times - 1)

    assert pumps.exponent(tmp_path / "x", build, 4_000) <= pumps.STEEPEST


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_part_of_a_sample_many_times_over_is_read_in_linear_time(tmp_path, path):
    draw = random.Random(path.name)  # noqa: S311  the same parts in every run
    every = list(pumps.pumps(path.read_bytes()))
    steep = {
        name: power
        for name, build in draw.sample(every, _OF_EACH)
        if (power := pumps.exponent(tmp_path / "x", build, 2_000)) > pumps.STEEPEST
    }
    assert not steep


FOREIGN = {
    "JSON on one line": lambda row: (
        b'{"rows": [',
        b'{"id": %d, "name": "disk 1", "value": 0.25, "tags": ["a", null]},' % row,
    ),
    "JSON": lambda row: (
        b"[\n",
        b'  {\n    "id": %d,\n    "name": "disk 1",\n    "tags": [\n      "a"\n    ]\n  },\n' % row,
    ),
    "XML": lambda row: (
        b"<?xml version='1.0'?>\n",
        b"  <book id='%d'><title>two</title><price>0.5</price></book>\n" % row,
    ),
    "a log": lambda row: (b"", b"2026-03-02T08:00:00Z host app[%d]: disk 1 took 12 ms: state=ok\n" % row),
    "blank lines": lambda _: (b"", b"\n"),
    "blanks": lambda _: (b"", b" "),
    "a spreadsheet": lambda row: (b"Date,Region,Name,Units\n", b"2026-03-02,North,disk %d,17\n" % row),
    "numbers": lambda row: (b"", b"%d,12,7\n" % row),
    "openings": lambda _: (b"", b"{\n"),
    "digits": lambda _: (b"", b"7"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_file_is_known_as_one_in_a_tenth_of_a_second(kind):
    begin, part = FOREIGN[kind](0)
    rows = [FOREIGN[kind](row)[1] for row in range((1 << 20) // len(part) + 1)]
    head = (begin + b"".join(rows))[: 1 << 20]
    took = []
    for turn in range(3):
        # No reader may remember what it decoded.
        head = head[:-1] + b"abc"[turn : turn + 1]
        started = time.process_time()
        assert not any(reader.recognise(Head(head)) for reader in registry.readers())
        took.append(time.process_time() - started)
    # Twice the promise, for machines that are busy with other things.
    assert min(took) < 0.2
