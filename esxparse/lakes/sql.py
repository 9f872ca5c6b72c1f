"""Names and text in a query, as DuckDB writes them."""

from __future__ import annotations

import re
from typing import Final

_ODD: Final = re.compile(r"[^\w.]")


def name(table: str) -> str:
    """Return a table's name in quotes.

    >>> print(name("odd table"))
    "odd table"
    """
    return '"' + table.replace('"', '""') + '"'


def text(value: str) -> str:
    """Return text in quotes.

    >>> text("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"


def is_quoted(table: str, query: str) -> bool:
    """Return whether a query uses a table whose name needs quotes."""
    return bool(_ODD.search(table)) and name(table).lower() in query.lower()
