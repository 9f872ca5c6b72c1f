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
_KEY: Final = ["entity", "entity_id", "counter", "instance", "interval_s", "time"]
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
        return pl.DataFrame(schema={**SCHEMAS["samples"], "vcpus": pl.Int64()})
    found = _frame(kept, parts)
    missing = found["value"].null_count()
    found = found.filter(pl.col("value").is_not_null())
    different = found.unique([*_KEY, "value"]).height
    rows = found.height
    found = found.unique(_KEY, keep="first", maintain_order=True).sort(_KEY)
    _note(notes, empty, "without a value")
    _note(notes, uneven, "with more or fewer values than times: paired up to the shorter length")
    if missing:
        notes.say(f"{counted(missing, 'value')} missing (-1 or empty)")
    if different > found.height:
        notes.warn(f"{counted(different - found.height, 'other value')} for a time that a series has already: left out")
    elif rows > found.height:
        notes.say(f"{counted(rows - found.height, 'value')} repeated for the same time")
    if any(one.in_hundredths for one in kept):
        notes.say("percentages are hundredths, as the API gives them: divided by 100")
    return found


def _frame(kept: Sequence[Series], parts: Sequence[tuple[Any, Any, Any]]) -> pl.DataFrame:
    place = np.repeat(np.arange(len(kept)), [len(times) for times, _, _ in parts])
    about = pl.DataFrame(
        [(one.entity, one.entity_id, one.counter, one.instance, one.unit, one.vcpus) for one in kept],
        schema={name: SCHEMAS["samples"][name] for name in ("entity", "entity_id", "counter", "instance", "unit")}
        | {"vcpus": pl.Int64()},
        orient="row",
    )
    times, intervals, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    return (
        about[place]
        .with_columns(
            pl.Series("time", times, dtype=pl.Int64()).cast(TIME),
            pl.Series("interval_s", intervals, dtype=pl.Float64(), nan_to_null=True),
            pl.Series("value", values, dtype=pl.Float64(), nan_to_null=True),
        )
        .select(*SCHEMAS["samples"], "vcpus")
    )


def _note(notes: Notes, counts: Counter[str], what: str) -> None:
    found = [name for name, count in counts.items() if count]
    if found:
        notes.say(f"{counts.total():,} series {what}: {first_few(sorted(found), _SHOWN)}")
