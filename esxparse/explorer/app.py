"""The explorer: a widget that shows counters of a recording over time, and answers questions about them.

The page holds the controls and draws; all arithmetic is done here, for the pixels on screen. Its runtime is Vega's
bundle from this machine, so it needs no network.
"""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anywidget
import polars as pl
import traitlets

from esxparse.charts import theme
from esxparse.charts.runtime import vega_runtime
from esxparse.errors import DamagedError, EsxparseError
from esxparse.explorer.code import cell
from esxparse.explorer.counter_columns import about, counter_columns, of_vms, words_for
from esxparse.explorer.drawer import alike, changed
from esxparse.explorer.guest import Guest, with_guest
from esxparse.explorer.objects import Objects
from esxparse.explorer.panel import Align, PanelRequest, Values, lines, moment
from esxparse.explorer.views import check, of_object, plain, presets
from esxparse.formats.collected import successor
from esxparse.formats.events import marks_of
from esxparse.formats.opening import Opening
from esxparse.formats.registry import open_recording
from esxparse.reading import as_recording
from esxparse.recording import Note, Recording, printable
from esxparse.studies import Study, study
from esxparse.studies.study_file import SUFFIX

if TYPE_CHECKING:
    from esxparse.explorer.overview import Overview

_HERE: Final = Path(__file__).parent
_SCRIPTS: Final = tuple(
    f"{name}.js"
    for name in (
        *("basics", "lines", "heat", "tip", "objects", "drawer", "search", "panel", "pointer", "saving"),
        "explorer",
    )
)
"""The page's scripts, which make one module in this order."""
_DARK: Final = '[data-jp-theme-light="false"] {0}'
_CLOCKS: Final = frozenset({"interval_s", "elapsed_s", "start_s", "seconds"})
"""Columns about the clock: nobody looks at them first."""
_HOST: Final = "host"


class Explorer(anywidget.AnyWidget):
    """The widget; `ex.explore` makes one.

    `view` is the state of the screen (panels, range of time, options, notes), as plain values that can be saved and
    restored. `code()` is the same as a cell of polars and altair.
    """

    _esm = traitlets.Unicode("").tag(sync=True)
    _css = traitlets.Unicode("").tag(sync=True)
    about = traitlets.Dict().tag(sync=True)
    counters: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    presets: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    view = traitlets.Dict().tag(sync=True)
    every = traitlets.Float(0.0).tag(sync=True)
    """Seconds between two looks at a file that is still written; 0 if the file is not followed."""

    def __init__(
        self,
        recordings: list[Recording],
        *,
        align: Align = "clock",
        view: dict[str, Any] | None = None,
        guest: Guest | None = None,
    ) -> None:
        script = "\n".join((_HERE / name).read_text(encoding="utf-8") for name in _SCRIPTS)
        style = (_HERE / "explorer.css").read_text(encoding="utf-8")
        check(align, view or {})
        super().__init__(_esm=f"{vega_runtime()}\n{script}", _css=style + theme.palette(_DARK, ".ex-explorer"))
        self.align, self.guest = align, guest
        self.seen: tuple[int, int] | None = None
        """The state of the followed file before it was read: it may grow meanwhile."""
        self.load(recordings)
        first = self.presets[0]["panels"] if self.presets else self._first()
        self.view = {"panels": first, "range": None, "notes": []} | plain(recordings[0], view or {})
        self.on_msg(self._answer)

    def __repr__(self) -> str:
        """Return the text shown if the widget cannot be: without its kernel, or in a notebook that is not trusted."""
        start, end = (None if at is None else moment(at) for at in (self.about["start"], self.about["end"]))
        times = f" from {start:%F %T} to {end:%F %T} UTC" if start and end else ""
        files = " and ".join([self.about["file"], *self.about["others"]])
        return f"The explorer of {files}{times}. It needs its kernel: if it does not show, run this cell."

    def _ipython_display_(self) -> None:
        from IPython.display import HTML, display  # noqa: PLC0415  (only a kernel asks)

        # Our styles show one of the two.
        display(HTML(f'<p class="esxparse-explorer">{html.escape(repr(self))}</p>'))  # type: ignore[no-untyped-call]
        bundle, metadata = self._repr_mimebundle_()  # type: ignore[misc]
        display(bundle | {"text/plain": "Explorer"}, metadata=metadata, raw=True)  # type: ignore[no-untyped-call]

    def load(self, recordings: list[Recording]) -> None:
        """Show other recordings, or the same ones read again, in the same view."""
        self.recordings = recordings
        drawn = [self.guest.recording, *recordings[1:]] if self.guest else recordings
        self.values = Values(drawn, self.align)
        self.objects = Objects(recordings[0])
        rec = recordings[0]
        # Derived tables come first: people look for VMs and devices before worlds and paths.
        every, timed = (
            sorted(counter_columns(drawn[0]), key=lambda one: one.derived is None),
            frozenset(_timed(drawn[0])),
        )
        self.counters = [
            {"table": one.table, "column": one.column, "name": one.name, "names": list(one.names)}
            | {"unit": one.unit, "meaning": one.meaning, "noun": about(one.table, "noun", "instances")}
            | {"words": words_for(one)}
            for one in every
            # A counter of groups is drawn as the counter of their VMs.
            if one.table in timed and of_vms(one, every) is one
        ]
        self.presets = presets(rec)
        spans = [(_span(one), self.values.shift(one)) for one in recordings]
        starts, ends = ([times[side] + shift for times, shift in spans if times] for side in (0, 1))
        self.about = {
            "title": printable(str(rec.meta.get("host") or Path(rec.source).name)),
            "file": printable(Path(rec.source).name),
            "others": [printable(Path(other.source).name) for other in recordings[1:]],
            "start": min(starts).timestamp() * 1000 if starts else None,
            "end": max(ends).timestamp() * 1000 if ends else None,
            # For a benchmark it is the number of its runs.
            "samples": None if "benchmark_results" in rec else rec.meta.get("samples"),
            "notes": [str(note) for one in recordings for note in one.notes if note.severity != "info"],
            "judged": rec.format == "esxtop",
            "guest": self.guest.about if self.guest else None,
        }

    def _first(self) -> list[dict[str, Any]]:
        rec = self.recordings[0]
        schemas = {table: rec.tables[table].collect_schema() for table in rec}
        floats = [
            one
            for one in self.counters
            if one["table"] in rec and schemas[one["table"]][one["column"]].is_float() and one["column"] not in _CLOCKS
        ]
        return [{"counter": one["column"], "table": one["table"]} for one in (floats or self.counters)[:1]]

    def requests(self, buckets: int = PanelRequest.buckets) -> list[PanelRequest]:
        """Return the content of each panel of the view, with at most so many points in a line."""
        start, end = self.view.get("range") or (None, None)
        shared = {key: self.view.get(key) for key in ("smooth", "normalise", "difference") if self.view.get(key)}
        shared |= {"start": start, "end": end, "buckets": buckets}
        return [PanelRequest.of({**one, **shared}) for one in self.view.get("panels", [])]

    def code(self, buckets: int = PanelRequest.buckets) -> str:
        """Return the view as code: a cell of polars and altair that makes the same charts, as fine as `buckets`."""
        if not self.view["panels"]:
            raise EsxparseError("the view has no panel: search for a counter first")
        captures = [(one.source, self.values.shift(one)) for one in self.recordings]
        drawn = [(one, self._drawn(one)) for request in self.requests(buckets) for one in request.each]
        return cell(captures, drawn, (self.guest.path, self.guest.vm) if self.guest else None)

    def _answer(self, _: Any, content: dict[str, Any], __: Any) -> None:
        answers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "panel": self._panel,
            "objects": lambda _message: {"objects": self.objects.known},
            "object": lambda message: self.objects.page(message["kind"], message["name"]),
            "code": lambda message: {"code": self.code(message.get("buckets", PanelRequest.buckets))},
            "findings": lambda _message: {"findings": self._findings()},
            "changes": lambda message: changed(
                self.recordings[0], None if message.get("start") is None else moment(message["start"])
            ),
            "similar": lambda message: {"rows": self._similar(message)},
            "grown": lambda _message: {"grown": self._grown()},
        }
        try:
            answer = answers[content["ask"]](content)
        except EsxparseError as error:
            answer = {"error": printable(str(error))}
        except Exception as error:  # noqa: BLE001 (whatever went wrong, the page waits for an answer)
            answer = {"error": printable(f"{type(error).__name__}: {error}")}
        self.send({"ask": content.get("ask"), "id": content.get("id"), "answer": answer})

    def _panel(self, message: dict[str, Any]) -> dict[str, Any]:
        return self._drawn(PanelRequest.of(message["panel"]))

    def _drawn(self, request: PanelRequest) -> dict[str, Any]:
        if request.kind == "lines":
            return lines(self.values, request)
        from esxparse.explorer.heat import heat  # noqa: PLC0415  (altair, which lines do without)

        return heat(self.values, request)

    def _grown(self) -> bool:
        """Read the file again if its size changed, or if another file has its name."""
        path = Path(self.recordings[0].source)
        state = _state(path)
        if state == self.seen:
            if after := successor(path):
                raise EsxparseError(f"{path.name} has ended: the capture goes on with other columns in {after}")
            return False
        self.load([_latest(path), *self.recordings[1:]])
        self.seen = state
        return True

    def _findings(self) -> list[dict[str, Any]]:
        # Half of the explorer's imports: nobody should wait for them before the first chart.
        from esxparse.explorer.judged import findings  # noqa: PLC0415

        return findings(self.recordings[0])

    def _similar(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the series that moved most like a series of a panel in a range of time."""
        rec, table, instance = (
            self.recordings[message.get("capture", 1) - 1],
            str(message["table"]),
            str(message["instance"]),
        )
        # `rows` gives a name to the host's own row.
        name = "" if table in rec and instance in {_HOST, table} else instance
        shift = self.values.shift(rec)
        window = (moment(message["start"]) - shift, moment(message["end"]) - shift)
        return alike(rec, (table, str(message["counter"]), name), window)


def explore(
    rec: Recording | Study | str | os.PathLike[str],
    other: Recording | str | os.PathLike[str] | None = None,
    *,
    align: Align = "clock",
    view: dict[str, Any] | None = None,
    vm: str | None = None,
    device: str | None = None,
    uplink: str | None = None,
    guest: Recording | str | os.PathLike[str] | None = None,
    events: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
) -> Explorer | Overview:
    """Return the explorer on a recording, for a notebook: counters by search and rank, in panels on one axis of time.

    A study, and a recording without times (a benchmark's results), are shown as facts, charts and tables instead.

    Args:
        rec: A recording or a study, or the path of one.
        other: A second recording, drawn dashed over the first.
        align: The second one by the "clock", or by "offset": both begin at once.
        view: The view to show, from another explorer's `Explorer.view`, or written by hand: a panel needs its
            `counter`, and `range` is two times.
        vm: Open on the page of this VM: its counters, disks, devices and uplinks on one axis of time.
        device: The same for a device.
        uplink: The same for a physical NIC.
        guest: Readings that a guest took of itself (sar, mpstat, iostat, vmstat or perfmon), to be drawn beside its VM;
            `vm` is its name, if the readings do not have it. Its clock is shifted until its CPU use matches the VM's.
        events: Tables of tasks or steps, or logs of ESXi (`ex.timeline` has their forms): each event that begins during
            the recording is a note at its time in every panel.

    Raises:
        EsxparseError: It cannot be read, another recording is to be drawn over one without times, `align` or something
            in `view` is unknown, there is no such VM, device or uplink, the clock of the guest cannot be aligned, or
            there are no events during the recording, or too many.
    """
    wanted = {"vm": vm, "device": device, "uplink": uplink}
    if isinstance(rec, Study) or (not isinstance(rec, Recording) and Path(rec).suffix == SUFFIX):
        if any(wanted.values()):
            raise EsxparseError("a study has no page of a VM, device or uplink: explore one of its captures")
        from esxparse.explorer.overview import of_study  # noqa: PLC0415  (altair)

        return of_study(rec if isinstance(rec, Study) else study(rec))
    recordings = [as_recording(one) for one in (rec, other) if one is not None]
    for one in recordings:
        if not any(counter.table in _timed(one) for counter in counter_columns(one)):
            if len(recordings) == 1 and not any(wanted.values()):
                from esxparse.explorer.overview import of_recording  # noqa: PLC0415  (altair)

                return of_recording(one)
            raise EsxparseError(f"{one.source} has no table over time: explore it alone")
    noted: dict[str, Any] = {}
    paths = [os.fspath(one) for one in ([events] if isinstance(events, (str, os.PathLike)) else events)]
    if paths and (span := _span(recordings[0])):
        happened, notes = marks_of(paths, *span)
        noted["notes"] = [{"time": one.start.timestamp() * 1000, "text": printable(one.words)} for one in happened]
        remarks = tuple(replace(note, message=f"{Path(source).name}: {note.message}") for source, note in notes)
        recordings[0] = replace(recordings[0], notes=recordings[0].notes + remarks)
    if guest is not None:
        beside = with_guest(recordings[0], guest, vm)
        return Explorer(recordings, align=align, view={"panels": beside.panels} | noted | (view or {}), guest=beside)
    page = of_object(Objects(recordings[0]), wanted)
    return Explorer(recordings, align=align, view=page | noted | (view or {}))


def _timed(rec: Recording) -> list[str]:
    return [*(table for table in rec if "time" in rec.tables[table].collect_schema()), *rec.derived]


def _span(rec: Recording) -> tuple[datetime, datetime] | None:
    """Return the first and the last time; None if no row has a time."""
    if rec.meta.get("start") and rec.meta.get("end"):
        return rec.meta["start"], rec.meta["end"]
    timed = [rec.tables[table].select("time") for table in _timed(rec) if table in rec]
    times = pl.concat(timed).collect()["time"].drop_nulls()
    return None if times.is_empty() else (times.min(), times.max())  # type: ignore[return-value]


def _latest(path: str | os.PathLike[str]) -> Recording:
    """Return the last capture in a file that has samples: a new one begins if esxtop restarts with other columns."""
    rec = as_recording(path)
    while number := rec.meta.get("next_segment"):
        try:
            following = open_recording(path, Opening.of({"segment": number}))
        except DamagedError:
            # Its header is written but no sample yet.
            return rec
        message = f"the columns changed: only samples since {following.meta['start']:%F %T} UTC are here"
        more = f"read earlier ones with segment={number - 1}"
        note = Note(f"{message}; {more}", severity="warning", rows=rec.meta["samples"])
        rec = replace(following, notes=(note, *following.notes))
    return rec


def follow(path: str | os.PathLike[str], every: float = 5.0) -> Explorer:
    """Return the explorer on a capture that is still written: it reads the file again whenever it has grown.

    If esxtop is restarted with other columns, the explorer goes on with the new ones, and a note has the time of the
    change.

    `path`: of the capture. `every`: seconds between two looks at the file.

    Raises EsxparseError: No capture is at the path yet, it is not on this machine, or it has no time stamps.
    """
    state = _state(path)
    explorer = explore(_latest(path))
    if not isinstance(explorer, Explorer):
        raise EsxparseError(f"{path} has no table over time: there is nothing to follow")
    explorer.every, explorer.seen = every, state
    return explorer


def _state(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Return values that change when the file grows, or when another file takes its name."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError) as error:
        raise EsxparseError(f"{path} cannot be followed: {getattr(error, 'strerror', None) or error}") from None
    return found.st_ino, found.st_size
