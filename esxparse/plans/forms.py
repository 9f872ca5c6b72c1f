"""Inputs and results of planners, as data: one TOML file each beside this module.

The command's options and help, the signature in Python, the errors and docs/planners.md are made from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from esxparse import toml

NAMES: Final = ("replication", "power", "wan", "consolidation", "dense-mode", "raid", "pci")


@dataclass(frozen=True)
class Input:
    """One input of a planner."""

    meaning: str
    unit: str = ""
    """Empty for a name or a choice."""
    least: float | None = None
    above: float | None = None
    """The input must be above this number."""
    most: float | None = None
    whole: bool = False
    choices: tuple[str, ...] = ()
    name: bool = False
    """Whether it is the name of an object in a recording: a VM, a device, a port."""
    optional: bool = False
    replaces: str = ""
    """The input that is not needed if this one is given."""
    default: float | str | None = None
    """A documented constant; `source` has the document."""
    published: Mapping[str, float] | None = None
    """Documented values of several cases, used if the input is not given."""
    source: str = ""
    """Source of the constants and of the allowed range."""
    needs: str = ""
    """The reason for its range, or where to get the value."""

    @property
    def is_number(self) -> bool:
        """Whether it is a number, which may be a range."""
        return not self.choices and not self.name

    @property
    def allowed(self) -> str:
        """Allowed values in words, empty if any number will do."""
        if self.choices:
            return " or ".join(self.choices)
        words = []
        if self.above is not None:
            words.append(f"above {self.above:g}")
        elif self.least is not None:
            words.append(f"from {self.least:g}")
        if self.most is not None:
            words.append(f"to {self.most:g}")
        return " ".join(words)


@dataclass(frozen=True)
class Result:
    """One result of a planner."""

    meaning: str
    unit: str = ""
    main: bool = False
    """Whether the sensitivity table shows it."""


@dataclass(frozen=True)
class Form:
    """A planner without its arithmetic."""

    name: str
    title: str
    question: str
    inputs: Mapping[str, Input]
    results: Mapping[str, Result]
    sources: tuple[str, ...]
    recordings: str = ""
    """Recordings for `--from`, and the inputs they give; empty if the planner takes no recording."""


@cache
def form(name: str) -> Form:
    """Return the form of the planner of that name."""
    found = toml.beside(__file__, f"{name.replace('-', '_')}.toml")
    inputs = {key: Input(**one | {"choices": tuple(one.get("choices", ()))}) for key, one in found["inputs"].items()}
    return Form(
        name,
        found["title"],
        found["question"],
        inputs,
        {key: Result(**one) for key, one in found["results"].items()},
        tuple(found["sources"]),
        found.get("recordings", ""),
    )
