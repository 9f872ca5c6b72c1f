"""DiskSpd's XML (`-Rxml`)."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import ParseError, iterparse

from esxparse.errors import DamagedError
from esxparse.formats.diskspd.rows import DIRECTIONS, Row, common, empty, job, moment
from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.numbers import number, size_bytes, whole
from esxparse.recording import Note

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_MARK = re.compile(r"(?P<type><!DOCTYPE)|(?P<begin><Results\s*>)|(?P<end></Results>)")
_DECLARATION = re.compile(r"<\?xml[^<>]*>")
_LOOSE = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});)")
_TITLES = {"read": "Read", "write": "Write", "all": ""}
_TOTAL = {"read": "Read", "write": "Write", "all": "Total"}
_SIDES = {"min": "Min", "max": "Max", "mean": "Avg"}
_SERIES = {f"latency_{name}_ms": f"{{}}{what}LatencyMilliseconds" for name, what in _SIDES.items()}
_SERIES["latency_stddev_ms"] = "{}LatencyStdDev"
_CPU = {"cpu_pct": "Usage", "user_pct": "User", "kernel_pct": "Kernel", "idle_pct": "Idle"}
_PLACES = {"socket": "Socket", "node": "Node", "group": "Group", "core": "Core", "cpu": "Id"}
_TRUTHS = frozenset({"true", "false"})
_NUMERIC = ("Count", "Bytes", "Milliseconds", "Percent", "Percentile", "Stdev", "StdDev", "Seconds")
_INSIDE = 2
"""Depth at which an element is removed if the document ends inside it."""


def documents(text: str) -> Iterator[tuple[int, str, str | None]]:
    """Yield first line and text of each `<Results>`, and the text between it and the one before."""
    place = counted_to = 0
    line = 1
    for begin, stop in _spans(text):
        between = _DECLARATION.sub("", text[place:begin]).strip()
        line += text.count("\n", counted_to, begin)
        counted_to = begin
        yield line, text[begin:stop], between or None
        place = stop
    if text[place:].strip():
        yield line + text.count("\n", counted_to, place), "", text[place:].strip()


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each document begins and ends; without an end, it ends where the next begins."""
    begin: int | None = None
    opened = False
    for mark in _MARK.finditer(text):
        if mark["end"]:
            if begin is not None:
                yield begin, mark.end()
            begin = None
        elif begin is None:
            begin, opened = mark.start(), mark["begin"] is not None
        elif mark["begin"] and opened:
            yield begin, mark.start()
            begin = mark.start()
        else:
            opened = opened or mark["begin"] is not None
    if begin is not None:
        yield begin, len(text)


def _parsed(text: str, line: int) -> tuple[Element | None, Element | None, Notes]:
    """Return the document, its incomplete part, and notes. An element cut by the end of the text is removed."""
    notes = Notes()
    mended, loose = _LOOSE.subn("&amp;", text)
    if loose:
        notes.say(f"{loose} '&' not escaped as XML requires (common in paths): read as they are", line)
    root = None
    opened: list[Element] = []
    try:
        for event, element in iterparse(io.BytesIO(mended.encode()), ("start", "end"), forbid_dtd=True):
            root = element if root is None else root
            if event == "start":
                opened.append(element)
            else:
                opened.pop()
    except DefusedXmlException:
        msg = f"line {line}: declares a document type or entities, which DiskSpd never does: refused as unsafe"
        raise DamagedError(msg) from None
    except ParseError as error:
        where = line + error.position[0] - 1
        message = f"not XML from here on ({error.msg}): what is complete before it is read"
        below = text.count("\n", 0, len(text)) - error.position[0] + 1
        notes.append(Note(message, where, severity="warning", unused=max(below, 0)))
        if len(opened) > _INSIDE:
            opened[1].remove(opened[2])
        return root, opened[1] if len(opened) > 1 else None, notes
    return root, None, notes


def read_document(text: str, line: int, run: int) -> tuple[dict[str, list[Row]], Row, list[Note]]:
    """Return rows of the tables, facts about the run, notes, from one `<Results>`."""
    rows = empty()
    root, incomplete, notes = _parsed(text, line)
    if root is None:
        return rows, {}, notes
    notes += _no_numbers(root, line)
    facts = {
        "host": root.findtext("System/ComputerName"),
        "release": root.findtext("System/Tool/Version"),
        "start": moment(root.findtext("System/RunTime")),
    }
    for place, span in enumerate(root.findall("Profile/TimeSpans/TimeSpan"), 1):
        rows["targets"] += _targets({"run": run, "timespan": place}, span)
    for place, span in enumerate(root.findall("TimeSpan"), 1):
        which = {"run": run, "timespan": place}
        if error := span.findtext("Error"):
            notes.warn(f"time span {place}: DiskSpd says: {error.strip()[:120]}", line)
        settings = [row for row in rows["targets"] if row["timespan"] == place]
        if span is incomplete:
            notes.warn(f"time span {place} is cut: it has no totals here", line)
        rows["jobs"] += _jobs(which, span, settings, totals=span is not incomplete)
        rows["percentiles"] += _percentiles(which, span)
        rows["cpu"] += _cpu(which, span)
        rows["series"] += _series(which | {"thread": None, "target": None}, span)
    return rows, facts, notes


def _no_numbers(root: Element, line: int) -> Iterator[Note]:
    """Yield a note on elements that should hold numbers but do not."""
    odd = [
        f"{element.tag} {(element.text or '').strip()[:30]!r}"
        for element in root.iter()
        if element.tag.endswith(_NUMERIC)
        and len(element) == 0
        and number(element.text) is None
        and (element.text or "").strip().lower() not in _TRUTHS
    ]
    if odd:
        more = f" ({len(odd):,} of them)" if len(odd) > 1 else ""
        yield Note(f"{odd[0]} is not a number: left empty{more}", line, severity="warning")


def _targets(which: Row, span: Element) -> Iterator[Row]:
    pool, requests = whole(span.findtext("ThreadCount")) or 0, whole(span.findtext("RequestCount")) or 0
    times = {f"{part.lower()}_s": number(span.findtext(part)) for part in ("Duration", "Warmup", "Cooldown")}
    for target in span.findall("Targets/Target"):
        alignment = target.findtext("Random")
        ratio = number(target.findtext("RandomRatio"))
        written = number(target.findtext("WriteRatio"))
        stride = alignment if alignment is not None else target.findtext("StrideSize")
        settings = {"block_size_bytes": size_bytes(target.findtext("BlockSize")), "stride_bytes": size_bytes(stride)}
        # In a thread pool, each thread has this many outstanding requests over all targets.
        settings["queue_depth"] = requests if pool and requests else whole(target.findtext("RequestCount"))
        settings["workers"] = pool or whole(target.findtext("ThreadsPerFile"))
        random = 0.0 if alignment is None else 100.0 if ratio is None else ratio
        shares = {"read_pct": None if written is None else 100.0 - written, "random_pct": random}
        yield which | times | {"target": target.findtext("Path")} | settings | shares


def _jobs(which: Row, span: Element, settings: list[Row], *, totals: bool) -> Iterator[Row]:
    seconds = number(span.findtext("TestTimeSeconds"))
    sums: dict[str, list[tuple[int | None, int | None]]] = {direction: [] for direction in DIRECTIONS}
    for thread in span.findall("Thread"):
        for target in thread.findall("Target"):
            path = target.findtext("Path")
            own = which | {"level": "thread", "thread": whole(thread.findtext("Id")), "target": path, "workers": 1}
            own |= common(settings, path)
            for direction in DIRECTIONS:
                title = _TITLES[direction]
                ios = whole(target.findtext(f"{title or 'IO'}Count"))
                moved = whole(target.findtext(f"{title or 'Bytes'}{'Bytes' if title else 'Count'}"))
                sums[direction].append((ios, moved))
                counted = {
                    "ios": ios,
                    "bytes": moved,
                    "latency_mean_ms": number(target.findtext(f"Average{title}LatencyMilliseconds")),
                    "latency_stddev_ms": number(target.findtext(f"{title}LatencyStdev")),
                    "iops_stddev": number(target.findtext(f"Iops/{title}IopsStdDev")),
                }
                yield job(own, direction, seconds, counted)
    if not totals or not sums["all"]:
        return
    own = which | {"level": "total", "workers": whole(span.findtext("ThreadCount"))} | common(settings, None)
    for direction in DIRECTIONS:
        title, total = _TITLES[direction], _TOTAL[direction]
        parts = sums[direction]
        counted = {
            "ios": _sum(ios for ios, _ in parts),
            "bytes": _sum(moved for _, moved in parts),
            "latency_mean_ms": number(span.findtext(f"Latency/Average{total}Milliseconds")),
            "latency_stddev_ms": number(span.findtext(f"Latency/{title}LatencyStdev")),
            "iops_stddev": number(span.findtext(f"Iops/{title}IopsStdDev")),
        }
        for name, percentile in (("latency_min_ms", 0.0), ("latency_max_ms", 100.0)):
            at = [one for one in span.findall("Latency/Bucket") if number(one.findtext("Percentile")) == percentile]
            counted[name] = number(at[0].findtext(f"{total}Milliseconds")) if at else None
        yield job(own, direction, seconds, counted)


def _sum(values: Iterator[int | None]) -> int | None:
    """Return the sum; None if one value is unknown."""
    there = list(values)
    total = sum(value for value in there if value is not None)
    return None if None in there or total >= 1 << 63 else total


def _percentiles(which: Row, span: Element) -> Iterator[Row]:
    for bucket in span.findall("Latency/Bucket"):
        percentile = number(bucket.findtext("Percentile"))
        for direction in DIRECTIONS:
            latency = number(bucket.findtext(f"{_TOTAL[direction]}Milliseconds"))
            if percentile is not None and latency is not None:
                yield which | {"target": None, "direction": direction, "percentile": percentile, "latency_ms": latency}


def _cpu(which: Row, span: Element) -> Iterator[Row]:
    for cpu in [*span.findall("CpuUtilization/CPU"), *span.findall("CpuUtilization/Average")]:
        places = {name: whole(cpu.findtext(title)) for name, title in _PLACES.items()}
        shares = {name: number(cpu.findtext(f"{title}Percent")) for name, title in _CPU.items()}
        if any(share is not None for share in shares.values()):
            yield which | places | shares


def _series(which: Row, span: Element) -> Iterator[Row]:
    yield from _buckets(which, span)
    for thread in span.findall("Thread"):
        for target in thread.findall("Target"):
            own = {"thread": whole(thread.findtext("Id")), "target": target.findtext("Path")}
            yield from _buckets(which | own, target)


def _buckets(which: Row, element: Element) -> Iterator[Row]:
    for bucket in element.findall("Iops/Bucket"):
        if (elapsed := number(bucket.get("SampleMillisecond"))) is None:
            continue
        own = which | {"elapsed_s": elapsed / 1000.0}
        for direction in DIRECTIONS:
            if (iops := number(bucket.get(_TOTAL[direction]))) is None:
                continue
            yield own | {"metric": "iops", "direction": direction, "value": iops}
            for metric, title in _SERIES.items():
                latency = number(bucket.get(title.format(_TOTAL[direction])))
                # A bucket without I/O shows 0.000: no latency was measured.
                if latency is not None and iops:
                    yield own | {"metric": metric, "direction": direction, "value": latency}
