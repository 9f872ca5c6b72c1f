"""Lists of results as the simulator writes them: what goes in comes out of the reader."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest
from compose import write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.errors import EsxparseError
from esxparse.metrics import remote
from esxparse_simulator.measured import repeated
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.writers import results_csv
from esxparse_simulator.writers.results_csv import Results

START = datetime(2013, 5, 6, 20, tzinfo=UTC)
quick = settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
words = st.text("abcdefghij klmno-.#=", min_size=1, max_size=12).map(lambda text: f"x{text.strip()}y")
numbers = st.floats(-1e12, 1e12) | st.integers(0, 10**9).map(float)


@st.composite
def tables(draw):
    metrics = draw(st.sampled_from([("opm",), ("latency", "rate"), ("a metric", "b", "c")]))
    count = draw(st.integers(1, 12))
    rows = tuple(((draw(words), str(place)), tuple(draw(numbers) for _ in metrics)) for place in range(1, count + 1))
    return Results(("test", "configuration"), tuple(f"{name} [ms]" for name in metrics), rows, "Some benchmark")


def text(results, decimals=None):
    return b"".join(results_csv.lines(results, decimals)).decode()


def opened(folder, content, **options):
    return ex.open(write(folder, content, "results.csv"), **options)


def table(rec):
    return rec["benchmark_results"].collect()


@quick
@given(results=tables())
def test_numbers_come_back_exactly(tmp_path, results):
    rec = opened(tmp_path, text(results))
    assert rec.format == "results_csv"
    found = table(rec)
    assert found["value"].to_list() == [value for _, values in results.rows for value in values]
    assert found["test"].to_list() == [labels[0] for labels, values in results.rows for _ in values]
    assert found["configuration"].to_list() == [labels[1] for labels, values in results.rows for _ in values]
    assert set(found["benchmark"]) == {"Some benchmark"}
    assert set(found["unit"]) == {"ms"}
    assert not rec.notes


def test_orders_per_minute_by_vcpus(tmp_path):
    """Eight VMs of eight vCPUs, 493,804 orders per minute in all."""
    rows = tuple((("SQL Server", f"{vms} x {vcpus}"), (opm,)) for vms, vcpus, opm in ((1, 8, 62e3), (8, 8, 493804)))
    results = Results(("test", "configuration"), ("throughput [opm]",), rows, "DVD Store 2")
    found = table(opened(tmp_path, text(results)))
    assert found.select("test", "configuration", "value", "unit", "higher_is_better").rows() == [
        ("SQL Server", "1 x 8", 62000.0, "opm", True),
        ("SQL Server", "8 x 8", 493804.0, "opm", True),
    ]


def test_desktops_by_nodes_and_their_response_times(tmp_path):
    desktops = ((3, 286, 0.52), (5, 473, 0.55), (8, 767, 0.58))
    rows = tuple(((f"{nodes} nodes",), (mark, group_a)) for nodes, mark, group_a in desktops)
    results = Results(("test",), ("desktops [VDImark]", "group A [s]"), rows, "View Planner")
    found = table(opened(tmp_path, text(results)))
    marks = found.filter(metric="desktops")
    assert marks["value"].to_list() == [286, 473, 767]
    assert marks["higher_is_better"].to_list() == [True] * 3
    assert found.filter(metric="group A")["higher_is_better"].to_list() == [False] * 3


def test_quality_of_service_by_operation_and_servers(tmp_path):
    rows = tuple(
        ((operation, f"{servers}"), (p99, mix))
        for servers in (1, 2)
        for operation, p99, mix in (("login", 210.5, 1.25), ("place bid", 88.0, 40.5))
    )
    metrics = ("p99 [ms]", "share [%]")
    found = table(opened(tmp_path, text(Results(("test", "configuration"), metrics, rows, "Zephyr"))))
    assert found.filter(metric="p99", configuration="2")["value"].to_list() == [210.5, 88.0]
    assert found.filter(metric="share", test="login")["value"].to_list() == [1.25, 1.25]


def test_repetitions_and_what_is_better(tmp_path):
    values = repeated(Noise(1), "kmeans", 120.0, 0.03, 5)
    rows = tuple((("k-means", str(place)), (value,)) for place, value in enumerate(values, 1))
    results = Results(("test", "repetition"), ("run time",), rows, higher_is_better=False)
    found = table(opened(tmp_path, text(results, 3)))
    assert found["repetition"].to_list() == [1, 2, 3, 4, 5]
    assert found["value"].mean() == pytest.approx(120.0, abs=1e-3)
    assert found["higher_is_better"].to_list() == [False] * 5


@pytest.mark.parametrize("measure", ["bytes", "kb_per_s"])
def test_remote_access_gives_back_its_volumes_and_rates(tmp_path, measure):
    """Typing, video and browsing over a console: 1,400, 3,000 and 1,600 KB/s."""
    stretches = [
        ("typing", 240.0, 1_400_000 * 240),
        ("video", 120.0, 3_000_000 * 120),
        ("browsing", 180.0, 1_600_000 * 180),
    ]
    found = text(results_csv.activities(Noise(9), stretches, START, measure=measure))
    rec = opened(tmp_path, found, time_column="time", value_column=measure)
    samples = rec["benchmark_results"].select("time", activity="test", **{measure: pl.col("value")})
    found = remote.by_activity(samples).collect()
    assert found["activity"].to_list() == ["typing", "video", "browsing"]
    assert found["mean_kb_per_s"].to_list() == pytest.approx([1400.0, 3000.0, 1600.0])
    assert found["volume_mb"].to_list() == pytest.approx([336.0, 360.0, 288.0])
    assert found["duration_s"].to_list() == [240.0, 120.0, 180.0]


@quick
@given(
    volumes=st.lists(st.integers(1, 10**12), min_size=1, max_size=5),
    samples=st.integers(1, 30),
    spread=st.floats(0, 0.5),
)
def test_bytes_of_an_activity_add_up(volumes, samples, spread):
    stretches = [(f"task {place}", samples * 5.0, volume) for place, volume in enumerate(volumes)]
    rows = results_csv.activities(Noise(1), stretches, START, 5.0, spread).rows
    for stretch in stretches:
        moved = [values[0] for labels, values in rows if labels[1] == stretch[0]]
        assert sum(moved) == stretch[2]
        assert min(moved) >= 0
    assert rows[0][0][0] == "2013-05-06T20:00:05Z"


def test_the_same_bytes_every_time():
    stretches = [("video", 60.0, 10**8)]
    every = [text(results_csv.activities(Noise(3), stretches, START)) for _ in range(2)]
    assert every[0] == every[1]


GOOD = Results(("test",), ("a",), ((("x",), (1.0,)),))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: text(Results(("test",), ("a",), ())), "at least one"),
        (lambda: text(Results(("test",), (), ((("x",), ()),))), "at least one"),
        (lambda: text(Results(("servers",), ("a",), ((("6",), (1.0,)),))), "look like results"),
        (lambda: text(Results(("test",), ("a",), ((("x\ny",), (1.0,)),))), "one line"),
        (lambda: text(Results(("test",), ("a",), ((("x,y",), (1.0,)),))), "commas"),
        (lambda: text(Results(("test",), ("a",), ((("x",), (float("nan"),)),))), "nan"),
        (lambda: results_csv.activities(Noise(1), [("a", 50.0, 9)], START), "whole number of intervals"),
        (lambda: results_csv.activities(Noise(1), [("a", 40.0, 0)], START), "bytes of a"),
        (lambda: results_csv.activities(Noise(1), [], START), "one stretch or more"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, message):
    with pytest.raises(EsxparseError, match=message) as caught:
        wrong()
    assert "\n" not in str(caught.value)
