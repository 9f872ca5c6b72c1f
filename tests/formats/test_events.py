"""Tasks and log lines as marks on charts: in reports and in the explorer."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from templated import shown

import esxparse as ex
from esxparse import charts
from esxparse.cli import main
from esxparse.errors import EsxparseError
from esxparse.formats.events import MOST_MARKS, marks_of
from esxparse.reports import marked

BUSY = ex.datasets_dir() / "busy-host" / "busy-host.csv"
TASKS = """\
Task Name,Target,Status,Start Time,Completion Time
Migrate virtual machine,orders-app,Completed,2026-03-11T09:02:10Z,2026-03-11T09:02:45Z
Create virtual machine snapshot,ledger-db,Completed,2026-03-11T09:05:30Z,2026-03-11T09:05:41Z
Power On virtual machine,web-09,Completed,2026-03-11T11:00:00Z,2026-03-11T11:00:02Z
"""
VOBD = "2026-03-11T09:07:00.000Z: [scsiCorrelator] 5us: [esx.problem.storage.apd.start] Device naa.1 is down\n"
LATER = "step,start\nMigrate virtual machine,2026-03-12 09:00:00\n"


@pytest.fixture
def files(tmp_path):
    for name, text in (("tasks.csv", TASKS), ("vobd.log", VOBD), ("later.csv", LATER)):
        (tmp_path / name).write_text(text)
    return tmp_path


def rules(spec):
    """The numbers and times of the marks of a chart."""
    rows = [layer["data"]["values"] for layer in spec["layer"] if layer.get("mark", {}).get("type") == "rule"]
    return [(row["text"], datetime.fromtimestamp(row["time"] / 1000, UTC)) for row in rows[-1] if "event" in row]


def test_marks_are_the_events_during_the_capture_with_notes_on_their_files(files):
    times = datetime(2026, 3, 11, 9, tzinfo=UTC), datetime(2026, 3, 11, 9, 10, tzinfo=UTC)
    found, notes = marks_of([str(files / "vobd.log"), str(files / "tasks.csv")], *times)
    assert [one.words for one in found] == [
        "Migrate virtual machine: orders-app",
        "Create virtual machine snapshot: ledger-db",
        "esx.problem.storage.apd.start: Device naa.1 is down",
    ]
    assert notes == ()
    with pytest.raises(EsxparseError, match=r"no event begins from 2026-03-11 09:00:00 to .*time zone missing"):
        marks_of([str(files / "later.csv")], *times)
    rows = "".join(f"Step,2026-03-11T09:00:{at:02}Z\n" for at in range(MOST_MARKS + 1))
    (files / "many.csv").write_text(f"step,start\n{rows}")
    with pytest.raises(EsxparseError, match=f"{MOST_MARKS + 1} events begin .* --match TEXT --format csv"):
        marks_of([str(files / "many.csv")], *times)


def test_charts_over_time_get_numbered_marks_and_others_stay_as_they_are(files):
    rec = ex.open(BUSY)
    events, _ = marked.during(rec, [str(files / "tasks.csv")])
    layered = charts.cpu.host(rec["host"]).to_dict()
    heat = charts.cpu.pcpu_heat(rec["pcpu"]).to_dict()
    for spec in (layered, heat):
        first, second = rules(marked.marked(spec, events))
        assert first == ("1", datetime(2026, 3, 11, 9, 2, 10, tzinfo=UTC))
        assert second == ("2", datetime(2026, 3, 11, 9, 5, 30, tzinfo=UTC))
    ranked = charts.cpu.used_ranked(rec["vm"]).to_dict()
    assert marked.marked(ranked, events) == ranked
    assert marked.listed(events)["seconds"].to_list() == [35.0, 11.0]


def test_the_host_report_marks_its_charts_and_lists_the_events(files):
    page = shown("host_health", "Marks on charts", "charts.cpu.host(host)", events=[str(files / "tasks.csv")])
    text = " ".join(page.text.split())
    assert "1 2026-03-11 09:02:10" in text
    assert "Create virtual machine snapshot ledger-db Completed 11.0" in text
    plain = shown("host_health", "Marks on charts")
    assert plain.text == ""


@pytest.mark.search
def test_the_command_draws_marks_and_says_what_is_wrong(files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    assert main(["report", str(BUSY), "--events", "tasks.csv", "-o", "host.md", "-q"]) == 0
    page = (files / "host.md").read_text(encoding="utf-8")
    assert "| 1 | 2026-03-11 09:02:10 | Migrate virtual machine | orders-app |" in page
    assert str(files) not in page
    assert main(["report", str(BUSY), "--events", "none.csv", "-o", "host.md", "-q"]) == 1
    assert capsys.readouterr().err.endswith("none.csv does not exist\n")
    signed = "https://files.example/tasks.csv?sig=hush"
    for command in (["report", str(BUSY), "-o", "host.md", "-q"], ["lab", str(BUSY), "--no-start"]):
        assert main([*command, "--events", signed]) == 1
        said = capsys.readouterr().err
        assert "https://files.example/tasks.csv" in said
        assert "hush" not in said


@pytest.mark.needs("anywidget")
def test_events_are_notes_of_the_explorer(files):
    app = ex.explore(BUSY, events=[files / "tasks.csv", files / "vobd.log"])
    assert app.view["notes"][0]["text"] == "Migrate virtual machine: orders-app"
    assert app.view["notes"][2]["time"] == datetime(2026, 3, 11, 9, 7, tzinfo=UTC).timestamp() * 1000
    assert ex.explore(BUSY).view["notes"] == []


@pytest.mark.needs("anywidget")
def test_lines_of_events_that_were_left_out_are_said_in_the_explorer(files):
    (files / "tasks.csv").write_text(TASKS + "Broken,x,Completed,never,never\n")
    notes = ex.explore(BUSY, events=files / "tasks.csv").about["notes"]
    assert any("tasks.csv" in note and "never" in note for note in notes)
