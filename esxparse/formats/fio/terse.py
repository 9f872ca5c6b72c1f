"""fio's terse (minimal) output, versions 2 to 5: one line of fields between semicolons for each job.

A line is `version;[fio version;]job;group;error`, then a block for each direction, then
`usr%;sys%;context switches;major faults;minor faults`, 7 shares of depths, 10 shares of microseconds, 12 of
milliseconds, then disks (from version 3 on), errors, a description. A block ends with bandwidth minimum, maximum,
share of the group (the one field with a bare `%`), mean, deviation; version 5 adds samples and IOPS. The fields before
differ between releases (fio 2.0.0 has no IOPS and no percentiles), so blocks are found by their fields, not places.
Read and write are always present, trim in versions 2 (most releases), 4 and 5. Mixed is alone with
`unified_rw_reporting=1`, or last with `both`. Sizes are KiB, latencies microseconds.
Source: show_thread_status_terse_all and show_ddir_status_terse of fio's stat.c, several releases; HOWTO, "Terse
output".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from esxparse.formats.fio.options import release_number
from esxparse.formats.fio.snapshots import cycles
from esxparse.formats.fio.tables import CONVENIENT, CPU, Document, Line, Row, distribution
from esxparse.formats.kit.numbers import exact, scaled

_START = r"^(?:[345];fio[- ][^;\n]*;[^;\n]*;\d+;-?\d+;|2;[^;\n]*;\d+;-?\d+;)"
LINE = re.compile(_START + r"(?:\d+;){5,6}[-\w.]+;", re.MULTILINE)
"""The beginning of a line of terse output; its numbers distinguish it from other fields between semicolons."""

_LIKELY = re.compile(_START + r"|^[345];fio[- ]\d")
"""The beginning of a line that may be cut or damaged terse output."""

_CONTINUED = re.compile(r"^;[^;]+(?:;\d+){7};[\d.]+%")

_KIB = 1024
_USEC = 1e-3
_TAIL = 5 + 7 + 10 + 12
_DISK_FIELDS = 9
_DEPTHS = ("1", "2", "4", "8", "16", "32", ">=64")
_MICROSECONDS = ("2", "4", "10", "20", "50", "100", "250", "500", "750", "1000")
_MILLISECONDS = (*_MICROSECONDS, "2000", ">=2000")
_DIRECTIONS = {1: ("all",), **{number: ("read", "write", "trim", "all")[:number] for number in (2, 3, 4)}}
_MOMENTS = ("min", "max", "mean", "stddev")
_DISK = (
    "read_ios", "write_ios", "read_merges", "write_merges", "read_ticks_ms", "write_ticks_ms", "in_queue_ms",
)  # fmt: skip
_DISK_WITH_SECTORS = (
    "read_ios", "write_ios", "read_sectors", "write_sectors", "read_merges", "write_merges", "read_ticks_ms",
)  # fmt: skip
"""fio 3.36 put sectors among seven numbers without room for them, so that the last two are lost.

A later, unknown release corrected this: see `_has_sectors`."""
_SECTORS_SINCE = (3, 36)
_WITH_IOPS = 18
_WITHOUT_IOPS = 17
_FIFTH = 5


class _MalformedError(ValueError):
    """A line without the fields of terse output."""


def _block(fields: Sequence[str], at: int, version: int) -> tuple[list[str], list[str], int]:
    """Return the plain fields and the percentiles of the block that begins at a field, and the place of the next."""
    share = next((place for place in range(at, len(fields)) if fields[place].endswith("%")), None)
    extra = 2 + (6 if version == _FIFTH else 0)
    if share is None or share + extra >= len(fields):
        raise _MalformedError("it ends too early")
    before = fields[at:share]
    plain = [field for field in before if "%=" not in field]
    if len(plain) not in (_WITH_IOPS, _WITHOUT_IOPS):
        raise _MalformedError(f"{len(plain)} fields for a direction")
    after = fields[share + 1 : share + 1 + extra]
    return [*plain, *after], [field for field in before if "%=" in field], share + 1 + extra


def _moments(fields: Sequence[str], prefix: str) -> Row:
    if not any(exact(field) for field in fields):
        return {}
    return {f"{prefix}_{name}_ms": scaled(field, _USEC) for name, field in zip(_MOMENTS, fields, strict=True)}


def _direction(plain: Sequence[str], direction: str) -> Row:
    """Return the row of a block's plain fields."""
    old = len(plain) in (_WITHOUT_IOPS + 2, _WITHOUT_IOPS + 8)
    traffic, rest = (plain[:3], plain[3:]) if old else (plain[:4], plain[4:])
    bandwidth = rest[12:16]
    row: Row = {
        "direction": direction,
        "total_bytes": scaled(traffic[0], _KIB),
        # Before there were IOPS, the bandwidth was bytes per millisecond.
        "bandwidth_bytes_per_s": scaled(traffic[1], 1000 if old else _KIB),
        "iops": None if old else traffic[2],
        "runtime_s": scaled(traffic[-1], 1e-3),
        **_moments(rest[:4], "slat"),
        **_moments(rest[4:8], "clat"),
        **_moments(rest[8:12], "latency"),
    }
    if any(exact(field) for field in bandwidth):
        pairs = zip(_MOMENTS, bandwidth, strict=True)
        row |= {f"bandwidth_{name}_bytes_per_s": scaled(field, _KIB) for name, field in pairs}
    iops = rest[17:21]
    if any(exact(field) for field in iops):
        row |= {f"iops_{name}": field for name, field in zip(_MOMENTS, iops, strict=True)}
    return row


def _percentiles(fields: Iterable[str]) -> list[tuple[float, Any]]:
    pairs = (field.split("%=", 1) for field in fields)
    # A name too large for a float would be infinite.
    spelt = [(scaled(name, 1.0), scaled(value, _USEC)) for name, value in pairs]
    # fio pads the list with 0%=0.
    return [(float(name), value) for name, value in spelt if name]


def _disks(fields: Sequence[str], release: tuple[int, ...]) -> tuple[list[Row], int]:
    """Return the disks at the end of a line, and their number of fields."""
    rows: list[Row] = []
    at = 0
    while at + _DISK_FIELDS <= len(fields) and fields[at + _DISK_FIELDS - 1].endswith("%"):
        name, *values, util = fields[at : at + _DISK_FIELDS]
        members = name == "slaves" and rows
        names = _DISK_WITH_SECTORS if release >= _SECTORS_SINCE and _has_sectors(values) else _DISK
        whose = {"disk": rows[-1]["disk"], "scope": "members"} if members else {"disk": name, "scope": "device"}
        # fio prints no sectors for the members of a device.
        counts = dict(zip(_DISK if members else names, values, strict=True))
        rows.append({**whose, **counts, "util_pct": util.rstrip("%")})
        at += _DISK_FIELDS
    return rows, at


def _has_sectors(values: Sequence[str]) -> bool:
    """Return whether the third and fourth number may be sectors: an I/O moves one or more, and merges are mostly fewer.

    >>> _has_sectors(["100", "0", "800", "0", "3", "0", "52"]), _has_sectors(["100", "0", "3", "0", "52", "0", "48"])
    (True, False)
    """
    counts = [exact(value) or 0 for value in values[:4]]
    return sum(counts) > 0 and counts[2] >= counts[0] and counts[3] >= counts[1]


def _one_job(document: Document, fields: list[str], place: int, hostname: str | None) -> list[Row]:
    version = int(fields[0])
    release = None if version == 2 else fields[1]  # noqa: PLR2004  the version that has none
    name, group, error = fields[1:4] if release is None else fields[2:5]
    document.release = document.release or release
    whose: Row = {"job_number": place, "job": name, "hostname": hostname, "group": group}
    at = 4 if release is None else 5
    blocks = []
    while at < len(fields) and not fields[at].endswith("%"):
        plain, percentiles, at = _block(fields, at, version)
        blocks.append((plain, percentiles))
    tail = fields[at : at + _TAIL]
    if len(blocks) not in _DIRECTIONS or len(tail) < _TAIL:
        raise _MalformedError(f"{len(blocks)} directions, {len(tail)} fields after them")
    directions = _DIRECTIONS[len(blocks)]
    if len(blocks) == 3 and version == 3:  # noqa: PLR2004  version 3 never has trim
        directions = ("read", "write", "all")
    shares = [field.rstrip("%") for field in tail[5:]]
    document.rows["queue_depths"] += [
        {**whose, "of": "in_flight", "depth": depth, "share_pct": share}
        for depth, share in zip(_DEPTHS, shares, strict=False)
    ]
    micro, milli = shares[7:17], shares[17:29]
    document.rows["latency_bins"] += distribution(whose, 1e-3, zip(_MICROSECONDS, micro, strict=True), 0.0)
    document.rows["latency_bins"] += distribution(whose, 1.0, zip(_MILLISECONDS, milli, strict=True), 1.0)
    disks, taken = _disks(fields[at + _TAIL :], release_number(release))
    document.rows["disks"] += disks
    after = fields[at + _TAIL + taken :]
    errors = after[0] if len(after) > 1 and after[0].isdecimal() and after[1].lstrip("-").isdecimal() else None
    common = {**whose, "output": "terse", "error": error, "errors": errors}
    common |= dict(zip(CPU, (tail[0].rstrip("%"), tail[1].rstrip("%"), *tail[2:5]), strict=True))
    rows = []
    for direction, (plain, percentile_fields) in zip(directions, blocks, strict=True):
        row = _direction(plain, direction)
        if not any(exact(row[name]) for name in ("total_bytes", "runtime_s")):
            continue
        found = _percentiles(percentile_fields)
        document.rows["percentiles"].append({**whose, "direction": direction, "latency": "clat", "latency_ms": found})
        by_percentile = dict(found)
        row |= {column: by_percentile.get(wanted) for column, wanted in CONVENIENT.items()}
        rows.append({**common, **row})
    return rows or [{**common, "direction": "all", "total_bytes": 0, "runtime_s": 0, "iops": 0}]


def parse(lines: Iterable[Line]) -> tuple[list[Document], list[Line]]:
    """Return the documents of terse lines among numbered lines (each with its host), and the other lines."""
    parts: list[Document] = []
    others: list[Line] = []
    for line, text, hostname in lines:
        if _LIKELY.match(text):
            part = Document("terse", line)
            try:
                part.rows["jobs"] += _one_job(part, text.split(";"), 1, hostname)
            except (_MalformedError, ValueError) as error:
                part.notes.warn(f"not a complete line of terse output ({error}): left out", line)
            parts.append(part)
        elif parts and _CONTINUED.match(text):
            # In client mode disks have a line of their own.
            disks, _ = _disks(text.split(";")[1:], release_number(parts[0].release))
            parts[-1].rows["disks"] += [{**row, "hostname": hostname} for row in disks]
        else:
            others.append((line, text, hostname))
    return [_together(found) for found in cycles(parts)], others


def _together(parts: Sequence[Document]) -> Document:
    """Return one document with the jobs of several."""
    document = Document("terse", parts[0].line, next((part.release for part in parts if part.release), None))
    for place, part in enumerate(parts, 1):
        for table, rows in part.rows.items():
            numbered = [{**row, "job_number": place} if "job_number" in row else row for row in rows]
            # Every line has all disks of the machine.
            document.rows[table] += [row for row in numbered if table != "disks" or row not in document.rows[table]]
        document.notes += part.notes
    return document
