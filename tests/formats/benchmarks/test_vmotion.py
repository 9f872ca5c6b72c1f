"""vMotions in the log of a VM."""

from __future__ import annotations

import pytest
from compose import write

import esxparse as ex
from esxparse.errors import EsxparseError

NEWER = """\
2023-04-15T08:52:30.000Z In(05) vmx - Log for VMware ESX pid=1 version=7.0.3 build=build-1 option=Release
2023-04-15T08:52:34.879Z In(05) vmx - MigrateSetState: Transitioning from state 0 to 8.
2023-04-15T08:52:41.379Z In(05) vmx - MigrateSetState: Transitioning from state 8 to 9.
2023-04-15T08:52:42.004Z In(05) vcpu-0 - Checkpoint_Unstun: vm stopped for 1210000 us
2023-04-15T08:52:42.379Z In(05) vmx - MigrateSetState: Transitioning from state 11 to 0.
"""
FAILED = """\
2018-04-17T10:00:00.120Z| vmx| I125: MigrateSetState: Transitioning from state 0 to 1.
2018-04-17T10:00:20.120Z| vmx| I125: Migrate_SetFailure: The destination host did not receive data from the source host.
2018-04-17T10:00:20.620Z| vmx| I125: MigrateSetState: Transitioning from state 2 to 0.
"""


def figures(rec):
    rows = rec["benchmark_results"].collect().rows(named=True)
    return {(row["test"], row["metric"], row["unit"]): (row["value"], row["valid"]) for row in rows}


def test_both_sides_say_how_long_it_took_and_the_destination_how_long_the_vm_stood_still():
    rec = ex.open(ex.datasets_dir() / "formats" / "vmotion-vmware.log")
    assert figures(rec) == {
        ("destination", "duration", "s"): (32.5, True),
        ("destination", "downtime", "ms"): (403.475, True),
        ("source", "duration", "s"): (pytest.approx(30.3), True),
    }
    (note,) = rec.notes
    assert "stopped 1 time outside a vMotion" in note.message


def test_newer_releases_write_their_lines_in_another_form(tmp_path):
    rec = ex.open(write(tmp_path, NEWER, "vmware.log"))
    assert figures(rec)["destination", "duration", "s"] == (7.5, True)
    assert figures(rec)["destination", "downtime", "ms"] == (1210.0, True)


def test_a_failed_vmotion_does_not_count(tmp_path):
    rec = ex.open(write(tmp_path, FAILED, "vmware.log"))
    assert figures(rec) == {("source", "duration", "s"): (20.5, False)}


def test_a_log_that_ends_at_once_has_no_result(tmp_path):
    with pytest.raises(EsxparseError, match="1 vMotion without a second state"):
        ex.open(write(tmp_path, FAILED.splitlines()[0] + "\n", "vmware.log"))


def test_a_damaged_line_of_a_vmotion_is_named(tmp_path):
    """A time with foreign marks would otherwise be missing without a word."""
    rec = ex.open(write(tmp_path, NEWER.replace("1210000 us", "1.210.000 us"), "vmware.log"))
    assert ("destination", "downtime", "ms") not in figures(rec)
    (note,) = rec.notes
    assert (note.line, note.severity) == (4, "warning")
    assert "Checkpoint_Unstun" in note.message
