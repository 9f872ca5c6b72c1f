"""Since when a trouble can be seen at all in the numbers written: against the same host, its noise and all, without it.

Only the counters that a truth says show it are compared, of the thing it names: as printed, counter by counter, summed
where a host has many of them (VMs, PCPUs). It is seen once two samples in a row (or its last one) differ from those of
the host without it by more than twice the spread of these, and by more than rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from math import fsum, sqrt
from typing import Any

import numpy as np

from esxparse_simulator.esxtop.columns import Block, blocks
from esxparse_simulator.esxtop.groups import groups_of
from esxparse_simulator.esxtop.releases import release_of
from esxparse_simulator.esxtop.rows import Rows
from esxparse_simulator.model.engine import Capture
from esxparse_simulator.model.layout import Layout
from esxparse_simulator.model.sample import Snapshot
from esxparse_simulator.model.sums import Numbers

_SPREADS = 2.0
_MOST = 100.0
_STEPS = {"decimal": 0.01, "broken": 0.1}


class Watch:
    """Sees of a host's samples, as they go by, what is printed of the counters that truths say show them."""

    def __init__(self, layout: Layout, truths: Sequence[Mapping[str, Any]], options: Mapping[str, Any]) -> None:
        """Truths with `trouble`, `where`, `shows`, `start` and `end`; the options of the capture."""
        how = release_of(options.get("release", "6.7"))
        groups = groups_of(layout, how)
        made = blocks(layout, how, groups, all_counters=options.get("all_counters", True), only=options.get("only"))
        vms = [f":{vm.name}:" for vm in layout.vms]
        showing = [[_showing(block, truth, vms) for block in made] for truth in truths]
        kept = [n for n in range(len(made)) if any(any(of[n]) for of in showing)]
        columns = [(made[n], counter) for n in kept for counter in made[n].counters]
        self._names = [f"{block.object}\\{counter.name}" for block, counter in columns]
        self._steps = np.array([_STEPS.get(counter.kind, 1.0) for _, counter in columns])
        self._mine = [[flag for n in kept for flag in of[n]] for of in showing]
        self._numbers = Rows(layout, groups, [made[n] for n in kept])
        self._layout, self._truths, self._options = layout, truths, options
        self._rows: list[tuple[Numbers, datetime, float]] = []

    def __call__(self, now: Snapshot) -> None:
        """Sees one sample."""
        row = np.rint(self._numbers(now) / self._steps) * self._steps
        self._rows.append((row, now.time, now.second))

    def visibility(self, without: Mapping[str, Capture]) -> list[dict[str, Any]]:
        """For each of the truths what it shows: `visible`, seconds from the start (missing: never), and `spreads`.

        `spreads` is how many spreads of the host without the trouble the mean of its samples lies away, by the counter
        that shows it best. What no counter shows, a clock that jumps, is seen by the times. `without` are the hosts
        without each trouble.
        """
        healthy = {trouble: self._other(capture) for trouble, capture in without.items()}
        return [
            self._of(truth, mine, healthy[truth["trouble"]])
            for truth, mine in zip(self._truths, self._mine, strict=True)
        ]

    def _other(self, capture: Capture) -> Watch:
        other = Watch(capture.layout, self._truths, self._options)
        for now in capture:
            other(now)
        return other

    def _of(self, truth: Mapping[str, Any], mine: list[bool], healthy: Watch) -> dict[str, Any]:
        pairs = list(zip(self._rows, healthy._rows, strict=True))
        jumped = [ill[2] for ill, well in pairs if ill[1] != well[1]]
        if jumped and not truth["shows"]:
            return {"visible": jumped[0]}
        columns: dict[str, list[int]] = {}
        for place in np.flatnonzero(np.array(mine)).tolist():
            columns.setdefault(self._names[place], []).append(place)
        ill, well = (np.array([pair[n][0] for pair in pairs]) for n in range(2))
        return _seen(ill, well, columns, self._steps, np.array([row[2] for row in self._rows]), truth)


def _showing(block: Block, truth: Mapping[str, Any], vms: Sequence[str]) -> list[bool]:
    """Which of a block's counters show a truth: those it names, of the thing it names; of groups only those of VMs."""
    kind, _, name = truth["where"].partition(" ")
    whole = kind == "host" and (not block.object.startswith("Group ") or any(vm in f":{block.instance}:" for vm in vms))
    mine = whole or f":{block.instance}".endswith((f":{name}", f":CPU{name}" if kind == "pcpu" else f":{name}"))
    return [mine and f"{block.object}\\{counter.name}" in truth["shows"] for counter in block.counters]


def _seen(
    ill: Numbers,
    well: Numbers,
    columns: Mapping[str, Sequence[int]],
    steps: Numbers,
    seconds: Numbers,
    truth: Mapping[str, Any],
) -> dict[str, Any]:
    during = (seconds > truth["start"]) & (seconds <= truth["end"] + (seconds[1:] - seconds[:-1]).max(initial=0.0))
    first, most = np.inf, 0.0
    for places in columns.values():
        bad, good = ([fsum(row) for row in rows[:, places].tolist()] for rows in (ill, well))
        mean = fsum(good) / len(good)
        spread = max(steps[places[0]], sqrt(fsum((value - mean) * (value - mean) for value in good) / len(good)))
        away = np.abs(np.array(bad) - np.array(good)) * during
        most = max(most, fsum(away.tolist()) / max(1, int(during.sum())) / float(spread))
        beyond = away > _SPREADS * spread
        lasting = beyond & np.append(beyond[1:], True)
        if lasting.any():
            first = min(first, float(seconds[lasting.argmax()]))
    seen = {"visible": round(first, 3)} if first < np.inf else {}
    return {**seen, "spreads": round(min(_MOST, most), 2)}
