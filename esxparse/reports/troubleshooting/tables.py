"""Tables of the report on troubles: how much was judged, limits passed, counters that changed."""

from __future__ import annotations

from collections import Counter
from typing import Final

import polars as pl

from esxparse import clock
from esxparse.diagnosis import cases, rules
from esxparse.diagnosis import changes as changed
from esxparse.diagnosis.findings import Findings
from esxparse.errors import EsxparseError
from esxparse.recording import Recording, counted
from esxparse.reports.blocks import Block, note, spoken_span, stack, table, tiles
from esxparse.reports.columns import columns_of

_MOST_CHANGES: Final = 12
_FEWEST: Final = 10
"""Samples below which every verdict is a guess."""


def summary(rec: Recording, found: Findings) -> Block:
    """Tiles: how much was found, how much was judged, and in how many samples."""
    grades = Counter(one.severity for one in found)
    samples = rec.meta["samples"]
    span = spoken_span((rec.meta["end"] - rec.meta["start"]).total_seconds())
    made = tiles(
        [
            ("Findings", str(grades["critical"] + grades["warning"]), f"{grades['critical']} critical"),
            ("Harmless", str(grades["info"]), "named so that nobody looks for them again"),
            ("Judged", f"{found.judged} of {found.of}", "cases and limits; the others lack counters"),
            ("Covered", span, counted(samples, "sample")),
        ]
    )
    if samples >= _FEWEST:
        return made
    few = note(
        f"{counted(samples, 'sample')}: too few to tell how long a trouble lasts. Take at least {_FEWEST}.", "warning"
    )
    return stack(few, made)


def symptoms(found: Findings, profile: str) -> Block:
    """Limits passed, by rule and object: how often, how long, how far. The worst are those passed for longest.

    `profile`: whose limits they are.
    """
    limits = rules.load(profile)
    if not found.symptoms:
        return note("No limit was passed for as long as a rule asks.", "ok")
    every = pl.DataFrame(list(found.symptoms))
    below = pl.col("rule").is_in([key for key, one in limits.items() if one.direction == "below"])
    critical = (pl.col("severity") == "critical").any()
    frame = (
        every.group_by("rule", "kind", "name", maintain_order=True)
        .agg(
            severity=pl.when(critical).then(pl.lit("critical")).otherwise(pl.lit("warning")),
            since=pl.col("start")
            .first()
            .str.slice(0, 19)
            .str.to_datetime("%Y-%m-%dT%H:%M:%S")
            .dt.strftime(clock.form(found.times)),
            spells=pl.len().cast(pl.Int64),
            share_pct=pl.col("share_pct").sum(),
            worst=pl.when(below.any()).then(pl.col("peak").min()).otherwise(pl.col("peak").max()),
        )
        .with_columns(
            screen=pl.col("rule").replace_strict({key: one.screen for key, one in limits.items()}),
            limit=pl.col("rule").replace_strict({key: one.warn for key, one in limits.items()}),
            unit=pl.col("rule").replace_strict({key: one.unit for key, one in limits.items()}),
            of=pl.when(pl.col("kind") == "host").then(pl.lit("the host")).otherwise("name"),
        )
        .sort(["severity", "share_pct", "rule", "name"], descending=[False, True, False, False])
    )
    return table(frame, columns_of("troubleshooting.symptoms"), f"Limits passed (profile {profile}), longest first")


def changes(rec: Recording) -> Block:
    """What changed together and when, and the counters that changed most."""
    try:
        found = changed.changes(rec)
    except EsxparseError as error:
        return note(str(error).replace(rec.source, "The capture"))
    form = clock.form([rec.meta["start"], rec.meta["end"]])
    events = found.events.select(
        pl.col("time").dt.strftime(form),
        "series",
        first=pl.concat_str("first_table", pl.lit(": "), "first_counter"),
        of="first_instance",
    )
    series = (
        found.series.filter(pl.col("beyond") >= 1)
        .head(_MOST_CHANGES)
        .select("table", "counter", "instance", "beyond", "before", "after", pl.col("onset").dt.strftime(form))
    )
    return stack(
        table(
            events,
            columns_of("troubleshooting.events"),
            "When counters changed together, most counters first",
            "No counters changed together.",
        ),
        table(
            series,
            columns_of("troubleshooting.changes"),
            f"Counters that changed most, before and after {found.at:{form}} UTC",
            "No counter went further than it ever does.",
        ),
    )


def judged(found: Findings) -> Block:
    """How many troubles of each area were judged."""
    blind = {one["id"] for one in found.not_judged if one["what"] == "case"}
    areas: dict[str, list[str]] = {}
    for trouble in dict.fromkeys(one.trouble for one in cases.load()):
        areas.setdefault(trouble.partition(".")[0], []).append(trouble)
    rows = [
        {
            "area": area,
            "judged": len(troubles) - len(blind & set(troubles)),
            "of": len(troubles),
            "which": ", ".join(one.partition(".")[2].replace("_", " ") for one in troubles if one not in blind),
        }
        for area, troubles in areas.items()
    ]
    return table(pl.DataFrame(rows), columns_of("troubleshooting.judged"), "Troubles that were looked for")
