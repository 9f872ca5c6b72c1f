"""Counters and summaries of an ESXi host: esxcli's statistics and vim-cmd's summaries."""

from __future__ import annotations

import json

import pytest

import esxparse as ex

SAMPLE = ex.datasets_dir() / "formats" / "esxi-counters.txt"
DEVICE = {"Device": "naa.1", "Successful Commands": 5, "Blocks Read": 12, "Failed Blocks Read": 0}


def opened(path, text):
    path.write_text(text)
    return ex.open(path)


def rows(rec, table):
    return rec[table].collect().to_dicts()


def test_each_command_gives_its_table():
    rec = ex.open(SAMPLE)
    assert set(rec) == {"devices", "nics", "hosts", "vms", "facts"}
    (device,), (nic,) = rows(rec, "devices"), rows(rec, "nics")
    assert (device["blocks_read"], device["write_operations"], device["failed_commands"]) == (142171208, 1812033, 4)
    assert (nic["nic"], nic["bytes_received"], nic["receive_crc_errors"]) == ("vmnic0", 91835685000, 0)
    (host,), (vm,) = rows(rec, "hosts"), rows(rec, "vms")
    assert (host["cpu_usage_mhz"], host["cores"], host["memory_usage_mib"]) == (18432.0, 32, 121850.0)
    assert (vm["vm"], vm["vcpus"], vm["cpu_demand_mhz"], vm["ballooned_mib"]) == ("ledger-db", 4, 1533.0, 0.0)
    assert rec.meta["host"] == "esx-07.lab.example"


def test_samples_of_a_device_are_counted(tmp_path):
    text = SAMPLE.read_text()
    rec = opened(tmp_path / "a", text + text.replace("5126413", "5127413"))
    assert [row["sample"] for row in rows(rec, "hosts")] == [1, 2]
    assert [(row["sample"], row["successful_commands"]) for row in rows(rec, "devices")] == [(1, 5126413), (2, 5127413)]


@pytest.mark.parametrize("form", ["json", "csv"])
def test_forms_of_esxcli(tmp_path, form):
    two = [DEVICE, DEVICE | {"Device": "naa.2", "Blocks Read": 13}]
    csv = "\n".join(
        [",".join(key.replace(" ", "") for key in DEVICE), *(",".join(map(str, one.values())) for one in two)]
    )
    rec = opened(tmp_path / "a", json.dumps(two) if form == "json" else csv + "\n")
    assert [(row["device"], row["blocks_read"], row["failed_blocks_read"]) for row in rows(rec, "devices")] == [
        ("naa.1", 12, 0),
        ("naa.2", 13, 0),
    ]


def test_what_is_cut_or_no_number_is_noted(tmp_path):
    text = SAMPLE.read_text()
    cut = text[: text.index("Blocks Written: 88412160") + 20].replace("5126413", "many")
    rec = opened(tmp_path / "a", cut)
    (device,) = rows(rec, "devices")
    assert "blocks_written" not in device
    assert "successful_commands" not in device
    noted = [note.message for note in rec.notes if note.severity == "warning"]
    assert any("Successful Commands: 'many'" in message for message in noted)
    assert any("no line end" in message for message in noted)
