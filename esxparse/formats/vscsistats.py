"""vscsiStats histograms, ESX 3.5 to ESXi 8: `vscsiStats -p all -c` (CSV), `-p` without `-c`, the vSphere API.

The API's reply (`FetchAllHistograms` of the service VscsiStats) has VM and disk by name, and no ids.

If a histogram is missing limits that others of its kind in the file have, `from` is the limit before `to` in the
others. A bin whose limits remain unknown is left out. A warning reports either case.

A histogram covers all commands since collection was started or reset, so several samples of one disk accumulate: the
activity between two samples is their difference.

Source: the printed form shows the limits as `(<= 4096)` and the last as `(> 524288)`; the CSV repeats the last limit
instead. "A histogram bar height shows the total number of data points in the range from the previous value to this one"
(I. Ahmad, who wrote the program, virtualirfan.com/vscsistats). The printed form is known only from articles on the
program: no whole capture of it was available.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from esxparse.errors import DamagedError
from esxparse.formats.kit.notes import Notes, strange
from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.tables import data, frames, schemas
from esxparse.formats.source import Source
from esxparse.formats.vscsistats_reply import blocks as reply_blocks
from esxparse.formats.vscsistats_reply import is_reply
from esxparse.recording import Note, Recording

FORMAT = "vscsistats"

Row = dict[str, Any]

_Bin = tuple[int, int, bool]
"""Commands, limit, and whether it is the bin without an end."""
_Limit = tuple[int | None, int | None]
"""From and to."""

_LARGEST = (1 << 63) - 1
_LONGEST = 1000
"""Most characters of a line that are read: names of VMs and files are shorter."""
_SCHEMAS, _LINES, _KINDS = schemas(__file__), kinds(__file__), data(__file__)["kinds"]


@dataclass(frozen=True)
class _Found:
    """A histogram: its line, its subject, the values above its bins, and the bins."""

    line: int
    whose: Row
    summary: Row
    bins: list[_Bin]


def read(source: Source) -> Recording:
    """Read histograms."""
    text = source.text()
    notes = Notes(text.notes)
    every = _of_reply(text.text, notes) if is_reply(text.text) else _of_lines(text.lines(), notes)
    usual = _usual((one.whose["histogram"], one.bins) for one in every)
    seen: dict[tuple[Any, ...], int] = {}
    bins: list[Row] = []
    summaries: list[Row] = []
    for one in every:
        key = tuple(one.whose.values())
        seen[key] = seen.get(key, 0) + 1
        of = one.whose | {"sample": seen[key]}
        own, odd = _as_usual(one.bins, usual[one.whose["histogram"]], one.line)
        bins += [of | row for row in own]
        summaries.append(of | one.summary)
        notes += [*odd, *_check(one.summary, one.bins, one.line)]
    if not bins:
        msg = "holds no histogram with a bin in it: nothing was collected (vscsiStats -s), or the copy failed"
        raise DamagedError(msg)
    # A reply has names in place of ids.
    ids, names = ("world_group_id", "handle_id"), ("vm", "disk")
    disks = {tuple(row[name] for name in (names if row["handle_id"] is None else ids)) for row in summaries}
    tables = frames({"histograms": (bins, _SCHEMAS["histograms"]), "summaries": (summaries, _SCHEMAS["summaries"])})
    return Recording(FORMAT, source.name, tables, {"samples": max(seen.values()), "disks": len(disks)}, tuple(notes))


def _of_lines(lines: list[str], notes: Notes) -> list[_Found]:
    """Return the histograms that the program printed."""
    vms = _names(lines)
    before, blocks = _blocks(lines)
    notes += _strange(before)
    found = []
    for title, rows in blocks:
        whose, odd = _whose(title[1], title[0])
        summary, bins, more = _histogram(rows, cut=rows[-1:] == [(len(lines), lines[-1])])
        notes += [*odd, *more]
        if bins:
            whose["vm"] = vms.get(whose["world_group_id"])
            found.append(_Found(title[0], whose, summary, bins))
        else:
            notes.warn(f"no bins in {title[1].strip()[:60]!r}: left out", title[0])
    return found


def _of_reply(text: str, notes: Notes) -> list[_Found]:
    """Return the histograms in a reply of the service; VMs of one name are distinguished by their id."""
    blocks = list(reply_blocks(text, notes))
    named = {one.names[:2] for one in blocks}
    shared = {vm for vm, count in Counter(vm for vm, _ in named).items() if count > 1}
    found = []
    for one in blocks:
        kind, odd = _kind(one.title.partition("istogram:")[2].strip() or one.title, one.line)
        summary, _, more = _histogram(one.summary, cut=False)
        notes += [*odd, *more]
        name, uuid, disk = one.names
        vm = f"{name} ({uuid})" if name in shared and name else name or uuid
        if one.bins:
            whose = {"world_group_id": None, "handle_id": None, "disk": disk, **kind, "vm": vm}
            found.append(_Found(one.line, whose, summary, one.bins))
        else:
            notes.warn(f"no bins in {one.title[:60]!r}: left out", one.line)
    return found


def _blocks(lines: list[str]) -> tuple[list[tuple[int, str]], list[tuple[tuple[int, str], list[tuple[int, str]]]]]:
    """Return the lines before the first title, and each title with the lines below it."""
    before: list[tuple[int, str]] = []
    blocks: list[tuple[tuple[int, str], list[tuple[int, str]]]] = []
    for number, line in enumerate(lines, 1):
        if line.lstrip(' \t"').lower().startswith("histogram:"):
            blocks.append(((number, line), []))
        elif line.strip():
            (blocks[-1][1] if blocks else before).append((number, line))
    return before, blocks


def _names(lines: Iterable[str]) -> dict[int, str]:
    """Return the VM of each world group, from the output of `vscsiStats -l`."""
    found = ((_LINES["world"].search(line), _LINES["vm"].search(line[:_LONGEST])) for line in lines)
    return {int(world[1]): vm["name"].strip('" ') for world, vm in found if world and vm}


def _strange(lines: Iterable[tuple[int, str]]) -> Iterator[Note]:
    """Yield one note on unknown lines."""
    return strange(((number, line) for number, line in lines if not _harmless(line)), "not understood, left out")


def _harmless(line: str) -> bool:
    text = line.strip(' \t",;{}')
    return not text or bool(_LINES["caption"].match(text)) or bool(_LINES["listed"].match(text))


def _whose(title_line: str, line: int) -> tuple[Row, list[Note]]:
    """Return the subject of a histogram, from its title line.

    >>> _whose("Histogram: latency of Read IOs in Microseconds (us),virtual machine worldGroupID : 7 {", 1)[0]
    {'world_group_id': 7, 'handle_id': None, 'disk': None, 'histogram': 'latency', 'direction': 'read', 'unit': 'us'}
    """
    found = _LINES["title"].match(title_line[:_LONGEST])
    title = found["title"].strip('" ') if found else title_line.strip()
    kind, notes = _kind(title, line)
    world, handle = _LINES["world"].search(title_line), _LINES["handle"].search(title_line)
    if world is None or handle is None:
        unreadable = _LINES["id"].search(title_line)
        (notes.warn if unreadable else notes.say)("the title does not name the VM and the disk", line)
    return {
        "world_group_id": int(world[1]) if world else None,
        "handle_id": int(handle[1]) if handle else None,
        "disk": handle["disk"] if handle else None,
        **kind,
    }, notes


def _kind(title: str, line: int) -> tuple[Row, Notes]:
    """Return the kind of a histogram, its direction and its unit, from its title."""
    low = title.lower()
    kind, unit = next(((kind, unit) for word, kind, unit in _KINDS if word in low), ("", None))
    if kind.endswith("_of_"):
        window = re.search(r"previous\s+(\d{1,4})", low)
        kind += window[1] if window else "last"
    direction = "read" if re.search(r"\breads?\b", low) else "write" if re.search(r"\bwrites?\b", low) else "all"
    notes = Notes()
    if not kind:
        notes.say(f"unknown histogram, kept: {title[:60]!r}", line)
        kind = re.sub(r"[^a-z0-9]+", "_", low).strip("_")[:60] or "unnamed"
    return {"histogram": kind, "direction": direction, "unit": unit}, notes


def _histogram(rows: list[tuple[int, str]], *, cut: bool) -> tuple[Row, list[_Bin], list[Note]]:
    """Return the values above the bins; (commands, limit, open end) of each bin; notes. `cut`: the last line is cut."""
    summary: Row = {}
    bins: list[_Bin] = []
    other: list[tuple[int, str]] = []
    notes = Notes()
    for number, line in rows:
        text = line.strip(' \t",;')
        if cut and number == rows[-1][0] and not text.endswith((")", "}")):
            notes.warn(f"the file ends in this line, left out: {text[:40]!r}", number)
            continue
        said = _LINES["summary"].fullmatch(text)
        found = _LINES["text_bin"].fullmatch(text) or _LINES["csv_bin"].fullmatch(text)
        if said:
            exact = float(said["number"]) if said["what"].lower() == "mean" else int(float(said["number"]))
            summary[said["what"].lower()] = exact if abs(exact) <= _LARGEST else None
        elif found and max(int(found["count"]), abs(int(found["limit"]))) <= _LARGEST:
            bins.append((int(found["count"]), int(found["limit"]), found.groupdict().get("sign") == ">"))
        else:
            other.append((number, line))
    return summary, bins, [*notes, *_strange(other)]


def _limits(bins: Sequence[_Bin]) -> Iterator[Row]:
    """Yield limits and count of each bin: the last repeats the limit before it, and has no end."""
    previous = None
    for place, (count, limit, over) in enumerate(bins):
        open_end = over or (place == len(bins) - 1 and limit == previous)
        yield {"from": limit if over else previous, "to": None if open_end else limit, "count": count}
        previous = limit


def _usual(histograms: Iterable[tuple[str, Sequence[_Bin]]]) -> dict[str, tuple[_Limit, ...]]:
    """Return the most common limits of each kind of histogram; among equally common ones, the longest."""
    found: dict[str, Counter[tuple[_Limit, ...]]] = {}
    for kind, bins in histograms:
        limits = tuple((row["from"], row["to"]) for row in _limits(bins))
        found.setdefault(kind, Counter())[limits] += 1
    return {kind: max(often, key=lambda limits: (often[limits], len(limits))) for kind, often in found.items()}


def _as_usual(bins: Sequence[_Bin], usual: Sequence[_Limit], line: int) -> tuple[list[Row], list[Note]]:
    """Return the bins of a histogram, with the usual intervals of its kind if it has the same limits."""
    rows = list(_limits(bins))
    own = {(row["from"], row["to"]) for row in rows}
    ends = {to: (begin, to) for begin, to in usual}
    known = [row["to"] in ends for row in rows]
    if own == {*usual} or sum(known) * 2 <= len(rows):
        return rows, []
    # Without its pair, the last limit may be of the open-ended bin or of the one before: unknown.
    alone = len(bins) > 0 and not bins[-1][2] and rows[-1]["to"] is not None and None in ends
    kept = [
        {"from": ends[row["to"]][0], "to": row["to"], "count": row["count"]}
        for place, row in enumerate(rows)
        if known[place] and not (alone and place == len(rows) - 1 and row["to"] == ends[None][0])
    ]
    missing = len(usual) - len({row["to"] for row in kept})
    what = f"{missing:,} of the {len(usual):,} bins that others of its kind have are missing"
    left = f", and {len(rows) - len(kept):,} left out because their limits are unknown" if len(kept) < len(rows) else ""
    return kept, [Note(f"{what}{left}: lines may be lost", line, severity="warning")]


def _check(summary: Row, bins: Sequence[_Bin], line: int) -> Iterator[Note]:
    """Yield notes on a histogram that does not agree with itself."""
    limits = [limit for _, limit, _ in bins]
    if any(low >= high for low, high in pairwise(limits[:-1])):
        yield Note("the limits of its bins do not rise: lines may be lost or repeated", line, severity="warning")
    if len(bins) < 2 or not (bins[-1][2] or limits[-1] == limits[-2]):  # noqa: PLR2004  two limits to compare
        yield Note("its last bin, for the largest values, is missing: lines may be lost", line, severity="warning")
    total = sum(count for count, _, _ in bins)
    if summary.get("count") is None:
        yield Note("a histogram that does not say how many commands it counts", line, severity="warning")
    elif summary["count"] != total:
        what = f"its bins hold {total:,} commands, its count says {summary['count']:,}"
        yield Note(f"{what}: lines may be lost, or it was printed while it changed", line, severity="warning")
