"""Tables of a study as files: CSV, Parquet, and HTML for publication, with units and the baseline."""

from __future__ import annotations

import html as markup
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import polars as pl

from esxparse import toml
from esxparse.errors import EsxparseError
from esxparse.metrics import units
from esxparse.recording import Note, counted, printable
from esxparse.studies import baseline
from esxparse.studies.columns import COLUMNS, HEADLINES, METRICS
from esxparse.studies.expand import Run
from esxparse.studies.report_section import Computed
from esxparse.studies.results import unit_name
from esxparse.target import PAGE_MARK, Target, target
from esxparse.version import __version__

if TYPE_CHECKING:
    from great_tables import GT

_NAMES: Final = toml.beside(__file__, "headings.toml")
_WRITTEN: Final[dict[str, str]] = _NAMES["unit"]
_WHOLE: Final = {
    **{f"{of}_{cost}": (text, unit) for of, text in _NAMES["cost_of"].items() for cost, unit in _NAMES["cost"].items()},
    **{column: (text, unit) for column, (text, unit) in _NAMES["whole"].items()},
}
_NOTES_SHOWN: Final = 12
_HEAD: Final = 1 << 16
_MANY: Final = 10
_OURS: Final = (("repetition", "start", "end", "measured_s"), ("quantity", "ratio", "verdict"), ("load", "gap"))
"""Columns that identify a CSV as a table of a study: its runs, compared runs, or largest loads."""
_DASH: Final = "\u2013"
_COMPARED: Final = ("runs", "mean", "ratio", "ratio_low", "ratio_high", "change_pct", "verdict", "gap")


def declared(results: pl.LazyFrame | None) -> dict[str, str]:
    """Return the unit of each column of benchmark figures, as the benchmark writes it: column names are in lower case.

    `results`: `Study.results`; each column has only one unit.
    """
    if results is None:
        return {}
    return dict(results.select("column", pl.col("unit").fill_null("")).unique("column").collect().iter_rows())


def heading(column: str, declared_units: Mapping[str, str] | None = None) -> tuple[str, str]:
    """Return a column's heading for readers, and its unit: the declared one, or else the end of its name.

    >>> heading("hpl_performance_gflop_per_s", {"hpl_performance_gflop_per_s": "GFlop/s"})
    ('Hpl performance', 'GFlop/s')
    >>> heading("read_latency_mean_ms"), heading("rx_mbit_per_s"), heading("iops"), heading("filter"), heading("min")
    (('Read latency mean', 'ms'), ('Traffic received', 'Mbit/s'), ('IOPS', ''), ('Filter', ''), ('Min', ''))
    >>> heading("orders_per_min"), heading("copied_gb_per_h"), heading("mb_per_s_per_watts")
    (('Orders', '1/min'), ('Copied', 'GB/h'), ('Throughput', 'MB/s per W'))
    """
    if declared_units and column in declared_units:
        own = declared_units[column]
        words = column.removesuffix(unit_name(own)).strip("_").replace("_", " ") or column
        return words[:1].upper() + words[1:], _WRITTEN.get(own, own)
    if column in _WHOLE:
        return _WHOLE[column]
    unit = ""
    with suppress(EsxparseError):
        unit = units.unit_of(column)
    if unit and (counted := column.removesuffix(f"_per_{unit}")) != column:
        text, over = heading(counted)
        written = _WRITTEN.get(unit, unit)
        return text, f"{over} per {written}" if "/" in over else f"{over or 1}/{written}"
    words = column.removesuffix(unit).strip("_").replace("_", " ") or column
    return words[:1].upper() + words[1:], _WRITTEN.get(unit, unit)


Better = Literal["higher", "lower", ""]
BETTER: Final = {name: column.better for name, column in COLUMNS.items() if column.better}
"""Whether higher or lower is better, for columns with a clear answer."""


@dataclass(frozen=True)
class Named:
    """A column in words."""

    name: str
    unit: str
    better: Better
    """"" if it depends."""


def column_in_words(study: Computed, column: str) -> Named:
    """Return a column of `runs` in words; for a benchmark's figure the benchmark's own words."""
    if column in COLUMNS or study.results is None:
        return Named(*heading(column), cast("Better", BETTER.get(column, "")))
    rows = study.results.filter(pl.col("column") == column).head(1).collect()
    if rows.is_empty():
        return Named(*heading(column), "")
    row = rows.row(0, named=True)
    _, unit = heading(column, declared(rows.lazy()))
    parts = [row[part] for part in ("benchmark", "test", "metric") if row[part]]
    alike = study.results.filter(pl.col("benchmark") == row["benchmark"], pl.col("test") == row["test"])
    if row["configuration"] and alike.select(pl.col("configuration").n_unique()).collect().item() > 1:
        parts.insert(-1, f"({row['configuration']})")
    text = " ".join(parts if parts[0] != "results" else parts[1:]).replace("_", " ")
    better: Better = "" if row["higher_is_better"] is None else "higher" if row["higher_is_better"] else "lower"
    return Named(text[:1].upper() + text[1:], unit, better)


def csv(table: pl.LazyFrame, out: Target) -> None:
    """Write a table as CSV: units are in the names of columns, times are UTC in ISO 8601, nulls are empty."""
    frame = table.collect()
    lists = [name for name, kind in frame.schema.items() if kind.is_nested()]
    frame = frame.with_columns(pl.col(name).cast(pl.List(pl.String)).list.join(" ") for name in lists)
    out.write(frame.write_csv(datetime_format="%Y-%m-%dT%H:%M:%S%.fZ").encode())


def parquet(table: pl.LazyFrame, out: Target, title: str, base: str, declared_units: Mapping[str, str]) -> None:
    """Write a table as Parquet; its metadata has `title`, `baseline`, `esxparse`, `unit.COLUMN` for each unit."""
    frame = table.collect()
    unit_metadata = {f"unit.{name}": unit for name in frame.columns if (unit := heading(name, declared_units)[1])}
    metadata = {"title": printable(title), "baseline": printable(base), "esxparse": __version__, **unit_metadata}
    written = io.BytesIO()
    frame.write_parquet(written, metadata=metadata)
    out.write(written.getvalue())


def inputs(manifest: Path, runs: Iterable[Run]) -> tuple[Path, ...]:
    """Return the inputs of a study: the manifest, files of runs, directories of such files."""
    paths = dict.fromkeys(path for run in runs for files in run.files.values() for path in files.paths)
    # `bundle.tgz:member` is a file in a bundle.
    return manifest, *(Path(name) for path in paths for name in dict.fromkeys((path, path.rsplit(":", 1)[0])))


def place(path: str | os.PathLike[str], sources: Iterable[Path], *, replace: bool) -> Target:
    """Return a place for a table of a study, never a file that the study reads."""
    return target(path, sources, replace=replace, ours=_is_table)


def _is_table(path: Path) -> bool:
    """Return whether a file is a table of a study: a page, Parquet with our metadata, or CSV with our columns."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if head.startswith(b"PAR1"):
        with suppress(pl.exceptions.PolarsError, OSError):
            return "esxparse" in pl.read_parquet_metadata(path)
        return False
    first = head.partition(b"\n")[0].decode("utf-8", "replace").rstrip("\r").split(",")
    return PAGE_MARK in head[:4096] or any(set(columns) <= set(first) for columns in _OURS)


def chosen(frame: pl.DataFrame, labels: Sequence[str], columns: Sequence[str] | None) -> list[str]:
    """Return the columns for readers."""
    if columns is not None:
        for name in columns:
            if name not in frame.columns:
                raise EsxparseError(f"no column {name!r} to show; available: {', '.join(frame.columns)}")
        return list(columns)
    there = [name for name in frame.columns if frame[name].null_count() < frame.height]
    if "quantity" in frame.columns:
        return [*labels, *(name for name in _COMPARED if name in there)]
    known = [name for name in HEADLINES if name in there] or [name for name in METRICS if name in there][:_MANY]
    own = [name for name in there if name not in COLUMNS and name not in labels]
    repeated = ["repetition"] if "repetition" in there and (frame["repetition"] > 1).any() else []
    ends = [name for name in ("gap",) if name in there]
    return [*(name for name in labels if name in frame.columns), *repeated, *known, *own, *ends]


def great_table(
    frame: pl.DataFrame,
    labels: Sequence[str],
    title: str,
    below: str,
    notes: Iterable[str],
    declared_units: Mapping[str, str],
) -> GT:
    """Return a table for publication: title, subtitle, units under the column names, notes below the table."""
    try:
        from great_tables import GT, html  # noqa: PLC0415  an extra, and slow to import
    except ImportError:
        msg = "tables for publication need great-tables: install esxparse with the extra `study`"
        raise EsxparseError(msg) from None
    made = GT(frame).tab_header(title=printable(title), subtitle=printable(below))
    made = made.cols_label(cases={name: html(two_lines(*heading(name, declared_units))) for name in frame.columns})
    for name in frame.columns:
        kind = frame.schema[name]
        if kind.is_float():
            made = made.fmt_number(columns=name, n_sigfig=4, use_seps=True)
        elif kind.is_integer() and name not in labels:
            made = made.fmt_integer(columns=name)
    made = made.sub_missing(missing_text=_DASH).opt_row_striping()
    for line in notes:
        made = made.tab_source_note(html(markup.escape(printable(line))))
    return made


def two_lines(text: str, unit: str) -> str:
    """Return the head of a column in HTML: its name, and its unit below."""
    escaped = markup.escape(text)
    return f"{escaped}<br><small>{markup.escape(unit)}</small>" if unit else escaped


def subtitle(frame: pl.DataFrame, base: Mapping[str, Any], description: str, declared_units: Mapping[str, str]) -> str:
    """Return the compared quantity, if any, and the baseline; without a baseline, the study's description."""
    name_and_unit = (
        heading(frame["quantity"][0], declared_units) if "quantity" in frame.columns and frame.height else ()
    )
    quantity = f"{', '.join(filter(None, name_and_unit))}: " if name_and_unit else ""
    return quantity + (f"baseline {baseline.text(base)}" if base else description or "no baseline")


def source_notes(frame: pl.DataFrame, base: Mapping[str, Any], found: Iterable[Note]) -> list[str]:
    """Return the lines below a table: its baseline, its formulae, and missing data."""
    notes = []
    if base and "is_baseline" in frame.columns:
        count = frame["is_baseline"].sum()
        notes.append(f"Baseline: {baseline.text(base)} ({count} of {counted(frame.height, 'row')}).")
    if "ratio_low" in frame.columns:
        notes.append("Ratio: mean / mean of the baseline; 95 % interval by Fieller's theorem unless noted otherwise.")
    if any(name.startswith("used_") for name in frame.columns):
        notes.append(
            "Used: work at nominal frequency, in cores (two busy hyper-threads count as half a core each). "
            "Util: time not halted."
        )
    warnings = [str(note) for note in found if note.severity == "warning"]
    notes += [f"{_DASH}: no value. {warning}" for warning in warnings[:_NOTES_SHOWN]]
    if len(warnings) > _NOTES_SHOWN:
        notes.append(f"and {len(warnings) - _NOTES_SHOWN} more notes")
    return notes


def html(made: GT, out: Target, title: str) -> None:
    """Write a table as one self-contained HTML file."""
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"{PAGE_MARK.decode()}<title>{markup.escape(printable(title))}</title></head>\n<body>\n{made.as_raw_html()}\n</body></html>\n"
    )
    out.write(page.encode())


def text_table(frame: pl.DataFrame, labels: Sequence[str], columns: Sequence[str] | None = None) -> str:
    """Return the table as text for a terminal."""
    selected = chosen(frame, labels, columns)
    rounded = frame.select(selected).with_columns(pl.selectors.float().round_sig_figs(4))
    wide = {"tbl_rows": -1, "tbl_cols": -1, "fmt_str_lengths": 60, "tbl_width_chars": 200}
    with pl.Config(**wide, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, tbl_formatting="NOTHING"):  # type: ignore[arg-type]
        return str(rounded)
