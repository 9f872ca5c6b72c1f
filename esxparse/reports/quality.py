"""The section on data quality, which every report has beside the notes of its readers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from esxparse.quality.check import check, stays
from esxparse.recording import Recording, counted
from esxparse.reports.blocks import Block, note, stack, table
from esxparse.reports.columns import columns_of

_LEVELS = {"fail": "critical", "warn": "warning"}


def section(recordings: Sequence[Recording]) -> Block:
    """What `esxparse.check` found in recordings: one row per expectation that is not met."""
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
    wrong = [
        {
            "file": name,
            "level": _LEVELS[one.status],
            "what": f"{one.table}: {one.name}",
            "where": one.entity,
            "time": f"{one.time:%Y-%m-%d %H:%M:%S}" if one.time else None,
            "value": f"{one.value:,.6g}" if isinstance(one.value, float | int) else str(one.value),
            "expected": one.expected,
            "means": one.means,
        }
        for name, quality in found
        for one in (*quality.failed, *quality.warned)
    ]
    met = sum(len(quality.of("pass")) for _, quality in found)
    names = ("file", "level", "what", "where", "time", "value", "expected", "means")
    frame = pl.DataFrame(wrong, schema=dict.fromkeys(names, pl.String))
    columns = columns_of("quality.section", but=() if len(found) > 1 else ("file",))
    caption = f"Data quality: {counted(len(wrong), 'expectation')} not met, {met:,} met"
    return stack(*left_out, table(frame, columns, caption, f"Data quality: all {met:,} expectations are met."))
