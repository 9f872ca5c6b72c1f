"""Roles of a run's files: the keys of `[[run]]` for files, and the formats of each."""

from __future__ import annotations

from typing import Final

from esxparse import toml

_GROUPS: Final[dict[str, list[str]]] = toml.beside(__file__)["group"]
_WORKLOADS, _BENCHMARKS = _GROUPS["workloads"], _GROUPS["benchmarks"]

ROLES: Final[dict[str, frozenset[str]]] = {
    **{role: frozenset(formats) for role, formats in toml.beside(__file__)["role"].items()},
    **{name: frozenset({name}) for name in (*_WORKLOADS, *_BENCHMARKS)},
    "benchmark": frozenset(_BENCHMARKS),
}
"""Key in `[[run]]` to the formats (`Recording.format`) its files may have."""

WORKLOADS: Final = frozenset(_WORKLOADS)
BENCHMARKS: Final = frozenset({*_BENCHMARKS, "benchmark"})
WHOLE: Final = WORKLOADS | BENCHMARKS | {"perf", "vmkperf", "vscsistats"}
"""Roles of files whose figures cover the whole measurement, whatever the window."""
ONE_FILE: Final = frozenset({"esxtop", "idle", "power", "perf", "vmkperf", "vscsistats"})
"""Roles with one file per run."""

_PREFERRED: Final = ("esxtop", "power", "guest", "perf", "packets", "hardware")


def role_of(format_name: str) -> str | None:
    """Return the `[[run]]` key for a file of this format.

    >>> role_of("redfish"), role_of("iometer"), role_of("converted")
    ('power', 'iometer', None)
    """
    if format_name in ROLES:
        return format_name
    return next((role for role in _PREFERRED if format_name in ROLES[role]), None)
