"""Figures that a study published, beside what its runs give: `published.toml`, next to the manifest.

    [[figure]]
    figure = "more_cycles_pct"          its name here
    claim = "10-20 % more cycles"       in the study's words
    value = 15.0
    unit = "%"
    tolerance = 0.3333                  the part of `value` by which the runs may miss it
    note = ""                           what does not follow from the numbers beside it
    here = "SELECT AVG(change_pct) FROM cycles"

    [tables]
    cycles = { compare = "used_cycles_per_io" }

`here` is SQL that gives one number. It reads `runs`, `results` and the tables named in [tables] (`studies.derived`).
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse import toml
from esxparse.errors import EsxparseError, did_you_mean
from esxparse.schema import schema
from esxparse.studies.derived import Derived

if TYPE_CHECKING:
    from pathlib import Path

    from esxparse.studies.derived import Computed

FILE_NAME: Final = "published.toml"
SCHEMA: Final = schema("figure claim str, value f64, unit str, tolerance f64, note str")
_KEYS: Final = frozenset({*SCHEMA, "here"})
_EXACT: Final = 1e-9
"""Whole numbers come through means and divisions."""


def read(path: Path) -> dict[str, Any]:
    """The tables and figures of `published.toml`.

    Raises EsxparseError: It is no TOML, or something in it is missing or of another kind.
    """
    try:
        found = toml.parse(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise EsxparseError(f"{path}: {error}") from None
    figures, tables = found.get("figure", []), found.get("tables", {})
    if not isinstance(figures, list) or not all(isinstance(one, dict) for one in figures):
        raise EsxparseError(f"{path}: figures are tables: write [[figure]] above each")
    if not isinstance(tables, dict) or not all(isinstance(one, dict) for one in tables.values()):
        raise EsxparseError(f'{path}: [tables] holds tables: write iops = {{ compare = "iops" }}')
    for place, one in enumerate(figures, 1):
        for key, kind in SCHEMA.items():
            wanted = str if kind == pl.String else (int, float)
            if not isinstance(one.get(key), wanted) or isinstance(one[key], bool):
                what = "text" if kind == pl.String else "a number"
                raise EsxparseError(
                    f"{path}: figure {place} ({one.get('figure', 'without a name')}): {key} must be {what}"
                )
        if strange := sorted(set(one) - _KEYS):
            raise EsxparseError(
                f"{path}: figure {one['figure']}: unknown key {strange[0]!r}: "
                + did_you_mean(strange[0], _KEYS)
                + f"it has {', '.join(sorted(_KEYS))}"
            )
    return {"figure": figures, "tables": tables}


def figures(study: Computed) -> pl.DataFrame | None:
    """The published figures, `here` (what the runs give) and `within` the tolerance; None where nothing was published.

    A figure that has no `here` in the file has none in the table.

    Raises EsxparseError: The file is wrong, or one of its figures cannot be computed; the message names it.
    """
    path = study.path.parent / FILE_NAME
    if not path.is_file():
        return None
    told = read(path)
    made = Derived(study, told["tables"], path)
    here = [made.number(f"figure {one['figure']}", one["here"]) if "here" in one else None for one in told["figure"]]
    room = (pl.col("tolerance").clip(_EXACT) * pl.col("value").abs()).clip(_EXACT)
    frame = listed(told["figure"]).with_columns(pl.Series("here", here, pl.Float64))
    return frame.with_columns(within=(pl.col("here") - pl.col("value")).abs() <= room)


def listed(told: list[dict[str, Any]]) -> pl.DataFrame:
    """The figures as a table, as they were published."""
    return pl.DataFrame([{name: one[name] for name in SCHEMA} for one in told], schema=SCHEMA)
