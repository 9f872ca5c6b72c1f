"""Figures of a study's source documents, and assumed figures, beside its runs' results: `published.toml`.

    document = "Scaling Performance for VAIO"   title of the source, unless `source` has it

    [[figure]]
    figure = "vm_sweep_more_cpu_pct"            its name here
    claim = "10%-20% higher CPU overhead"       in the document's words
    value = 15.0                                or a range: least, most, or both
    unit = "%"
    tolerance = 0.02                            allowed difference of the runs, as a share of `value`; 0 by default
    resolution = 1.0                            unit of the last printed digit: differences below half of it are allowed
    source = "VM Scaling"                       page, slide or section with the figure
    assumed = "in words only"                   instead of `source`: reason why the figure is not published
    note = ""                                   anything that the numbers do not show
    here = "SELECT AVG(change_pct) FROM cycles"

    [tables]
    cycles = { compare = "used_cycles_per_io" }

A figure is published only if the document prints its number. Values read from words ("similar"), derived from other
figures or put into a scenario are assumed. `here` is SQL that returns one number. It reads `runs`, `results` and the
tables in [tables] (`studies.derived`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from esxparse.schema import schema
from esxparse.studies.derived import Derived
from esxparse.studies.report_section import Computed
from esxparse.toml import checked
from esxparse.toml.lines import Place

FILE_NAME: Final = "published.toml"
SCHEMA: Final = schema(
    "figure claim str, value least most f64, unit str, tolerance resolution f64, source assumed note str"
)
_EXACT: Final = 1e-9
"""Means and divisions leave rounding errors in whole numbers."""


@dataclass(frozen=True)
class Figure:
    """One figure; the module docstring explains its keys."""

    figure: str
    claim: str
    unit: str
    value: float | None = None
    least: float | None = None
    most: float | None = None
    tolerance: float | None = None
    resolution: float | None = None
    source: str | None = None
    assumed: str | None = None
    note: str | None = None
    here: str | None = None

    def mistakes(self) -> Iterator[tuple[Place, str]]:
        """Report contradicting keys."""
        if (self.value is None) == (self.least is self.most is None):
            yield ("value",), "a figure has one value or one range; write value, or a range (least, most)"
        if (self.source is None) == (self.assumed is None):
            yield ("source",), 'a figure has either; write source = "page, slide or section", or assumed = "why"'

    @property
    def stated(self) -> str:
        """The value or range as text.

        >>> Figure("", "", "", 34255.18).stated, Figure("", "", "", least=10.0, most=20.0).stated
        ('34,255.18', '10 to 20')
        >>> Figure("", "", "", most=1.0).stated
        'at most 1'
        """
        if self.value is not None:
            return _number(self.value)
        least, most = ("" if one is None else _number(one) for one in (self.least, self.most))
        return f"{least} to {most}" if least and most else f"at least {least}" if least else f"at most {most}"


@dataclass(frozen=True)
class Published:
    """The contents of the file."""

    figure: tuple[Figure, ...] = ()
    document: str = ""
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def read(path: Path) -> Published:
    """Return the tables and figures of `published.toml`; each `source` begins with the document.

    Raises EsxparseError: The file is not valid TOML, or a key is missing or has the wrong type.
    """
    found = checked.read(path, Published)
    if not found.document:
        return found
    whole = (replace(one, source=one.source and f"{found.document}, {one.source}") for one in found.figure)
    return replace(found, figure=tuple(whole))


def figures(study: Computed) -> pl.DataFrame | None:
    """Return the figures of `published.toml` with `here` (the runs' result) and `within`; None without the file.

    `source` is null for an assumed figure, `assumed` for a published one. If a figure has no `here` in the file,
    `here` is null.

    Raises EsxparseError: The file is invalid, or a figure cannot be computed; the message identifies it.
    """
    path = study.path.parent / FILE_NAME
    if not path.is_file():
        return None
    found = read(path)
    made = Derived(study, found.tables, path)
    here = [made.number(f"figure {one.figure}", one.here) if one.here is not None else None for one in found.figure]
    frame = listed(found.figure).with_columns(pl.Series("here", here, pl.Float64))
    value, missed = pl.col("value"), (pl.col("here") - pl.col("value")).abs()
    room = (pl.col("tolerance").fill_null(0.0).clip(_EXACT) * value.abs()).clip(_EXACT)
    near = (missed <= room) | (missed < pl.col("resolution").fill_null(0.0) / 2)
    least, most = pl.col("least").fill_null(-math.inf), pl.col("most").fill_null(math.inf)
    ranged = (pl.col("here") >= least - _EXACT) & (pl.col("here") <= most + _EXACT)
    return frame.with_columns(within=pl.when(value.is_null()).then(ranged).otherwise(near))


def listed(found: Sequence[Figure]) -> pl.DataFrame:
    """Return the figures as a table, as in the file, and `stated`: the value or range in words."""
    rows = [{**asdict(one), "stated": one.stated} for one in found]
    return pl.DataFrame(rows, schema={**SCHEMA, "stated": pl.String})


def _number(value: float) -> str:
    """Return a number with all its digits.

    >>> _number(60.072490066), _number(493804.0), _number(1e-05)
    ('60.072490066', '493,804', '0.00001')
    """
    return f"{value:,.10f}".rstrip("0").rstrip(".")
