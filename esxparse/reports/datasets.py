"""Tables of charts in a report: each is converted to rows once, however many layers draw it.

altair converts a table to rows, and hashes all values for a name, for each layer and again for names of views.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
from altair.utils import schemapi


class Datasets:
    """The tables of charts, by name."""

    def __init__(self) -> None:
        # Keep the table alive: another one could get its id.
        self._known: dict[int, tuple[Any, str, list[dict[str, Any]]]] = {}

    def __call__(self, data: Any) -> dict[str, Any]:
        """Return the name of a table in specifications; altair calls this."""
        if id(data) not in self._known:
            rows = alt.default_data_transformer(data)["values"]
            self._known[id(data)] = data, f"data-{len(self._known) + 1}", rows
        return {"name": self._known[id(data)][1]}

    def filled(self, spec: dict[str, Any]) -> dict[str, Any]:
        """Return a specification with the rows of its tables."""
        rows = {name: values for _, name, values in self._known.values()}
        needed = {name: rows[name] for name in _names(spec) if name in rows}
        return {**spec, "datasets": {**spec.get("datasets", {}), **needed}} if needed else spec


def _names(node: Any) -> Iterator[str]:
    """Yield the data names in a specification and its views, in order."""
    if isinstance(node, list):
        for one in node:
            yield from _names(one)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key == "data" and isinstance(value, dict) and isinstance(value.get("name"), str):
                yield value["name"]
            elif key != "datasets":
                yield from _names(value)


def filled(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a specification with the rows of its tables, if `unchecked` keeps them apart."""
    known = alt.data_transformers.get()
    return known.filled(spec) if isinstance(known, Datasets) else spec


def unchecked() -> None:
    """Let altair make charts without a check of each part, and keep their tables apart."""
    schemapi.disable_debug_mode()
    alt.data_transformers.register("esxparse-report", Datasets())
    alt.data_transformers.enable("esxparse-report")
