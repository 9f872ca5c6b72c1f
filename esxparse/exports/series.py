"""Lines of text for databases of time series: InfluxDB line protocol and OpenMetrics.

Sources: "Line protocol" in the documentation of InfluxDB v2 (escapes, integers, no newline in a tag, no empty tag);
the OpenMetrics 1.0 specification (escapes, order of samples, `# EOF`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import polars as pl

from esxparse.exports.table import Table

_NO_NAME: Final = re.compile(r"[^a-zA-Z0-9_]")


def influx_lines(table: Table) -> Iterator[bytes]:
    """Lines of InfluxDB line protocol, one per row with any number: measurement, tags, fields, time in ns.

    The measurement is the name of the table. `host` and the columns that identify a series are tags, numbers are
    fields. NaN and infinity, which the protocol cannot hold, are left out.

    Raises EsxparseError: The table has no timestamps.
    """
    table.need_time("InfluxDB line protocol")
    tags = [_tag(name) for name in table.labels]
    if table.host and "host" not in table.labels:
        tags = [pl.lit(f",host={_escaped_text(table.host)}"), *tags]
    fields = pl.concat_str([_field(table, name) for name in table.values], separator=",", ignore_nulls=True)
    head = pl.concat_str([pl.lit(_escaped_text(table.name)), *tags], ignore_nulls=True)
    lines = table.frame.select(
        line=pl.concat_str([head, pl.lit(" "), fields, pl.lit(" "), pl.col("time").dt.epoch("ns").cast(pl.String)]),
        has_fields=fields != "",
    )
    return _text(table, lines.filter("has_fields").select("line"))


def _escaped(text: pl.Expr) -> pl.Expr:
    """A tag value: no control character, no backslash at its end, which would escape what follows."""
    plain = text.str.replace_all(r"\p{C}|\\$", "\ufffd")
    return plain.str.replace_all(r"([,= ])", r"\$1")


def _escaped_text(text: str) -> str:
    return str(pl.select(_escaped(pl.lit(text))).item())


def _tag(name: str) -> pl.Expr:
    text = pl.col(name).cast(pl.String)
    return pl.when(text != "").then(pl.concat_str([pl.lit(f",{_escaped_text(name)}="), _escaped(text)]))


def _field(table: Table, name: str) -> pl.Expr:
    kind = table.schema[name]
    suffix = "i" if kind.is_integer() else ""
    value = pl.concat_str([pl.lit(f"{_escaped_text(name)}="), pl.col(name).cast(pl.String), pl.lit(suffix)])
    return pl.when(pl.col(name).is_finite()).then(value) if kind.is_float() else value


def openmetrics_lines(table: Table) -> Iterator[bytes]:
    """Lines of OpenMetrics 1.0: a gauge `esxparse_TABLE_COLUMN` per column with numbers, samples with time in s.

    Labels are `host` and the columns that identify a series. All samples of a series follow each other in order of
    time, as the specification asks, so the table is in memory once. Of samples with the same time, the first counts.

    Raises EsxparseError: The table has no timestamps.
    """
    table.need_time("OpenMetrics")
    keys = [*table.labels, "time"]
    sorted_rows = table.frame.sort(keys, maintain_order=True).unique(keys, keep="first", maintain_order=True)
    frame = sorted_rows.collect().lazy()
    labels = [_label(name) for name in table.labels]
    if table.host and "host" not in table.labels:
        labels = [pl.lit(f'host="{_quoted_text(table.host)}"'), *labels]
    inside = pl.concat_str(labels, separator=",", ignore_nulls=True) if labels else pl.lit("")
    # Epochs in s with all digits of a microsecond.
    micros = pl.col("time").dt.epoch("us")
    seconds = pl.concat_str(
        [micros.floordiv(1_000_000).cast(pl.String), (micros % 1_000_000).cast(pl.String).str.zfill(6)], separator="."
    )
    for column in table.values:
        metric = f"esxparse_{_name(table.name)}_{_name(column)}"
        yield f"# TYPE {metric} gauge\n# HELP {metric} {_quoted_text(table.meaning(column))}\n".encode()
        value = pl.col(column).cast(pl.Float64).cast(pl.String).str.replace("^inf$", "+Inf").str.replace("-inf", "-Inf")
        line = pl.concat_str([pl.lit(f"{metric}{{"), inside, pl.lit("} "), value, pl.lit(" "), seconds])
        yield from _text(table, frame.filter(pl.col(column).is_not_null()).select(line=line))
    yield b"# EOF\n"


def _name(text: str) -> str:
    """A part of the name of a metric or label."""
    return _NO_NAME.sub("_", text)


def _quoted(text: pl.Expr) -> pl.Expr:
    """A label value or help text."""
    plain = text.str.replace_all(r"\\", r"\\").str.replace_all('"', r"\"", literal=True)
    return plain.str.replace_all("\n", r"\n", literal=True)


def _quoted_text(text: str) -> str:
    return str(pl.select(_quoted(pl.lit(text))).item())


def _label(name: str) -> pl.Expr:
    text = pl.col(name).cast(pl.String)
    return pl.when(text != "").then(pl.concat_str([pl.lit(f'{_name(name)}="'), _quoted(text), pl.lit('"')]))


def _text(table: Table, lines: pl.LazyFrame) -> Iterator[bytes]:
    for batch in table.batches(lines):
        if not batch.is_empty():
            yield ("\n".join(batch["line"].to_list()) + "\n").encode()
