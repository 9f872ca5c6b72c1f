"""The facts that a batch keeps of a report, from its notebook: findings by area, and the host's CPU over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.comparison.result import MIXED, Comparison
from esxparse.comparison.table import TOO_FEW, WORSE
from esxparse.diagnosis import cases, rules
from esxparse.diagnosis.areas import AREAS, area_of
from esxparse.diagnosis.findings import SEVERITIES, Findings
from esxparse.metrics import host_cpu, over_time
from esxparse.recording import Recording

if TYPE_CHECKING:
    from nbformat import NotebookNode

MIME: Final = "application/vnd.esxparse.facts+json"

CELL: Final = "from esxparse.reports import facts\nfacts.display_of(globals())"
"""Source of the last cell, which shows the facts."""

_POINTS: Final = 48


def display_of(names: Mapping[str, Any]) -> None:
    """Display the facts of a notebook's names as data that readers do not see."""
    from IPython.display import display  # noqa: PLC0415

    display({MIME: facts(names.values()), "text/plain": ""}, raw=True)  # type: ignore[no-untyped-call]


def kept(notebook: NotebookNode) -> dict[str, Any]:
    """Return the facts from the last cell of a notebook; empty if it displayed none."""
    displayed = [one["data"][MIME] for one in notebook.cells[-1].get("outputs", []) if MIME in one.get("data", {})]
    return dict(displayed[0]) if displayed else {}


def facts(values: Any) -> dict[str, Any]:
    """Return the facts in the findings, the comparison and the recordings among some values.

    Returns:
        host       its name, if a recording has it
        start, end ISO times of the recording (UTC)
        notes      number of warnings of the readers
        losses     notes on rows that are missing from the tables
        cpu_pct    up to 48 means of the host's CPU utilization, %, in equal spans of time
        verdict    the sentence; findings: as in the JSON of a diagnosis, worst first
        areas      area to critical, warning, info, ok, or none if nothing in it was judged
    """
    every = list(values)
    found = next((one for one in every if isinstance(one, Findings)), None)
    recs = [one for one in every if isinstance(one, Recording)]
    collected: dict[str, Any] = {}
    if recs:
        meta = recs[0].meta
        collected = {key: meta[key].isoformat() for key in ("start", "end") if meta.get(key) is not None}
        collected["host"] = str(meta.get("host") or "")
        collected["notes"] = sum(note.severity == "warning" for note in recs[0].notes)
        collected["losses"] = [loss for rec in recs for loss in rec.losses()]
        collected["cpu_pct"] = _line(recs[0])
    compared = next((one for one in every if isinstance(one, Comparison)), None)
    if compared is not None:
        collected |= _of_comparison(compared)
    if found is not None:
        collected |= {"verdict": found.summary, "findings": [one.as_dict() for one in found], "areas": _areas(found)}
    return collected


def _of_comparison(found: Comparison) -> dict[str, Any]:
    """Return the facts of two sides: an area that got worse warns."""
    recs = {id(rec): rec for side in (found.before, found.after) for rec in side.side.recordings}.values()
    level = {WORSE: "warning", MIXED: "warning", TOO_FEW: "none"}
    return {
        "host": ", ".join(dict.fromkeys((*found.before.side.hosts, *found.after.side.hosts))),
        "notes": sum(note.severity == "warning" for rec in recs for note in rec.notes),
        "losses": list(dict.fromkeys(loss for rec in recs for loss in rec.losses())),
        "verdict": found.verdict,
        "areas": {area: level.get(answer, "ok") for area, answer in found.areas.select("area", "answer").rows()},
    }


def _areas(found: Findings) -> dict[str, str]:
    judged = {one.trouble for one in cases.load()} | set(rules.load(found.profile))
    blind = {one["id"] for one in found.not_judged}
    seen = {area_of(one) for one in judged - blind}
    by_area = {area: "ok" if area in seen else "none" for area in AREAS}
    for severity in reversed(SEVERITIES):
        by_area |= {area: severity for one in found if one.severity == severity and (area := area_of(one.trouble))}
    return by_area


def _line(rec: Recording) -> list[float | None]:
    """Return means of the host's CPU utilization."""
    if "physical_cpu" not in rec:
        return []
    means = host_cpu.imbalance(host_cpu.pcpu(rec["physical_cpu"])).select("time", "mean_pct")
    host = over_time.with_covered(means).collect()
    if host["time"].n_unique() < 2:  # noqa: PLR2004  a line has two ends
        return []
    since = (pl.col("time") - pl.col("time").min()).dt.total_microseconds()
    spans = host.group_by(place=since * _POINTS // (since.max() + 1)).agg(
        over_time.mean(pl.col("mean_pct")).round(1).alias("mean_pct")
    )
    every = pl.DataFrame({"place": range(_POINTS)}, schema={"place": pl.Int64})
    return every.join(spans, on="place", how="left", maintain_order="left")["mean_pct"].to_list()
