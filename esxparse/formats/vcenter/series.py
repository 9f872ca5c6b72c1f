"""Series of counters, as the API returns them: values of one counter of one object, paired with times by position."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from esxparse.formats.kit.notes import Notes
from esxparse.formats.vcenter.columns import SCHEMAS
from esxparse.recording import counted, first_few
from esxparse.schema import TIME

_SHOWN: Final = 5
_SCHEMA: Final = {**SCHEMAS["samples"], "vcpus": pl.Int64()}
_HUNDREDTHS: Final = 100.0


@dataclass(frozen=True)
class Series:
    """The values of one counter and instance of one object."""

    entity: str | None
    entity_id: str | None
    counter: str
    instance: str
    unit: str | None
    times: np.ndarray[Any, np.dtype[np.int64]]
    """Microseconds since 1970, UTC."""
    intervals: np.ndarray[Any, np.dtype[np.float64]]
    """Seconds that the value at each time sums up or averages over."""
    values: np.ndarray[Any, np.dtype[np.float64]]
    """Not-a-number for a missing value."""
    in_hundredths: bool = False
    """Whether percentages are hundredths of a percent."""
    vcpus: int | None = None


def samples(series: Iterable[Series], notes: Notes) -> pl.DataFrame:
    """Return table `samples` with `vcpus`, sorted by object, counter, instance and time; add notes on what is left out.

    A series that is longer or shorter than its times is paired up to the shorter length. Of several values of one
    counter for one time the first is kept.
    """
    kept, parts = [], []
    empty: Counter[str] = Counter()
    uneven = Counter[str]()
    for one in series:
        length = min(len(one.times), len(one.values))
        if not len(one.values):
            empty[one.counter] += 1
            continue
        uneven[one.counter] += len(one.times) != len(one.values)
        kept.append(one)
        # polars multiplies by 0.01 instead, and 21.9 would become 21.900000000000002.
        values = one.values[:length] / (_HUNDREDTHS if one.in_hundredths else 1.0)
        parts.append((one.times[:length], one.intervals[:length], values))
    if not any(len(times) for times, _, _ in parts):
        _note(notes, empty, "without a value")
        return pl.DataFrame(schema=_SCHEMA)
    about, numbers = _ranked(kept)
    times, intervals, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    rows = pl.DataFrame(
        {
            "series": np.repeat(numbers, [len(part[0]) for part in parts]),
            "interval_s": pl.Series(intervals, nan_to_null=True),
            "time": pl.Series(times, dtype=pl.Int64()).cast(TIME),
            "value": pl.Series(values, nan_to_null=True),
        }
    )
    key = ["series", "interval_s", "time"]
    measured = rows.filter(pl.col("value").is_not_null()).sort(key, maintain_order=True)
    single = measured.unique(key, keep="first", maintain_order=True)
    missing, repeated = rows.height - measured.height, measured.height - single.height
    different = measured.unique([*key, "value"]).height - single.height if repeated else 0
    found = pl.concat([single.drop("series"), about[single["series"]]], how="horizontal")
    _note(notes, empty, "without a value")
    _note(notes, uneven, "with more or fewer values than times: paired up to the shorter length")
    if missing:
        notes.say(f"{counted(missing, 'value')} missing (-1 or empty)")
    if different:
        notes.warn(f"{counted(different, 'other value')} for a time that a series has already: left out")
    elif repeated:
        notes.say(f"{counted(repeated, 'value')} repeated for the same time")
    if any(one.in_hundredths for one in kept):
        notes.say("percentages are hundredths, as the API gives them: divided by 100")
    return found.select(_SCHEMA.keys())


def _ranked(kept: Sequence[Series]) -> tuple[pl.DataFrame, list[int]]:
    """Return the distinct series in order, as rows of their columns, and the row of each series."""
    keys = [(one.entity, one.entity_id, one.counter, one.instance) for one in kept]
    order = sorted(set(keys), key=lambda key: [text or "" for text in key])
    row_of = {key: row for row, key in enumerate(order)}
    first = dict(zip(reversed(keys), reversed(kept), strict=True))
    columns = ("entity", "entity_id", "counter", "instance", "unit", "vcpus")
    about = pl.DataFrame(
        [[getattr(first[key], column) for column in columns] for key in order],
        schema={column: _SCHEMA[column] for column in columns},
        orient="row",
    )
    return about, [row_of[key] for key in keys]


def _note(notes: Notes, counts: Counter[str], what: str) -> None:
    found = [name for name, count in counts.items() if count]
    if found:
        notes.say(f"{counts.total():,} series {what}: {first_few(sorted(found), _SHOWN)}")
