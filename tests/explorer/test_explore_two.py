"""Two captures in one explorer: what is drawn of each, what is said, and what the copied code holds."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime

import polars as pl
import pytest

import esxparse as ex
from esxparse.explorer.panel import PanelRequest, Values, panel

BUSY = ex.datasets_dir() / "busy-host" / "busy-host.csv"


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """The same capture a day and two hours later."""
    later = tmp_path_factory.mktemp("later") / "later.csv"
    later.write_text(BUSY.read_text(encoding="utf-8").replace("03/11/2026 09:", "03/12/2026 11:"), encoding="utf-8")
    return ex.open(later)


def test_two_captures_by_clock_and_by_offset(rec, other):
    asked = PanelRequest.of({"counter": "%RDY", "table": "group_cpu", "n": 1})
    first = datetime.fromisoformat("2026-03-11T09:00:00+00:00").timestamp() * 1000
    day = (24 + 2) * 3_600_000
    starts = {
        align: [one["time"][0] - first for one in panel(Values([rec, other], align), asked)["series"]]
        for align in ("clock", "offset")
    }
    assert starts["offset"] == [0, 0]
    assert starts["clock"][0] == 0
    assert starts["clock"][1] == pytest.approx(day, abs=600_000)


@pytest.mark.needs("anywidget")
def test_the_axis_of_two_captures_spans_what_is_drawn(rec, other):
    def minutes(*captures, align="clock"):
        about = ex.explore(*captures, align=align).about
        return (about["end"] - about["start"]) / 60_000

    assert minutes(rec, other) == minutes(other, rec) == 26 * 60 + 10
    assert minutes(rec, other, align="offset") == minutes(rec) == 10


def test_a_range_shows_the_capture_that_has_samples_in_it_or_says_that_none_has(rec, other):
    def shown(start, end):
        asked = PanelRequest.of({"counter": "%RDY", "table": "group_cpu", "start": start, "end": end})
        return {one["capture"] for one in panel(Values([rec, other]), asked)["series"]}

    start = rec.meta["start"].timestamp() * 1000
    later = other.meta["start"].timestamp() * 1000
    assert shown(start, start + 60_000) == {1}
    assert shown(later, later + 60_000) == {2}
    said = r"no sample of ready time \(%RDY\) from 2026-03-11 10:00:00 to 2026-03-11 11:00:00 UTC"
    with pytest.raises(ex.EsxparseError, match=said):
        shown(start + 3_600_000, start + 7_200_000)


@pytest.mark.needs("anywidget")
@pytest.mark.parametrize("align", ["clock", "offset"])
@pytest.mark.parametrize(
    "options", [{}, {"smooth": 3, "difference": True}, {"normalise": True}, {"buckets": 20}], ids=str
)
@pytest.mark.parametrize(("counter", "table"), [("%RDY", "group_cpu"), ("DAVG/cmd", "physical_disk_scsi_device")])
def test_the_copied_code_has_the_numbers_of_both_captures(rec, other, counter, table, options, align):
    options = dict(options)
    buckets = options.pop("buckets", 400)
    view = {"panels": [{"counter": counter, "table": table, "n": 3}], **options}
    app = ex.explore(rec, other, align=align, view=view)
    made: dict[str, pl.DataFrame] = {}
    exec(app.code(buckets), made)  # noqa: S102 (the code is what is tested)
    (asked,) = app.requests(buckets)
    series = panel(app.values, asked)["series"]
    assert [one["capture"] for one in series] == [1, 2] * 3
    for one in series:
        of = (pl.col("instance") == one["instance"]) & (pl.col("capture") == one["capture"])
        mine = made["data_1"].filter(of)
        assert mine["time"].dt.epoch("ms").to_list() == one["time"]
        assert mine["value"].to_list() == pytest.approx(one["mean"], abs=1e-4, nan_ok=True)
    assert "strokeDash" in made["chart_1"].to_dict()["encoding"]


@pytest.mark.needs("anywidget")
def test_a_second_capture_without_the_table_leaves_the_first_as_it_is(rec, other):
    lacking = replace(other, tables={name: other.tables[name] for name in other if name != "numa_node"})
    panels = [{"counter": "%RDY", "table": "group_cpu"}, {"counter": "free_mbytes", "table": "numa_node"}]
    app = ex.explore(rec, lacking, view={"panels": panels})
    both, one = (panel(app.values, asked) for asked in app.requests())
    assert both["missing"] == []
    assert {each["capture"] for each in both["series"]} == {1, 2}
    assert {each["capture"] for each in one["series"]} == {1}
    assert one["missing"] == ["the second capture (later.csv) has no NUMA free of numa_node over time"]
    made: dict[str, pl.DataFrame] = {}
    exec(app.code(), made)  # noqa: S102 (the code is what is tested)
    assert set(made["data_1"]["capture"]) == {1, 2}
    assert "capture" not in made["data_2"].columns


@pytest.fixture(scope="module")
def restarted(tmp_path_factory):
    """The same host after a restart, which numbers groups, worlds and ports anew; one VM is gone."""
    head, rows = BUSY.read_text(encoding="utf-8").split("\n", 1)
    head = re.sub(r"(?<=[(:])\d{4,}(?=:)", lambda found: str(int(found[0]) + 7), head).replace(":print-old", ":other")
    path = tmp_path_factory.mktemp("restarted") / "restarted.csv"
    path.write_text(f"{head}\n{rows}", encoding="utf-8")
    return ex.open(path)


@pytest.mark.search
@pytest.mark.needs("anywidget")
@pytest.mark.parametrize(
    ("counter", "table"),
    [("%RDY", "group_cpu"), ("%RDY", "vcpu"), ("MbTX/s", "network_port"), ("LAT/rd", "virtual_disk")],
)
def test_what_a_restart_numbers_anew_is_drawn_over_itself(rec, restarted, counter, table):
    app = ex.explore(rec, restarted, align="offset", view={"panels": [{"counter": counter, "table": table, "n": 3}]})
    (asked,) = app.requests()
    answer = panel(app.values, asked)
    assert [one["capture"] for one in answer["series"]] == [1, 2] * 3
    for first, second in zip(answer["series"][::2], answer["series"][1::2], strict=True):
        assert first["label"] == second["label"]
        assert first["mean"] == second["mean"]
        # Derived tables know VMs by their names, virtual disks have no number.
        assert (first["instance"] != second["instance"]) == (table in {"vcpu", "network_port"})
    assert answer["missing"] == []
    # Only the one that bears another name is another one.
    assert answer["total"] - panel(Values([rec]), asked)["total"] in {0, 1}
    made: dict[str, pl.DataFrame] = {}
    exec(app.code(), made)  # noqa: S102 (the code is what is tested)
    for one in answer["series"]:
        of = (pl.col("instance") == one["instance"]) & (pl.col("capture") == one["capture"])
        assert made["data_1"].filter(of)["value"].to_list() == pytest.approx(one["mean"], abs=1e-4)
    sent = []
    app.send = sent.append
    second = {key: answer["series"][1][key] for key in ("instance", "capture")}
    said = {"ask": "similar", "id": 1, "counter": answer["counter"], "table": answer["table"], **second}
    app._answer(app, said | {"start": app.about["start"], "end": app.about["end"]}, [])
    assert len(sent[0]["answer"]["rows"]) == 12


def test_what_only_the_first_capture_has_is_named(rec, restarted):
    answer = panel(Values([rec, restarted]), PanelRequest.of({"counter": "%RDY", "table": "group_cpu", "n": 8}))
    assert answer["missing"] == ["the second capture (restarted.csv) has no ready time (%RDY) of print-old"]
    assert {one["capture"] for one in answer["series"] if one["label"] == "print-old"} == {1}
