"""Any capture, saved as other programs save it, gives the tables of the plain capture, or is refused with a hint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest
import resaves
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from search import examples

import esxparse as ex

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.hypothesis

SETTINGS = settings(deadline=None, max_examples=examples(30), suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    """One file that each example writes anew."""
    return tmp_path_factory.mktemp("properties") / "capture"


def opened(file: Path, content: bytes, **options) -> ex.Recording:
    file.write_bytes(content)
    rec = ex.open(file, **options)
    return ex.Recording(rec.format, rec.source, {name: frame.collect().lazy() for name, frame in rec.tables.items()})


def assert_same(rec: ex.Recording, plain: ex.Recording, *, to_the_minute: bool = False) -> None:
    assert list(rec) == list(plain)
    for name, frame in plain.tables.items():
        expected = frame.with_columns(pl.col("time").dt.truncate("1m")) if to_the_minute else frame
        assert_frame_equal(rec[name].collect(), expected.collect(), check_exact=True)


@pytest.mark.parametrize("name", resaves.DRESSES)
def test_the_tables_are_those_of_the_plain_capture(file, name):
    @given(resaves.saved(resaves.DRESSES[name]))
    @SETTINGS
    def in_any_dress(saved):
        if saved.ambiguous:
            with pytest.raises(ex.EsxparseError, match=r"which is day and which is month.*date_order="):
                opened(file, saved.content)
        order = saved.dress.order if saved.ambiguous else None
        plain = opened(file, saved.plain.content())
        assert_same(opened(file, saved.content, date_order=order), plain, to_the_minute=saved.dress.to_the_minute)

    in_any_dress()


@pytest.mark.search
@pytest.mark.parametrize("name", resaves.DRESSES)
def test_captures_glued_together_stay_apart_in_every_dress(file, name):
    @given(resaves.DRESSES[name], st.data())
    @SETTINGS
    def in_any_dress(dress, data):
        first = data.draw(resaves.plain(dress))
        second = data.draw(resaves.plain(dress))
        assume(first.names() != second.names())
        content = resaves.save([first, second], dress)
        for number, capture in enumerate((first, second), start=1):
            plain = opened(file, capture.content())
            rec = opened(file, content, segment=number, date_order=None if dress.quoted else dress.order)
            assert_same(rec, plain, to_the_minute=dress.to_the_minute)

    in_any_dress()


@pytest.mark.parametrize("name", ["UTF-16", "no quotes", "semicolons", "zone", "packed"])
def test_a_capture_started_again_is_joined_in_every_dress(file, name):
    @given(resaves.DRESSES[name], st.data())
    @SETTINGS
    def in_any_dress(dress, data):
        first = data.draw(resaves.plain(dress))
        rec = opened(file, resaves.save([first, first], dress), date_order=None if dress.quoted else dress.order)
        assert_same(rec, opened(file, first.content() * 2))

    in_any_dress()
