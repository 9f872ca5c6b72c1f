"""The page of `esxparse check --format html`: the faults of each recording, in the look of the reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from esxparse.locations import legible
from esxparse.quality.causes import causes
from esxparse.quality.results import STATUSES, Quality
from esxparse.recording import counted, printable
from esxparse.reports import export
from esxparse.reports.blocks import Block, facts, note
from esxparse.reports.quality import LEVELS, faults
from esxparse.version import __version__

_ADVICE: Final = {
    "fail": "No sound recording does this: find out why before you use numbers of this file.",
    "warn": "Look at these rows before you believe the numbers.",
    "pass": "",
}


def page(found: Sequence[Quality]) -> str:
    """Return the page, as self-contained HTML; recordings with failures first."""
    ordered = sorted(found, key=lambda quality: STATUSES.index(quality.status))
    header = {"title": _title(ordered), "subtitle": _ADVICE[ordered[0].status] if ordered else ""}
    sections = []
    for number, quality in enumerate(ordered, 1):
        sections.append(export.Section(_name(quality), f"check-{number}"))
        sections[-1].add(export.Piece(_verdict(quality).html))
    made = export.Section("Where this page comes from", "source")
    made.add(export.Piece(facts([("Program", f"esxparse {__version__}"), ("Command", "esxparse check")]).html))
    return export.written(header, [*sections, made])


def _title(found: Sequence[Quality]) -> str:
    if len(found) > 1:
        wrong = sum(quality.status != "pass" for quality in found)
        return (
            f"Data quality: {wrong:,} of {len(found):,} recordings have faults" if wrong else "Data quality: no faults"
        )
    count = len(causes(found[0]))
    return f"Data quality: {counted(count, 'fault') if count else 'no fault'} in {_name(found[0])}"


def _verdict(quality: Quality) -> Block:
    if quality.failed or quality.warned:
        return faults([(_name(quality), quality)])
    return note(quality.verdict, LEVELS[quality.status if quality.of("pass") else "not judged"])


def _name(quality: Quality) -> str:
    """Return the names of files: a page contains no local paths."""
    return printable(", ".join(legible(Path(one).name) for one in quality.source.split(", ")))
