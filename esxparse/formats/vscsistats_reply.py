"""Histograms in the reply of `FetchAllHistograms` (vSphere API, service VscsiStats).

The reply nests `<vscsiStats>`, `<VM>`, `<VirtualDisk>` and `<histo>`, with lines of `key: value` between the tags. The
first line of a histogram is its name and title; `limits` and `counts` have a number for each bin, and the last limit is
the largest number of 64 bits.

Source: the parser of vSphere's Ruby console (rvc); no reply of a host was available.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from esxparse.formats.kit.notes import Notes

_TAG: Final = re.compile(r"<(?P<end>/?)(?P<name>vscsiStats|VM|VirtualDisk|histo)\s*>", re.IGNORECASE)
_MAX: Final = (1 << 63) - 1
_WHOLE: Final = re.compile(r"[+-]?\d{1,19}")

Line = tuple[int, str]
"""Number of a line, and its text."""


@dataclass
class Block:
    """One histogram: where it begins, its title, VM and disk; the values above the bins, and its bins."""

    line: int
    title: str
    of_vm: dict[str, str]
    of_disk: dict[str, str]
    """What the reply says of them, before or behind the histograms: complete once all of it is read."""
    summary: list[Line] = field(default_factory=list)
    bins: list[tuple[int, int, bool]] = field(default_factory=list)
    """Commands, limit, and whether it is the bin without an end."""

    @property
    def names(self) -> tuple[str | None, str | None, str | None]:
        """Name and id of the VM, and the disk."""
        return self.of_vm.get("vm display name"), self.of_vm.get("vc uuid"), self.of_disk.get("virtual disk name")


def is_reply(text: str) -> bool:
    """Return whether a text is such a reply."""
    found = _TAG.search(text)
    return found is not None and found["name"].lower() == "vscsistats"


def blocks(text: str, notes: Notes) -> Iterator[Block]:
    """Yield the histograms of a reply."""
    vm: dict[str, str] = {}
    disk: dict[str, str] = {}
    pieces = list(_pieces(text))
    cut = pieces[-1][:2] != ("vscsistats", True)
    for place, (name, ends, lines) in enumerate(pieces, 1):
        values = dict(_pairs(lines))
        if name == "vm":
            vm, disk = ({}, {}) if ends else (values, {})
        elif name == "virtualdisk":
            disk = {} if ends else values
            vm.update(values if ends else {})
        elif name == "histo" and not ends:
            # The last line of a reply that is cut may have lost digits.
            whole = lines[:-1] if cut and place == len(pieces) else lines
            if block := _block(whole, vm, disk, notes):
                yield block
        elif lines:
            # It follows the end of a histogram, and belongs to the disk around it.
            disk.update(values)
    if cut:
        notes.warn("the reply is cut: its last line is left out", text.count("\n") + 1)


def _pieces(text: str) -> Iterator[tuple[str, bool, list[Line]]]:
    """Yield each tag, whether it ends its element, and the lines between it and the next tag."""
    tags = list(_TAG.finditer(text))
    line, counted = 1, 0
    for place, tag in enumerate(tags):
        line += text.count("\n", counted, tag.end())
        counted = tag.end()
        stop = tags[place + 1].start() if place + 1 < len(tags) else len(text)
        lines = [(line + n, one.strip()) for n, one in enumerate(text[tag.end() : stop].split("\n")) if one.strip()]
        yield tag["name"].lower(), bool(tag["end"]), lines


def _pairs(lines: list[Line]) -> Iterator[tuple[str, str]]:
    for _, line in lines:
        key, _, value = line.partition(":")
        yield key.strip().lower(), html.unescape(value.strip())


def _block(lines: list[Line], vm: dict[str, str], disk: dict[str, str], notes: Notes) -> Block | None:
    if not lines:
        return None
    (begin, head), *rest = lines
    title = head.partition(": ")[2] or head
    found = Block(begin, title, vm, disk)
    lists: dict[str, list[int]] = {}
    for number, line in rest:
        key, _, value = line.partition(":")
        if key.strip().lower() in {"limits", "counts"}:
            lists[key.strip().lower()] = _numbers(value, number, notes)
        elif key.strip().lower() != "numbuckets":
            found.summary.append((number, line))
    limits, counts = lists.get("limits", []), lists.get("counts", [])
    if len(limits) != len(counts):
        what = f"a histogram with {len(limits):,} limits and {len(counts):,} counts"
        notes.warn(f"{what}: bins without either are left out", begin)
    for place, (limit, count) in enumerate(zip(limits, counts, strict=False)):
        over = limit == _MAX
        found.bins.append((count, limits[place - 1] if over and place else limit, over))
    return found


def _numbers(text: str, line: int, notes: Notes) -> list[int]:
    cells = [cell.strip() for cell in text.strip().strip(",").split(",")]
    kept = [int(cell) for cell in cells if _WHOLE.fullmatch(cell) and abs(int(cell)) <= _MAX]
    if len(kept) != len(cells):
        # A number that is missing moves all those after it.
        notes.warn("a list of limits or counts with something else than whole numbers: left out", line)
        return []
    return kept
