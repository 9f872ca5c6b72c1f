"""The row of one run: its files are opened, give what they can, and are dropped with it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import TYPE_CHECKING, Any

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.recording import Note
from esxparse.studies import capture, fio_logs, loads, results, vms, wire
from esxparse.studies.opened import collected, recordings
from esxparse.studies.roles import BENCHMARKS, WORKLOADS
from esxparse.studies.window import measured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esxparse.recording import Recording
    from esxparse.studies.expand import Run, RunFiles
    from esxparse.studies.opened import Opened

Row = dict[str, Any]

_READING_IDLE = Lock()


def row_of(opened: Opened, idle: dict[str, Row]) -> tuple[Row, list[pl.DataFrame], list[Note]]:
    """The columns of a run, the figures of its benchmarks, and notes.

    Beside the columns are `_gaps`, what the run lacks and why, and `_against`, facts that disagree.

    Args:
        opened: The run, its files opened.
        idle: CPU use of idle hosts that were read before, by their files.
    """
    run = opened.run
    gaps, notes = list(opened.gaps), list(opened.notes)
    row: Row = dict(opened.facts)
    if opened.span:
        row |= {"start": opened.span.start, "end": opened.span.end, "measured_s": opened.span.seconds}
    generators = [(role, group) for role, group in opened.recordings.items() if role in WORKLOADS]
    for role, group in generators:
        logs = [rec for rec in group if fio_logs.has_logs(rec)]
        with collected(gaps):
            if not logs or any(map(loads.has_results, group)):
                row |= loads.load([rec for rec in group if loads.has_results(rec)] or group) | {"throughput_from": role}
        with collected(gaps):
            if logs:
                row |= _logged(opened, group, logs)
    if opened.tables:
        with collected(gaps):
            row |= capture.metrics(opened.tables, opened.facts.get("esxi_release"))
            notes += _unsteady(row)
        if row.get("samples") == 0:
            gaps.append("no sample of the capture is in the measured span: it has a hole there")
    figures = _others(opened, row, idle, gaps, notes)
    _given(run, row, notes)
    row |= _derived(run, row)
    if row.get("iops") == 0 and row["throughput_from"] != "esxtop":
        gaps.append("zero throughput: no I/O was done, so it has no CPU cost and no power per I/O")
    row["files"] = ", ".join(f"{role}={path}" for role, files in run.files.items() for path in files.names) or None
    row |= {"_gaps": gaps, "_against": opened.against}
    told = [Note(f"{run}: {problem.message}", problem.line, severity="warning") for problem in run.problems]
    told += [Note(f"{run}: {gap}", run.line, severity="warning") for gap in gaps[len(run.problems) :]]
    told += [Note(f"{run}: {note}", run.line) for note in dict.fromkeys(notes)]
    return row, figures, told


def _logged(opened: Opened, group: Sequence[Recording], logs: Sequence[Recording]) -> Row:
    """What logs of fio tell of the measured span, which goes before what its output tells of the whole run.

    Raises:
        EsxparseError: There is nothing in the span, or nothing tells where in the logs it is.
    """
    run, clock = opened.run, opened.run.files["fio"].spec.clock
    outputs = [rec for rec in group if loads.has_results(rec)]
    begins = [fio_logs.begin(rec, outputs, clock) for rec in logs]
    span = opened.span
    if span is None and not run.window.start and not run.window.end and "esxtop" not in run.files:
        # Nothing has times of day: the window is counted from the begin of the jobs.
        zero = datetime(1970, 1, 1, tzinfo=UTC)
        begins = [zero] * len(logs)
        last = zero + timedelta(seconds=fio_logs.length(logs))
        span = measured(replace(run.window, span=None), zero, last, None, None, of="the logs")
    lines = fio_logs.lines(logs, begins, clock)
    if span is None:
        return {}
    return fio_logs.load(lines, span, logs[0].source) | {"throughput_from": "fio logs"}


def _derived(run: Run, row: Row) -> Row:
    """What follows from the columns of a row: the capture's numbers where no other file tells, and ratios."""
    found: Row = {}
    if row.get("iops") is not None:
        found["throughput_from"] = row.get("throughput_from", "the manifest")
    elif not WORKLOADS & set(run.files) and row.get("host_iops") is not None:
        moved = [row["host_read_mb_per_s"], row["host_write_mb_per_s"]]
        found |= {
            "iops": row["host_iops"],
            "mb_per_s": sum(moved) if None not in moved else None,
            "throughput_from": "esxtop",
        }
    watts = row.get("esxtop_watts")
    if row.get("watts") is None and watts is not None:
        found |= {"watts": watts, "watts_from": "esxtop", "energy_joules": watts * row["measured_s"]}
    for name, over in (("vcpus_per_cpu", "cpus"), ("vcpus_per_core", "cores")):
        if row.get("vcpus_running") and row.get(over):
            found[name] = row["vcpus_running"] / row[over]
    return found


def _unsteady(row: Row) -> list[str]:
    verdict = row.get("steady")
    if verdict in {None, "steady"}:
        return []
    drift = f" ({row['drift_pct']:+.1f} % over the span)" if row.get("drift_pct") is not None else ""
    return [f"not shown to be steady: {row['steady_of']}: {verdict}{drift}"]


def _others(opened: Opened, row: Row, idle: dict[str, Row], gaps: list[str], notes: list[str]) -> list[pl.DataFrame]:
    """Files beside the capture and the load generator: power, events, disks, benchmarks, the idle host."""
    run, figures = opened.run, []
    whole = opened.recordings.get("esxtop", (None,))[0]
    for role, files in run.files.items():
        with collected(gaps):
            if role == "power":
                (rec,) = recordings(role, files, opened.kept)
                found, told = results.meter(rec, whole, opened.span, files.spec.sensor, files.spec.clock)
                row |= found
                notes += told
            elif role in {"perf", "vmkperf"}:
                (rec,) = recordings(role, files, opened.kept)
                row |= results.events(rec, files.spec.pcpus)
            elif role == "vscsistats":
                (rec,) = recordings(role, files, opened.kept)
                row |= results.disks(rec)
            elif role == "packets":
                recs = recordings(role, files, opened.kept)
                row |= wire.metrics(recs, run.window, opened.span, files.spec.clock)
            elif role == "vmx":
                vmx = recordings(role, files, opened.kept)
                found, told = vms.configured(vmx, opened.facts, opened.recordings.get("hardware", ()))
                row |= found
                notes += told
            elif role == "idle":
                row |= _idle(files, opened, idle)
            elif role in BENCHMARKS:
                for rec in recordings(role, files, opened.kept):
                    rows = results.benchmark(rec, files.spec.test)
                    row |= results.benchmark_means(rows)
                    labels = {**run.labels, "repetition": run.repetition}
                    lits = (pl.lit(value).alias(name) for name, value in labels.items() if name not in rows.columns)
                    figures.append(rows.select(pl.lit(run.number).alias("run"), *lits, pl.all()))
    return figures


def _idle(files: RunFiles, opened: Opened, idle: dict[str, Row]) -> Row:
    """CPU use of the host without load; the file of many runs is read once."""
    path = files.paths[0]
    with _READING_IDLE:
        if path not in idle:
            (rec,) = recordings("idle", files, opened.kept)
            use = capture.host_use(rec.tables)
            if use is None:
                msg = f"{rec.source} has no physical CPUs: there is no idle use in it"
                raise EsxparseError(msg)
            row = use.collect().row(0, named=True)
            idle[path] = {"idle_used_pct": row["host_used_pct"], "idle_util_pct": row["host_util_pct"]}
        return idle[path]


def _given(run: Run, row: Row, notes: list[str]) -> None:
    """Figures of the manifest, where no file tells them."""
    for name, value in run.values.items():
        if row.get(name) is None:
            row[name] = value
        elif row[name] != value:
            notes.append(f"{name} is {row[name]:g} by its files and {value:g} by the manifest: {row[name]:g} is used")
