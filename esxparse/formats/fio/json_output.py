"""fio's JSON and JSON+ (2.0 to 3.4x): a document's pieces to rows.

fio 2 has latencies in microseconds (`lat`, `clat`, `slat`), fio 3 in nanoseconds (`lat_ns` ...). `bw` and its minimum,
maximum, mean and deviation are KiB/s in both; `bw_bytes` is new in fio 3. `io_bytes` is KiB in fio 2 and bytes in
fio 3, which also has `io_kbytes` (all of it: show_thread_status_json of fio's stat.c, several releases).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from esxparse.formats.fio.documents import DOCUMENT, Content, Piece, rewritten, walk
from esxparse.formats.fio.options import directions_of, effective, size, sizes
from esxparse.formats.fio.tables import ALL_CLIENTS, CONVENIENT, Counts, Document, Row, distribution, read_bins
from esxparse.formats.kit.numbers import LARGEST, exact, scaled
from esxparse.formats.kit.objects import Places, mapping
from esxparse.formats.kit.tables import data
from esxparse.recording import Note

KIB = 1024
UNITS = (("_ns", 1e-6), ("", 1e-3), ("_us", 1e-3), ("_ms", 1.0))
"""Endings of the names of latencies, with their unit in ms: fio 3, fio 2, and other programs' versions."""

_NAMES: dict[str, dict[str, str]] = data(__file__)
_DIRECTIONS = _NAMES["directions"]
_SHARES = (("latency_ns", 1e-6, 0.0), ("latency_us", 1e-3, 1e-3), ("latency_ms", 1.0, 1.0))


def _latency(stats: Mapping[str, Any], name: str) -> tuple[Mapping[str, Any], float]:
    for end, unit in UNITS:
        if (found := stats.get(name + end)) is not None:
            return mapping(found), unit
    return {}, 1.0


def _measured(found: Mapping[str, Any]) -> bool:
    """Return whether anything was measured: otherwise fio writes zeros (and an enormous `min`)."""
    samples = exact(found.get("N"))
    return bool(samples) if samples is not None else any(exact(found.get(name)) for name in ("max", "mean"))


def _moments(found: Mapping[str, Any], unit: float, prefix: str) -> Row:
    if not _measured(found):
        return {}
    return {f"{prefix}_{name}_ms": scaled(found.get(name), unit) for name in ("mean", "stddev", "min", "max")}


@lru_cache
def _percentiles_of(names: tuple[str, ...]) -> tuple[float | None, ...]:
    """Return the percentiles with these names; None for other names: fio 2 pads its list with zeros."""
    # A name too large for a float would be infinite.
    return tuple(float(known) if (known := scaled(name, 1.0)) else None for name in names)


def _percentiles(found: Mapping[str, Any], unit: float) -> list[tuple[float, Any]]:
    listed = mapping(found.get("percentile")) if _measured(found) else {}
    pairs, per_ms = zip(_percentiles_of(tuple(listed)), listed.values(), strict=True), round(1 / unit)
    # Nearly all are whole numbers, tens of thousands of them: this is `scaled` without the calls.
    return [
        (name, value / per_ms if type(value) is int and value < LARGEST else scaled(value, unit))
        for name, value in pairs
        if name
    ]


def _sampled(stats: Mapping[str, Any], names: Mapping[str, str], factor: float, samples: str) -> Row:
    """Return mean, deviation, minimum and maximum of samples over time, if there are any."""
    taken = exact(stats.get(samples))
    if taken == 0 or (taken is None and not any(exact(stats.get(name)) for name in names.values())):
        return {}
    return {column: scaled(stats.get(name), factor) for column, name in names.items()}


def _total_bytes(stats: Mapping[str, Any]) -> Any:
    total = exact(stats.get("io_bytes"))
    if total is None or "io_kbytes" in stats:
        return total if total is not None else scaled(stats.get("io_kbytes"), KIB)
    expected = (exact(stats.get("bw")) or 0) * KIB * (exact(stats.get("runtime")) or 0) / 1000
    # KiB in fio 2. A release in between may have written bytes: compare with bandwidth and time.
    return total if expected and abs(total - expected) < abs(total * KIB - expected) else scaled(total, KIB)


def _traffic(stats: Mapping[str, Any]) -> Row:
    bandwidth = exact(stats.get("bw_bytes"))
    return {
        **{column: stats.get(name) for column, name in _NAMES["traffic"].items()},
        "total_bytes": _total_bytes(stats),
        "runtime_s": scaled(stats.get("runtime"), 1e-3),
        "bandwidth_bytes_per_s": bandwidth if bandwidth is not None else scaled(stats.get("bw"), KIB),
        **_sampled(stats, _NAMES["iops"], 1, "iops_samples"),
        **_sampled(stats, _NAMES["bandwidth"], KIB, "bw_samples"),
    }


def _priorities(stats: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any], float]]:
    """Yield priority, latency, its object and unit, if a direction was measured by priority."""
    for one in stats["prios"] if isinstance(stats.get("prios"), list) else ():
        prio = mapping(one)
        name = "/".join(str(prio[key]) for key in ("prioclass", "prio", "priohint") if key in prio)
        for kind in ("clat", "lat"):
            found, unit = _latency(prio, kind)
            if found:
                yield name, kind, found, unit
    for kind in ("clat", "lat"):
        for name in ("high", "low"):
            found, unit = _latency(stats, f"{kind}_{name}_prio")
            if found:
                yield name, kind, found, unit


def _spread(document: Document, whose: Row, found: Mapping[str, Any], unit: float) -> list[tuple[float, Any]]:
    """Add percentiles and bins of one latency to their tables, and return those percentiles."""
    if percentiles := _percentiles(found, unit):
        document.rows["percentiles"].append({**whose, "latency_ms": percentiles})
    bins = found.get("bins")
    if bins and isinstance(bins, (dict, Counts)):
        read = read_bins(whose, bins, unit)
        document.bins.append(read)
        if read.odd:
            document.notes.warn(f"{read.odd} bins of job {whose['job']} are not numbers: left out", document.line)
    return percentiles


def _direction(document: Document, whose: Row, name: str, stats: Mapping[str, Any]) -> Row:
    """Return the row of one direction; its percentiles and bins go into their tables."""
    row: Row = {"direction": _DIRECTIONS[name], **_traffic(stats)}
    here = {**whose, "direction": row["direction"]}
    convenient: dict[str, list[tuple[float, Any]]] = {}
    for kind, prefix in (("slat", "slat"), ("clat", "clat"), ("lat", "latency")):
        found, unit = _latency(stats, kind)
        row |= _moments(found, unit, prefix)
        convenient[kind] = _spread(document, {**here, "latency": kind}, found, unit)
    of_completion = dict(reversed(convenient["clat"] or convenient["lat"]))
    row |= {column: of_completion.get(wanted) for column, wanted in CONVENIENT.items()}
    for priority, kind, found, unit in _priorities(stats):
        labelled = {**here, "latency": kind, "priority": priority}
        if _measured(found):
            moments = _moments(found, unit, "latency")
            document.rows["priorities"].append({**labelled, "ios": found.get("N"), **moments})
        _spread(document, labelled, found, unit)
    return row


def _did_io(stats: Mapping[str, Any]) -> bool:
    return any(exact(stats.get(name)) for name in ("total_ios", "io_bytes", "io_kbytes", "runtime"))


def _job(document: Document, job: Mapping[str, Any], options: Mapping[str, str] | None, whose: Row) -> list[Row]:
    """Return the rows of one job: a row for each direction that did I/O or was requested."""
    wanted = directions_of(options.get("rw")) if options else ()
    there = {name: mapping(job[name]) for name in _DIRECTIONS if isinstance(job.get(name), dict)}
    kept = {name: stats for name, stats in there.items() if _did_io(stats) or (name in wanted and "mixed" not in there)}
    if not kept:
        kept = {"mixed": there.get("mixed", {})}
    block_sizes = sizes(options) if options else {}
    steady = exact(mapping(job.get("steadystate")).get("attained"))
    common = {
        **whose,
        **{column: job.get(name) for column, name in _NAMES["job"].items()},
        **({"rw": options["rw"], "ioengine": options.get("ioengine")} if options else {}),
        "queue_depth": size(options["iodepth"]) if options else None,
        "workers": size(options["numjobs"]) if options else None,
        "steadystate": None if steady is None else bool(steady),
        "start": _moment(job.get("job_start"), 1e-3),
    }
    rows = [_direction(document, whose, name, stats) for name, stats in kept.items()]
    return [{**common, **row, "block_size_bytes": block_sizes.get(row["direction"])} for row in rows]


def _moment(value: Any, unit: float) -> datetime | None:
    seconds = scaled(value, unit)
    try:
        return datetime.fromtimestamp(float(seconds), UTC) if seconds else None
    except (OverflowError, OSError, ValueError):
        return None


def _texts(value: Any) -> dict[str, str]:
    return {str(name): inner if isinstance(inner, str) else str(inner) for name, inner in mapping(value).items()}


def _common_options(value: Any, hostname: Any) -> dict[str, str]:
    """Return the global options: one object, or one for each client."""
    if isinstance(value, list):
        clients = [mapping(one) for one in value]
        value = next((one for one in clients if one.get("hostname") == hostname), clients[0] if clients else {})
    return {name: text for name, text in _texts(value).items() if name not in ("hostname", "port")}


def _with_options(document: Document, whose: Row, job: Mapping[str, Any], common: Any) -> dict[str, str] | None:
    """Return the effective options of a job, if the document has any, and add both kinds to their table."""
    globally, own = _common_options(common, whose["hostname"]), _texts(job.get("job options"))
    document.rows["options"] += [
        {**whose, "option": name, "value": text, "given": "global"}
        for name, text in globally.items()
        if name not in own
    ] + [{**whose, "option": name, "value": text, "given": "job"} for name, text in own.items()]
    if (not globally and not own) or whose["job"] == ALL_CLIENTS:
        return None
    return effective(globally, own)


def _job_rows(document: Document, job: Mapping[str, Any], place: int, common: Any) -> list[Row]:
    whose: Row = {
        "job_number": place,
        "job": job.get("jobname"),
        "hostname": None if job.get("jobname") == ALL_CLIENTS else job.get("hostname"),
        "group": job.get("groupid"),
    }
    options = _with_options(document, whose, job, common)
    for name, unit, below in _SHARES:
        # fio 2 has no nanoseconds: its first bin of microseconds begins at zero.
        begin = 0.0 if name == "latency_us" and "latency_ns" not in job else below
        document.rows["latency_bins"] += distribution(whose, unit, mapping(job.get(name)).items(), begin)
    document.rows["queue_depths"] += [
        {**whose, "of": of, "depth": depth, "share_pct": share}
        for name, of in _NAMES["depths"].items()
        for depth, share in mapping(job.get(name)).items()
    ]
    return _job(document, job, options, whose)


def _disk(disk: Mapping[str, Any]) -> Iterator[Row]:
    whose = {"hostname": disk.get("hostname"), "disk": disk.get("name")}
    columns = _NAMES["disk"].items()
    yield {**whose, "scope": "device", **{column: disk.get(name) for column, name in columns}}
    if "aggr_util" in disk:
        row = {column: disk.get(f"aggr_{name}") for column, name in columns}
        # fio 3 writes aggr_write_merge without its last letter.
        merges = disk.get("aggr_write_merge")
        yield {**whose, "scope": "members", **row, "write_merges": row["write_merges"] if merges is None else merges}


def _damage_note(lines: Places, piece: Piece, kept: int) -> Note:
    line, column = lines.of(piece.at)
    last = line >= lines.last
    what = "the JSON is cut" if last else f"damaged JSON ({piece.value})"
    return Note(f"{what}: {kept} complete jobs before it are kept", line, column, severity="warning")


def _document(lines: Places, start: int, line: int, pieces: Iterable[Piece]) -> tuple[Document, int]:
    """Return one document, and its end in the text."""
    document = Document("json", line)
    facts: dict[str, Any] = {}
    rows: list[Row] = []
    end, place = start, 0
    for piece in pieces:
        if piece.kind == "end":
            end = piece.at
        elif piece.kind == "damage":
            document.notes.append(_damage_note(lines, piece, place))
        elif piece.kind in ("jobs", "client_stats") and not isinstance(piece.value, dict):
            document.notes.warn(f"{piece.kind} has an entry that is not a job: left out", lines.line(piece.at))
        elif piece.kind in ("jobs", "client_stats"):
            place += 1
            rows += _job_rows(document, piece.value, place, facts.get("global options"))
        elif piece.kind == "disk_util":
            document.rows["disks"] += list(_disk(mapping(piece.value)))
        else:
            facts[piece.kind] = piece.value
    document.release = facts["fio version"] if isinstance(facts.get("fio version"), str) else None
    document.time = _moment(facts.get("timestamp_ms"), 1e-3) or _moment(facts.get("timestamp"), 1)
    document.rows["jobs"] = [{**row, "output": "json", "end": document.time} for row in rows]
    return document, end


def parse(text: str, bins: Sequence[Counts] = ()) -> tuple[list[Document], list[tuple[int, int]]]:
    """Return the documents in a text, and where each begins and ends; `bins` were taken out of the text."""
    content = Content(text, bins)
    documents: list[Document] = []
    spans: list[tuple[int, int]] = []
    lines = Places(text)
    at = 0
    if DOCUMENT.search(text) is None:
        for start, pieces in rewritten(content) if '"jobname"' in text else ():
            document, end = _document(lines, start, lines.line(start), pieces)
            documents.append(document)
            spans.append((start, end))
        return documents, spans
    # If decoding stops within a document, a note reports it.
    while not (documents and content.spent) and (match := DOCUMENT.search(text, at)):
        start = match.start()
        document, at = _document(lines, start, lines.line(start), walk(start, content))
        documents.append(document)
        spans.append((start, at))
    return documents, spans
