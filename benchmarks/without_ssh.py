"""Collects an hour of counters of a simulated vCenter by `esxparse collect vcenter`, and by `govc metric.sample`.

`python benchmarks/without_ssh.py`: 8 hosts and 200 VMs, one after the other on the same server; needs Go. govc reads
the same counters of hosts and VMs as a whole, without instances, datastores, tasks, events or inventory. Five runs of
each in turns; adds a section to RESULTS.md.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import sections
from commands import once

import esxparse as ex
from esxparse import collect, toml
from esxparse.collect.credentials import VSPHERE_PASSWORD

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import vcsim_server  # noqa: E402

RUNS, HOSTS, VMS = 5, 8, 200
GOVC = """package main

import (
	"os"

	"github.com/vmware/govmomi/cli"
	_ "github.com/vmware/govmomi/cli/metric"
)

func main() { os.Exit(cli.Run(os.Args[1:])) }
"""
COUNTERS = toml.beside(collect.__file__, "vcenter.toml")["counters"]


def govc(folder: Path) -> Path:
    """Builds govc with its commands on metrics."""
    (folder / "main.go").write_text(GOVC, encoding="utf-8")
    for name in ("go.mod", "go.sum"):
        shutil.copy(vcsim_server.SOURCE / name, folder)
    for words in (["mod", "tidy"], ["build", "-buildvcs=false", "-o", "govc", "."]):
        subprocess.run(["go", *words], cwd=folder, check=True, capture_output=True)  # noqa: S607
    return folder / "govc"


def row(what: str, runs: list[tuple[float, float]], values: int) -> str:
    """A line of the table: medians of seconds and memory."""
    seconds, most = (statistics.median(column) for column in zip(*runs, strict=True))
    return f"| {what} | {seconds:.1f} | {values:,} | {values / seconds:,.0f} | {most:.0f} |"


def main() -> None:
    """Measures and writes."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        (top / "govc-source").mkdir()
        peer = govc(top / "govc-source")
        vc = vcsim_server.Vcsim(top, hosts=0, clusters=1, cluster_hosts=HOSTS, vms=VMS)
        try:
            ours, theirs = [], []
            login = {VSPHERE_PASSWORD: vc.password, "NETRC": str(top / "none")}
            ask = {"GOVC_URL": f"https://{vc.server}/sdk", "GOVC_USERNAME": vc.user, "GOVC_PASSWORD": vc.password}
            ask |= {"GOVC_INSECURE": "1", "GOVC_PERSIST_SESSION": "false"}
            command = [str(Path(sys.executable).parent / "esxparse"), "collect", "vcenter", "--server", vc.server]
            command += ["--username", vc.user, "--thumbprint", vc.thumbprint, "--last", "1h"]
            for run in range(RUNS):
                folder = top / str(run)
                seconds, _, most = once([*command, "-o", str(folder)], os.environ | login)
                ours.append((seconds, most))
                parts = []
                for kind, paths in (("VirtualMachine", "/DC0/vm/*"), ("HostSystem", "/DC0/host/DC0_C0/DC0_C0_H*")):
                    sample = [
                        str(peer),
                        "metric.sample",
                        "-json",
                        "-n",
                        "180",
                        "-instance",
                        "-",
                        paths,
                        *COUNTERS[kind],
                    ]
                    parts.append(once(sample, os.environ | ask, top / f"{kind}.json"))
                theirs.append((sum(part[0] for part in parts), max(part[2] for part in parts)))
            calls = sum(vc.calls().values())
            rec = ex.open(top / "0")
            values = rec["samples"].collect().height
            govc_values = sum(
                sum(len(series["value"] or []) for series in member["value"])
                for kind in ("VirtualMachine", "HostSystem")
                for member in json.loads((top / f"{kind}.json").read_text(encoding="utf-8"))["sample"]
            )
        finally:
            vc.stop()
    lines = [
        f"An hour of 20 s values of {HOSTS} hosts and {VMS} VMs of govmomi's simulator, on the same machine:",
        "`python benchmarks/without_ssh.py`.",
        f"Medians of {RUNS} runs in turns; {os.cpu_count()} processors; load at the end: {os.getloadavg()[0]:.1f};",
        f"{calls:,} calls in all.",
        "govc reads hosts and VMs as a whole; esxparse also instances, datastores, clusters, tasks, events, inventory.",
        "",
        "| | seconds | values | values a second | largest process, MB |",
        "|---|---:|---:|---:|---:|",
        row("esxparse collect vcenter", ours, values),
        row("govc metric.sample, VMs, then hosts", theirs, govc_values),
    ]
    sections.put("An hour of a vCenter", lines)


if __name__ == "__main__":
    main()
