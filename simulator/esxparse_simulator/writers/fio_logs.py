"""fio's logs: `bw`, `iops`, `lat`, `clat`, `slat`, of each I/O or averaged (`log_avg_msec`), and `clat_hist`.

Lines are `time, value, direction, block size`, from 3.19 on with a priority, 0. Latencies are nanoseconds (2.1.3:
microseconds). Of each I/O, bandwidth is its size over its completion latency (1000 bytes/s) and IOPS 1; averages are
KiB/s and I/Os per second, their block size 0. fio 2.1.3 has no bandwidth and IOPS of an I/O but of every 500 ms.

The I/Os of a log are those that the outputs of the same run count: same number, mean, extremes, bins. Averages have the
mean of the run, each time the same weight. A log is made in pieces of some 65,000 lines, whatever its length.

Evidence: `flush_samples`, `flush_hist_samples` of iolog.c, `add_log_sample`, `add_bw_sample`, `__add_samples`,
`__add_stat_to_log` of stat.c (2.1, 3.33); logs of 3.7; runs of 3.33.
Assumptions: I/Os complete evenly over time, reads and writes mixed; an averaged line comes up to 2 ms late for
latencies; averages differ by what their I/Os do by chance, and half of `rate_spread` more. What fio has after its last
whole interval of `log_hist_msec` it does not write: neither does this.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from esxparse.errors import EsxparseError
from esxparse_simulator.writers.fio_run import SYNCHRONOUS, centred, check, draws

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from esxparse_simulator.results import Side
    from esxparse_simulator.writers.fio_run import FioRun

__all__ = ["LogKind", "histogram_lines", "lines", "log_name"]

LogKind = Literal["bw", "iops", "lat", "clat", "slat"]
Whole: TypeAlias = "NDArray[np.int64]"

_PIECE = 1 << 16
_CODES = {"read": 0, "write": 1}
_COARSEST = 6
_RATE_MS = 500
_LATE_MS = 3
_SHORTEST_MS = 10
_FEW = 20
"""I/Os of an interval below which its rate is their number."""


def log_name(base: str, kind: LogKind | Literal["clat_hist"], number: int) -> str:
    """The file of a job's log; `number` is the job's, from 1.

    >>> log_name("oltp", "clat_hist", 2)
    'oltp_clat_hist.2.log'
    """
    return f"{base}_{kind}.{number}.log"


def _text(columns: Sequence[Whole | int]) -> bytes:
    """Lines of whole numbers: what is the same in all lines may be one number."""
    number = next(len(one) for one in columns if not isinstance(one, int))
    parts: list[tuple[NDArray[np.uint8], NDArray[np.bool_]]] = []
    for place, column in enumerate(columns):
        after = b"\n" if place == len(columns) - 1 else b", "
        fixed = after
        if isinstance(column, int):
            fixed = str(column).encode() + after
        else:
            width = len(str(int(column.max())))
            digits = np.empty((number, width), dtype=np.uint8)
            shown = np.ones((number, width), dtype=np.bool_)
            rest = column.astype(np.uint32) if width < 10 else column  # noqa: PLR2004  digits of 32 bits
            for at in range(width - 1, -1, -1):
                if at < width - 1:
                    shown[:, at] = rest > 0
                tens = rest // 10
                digits[:, at] = rest - tens * 10 + ord("0")
                rest = tens
            parts.append((digits, shown))
        stamp = np.frombuffer(fixed, dtype=np.uint8)
        parts.append((np.broadcast_to(stamp, (number, len(stamp))), np.ones((number, len(stamp)), dtype=np.bool_)))
    characters = np.concatenate([one for one, _ in parts], axis=1)
    shown = np.concatenate([one for _, one in parts], axis=1)
    return characters[shown].tobytes()


def _side(run: FioRun, job: int) -> tuple[str, dict[str, Side]]:
    check(run)
    if not 0 <= job < len(run.measured.workers):
        msg = f"job {job} of a run of fio with {len(run.measured.workers)} jobs: count them from 0"
        raise EsxparseError(msg)
    worker = run.measured.workers[job]
    return f"{worker.name}/{job}", run.sides(worker)


def _values(run: FioRun, side: Side, kind: LogKind, ranks: Whole) -> Whole:
    submission, completion, _, _ = run.latencies(side)
    if kind == "iops":
        return np.ones(len(ranks), dtype=np.int64)
    if kind == "slat":
        return submission.values(ranks) if submission else ranks
    if kind == "clat":
        return completion.values(ranks)
    if kind == "lat":
        return (submission.plus(completion) if submission else completion).values(ranks)
    return side.block_bytes * 1_000_000 // np.maximum(completion.values(ranks), 1)


def _each(run: FioRun, job: int, kind: LogKind) -> Iterator[list[Whole | int]]:
    """Columns of pieces of a log with a line for each I/O."""
    label, sides = _side(run, job)
    pieces = -(-sum(map(run.ios, sides.values())) // _PIECE)
    for piece in range(pieces):
        # Every piece has every `pieces`-th rank: all together have all, and each is like the whole.
        ranks = {name: np.arange(piece, run.ios(side), pieces, dtype=np.int64) for name, side in sides.items()}
        number = sum(map(len, ranks.values()))
        if not number:
            continue
        order = np.argsort(draws(run.seed, f"{label} order", number, piece), kind="stable")
        values = np.concatenate([_values(run, side, kind, ranks[name]) for name, side in sides.items()])[order]
        codes = np.concatenate([np.full(len(ranks[name]), _CODES[name], dtype=np.int64) for name in sides])[order]
        sizes = np.concatenate([np.full(len(ranks[name]), sides[name].block_bytes) for name in sides])[order]
        # Of clat, lat, slat, bw and iops logs the same line is the same I/O.
        within = (np.arange(number) + draws(run.seed, f"{label} times", number, piece)) / number
        times = ((piece + within) / pieces * run.runtime_ms).astype(np.int64)
        yield [times, values, codes, sizes]


def _counted(total: int, milliseconds: int, interval: int, start: int, end: int) -> Whole:
    """I/Os of the intervals from `start` to before `end`, of a run of so many milliseconds."""
    edges = np.minimum(np.arange(start, end + 1, dtype=np.int64) * interval, milliseconds)
    # In two steps: the product of both may not fit.
    so_far = total // milliseconds * edges + total % milliseconds * edges // milliseconds
    counted: Whole = np.diff(so_far)
    return counted


def _average(run: FioRun, label: str, side: Side, kind: LogKind, ios: Whole, interval: int, block: int) -> Whole:
    """Averages of intervals in which there were `ios` I/Os."""
    number, total = len(ios), run.ios(side)
    if kind in ("bw", "iops"):
        rate = total * 1000.0 / run.runtime_ms
        wander = np.array(centred(run.seed, f"{label} rate", number, block)) * run.rate_spread
        each = rate * (1.0 + wander) if rate * interval / 1000.0 >= _FEW else ios * 1000.0 / interval
        each = each * side.block_bytes / 1024.0 if kind == "bw" else each
    else:
        submission, completion, until, after = run.latencies(side)
        each = np.zeros(number)
        for name, sample, mean in (("slat", submission, until), ("clat", completion, after)):
            if sample is None or (kind not in (name, "lat")):
                continue
            chance = sqrt(3.0) * sample.moments(mean).stddev / mean if mean else 0.0
            spread = np.minimum(0.5, chance / np.sqrt(np.maximum(ios, 1)) + run.rate_spread / 2.0)
            moved = np.array(centred(run.seed, f"{label} {name}", number, block)) * spread
            each = each + mean * (1.0 + moved)
    return (each + 0.5).astype(np.int64)


def _averaged(run: FioRun, job: int, kind: LogKind, interval: int, *, sizes: bool) -> Iterator[list[Whole | int]]:
    """Columns of pieces of a log of averages."""
    label, sides = _side(run, job)
    intervals = -(-run.runtime_ms // interval)
    for block, start in enumerate(range(0, intervals, _PIECE // 2)):
        end = min(intervals, start + _PIECE // 2)
        ends = np.arange(start + 1, end + 1, dtype=np.int64) * interval
        columns: list[list[Whole]] = []
        for name, side in sides.items():
            own = f"{label}/{name}"
            ios = _counted(run.ios(side), run.runtime_ms, interval, start, end)
            late = (draws(run.seed, f"{own} {kind} late", end - start, block) * _LATE_MS).astype(np.int64)
            times = np.minimum(ends + (late if kind not in ("bw", "iops") else 0), run.runtime_ms)
            values = _average(run, own, side, kind, ios, interval, block)
            size = np.full(len(ios), side.block_bytes if sizes else 0)
            code = np.full(len(ios), _CODES[name], dtype=np.int64)
            # fio writes no line of an interval without I/O.
            columns.append([one[ios > 0] for one in (times, values, code, size)])
        joined: list[Whole] = [np.concatenate(one) for one in zip(*columns, strict=True)]
        order = np.lexsort((joined[2], joined[0]))
        if len(order):
            yield [one[order] for one in joined]


def lines(run: FioRun, job: int, kind: LogKind, *, log_avg_msec: int | None = None) -> Iterator[bytes]:
    """Whole lines of a job's log, in pieces; `job` counts from 0, `log_avg_msec` is the option (none: each I/O).

    Raises:
        EsxparseError: There is no such log, or no fio can have measured that.
    """
    if kind not in get_args(LogKind):
        msg = f"{kind}: not a log of fio; take one of {', '.join(get_args(LogKind))}, or histogram_lines"
        raise EsxparseError(msg)
    if log_avg_msec is not None and log_avg_msec < _SHORTEST_MS:
        msg = f"log_avg_msec={log_avg_msec}: too short to be written; give {_SHORTEST_MS} or more"
        raise EsxparseError(msg)
    if kind == "slat" and (run.ioengine in SYNCHRONOUS or not run.slat_us):
        msg = f"a slat log with ioengine={run.ioengine} and slat_us={run.slat_us}: not measured, leave it out"
        raise EsxparseError(msg)
    if log_avg_msec is not None:
        pieces = _averaged(run, job, kind, log_avg_msec, sizes=False)
    elif kind in ("bw", "iops") and not run.modern:
        pieces = _averaged(run, job, kind, _RATE_MS, sizes=True)
    else:
        pieces = _each(run, job, kind)
    priority = [0] if run.release >= (3, 19) else []
    return (_text([*columns, *priority]) for columns in pieces)


def histogram_lines(run: FioRun, job: int, *, log_hist_msec: int, coarseness: int = 0) -> Iterator[bytes]:
    """Lines of a job's `clat_hist` log, one by one (`coarseness` is the option `log_hist_coarseness`).

    Raises:
        EsxparseError: The version has no such log, or no fio can have measured that.
    """
    if not run.modern:
        msg = f"{run.version} has no histogram logs: take a version from fio-3.7 on"
        raise EsxparseError(msg)
    if log_hist_msec < _SHORTEST_MS or not 0 <= coarseness <= _COARSEST:
        msg = (
            f"log_hist_msec={log_hist_msec}, coarseness {coarseness}: give {_SHORTEST_MS} or more, and 0 to {_COARSEST}"
        )
        raise EsxparseError(msg)
    label, sides = _side(run, job)
    return _histogram(run, label, sides, log_hist_msec, coarseness)


def _histogram(run: FioRun, label: str, sides: dict[str, Side], interval: int, coarseness: int) -> Iterator[bytes]:
    number = run.groups * 64 >> coarseness
    counted: dict[str, list[tuple[int, int, float]]] = {}
    for name, side in sides.items():
        bins = run.latencies(side)[1].bins(run.groups)
        starts = draws(run.seed, f"{label}/{name} bins", len(bins)).tolist()
        counted[name] = [
            (index >> coarseness, ios, start) for (index, ios), start in zip(bins.items(), starts, strict=True)
        ]
    for place in range(run.runtime_ms // interval):
        begin, end = place * interval / run.runtime_ms, (place + 1) * interval / run.runtime_ms
        late = draws(run.seed, f"{label} late", 1, place).item()
        for name, side in sides.items():
            cells: dict[int, int] = {}
            for index, ios, start in counted[name]:
                # A bin's I/Os are spread over the run evenly, the first at a time of its own.
                if here := int(ios * end + start) - int(ios * begin + start):
                    cells[index] = cells.get(index, 0) + here
            if cells:
                words = ["0"] * number
                for index, ios in cells.items():
                    words[index] = str(ios)
                time = min(run.runtime_ms, (place + 1) * interval + int(late * _LATE_MS))
                yield f"{time}, {_CODES[name]}, {side.block_bytes}, {', '.join(words)}\n".encode()
