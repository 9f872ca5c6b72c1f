"""iperf3 (3.0 to 3.1x): JSON (`-J`), its stream (`--json-stream`) and text, of clients and servers, many in a file.

Tables
------
benchmark_results   see `esxparse.formats.benchmarks.table`: test `tcp`, `udp`, `sctp`, with `_reverse` or `_bidir`;
                    metrics `throughput_sent`, `throughput_received` (Mbit/s; `throughput` where an old release does not
                    tell them apart; of `_bidir` also `..._reverse`), `retransmits`, `jitter` (ms), `lost` (%),
                    `cpu_local`, `cpu_remote` (%)
intervals           one row per stream and interval, and one for their sum: run (from 1), time (UTC, where every test
                    says when it began), start_s, elapsed_s, stream (`sum` or the socket's number), direction
                    (`forward`, `reverse`: the second half of `--bidir`), bytes, bits_per_s, retransmits, cwnd_bytes,
                    rtt_us, jitter_ms, lost_packets, packets, omitted (warm-up, `-O`)
streams             one row per stream and side at the end: run, stream, side (`sender`, `receiver`), direction, bytes,
                    bits_per_s, retransmits, mean_rtt_us, max_cwnd_bytes, jitter_ms, lost_packets, packets

Mbit is 10**6 bits. In text, `KBytes`, `MBytes`, `GBytes` are 2**10, 2**20, 2**30 bytes, and `Kbits` ... are powers
of 1000 (units.c); it rounds to three digits. A document with an `error` keeps what was measured before it.
Source: iperf_api.c, iperf_locale.c, units.c of 3.0.11, 3.7, 3.12 and 3.17; `--json-stream`: one event a line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from esxparse.formats.benchmarks import iperf3_json, iperf3_text
from esxparse.formats.benchmarks.table import Fields, nothing, tables
from esxparse.formats.kit.notes import left_out
from esxparse.formats.kit.tables import schema
from esxparse.recording import Note, Recording

if TYPE_CHECKING:
    from esxparse.formats.benchmarks.iperf3_json import Test
    from esxparse.formats.kit.head import Head
    from esxparse.formats.source import Source

FORMAT = "iperf3"

_SIGNS = re.compile(
    r'"version"\s*:\s*"iperf 3|"sum_sent"\s*:|"congestion_used"|"connecting_to"\s*:|"bits_per_second"\s*:'
)
_EVENT = re.compile(r'^[ \t]*\{\s*"event"\s*:\s*"(?:start|interval|end|error)"\s*,\s*"data"\s*:', re.MULTILINE)
_ERROR_ONLY = re.compile(r'"error"\s*:\s*"[^"]*(?:iperf|unable to|server|control|stream)', re.IGNORECASE)

_INTERVALS = schema(
    "run i64, time time, start_s elapsed_s f64, stream direction str, bytes i64, bits_per_s f64, "
    "retransmits cwnd_bytes i64, rtt_us jitter_ms f64, lost_packets packets i64, omitted bool"
)
_STREAMS = schema(
    "run i64, stream side direction str, bytes i64, bits_per_s f64, retransmits i64, mean_rtt_us f64, "
    "max_cwnd_bytes i64, jitter_ms f64, lost_packets packets i64"
)


def recognise(head: Head) -> bool:
    """By the keys of its document, by its events, or by the titles of its text with what only iperf3 prints."""
    text = head.text
    if _EVENT.search(text) and ('"interval"' in text or "iperf" in text or "bits_per_second" in text):
        return True
    if "{" in text and (_SIGNS.search(text) or ('"intervals"' in text and _ERROR_ONLY.search(text))):
        return True
    return iperf3_text.recognise(text.split("\n"))


def _numbered(found: list[Test], part: str) -> list[Fields]:
    return [{"run": place, **row} for place, test in enumerate(found, 1) for row in getattr(test, part)]


def read(source: Source) -> Recording:
    """Reads one or many tests of iperf3, whatever the mix of their forms."""
    content = source.text()
    found, notes, rest = iperf3_json.read(content.text)
    if not found and not notes:
        content = content.without_cut_number()
        notes = [*content.notes]
        found, rest = iperf3_text.read(content.lines())
    else:
        notes = [*content.notes, *notes]
    for place, test in enumerate(found, 1):
        if test.error:
            notes.append(Note(f"test {place} failed: {test.error}", line=test.line, severity="warning"))
        elif not test.run.figures:
            notes.append(Note(f"test {place} ended before its summary", line=test.line, severity="warning"))
    intervals = _numbered(found, "intervals")
    schema = dict(_INTERVALS)
    if not all(row.get("time") is not None for row in intervals):
        del schema["time"]
    details: dict[str, tuple[list[Fields], dict[str, Any]]] = {
        "intervals": (intervals, schema),
        "streams": (_numbered(found, "streams"), _STREAMS),
    }
    tabled = tables("iperf3", [test.run for test in found], details)
    if not tabled:
        raise nothing(notes, "iperf3")
    starts = [test.start for test in found if test.start]
    release = next((test.release for test in found if test.release), None)
    meta = {"samples": len(found), **({"release": release} if release else {})}
    meta |= {"start": min(starts)} if starts else {}
    return Recording(FORMAT, source.name, tabled, meta, (*notes, *left_out(rest)))
