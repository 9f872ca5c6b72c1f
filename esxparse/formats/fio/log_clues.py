"""Whether the latencies of a fio log are nanoseconds or microseconds: evidence from the logs of a run.

The two readings differ by a factor of 1000, and so do the I/Os in flight that follow from them (Little's law: rate x
latency). An unlimited job has about its queue depth in flight: 0.032 is impossible, 32 is plausible, 32,000 is not. An
I/O also cannot take longer than the job has run. Averages without a log of rates fit both readings.

Source: Little's law; `add_bw_sample` of fio's stat.c: the bandwidth of a single I/O is its size over its latency.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
from numpy.typing import NDArray

from esxparse.formats.fio import histogram
from esxparse.formats.fio.log_facts import DIRECTION, EPOCH_MS, layout, log_name, numbered, sample

Entry = Mapping[str, int]

LATENCIES = ("lat", "clat", "slat")

PROOF, LAW, WEAK, TYPICAL = 3, 2, 1, 0
"""The strength of evidence: only one reading is possible; only one is plausible; one is more so; one is more common."""

_NS, _US = 1e-6, 1e-3
"""Milliseconds in a unit."""
_FEWEST = 5
"""Fewest entries that show how many I/Os are in flight."""

_BUSY_SYNC = 0.3
"""I/Os in flight, read as nanoseconds, that fit a job at queue depth 1. As microseconds they are hundreds."""
_MOST = 1.5
"""I/Os in flight, read as nanoseconds, that would exceed the deepest queues as microseconds."""
_NOTHING = 2e-4
"""I/Os in flight below which both readings leave the job idle most of the time: its rate is limited."""
_SLOW_QUEUE = 0.02
"""I/Os in flight below which a job is idle as nanoseconds; as microseconds its queue is less than 20 deep."""
_QUICK = 5_000
"""Nanoseconds that only memory and page caches reach: a likely median of microseconds."""
_SHORTEST = 150
"""Nanoseconds that no I/O takes, not even one to memory."""
_FAST_RATE = 300
"""I/Os per ms of one job that only memory and page caches reach."""
_STARTS = 20.0
"""Milliseconds within which a job issues its first I/O."""
_STEADY = 0.4
"""Share of the variance below which a queue stays full."""
_INSIDE = 50
"""Fewest completions for a variance."""
_CLEAR_MS = 2.0
"""Spread of latencies needed with the log's clock of whole ms."""
_PACED = 0.1
"""Share of the variance of latencies below which the variance of a rate shows a limited rate."""
_LEFT_BY_RAMP = 1_000.0
"""Milliseconds by which the mean of a window may exceed its end: I/Os left in flight by a ramp_time."""
_SLOW = 1_000.0
"""Milliseconds that a mean latency reaches only in deep queues of slow disks."""
_LONGEST = 60_000.0
"""Milliseconds that no mean latency of a usable disk reaches."""
_SUBMITTERS = 4.0
"""Most processes that share a log: each submits one I/O at a time."""
_SUBMITTED = range(200, 1000)
"""A median of slat that may be nanoseconds or microseconds."""
_MATCHES = 10.0
"""Largest factor between two values of one latency in the same unit."""
_BEGINNING = 64 << 10
_JOBS = 32
"""Most jobs of a run that are examined."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Clue:
    """Evidence on the unit of latencies, which is the same for all logs of a run."""

    nanoseconds: bool
    why: str
    strength: int


@dataclass(frozen=True)
class _Law:
    """I/Os in flight, as far as a log shows them."""

    nanoseconds: float
    """On average, if values are nanoseconds."""
    microseconds: float
    typical: float
    """The median value."""
    rate: float
    """I/Os per ms."""
    impossible: bool | None = None
    """Whether microseconds would exceed the time since the job began; None if that time is unknown."""
    steady: bool | None = None
    """Whether nanoseconds (True) or microseconds (False) give a queue that stays full; None if neither does."""
    paced: bool | None = None
    """Whether the rate stays the same while latencies change: something limits the rate. None if unknown."""

    def judge(self) -> tuple[bool, int]:
        """Return whether values are nanoseconds, and the strength of that evidence, by the first rule that applies."""
        flying, quick = self.nanoseconds, self.typical < _QUICK
        in_memory = flying >= _SLOW_QUEUE and _SHORTEST <= self.typical < _QUICK and self.rate >= _FAST_RATE
        possible = self.impossible is False
        answers = (
            (self.steady is not None, bool(self.steady), LAW),
            # With a ramp_time, I/Os left in flight look the same.
            (self.impossible, True, LAW if flying >= _BUSY_SYNC else WEAK),
            (possible and not quick and flying < _MOST * 10, False, LAW if flying < _BUSY_SYNC else WEAK),
            (flying >= _MOST, True, LAW),
            (self.typical * _US > _SLOW, True, WEAK),
            (in_memory, True, WEAK),
            (flying >= _BUSY_SYNC, not possible, WEAK),
            (flying >= _NOTHING and not self.paced, False, LAW if possible or self.paced is False else WEAK),
            (True, not quick, TYPICAL),
        )
        return next((nanoseconds, strength) for applies, nanoseconds, strength in answers if applies)

    def clue(self) -> Clue:
        """Return the evidence in words."""
        nanoseconds, strength = self.judge()
        why = f"I/Os in flight on average: {self.nanoseconds:.2g} if ns, {self.microseconds:.2g} if us"
        if self.steady is not None:
            return Clue(nanoseconds, f"{why}; as {'ns' if nanoseconds else 'us'} their number stays the same", strength)
        if self.impossible:
            why += "; as us some would have begun before the job"
        return Clue(nanoseconds, why, strength)


def _in_flight(rows: Sequence[Entry], unit_ms: float) -> float:
    """Return the average I/Os in flight between the first issue and the last completion of these."""
    issued = min(row["time"] - row["value"] * unit_ms for row in rows)
    span = max(row["time"] for row in rows) - issued + 1
    return sum(row["value"] for row in rows) * unit_ms / span


def _too_early(rows: Sequence[Entry], *, averaged: bool) -> bool | None:
    """Return whether latencies in microseconds exceed the time since the job began; None if unknown."""
    if rows[0]["time"] >= EPOCH_MS:
        return None
    # Times are cut to whole ms. The mean of a window may include a few I/Os left over from a ramp_time.
    begun = min(row["time"] + 1 - row["value"] * _US for row in rows)
    if begun < 0:
        return True if not averaged or begun < -_LEFT_BY_RAMP else None
    return False if not averaged and begun <= _STARTS else None


def _unsteadiness(times: Floats, latencies: Floats) -> float | None:
    """Return a ratio of variances of the number in flight: with the own latencies over other I/Os'; None if too short.

    In a queue that stays full, each completion is followed by the next issue, so the number in flight is constant. With
    the latencies of I/Os that completed one latency later, that number varies.
    """
    # Count just before a completion, because the clock of the log has whole ms.
    inside = times[times <= times.max() - np.quantile(latencies, 0.99)] - _CLEAR_MS
    spread = np.quantile(latencies, 0.75) - np.quantile(latencies, 0.25)
    if len(inside) < _INSIDE or spread < _CLEAR_MS:
        return None
    flying = latencies.sum() / (times.max() - (times - latencies).min() + 1)
    done = np.searchsorted(times, inside)
    own, other = (
        float(np.var(np.searchsorted(np.sort(times - taken), inside) - done))
        for taken in (latencies, np.roll(latencies, max(1, round(flying))))
    )
    return own / other if other else None


def _steady(rows: Sequence[Entry]) -> bool | None:
    """Return whether nanoseconds (or else microseconds) give a queue that stays full; None if neither does."""
    times, values = np.array(sorted((row["time"], row["value"]) for row in rows), dtype=float).T
    for nanoseconds, unit in ((True, _NS), (False, _US)):
        found = _unsteadiness(times, values * unit)
        if found is not None and found < _STEADY:
            return nanoseconds
    return None


def _of_each(rows: Sequence[Entry]) -> _Law:
    """Return the law of a log with an entry per I/O."""
    span = max(row["time"] for row in rows) - min(row["time"] for row in rows) + 1
    return _Law(
        _in_flight(rows, _NS),
        _in_flight(rows, _US),
        median(row["value"] for row in rows),
        len(rows) / span,
        _too_early(rows, averaged=False),
        _steady(rows),
    )


def _of_averages(rows: Sequence[Entry], rates: Sequence[Entry]) -> _Law:
    """Return the law of averages of latencies, and of rates of the same job."""
    ways = range(len(DIRECTION.categories))
    flying = sum(_mean(rates, way) * _mean(rows, way) for way in ways) / 1000
    rate = sum(_mean(rates, way) for way in ways) / 1000
    typical = median(row["value"] for row in rows)
    impossible = _too_early(rows, averaged=True)
    return _Law(flying * _NS, flying * _US, typical, rate, impossible, paced=_paced(rows, rates))


def _paced(rows: Sequence[Entry], rates: Sequence[Entry]) -> bool | None:
    """Return whether latencies change but rates do not: in a full queue rates follow. None if unknown."""
    by_time = {(row["time"], row["direction"]): row["value"] for row in rates}
    both = [
        (row["value"], rate) for row in rows if row["value"] and (rate := by_time.get((row["time"], row["direction"])))
    ]
    if len(both) < _FEWEST or len({row["direction"] for row in rows}) > 1:
        return None
    latencies, at = np.log(np.array(both, dtype=float)).T
    changes = float(np.var(latencies))
    # Whole microseconds are too coarse to show the changes of a short latency.
    if changes <= (2 / median(value for value, _ in both)) ** 2:
        return None
    return float(np.var(at)) < _PACED * changes


def _mean(rows: Sequence[Entry], way: int) -> float:
    values = [row["value"] for row in rows if row["direction"] == way]
    return sum(values) / len(values) if values else 0.0


def _of_submission(rows: Sequence[Entry]) -> Clue:
    """Return the evidence from slat: a job submits one I/O at a time."""
    typical = median(row["value"] for row in rows)
    if rows[0]["size"] and len(rows) >= _FEWEST and (submitting := _in_flight(rows, _US)) > _SUBMITTERS:
        return Clue(nanoseconds=True, why=f"as us {submitting:.2g} I/Os were being submitted at once", strength=LAW)
    nanoseconds = typical >= _SUBMITTED.start
    return Clue(nanoseconds, f"median slat: {typical:,.0f}", TYPICAL if typical in _SUBMITTED else WEAK)


def clue(metric: str, rows: Sequence[Entry], columns: Sequence[str]) -> Clue:
    """Return the evidence in the entries of one log of latencies."""
    if "priority" in columns:
        return Clue(nanoseconds=True, why="lines have a priority, which fio writes from 3.19 on", strength=PROOF)
    if metric == "slat":
        return _of_submission(rows)
    if rows[0]["size"] and len(rows) >= _FEWEST:
        return _of_each(rows).clue()
    typical = median(row["value"] for row in rows)
    why = f"median {metric}: {typical * _NS:.3g} ms if ns, {typical * _US:.3g} ms if us"
    if typical * _US > _LONGEST or _too_early(rows, averaged=True):
        return Clue(nanoseconds=True, why=f"{why}, which is too long", strength=LAW)
    return Clue(typical >= _QUICK, why, TYPICAL)


def compare(metric: str, rows: Sequence[Entry], expected_ms: float, source: str) -> Clue | None:
    """Return the evidence of another measurement, with a unit, of the same latency; None if it fits neither reading."""
    typical = median(row["value"] for row in rows)
    for nanoseconds, unit in ((True, _NS), (False, _US)):
        if typical and 1 / _MATCHES < typical * unit / expected_ms < _MATCHES:
            why = f"{source} has {expected_ms:.3g} ms: median {metric} is {typical * unit:.3g} ms as read here"
            return Clue(nanoseconds, why, PROOF)
    return None


def _by_bandwidth(rows: Sequence[Entry]) -> float | None:
    """Return milliseconds per I/O by the bandwidth of single I/Os; None for averages, which may look alike."""
    span = max(row["time"] for row in rows) - min(row["time"] for row in rows)
    values = [row["size"] / row["value"] for row in rows if row["value"] and row["size"]]
    return median(values) if len(values) >= _FEWEST and span < 100 * len(values) else None


@dataclass(frozen=True)
class Log:
    """The first entries of a log."""

    file: str
    metric: str
    rows: Sequence[Entry]
    columns: tuple[str, ...]

    @property
    def averaged(self) -> bool:
        """Whether entries are averages over a time; in releases before 2.11, rates have a block size."""
        return not self.rows[0]["size"] or (self.metric == "iops" and any(row["value"] > 1 for row in self.rows))


def _opened(file: str, metric: str, text: str) -> Log | None:
    cells = sample(text[:_BEGINNING])
    if not (columns := layout(cells)):
        return None
    rows: list[Entry] = [row for one in cells if len(one) == len(columns) and (row := numbered(columns, one))]
    return Log(file, metric, rows, columns) if rows else None


@dataclass(frozen=True)
class Logs:
    """The logs in a directory, and the evidence in them with its run and file."""

    opened: tuple[Log, ...]
    clues: tuple[tuple[str, str, Clue], ...]

    def of_run(self, base: str) -> Logs:
        """Return the logs that fio named `base`."""
        opened = tuple(log for log in self.opened if log_name(log.file).base == base)
        return Logs(opened, tuple(one for one in self.clues if one[0] == base))

    def strongest(self, base: str) -> Clue | None:
        """Return the strongest evidence on the logs that fio named `base`; other logs may be of another run."""
        clues = [
            (file, found if run == base else replace(found, strength=min(found.strength, LAW)))
            for run, file, found in self.clues
        ]
        if not clues:
            return None
        strongest = max(one.strength for _, one in clues)
        best = [(file, one) for file, one in clues if one.strength == strongest]
        nanoseconds = 2 * sum(one.nanoseconds for _, one in best) >= len(best)
        file, winner = next((file, one) for file, one in best if one.nanoseconds == nanoseconds)
        return replace(winner, why=f"{winner.why}, in {file}")


def open_logs(logs: Iterable[tuple[str, str]]) -> Logs:
    """Open logs, from the name and the beginning of each: fio writes all latencies of a run in one unit."""
    clues: list[tuple[str, str, Clue]] = []
    jobs: dict[tuple[str, int | None], dict[str, Log]] = defaultdict(dict)
    for file, text in logs:
        name = log_name(file)
        bins = histogram.first_line(text) if name.metric == "clat_hist" else None
        if bins and (known := histogram.of_line(bins)):
            clues.append((name.base, file, Clue(known.unit == "ns", known.evidence, PROOF)))
            continue
        job = (name.base, name.number)
        if name.metric not in {*LATENCIES, "iops", "bw"} or (len(jobs) >= _JOBS and job not in jobs):
            continue
        if log := _opened(file, name.metric, text):
            jobs[job][name.metric] = log
            if name.metric in LATENCIES:
                clues.append((name.base, file, clue(name.metric, log.rows, log.columns)))
    for (base, _), found in jobs.items():
        clues += [(base, file, one) for file, one in _of_job(found)]
    return Logs(tuple(log for found in jobs.values() for log in found.values()), tuple(clues))


def _of_job(logs: Mapping[str, Log]) -> Iterable[tuple[str, Clue]]:
    """Yield the evidence from several logs of one job combined."""
    latency = logs.get("clat") or logs.get("lat")
    if latency is None:
        return
    rates, bandwidth = logs.get("iops"), logs.get("bw")
    if latency.averaged and rates and rates.averaged:
        yield f"{latency.file} and {rates.file}", _of_averages(latency.rows, rates.rows).clue()
    if not latency.averaged and bandwidth and (expected := _by_bandwidth(bandwidth.rows)):
        found = compare(latency.metric, latency.rows, expected, bandwidth.file)
        if found:
            yield latency.file, found
