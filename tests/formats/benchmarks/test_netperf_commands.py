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


def test_commands_that_all_have_a_result_need_no_warning(tmp_path):
    rec = opened(tmp_path / "a", "".join(f"+ netperf -H 10.0.0.2\n{BANNER}{ROW.format(9400 + n)}" for n in range(6)))
    assert warned(rec) == []
    assert len(throughputs(rec)) == 6


def test_a_command_names_test_destination_and_unit_of_a_bare_result(tmp_path):
    text = f"netperf -P 0 -H 10.0.0.2 -t TCP_MAERTS -f g\n{ROW.format(9)}netperf -P 0 -t TCP_RR -v 0\n12345.60\n"
    rec = opened(tmp_path / "a", text)
    results = rec["benchmark_results"].collect()
    assert results.select("test", "value", "unit").rows() == [
        ("TCP_MAERTS", 9100.0, "Mbit/s"), ("TCP_RR", 12345.6, "transactions/s"),
    ]  # fmt: skip
    assert rec["settings"].collect()["destination"].to_list() == ["10.0.0.2"]
    numbers = opened(tmp_path / "b", "netperf -H 10.0.0.2 -v 0 -f K\n1024.00\n")
    assert throughputs(numbers) == [1024.0 * 1024 * 8 / 1e6]


def test_commands_that_come_first_name_no_result_alone(tmp_path):
    commands = "netperf -P 0 -H 10.0.0.2 -t TCP_STREAM\nnetperf -P 0 -H 10.0.0.3 -t TCP_STREAM\n"
    rec = opened(tmp_path / "a", commands + ROW.format(4700) + ROW.format(4701))
    assert rec["settings"].collect()["destination"].to_list() == [None, None]
    assert throughputs(rec) == [4700.1, 4701.1]


def test_commands_alone_are_no_recording(tmp_path):
    with pytest.raises(ex.UnknownFormatError):
        opened(tmp_path / "a", "netperf -H 10.0.0.2 -t TCP_STREAM\nnetperf -H 10.0.0.2 -t UDP_STREAM\n")
