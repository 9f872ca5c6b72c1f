"""A page against what is expected of it: each number is checked, quoted, listed as not derivable, or an error."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from page_oracle.page import MOMENT, NUMBER, masked, numbers, value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from page_oracle.page import Chart, Page, Table

Parts = tuple
"""A text as it must be: literals, numbers as printed to any resolution, and `...` for words that are left open."""
ABSENT = "\N{EN DASH}"
CHART_DIGITS = 3
"""Decimals that charts have at least, if their numbers have any."""
KINDS = {"quantitative": "number", "temporal": "time"}
TIMES = {"time", "until", "end", "start"}


@dataclass
class Rows:
    """Rows of the tables, or points of the charts, whose caption or title matches `pattern`.

    `key`: heads or fields that tell rows apart. `values`: what each row must have, in order, by head or field; None is
    a dash, a tuple a text, a list several right numbers; of tables also a function of the caption. Every row must be
    there, and no other.
    `some`: pages may leave rows out. `partly`: rows that are not in `values` are left open. `once`: two rows of one
    key would be drawn upon each other. `scales`: units that the axis of points may have, with the factor to each.
    `about`: the words below a chart's title; of charts of one title they tell which is which. `choice`: the page
    chooses among the columns.
    """

    pattern: str
    key: tuple[str, ...]
    values: Mapping[tuple, Mapping[str, float | str | None]] | Callable[[str], Mapping]
    some: bool = False
    ordered: bool = True
    once: bool = False
    partly: bool = False
    scales: Mapping[str, float] = field(default_factory=dict)
    about: Parts | None = None
    choice: bool = False


@dataclass
class Expected:
    """What a page must show."""

    tiles: dict[str, tuple[Parts, Parts] | list[tuple[Parts, Parts]]] = field(default_factory=dict)
    """By label what is large and what is small; a list if several tiles have one label."""
    facts: dict[str, Parts] = field(default_factory=dict)
    """What the end of the page must say of its inputs."""
    texts: list[Parts] = field(default_factory=list)
    """Sentences that must be there."""
    may: list[Parts] = field(default_factory=list)
    """Sentences that may be there: captions, and words that stand for a choice."""
    tables: list[Rows] = field(default_factory=list)
    charts: list[Rows] = field(default_factory=list)
    quoted: str = ""
    """Text of the template: what is in it verbatim is no measurement."""


@dataclass
class Result:
    """What became of the numbers of a page."""

    checked: int = 0
    quoted: int = 0
    open: Counter = field(default_factory=Counter)
    """Numbers that nothing is known of, by place."""
    wrong: list[str] = field(default_factory=list)

    def leave(self, place: str, count: int) -> None:
        """Counts numbers of a place that nothing is known of."""
        if count:
            self.open[place] += count


def compare(page: Page, expected: Expected) -> Result:
    """Binds every number of a page to its place and compares it with what must be there."""
    result = Result()
    page = replace(page, charts=[_titled(chart, expected, result) for chart in page.charts])
    _tiles(page, expected, result)
    _texts(page, expected, result)
    for table in page.tables:
        _table(table, expected, result)
    for chart in page.charts:
        _chart(chart, expected, result)
    _missing("table", [table.caption for table in page.tables], re.match, expected.tables, result)
    _missing("chart", [chart.title for chart in page.charts], re.fullmatch, expected.charts, result)
    return result


def _titled(chart: Chart, expected: Expected, result: Result) -> Chart:
    """The chart by the title that says what is drawn, if its own says what is seen: a number of the chart each."""
    drawn, _, rest = chart.subtitle.partition("; ")
    if not any(re.fullmatch(rows.pattern, drawn) for rows in expected.charts):
        return chart
    rows = [row for rows in chart.spec.get("datasets", {}).values() for row in rows]
    cells = [cell for row in rows for cell in row.values()]
    there = [float(one) for one in cells if isinstance(one, int | float)]
    there += [value(one.group())[0] for cell in (*cells, drawn) if isinstance(cell, str) for one in numbers(cell)]
    told = [one.group() for one in numbers(chart.title)]
    wrong = [one for one in told if not any(close(one, number) for number in there)]
    result.wrong += [f"chart: {chart.title}: {one} is not in the chart" for one in wrong]
    return replace(chart, title=drawn, subtitle=rest[:1].upper() + rest[1:])


def _missing(kind: str, there: Sequence[str], fits: Callable, wanted: Sequence[Rows], result: Result) -> None:
    """Reports the tables or charts that the page must have and has not."""
    for rows in wanted:
        must = rows.values and not rows.some and not rows.partly
        if must and not any(fits(rows.pattern, text) for text in there):
            result.wrong.append(f"{kind}: {rows.pattern} is missing")


def unlisted(result: Result, listed: Mapping[str, Mapping]) -> tuple[dict[str, int], dict[str, int]]:
    """Open numbers that no entry lists, and how many each entry covers."""
    left, covered = {}, Counter()
    for place, count in result.open.items():
        name = next((name for name in listed if fnmatchcase(place, name)), None)
        if name is None:
            left[place] = count
        else:
            covered[name] += count
    return left, dict(covered)


def close(printed: str, wanted: float) -> bool:
    """Whether a printed number is the wanted one within what its last digit tells."""
    number, half = value(printed)
    return math.isclose(number, wanted, rel_tol=1e-9, abs_tol=half * (1 + 1e-6) + 1e-12)


def pattern_of(parts: Parts) -> re.Pattern[str]:
    """The expression that a text made of literals and numbers matches; numbers, and what is left open, are groups."""
    made = (
        re.escape(part) if isinstance(part, str) else "(.*?)" if part is ... else f"({NUMBER.pattern})"
        for part in parts
    )
    return re.compile("".join(made))


def _bind(text: str, parts: Parts, place: str, result: Result) -> bool:
    """Whether the text is of these parts; then its numbers are compared."""
    found = pattern_of(parts).fullmatch(text)
    if not found:
        return False
    wanted = [part for part in parts if not isinstance(part, str)]
    left = sum(len(numbers(printed)) for printed, part in zip(found.groups(), wanted, strict=True) if part is ...)
    result.leave(place, left)
    result.quoted += max(len(numbers(text)) - left - sum(part is not ... for part in wanted), 0)
    for printed, number in zip(found.groups(), wanted, strict=True):
        if number is ...:
            continue
        result.checked += 1
        if number is None or not close(printed, number):
            result.wrong.append(f"{place}: {printed} in {text!r} must be {number}")
    return True


def _tiles(page: Page, expected: Expected, result: Result) -> None:
    seen: Counter = Counter()
    for label, text, small in page.tiles:
        name = masked(label)
        wanted = expected.tiles.get(label)
        if isinstance(wanted, list):
            wanted = wanted[seen[label]] if seen[label] < len(wanted) else ((), ())
        seen[label] += 1
        for shown, parts in zip((text, small), wanted or (None, None), strict=True):
            place = f"tile: {name}"
            if parts is None:
                result.leave(place, len(numbers(shown)))
            elif not _bind(shown, parts, place, result):
                result.wrong.append(f"{place}: {shown!r} must be {parts}")
    for label, parts in expected.facts.items():
        shown = dict(page.facts).get(label, "")
        if not _bind(shown, parts, f"fact: {label}", result):
            result.wrong.append(f"fact: {label}: {shown!r} must be {parts}")
    for label, must in expected.tiles.items():
        if seen[label] < (len(must) if isinstance(must, list) else 1):
            result.wrong.append(f"tile: {label} is missing")


def _texts(page: Page, expected: Expected, result: Result) -> None:
    left = list(expected.texts)
    for section, kind, text in page.texts:
        _text(f"text: {section}: {kind}", text, expected, left, result)
    for table in page.tables:
        _text("text: caption", table.caption, expected, left, result)
    for chart in page.charts:
        _text(f"chart: {masked(chart.title)}: title", chart.title, expected, left, result)
        if not any(_is_about(chart, rows) for rows in expected.charts):
            _text(f"chart: {masked(chart.title)}: subtitle", chart.subtitle, expected, left, result)
    result.wrong += [f"text: {parts} is missing" for parts in left]


def _text(place: str, text: str, expected: Expected, left: list[Parts], result: Result) -> None:
    found = next((parts for parts in left if _bind(text, parts, place, result)), None)
    if found is not None:
        left.remove(found)
    elif not numbers(text) or any(_bind(text, parts, place, result) for parts in expected.may):
        return
    elif _plain(text) in _plain(expected.quoted):
        result.quoted += len(numbers(text))
    else:
        result.leave(place, len(numbers(text)))


def _plain(text: str) -> str:
    return re.sub(r"\W+", "", text)


def _table(table: Table, expected: Expected, result: Result) -> None:
    name = masked(table.caption)
    wanted = next((rows for rows in expected.tables if re.match(rows.pattern, table.caption)), None)
    rows = [dict(zip(_unique(table.heads), row, strict=True)) for row in table.rows]
    if wanted is None:
        for row in rows:
            for head, text in row.items():
                result.leave(f"table: {name}: {head}", len(numbers(text)))
        return
    if callable(wanted.values):
        wanted = replace(wanted, values=wanted.values(table.caption))
    keys = [tuple(row.get(head, "") for head in wanted.key) for row in rows]
    _same_keys(f"table: {name}", keys, wanted, result)
    must = [pair for key in keys for pair in wanted.values.get(key, {}).items() if not wanted.choice]
    gone = {head for head, parts in must if parts not in (None, (ABSENT,))} - {*_unique(table.heads)}
    result.wrong += [f"table: {name}: the column {head} is missing" for head in sorted(gone)]
    for key, row in zip(keys, rows, strict=True):
        for head, text in row.items():
            _cell(f"table: {name}: {head}", key, head, text, wanted, result)


def _unique(heads: Sequence[str]) -> list[str]:
    """Heads, numbered where two are alike."""
    return [
        head if heads.index(head) == at else f"{head} ({heads[:at].count(head) + 1})" for at, head in enumerate(heads)
    ]


def _same_keys(place: str, keys: Sequence[tuple], wanted: Rows, result: Result) -> None:
    must = list(wanted.values)
    strange = [key for key in dict.fromkeys(keys) if wanted.values.get(key) is None]
    missing = [] if wanted.some else [key for key in must if key not in set(keys)]
    if wanted.partly:
        return
    result.wrong += [f"{place}: no row {key} is expected" for key in strange[:5]]
    result.wrong += [f"{place}: the row {key} is missing" for key in missing[:5]]
    twice = [key for key, count in Counter(keys).items() if count > 1]
    if wanted.once and twice:
        result.wrong.append(f"{place}: drawn upon each other: {twice[:3]}")
    if wanted.ordered and not strange and keys != [key for key in must if key in set(keys)]:
        result.wrong.append(f"{place}: the order is {keys[:9]}, not {must[:9]}")


def _cell(place: str, key: tuple, head: str, text: str, wanted: Rows, result: Result) -> None:
    row = wanted.values.get(key, {})
    found = numbers(text)
    if head in wanted.key:
        result.quoted += len(found)
    elif head not in row:
        result.leave(place, len(found))
    else:
        must = row[head]
        parts = must if isinstance(must, tuple) else (ABSENT if must is None else must,)
        if not _bind(text, parts, place, result):
            result.wrong.append(f"{place} of {key}: {text!r} must be {must}")


def _chart(chart: Chart, expected: Expected, result: Result) -> None:
    name = masked(chart.title)
    wanted = _wanted(chart, expected, result)
    drawn = _fields(chart.spec)
    axis = _axis(chart.spec)
    seen: dict[int, list[tuple]] = {}
    for rows in chart.spec.get("datasets", {}).values():
        fields = {name for name, kind in drawn.items() if kind == "number" and name not in TIMES}
        fields &= {one for row in rows for one in row}
        fitting = [one for one in wanted if rows and set(one.key) <= set(rows[0])]
        own = next((one for one in fitting if not one.scales or axis in one.scales), None)
        if fitting and own is None:
            result.wrong.append(f"chart: {name}: the unit {axis!r} is of none of its values")
        if own is None:
            for row in rows:
                for one in fields:
                    result.leave(f"chart: {name}: {one}", isinstance(row.get(one), int | float))
                result.leave(f"chart: {name}: text", len(numbers(str(row.get("text", "")))))
            continue
        keys = [tuple(row[one] for one in own.key) for row in rows]
        seen.setdefault(wanted.index(own), []).extend(keys)
        decimals = {one: max((_decimals(row.get(one)) for row in rows), default=0) for one in fields}
        factor = own.scales.get(axis, 1.0)
        for key, row in zip(keys, rows, strict=True):
            _point(name, key, row, own, {one: decimals[one] for one in fields if one not in own.key}, result, factor)
    for place, keys in seen.items():
        _same_keys(f"chart: {name}", keys, replace(wanted[place], ordered=False), result)


def _wanted(chart: Chart, expected: Expected, result: Result) -> list[Rows]:
    """What the chart must draw, by its title and the words below it."""
    name = masked(chart.title)
    titled = [rows for rows in expected.charts if re.fullmatch(rows.pattern, chart.title)]
    wanted = [rows for rows in titled if rows.about is None or _is_about(chart, rows)]
    if titled and not wanted:
        result.wrong.append(f"chart: {name}: {chart.subtitle!r} must be one of {[rows.about for rows in titled]}")
    for about in dict.fromkeys(rows.about for rows in wanted if rows.about is not None):
        _bind(chart.subtitle, about, f"chart: {name}: subtitle", result)
    return wanted


def _is_about(chart: Chart, rows: Rows) -> bool:
    """Whether the chart's subtitle has the words of these rows."""
    if rows.about is None or not re.fullmatch(rows.pattern, chart.title):
        return False
    return pattern_of(rows.about).fullmatch(chart.subtitle) is not None


def _point(
    name: str, key: tuple, row: Mapping, own: Rows, decimals: Mapping[str, int], result: Result, factor: float
) -> None:
    must = own.values.get(key)
    for one, digits in decimals.items():
        number = row.get(one)
        if must is None or one not in must:
            result.leave(f"chart: {name}: {one}", isinstance(number, int | float))
            continue
        result.checked += number is not None
        right = must[one] if isinstance(must[one], list) else [must[one]]
        right = [other if other is None or one == "runs" else other * factor for other in right]
        half = 0.505 * 10.0 ** -max(digits, CHART_DIGITS)
        if not any(_near(number, other, half) for other in right):
            result.wrong.append(f"chart: {name}: {one} of {key} is {number}, must be {must[one]}")


def _near(number: float | None, wanted: float | None, half: float) -> bool:
    if number is None or wanted is None:
        return number is wanted
    return math.isclose(number, wanted, rel_tol=1e-8, abs_tol=half)


def _decimals(number: object) -> int:
    return len(repr(number).partition(".")[2]) if isinstance(number, float) and "e" not in repr(number) else 0


def _axis(node: object) -> str:
    """The title of the axis of values."""
    if isinstance(node, list):
        return next(filter(None, map(_axis, node)), "")
    if not isinstance(node, dict):
        return ""
    if node.get("field") == "value" and "scale" in node and isinstance(node.get("title"), str):
        return node["title"]
    return next(filter(None, (_axis(one) for name, one in node.items() if name != "datasets")), "")


def _fields(node: object) -> dict[str, str]:
    """Fields that a specification draws, and whether as numbers or times."""
    found: dict[str, str] = {}
    if isinstance(node, list):
        for one in node:
            found |= _fields(one)
    elif isinstance(node, dict):
        if isinstance(node.get("field"), str):
            found[node["field"]] = KINDS.get(node.get("type", "quantitative"), "word")
        for name, one in node.items():
            if name not in {"datasets", "order", "detail"}:
                found |= _fields(one)
    return found


__all__ = ["MOMENT", "Expected", "Result", "Rows", "compare", "unlisted"]
