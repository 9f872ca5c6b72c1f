"""Grouping of expectations at fault by cause: a wrong counter shows again in each sum above it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from esxparse.quality import data
from esxparse.quality.results import STATUSES, Expectation, Quality

_BAD: Final = ("fail", "warn")
_WHOLE: Final = ("", "_Total")
"""Instances that represent the host: each object of a table is a part of it."""


class Cause(NamedTuple):
    """An expectation at fault, and the expectations that are at fault because of it."""

    expectation: Expectation
    reached: tuple[Expectation, ...]

    @property
    def status(self) -> str:
        """The worst status of all of them."""
        return min((one.status for one in (self.expectation, *self.reached)), key=STATUSES.index)

    @property
    def also(self) -> str:
        """The number and names of the other expectations it affects; empty if there are none."""
        names = ", ".join(dict.fromkeys(one.id for one in self.reached))
        return f"{len(self.reached)} more: {names}" if names else ""


def causes(quality: Quality) -> tuple[Cause, ...]:
    """Group the expectations at fault by cause, the worst first.

    A fault of an object or of its parts affects expectations that compare the object with the sum over its parts.
    Other expectations are affected by a fault of the same object with a shared counter. The first at fault is the
    cause.
    """
    bad = [one for one in quality if one.status in _BAD]
    bad.sort(key=lambda one: bool(_parts_in(one)))
    found: dict[Expectation, list[Expectation]] = {}
    for one in bad:
        cause = next((other for other in found if _reaches(other, one)), None)
        if cause is None:
            found[one] = []
        else:
            found[cause].append(one)
    made = [Cause(one, tuple(reached)) for one, reached in found.items()]
    return tuple(sorted(made, key=lambda one: STATUSES.index(one.status)))


def _reaches(cause: Expectation, other: Expectation) -> bool:
    shares = bool(_counters(cause) & _counters(other))
    sums = _parts_in(other)
    if cause.table == other.table and cause.entity == other.entity:
        return shares or bool(sums)
    if cause.table not in sums:
        return False
    return shares if other.entity in _WHOLE else data.is_of(cause.entity, other.entity)


def _rules(one: Expectation) -> Iterable[data.Rule]:
    """Return the identities that an expectation judges; none for the limits of a counter."""
    form, _, _ = one.suite.partition(".")
    return filter(None, (data.identity(form, one.table, fault.counter) for fault in one.faults))


def _parts_in(one: Expectation) -> frozenset[str]:
    return frozenset[str]().union(*(rule.parts_in for rule in _rules(one)))


def _counters(one: Expectation) -> frozenset[str]:
    """Return the counters of an expectation; other words of a formula have no underscore, or are tables."""
    plain = {fault.counter for fault in one.faults if fault.counter}
    words = frozenset(plain).union(*(rule.counters for rule in _rules(one)))
    return frozenset(word for word in words if "_" in word) - _parts_in(one)
