"""The notebooks that `esxparse templates new` and `copy` write: working reports to change."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from esxparse.errors import EsxparseError
from esxparse.reports.library import find, shipped
from esxparse.target import target

if TYPE_CHECKING:
    from pathlib import Path

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_CELLS: Final = (
    (
        "notebook-only",
        """# {title}

A report template of esxparse. Run it as it stands, or let `esxparse report -t {name}.ipynb capture.csv` run it.
Helpers: docs/templates.md. This cell is not in the report.""",
    ),
    (
        "parameters",
        """capture: str = ""  # path of the capture
limit_pct: float = 80.0  # CPU utilisation of the host from which it counts as busy, %
opening: dict = {{}}  # options of esxparse.open""",
    ),
    (
        "",
        """import altair as alt
import polars as pl

import esxparse as ex
from esxparse.reports.helpers import chart, finding, provenance, section, table, title

rec = ex.open(capture or ex.datasets_dir() / "busy-host" / "busy-host.csv", **opening)
cpu = ex.metrics.over_time.with_covered(ex.metrics.host.cpu(rec.tables)).collect()
title("{title}", f"{{rec.source}}: {{cpu.height}} samples")""",
    ),
    ("", """section("How busy was the host?", "CPU utilisation of the whole host, sample by sample.")"""),
    (
        "",
        """busy = cpu.filter(pl.col("util_pct") > limit_pct).height
mean = cpu.select(ex.metrics.over_time.mean(pl.col("util_pct"))).item()
sentence = f"{{busy}} of {{cpu.height}} samples are above {{limit_pct:g}} %; the mean is {{mean:.1f}} %."
finding(sentence, "warning" if busy else "ok")""",
    ),
    (
        "",
        """chart(
    alt.Chart(cpu, title="CPU utilisation of the host")
    .mark_line()
    .encode(x=alt.X("time:T", title="Time (UTC)"), y=alt.Y("util_pct:Q", title="% of all PCPUs"))
)""",
    ),
    (
        "",
        """highest = cpu.sort("util_pct", descending=True).head(10)
table(highest, "The ten busiest samples", {{"time": "Time (UTC)", "util_pct": "CPU utilisation [%]"}})""",
    ),
    ("", """section("Where this report comes from")"""),
    ("", """provenance(rec, "{name}", limit_pct=limit_pct, **opening)"""),
)


def write(name: str, folder: Path, *, replace: bool = False) -> Path:
    """Write `NAME.ipynb`, a small report of a capture, into a directory.

    Raises EsxparseError: The name is taken or not a valid name of a template, or the file exists.
    """
    return _written(name, folder, _notebook(name), replace=replace)


def copy(template: str, name: str, folder: Path, *, replace: bool = False) -> Path:
    """Write a copy of a template as `NAME.ipynb`; its title and its last cell have the new name.

    Raises EsxparseError: The template does not exist, the name is taken or invalid, or the file exists.
    """
    found = find(template)
    notebook = json.loads(found.path.read_text(encoding="utf-8"))
    notebook["metadata"]["esxparse"]["title"] = _title(name)
    for cell in notebook["cells"]:
        # The provenance of a changed report must not show the original's name.
        if cell["cell_type"] == "code":
            text = "".join(cell["source"]).replace(f'"{found.name}"', f'"{name}"')
            cell["source"] = text.splitlines(keepends=True)
    return _written(name, folder, notebook, replace=replace)


def _written(name: str, folder: Path, notebook: dict[str, Any], *, replace: bool) -> Path:
    if not _NAME.fullmatch(name):
        raise EsxparseError(f"{name!r} is no name for a template: letters, digits, - and _, a letter first")
    if name in {one.name for one in shipped()}:
        raise EsxparseError(f"a template {name!r} comes with esxparse: choose another name")
    place = target(folder / f"{name}.ipynb", replace=replace)
    place.write((json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode())
    return place.path


def _title(name: str) -> str:
    return re.sub(r"[-_]+", " ", name).capitalize()


def _notebook(name: str) -> dict[str, Any]:
    title = _title(name)
    about = {"title": title, "description": "How busy a host was.", "formats": ["esxtop"]}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    cells = [
        _cell(f"cell-{place}", tag, text.format(name=name, title=title)) for place, (tag, text) in enumerate(_CELLS)
    ]
    metadata = {"esxparse": about, "kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _cell(ident: str, tag: str, text: str) -> dict[str, Any]:
    made: dict[str, Any] = {"id": ident, "metadata": {"tags": [tag]} if tag else {}, "source": text}
    if tag == "notebook-only":
        return {"cell_type": "markdown", **made}
    return {"cell_type": "code", **made, "execution_count": None, "outputs": []}
