"""Heat maps of many objects over time: who was in trouble, and when, at a glance.

A row is a VM or a host, the worst first; a cell is the highest value of its time. A thin line marks times without
measurements: a missing value is not 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import altair as alt
import polars as pl

from esxparse.charts import marks
from esxparse.charts.marks import Levels
from esxparse.charts.reduce import Leaders, leaders, over_time, rounded, spoken, with_labels
from esxparse.charts.theme import HEAT, colour
from esxparse.metrics.frames import completed
from esxparse.recording import counted

FEWEST: Final = 4
"""Fewer VMs or hosts have no heat map: lines show them better."""
MOST: Final = 40
"""Most rows."""
_CELLS: Final = 1600
_MOST_BINS: Final = 60
_LABEL: Final = 24
"""Letters of a name beside its row."""
_ROW: Final = 14
"""Height of a row, pixels."""
_ABOVE: Final = 40
_DAY: Final = 86_400
_GAP: Final = 1.5
"""Steps between two values of a row above which a value between them is missing."""
_SHARES: Final = (0.1, 0.25, 0.5, 1.0)
"""Edges of the classes below a limit, as shares of it."""
_USE: Final = (10.0, 25.0, 50.0, 75.0, 90.0)
"""Edges of the classes of CPU use, %."""


class Measure(NamedTuple):
    """The measure of a heat map of VMs: a column of the table `vm`, its title, unit and meaning."""

    column: str
    title: str
    unit: str
    meaning: str
    of_work: bool = False
    """Whether 0 means that there was no work to measure."""


MEASURES: Final = {
    "ready": Measure("contention_pct", "Ready time", "%", "ready to run, no physical CPU free, per vCPU"),
    "costop": Measure("costop_pct", "Co-stop", "%", "stopped until sibling vCPUs catch up, per vCPU"),
    "latency": Measure(
        "worst_disk_ms", "Highest disk latency", "ms", "reads or writes of the slowest virtual disk", of_work=True
    ),
    "cpu": Measure("used_pct", "CPU use", "%", "of one core, per vCPU"),
}
"""Measures of `vms`, by name."""


def vms(vms: pl.LazyFrame | None, measure: str, levels: Levels | None = None) -> alt.LayerChart | None:
    """Draw every VM over time, the one with the highest sample first.

    None for fewer than `FEWEST` VMs, or if all values are in the lowest class. `vms`: the table `vm`: `time, instance`
    and the column of the measure. `measure`: a key of `MEASURES`. `levels`: threshold that gives the classes their
    edges: from the fifth colour on a value is past the first limit.
    """
    if vms is None:
        return None
    kind = MEASURES[measure]
    labelled = with_labels(completed(vms, kind.column), "instance", width=_LABEL)
    value = pl.col(kind.column)
    frame = labelled.select("time", "label", value=pl.when(value > 0).then(value) if kind.of_work else value)
    drawing = grid(frame, "VM", kind.unit, levels)
    if drawing.chosen.total < FEWEST:
        return None
    cell_meaning = f"cell: highest sample of {spoken(drawing.step)}" if drawing.gathered else "cell: one sample"
    peaks = frame.group_by("label").agg(high=pl.col("value").max()).drop_nulls().collect()
    return _drawn(drawing, f"{kind.title} of all VMs", peaks, (cell_meaning, kind.meaning))


def hosts(days: pl.DataFrame, levels: Levels | None = None) -> alt.LayerChart | None:
    """Draw every host over days, or weeks if there are too many days; None for few hosts (`FEWEST`), or one day.

    `days`: `metrics.fleet.ready_by_host`: `date`, `host`, `worst_pct`. `levels`: as for `vms`.
    """
    frame = days.select("date", label="host", value="worst_pct").lazy()
    chosen = leaders(frame, "label", "value", MOST, "max")
    if chosen.total < FEWEST or days["date"].n_unique() < 2:  # noqa: PLR2004  one day is no course of time
        return None
    span = (days["date"].max() - days["date"].min()).days  # type: ignore[operator, union-attr]
    weekly = span >= _MOST_BINS
    begin = pl.col("date").dt.truncate("1w") if weekly else pl.col("date")
    cells = (
        frame.filter(pl.col("label").is_in(chosen.chosen))
        .group_by("label", time=begin.cast(pl.Datetime("us", "UTC")))
        .agg(high=pl.col("value").max())
        .sort("label", "time")
        .collect()
    )
    period = "week" if weekly else "day"
    cell_meaning = (
        f"cell: the VM that waited most on a day of the {period}" if weekly else "cell: the VM that waited most"
    )
    drawing = Grid(cells, _DAY * (7 if weekly else 1), chosen, "host", "%", levels)
    peaks = frame.group_by("label").agg(high=pl.col("value").max()).collect()
    return _drawn(
        drawing, "Ready time of all hosts", peaks, (f"{cell_meaning}, 95th percentile of its vCPUs' samples",)
    )


class Grid(NamedTuple):
    """The content of a heat map."""

    cells: pl.DataFrame
    """`label`, `time`, `high`."""
    step: int
    """Seconds of a cell."""
    chosen: Leaders
    noun: str
    unit: str
    levels: Levels | None
    gathered: bool = True
    """Whether a cell is the highest of several samples."""

    @property
    def edges(self) -> tuple[float, ...]:
        """Lower ends of the classes, after the first."""
        if self.levels is None or self.levels.warn is None:
            highest = self.cells["high"].max()
            # The edges for percentages are common practice; other units need edges relative to the highest value.
            if self.unit.startswith("%") or not isinstance(highest, float) or highest <= 0:
                return _USE
            return tuple(float(f"{highest * share / 100:.2g}") for share in _USE)
        warn, critical = self.levels.warn, self.levels.critical
        return (*(share * warn for share in _SHARES), 2 * warn if critical is None else critical)

    @property
    def classes(self) -> list[str]:
        """The names of the classes."""
        ends = [f"{edge:g}" for edge in self.edges]
        unit = f" {self.unit}"
        between = [f"{low} to {high}{unit}" for low, high in pairwise(ends)]
        return [f"under {ends[0]}{unit}", *between, f"{ends[-1]}{unit} and more"]

    @property
    def missing(self) -> pl.DataFrame:
        """Stretches of a row without a value: `label`, `time`, `end`."""
        return _missing(self.cells, self.step)


def grid(
    frame: pl.LazyFrame, noun: str, unit: str, levels: Levels | None = None, bins: int = _MOST_BINS, most: int = _CELLS
) -> Grid:
    """Reduce values to cells, the highest of each stretch of time and object; the object with the highest comes first.

    `frame`: `time`, `label`, `value`. `noun`, `unit`: of an object and its values. `levels`: as for `vms`. `bins`: most
    columns. `most`: most cells.
    """
    chosen = leaders(frame, "label", "value", MOST, "max")
    buckets = min(bins, most // max(len(chosen.chosen), 1))
    reduced = over_time(frame.filter(pl.col("label").is_in(chosen.chosen)), ["value"], ["label"], buckets=buckets)
    cells = reduced.frame.select("label", "time", high="value_max").drop_nulls("high")
    step = reduced.step_s or usual_step(cells)
    return Grid(cells, step, chosen, noun, unit, levels, reduced.step_s is not None)


def _finding(drawing: Grid, peaks: pl.DataFrame) -> str:
    """Return words for the objects that passed the first limit, and for the highest.

    `peaks`: `label` and `high` of each object, including the ones left out.
    """
    name, high = peaks.sort("high", "label", descending=[True, False]).row(0)
    most = f"{name} ({high:,.3g} {drawing.unit})"
    if drawing.levels is None or drawing.levels.warn is None:
        return f"highest {most}"
    limit = f"{drawing.levels.warn:g} {drawing.unit}"
    past = peaks.filter(pl.col("high") >= drawing.levels.warn).height
    return f"{past} of {peaks.height} reached {limit}, highest {most}" if past else f"none reached {limit}"


def _beside(drawing: Grid) -> list[str]:
    """Return words for rows left out and for missing values, if any."""
    chosen, nouns = drawing.chosen, f"{drawing.noun}s"
    left_out = chosen.total - len(chosen.chosen)
    never = len(chosen.every) - chosen.total
    return [
        f"the worst {len(chosen.chosen)} of {chosen.total} {nouns}, {left_out} left out" if left_out else "",
        f"{never} more without a value" if never else "",
        "thin line: no value" if drawing.missing.height else "",
    ]


def _missing(cells: pl.DataFrame, step: int) -> pl.DataFrame:
    """Return stretches of a row without a value: `label`, `time`, `end`."""
    first, last = cells["time"].min(), cells["time"].max()
    length = pl.duration(seconds=step)
    ends = cells.with_columns(end=pl.col("time").shift(-1).over("label", order_by="time"))
    between = ends.filter(pl.col("end") - pl.col("time") > length * _GAP)
    between = between.select("label", pl.col("time") + length, "end")
    each = cells.group_by("label", maintain_order=True).agg(first=pl.col("time").min(), last=pl.col("time").max())
    before = each.filter(pl.col("first") > first).select("label", time=pl.lit(first), end="first")
    after = each.filter(pl.col("last") < last).select("label", time=pl.col("last") + length, end=pl.lit(last) + length)
    return pl.concat([before, between, after]).sort("label", "time")


def _drawn(drawing: Grid, title: str, peaks: pl.DataFrame, notes: Sequence[str]) -> alt.LayerChart | None:
    """Draw rectangles, and thin lines for missing values; None if all values are in the lowest class."""
    cells, unit = drawing.cells, drawing.unit
    if not (cells["high"] >= drawing.edges[0]).any():
        return None
    y = marks.label_y(drawing.chosen.chosen)
    x = marks.time_x(cells["time"])
    if drawing.step >= _DAY:
        x = x.axis(format="%d %b", tickCount=6, labelSeparation=8)
    # A page has thousands of cells: the class follows from the number and is not stored with each.
    until = pl.col("time") + pl.duration(seconds=drawing.step)
    data = rounded(cells.select("label", "time", "high", until=until))
    base = alt.Chart(data).transform_calculate(class_=class_of("high", drawing.edges, drawing.classes))
    layers = [
        base.mark_rect().encode(
            x,
            alt.X2("until:T"),
            y,
            color=class_colour(drawing.classes),
            tooltip=[
                alt.Tooltip("label:N", title=drawing.noun),
                marks.time_tip(title="From (UTC)"),
                marks.number_tip("high", f"highest, {unit}", 1),
            ],
        )
    ]
    missing = _missing(cells, drawing.step)
    if missing.height:
        line = alt.Chart(rounded(missing)).mark_rule(color=colour("rest"), strokeWidth=1)
        layers.append(line.encode(x, alt.X2("end:T"), y))
    heading = marks.heading(f"{title}: {_finding(drawing, peaks)}", *notes, *_beside(drawing))
    rows = len(drawing.chosen.chosen)
    words = f"{title} over time, {unit}: {counted(rows, drawing.noun)}, the worst first."
    return marks.layered(layers, heading, words, _ROW * rows + _ABOVE)


def class_colour(classes: Sequence[str]) -> alt.Color:
    """Return the colours of six classes, the lowest first, that `class_of` gave the field `class_`."""
    scale = alt.Scale(domain=list(classes), range=[shade.light for shade in HEAT])
    return alt.Color("class_:N", title=None, scale=scale)


def class_of(field: str, edges: Sequence[float], classes: Sequence[str]) -> str:
    """Return the class of a cell as an expression of Vega; `field`, `edges` and `classes` are constants of ours.

    >>> class_of("high", [5, 10], ["under 5 %", "5 to 10 %", "10 % and more"])
    "datum.high < 5 ? 'under 5 %' : datum.high < 10 ? '5 to 10 %' : '10 % and more'"
    """
    *others, last = classes
    tests = [f"datum.{field} < {edge} ? '{name}'" for edge, name in zip(edges, others, strict=True)]
    return " : ".join([*tests, f"'{last}'"])


def usual_step(cells: pl.DataFrame) -> int:
    """Return the median seconds from one sample to the next."""
    gaps = cells["time"].unique().sort().diff().drop_nulls().dt.total_seconds()
    middle = gaps.median()
    return max(int(middle), 1) if isinstance(middle, int | float) else 1
