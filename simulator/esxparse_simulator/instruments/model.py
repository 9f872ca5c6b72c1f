"""What an instrument is, and what it gets to write from.

An instrument watches the host while it goes by, or needs no host; at the end it writes. esxtop is not one of them: it
writes as the host goes by (`recorder.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from esxparse_simulator.experiment import Run
from esxparse_simulator.limits import ScenarioError, need
from esxparse_simulator.model.layout import Layout
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.model.sample import Snapshot

Files = Iterator[tuple[str, Iterable[bytes]]]
"""Name and content of each file."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One run's part of a file: the file's name, the options of its `[[file]]`, and what was watched (or None)."""

    run: Run
    name: str
    options: Mapping[str, Any]
    watch: Any

    def required(self, name: str) -> Any:
        """An option of the file that it must have."""
        need(name in self.options, f"file {self.name}: {name} is missing. Add it.")
        return self.options[name]

    def number(self, name: str, default: float) -> float:
        """A number among the options."""
        return float(self.options.get(name, default))

    def text(self, name: str, default: str) -> str:
        """A text among the options."""
        return str(self.options.get(name, default))

    def about(self, what: str, value: Any) -> float:
        """A measured number: plain, or `{ mean = 95.2, spread = 0.004 }` with noise of that relative size."""
        if isinstance(value, int | float):
            return float(value)
        try:
            mean, spread = float(value["mean"]), float(value.get("spread", 0.0))
        except (TypeError, KeyError, ValueError) as error:
            msg = f"file {self.name}: {what} = {value!r} is not a number. Give one, or {{ mean = 1.0, spread = 0.01 }}."
            raise ScenarioError(msg) from error
        return Noise(self.run.seed).around(f"{self.name}/{what}", mean, spread)


@dataclass(frozen=True, slots=True)
class Instrument:
    """A tool: the options it has, what it writes, and the observer it puts up (None: it never needs a host).

    `write` gets the entries of all runs that name the same file, in their order. `watch` gets the host's layout (None
    where the scenario has no host) and the options, and gives the observer, or None if the options say all.
    """

    options: frozenset[str]
    write: Callable[[list[Entry]], Files]
    watch: Callable[[Layout | None, Mapping[str, Any]], Callable[[Snapshot], None] | None] | None = None


def single(write: Callable[[Entry], Iterable[bytes]]) -> Callable[[list[Entry]], Files]:
    """What writes one file of one run."""

    def files(entries: list[Entry]) -> Files:
        entry, *more = entries
        need(not more, f"file {entry.name}: {len(entries)} runs would write it. Put their labels into the name.")
        yield entry.name, write(entry)

    return files


def needed(layout: Layout | None, tool: str) -> Layout:
    """The layout of the host that a tool watches, which must be there."""
    if layout is None:
        raise ScenarioError(f"{tool} watches a host, and the scenario has none. Add a [host].")
    return layout
