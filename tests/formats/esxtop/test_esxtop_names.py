"""Headers that name what no capture of one host has."""

from __future__ import annotations

import compose
import pytest

import esxparse as ex

MINE = [("Memory", "Free MBytes"), ("Physical Cpu(0)", "% Util Time"), ("Group Cpu(1:a)", "% Used")]


def test_hosts_side_by_side_are_refused(tmp_path):
    text = compose.text(MINE * 2, [["1"] * 6] * 2)
    header, _, rows = text.partition("\n")
    host = header.partition("\\\\")[2].partition("\\")[0]
    middle = header.rfind('"\\\\' + host + "\\Memory")
    other = header[:middle] + header[middle:].replace(host, "other-host")
    with pytest.raises(ex.EsxparseError, match=rf"2 hosts are side by side \({host}, other-host\)"):
        ex.open(compose.write(tmp_path, f"{other}\n{rows}"))


def test_an_object_that_lost_letters_is_a_warning_with_its_name(tmp_path):
    text = compose.text(
        [*MINE, ("Physl Disk Partition(naa.1-1)", "Reads/sec"), ("Quantum Bus(1)", "Reads/sec")], [["1"] * 5]
    )
    notes = [note.message for note in ex.open(compose.write(tmp_path, text)).notes if note.severity == "warning"]
    assert ["'Physical Disk Partition'" in note for note in notes if "is nearly" in note] == [True]
