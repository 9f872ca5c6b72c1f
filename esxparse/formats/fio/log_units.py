"""The unit of the values of a fio log, with the evidence.

Source: fio's stat.c and iolog.c, several releases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from esxparse.formats.fio.log_clues import LATENCIES, LAW, PROOF, WEAK, Clue, Entry, clue
from esxparse.formats.fio.log_outputs import KnownRelease

_BANDWIDTH_OF_EACH = (2, 11)
"""The first release with the bandwidth of each I/O."""
_PER_SECOND = 4.0
"""Most entries per second and direction that are averages despite a block size (fio before 2.11)."""


@dataclass(frozen=True)
class Unit:
    """The conversion of values to bytes per second, I/Os per second or milliseconds."""

    name: str
    """As in `meta`: ns, us, KiB/s, kB/s, IOPS, I/Os, unknown."""
    factor: float
    """A whole number or, below 1, the inverse of one."""
    evidence: str
    guessed: bool = False
    ambiguous: bool = False
    """Whether the other unit of latencies is plausible too: values would then be 1000 times as large or small."""

    @property
    def ratio(self) -> tuple[int, int]:
        """The factor as numerator and denominator: 6004 us over 1000 are 6.004 ms, times 0.001 6.0040000000000004."""
        return (1, round(1 / self.factor)) if self.factor < 1 else (round(self.factor), 1)


def _unit(found: Clue) -> Unit:
    name, factor = ("ns", 1e-6) if found.nanoseconds else ("us", 1e-3)
    return Unit(name, factor, found.why, guessed=found.strength < PROOF, ambiguous=found.strength < LAW)


def _latency(
    metric: str, rows: Sequence[Entry], columns: Sequence[str], known: KnownRelease | None, of_run: Clue | None
) -> Unit:
    own = clue(metric, rows, columns)
    best = own if of_run is None or own.strength > of_run.strength else of_run
    if known is None:
        return _unit(best)
    if not known.doubt:
        return _unit(Clue(known.nanoseconds, str(known), PROOF))
    if best.strength < LAW:
        return _unit(Clue(known.nanoseconds, str(known), WEAK))
    return _unit(best if best.nanoseconds == known.nanoseconds else replace(best, why=f"{best.why}, against {known}"))


def _bandwidth(rows: Sequence[Entry], known: KnownRelease | None) -> Unit:
    if not rows[0]["size"]:
        return Unit("KiB/s", 1024.0, "averages over a time")
    if known is not None and known.release < _BANDWIDTH_OF_EACH:
        return Unit("KiB/s", 1024.0, str(known), guessed=bool(known.doubt))
    seconds = (rows[-1]["time"] - rows[0]["time"]) / 1000
    directions = len({row["direction"] for row in rows})
    if known is None and len(rows) > directions and len(rows) / directions <= _PER_SECOND * seconds + 1:
        return Unit("KiB/s", 1024.0, "few entries a second: averages, as fio before 2.11 wrote them", guessed=True)
    return Unit("kB/s", 1000.0, "one entry per I/O")


def unit_of(
    metric: str, rows: Sequence[Entry], columns: Sequence[str], known: KnownRelease | None, of_run: Clue | None = None
) -> Unit:
    """Return the unit of a log's values, from its first entries: `time` (ms), `value`, `direction`, `size` ..."""
    if metric in LATENCIES:
        return _latency(metric, rows, columns, known, of_run)
    if metric == "bw":
        return _bandwidth(rows, known)
    if metric == "iops":
        if not rows[0]["size"]:
            return Unit("IOPS", 1.0, "averages over a time")
        if any(row["value"] > 1 for row in rows):
            return Unit("IOPS", 1.0, "values above 1: averages, as fio before 2.11 wrote them")
        return Unit("I/Os", 1.0, "one entry per I/O")
    return Unit("unknown", 1.0, "the file's name does not give the metric", guessed=True)
