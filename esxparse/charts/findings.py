"""Charts of findings: the series of a trouble with its spell, and compared runs of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

import altair as alt
import polars as pl

from esxparse import clock
from esxparse.charts import marks, reduce
from esxparse.charts.names import shorten
from esxparse.charts.theme import colour, colours
from esxparse.metrics import over_time
from esxparse.recording import figure, first_few

MAX_OTHERS: Final = 6
"""Most grey objects beside the ones at fault."""
MAX_FAULT: Final = 3
"""Most objects at fault that get a colour."""
_SHADE: Final = 0.14
_BAR: Final = 26
_NARROW: Final = 18
"""Letters of a legend's label with which two labels fit side by side on a telephone."""
_RANGE: Final = {"change_pct": "geometric mean", "least_pct": "least", "most_pct": "most"}
_EDGE: Final = 0.05
"""Share of a chart's width from an end within which a word is moved inwards."""
_WITH_WORD: Final = {"left": 4, "right": 12, "top": 16, "bottom": 4}
"""Pixels around a chart with a word above it."""
_PEAKS: Final = 1.5
_UNIT_IN_TITLES: Final = {"1/s": "/s", "commands": "", "count": "", "0 or 1": "", "0 to 255": "", "ratio": "", "": ""}


class Evidence(NamedTuple):
    """One series of all objects of a kind, and the spell of some of them.

    table: `time`, `name`, `value`, one row per sample and object
    fault: names of the objects that a finding is about, the worst first
    start, end: of the spell
    words, screen, unit: the series in words, its name in esxtop (empty if it has none), its unit
    noun: the object in a word: VM, device, port ...
    levels: limits of a rule on the series
    level: the worst level of the objects at fault by that rule; empty without a rule
    """

    table: pl.DataFrame
    fault: tuple[str, ...]
    start: datetime
    end: datetime
    words: str
    screen: str
    unit: str
    noun: str
    levels: marks.Levels | None = None
    level: str = ""


def spell(seen: Evidence) -> alt.LayerChart | None:
    """Draw the series over time: objects at fault in colour, others grey, the spell shaded, limits as lines."""
    table = over_time.with_covered(seen.table.lazy()).filter(pl.col("value").is_not_null()).collect()
    fault = [name for name in seen.fault[:MAX_FAULT] if name in set(table["name"])]
    if not fault:
        return None
    labelled = reduce.with_labels(table.rename({"name": "full"}).lazy(), "full")
    rest = labelled.filter(~pl.col("full").is_in(fault))
    grey = reduce.leaders(rest, "label", "value", MAX_OTHERS, "max")
    mine = labelled.filter(pl.col("full").is_in(fault)).select("full", "label").unique().collect()
    order = dict(mine.rows())
    labels = [order[name] for name in fault]
    chosen = [*labels, *grey.chosen]
    reduced = reduce.over_time(labelled.filter(pl.col("label").is_in(chosen)), ["value"], ["label", "full"])
    # Objects at fault are drawn last, over the others.
    last = pl.col("label").is_in(labels)
    reduced = reduced._replace(frame=reduced.frame.sort(last, "label", "time"))
    many = f"{seen.noun}s" if grey.total != 1 else seen.noun
    beside = f"grey: {_of(len(grey.chosen), grey.total)} other {many}" if grey.chosen else ""
    # A finding may be milder than its series: it is capped if a counter it needs is missing.
    judged = {"": "", "ok": "within its limits"}.get(seen.level, f"beyond its {seen.level} limit")
    parts = ("shaded: the spell", judged, beside, reduced.caption)
    title = f"{_who(seen.noun, fault)}: {_change(seen, table, fault[0])}"
    # The title has the words: an axis has room for a few letters.
    axis = ", ".join(part for part in (seen.screen or _capital(seen.words), seen.unit) if part)
    look = marks.Look(
        title=marks.heading(title, *parts),
        description=f"{title}. The spell lasts from {clock.spell(seen.start, seen.end)} UTC.",
        axis=axis,
        noun=seen.noun,
        unit=seen.unit,
        levels=seen.levels,
        palette=[*colours(len(labels)), *[colour("rest")] * len(grey.chosen)],
        legend=labels if len(labels) > 1 else False,
    )
    chart = marks.over_time(reduced, "value", chosen, look)
    times = table["time"].unique().sort()
    # A sample describes the interval that ends at its time.
    step = times.diff().drop_nulls().median() if len(times) > 1 else None
    begin = max(seen.start - step, times[0]) if isinstance(step, timedelta) else seen.start
    kinds = dict.fromkeys(("time", "end"), table.schema["time"])
    data = pl.DataFrame({"time": [begin], "end": [seen.end]}, schema=kinds)
    shade = (
        alt.Chart(reduce.rounded(data))
        .mark_rect(color=colour("warn"), opacity=_SHADE)
        .encode(marks.time_x(times), alt.X2("end:T"))
    )
    chart.layer.insert(0, shade)
    if word := _name_of_spell(begin, seen.end, times):
        chart.layer += word
        chart.padding = _WITH_WORD
    chart.usermeta = {"fault": fault, "level": seen.level}
    return chart


def _name_of_spell(begin: datetime, end: datetime, times: pl.Series) -> list[alt.Chart]:
    """Return the word above the shaded time, clear of lines and limits; empty if the whole chart is shaded."""
    first, last = times[0], times[-1]
    if begin <= first and end >= last:
        return []
    middle = begin + (end - begin) / 2
    room = _EDGE * (last - first)
    side: Literal["left", "center", "right"] = "left" if middle - first < room else "center"
    side = "right" if last - middle < room else side
    data = pl.DataFrame({"time": [middle], "word": ["spell"]}, schema_overrides={"time": times.dtype})
    word = alt.Chart(reduce.rounded(data)).mark_text(align=side, baseline="bottom", color=colour("muted"))
    return [word.encode(marks.time_x(times), alt.Y(value=-2), alt.Text("word:N"))]


def sweep(points: pl.DataFrame, *, factor: str, unit: str, title: str) -> alt.LayerChart | None:
    """Draw the results of runs by a label, a line for each setting of the others; slow runs are marked.

    `points`: `level` (of the label `factor`), `label` (the setting), `mean`, `low`, `high` (over the repetitions),
    `slow`, in the order to draw, the slow runs' own setting first. `unit`: of the three. `title`: the result in words.
    """
    if points.is_empty():
        return None
    names = points["label"].unique(maintain_order=True).to_list()
    levels = points["level"].unique(maintain_order=True).cast(pl.String).to_list()
    first = pl.col("label") == names[0]
    drawn = points.with_columns(pl.col("level").cast(pl.String), dash=pl.when(first).then(0).otherwise(1))
    base = alt.Chart(reduce.rounded(drawn))
    x = alt.X("level:N", title=factor, sort=levels, axis=alt.Axis(labelAngle=0), scale=alt.Scale(domain=levels))
    hue = marks.series_colour(names).legend(symbolOpacity=1, columns=2 if max(map(len, names)) <= _NARROW else 1)
    y = alt.Y("mean:Q", title=unit, scale=alt.Scale(zero=True))
    tips = [
        alt.Tooltip("label:N", title="runs"),
        alt.Tooltip("level:N", title=factor),
        *(marks.number_tip(name, f"{name}, {unit}") for name in ("mean", "low", "high")),
    ]
    spread = base.mark_rule().encode(x, alt.Y("low:Q", title=unit), alt.Y2("high:Q"), hue)
    # Dashes over a solid line show both if runs reach the same.
    solid = base.transform_filter(alt.datum.dash == 0).mark_line(strokeWidth=3).encode(x, y, hue)
    dashed = base.transform_filter(alt.datum.dash == 1).mark_line(strokeDash=[5, 4]).encode(x, y, hue)
    dots = base.mark_point(filled=True, size=60).encode(x, y, hue, tooltip=tips)
    slow = base.transform_filter(alt.datum.slow).mark_point(size=190, strokeWidth=2, color=colour("critical"))
    ranged = "upright bars: lowest to highest repetition" if (drawn["high"] > drawn["low"]).any() else ""
    layers = [solid, dashed, spread, dots, slow.encode(x, y, tooltip=tips)]
    return marks.layered(layers, marks.heading(title, "rings: slow runs", ranged), title)


def experiments(bars: pl.DataFrame, *, unit: str, title: str) -> alt.LayerChart | None:
    """Draw slow runs against fast ones, as they are and with one thing changed; a line marks equal speed.

    `bars`: `label`, `value` (% of the fast runs), `outcome` (slow runs, as slow, less slow, not slow), in order.
    `unit`: title of the axis. `title`: the result in words.
    """
    if bars.is_empty():
        return None
    hues = {"slow runs": "critical", "as slow": "orange", "less slow": "sand", "not slow": "blue"}
    base = alt.Chart(reduce.rounded(bars)).encode(marks.label_y(bars["label"].to_list()))
    hue = _outcomes(bars, hues)
    top = max(100.0, *bars["value"].to_list()) * 1.12
    x = alt.X("value:Q", title=unit, scale=alt.Scale(domain=[0, top], nice=False))
    tips = [alt.Tooltip("label:N", title="runs"), marks.number_tip("value", "% of the fast runs", 1)]
    drawn = base.mark_bar(height=alt.RelativeBandSize(0.62)).encode(x, hue, tooltip=tips)
    numbers = base.mark_text(align="left", dx=4).encode(x, text=alt.Text("value:Q", format=",.0f"))
    fast = alt.Chart(pl.DataFrame({"at": [100.0]})).mark_rule(strokeDash=[6, 4], color=colour("muted")).encode(x="at:Q")
    parts = ("against fast runs with the same change", "dashed: as fast as they are")
    return marks.layered([drawn, numbers, fast], marks.heading(title, *parts), title, max(bars.height, 2) * _BAR + 8)


def changes(rows: pl.DataFrame, *, title: str) -> alt.LayerChart | None:
    """Draw the change of each measure against a baseline, in percent, with its range over the configurations.

    `rows`: `label`, `change_pct`, `least_pct`, `most_pct`, `outcome` (better, worse, differs, no difference shown), in
    order. `title`: the comparison in words.
    """
    if rows.is_empty():
        return None
    hues = {"better": "teal", "worse": "critical", "differs": "blue", "no difference shown": "rest"}
    base = alt.Chart(reduce.rounded(rows)).encode(marks.label_y(rows["label"].to_list()))
    hue = _outcomes(rows, hues)
    x = alt.X("change_pct:Q", title="change, %", scale=alt.Scale(zero=True))
    tips = [
        alt.Tooltip("label:N", title="measure"),
        *(marks.number_tip(name, f"{word}, %", 1) for name, word in _RANGE.items()),
    ]
    bars = base.mark_bar(height=alt.RelativeBandSize(0.62)).encode(x, hue, tooltip=tips)
    spread = base.mark_rule(color=colour("ink")).encode(alt.X("least_pct:Q"), alt.X2("most_pct:Q"))
    zero = alt.Chart(pl.DataFrame({"at": [0.0]})).mark_rule(color=colour("axis")).encode(x="at:Q")
    ranged = "thin line: range over configurations" if (rows["least_pct"] < rows["most_pct"]).any() else ""
    return marks.layered([bars, spread, zero], marks.heading(title, ranged), title, max(rows.height, 2) * _BAR + 8)


def _outcomes(rows: pl.DataFrame, hues: Mapping[str, str]) -> alt.Color:
    """Return the colours of outcomes; only outcomes in the rows appear in the legend."""
    there = set(rows["outcome"])
    return marks.kinds_colour("outcome", {word: hue for word, hue in hues.items() if word in there})


def _of(some: int, total: int) -> str:
    return str(total) if some == total else f"the highest {some} of {total}"


def _who(noun: str, fault: Sequence[str]) -> str:
    if noun == "host":
        return "The host"
    name = first_few(list(map(shorten, fault)), 1)
    return name if noun == "VM" else f"{_capital(noun)} {name}"


def _change(seen: Evidence, table: pl.DataFrame, name: str) -> str:
    """Return the series in a few words: its level in the spell, and outside it."""
    mine = table.filter(pl.col("name") == name)
    inside, value = pl.col("time").is_between(seen.start, seen.end), pl.col("value")
    then = mine.filter(inside).select(over_time.mean(value)).item()
    else_ = mine.filter(~inside).select(over_time.quantile(value, 0.5)).item()
    if then is None:
        return seen.words
    unit = _UNIT_IN_TITLES.get(seen.unit, f" {seen.unit}")
    if seen.unit.startswith("%"):
        unit = " %"
    level_text = f"{seen.words} {figure(then)}{unit}"
    if else_ is not None:
        return f"{level_text} on average in the spell, median {figure(else_)} outside"
    peak = mine.select(value.max()).item()
    return f"{level_text} on average" + (f", up to {figure(peak)}" if peak > _PEAKS * then else "")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:] if text.split(maxsplit=1)[0].islower() else text
