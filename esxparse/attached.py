"""Methods of a recording beyond its tables: derived tables, findings, rankings, charts, the explorer.

`esxparse.recording` must not import the modules behind them, so importing `esxparse` attaches these methods to
`Recording` from here. Each imports its modules when it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from esxparse.errors import MissingTableError, did_you_mean
from esxparse.recording import Recording

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    from esxparse.diagnosis.findings import Findings


def item(rec: Recording, table: str) -> pl.LazyFrame:
    """Return the table of that name, as in the capture, or derived: `rec["vm"]`, `rec["device"]`.

    Derived tables have `time`, `instance` and the columns that the capture can give; see `rec.missing("vm")`.

    Raises:
        MissingTableError: It has no such table; the message lists its tables.
    """
    from esxparse.explorer.table_page import with_page  # noqa: PLC0415  (polars is imported when it is needed)

    if table in rec.tables:
        return with_page(table, rec.tables[table])
    from esxparse.derived import of_recording  # noqa: PLC0415

    if table in rec.derived:
        return with_page(table, of_recording.table(rec, table))
    there = [*rec.tables, *rec.derived]
    raise MissingTableError(
        f"{rec.source} has no table {table!r}; {did_you_mean(table, there)}it has: {', '.join(there)}"
    )


def derived(rec: Recording) -> tuple[str, ...]:
    """Return the names of the derived tables that the recording can give, "vm" for instance."""
    from esxparse.derived.of_recording import tables  # noqa: PLC0415

    return tables(rec)


def missing(rec: Recording, table: str | None = None) -> pl.DataFrame:
    """Return the columns of derived tables that the recording cannot give: `table`, `column`, `reason`.

    `table`: only this one; by default all.

    Raises EsxparseError: There is no such derived table.
    """
    from esxparse.derived import of_recording  # noqa: PLC0415

    return of_recording.missing(rec, table)


def findings(rec: Recording, profile: str = "standard") -> Findings:
    """Return the troubles of this recording, with times, causes and next steps: `ex.diagnose`."""
    from esxparse.diagnosis.diagnose import diagnose  # noqa: PLC0415

    return diagnose(rec, profile)


def search(rec: Recording, pattern: str = "") -> pl.DataFrame:
    """Return the counters and instances that a regular expression finds; see `ex.search`."""
    from esxparse.explorer import counter_columns  # noqa: PLC0415

    return counter_columns.search(rec, pattern)


def top(rec: Recording, name: str, n: int = 10, order: Any = "p95", **chosen: Any) -> pl.DataFrame:
    """Return the instances with the highest counter, `rec.top("%RDY")` for instance; see `ex.top`."""
    from esxparse.explorer import rows  # noqa: PLC0415

    return rows.top(rec, name, n, order, **chosen)


def plot(rec: Recording, name: str, **chosen: Any) -> alt.LayerChart:
    """Draw a counter over time, `rec.plot("%RDY", vm="db")` for instance; see `ex.plot`."""
    from esxparse.explorer import plots  # noqa: PLC0415

    return plots.plot(rec, name, **chosen)


def explore(rec: Recording, **chosen: Any) -> Any:
    """Return the explorer on this recording, in a notebook; see `ex.explore`."""
    from esxparse.explorer import app  # noqa: PLC0415

    return app.explore(rec, **chosen)


for _name, _method in {
    "__getitem__": item,
    "_ipython_key_completions_": lambda rec: [*rec.tables, *rec.derived],
    "derived": property(derived),
    **{one.__name__: one for one in (missing, findings, search, top, plot, explore)},
}.items():
    setattr(Recording, _name, _method)
