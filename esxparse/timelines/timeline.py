"""`ex.timeline`: files with tasks and events, and captures, to phases; and how they are printed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import polars as pl

from esxparse import aligned
from esxparse.clock import spoken_span
from esxparse.errors import EsxparseError
from esxparse.formats.events import in_order, read_events
from esxparse.formats.opening import DateOrder, Opening, period
from esxparse.formats.registry import open_recording
from esxparse.recording import Note, Recording, as_markdown, counted, printable
from esxparse.timelines.beside import BESIDE, beside
from esxparse.timelines.phases import phases

VERSION: Final = 1
"""Of the JSON."""
_HEADS: Final = ("#", "start (UTC)", "step", "target", "took", "then waited")
_SHORT_S: Final = 10


@dataclass(frozen=True, repr=False, eq=False)
class Timeline:
    """Phases of one run or several; `ex.timeline` explains the tables."""

    phases: pl.DataFrame
    beside: pl.DataFrame
    notes: tuple[tuple[str, Note], ...] = ()
    """The file of each note, and the note."""

    @property
    def summary(self) -> list[str]:
        """A sentence per run: how long it took, and its longest wait."""
        found = []
        for run, rows in self._runs():
            words = f"Run {run}: {_span(rows['total_s'][0])} for {counted(rows.height, 'step')}."
            waits = rows.filter(pl.col("wait_s") > 0).sort("wait_s", descending=True, maintain_order=True)
            if waits.height:
                longest = waits.row(0, named=True)
                words += f" Longest wait: {_span(longest['wait_s'])} after step {longest['number']}, {longest['step']}."
            found.append(words)
        return found

    def _runs(self) -> Iterator[tuple[str, pl.DataFrame]]:
        for (run,), rows in self.phases.group_by("run", maintain_order=True):
            yield str(run), rows

    def _rows(self, rows: pl.DataFrame) -> Iterator[tuple[str, ...]]:
        for row in rows.iter_rows(named=True):
            took, wait = (None if row[name] is None else _span(row[name]) for name in ("duration_s", "wait_s"))
            last = "" if row["until"] is None else "?"
            start = f"{row['start']:%Y-%m-%d %H:%M:%S}"
            yield str(row["number"]), start, row["step"], row["target"], took or "?", wait or last

    def _captures(self, run: str) -> Iterator[str]:
        """Sentences on what hosts did in each phase of a run."""
        for row in self.beside.filter(run=run).iter_rows(named=True):
            what = f"step {row['number']}, {row['host']}: {counted(row['samples'], 'sample')}"
            for name, column in (("host CPU", "util_pct"), ("ready of the worst VM", "ready_pct")):
                what += "" if row[column] is None else f", {name} {row[column]:.1f} %"
            yield what
            yield from (f"  {verdict}" for verdict in row["findings"].splitlines())

    def text(self) -> str:
        """Everything for a terminal."""
        lines = [printable(one) for one in self.summary]
        for run, rows in self._runs():
            below = [*aligned.lines([_HEADS, *self._rows(rows)]), *map(printable, self._captures(run))]
            lines += ["", f"Run {printable(run)}", *(f"  {one}" for one in below)]
        return "\n".join(lines)

    def markdown(self) -> str:
        """Everything as Markdown."""
        parts = ["# Timeline", "\n".join(f"- {as_markdown(one)}" for one in self.summary)]
        for run, rows in self._runs():
            parts += [f"## Run {as_markdown(run)}", aligned.markdown(_HEADS, self._rows(rows))]
            if captures := list(self._captures(run)):
                parts.append("\n".join(f"- {as_markdown(one.strip())}" for one in captures))
        return "\n\n".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """As in the JSON; times are UTC in ISO 8601."""
        times = pl.col("start", "end", "until").dt.strftime("%Y-%m-%dT%H:%M:%S%.fZ")
        return {
            "version": VERSION,
            "summary": self.summary,
            "phases": self.phases.with_columns(times).to_dicts(),
            "beside": self.beside.to_dicts(),
            "notes": [f"{source}: {note}" for source, note in self.notes],
        }

    def json(self) -> str:
        """Everything as JSON."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=2, allow_nan=False)

    def csv(self) -> str:
        """The phases as CSV."""
        return self.phases.write_csv(datetime_format="%Y-%m-%dT%H:%M:%S%.fZ").rstrip("\n")

    def __repr__(self) -> str:
        return self.text()


def timeline(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    captures: Sequence[str | os.PathLike[str] | Recording] = (),
    *,
    match: str | None = None,
    split: str | timedelta | None = None,
    zone: str | None = None,
    date_order: DateOrder | None = None,
) -> Timeline:
    """Turn tasks and events into phases: how long each step took, and how long nothing happened after it.

    Args:
        files: Tables of tasks or steps (vCenter's export, PowerCLI, or a CSV with step, start and, if known, end,
            target, run), and logs of ESXi (hostd.log, vobd.log, vmkernel.log). Each is recognised by its content.
        captures: Captures of esxtop of the hosts involved.
        match: A regular expression: only events whose step or target matches, and lines of logs that match.
        split: A time without any event after which a new run begins: "1h".
        zone: The zone of the clock that wrote times without one; by default UTC.
        date_order: mdy, dmy or ymd, for dates that do not show it.

    Returns:
        A `Timeline`. `phases` has one row per event: `run`, `number`, `step`, `target`, `status`, `source`, `start`,
        `end`, `until` (UTC), `duration_s`, `wait_s` (until the next event, s), `total_s` (of the run, s). `beside` has
        one row per phase and capture: `run`, `number`, `host`, `samples`, `util_pct` (% of the host's PCPUs),
        `ready_pct` (of the worst VM, % of one core per vCPU), `findings`.

    Raises:
        EsxparseError: A file cannot be read, is in no known form, or has no event; or `match` is not a regular
            expression.
    """
    try:
        pattern = None if match is None else re.compile(match)
    except re.error as error:
        raise EsxparseError(f"match {match!r} is not a regular expression: {error}") from None
    length = period(split, "split")
    paths = [files] if isinstance(files, (str, os.PathLike)) else files
    read = [read_events(os.fspath(path), match=pattern, zone=zone, date_order=date_order) for path in paths]
    found = phases(in_order(read), length)
    recordings = [one if isinstance(one, Recording) else open_recording(one, Opening()) for one in captures]
    for rec in recordings:
        if rec.format != "esxtop":
            raise EsxparseError(f"{rec.source} is of the format {rec.format}: give captures of esxtop")
    sides = [pl.DataFrame(schema=BESIDE), *(beside(found, rec) for rec in recordings)]
    notes = tuple((one.source, note) for one in read for note in one.notes)
    return Timeline(found, pl.concat(sides).sort("run", "number", maintain_order=True), notes)


def _span(seconds: float) -> str:
    """A length of time; short ones with their fraction."""
    if seconds < _SHORT_S and seconds != round(seconds):
        return f"{seconds:.2f} s"
    return spoken_span(seconds)
