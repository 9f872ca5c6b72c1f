"""Files that are replaced, cut, removed or still written while their tables are there: never another file's numbers."""

from __future__ import annotations

import os
import time

import compose
import polars as pl
import pytest

import esxparse as ex

COLUMNS = [("Memory", "Free MBytes"), ("Group Cpu(1:a)", "% Used"), ("Group Cpu(2:b)", "% Used")]


def content(first: int, rows: int) -> str:
    return compose.text(COLUMNS, [[str(first + n), f"{n}.25", f"{first}.50"] for n in range(rows)])


def replaced(file):
    other = file.with_name("other.csv")
    other.write_text(content(5000, 40))
    other.replace(file)


def a_named_pipe(file):
    file.unlink()
    os.mkfifo(file)


def copied_over(file):
    file.write_text(content(5000, 400))


def cut(file):
    os.truncate(file, file.stat().st_size // 2)


def removed(file):
    file.unlink()


def edited(file):
    """One digit, the length stays."""
    text = file.read_text()
    file.write_text(text.replace('"1007"', '"9007"'))
    now = file.stat()
    os.utime(file, ns=(now.st_atime_ns, time.time_ns() + 10**9))


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize(
    ("change", "says"),
    [(replaced, "was replaced"), (a_named_pipe, "was replaced"), (copied_over, "was changed"), (cut, "lost .* bytes"),
     (removed, "was removed"), (edited, "was changed")],
)  # fmt: skip
def test_a_capture_that_is_not_what_it_was_is_refused(tmp_path, change, says, engine):
    file = compose.write(tmp_path, content(1000, 80))
    rec = ex.open(file, lazy=True)
    assert rec["memory"].select(pl.col("free_mbytes").sum()).collect(engine=engine).item() == sum(range(1000, 1080))
    change(file)
    with pytest.raises(ex.UnreadableError, match=says) as caught:
        rec["memory"].select(pl.col("free_mbytes").sum()).collect(engine=engine)
    assert str(file) in str(caught.value)
    assert "open it again" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_capture_that_grows_gives_what_was_there(tmp_path):
    file = compose.write(tmp_path, content(1000, 80))
    rec = ex.open(file, lazy=True)
    with file.open("a") as more:
        more.write(compose.row(500, ["7", "7.00", "7.00"]) + "\n")
    assert rec["memory"].collect()["free_mbytes"].to_list() == [float(n) for n in range(1000, 1080)]
    assert ex.open(file, lazy=True).meta["samples"] == 81


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_a_converted_capture_that_is_not_what_it_was_is_refused(tmp_path, engine):
    done = ex.convert(compose.write(tmp_path, content(1000, 80)), tmp_path / "lake")
    other = ex.convert(compose.write(tmp_path, content(5000, 40), "other.csv"), tmp_path / "lake")
    rec = ex.open(done.folder)
    query = rec["memory"].filter(pl.col("free_mbytes") > 1010).select("free_mbytes")
    assert query.collect(engine=engine)["free_mbytes"].to_list() == [float(n) for n in range(1011, 1080)]
    assert rec["memory"].head(3).collect(engine=engine).height == 3
    assert rec["group_cpu"].select(pl.len()).collect(engine=engine).item() == 160
    (other.folder / "memory.parquet").replace(done.folder / "memory.parquet")
    with pytest.raises(ex.UnreadableError, match="was replaced since it was opened"):
        query.collect(engine=engine)
    (done.folder / "memory.parquet").unlink()
    with pytest.raises(ex.UnreadableError, match="was removed"):
        query.collect(engine=engine)
