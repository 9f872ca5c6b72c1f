"""Counters of a vCenter's objects, by QueryPerf, in batches that a vCenter accepts."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from esxparse import toml
from esxparse.collect.failures import CutError, ForbiddenError, MissingError, NoAnswerError
from esxparse.collect.vcenter_inventory import Thing
from esxparse.collect.vsphere_session import Session, types
from esxparse.errors import EsxparseError
from esxparse.recording import counted

_COUNTERS: Final[Mapping[str, Sequence[str]]] = toml.beside(__file__, "vcenter.toml")["counters"]
REAL_TIME_S: Final = 20
"""The interval of values that hosts keep for an hour."""
KEPT: Final = timedelta(hours=1)
_REAL_TIME_KINDS: Final = frozenset({"HostSystem", "VirtualMachine"})
_MOST_OBJECTS: Final = 50
"""Objects of a query; VMware recommends no more (vSphere performance guide, as vic pull request 5849 quotes it)."""
_MOST_SERIES: Final = 5_000
"""Series of a query of real-time values: an hour of them is about 5 MB."""
_STORED_SERIES: Final = 256
_STORED_SERIES_BEFORE_6_5: Final = 64
"""The default of config.vpxd.stats.maxQueryMetrics: series of a query of stored values (VMware KB 2107096)."""
_PAUSES_S: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
_Value = TypeVar("_Value")
_SETTING: Final = "config.vpxd.stats.maxQueryMetrics"


@dataclass(frozen=True)
class _Wanted:
    """Series of an object that the server has."""

    thing: Thing
    metrics: Sequence[Any]


@dataclass
class Reading:
    """A reading of counters: what to read, and what became of it."""

    session: Session
    begin: datetime
    end: datetime
    every_counter: bool
    names: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Name and unit of a counter by its number."""
    failed: list[tuple[str, str]] = field(default_factory=list)
    """What could not be read, and why."""

    def members(self, things: Sequence[Thing], say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
        """Yield an object for each thing and interval, as `govc metric.sample -json` has them in `sample`.

        Raises EsxparseError: The server does not answer any more.
        """
        session = self.session
        self.names = patiently(session, "reading the list of counters", _catalogue)
        intervals = patiently(session, "reading the intervals", _intervals)
        stored = _stored(intervals, self.end - self.begin)
        limit = self._limit()
        by_interval: dict[int, list[Thing]] = defaultdict(list)
        for one in things:
            is_real_time = one.kind in _REAL_TIME_KINDS
            if is_real_time:
                by_interval[REAL_TIME_S].append(one)
            if not is_real_time or self.end - self.begin > KEPT:
                by_interval[stored].append(one)
        for interval, several in by_interval.items():
            say(f"reading the counters of {counted(len(several), 'object')}, every {interval} s")
            wanted = [found for one in several if (found := self._available(one, interval)).metrics]
            series = _MOST_SERIES if interval == REAL_TIME_S else limit
            for batch in _batches(wanted, series, _MOST_OBJECTS):
                yield from self._query(batch, interval)

    def _limit(self) -> int:
        """Return how many series of stored values a query may have."""
        with suppress(ForbiddenError, MissingError, NoAnswerError):
            options = self.session.call("reading a setting", lambda content: content.setting.QueryOptions(_SETTING))
            value = int(options[0].value)
            return value if value > 0 else _MOST_SERIES
        version = str(self.session.content.about.apiVersion or "")
        parts = [int(part) for part in version.split(".")[:2] if part.isdecimal()]
        return _STORED_SERIES_BEFORE_6_5 if parts and parts < [6, 5] else _STORED_SERIES

    def _available(self, thing: Thing, interval: int) -> _Wanted:
        begin = max(self.begin, self.end - KEPT) if interval == REAL_TIME_S else self.begin
        try:
            found = patiently(
                self.session,
                "QueryAvailablePerfMetric",
                lambda content: content.perfManager.QueryAvailablePerfMetric(thing.ref, begin, self.end, interval),
            )
        except (ForbiddenError, MissingError, NoAnswerError) as error:
            self._fail(f"counters of {thing.name}", error)
            return _Wanted(thing, ())
        default = _COUNTERS[thing.kind]
        chosen = {
            (one.counterId, one.instance): one
            for one in found
            if self.every_counter or self.names.get(one.counterId, ("", ""))[0] in default
        }
        return _Wanted(thing, list(chosen.values()))

    def _fail(self, what: str, error: EsxparseError) -> None:
        """Keep a failure, unless the server does not answer any more.

        Raises EsxparseError: It does not.
        """
        require_answer(self.session, error)
        self.failed.append((what, str(error)))

    def _query(self, batch: Sequence[_Wanted], interval: int) -> Iterator[dict[str, Any]]:
        """Yield the answers to a batch; if the server refuses it, of its halves."""
        vim, _ = types()

        begin = max(self.begin, self.end - KEPT) if interval == REAL_TIME_S else self.begin
        query = vim.PerformanceManager.QuerySpec
        specs = [
            query(
                entity=one.thing.ref,
                startTime=begin,
                endTime=self.end,
                metricId=list(one.metrics),
                intervalId=interval,
                format="csv",
            )
            for one in batch
        ]
        try:
            answers = patiently(
                self.session, "QueryPerf", lambda content: content.perfManager.QueryPerf(querySpec=specs)
            )
        except (ForbiddenError, MissingError, NoAnswerError) as error:
            halves = _halves(batch, by_series=interval != REAL_TIME_S)
            if not halves:
                self._fail(f"{len(batch[0].metrics):,} counters of {batch[0].thing.name} every {interval} s", error)
                return
            require_answer(self.session, error)
            for half in halves:
                yield from self._query(half, interval)
            return
        things = {one.thing.id: one.thing for one in batch}
        for answer in answers:
            thing = things[str(answer.entity._moId)]  # noqa: SLF001  pyvmomi has no other way
            yield self._member(thing, answer)

    def _member(self, thing: Thing, answer: Any) -> dict[str, Any]:
        # "20,2026-11-24T07:31:48Z,20,2026-11-24T07:32:08Z": intervals and times in turn.
        cells = (answer.sampleInfoCSV or "").split(",")
        infos = [
            {"timestamp": time, "interval": int(length)} for length, time in zip(cells[::2], cells[1::2], strict=False)
        ]
        series = []
        for one in answer.value:
            name, unit = self.names.get(one.id.counterId, (f"counter {one.id.counterId}", None))
            values = [int(cell) if cell.lstrip("-").isdecimal() else None for cell in (one.value or "").split(",")]
            series.append(
                {
                    "name": name,
                    **({"unit": unit} if unit else {}),
                    "instance": one.id.instance or "",
                    "value": values if one.value else [],
                }
            )
        entity = {"type": thing.kind, "value": thing.id, "name": thing.name}
        return {"entity": entity, "sampleInfo": infos, "value": series}


def patiently(session: Session, what: str, function: Callable[[Any], _Value]) -> _Value:
    """Call as `Session.call` does, again after longer and longer pauses while the connection or the answer is lost."""
    for pause in _PAUSES_S:
        with suppress(CutError):
            return session.call(what, function, renew=True)
        (session.limits.stop or threading.Event()).wait(pause)
    return session.call(what, function, renew=True)


def require_answer(session: Session, error: EsxparseError) -> None:
    """Ask for something that always works if an error may mean that the server is gone.

    Raises EsxparseError: It is.
    """
    if isinstance(error, NoAnswerError):
        session.call("asking for the session", lambda content: content.sessionManager.currentSession, renew=True)


def _catalogue(content: Any) -> dict[int, tuple[str, str]]:
    return {
        one.key: (f"{one.groupInfo.key}.{one.nameInfo.key}.{one.rollupType}", str(one.unitInfo.key))
        for one in content.perfManager.perfCounter
    }


def _intervals(content: Any) -> list[tuple[int, int]]:
    """Return the length in seconds of each interval of stored values, and for how long it is kept."""
    found = content.perfManager.historicalInterval or []
    return sorted((int(one.samplingPeriod), int(one.length)) for one in found if one.enabled)


def _stored(intervals: Sequence[tuple[int, int]], span: timedelta) -> int:
    """Return the shortest interval whose values are kept for that long."""
    fitting = [period for period, kept in intervals if kept >= span.total_seconds()]
    return fitting[0] if fitting else max((period for period, _ in intervals), default=300)


def _batches(wanted: Sequence[_Wanted], most_series: int, most_objects: int) -> Iterator[list[_Wanted]]:
    """Yield batches of at most so many series and objects; an object with more series is in several."""
    batch: list[_Wanted] = []
    free = most_series
    for one in wanted:
        metrics = list(one.metrics)
        while metrics:
            if not free or len(batch) == most_objects:
                yield batch
                batch, free = [], most_series
            part, metrics = metrics[:free], metrics[free:]
            batch.append(_Wanted(one.thing, part))
            free -= len(part)
    if batch:
        yield batch


def _halves(batch: Sequence[_Wanted], *, by_series: bool) -> list[list[_Wanted]]:
    """Return two smaller batches; none if the batch is a single series, or without `by_series` a single object."""
    if len(batch) > 1:
        middle = len(batch) // 2
        return [list(batch[:middle]), list(batch[middle:])]
    metrics = batch[0].metrics
    middle = len(metrics) // 2 if by_series else 0
    parts = [metrics[:middle], metrics[middle:]] if middle else []
    return [[_Wanted(batch[0].thing, part)] for part in parts]


def line(member: Mapping[str, Any]) -> bytes:
    """Return an object as a line of JSON."""
    return json.dumps(member, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
