"""Regular expressions of the package say the same in every Python that it runs on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import esxparse

HERE = Path(esxparse.__file__).parent
# Up to 3.11.4, Python forgets where such a group ended before it was tried once more in vain (python/cpython#106052).
POSSESSIVE_GROUP = re.compile(r"\)(?:[*+?]|\{+[\d,]+\}+|\{+[^{}]*-[^{}]*\}+)\+")


@pytest.mark.parametrize(
    "name", sorted(str(path.relative_to(HERE)) for path in HERE.rglob("*.*") if path.suffix in {".py", ".toml"})
)
def test_no_group_is_repeated_possessively(name: str) -> None:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    assert not [f"{number}: {line}" for number, line in enumerate(lines, 1) if POSSESSIVE_GROUP.search(line)]


def test_a_possessive_group_is_seen() -> None:
    for text in (r"(?:a, b)++", r"(?:0x)?+", r"(a)*+", "(?:a){6,}+", "(?:a){{2,}}+", "(?:a){{{width - 1}}}+"):
        assert POSSESSIVE_GROUP.search(text), text
