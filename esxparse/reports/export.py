"""Export of a finished notebook as one self-contained HTML file.

The page holds its style, the Vega runtime once, and each chart as a block of JSON. Its Content-Security-Policy allows
its own scripts, by their hashes, and no requests. Even text that somehow became markup could neither run nor call
home. Vega's expressions are interpreted (`ast`), not compiled, so the policy needs no `unsafe-eval`.

Names of VMs arrive escaped in the HTML of `blocks`, and as JSON in the charts, where `<` is written as an escape.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import mistune
from jinja2 import Environment, FileSystemLoader

from esxparse.charts.runtime import hash_of, vega_runtime
from esxparse.charts.theme import css_variables, palette
from esxparse.reports.blocks import HEADER_MIME, MISSING_MIME, NOTEBOOK_ONLY, SECTION_MIME, anchor, chart
from esxparse.reports.colours import settle

if TYPE_CHECKING:
    from nbformat import NotebookNode

_FILES: Final = Path(__file__).parent / "html"
_PLUGINS: Final = ("strikethrough", "table", "url", "task_lists", "def_list")
"""Markdown extensions that notebooks support."""

_LEFT_OUT: Final = "Not in these recordings"
_HEADING: Final = re.compile(r"##\s+(.+)")
# Keys of a specification that hold data. A VM may be called "#2a6fb8".
_DATA: Final = frozenset({"data", "datasets", "domain", "values"})
# Keys that hold words, unless they are a group of settings with the same key.
_WORDS: Final = frozenset({"title", "subtitle", "description", "text"})


@dataclass(slots=True)
class Piece:
    """Part of the page: ready HTML, or a figure with its chart."""

    html: str = ""
    figure: dict[str, Any] | None = None
    missing: str = ""
    """The reason why it shows nothing, as in `html`."""
    prose: bool = False
    """Whether it is text of the template, not a result."""


@dataclass(slots=True)
class Section:
    """A part of the page under one heading; `rows` are runs of pieces, with adjacent figures in one run."""

    title: str
    anchor: str
    rows: list[list[Piece]] = field(default_factory=list)

    @property
    def missing(self) -> list[str]:
        """The reasons if all of its cells show nothing; empty if one shows something."""
        results = [piece for row in self.rows for piece in row if not piece.prose]
        return [piece.missing for piece in results] if all(piece.missing for piece in results) else []

    def add(self, piece: Piece) -> None:
        """Append `piece`, beside the previous figure if both are figures."""
        if piece.figure is not None and self.rows and self.rows[-1][-1].figure is not None:
            self.rows[-1].append(piece)
        else:
            self.rows.append([piece])


def to_html(notebook: NotebookNode, runtime: str | None = None) -> str:
    """Return the finished page of `notebook`.

    Cells tagged `notebook-only` and all code are left out; Markdown headings of the second level start a section.

    `notebook`: a finished notebook. `runtime`: result of `vega_runtime`, if available.
    """
    header, sections = outline(notebook)
    return written(header, sections, runtime)


def written(header: dict[str, str], sections: list[Section], runtime: str | None = None) -> str:
    """Return the page of some sections.

    `header`: "title" and "subtitle". `runtime`: as for `to_html`.
    """
    style = _file("report.css") + palette()
    pieces = [piece for section in sections for row in section.rows for piece in row]
    charts = [piece.figure for piece in pieces if piece.figure is not None]
    settle([figure["spec"] for figure in charts])
    for figure in charts:
        figure["spec"].pop("usermeta", None)
        figure["spec"] = _json_inside_script(_themed(figure["spec"]))
    scripts = [_file("sections.js.j2")]
    scripts += [_file("tables.js.j2")] if any("<table" in piece.html for piece in pieces) else []
    if charts:
        scripts += [runtime or vega_runtime(), _file("linked.js.j2"), _file("boot.js.j2")]
    page = {
        "header": header,
        "sections": sections,
        "style": style,
        "charts": bool(charts),
        "scripts": scripts,
        "policy": policy(scripts),
    }
    # The template marks the text to escape.
    environment = Environment(loader=FileSystemLoader(_FILES))  # noqa: S701
    return environment.get_template("report.html.j2").render(page=page)


def _file(name: str) -> str:
    return (_FILES / name).read_text(encoding="utf-8")


def outline(notebook: NotebookNode) -> tuple[dict[str, str], list[Section]]:
    """Return the header, and the sections of a page with their contents."""
    about = notebook.metadata.get("esxparse", {})
    header = {"title": str(about.get("title", "Report")), "subtitle": ""}
    markdown = mistune.create_markdown(escape=False, plugins=_PLUGINS)
    sections = [Section("", "top")]
    charts = 0
    for cell in notebook.cells:
        if NOTEBOOK_ONLY in cell.metadata.get("tags", []):
            continue
        if cell.cell_type == "markdown":
            text = cell.source.strip()
            if heading := _HEADING.match(text):
                text = text[heading.end() :].strip()
            _words(sections, heading[1].strip() if heading else "", str(markdown(text)) if text else "")
            continue
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if HEADER_MIME in data:
                header = dict(data[HEADER_MIME])
            elif SECTION_MIME in data:
                begun = data[SECTION_MIME]
                _words(sections, begun["title"], f"<p>{escape(begun['text'])}</p>" if begun["text"] else "")
            elif spec := chart(data):
                charts += 1
                sections[-1].add(Piece(figure=_figure(spec, f"chart-{charts}")))
            elif html := _other_output(output):
                sections[-1].add(Piece(html, missing=data.get(MISSING_MIME, {}).get("text", "")))
    return header, _without_missing([section for section in sections if section.rows])


def _without_missing(sections: list[Section]) -> list[Section]:
    """Replace sections that show nothing with one section of their reasons, before the last."""
    left_out = {section.title: section.missing for section in sections if section.missing and section.title}
    if not left_out:
        return sections
    *kept, last = [section for section in sections if section.title not in left_out] or [Section("", "top")]
    reasons = Section(_LEFT_OUT, _anchor(_LEFT_OUT, kept))
    items = "".join(
        f"<li><b>{escape(title)}</b>: {escape(' '.join(missing))}</li>" for title, missing in left_out.items()
    )
    reasons.add(Piece(f'<ul class="ex-points">{items}</ul>'))
    return [*kept, reasons, *([last] if last.rows else [])]


def _words(sections: list[Section], title: str, html: str) -> None:
    """Begin a section, if there is a title, and add words to the last section."""
    if title:
        sections.append(Section(title, _anchor(title, sections)))
    if html:
        sections[-1].add(Piece(f'<div class="ex-prose">{html}</div>', prose=True))


def _other_output(output: NotebookNode) -> str:
    if output.output_type == "stream":
        return f"<pre>{escape(output.text)}</pre>" if output.text.strip() else ""
    data = output.get("data", {})
    if "text/html" in data:
        return str(data["text/html"])
    for kind in ("image/png", "image/jpeg"):
        if kind in data:
            alt = escape(str(data.get("text/plain", "")))
            encoded = "".join(str(data[kind]).split())
            return f'<img src="data:{kind};base64,{escape(encoded)}" alt="{alt}">'
    return f"<pre>{escape(str(data['text/plain']))}</pre>" if "text/plain" in data else ""


def _figure(spec: dict[str, Any], ident: str) -> dict[str, Any]:
    """Separate a chart from its words: as HTML these wrap, can be searched and are read aloud."""
    title = spec.pop("title", "")
    if isinstance(title, dict):
        subtitle = title.get("subtitle", "")
        title = title.get("text", "")
    else:
        subtitle = ""
    return {
        "id": ident,
        "anchor": str(spec.get("usermeta", {}).get("anchor", "")),
        "title": _line(title),
        "subtitle": _line(subtitle),
        "alt": str(spec.get("description", "")) or _line(title),
        "spec": spec,
    }


def _line(text: str | list[str]) -> str:
    return " ".join(text) if isinstance(text, list) else str(text)


def _themed(spec: Any) -> Any:
    names = {light: f"var({name})" for light, (name, _) in css_variables().items()}

    def walk(node: Any) -> Any:
        if isinstance(node, dict):
            return {
                key: value if key in _DATA or (key in _WORDS and not isinstance(value, dict)) else walk(value)
                for key, value in node.items()
            }
        if isinstance(node, list):
            return [walk(item) for item in node]
        return names.get(node, node) if isinstance(node, str) else node

    return walk(spec)


def policy(scripts: list[str]) -> str:
    """Return the Content-Security-Policy of a page that runs these scripts and makes no requests."""
    hashes = " ".join(f"'sha256-{hash_of(script)}'" for script in scripts) or "'none'"
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _json_inside_script(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _anchor(title: str, sections: list[Section]) -> str:
    name = place = anchor(title)
    taken = {section.anchor for section in sections}
    number = 2
    while place in taken:
        place = f"{name}-{number}"
        number += 1
    return place
