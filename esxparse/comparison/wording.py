"""Differences in words: numbers with their units, rise or fall, and the load beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from esxparse.comparison.loads import effect
from esxparse.comparison.table import SAME, TOO_FEW
from esxparse.diagnosis.finding import NOUNS
from esxparse.recording import counted, printable

_PLAIN: Final = {"count": "", "0 or 1": "", "ratio": "", "commands": "", "state": "", "0 to 255": ""}
_MANY: Final = 1000
_HOLD_DIGITS: Final = 3
_MOVED_PCT: Final = 5.0


def number(value: float | None) -> str:
    """Return a number with three significant digits.

    >>> number(1234.5), number(12.34), number(0.0123), number(0.0)
    ('1,234', '12.3', '0.012', '0')
    """
    if value is None or math.isnan(value):
        return "unknown"
    if value == 0:
        return "0"
    if abs(value) >= _MANY:
        return f"{value:,.0f}"
    decimals = max(0, min(3, _HOLD_DIGITS - 1 - math.floor(math.log10(abs(value)))))
    return f"{value:.{decimals}f}"


def unit(of: str) -> str:
    """Return a unit as it follows a number; empty for counts."""
    symbol = _PLAIN.get(of, of)
    return f" {symbol}" if symbol else ""


def percent(change_pct: float | None) -> str:
    """Return a change in percent, without its sign; empty if it is not known."""
    if change_pct is None:
        return ""
    size = abs(change_pct)
    return f" {size:.1f} %" if size < 10 else f" {size:,.0f} %"  # noqa: PLR2004


def who(row: Mapping[str, Any]) -> str:
    """Return the object of a row: `VM db-1`, `device naa.1`, `the host`."""
    name = printable(row["instance"])
    kind = NOUNS.get(row["table"], row["table"])
    return "host" if name == "host" else f"{kind} {name}" if name else kind


def step(row: Mapping[str, Any]) -> str:
    """Return the change of a series in words: `guest latency fell 30 % (20.0 to 14.0 ms)`."""
    verb = "rose" if row["change"] > 0 else "fell"
    values = f"{number(row['before'])} to {number(row['after'])}{unit(row['unit'])}"
    return f"{row['name']} {verb}{percent(row['change_pct'])} ({values})"


def interval(row: Mapping[str, Any]) -> str:
    """Return the interval of a change; empty without one."""
    if row["change_low"] is None or row["change_high"] is None:
        return ""
    return f"{_signed(row['change_low'])} to {_signed(row['change_high'])}"


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'}{number(abs(value))}"


def load_name(row: Mapping[str, Any]) -> str:
    """Return the load of a row in words; empty if it has no load."""
    if row["load"] is None:
        return ""
    table, _, column = row["load"].partition(".")
    about = effect(table, column)
    return about.name if about else column


def load(row: Mapping[str, Any]) -> str:
    """Return the change of a row's load, as the end of a sentence; empty if its load is unknown."""
    if row["load"] is None or row["load_before"] is None or row["load_after"] is None:
        return ""
    table, _, column = row["load"].partition(".")
    about = effect(table, column)
    name, of = load_name(row), about.unit if about else ""
    moved = row["load_change_pct"]
    values = f"{number(row['load_before'])} to {number(row['load_after'])}{unit(of)}"
    if not row["load_explains"] and moved is not None and abs(moved) < _MOVED_PCT:
        return f", at the same load ({name} {values})"
    verb = "rose" if row["load_after"] > row["load_before"] else "fell"
    before = ", but so did the load:" if row["load_explains"] else ", while"
    return f"{before} {name} {verb}{percent(moved)} ({values})"


def sentence(row: Mapping[str, Any]) -> str:
    """Return a row of the table as a sentence."""
    if row["verdict"] == TOO_FEW:
        needs = f": about {counted(row['samples_needed'], 'sample')} needed" if row["samples_needed"] else ""
        return f"{who(row)}: {row['name']}: too few samples to tell{needs}."
    if row["verdict"] == SAME or row["change"] is None:
        return f"{who(row)}: {row['name']}: {row['verdict']}."
    return f"{who(row)}: {step(row)}{load(row)}."
