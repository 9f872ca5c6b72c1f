"""Tables of the report on a study's experiments: the question, the answers, the runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.charts.findings import changes
from esxparse.charts.reduce import shorten
from esxparse.diagnosis.experiments.verdicts import StudyFindings
from esxparse.reports import verdicts
from esxparse.reports.blocks import Block, Column, Header, note, stack, table, tiles
from esxparse.reports.columns import columns_of
from esxparse.reports.study import beside
from esxparse.studies import Study
from esxparse.whole import sha256

if TYPE_CHECKING:
    import altair as alt

_MOST_CHARTS: Final = 4
_MOST_BARS: Final = 12
_WIDEST: Final = 26


def header(study: Study) -> Header:
    """The title of the study, and what it is about."""
    return Header(f"Case study: {study.title}", study.description)


def question(study: Study, found: StudyFindings) -> Block:
    """Tiles: how many runs, how many are slow, how many questions were answered."""
    runs = study.runs.select(pl.len(), pl.struct(study.labels).n_unique().alias("of")).collect().row(0)
    slow = sum(len(seen.bad) for _, seen in found.compared)
    worst = found.findings[0] if found.findings else None
    asked = [one for one in found.experiments if worst is not None and one["finding"] == worst.id]
    known = sum(one["answer"] != "not known" for one in asked)
    items = [
        ("Runs", f"{runs[0]:,}", f"{runs[1]:,} configurations by {', '.join(study.labels)}"),
        ("Slow configurations", f"{slow}", "at least a fifth slower than the runs they are compared with"),
    ]
    if asked:
        items.append(("Questions answered", f"{known} of {len(asked)}", "of the first finding"))
    return tiles(items)


def charts(found: StudyFindings) -> list[alt.LayerChart]:
    """The charts of all findings; without one, what differs from the baseline."""
    told = verdicts.worst(found)
    if not told:
        return _changes(found.differences)
    return [chart for number, place in told.items() for chart in verdicts.anchored(number, found.charts(place))]


def _changes(rows: Sequence[Mapping[str, Any]]) -> list[alt.LayerChart]:
    """A chart for each of the first alternatives to the baseline."""
    drawn = []
    for alternative in list(dict.fromkeys(row["alternative"] for row in rows))[:_MOST_CHARTS]:
        mine = [row for row in rows if row["alternative"] == alternative][:_MOST_BARS]
        bars = [
            {
                "label": shorten(row["measure"].removeprefix("the ").rstrip(","), _WIDEST),
                "outcome": _outcome(row),
                **{name: row[name] for name in ("change_pct", "least_pct", "most_pct")},
            }
            for row in mine
        ]
        title = f"{alternative} instead of {mine[0]['baseline']}"
        drawn.append(changes(pl.DataFrame(bars).unique("label", keep="first", maintain_order=True), title=title))
    return [one for one in drawn if one is not None]


def _outcome(row: Mapping[str, Any]) -> str:
    """Whether a change is for the better, where one way is better."""
    if row["shown"] not in {"higher", "lower"}:
        return str(row["shown"])
    return "differs" if not row["better"] else "better" if row["shown"] == row["better"] else "worse"


def experiments(found: StudyFindings) -> Block:
    """The questions that each finding's runs were asked: those that records answer, and those that runs do."""
    made = []
    for number, place in verdicts.worst(found).items():
        one = found[place]
        rows = [row for row in found.experiments if row["finding"] == one.id and row["answer"] != "not known"]
        made.append(_answers([row for row in rows if not row["changed"]], verdicts.name(number)))
        made.append(_changed([row for row in rows if row["changed"]], verdicts.name(number)))
    return stack(*made) if made else note("No run is slow, so there is nothing to ask.", "ok")


def _answers(rows: Sequence[dict[str, Any]], name: str) -> Block:
    columns = columns_of("case_study.answers")
    return table(pl.DataFrame(rows, infer_schema_length=None), columns, f"{name}: what was recorded of the slow runs")


def _changed(rows: Sequence[dict[str, Any]], name: str) -> Block:
    unit = next((row["unit"] for row in rows), "")
    columns = columns_of("case_study.changed", unit=unit)
    nothing = f"{name}: nobody ran the slow runs again with one thing changed."
    return table(
        pl.DataFrame(rows, infer_schema_length=None), columns, f"{name}: the slow runs with one thing changed", nothing
    )


def next_steps(found: StudyFindings) -> Block:
    """What to do next, for each finding, and what speaks against it."""
    made = []
    for number, place in verdicts.worst(found).items():
        one = found[place]
        against = f" Against it: {'; '.join(one.against)}." if one.against else ""
        made.append(note(f"{verdicts.name(number)}: {one.next}{against}"))
    return stack(*made)


def differences(found: StudyFindings) -> Block:
    """What differs from the baseline, measure by measure."""
    if not found.differences:
        return note("The study has no baseline to compare with.")
    rows = [
        {**row, "but": row["but"] or None, "measure": row["measure"].removeprefix("the ").rstrip(",")}
        for row in found.differences
    ]
    caption = f"Against {found.differences[0]['baseline']}: values and changes are geometric means over configurations"
    return table(pl.DataFrame(rows), columns_of("case_study.differences"), caption)


def runs(study: Study) -> Block:
    """The configurations of the study: means over their repetitions."""
    frame = study.runs.collect()
    count, *measured = columns_of("case_study.runs")
    shown = [one for one in measured if one.name in frame.columns and frame[one.name].count()]
    means = frame.group_by(*study.labels, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("n"), pl.col([one.name for one in shown]).cast(pl.Float64).mean()
    )
    labels = [Column(name, name, digits=None, fit="short") for name in study.labels]
    return table(means, [*labels, count, *shown], "Configurations, means of their runs")


def published(study: Study) -> Block:
    """How many published and assumed figures come back, and each beside what the runs give."""
    figures = study.published()
    return stack(*(note(text) for text in beside.sentences(figures)), beside.block(figures))


def notes(study: Study) -> Block:
    """What the study could not compute, and what is odd in it."""
    rows = [{"severity": one.severity, "line": one.line, "message": one.message} for one in study.notes]
    if not rows:
        return note("All runs were computed, and nothing is odd in them.", "ok")
    return table(pl.DataFrame(rows, infer_schema_length=None), columns_of("case_study.notes"), "Notes on the runs")


def source(study: Study) -> list[tuple[str, str]]:
    """Facts for the end of the report: the manifest, its fingerprint, and how many files it names."""
    return [("Manifest", str(study.path)), ("SHA-256", sha256(study.path)), ("Files", f"{len(study.inputs):,}")]
