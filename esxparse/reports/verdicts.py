"""Findings in a report: sentences, cards with their charts, and skipped checks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

import polars as pl

from esxparse import clock
from esxparse.counters.catalogue import lookup
from esxparse.diagnosis.areas import area_of
from esxparse.diagnosis.blind import groups
from esxparse.diagnosis.finding import Finding
from esxparse.diagnosis.findings import Findings
from esxparse.recording import Recording, counted, first_few
from esxparse.reports import page
from esxparse.reports.blocks import (
    ABSENT,
    NOTHING,
    Block,
    anchor,
    headline,
    note,
    stack,
    table,
)
from esxparse.reports.cards import Verdict, card, listed
from esxparse.reports.columns import columns_of

if TYPE_CHECKING:
    import altair as alt

_GUESSES: Final = 8
MOST: Final = 6
"""Most findings with sentences and charts in a report."""
_BLIND: Final = {
    "case": "Troubles not judged",
    "case+rule": "Troubles and limits not judged",
    "experiment": "Questions without an answer",
}


def worst(found: Findings, most: int | None = MOST) -> dict[int, int]:
    """Return the findings at the top of a report, without infos: number in the report to place in `found`."""
    places = [place for place, one in enumerate(found) if one.severity != "info"]
    return dict(enumerate(places[:most], 1))


def explained(found: Findings) -> dict[tuple[str, str, str | None], str]:
    """Return the objects with troubles: kind, name and area of each, to the title of its most important finding."""
    titles: dict[tuple[str, str, str | None], str] = {}
    for one in (found[place] for place in worst(found, None).values()):
        for each in ({"trouble": one.trouble, **one.entity}, *one.also):
            titles.setdefault((each["kind"], each["name"], area_of(each["trouble"])), one.title)
    return titles


def name(number: int) -> str:
    """Return the name of a finding in a report; links lead to the `anchor` of that name."""
    return f"Finding {number}"


def sentences(found: Findings, linked: Iterable[int] | None = None) -> Block:
    """Return the verdicts, most important first: severity, time, problem and cause, next step, and a link.

    `found`: from `ex.diagnose`. `linked`: numbers of findings with a card in the report; by default all.
    """
    numbered = worst(found)
    with_card = set(numbered if linked is None else linked)
    if not numbered and not found.of:
        return note(found.verdict)
    if not numbered:
        level = "ok" if 2 * found.judged >= found.of and not found.caution else "warning"
        return note(f"{found.summary} Checks that need missing counters were skipped.", level)
    entries = [
        Verdict(
            one.severity,
            _when(one, found.times) or one.entity["name"],
            one.verdict,
            one.next,
            name(number) if number in with_card else "",
            (one.likelihood, one.basis),
        )
        for number, one in ((number, found[place]) for number, place in numbered.items())
    ]
    short = [note(found.caution, "warning")] if found.caution else []
    return stack(headline(_counted(found)), *short, listed(entries))


def _counted(found: Findings) -> str:
    levels = [found[place].severity for place in worst(found, None).values()]
    critical, warning = levels.count("critical"), levels.count("warning")
    each = [f"{critical} critical"] if critical else []
    each += [counted(warning, "warning")] if warning else []
    more = f"; the first {MOST} here, all in the list of findings" if len(levels) > MOST else ""
    return f"{counted(len(levels), 'trouble')}: {', '.join(each)}{more}"


def charts(found: Findings) -> dict[int, alt.LayerChart]:
    """Return the charts of findings by number, with the anchor for links; only findings with a chart."""
    made = {number: anchored(number, found.charts(place)) for number, place in worst(found).items()}
    return {number: drawn[0] for number, drawn in made.items() if drawn}


def anchored(number: int, drawn: list[alt.LayerChart]) -> list[alt.LayerChart]:
    """Return the charts of a finding, with its anchor on the first one."""
    for one in drawn[:1]:
        usermeta = one.usermeta if isinstance(one.usermeta, dict) else {}
        one.usermeta = {**usermeta, "anchor": anchor(name(number))}
    return drawn


def cards(found: Findings, most: int = 2) -> None:
    """Display every finding: its verdict, the evidence for and against it, missing data, and its charts.

    `most`: charts of each.
    """
    from IPython.display import display  # noqa: PLC0415

    numbered = worst(found)
    if not numbered:
        display(note(found.summary))  # type: ignore[no-untyped-call]
    for number, place in numbered.items():
        one = found[place]
        lines = [
            *(("for", text) for text in one.evidence),
            *(("against", text) for text in one.against),
            *(("not known", text) for text in one.missing),
            ("next", one.next),
        ]
        title = f"{name(number)}: {one.heading}"
        sure = one.likelihood, one.basis
        display(card(title, anchor(name(number)), _verdict_text(one, found.times), one.severity, lines, sure))  # type: ignore[no-untyped-call]
        page.show(*found.charts(place, most), missing="Nothing in the recording can be drawn of this.")


def information(found: Findings) -> Block:
    """Return findings that do not warn, harmless or unlikely, as a table; nothing without any."""
    rows = [
        {"what": one.heading, "sure": one.likelihood, "when": clocked(one, found.times)}
        for one in found
        if one.severity == "info"
    ]
    caption = "Findings that do not warn, harmless or unlikely"
    return table(pl.DataFrame(rows), columns_of("verdicts.information"), caption) if rows else NOTHING


def guesses(rec: Recording) -> Block:
    """Return a warning about counters that the reader computed by a guess; nothing if there are none."""
    columns = [name.partition(".") for name in rec.meta.get("guessed_columns", ())]
    if not columns:
        return NOTHING
    counters = [(lookup(table, column), column) for table, _, column in columns]
    labels = dict.fromkeys(
        column if counter is None else (counter.screen or counter.batch) for counter, column in counters
    )
    by_interest = sorted(labels, key=lambda label: not label.startswith("%"))
    what = f"No source confirms how these counters are computed: {first_few(by_interest, _GUESSES)}."
    return note(f"{what} Treat their values as estimates.", "warning")


def not_judged(found: Findings, *what: str) -> Block:
    """Return the skipped checks, by reason; nothing if none were skipped.

    `what`: kinds of entries of `found.not_judged`: case, rule, experiment.
    """
    mine = [one for one in found.not_judged if one["what"] in what]
    if not mine:
        return NOTHING
    rows = [
        {
            "why": one.why,
            "of": ", ".join(one.of) or ABSENT,
            "what": "; ".join([*one.titles, *(["limits of rules"] if one.limits else [])]),
        }
        for one in groups(mine)
    ]
    caption = f"{_BLIND['+'.join(what)]}: {len(mine)}"
    return table(pl.DataFrame(rows), columns_of("verdicts.not_judged"), caption, look="folded")


def _verdict_text(one: Finding, times: Sequence[datetime]) -> str:
    """Return the verdict with its time, if it has one."""
    when = clocked(one, times)
    return f"{when}: {one.verdict}" if when else one.verdict


def _when(one: Finding, times: Sequence[datetime]) -> str:
    """Return the time of a trouble; in words if it lasts for the whole recording."""
    when = clocked(one, times)
    if when and one.start and one.end and len(times) > 1 and clock.always(one.start, one.end, times):
        return "the whole time"
    return when


def clocked(one: Finding, times: Sequence[datetime]) -> str:
    """Return the time span, with the day if `times`, of the recording, cover several days; empty if unknown."""
    if one.start is None or one.end is None or one.entity["kind"] == "runs":
        return ""
    return clock.spell(one.start, one.end, clock.form(times))
