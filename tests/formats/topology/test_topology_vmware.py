""".vmx, esxcli hardware and vim-cmd hosthardware: composed in every form, and damaged."""

from __future__ import annotations

import csv
import io
import json

import pytest
from compose import opened
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex

MANY = settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
FORMATS = ex.datasets_dir() / "formats"


def rows(rec, table):
    return rec[table].collect().to_dicts()


def vmx(**settings_):
    pairs = {"config.version": "8", "virtualHW.version": "19"} | settings_
    return "".join(f'{key} = "{value}"\n' for key, value in pairs.items())


@MANY
@given(
    pairs=st.dictionaries(
        st.from_regex(r"[a-z][a-zA-Z0-9_.:]{0,20}[a-z]", fullmatch=True),
        st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=30),
        max_size=8,
    )
)
def test_what_a_vmx_says_is_read_back(tmp_path, pairs):
    pairs = {key.lower(): value for key, value in pairs.items()}
    written = {key: value.replace("|", "|7C").replace('"', "|22") for key, value in pairs.items()}
    found = {row["key"]: row["value"] for row in rows(opened(tmp_path, vmx(**written)), "settings")}
    assert {key: found[key] for key in pairs} == pairs


CPUS = [
    {
        "APICID": f"0x{cpu:x}", "Brand": "GenuineIntel", "BusSpeed": "99999904", "CoreSpeed": str(2394300000 + cpu),
        "Family": "6", "Id": str(cpu), "L2CacheSize": "1048576", "L3CacheSize": "14417920", "Model": "85",
        "Node": str(cpu // 2), "PackageId": str(cpu // 2), "Stepping": "7", "Type": "0",
    }
    for cpu in range(4)
]  # fmt: skip
MEMORY = {"NUMANodeCount": "2", "PhysicalMemory": "137106546688", "ReliableMemory": "0"}
NAMESPACE = "http://www.vmware.com/Products/ESX/5.0/esxcli"


def as_csv(structures):
    out = io.StringIO()
    writer = csv.DictWriter(out, [*structures[0]], lineterminator=",\n")
    writer.writeheader()
    writer.writerows(structures)
    return out.getvalue()


def as_xml(structures):
    fields = (
        "".join(f'<field name="{key}">\n<string>{value}</string>\n</field>' for key, value in one.items())
        for one in structures
    )
    inner = "".join(f'<structure typeName="Cpu">\n{one}\n</structure>\n' for one in fields)
    return f'<?xml version="1.0" encoding="utf-8"?>\n<output xmlns="{NAMESPACE}">\n<root>{inner}</root></output>\n'


def as_keyvalue(structures):
    return "".join(f"CPU.{key}.string={value}\n" for one in structures for key, value in one.items())


@pytest.mark.parametrize("form", [json.dumps, as_csv, as_xml, as_keyvalue])
def test_every_formatter_says_the_same_as_text(tmp_path, form):
    rec = opened(tmp_path, form(CPUS))
    text = ex.open(FORMATS / "esxcli-host.txt")
    names = (
        "processor",
        "socket",
        "node",
        "apicid",
        "vendor",
        "family",
        "model_number",
        "stepping",
        "l2_bytes",
        "l3_bytes",
    )
    assert [[row[name] for name in names] for row in rows(rec, "processors")] == [
        [row[name] for name in names] for row in rows(text, "processors")
    ]
    assert (rec.meta["threads"], rec.meta["sockets"], rec.meta["numa_nodes"]) == (4, 2, 2)
    assert opened(tmp_path, form([MEMORY])).meta == {"memory_bytes": 137106546688, "numa_nodes": 2}


def test_settings_of_esxcli_have_their_lines():
    rec = ex.open(FORMATS / "esxcli-settings.txt")
    assert (rec.meta["release"], rec.meta["build"]) == ("6.7.0", "Releasebuild-8169922")
    lines = (FORMATS / "esxcli-settings.txt").read_text().splitlines()
    found = {(row["section"], row["key"]): row for row in rows(rec, "settings")}
    assert found["advanced", "/Net/NetTuneHostMode"]["value"] == "default"
    assert found["iscsi", "DataDigest"]["value"] == "preferred"
    for row in found.values():
        assert row["value"] in lines[row["line"] - 1]
    assert [(row["volume"], row["share"], row["mounted"]) for row in rows(rec, "nfs")] == [
        ("nfs-a", "/export/a", "true"),
        ("nfs-b", "/export/b", "true"),
    ]
    assert all(row["volume"] in lines[row["line"] - 1] for row in rows(rec, "nfs"))


def test_settings_that_lack_their_values_are_an_error(tmp_path):
    with pytest.raises(ex.EsxparseError, match="no complete setting in it: run the command again"):
        opened(tmp_path, "   Path: /Net/NetTuneHostMode\n   Type: string\n   Default Int Value: 0\n")
