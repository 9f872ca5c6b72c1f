""".vmx, esxcli hardware and vim-cmd hosthardware: composed in every form, and damaged."""

from __future__ import annotations

import csv
import io
import json

import compose
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples
from strategies_of_text import damaged, reads_or_refuses

import esxparse as ex
from esxparse.errors import DamagedError

MANY = settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
FORMATS = ex.datasets_dir() / "formats"


def opened(folder, content, name="host.txt"):
    return ex.open(compose.write(folder, content, name))


def rows(rec, table):
    return rec[table].collect().to_dicts()


def vmx(**settings_):
    pairs = {"config.version": "8", "virtualHW.version": "19"} | settings_
    return "".join(f'{key} = "{value}"\n' for key, value in pairs.items())


def test_a_vmx_tells_the_size_of_the_vm():
    rec = ex.open(FORMATS / "vmx-database.vmx")
    meta = rec.meta
    assert (meta["name"], meta["guest"], meta["hardware"]) == ('db-01 "reports"', "rhel8-64", "19")
    assert (meta["numvcpus"], meta["cores_per_socket"], meta["memsize_mib"]) == (24, 12, 65536)
    assert (meta["threads"], meta["sockets"], meta["numa_nodes"], meta["memory_bytes"]) == (24, 2, 2, 65536 << 20)
    assert meta["numa"] == {"numa.autosize.cookie": "240122", "numa.autosize.vcpu.maxpervirtualnode": "12"}
    settings_ = {row["key"]: row["value"] for row in rows(rec, "settings")}
    assert settings_["sched.cpu.latencySensitivity"] == "normal"
    assert not rec.notes


def test_what_a_vmx_leaves_out_is_one_vcpu(tmp_path):
    meta = opened(tmp_path, vmx()).meta
    assert (meta["numvcpus"], meta["sockets"], "memory_bytes" in meta) == (1, 1, False)


@pytest.mark.parametrize("encoding", ["UTF-8", "windows-1252", "windows-1251", "GBK", "Shift_JIS"])
def test_a_vmx_is_read_in_the_encoding_it_names(tmp_path, encoding):
    name = {"windows-1251": "Сервер", "GBK": "数据库", "Shift_JIS": "データ"}.get(encoding, "Müller")
    content = f'.encoding = "{encoding}"\n{vmx(displayName=name)}'.encode(encoding)
    rec = opened(tmp_path, content)
    assert rec.meta["name"] == name
    assert not [note for note in rec.notes if note.severity == "warning"]


def test_odd_lines_of_a_vmx_are_told_of(tmp_path):
    text = "#!/usr/bin/vmware\n" + vmx(numvcpus="many") + 'memsize = 2048\nMEMSIZE = "4096"\nbroken "line\n'
    rec = opened(tmp_path, text)
    said = " ".join(map(str, rec.notes))
    assert rec.meta["memory_bytes"] == 4096 << 20
    assert "numvcpus" not in rec.meta
    assert "written twice" in said
    assert "line 7: not a setting" in said
    assert "numvcpus = 'many'" in said


def test_an_unknown_encoding_is_told_of(tmp_path):
    rec = opened(tmp_path, '.encoding = "klingon-8"\n' + vmx(numvcpus="2"))
    assert rec.meta["numvcpus"] == 2
    assert "unknown encoding 'klingon-8'" in str(rec.notes)


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


def test_text_of_several_commands():
    rec = ex.open(FORMATS / "esxcli-host.txt")
    assert dict(rec.meta) == {
        "threads": 4, "sockets": 2, "cores": 4, "numa_nodes": 2, "mhz": 2394.3, "memory_bytes": 137106546688,
    }  # fmt: skip
    facts = {row["key"]: (row["section"], row["value"]) for row in rows(rec, "facts")}
    assert facts["HV Support"] == ("cpu", "3")
    assert facts["Physical Memory"] == ("memory", "137106546688 Bytes")


def test_hosthardware_tells_packages_nodes_and_memory():
    rec = ex.open(FORMATS / "esxcli-hosthardware.txt")
    assert dict(rec.meta) == {
        "threads": 4, "sockets": 2, "cores": 4, "numa_nodes": 2, "mhz": 2399.998, "memory_bytes": 137406447616,
        "model": "Intel(R) Xeon(R) CPU E5-0000 @ 2.40GHz",
    }  # fmt: skip
    assert [(row["processor"], row["socket"], row["node"]) for row in rows(rec, "processors")] == [
        (0, 0, 0), (1, 0, 0), (2, 1, 1), (3, 1, 1),
    ]  # fmt: skip
    facts = {(row["section"], row["key"]): row["value"] for row in rows(rec, "facts")}
    assert facts["systemInfo", "vendor"] == "Example Inc."
    assert facts["cpuPowerManagementInfo", "currentPolicy"] == "Balanced"
    assert ("cpuPowerManagementInfo", "hardwareSupport") not in facts


def test_entities_in_xml_are_refused(tmp_path):
    bomb = as_xml(CPUS).replace("<output", '<!DOCTYPE o [<!ENTITY a "aaaa">]>\n<output').replace("GenuineIntel", "&a;")
    with pytest.raises(DamagedError, match="not safe"):
        opened(tmp_path, bomb)


def test_a_list_that_was_cut_is_told_of(tmp_path):
    text = (FORMATS / "esxcli-host.txt").read_text().split("Core Speed")
    rec = opened(tmp_path, "Core Speed".join(text[:3]))
    assert any("cut there" in str(note) for note in rec.notes)
    assert rec.meta["threads"] == 3


DAMAGED = [
    ("vmx", (FORMATS / "vmx-database.vmx").read_text()),
    ("vmx", '.encoding = "GBK"\n' + vmx(a="b")),
    ("esxcli", (FORMATS / "esxcli-host.txt").read_text()),
    ("esxcli", (FORMATS / "esxcli-hosthardware.txt").read_text()),
    *(("esxcli", form(CPUS)) for form in (json.dumps, as_csv, as_xml, as_keyvalue)),
]


@MANY
@given(one=st.sampled_from(DAMAGED), data=st.data())
def test_damage_gives_a_recording_or_one_clear_line(tmp_path, one, data):
    form, text = one
    assert reads_or_refuses(compose.write(tmp_path, data.draw(damaged(text)), "damaged"), form)


def test_a_core_speed_that_touches_the_end_of_the_file_is_not_read(tmp_path):
    text = "CPU:{0}\n   Id: {0}\n   Package Id: 0\n   Node: 0\n   Brand: GenuineIntel\n   Core Speed: {1}"
    rec = opened(tmp_path, text.format(0, 2394200113) + "\n" + text.format(1, 239420011))
    assert [row["mhz"] for row in rows(rec, "processors")] == [2394.200113, None]
    assert any("its last number may be cut" in str(note) for note in rec.notes)
