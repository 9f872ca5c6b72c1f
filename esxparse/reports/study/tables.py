"""What the cells of the study report show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.metrics import units
from esxparse.recording import counted, printable
from esxparse.reports.blocks import NOTHING, Block, Column, Header, headline, note, parted, points, stack, table
from esxparse.reports.study import beside, inputs, shaped, words
from esxparse.studies import baseline, plot
from esxparse.studies.named import named
from esxparse.whole import sha256

if TYPE_CHECKING:
    import altair as alt

    from esxparse.reports.study.gather import Found

_SENTENCES: Final = 8
_FILES: Final = 40


def header(found: Found) -> Header:
    """The study's title, and what it is made of."""
    study = found.study
    runs = counted(found.runs.height, "run") + (
        f" by {', '.join(plot.label_words(name)[0] for name in study.labels)}" if study.labels else ""
    )
    base = f"; baseline {baseline.text(study.baseline)}" if study.baseline else ""
    return Header(printable(study.title), f"{runs}{base}")


def question(found: Found, asked: str) -> Block:
    """What the study asks, in its own words, or else what was varied."""
    text = (
        asked
        or found.study.asked.question
        or (found.shape.question if found.shape else "")
        or found.study.description
        or f"What do {', '.join(found.study.labels)} change?"
    )
    return headline(printable(text))


def answer(found: Found) -> Block:
    """The answer: the runs that lack something, a sentence for each value, and how that fits what was published."""
    lacking = found.runs["gap"].drop_nulls().len()
    told = words.answer(found)
    left = len(told) - _SENTENCES
    more = [f"{left} more: see the tables below."] if left > 0 else []
    warned = []
    if lacking:
        text = f"{lacking} of {counted(found.runs.height, 'run')} with something missing: see"
        warned = [note(text, "warning", section="Data quality")]
    if refusal := inputs.refusal(found.inputs):
        warned.append(note(refusal, "warning"))
    said = [*inputs.origins(found.inputs), words.comparisons(found), *beside.sentences(found.published)]
    return stack(*warned, points([*told[:_SENTENCES], *more]), *(note(text) for text in said if text))


def published(found: Found) -> Block:
    """Published and assumed figures beside what the runs give."""
    return beside.block(found.published)


def compared(found: Found) -> Block:
    """Ratios to the baseline with their intervals and verdicts, one row per configuration and value."""
    if not found.compared:
        return NOTHING
    frame = pl.concat(
        [one.with_columns(quantity=pl.lit(_named(found, name))) for name, one in found.compared.items()],
        how="diagonal_relaxed",
    )
    labels = [Column(name, name, digits=None) for name in found.study.labels if frame[name].n_unique() > 1]
    columns = [
        Column("quantity", "Value"),
        *labels,
        Column("runs", "Runs"),
        Column("mean", "Mean", significant=5),
        Column("baseline_mean", "Baseline", significant=5),
        Column("difference", "Difference", significant=3),
        Column("ratio", "Ratio", digits=3),
        Column("ratio_low", "from", digits=3),
        Column("ratio_high", "to", digits=3),
        Column("change_pct", "Change", "%", digits=1),
        Column("verdict", "Verdict", fit="short"),
    ]
    return table(frame, columns, f"Against {baseline.text(found.study.baseline)}, 95 % interval")


def figures(found: Found) -> Block:
    """Figures of benchmarks against the baseline: above 1 is better."""
    if found.figures is None:
        return NOTHING
    (label,) = found.study.baseline
    columns = [
        *(Column(name, name.capitalize()) for name in ("benchmark", "test", "configuration", "metric")),
        Column(label, label),
        Column("runs", "Runs"),
        Column("mean", "Mean", significant=5),
        Column("baseline_mean", "Baseline", significant=5),
        Column("unit", "Unit", fit="short"),
        Column("performance", "Performance", digits=3),
        Column("performance_low", "from", digits=3),
        Column("performance_high", "to", digits=3),
        Column("verdict", "Verdict", fit="short"),
    ]
    words = f"Benchmarks against {baseline.text(found.study.baseline)}: performance above 1 is better"
    return table(found.figures, columns, words)


def measured(found: Found) -> Block:
    """Means of the repetitions of each configuration."""
    labels = list(found.study.labels)
    fits = {name: _fitting(found, name) for name in found.values}
    means = [pl.col(name).mean() * fits[name][0] for name in found.values]
    frame = found.runs.group_by(labels, maintain_order=True).agg(pl.len().alias("runs"), *means) if labels else None
    if frame is None:
        frame = found.runs.select(pl.col(name) * factor for name, (factor, _) in fits.items())
    columns = [
        *(Column(name, name, digits=None) for name in labels),
        Column("runs", "Runs"),
        *(Column(name, named(found.study, name).name, unit, _digits(frame[name])) for name, (_, unit) in fits.items()),
    ]
    return table(frame, columns, "What was measured: means of the repetitions")


def charts(found: Found) -> list[alt.LayerChart]:
    """The charts of the study's shape, or for each value its ratio to the baseline, or itself over what is swept."""
    if found.shape and (made := shaped.charts(found)):
        return made
    return _panels(found, {name: _style(found, name) for name in found.values})


def levels(found: Found) -> list[alt.LayerChart]:
    """The values themselves, where the charts above show what they are against the baseline."""
    return _panels(found, dict.fromkeys(found.compared, "plain"))


def derived(found: Found) -> Block:
    """The tables of the study's shape."""
    made = []
    for frame, caption, heads in shaped.tables(found):
        columns = []
        for name, head in heads.items():
            before, unit = parted(head)
            columns.append(Column(name, before, unit, _digits(frame[name]) if frame.schema[name].is_float() else None))
        made.append(table(frame, columns, caption))
    return stack(*made) if made else NOTHING


def _style(found: Found, value: str) -> plot.Style:
    if value in found.compared:
        return "relative"
    return "linear" if not found.compared and named(found.study, value).better == "higher" else "plain"


def _panels(found: Found, styles: Mapping[str, plot.Style]) -> list[alt.LayerChart]:
    swept = [name for name in found.study.axis if plot.is_sweep(found.runs, name)]
    sweeps: list[str | None] = [*swept] if swept else [None]
    ends = shaped.shared(found, list(styles.items()))
    made: list[alt.LayerChart] = []
    for (value, style), sweep in product(styles.items(), sweeps):
        drawn = style if sweep or style != "linear" else "plain"
        with suppress(EsxparseError):  # too many panels: the table has the numbers
            made += plot.charts(found.study, value, sweep, None, {}, drawn, ends=ends[value, style])
    return made


def parameters(found: Found, values: Sequence[str]) -> dict[str, Any]:
    """The template's parameters, for the provenance."""
    given = {one.name: f"{one.value} ({one.origin})" if one.origin else "not given" for one in found.inputs}
    return {**({"values": values} if values else {}), **given}


def quality(found: Found) -> Block:
    """Runs that lack something, and notes of the study, each with its reason."""
    gaps = found.runs.filter(pl.col("gap").is_not_null()).select("run", *found.study.labels, "gap")
    columns = [
        Column("run", "Run", digits=None),
        *(Column(name, name, digits=None) for name in found.study.labels),
        Column("gap", "What it lacks, and why"),
    ]
    notes = pl.DataFrame(
        [(one.severity, one.line, one.message) for one in found.study.notes],
        schema={"severity": pl.String, "line": pl.Int64, "message": pl.String},
        orient="row",
    )
    told = [Column("severity", "Severity", level=True), Column("line", "Line", digits=None), Column("message", "Note")]
    return stack(
        table(gaps, columns, "Runs that lack something", "Every run has all it needs."),
        table(notes, told, "Notes of the study", "The study has no notes."),
    )


def method(found: Found) -> Block:
    """How the numbers were made, and what they cannot tell."""
    told = [
        "Means are over the repetitions of a configuration. Error bars are their range; of ratios, the 95 % interval.",
        "Repetitions are runs with the same labels. Windows of one capture, and copies of a file, count as one.",
        "An interval tells chance from difference. Whatever else changed between the runs is part of the difference.",
    ]
    alone = [name for name, part in found.compared.items() if part["p_value"].null_count() == part.height]
    if alone:
        told.append("Configurations with a single run have no interval: such a difference may be chance.")
    if any(name.startswith("used_") for name in found.values):
        told.append("CPU used is work at nominal frequency: two busy hyper-threads count as half a core each.")
    if found.shape:
        told = [*shaped.notes(found, found.shape.method), *told, *shaped.notes(found, found.shape.limits)]
    return points([printable(text) for text in told])


def files(found: Found) -> list[tuple[str, str]]:
    """The files the study was made of, with their fingerprints, for the provenance."""
    there = [path for path in found.study.inputs if path.is_file()]
    made = [(path.name, f"{path.stat().st_size:,} bytes, SHA-256 {sha256(path)}") for path in there[:_FILES]]
    return [*made, *([("More files", str(len(there) - _FILES))] if len(there) > _FILES else [])]


def _named(found: Found, value: str) -> str:
    told = named(found.study, value)
    return f"{told.name}, {told.unit}" if told.unit else told.name


def _fitting(found: Found, value: str) -> tuple[float, str]:
    """The unit that fits a value's largest mean, and what to multiply by."""
    return units.fitting(named(found.study, value).unit, found.runs[value].drop_nulls().abs().median() or 0.0)  # type: ignore[arg-type]


def _digits(numbers: pl.Series) -> int:
    """Decimals that keep about four digits of the typical number."""
    middle = numbers.drop_nulls().abs().median()
    return 0 if middle is None or middle >= 1000 else 1 if middle >= 100 else 2 if middle >= 1 else 4  # type: ignore[operator] # noqa: PLR2004
