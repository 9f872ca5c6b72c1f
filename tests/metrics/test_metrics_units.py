"""Units by name: what converts, what is refused."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esxparse.errors import EsxparseError
from esxparse.metrics import units

VALUE = st.floats(min_value=1e-6, max_value=1e12)
PAIRS = [
    (units.mbit_to_mb, units.mb_to_mbit, "mbit", "mb"),
    (units.mib_to_mb, units.mb_to_mib, "mib", "mb"),
    (units.ghz_to_mhz, units.mhz_to_ghz, "ghz", "mhz"),
]


@pytest.mark.parametrize(
    ("value", "unit", "to", "expected"),
    [
        (1, "mib", "mb", 1.048576),
        (1, "gib", "mib", 1024),
        (8, "mbit_per_s", "mb_per_s", 1),
        (8, "mbit_per_s", "mib_per_s", 1e6 / 2**20),
        (1, "gbit", "mbit", 1000),
        (2.4, "ghz", "mhz", 2400),
        (1, "kwh", "joules", 3_600_000),
        (1500, "us", "ms", 1.5),
        (2, "h", "min", 120),
        (170, "watts", "kw", 0.17),
    ],
)
def test_conversions_by_hand(value, unit, to, expected):
    assert units.convert(value, unit, to) == pytest.approx(expected)


@given(value=VALUE, pair=st.sampled_from(PAIRS))
def test_named_conversions_agree_with_the_table_and_go_back(value, pair):
    there, back, unit, to = pair
    assert there(value) == pytest.approx(units.convert(value, unit, to))
    assert back(there(value)) == pytest.approx(value)


@given(value=VALUE, data=st.data())
def test_there_and_back_is_the_same_within_a_kind(value, data):
    unit = data.draw(st.sampled_from(sorted(units.UNITS)))
    same_kind = sorted(name for name, one in units.UNITS.items() if one.kind == units.UNITS[unit].kind)
    to = data.draw(st.sampled_from(same_kind))
    assert units.convert(units.convert(value, unit, to), to, unit) == pytest.approx(value)


@pytest.mark.parametrize(("unit", "to"), [("mb", "mb_per_s"), ("mhz", "ms"), ("watts", "joules"), ("pct", "s")])
def test_other_kinds_are_refused(unit, to):
    with pytest.raises(EsxparseError, match=f"{unit} is a unit of .* and {to} one of"):
        units.convert(1.0, unit, to)


@pytest.mark.parametrize("name", ["mbps", "kbps", "gbps", "mbytes", "mbits"])
def test_names_of_two_meanings_are_refused_with_the_choice(name):
    with pytest.raises(EsxparseError, match=rf"'{name}' is ambiguous: write "):
        units.convert(1.0, name, "mb_per_s")
    with pytest.raises(EsxparseError, match="is ambiguous"):
        units.unit_of(f"read_{name}")


def test_unknown_units_are_refused():
    with pytest.raises(EsxparseError, match="unknown unit 'furlong': choose from"):
        units.factor("mb", "furlong")


@pytest.mark.parametrize(
    ("column", "unit"),
    [("read_mb_per_s", "mb_per_s"), ("vm_size_mib", "mib"), ("latency_mean_ms", "ms"), ("watts", "watts")],
)
def test_the_unit_is_the_longest_known_end(column, unit):
    assert units.unit_of(column) == unit


@pytest.mark.parametrize("column", ["iops", "vms", "mb_read"])
def test_names_without_unit_are_refused(column):
    with pytest.raises(EsxparseError, match="does not end in a unit"):
        units.unit_of(column)


def test_mixed_units_are_named_before_they_are_added():
    assert units.common_unit("read_mib_per_s", "write_mib_per_s", "mib_per_s") == "mib_per_s"
    with pytest.raises(EsxparseError, match="read_mb_per_s is in mb_per_s and write_mib_per_s in mib_per_s"):
        units.common_unit("read_mb_per_s", "write_mib_per_s")
    with pytest.raises(EsxparseError, match="tx_mbit_per_s in mbit_per_s"):
        units.common_unit("disk_mb_per_s", "tx_mbit_per_s")
    with pytest.raises(EsxparseError, match="no columns"):
        units.common_unit()


def test_a_column_moves_to_a_unit_under_a_name_that_says_so():
    table = pl.LazyFrame({"run": [1, 2], "tx_mbit_per_s": [901, None], "vms": [15, 15]})
    got = units.in_unit(table, "tx_mbit_per_s", "mb_per_s").collect()
    assert got.columns == ["run", "tx_mb_per_s", "vms"]
    assert got["tx_mb_per_s"].to_list() == [112.625, None]
    same = units.in_unit(table, "tx_mbit_per_s", "mbit_per_s").collect()
    assert same["tx_mbit_per_s"].to_list() == [901, None]


def test_a_column_does_not_move_over_another():
    table = pl.LazyFrame({"tx_mbit_per_s": [8.0], "tx_mb_per_s": [1.0]})
    with pytest.raises(EsxparseError, match="'tx_mb_per_s' beside 'tx_mbit_per_s'"):
        units.in_unit(table, "tx_mbit_per_s", "mb_per_s")
    with pytest.raises(EsxparseError, match="no column 'rx_mb_per_s'"):
        units.in_unit(table, "rx_mb_per_s", "mbit_per_s")
    with pytest.raises(EsxparseError, match="no conversion"):
        units.in_unit(table, "tx_mb_per_s", "mb")


def test_expressions_convert_as_numbers_do():
    got = pl.LazyFrame({"a": [901.0]}).select(units.convert(pl.col("a"), "mbit", "mb"), b=units.mbit_to_mb(pl.col("a")))
    assert got.collect().row(0) == (112.625, 112.625)
