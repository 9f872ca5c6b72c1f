"""A first manifest, written by looking at a directory of files: `esxparse study new`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from esxparse.errors import EsxparseError
from esxparse.formats.registry import readers
from esxparse.formats.source import read_up_to, resolve
from esxparse.studies.columns import COLUMNS
from esxparse.studies.manifest import FILE_NAME
from esxparse.studies.patterns import natural
from esxparse.studies.roles import ROLES, WORKLOADS, role_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_HEAD: Final = 1 << 18
_MOST: Final = 5_000
_TOKEN: Final = re.compile(r"\d+|[^\W\d_]+|[\W_]")
_REPEATED: Final = frozenset({"r", "run", "rep", "repeat", "repetition", "iter", "iteration", "try"})
_LOG: Final = re.compile(r"_(?:bw|lat|clat|slat|iops|clat_hist)(?:\.\d+)?\.log$")
_COMMON: Final = frozenset({"hardware", "idle"})


class Named(NamedTuple):
    """A pattern of file names, and the values its placeholders have."""

    pattern: str
    values: dict[str, list[str]]


def format_of(path: Path) -> str | None:
    """The format of a file, told by its beginning; None where no reader recognises it."""

    def reader(head: bytes) -> str | None:
        return next((str(module.FORMAT) for module in readers() if module.recognise(head)), None)

    try:
        with resolve(path, None, lambda head: reader(head) is not None).open() as stream:
            return reader(read_up_to(stream, _HEAD))
    except (EsxparseError, OSError):
        return None


def look(folder: Path) -> tuple[dict[str, list[str]], list[str]]:
    """The files below a directory by the role each can have, and those that a study has no use for.

    Raises:
        EsxparseError: It is no directory, or has too many files.
    """
    if not folder.is_dir():
        msg = f"{folder} is no directory: name the one that has the files of the runs"
        raise EsxparseError(msg)
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != FILE_NAME]
    files = [path for path in files if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    if len(files) > _MOST:
        msg = f"{folder} has more than {_MOST:,} files: name the directory of the runs alone"
        raise EsxparseError(msg)
    found: dict[str, list[str]] = {}
    other = []
    for path in files:
        name = path.relative_to(folder).as_posix()
        role = None if _LOG.search(name) else role_of(format_of(path) or "")
        if role is None:
            other.append(name)
        else:
            found.setdefault(role, []).append(name)
    return {role: sorted(names, key=natural) for role, names in found.items()}, other


def named(names: Sequence[str]) -> list[Named]:
    """Patterns that stand for file names: names of one shape become one, with placeholders where they differ.

    >>> named(["a-2vm.csv", "a-10vm.csv", "b-2vm.csv"])[0].pattern
    '{name}-{vm}vm.csv'
    >>> named(["x/run1.csv", "x/run2.csv"])[0]
    Named(pattern='x/run{repetition}.csv', values={'repetition': ['1', '2']})
    """
    shapes: dict[tuple[str, ...], list[list[str]]] = {}
    for name in names:
        tokens = _TOKEN.findall(name)
        shape = tuple("0" if token.isdecimal() else "a" if token.isalpha() else token for token in tokens)
        shapes.setdefault(shape, []).append(tokens)
    return [_pattern(group) for group in shapes.values()]


def _pattern(group: Sequence[Sequence[str]]) -> Named:
    parts: list[str] = []
    values: dict[str, list[str]] = {}
    first = group[0]
    for place, tokens in enumerate(zip(*group, strict=True)):
        different = sorted(dict.fromkeys(tokens), key=natural)
        if len(different) == 1:
            parts.append(first[place].replace("{", "{{").replace("}", "}}"))
            continue
        name = _placeholder(first, place, numbers=all(token.isdecimal() for token in tokens))
        while name in values:
            name = f"{name}_2"
        values[name] = different
        parts.append(f"{{{name}}}")
    return Named("".join(parts), values)


def _placeholder(tokens: Sequence[str], place: int, *, numbers: bool) -> str:
    """What a varying part of names is called: after the word at its side, where it is a number."""
    if not numbers:
        return "name"
    around = [place + 1, place - 1, place - 2]
    words = [tokens[at].casefold() for at in around if 0 <= at < len(tokens) and tokens[at].isalpha()]
    word = next((word for word in words if word.isascii()), "number")
    if word in _REPEATED:
        return "repetition"
    return f"{word}_label" if word in COLUMNS or word in ROLES else word


def draft(folder: Path) -> tuple[str, list[str]]:
    """The text of a manifest for the files below a directory, and the files it leaves out.

    Raises:
        EsxparseError: It is no directory, or has nothing that a study is made of.
    """
    roles, other = look(folder)
    if not roles:
        msg = f"{folder} has no file that a study is made of (captures, results of load generators, power readings)"
        raise EsxparseError(msg)
    patterns = [(role, one) for role, names in roles.items() for one in named(names)]
    blocks: dict[tuple[str, ...], list[dict[str, str]]] = {}
    values: dict[str, list[str]] = {}
    varied = any(one.values for _, one in patterns)
    common = {role: one.pattern for role, one in patterns if not one.values and (varied or role in _COMMON)}
    common = {role: pattern for role, pattern in common.items() if len(roles[role]) == 1}
    for role, one in patterns:
        if role in common:
            continue
        group = blocks.setdefault(tuple(one.values), [{}])
        if role in group[-1]:
            group.append({})
        group[-1][role] = one.pattern
        for name, found in one.values.items():
            values[name] = sorted({*values.get(name, []), *found}, key=natural)
    rows = [row for group in blocks.values() for row in group] or [{}]
    return "\n".join(_lines(folder, rows, common, values)) + "\n", other


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _lines(
    folder: Path, rows: Iterable[dict[str, str]], common: dict[str, str], values: dict[str, list[str]]
) -> list[str]:
    labels = [name for name in values if name != "repetition"]
    axis = [name for name in labels if all(value.isdecimal() for value in values[name])]
    texts = [name for name in labels if name not in axis]
    lines = [f"title = {_quoted(folder.resolve().name)}"]
    lines += [f"axis = {json.dumps(axis, ensure_ascii=False)}"] if axis else ['# axis = ["vms"]   # what is swept']
    if texts:
        lines.append(f"# which runs the others are compared with; {texts[0]} is one of: {', '.join(values[texts[0]])}")
        lines.append(f"baseline = {{ {texts[0]} = {_quoted(values[texts[0]][0])} }}")
    else:
        lines.append('# baseline = { filter = "default" }   # which runs the others are compared with')
    roles = {role for row in rows for role in row} | set(common)
    generator = next(iter(sorted(WORKLOADS & roles)), "fio")
    lines += [
        "",
        "[window]   # the measured part of each run; all of it where nothing is said",
        '# warmup = "2m"',
        '# measure = "2m"',
        f'# span = "{generator}"   # or: from begin to end of the load generator\'s own run',
        "",
        "[host]   # what no file tells",
        "# cpus = 32   # PCPUs that esxtop shows",
        "# cores = 16",
        "# mhz = 2400",
    ]
    if common:
        lines += ["", "[files]   # files that all runs share"]
        lines += [f"{role} = {_quoted(pattern)}" for role, pattern in common.items()]
    for row in rows:
        lines += ["", "[[run]]", *(f"{role} = {_quoted(pattern)}" for role, pattern in row.items())]
    return lines


def write(folder: Path) -> tuple[Path, list[str]]:
    """Writes `study.toml` into a directory of files.

    Raises:
        EsxparseError: There is one, or it cannot be written.
    """
    path = folder / FILE_NAME
    if path.exists():
        msg = f"{path} is there already: remove it, or edit it"
        raise EsxparseError(msg)
    text, other = draft(folder)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        msg = f"{path} cannot be written: {error.strerror}"
        raise EsxparseError(msg) from None
    return path, other
