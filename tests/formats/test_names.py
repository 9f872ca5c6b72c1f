"""Names: units in names of columns, names of modules."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import esxparse
from esxparse.diagnosis import rules
from esxparse.formats.kit.tables import tables_in
from esxparse.studies.columns import COLUMNS

PACKAGE = Path(esxparse.__file__).parent


def described(folder):
    """Columns that docstrings list, with what they say of each: `name, name   words`."""
    for path in (PACKAGE / folder).rglob("*.py"):
        for line in re.findall(r"^ +[a-z0-9_]+(?:, [a-z0-9_]+)*  +.+$", path.read_text(), re.MULTILINE):
            names, words = re.split(r"  +", line.strip(), maxsplit=1)
            yield from ((name, words) for name in names.split(", "))


def declared():
    """Columns that readers declare, with their meaning."""
    for path in (PACKAGE / "formats").rglob("*.toml"):
        for table in tables_in(path):
            yield from ((name, meaning) for name, (_, meaning) in table.columns.items())


def test_columns_of_2_to_the_20_bytes_are_never_called_mb():
    told = [*described("metrics"), *described("formats"), *declared()]
    told += [
        (name, rule.unit) for rule in rules.load("standard").values() if rule.value in rule.reads for name in rule.reads
    ]
    told += [(name, column.means) for name, column in COLUMNS.items()]
    assert len(told) > 500
    named_mb = {(name, words) for name, words in told if re.search(r"(^|_)mb(ps)?(_|$)", name)}
    named_mib = {(name, words) for name, words in told if re.search(r"(^|_)mi(b|bps)(_|$)", name)}
    assert {name for name, _ in named_mb} >= {"mb_per_s", "host_read_mb_per_s", "bandwidth_mb_per_s"}
    assert {name for name, _ in named_mib} >= {"free_mib", "swap_in_mib_per_s", "memory_free_mib"}
    assert [pair for pair in named_mb if re.search(r"2\*\*20|MiB", pair[1])] == []
    assert [pair for pair in named_mib if re.search(r"10\*\*6|\bMB\b", pair[1])] == []


def test_modules_that_a_reader_would_confuse_have_names_of_their_own():
    for name in ("counters", "manifest", "opening", "resources", "window"):
        assert len([*PACKAGE.rglob(f"{name}.py"), *PACKAGE.rglob(f"{name}/__init__.py")]) <= 1


def test_the_wheel_is_told_every_package():
    """`packages` of pyproject.toml is a list: what it lacks is missing only where somebody installs the wheel."""
    told = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    there = {".".join(file.parent.relative_to(PACKAGE.parent).parts) for file in PACKAGE.rglob("*.py")}
    assert there - set(told) == set()


def test_no_module_is_above_400_lines():
    found = [*PACKAGE.rglob("*.py"), *(PACKAGE.parent / "simulator" / "esxparse_simulator").rglob("*.py")]
    assert len(found) > 400
    assert {str(file): lines for file in found if (lines := len(file.read_text().splitlines())) > 400} == {}
