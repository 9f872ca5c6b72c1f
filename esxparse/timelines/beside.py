"""What captures of hosts show in each phase: load, waits, and findings of the diagnosis at that time."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import polars as pl

from esxparse.derived.of_recording import lacking, table, tables
from esxparse.diagnosis.diagnose import diagnose
from esxparse.recording import Recording
from esxparse.schema import schema

BESIDE: Final = schema("run str, number i64, host str, samples i64, util_pct ready_pct f64, findings str")
"""Columns of `beside`."""


def beside(phases: pl.DataFrame, rec: Recording) -> pl.DataFrame:
    """Give one row per phase, from its start to the start of the next one (or its own end), with what a host did.

    run, number of the phase
    host       str
    samples    i64  samples of the capture in that time; 0 if the capture does not cover it
    util_pct   f64  mean utilisation of the host's PCPUs, %; null without samples or counters
    ready_pct  f64  the largest mean ready time of any VM, % of one core per vCPU
    findings   str  verdicts of the diagnosis whose time overlaps with the phase, one a line
    """
    util, ready = _column(rec, "host", "util_pct"), _column(rec, "vm", "ready_pct")
    times = table(rec, "host", ["step_s"]).collect()["time"] if "host" in tables(rec) else util["time"]
    found = [one for one in diagnose(rec) if one.severity != "info"]
    rows = []
    for phase in phases.iter_rows(named=True):
        start: datetime = phase["start"]
        end: datetime = phase["until"] or phase["end"] or start
        inside = pl.col("time").is_between(start, end)
        of_vms = ready.filter(inside).group_by("instance").agg(pl.col("value").mean())
        verdicts = [one.verdict for one in found if one.start and one.end and one.start <= end and one.end >= start]
        rows.append(
            {
                "run": phase["run"],
                "number": phase["number"],
                "host": str(rec.meta.get("host") or rec.source),
                "samples": times.is_between(start, end).sum(),
                "util_pct": util.filter(inside)["value"].mean(),
                "ready_pct": of_vms["value"].max(),
                "findings": "\n".join(verdicts),
            }
        )
    return pl.DataFrame(rows, schema=BESIDE)


def _column(rec: Recording, name: str, column: str) -> pl.DataFrame:
    """`time`, `instance`, `value` of a column of a derived table; empty if the capture cannot give it."""
    if name not in tables(rec) or column in lacking(rec, name):
        return pl.DataFrame(schema=schema("time time, instance str, value f64"))
    return table(rec, name, [column]).select("time", "instance", value=column).collect()
