"""The answer of a study in sentences with numbers: how much more or less, how sure, in how many comparisons."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.metrics import ratio, scaling, units
from esxparse.recording import counted
from esxparse.reports.blocks import rounded
from esxparse.reports.study import shaped
from esxparse.reports.study.inputs import missing
from esxparse.studies import baseline
from esxparse.studies.named import named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esxparse.reports.study.gather import Found

_LINE_PCT: Final = 25.0
"""A sweep that reaches less than this of a straight line is not described by one."""
_RULES: Final = 2
"""Rules that are named of those that a load breaks."""
_SAME: Final = 5e-4
"""Less is no difference to anybody."""


def answer(found: Found) -> list[str]:
    """What the queries of the manifest and the shape say, the largest loads asked for, and a sentence for each value.

    Sentences of the manifest take the place of those on each value. If the shape lacks an input or has no answer, the
    values stand for themselves.
    """
    rest = {"own": shaped.sentences, "loads": _loads, "values": _values}
    follow = list(found.shape.follow) if found.shape else ["loads", "values"]
    if found.study.asked.answer and "values" in follow:
        follow.remove("values")
    elif missing(found.inputs) and "values" not in follow:
        follow.append("values")
    made = [text for one in (follow if "own" in follow else ("own", *follow)) for text in rest[one](found)]
    return made or _values(found)


def _loads(found: Found) -> list[str]:
    made = []
    others = [name for name in found.study.labels if name != found.sweep]
    for row in found.tolerated.iter_rows(named=True) if found.tolerated is not None else ():
        unit = named(found.study, row["tolerance"]).unit
        limit = f"{name_of(found, row['tolerance'])} of at most {row['limit']:g} {unit}".rstrip()
        load = row["largest_load"]
        told = f"the largest {found.sweep} is {rounded(load)}" if load is not None else f"no {found.sweep} keeps it"
        made.append(f"{_where(row, others)}at {limit}, {told} ({row['status']}).")
    for row in found.peaks.iter_rows(named=True) if found.peaks is not None else ():
        at = f"; {row['fails_at']:,g} break {_names(found, row['failed_rules'])}" if row["fails_at"] is not None else ""
        peak = row["peak_load"]
        told = f"{peak:,g} {found.sweep} keep every rule" if peak is not None else f"no {found.sweep} keeps every rule"
        made.append(f"{_where(row, others)}{told}{at}.")
    return made


def _where(row: Mapping[str, Any], labels: Sequence[str]) -> str:
    told = ", ".join(f"{row[name]}" if isinstance(row[name], str) else f"{name} {row[name]}" for name in labels)
    return f"{told}: " if told else ""


def _names(found: Found, columns: str) -> str:
    told = [name_of(found, name) for name in columns.split(", ")]
    more = f" and {len(told) - _RULES} more" if len(told) > _RULES else ""
    return ", ".join(told[:_RULES]) + more


def _values(found: Found) -> list[str]:
    """A sentence for each value: against the baseline, over the sweep, or what was measured."""
    if found.figures is not None:
        return _figures(found, found.figures)
    if found.compared:
        return [text for name in found.values if name in found.compared for text in _against(found, name)]
    if found.sweep:
        return [text for name in found.values for text in _along(found, name, found.sweep)]
    return [_measured(found, name) for name in found.values]


def name_of(found: Found, value: str) -> str:
    """A column as a word within a sentence: "IOPS", "latency mean", "CPU cost, used (cycles per I/O)"."""
    told = named(found.study, value)
    name, unit = told.name, told.unit
    text = name if name[:3].isupper() or name[1:2].isupper() else name[:1].lower() + name[1:]
    return f"{text} ({unit})" if "per" in unit else text


def _against(found: Found, value: str) -> list[str]:
    """Sentences on a value of each configuration, summed up over what they share with their baselines."""
    base = found.study.baseline
    table = found.compared[value]
    own = [name for name in found.study.labels if name in base] or list(found.study.labels)
    made = []
    for key, part in table.group_by(own, maintain_order=True):
        made.append(_compared(found, _who(dict(zip(own, key, strict=True))), _who(base), value, part))
    return made


def _who(labels: Mapping[str, Any]) -> str:
    """A configuration: its only label's value, if that is a word."""
    only = next(iter(labels.values())) if len(labels) == 1 else None
    return only if isinstance(only, str) else baseline.text(labels)


def _figures(found: Found, figures: pl.DataFrame) -> list[str]:
    """Sentences on figures of benchmarks: of each configuration their mean, the ends, how many are better or worse."""
    (label,) = found.study.baseline
    base = _who(found.study.baseline)
    made = []
    for (who,), part in figures.group_by(label, maintain_order=True):
        counted = {side: part.filter(pl.col("verdict") == side).height for side in ("worse", "better")}
        same = part.filter(pl.col("verdict") == "no difference shown").height
        alone = part.height - sum(counted.values()) - same
        pieces = [f"{count} {side}" for side, count in counted.items() if count]
        pieces += [f"{same} without a difference shown"] if same else []
        pieces += [f"{alone} of single runs"] if alone else []
        ends = part.filter(pl.col("performance") > 0).sort("performance")
        told = ""
        if ends.height:
            mean = 100 * ratio.geometric_mean(ends["performance"].to_list())
            told = f"performs at {mean:.3g} % of {base} (geometric mean of {ends.height} figures), "
            lowest, highest = (ends.row(place, named=True) for place in (0, -1))
            told += f"from {_figure(lowest)} to {_figure(highest)}: " if ends.height > 1 else ""
        made.append(f"{who} {told or f'against {base}, {part.height} figures: '}{', '.join(pieces)}.")
    return made


def _figure(row: Mapping[str, Any]) -> str:
    what = " ".join(row[name] for name in ("benchmark", "test", "metric") if row[name]).replace("_", " ")
    return f"{100 * row['performance']:.3g} % ({what})"


def _compared(found: Found, who: str, base: str, value: str, part: pl.DataFrame) -> str:
    name, better = name_of(found, value), named(found.study, value).better
    if part.height == 1:
        row = part.row(0, named=True)
        if row["verdict"] == "no difference shown":
            return f"{who} against {base}: no difference in {name} is shown ({_change(row['ratio'])}{_interval(row)})."
        return f"{who} against {base}: {name} is {_told(row, better)}."
    told = part.filter(pl.col("verdict") != "no difference shown")
    unsure = part.filter(pl.col("verdict").is_null()).height
    same = part.height - told.height - unsure
    if told.height == 1 and not unsure:
        row = told.row(0, named=True)
        at = _at(part, row, who)
        others = f"the other {same}" if same > 1 else "the other"
        return f"{who} against {base}: {name} is {_told(row, better)}, at {at}; no difference is shown in {others}."
    sides = []
    for side, rows in (("higher", told.filter(pl.col("ratio") > 1)), ("lower", told.filter(pl.col("ratio") < 1))):
        if rows.height:
            mean = ratio.geometric_mean(rows["ratio"].to_list()) if (rows["ratio"] > 0).all() else math.nan
            span = _span(rows["ratio"].to_list())
            worth = "" if not better else ", which is better" if side == better else ", which is worse"
            at = f"in {rows.height} of {part.height} comparisons"
            sides.append(f"{side} {at}, by {span}{_mean(mean, rows.height)}{worth}")
    if unsure:
        alone = "1 comparison of single runs, which" if unsure == 1 else f"{unsure} comparisons of single runs, which"
        sides.append(f"{_span_of(part)} in {alone} may be chance")
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
    return "" if low is None or high is None else f" [{_signed(low)}, {_signed(high)}]"


def _told(row: Mapping[str, Any], wanted: str) -> str:
    """A difference: how much, how sure, and whether it is for the better."""
    worth = (
        "" if not wanted else ", which is better" if (wanted == "higher") == (row["ratio"] > 1) else ", which is worse"
    )
    alone = "" if row["ratio_low"] is not None else "; with one run of each it may be chance"
    return f"{_change(row['ratio'])}{_interval(row)}{worth}{alone}"


def _span(ratios: Sequence[float]) -> str:
    changes = sorted(abs(100 * (one - 1)) for one in ratios)
    low, high = f"{changes[0]:.3g}", f"{changes[-1]:.3g}"
    return f"{low} %" if low == high else f"{low} to {high} %"


def _span_of(part: pl.DataFrame) -> str:
    shown = sorted(part.filter(pl.col("verdict").is_null())["ratio"].to_list())
    low, high = _signed(shown[0]), _signed(shown[-1])
    return f"{low} %" if low == high else f"{low} to {high} %"


def _signed(factor: float) -> str:
    return f"{100 * (factor - 1):+.3g}"


def _mean(mean: float, count: int) -> str:
    return f" (geometric mean {abs(100 * (mean - 1)):.3g} %)" if count > 1 and math.isfinite(mean) else ""


def _along(found: Found, value: str, sweep: str) -> list[str]:
    """How far a value grows in proportion to what is swept, summed up over the sweeps."""
    if named(found.study, value).better != "higher":
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
        # What falls, or hardly grows, is no straight line from 0: rates of larger I/Os, say.
        return [_ends_of(found, value, sweep, ends)]
    if len(ends) > 1:
        low, high = rounded(min(shares)), rounded(max(shares))
        told = f"{low} %" if low == high else f"{low} to {high} %"
        of = f"of a straight line through the least, in {len(ends)} sweeps"
        return [f"{name_of(found, value)} at the most {sweep} is {told} {of}."]
    ends_at = _ends_of(found, value, sweep, ends).removesuffix(".")
    return [f"{ends_at}: {rounded(shares[0])} % of what a straight line gives."]


def _ends_of(found: Found, value: str, sweep: str, ends: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> str:
    """Where a value begins and ends over a sweep; of several sweeps the range of both ends."""
    scaled = [[one[place][value] for one in ends] for place in (0, 1)]
    factor, unit = units.fitting(named(found.study, value).unit, *scaled[0], *scaled[1])

    def told(numbers: list[float]) -> str:
        low, high = rounded(min(numbers) * factor), rounded(max(numbers) * factor)
        return low if low == high else f"{low} to {high}"

    first, last = ends[0]
    way = "grows" if min(scaled[1]) > max(scaled[0]) else "falls" if max(scaled[1]) < min(scaled[0]) else "goes"
    text = (
        f"{name_of(found, value)} {way} from {told(scaled[0])} at {first[sweep]:g} to {told(scaled[1])} {unit}".rstrip()
    )
    of = f", in {len(ends)} sweeps" if len(ends) > 1 else ""
    return f"{text} at {last[sweep]:g} {sweep}{of}."


def _measured(found: Found, value: str) -> str:
    numbers = found.runs[value].drop_nulls()
    lowest, highest = float(numbers.min()), float(numbers.max())  # type: ignore[arg-type]
    factor, unit = units.fitting(named(found.study, value).unit, lowest, highest)
    low, high = rounded(lowest * factor), rounded(highest * factor)
    span = low if low == high else f"{low} to {high}"
    return f"{name_of(found, value)}: {span} {unit}".rstrip() + f" in {counted(numbers.len(), 'run')}."
