"""A finished page as a reader sees it: tiles, tables, texts and charts, and every number in them with its place."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

BLOCKS = {"h1", "p", "li", "h3", "pre", "dt", "dd", "td", "th", "figcaption", "summary"}
"""Elements that hold one text."""
MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?|\b\d\d:\d\d(?::\d\d)?\b|\b\d\d-\d\d \d\d:\d\d\b")
"""Dates and times: they are not measurements."""
NUMBER = re.compile(
    r"(?<![\w.:/#-])(?:[+-](?=\d))?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]\d+)?(?![\w/]|:\d|[-.]\w|\u2076)"
)
"""A number that stands alone: not part of a name (web-01), a version (1.2.3) or a file."""


@dataclass
class Table:
    """Heads with their units, and the texts of its rows."""

    section: str
    caption: str
    heads: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)


@dataclass
class Chart:
    """A chart's title and specification."""

    section: str
    title: str
    subtitle: str
    spec: dict


@dataclass
class Page:
    """Everything on a page that can hold a number."""

    tiles: list[tuple[str, str, str]] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)
    texts: list[tuple[str, str, str]] = field(default_factory=list)
    """Section, kind and text of sentences."""
    tables: list[Table] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self.section = self.title = self.subtitle = ""
        self.open: list[tuple[str, str]] = []
        self.text: list[str] = []
        self.small: list[str] = []
        self.label = ""
        self.script = False
        self.main = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        kind = (known.get("class") or "").split(" ")[-1]
        if tag == "section":
            self.section = ""
        if tag in {"br", "meta", "img"}:
            return
        self.open.append((tag, kind))
        if tag == "script":
            self.script = known.get("type") == "application/json"
        if tag == "script" or (tag in BLOCKS | {"h2"} and not self._within("li", "figcaption")):
            self.text, self.small = [], []
        if tag == "table":
            caption = self.page.texts.pop()[2] if self.page.texts and self.page.texts[-1][1] == "ex-caption" else ""
            self.page.tables.append(Table(self.section, caption))
        if tag == "tr":
            self.page.tables[-1].rows.append([])

    def _within(self, *tags: str) -> bool:
        return any(tag in tags for tag, _ in self.open[:-1])

    def handle_data(self, data: str) -> None:
        (self.small if self.open and self.open[-1][0] == "small" else self.text).append(data)

    def handle_endtag(self, tag: str) -> None:  # noqa: C901  a case for each element
        while self.open and self.open[-1][0] != tag:
            self.open.pop()
        if not self.open:
            return
        _, kind = self.open[-1]
        text, small = (" ".join("".join(part).split()) for part in (self.text, self.small))
        page = self.page
        nested = self._within("li", "figcaption")
        inside_list = self._within("ex-facts")
        if tag == "h2":
            self.section = text
        elif tag == "script" and self.script:
            page.charts.append(Chart(self.section, self.title, self.subtitle, json.loads("".join(self.text))))
        elif tag == "h3" and self._within("figcaption"):
            self.title, self.subtitle, self.text = text, "", []
        elif tag == "p" and self._within("figcaption"):
            self.subtitle, self.text = text, []
        elif tag == "th":
            page.tables[-1].heads.append(text)
        elif tag == "td":
            page.tables[-1].rows[-1].append(text)
        elif tag == "dt":
            self.label = text
        elif tag == "dd":
            tiled = ("dl", "ex-tiles") in self.open
            (page.tiles.append((self.label, text, small)) if tiled else page.facts.append((self.label, text)))
        elif tag in BLOCKS and not nested and not inside_list and tag != "figcaption" and self._within("body"):
            page.texts.append((self.section, kind or tag, text))
        self.open.pop()
        if tag == "table":
            page.tables[-1].rows = [row for row in page.tables[-1].rows if row]


def read(text: str) -> Page:
    """The parts of a finished page."""
    reader = _Reader()
    reader.feed(text)
    return reader.page


def numbers(text: str) -> list[re.Match[str]]:
    """The numbers of a text, without dates and times."""
    blank = MOMENT.sub(lambda found: "_" * len(found[0]), text)
    return list(NUMBER.finditer(blank))


def masked(text: str) -> str:
    """The text with `#` for each number and `@` for each time."""
    blank = MOMENT.sub("@", text)
    return NUMBER.sub("#", blank)


def value(text: str) -> tuple[float, float]:
    """A printed number, and half of its last digit's place."""
    plain = text.replace(",", "")
    mantissa, _, exponent = plain.partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(plain), 0.5 * 10.0 ** (int(exponent or 0) - decimals)
