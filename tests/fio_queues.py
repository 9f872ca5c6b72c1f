"""Logs of a closed queue, as fio writes them: a number of I/Os in flight, each followed by the next."""

from __future__ import annotations

import heapq
import random
from collections import defaultdict
from dataclasses import dataclass

NS_PER_MS = 1_000_000


@dataclass(frozen=True)
class Completion:
    """An I/O that completed."""

    at_ns: int
    latency_ns: int


def completions(depth, latency_ms, *, number=4000, spread=0.3, gap_ns=2_000, start_ns=0, seed=1):
    """I/Os of a job that keeps `depth` of them in flight, in the order of their completion."""
    draw = random.Random(seed)  # noqa: S311  the same numbers in every run
    mean = latency_ms * NS_PER_MS

    def issue(now):
        latency = max(200, int(draw.gauss(mean, spread * mean)))
        return now + latency, latency

    flying = [issue(start_ns + place * gap_ns) for place in range(depth)]
    heapq.heapify(flying)
    found = []
    while len(found) < number:
        now, latency = heapq.heappop(flying)
        found.append(Completion(now, latency))
        heapq.heappush(flying, issue(now + gap_ns))
    return found


def paced(rate, latency_ms, *, number=4000, spread=0.3, seed=1):
    """I/Os of a job with `rate_iops`: one begins every 1/rate seconds."""
    draw = random.Random(seed)  # noqa: S311  the same numbers in every run
    every, mean = 1_000_000_000 // rate, latency_ms * NS_PER_MS
    latencies = [max(200, int(draw.gauss(mean, spread * mean))) for _ in range(number)]
    found = [Completion(place * every + one, one) for place, one in enumerate(latencies)]
    return sorted(found, key=lambda one: one.at_ns)


def each(found, unit_ns, *, shift_ms=0, after_ms=0, size=4096):
    """The lines of a latency log with an entry per I/O; those before `after_ms` are cut off, times are shifted."""
    lines = ((one.at_ns // NS_PER_MS, one.latency_ns // unit_ns) for one in found)
    return [f"{shift_ms + time}, {value}, 0, {size}" for time, value in lines if time >= after_ms]


def averages(found, unit_ns, window_ms=500):
    """The lines of the latency and the iops log with `log_avg_msec`, until the last whole window."""
    windows = defaultdict(list)
    for one in found:
        windows[one.at_ns // (window_ms * NS_PER_MS)].append(one.latency_ns)
    whole = sorted(windows)[:-1] or sorted(windows)
    latencies = [(n, sum(windows[n]) // len(windows[n]) // unit_ns) for n in whole]
    rates = [(n, len(windows[n]) * 1000 // window_ms) for n in whole]
    return [[f"{(n + 1) * window_ms}, {value}, 0, 0" for n, value in one] for one in (latencies, rates)]
