"""Counters of hardware events: `perf` in a guest, `vmkperf` on the host. No host is modelled: the counts are given.

`perf`: `command`, `elapsed_s` (a list: one for each repetition), `events`, a list of `{ name = , counts = [...] }` with
`unit`, `running_pct` and `state` where they are not the usual; `form` (text, csv, json) and `version`. A count or a
time is a number, or `{ mean = , spread = }`.

`vmkperf`: `event`, `pcpus`, `polls`, `interval_s`, `busy = { 23 = 4.1e6 }` (events per second of a PCPU), `background`
(of the others), `spread` and `background_spread`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from esxparse_simulator.instruments.model import Entry, Instrument, about, asked, form_of, one_run
from esxparse_simulator.writers import perf_stat, perf_stat_counts, vmkperf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["INSTRUMENTS"]

_PERF: dict[str, Callable[..., str]] = {"text": perf_stat.text, "csv": perf_stat.csv, "json": perf_stat.json_lines}


def _perf(entries: list[Entry]) -> Iterator[tuple[str, Iterator[bytes]]]:
    (entry,) = one_run(entries)
    events = tuple(
        perf_stat_counts.Event(**{**row, "counts": _each(entry, f"{row['name']} counts", row["counts"])})
        for row in asked(entry, "events")
    )
    run = perf_stat_counts.Run(
        command=str(asked(entry, "command")),
        elapsed_s=_each(entry, "elapsed_s", asked(entry, "elapsed_s")),
        events=events,
        user_s=entry.options.get("user_s"),
        sys_s=entry.options.get("sys_s"),
    )
    write = _PERF[form_of(entry, _PERF, "text")]
    yield entry.name, iter([write(run, asked(entry, "version", "6.1")).encode()])


def _each(entry: Entry, what: str, values: list[Any]) -> tuple[float, ...]:
    """A number for each repetition."""
    return tuple(about(entry, f"{what} {number}", value) for number, value in enumerate(values, 1))


def _vmkperf(entries: list[Entry]) -> Iterator[tuple[str, Iterator[bytes]]]:
    (entry,) = one_run(entries)
    event, pcpus = str(asked(entry, "event")), int(asked(entry, "pcpus"))
    busy = {int(pcpu): float(rate) for pcpu, rate in asked(entry, "busy").items()}
    poll = vmkperf.Poll(event, pcpus, int(entry.options.get("interval_s", 1)), int(asked(entry, "polls")))
    polls = vmkperf.rates(
        poll,
        int(asked(entry, "polls")),
        busy,
        background=float(entry.options.get("background", 0.0)),
        spread=float(entry.options.get("spread", 0.3)),
        background_spread=entry.options.get("background_spread"),
        seed=entry.run.seed,
    )
    yield entry.name, vmkperf.poll_lines(poll, polls)


INSTRUMENTS: dict[str, Instrument] = {
    "perf": Instrument(
        frozenset({"command", "elapsed_s", "events", "form", "sys_s", "user_s", "version"}), None, _perf
    ),
    "vmkperf": Instrument(
        frozenset({"background", "background_spread", "busy", "event", "interval_s", "pcpus", "polls", "spread"}),
        None,
        _vmkperf,
    ),
}
