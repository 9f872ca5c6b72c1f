"""The row of one run: its files are opened, used, and released with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import isclose
from threading import Lock
from typing import Any, Final

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.metrics import host, steady
from esxparse.quality.check import check
from esxparse.recording import Note, Recording
from esxparse.studies import capture, facts, fio_logs, loads, results, scope
from esxparse.studies.entries import WindowSpec
from esxparse.studies.expand import Run, RunFiles
from esxparse.studies.opened import CUT, Opened, collected, recording, recordings, warned
from esxparse.studies.roles import BENCHMARKS, WHOLE, WORKLOADS
from esxparse.studies.span import measured

Row = dict[str, Any]

_READING_IDLE = Lock()
_SAME: Final = 1e-9
"""Relative difference up to which two figures are equal."""


def row_of(opened: Opened, idle: dict[str, Row]) -> tuple[Row, list[pl.DataFrame], list[Note]]:
    """Return the columns of a run, the figures of its benchmarks, and notes.

    The row also has `_gaps`, missing data with reasons, `_against`, facts that disagree, and `_quality`, the quality
    checks of its files.

    `opened`: the run with opened files. `idle`: known CPU use of idle hosts, by their files and options.
    """
    run = opened.run
    gaps, damaged, notes = list(opened.gaps), list(opened.notes), _uncut(opened)
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
            notes += [*_unsteady(row), *_left_out(row)]
        if row.get("samples") == 0:
            gaps.append("the capture has no sample in the measured span: there is a gap")
    figures = []
    if not run.unusable:
        figures = _others(opened, row, idle, gaps, notes)
        damaged += warned(rec for role in run.files for rec in _beside(opened, role))
        _add_manifest_figures(run, row, notes)
        row |= _derived(run, row, notes)
        row["load_hosts"], unclear = scope.load_hosts(row, opened.recordings)
        gaps += [unclear] if unclear else []
    if row.get("iops") == 0 and row["throughput_from"] != "esxtop":
        gaps.append("zero throughput: without I/O there is no CPU cost and no power per I/O")
    row["files"] = ", ".join(f"{role}={path}" for role, files in run.files.items() for path in files.names) or None
    checked = [check(rec) for group in opened.recordings.values() for rec in group]
    row |= {"_gaps": gaps, "_against": opened.against, "_quality": checked}
    all_notes = [Note(f"{run}: {problem.message}", problem.line, severity="warning") for problem in run.problems]
    all_notes += [Note(f"{run}: {gap}", run.line, severity="warning") for gap in gaps[len(run.problems) :]]
    all_notes += [Note(f"{run}: {note}", run.line, severity="warning") for note in dict.fromkeys(damaged)]
    all_notes += [Note(f"{run}: {note}", run.line) for note in dict.fromkeys(notes)]
    return row, figures, all_notes


def _logged(opened: Opened, group: Sequence[Recording], logs: Sequence[Recording]) -> Row:
    """Return figures from fio logs for the measured span; they take precedence over fio's output for the whole run."""
    run, clock = opened.run, opened.run.files["fio"].spec.clock
    outputs = [rec for rec in group if loads.has_results(rec)]
    begins = [fio_logs.begin(rec, outputs, clock) for rec in logs]
    span = opened.span
    counted = not run.window.start and not run.window.end and "esxtop" not in run.files
    if span is None and counted and not opened.lost:
        # Nothing has times of day: the window is counted from the start of the jobs.
        zero = datetime(1970, 1, 1, tzinfo=UTC)
        begins = [zero] * len(logs)
        last = zero + timedelta(seconds=fio_logs.length(logs))
        span = measured(replace(run.window, span=None), zero, last, None, None, of="the logs")
    lines = fio_logs.lines(logs, begins, clock)
    if span is None:
        return {}
    return fio_logs.load(lines, span, logs[0].source) | {
        "throughput_from": "fio logs",
        "latency_unit": fio_logs.guessed_unit(logs),
    }


def _derived(run: Run, row: Row, notes: list[str]) -> Row:
    """Return columns derived from a row: the capture's numbers if no other source has them, and ratios."""
    found = _throughput(run, row, notes)
    watts = row.get("watts")
    if watts is None and row.get("esxtop_watts") is not None:
        watts = row["esxtop_watts"]
        found |= {"watts": watts, "watts_from": "esxtop"}
    elif watts is not None and row.get("watts_from") is None:
        found["watts_from"] = "manifest"
        notes += _differs("watts", row.get("esxtop_watts"), watts)
    if found.get("watts_from") and row.get("energy_joules") is None and row.get("measured_s"):
        found["energy_joules"] = watts * row["measured_s"]
    for name, over in (("vcpus_per_cpu", "cpus"), ("vcpus_per_core", "cores")):
        if row.get("vcpus_running") and row.get(over):
            found[name] = row["vcpus_running"] / row[over]
    return found


def _throughput(run: Run, row: Row, notes: list[str]) -> Row:
    """Return throughput from the manifest or else the capture, if no load generator gives it; and its source.

    I/Os may come from the manifest and bytes from the capture, or vice versa; `throughput_from` shows both.
    """
    if row.get("throughput_from") is not None:
        return {}
    by_capture = not WORKLOADS & set(run.files) and row.get("host_iops") is not None
    capture_load = scope.host_load(row) if by_capture else {}
    declared = [name for name in ("iops", "mb_per_s") if row.get(name) is not None]
    for name in declared:
        notes += _differs(name, capture_load.get(name), row[name])
    found = {name: value for name, value in capture_load.items() if name not in declared and value is not None}
    sources = ["the manifest"] * bool(declared) + ["esxtop"] * bool(found)
    return found | ({"throughput_from": " and ".join(sources)} if sources else {})


def _differs(name: str, capture_value: float | None, manifest_value: float) -> list[str]:
    if capture_value is None or isclose(capture_value, manifest_value, rel_tol=_SAME):
        return []
    return [f"{name} is {capture_value:g} by esxtop and {manifest_value:g} by the manifest: {manifest_value:g} is used"]


def _uncut(opened: Opened) -> list[str]:
    """Return notes on files that the window does not cut, if a run has no capture."""
    run = opened.run
    has_window = replace(run.window, span=None) != WindowSpec()
    whole = [
        role for role in run.files if role in WHOLE and not any(map(fio_logs.has_logs, opened.recordings.get(role, ())))
    ]
    if run.unusable or not has_window or not whole or "esxtop" in run.files:
        return []
    return [f"the window does not apply to {', '.join(whole)}: its figures are for the whole file"]


def _beside(opened: Opened, role: str) -> tuple[Recording, ...]:
    """Return the recordings of files that `open_run` did not open; none if they could not be read."""
    files = opened.run.files[role]
    key, recs = opened.kept.get(role, (None, ()))
    return recs if role not in opened.recordings and key == (files.paths, files.spec.opening) else ()


def _left_out(row: Row) -> list[str]:
    if row.get("left_out_devices") is None:
        return []
    what = f"{row['left_out_iops']:.2f} commands per second of {row['left_out_devices']}"
    return [f"host_iops and latencies leave out {what}: not I/O"]


def _unsteady(row: Row) -> list[str]:
    verdict = row.get("steady")
    if verdict in {None, "steady", steady.TOO_FEW}:
        return []
    drift = f" ({row['drift_pct']:+z.1f} % over the span)" if row.get("drift_pct") is not None else ""
    return [f"not shown to be steady: {row['steady_of']}: {verdict}{drift}"]


def _others(opened: Opened, row: Row, idle: dict[str, Row], gaps: list[str], notes: list[str]) -> list[pl.DataFrame]:
    """Read further files: power, events, disks, benchmarks, the idle host."""
    figures: list[pl.DataFrame] = []
    for role, files in opened.run.files.items():
        with collected(gaps):
            if role == "idle":
                row |= _idle(files, opened, idle)
            elif role in BENCHMARKS:
                for rec in recordings(role, files, opened.kept):
                    rows = results.benchmark(rec, files.spec.test)
                    row |= results.benchmark_means(rows)
                    figures.append(_labelled(rows, opened.run))
            elif role in CUT:
                row |= _cut(role, files, opened, notes)
            else:
                row |= _whole(role, files, opened, notes)
    return figures


def _cut(role: str, files: RunFiles, opened: Opened, notes: list[str]) -> Row:
    """Return columns from files cut to the measured span: power readings, packets, and readings of guests."""
    if opened.lost:
        raise EsxparseError(f"{role}: cannot tell which part to measure, because the window could not be applied")
    if role != "power":
        # The rest of the window is counted by the files' own times.
        span = None if opened.left else opened.span
        recs = recordings(role, files, opened.kept)
        figures = results.requests if role == "packets" else results.guests
        return figures(recs, opened.run.window, span, files.spec.clock)
    meter = results.Meter(recording(role, files, opened.kept), files.spec.sensor, files.spec.clock)
    capture_there = opened.recordings.get("esxtop")
    if capture_there and opened.span is not None:
        found, power_notes = results.joined(meter, capture_there[0], opened.span)
    else:
        found, power_notes = results.alone(meter, opened.span, opened.left)
    notes += power_notes
    return found


def _whole(role: str, files: RunFiles, opened: Opened, notes: list[str]) -> Row:
    """Return columns from files used whole: hardware events, disks, configurations."""
    if role in {"perf", "vmkperf"}:
        return results.events(recording(role, files, opened.kept), files.spec.pcpus)
    if role == "vscsistats":
        return results.disks(recording(role, files, opened.kept))
    if role != "vmx":
        return {}
    recs = recordings(role, files, opened.kept)
    found, advice = facts.configured(recs, opened.facts, opened.recordings.get("hardware", ()))
    notes += advice
    return found


def _labelled(rows: pl.DataFrame, run: Run) -> pl.DataFrame:
    labels = {**run.labels, "repetition": run.repetition}
    lits = (pl.lit(value).alias(name) for name, value in labels.items() if name not in rows.columns)
    return rows.select(pl.lit(run.number).alias("run"), *lits, pl.all())


def _idle(files: RunFiles, opened: Opened, idle: dict[str, Row]) -> Row:
    """Return CPU use of the host without load; a file shared by many runs is read once."""
    key = repr((files.paths, files.spec.opening))
    with _READING_IDLE:
        if key not in idle:
            rec = recording("idle", files, opened.kept)
            if (use := host.cpu(rec.tables)) is None:
                raise EsxparseError(f"{rec.source} has no physical CPU table, so no idle CPU use")
            row = capture.host_use(use).collect().row(0, named=True)
            idle[key] = {
                "idle_used_pct": row["host_used_pct"],
                "idle_util_pct": row["host_util_pct"],
                "cpus": rec.meta.get("pcpus"),
                "source": rec.source,
            }
        found = dict(idle[key])
    cpus, source, own = found.pop("cpus"), found.pop("source"), opened.facts.get("cpus")
    if None not in {cpus, own} and cpus != own:
        msg = f"{source} is from a host with {cpus} PCPUs, but the run's host has {own}: its idle use is not subtracted"
        raise EsxparseError(msg)
    return found


def _add_manifest_figures(run: Run, row: Row, notes: list[str]) -> None:
    """Add figures of the manifest that no file has."""
    for name, value in run.values.items():
        if row.get(name) is None:
            row[name] = value
        elif row[name] != value:
            notes.append(f"{name} is {row[name]:g} by its files and {value:g} by the manifest: {row[name]:g} is used")
