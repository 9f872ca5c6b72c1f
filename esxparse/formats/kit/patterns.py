"""Patterns in the TOML file beside a reader: the lines that its program prints, and the parts of a line.

`<N>` in a pattern means part N in `[parts]`. A part may contain parts listed after it.
"""

from __future__ import annotations

import re
from typing import Any

from esxparse.toml import beside


def _compiled(module: str, pattern: str | list[str], flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    text = pattern if isinstance(pattern, str) else rf"^\s*+(?:{'|'.join(pattern)})"
    for part, meaning in beside(module).get("parts", {}).items():
        text = text.replace(f"<{part}>", meaning)
    return re.compile(text, flags)


def kinds(module: str, section: str = "lines", flags: re.RegexFlag = re.NOFLAG) -> dict[str, re.Pattern[str]]:
    """Return the pattern of each kind of line in a section of the TOML file beside a module.

    A list has alternative beginnings of lines, after blanks.
    """
    return {name: _compiled(module, pattern, flags) for name, pattern in beside(module)[section].items()}


def meanings(module: str, section: str) -> list[tuple[re.Pattern[str], Any]]:
    """Return the patterns in a section of the TOML file beside a module, each with its meaning."""
    return [(_compiled(module, pattern), meaning) for pattern, meaning in beside(module)[section].items()]
