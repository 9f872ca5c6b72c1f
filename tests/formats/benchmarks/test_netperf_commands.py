"""netperf: files with the commands that were run between the results."""

from __future__ import annotations

import polars as pl
import pytest
from compose import opened

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


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("form", FORMS)
def test_runs_without_a_result_are_counted_and_the_others_read(tmp_path, prompt, form):
    command = prompt + "netperf -H 10.0.0.2 -l 10 -- -m {}\n"
    runs = "".join(command.format(2**n) + (FORMS[form].format(9400 + n) if n % 3 == 0 else "") for n in range(12))
    rec = opened(tmp_path, runs)
    rates = rec["benchmark_results"].filter(pl.col("metric") == "throughput").collect()["value"].to_list()
    assert rates == [9400.1, 9403.1, 9406.1, 9409.1]
    (lost,) = [note for note in rec.notes if "netperf commands have no result" in note.message]
    assert (lost.line, lost.severity, lost.message[:7]) == (1, "warning", "8 of 12")
