"""The answer of a study in sentences with numbers: the changes, their confidence, and the number of comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.metrics import evidence, ratio, scaling, units
from esxparse.recording import counted, first_few
from esxparse.reports.blocks import rounded
from esxparse.reports.study.figures import MANY, by_measure, change
from esxparse.reports.study.sentences import of_manifest
from esxparse.studies import baseline, plot
from esxparse.studies.columns import COLUMNS
from esxparse.studies.export import column_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esxparse.reports.study.gather import Found

_LINE_PCT: Final = 25.0
"""Smallest share of a straight line, in percent, for describing a sweep by a line."""
_RULES: Final = 2
"""Most broken rules listed for a load."""
_SEVERAL: Final = 2


def answer(found: Found, sentences: Sequence[str] = (), *, each_value: bool = True) -> list[str]:
    """Return the answers of the manifest and of the template, and a sentence for each value.

    `sentences`: from the template. `each_value`: whether to add a sentence for each value; answers of the manifest
    replace these. The values always follow if an input is missing or there is no other answer.
    """
    made = list(dict.fromkeys([*of_manifest(found), *sentences]))
    follow = not found.study.report_section.answer if each_value else not found.is_complete
    return [*made, *(_values(found) if follow else [])] or _values(found)


def largest_loads(found: Found) -> list[str]:
    """Return the largest load at each tolerance, and the largest that meets all rules, as configured in [report]."""
    made = []
    others = [name for name in found.study.labels if name != found.sweep]
    number = plot.number_words(found.sweep or "")
    for row in found.tolerated.iter_rows(named=True) if found.tolerated is not None else ():
        unit = column_in_words(found.study, row["tolerance"]).unit
        limit = f"{name_of(found, row['tolerance'])} of at most {row['limit']:g} {unit}".rstrip()
        load = "" if row["largest_load"] is None else rounded(row["largest_load"])
        status = row["status"]
        outcome = {
            "no values": f"the largest {number} is not known: no run has a value",
            "beyond from the start": f"no {number} keeps it",
            "not reached": f"the largest {number} is at least {load}, the most tried",
        }.get(status, f"the largest {number} is {load} ({status})")
        made.append(f"{_where(row, others)}at {limit}, {outcome}.")
    for row in found.peaks.iter_rows(named=True) if found.peaks is not None else ():
        rules = [name_of(found, name) for name in (row["failed_rules"] or "").split(", ")]
        at = f"; {row['fails_at']:,g} break {first_few(rules, _RULES)}" if row["fails_at"] is not None else ""
        peak = row["peak_load"]
        kept = f"the largest {number} that keeps every rule is {peak:,g}"
        outcome = kept if peak is not None else f"no {number} keeps every rule"
        made.append(f"{_where(row, others)}{outcome}{at}.")
    return made


def _where(row: Mapping[str, Any], labels: Sequence[str]) -> str:
    place = ", ".join(row[name] if isinstance(row[name], str) else plot.value_words(name, row[name]) for name in labels)
    return f"{place}: " if place else ""


def _values(found: Found) -> list[str]:
    """Return a sentence for each value: against the baseline, over the sweep, or its range."""
    made = []
    if found.figures is not None:
        ((label, base),) = found.study.baseline.items()
        made = by_measure(found.figures, label, who_is({label: base}))
    for name in found.values:
        # Besides benchmark figures, only load generators' values are results; the host's are not.
        part = found.compared.get(name) if found.figures is None else _driven(found, name)
        made += _against(found, name, part) if part is not None and part.height else []
    if made:
        return made
    if found.sweep:
        return [text for name in found.values for text in _along(found, name, found.sweep)]
    return [_measured(found, name) for name in found.values]


def name_of(found: Found, value: str) -> str:
    """Return a column as words within a sentence: "IOPS", "latency mean", "CPU cost, used (cycles per I/O)"."""
    column = column_in_words(found.study, value)
    name, unit = column.name, column.unit
    text = name if name[:3].isupper() or name[1:2].isupper() else name[:1].lower() + name[1:]
    return f"{text} ({unit})" if "per" in unit else text


def _driven(found: Found, value: str) -> pl.DataFrame | None:
    """Return a value's comparisons for runs with a load generator; None for a figure of a benchmark."""
    table = found.compared.get(value)
    if table is None or value not in COLUMNS:
        return None
    source = pl.col("throughput_from") if "throughput_from" in found.runs.columns else pl.lit(None, pl.String)
    driven = found.runs.filter(source != "esxtop").select(found.study.labels).unique()
    return table.join(driven, on=list(found.study.labels), how="semi", nulls_equal=True, maintain_order="left")


def _against(found: Found, value: str, table: pl.DataFrame) -> list[str]:
    """Return sentences on a value of each configuration, summed up over the labels shared with the baselines."""
    base = found.study.baseline
    own = [name for name in found.study.labels if name in base] or list(found.study.labels)
    made = []
    for key, part in table.group_by(own, maintain_order=True):
        made.append(_compared(found, who_is(dict(zip(own, key, strict=True))), who_is(base), value, part))
    return made


def who_is(labels: Mapping[str, Any]) -> str:
    """Return a configuration in words: its only label's value, if that is a word."""
    only = next(iter(labels.values())) if len(labels) == 1 else None
    return only if isinstance(only, str) else baseline.text(labels)


def comparisons(found: Found) -> str:
    """Return the number of comparisons in the answer, and how its verdicts allow for them; empty for one."""
    family = found.study.family
    if family is None or family.comparisons < _SEVERAL:
        return ""
    return (
        f"The verdicts allow for {family.comparisons} comparisons. "
        "Of the differences shown, 1 in 20 is false on average. Each 95 % interval is for one comparison alone."
    )


def _compared(found: Found, who: str, base: str, value: str, part: pl.DataFrame) -> str:
    name, better = name_of(found, value), column_in_words(found.study, value).better
    decided = part.filter(pl.col("verdict").is_in(["higher", "lower"]))
    if part.height == 1:
        row = part.row(0, named=True)
        clause = f"{name} is {_difference(row, better)}" if decided.height else f"{name}: {row['undecided']}"
        return f"{who} against {base}: {clause}."
    open_ = _undecided(part)
    if decided.height == 1 and part["verdict"].null_count() == 0:
        row = decided.row(0, named=True)
        return f"{who} against {base}: {name} is {_difference(row, better)}, at {_at(part, row, who)}; {open_}."
    sides = []
    for side in ("higher", "lower"):
        rows = decided.filter(verdict=side)
        if rows.height:
            worth = "" if not better else ", which is better" if side == better else ", which is worse"
            at = f"in {rows.height} of {part.height} comparisons"
            sides.append(f"{side} {at}, by {_span(rows)}{_mean(rows)}{worth}")
    if not sides:
        return f"{who} against {base}: {name}: {open_}."
    return f"{who} against {base}: {name} is {', '.join(sides)}{f'; {open_}' if open_ else ''}."


def _undecided(part: pl.DataFrame) -> str:
    """Return the comparisons that show no difference, in the words of `evidence`: open, equal, or single runs."""
    rows = part.filter(~pl.col("verdict").is_in(["higher", "lower"]).fill_null(value=False))
    equal, single = rows.filter(evidence.is_equal()), rows.filter(pl.col("verdict").is_null())
    left = rows.filter(~evidence.is_equal(), pl.col("verdict").is_not_null())
    pieces = []
    if left.height:
        needed = sorted(left["runs_needed"].drop_nulls().to_list())
        runs = " to ".join(f"{one:,}" for one in dict.fromkeys([needed[0], needed[-1]])) if needed else ""
        advice = f" ({_span(left, signed=True)}{f'; about {runs} runs of each would' if runs else ''})"
        pieces.append(f"the data do not show which is {_which(rows)} in {_share(left, part, 'any')}{advice}")
    if equal.height:
        pieces.append(f"equal within {evidence.EQUAL_PCT:g} % in {_share(equal, part, 'all')}")
    if single.height:
        alone = "1 comparison of single runs" if single.height == 1 else f"{single.height} comparisons of single runs"
        pieces.append(f"{_span(single, signed=True)} in {alone}, which may be chance")
    return "; ".join(pieces)


def _which(rows: pl.DataFrame) -> str:
    """Return the open question, as `ratio.ratios` words it for this value."""
    faster = rows["undecided"].drop_nulls().str.contains("which is faster", literal=True).any()
    return "faster" if faster else "higher"


def _share(rows: pl.DataFrame, part: pl.DataFrame, whole: str) -> str:
    if rows.height == part.height:
        return f"{whole} of {part.height} comparisons"
    return f"{rows.height} of {part.height}"


def _at(part: pl.DataFrame, row: Mapping[str, Any], who: str) -> str:
    """Return the labels that distinguish a configuration from the others."""
    labels = part.columns[: part.columns.index("quantity")]
    vary = [name for name in labels if part[name].n_unique() > 1 and str(row[name]) != who]
    return _where(row, vary).removesuffix(": ") or "one of them"


def _interval(row: Mapping[str, Any]) -> str:
    low, high = row["ratio_low"], row["ratio_high"]
    if low is None or high is None:
        return ""
    # An interval has the unit of its value: times, or percent.
    return f" [{low:.3g}, {high:.3g}]" if row["ratio"] >= MANY else f" [{_signed(low)}, {_signed(high)}]"


def _difference(row: Mapping[str, Any], wanted: str) -> str:
    """Return a shown difference: its size, its interval, and whether it is better."""
    worth = "" if not wanted else ", which is better" if wanted == row["verdict"] else ", which is worse"
    if row["ratio"] is None:
        # A baseline at or below 0 has no percentage: use the means and their difference.
        span = f" [{row['difference_low']:+.3g}, {row['difference_high']:+.3g}]"
        means = f"{rounded(row['mean'])} against {rounded(row['baseline_mean'])}"
        return f"{abs(row['difference']):.3g} {row['verdict']}{span} ({means}){worth}"
    return f"{change(row['ratio'])}{_interval(row)}{worth}"


def _span(rows: pl.DataFrame, *, signed: bool = False) -> str:
    """Return the range of changes of rows, in percent, or as differences if a baseline is not above 0."""
    relative = rows["ratio"].null_count() == 0
    changes = [100 * (one - 1) for one in rows["ratio"]] if relative else rows["difference"].to_list()
    unit = " %" if relative else ""
    if signed:
        low, high = f"{min(changes):+.3g}", f"{max(changes):+.3g}"
    else:
        low, high = f"{min(map(abs, changes)):.3g}", f"{max(map(abs, changes)):.3g}"
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def _signed(factor: float) -> str:
    return f"{100 * (factor - 1):+.3g}"


def _mean(rows: pl.DataFrame) -> str:
    """Return the geometric mean of several ratios, if each is above 0."""
    ratios = rows["ratio"].to_list()
    if len(ratios) == 1 or any(one is None or one <= 0 for one in ratios):
        return ""
    return f" (geometric mean {abs(100 * (ratio.geometric_mean(ratios) - 1)):.3g} %)"


def _along(found: Found, value: str, sweep: str) -> list[str]:
    """Describe how proportionally a value grows with the sweep, summed up over the sweeps."""
    if column_in_words(found.study, value).better != "higher":
        return [_measured(found, value)]
    others = [name for name in found.study.labels if name != sweep]
    grown = found.runs.filter(pl.col(value) > 0).group_by(*others, sweep, maintain_order=True).agg(pl.col(value).mean())
    ends = [
        (part.sort(sweep).row(0, named=True), part.sort(sweep).row(-1, named=True))
        for part in (grown.partition_by(others, maintain_order=True) if others else [grown])
        if part[sweep].n_unique() > 1 and part[sweep].min() > 0  # type: ignore[operator]
    ]
    if not ends:
        return [_measured(found, value)]
    shares = [
        100 * scaling.scale_up_efficiency(last[sweep], last[value], first[sweep], first[value]) for first, last in ends
    ]
    if min(shares) < _LINE_PCT:
        # A value that falls or hardly grows does not follow a line through 0; rates of larger I/Os, for example.
        return [_ends_of(found, value, sweep, ends)]
    if len(ends) > 1:
        low, high = rounded(min(shares)), rounded(max(shares))
        percent = f"{low} %" if low == high else f"{low} to {high} %"
        of = f"of a straight line through the least, in {len(ends)} sweeps"
        return [f"{name_of(found, value)} at the largest {plot.number_words(sweep)} is {percent} {of}."]
    ends_at = _ends_of(found, value, sweep, ends).removesuffix(".")
    return [f"{ends_at}: {rounded(shares[0])} % of what a straight line gives."]


def _ends_of(found: Found, value: str, sweep: str, ends: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> str:
    """Describe the start and the end of a value over a sweep; for several sweeps, as ranges."""
    scaled = [[one[place][value] for one in ends] for place in (0, 1)]
    factor, unit = units.fitting(column_in_words(found.study, value).unit, *scaled[0], *scaled[1])

    def format_range(numbers: list[float]) -> str:
        low, high = rounded(min(numbers) * factor), rounded(max(numbers) * factor)
        return low if low == high else f"{low} to {high}"

    first, last = ends[0]
    way = "grows" if min(scaled[1]) > max(scaled[0]) else "falls" if max(scaled[1]) < min(scaled[0]) else "goes"
    start, end = (format_range(numbers) for numbers in scaled)
    text = f"{name_of(found, value)} {way} from {start} at {first[sweep]:g} to {end} {unit}".rstrip()
    of = f", in {len(ends)} sweeps" if len(ends) > 1 else ""
    return f"{text} at {plot.value_words(sweep, last[sweep])}{of}."


def _measured(found: Found, value: str) -> str:
    numbers = found.runs[value].drop_nulls()
    lowest, highest = float(numbers.min()), float(numbers.max())  # type: ignore[arg-type]
    factor, unit = units.fitting(column_in_words(found.study, value).unit, lowest, highest)
    low, high = rounded(lowest * factor), rounded(highest * factor)
    span = low if low == high else f"{low} to {high}"
    return f"{name_of(found, value)}: {span} {unit}".rstrip() + f" in {counted(numbers.len(), 'run')}."
