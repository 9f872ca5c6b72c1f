"""Templates run cell by cell in this process, as JupyterLab runs them, and their outputs as lines of text."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import polars as pl
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import esxparse as ex
from golden import texts

if TYPE_CHECKING:
    from collections.abc import Iterator

BETWEEN_CELLS = re.compile(r"(?<=\S) {2,}")
LAST = "Where this report comes from"
"""The section of a page that differs between machines."""


def outputs(template: str, **parameters: Any) -> Iterator[str]:
    """The text and the charts that the cells of a template show, but not those of its last section."""
    notebook = json.loads((ex.templates_dir() / f"{template}.ipynb").read_text(encoding="utf-8"))
    # The shell of the process, because `display` looks for no other.
    shell = InteractiveShell.instance()
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            if LAST in source:
                return
            yield source.partition("\n")[0]
            continue
        if "parameters" in cell["metadata"].get("tags", ()):
            source = "\n".join([source, *(f"{name} = {value!r}" for name, value in parameters.items())])
        with capture_output() as captured:
            ran = shell.run_cell(source)
        ran.raise_error()
        for output in captured.outputs:
            yield from _shown(output.data)
        if ran.result is not None:
            yield from _shown(shell.display_formatter.format(ran.result)[0])


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
