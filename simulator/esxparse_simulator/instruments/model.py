"""What an instrument is, and what it gets to write from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from esxparse_simulator.model.noise import Noise
from esxparse_simulator.variables import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from esxparse_simulator.experiment import Run
    from esxparse_simulator.model.layout import Layout
    from esxparse_simulator.model.sample import Snapshot

__all__ = ["Entry", "Instrument", "about", "asked", "form_of", "needed", "one_run"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One run's part of a file: the file's name, the options of its `[[file]]`, and what was watched (or None)."""

    run: Run
    name: str
    options: Mapping[str, Any]
    watch: Any


@dataclass(frozen=True, slots=True)
class Instrument:
    """A tool: the options it has, the observer it puts up (None: it never needs a host), and what it writes.

    `watch` gets the host's layout (None where the scenario has no host) and the options, and gives the observer, or
    None where the options say all. `write` gets the entries of all runs that name the same file, in their order, and
    gives (name, content) pairs: one, or several where the tool writes several files.
    """

    options: frozenset[str]
    watch: Callable[[Layout | None, Mapping[str, Any]], Callable[[Snapshot], None] | None] | None
    write: Callable[[list[Entry]], Iterable[tuple[str, Iterable[bytes]]]]


def asked(entry: Entry, name: str, default: Any = None) -> Any:
    """An option of the file.

    Raises:
        ScenarioError: It is not given and has no default.
    """
    if name in entry.options:
        return entry.options[name]
    if default is None:
        msg = f"file {entry.name}: {name} is missing. Add it."
        raise ScenarioError(msg)
    return default


def about(entry: Entry, what: str, value: Any) -> float:
    """A measured number: given plainly, or as `{ mean = 95.2, spread = 0.004 }` with noise of that relative size."""
    if isinstance(value, int | float):
        return float(value)
    try:
        mean, spread = float(value["mean"]), float(value.get("spread", 0.0))
    except (TypeError, KeyError, ValueError) as error:
        msg = f"file {entry.name}: {what} = {value!r} is no number. Give one, or {{ mean = 1.0, spread = 0.01 }}."
        raise ScenarioError(msg) from error
    return Noise(entry.run.seed).around(f"{entry.name}/{what}", mean, spread)


def needed(layout: Layout | None, tool: str) -> Layout:
    """The layout of the host that a tool watches.

    Raises:
        ScenarioError: The scenario has no host.
    """
    if layout is None:
        msg = f"{tool} watches a host, and the scenario has none. Add a [host]."
        raise ScenarioError(msg)
    return layout


def one_run(entries: list[Entry]) -> list[Entry]:
    """The entry of a file that holds one run.

    Raises:
        ScenarioError: Several runs name it.
    """
    if len(entries) > 1:
        msg = f"file {entries[0].name}: {len(entries)} runs would write it. Put their labels into the name."
        raise ScenarioError(msg)
    return entries


def form_of(entry: Entry, forms: Mapping[str, Any], default: str) -> str:
    """Which of the forms of a tool's output the file has.

    Raises:
        ScenarioError: The tool has no such form.
    """
    form = str(entry.options.get("form", default))
    if form not in forms:
        msg = f"file {entry.name}: no form {form!r}. There are: {', '.join(forms)}."
        raise ScenarioError(msg)
    return form
