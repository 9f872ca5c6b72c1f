"""TOML: written by people, with limits, because strangers may send it (manifests, thresholds); and our own data.

`esxparse.toml.checked` makes objects from a file, and reports mistakes with file and line.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final

DEEPEST: Final = 32
"""Deepest nesting of tables and lists: far beyond anything written by hand, and safe to recurse into."""


def parse(text: str) -> dict[str, Any]:
    """Return the tables of a text.

    Raises:
        TOMLDecodeError: It is not TOML, or is nested too deeply.
    """
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except (ValueError, RecursionError) as error:
        # A number of thousands of digits, or thousands of nested brackets.
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise tomllib.TOMLDecodeError(why) from None
    level: list[Any] = [found]
    for _ in range(DEEPEST):
        tables = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, (dict, list))]
        level = [inner for one in tables for inner in one]
    if level:
        msg = f"it is nested more than {DEEPEST} tables deep"
        raise tomllib.TOMLDecodeError(msg)
    return found


@cache
def beside(module: str, name: str = "") -> dict[str, Any]:
    """Return the tables of the file beside a module of ours (`__file__`): of the same name, or of another."""
    path = Path(module).with_name(name) if name else Path(module).with_suffix(".toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))
