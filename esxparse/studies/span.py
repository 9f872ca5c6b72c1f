"""The measured span of a run: the samples of its capture that count."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.metrics.steady import measured_span
from esxparse.studies.entries import WindowSpec

_ZONE: Final = timedelta(minutes=30)
_FURTHEST: Final = timedelta(hours=14)


@dataclass(frozen=True)
class Span:
    """The time span in which a run is measured."""

    start: datetime
    end: datetime
    first: bool = False
    """Whether the sample at `start` is included: it is the first of the capture, and nothing was cut."""

    @property
    def seconds(self) -> float:
        """The length in seconds."""
        return (self.end - self.start).total_seconds()

    def inside(self) -> pl.Expr:
        """Return whether a sample is in the span: each covers the interval that ends at its time."""
        time = pl.col("time")
        return ((time >= self.start) if self.first else (time > self.start)) & (time <= self.end)


def measured(
    window: WindowSpec,
    first: datetime,
    last: datetime,
    interval: float | None,
    own: Span | None,
    *,
    of: str = "the capture",
) -> Span:
    """Return the measured span of a run whose capture goes from `first` to `last`; `of` is for messages.

    The span begins at the window's start, the start of the load generator's run (`own`), or the first sample. It ends
    at the window's end, the end of that run, or the last sample. Of this, `warmup` is left out and `measure` kept. A
    span may exceed the capture by one interval, because samples and load generators do not start at the same moment.

    >>> from esxparse.studies.entries import WindowSpec
    >>> span = measured(WindowSpec(120, 120), datetime(2015, 11, 2, 9), datetime(2015, 11, 2, 9, 5), 5.0, None)
    >>> f"{span.start:%H:%M:%S} {span.end:%H:%M:%S}"
    '09:02:00 09:04:00'
    """
    slack = timedelta(seconds=interval or 0.0)
    begin, stop = window.start or first, window.end or last
    if window.span:
        if own is None:
            msg = f"the window is the span of {window.span}, which its files do not contain: give start and end"
            raise EsxparseError(msg)
        begin, stop = own.start, own.end
    if begin < first - slack or stop > last + slack or begin > last or stop < first:
        raise _outside(window, (begin, stop), (first, last), of)
    begin, stop = max(begin, first), min(stop, last)
    start, end = measured_span(begin, stop, window.warmup_s, window.measure_s)
    return Span(start, end, first=start == first and window.start is None and not window.span)


def _outside(
    window: WindowSpec, wanted: tuple[datetime, datetime], there: tuple[datetime, datetime], of: str
) -> EsxparseError:
    begin, stop = wanted
    first, last = there
    what = f"the run of {window.span}" if window.span else "the window"
    days = "%Y-%m-%dT%H:%M:%S"
    requested = f"from {begin:{days}} on" if begin > stop else f"{begin:{days}} to {stop:{days}}"
    message = f"{what} ({requested}) is not within {of} ({first:{days}} to {last:{days}} UTC)"
    if window.span:
        shift = _shift(begin, stop, first, last)
        shift_text = f"{'-' if shift < timedelta(0) else ''}{abs(shift) // timedelta(minutes=1)}m" if shift else None
        message += (
            f": it would be with clock = {shift_text!r} for that file, as for a clock in local time"
            if shift_text
            else ": record longer, or set clock = ... for that file to the offset of its times"
        )
    else:
        message += ": change start or end"
    return EsxparseError(message)


def _shift(begin: datetime, stop: datetime, first: datetime, last: datetime) -> timedelta | None:
    """Return the time zone offset that puts a span into a capture; None unless exactly one does."""
    steps = int(_FURTHEST / _ZONE)
    fitting = [
        step * _ZONE
        for step in range(-steps, steps + 1)
        if step and first <= begin + step * _ZONE and stop + step * _ZONE <= last
    ]
    return fitting[0] if len(fitting) == 1 else None
