"""The audit: items met, not met and unknown, each with its evidence."""

from __future__ import annotations

import json

import pytest

import esxparse as ex
from esxparse.audits import checks
from esxparse.audits.checks import CHECKS
from esxparse.audits.items import items
from esxparse.cli import main
from esxparse.errors import EsxparseError

FORMATS = ex.datasets_dir() / "formats"
CAPTURE = ex.datasets_dir() / "busy-host" / "busy-host.csv"
VERSION = "   Product: VMware ESXi\n   Version: {}\n   Build: Releasebuild-1\n"
CPU = "CPU:0\n   Id: 0\n   Package Id: 0\n   Family: {}\n   Model: {}\n   Brand: {}\n   Core Speed: 2400000000\n"
HOST = """\
   CPU Packages: 2
   CPU Cores: 16
   CPU Threads: 32

   Physical Memory: 137438953472 Bytes
   NUMA Node Count: 2
"""
"""Two nodes of 8 cores and 64 GiB."""
SUMMARY = """\
(vim.host.Summary) {
   host = 'vim.HostSystem:ha-host',
   config = (vim.host.Summary.ConfigSummary) {
      name = "esx-07",
   },
   maxEVCModeKey = "intel-broadwell",
   currentEVCModeKey = EVC
}
"""
ISCSI = """\
Name          Current      Default     Min  Max  Settable  Inherit
------------  -----------  ----------  ---  ---  --------  -------
DataDigest    prohibited   prohibited  na   na       true    false
HeaderDigest  discouraged  prohibited  na   na       true    false
"""
NFS = """\
Volume Name  Host          Share      Accessible  Mounted  Read-Only   isPE  Hardware Acceleration
-----------  ------------  ---------  ----------  -------  ---------  -----  ---------------------
nfs-a        192.168.7.20  /export/a        true     true      false  false  Not Supported
"""
VMX = {"config.version": "8", "virtualHW.version": "11", "displayName": "db", "numvcpus": "8", "memsize": "16384"}


@pytest.fixture
def judged(tmp_path):
    """Audits files of these texts, and recordings; gives the status and the evidence of an item."""

    def judge(item, *texts, **options):
        files = []
        for number, text in enumerate(texts):
            if isinstance(text, ex.Recording):
                files.append(text)
            else:
                files.append(tmp_path / f"{number}.txt")
                files[-1].write_text(text)
        found = [one for one in ex.audit(files, **options) if one.id == item]
        assert len(found) == 1
        return found[0].status, found[0].evidence.replace(f"{tmp_path}/", "")

    return judge


def vmx(settings=()):
    return "".join(f'{key} = "{value}"\n' for key, value in (VMX | dict(settings)).items())


@pytest.mark.parametrize(
    ("release", "met"), [("5.1.0", "met"), ("5.0.0", "not met"), ("8.0.3", "met"), ("4.1.0", "not met")]
)
def test_vpmc_takes_a_release(judged, release, met):
    assert judged("vpmc.release", VERSION.format(release)) == (met, f"Version = {release} (0.txt, line 2)")


@pytest.mark.parametrize(
    ("family", "model", "brand", "met"),
    [
        (6, 26, "GenuineIntel", "met"),  # Nehalem
        (6, 85, "GenuineIntel", "met"),
        (6, 23, "GenuineIntel", "not met"),  # Penryn
        (6, 29, "GenuineIntel", "not met"),  # Dunnington
        (15, 6, "GenuineIntel", "not met"),
        (16, 2, "AuthenticAMD", "met"),
        (15, 65, "AuthenticAMD", "not met"),
        (25, 1, "HygonGenuine", "unknown"),
    ],
)
def test_vpmc_takes_a_cpu(judged, family, model, brand, met):
    found = judged("vpmc.cpu", CPU.format(family, model, brand))
    assert found[0] == met
    assert f"CPU model_number = {model} (0.txt)" in found[1]


@pytest.mark.parametrize(("mode", "met"), [("<unset>", "met"), ('"intel-broadwell"', "not met")])
def test_vpmc_takes_no_evc(judged, mode, met):
    assert judged("vpmc.evc", SUMMARY.replace("EVC\n", f"{mode}\n"))[0] == met
    # A summary that was cut above the mode says nothing.
    assert judged("vpmc.evc", SUMMARY.partition("   maxEVC")[0])[0] == "unknown"


@pytest.mark.parametrize(
    ("item", "key", "good", "bad", "absent"),
    [
        ("vpmc.hardware", "virtualHW.version", "9", "8", None),
        ("vpmc.enable", "vpmc.enable", "TRUE", "FALSE", "not met"),
        ("vpmc.freeze", "vpmc.freezeMode", "guest", "host", "met"),
        ("mmu.mode", "monitor.virtual_mmu", "hardware", "software", "met"),
        ("limits.cpu", "sched.cpu.max", "unlimited", "4000", "met"),
        ("limits.memory", "sched.mem.max", "-1", "8192", "met"),
    ],
)
def test_settings_of_a_vm(judged, item, key, good, bad, absent):
    line = len(VMX) if key in VMX else len(VMX) + 1
    line = list(VMX).index(key) + 1 if key in VMX else line
    assert judged(item, vmx({key: good})) == ("met", f"{key} = {good} (0.txt, line {line})")
    assert judged(item, vmx({key: bad})) == ("not met", f"{key} = {bad} (0.txt, line {line})")
    if absent:
        assert judged(item, vmx())[0] == absent
        # What a damaged file does not say is not known.
        assert judged(item, f"{vmx()}sched.cp\n")[0] == "unknown"


@pytest.mark.parametrize(
    ("settings", "release", "fit", "seen"),
    [
        ({}, "4.0.0", "met", "met"),  # 8 vCPUs on 8 cores
        ({"memsize": "65536"}, "8.0.0", "not met", "met"),  # as much memory as a node
        ({"numvcpus": "12"}, "4.0.0", "not met", "not met"),
        ({"numvcpus": "12"}, "4.1.0", "met", "not met"),
        ({"numvcpus": "12"}, "5.0.0", "met", "met"),
        ({"numvcpus": "12", "virtualHW.version": "7"}, "5.0.0", "met", "not met"),
        ({"numvcpus": "12", "vcpu.hotadd": "TRUE"}, "8.0.0", "met", "not met"),
        ({"numvcpus": "12", "cpuid.coresPerSocket": "12"}, "6.0.0", "met", "not met"),
        ({"numvcpus": "24", "cpuid.coresPerSocket": "12"}, "6.0.0", "met", "not met"),  # 2 nodes seen, 3 needed
        ({"numvcpus": "12", "cpuid.coresPerSocket": "12"}, "6.5.0", "met", "met"),
    ],
)
def test_vms_on_nodes(judged, settings, release, fit, seen):
    files = (vmx(settings), HOST, VERSION.format(release))
    assert judged("numa.fit", *files)[0] == fit
    assert judged("numa.vnuma", *files)[0] == seen
    assert judged("numa.fit", vmx(settings))[0] == judged("numa.vnuma", vmx(settings))[0] == "unknown"


def test_sockets_shape_nodes_before_6_5(judged):
    wide = vmx({"numvcpus": "12", "cpuid.coresPerSocket": "12"})
    follows = vmx({"numvcpus": "12", "cpuid.coresPerSocket": "12", "numa.vcpu.followcorespersocket": "1"})
    assert judged("numa.sockets", wide, HOST, VERSION.format("6.0.0"))[0] == "not met"
    assert judged("numa.sockets", wide, HOST, VERSION.format("6.7.0"))[0] == "met"
    assert judged("numa.sockets", follows, HOST, VERSION.format("6.7.0"))[0] == "not met"
    assert judged("numa.sockets", vmx(), HOST)[0] == "met"


def test_high_latency_sensitivity_takes_reservations(judged):
    high = {"sched.cpu.latencySensitivity": "high"}
    cpu = CPU.format(6, 85, "GenuineIntel")
    assert judged("latency.reservation", vmx())[0] == "met"
    assert judged("latency.reservation", vmx(high))[0] == "unknown"
    assert judged("latency.reservation", vmx(high), cpu)[0] == "not met"
    # 8 x 2,400 MHz and 16,384 MiB.
    half = high | {"sched.cpu.min": "9600", "sched.mem.min": "16384"}
    assert judged("latency.reservation", vmx(half), cpu)[0] == "not met"
    half = high | {"sched.cpu.min": "19200", "sched.mem.min": "8192"}
    assert judged("latency.reservation", vmx(half), cpu)[0] == "not met"
    assert judged("latency.reservation", vmx(half | {"sched.mem.min": "16384"}), cpu)[0] == "met"
    assert judged("latency.reservation", vmx(half | {"sched.mem.pin": "TRUE"}), cpu)[0] == "met"


def test_digests_of_all_adapters_are_off(judged):
    on = ISCSI.replace("prohibited   prohibited", "required     prohibited")
    assert judged("iscsi.data_digest", ISCSI)[0] == "met"
    assert judged("iscsi.header_digest", ISCSI)[0] == "met"
    assert judged("iscsi.data_digest", ISCSI, on) == ("not met", "DataDigest = required (1.txt, line 3)")
    assert judged("iscsi.data_digest", NFS)[0] == "unknown"


def test_one_mount_point_is_not_several(judged):
    second = NFS.splitlines()[2].replace("nfs-a", "nfs-b").replace("/export/a", "/export/b")
    assert judged("nfs.mounts", NFS) == ("not met", "nfs-a = /export/a (0.txt, line 3)")
    assert judged("nfs.mounts", f"{NFS}{second}\n")[0] == "met"
    unmounted = second.replace("true     true", "true    false")
    assert judged("nfs.mounts", f"{NFS}{unmounted}\n")[0] == "not met"
    assert judged("nfs.mounts", ISCSI)[0] == "unknown"


def test_captures_show_limits_timers_and_io():
    found = {one.id: one for one in ex.audit([CAPTURE])}
    rows = ex.open(CAPTURE)["vm"].collect()
    limited = rows.group_by("instance").mean().sort("max_limited_pct", descending=True).row(0, named=True)
    assert found["limits.withheld"].status == "not met"
    assert found["limits.withheld"].evidence.startswith(f"{limited['instance']}: {limited['max_limited_pct']:.3g} %")
    assert (found["guest.timer"].status, found["numa.pinning"].status) == ("met", "met")
    assert "not one VM alone" in found["numa.pinning"].evidence
    assert {one.status for one in found.values() if one.subject == "any VM"} == {"unknown"}


def test_without_a_capture_nothing_of_it_is_known(judged):
    for item in ("limits.withheld", "guest.timer", "numa.pinning"):
        assert judged(item, HOST)[0] == "unknown"


def test_the_only_vm_with_heavy_io_is_pinned(judged, monkeypatch):
    monkeypatch.setattr(checks, "_HEAVY_IOPS", 1.0)
    monkeypatch.setattr(checks, "_ONE_VM_SHARE", 0.1)
    capture, pinned = ex.open(CAPTURE), {"sched.cpu.affinity": "0,1", "sched.mem.affinity": "0"}
    name = {"displayName": "ledger-db"}
    assert judged("numa.pinning", capture)[0] == "unknown"
    assert judged("numa.pinning", capture, vmx(name))[0] == "unknown"
    assert judged("numa.pinning", capture, vmx(name), HOST)[0] == "not met"
    assert judged("numa.pinning", capture, vmx(name | pinned), HOST)[0] == "met"
    assert judged("numa.pinning", capture, vmx(name | pinned | {"sched.mem.affinity": "all"}), HOST)[0] == "not met"


def test_connection_servers_are_named(judged):
    options = {"connection_servers": ["db"]}
    assert judged("view.memory", vmx({"memsize": "10240"}), **options)[0] == "met"
    assert judged("view.memory", vmx({"memsize": "10239"}), **options)[0] == "not met"
    assert judged("view.heap", vmx(), **options)[0] == "unknown"
    with pytest.raises(EsxparseError, match=r"no \.vmx describes the connection server 'dv': choose from db"):
        judged("view.heap", vmx(), connection_servers=["dv"])


def test_other_files_and_contradictions_are_refused(judged):
    with pytest.raises(EsxparseError, match="is ribcl: an audit takes"):
        ex.audit([FORMATS / "ribcl-power-readings.xml"])
    with pytest.raises(EsxparseError, match="contradict each other: audit the files of one host at a time"):
        judged("vpmc.release", VERSION.format("6.7.0"), VERSION.format("7.0.0"))
    capture = ex.open(CAPTURE)
    with pytest.raises(EsxparseError, match="are captures: give one"):
        judged("guest.timer", capture, capture)


def test_the_catalogue_is_sound():
    ids = [one.id for one in items()]
    assert len(set(ids)) == len(ids)
    assert {one.check for one in items()} - {""} == set(CHECKS)
    for one in items():
        assert one.source, one.id
        assert bool(one.setting) != bool(one.check), one.id
        assert not one.setting or bool(one.allowed) != (one.least is not None), one.id
        assert one.default is None or one.subject == "vm", one.id


def test_the_command_prints_and_fails_on_request(tmp_path, capsys):
    file = tmp_path / "db.vmx"
    file.write_text(vmx())
    assert main(["audit", str(file)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Configuration audit: 1 not met, ")
    assert "not met: Virtual performance counters are enabled [vpmc.enable, db]" in said
    assert main(["audit", str(file), "--fail-on", "not-met", "--format", "json"]) == 3
    read = json.loads(capsys.readouterr().out)
    assert {one["status"] for one in read["items"]} == {"met", "not met", "unknown"}
    assert main(["audit", str(file), "--format", "md", "-o", str(tmp_path / "a.md")]) == 0
    assert "## Not met" in (tmp_path / "a.md").read_text()
    assert main(["audit", str(file), "-o", str(file), "--force"]) == 1
    assert "is an input" in capsys.readouterr().err


def test_the_inventory_of_a_vcenter_has_some_settings_and_the_others_are_unknown(tmp_path):
    host = {
        "host": "esx-01",
        "cores": 32,
        "numa_nodes": 2,
        "mhz": 2400,
        "memory_mib": 262_144,
        "release": "VMware ESXi 8.0.3",
    }
    free = {
        "vm": "web",
        "vm_id": "vm-1",
        "vcpus": 8,
        "memory_mib": 16_384,
        "hardware": "vmx-19",
        "cpu_reservation_mhz": 0,
    }
    limited = {
        "vm": "db",
        "vm_id": "vm-2",
        "vcpus": 24,
        "memory_mib": 65_536,
        "hardware": "vmx-08",
        "cpu_limit_mhz": 2000,
    }

    def collect(*hosts):
        rows = {"inventory_host": hosts, "inventory_vm": [free, limited]}
        (tmp_path / "inventory.json").write_text(json.dumps(rows))
        (tmp_path / "collected.jsonl").write_text('{"collector": "esxparse collect vcenter"}\n')
        return ex.audit([tmp_path])

    found = {(one.id, one.subject): one for one in collect(host)}
    assert found["limits.cpu", "web"].status == "met"
    assert found["limits.cpu", "db"].status == "not met"
    assert "sched.cpu.max = 2000" in found["limits.cpu", "db"].evidence
    assert found["vpmc.hardware", "db"].status == "not met"
    assert found["vpmc.release", "host"].status == "met"
    # No file has the setting: it may be at its default or not.
    assert {found[item, "web"].status for item in ("vpmc.enable", "limits.memory")} == {"unknown"}
    with pytest.raises(ex.EsxparseError, match="has 2 hosts: collect one"):
        collect(host, {**host, "host": "esx-02"})
