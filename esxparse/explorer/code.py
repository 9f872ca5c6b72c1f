"""What the explorer shows as code: a short cell of polars and altair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from esxparse.charts.reduce import EVEN
from esxparse.explorer.panel import Asked
from esxparse.metrics.energy import LONGEST_GAP

_RECORDINGS: Final = ("rec", "other")

_STEPS: Final = (
    "",
    "# Lines end at gaps of series that have a usual step.",
    'step = pl.col("time").diff().dt.total_microseconds()',
    "usual = step.filter(step > 0).median()",
)


def cell(captures: Sequence[tuple[str, timedelta]], panels: Sequence[tuple[Asked, Mapping[str, Any]]]) -> str:
    """The code that makes the charts of these panels.

    `captures`: path of each recording, and what is added to its times. `panels`: what each shows, and the answer it
    got (`panel.panel`).
    """
    lines = [
        "import altair as alt",
        "import polars as pl",
        "",
        "import esxparse as ex",
        "",
        *(f"{name} = ex.open({source!r})" for name, (source, _) in zip(_RECORDINGS, captures, strict=False)),
    ]
    broken = [any("piece" in one for one in answer["series"]) for _, answer in panels]
    lines += _STEPS if any(broken) else ()
    names = [f"chart_{place}" for place in range(1, len(panels) + 1)]
    for place, ((asked, answer), ends) in enumerate(zip(panels, broken, strict=True), 1):
        shifts = [shift for _, shift in captures][: max(one["capture"] for one in answer["series"])]
        lines += ["", f"data_{place} = (", *(f"    {step}" for step in _steps(asked, answer, shifts)), ")"]
        lines += _ends(place, answer, len(shifts)) if ends else []
        lines += _chart(place, answer, len(shifts), ends=ends)
    return "\n".join([*lines, f"alt.vconcat({', '.join(names)})" if len(names) > 1 else names[0]]) + "\n"


def _values(asked: Asked, shifts: Sequence[timedelta]) -> list[str]:
    each = [f"ex.rows({name}, {asked.counter!r}, table={asked.table!r}, raw=False).frame" for name in _RECORDINGS]
    if len(shifts) == 1:
        return each[:1]
    lines = ["pl.concat(", "    ["]
    for place, (one, shift) in enumerate(zip(each, shifts, strict=True), 1):
        microseconds = shift // timedelta(microseconds=1)
        moved = f'pl.col("time") + pl.duration(microseconds={microseconds}), ' if shift else ""
        lines.append(f"        {one}.with_columns({moved}capture=pl.lit({place})),")
    return [*lines, "    ],", '    how="diagonal",', ")"]


def _steps(asked: Asked, answer: Mapping[str, Any], shifts: Sequence[timedelta]) -> list[str]:
    instances = list(dict.fromkeys(one["instance"] for one in answer["series"]))
    by_time = answer["gathered"] and answer["by_time"]
    captures = "" if len(shifts) == 1 else ', "capture"'
    steps = [
        *_values(asked, shifts),
        *([f".pipe(ex.metrics.over_time.with_covered{captures})"] if by_time else []),
        f'.filter(pl.col("instance").is_in({instances!r}))',
    ]
    if asked.start and asked.end:
        steps.append(f'.filter(pl.col("time").is_between({_moment(asked.start)}, {_moment(asked.end)}))')
    series = _series(len(shifts))
    over = f'.over({series}, order_by="time")'
    if asked.difference:
        steps.append(f'.with_columns(pl.col("value").diff(){over})')
    if asked.smooth > 1:
        steps.append(f'.with_columns(pl.col("value").rolling_mean({asked.smooth}, min_samples=1){over})')
    if asked.normalise:
        # A series of zeros stays one: 0 / 0 would be no number.
        steps += [
            f'.with_columns(highest=pl.col("value").abs().max().over({series}))',
            '.with_columns(pl.when(pl.col("highest") > 0).then(pl.col("value") / pl.col("highest"))',
            '    .otherwise(pl.col("value")))',
        ]
    if answer["gathered"]:
        time = f'pl.col("time").dt.truncate("{answer["step_s"]}s")' if answer["step_s"] else '"time"'
        mean = 'ex.metrics.over_time.mean(pl.col("value"))' if by_time else 'pl.col("value").mean()'
        if answer["weighted"]:
            share = 'pl.col("weight") * ex.metrics.over_time.seconds()' if by_time else 'pl.col("weight")'
            weight = f'({share}).filter(pl.col("value").is_not_null()).sum()'
            mean = f'((pl.col("value") * {share}).sum() / {weight}).fill_nan({mean})'
        steps += [
            f'.group_by("name", {series}, {time})',
            f'.agg(value={mean}, low=pl.col("value").min(), high=pl.col("value").max())',
        ]
    return [*steps, f'.sort({series}, "time")', ".collect()"]


def _ends(place: int, answer: Mapping[str, Any], captures: int) -> list[str]:
    """Number the stretches between gaps as the view does (`reduce.pieces`)."""
    over = f'.over({_series(captures)}, order_by="time")'
    most = f"{LONGEST_GAP:g}"
    if answer["step_s"]:
        most = f"pl.when(usual <= {answer['step_s'] * 1_000_000}).then({answer['gap']!r}).otherwise({most})"
    return [
        f"longest = {most} * usual",
        f'even = step.quantile({EVEN}, "lower") <= longest',
        f"lines_{place} = (",
        f"    data_{place}.with_columns(longest=pl.when(even).then(longest){over})",
        '    .drop_nulls("value")',
        f'    .with_columns(piece=(step > pl.col("longest")).fill_null(False).cum_sum(){over})',
        ")",
    ]


def _series(captures: int) -> str:
    return '"instance"' if captures == 1 else '"instance", "capture"'


def _chart(place: int, answer: Mapping[str, Any], captures: int, *, ends: bool) -> list[str]:
    title = f"{answer['name']}, {answer['unit']}" if answer["unit"] else answer["name"]
    data, line = (f"lines_{place}", 'mark_line(point={"size": 8})') if ends else (f"data_{place}", "mark_line()")
    return [
        f"chart_{place} = alt.Chart({data}, width=720, height=180).{line}.encode(",
        '    alt.X("time:T", title="time (UTC)", scale=alt.Scale(type="utc")),',
        f'    alt.Y("value:Q", title={title!r}),',
        '    alt.Color("name:N", title=None),',
        *(['    alt.StrokeDash("capture:N"),'] if captures > 1 else []),
        *(['    alt.Detail("piece:N"),'] if ends else []),
        ")",
    ]


def _moment(time: datetime) -> str:
    parts = [time.year, time.month, time.day, time.hour, time.minute, time.second, time.microsecond]
    return f'pl.datetime({", ".join(map(str, parts))}, time_zone="UTC")'
