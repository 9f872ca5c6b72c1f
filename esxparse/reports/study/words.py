"""The answer of a study in sentences with numbers: how much more or less, how sure, in how many comparisons."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.metrics import ratio, scaling
from esxparse.studies import baseline
from esxparse.studies.export import heading
from esxparse.studies.plot import BETTER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esxparse.reports.study.gather import Found

_LINEAR_PCT: Final = 5.0
_SAME: Final = 5e-4
"""Less is no difference to anybody."""


def answer(found: Found) -> list[str]:
    """The largest loads, if they were asked for, and a sentence for each value."""
    return [*_loads(found), *_values(found)]


def published(found: Found) -> list[str]:
    """How many published figures come back, and the first of them; all that do not."""
    figures = found.published
    if figures is None or figures.is_empty():
        return []
    computed = figures.filter(pl.col("here").is_not_null())
    within, outside = computed.filter("within"), computed.filter(~pl.col("within"))
    told = [
        f"The published study says {_number(row['value'])} {row['unit']}".rstrip()
        + f' ("{row["claim"]}"); here {_number(row["here"])}, {_missed(row)}.'
        for row in (*within.head(1).iter_rows(named=True), *outside.iter_rows(named=True))
    ]
    return [f"{within.height} of {figures.height} published figures come back within their tolerance.", *told]


def _missed(row: Mapping[str, Any]) -> str:
    wide = f"{100 * row['tolerance']:.3g} %"
    if not row["within"]:
        return f"which is not within {wide}"
    return f"within {wide}" if row["tolerance"] > _SAME else "the same"


def _loads(found: Found) -> list[str]:
    made = []
    others = [name for name in found.study.labels if name != found.sweep]
    for row in found.tolerated.iter_rows(named=True) if found.tolerated is not None else ():
        limit = f"{name_of(row['tolerance'])} of at most {row['limit']:g} {heading(row['tolerance'])[1]}".rstrip()
        load = row["largest_load"]
        told = f"the largest {found.sweep} is {_number(load)}" if load is not None else f"no {found.sweep} keeps it"
        made.append(f"{_where(row, others)}at {limit}, {told} ({row['status']}).")
    for row in found.peaks.iter_rows(named=True) if found.peaks is not None else ():
        at = f"; {row['fails_at']:,g} break {_names(row['failed_rules'])}" if row["fails_at"] is not None else ""
        peak = row["peak_load"]
        told = f"{peak:,g} {found.sweep} keep every rule" if peak is not None else f"no {found.sweep} keeps every rule"
        made.append(f"{_where(row, others)}{told}{at}.")
    return made


def _number(value: float) -> str:
    """About four digits, never with an exponent.

    >>> _number(182_345.6), _number(99.3), _number(0.01234)
    ('182,346', '99.3', '0.01234')
    """
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:,.4g}"  # noqa: PLR2004


def _where(row: Mapping[str, Any], labels: Sequence[str]) -> str:
    told = ", ".join(f"{row[name]}" if isinstance(row[name], str) else f"{name} {row[name]}" for name in labels)
    return f"{told}: " if told else ""


def _names(columns: str) -> str:
    return ", ".join(name_of(name) for name in columns.split(", "))


def _values(found: Found) -> list[str]:
    """A sentence for each value: against the baseline, over the sweep, or what was measured."""
    if found.figures is not None:
        return _figures(found, found.figures)
    if found.compared:
        return [text for name in found.values if name in found.compared for text in _against(found, name)]
    if found.sweep:
        return [text for name in found.values for text in _along(found, name, found.sweep)]
    return [_measured(found, name) for name in found.values]


def name_of(value: str) -> str:
    """A column as a word within a sentence.

    >>> name_of("iops"), name_of("latency_mean_ms"), name_of("used_cycles_per_io")
    ('IOPS', 'latency mean', 'CPU cost, used (cycles per I/O)')
    """
    name, unit = heading(value)
    text = name if name[:3].isupper() or name[1:2].isupper() else name[:1].lower() + name[1:]
    return f"{text} ({unit})" if "per" in unit else text


def _against(found: Found, value: str) -> list[str]:
    """Sentences on a value of each configuration, summed up over what they share with their baselines."""
    base = found.study.baseline
    table = found.compared[value]
    own = [name for name in found.study.labels if name in base] or list(found.study.labels)
    made = []
    for key, part in table.group_by(own, maintain_order=True):
        made.append(_compared(_who(dict(zip(own, key, strict=True))), _who(base), value, part))
    return made


def _who(labels: Mapping[str, Any]) -> str:
    """A configuration: its only label's value, if that is a word."""
    only = next(iter(labels.values())) if len(labels) == 1 else None
    return only if isinstance(only, str) else baseline.text(labels)


def _figures(found: Found, figures: pl.DataFrame) -> list[str]:
    """Sentences on the figures of benchmarks: of each configuration how many are better or worse, and the ends."""
    (label,) = found.study.baseline
    base = _who(found.study.baseline)
    made = []
    for (who,), part in figures.group_by(label, maintain_order=True):
        told = part.filter(pl.col("verdict").is_in(["better", "worse"])).sort("performance")
        same = part.filter(pl.col("verdict") == "no difference shown").height
        alone = part.height - told.height - same
        pieces = [f"{told.filter(verdict=side).height} {side}" for side in ("worse", "better")]
        pieces += [f"{same} without a difference shown"] if same else []
        pieces += [f"{alone} of one run each"] if alone else []
        ends = part.filter(pl.col("performance") > 0).sort("performance")
        worst = f"; lowest: {_figure(ends.row(0, named=True))}" if ends.height else ""
        best = f"; highest: {_figure(ends.row(-1, named=True))}" if ends.height > 1 else ""
        made.append(f"{who} against {base}, {part.height} figures: {', '.join(pieces)}{worst}{best}.")
    return made


def _figure(row: Mapping[str, Any]) -> str:
    what = " ".join(row[name] for name in ("benchmark", "test", "metric") if row[name])
    return f"{what} performs at {100 * row['performance']:.3g} %"


def _compared(who: str, base: str, value: str, part: pl.DataFrame) -> str:
    name = name_of(value)
    if part.height == 1:
        row = part.row(0, named=True)
        if row["verdict"] == "no difference shown":
            return f"{who} against {base}: no difference in {name} is shown ({_change(row['ratio'])}{_interval(row)})."
        return f"{who} against {base}: {name} is {_change(row['ratio'])}{_interval(row)}{_better(value, row['ratio'])}."
    told = part.filter(pl.col("verdict") != "no difference shown")
    unsure = part.filter(pl.col("verdict").is_null()).height
    same = part.height - told.height - unsure
    if told.height == 1 and not unsure:
        row = told.row(0, named=True)
        at = _at(part, row, who)
        change = f"{_change(row['ratio'])}{_interval(row)}{_better(value, row['ratio'])}"
        return f"{who} against {base}: {name} is {change}, at {at}; no difference is shown in the other {same}."
    sides = []
    for side, rows in (("higher", told.filter(pl.col("ratio") > 1)), ("lower", told.filter(pl.col("ratio") < 1))):
        if rows.height:
            mean = ratio.geometric_mean(rows["ratio"].to_list()) if (rows["ratio"] > 0).all() else math.nan
            span = _span(rows["ratio"].to_list())
            sides.append(f"{side} in {rows.height} of {part.height} comparisons, by {span}{_mean(mean, rows.height)}")
    if unsure:
        sides.append(f"not told apart from chance in {unsure}, which have too few repetitions ({_span_of(part)})")
    if not sides:
        return f"{who} against {base}: no difference in {name} is shown in any of {part.height} comparisons."
    more = f"; no difference is shown in {same}" if same else ""
    return f"{who} against {base}: {name} is {', '.join(sides)}{more}."


def _at(part: pl.DataFrame, row: Mapping[str, Any], who: str) -> str:
    """What makes a configuration different from the others."""
    labels = part.columns[: part.columns.index("quantity")]
    vary = [name for name in labels if part[name].n_unique() > 1 and str(row[name]) != who]
    return _where(row, vary).removesuffix(": ") or "one of them"


def _change(factor: float) -> str:
    """A ratio in words: percent, and from three times on how many times."""
    if abs(factor - 1) < _SAME:
        return "the same"
    if factor >= 3:  # noqa: PLR2004  percentages of hundreds say nothing to anybody
        return f"{factor:.3g} times as high"
    change = 100 * (factor - 1)
    return f"{abs(change):.3g} % {'higher' if change > 0 else 'lower'}"


def _interval(row: Mapping[str, Any]) -> str:
    low, high = row["ratio_low"], row["ratio_high"]
    if low is None or high is None:
        return ", one run each, so without an interval"
    return f" [{_signed(low)}, {_signed(high)}]"


def _better(value: str, factor: float) -> str:
    wanted = BETTER.get(value)
    if not wanted:
        return ""
    return ", which is better" if (wanted == "higher") == (factor > 1) else ", which is worse"


def _span(ratios: Sequence[float]) -> str:
    changes = sorted(abs(100 * (one - 1)) for one in ratios)
    low, high = f"{changes[0]:.3g}", f"{changes[-1]:.3g}"
    return f"{low} %" if low == high else f"{low} to {high} %"


def _span_of(part: pl.DataFrame) -> str:
    shown = part.filter(pl.col("verdict").is_null())["ratio"]
    return f"{_signed(shown.min())} to {_signed(shown.max())} %"  # type: ignore[arg-type]


def _signed(factor: float) -> str:
    return f"{100 * (factor - 1):+.3g}"


def _mean(mean: float, count: int) -> str:
    return f" (geometric mean {abs(100 * (mean - 1)):.3g} %)" if count > 1 and math.isfinite(mean) else ""


def _along(found: Found, value: str, sweep: str) -> list[str]:
    """How far a value grows in proportion to what is swept, summed up over the sweeps."""
    if BETTER.get(value) != "higher":
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
    if len(ends) > 1:
        low, high = _number(min(shares)), _number(max(shares))
        told = f"{low} %" if low == high else f"{low} to {high} %"
        of = f"of a straight line through the least, in {len(ends)} sweeps"
        return [f"{name_of(value)} at the most {sweep} is {told} {of}."]
    first, last = ends[0]
    unit = heading(value)[1]
    return [
        f"{name_of(value)} grows from {_number(first[value])} at {first[sweep]:g} to "
        f"{_number(last[value])} {unit}".rstrip()
        + f" at {last[sweep]:g} {sweep}: {_number(shares[0])} % of what a straight line gives."
    ]


def _measured(found: Found, value: str) -> str:
    numbers = found.runs[value].drop_nulls()
    _, unit = heading(value)
    low, high = _number(numbers.min()), _number(numbers.max())  # type: ignore[arg-type]
    span = low if low == high else f"{low} to {high}"
    return f"{name_of(value)}: {span} {unit}".rstrip() + f" in {numbers.len()} runs."
