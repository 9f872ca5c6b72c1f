"""Names of series in expressions of rules and cases, and their meanings.

An expression is about one kind of object. A name in it is a column of that kind (a derived table), or one of these:

    others_X, othersmax_X          mean or highest of X over the other objects of the kind
    share_X                        X of the object / sum of X over all objects of the kind
    host_X                         X of the host
    KINDs_X, KINDsmax_X, KINDsmin_X, KINDssum_X   of all objects of a kind: vms_used_pct, portsmax_tx_mbits
    X_low, X_high                  the usual low and high of X: its 20th and 80th percentile

and about a spell also

    X             mean over the spell, while its trigger holds; X_peak, X_least   highest and lowest sample
    X_before      median outside of it, null if the spell is nearly all of the capture
    X_rise        X - X_before, or X itself without an X_before
    X_spreads     X - X_before in spreads (median absolute deviations x 1.48) outside, each 2 % of X_before or more
    spell_pct, spell_samples   the samples in which the trigger holds, in % of the capture, and how many
    spell_density              these / samples from its first to its last: low if it comes and goes
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.exceptions import PolarsError
from polars.io.plugins import register_io_source

from esxparse.derived.capture import VIEWS
from esxparse.derived.catalogue import TABLES
from esxparse.derived.panels import Panel, rows
from esxparse.derived.tables import CLOCK, columns, declared
from esxparse.metrics import over_time
from esxparse.schema import TIME
from esxparse.toml.checked import choose

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
Known = tuple[Matrix, Matrix | None]

_ALL: Final = re.compile(rf"({'|'.join(TABLES)})s(max|min|sum|)_(.+)")
_OTHERS: Final = re.compile(r"(others|othersmax|share)_(.+)")
_USUAL: Final = re.compile(r"(.+)_(low|high)")
_SPELL: Final = re.compile(r"(.+)_(before|rise|peak|least|spreads)")
_OF_SPELLS: Final = frozenset({"spell_pct", "spell_samples", "spell_density"})
_FEWEST_OUTSIDE: Final = 3
_PRINTED: Final = 0.01
"""The precision to which counters are printed."""
_OVER: Final[Mapping[str, Callable[..., Matrix]]] = {
    "all": np.nanmean,
    "allmax": np.nanmax,
    "allmin": np.nanmin,
    "allsum": np.nansum,
}


@cache
def known(kind: str) -> frozenset[str]:
    """Return the columns of a kind."""
    return frozenset(declared()[kind])


def _meaning(kind: str, name: str) -> tuple[str, str, str]:
    """Split a name into how, kind and name of the series that it is derived from; "own" for a column of the kind."""
    if name in known(kind):
        return "own", kind, name
    if found := _USUAL.fullmatch(name):
        return found[2], kind, found[1]
    if name.startswith("host_"):
        return "host", "host", name.removeprefix("host_")
    if found := _ALL.fullmatch(name):
        return f"all{found[2]}", found[1], found[3]
    if found := _OTHERS.fullmatch(name):
        return found[1], kind, found[2]
    return "", kind, name


def _of_spell(kind: str, name: str) -> tuple[str, str]:
    """Return the series that a name is derived from in a spell, and how: `kavg_ms_before` is `kavg_ms`, "before"."""
    found = None if name in known(kind) else _SPELL.fullmatch(name)
    return (found[1], found[2]) if found else (name, "")


def origin(kind: str, name: str) -> tuple[str, str, str]:
    """Return kind and column that a name in an expression is derived from, and how; an empty column if none."""
    how, of, inner = _meaning(kind, name)
    return of, inner if inner in known(of) else "", how


def source(kind: str, name: str) -> tuple[str, str, str]:
    """Return the same for a name that is read from a spell: `kavg_ms_before` is derived from `kavg_ms`."""
    return origin(kind, _of_spell(kind, name)[0])


def compared(kind: str, name: str) -> str:
    """Return the series whose values outside a spell a name needs: `kavg_ms` for `kavg_ms_before`; else empty."""
    series, in_spell = _of_spell(kind, name)
    return series if in_spell in {"before", "rise", "spreads"} else ""


def spoken(kind: str, name: str) -> str:
    """Return the usual name of the column behind a name in an expression: "%RDY"; empty for the spell itself."""
    series, in_spell = _of_spell(kind, name)
    if in_spell:
        return spoken(kind, series)
    of, column, _ = origin(kind, name)
    return (declared()[of][column].screen or declared()[of][column].name) if column else ""


def tables(kind: str, name: str, *, also: bool = True) -> frozenset[str] | None:
    """Return the tables that a series needs; with `also` the tables that it reads if a capture has them.

    Returns None if there is no such series.
    """
    if name in _OF_SPELLS or (kind == "host" and name in CLOCK):
        return frozenset()
    series, in_spell = _of_spell(kind, name)
    if in_spell:
        return tables(kind, series, also=also)
    how, of, inner = _meaning(kind, name)
    if how == "own":
        view = next(one for one in VIEWS if one.table == kind and name in columns(one))
        return frozenset(view.reads if also else view.needs)
    return tables(of, inner, also=also) if how else None


class Series:
    """The series of one capture by kind and name, each computed once."""

    def __init__(
        self,
        panels: Mapping[str, Panel],
        samples: int,
        columns: Mapping[str, Collection[str]] | None = None,
        covered: Matrix | None = None,
        *,
        times: Sequence[datetime] = (),
        cut: bool = False,
    ) -> None:
        """`panels`: by kind. `samples`, `times`: of the capture. `covered`: from `over_time.weights`.

        `columns`: the columns of each table of the capture.
        `cut`: whether a spreadsheet may have cut columns off.
        """
        self.panels, self.samples, self.covered, self.cut = panels, samples, covered, cut
        self.columns = columns or {}
        self.times = times
        self._made: dict[tuple[str, str], Matrix | None] = {}

    def matrix(self, kind: str, name: str) -> Matrix | None:
        """Return samples x objects; None if the capture does not have the series."""
        if (kind, name) not in self._made:
            with warnings.catch_warnings():
                # Samples in which no object has a value are NaN, as they should be.
                warnings.simplefilter("ignore", RuntimeWarning)
                self._made[kind, name] = self._make(kind, name)
        return self._made[kind, name]

    def _make(self, kind: str, name: str) -> Matrix | None:
        if kind not in self.panels:
            return None
        how, of, of_name = _meaning(kind, name)
        if how in {"", "own"}:
            return self.panels[kind].values.get(name)
        inner = self.matrix(of, of_name)
        if inner is None:
            return None
        wide = (self.samples, len(self.panels[kind].names))
        if how in {"low", "high"}:
            share = 0.2 if how == "low" else 0.8
            made = np.array([self._percentile(column, share) for column in inner.T])
        elif how in {"others", "othersmax", "share"}:
            made = _others(how, inner)
        elif how == "host":
            made = inner
        else:
            made = _OVER[how](inner, axis=1)[:, None]
        return np.broadcast_to(made, wide)

    def table(self, kind: str) -> pl.LazyFrame | None:
        """Return the derived table of a kind, as `rec["vm"]` gives it, without a second look at the capture.

        Missing values are null. Returns None if the capture has no such objects.
        """
        if kind not in self.panels:
            return None

        schema = {"time": TIME, "instance": pl.String()} | dict.fromkeys(declared()[kind], pl.Float64())

        def read(
            with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _batch_size: int | None
        ) -> Iterator[pl.DataFrame]:
            requested = list(schema) if with_columns is None else with_columns
            needed = dict.fromkeys([*requested, *(() if predicate is None else predicate.meta.root_names())])
            made = rows(self.panels[kind], self.times, [name for name in needed if name not in {"time", "instance"}])
            made = made if predicate is None else made.filter(predicate)
            yield made.select(requested).head(made.height if n_rows is None else n_rows)

        return register_io_source(read, schema=schema, is_pure=True)

    def frame(self, kind: str, names: Iterable[str]) -> pl.LazyFrame:
        """Return one row per sample and object, sample after sample; missing values are null."""
        size = self.samples * len(self.panels[kind].names)
        made = {}
        for name in names:
            matrix = self.matrix(kind, name)
            made[name] = np.full(size, np.nan) if matrix is None else matrix.reshape(-1)
        return pl.LazyFrame(made, schema=dict.fromkeys(made, pl.Float64)).fill_nan(None)

    def spell(self, kind: str, place: int, inside: Mask, name: str, core: Mask | None = None) -> float | None:
        """Return the value of a name in a spell of an object; None if it is missing.

        `core`: the samples that belong to the spell, if others lie between them.
        """
        core = inside if core is None or not core.any() else core
        if name in _OF_SPELLS:
            at = np.flatnonzero(core)
            extents = {"spell_samples": at.size, "spell_pct": over_time.average(100.0 * core, self.covered)}
            return float(extents.get(name, at.size / (at[-1] - at[0] + 1)))
        of, what = _of_spell(kind, name)
        matrix = self.matrix(kind, of)
        if matrix is None:
            return None
        column = matrix[:, place]
        here, outside = self._known(column, core), self._known(column, ~inside)
        before = over_time.percentile(outside[0], 0.5, outside[1]) if outside[0].size >= _FEWEST_OUTSIDE else None
        return before if what == "before" else _reduced(what, here, outside, before) if here[0].size else None

    def _known(self, column: Matrix, samples: Mask) -> Known:
        """Return the values of a series in some samples, and the seconds that each covers."""
        return over_time.known(column[samples], None if self.covered is None else self.covered[samples])

    def _percentile(self, column: Matrix, share: float) -> float:
        """Return a percentile of a series over time; NaN without a value."""
        values, seconds = over_time.known(column, self.covered)
        return over_time.percentile(values, share, seconds) if values.size else np.nan


def _reduced(what: str, here: Known, outside: Known, before: float | None) -> float | None:
    """Reduce a series in a spell, and outside it, to one number."""
    values, _ = here
    if what in {"peak", "least"}:
        return float(values.max() if what == "peak" else values.min())
    mean = over_time.average(*here)
    if what == "rise":
        return mean - (before or 0.0)
    if what != "spreads":
        return mean
    if before is None:
        return None
    spread = 1.4826 * over_time.percentile(np.abs(outside[0] - before), 0.5, outside[1])
    return (mean - before) / max(spread, 0.02 * abs(before), _PRINTED)


def _others(how: str, inner: Matrix) -> Matrix:
    """Return the same for the other objects of the kind."""
    total = np.nansum(inner, axis=1, keepdims=True)
    if how == "share":
        return inner / np.where(total > 0, total, np.nan)
    if how == "others":
        count = (~np.isnan(inner)).sum(axis=1, keepdims=True) - ~np.isnan(inner)
        return np.where(count > 0, (total - np.nan_to_num(inner)) / np.maximum(count, 1), np.nan)
    if inner.shape[1] == 1:
        return np.full(inner.shape, np.nan)
    ranked = np.sort(np.where(np.isnan(inner), -np.inf, inner), axis=1)
    first, second = ranked[:, -1:], ranked[:, -2:-1]
    made = np.where(inner == first, second, first)
    return np.where(np.isfinite(made), made, np.nan)


def roots(expression: str) -> frozenset[str]:
    """Return the names in an expression of SQL.

    Raises polars' errors if it is not an expression.
    """
    return frozenset(pl.sql_expr(expression).meta.root_names())


def mistakes(kind: str, expression: str) -> Iterator[str]:
    """Yield the mistakes in an expression over the series of a kind."""
    try:
        names = roots(expression)
    except PolarsError as error:
        yield f"is not an expression: {str(error).splitlines()[0]}; correct it"
        return
    yield from unknown(kind, names)


def unknown(kind: str, names: Iterable[str]) -> Iterator[str]:
    """Yield a message for each series that no capture can have."""
    for name in sorted(names):
        if tables(kind, name) is None:
            yield f'reads "{name}", which no {kind} has; write {choose(name, sorted(known(kind)))}'
