"""Data of the report on a fleet: captures, their diagnoses, and the waits of their VMs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from esxparse.diagnosis import confidence
from esxparse.errors import EsxparseError
from esxparse.lakes import Lake, judging, lake
from esxparse.lakes.entries import Entry, overlaps
from esxparse.locations import is_url
from esxparse.metrics import fleet
from esxparse.schema import schema

_TOLD: Final = ("trouble", "title", "severity", "verdict", "next")
_FINDING: Final = ("host", "release", *_TOLD, "likelihood", "basis", "kind", "name", "start", "end")
_SYMPTOM: Final = ("host", "rule", "severity", "kind", "name", "start", "end")
_ELSEWHERE: Final = ("storage", "network", "clock", "power")
"""First words of troubles whose cause may be shared by several hosts."""
_SET: Final = ("power.c_states", "power.p_states", "storage.misaligned", "storage.misaligned_nfs", "storage.iops_limit")
"""Settings of the host or of a VM, which last all the time."""
_LOCAL: Final = r"^(mpx\.)?vmhba\d"
_WAITS: Final = (fleet.ready, fleet.ready_by_day, fleet.week_over_week, fleet.ready_by_host)
_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_LAST: Final = datetime.max.replace(tzinfo=UTC)
_HARMLESS: Final = "info"
_UNKNOWN: Final = "unknown"
"""The release of captures whose columns do not show it."""
MANY: Final = 10
"""Fewest hosts, or VMs, for a share in percent: with two, 50 % is one."""
FEW: Final = 0.5
"""Smallest share of judged rules for a healthy host. Captures without esxtop's -a reach it, even on ESX 3.5."""


@dataclass(frozen=True)
class Fleet:
    """The report's data from a lake."""

    lake: Lake
    said: Sequence[tuple[Entry, Mapping[str, Any] | None]]
    """Captures and their diagnoses; None without one."""
    findings: pl.DataFrame
    """A row for each trouble: `host`, `release`, `trouble` (its id), `title`, `severity`, `likelihood` (the word for
    its confidence), `basis` (its tooltip), `kind`, `name`, `verdict`, `next`, `start`, `end` (UTC)."""
    symptoms: pl.DataFrame
    """A row for each exceeded limit: `host`, `rule`, `severity`, `kind`, `name`, `start`, `end` (UTC)."""
    ready: pl.DataFrame
    """`metrics.fleet.ready`, the worst VM first; here and below without the time withheld by a CPU limit."""
    days: pl.DataFrame
    """`metrics.fleet.ready_by_day`."""
    weeks: pl.DataFrame
    """`metrics.fleet.week_over_week`."""
    by_host: pl.DataFrame
    """`metrics.fleet.ready_by_host`."""

    @property
    def name(self) -> str:
        """The lake's address, or the name of its folder: a page contains no local paths."""
        uri = self.lake.store.uri
        return uri if is_url(uri) else Path(uri).name

    @property
    def hosts(self) -> list[str]:
        """Names of the hosts."""
        return sorted({one.host for one in self.lake.captures})

    @property
    def spans(self) -> list[tuple[str, datetime, datetime]]:
        """When each host was recorded, within the requested time; overlapping captures are merged."""
        first, last = self.lake.since or _FIRST, self.lake.until or _LAST
        spans = [(one.host, *one.span) for one in self.lake.captures]
        clipped = sorted((host, max(start, first), min(end, last)) for host, start, end in spans if start and end)
        found: list[tuple[str, datetime, datetime]] = []
        for one in clipped:
            if found and found[-1][0] == one[0] and one[1] <= found[-1][2]:
                found[-1] = (*found[-1][:2], max(found[-1][2], one[2]))
            else:
                found.append(one)
        return found

    @property
    def twice(self) -> list[str]:
        """The hosts with overlapping captures with counters of vCPUs."""
        return sorted({one.host for one, _ in overlaps(_with_vcpus(self.lake))})

    @property
    def unlimited(self) -> list[str]:
        """The hosts with a capture whose ready time includes an unknown part from CPU limits."""
        having = _with_vcpus(self.lake)
        return sorted({one.host for one in having if "pct_max_limited" not in one.tables["vcpu"]["columns"]})

    @property
    def undiagnosed(self) -> set[str]:
        """The hosts with an undiagnosed capture with counters of vCPUs."""
        return {
            entry.host
            for entry, judgement in self.said
            if "vcpu" in entry.tables and "symptoms" not in (judgement or {})
        }

    @property
    def judged(self) -> dict[str, float]:
        """The share of all rules and cases that could be judged, from the fullest capture of each host.

        Hosts without a diagnosed capture are missing: power readings and exports of vCenter are only checked.
        """
        shares: dict[str, float] = {}
        for entry, judgement in self.said:
            if judgement and "findings" in judgement:
                shares[entry.host] = max(shares.get(entry.host, 0.0), judgement["judged"] / judgement["of"])
        return shares


def gather(uri: str, hosts: Sequence[str] = (), since: str = "", until: str = "") -> Fleet:
    """Read a lake, or some of its hosts and time.

    Raises:
        EsxparseError: The lake or host does not exist, no capture is in that time, or a file is missing or damaged.
    """
    found = lake(uri).of(*hosts, since=since or None, until=until or None)
    if not found.captures:
        raise EsxparseError(
            f"lake {uri} has no capture of the time asked for: esxparse lake ls --lake {uri} lists them"
        )
    judgements = list(judging.stored_judgements(found))
    rows = [
        {
            "host": entry.host,
            "release": entry.meta.get("release"),
            **{key: one[key] for key in _TOLD},
            "likelihood": confidence.word(one["confidence"]),
            "basis": confidence.basis(one["confidence"]),
            **one["entity"],
            "start": one["start"],
            "end": one["end"],
        }
        for entry, judgement in judgements
        for one in (judgement or {}).get("findings", ())
        if one["severity"] != _HARMLESS
    ]
    findings = _then(pl.DataFrame(rows, schema=dict.fromkeys(_FINDING, pl.String)), found)
    passed = [
        {"host": entry.host, **{key: one[key] for key in _SYMPTOM if key != "host"}}
        for entry, judgement in judgements
        for one in (judgement or {}).get("symptoms", ())
    ]
    symptoms = _then(pl.DataFrame(passed, schema=dict.fromkeys(_SYMPTOM, pl.String)), found)
    vcpu = _vcpus(found)
    with found.reading():
        # Time withheld by a limit is a separate trouble; the thresholds are for the rest.
        queries = [of(vcpu, limited=False) for of in _WAITS]
        ready, days, weeks, by_host = pl.collect_all(queries)
    order = ["p95_pct", "max_pct", "host", "vm"]
    ready = ready.sort(order, descending=[True, True, False, False])
    return Fleet(found, judgements, findings, symptoms, ready, days, weeks, by_host)


def _then(rows: pl.DataFrame, part: Lake) -> pl.DataFrame:
    """Keep rows whose time, from texts in `start` and `end`, overlaps the requested time.

    A capture is judged as a whole; if only part of it was requested, only that part's rows count.
    """
    rows = rows.with_columns(pl.col("start", "end").str.to_datetime(time_unit="us", time_zone="UTC"))
    if part.since:
        rows = rows.filter(pl.col("end").is_null() | (pl.col("end") >= part.since))
    if part.until:
        rows = rows.filter(pl.col("start").is_null() | (pl.col("start") < part.until))
    return rows


def _with_vcpus(part: Lake) -> list[Entry]:
    return [one for one in part.captures if "vcpu" in one.tables]


def _vcpus(part: Lake) -> pl.LazyFrame:
    """Return the counters of vCPUs; if captures of a host overlap, the earlier one's."""
    having = _with_vcpus(part)
    pairs = overlaps(having)
    frames = [
        replace(part, known_entries=[later])["vcpu"].filter(pl.col("time") > earlier.span[1])
        for earlier, later in pairs
    ]
    seconds = {later.id for _, later in pairs}
    if alone := [one for one in having if one.id not in seconds]:
        frames.append(replace(part, known_entries=alone)["vcpu"])
    return pl.concat(frames, how="diagonal_relaxed") if frames else pl.LazyFrame(schema=_NO_VCPUS)


_NO_VCPUS: Final = {"date": pl.Date(), **schema("host str, group_id i64, group world str, pct_ready f64")}


def by_trouble(findings: pl.DataFrame) -> pl.DataFrame:
    """Return troubles: first the ones critical on most hosts, then on most hosts; ties by likelihood.

    `trouble`, `critical` (hosts where it is critical), `hosts`, `names` (of hosts), and `title`, `likelihood`,
    `basis`, `verdict`, `next`, `start` of the first.
    """
    bad = pl.col("severity") == "critical"
    return (
        findings.sort(bad, "host", "start", descending=[True, False, False], maintain_order=True)
        .group_by("trouble", maintain_order=True)
        .agg(
            critical=pl.col("host").filter(bad).n_unique().cast(int),
            hosts=pl.col("host").n_unique().cast(int),
            names=pl.col("host").unique(maintain_order=True),
            title=pl.col("title").first(),
            likelihood=pl.col("likelihood").first(),
            basis=pl.col("basis").first(),
            verdict=pl.col("verdict").first(),
            next=pl.col("next").first(),
            start=pl.col("start").first(),
        )
        .sort("critical", "hosts", _doubt(), "trouble", descending=[True, True, False, False])
    )


def _doubt() -> pl.Expr:
    """Return the uncertainty of a row's finding: 0 for a likely one."""
    words = [word for word, _ in confidence.WORDS]
    return pl.col("likelihood").replace_strict(words, list(range(len(words))), default=len(words))


def same_object(findings: pl.DataFrame) -> pl.DataFrame:
    """Return devices and volumes with troubles on several hosts.

    `kind`, `name`, `hosts`, `names`, `troubles` (titles). Excludes names that are a place on the host's own adapter:
    every host has a `mpx.vmhba0:C0:T0:L0`.
    """
    return (
        findings.filter(pl.col("kind").is_in(["device", "nfs"]), ~pl.col("name").str.contains(_LOCAL))
        .group_by("kind", "name")
        .agg(
            hosts=pl.col("host").n_unique().cast(int),
            names=pl.col("host").unique().sort().str.join(", "),
            troubles=pl.col("title").unique().sort().str.join("; "),
        )
        .filter(pl.col("hosts") > 1)
        .sort("hosts", "name", descending=[True, False])
    )


def same_time(findings: pl.DataFrame) -> pl.DataFrame:
    """Return troubles with causes outside a host that several hosts had at one time; settings do not count.

    `trouble`, `title`, `start`, `end`, `hosts`, `names` (of hosts). Spells without a gap between them are one.
    """
    outside = pl.col("trouble").str.split(".").list.first().is_in(list(_ELSEWHERE))
    return (
        findings.filter(outside, ~pl.col("trouble").is_in(_SET), pl.col("start").is_not_null())
        .sort("trouble", "start")
        .with_columns(before=pl.col("end").cum_max().shift().over("trouble"))
        .with_columns(
            spell=(pl.col("before").is_null() | (pl.col("start") > pl.col("before"))).cum_sum().over("trouble")
        )
        .group_by("trouble", "spell")
        .agg(
            title=pl.col("title").first(),
            start=pl.col("start").min(),
            end=pl.col("end").max(),
            hosts=pl.col("host").n_unique().cast(int),
            names=pl.col("host").unique().sort().str.join(", "),
        )
        .filter(pl.col("hosts") > 1)
        .sort("hosts", "start", "trouble", descending=[True, False, False])
    )


def by_release(found: Fleet) -> pl.DataFrame:
    """Return the releases of a fleet, with their share of critical hosts.

    `release`, `hosts`, `critical` and `share_pct` (hosts with critical troubles), `p95_pct` (median VM). Hosts with a
    diagnosed capture count once per release, with their troubles and waits under that release. The
    release with the largest share comes first; a share of fewer than `MANY` hosts is null.
    """
    releases = {(one.host, _release(one)) for one, judgement in found.said if judgement and "findings" in judgement}
    hosts = pl.DataFrame(sorted(releases), schema={"host": pl.String, "release": pl.String}, orient="row")
    critical = found.findings.filter(severity="critical").with_columns(pl.col("release").fill_null(_UNKNOWN))
    bad = critical.select("host", "release").unique().with_columns(bad=True)
    vms = _ready_by_release(found, hosts).group_by("release").agg(pl.col("p95_pct").median())
    return (
        hosts.join(bad, on=["host", "release"], how="left")
        .group_by("release")
        .agg(hosts=pl.col("host").n_unique().cast(int), critical=pl.col("host").filter("bad").n_unique().cast(int))
        .with_columns(share_pct=100 * pl.col("critical") / pl.col("hosts"))
        .join(vms, on="release", how="left")
        .sort("share_pct", "release", descending=[True, False])
        .with_columns(pl.when(pl.col("hosts") >= MANY).then("share_pct"))
    )


def _release(entry: Entry) -> str:
    return str(entry.meta.get("release") or _UNKNOWN)


def _ready_by_release(found: Fleet, hosts: pl.DataFrame) -> pl.DataFrame:
    """Return the waits of VMs by their host's release: `release`, `p95_pct`. Rereads hosts that changed release."""
    changed = set(hosts.filter(pl.col("host").is_duplicated())["host"])
    kept = found.ready.filter(~pl.col("host").is_in(changed)).join(hosts, on="host")
    parts = [kept.select("release", "p95_pct")]
    for release in hosts["release"].unique():
        captures = [one for one in found.lake.captures if one.host in changed and _release(one) == release]
        with found.lake.reading():
            ready = fleet.ready(_vcpus(replace(found.lake, known_entries=captures)), limited=False).collect()
        parts.append(ready.select(pl.lit(release).alias("release"), "p95_pct"))
    return pl.concat(parts)


def faults(found: Fleet) -> pl.DataFrame:
    """Return problems of captures found by checks and readers, the ones on most hosts first.

    `status` (critical or warning), `what`, `hosts`, `names` (of hosts), `tables`, `example`.
    """
    rows = [
        {"status": level, "host": entry.host, "what": one["means"], "table": one["table"], "said": one["said"]}
        for level, key in (("critical", "failed"), ("warning", "warned"))
        for entry, judgement in found.said
        for one in (judgement["quality"][key] if judgement else ())
    ]
    rows += [
        {"status": "warning", "host": entry.host, "what": one.message, "table": None, "said": entry.source}
        for entry in found.lake.captures
        for one in entry.notes
        if one.severity == "warning"
    ]
    return (
        pl.DataFrame(rows, schema=dict.fromkeys(("status", "host", "what", "table", "said"), pl.String))
        # Readers' notes contain lines and counts of a file: other numbers do not make another fault.
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
