"""What uses the check: reports show it, studies refuse by it, a diagnosis says which of its evidence is in doubt."""

from __future__ import annotations

import csv
import json
import re
from importlib import import_module

import polars as pl
import pytest

import esxparse as ex
from esxparse import cli
from esxparse.quality import results
from esxparse.reports import quality

checking = import_module("esxparse.quality.check")
BUSY = ex.datasets_dir() / "busy-host" / "busy-host.csv"


def as_it_is(_names, _row):
    """No change."""


def capture(path, change=as_it_is):
    """The bundled capture, its first samples, changed row by row."""
    with BUSY.open(newline="", encoding="utf-8") as stream:
        rows = [row for _, row in zip(range(16), csv.reader(stream), strict=False)]
    for row in rows[1:]:
        change(rows[0], row)
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return path


def wait_as_a_fraction(names, row):
    for place, name in enumerate(names):
        if re.search(r"(Vcpu|Group Cpu)\(.*% Wait$", name):
            row[place] = f"{float(row[place]) / 100:.2f}"


@pytest.fixture
def study(tmp_path):
    capture(tmp_path / "sound.csv")
    capture(tmp_path / "wrong.csv", wait_as_a_fraction)
    (tmp_path / "study.toml").write_text(
        'title = "two"\nbaseline = {kind = "a"}\n[host]\ncores = 8\n'
        '[[run]]\nkind = "a"\nesxtop = "sound.csv"\n[[run]]\nkind = "b"\nesxtop = "wrong.csv"\n'
    )
    return tmp_path / "study.toml"


@pytest.mark.search
def test_a_study_refuses_to_compare_runs_whose_files_fail(study):
    found = ex.study(study)
    assert found.runs.collect().height == 2
    with pytest.raises(ex.EsxparseError, match=r"run 2.*wrong\.csv: group_cpu: states_of_members.*--allow"):
        found.compare("ready_pct")
    assert ex.study(study, allow=True).compare("ready_pct").collect().height == 2
    told = ex.check(found)
    assert told.status == "fail"
    assert all("wrong.csv" in one.table for one in told.failed)


def test_the_command_refuses_and_allows(study, capsys):
    assert cli.main(["study", "run", str(study), "--compare", "ready_pct", "-q"]) == 1
    assert "fail the quality check" in capsys.readouterr().err
    assert (
        "fail the quality check"
        not in (cli.main(["study", "run", str(study), "--allow", "-q"]), capsys.readouterr().err)[1]
    )


def test_a_diagnosis_says_which_of_its_evidence_is_in_doubt(tmp_path):
    sound, wrong = (
        ex.open(capture(tmp_path / name, change))
        for name, change in (
            ("sound.csv", as_it_is),
            ("wrong.csv", wait_as_a_fraction),
        )
    )
    assert not [said for one in ex.diagnose(sound) for said in one.against if said.startswith("in doubt")]
    doubts = [said for one in ex.diagnose(wrong) for said in one.against if said.startswith("in doubt")]
    # Both tables are wrong; a VM takes its use from groups, its waits from worlds.
    assert any("group_cpu: states_of_members" in said for said in doubts)


SLOW = "naa.60000970000120070001533030334101"
"""The device that one VM slows for the others in the bundled capture."""


def off(path, *owners):
    """The bundled capture with numbers of some owners that cannot be: GAVG far above DAVG + KAVG, %WAIT of 5 %."""
    with BUSY.open(newline="", encoding="utf-8") as stream:
        names, *rows = csv.reader(stream)
    wanted = [
        place
        for place, name in enumerate(names)
        if any(owner in name for owner in owners)
        and re.search(r"Device\(.*Guest MilliSec/Command$|Vcpu\(.*% Wait$", name)
    ]
    for row in rows:
        for place in wanted:
            row[place] = "1005.00" if "MilliSec" in names[place] else "5.00"
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([names, *rows])
    return path


def doubted(path):
    """The troubles of a capture whose evidence is in doubt, and by which objects."""
    found = {
        one.trouble: [text for text in one.against if text.startswith("in doubt")] for one in ex.diagnose(ex.open(path))
    }
    return {trouble: doubts for trouble, doubts in found.items() if doubts}


@pytest.fixture(scope="module")
def devices():
    return ex.open(BUSY)["device"].select("instance").unique().collect()["instance"].to_list()


def test_a_doubt_reaches_the_finding_on_that_counter_of_that_object(tmp_path, devices):
    (other, *_) = sorted(one for one in devices if one != SLOW)
    assert doubted(off(tmp_path / "other.csv", f"({other})")) == {}
    told = doubted(off(tmp_path / "own.csv", f"({SLOW})", f"({other})"))
    # Two readings of the same device.
    assert set(told) == {"storage.noisy_neighbour", "storage.bandwidth"}
    for texts in told.values():
        assert all(f" of {SLOW} " in text and other not in text for text in texts)
        assert any("gavg" in text for text in texts)


@pytest.mark.search
def test_a_doubt_about_waits_of_a_vm_reaches_no_other_vm_and_no_device(tmp_path):
    found = ex.diagnose(ex.open(off(tmp_path / "vm.csv", ":report-batch:")))
    told = {one.trouble: one for one in found if any(text.startswith("in doubt") for text in one.against)}
    assert "cpu.limit" in told
    # The host's contention is that of all its VMs.
    about = [{one.entity["name"], *(under["name"] for under in one.also)} for one in told.values()]
    assert all(names & {"report-batch", "host"} for names in about)
    assert {one.entity["kind"] for one in told.values()} <= {"vm", "host"}
    assert any(one.entity["name"] not in {"report-batch", "host"} for one in found if one not in told.values())


def test_findings_on_the_clock_are_not_in_doubt_by_the_clock(tmp_path):
    found = ex.Finding("clock.jump", "warning", 1, {}, None, None, "", (), (), (), "", "")
    other = ex.Finding("cpu.limit", "warning", 1, {}, None, None, "", (), (), (), "", "")
    rec = ex.open(capture(tmp_path / "gap.csv", lambda _, row: row.__setitem__(0, row[0].replace("09:01", "10:01"))))
    told = list(checking.doubted(rec, [(found, ()), (other, ())]))
    assert told[0].against == ()
    assert told[1].against[0].startswith("in doubt: samples: step_ratio")


def test_the_section_of_a_report(tmp_path):
    assert re.fullmatch(r"Data quality: all \d+ expectations are met\.", quality.section([ex.open(BUSY)]).text.strip())
    rec = ex.open(capture(tmp_path / "wrong.csv", wait_as_a_fraction))
    block = quality.section([rec])
    assert "vcpu: states" in block.html
    assert "add up to 100 %" in block.text
    assert "expectations not met" in block.text


def test_a_capture_that_stays_in_its_file_is_not_checked_along_the_way_and_a_report_says_so(monkeypatch):
    rec = ex.open(BUSY)
    monkeypatch.setattr(checking, "LAZY_FROM", 1000)
    monkeypatch.setattr(checking, "profile", None)
    said = "Data quality of busy-host.csv was not checked: that reads all of it. `esxparse check` does so."
    assert quality.section([rec]).text == said
    assert ex.diagnose(rec)


def test_a_recording_is_checked_once(monkeypatch):
    rec = ex.open(BUSY)
    first = ex.check(rec)
    monkeypatch.setattr(checking, "profile", None)
    assert ex.check(rec) is first
    assert isinstance(first.frame(), pl.DataFrame)


def test_a_converted_capture_is_judged_as_the_capture_it_was(busy_host_file, tmp_path):
    """Parquet holds the rows of one instance together; what compares a sample with the next must not mind."""
    converted = ex.convert(busy_host_file, tmp_path)
    told = [
        {(one["suite"], one["id"]): (one["status"], one["judged"], one["failed"]) for one in found["expectations"]}
        for found in (json.loads(ex.check(ex.open(path)).json()) for path in (busy_host_file, converted.folder))
    ]
    assert told[0]["esxtop.vcpu", "frozen"][0] == "pass"
    assert told[0] == told[1]


@pytest.mark.parametrize(("value", "shown"), [("esx-01, esx-02", "esx-01, esx-02"), (-12.5, "-12.5"), (None, "")])
def test_a_value_stands_in_its_cell_whether_it_is_a_number_or_words(value, shown):
    told = {"table": "file", "means": "m", "expected": "one host", "name": "hosts", "value": value}
    one = results.Expectation(id="hosts", suite="file", status="fail", **told)
    html = results.Quality((one,), "x").html()
    assert re.findall(r"<td[^>]*>([^<]*)</td>", html)[-3] == shown
