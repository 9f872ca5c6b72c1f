"""Export of a finished notebook as Markdown with tables, and its charts as SVG files in a directory beside it."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from markdownify import MarkdownConverter

from esxparse.errors import EsxparseError
from esxparse.recording import printable
from esxparse.reports import pictures
from esxparse.reports.export import Piece, outline
from esxparse.reports.forms import MARK, is_report
from esxparse.target import Target
from esxparse.whole import whole_file

if TYPE_CHECKING:
    from nbformat import NotebookNode

_PICTURES: Final = "chart-*.svg"


def check(where: Target, *, replace: bool) -> None:
    """Check that no other files are in the place of the pictures.

    Raises EsxparseError: Other files are there.
    """
    folder = _folder(where.path)
    taken = folder.exists() and not (folder.is_dir() and all(one.match(_PICTURES) for one in folder.iterdir()))
    mine = where.path.is_file() and is_report(where.path)
    if taken or (folder.exists() and not (replace or mine)):
        msg = f"{printable(str(folder))}, where the charts go, already exists: give the report another name"
        raise EsxparseError(msg)


def write(notebook: NotebookNode, where: Target) -> None:
    """Write the text and its pictures; in a stream the pictures are part of the text."""
    folder = _folder(where.path.resolve())
    drawn: dict[str, bytes] = {}

    def keep(name: str, svg: bytes) -> str:
        if where.special:
            return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
        drawn[name] = svg
        return quote(f"{_folder(where.path).name}/{name}")

    header, sections = outline(notebook)
    parts = [f"<h1>{escape(header['title'])}</h1>", f"<p>{escape(header['subtitle'])}</p>"]
    for section in sections:
        parts += [f"<h2>{escape(section.title)}</h2>"] if section.title else []
        for piece in (piece for row in section.rows for piece in row):
            if piece.figure is None:
                parts.append(piece.html)
            else:
                name = f"{piece.figure['id']}.svg"
                parts.append(_figure(piece, keep(name, pictures.svg(piece.figure["spec"]).encode())))
    text = _Converter(heading_style="ATX", escape_misc=True, bullets="-").convert("".join(parts))
    _write_together(text, drawn, folder, where)
    if not where.special and folder.is_dir():
        for left in {one.name for one in folder.glob(_PICTURES)} - set(drawn):
            (folder / left).unlink()


def _write_together(text: str, drawn: Mapping[str, bytes], folder: Path, where: Target) -> None:
    """Write pictures and text; if the text cannot be written, remove a new directory of pictures."""
    # Viewers act on control characters, such as the one that reverses the direction of a line.
    plain = "\n".join(printable(line) for line in text.strip().split("\n"))
    is_new = not folder.exists()
    try:
        if drawn:
            folder.mkdir(exist_ok=True)
        for name, svg in drawn.items():
            with whole_file(folder / name) as file:
                file.write(svg)
        where.write(f"<!-- {MARK.decode()} -->\n\n{plain}\n".encode())
    except BaseException as error:
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise EsxparseError(f"{where.path} cannot be written: {error.strerror or error}") from error
        raise


class _Converter(MarkdownConverter):
    """Converts blocks of reports: a caption, a name of a fact and a verdict are separate paragraphs."""

    def convert_dt(self, _el: object, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002
        return f"\n- **{text.strip()}**: "

    def convert_dd(self, _el: object, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002
        return " ".join(text.split()) + "\n"

    def convert_hN(self, n: int, el: Any, text: str, parent_tags: set[str]) -> str:  # noqa: N802
        """Convert a heading; if it has an id, keep it as an anchor."""
        made: str = super().convert_hN(n, el, text, parent_tags)  # type: ignore[misc]
        return f'\n\n<a id="{escape(el["id"])}"></a>{made}' if el.get("id") else made

    def convert_summary(self, _el: object, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002
        return f"\n\n{text.strip()}\n\n"

    def convert_small(self, _el: object, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002
        return f" ({text.strip()})"


def _folder(path: Path) -> Path:
    return path.with_name(f"{path.stem}_files")


def _figure(piece: Piece, link: str) -> str:
    figure = piece.figure or {}
    words = f"<p>{escape(figure['subtitle'])}</p>" if figure["subtitle"] else ""
    place = f' id="{escape(figure["anchor"])}"' if figure["anchor"] else ""
    picture = f'<p><img alt="{escape(figure["alt"])}" src="{escape(link)}"></p>'
    return f"<h3{place}>{escape(figure['title'])}</h3>{words}{picture}"
