"""Tables for notebooks: HTML without a script, so that it shows even if outputs are not trusted.

In JupyterLab our extension (`labextension/`) sorts them by a click on a heading; elsewhere they stay in their original
order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import polars as pl

_CELL: Final = 'style="text-align:left;vertical-align:top"'


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; `heads` and the cells of `rows` are HTML."""
    head = "".join(f"<th {_CELL}>{one}</th>" for one in heads)
    body = "".join(f"<tr>{''.join(f'<td {_CELL}>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return (
        f'<div style="overflow-x:auto"><table class="esxparse-sort"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


class _Shown(pl.LazyFrame):
    """A lazy table with a page of its own. Queries on it return ordinary lazy tables."""

    page: Callable[[pl.LazyFrame], str] | None = None

    def _repr_html_(self) -> str:
        return super()._repr_html_() if self.page is None else self.page(self)


def shown_as(frame: pl.LazyFrame, page: Callable[[pl.LazyFrame], str]) -> pl.LazyFrame:
    """Return the table, which a notebook shows as the result of `page` instead of a query plan."""
    made = _Shown.__new__(_Shown)
    made._ldf = frame._ldf  # noqa: SLF001 (as polars makes its own)
    made.page = page
    return made
