"""What every run of a bundled study has to say, from its raw files."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING

from absolute import printed, tools
from absolute.capture import Capture, figures
from absolute.manifest import runs, seconds

if TYPE_CHECKING:
    from pathlib import Path

MISTAKES = (
    "used for util",
    "cost halved",
    "MiB for MB",
    "unweighted latency",
    "ready not per vCPU",
    "warm-up kept",
)
capture = cache(Capture)


@cache
def of(folder: Path, wrong: str = "") -> list[tuple[dict, dict[str, float]]]:
    """Labels and numbers of each run; with a mistake of `MISTAKES` in them where `wrong` names one."""
    return [(run["labels"], _of_run(run, wrong)) for run in runs(folder)]


def _of_run(run: dict, wrong: str) -> dict[str, float]:
    files = {role: paths for role, (paths, _) in run["files"].items()}
    found: dict = {}
    if "iometer" in files:
        parts = [tools.iometer(path, run["files"]["iometer"][1], wrong) for path in files["iometer"]]
        found = tools.together(parts, wrong)
    if "fio" in files and files["fio"][0].suffix == ".json":
        found = tools.together([tools.fio(path, wrong) for path in files["fio"]], wrong)
    if "fio" in files and files["fio"][0].suffix == ".txt":
        found = tools.fio_text(files["fio"][0])
    found |= _beside(files, run)
    span = found.pop("span", None)
    if "esxtop" in files:
        host = _of_host(run, capture(files["esxtop"][0]), span, wrong)
        if "iops" not in found and not files.keys() & {"results_csv"} and host["host_iops"] is not None:
            found["iops"] = host["host_iops"]
            found["mb_per_s"] = host["host_read_mb_per_s"] + host["host_write_mb_per_s"]
        # Of a cluster, one host is captured: its CPU is no cost of the others' I/O.
        one_host = len(files.get("iometer", [1])) == 1
        found = host | found | (_cost(run, files, host | found, wrong) if one_host else {})
        found["watts"] = found.pop("esxtop_watts")
    if "power" in files:
        times = capture(files["esxtop"][0]).times
        found["watts"] = tools.ribcl_watts(files["power"][0], times[0], times[-1])
    return {name: value for name, value in found.items() if value is not None}


def _beside(files: dict, run: dict) -> dict[str, float]:
    """What other tools than load generators say."""
    found: dict[str, float] = {}
    if "perf" in files:
        found |= tools.perf(files["perf"][0])
    if "vmkperf" in files:
        found |= tools.vmkperf(files["vmkperf"][0], run["files"]["vmkperf"][1])
    if "results_csv" in files:
        found |= tools.columns(files["results_csv"])
    figures: dict[str, list[float]] = {}
    for row in printed.listed(files):
        figures.setdefault(tools.column(row), []).append(row["value"])
    found |= tools.means(figures)
    if "packets" in files:
        found |= tools.wire(files["packets"])
    return found


def _of_host(run: dict, host: Capture, span: tuple | None, wrong: str) -> dict:
    window = run["window"]
    start, end = host.times[0], host.times[-1]
    if "span" in window:
        start, end = span
    else:
        start += timedelta(seconds=seconds(window.get("warmup", 0)))
        if "measure" in window:
            end = start + timedelta(seconds=seconds(window["measure"]))
    return figures(host, start, end, wrong)


def _cost(run: dict, files: dict, found: dict, wrong: str) -> dict:
    """MHz, by MB/s and by I/O; a core's percent by 1,000 I/Os; of what the load generator saw, else of the disks."""
    pcpus = len(capture(files["esxtop"][0]).objects["Physical Cpu"] - {"_Total"})
    half = 0.5 if wrong == "cost halved" else 1.0
    if "mhz" not in run["host"]:
        return {}
    full = pcpus * run["host"]["mhz"] / 100
    mhz = half * found["host_used_pct"] * full
    cost = {"used_mhz": mhz}
    if "idle" in files and found.get("iops"):
        idle = capture(files["idle"][0])
        used = idle.total("Physical Cpu", "% Processor Time", [*range(len(idle.times))], "^_Total$")
        cost["used_above_idle_cycles_per_io"] = (mhz - used * full) * 1e6 / found["iops"]
    if found.get("iops"):
        cost["used_cycles_per_io"] = mhz * 1e6 / found["iops"]
        cost["used_pct_of_core_per_1k_iops"] = half * found["host_used_pct"] * pcpus / (found["iops"] / 1000)
    if found.get("mb_per_s"):
        cost["used_mhz_per_mbps"] = mhz / found["mb_per_s"]
    return cost
