"""vmkperf poll and read of ESXi 5: hardware events of each PCPU.

Evidence: a poll of 24 PCPUs as printed in an article of 2012 (title, 22 dashes, names, one line of rates a poll with
two decimals), and a wrapper of VMware that takes the fourth line for the counts, with a blank after the last.
Assumptions: that the line of names ends in a blank too; how `read` lays out its counts, which is as `poll` does with
a title that says no "per second", whole numbers. Command lines (`~ # vmkperf poll ...`) are what a terminal shows.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from math import fsum, isfinite
from typing import TYPE_CHECKING

import numpy as np

from esxparse.errors import EsxparseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["Poll", "poll_lines", "rates", "read_text", "start_text"]

_DASHES = "-" * 22
_MOST_PCPUS = 4096


@dataclass(frozen=True, slots=True)
class Poll:
    """What is polled: the name the event was started under, how many PCPUs there are, every how many seconds."""

    event: str
    pcpus: int
    interval_s: int = 1
    count: int | None = None
    """How many polls were asked for (`-n`)."""


def start_text(event: str, select: int, mask: int) -> str:
    """The command that starts counting an event; it prints nothing when it works."""
    _check_name(event)
    return f"~ # vmkperf start {event} -e 0x{select:x} -u 0x{mask:x}\n"


def poll_lines(poll: Poll, polls: Iterable[Sequence[float]], *, command: bool = True) -> Iterator[bytes]:
    """What `vmkperf poll` prints: events per second of each PCPU, a line a poll.

    Raises:
        EsxparseError: A line has not a rate from 0 for each PCPU, or there is no such poll.
    """
    _check_name(poll.event)
    if not 0 < poll.pcpus <= _MOST_PCPUS or poll.interval_s < 1:
        msg = f"vmkperf poll of {poll.pcpus} PCPUs every {poll.interval_s} s: give 1 or more of both"
        raise EsxparseError(msg)
    if command:
        times = "" if poll.count is None else f" -n {poll.count}"
        yield f"~ # vmkperf poll {poll.event} -i {poll.interval_s}{times}\n".encode()
    yield f"{poll.event} per second per cpu\n{_DASHES}\n".encode()
    yield _names(poll.pcpus)
    for number, one in enumerate(polls, start=1):
        _check(one, poll.pcpus, f"poll {number} of {poll.event}")
        yield "".join(f"{rate:.2f} " for rate in one).encode() + b"\n"


def read_text(event: str, counts: Sequence[int], *, command: bool = True) -> str:
    """What `vmkperf read` prints: events of each PCPU since the start.

    Raises:
        EsxparseError: A count is below 0, or there is none.
    """
    _check_name(event)
    _check(counts, len(counts) or 1, f"read of {event}")
    first = f"~ # vmkperf read {event}\n" if command else ""
    numbers = "".join(f"{count:d} " for count in counts)
    return f"{first}{event} per cpu\n{_DASHES}\n{_names(len(counts)).decode()}{numbers}\n"


def rates(
    poll: Poll,
    polls: int,
    busy: Mapping[int, float],
    *,
    background: float = 0.0,
    spread: float = 0.3,
    background_spread: float | None = None,
    seed: int = 0,
) -> list[tuple[float, ...]]:
    """Rates for `polls` polls: `busy` PCPUs have the mean rate they are given, the others `background` on average.

    Rates wander by the part `spread` of the mean to either side, those of the others by `background_spread` where it is
    given; means hold to the two decimals that are printed.

    Raises:
        EsxparseError: A PCPU is not there, or a number is none that it can be.
    """
    around = spread if background_spread is None else background_spread
    wandering = all(0.0 <= one < 0.5 for one in (spread, around))  # noqa: PLR2004  beyond it rates could pass 0
    if polls < 1 or not wandering or any(not 0 <= pcpu < poll.pcpus for pcpu in busy):
        where = f"{polls} polls of PCPUs {sorted(busy)} of {poll.pcpus} with spread {spread:g}"
        msg = f"{where}: give 1 poll or more, PCPUs that are there, a spread from 0 to below 0.5"
        raise EsxparseError(msg)
    means = [busy.get(pcpu, background) for pcpu in range(poll.pcpus)]
    _check(means, poll.pcpus, f"mean rates of {poll.event}")
    words = [seed, zlib.crc32(f"vmkperf {poll.event}".encode())]
    draws = np.random.Generator(np.random.PCG64(np.random.SeedSequence(words))).random((poll.pcpus, polls))
    columns = []
    for pcpu, (mean, own) in enumerate(zip(means, draws.tolist(), strict=True)):
        middle, part = fsum(own) / polls, spread if pcpu in busy else around
        columns.append([mean * (1.0 + 2.0 * part * (draw - middle)) for draw in own])
    return list(zip(*columns, strict=True))


def _names(pcpus: int) -> bytes:
    return "".join(f"pcpu{number} " for number in range(pcpus)).encode() + b"\n"


def _check_name(event: str) -> None:
    if not event or any(sign.isspace() for sign in event):
        msg = f"{event!r} is no name of an event for vmkperf: give one word"
        raise EsxparseError(msg)


def _check(numbers: Sequence[float], wanted: int, where: str) -> None:
    if len(numbers) != wanted:
        msg = f"{where}: {len(numbers)} numbers for {wanted} PCPUs: give one for each"
        raise EsxparseError(msg)
    if not all(isfinite(number) and number >= 0 for number in numbers):
        msg = f"{where}: a number is below 0 or none: events are counted from 0"
        raise EsxparseError(msg)
