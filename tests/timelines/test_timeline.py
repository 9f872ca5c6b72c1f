"""Timelines: the slow power-on to the digit, forms of tables and logs, runs, captures beside, mistakes."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

import esxparse as ex
from esxparse.cli import main

SLOW = """\
run,step,target,start,end
before,Reconfigure virtual machine,web-01,2013-05-10 10:00:00,
before,Reconfigure virtual machine,web-01,2013-05-10 10:05:00,2013-05-10 10:05:03
before,Power On virtual machine,web-01,2013-05-10 10:15:03,2013-05-10 10:15:05
after,Reconfigure virtual machine,web-01,2013-05-10 14:00:00,2013-05-10 14:00:01
after,Reconfigure virtual machine,web-01,2013-05-10 14:00:02,2013-05-10 14:00:03
after,Power On virtual machine,web-01,2013-05-10 14:00:05,2013-05-10 14:00:08
"""
TASKS = """\
"Task Name","Target","Status","Details","Initiator","Queued For","Start Time","Completion Time","Server"
"Power On virtual machine","web-01","Completed","","root","3 ms","05/10/2013, 2:00:05 PM","05/10/2013, 2:00:08 PM","vc"
"Reconfigure virtual machine","web-01","Done","","root","2 ms","05/10/2013, 1:50:00 PM","05/10/2013, 1:50:02 PM","vc"
"Rescan all HBAs","esx-02","Done","","root","2 ms","05/31/2013, 11:50:00 AM","","vc"
"""
HOSTD = """\
2013-05-10T14:00:05.100Z [FFDA2B90 info 'TaskManager' opID=2a] Task Created : haTask-12-vim.VirtualMachine.powerOn-344
2013-05-10T14:00:05.200Z [FFDA2B90 verbose 'Vmsvc'] nothing of note
--> a line that goes on
2013-05-10T14:00:06.000Z [FFDA2B90 info 'TaskManager'] Task Created : haTask-ha-host-vim.HostSystem.rescan-345
2013-05-10T14:00:07.350Z [FFDA info 'Task'] Task Completed : haTask-12-vim.VirtualMachine.powerOn-344 Status success
"""
VOBD = """\
2013-05-10T14:00:05.737Z: [UserLevelCorrelator] 1019us: [vob.user.ssh.session.opened] SSH session was opened.
2026-05-10T14:00:06.737Z In(14) vobd[2097521]:  [scsiCorrelator] 1012us: [esx.problem.storage.apd.start] naa.1 down
"""
GOVC_TASKS = {
    "tasks": [
        {
            "name": "PowerOff",
            "descriptionId": "VirtualMachine.powerOff",
            "entity": {"type": "VirtualMachine", "value": "vm-52"},
            "entityName": "web-01",
            "state": "success",
            "reason": {"userName": "LAB\\\\kim"},
            "queueTime": "2026-11-24T07:33:19.100000396Z",
            "startTime": "2026-11-24T07:33:19.5Z",
            "completeTime": "2026-11-24T07:33:21Z",
        },
        {"name": "MigrateVM", "entityName": "db-01", "state": "queued", "queueTime": "2026-11-24T07:33:30Z"},
        {"name": "a task without times"},
    ]
}
GOVC_EVENTS = """\
{"type": "VmPoweredOffEvent", "createdTime": "2026-11-24T07:33:20.5Z", "category": "info", "message": "web-01 is off"}
{"createdTime": "2026-11-24T08:33:40+01:00", "category": "error", "message": "db-01 cannot\\n migrate"}
"""
GOVC_TEXT = """\

==> VirtualMachine:vm-52 <==
[Tue Nov 24 08:33:20 2026] [info] [36] [VmPoweredOffEvent] web-01 on esx-02 in DC0 is powered off
[Tue Nov  3 08:33:40 2026] [error] db-01 cannot migrate
Error: connection reset
"""


@pytest.fixture
def write(tmp_path):
    def written(text, name="steps.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return written


def test_the_slow_power_on(write):
    found = ex.timeline(write(SLOW))
    before, after = (found.phases.filter(run=run) for run in ("before", "after"))
    # The source document: 5 min from step 1 to step 2, another 10 min until the VM was switched on; then seconds.
    assert before["wait_s"].to_list() == [300.0, 600.0, None]
    assert before["duration_s"].to_list() == [None, 3.0, 2.0]
    assert set(before["total_s"]) == {905.0}
    assert set(after["total_s"]) == {8.0}
    assert found.summary[0] == (
        "Run before: 15 min 5 s for 3 steps. Longest wait: 10 min after step 2, Reconfigure virtual machine."
    )
    assert found.summary[1].startswith("Run after: 8 s for 3 steps.")


def test_a_longer_time_without_events_begins_a_run(write):
    without = "\n".join(line.partition(",")[2] for line in SLOW.splitlines())
    found = ex.timeline(write(without), split="1h")
    assert found.phases["run"].to_list() == ["1"] * 3 + ["2"] * 3
    assert found.phases["total_s"].unique().sort().to_list() == [8.0, 905.0]
    assert ex.timeline(write(without)).phases["run"].unique().to_list() == ["1"]


def test_steps_that_overlap_wait_for_the_last_of_them(write):
    rows = [
        "step,start,end",
        "a,2013-05-10T10:00:00Z,2013-05-10T10:01:00Z",
        "b,2013-05-10T10:00:10Z,2013-05-10T10:00:20Z",
    ]
    found = ex.timeline(write("\n".join([*rows, "c,2013-05-10T10:01:30.25Z,2013-05-10T10:01:30.50Z"])))
    assert found.phases["wait_s"].to_list() == [0.0, 30.25, None]
    assert found.phases["duration_s"][2] == 0.25
    assert "0.25 s" in found.text()


def test_the_export_of_vcenters_tasks(write):
    found = ex.timeline(write(TASKS), zone="Europe/Berlin", match="web-01|Rescan")
    assert found.phases["step"].to_list() == [
        "Reconfigure virtual machine",
        "Power On virtual machine",
        "Rescan all HBAs",
    ]
    assert found.phases["start"][0] == datetime(2013, 5, 10, 11, 50, tzinfo=UTC)
    assert found.phases["duration_s"].to_list() == [2.0, 3.0, None]
    assert found.phases["target"][2] == "esx-02"
    assert [str(note) for _, note in found.notes] == ["times have no zone: taken as Europe/Berlin, as requested"]


def test_tasks_of_hostd_have_a_duration(write):
    found = ex.timeline(write(HOSTD, "hostd.log"))
    assert found.phases.select("step", "target", "status", "duration_s").rows() == [
        ("vim.VirtualMachine.powerOn", "12", "success", 2.25),
        ("vim.HostSystem.rescan", "ha-host", "", None),
    ]
    notes = [str(note) for _, note in found.notes]
    assert any("'--> a line that goes on'" in note for note in notes)
    assert any("1 line of the log not chosen: choose lines with match" in note for note in notes)


def test_events_of_vobd_in_two_releases(write):
    found = ex.timeline(write(VOBD, "vobd.log"), match="storage|ssh")
    assert found.phases["step"].to_list() == ["vob.user.ssh.session.opened", "esx.problem.storage.apd.start"]
    assert found.phases["target"][1] == "naa.1 down"


def test_tasks_and_events_of_govc(write):
    found = ex.timeline(write(json.dumps(GOVC_TASKS), "tasks.json"))
    assert found.phases.select("step", "target", "status", "duration_s").rows() == [
        ("PowerOff", "web-01", "success", 1.5),
        ("MigrateVM", "db-01", "queued", None),
    ]
    assert [note.message for _, note in found.notes] == ["neither a task nor an event with a time: left out"]
    found = ex.timeline(write(GOVC_EVENTS, "events.json"), match="web-01|migrate")
    assert found.phases["step"].to_list() == ["web-01 is off", "db-01 cannot migrate"]
    assert found.phases["wait_s"][0] == 19.5


def test_the_text_of_govc_is_by_the_clock_of_its_machine(write):
    found = ex.timeline(write(GOVC_TEXT), zone="Europe/Berlin")
    assert found.phases["start"].to_list() == [
        datetime(2026, 11, 3, 7, 33, 40, tzinfo=UTC),
        datetime(2026, 11, 24, 7, 33, 20, tzinfo=UTC),
    ]
    assert [note.message for _, note in found.notes] == [
        "times have no zone: taken as Europe/Berlin, as requested",
        "1 line not part of a result, left out: 'Error: connection reset'",
    ]
    head = "Task                 Target     Initiator      Queued   Started Completed Result\n"
    with pytest.raises(ex.EsxparseError, match="times without dates: run govc tasks again with -json"):
        ex.timeline(write(f"{head}PowerOff     vm-52    kim       0s  07:33:19  07:33:21 success [1.5s]\n"))


def test_lines_of_a_log_are_chosen_by_their_text(write):
    lines = [f"2013-05-10T14:00:{second:02}.000Z cpu3:2097)ScsiDevice: {second} of naa.1" for second in range(5)]
    log = write("\n".join(lines) + "\n", "vmkernel.log")
    with pytest.raises(ex.EsxparseError, match="no event found; choose lines of a log by their text with --match"):
        ex.timeline(log)
    assert ex.timeline(log, match="[13] of naa").phases["start"].dt.second().to_list() == [1, 3]


def test_captures_show_what_hosts_did_meanwhile(write, busy_host):
    at = datetime(2026, 3, 11, 9, 0, tzinfo=UTC)
    rows = [
        f"{name},{at + timedelta(minutes=minute)}" for name, minute in (("clone", 1), ("power on", 3), ("late", 60))
    ]
    found = ex.timeline(write("\n".join(["step,start", *rows])), [busy_host])
    assert found.beside["samples"].to_list() == [25, 85, 0]
    inside = (
        busy_host["host"]
        .collect()
        .filter(busy_host["host"].collect()["time"].is_between(at + timedelta(minutes=1), at + timedelta(minutes=3)))
    )
    assert found.beside["util_pct"][0] == pytest.approx(inside["util_pct"].mean())
    assert found.beside["util_pct"][2] is None
    assert "step 1, esx-07.lab.example: 25 samples, host CPU" in found.text()


def test_every_shape(write, capsys):
    path = str(write(SLOW))
    shown = {}
    for shape in ("table", "md", "json", "csv"):
        assert main(["timeline", path, "--format", shape]) == 0
        shown[shape] = capsys.readouterr().out
    assert "2  2013-05-10 10:05:00  Reconfigure virtual machine  web-01  3 s   10 min" in shown["table"]
    assert "| 2 | 2013-05-10 10:05:00 | Reconfigure virtual machine | web-01 | 3 s | 10 min |" in shown["md"]
    assert json.loads(shown["json"])["phases"][1]["wait_s"] == 600.0
    assert shown["csv"].splitlines()[2].endswith("2013-05-10T10:15:03Z,3.0,600.0,905.0")


@pytest.mark.parametrize(
    ("text", "arguments", "told"),
    [
        ("a,b\n1,2\n", [], "is neither a log of ESXi nor a table with titles such as step, start, end"),
        ("step,start\nx,soon\n", [], "no event found"),
        (SLOW, ["--match", "("], "match '(' is not a regular expression"),
        (SLOW, ["--split", "soon"], "split 'soon' is not a length of time"),
    ],
)
def test_a_mistake_is_one_line(text, arguments, told, write, capsys):
    assert main(["timeline", str(write(text)), *arguments]) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert told in line


def test_a_row_that_ends_before_it_begins_is_left_out(write):
    found = ex.timeline(write(f"{SLOW}after,odd,web-01,2013-05-10 15:00:00,2013-05-10 14:59:59\n"))
    assert found.phases.height == 6
    (warning,) = [note for _, note in found.notes if note.severity == "warning"]
    assert "odd" in str(warning)
