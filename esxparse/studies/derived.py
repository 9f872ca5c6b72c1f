"""Tables derived from a study, as data: `published.toml` and `[report]` of a manifest declare them.

A table is made by one of

    compare = "iops"                             Study.compare; `to` and `within`: another baseline than the study's
    study = "scaling", args = ["hosts", "iops"]  another method of Study: consolidation, leaves_linear ...
    peak_load = "users"                          Study.peak_load, by the rules of [report]
    open = "a*.csv.bz2", table = "vcpu"          a table of recordings beside the manifest, with `file`, their name
    metric = "numa.locality", of = ["memory"]    a function of esxparse.metrics (`with`: other arguments), or a constant
    sql = "SELECT ..."                           reads `runs`, `results` and other derived tables
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import polars as pl
import polars.selectors as cs

from esxparse.errors import EsxparseError
from esxparse.recording import counted
from esxparse.studies.report_section import Computed

READ: Final = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)", re.IGNORECASE)
"""The tables that a query reads."""
_FILES: Final = re.compile(r"\bread_\w+\s*\(", re.IGNORECASE)
_METHODS: Final = frozenset({"consolidation", "leaves_linear", "scaling", "virtual_to_native"})


class Derived:
    """Tables by name, each computed on first use.

    `study`: their source. `told`: the declaration of each, by name. `path`: the file with the declarations, for
    messages.
    """

    def __init__(self, study: Computed, definitions: Mapping[str, Any], path: Path) -> None:
        self._study, self._definitions, self._path = study, definitions, path
        self._made: dict[str, pl.LazyFrame | None] = {"runs": study.runs}
        if study.results is not None:
            self._made["results"] = study.results

    def number(self, who: str, query: str) -> float:
        """Return the single number of a query; errors mention `who`."""
        found = self.frame(who, query)
        if found.shape != (1, 1) or not isinstance(found.item(), int | float):
            raise self._wrong(
                who,
                f"its query gives {counted(found.height, 'row')} and {counted(found.width, 'column')}, not 1 number",
            )
        return float(found.item())

    def frame(self, who: str, query: str) -> pl.DataFrame:
        """Return the result of a query; errors mention `who`."""
        if not isinstance(query, str) or _FILES.search(query):
            raise self._wrong(who, "a query is text, and reads tables, not files")
        known = {*self._made, *self._definitions}
        frames = {name: self._table(name) for name in sorted(known & set(READ.findall(query)))}
        try:
            # SQL reads numbers with a decimal point as decimals.
            return pl.SQLContext(frames, eager=True).execute(query).with_columns(cs.decimal().cast(pl.Float64))
        except (pl.exceptions.PolarsError, TypeError) as error:
            raise self._wrong(who, str(error).splitlines()[0]) from None

    def _table(self, name: str) -> pl.LazyFrame:
        if name not in self._made:
            if name not in self._definitions:
                raise self._wrong(
                    "tables", f"there is no table {name}: there are {', '.join([*self._made, *self._definitions])}"
                )
            # A table that is needed while it is made depends on itself.
            self._made[name] = None
            who = f"table {name}"
            try:
                self._made[name] = self._make(who, self._definitions[name]).lazy().collect().lazy()
            except EsxparseError as error:
                has_path = str(error).startswith(str(self._path))
                raise error if has_path else self._wrong(who, str(error)) from None
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

    def _make(self, who: str, definition: Mapping[str, Any]) -> pl.LazyFrame | pl.DataFrame:
        study, args = self._study, definition.get("args", [])
        if "compare" in definition:
            to = {name: one for name, one in definition.get("to", {}).items() if one is not None}
            other = study.against(to, definition.get("within")) if to else study
            return other.compare(definition["compare"])
        if "peak_load" in definition:
            return study.peak_load(definition["peak_load"], study.report_section.expressions())
        if definition.get("study") in _METHODS:
            found: pl.LazyFrame = getattr(study, definition["study"])(*args, **definition.get("with", {}))
            return found
        if "open" in definition:
            return self._opened(who, definition["open"], definition.get("table", ""))
        if "metric" in definition:
            return self._metric(
                who,
                definition["metric"],
                [self._table(one) for one in definition.get("of", [])],
                definition.get("with", {}),
            )
        if "sql" in definition:
            return self.frame(who, definition["sql"])
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
