"""What the cells of templates show, as lines of text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl
from templated import run_cells

from golden import texts

if TYPE_CHECKING:
    from collections.abc import Iterator

BETWEEN_CELLS = re.compile(r"(?<=\S) {2,}")
LAST = ("## Appendix", "## Where this report comes from")
"""Beginnings of the sections at the end: sources of thresholds, the same in all, and what differs between machines."""


def outputs(template: str, **parameters: Any) -> Iterator[str]:
    """The text and the charts that the cells of a template show, but not those of its last section."""
    for cell, shown in run_cells(template, {}, **parameters):
        if cell["cell_type"] == "markdown":
            source = "".join(cell["source"])
            if source.startswith(LAST):
                return
            yield source.partition("\n")[0]
        for one in shown:
            yield from _shown(one._repr_mimebundle_())


def _shown(data: dict[str, Any]) -> Iterator[str]:
    spec = next((part for mime, part in data.items() if "vegalite" in mime), None)
    if spec is None:
        for line in data.get("text/plain", "").splitlines():
            # Columns are as wide as their cells, among which are paths.
            yield texts.shortened(BETWEEN_CELLS.sub(" | ", texts.value(line).rstrip()))
        return
    yield f"chart {texts.value(spec.get('description', ''))} | {texts.sum_of(map(texts.value, texts.of_spec(spec)))}"
    for rows in spec.get("datasets", {}).values():
        frame = pl.DataFrame(rows, infer_schema_length=None, strict=False)
        means = {
            name: texts.value(frame[name].mean()) for name in sorted(frame.columns) if frame[name].dtype.is_float()
        }
        yield f"  {frame.height} rows; mean {texts.value(means)}"
