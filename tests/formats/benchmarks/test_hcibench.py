"""HCIBench: what it says of a case, and directories of cases with fio or vdbench in them."""

from __future__ import annotations

import json
import shutil

import pytest
from compose import figures

import esxparse as ex

SAMPLES = ex.datasets_dir() / "formats"


@pytest.fixture
def case(tmp_path):
    """A case of vdbench: two VMs that did the same."""
    folder = tmp_path / "easy-run-1800000000" / "vdb-4k-70rdpct-1800000100"
    stats = folder / "iotest-vdbench-2vm" / "jsonstats" / "pcpu"
    stats.mkdir(parents=True)
    for number in (1, 2):
        shutil.copy(SAMPLES / "vdbench-summary.html", folder / f"hci-vdb-ds1-{number}.txt")
    (folder / "hcibench.cfg").write_text("vc: 'vc.lab.example'\n")
    (folder / "resource_usage.info").write_text(json.dumps({"lab": {"cpu.usage": 41.25, "mem.usage": "22.5"}}))
    values = {"stats": {"0": {"usedPct": {"values": [40.5, 42.0]}}, "1": {"usedPct": {"values": [10, None]}}}}
    (stats / "pcpu-esx-07.json").write_text(json.dumps(values))
    (stats / "pcpu-esx-07-thumb.json").write_text("{")
    text = (SAMPLES / "hcibench-vdbench-res.txt").read_text().replace("7800.0", "15600.0")
    (folder.parent / f"{folder.name}-res.txt").write_text(text[: text.index("Resource")])
    return folder


@pytest.mark.parametrize("whole", [True, False])
def test_a_case_and_a_test_of_cases_have_each_vm(case, whole):
    rec = ex.open(case.parent if whole else case)
    assert rec.format == "hcibench"
    assert rec.meta["cases"] == (case.name,)
    vms = rec["vms"].collect()
    assert vms["vm"].to_list() == ["hci-vdb-ds1-1"] * 2 + ["hci-vdb-ds1-2"] * 2
    assert vms["iops"].to_list() == [5200.0, 2600.0] * 2
    assert figures(rec)[f"{case.name}: run1", "iops"] == (15600.0, "1/s")
    rows = rec["intervals"].collect()
    assert rows.columns[:2] == ["case", "vm"]
    assert rows.height == 24
    assert rec["resources"].collect().select("cluster", "resource", "pct").rows() == [
        ("lab", "cpu.usage", 41.25),
        ("lab", "mem.usage", 22.5),
    ]
    observed = rec["observer"].collect()
    assert observed.select("topic", "file", "instance", "metric", "sample", "value").rows() == [
        ("pcpu", "pcpu-esx-07", "0", "usedPct", 1, 40.5),
        ("pcpu", "pcpu-esx-07", "0", "usedPct", 2, 42.0),
        ("pcpu", "pcpu-esx-07", "1", "usedPct", 1, 10.0),
    ]
    assert [note for note in rec.notes if note.severity == "warning"] == []


def test_a_sum_that_its_vms_do_not_add_up_to_is_told(case):
    (case / "hci-vdb-ds1-2.txt").unlink()
    told = [note.message for note in ex.open(case).notes if note.severity == "warning"]
    assert told == [f"{case.name}: HCIBench says 15,600 IOPS, the files of 1 VM add up to 7,800"]


def test_the_last_document_of_each_fio_counts(tmp_path):
    folder = tmp_path / "fio-4k-1800000200"
    (folder / "iotest-fio-1vm").mkdir(parents=True)
    final = (SAMPLES / "fio-json-plus.json").read_text()
    document = json.loads(final)
    for job in document["jobs"]:
        job["read"]["iops"] = job["write"]["iops"] = 1.0
    (folder / "hci-fio-ds1-1.json").write_text(json.dumps(document) + "\n" + final)
    rec = ex.open(folder)
    vms = rec["vms"].collect()
    expected = sum(job["read"]["iops"] + job["write"]["iops"] for job in json.loads(final)["jobs"])
    assert vms["iops"].sum() == pytest.approx(expected)
    assert vms["test"].to_list() == list(dict.fromkeys(job["jobname"] for job in json.loads(final)["jobs"]))
    read = json.loads(final)["jobs"][0]["read"]["lat_ns"]["mean"] / 1e6
    assert vms.filter(test=json.loads(final)["jobs"][0]["jobname"])["latency_read_ms"].item() == pytest.approx(read)
    # The first document is a snapshot of the same run.
    assert rec["jobs"].collect()["document"].unique().to_list() == [1]
    assert rec["snapshots"].collect().height > rec["jobs"].collect().height
    assert any("2 snapshots of one run" in note.message for note in rec.notes)
    assert any("has no fio-4k-1800000200-res.txt" in note.message for note in rec.notes)
