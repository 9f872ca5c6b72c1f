"""Lists in the drawer of the explorer: largest changes and similar series, with names, units and a small line."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import polars as pl

from esxparse.counters.series import series_name
from esxparse.derived.tables import described
from esxparse.diagnosis.changes import changes
from esxparse.diagnosis.likeness import similar
from esxparse.recording import Recording, printable

_ROWS: Final = 12
_POINTS: Final = 48
"""Most points of a small line."""


def changed(rec: Recording, at: datetime | None) -> dict[str, Any]:
    """Return the largest changes at a time, by default when most series changed together.

    Returns `at` (milliseconds; None without a common moment) and `rows`: `table`, `counter`, `instance`, `name`,
    `title` and `unit` (of the counter), `before`, `after`, `beyond`, `spark` (the series in at most 48 means), `at`
    (the place of the change in it, 0 to 1; None without a common moment).

    Raises EsxparseError: There are fewer than 12 samples, or the time is not within them.
    """
    found = changes(rec, at=at)
    rows = found.series.head(_ROWS).select("table", "counter", "instance", "before", "after", "beyond")
    frames = pl.collect_all([_series(rec, row) for row in rows.to_dicts()])
    listed = [
        {**row, "spark": _thinned(frame["value"]), "at": _share(frame["time"], found.at)}
        for row, frame in zip(with_names(rows), frames, strict=True)
    ]
    return {"at": None if found.at is None else found.at.timestamp() * 1000, "rows": listed}


def alike(rec: Recording, series: tuple[str, str, str], window: tuple[datetime, datetime]) -> list[dict[str, Any]]:
    """Return the series most like another one in a range of time: `diagnosis.likeness.similar` with names and units.

    Raises EsxparseError: As `similar`.
    """
    return with_names(similar(rec, series, window).head(_ROWS))


def with_names(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Return rows for the page, each with `name` (the text for its instance), and `title` and `unit`."""
    made = []
    for row in rows.to_dicts():
        known = described(row["table"], row["counter"])
        title = (known.screen or known.name) if known else f"{row['table']}.{row['counter']}"
        unit = known.unit if known else ""
        made.append({**row, "name": printable(row["instance"] or ""), "title": title, "unit": unit})
    return made


def _series(rec: Recording, row: dict[str, Any]) -> pl.LazyFrame:
    frame = rec.tables[row["table"]]
    mine = series_name(frame.collect_schema()).fill_null("") == (row["instance"] or "")
    return frame.filter(mine).group_by("time").agg(value=pl.col(row["counter"]).mean()).sort("time")


def _thinned(values: pl.Series) -> list[float | None]:
    """Return means of stretches of equal length."""
    each = -(-len(values) // _POINTS)
    groups = values.to_frame("value").with_row_index("place").group_by(pl.col("place") // each, maintain_order=True)
    return groups.agg(pl.col("value").mean().round_sig_figs(4))["value"].to_list()


def _share(times: pl.Series, at: datetime | None) -> float | None:
    if at is None or len(times) < 2:  # noqa: PLR2004  two ends
        return None
    return float((at - times[0]) / (times[-1] - times[0]))
