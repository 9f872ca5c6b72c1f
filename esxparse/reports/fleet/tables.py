"""What the report on a fleet shows, worst first."""

from __future__ import annotations

from collections import Counter
from typing import Final

import polars as pl

from esxparse.diagnosis import rules, usage
from esxparse.recording import counted
from esxparse.reports.blocks import (
    ABSENT,
    Block,
    Header,
    Verdict,
    facts,
    headline,
    listed,
    moment,
    note,
    number,
    spoken_span,
    stack,
    table,
    tiles,
)
from esxparse.reports.columns import columns_of
from esxparse.reports.fleet.gather import FEW, Fleet, by_release, by_trouble, same_object, same_time

_MOST: Final = 6
_NAMED: Final = 4
_READY: Final = usage.FLEET
_WAIT: Final = "%RDY - %MLMTD"
_LEVELS: Final = ("critical", "warning", "ok", "unknown")


def header(found: Fleet) -> Header:
    """How many hosts, and when."""
    spans = found.spans
    first, last = min((start for _, start, _ in spans), default=None), max((end for *_, end in spans), default=None)
    when = f"{moment(first)} to {moment(last)}" if first and last else "no times"
    captures = counted(len(found.lake.captures), "capture")
    return Header(f"Fleet: {counted(len(found.hosts), 'host')}", f"{captures}, {when}")


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def verdict(found: Fleet) -> Block:
    """The troubles of the fleet, those of the most hosts first, and what could not be said."""
    bad = found.findings.filter(severity="critical")["host"].n_unique()
    failed = {entry.host for entry, said in found.said if said and said["quality"]["status"] == "fail"}
    unsaid = sum(said is None for _, said in found.said)
    judged = counted(len(found.judged), "host" if found.judged.keys() >= {*found.hosts} else "judged host")
    parts = [f"{bad:,} of {judged} with critical troubles" if found.judged else "No host was judged"]
    parts += [f"captures of {counted(len(failed), 'host')} failed their checks"] if failed else []
    only = len({entry.host for entry, said in found.said if said} - found.judged.keys())
    parts += [f"{only:,} without an esxtop capture, not diagnosed"] if only else []
    few = sum(share < FEW for share in found.judged.values())
    parts += [f"{few:,} judged by less than half of the rules"] if few else []
    entries = []
    troubles = by_trouble(found.findings)
    for one in troubles.head(_MOST).iter_rows(named=True):
        level = "critical" if one["critical"] else "warning"
        share = counted(one["hosts"], "host")
        several = f"{_some(one['names'])}. On {one['names'][0]}" if one["hosts"] > 1 else one["names"][0]
        day = f" ({one['start']:%Y-%m-%d})" if one["start"] else ""
        text = f"{one['trouble']} on {several}{day}: {one['verdict']}"
        entries.append(Verdict(level, share, text, one["next"], ""))
    blocks = [headline("; ".join(parts)), listed(entries)] if entries else [headline("; ".join(parts))]
    if more := troubles["trouble"].to_list()[_MOST:]:
        blocks.append(note(f"{len(more):,} more, on hosts below: {', '.join(more)}."))
    if unsaid:
        left = counted(unsaid, "capture")
        text = f"{left} not judged: run esxparse lake judge. Its troubles are not in this report."
        blocks.insert(0, note(text, "warning"))
    if found.twice:
        text = f"Captures of {_some(found.twice)} cover the same time: ready time is that of the earlier one."
        blocks.append(note(f"{text} If they are of two hosts, name one with esxparse lake add --host.", "warning"))
    return stack(*blocks)


def summary(found: Fleet) -> Block:
    """Tiles: hosts, captures, VMs, how long they wait, what was checked."""
    spans = [(end - start).total_seconds() for _, start, end in found.spans]
    warn = rules.load()[_READY].warn
    state = Counter(said["quality"]["status"] if said else "not judged" for _, said in found.said)
    levels = Counter(vm_levels(found)["waits"])
    unknown, waiting = levels["unknown"], levels["critical"] + levels["warning"]
    judged = levels.total() - unknown
    share = f"{100 * waiting / judged:.1f} % of {'those judged' if unknown else 'all'}" if judged else ""
    share = ", ".join(filter(None, (share, f"{unknown:,} not judged" if unknown else "")))
    blind = len({*found.hosts} - {*found.ready["host"]})
    of_vms = f"host and VM; {counted(blind, 'host')} without counters of vCPUs" if blind else "host and VM"
    left = f", {state['not judged']:,} not judged" if state["not judged"] else ""
    size = sum(file["bytes"] for one in found.lake.captures for file in one.files())
    return tiles(
        [
            ("Hosts", f"{len(found.hosts):,}", counted(len(found.lake.captures), "capture")),
            ("Recorded", spoken_span(sum(spans)), f"of all hosts together, {size / 1e6:,.0f} MB of Parquet"),
            ("VMs", f"{found.ready.height:,}", of_vms),
            (f"VMs that wait {warn:g} % and more", f"{waiting:,}" if judged else ABSENT, share),
            (
                "Captures that failed checks",
                f"{state['fail']:,}",
                f"{state['warn']:,} warned, {state['pass']:,} passed{left}",
            ),
        ]
    )


def hosts(found: Fleet) -> Block:
    """Every host, the worst first."""
    bad, warned = pl.col("severity") == "critical", pl.col("severity") == "warning"
    # One that is in several captures is one: a host of which there are more captures is not worse for that.
    own = found.findings.sort(bad, descending=True, maintain_order=True).unique(
        ["host", "trouble", "kind", "name"], keep="first", maintain_order=True
    )
    troubles = own.group_by("host").agg(
        critical=bad.sum().cast(int),
        warnings=warned.sum().cast(int),
        troubles=pl.col("trouble").unique(maintain_order=True).str.join(", "),
    )
    last = found.findings.group_by("host").agg(last=pl.col("end").max().dt.strftime("%Y-%m-%d"))
    worst = found.ready.group_by("host", maintain_order=True).agg(
        pl.col("p95_pct").first(), pl.col("vm").first(), vms=pl.len().cast(int)
    )
    of_vms = vm_levels(found).group_by("host").agg(vm_levels="level")
    checks: dict[str, str] = {}
    for entry, said in found.said:
        status = said["quality"]["status"] if said else "not judged"
        order = ("fail", "not judged", "warn", "pass")
        checks[entry.host] = min(checks.get(entry.host, "pass"), status, key=order.index)
    # Other formats have releases of their own, or none.
    esxtop = [entry for entry in found.lake.captures if entry.format == "esxtop"]
    releases = {entry.host: entry.meta.get("release") for entry in esxtop}
    most = {host: 100 * share for host, share in found.judged.items()}
    # Without a capture of esxtop, by few rules, or by one that failed its checks nobody can say that all is well.
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
    frame = (
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
    columns = columns_of("fleet.hosts")
    return table(frame, columns, f"Hosts, the worst first; ready: 95th percentile of {_WAIT}, % of one core")


def vm_levels(found: Fleet) -> pl.DataFrame:
    """`found.ready` with `waits`, how bad the ready time of each VM is, and `level`, with the troubles found of it.

    Both are what the diagnosis of its captures says; "unknown" where one of them is not diagnosed.

    Every table that calls a VM or its host critical, warning or ok goes by this.
    """
    waits = _by_vm(found, found.symptoms.filter(rule=_READY)).rename({"level": "waits"})
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
    """The worst severity of each VM: `host`, `vm`, `level` (a place in `_LEVELS`)."""
    # Where several VMs of a host have one name, the diagnosis adds their ids.
    plain = pl.col("name").str.replace(r" \(\d+\)$", "")
    known = pl.col("name").is_in(found.ready["vm"].unique().to_list())
    level = pl.when(pl.col("severity") == "critical").then(0).otherwise(1)
    named = rows.select("host", vm=pl.when(known).then("name").otherwise(plain), level=level)
    return named.group_by("host", "vm").agg(pl.col("level").min())


def vms(found: Fleet) -> Block:
    """Every VM, that with the most ready time first."""
    rule = rules.load()[_READY]
    limits = f"warning from {rule.warn:g}, critical from {rule.critical:g}"
    said = f"Ready of each VM's vCPUs, {_WAIT}, % of one core; {limits}; level: with the VM's troubles of other kinds"
    shown = table(vm_levels(found), columns_of("fleet.vms"), said)
    if not found.unlimited:
        return shown
    return stack(
        shown, note(f"Captures of {_some(found.unlimited)} lack %MLMTD: there a CPU limit counts as ready time.")
    )


def weeks(found: Fleet) -> Block:
    """The VMs whose ready time changed from week to week, the largest change first."""
    if found.days.is_empty():
        return note("No capture has counters of vCPUs.")
    end = found.days["date"].to_list()[-1]
    if found.weeks.is_empty():
        return note(f"No VM has samples on one host in the seven days that end with {end} and in the seven before.")
    columns = columns_of("fleet.weeks")
    last = f"the last week ends with {end}; few days against many are no fair comparison"
    return table(found.weeks, columns, f"Ready of VMs, 95th percentile of {_WAIT}, % of one core; {last}")


def shared(found: Fleet) -> Block:
    """What hosts with troubles have in common: a device or volume, a time, a release."""
    return stack(
        table(
            same_object(found.findings),
            columns_of("fleet.same_object"),
            "The same device or volume, on several hosts",
            "No device or volume has troubles on several hosts.",
        ),
        table(
            same_time(found.findings).with_columns(pl.col("start", "end").dt.strftime("%Y-%m-%d %H:%M:%S")),
            columns_of("fleet.same_time"),
            "On several hosts at one time: look at what they share, such as an array, a switch or a clock",
            "No such trouble was on several hosts at one time.",
        ),
        table(
            by_release(found),
            columns_of("fleet.by_release"),
            "By release, as the columns of captures tell it; a host counts in each release that it had",
            "No capture is diagnosed.",
        ),
    )


def checks(found: Fleet) -> Block:
    """What is wrong with captures by their checks and by their readers, that of the most hosts first."""
    rows = [
        {"status": level, "host": entry.host, "what": one["means"], "table": one["table"], "said": one["said"]}
        for level, key in (("critical", "failed"), ("warning", "warned"))
        for entry, said in found.said
        for one in (said["quality"][key] if said else ())
    ]
    rows += [
        {"status": "warning", "host": entry.host, "what": one.message, "table": None, "said": entry.source}
        for entry in found.lake.captures
        for one in entry.notes
        if one.severity == "warning"
    ]
    frame = (
        pl.DataFrame(rows, schema=dict.fromkeys(("status", "host", "what", "table", "said"), pl.String))
        # What readers say has lines and counts of its file: other numbers are no other fault.
        .group_by("status", fault=pl.col("what").str.replace_all(r"\d[\d,.]*", "#"), maintain_order=True)
        .agg(
            what=pl.col("what").first(),
            hosts=pl.col("host").n_unique().cast(int),
            tables=pl.col("table").drop_nulls().unique(maintain_order=True).str.join(", "),
            example=pl.format("{}: {}", pl.col("host").first(), pl.col("said").first()),
            names=pl.col("host").unique(maintain_order=True),
        )
        .sort("status", "hosts", descending=[False, True], maintain_order=True)
    )
    names = [_some(one) for one in frame["names"].to_list()]
    said = "What is wrong with captures: look at them before they are believed"
    return table(
        frame.with_columns(names=pl.Series(names, dtype=pl.String)),
        columns_of("fleet.checks"),
        said,
        "All captures that were judged passed." if any(one for _, one in found.said) else "No capture is judged yet.",
    )


def provenance(found: Fleet) -> Block:
    """What the lake holds."""
    read = Counter(one.esxparse for one in found.lake.captures)
    rows = sum(file["rows"] for one in found.lake.captures for file in one.files())
    return facts(
        [
            ("Lake", found.lake.store.uri),
            ("Captures", f"{len(found.lake.captures):,}, {number(rows, None)} rows"),
            ("Read by", ", ".join(f"esxparse {version} ({count:,})" for version, count in sorted(read.items()))),
        ]
    )
