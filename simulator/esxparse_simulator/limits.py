"""What the numbers and words of a scenario may be: told before anything is simulated, with the place."""

from __future__ import annotations

import re
from dataclasses import fields
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, Final

from esxparse_simulator.variables import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_number", "check_row", "check_whole"]

_ABOVE_ZERO: Final = frozenset(
    [
        "all_core_mhz",
        "cap_watts",
        "cores_per_socket",
        "copies",
        "interval",
        "mb_per_s",
        "memory_mb",
        "mhz",
        "period",
        "queue_depth",
        "read_kb",
        "rx_bytes",
        "samples",
        "shares_per_vcpu",
        "sockets",
        "threads_per_core",
        "turbo_mhz",
        "tx_bytes",
        "vcpus",
        "write_kb",
    ]
)
_ANY_SIGN: Final = frozenset({"by", "offset"})
_WHOLE: Final = frozenset(
    ["cores_per_socket", "node", "partitions", "samples", "seed", "sockets", "t_states", "threads_per_core", "vcpus"]
)
_MOST: Final = {
    **dict.fromkeys(
        [
            "busy",
            "compressed_part",
            "deep_idle",
            "failed_part",
            "io_bound",
            "misaligned",
            "remote_memory",
            "sequential",
            "tcp",
        ],
        1.0,
    ),
    "congestion": 255.0,
    "cpu": 100.0,
    "by": 1e9,
    "interval": 86_400.0,
    "threads_per_core": 2.0,
    "throttled_pct": 100.0,
}
_NUMBERS: Final = {"int", "float", "int | None"}
_WORD: Final = re.compile(r"['\"]([^'\"]+)['\"]")


def check_number(name: str, value: Any, place: str) -> None:
    """Refuse a number that no such quantity can be.

    Raises:
        ScenarioError: It is none, not finite, or out of its range.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        msg = f"{place}: {name} = {value!r} is no number. Give one."
        raise ScenarioError(msg)
    least = -_MOST.get(name, inf) if name in _ANY_SIGN else 0.0
    most = _MOST.get(name, inf)
    if not isfinite(value) or not least <= value <= most or (value == 0 and name in _ABOVE_ZERO):
        allowed = "above 0" if name in _ABOVE_ZERO else "0 or more" if name not in _ANY_SIGN else "a number"
        upto = f", {most:g} at most" if isfinite(most) else ""
        msg = f"{place}: {name} = {value!r} cannot be. Give a number {allowed}{upto}."
        raise ScenarioError(msg)
    if name in _WHOLE:
        check_whole(name, value, place)


def check_whole(name: str, value: float, place: str) -> None:
    """Refuse a part of something that is only there whole.

    Raises:
        ScenarioError: It is not whole.
    """
    if value != int(value):
        msg = f"{place}: {name} = {value!r} is no whole number. Give one."
        raise ScenarioError(msg)


def check_row(row: Mapping[str, Any], kind: type[Any], place: str) -> None:
    """Refuse numbers out of range, words that are none of those a field may have, and texts in place of lists.

    Raises:
        ScenarioError: There is such a value.
    """
    for field in fields(kind):
        if field.name not in row:
            continue
        value, said = row[field.name], str(field.type)
        if said in _NUMBERS:
            check_number(field.name, value, place)
        elif said.startswith("Literal") and value not in _WORD.findall(said):
            msg = f"{place}: {field.name} = {value!r} is not known. Give one of {', '.join(_WORD.findall(said))}."
            raise ScenarioError(msg)
        elif said in {"tuple[str, ...]", "tuple[int, ...]"}:
            _check_list(field.name, value, place, texts=said.startswith("tuple[str"))


def _check_list(name: str, value: Any, place: str, *, texts: bool) -> None:
    what = "texts" if texts else "numbers"
    if not isinstance(value, list | tuple) or (texts and not all(isinstance(one, str) for one in value)):
        msg = f"{place}: {name} = {value!r} is no list of {what}. Write it in brackets."
        raise ScenarioError(msg)
    for number in () if texts else value:
        check_number(name, number, place)
    if name == "p_states_mhz" and not value:
        msg = f"{place}: {name} is empty. Give the clocks of the P-states, the highest first."
        raise ScenarioError(msg)
