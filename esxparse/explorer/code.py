"""What the explorer shows as code: a short cell of polars and altair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from esxparse.explorer.panel import Asked


def cell(source: str, panels: Sequence[tuple[Asked, Mapping[str, Any]]]) -> str:
    """The code that makes the charts of these panels, of the first recording.

    `source`: path of the recording. `panels`: what each shows, and the answer it got (`panel.panel`).
    """
    lines = [
        "import altair as alt",
        "import polars as pl",
        "",
        "import esxparse as ex",
        "",
        f"rec = ex.open({source!r})",
    ]
    names = [f"chart_{place}" for place in range(1, len(panels) + 1)]
    for place, (asked, answer) in enumerate(panels, 1):
        lines += ["", f"data_{place} = (", *(f"    {step}" for step in _steps(asked, answer)), ")"]
        lines += _chart(place, answer)
    return "\n".join([*lines, f"alt.vconcat({', '.join(names)})" if len(names) > 1 else names[0]]) + "\n"


def _steps(asked: Asked, answer: Mapping[str, Any]) -> list[str]:
    instances = list(dict.fromkeys(one["instance"] for one in answer["series"]))
    steps = [
        f"ex.rows(rec, {asked.counter!r}, table={asked.table!r}, raw=False).frame",
        f'.filter(pl.col("instance").is_in({instances!r}))',
    ]
    if asked.start and asked.end:
        steps.append(f'.filter(pl.col("time").is_between({_moment(asked.start)}, {_moment(asked.end)}))')
    over = '.over("instance", order_by="time")'
    if asked.difference:
        steps.append(f'.with_columns(pl.col("value").diff(){over})')
    if asked.smooth > 1:
        steps.append(f'.with_columns(pl.col("value").rolling_mean({asked.smooth}, min_samples=1){over})')
    if asked.normalise:
        # A series of zeros stays one: 0 / 0 would be no number.
        steps += [
            '.with_columns(highest=pl.col("value").abs().max().over("instance"))',
            '.with_columns(pl.when(pl.col("highest") > 0).then(pl.col("value") / pl.col("highest"))',
            '    .otherwise(pl.col("value")))',
        ]
    if answer["step_s"]:
        mean = 'pl.col("value").mean()'
        if answer["weighted"] and not asked.normalise:
            mean = '(pl.col("value") * pl.col("weight")).sum() / pl.col("weight").sum()'
        steps += [
            f'.group_by("name", "instance", pl.col("time").dt.truncate("{answer["step_s"]}s"))',
            f'.agg(value={mean}, low=pl.col("value").min(), high=pl.col("value").max())',
        ]
    return [*steps, '.sort("instance", "time")', ".collect()"]


def _chart(place: int, answer: Mapping[str, Any]) -> list[str]:
    title = f"{answer['name']}, {answer['unit']}" if answer["unit"] else answer["name"]
    return [
        f"chart_{place} = alt.Chart(data_{place}, width=720, height=180).mark_line().encode(",
        '    alt.X("time:T", title="time (UTC)", scale=alt.Scale(type="utc")),',
        f'    alt.Y("value:Q", title={title!r}),',
        '    alt.Color("name:N", title=None),',
        ")",
    ]


def _moment(time: datetime) -> str:
    parts = [time.year, time.month, time.day, time.hour, time.minute, time.second, time.microsecond]
    return f'pl.datetime({", ".join(map(str, parts))}, time_zone="UTC")'
