"""Tables of text: columns aligned for a terminal, and Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from esxparse.recording import as_markdown, printable


def lines(rows: Iterable[Sequence[str]]) -> list[str]:
    """Return rows as printable lines in which columns begin at the same place.

    >>> lines([("VM", "vCPUs"), ("orders-app", "4")])
    ['VM          vCPUs', 'orders-app  4']
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Return a table of Markdown; `heads` are Markdown, the cells of `rows` are plain text.

    >>> markdown(("VM", "vCPUs"), [("a|b", "4")]).splitlines()
    ['| VM | vCPUs |', '| --- | --- |', '| a\\|b | 4 |']
    """
    cells = [heads, ("---",) * len(heads), *(tuple(map(as_markdown, row)) for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)
