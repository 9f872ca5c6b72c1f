"""Functions for the cells of every template: displays, the header, notes of the readers, provenance."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec

import polars as pl

from esxparse.clock import spoken_span
from esxparse.formats.events import Event
from esxparse.formats.names import told_apart
from esxparse.recording import Note, Recording, first_few
from esxparse.reports import blocks, quality
from esxparse.reports.blocks import Block, Figure, Header, Section, facts, moment, stack, table
from esxparse.reports.columns import columns_of
from esxparse.version import __version__
from esxparse.whole import sha256

if TYPE_CHECKING:
    import altair as alt

P = ParamSpec("P")

SHIPPED: Final = "shipped"
"""Value of the variable ESXPARSE_REPORT in the kernel of a template that comes with esxparse; "own" in others."""

_HELD_BYTES: Final = 256 << 20
_NAMED: Final = 4


def if_present(function: Callable[Concatenate[pl.LazyFrame, P], Any], *frames: Any, **more: Any) -> Any:
    """Return `function(*frames, **more)`, or None if a frame is None because the capture does not have that table.

    Many charts use the same frame, so it is computed here once, unless it would take more than 256 MiB.
    """
    if any(frame is None for frame in frames):
        return None
    made = function(*frames, **more)
    if not isinstance(made, pl.LazyFrame):
        return made
    rows = frames[0].select(pl.len()).collect().item()
    return made.collect().lazy() if 8 * rows * len(made.collect_schema()) <= _HELD_BYTES else made


def together(*frames: pl.LazyFrame | None) -> pl.LazyFrame | None:
    """Return the rows of all frames that are not None, or None: disks and NFS volumes for one chart."""
    there = [frame for frame in frames if frame is not None]
    return pl.concat(there, how="diagonal") if there else None


def prepare() -> None:
    """Prepare altair: the look of the reports; in a run by `report`, charts as plain specifications."""
    import altair as alt  # noqa: PLC0415 - takes more than a second

    from esxparse.charts import theme  # noqa: PLC0415
    from esxparse.reports.datasets import filled, unchecked  # noqa: PLC0415

    theme.use()
    if "ESXPARSE_REPORT" in os.environ:
        alt.renderers.register("esxparse", lambda spec, **_: Figure(filled(spec), packed=True)._repr_mimebundle_())
        alt.renderers.enable("esxparse")
    if os.environ.get("ESXPARSE_REPORT") == SHIPPED:
        unchecked()


def show(*charts: alt.Chart | alt.LayerChart | None, missing: str, events: Sequence[Event] = ()) -> None:
    """Display charts, or one sentence if all are None.

    `charts`: from the builders of `esxparse.charts`; None if they had nothing to draw. `missing`: text if all are
    None, or "". The page leaves out a section with only such text, and lists the reason. `events`: marks on charts
    over time, each with its number.
    """
    import altair as alt  # noqa: PLC0415
    from IPython.display import display  # noqa: PLC0415

    from esxparse.reports.datasets import filled  # noqa: PLC0415
    from esxparse.reports.marked import marked  # noqa: PLC0415

    there = [chart for chart in charts if chart is not None]
    renderer = alt.renderers.get()
    for chart in there:
        # Validation is half the cost of a chart: the tests validate the charts of esxparse.
        spec = filled(chart.to_dict(validate=os.environ.get("ESXPARSE_REPORT") != SHIPPED))
        spec = marked(spec, events) if events else spec
        live: Any = {}
        if renderer is not None and "ESXPARSE_REPORT" not in os.environ:
            live = renderer(spec)
            # Renderers of pictures also return the picture's size.
            live = live[0] if isinstance(live, tuple) else live
        display(Figure(spec, live, packed="ESXPARSE_REPORT" in os.environ))  # type: ignore[no-untyped-call]
    if not there and missing:
        display(blocks.missing(missing))  # type: ignore[no-untyped-call]


def part(name: str, text: str, *blocks: Block) -> None:
    """Display a section with blocks; nothing if all of them are `NOTHING`."""
    from IPython.display import display  # noqa: PLC0415

    there = [one for one in blocks if one.html]
    for one in [Section(name, text), *there] if there else []:
        display(one)  # type: ignore[no-untyped-call]


def header(title: str, recordings: Sequence[Recording], subtitle: str) -> Header:
    """Return the title, with the host's name if a recording has it, and the line below it."""
    host = next((str(rec.meta["host"]) for rec in recordings if rec.meta.get("host")), "")
    return Header(f"{title}: {host}" if host else title, subtitle)


def taken(rec: Recording) -> str:
    """Return when a capture was taken, and its duration."""
    start, end = rec.meta["start"], rec.meta["end"]
    return f"{moment(start)} to {moment(end)} ({spoken_span((end - start).total_seconds())})"


def some(names: Sequence[str]) -> str:
    """Return names in a row, the first four of many."""
    return first_few(names, _NAMED)


def files(recordings: Sequence[Recording]) -> str:
    """Return the names of a report's files, the first four of many."""
    return some([Path(rec.source).name for rec in recordings])


def reader_notes(recordings: Sequence[Recording], more: Iterable[tuple[str, Note]] = ()) -> Block:
    """Return the results of the quality check, and the readers' notes on anomalies.

    `recordings`: the recordings with notes. `more`: later notes, each with the name of its subject.
    """
    noted = [*((Path(rec.source).name, one) for rec in recordings for one in rec.notes), *more]
    alike: dict[tuple[object, ...], dict[str, None]] = {}
    for name, one in noted:
        alike.setdefault((one.severity, one.line, one.column, one.message), {})[name] = None
    text, number = pl.String, pl.Int64
    every = len(recordings)
    frame = pl.DataFrame(
        [(f"all {every} files" if 1 < len(names) == every else ", ".join(names), *one) for one, names in alike.items()],
        schema={"file": text, "severity": text, "line": number, "column": number, "message": text},
        orient="row",
    )
    columns = columns_of("page.reader_notes", but=() if len(recordings) > 1 else ("file",))
    return stack(quality.section(recordings), table(frame, columns, "Reader notes", "The readers found no anomalies."))


def _without_folders(value: Any) -> Any:
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value


def provenance(
    recordings: Sequence[Recording],
    template: str,
    options: Mapping[str, Any],
    more: Iterable[tuple[str, str]] = (),
) -> Block:
    """Return the sources of a report: files and their fingerprints, program, template, options, time.

    Reports are shared: they contain the names of files, but no local paths.

    `recordings`: recordings of the report. `template`: name of the template. `options`: its parameters, and options of
    `esxparse.open`. `more`: facts of this template, such as the measured commands.
    """
    items = []
    names = told_apart([rec.source for rec in recordings])
    for number, (rec, name) in enumerate(zip(recordings, names, strict=True), 1):
        of = f" {number}" if len(recordings) > 1 else ""
        items.append((f"Source{of}", f"{name} ({rec.format})"))
        if (path := Path(rec.source)).is_file():
            items += [(f"Size{of}", f"{path.stat().st_size:,} bytes"), (f"SHA-256{of}", sha256(path))]
    parameters = ", ".join(f"{name} = {_without_folders(value)!r}" for name, value in options.items())
    return facts(
        [
            *items,
            *more,
            ("Program", f"esxparse {__version__}"),
            ("Template", template),
            *([("Parameters", parameters)] if parameters else []),
            ("Made", moment(datetime.now(UTC))),
        ]
    )
