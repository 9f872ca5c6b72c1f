r"""netperf 2.x: classic text (TCP_STREAM, TCP_MAERTS, UDP_STREAM, TCP_RR, TCP_CRR ...), omni CSV, text, key=value.

Tables
------
benchmark_results   see `esxparse.formats.benchmarks.table`: `throughput` (Mbit/s, or transactions/s of the RR tests),
                    UDP_STREAM also `throughput_received`; `cpu_local`, `cpu_remote` (%), `service_demand_local`,
                    `service_demand_remote` (us/KB or us/transaction), omni's latencies (us)
settings            one row per classic result: run (from 1, in file order), test, destination, socket and
                    message sizes (bytes), elapsed_s, messages sent and received (UDP), errors
fields              one row per field of an omni result: run, field (as printed), text, value (where it is a number)
intervals           one row per interim result (`-D`): time (UTC), seconds, throughput, unit
histogram           one row per bin of "Histogram of request/response times": run, from_ms, to_ms (null: open), count

`configuration` holds destination and message sizes. Throughputs are all turned into Mbit/s: from `10^3bits`,
`10^6bits`, `10^9bits`, and `KBytes`, `MBytes`, `GBytes`, which are 2**10, 2**20, 2**30 bytes (netlib.c, calc_thruput).
CPU figures below zero mean "not measured" and are left out. Results without titles (`-P 0`) are told by their
shape: their protocol and unit are not in the file, and netperf's default, 10^6bits/s, is taken.
Source: nettest_bsd.c, nettest_omni.c (titles and formats), hist.h of netperf 2.4 and 2.7; real captures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from esxparse.formats.benchmarks import netperf_lines
from esxparse.formats.benchmarks import netperf_omni as omni
from esxparse.formats.benchmarks import netperf_text as text
from esxparse.formats.benchmarks.table import Fields, Run, errors, nothing, tables
from esxparse.formats.kit.notes import left_out
from esxparse.formats.kit.tables import schema
from esxparse.recording import Note, Recording

if TYPE_CHECKING:
    from esxparse.formats.kit.head import Head
    from esxparse.formats.source import Source

FORMAT = "netperf"

_SETTINGS = schema(
    "run i64, test destination str, "
    "local_send_socket_bytes local_recv_socket_bytes remote_send_socket_bytes remote_recv_socket_bytes "
    "message_bytes request_bytes response_bytes messages_sent messages_received errors i64, elapsed_s f64"
)
_FIELDS = schema("run i64, field text str, value f64")
_MARKS = (
    " TEST from ",
    " TEST to",
    "Recv",
    "Elapsed",
    "NETPERF_",
    "THROUGHPUT_UNITS=",
    "_LATENCY=",
    "LOCAL_CPU_UTIL=",
    "ELAPSED_TIME=",
)
"""Words of which one stands in every output but CSV and bare numbers."""
_INTERVALS = schema("time time, seconds throughput f64, unit str")
_HISTOGRAM = schema("run i64, from_ms to_ms f64, count i64")


def recognise(head: Head) -> bool:
    """By its banner or titles, by omni's names, or (`-P 0`) because every line has the shape of a result."""
    begin = head.text
    first = begin.lstrip().split("\n", 1)[0]
    if not (any(mark in begin for mark in _MARKS) or omni.is_csv_titles(first) or text.is_part(first)):
        return False
    lines = [line for line in begin.split("\n") if line.strip()]
    return any(text.BANNER.match(line) or text.is_titles(line) for line in lines) or (
        omni.is_key_value(lines) or omni.is_csv(lines) or text.is_bare(lines)
    )


def read(source: Source) -> Recording:
    """Reads one or many results of netperf, whatever the mix of their forms."""
    content = source.text()
    # Numbers in columns are told by their place: a cut one leaves a mark there. Others leave nothing.
    content = content.without_cut_number("nan" if text.is_in_columns(content.lines()[-1]) else "")
    found = netperf_lines.split(content.lines())
    notes = [*content.notes, *errors(found.wrong, "netperf"), *found.notes]
    runs: list[Run] = []
    settings: list[Fields] = []
    fields: list[Fields] = []
    histogram: list[Fields] = []
    for place, result in enumerate(found.results, 1):
        runs.append(result.run)
        settings += [{"run": place, **result.settings}] if result.settings else []
        fields += [{"run": place, **field} for field in result.fields]
        histogram += [{"run": place, **row} for row in result.histogram]
    details: dict[str, tuple[list[Fields], dict[str, Any]]] = {
        "settings": (settings, _SETTINGS),
        "fields": (fields, _FIELDS),
        "intervals": (found.intervals, _INTERVALS),
        "histogram": (histogram, _HISTOGRAM),
    }
    tabled = tables("netperf", runs, details)
    if not tabled:
        raise nothing(notes, "netperf")
    if "benchmark_results" not in tabled:
        notes.append(Note("no result: the run ended before its time, or failed", severity="warning"))
    return Recording(FORMAT, source.name, tabled, {"samples": len(runs)}, (*notes, *left_out(found.rest)))
