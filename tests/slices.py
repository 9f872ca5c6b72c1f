"""Slices for tests: written, opened again, and compared with the whole."""

from __future__ import annotations

import compose
import polars as pl
from polars.testing import assert_frame_equal

import esxparse as ex
from esxparse.formats.esxtop.slice import slice_capture

COLUMNS = [("Memory", "Free MBytes"), ("Group Cpu(1:a)", "% Used"), ("Group Cpu(2:b)", "% Used")]
ROWS = [["100", "1.25", "2.00"], ["200", "1.50", "2.25"], ["300", "1.75", "2.50"]]
WHOLE = compose.text(COLUMNS, ROWS)


def numbers(frame):
    """Rows with a number, by table columns: an instance without any of the counters has no row in a slice."""
    frame = frame.collect() if isinstance(frame, pl.LazyFrame) else frame
    counters = [name for name, dtype in frame.schema.items() if dtype == pl.Float64]
    return frame.filter(pl.any_horizontal(pl.col(name).is_not_null() for name in counters))


def assert_same(part, whole, *, keep=None, counters=None, tables=None):
    """`part` is `whole` cut to instances that `keep` keeps, counters for which `counters` holds, and some tables."""
    for name in whole.tables:
        frame = whole[name].collect()
        values = [column for column, dtype in frame.schema.items() if dtype == pl.Float64]
        wanted = [column for column in values if counters is None or counters(name, column)]
        if keep is not None:
            frame = frame.filter(pl.Series([text is not None and keep(text) for text in frame["instance"]]))
        frame = numbers(frame.drop(column for column in values if column not in wanted)) if wanted else frame.clear()
        if frame.is_empty() and name in part:
            assert numbers(part[name]).is_empty()
            continue
        if frame.is_empty() or (tables is not None and name not in tables):
            assert name not in part
            continue
        got = numbers(part[name])
        there = [column for column in frame.columns if column in got.columns or frame[column].null_count() == 0]
        assert_frame_equal(got.select(there), frame.select(there), check_row_order=False, check_exact=True)
        assert set(got.columns) <= set(frame.columns)


def sliced(tmp_path, content, **asked):
    file = compose.write(tmp_path, content, "whole.csv") if isinstance(content, (str, bytes)) else content
    output = tmp_path / "part.csv"
    done = slice_capture(file, output, **asked)
    part = ex.open(output)
    assert (part.meta["columns"], part.meta["samples"]) == (done.columns, done.samples)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.endswith("-part")) == []
    return ex.open(file), part, done
