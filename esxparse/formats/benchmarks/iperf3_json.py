"""The JSON documents of iperf3, whole or cut, one or many in a file, and its stream of events."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from esxparse.formats.benchmarks.printed import Part, Report
from esxparse.formats.benchmarks.table import Fields, Figure, higher, listing, lower
from esxparse.formats.kit.notes import Notes, excerpt
from esxparse.formats.kit.numbers import number, scaled, whole
from esxparse.formats.kit.objects import GIVEN_UP, NOT_A_NUMBER, Effort, Places, listed, mapping
from esxparse.recording import Note

_OPENING = re.compile(r"^[^\S\n]*\{", re.MULTILINE)
_NEXT = re.compile(r"^\{", re.MULTILINE)
_ELEMENT = re.compile(r"[ \t\n,]*+\{")
_PART = re.compile(r'"(?P<name>start|intervals|end|error)"\s*:\s*(?=[\[{"])')
_LAST_SECOND = 1 << 33
_LONGEST = 1e9


def _decoded(at: int, effort: Effort) -> tuple[Any, int] | None:
    try:
        return effort.decode(at)
    except (ValueError, RecursionError):
        return None


def _salvaged(text: str, at: int, end: int, effort: Effort) -> dict[str, Any]:
    """Return the complete parts of a damaged document."""
    document: dict[str, Any] = {}
    place = at
    while not effort.spent and (match := _PART.search(text, place, end)):
        name, place = match["name"], match.end()
        if name == "intervals" and text[place] == "[":
            place += 1
            found = document.setdefault("intervals", [])
            while opened := _ELEMENT.match(text, place, end):
                if not (whole := _decoded(opened.end() - 1, effort)):
                    break
                found.append(whole[0])
                place = whole[1]
        elif (whole := _decoded(place, effort)) and name not in document and isinstance(whole[0], dict | str):
            document[name], place = whole
    return document


def documents(text: str) -> tuple[list[tuple[int, dict[str, Any]]], list[Note], list[tuple[int, str]]]:
    """Return the documents of a text (repaired if possible) with their first lines; notes; lines between them."""
    mended, many = NOT_A_NUMBER.subn("null", text)
    notes = Notes([Note(f"{many} numbers are nan or inf: left out")] if many else [])
    found: list[tuple[int, dict[str, Any]]] = []
    between = []
    places = Places(mended)
    effort = Effort(mended)
    place = 0
    while opening := _OPENING.search(mended, place):
        between.append((place, mended[place : opening.start()]))
        begin = opening.end() - 1
        line = places.line(begin)
        if effort.spent:
            notes.warn(GIVEN_UP, line)
            place = len(mended)
            break
        if (whole := _decoded(begin, effort)) and isinstance(whole[0], dict):
            found.append((line, whole[0]))
            place = whole[1]
            continue
        following = _NEXT.search(mended, begin + 1)
        place = following.start() if following else len(mended)
        if document := _salvaged(mended, begin, place, effort):
            found.append((line, document))
        notes.warn("the document is cut or damaged: its complete parts are read", line)
    between.append((place, mended[place:]))
    rest = [
        (places.line(begin) + offset, line)
        for begin, piece in between
        for offset, line in enumerate(piece.split("\n"))
        if line.strip()
    ]
    return found, notes, rest


def gathered(found: list[tuple[int, dict[str, Any]]]) -> tuple[list[tuple[int, dict[str, Any]]], list[Note]]:
    """Return documents, with the events of `--json-stream` combined into one document per test."""
    whole: list[tuple[int, dict[str, Any]]] = []
    notes = Notes()
    stream: dict[str, Any] | None = None
    for line, document in found:
        event, data = document.get("event"), document.get("data")
        if not isinstance(event, str):
            whole.append((line, document))
            stream = None
            continue
        if stream is None or event == "start" or "end" in stream:
            stream = {}
            whole.append((line, stream))
        if event == "interval":
            stream.setdefault("intervals", []).append(data)
        elif event in {"start", "end", "error"}:
            stream[event] = data
        else:
            notes.say(f"an event {excerpt(event)!r} is not read", line)
    return whole, notes


def _row(part: Mapping[str, Any], forward: bool | None) -> Fields:
    direction = "reverse" if forward is not None and part.get("sender") is (not forward) else "forward"
    counts = {name: whole(part.get(name)) for name in ("bytes", "retransmits", "lost_packets", "packets")}
    rates = {"bits_per_s": number(part.get("bits_per_second")), "jitter_ms": number(part.get("jitter_ms"))}
    return {"direction": direction, **counts, **rates}


def read_intervals(document: Mapping[str, Any], *, forward: bool | None, start: datetime | None) -> list[Fields]:
    """Return the intervals of a test: one row for each stream, and one for their sum in each direction."""
    rows = []
    for interval in map(mapping, listed(document.get("intervals"))):
        parts = [(str(part.get("socket")), part) for part in map(mapping, listed(interval.get("streams")))]
        parts += [("sum", mapping(interval.get(name))) for name in ("sum", "sum_bidir_reverse") if name in interval]
        for stream, part in parts:
            if (elapsed := number(part.get("end"))) is None:
                continue
            moment = start + timedelta(seconds=elapsed) if start and abs(elapsed) < _LONGEST else None
            omitted = part.get("omitted") if isinstance(part.get("omitted"), bool) else None
            span = {"time": moment, "start_s": number(part.get("start")), "elapsed_s": elapsed, "omitted": omitted}
            more = {"cwnd_bytes": whole(part.get("snd_cwnd")), "rtt_us": number(part.get("rtt"))}
            rows.append({**_row(part, forward), **span, "stream": stream, **more})
    return rows


def read_streams(end: Mapping[str, Any], *, forward: bool | None) -> list[Fields]:
    """Return the streams at the end of a test, as each side reports them."""
    rows = []
    for stream in map(mapping, listed(end.get("streams"))):
        for side in ("sender", "receiver", "udp"):
            if part := mapping(stream.get(side)):
                which = {"stream": str(part.get("socket")), "side": "sender" if side == "udp" else side}
                more = {"mean_rtt_us": number(part.get("mean_rtt")), "max_cwnd_bytes": whole(part.get("max_snd_cwnd"))}
                rows.append({**_row(part, forward), **which, **more})
    return rows


def _rate(metric: str, part: Mapping[str, Any]) -> Figure:
    return higher(metric, scaled(number(part.get("bits_per_second")), 1e-6), "Mbit/s")


def read_figures(end: Mapping[str, Any]) -> list[Figure]:
    """Return the summary of a test."""
    figures = []
    for suffix in ("", "_bidir_reverse"):
        tail = "_reverse" if suffix else ""
        sent, received = mapping(end.get(f"sum_sent{suffix}")), mapping(end.get(f"sum_received{suffix}"))
        total = mapping(end.get(f"sum{suffix}"))
        if sent or received:
            figures += [_rate(f"throughput_sent{tail}", sent), _rate(f"throughput_received{tail}", received)]
        elif total:
            figures.append(_rate(f"throughput{tail}", total))
        figures.append(lower(f"retransmits{tail}", number(sent.get("retransmits")), "1"))
        # The receiver counts losses; old releases have its totals in the sum.
        lossy = received if "lost_percent" in received else total
        figures.append(lower(f"jitter{tail}", number(lossy.get("jitter_ms")), "ms"))
        figures.append(lower(f"lost{tail}", number(lossy.get("lost_percent")), "%"))
    cpu = mapping(end.get("cpu_utilization_percent"))
    sides = {"cpu_local": "host_total", "cpu_remote": "remote_total"}
    figures += [lower(metric, number(cpu.get(name)), "%") for metric, name in sides.items()]
    return [figure for figure in figures if figure.value is not None]


def settled(start: Mapping[str, Any]) -> str:
    """Return the settings of a test, as text."""
    test = mapping(start.get("test_start"))
    rate = number(test.get("target_bitrate", start.get("target_bitrate")))
    return listing(
        f"{test['num_streams']} streams" if "num_streams" in test else "",
        f"{test['duration']} s" if test.get("duration") else "",
        f"{test['blksize']} bytes" if "blksize" in test else "",
        f"{rate / 1e6:g} Mbit/s asked for" if rate else "",
    )


def read_test(line: int, document: Mapping[str, Any]) -> Part:
    """Return the test in one document."""
    start, end = mapping(document.get("start")), mapping(document.get("end"))
    about = mapping(start.get("test_start"))
    names = (str(about.get("protocol") or "tcp").lower(), "_reverse" if about.get("reverse") in (1, True) else "")
    parts = [part for part in map(mapping, listed(document.get("intervals"))) if part]
    bidir = about.get("bidir") in (1, True) or any("bidir_reverse" in name for part in (end, *parts) for name in part)
    stamp = mapping(start.get("timestamp"))
    millis = number(stamp.get("timemillisecs"))
    seconds = number(stamp.get("timesecs")) if millis is None else millis / 1000
    began = datetime.fromtimestamp(seconds, UTC) if seconds is not None and 0 < seconds < _LAST_SECOND else None
    # In a bidirectional test, the client's own sending is forward; a server sees the other side.
    forward = ("accepted_connection" not in start) if bidir else None
    error, release = document.get("error"), start.get("version")
    test = Part(line, figures=read_figures(end))
    test.facts = {
        "test": names[0] + ("_bidir" if bidir else names[1]),
        "configuration": settled(start),
        "error": None if error is None else excerpt(str(error)),
        "start": began,
        "release": excerpt(release) if isinstance(release, str) else None,
    }
    test.rows["intervals"] = read_intervals(document, forward=forward, start=began)
    test.rows["streams"] = read_streams(end, forward=forward)
    return test


def read(text: str) -> Report:
    """Return the tests of a text with iperf3's JSON; empty if it has no JSON."""
    found, notes, rest = documents(text)
    whole, more = gathered(found)
    report = Report([read_test(line, document) for line, document in whole], remarks=Notes([*notes, *more]))
    report.kept["unknown"] = rest
    return report
