"""The blocks in the cells of the study report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.errors import EsxparseError, did_you_mean
from esxparse.metrics import units
from esxparse.recording import counted, printable
from esxparse.reports import blocks, page
from esxparse.reports.blocks import NOTHING, Block, Column, Header, note, parted, points, stack
from esxparse.reports.study import beside, inputs, words
from esxparse.studies import baseline, plot
from esxparse.studies.export import column_in_words
from esxparse.whole import sha256

if TYPE_CHECKING:
    from esxparse.reports.study.gather import Found

_SENTENCES: Final = 8
_FILES: Final = 40


def title(found: Found) -> Header:
    """Return the study's title, and a summary of its runs; also prepares charts, so call it first."""
    page.prepare()
    study = found.study
    runs = counted(found.runs.height, "run") + (
        f" by {', '.join(plot.label_words(name)[0] for name in study.labels)}" if study.labels else ""
    )
    base = f"; baseline {baseline.text(study.baseline)}" if study.baseline else ""
    return Header(printable(study.title), f"{runs}{base}")


def headline(found: Found, question: str = "", usual: str = "") -> Block:
    """Return the study's question: `question`, else its own, else `usual`, else its description or labels."""
    own = found.study
    text = (
        question
        or own.report_section.question
        or usual
        or own.description
        or f"What do {', '.join(own.labels)} change?"
    )
    return blocks.headline(printable(text))


def answer(found: Found, sentences: Sequence[str] = (), *, each_value: bool = True) -> Block:
    """Return the answer: incomplete runs, sentences, origins of inputs, and agreement with published figures.

    `sentences`: from the template; the first eight are shown. `each_value`: whether to add a sentence for each value.
    Answers in the manifest come first, and replace the sentences for each value.
    """
    lacking = found.runs["gap"].drop_nulls().len()
    answers = words.answer(found, sentences, each_value=each_value)
    left = len(answers) - _SENTENCES
    more = [f"{left} more: see the tables below."] if left > 0 else []
    warned = []
    if lacking:
        text = f"{lacking} of {counted(found.runs.height, 'run')} with something missing: see"
        warned = [note(text, "warning", section="Data quality")]
    if found.unmeasured:
        missed = ", ".join(found.name_and_unit(name).name for name in found.unmeasured)
        warned.append(note(f"No run has a number for: {missed}", "warning"))
    if refusal := inputs.refusal(found.inputs):
        warned.append(note(refusal, "warning"))
    remarks = [*inputs.origins(found.inputs), words.comparisons(found), *beside.sentences(found.published)]
    return stack(*warned, points([*answers[:_SENTENCES], *more]), *(note(text) for text in remarks if text))


def table(found: Found, rows: pl.DataFrame | pl.LazyFrame, caption: str, heads: Mapping[str, str]) -> Block:
    """Return a table of any rows, preceded by the labels that vary; nothing without rows.

    `heads`: the title of each column, with the unit in brackets: {"peak_load": "Largest load [VMs]"}. A column without
    any value is left out.

    Raises EsxparseError: A column of `heads` is missing.
    """
    frame = rows.lazy().collect()
    if frame.is_empty():
        return NOTHING
    if lacking := [name for name in heads if name not in frame.columns]:
        near = did_you_mean(lacking[0], frame.columns)
        there = ", ".join(frame.columns)
        raise EsxparseError(f"the table {caption!r} has no column {lacking[0]!r}: {near}it has {there}")
    vary = [name for name in found.study.labels if name in frame.columns and frame[name].n_unique() > 1]
    columns = []
    for name, head in {**dict(zip(vary, vary, strict=True)), **heads}.items():
        before, unit = parted(head)
        columns.append(Column(name, before, unit, _digits(frame[name]) if frame.schema[name].is_float() else None))
    return blocks.table(frame, columns, caption)


def in_words(found: Found, rows: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    """Return the rows with tolerances and rules in words: web_p95_ms as "Web p95 of at most 100 ms"."""
    frame = rows.lazy().collect()
    section = found.study.report_section
    if section.tolerances and "tolerance" in frame.columns:
        names = {name: found.name_and_unit(name) for name in section.tolerances}
        limits = {
            name: f"{names[name].name} of at most {one:g} {names[name].unit}"
            for name, one in section.tolerances.items()
        }
        frame = frame.with_columns(pl.col("tolerance").replace(limits))
    if section.rules and "failed_rules" in frame.columns:
        rules = {name: found.name_and_unit(name).name for name in (*section.rules, *section.tolerances)}
        failed = pl.col("failed_rules").str.split(", ").list.eval(pl.element().replace(rules))
        frame = frame.with_columns(failed.list.join(", "))
    return frame


def against_baseline(found: Found) -> None:
    """Display the ratios to the baseline with their intervals, as a section; nothing without a baseline."""
    page.part(
        "Against the baseline",
        "The ratio is the mean of the repetitions divided by the baseline's mean; its interval rests on how far "
        'repetitions differ (Fieller). "No difference shown" means that chance may explain it; verdicts allow for the '
        "number of comparisons.",
        compared(found),
        figures(found),
    )


def against_published(found: Found) -> None:
    """Display published and assumed figures beside the runs' results, as a section; nothing without any."""
    page.part(
        "Against what was published",
        "Figures that the source of the study prints, and figures that were assumed (published.toml beside the "
        "manifest), and the same figures of these runs.",
        published(found),
    )


def published(found: Found) -> Block:
    """Return published and assumed figures beside the runs' results."""
    return beside.block(found.published)


def compared(found: Found) -> Block:
    """Return ratios to the baseline with their intervals and verdicts, one row per configuration and value."""
    if not found.compared:
        return NOTHING
    frame = pl.concat(
        [one.with_columns(quantity=pl.lit(_heading(found, name))) for name, one in found.compared.items()],
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
    return blocks.table(frame, columns, f"Against {baseline.text(found.study.baseline)}, 95 % interval")


def figures(found: Found) -> Block:
    """Return figures of benchmarks against the baseline: above 1 is better."""
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
    caption = f"Benchmarks against {baseline.text(found.study.baseline)}: performance above 1 is better"
    return blocks.table(found.figures, columns, caption)


def measured(found: Found) -> Block:
    """Return means of the repetitions of each configuration."""
    labels = list(found.study.labels)
    fits = {name: _fitting(found, name) for name in found.values}
    means = [pl.col(name).mean() * fits[name][0] for name in found.values]
    frame = found.runs.group_by(labels, maintain_order=True).agg(pl.len().alias("runs"), *means) if labels else None
    if frame is None:
        frame = found.runs.select(pl.col(name) * factor for name, (factor, _) in fits.items())
    columns = [
        *(Column(name, name, digits=None) for name in labels),
        Column("runs", "Runs"),
        *(
            Column(name, column_in_words(found.study, name).name, unit, _digits(frame[name]))
            for name, (_, unit) in fits.items()
        ),
    ]
    return blocks.table(frame, columns, "What was measured: means of the repetitions")


def provenance(found: Found, template: str, values: Sequence[str] = ()) -> Block:
    """Return the sources of the report: files and their fingerprints, program, template, parameters, time.

    `template`: its name. `values`: the requested columns.
    """
    return page.provenance([], template, parameters(found, values), files(found))


def parameters(found: Found, values: Sequence[str]) -> dict[str, Any]:
    """Return the template's parameters, for the provenance."""
    used_inputs = {one.name: f"{one.value} ({one.origin})" if one.origin else "not given" for one in found.inputs}
    return {**({"values": values} if values else {}), **used_inputs}


def quality(found: Found) -> Block:
    """Return incomplete runs and notes of the study, each with its reason."""
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
    note_columns = [
        Column("severity", "Severity", level=True),
        Column("line", "Line", digits=None),
        Column("message", "Note"),
    ]
    return stack(
        blocks.table(gaps, columns, "Runs that lack something", "Every run has all it needs."),
        blocks.table(notes, note_columns, "Notes of the study", "The study has no notes."),
    )


def method(found: Found, how: Sequence[str] = (), limits: Sequence[str] = ()) -> Block:
    """Return how the numbers were computed, and their limits.

    `how`, `limits`: sentences of the template, before and after the standard ones.
    """
    standard = [
        "Means are over the repetitions of a configuration. Error bars are their range; of ratios, the 95 % interval.",
        "Repetitions are runs with the same labels. Windows of one capture, and copies of a file, count as one.",
        "An interval shows what may be chance. Whatever else changed between the runs is part of the difference.",
    ]
    alone = [name for name, part in found.compared.items() if part["p_value"].null_count() == part.height]
    if alone:
        standard.append("Configurations with a single run have no interval: such a difference may be chance.")
    if any(name.startswith("used_") for name in found.values):
        standard.append("CPU used is work at nominal frequency: two busy hyper-threads count as half a core each.")
    return points([printable(text) for text in (*how, *standard, *limits)])


def files(found: Found) -> list[tuple[str, str]]:
    """Return the files of the study, with their fingerprints, for the provenance."""
    there = [path for path in found.study.inputs if path.is_file()]
    made = [(path.name, f"{path.stat().st_size:,} bytes, SHA-256 {sha256(path)}") for path in there[:_FILES]]
    return [*made, *([("More files", str(len(there) - _FILES))] if len(there) > _FILES else [])]


def _heading(found: Found, value: str) -> str:
    column = column_in_words(found.study, value)
    return f"{column.name}, {column.unit}" if column.unit else column.name


def _fitting(found: Found, value: str) -> tuple[float, str]:
    """Return a factor and the unit for the typical size of a value."""
    return units.fitting(column_in_words(found.study, value).unit, found.runs[value].drop_nulls().abs().median() or 0.0)  # type: ignore[arg-type]


def _digits(numbers: pl.Series) -> int:
    """Return the decimals that keep about four digits of the typical number."""
    middle = numbers.drop_nulls().abs().median()
    return 0 if middle is None or middle >= 1000 else 1 if middle >= 100 else 2 if middle >= 1 else 4  # type: ignore[operator] # noqa: PLR2004
