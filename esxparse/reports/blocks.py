"""The blocks that a report's cells show: tables, tiles, notes and figures.

Each block is an object that Jupyter can display: HTML made here, with a plain text alternative. All text is escaped
when it becomes HTML, and nowhere else. No block is made of Markdown, so a VM's name is never read as markup.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from html import escape as escaped
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Literal

from esxparse import aligned
from esxparse.charts.theme import drawable, drawable_json

if TYPE_CHECKING:
    import polars as pl

VEGALITE_MIME: Final = "application/vnd.vegalite.v6+json"
"""MIME type of a figure's chart; the HTML export looks for it.

Altair 6 writes `.json` at the end, which notebooks do not allow: their format accepts JSON only under types in
`+json`.
"""

CHART_MIME: Final = "application/vnd.esxparse.chart"
"""MIME type of a chart as text: as data, each number would become an object on its way to the page, twice."""

HEADER_MIME: Final = "application/vnd.esxparse.header+json"
"""MIME type of a `Header`."""

SECTION_MIME: Final = "application/vnd.esxparse.section+json"
"""MIME type of a section's start: {"title", "text"}."""

MISSING_MIME: Final = "application/vnd.esxparse.missing+json"
"""MIME type of the reason why a cell shows nothing: {"text"}. The page leaves out a section with only such cells."""

NOTEBOOK_ONLY: Final = "notebook-only"
"""Tag of cells that a page leaves out."""

ABSENT: Final = "\N{EN DASH}"
"""Placeholder for a missing value."""

_LEVELS: Final = {"ok": "ok", "info": "info", "peaks": "info", "warning": "warning", "critical": "critical"}
"""Words shown as badges, and the look of each."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    name: column of the frame
    head: its title
    unit: unit, written after the head
    digits: decimals of numbers; None writes whole numbers as they are
    significant: significant digits instead of `digits`, if the column holds several quantities
    level: whether the text is one of ok, info, peaks, warning, critical, shown as a badge
    mono: whether the text is an identifier, set in a typewriter face
    fit: layout of text: "text" wraps between words, "name" gets room and wraps anywhere, "short" never wraps
    """

    name: str
    head: str
    unit: str = ""
    digits: int | None = 1
    level: bool = False
    mono: bool = False
    fit: Literal["text", "name", "short"] = "text"
    significant: int | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """The output of a cell, as HTML and as plain text."""

    html: str
    text: str

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        # A page has its own style; the style of notebooks right-aligns text and stacks tiles.
        style = _notebook_style() if self.html and "ESXPARSE_REPORT" not in os.environ else ""
        return {"text/html": style + self.html, "text/plain": drawable(self.text)}


@dataclass(frozen=True, slots=True)
class Missing(Block):
    """A sentence in place of charts or of a table that the recordings do not allow."""

    def _repr_mimebundle_(self, **more: Any) -> dict[str, Any]:
        return {**Block._repr_mimebundle_(self, **more), MISSING_MIME: drawable({"text": self.text})}


@cache
def _notebook_style() -> str:
    return f"<style>{files(__package__).joinpath('html', 'notebook.css').read_text(encoding='utf-8')}</style>"


MOST_ROWS: Final = 5000
"""Most rows of a table, as a browser cannot open larger pages; the caption mentions the cut."""

NOTHING: Final = Block("", "")
"""The block of a cell without content."""


@dataclass(frozen=True, slots=True)
class Header:
    """The title of the whole page and the line below it."""

    title: str
    subtitle: str

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {
            HEADER_MIME: drawable({"title": self.title, "subtitle": self.subtitle}),
            "text/html": f"<h1>{escape(self.title)}</h1><p>{escape(self.subtitle)}</p>",
            "text/plain": drawable(f"{self.title}\n{self.subtitle}"),
        }


@dataclass(frozen=True, slots=True)
class Section:
    """The start of a part of the report."""

    title: str
    text: str

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {
            SECTION_MIME: drawable({"title": self.title, "text": self.text}),
            "text/html": f"<h2>{escape(self.title)}</h2><p>{escape(self.text)}</p>",
            "text/plain": drawable(f"{self.title}\n{self.text}"),
        }


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart with its alternative text.

    spec: Vega-Lite specification
    live: output of altair's active renderer, for a notebook that is open in a browser
    packed: whether to return it as text, for a page (`CHART_MIME`)
    """

    spec: dict[str, Any]
    live: dict[str, Any] = field(default_factory=dict)
    packed: bool = False

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        bundle = {CHART_MIME: _packed(self.spec)} if self.packed else {VEGALITE_MIME: drawable(self.spec)}
        return {**self.live, **bundle, "text/plain": drawable(str(self.spec.get("description", "chart")))}


def escape(text: str) -> str:
    """Return text as HTML, without undrawable characters."""
    return escaped(drawable(text))


def _packed(spec: dict[str, Any]) -> str:
    from jupyter_client.jsonutil import json_default  # noqa: PLC0415  what kernels pack other outputs with

    text = json.dumps(spec, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=json_default)
    return drawable_json(text)


def chart(data: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a copy of the chart's specification from outputs by MIME type; None without a chart."""
    if CHART_MIME in data:
        return dict(json.loads(data[CHART_MIME]))
    return dict(json.loads(json.dumps(data[VEGALITE_MIME]))) if VEGALITE_MIME in data else None


def parted(head: str) -> tuple[str, str]:
    """Split a column's head into its title and its unit, which is in brackets.

    >>> parted("Ready [%]"), parted("VM")
    (('Ready', '%'), ('VM', ''))
    """
    before, _, unit = head.rstrip("]").partition("[") if head.endswith("]") else (head, "", "")
    return before.strip(), unit


def table(
    frame: pl.DataFrame,
    columns: Sequence[Column],
    caption: str,
    empty: str = "",
    look: Literal["", "cards", "folded"] = "",
) -> Block:
    """Return a table of `frame`, numbers to the right, units in the head; the page folds and searches a long one.

    Args:
        frame: Any frame; shows only `columns`, without missing and empty ones.
        columns: Columns to show, in order.
        caption: One line above the table.
        empty: Text for a table without rows.
        look: "folded" collapses the table under its caption and shows levels without colour; "cards" makes each row a
            card on a narrow screen, for columns of sentences.
    """
    if frame.height > MOST_ROWS:
        frame, caption = frame.head(MOST_ROWS), f"{caption} (the first {MOST_ROWS:,} of {frame.height:,})"
    present = [column for column in columns if column.name in frame.columns]
    if frame.is_empty():
        return note(empty or f"{caption}: nothing to show.")
    present = [column for column in present if frame[column.name].null_count() < frame.height]
    numeric = {column.name for column in present if frame.schema[column.name].is_numeric()}
    head = "".join(_cell('th scope="col"', _head(column), column, column.name in numeric) for column in present)
    lines = []
    for row in frame.select(column.name for column in present).iter_rows(named=True):
        cells = "".join(_body_cell(column, row[column.name], column.name in numeric, look) for column in present)
        lines.append(f"<tr>{cells}</tr>")
    body = "\n".join(lines)
    kind = "ex-scroll ex-cards" if look == "cards" else "ex-scroll"
    html = (
        f'<div class="{kind}" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )
    if look == "folded":
        html = f'<details class="ex-quiet"><summary class="ex-caption">{escape(caption)}</summary>{html}</details>'
    else:
        html = f'<p class="ex-caption">{escape(caption)}</p>{html}'
    return Block(html, _plain(frame, present, caption))


def stack(*blocks: Block) -> Block:
    """Return several blocks as one, one below the other."""
    return Block("".join(one.html for one in blocks), "\n".join(one.text for one in blocks if one.text))


def tiles(items: Iterable[tuple[str, str, str]]) -> Block:
    """Return a few facts side by side: `(name, value, small print)`."""
    entries = list(items)
    cells = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}{_small(more)}</dd></div>" for name, value, more in entries
    )
    text = "\n".join(f"{name}: {value}" + (f" ({more})" if more else "") for name, value, more in entries)
    return Block(f'<dl class="ex-tiles">{cells}</dl>', text)


def facts(items: Iterable[tuple[str, str]]) -> Block:
    """Return facts one below the other, for the small print at the end."""
    entries = list(items)
    cells = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in entries)
    return Block(f'<dl class="ex-facts">{cells}</dl>', "\n".join(f"{name}: {value}" for name, value in entries))


def note(text: str, level: str = "info", section: str = "") -> Block:
    """Return a few sentences in a box: a verdict, a missing counter, or the absence of problems.

    `section`: title of the section with details, to which the box links.
    """
    link = f' <a href="#{anchor(section)}">{escape(section)}</a>' if section else ""
    return Block(f'<p class="ex-note ex-{known_level(level)}">{escape(text)}{link}</p>', text)


def missing(text: str) -> Missing:
    """Return the reason why a cell shows nothing, as a block."""
    return Missing(note(text).html, text)


def points(texts: Sequence[str]) -> Block:
    """Return sentences as a list."""
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return Block(f'<ul class="ex-points">{items}</ul>', "\n".join(texts)) if texts else NOTHING


def headline(text: str) -> Block:
    """Return the conclusion of a report, as one line."""
    return Block(f'<p class="ex-headline">{escape(text)}</p>', text)


def anchor(title: str) -> str:
    """Return the name of a section in links.

    >>> anchor("Reader notes")
    'reader-notes'
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"


def number(value: float | None, digits: int | None = 1) -> str:
    """Format a number: thousands apart, fixed decimals, no minus before 0, a dash if missing.

    >>> number(12345.678), number(4096.0, None), number(-0.04), number(None) == ABSENT
    ('12,345.7', '4,096', '0.0', True)
    """
    if value is None or math.isnan(value):
        return ABSENT
    if digits is None:
        return f"{value:z,.0f}" if float(value).is_integer() else f"{value:,g}"
    return f"{value:z,.{digits}f}"


def rounded(value: float, significant: int = 4) -> str:
    """Format a number to some significant digits, never with an exponent.

    >>> rounded(182_345.6), rounded(99.3), rounded(0.01234), rounded(61_725.5, 6)
    ('182,346', '99.3', '0.01234', '61,725.5')
    """
    return f"{value:,.0f}" if abs(value) >= 10**significant else f"{value:,.{significant}g}"


def moment(value: datetime) -> str:
    """Format a time, to the second; every time in a report is UTC."""
    return f"{value:%Y-%m-%d %H:%M:%S} UTC"


def _small(text: str) -> str:
    return f"<small>{escape(text)}</small>" if text else ""


def _head(column: Column) -> str:
    unit = f' <span class="ex-unit">{escape(column.unit)}</span>' if column.unit else ""
    return f"{escape(column.head)}{unit}"


def _cell(opening: str, inner: str, column: Column, is_number: bool) -> str:
    kind = "ex-number" if is_number else "" if column.fit == "text" else f"ex-{column.fit}"
    attribute = f' class="{kind}"' if kind else ""
    return f"<{opening}{attribute}>{inner}</{opening.partition(' ')[0]}>"


def _body_cell(column: Column, value: Any, is_number: bool, look: str) -> str:
    text = _text(column, value)
    inner = escape(text)
    if column.level and text in _LEVELS:
        inner = f'<span class="ex-badge ex-{_LEVELS[text]}">{inner}</span>'
    elif column.mono:
        inner = f"<code>{inner}</code>"
    opening = f'td data-label="{escape(column.head)}"' if look == "cards" else "td"
    return _cell(opening, inner, column, is_number)


def _text(column: Column, value: Any) -> str:
    if value is None:
        return ABSENT
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if column.significant and isinstance(value, float) and math.isfinite(value):
        return rounded(value, column.significant)
    return number(value, column.digits if isinstance(value, float) else None)


def _plain(frame: pl.DataFrame, columns: Sequence[Column], caption: str) -> str:
    rows = [[f"{c.head} [{c.unit}]" if c.unit else c.head for c in columns]]
    rows += [
        [_text(c, row[c.name]) for c in columns] for row in frame.select(c.name for c in columns).iter_rows(named=True)
    ]
    return "\n".join([caption, *aligned.lines(rows)])


def known_level(level: str) -> str:
    """Return the look of a badge with that word.

    Raises ValueError: The word is unknown.
    """
    if level not in _LEVELS:
        raise ValueError(f"unknown level {level!r}: choose from {', '.join(sorted(_LEVELS))}")
    return _LEVELS[level]
