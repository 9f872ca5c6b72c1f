"""A capture left in its file gives what one held in memory gives, and reads only what a query needs."""

from __future__ import annotations

import datetime as dt

import compose
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.formats.esxtop import lazy

COLUMNS = [
    ("Memory", "Free MBytes"),
    ("Group Cpu(1:a)", "% Used"),
    ("Group Cpu(2:b)", "% Used"),
    ("Group Cpu(2:b)", "% VmWait"),
    ("Group Memory(1:a)", "Numa Home Nodes"),
    ("Group Memory(2:b)", "Memctl?"),
    ("Group Memory(2:b)", "Numa Home Nodes"),
]
ROWS = [
    [f"{n}", f"{n}.25", f"{n}.50", "0.00", "0" if n % 3 else "0,1", ["Y", "N", "", "1"][n % 4], "-"] for n in range(40)
]


def both(file, **bounds):
    return ex.open(file, lazy=False, **bounds), ex.open(file, lazy=True, **bounds)


def assert_same(held, left):
    assert dict(left.meta) == dict(held.meta)
    assert left.notes == held.notes
    assert list(left) == list(held)
    for name in held:
        assert left[name].collect_schema() == held[name].collect_schema()
        assert left[name].collect().equals(held[name].collect()), name


@pytest.fixture
def damaged(tmp_path, monkeypatch):
    """Rows of every kind, over many batches."""
    monkeypatch.setattr(lazy, "BATCH_BYTES", 300)
    lines = compose.text(COLUMNS, ROWS).splitlines()
    lines[5] = lines[5].rpartition(",")[0]
    lines.insert(9, "")
    lines[20] = lines[20].replace("03/02/2026", "99/99/2026")
    return compose.write(tmp_path, "\n".join(lines) + "\n" + compose.row(999, ["1", "2.5"]))


def test_a_capture_with_everything_in_it(damaged):
    held, left = both(damaged)
    assert held.meta["samples"] == 38
    assert_same(held, left)


def test_the_bundled_capture(busy_host_file):
    assert_same(*both(busy_host_file))


def test_the_real_capture():
    assert_same(*both(compose.real_data("esxtop", "esxi65_all_counters.csv")))


def test_a_last_cell_that_may_be_cut_is_null_in_both(tmp_path):
    names = [f'"{compose.path("PCPU Power State(PCPU 0)", "%C-State C0")}"']
    content = (
        f'"{compose.STAMP}",{names[0]},   -\n"04/24/2018 10:49:12","8.01",    68.5\n"04/24/2018 10:49:17","8.01",    7'
    )
    held, left = both(compose.write(tmp_path, content))
    assert_same(held, left)
    assert left["pcpu_power_state"].collect()["pct_of_aperf_per_mperf"].to_list() == [68.5, None]


QUERIES = {
    "columns": lambda table: table.select("time", "pct_used"),
    "one counter": lambda table: table.select("pct_vmwait"),
    "keys": lambda table: table.select("group"),
    "length": lambda table: table.select(pl.len()),
    "time": lambda table: table.filter(pl.col("time") >= dt.datetime(2026, 3, 2, 8, 1, tzinfo=dt.UTC)),
    "minute": lambda table: table.filter(pl.col("time").dt.second() == 30).select("group", "pct_used"),
    "instance": lambda table: table.filter(pl.col("group") == "b"),
    "no instance": lambda table: table.filter(pl.col("group") == "c"),
    "value": lambda table: table.filter(pl.col("pct_used") > 20).select("time", "group"),
    "all of them": lambda table: table.filter(
        (pl.col("group") == "b")
        & (pl.col("time").dt.minute() == 1)
        & (pl.col("pct_used") > 15)
        & (pl.col("group_id") > 1)
    ).select("pct_vmwait", "time"),
    "or": lambda table: table.filter((pl.col("group") == "a") | (pl.col("pct_used") > 30)),
    "head": lambda table: table.head(5),
    "filtered head": lambda table: table.filter(pl.col("pct_used") > 10).head(3),
    "tail": lambda table: table.tail(4),
    "group by": lambda table: table.group_by("group").agg(pl.col("pct_used").mean()).sort("group"),
    "python": lambda table: table.filter(
        pl.col("group").map_batches(lambda names: names == "a", return_dtype=pl.Boolean)
    ),
    "join": lambda table: table.join(table.select("time", "group", again="pct_used"), on=["time", "group"]),
}


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("query", QUERIES)
def test_queries_give_the_same(damaged, query, engine):
    held, left = both(damaged)
    ask = QUERIES[query]
    expected, got = (ask(rec["group_cpu"]).collect(engine=engine) for rec in (held, left))
    if query == "join":
        expected, got = expected.sort(expected.columns), got.sort(got.columns)
    assert got.equals(expected)


def test_a_query_reads_what_it_needs(damaged, monkeypatch):
    """Conditions on time and instance are met before anything is parsed."""
    asked = []
    original = lazy._numbers

    def watched(table, wanted, samples, needed):
        asked.append((samples.tolist(), wanted.lanes.tolist(), wanted.counters.tolist()))
        return original(table, wanted, samples, needed)

    left = ex.open(damaged, lazy=True)
    monkeypatch.setattr(lazy, "_numbers", watched)
    condition = (pl.col("time") < dt.datetime(2026, 3, 2, 8, 0, 12, tzinfo=dt.UTC)) & (pl.col("group") == "b")
    got = left["group_cpu"].filter(condition).select("pct_vmwait").collect()
    assert got.height == 3
    assert {sample for samples, _, _ in asked for sample in samples} == {0, 1, 2}
    assert {tuple(lanes) for _, lanes, _ in asked} == {(1,)}
    assert {tuple(counters) for _, _, counters in asked} == {(1,)}
    asked.clear()
    assert left["group_cpu"].select("time", "group").collect().height == 76
    assert asked == [], "keys are known without reading"


def test_a_lazy_table_streams_to_parquet(damaged, tmp_path):
    held, left = both(damaged)
    left["group_cpu"].sink_parquet(tmp_path / "group_cpu.parquet")
    assert pl.read_parquet(tmp_path / "group_cpu.parquet").equals(held["group_cpu"].collect())


def test_large_captures_are_left_in_their_file(busy_host_file, monkeypatch):
    monkeypatch.setattr("esxparse.formats.esxtop.LAZY_FROM", 1_000_000)
    assert "PYTHON SCAN" in ex.open(busy_host_file)["vcpu"].explain().upper()
    assert "PYTHON SCAN" not in ex.open(busy_host_file, lazy=False)["vcpu"].explain().upper()


@pytest.mark.parametrize("left", [False, True])
def test_windows(busy_host_file, left):
    rec = ex.open(busy_host_file, start="2026-03-11T09:02", end="2026-03-11 09:04:00", lazy=left)
    assert rec.meta["start"] == dt.datetime(2026, 3, 11, 9, 2, tzinfo=dt.UTC)
    assert rec.meta["end"] == dt.datetime(2026, 3, 11, 9, 4, tzinfo=dt.UTC)
    assert rec.meta["samples"] == 25
    assert rec["memory"].collect().height == 25
    zone = dt.timezone(dt.timedelta(hours=2))
    thin = ex.open(busy_host_file, every="1m", start=dt.datetime(2026, 3, 11, 11, 5, tzinfo=zone), lazy=left)
    assert (thin.meta["samples"], thin.meta["interval"]) == (6, 60.0)
    assert thin["memory"].collect()["time"].dt.minute().to_list() == [5, 6, 7, 8, 9, 10]


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        ({"start": "yesterday"}, "start 'yesterday' is not a time"),
        ({"every": "5 parsecs"}, "every '5 parsecs' is not a length of time"),
        ({"every": "0s"}, "not a length of time"),
        ({"start": "2026-03-11T10:00", "end": "2026-03-11T09:00"}, "ends before it begins"),
        ({"start": "2027-01-01"}, "the capture runs from 2026-03-11T09:00:00 to 2026-03-11T09:10:00 UTC"),
    ],
)
def test_windows_that_cannot_be(busy_host_file, bounds, says):
    with pytest.raises(ex.EsxparseError, match=says):
        ex.open(busy_host_file, **bounds)


@given(st.data())
@settings(deadline=None, max_examples=examples(60))
def test_any_selection_of_columns_samples_and_instances(tmp_path_factory, data):
    file = compose.write(tmp_path_factory.mktemp("any"), compose.text(COLUMNS, ROWS))
    held, left = both(file)
    name = data.draw(st.sampled_from(list(held)))
    columns = data.draw(st.lists(st.sampled_from(held[name].collect_schema().names()), min_size=1, unique=True))
    first, last = sorted(data.draw(st.lists(st.integers(0, 200), min_size=2, max_size=2)))
    origin = dt.datetime(2026, 3, 2, 8, tzinfo=dt.UTC)
    inside = pl.col("time").is_between(origin + dt.timedelta(seconds=first), origin + dt.timedelta(seconds=last))
    condition = inside & pl.col("instance").is_in(data.draw(st.lists(st.sampled_from(["1:a", "2:b", "x"]), max_size=2)))
    if data.draw(st.booleans()):
        condition = inside
    assert (
        left[name]
        .filter(condition)
        .select(columns)
        .collect()
        .equals(held[name].filter(condition).select(columns).collect())
    )
