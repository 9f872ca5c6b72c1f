"""The block of one job in fio's normal output: the lines between two heads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from esxparse.formats.fio.options import NANOSECONDS_SINCE, release_number
from esxparse.formats.fio.tables import CONVENIENT, CPU, Document, Line, Row, distribution
from esxparse.formats.kit.numbers import POWERS, exact, scaled
from esxparse.formats.kit.patterns import kinds

_SECONDS = {"nsec": 1e-6, "usec": 1e-3, "msec": 1.0, "sec": 1e3}
_LINES = kinds(__file__)
_PERCENTILE = re.compile(r"(?<!\d)(\d++(?:\.\d++)?)th=\[?\s*+(?:>=?\s*+)?(\d++(?:\.\d++)?)\]?")
_SHARE = re.compile(r"(>?=?(?<!\d)\d++)=\s*+([\d.]++)%")
_AMOUNT = re.compile(r"\s*(?P<number>[\d.]+)\s*(?P<prefix>[kKMGTPE]?)(?P<binary>i?)\s*(?P<unit>bit|B|b)?")
_OF = {"IO depths": "in_flight", "submit": "submit", "complete": "complete"}
_BOUNDS = ("2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000")


def _plain(text: str | None) -> float | None:
    """Return a number that fio shortened by thousands: `20.6k`, `4639.4k`, `1.2M`."""
    match = _AMOUNT.match(text or "")
    return _times(match, 1000) if match else None


def _times(match: re.Match[str], thousand: int) -> float | None:
    found = exact(match["number"])
    return None if found is None else found * thousand ** POWERS[match["prefix"].lower()]


def amount_in_bytes(text: str, *, new: bool) -> float | None:
    """Return bytes (or bytes per second): `77552KB` of fio 2, `1289MiB` and `1351MB` of fio 3; bits become bytes."""
    if not (match := _AMOUNT.match(text)):
        return None
    found = _times(match, 1024 if match["binary"] or not new else 1000)
    return scaled(found, 1 / 8 if match["unit"] in ("bit", "b") else 1.0)


def _moments(match: re.Match[str], first: int, prefix: str, suffix: str, factor: float) -> Row:
    names = ("min", "max", "mean", "stddev")
    return {
        f"{prefix}_{name}{suffix}": scaled(_plain(match[first + place]), factor) for place, name in enumerate(names)
    }


def _priority(name: str) -> tuple[str, str | None]:
    """Return latency and priority of `clat prio 2/0/0 (3.12% of IOs)`."""
    kind = next((kind for kind in ("slat", "clat", "lat", "sync") if re.search(rf"\b{kind}\b", name)), name)
    rest = re.sub(rf"\b{re.escape(kind)}\b|\bprio\b|\(.*\)", " ", name).split()
    return ("lat" if kind == "sync" else kind), ("/".join(rest) or None)


def _traffic(match: re.Match[str], *, new: bool) -> Row:
    return {
        "total_bytes": amount_in_bytes(match["total"], new=new),
        "bandwidth_bytes_per_s": amount_in_bytes(match["bandwidth"], new=new),
        "iops": _plain(match["iops"]),
        "runtime_s": scaled(match["runtime"], 1e-3),
    }


def _sampled(match: re.Match[str]) -> Row:
    # Samples are KiB/s, divided by fio's kilo if they are large; the label does not always show this.
    factor = 1024 ** max(POWERS[match["prefix"].lower()], 1) / (8 if match["unit"] in ("bit", "b") else 1)
    return _moments(match, 3, "bandwidth", "_bytes_per_s", factor)


@dataclass
class _Block:
    """The content of one job's lines so far."""

    document: Document
    whose: Row
    rows: dict[str, Row] = field(default_factory=dict)
    """By direction."""
    common: Row = field(default_factory=dict)
    issued: dict[str, list[float]] = field(default_factory=dict)
    shares: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    direction: str = ""
    percentiles: tuple[Row, float] | None = None
    """The row to which the next lines of percentiles belong, and their unit in ms."""
    split: bool = False
    """Whether the reads had `mixed`, and then the writes had it again."""
    new: bool = True
    """Whether it has the lines of fio 3."""
    met: set[str] = field(default_factory=set)
    """The kinds of lines that the direction already had."""
    foreign: bool = False
    """Whether the lines are of another job with a missing first line."""


def _on_traffic(block: _Block, match: re.Match[str]) -> None:
    # If some jobs are mixed, a client prints `mixed` twice: the numbers counted as reads, then the writes.
    block.split = match["direction"] == "mixed" and "all" in block.rows
    block.direction = _direction_of(block, match)
    block.new = match.re is _LINES["new"]
    block.rows[block.direction] = _traffic(match, new=block.new)
    block.met = set()


def _direction_of(block: _Block, match: re.Match[str]) -> str:
    if match["direction"] != "mixed":
        return match["direction"]
    return "write" if "all" in block.rows else "all"


def _on_sync(block: _Block, match: re.Match[str]) -> None:  # noqa: ARG001  only its presence matters
    block.direction = "sync"
    block.rows["sync"] = {}
    block.met = set()


def _row(block: _Block) -> Row:
    return block.rows.setdefault(block.direction, {})


def _on_latency(block: _Block, match: re.Match[str]) -> None:
    kind, priority = _priority(match["name"])
    moments = _moments(match, 3, "latency", "_ms", _SECONDS[match["unit"]])
    if priority:
        whose = {**block.whose, "direction": block.direction, "latency": kind, "priority": priority}
        block.document.rows["priorities"].append({**whose, **moments})
    elif kind in ("slat", "clat", "lat"):
        prefix = "latency" if kind == "lat" else kind
        _row(block).update({name.replace("latency", prefix, 1): value for name, value in moments.items()})


def _on_percentiles(block: _Block, match: re.Match[str]) -> None:
    kind, priority = _priority(match["name"])
    whose = {**block.whose, "direction": block.direction, "latency": kind, "priority": priority}
    block.percentiles = (whose, _SECONDS[match["unit"]])


def _on_shares(block: _Block, match: re.Match[str]) -> None:
    block.shares.setdefault(match["unit"], []).extend(_SHARE.findall(match["shares"]))


def _on_depths(block: _Block, match: re.Match[str]) -> None:
    block.document.rows["queue_depths"] += [
        {**block.whose, "of": _OF[match["of"]], "depth": depth, "share_pct": share}
        for depth, share in _SHARE.findall(match["shares"])
    ]


def _on_issued(block: _Block, match: re.Match[str]) -> None:
    numbers = {name: re.findall(r"\d+", match[name] or "") for name in ("total", "short", "drop")}
    block.issued = {name: [exact(digits) or 0 for digits in found] for name, found in numbers.items()}


_DOES: dict[str, Callable[[_Block, re.Match[str]], None]] = {
    **dict.fromkeys(("new", "old"), _on_traffic),
    "latency": _on_latency,
    "percentiles": _on_percentiles,
    "bandwidth": lambda block, match: _row(block).update(_sampled(match)),
    "iops": lambda block, match: _row(block).update(_moments(match, 1, "iops", "", 1)),
    "shares": _on_shares,
    "depths": _on_depths,
    "issued": _on_issued,
    "cpu": lambda block, match: block.common.update(zip(CPU, match.groups(), strict=True)),
    "sync": _on_sync,
    "errors": lambda block, match: block.common.update(errors=match[1]),
    "steady": lambda block, match: block.common.update(steadystate=match[1] == "yes"),
}
"""The effect of each kind of line on a block."""


_LOST = "lost"
"""The direction of lines without a line before them that shows the direction."""
_IN_BRACKETS = re.compile(r"(?<!\s)\s*+\([^()]*+\)")
_OF_DIRECTION = frozenset({"latency", "percentiles", "bandwidth", "iops"})
"""The lines that a direction has at most once each."""


def _misplaced(block: _Block, kind: str, match: re.Match[str], line: int) -> bool:
    """Return whether the direction or job of a line is unknown; a note marks the first such line."""
    if not block.foreign and kind in ("new", "old") and _direction_of(block, match) in block.rows:
        block.foreign = True
        what = f"{match['direction']} appears a second time: the first line of a job may be missing"
        block.document.notes.warn(f"{what}, left out from here on", line)
    if block.foreign or kind not in _OF_DIRECTION:
        return block.foreign
    label = _IN_BRACKETS.sub("", match[0].partition(":")[0]).strip()
    if block.direction not in ("", _LOST) and label not in block.met:
        block.met.add(label)
        return False
    if block.direction != _LOST:
        what = f"{label} of a direction whose first line is missing: left out, with the rest of that direction"
        block.document.notes.warn(what, line)
    block.direction = _LOST
    return True


def _more_percentiles(block: _Block, values: list[tuple[str, str]], line: int) -> None:
    """Add a line of percentiles, which belong to the head above it."""
    if block.percentiles:
        of, unit = block.percentiles
        latencies = [(percentile, scaled(value, unit)) for percentile, value in values]
        block.document.rows["percentiles"].append({**of, "latency_ms": latencies})
    elif block.direction != _LOST and not block.foreign and "th=" not in block.met:
        block.met.add("th=")
        block.document.notes.warn("percentiles without the line that says what they measure: left out", line)


def read_job(document: Document, whose: Row, lines: Iterable[Line]) -> list[Row]:
    """Return the rows of one job, from the lines after its first; percentiles and shares go into their tables."""
    block = _Block(document, whose)
    for line, text, _ in lines:
        found = next(((kind, match) for kind, pattern in _LINES.items() if (match := pattern.match(text))), None)
        if found:
            block.percentiles = None
            if not _misplaced(block, *found, line):
                _DOES[found[0]](block, found[1])
        elif values := _PERCENTILE.findall(text):
            _more_percentiles(block, values, line)
    _shares(document, whose, block.shares, new=block.new)
    rows = [
        {**block.common, "direction": name, **_convenient(document, whose, name), **row, **_issued(block, name)}
        for name, row in block.rows.items()
    ]
    return [_without_zeros(row) for row in rows]


def _without_zeros(row: Row) -> Row:
    """Return the row without empty zeros: fio 3.33 prints `mixed: IOPS=0` with `unified_rw_reporting=both`."""
    if row["direction"] == "all" and row.get("total_bytes") == 0 and row.get("ios"):
        return {**row, "total_bytes": None, "bandwidth_bytes_per_s": None, "iops": None}
    return row


def _shares(document: Document, whose: Row, shares: dict[str, list[tuple[str, str]]], *, new: bool) -> None:
    """Add the distribution: fio leaves out bins of 0 %, so each bin begins at the bound before it."""
    release = release_number(document.release)
    # Before 2.99 there are no nanoseconds: the first bin of microseconds begins at zero.
    old = release < NANOSECONDS_SINCE if release else not new
    begins = {"nsec": 0.0, "usec": 0.0 if old else 1e-3, "msec": 1.0}
    for unit, found in shares.items():
        percentages = dict(found)
        whole = [(name, percentages.get(name, "0")) for name in (_BOUNDS if unit == "msec" else _BOUNDS[:10])]
        document.rows["latency_bins"] += distribution(whose, _SECONDS[unit], whole, begins[unit])


def _convenient(document: Document, whose: Row, direction: str) -> Row:
    mine = [
        row
        for row in document.rows["percentiles"]
        if row["job_number"] == whose["job_number"] and row["direction"] == direction and row["priority"] is None
    ]
    chosen = [row for row in mine if row["latency"] == "clat"] or [row for row in mine if row["latency"] == "lat"]
    by_percentile = {exact(percentile): value for row in chosen for percentile, value in row["latency_ms"]}
    return {column: by_percentile.get(wanted) for column, wanted in CONVENIENT.items()}


def _issued(block: _Block, direction: str) -> Row:
    """Return the counts of a direction; `all` is their sum, unless the writes have a row of their own."""
    # fio counts only the total of syncs, and prints zeros for the others.
    names = (("ios", "total"), ("short_ios", "short"), ("dropped_ios", "drop"))[: 1 if direction == "sync" else 3]
    place = {"read": 0, "write": 1, "trim": 2, "sync": 3, "all": 0 if block.split else None}[direction]
    if place is None:
        return {name: sum(block.issued[of][:3]) for name, of in names if block.issued.get(of)}
    return {name: block.issued[of][place] for name, of in names if len(block.issued.get(of, ())) > place}


_JOB_OUTPUT = re.compile(
    r"^\s*(?:Starting \d+ (?:process|thread)|Jobs: \d|\.\.\.$|Description  : |latency   : target=|fsync/|"
    r"block lifetime|states  |\| )|: Laying out IO file|^hostname=.*fio=|^\s*$"
)
"""Lines that are part of normal output and have nothing for a table."""


def tells_of_job(text: str) -> bool:
    """Return whether a line is from a job's block, or from fio's text before its results."""
    return bool(_JOB_OUTPUT.search(text)) or any(pattern.match(text) for pattern in _LINES.values())
