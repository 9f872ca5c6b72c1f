"""Events as marks on charts over time, and as the table that explains their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from esxparse.charts.theme import colour
from esxparse.formats.events import Event, marks_of
from esxparse.recording import Note, Recording
from esxparse.schema import schema

_HELD: Final = ("mark", "encoding", "data", "transform", "params")
"""The parts of a chart without layers that move to its first layer."""
EVENTS: Final = schema("number i64, time step target status str, seconds f64")
"""Columns of `listed`."""


def during(rec: Recording, paths: Sequence[str]) -> tuple[list[Event], list[tuple[str, Note]]]:
    """Return the events of these files that begin during a recording, and notes on the files, each with its name.

    Raises EsxparseError: A file cannot be read, or the recording has no event or more events than a chart can show.
    """
    events, notes = marks_of([str(one) for one in paths], rec.meta["start"], rec.meta["end"])
    return events, [(Path(source).name, note) for source, note in notes]


def listed(events: Sequence[Event]) -> pl.DataFrame:
    """Return one row per event: `number` on the charts, `time` (UTC), `step`, `target`, `status`, `seconds` taken."""
    rows = [
        (
            number,
            f"{one.start:%F %T}",
            one.step,
            one.target,
            one.status,
            (one.end - one.start).total_seconds() if one.end else None,
        )
        for number, one in enumerate(events, 1)
    ]
    return pl.DataFrame(rows, schema=EVENTS, orient="row")


def marked(spec: dict[str, Any], events: Sequence[Event]) -> dict[str, Any]:
    """Return a specification with a dashed line at each event, numbered; unchanged if its chart is not over time."""
    x = next(_times(spec), None)
    if x is None:
        return spec
    rows = [{x["field"]: one.start.timestamp() * 1000, "text": str(number)} for number, one in enumerate(events, 1)]
    data = {"values": [{**row, "event": one.words} for row, one in zip(rows, events, strict=True)]}
    tips = [{"field": "event", "type": "nominal", "title": "event"}]
    line = {"type": "rule", "strokeDash": [2, 2], "color": colour("ink"), "opacity": 0.7}
    word = {"type": "text", "align": "left", "baseline": "top", "dx": 3, "fontSize": 10, "color": colour("ink")}
    layers = [
        {"data": data, "mark": line, "encoding": {"x": x, "tooltip": tips}},
        {"data": data, "mark": word, "encoding": {"x": x, "y": {"value": 2}, "text": {"field": "text"}}},
    ]
    if "layer" in spec:
        return {**spec, "layer": [*spec["layer"], *layers]}
    own = {key: spec[key] for key in _HELD if key in spec}
    return {**{key: one for key, one in spec.items() if key not in own}, "layer": [own, *layers]}


def _times(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the horizontal time axes in a specification."""
    x = spec.get("encoding", {}).get("x", {})
    if x.get("type") == "temporal" and x.get("field") == "time":
        yield x
    for layer in spec.get("layer", ()):
        yield from _times(layer)
