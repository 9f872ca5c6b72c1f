"""Files that are one part of a sample many times over, and how the time to read them grows."""

from __future__ import annotations

import gc
import math
import re
import signal
import time
from typing import TYPE_CHECKING

import esxparse as ex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FLOOR = 0.25
"""Processor seconds below which nothing is said: what is measured is then the machine."""

STEEPEST = 1.2
_FEWER = 8
"""The long file has this many times the parts: 30 % of noise in a time moves the power by 0.13."""
_TIMES = 3
_MOST = 60

Pump = tuple[str, "Callable[[int], bytes]"]


class LateError(BaseException):
    """A file took too long; no reader may catch it."""


def _late(*_: object) -> None:
    raise LateError


def seconds(path: Path, content: bytes, most: float) -> float:
    """Processor time of reading the content, at most about `most`; errors of ours are answers too.

    The garbage collector rests: it doubles the time of some readers, but only from some size on: they look steep.
    """
    path.write_bytes(content)
    gc.disable()
    before = signal.signal(signal.SIGPROF, _late)
    begin = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_PROF, most)
        ex.open(path)
    except (ex.EsxparseError, LateError):
        pass
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return time.process_time() - begin


def exponent(path: Path, build: Callable[[int], bytes], many: int) -> float:
    """The power of the size with which the time grows; the least of three tries.

    1 where that is below the floor; infinite where it took a minute, which is when reading is stopped.
    """
    least = math.inf
    for _ in range(_TIMES):
        long = seconds(path, build(many), _MOST)
        if long < FLOOR:
            return 1.0
        if long > 0.9 * _MOST:  # the clock of the signal is coarse
            return math.inf
        short = max(seconds(path, build(many // _FEWER), _MOST), 1e-3)
        least = min(least, math.log(long / short) / math.log(_FEWER))
        if least <= STEEPEST:
            break
    return least


def _distinct(lines: list[bytes]) -> list[int]:
    """Places of lines that differ in more than their digits."""
    return list({re.sub(rb"\d+", b"0", line): place for place, line in reversed(list(enumerate(lines)))}.values())


def pumps(content: bytes) -> Iterator[Pump]:
    """Each line alone and in its place; each separator alone, at the end and in its place, in lines and in one."""
    lines = content.split(b"\n")
    for place in _distinct(lines):
        line = lines[place] + b"\n"
        before, after = b"\n".join(lines[:place]) + b"\n", b"\n".join(lines[place:])
        yield f"line {place + 1}", lambda times, line=line: line * times
        yield (
            f"line {place + 1} in its place",
            lambda times, line=line, before=before, after=after: before + line * times + after,
        )
    for mark in sorted({*re.findall(rb"[^A-Za-z0-9]", content), b"0", b"a"}):
        yield f"{mark!r}", lambda times, mark=mark: mark * times
        yield f"{mark!r} in lines", lambda times, mark=mark: (mark + b"\n") * times
        yield f"{mark!r} at the end", lambda times, mark=mark: content + mark * times
        at = content.find(mark)
        if at >= 0:
            yield f"{mark!r} in its place", lambda times, mark=mark, at=at: content[:at] + mark * times + content[at:]
