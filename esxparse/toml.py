"""TOML that people write, and strangers send: manifests, thresholds, scenarios."""

from __future__ import annotations

import tomllib
from typing import Any, Final

__all__ = ["parse"]

DEEPEST: Final = 32
"""Tables and lists within each other: nothing that is written by hand goes so deep, and what walks them may recurse."""


def parse(text: str) -> dict[str, Any]:
    """The tables of a text.

    Raises:
        TOMLDecodeError: It is not TOML, or goes deeper than anything that is meant.
    """
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except (ValueError, RecursionError) as error:
        # A number of thousands of digits, or brackets within brackets.
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise tomllib.TOMLDecodeError(why) from None
    level: list[Any] = [found]
    for _ in range(DEEPEST):
        level = [inner for one in level if isinstance(one, (dict, list)) for inner in _inside(one)]
    if level:
        msg = f"it is nested more than {DEEPEST} tables deep"
        raise tomllib.TOMLDecodeError(msg)
    return found


def _inside(one: dict[str, Any] | list[Any]) -> list[Any]:
    return list(one.values() if isinstance(one, dict) else one)
