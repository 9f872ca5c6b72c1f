"""netperf: files with the commands that were run between the results."""

from __future__ import annotations

import polars as pl
import pytest

import esxparse as ex

BANNER = """MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^6bits/sec

"""
ROW = "131072  16384  16384    10.00    {}.10\n"
PROMPTS = ("", "$ ", "+ ", "root@h1:~# ", "[user@h1 ~]$ ", "taskset -c 1 /usr/bin/", "Running: ")
FORMS = {
    "banner": BANNER + ROW,
    "bare": ROW,
    "number": "{}.10\n",
    "key-value": "THROUGHPUT={}.10\nTHROUGHPUT_UNITS=10^6bits/s\nPROTOCOL=TCP\n",
    "csv": "Throughput,Throughput Units,Elapsed Time (sec)\n{}.10,10^6bits/s,10.00\n",
}


def opened(path, text):
    path.write_text(text)
    return ex.open(path)


def throughputs(rec):
    return rec["benchmark_results"].filter(pl.col("metric") == "throughput").collect()["value"].to_list()


def warned(rec):
    return [(note.line, note.message) for note in rec.notes if note.severity == "warning"]


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("form", FORMS)
def test_runs_without_a_result_are_counted_and_the_others_read(tmp_path, prompt, form):
    command = prompt + "netperf -H 10.0.0.2 -l 10 -- -m {}\n"
    runs = "".join(command.format(2**n) + (FORMS[form].format(9400 + n) if n % 3 == 0 else "") for n in range(12))
    rec = opened(tmp_path / "a", runs)
    assert throughputs(rec) == [9400.1, 9403.1, 9406.1, 9409.1]
    assert (1, "8 of 12 netperf commands have no result: those runs failed, or were cut") in warned(rec)
