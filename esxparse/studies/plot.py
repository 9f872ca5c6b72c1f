"""A column of a study as a chart: the choice of the swept label, the series, and the panels.

By default the swept label is the numeric one with the most values, and the series are the values of the baseline's
label. Every other label that varies makes a panel for each of its values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import polars as pl

from esxparse.charts.names import with_value
from esxparse.charts.reduce import SWEEP
from esxparse.errors import EsxparseError
from esxparse.studies import baseline
from esxparse.studies.export import column_in_words, heading
from esxparse.studies.report_section import Computed

if TYPE_CHECKING:
    import altair as alt

MOST_PANELS: Final = 12
_MOST_SERIES: Final = 8
_ROOM: Final = 0.1


Style = Literal["plain", "linear", "relative", "change"]
"""Style of a value: plain; with a straight line through its smallest place; as its ratio to the baseline, with a line
at 1; or as its difference from the baseline, in percent."""


def charts(
    study: Computed,
    y: str,
    x: str | None,
    by: str | Sequence[str] | None,
    where: Mapping[str, Any],
    style: Style = "plain",
    width: int | None = None,
    ends: tuple[float, float] | None = None,
    limit: float | None = None,
) -> list[alt.LayerChart]:
    """Return a chart for each panel, all with one scale and the same colours; see `Study.plot`.

    Without a `width` each chart fills its container. `ends`: ends of the value axis, if charts of other values share
    it (`reach`). `limit`: limit of the value, drawn as a dashed line.
    """
    from esxparse.charts import study as builder  # noqa: PLC0415  altair takes more than a second

    points = _points(study, y, where, style)
    every = points.height
    points, place, series, panels = roles(points, study, x, by)
    points = _chart_points(points, place, series, panels)
    if style == "linear" and points["place"].dtype.is_numeric():
        points = points.with_columns(_straight())
    made = []
    low, high = ends or _ends(points, style)
    level = {"relative": 1.0, "change": 0.0}.get(style, limit)
    if limit is not None and style in {"plain", "linear"}:
        low, high, level = builder.with_level(low, high, limit)
    value = column_in_words(study, y)
    for (panel,), part in points.group_by("panel", maintain_order=True):
        subtitle = [*_subtitle(study, y, part, style, level), *_left_out(every - points.height)]
        name = _name(study, value.name, style)
        title = f"{name} by {label_words(place)[0]}" + (f": {panel}" if panel else "")
        name += f", {panel}" if panel else ""
        unit = unit_of(study, y, style) or value.name
        made.append((part, builder.Words(title, name, unit, axis_words(place), tuple(subtitle))))
    names = points["label"].unique(maintain_order=True).to_list()
    dots = style == "relative"
    return [builder.chart(part, words, names, (low, high), width, level, dots=dots) for part, words in made]


def reach(study: Computed, y: str, style: Style) -> tuple[float, float]:
    """Return the ends of a value axis for all points of a column."""
    try:
        return _ends(_points(study, y, {}, style), style)
    except EsxparseError:
        return 0.0, 0.0  # nothing to draw


def unit_of(study: Computed, y: str, style: Style) -> str:
    """Return the unit of the drawn value."""
    if style == "change":
        return f"% against {_base(study)}"
    return f"ratio to {_base(study)}" if style == "relative" else column_in_words(study, y).unit


def _base(study: Computed) -> str:
    labels = study.baseline.items()
    return " ".join(f"{name} {value}" if isinstance(value, int | float) else str(value) for name, value in labels)


def _points(study: Computed, y: str, where: Mapping[str, Any], style: Style) -> pl.DataFrame:
    """Return mean and error bar of each configuration: the range of its repetitions, or the interval of its ratio."""
    if style in {"relative", "change"}:
        found = study.compare(y).filter(~pl.col("is_baseline")).rename({"ratio": "value"})
        found = found.rename({"ratio_low": "low", "ratio_high": "high"})
        if style == "change":
            found = found.with_columns((100 * (pl.col(name) - 1)).alias(name) for name in ("value", "low", "high"))
    else:
        value = pl.col(y)
        found = (
            study.repetitions(y)
            .filter(value.is_not_null())
            .group_by(study.labels, maintain_order=True)
            .agg(value.mean().alias("value"), value.min().alias("low"), value.max().alias("high"), runs=pl.len())
            .with_columns(pl.when(pl.col("runs") > 1).then(name).alias(name) for name in ("low", "high"))
        )
    for name, wanted in where.items():
        found = found.filter(pl.col(study.label(name)).is_in(wanted if isinstance(wanted, list | tuple) else [wanted]))
    points = found.filter(pl.col("value").is_not_null()).collect()
    if points.is_empty():
        condition = f" where {baseline.text(where)}" if where else ""
        raise EsxparseError(f"no run in {study.path} has a number for {y}{condition}: nothing to plot")
    return points


def roles(
    points: pl.DataFrame, study: Computed, x: str | None = None, by: str | Sequence[str] | None = None
) -> tuple[pl.DataFrame, str, list[str], list[str]]:
    """Return the points to draw, the label on the axis, the labels of the series, and the labels of the panels."""
    series = None if by is None else [by] if isinstance(by, str) else list(by)
    for name in (*([x] if x else []), *(series or ())):
        study.label(name)
    if not study.labels:
        raise EsxparseError(f"the runs of {study.path} have no label to plot over")
    x = x or _swept_label(points, study, series or ())
    others = [name for name in study.labels if name != x]
    if is_sweep(points, x):
        # In a study of several sweeps, points that vary another label belong to another chart.
        sweeps = points.filter(pl.col(x).n_unique().over(others) > 1) if others else points
        points = points if sweeps.is_empty() else sweeps
    rest = [name for name in others if points[name].n_unique() > 1 and name not in (series or ())]
    if series is None:
        series = [name for name in rest if name in study.baseline]
        if not series and rest and points.select(rest).n_unique() <= _MOST_SERIES:
            series = rest
        elif not series and rest:
            few = [name for name in rest if points[name].n_unique() <= _MOST_SERIES] or rest
            series = [max(few, key=lambda name: points[name].n_unique())]
        rest = [name for name in rest if name not in series]
    panels = points.select(rest).n_unique() if rest else 1
    if panels > MOST_PANELS:
        by_panel = " and ".join(rest)
        msg = f"{panels} panels, one for each {by_panel}: choose some with where={{{rest[0]!r}: ...}}, "
        msg += f"or name {by_panel} in by"
        raise EsxparseError(msg)
    return points, x, series, rest


def _swept_label(points: pl.DataFrame, study: Computed, taken: Sequence[str]) -> str:
    """Return the numeric label of the axis with the most values; without a swept number, the label with the most."""
    count = {name: points[name].n_unique() for name in study.labels if name not in taken}
    vary = [name for name in count if count[name] > 1] or list(study.labels)
    axis = [name for name in vary if name in study.axis] or [n for n in vary if n not in study.baseline] or vary
    sweeps = [name for name in axis if is_sweep(points, name)]
    return max(sweeps or axis, key=lambda name: count.get(name, 0))


def is_sweep(points: pl.DataFrame, name: str) -> bool:
    """Return whether a label is numeric with enough values for a curve."""
    return points[name].dtype.is_numeric() and points[name].n_unique() >= SWEEP


def _chart_points(points: pl.DataFrame, x: str, series: Sequence[str], panels: Sequence[str]) -> pl.DataFrame:
    place = pl.col(x)
    if not is_sweep(points, x):
        place = place.cast(pl.String)
    label = (
        pl.concat_str([value_expression(name, points) for name in series], separator=", ") if series else pl.lit("all")
    )
    panel = pl.concat_str([value_expression(name, points) for name in panels], separator=", ") if panels else pl.lit("")
    # Texts stay in the order of the manifest.
    order = [name for name in (*panels, *series, x) if points[name].dtype.is_numeric()]
    return (points.sort(order, maintain_order=True) if order else points).select(
        place.alias("place"), label.alias("label"), panel.alias("panel"), "value", "low", "high", "runs"
    )


def value_expression(name: str, points: pl.DataFrame) -> pl.Expr:
    """Return a value of a label in words: numbers and booleans with their name and unit."""
    text = pl.col(name).cast(pl.String).fill_null("none")
    if points[name].dtype == pl.String:
        return text
    if points[name].dtype.is_numeric():
        values = points[name].drop_nulls().unique()
        texts = [value_words(name, value) for value in values]
        return pl.col(name).replace_strict(
            values, pl.Series(texts, dtype=pl.String), default=f"{label_words(name)[0]} none"
        )
    return pl.concat_str([pl.lit(f"{label_words(name)[0]} "), text])


_WORDS: Final = {"vms": "VMs", "vcpus": "vCPUs", "cpus": "CPUs", "pcpus": "PCPUs", "nics": "NICs", "luns": "LUNs"}
"""Labels that people write in capitals."""


def label_words(name: str) -> tuple[str, str]:
    """Return the words of a label, and its unit.

    >>> label_words("size_kib"), label_words("vms")
    (('size', 'KiB'), ('VMs', ''))
    """
    word, unit = heading(name)
    return (word[:1].lower() + word[1:], unit) if unit else (_WORDS.get(name, name.replace("_", " ")), "")


def axis_words(name: str) -> str:
    """Return the title of an axis of a label.

    >>> axis_words("size_kib"), axis_words("vms")
    ('size [KiB]', 'VMs')
    """
    word, unit = label_words(name)
    return f"{word} [{unit}]" if unit else word


def number_words(name: str) -> str:
    """Return the meaning of a label's value: a number of things, or the label itself.

    >>> number_words("vms"), number_words("depth"), number_words("size_kib")
    ('number of VMs', 'depth', 'size')
    """
    word, unit = label_words(name)
    return f"number of {word}" if word.endswith("s") and not unit else word


def value_words(name: str, value: object) -> str:
    """Return a value of a label in words.

    >>> value_words("vms", 4), value_words("vms", 1), value_words("size_kib", 64), value_words("depth", 32)
    ('4 VMs', '1 VM', 'size 64 KiB', 'depth 32')
    """
    word, unit = label_words(name)
    text = f"{value:g}" if isinstance(value, int | float) else str(value)
    return with_value(word, unit, text, single=value == 1)


def _straight() -> pl.Expr:
    """Return the line through the smallest place of each series."""
    first = pl.col("place").min()
    at_first = pl.col("value").filter(pl.col("place") == first).mean()
    return (at_first / first * pl.col("place")).over("panel", "label").alias("linear")


def _left_out(count: int) -> tuple[str, ...]:
    if not count:
        return ()
    points = "1 point that varies something else is" if count == 1 else f"{count} points that vary something else are"
    return (f"{points} left out",)


def _ends(points: pl.DataFrame, style: Style) -> tuple[float, float]:
    """Return the ends of the value axis."""
    from esxparse.charts import study as builder  # noqa: PLC0415  altair takes more than a second

    if style == "relative":
        return builder.ends_around(points, 1.0)
    low, high = builder.ends_from_0(points)
    room = _ROOM * (high - low) if style == "change" else 0.0
    return low - room * (low < 0), high + room * (high > 0)


def _name(study: Computed, name: str, style: Style) -> str:
    against = {"relative": f", ratio to {_base(study)}", "change": f", change against {_base(study)}"}.get(style, "")
    return f"{name}{against}"


def _subtitle(study: Computed, y: str, points: pl.DataFrame, style: Style, level: float | None) -> list[str]:
    bars = points["low"].drop_nulls().len() > 0
    if style in {"relative", "change"}:
        parts = [f"dashed: {baseline.text(study.baseline)}"] if style == "relative" else []
        parts += ["line: 95 % interval"] if bars else ["one run of each: no interval"]
    else:
        least, most = (points["runs"].sort()[place] for place in (0, -1))
        runs = f"{most}" if least == most else f"{least} to {most}"
        parts = [f"mean of {runs} runs, line: lowest to highest" if bars else "one run at each point"]
        parts += ["dotted: straight through the smallest"] if style == "linear" else []
        parts += [f"dashed: at most {level:g} {column_in_words(study, y).unit}".rstrip()] if level is not None else []
    better = column_in_words(study, y).better
    return [*([f"{better} is better"] if better else []), *parts]
