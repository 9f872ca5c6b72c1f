"""A guest's own readings beside the capture of its host."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest
from guests import sar

import esxparse as ex

pytestmark = pytest.mark.needs("anywidget")

FORMATS = ex.datasets_dir() / "formats"


@pytest.fixture(scope="module")
def rec():
    return ex.open(ex.datasets_dir() / "busy-host" / "busy-host.csv")


@pytest.fixture(scope="module")
def readings(rec, tmp_path_factory):
    """Those of orders-app, by its name and by another one: it sees nothing of what it waited."""
    frame = rec["vm"].filter(pl.col("instance") == "orders-app").select("time", "run_pct").collect()
    folder = tmp_path_factory.mktemp("guest")
    for name, vm in (("sar.txt", "orders-app"), ("other.txt", "linux-07")):
        (folder / name).write_text(sar(vm, frame.rows(), timedelta(minutes=7)), encoding="utf-8")
    return folder


def test_the_clock_of_a_guest_is_moved_to_its_vms(rec, readings):
    app = ex.explore(rec, guest=readings / "sar.txt")
    about = app.about["guest"]
    assert about["alignment"].startswith("sar.txt beside VM orders-app: shown 7 min earlier (correlation of CPU 1.00)")
    (panel,) = app.view["panels"]
    sent = []
    app.send = sent.append
    app._answer(app, {"ask": "panel", "id": 1, "panel": panel}, [])
    (busy,) = [one for one in sent[0]["answer"]["series"] if one["label"] == "guest busy"]
    ran = next(one for one in sent[0]["answer"]["series"] if one["of"]["counter"] == "run_pct")
    assert busy["time"] == ran["time"]
    assert busy["mean"] == pytest.approx(ran["mean"], abs=0.01)


def test_what_was_stolen_is_said(rec, readings):
    about = ex.explore(rec, guest=readings / "sar.txt").about["guest"]
    rows = rec["vm"].filter(pl.col("instance") == "orders-app").collect()
    waited = rows.select("time", "run_pct", w=pl.col("ready_pct") + pl.col("costop_pct")).filter(pl.col("w") >= 5)
    run, wait = waited["run_pct"].mean(), waited["w"].mean()
    words = f"The guest reports {run:.0f} % busy; the host gave it {100 * run / (run + wait):.0f} % of the CPU time"
    assert about["stolen"]
    assert about["verdict"].startswith(words)
    assert "time was stolen" in about["verdict"]


def test_a_guest_of_another_name_is_found_by_its_cpu(rec, readings):
    assert "beside VM orders-app" in ex.explore(rec, guest=readings / "other.txt").about["guest"]["alignment"]


def test_the_copied_code_has_the_guest_too(rec, readings):
    app = ex.explore(rec, guest=readings / "sar.txt")
    made: dict[str, pl.DataFrame] = {}
    exec(app.code(), made)  # noqa: S102 (the code is what is tested)
    # run, ready, co-stop, guest
    assert made["data_4"]["time"].min() == made["data_1"]["time"].min()


def test_what_changed_looks_at_the_host_alone(rec, readings):
    app = ex.explore(rec, guest=readings / "sar.txt")
    sent = []
    app.send = sent.append
    app._answer(app, {"ask": "changes", "id": 1, "start": None}, [])
    assert {one["table"] for one in sent[0]["answer"]["rows"]} <= set(rec)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sar-guest.txt", "cannot be aligned: fewer than 20 common samples"),
        ("fio-json-plus.json", "is fio: the readings of a guest are sar, mpstat, iostat, vmstat, perfmon"),
        ("iostat-extended.json", "has no CPU use with times"),
    ],
)
def test_what_is_no_guest_of_the_host_is_refused(rec, name, said):
    with pytest.raises(ex.EsxparseError, match=said):
        ex.explore(rec, guest=FORMATS / name)


def test_a_guest_of_another_vm_is_refused(rec, readings):
    with pytest.raises(ex.EsxparseError, match=r"that of VM ledger-db go together with 0\.\d\d, and 0.6 is needed"):
        ex.explore(rec, guest=readings / "sar.txt", vm="ledger-db")
