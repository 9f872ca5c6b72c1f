"""Tables as files: CSV, Parquet and Excel workbooks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from typing import Any, BinaryIO, Final

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.exports.table import Table

EXCEL_ROWS: Final = 1_048_576
EXCEL_COLUMNS: Final = 16_384
EXCEL_TEXT: Final = 32_767
"""What a worksheet and a cell can hold. Source: "Excel specifications and limits", Microsoft."""
_UTC: Final = "%Y-%m-%dT%H:%M:%S%.fZ"


def csv_lines(table: Table) -> Iterator[bytes]:
    """Lines of CSV with a header; times are UTC in ISO 8601, unknown values empty."""
    yield pl.DataFrame(schema=table.schema).write_csv().encode()
    for batch in table.batches():
        yield batch.write_csv(include_header=False, datetime_format=_UTC).encode()


def write_parquet(table: Table, file: BinaryIO) -> None:
    """Write Parquet; its metadata has `unit.COLUMN` for each unit that the catalogue knows."""
    units = {f"unit.{name}": unit for name in table.schema if (unit := table.unit(name))}
    table.frame.sink_parquet(file, compression="zstd", metadata=units)


def write_excel(table: Table, file: BinaryIO) -> None:
    """Write an Excel workbook with one sheet; the header has the units, times are UTC, unknown values empty.

    Memory does not grow with the table.

    Raises EsxparseError: The table is larger than a worksheet, a text longer than a cell, or XlsxWriter is missing.
    """
    try:
        import xlsxwriter  # noqa: PLC0415  an extra
    except ImportError:
        raise EsxparseError('Excel workbooks need XlsxWriter: pip install "esxparse[export]"') from None
    rows = table.height
    if rows >= EXCEL_ROWS or len(table.schema) > EXCEL_COLUMNS:
        size = f"{rows:,} rows and {len(table.schema):,} columns"
        limits = f"{EXCEL_ROWS - 1:,} rows below the header and {EXCEL_COLUMNS:,} columns"
        raise EsxparseError(
            f"table {table.name!r} has {size}, and an Excel sheet holds {limits}: "
            "write csv or parquet, or fewer samples with --start, --end or --every"
        )
    options = {"constant_memory": True, "remove_timezone": True}
    with xlsxwriter.Workbook(file, options) as book:
        sheet = book.add_worksheet(table.name[:31])
        bold, time = book.add_format({"bold": True}), book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss.000"})
        for place, name in enumerate(table.schema):
            sheet.write_string(0, place, _heading(table, name), bold)
            sheet.set_column(place, place, max(12, len(_heading(table, name)) + 2))
        sheet.freeze_panes(1, 0)
        row = 0
        for batch in table.batches():
            for values in batch.iter_rows():
                row += 1
                for place, value in enumerate(values):
                    _write_cell(sheet, row, place, value, time)


def _heading(table: Table, name: str) -> str:
    if isinstance(table.schema[name], pl.Datetime):
        return f"{name} [UTC]"
    unit = table.unit(name)
    return f"{name} [{unit}]" if unit else name


def _write_cell(sheet: Any, row: int, place: int, value: Any, time: Any) -> None:
    if value is None:
        return
    if isinstance(value, datetime):
        sheet.write_datetime(row, place, value, time)
    elif isinstance(value, bool):
        sheet.write_boolean(row, place, value)
    elif isinstance(value, (int, float)):
        # A sheet has neither NaN nor infinity.
        if math.isfinite(value):
            sheet.write_number(row, place, value)
    elif len(text := str(value)) > EXCEL_TEXT:
        raise EsxparseError(
            f"row {row:,} has a text of {len(text):,} characters, and a cell of Excel holds {EXCEL_TEXT:,}"
        )
    else:
        # Not `write`: a text that begins with = is no formula.
        sheet.write_string(row, place, text)
