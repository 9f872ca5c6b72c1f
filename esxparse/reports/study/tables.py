"""What the cells of the study report show."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.recording import printable
from esxparse.reports.blocks import NOTHING, Block, Column, Header, note, stack, table
from esxparse.reports.study import words
from esxparse.studies import baseline, plot
from esxparse.studies.export import heading
from esxparse.whole import sha256

if TYPE_CHECKING:
    import altair as alt

    from esxparse.reports.study.gather import Found

_SENTENCES: Final = 8
_FILES: Final = 40


def header(found: Found) -> Header:
    """The study's title, and what it is made of."""
    study = found.study
    runs = f"{found.runs.height} runs by {', '.join(study.labels)}" if study.labels else f"{found.runs.height} runs"
    base = f"; baseline {baseline.text(study.baseline)}" if study.baseline else ""
    return Header(printable(study.title), f"{runs}{base}")


def question(found: Found, asked: str) -> Block:
    """What the study asks, in its own words, or else what was varied."""
    text = (
        asked
        or found.study.asked.question
        or found.study.description
        or f"What do {', '.join(found.study.labels)} change?"
    )
    return note(printable(text))


def answer(found: Found) -> Block:
    """The answer: the runs that lack something, a sentence for each value, and how that fits what was published."""
    lacking = found.runs["gap"].drop_nulls().len()
    told = [note(text) for text in words.answer(found)]
    left = len(told) - _SENTENCES
    more = [note(f"{left} more comparisons stand in the table below.")] if left > 0 else []
    warned = []
    if lacking:
        text = f"{lacking} of {found.runs.height} runs lack something: see"
        warned = [note(text, "warning", section="Data quality")]
    return stack(*warned, *told[:_SENTENCES], *more, *(note(text) for text in words.published(found)))


def published(found: Found) -> Block:
    """Each published figure beside what the runs give."""
    if found.published is None:
        return note("No figures were published of this study: a published.toml beside the manifest would list them.")
    verdict = pl.when("within").then(pl.lit("within")).when(~pl.col("within")).then(pl.lit("outside"))
    frame = found.published.with_columns(verdict.otherwise(pl.lit("not computed")).alias("verdict"))
    columns = [
        Column("claim", "What was published"),
        Column("value", "Published", digits=None),
        Column("here", "Here", digits=_digits(frame["here"])),
        Column("unit", "Unit"),
        Column("tolerance_pct", "Tolerance", "%", digits=1),
        Column("verdict", "Within", fit="short"),
        Column("note", "Note"),
    ]
    frame = frame.with_columns(tolerance_pct=100 * pl.col("tolerance"), note=pl.col("note").replace("", None))
    return table(frame, columns, "Published figures, and the same figures of these runs")


def compared(found: Found) -> Block:
    """Ratios to the baseline with their intervals and verdicts, one row per configuration and value."""
    if not found.compared:
        return note("This study has no baseline: nothing is divided.")
    frame = pl.concat(
        [one.with_columns(quantity=pl.lit(_named(name))) for name, one in found.compared.items()],
        how="diagonal_relaxed",
    )
    labels = [Column(name, name, digits=None) for name in found.study.labels if frame[name].n_unique() > 1]
    columns = [
        Column("quantity", "Value"),
        *labels,
        Column("runs", "Runs"),
        Column("mean", "Mean", digits=3),
        Column("baseline_mean", "Baseline", digits=3),
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
        Column("mean", "Mean", digits=3),
        Column("baseline_mean", "Baseline", digits=3),
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
    means = [pl.col(name).mean() for name in found.values]
    frame = found.runs.group_by(labels, maintain_order=True).agg(pl.len().alias("runs"), *means) if labels else None
    if frame is None:
        frame = found.runs.select(*found.values)
    columns = [
        *(Column(name, name, digits=None) for name in labels),
        Column("runs", "Runs"),
        *(Column(name, heading(name)[0], heading(name)[1], digits=_digits(frame[name])) for name in found.values),
    ]
    return table(frame, columns, "What was measured: means of the repetitions")


def charts(found: Found) -> list[alt.LayerChart]:
    """For each value its panels: ratios to the baseline, or the value over each label that is swept."""
    return [one for name in found.values for one in _panels(found, name, relative=name in found.compared)]


def levels(found: Found) -> list[alt.LayerChart]:
    """The values themselves, where the charts above show ratios."""
    return [one for name in found.compared for one in _panels(found, name, relative=False)]


def _panels(found: Found, value: str, *, relative: bool) -> list[alt.LayerChart]:
    sweeps = [name for name in found.study.axis if plot.is_sweep(found.runs, name)]
    linear = not relative and not found.compared and plot.BETTER.get(value) == "higher"
    made: list[alt.LayerChart] = []
    for sweep in (*sweeps, *([] if sweeps else [None])):
        with suppress(EsxparseError):  # too many panels: the table has the numbers
            made += plot.charts(found.study, value, sweep, None, {}, relative=relative, linear=linear and bool(sweep))
    return made


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
    alone = [name for name, part in found.compared.items() if part["ratio_low"].null_count() == part.height]
    if alone:
        told.append("Configurations with a single run have no interval: such a difference may be chance.")
    if any(name.startswith("used_") for name in found.values):
        told.append("CPU used is work at nominal frequency: two busy hyper-threads count as half a core each.")
    return stack(*(note(text) for text in told))


def files(found: Found) -> list[tuple[str, str]]:
    """The files the study was made of, with their fingerprints, for the provenance."""
    there = [path for path in found.study.inputs if path.is_file()]
    made = [(path.name, f"{path.stat().st_size:,} bytes, SHA-256 {sha256(path)}") for path in there[:_FILES]]
    return [*made, *([("More files", str(len(there) - _FILES))] if len(there) > _FILES else [])]


def _named(value: str) -> str:
    name, unit = heading(value)
    return f"{name}, {unit}" if unit else name


def _digits(numbers: pl.Series) -> int:
    """Decimals that keep about four digits of the typical number."""
    middle = numbers.drop_nulls().abs().median()
    return 0 if middle is None or middle >= 1000 else 1 if middle >= 100 else 2 if middle >= 1 else 4  # type: ignore[operator] # noqa: PLR2004
