"""What the cells of a template call besides metrics and charts: the window, the header, tiles, and showing things."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import polars as pl

import esxparse
from esxparse.reports.blocks import (
    ABSENT,
    Block,
    Column,
    Figure,
    Header,
    facts,
    moment,
    note,
    number,
    spoken_span,
    table,
    tiles,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import altair as alt

    from esxparse.recording import Note, Recording

P = ParamSpec("P")


def given(function: Callable[Concatenate[pl.LazyFrame, P], pl.LazyFrame], *frames: Any, **more: Any) -> Any:
    """`function(*frames, **more)`, or None where one of the frames is: the capture lacks that table."""
    if any(frame is None for frame in frames):
        return None
    return function(*frames, **more)


def together(*frames: pl.LazyFrame | None) -> pl.LazyFrame | None:
    """The rows of all frames that are there, or None: disks and NFS volumes for one chart."""
    there = [frame for frame in frames if frame is not None]
    return pl.concat(there, how="diagonal") if there else None


def prepare() -> None:
    """Get altair ready: the look of the reports; in a run by `report`, charts as plain specifications."""
    import altair as alt  # noqa: PLC0415 - takes more than a second

    from esxparse.charts import theme  # noqa: PLC0415

    theme.use()
    if "ESXPARSE_REPORT" in os.environ:
        alt.renderers.register("esxparse", lambda spec, **_: dict(Figure(spec)._repr_mimebundle_()))
        alt.renderers.enable("esxparse")


def show(*charts: alt.Chart | alt.LayerChart | None, missing: str) -> None:
    """Display charts, or one sentence where there is none of them.

    Args:
        charts: What the builders of `esxparse.charts` gave; None where they had nothing to draw.
        missing: What to say where all are None.
    """
    import altair as alt  # noqa: PLC0415
    from IPython.display import display  # noqa: PLC0415

    there = [chart for chart in charts if chart is not None]
    renderer = alt.renderers.get()
    for chart in there:
        spec = chart.to_dict()
        live: Any = {}
        if renderer is not None and "ESXPARSE_REPORT" not in os.environ:
            live = renderer(spec)
            # Renderers of pictures add the picture's size.
            live = live[0] if isinstance(live, tuple) else live
        display(Figure(spec, live))  # type: ignore[no-untyped-call]
    if not there:
        display(note(missing))  # type: ignore[no-untyped-call]


def header(rec: Recording, title: str) -> Header:
    """The title with the host's name, and when the capture was taken."""
    meta = rec.meta
    span = (meta["end"] - meta["start"]).total_seconds()
    return Header(f"{title}: {meta['host']}", f"{moment(meta['start'])} to {moment(meta['end'])} ({spoken_span(span)})")


def recorded(rec: Recording, vms: pl.LazyFrame | None) -> Block:
    """Tiles on what was recorded: how long, how fine, on what, and how much was promised of it.

    Args:
        rec: A recording of esxtop.
        vms: `inventory.vms`: `group_id, vm, vcpus`.
    """
    meta = rec.meta
    vcpus = None if vms is None else int(vms.select(pl.col("vcpus").sum()).collect().item())
    count = None if vms is None else int(vms.select(pl.len()).collect().item())
    pcpus = meta.get("pcpus")
    span = (meta["end"] - meta["start"]).total_seconds()
    interval = meta.get("interval")
    items = [
        ("Release", str(meta.get("release") or "unknown"), str(meta.get("release_evidence") or "")),
        ("Time covered", spoken_span(span), f"{meta['samples']:,} samples"),
        ("Interval", ABSENT if interval is None else f"{interval:g} s", "median between samples"),
        ("VMs", number(count, None), "" if vcpus is None else f"{vcpus} vCPUs"),
        ("Physical CPUs", number(pcpus, None), "hardware threads, as esxtop counts them"),
    ]
    if vcpus and pcpus:
        items.append(("vCPUs per PCPU", number(vcpus / pcpus, 2), f"{vcpus} : {pcpus}"))
    items.append(("Counters", f"{meta.get('columns', 0):,}", f"columns, {len(rec.tables)} objects"))
    return tiles(items)


def reader_notes(rec: Recording) -> Block:
    """Everything odd the reader met in the file, and what it did about it."""
    frame = pl.DataFrame(
        {
            "severity": [one.severity for one in rec.notes],
            "line": [one.line for one in rec.notes],
            "column": [one.column for one in rec.notes],
            "message": [one.message for one in rec.notes],
        },
        schema={"severity": pl.String, "line": pl.Int64, "column": pl.Int64, "message": pl.String},
    )
    columns = [
        Column("severity", "Severity", level=True),
        Column("line", "Line", digits=None),
        Column("column", "Column", digits=None),
        Column("message", "What was met, and what was done"),
    ]
    return table(frame, columns, "Notes of the reader", "The reader met nothing odd in this file.")


def readers_notes(recordings: Iterable[Recording], more: Iterable[tuple[str, Note]] = ()) -> Block:
    """Everything odd that the readers of several files met.

    Args:
        recordings: What they read.
        more: Notes on what came after, each with the name of what it is on.
    """
    noted = [*((Path(rec.source).name, one) for rec in recordings for one in rec.notes), *more]
    frame = pl.DataFrame(
        [(name, one.severity, one.line, one.message) for name, one in noted],
        schema={"file": pl.String, "severity": pl.String, "line": pl.Int64, "message": pl.String},
        orient="row",
    )
    columns = [
        Column("file", "File", mono=True),
        Column("severity", "Severity", level=True),
        Column("line", "Line", digits=None),
        Column("message", "What was met, and what was done"),
    ]
    return table(frame, columns, "Notes of the readers", "The readers met nothing odd in these files.")


def parameters(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The row of a report's facts that says what it was asked for; none where nothing was."""
    values = ", ".join(f"{name} = {value!r}" for name, value in given.items())
    return [("Parameters", values)] if values else []


def provenance(rec: Recording, template: str, given: Mapping[str, Any]) -> Block:
    """Where the report comes from: the file and its fingerprint, the program, the parameters, the time."""
    path = Path(rec.source)
    items = [("Source", rec.source)]
    if path.is_file():
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        items += [("Size", f"{path.stat().st_size:,} bytes"), ("SHA-256", digest)]
    items += [
        ("Program", f"esxparse {esxparse.__version__}"),
        ("Template", template),
        *parameters(given),
        ("Made", moment(datetime.now(UTC))),
    ]
    return facts(items)
