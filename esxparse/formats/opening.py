"""The options for opening a recording: one class for all functions and commands.

`esxparse.open`, `convert`, `report`, the slicer, studies and the command line all take the same options, check them
here, and pass the same `Opening` to the readers. The module imports nothing slow, as the command line's help needs it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any, Final, Literal, TypedDict, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from esxparse.errors import EsxparseError, did_you_mean
from esxparse.formats import memory

Day = date
"""The type, under a name that no option has."""

DateOrder = Literal["mdy", "dmy", "ymd"]

DATE_ORDERS: Final[tuple[str, ...]] = get_args(DateOrder)

Decimal = Literal["point", "comma"]

DECIMALS: Final[tuple[str, ...]] = get_args(Decimal)

PATIENCE_S: Final = 60.0
"""Default seconds to wait for each answer of a server, and for each piece of an answer."""

_DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>s|sec|m|min|h|d|w)")
_SECONDS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}
_TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class Window:
    """The samples to read: from `start` to `end`, both included, and of those the first in each period of `every`."""

    start: datetime | None = None
    end: datetime | None = None
    every: timedelta | None = None

    def __str__(self) -> str:
        """Return the window in words."""
        parts = [
            f"from {self.start:%Y-%m-%dT%H:%M:%S}" if self.start else "",
            f"to {self.end:%Y-%m-%dT%H:%M:%S}" if self.end else "",
        ]
        return " ".join(part for part in parts if part) or "all of it"


EVERYTHING = Window()


def moment(value: str | date | None, name: str) -> datetime | None:
    """Return a time in UTC, from a datetime (UTC if it has no zone), a date, or text such as `2026-03-11T09:02`.

    Raises:
        EsxparseError: It cannot be read as a time.
    """
    if value is None or value == "":
        return None
    try:
        if isinstance(value, date) and not isinstance(value, datetime):
            value = value.isoformat()
        time = datetime.fromisoformat(value.strip()) if isinstance(value, str) else value
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except OverflowError:
        msg = f"{name} {value!s} is outside the years 1 to 9999 in UTC: write it as 2026-03-11T09:02 (UTC)"
    except (ValueError, AttributeError):
        msg = f"{name} {value!r} is not a time: write it as 2026-03-11T09:02 or 2026-03-11 09:02:30 (UTC)"
    raise EsxparseError(msg)


def day(value: str | date | None, name: str = "date") -> date | None:
    """Return a day: a date, the day of a datetime, or text such as `2026-03-11`.

    Raises:
        EsxparseError: It is not a day.
    """
    if value is None or value == "":
        return None
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value.strip())
    except (ValueError, AttributeError):
        raise EsxparseError(f"{name} {value!r} is not a day: write it as 2026-03-11") from None


def period(value: str | timedelta | None, name: str) -> timedelta | None:
    """Return a length of time: a timedelta, or text such as `30s`, `5m`, `1h`.

    Raises:
        EsxparseError: It is not a length of time, or it is not above zero.
    """
    if value is None or value == "":
        return None
    length: object = value
    if isinstance(value, str):
        match = _DURATION.fullmatch(value.strip())
        try:
            length = timedelta(seconds=float(match["number"]) * _SECONDS[match["unit"]]) if match else None
        except OverflowError:
            msg = f"{name} {value!r} is longer than any recording: write a length as 30s, 5m or 1h"
            raise EsxparseError(msg) from None
    if not isinstance(length, timedelta) or length <= timedelta(0):
        raise EsxparseError(f"{name} {value!r} is not a length of time: write it as 30s, 5m or 1h")
    return length


def _seconds(value: str | float | timedelta | None, name: str) -> float | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value > 0:
        return float(value)
    if isinstance(value, str) and re.fullmatch(r"\s*\d+(?:\.\d+)?\s*", value):
        return _seconds(float(value), name)
    length = period(value if isinstance(value, (str, timedelta)) or value is None else str(value), name)
    return None if length is None else length.total_seconds()


def _number(value: str | int | None, name: str) -> int | None:
    """Return a place that is counted from 1."""
    text = str(value).strip()
    # Numbers longer than any count of captures are refused before they are converted.
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise EsxparseError(f"{name} is {value!r}: give its number, from 1")
    # Every file has a first capture: requesting it changes nothing.
    return int(text) if int(text) > 1 else None


def _one_of(choices: tuple[str, ...]) -> Callable[[str | None, str], str | None]:
    """Return the check of an option with a few choices."""

    def check(value: str | None, name: str) -> str | None:
        if value not in choices:
            raise EsxparseError(f"{name} is {value!r}: choose from {', '.join(choices)}")
        return value

    return check


def _text(value: str | None, name: str) -> str | None:
    if not isinstance(value, str):
        raise EsxparseError(f"{name} is {value!r}: give its name")
    return value


def zone_of(text: str) -> tzinfo:
    """Return the zone of a text: an offset from UTC (`+02:00`), or a name (`Europe/Berlin`) with daylight saving.

    Raises:
        ValueError: It is neither.
    """
    if re.fullmatch(r"[+-]\d{2}:?\d{2}", text):
        hours, minutes = int(text[1:3]), int(text[-2:])
        if minutes >= 60:  # noqa: PLR2004  minutes of an hour
            raise ValueError(text)
        return timezone((-1 if text[0] == "-" else 1) * timedelta(hours=hours, minutes=minutes))
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, OSError):
        raise ValueError(text) from None


def _zone(value: str | None, name: str) -> str | None:
    try:
        zone_of(value.strip() if isinstance(value, str) else "")
    except ValueError:
        raise EsxparseError(f"{name} is {value!r}: write it as +02:00 or as a name such as Europe/Berlin") from None
    return value.strip() if value else None


def _truth(value: str | bool | None, name: str) -> bool | None:
    if str(value).casefold() not in _TRUTHS:
        raise EsxparseError(f"{name} is {value!r}: say true or false")
    return _TRUTHS[str(value).casefold()]


class Options(TypedDict, total=False):
    """The options of `esxparse.open`, documented there, as callers write them; any may be text."""

    member: str | None
    start: str | Day | None
    end: str | Day | None
    every: str | timedelta | None
    lazy: bool | None
    segment: int
    date_order: DateOrder | None
    date: str | Day | None
    decimal: Decimal | None
    zone: str | None
    format: str | None
    time_column: str | None
    value_column: str | None
    counter_info: str | None
    timeout: float | str | timedelta | None
    memory_limit: str | int | None


@dataclass(frozen=True, kw_only=True)
class Opening:
    """The checked options of `esxparse.open`, which documents them; `Opening.of` checks a caller's options."""

    member: str | None = field(default=None, metadata={"read": _text})
    start: datetime | None = field(default=None, metadata={"read": moment})
    end: datetime | None = field(default=None, metadata={"read": moment})
    every: timedelta | None = field(default=None, metadata={"read": period})
    lazy: bool | None = field(default=None, metadata={"read": _truth})
    segment: int | None = field(default=None, metadata={"read": _number})
    date_order: DateOrder | None = field(default=None, metadata={"read": _one_of(DATE_ORDERS)})
    date: Day | None = field(default=None, metadata={"read": day})
    decimal: Decimal | None = field(default=None, metadata={"read": _one_of(DECIMALS)})
    zone: str | None = field(default=None, metadata={"read": _zone})
    format: str | None = field(default=None, metadata={"read": _text})
    time_column: str | None = field(default=None, metadata={"read": _text})
    value_column: str | None = field(default=None, metadata={"read": _text})
    counter_info: str | None = field(default=None, metadata={"read": _text})
    timeout: float | None = field(default=None, metadata={"read": _seconds})
    memory_limit: int | None = field(default=None, metadata={"read": memory.limit})

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Opening:
        """Return the options, each read and checked; None and empty text count as not set.

        Raises:
            EsxparseError: An option is unknown, or its value is unusable.
        """
        unknown = next((name for name in options if name not in NAMES), None)
        if unknown is not None:
            msg = f"there is no option {unknown!r} for opening a recording; {did_you_mean(unknown, NAMES)}"
            raise EsxparseError(f"{msg}the options are: {', '.join(NAMES)}")
        present = {name: value for name, value in options.items() if value is not None and value != ""}
        made = cls(**{name: _READ[name](value, name) for name, value in present.items()})
        if made.start and made.end and made.end < made.start:
            raise EsxparseError(f"the window ends before it begins ({made.window}): change start or end")
        return made

    @property
    def window(self) -> Window:
        """The samples to read."""
        return Window(self.start, self.end, self.every)

    def said(self) -> dict[str, Any]:
        """Return the options that are set, by name."""
        return {name: value for name in NAMES if (value := getattr(self, name)) is not None}

    def texts(self) -> dict[str, Any]:
        """Return the options that are set, as text, numbers and booleans, which `of` reads back."""
        return {name: _written(value) for name, value in self.said().items()}


def _written(value: Any) -> Any:
    if isinstance(value, timedelta):
        return f"{value.total_seconds():.6f}".rstrip("0").rstrip(".") + "s"
    return value.isoformat() if isinstance(value, date) else value


_READ: Final = {one.name: one.metadata["read"] for one in fields(Opening)}
NAMES: Final = tuple(_READ)
"""The options, in their order."""

AS_FOUND: Final = Opening()
"""No options: the file decides."""
