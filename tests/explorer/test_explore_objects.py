"""Heat maps, and the pages of VMs, devices and uplinks, against the raw cells of the capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import esxparse as ex
from esxparse.explorer.heat import heat
from esxparse.explorer.objects import Objects
from esxparse.explorer.panel import PanelRequest, Values, lines

if TYPE_CHECKING:
    import polars as pl

BUSY = ex.datasets_dir() / "busy-host" / "busy-host.csv"
SLOW = "naa.60000970000120070001533030334101"


def test_a_heat_map_has_the_highest_sample_of_each_cell(rec, raw):
    asked = PanelRequest.of({"counter": "costop_pct", "table": "vm", "kind": "heat", "buckets": 20})
    answer = heat(Values([rec]), asked)
    assert (answer["gathered"], answer["step_s"], answer["total"]) == (True, 60, 8)
    assert answer["rows"][0]["full"] == "analytics-8way"
    # The limits of the rule: 3 and 10 %.
    assert answer["edges"][-2:] == [3, 10]
    worlds = [one for one in raw if one.endswith("\\% CoStop") and ":analytics-8way:" in one and "vmx-vcpu-" in one]
    assert len(worlds) == 8
    mean = [sum(float(raw[one][at]) for one in worlds) / 8 for at in range(121)]
    mine = [
        high
        for label, high in zip(answer["cells"]["label"], answer["cells"]["high"], strict=True)
        if label == "analytics-8way"
    ]
    assert mine == pytest.approx([max(mean[at : at + 12]) for at in range(0, 121, 12)], abs=1e-4)


def test_the_copied_code_of_a_heat_map_has_its_cells(rec):
    app = ex.explore(rec, view={"panels": [{"counter": "costop_pct", "table": "vm", "kind": "heat"}]})
    made: dict[str, pl.DataFrame] = {}
    exec(app.code(20), made)  # noqa: S102 (the code is what is tested)
    (asked,) = app.requests(20)
    answer = heat(app.values, asked)
    mine = made["data_1"].filter(name="analytics-8way")["value"].to_list()
    shown = [
        high
        for label, high in zip(answer["cells"]["label"], answer["cells"]["high"], strict=True)
        if label == "analytics-8way"
    ]
    assert mine == pytest.approx(shown, abs=1e-4)
    assert made["chart_1"].to_dict()["encoding"]["color"]["scale"]["domain"] == answer["edges"]


def test_a_latency_of_zero_is_no_value_in_a_heat_map(rec):
    asked = PanelRequest.of({"counter": "worst_disk_ms", "table": "vm", "kind": "heat", "limits": "vdisk.read"})
    answer = heat(Values([rec]), asked)
    assert min(answer["cells"]["high"]) > 0
    # It had no command before 09:05.
    assert answer["gaps"]["label"][0] == "backup-proxy"


def test_an_object_is_shown_with_what_is_around_it(rec):
    objects = Objects(rec)
    assert objects.known[SLOW] == "device"
    assert objects.known["vmnic0"] == "uplink"
    assert [name for name, kind in objects.known.items() if kind == "vm"] == sorted(rec.meta["vms"])
    related = {one["name"] for one in objects.page("vm", "orders-app")["related"]}
    assert related == {"naa.60000970000120070001533030334102", "vmnic0", "vmnic1"}
    assert [one["name"] for one in objects.page("device", SLOW)["related"]] == ["ledger-db", "backup-proxy"]


def test_the_page_of_a_device_shows_who_uses_it(rec, raw):
    panels = {one["title"]: one for one in Objects(rec).page("device", SLOW)["panels"]}
    answer = lines(Values([rec]), PanelRequest.of(panels["Commands of the VMs that use it"]))
    backup = next(one for one in answer["series"] if one["label"] == "backup-proxy")
    name = next(one for one in raw if one.endswith(f"({backup['instance']})\\Commands/sec"))
    # The first sample of a disk was not measured yet.
    assert backup["mean"] == pytest.approx([float(cell) for cell in raw[name]][1:], abs=1e-3)


def test_counters_of_one_panel_are_told_apart_by_their_names(rec):
    (panel, *_) = Objects(rec).page("vm", "orders-app")["panels"]
    answer = lines(Values([rec]), PanelRequest.of(panel))
    assert [one["label"] for one in answer["series"]][:3] == ["CPU used per vCPU", "ready time", "co-stop"]
    assert answer["series"][1]["of"]["counter"] == "ready_pct"
    assert {one["full"] for one in answer["series"]} == {"orders-app"}


@pytest.mark.needs("anywidget")
def test_the_page_of_a_vm_opens_from_python_and_copies_as_code(rec):
    app = ex.explore(rec, vm="orders-app")
    assert app.view["object"] == {"kind": "vm", "name": "orders-app"}
    made: dict[str, pl.DataFrame] = {}
    exec(app.code(), made)  # noqa: S102 (the code is what is tested)
    assert made["data_1"]["name"].unique().to_list() == ["orders-app"]
    again = ex.explore(rec, view=app.view)
    assert again.view == app.view


@pytest.mark.needs("anywidget")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"vm": "orders"}, "has no VM 'orders': did you mean 'orders-app'"),
        ({"device": "naa.1"}, "has no device 'naa.1': .*it has naa.6000"),
        ({"vm": "orders-app", "uplink": "vmnic0"}, "one page at a time: give one of vm, device, uplink"),
    ],
)
def test_the_page_of_what_is_not_there_is_refused(rec, options, said):
    with pytest.raises(ex.EsxparseError, match=said):
        ex.explore(rec, **options)


@pytest.mark.needs("anywidget")
def test_what_is_no_capture_has_no_pages():
    with pytest.raises(ex.EsxparseError, match="has no VM 'a': it has none"):
        ex.explore(ex.datasets_dir() / "formats" / "vmstat-wide.txt", vm="a")
    with pytest.raises(ex.EsxparseError, match="a study has no page"):
        ex.explore(ex.datasets_dir() / "numa" / "study.toml", vm="a")
