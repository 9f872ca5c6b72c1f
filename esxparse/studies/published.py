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

`here` is SQL that gives one number. It reads `runs`, `results` and the tables named in [tables], each made by one of

    compare = "iops"                             Study.compare
    study = "scaling", args = ["hosts", "iops"]  another method of Study: consolidation, virtual_to_native
    peak_load = "users"                          Study.peak_load, by the rules of [report]
    open = "a*.csv.bz2", table = "vcpu"          a table of recordings beside the manifest, with `file`, their name
    metric = "numa.locality", of = ["memory"]    a function of esxparse.metrics (`with`: other arguments), or a constant
    sql = "SELECT ..."
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

import polars as pl

from esxparse import toml
from esxparse.errors import EsxparseError, did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

    from esxparse.studies.asked import Asked

FILE_NAME: Final = "published.toml"
SCHEMA: Final = {
    "figure": pl.String,
    "claim": pl.String,
    "value": pl.Float64,
    "unit": pl.String,
    "tolerance": pl.Float64,
    "note": pl.String,
}
_KEYS: Final = frozenset({*SCHEMA, "here"})
_READ: Final = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)", re.IGNORECASE)
_FILES: Final = re.compile(r"\bread_\w+\s*\(", re.IGNORECASE)
_METHODS: Final = frozenset({"consolidation", "scaling", "virtual_to_native"})
_EXACT: Final = 1e-9
"""Whole numbers come through means and divisions."""


class Computed(Protocol):
    """What is needed of a study: `Study` of `esxparse.studies` has it."""

    @property
    def path(self) -> Path:
        """The manifest."""

    @property
    def runs(self) -> pl.LazyFrame:
        """One row per run."""

    @property
    def results(self) -> pl.LazyFrame | None:
        """Figures of benchmarks."""

    @property
    def asked(self) -> Asked:
        """The table [report] of the manifest."""

    def compare(self, value: str) -> pl.LazyFrame:
        """A column against the baseline."""

    def peak_load(self, load: str, rules: Mapping[str, pl.Expr]) -> pl.LazyFrame:
        """The largest load that keeps all rules."""


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
    made = _Tables(study, told["tables"], path)
    here = [made.number(one["figure"], one["here"]) if "here" in one else None for one in told["figure"]]
    room = (pl.col("tolerance").clip(_EXACT) * pl.col("value").abs()).clip(_EXACT)
    frame = listed(told["figure"]).with_columns(pl.Series("here", here, pl.Float64))
    return frame.with_columns(within=(pl.col("here") - pl.col("value")).abs() <= room)


def listed(told: list[dict[str, Any]]) -> pl.DataFrame:
    """The figures as a table, as they were published."""
    return pl.DataFrame([{name: one[name] for name in SCHEMA} for one in told], schema=SCHEMA)


class _Tables:
    """Tables by their names, each made when it is first asked for."""

    def __init__(self, study: Computed, told: Mapping[str, Any], path: Path) -> None:
        self._study, self._told, self._path = study, told, path
        self._made: dict[str, pl.LazyFrame | None] = {"runs": study.runs}
        if study.results is not None:
            self._made["results"] = study.results

    def number(self, figure: str, query: str) -> float:
        found = self._sql(query, f"figure {figure}")
        if found.shape != (1, 1) or not isinstance(found.item(), int | float | Decimal):
            raise self._wrong(
                f"figure {figure}", f"its query gives {found.height} rows and {found.width} columns, not 1 number"
            )
        return float(found.item())

    def _sql(self, query: str, who: str) -> pl.DataFrame:
        if not isinstance(query, str) or _FILES.search(query):
            raise self._wrong(who, "a query is text, and reads tables, not files")
        known = {*self._made, *self._told}
        frames = {name: self._table(name) for name in sorted(known & set(_READ.findall(query)))}
        try:
            return pl.SQLContext(frames, eager=True).execute(query)
        except (pl.exceptions.PolarsError, TypeError) as error:
            raise self._wrong(who, str(error).splitlines()[0]) from None

    def _table(self, name: str) -> pl.LazyFrame:
        if name not in self._made:
            if name not in self._told:
                raise self._wrong(
                    "tables", f"there is no table {name}: there are {', '.join([*self._made, *self._told])}"
                )
            # A table that is asked for while it is made needs itself.
            self._made[name] = None
            who = f"table {name}"
            try:
                self._made[name] = self._make(who, self._told[name]).lazy().collect().lazy()
            except (
                TypeError,
                ValueError,
                AttributeError,
                KeyError,
                NotImplementedError,
                pl.exceptions.PolarsError,
            ) as error:
                raise self._wrong(who, f"{type(error).__name__}: {error}".splitlines()[0]) from None
        found = self._made[name]
        if found is None:
            raise self._wrong(f"table {name}", "it is made of itself")
        return found

    def _make(self, who: str, told: Mapping[str, Any]) -> pl.LazyFrame | pl.DataFrame:
        study, args = self._study, told.get("args", [])
        if "compare" in told:
            return study.compare(told["compare"])
        if "peak_load" in told:
            return study.peak_load(told["peak_load"], study.asked.expressions())
        if told.get("study") in _METHODS:
            found: pl.LazyFrame = getattr(study, told["study"])(*args)
            return found
        if "open" in told:
            return self._opened(who, told["open"], told.get("table", ""))
        if "metric" in told:
            return self._metric(
                who, told["metric"], [self._table(one) for one in told.get("of", [])], told.get("with", {})
            )
        if "sql" in told:
            return self._sql(told["sql"], who)
        raise self._wrong(who, f"write compare, peak_load, study ({', '.join(sorted(_METHODS))}), open, metric or sql")

    def _opened(self, who: str, pattern: str, table: str) -> pl.LazyFrame:
        from esxparse.formats.registry import open_recording  # noqa: PLC0415  where a figure needs a raw file

        folder = self._path.parent.resolve()
        there = [one for one in sorted(folder.glob(pattern)) if one.resolve().is_relative_to(folder)]
        if not there:
            raise self._wrong(who, f"there is no file {pattern} beside the manifest")
        frames = [open_recording(one)[table].with_columns(file=pl.lit(one.name)) for one in there]
        return pl.concat(frames, how="diagonal_relaxed")

    def _metric(self, who: str, name: str, frames: list[pl.LazyFrame], more: Mapping[str, Any]) -> pl.LazyFrame:
        module, _, function = name.partition(".")
        try:
            call = vars(import_module(f"esxparse.metrics.{module}"))[function]
        except (ImportError, KeyError):
            call = None
        if isinstance(call, int | float):
            return pl.LazyFrame({"value": [call]})
        if (
            not inspect.isfunction(call)
            or function.startswith("_")
            or not call.__module__.startswith("esxparse.metrics")
        ):
            raise self._wrong(who, f"there is no function {name} in esxparse.metrics")
        found = call(*frames, **more)
        if hasattr(found, "_asdict"):
            return pl.LazyFrame([found._asdict()])
        return found.lazy() if isinstance(found, pl.LazyFrame | pl.DataFrame) else pl.LazyFrame({"value": [found]})

    def _wrong(self, who: str, why: str) -> EsxparseError:
        return EsxparseError(f"{self._path}: {who}: {why}")
