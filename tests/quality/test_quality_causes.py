"""One wrong counter is one fault, however many sums show it again."""

from __future__ import annotations

import csv
import re

import pytest

import esxparse as ex
from esxparse import cli
from esxparse.quality.causes import causes

BUSY = ex.datasets_dir() / "busy-host" / "busy-host.csv"
SAMPLES = 25


def changed(path, pattern, change):
    """The first samples of the bundled capture, the cells of some counters changed."""
    with BUSY.open(newline="", encoding="utf-8") as stream:
        rows = [row for _, row in zip(range(SAMPLES + 1), csv.reader(stream), strict=False)]
    places = [place for place, name in enumerate(rows[0]) if re.search(pattern, name)]
    assert places
    for row in rows[1:]:
        for place in places:
            row[place] = f"{change(float(row[place])):.2f}"
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return path


@pytest.fixture
def one_disk(tmp_path):
    """A capture with one wrong virtual disk: its own counters, and the sums of its VM, disagree."""
    pattern = r"Virtual Disk\(backup-proxy:scsi0:0\)\\(Commands|Reads|Writes|MBytes \w+)/sec"
    return changed(tmp_path / "disk.csv", pattern, lambda value: 3 * value + 50)


def test_a_virtual_disk_and_the_sums_of_its_vm_are_one_fault(one_disk):
    found = ex.check(ex.open(one_disk))
    assert len(found.failed) == 6
    (cause,) = causes(found)
    assert (cause.status, cause.expectation.id, cause.expectation.entity) == (
        "fail",
        "reads_writes",
        "backup-proxy:scsi0:0",
    )
    assert {one.id for one in cause.reached} == {one.id for one in found.failed} - {"reads_writes"}
    assert cause.also.startswith("5 more: vm_commands_per_sec")


def test_sums_of_one_vm_that_disagree_without_a_wrong_disk_are_one_fault(tmp_path):
    pattern = r"Virtual Disk\(backup-proxy\)\\MBytes \w+/sec"
    found = ex.check(ex.open(changed(tmp_path / "vm.csv", pattern, lambda value: value + 50)))
    assert {one.id for one in found.failed} == {"vm_mbytes_read_per_sec", "vm_mbytes_written_per_sec"}
    assert len(causes(found)) == 1


def test_faults_of_two_objects_are_two(tmp_path):
    first = r"Virtual Disk\(backup-proxy\)\\Reads/sec"
    both = rf"{first}|Memory\\Free MBytes"
    found = ex.check(ex.open(changed(tmp_path / "two.csv", both, lambda value: 4 * value + 9)))
    assert {one.expectation.table for one in causes(found)} == {"virtual_disk", "memory"}


def test_a_warning_that_a_failure_causes_is_told_with_it(tmp_path):
    found = ex.check(ex.open(changed(tmp_path / "free.csv", r"Memory\\Free MBytes", lambda value: 4 * value)))
    (cause,) = causes(found)
    assert (cause.status, cause.expectation.id, [one.id for one in cause.reached]) == (
        "fail",
        "memory_sum",
        ["nodes_free"],
    )


@pytest.mark.search
def test_each_fault_is_one_row_of_the_page(one_disk, capsys):
    assert cli.main(["check", str(BUSY), str(one_disk), "--format", "html"]) == 0
    page = capsys.readouterr().out
    assert page.count("<!DOCTYPE html>") == 1
    assert "<title>Data quality: 1 of 2 recordings have faults</title>" in page
    # The recording with faults comes first; no folder of this machine is on the page.
    assert page.index('<h2 id="check-1">disk.csv') < page.index('<h2 id="check-2">busy-host.csv')
    assert str(one_disk.parent) not in page
    assert page.count("<tr>") == 2
    assert "because of 1 fault" in page
    assert "5 more: vm_commands_per_sec" in page


def test_the_page_of_one_recording_names_it_in_its_title(capsys):
    assert cli.main(["check", str(BUSY), "--format", "html"]) == 0
    assert "<h1>Data quality: no fault in busy-host.csv</h1>" in capsys.readouterr().out
