"""One panel of the explorer: the highest instances of a counter, reduced to the pixels that show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal, get_args

import polars as pl
from polars import selectors as cs

from esxparse.charts import reduce
from esxparse.counters.series import lasting_name
from esxparse.diagnosis import rules
from esxparse.errors import EsxparseError, check_known
from esxparse.explorer.rows import Rows, rows
from esxparse.metrics import over_time, ranking
from esxparse.metrics.ranking import Order
from esxparse.recording import Recording, printable

Align = Literal["clock", "offset"]
Kind = Literal["lines", "heat"]
_MOST_BUCKETS: Final = 600


@dataclass(frozen=True)
class PanelRequest:
    """The content of a panel, and its look.

    counter, table: of the recording. order, n: which instances. pattern: for their names. start, end: the range of
    time.
    smooth: samples of a rolling mean. normalise: divide every series by its own highest value. difference: from one
    sample to the next. buckets: most points of a line. worst_of: the capture whose instances are ranked, 1 or 2.
    kind: lines, or a heat map. limits: the rule whose limits colour a heat map; by default the rule on the counter.
    only: the objects shown, by name or instance, each with its title here; empty for all. more: counters of the
    table that are drawn in the same panel. title: of a panel of several counters.
    """

    counter: str
    table: str
    order: Order = "p95"
    n: int = 5
    pattern: str = ""
    start: datetime | None = None
    end: datetime | None = None
    smooth: int = 1
    normalise: bool = False
    difference: bool = False
    buckets: int = 400
    worst_of: int = 1
    kind: Kind = "lines"
    limits: str = ""
    only: Mapping[str, str] = field(default_factory=dict)
    more: tuple[str, ...] = ()
    title: str = ""

    @property
    def each(self) -> list[PanelRequest]:
        """The same for each counter of the panel alone."""
        if not self.more:
            return [self]
        names = ((self.table, self.counter), *map(self._place, self.more))
        return [replace(self, table=table, counter=counter, more=(), title="") for table, counter in names]

    def _place(self, name: str) -> tuple[str, str]:
        table, _, counter = name.rpartition(".")
        return table or self.table, counter

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> PanelRequest:
        """Return the request of a page, within bounds.

        Raises EsxparseError: There is no such order, or a value is not a number.
        """
        order = message.get("order", "p95")
        kind = message.get("kind", "lines")
        check_known("order", order, get_args(Order))
        check_known("kind", kind, get_args(Kind))
        start, end = (moment(message[key]) if message.get(key) is not None else None for key in ("start", "end"))
        return cls(
            str(message["counter"]),
            str(message["table"]),
            order,
            min(max(_whole(message, "n", 5), 1), reduce.MAX_SERIES),
            str(message.get("pattern") or ""),
            start,
            end,
            max(_whole(message, "smooth", 1), 1),
            bool(message.get("normalise")),
            bool(message.get("difference")),
            min(max(_whole(message, "buckets", 400), 20), _MOST_BUCKETS),
            min(max(_whole(message, "worst_of", 1), 1), 2),
            kind,
            str(message.get("limits") or ""),
            dict(message.get("only") or {}),
            tuple(message.get("more") or ()),
            str(message.get("title") or ""),
        )


def _whole(message: Mapping[str, Any], key: str, otherwise: int) -> int:
    """Return the whole number of that name."""
    try:
        return int(message.get(key, otherwise))
    except (TypeError, ValueError):
        raise EsxparseError(f"{key} is a whole number, not {message[key]!r}") from None


def moment(milliseconds: float) -> datetime:
    """Return the time that a page gives as milliseconds since 1970 (UTC)."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


@dataclass
class Values:
    """The counters of one recording or two, each read once.

    recordings: one, or two that are drawn over each other. align: the second by the clock, or so that both begin at
    once.
    """

    recordings: Sequence[Recording]
    align: Align = "clock"
    _kept: dict[tuple[str, str], tuple[Rows, pl.DataFrame]] = field(default_factory=dict)

    def of(self, counter: str, table: str) -> tuple[Rows, pl.DataFrame]:
        """Return the counter: `time, instance, full, label, capture` (1 or 2), `value, covered_s`, perhaps `weight`.

        An object in both recordings has one label, even if its number differs in the second.
        """
        key = counter, table
        if key not in self._kept:
            found = rows(self.recordings[0], counter, table=table, raw=False)
            data = found.frame.with_columns(capture=pl.lit(1), same="instance").collect()
            for other in self.recordings[1:]:
                try:
                    again = rows(other, counter, table=table, raw=False).frame
                except EsxparseError:
                    continue
                again = again.with_columns(pl.col("time") + self.shift(other), capture=pl.lit(2))
                same = _same(table, self.recordings[0], other)
                data = pl.concat([data, again.collect().join(same, "instance", "left")], how="diagonal")
            data = data.with_columns(pl.col("same").fill_null(pl.col("instance"))).rename({"name": "full"})
            timed = over_time.with_covered(data.lazy(), "capture")
            self._kept[key] = found, reduce.with_labels(timed, "full", "same").collect()
        return self._kept[key]

    def missing(self, found: Rows, data: pl.DataFrame, labels: Sequence[str]) -> list[str]:
        """Return why the second recording is not drawn, or which of the series with these labels it does not have."""
        if len(self.recordings) == 1:
            return []
        second = f"the second capture ({printable(Path(self.recordings[1].source).name)})"
        drawn = data.filter(pl.col("capture") > 1)["label"].unique()
        if drawn.is_empty():
            return [f"{second} has no {found.counter.name} of {found.counter.table} over time"]
        lacking = [label for label in labels if label not in drawn]
        return [f"{second} has no {found.counter.name} of {', '.join(lacking)}"] if lacking else []

    def shift(self, other: Recording) -> timedelta:
        """Return the shift of the times of a recording."""
        first, second = (rec.meta.get("start") for rec in (self.recordings[0], other))
        if self.align == "clock" or first is None or second is None:
            return timedelta()
        moved: timedelta = first - second
        return moved


def lines(values: Values, request: PanelRequest, profile: str = "standard") -> dict[str, Any]:
    """Return `panel` as lines for the page, with the series of all its counters; each label has its counter.

    Raises EsxparseError: As `panel`; a counter that has no value is left out if another one has.
    """
    if not request.more:
        return panel(values, request, profile)
    made, reasons = [], []
    for one in request.each:
        try:
            made.append(panel(values, one, profile))
        except EsxparseError as error:
            reasons.append(error)
    if not made:
        raise reasons[0]
    several = len({one["label"] for answer in made for one in answer["series"]}) > 1
    series = [
        {
            **one,
            "label": f"{_short(answer)} {one['label']}" if several else _short(answer),
            "of": {key: answer[key] for key in ("counter", "table", "name", "unit")},
        }
        for answer in made
        for one in answer["series"]
    ]
    return {**made[0], "name": request.title or made[0]["name"], "levels": [], "series": series}


def _short(answer: Mapping[str, Any]) -> str:
    """Return the name of a counter without the screen's name in brackets."""
    return str(answer["name"]).partition(" (")[0]


def panel(values: Values, request: PanelRequest, profile: str = "standard") -> dict[str, Any]:
    """Return one counter as lines for the page.

    Returns `name`, `table`, `counter` (its column), `unit`, `meaning`, `noun`, `total` (instances with a value),
    `step_s` (of a bucket; None if each time is drawn), `gap` (`reduce.Reduced`), `gathered` (whether means of several
    samples are drawn), `weighted` (means by commands), `by_time` (whether samples cover different times), `levels`
    (limits of the rules on the counter), `missing` (series of the second recording that are not drawn, and why) and
    `series`, each with `label`, `full`, `instance`, `capture`, the value it is ranked by, and lists: `time`
    (milliseconds), `mean`, `low`, `high`, and if lines must end `piece` and `alone` (`reduce.pieces`).

    Raises EsxparseError: There is no such counter, no sample in the range of time, or no instance has the pattern.
    """
    found, whole = values.of(request.counter, request.table)
    data = chosen_rows(found, whole, request)
    there = data["capture"].unique()
    # If only one capture covers the range of time, rank that one.
    chosen = request.worst_of if request.worst_of in there else there.min()
    ranked = _ranked(data.filter(capture=chosen), request, found.weight, request.n)
    # Each line has the figure of its own capture.
    mine = data.filter(pl.col("label").is_in(ranked["label"].to_list()))
    figures = {
        capture: dict(
            _ranked(mine.filter(capture=capture), request, found.weight, request.n)
            .select("label", request.order)
            .rows()
        )
        for capture in there
    }
    # A normalised value is no longer an average of commands.
    weight = found.weight if not request.normalise else None
    kept = _changed(mine, request)
    reduced = reduce.over_time(
        kept.lazy(),
        ["value"],
        ["label", "instance", "capture"],
        weight=weight,
        buckets=request.buckets,
    )
    series = ["label", "capture"]
    ends = reduce.pieces(reduced, series, "value").select(
        *series, "time", cs.by_name("piece", "alone", require_all=False)
    )
    drawn = reduced.frame.join(ends, [*series, "time"], "left", maintain_order="left")
    by = drawn.partition_by(series, as_dict=True)
    lines = [
        {
            "label": reduce.drawable([row["label"]])[0],
            "full": printable(row["full"]),
            "instance": frame["instance"][0],
            "capture": capture,
            "ranked": figures[capture].get(row["label"]),
            **_drawn(frame),
        }
        for row in ranked.to_dicts()
        for capture in (1, 2)
        if (frame := by.get((row["label"], capture))) is not None
    ]
    counter, total = found.counter, data["label"].n_unique()
    return {
        "kind": "lines",
        "name": request.title or counter.name,
        "table": counter.table,
        "counter": counter.column,
        "unit": "of its highest value" if request.normalise else found.unit,
        "meaning": counter.meaning,
        "noun": found.noun,
        "total": total,
        "step_s": reduced.step_s,
        "gap": reduced.gap,
        "gathered": weight is not None or reduced.step_s is not None or reduced.frame.height < kept.height,
        "weighted": weight is not None,
        "by_time": whole[over_time.COVERED].null_count() < whole.height,
        "levels": [] if request.normalise or request.difference else _levels(found, profile),
        "missing": values.missing(found, whole, ranked["label"].to_list()),
        "series": lines,
    }


def chosen_rows(found: Rows, data: pl.DataFrame, request: PanelRequest) -> pl.DataFrame:
    """Return the rows of a counter in the requested time and of the requested objects.

    Raises EsxparseError: No row matches.
    """
    if request.start is not None and request.end is not None:
        data = data.filter(pl.col("time").is_between(request.start, request.end))
    if data.is_empty():
        where = f" from {request.start:%F %T} to {request.end:%F %T} UTC" if request.start and request.end else ""
        raise EsxparseError(f"no sample of {found.counter.name}{where}")
    if request.only:
        data = _named_objects(found, data, request.only)
    return _matching(data, request.pattern) if request.pattern else data


def _named_objects(found: Rows, data: pl.DataFrame, only: Mapping[str, str]) -> pl.DataFrame:
    """Return the rows of these objects under the names given here."""
    for name in ("full", "instance"):
        kept = data.filter(pl.col(name).is_in(list(only)))
        if not kept.is_empty():
            return kept.with_columns(label=pl.col(name).replace(only))
    raise EsxparseError(f"no sample of {found.counter.name} of {', '.join(only.values())}")


def _ranked(data: pl.DataFrame, request: PanelRequest, weight: str | None, most: int) -> pl.DataFrame:
    """Return the instances of one capture, highest first."""
    return ranking.top(data.lazy(), ["label", "full"], "value", most, request.order, weight).collect()


def _drawn(frame: pl.DataFrame) -> dict[str, list[float | None]]:
    columns = {"time": "time", "mean": "value", "low": "value_min", "high": "value_max"}
    columns |= {name: name for name in ("piece", "alone") if name in frame.columns}
    return reduce.rounded(frame.select(**columns), 4).to_dict(as_series=False)


def _same(table: str, first: Recording, second: Recording) -> pl.DataFrame:
    """Match each `instance` of the second recording's table to the one of the same name in the first (`same`).

    Names that a table has twice identify nothing: for these the instances must be equal.
    """
    by_name = []
    for rec in (first, second):
        frame = rec.tables.get(table)
        name = lasting_name(frame.collect_schema()) if frame is not None else None
        if frame is None or name is None:
            return pl.DataFrame(schema={"instance": pl.String, "same": pl.String})
        by_name.append(frame.select("instance", _name=name).unique().collect().unique("_name", keep="none"))
    mine, others = by_name
    return others.join(mine.rename({"instance": "same"}), "_name").select("instance", "same")


def _matching(data: pl.DataFrame, pattern: str) -> pl.DataFrame:
    try:
        kept = data.filter(
            pl.col("full").str.contains(f"(?i){pattern}") | pl.col("instance").str.contains(f"(?i){pattern}")
        )
    except pl.exceptions.ComputeError as error:
        raise EsxparseError(f"{pattern!r} is not a regular expression: {error}") from None
    if kept.is_empty():
        raise EsxparseError(f"no instance has {pattern!r} in its name")
    return kept


def _changed(data: pl.DataFrame, request: PanelRequest) -> pl.DataFrame:
    value = pl.col("value")
    series = ["label", "capture"]
    if request.difference:
        data = data.with_columns(value.diff().over(series, order_by="time"))
    if request.smooth > 1:
        data = data.with_columns(value.rolling_mean(request.smooth, min_samples=1).over(series, order_by="time"))
    if request.normalise:
        highest = value.abs().max().over(series)
        data = data.with_columns(pl.when(highest > 0).then(value / highest).otherwise(value))
    return data


def rule_of(found: Rows, profile: str) -> rules.Rule | None:
    """Return the rule that judges this quantity of this kind of object."""
    counter = found.counter
    if not counter.derived:
        return None
    every = rules.load(profile).values()
    return next((one for one in every if (one.kind, one.value) == (counter.table, counter.column)), None)


def _levels(found: Rows, profile: str) -> list[dict[str, Any]]:
    """Return the limits of that rule."""
    rule = rule_of(found, profile)
    limits = {"warn": rule.warn, "critical": rule.critical} if rule else {}
    return [{"level": level, "value": value} for level, value in limits.items() if value]
