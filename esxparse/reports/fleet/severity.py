"""The severity of each VM and host of a fleet, from the diagnosis of its captures."""

from __future__ import annotations

from typing import Final

import polars as pl

from esxparse.diagnosis import usage
from esxparse.reports.fleet.gather import FEW, Fleet

_LEVELS: Final = ("critical", "warning", "ok", "unknown")


def vm_levels(found: Fleet) -> pl.DataFrame:
    """Return `found.ready` with the severity of each VM.

    `waits` is the severity of its ready time, `level` includes its troubles. Both come from the diagnosis of the
    host's captures; "unknown" if one of them is not diagnosed.

    Every table that shows a VM or its host as critical, warning or ok uses these levels.
    """
    waits = _by_vm(found, found.symptoms.filter(rule=usage.FLEET)).rename({"level": "waits"})
    troubles = _by_vm(found, found.findings.filter(kind="vm")).rename({"level": "troubles"})
    otherwise = pl.when(pl.col("host").is_in(list(found.undiagnosed))).then(3).otherwise(2)
    made = found.ready
    for one in (waits, troubles):
        made = made.join(one, on=["host", "vm"], how="left", maintain_order="left")
    words = dict(enumerate(_LEVELS))
    return made.with_columns(
        waits=pl.coalesce("waits", otherwise).replace_strict(words),
        level=pl.coalesce(pl.min_horizontal("waits", "troubles"), otherwise).replace_strict(words),
    ).drop("troubles")


def _by_vm(found: Fleet, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the worst severity of each VM: `host`, `vm`, `level` (a place in `_LEVELS`)."""
    # If several VMs of a host share a name, the diagnosis adds their ids.
    plain = pl.col("name").str.replace(r" \(\d+\)$", "")
    known = pl.col("name").is_in(found.ready["vm"].unique().to_list())
    level = pl.when(pl.col("severity") == "critical").then(0).otherwise(1)
    severities = rows.select("host", vm=pl.when(known).then("name").otherwise(plain), level=level)
    return severities.group_by("host", "vm").agg(pl.col("level").min())


def worst_hosts(found: Fleet, vms: pl.DataFrame) -> pl.DataFrame:
    """Return every host, the worst first.

    `vms`: from `vm_levels`.

    Returns:
        `level`, `host`, `critical` and `warnings` (troubles; null if not diagnosed), `p95_pct` and `vm` (ready time of
        its worst VM), `vms`, `judged` (rules, %), `check`, `troubles` (titles), `last` (day of the last), `release`.
    """
    bad, warned = pl.col("severity") == "critical", pl.col("severity") == "warning"
    # A trouble in several captures counts once: more captures must not make a host look worse.
    own = found.findings.sort(bad, descending=True, maintain_order=True).unique(
        ["host", "trouble", "kind", "name"], keep="first", maintain_order=True
    )
    troubles = own.group_by("host").agg(
        critical=bad.sum().cast(int),
        warnings=warned.sum().cast(int),
        troubles=pl.col("title").unique(maintain_order=True).str.join("; "),
    )
    last = found.findings.group_by("host").agg(last=pl.col("end").max().dt.strftime("%Y-%m-%d"))
    worst = found.ready.group_by("host", maintain_order=True).agg(
        pl.col("p95_pct").first(), pl.col("vm").first(), vms=pl.len().cast(int)
    )
    of_vms = vms.group_by("host").agg(vm_levels="level")
    checks: dict[str, str] = {}
    for entry, judgement in found.said:
        status = judgement["quality"]["status"] if judgement else "not judged"
        order = ("fail", "not judged", "warn", "pass")
        checks[entry.host] = min(checks.get(entry.host, "pass"), status, key=order.index)
    # Other formats have releases of their own, or none.
    esxtop = [entry for entry in found.lake.captures if entry.format == "esxtop"]
    releases = {entry.host: entry.meta.get("release") for entry in esxtop}
    most = {host: 100 * share for host, share in found.judged.items()}
    # No host is ok without an esxtop capture, with few judged rules, or with a failed check.
    few = [host for host in found.hosts if found.judged.get(host, 0.0) < FEW]
    unsaid = pl.col("check").is_in(["not judged", "fail"]) | pl.col("host").is_in(few)
    # A host is as bad as its worst VM.
    has = {one: pl.col("vm_levels").list.contains(one).fill_null(value=False) for one in ("critical", "warning")}
    level = (
        pl.when((pl.col("critical") > 0) | has["critical"])
        .then(0)
        .when((pl.col("warnings") > 0) | has["warning"])
        .then(1)
        .when(unsaid)
        .then(3)
        .otherwise(2)
    )
    return (
        pl.DataFrame({"host": found.hosts})
        .join(troubles, on="host", how="left")
        .join(last, on="host", how="left")
        .join(worst, on="host", how="left")
        .join(of_vms, on="host", how="left")
        .with_columns(
            pl.when(pl.col("host").is_in(list(found.judged))).then(pl.col("critical", "warnings").fill_null(0)),
            check=pl.col("host").replace_strict(checks),
            judged=pl.col("host").replace_strict(most, default=None, return_dtype=pl.Float64),
            release=pl.col("host").replace_strict(releases, default=None, return_dtype=pl.String),
        )
        .with_columns(order=level)
        .sort(
            "order", "critical", "warnings", "p95_pct", "host", descending=[False, *[True] * 3, False], nulls_last=True
        )
        .with_columns(level=pl.col("order").replace_strict(dict(enumerate(_LEVELS))))
    )
