"""The section on data quality, which every report has beside the notes of its readers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from esxparse.quality.causes import Cause, causes
from esxparse.quality.check import check, stays
from esxparse.quality.results import Quality
from esxparse.recording import Recording, counted
from esxparse.reports.blocks import Block, note, stack, table
from esxparse.reports.columns import columns_of

LEVELS: Final = {"fail": "critical", "warn": "warning", "pass": "ok", "not judged": "info"}
"""Badges of statuses."""
_NAMES = ("file", "level", "what", "where", "time", "value", "expected", "means", "also")


def section(recordings: Sequence[Recording]) -> Block:
    """Return the results of `esxparse.check` for recordings: one row per fault."""
    large = [rec for rec in recordings if stays(rec)]
    found = [(Path(rec.source).name, check(rec)) for rec in recordings if rec not in large]
    left_out = [
        note(
            f"Data quality of {Path(rec.source).name} was not checked: that reads all of it. `esxparse check` does so."
        )
        for rec in large
    ]
    if not found:
        return stack(*left_out) if left_out else note("No recording was checked.")
    return stack(*left_out, faults(found))


def faults(found: Sequence[tuple[str, Quality]]) -> Block:
    """Return a table of the faults of recordings: one row per cause, with the other failed expectations it explains.

    `found`: names of files, with the results for each.
    """
    wrong = [_row(name, one) for name, quality in found for one in causes(quality)]
    failed = sum(len(quality.failed) + len(quality.warned) for _, quality in found)
    met = sum(len(quality.of("pass")) for _, quality in found)
    frame = pl.DataFrame(wrong, schema=dict.fromkeys(_NAMES, pl.String))
    columns = columns_of("quality.section", but=() if len(found) > 1 else ("file",))
    because = f" because of {counted(len(wrong), 'fault')}" if len(wrong) != failed else ""
    caption = f"Data quality: {counted(failed, 'expectation')} not met{because}, {met:,} met"
    return table(frame, columns, caption, f"Data quality: all {met:,} expectations are met.")


def _row(name: str, cause: Cause) -> dict[str, str | None]:
    one = cause.expectation
    return {
        "file": name,
        "level": LEVELS[cause.status],
        "what": f"{one.table}: {one.name}",
        "where": one.entity or None,
        "time": f"{one.time:%Y-%m-%d %H:%M:%S}" if one.time else None,
        "value": f"{one.value:,.6g}" if isinstance(one.value, float | int) else str(one.value),
        "expected": one.expected,
        "means": one.means,
        "also": cause.also or None,
    }
