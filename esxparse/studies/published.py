"""Figures of a study's source documents, and figures that we assume, beside what its runs give: `published.toml`.

    document = "Scaling Performance for VAIO"   where figures are printed, unless `source` says it all

    [[figure]]
    figure = "vm_sweep_more_cpu_pct"            its name here
    claim = "10%-20% higher CPU overhead"       in the document's words
    value = 15.0                                or a range: least, most, or both
    unit = "%"
    tolerance = 0.02                            the part of `value` by which the runs may miss it; 0 by default
    resolution = 1.0                            unit of the last digit printed: misses below half of it count
    source = "VM Scaling"                       where the document prints the figure: page, slide or section
    assumed = "in words only"                   instead of `source`: why the figure is not a published one
    note = ""                                   what does not follow from the numbers beside it
    here = "SELECT AVG(change_pct) FROM cycles"

    [tables]
    cycles = { compare = "used_cycles_per_io" }

A figure is published only if the document prints its number: values read from words ("similar"), derived from
other figures or put into a scenario are assumed. `here` is SQL that gives one number. It reads `runs`, `results` and
the tables named in [tables] (`studies.derived`).
"""

from __future__ import annotations

import math
import tomllib
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse import toml
from esxparse.errors import EsxparseError, did_you_mean
from esxparse.schema import schema
from esxparse.studies.derived import Derived

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from esxparse.studies.derived import Computed

FILE_NAME: Final = "published.toml"
SCHEMA: Final = schema(
    "figure claim str, value least most f64, unit str, tolerance resolution f64, source assumed note str"
)
_NEEDED: Final = ("figure", "claim", "unit")
_KEYS: Final = frozenset({*SCHEMA, "here"})
_EXACT: Final = 1e-9
"""Whole numbers come through means and divisions."""


def read(path: Path) -> dict[str, Any]:
    """The tables and figures of `published.toml`; the document stands before each `source`.

    Raises EsxparseError: It is no TOML, or something in it is missing or of another kind.
    """
    try:
        found = toml.parse(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise EsxparseError(f"{path}: {error}") from None
    figures, tables, document = found.get("figure", []), found.get("tables", {}), found.get("document", "")
    if not isinstance(figures, list) or not all(isinstance(one, dict) for one in figures):
        raise EsxparseError(f"{path}: figures are tables: write [[figure]] above each")
    if not isinstance(tables, dict) or not all(isinstance(one, dict) for one in tables.values()):
        raise EsxparseError(f'{path}: [tables] holds tables: write iops = {{ compare = "iops" }}')
    if not isinstance(document, str):
        raise EsxparseError(f'{path}: document must be text: write document = "title, where, year"')
    for place, one in enumerate(figures, 1):
        if mistake := _mistake(one):
            raise EsxparseError(f"{path}: figure {place} ({one.get('figure', 'without a name')}): {mistake}")
        if document and "source" in one:
            one["source"] = f"{document}, {one['source']}"
    return {"figure": figures, "tables": tables}


def _mistake(one: Mapping[str, Any]) -> str:
    """What is wrong with a figure; nothing if it is sound."""
    for key in (*_NEEDED, *(name for name in SCHEMA if name in one)):
        text = SCHEMA[key] == pl.String
        number = isinstance(one.get(key), int | float) and not isinstance(one[key], bool) and math.isfinite(one[key])
        if not (isinstance(one.get(key), str) if text else number):
            return f"{key} must be {'text' if text else 'a number'}"
    if strange := sorted(set(one) - _KEYS):
        near = did_you_mean(strange[0], _KEYS)
        return f"unknown key {strange[0]!r}: {near}it has {', '.join(sorted(_KEYS))}"
    if ("value" in one) == bool({"least", "most"} & set(one)):
        return "write value, or a range (least, most)"
    if ("source" in one) == ("assumed" in one):
        return 'write source = "page, slide or section" if the document prints it, else assumed = "why"'
    return ""


def figures(study: Computed) -> pl.DataFrame | None:
    """The figures of `published.toml`, `here` (what the runs give) and `within`; None if the study has no such file.

    `source` is null for an assumed figure, `assumed` for a published one. A figure without `here` in the file has none
    in the table.

    Raises EsxparseError: The file is wrong, or one of its figures cannot be computed; the message names it.
    """
    path = study.path.parent / FILE_NAME
    if not path.is_file():
        return None
    found = read(path)
    made = Derived(study, found["tables"], path)
    here = [made.number(f"figure {one['figure']}", one["here"]) if "here" in one else None for one in found["figure"]]
    frame = listed(found["figure"]).with_columns(pl.Series("here", here, pl.Float64))
    value, missed = pl.col("value"), (pl.col("here") - pl.col("value")).abs()
    room = (pl.col("tolerance").fill_null(0.0).clip(_EXACT) * value.abs()).clip(_EXACT)
    near = (missed <= room) | (missed < pl.col("resolution").fill_null(0.0) / 2)
    least, most = pl.col("least").fill_null(-math.inf), pl.col("most").fill_null(math.inf)
    ranged = (pl.col("here") >= least - _EXACT) & (pl.col("here") <= most + _EXACT)
    return frame.with_columns(within=pl.when(value.is_null()).then(ranged).otherwise(near))


def listed(found: list[dict[str, Any]]) -> pl.DataFrame:
    """The figures as a table, as the file has them, and `stated`: the value or range in words."""
    frame = pl.DataFrame([{name: one.get(name) for name in SCHEMA} for one in found], schema=SCHEMA)
    return frame.with_columns(pl.Series("stated", [_stated(one) for one in found], pl.String))


def _stated(one: Mapping[str, Any]) -> str:
    """A value or range as people write it.

    >>> _stated({"value": 34255.18}), _stated({"least": 10.0, "most": 20.0}), _stated({"most": 1.0})
    ('34,255.18', '10 to 20', 'at most 1')
    """
    if "value" in one:
        return _number(one["value"])
    least, most = (_number(one[name]) if name in one else "" for name in ("least", "most"))
    return f"{least} to {most}" if least and most else f"at least {least}" if least else f"at most {most}"


def _number(value: float) -> str:
    """A number with all its digits.

    >>> _number(60.072490066), _number(493804.0), _number(1e-05)
    ('60.072490066', '493,804', '0.00001')
    """
    return f"{value:,.10f}".rstrip("0").rstrip(".")
