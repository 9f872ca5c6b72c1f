"""Tables for notebooks: HTML without a script, so that it shows wherever outputs are not trusted.

JupyterLab sorts them by a click on a heading, which is the work of our extension (`labextension/`); elsewhere they stay
in the order in which they were made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

_CELL: Final = 'style="text-align:left;vertical-align:top"'


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; `heads` and the cells of `rows` are HTML."""
    head = "".join(f"<th {_CELL}>{one}</th>" for one in heads)
    body = "".join(f"<tr>{''.join(f'<td {_CELL}>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return (
        f'<div style="overflow-x:auto"><table class="esxparse-sort"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
