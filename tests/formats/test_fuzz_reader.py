"""Captures of every kind, whole and damaged: what is read is what stood there, or nothing, and what is lost is said."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import polars as pl
import pytest
import strategies
from hypothesis import HealthCheck, given, settings
from polars.testing import assert_frame_equal
from search import examples

import esxparse as ex
from esxparse.formats.esxtop import body, first_sample, lazy, pieces, scan_twin
from esxparse.formats.esxtop.instances import PART_NAMES

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = settings(deadline=None, max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    """One file that each example writes anew."""
    return tmp_path_factory.mktemp("fuzz") / "capture.csv"


def opened(file: Path, content: bytes, **options) -> ex.Recording | str:
    """The recording, or the error's one line."""
    file.write_bytes(content)
    try:
        return ex.open(file, **options)
    except ex.EsxparseError as error:
        message = str(error)
    assert str(file) in message
    assert "\n" not in message
    return message


def read(rec: ex.Recording) -> list[tuple[strategies.Key, float]]:
    """Every number of a recording, in the order of its tables."""
    found = []
    for table, frame in rec.tables.items():
        rows = frame.select("time", "instance", pl.selectors.float()).collect()
        assert not set(rows.columns[2:]) & set(PART_NAMES.get(table, ()))
        for time, instance, *numbers in rows.rows():
            found += [
                ((time, table, instance, column), number)
                for column, number in zip(rows.columns[2:], numbers, strict=True)
                if number is not None
            ]
    return found


def same(left: ex.Recording | str, right: ex.Recording | str) -> None:
    """Both are the same error, or recordings that say the same."""
    if isinstance(left, str) or isinstance(right, str):
        assert left == right
        return
    assert left.notes == right.notes
    assert left.meta == right.meta
    assert list(left.tables) == list(right.tables)
    for table, frame in left.tables.items():
        assert_frame_equal(frame.collect(), right[table].collect(), check_exact=True)


def not_measured(key: strategies.Key, number: float) -> bool:
    """Whether it may be a rate that esxtop prints as 0.00 in its first sample (test_esxtop_first_sample is exact)."""
    return number == 0.0 and key[1].startswith(("physical_disk", "virtual_disk"))


def every_number_of_a_whole_capture_is_read(file: Path, dressed: tuple[strategies.Capture, bytes]) -> None:
    capture, content = dressed
    rec = opened(file, content)
    assert not isinstance(rec, str), rec
    found, there = Counter(read(rec)), Counter(capture.numbers())
    assert not found - there
    assert all(not_measured(key, number) for key, number in there - found)
    assert {key[0] for key, _ in there - found} <= {capture.time(capture.samples[0])}
    assert rec.meta["samples"] == len(capture.samples)
    assert rec.meta["columns"] == len(capture.columns) + 1


def no_number_is_wrong(file: Path, case: strategies.Case) -> None:
    rec = opened(file, case.content)
    if isinstance(rec, str):
        return
    left = defaultdict(set)
    for key, number in read(rec):
        assert number in case.truth.get(key, ()), (key, number)
        left[key].add(number)
    lost = [
        key for key, there in case.truth.items() if not all(not_measured(key, number) for number in there - left[key])
    ]
    if lost and case.said:
        assert any(note.severity == "warning" for note in rec.notes), lost[:3]


def the_twin_reads_the_same(file: Path, case: strategies.Case) -> None:
    compiled = opened(file, case.content)
    with pytest.MonkeyPatch.context() as patch:
        for module in (body, first_sample, lazy, pieces):
            for name in ("scan", "count_lines"):
                patch.setattr(module, name, getattr(scan_twin, name), raising=False)
        same(compiled, opened(file, case.content))


def numbers_left_in_the_file_read_the_same(file: Path, case: strategies.Case) -> None:
    held = opened(file, case.content, lazy=False)
    same(held, opened(file, case.content, lazy=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lazy, "BATCH_BYTES", 1)
        same(held, opened(file, case.content, lazy=True))


def pieces_do_not_matter(file: Path, case: strategies.Case) -> None:
    whole = opened(file, case.content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(body, "PIECE", 64)
        same(whole, opened(file, case.content))


PROPERTIES = {
    "whole": (strategies.dressed(), every_number_of_a_whole_capture_is_read),
    **{kind: (cases, no_number_is_wrong) for kind, cases in strategies.DAMAGES.items()},
    "twin": (strategies.damaged(), the_twin_reads_the_same),
    "lazy": (strategies.damaged(), numbers_left_in_the_file_read_the_same),
    "pieces": (strategies.damaged(), pieces_do_not_matter),
}
"""What has to hold, and of which captures; `fuzz/reader.py` tries them for longer."""


@pytest.mark.hypothesis
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.needs("native")) if name == "twin" else name for name in PROPERTIES]
)
def test_what_is_read_stood_there_and_what_is_lost_is_said(file, name):
    strategy, holds = PROPERTIES[name]

    @given(strategy)
    @SETTINGS
    def on_any(example):
        holds(file, example)

    on_any()
