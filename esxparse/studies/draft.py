"""A first manifest, drafted from a directory of files: `esxparse study new`.

Files with a common name (`static-1.csv.bz2`, `static-1.ilo.xml`) belong to one run, and names of the same shape make
one `[[run]]`. A pattern is written only if it finds exactly the files it was made from; otherwise the values of its
labels are written.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from esxparse.errors import EsxparseError
from esxparse.formats.names import natural
from esxparse.formats.registry import recognising
from esxparse.formats.source import resolve
from esxparse.locations import legible
from esxparse.studies.columns import COLUMNS
from esxparse.studies.expand import expand
from esxparse.studies.patterns import are_numbers, broad, filled, literal, matches
from esxparse.studies.roles import ROLES, WORKLOADS, role_of
from esxparse.studies.study_file import FILE_NAME, parse
from esxparse.target import target

Roles = Mapping[str, Sequence[str]]
"""File names by role."""

_MOST: Final = 5_000
_TOKEN: Final = re.compile(r"\d+|[^\W\d_]+|[\W_]")
_REPEATED: Final = frozenset({"r", "run", "rep", "repeat", "repetition", "iter", "iteration", "try"})
_LOG: Final = re.compile(r"_(?:bw|lat|clat|slat|iops|clat_hist)(?:\.\d+)?\.log$")
_ENDINGS: Final = re.compile(r"(?:\.(?:[^\W\d]+|bz2|7z|lz4))+$")
_WILD: Final = re.compile(r"[*?]")
_HOSTS: Final = frozenset({"hardware"})
_SHARED: Final = _HOSTS | {"esxtop", "power", "vmx"}
"""Roles whose file may cover several runs: a file on the host, or over all their time."""
_FILE: Final = "file"
_KEYS: Final = frozenset({*COLUMNS, *ROLES, _FILE, "window", "host", "values"})
"""Invalid names of placeholders: not labels, or columns of the results."""


class NamePattern(NamedTuple):
    """A pattern of file names, the values of its placeholders, and the values in each name."""

    pattern: str
    values: dict[str, list[str]]
    each: list[dict[str, str]]


class Unit(NamedTuple):
    """Files of one run: by role, the text before and after their common name."""

    stem: str
    files: dict[str, tuple[str, str]]


class Series(NamedTuple):
    """Runs whose file names have the same shape."""

    files: dict[str, str]
    """Pattern by role."""
    names: NamePattern


def format_of(path: Path) -> str | None:
    """Return the format of a file, by its beginning; None if no reader recognises it."""
    try:
        reader = recognising(resolve(path, None, lambda head: recognising(head) is not None).head)
    except (EsxparseError, OSError):
        return None
    return reader.recordings if reader else None


def look(folder: Path) -> tuple[dict[str, list[str]], list[str]]:
    """Return the files below a directory by their possible role, and the files of no use to a study."""
    if not folder.is_dir():
        raise EsxparseError(f"{folder} is not a directory: give the one that holds the files of the runs")
    if legible(folder) != str(folder):
        raise EsxparseError(f"the name of {legible(folder)} is not valid UTF-8: rename it")
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != FILE_NAME]
    files = [path for path in files if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    if len(files) > _MOST:
        raise EsxparseError(f"{folder} has more than {_MOST:,} files: give a directory that holds only the runs")
    found: dict[str, list[str]] = {}
    other = []
    for path in files:
        name = path.relative_to(folder).as_posix()
        # A manifest, which is UTF-8, cannot contain the first kind of name, and would read the second as a pattern.
        nameless = legible(name) != name or _WILD.search(name)
        role = None if nameless or _LOG.search(name) else role_of(format_of(path) or "")
        if role is None:
            other.append(legible(name))
        else:
            found.setdefault(role, []).append(name)
    return {role: sorted(names, key=natural) for role, names in found.items()}, other


def name_patterns(names: Sequence[str]) -> list[NamePattern]:
    """Return patterns for file names: names of one shape become one, with placeholders for the differences.

    >>> name_patterns(["a-2vm.csv", "a-10vm.csv", "b-2vm.csv"])[0].pattern
    '{name}-{vm}vm.csv'
    >>> name_patterns(["x/run1.csv", "x/run2.csv"])[0].values
    {'repetition': ['1', '2']}
    """
    shapes: dict[tuple[str, ...], list[list[str]]] = {}
    for name in names:
        tokens = _TOKEN.findall(name)
        shape = tuple("0" if token.isdecimal() else "a" if token.isalpha() else token for token in tokens)
        shapes.setdefault(shape, []).append(tokens)
    return [_pattern(group) for group in shapes.values()]


def _pattern(group: Sequence[Sequence[str]]) -> NamePattern:
    parts: list[str] = []
    values: dict[str, list[str]] = {}
    each: list[dict[str, str]] = [{} for _ in group]
    first = group[0]
    # A word that differs between names is a label itself, and does not name another.
    shared = [tokens[0] if len(set(tokens)) == 1 else "" for tokens in zip(*group, strict=True)]
    for place, tokens in enumerate(zip(*group, strict=True)):
        different = sorted(dict.fromkeys(tokens), key=natural)
        if len(different) == 1:
            parts.append(literal(first[place]))
            continue
        name = _placeholder(shared, place, numbers=all(token.isdecimal() for token in tokens))
        while name in values:
            name = f"{name}_2"
        values[name] = different
        for known, token in zip(each, tokens, strict=True):
            known[name] = token
        parts.append(f"{{{name}}}")
    return NamePattern("".join(parts), values, each)


def _placeholder(tokens: Sequence[str], place: int, *, numbers: bool) -> str:
    """Return the name of a varying part: the adjacent word, if the part is a number."""
    if not numbers:
        return "name"
    around = [place + 1, place - 1, place - 2]
    words = [tokens[at].casefold() for at in around if 0 <= at < len(tokens) and tokens[at].isalpha()]
    word = next((word for word in words if word.isascii()), "number")
    if word in _REPEATED:
        return "repetition"
    return f"{word}_label" if word in _KEYS else word


def _folder(name: str) -> str:
    return name[: name.rfind("/") + 1]


def _stem(name: str) -> str:
    """Return a name without the endings of its kind.

    >>> _stem("a/static-1.csv.bz2"), _stem("a/6.5-1.ilo.xml")
    ('a/static-1', 'a/6.5-1')
    """
    return _ENDINGS.sub("", name) or name


def _units(roles: Roles) -> list[Unit]:
    """Return files that belong together: alone in a directory, with one name, or in directories of one role each."""
    left = {name: role for role, names in roles.items() for name in names}
    inside: dict[str, set[str]] = {}
    for name, role in left.items():
        inside.setdefault(_folder(name), set()).add(role)

    def alone(name: str) -> str | None:
        return _folder(name)

    def bare(name: str) -> str | None:
        return PurePosixPath(_stem(name)).name if len(inside[_folder(name)]) == 1 else None

    units = []
    for key in (alone, _stem, bare):
        for stem, names in _grouped(left, key).items():
            # Files of a directory are named after it if they have no other common name.
            named_so = key is not alone or len({_stem(name) for name in names}) > 1
            if named_so and _are_one_run([left[name] for name in names]):
                units.append(Unit(stem, {left[name]: _around(name, stem) for name in names}))
                left = {name: role for name, role in left.items() if name not in names}
    return units + [Unit(_stem(name), {role: _around(name, _stem(name))}) for name, role in left.items()]


def _are_one_run(roles: Sequence[str]) -> bool:
    """Return whether there are several files, each with a different role, and at most one load generator."""
    return len(roles) > 1 and len(set(roles)) == len(roles) and len(WORKLOADS & set(roles)) <= 1


def _grouped(names: Iterable[str], key: Callable[[str], str | None]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in names:
        found = key(name)
        if found is not None:
            groups.setdefault(found, []).append(name)
    return groups


def _around(name: str, stem: str) -> tuple[str, str]:
    at = name.rfind(stem) if not name.startswith(stem) else 0
    return name[:at], name[at + len(stem) :]


def _series(units: Iterable[Unit]) -> list[Series]:
    """Group units of one shape, each as patterns."""
    alike: dict[tuple[tuple[str, tuple[str, str]], ...], list[str]] = {}
    for unit in units:
        alike.setdefault(tuple(unit.files.items()), []).append(unit.stem)
    return [
        Series({role: literal(before) + one.pattern + literal(after) for role, (before, after) in files}, one)
        for files, stems in alike.items()
        for one in name_patterns(sorted(stems, key=natural))
    ]


def _is_exact(series: Series, folder: Path) -> bool:
    wanted = sorted(series.names.each, key=str)
    return all(
        sorted((known for known, _ in matches(pattern, folder)), key=str) == wanted for pattern in series.files.values()
    )


def _value(name: str, text: str, texts: Sequence[str]) -> str:
    return str(int(text)) if name == "repetition" or are_numbers(texts) else _quoted(text)


def _rows(series: Series, folder: Path) -> list[dict[str, str]]:
    """Return the `[[run]]` tables of a series: one with patterns, one with lists of values, or one for each run."""
    values, each = series.names.values, series.names.each
    files = {role: _quoted(pattern) for role, pattern in series.files.items()}
    if not values or _is_exact(series, folder):
        return [files]
    written = all(text == str(int(text)) for texts in values.values() if are_numbers(texts) for text in texts)
    if written and len(each) == len(list(product(*values.values()))):
        lists = {name: f"[{', '.join(_value(name, text, texts) for text in texts)}]" for name, texts in values.items()}
        return [lists | files]
    return [
        {name: _value(name, text, values[name]) for name, text in known.items()}
        | {role: _quoted(filled(pattern, known)) for role, pattern in series.files.items()}
        for known in each
    ]


def _called(series: Sequence[Series]) -> list[str]:
    """Return names that distinguish the runs of different series: the names of their files."""
    stems = [broad(one.names.pattern) for one in series]
    if len(set(stems)) == len(stems) and not {"", "*"} & set(stems):
        return stems
    found = [broad(next(iter(one.files.values()))) for one in series]
    return [name if found.count(name) == 1 else f"{name} ({at + 1})" for at, name in enumerate(found)]


def draft(folder: Path) -> tuple[str, list[str]]:
    """Return the text of a manifest for the files below a directory, and the files that it leaves out."""
    roles, other = look(folder)
    if not roles:
        msg = f"{folder} holds no files for a study (captures, results of load generators, power readings)"
        raise EsxparseError(msg)
    for text in (_by_name(folder, roles), _one_by_one(folder, roles)):
        if _finds_each_once(text, folder, roles):
            break
    return text, other


def _by_name(folder: Path, roles: Roles) -> str:
    units = _units(roles)
    single = [unit for unit in units if len(unit.files) == 1 and all(len(roles[role]) == 1 for role in unit.files)]
    for kinds in (_SHARED, _HOSTS):
        common = [unit for unit in single if kinds >= set(unit.files)]
        series = _series(unit for unit in units if unit not in common)
        if series and (kinds == _HOSTS or len(series) == 1):
            break
    else:
        common, series = [], _series(units)
    values: dict[str, list[str]] = {}
    for one in series:
        for name, found in one.names.values.items():
            values[name] = sorted({*values.get(name, []), *found}, key=natural)
    rows = []
    for one, called in zip(series, _called(series), strict=True):
        file_label = {_FILE: _quoted(called)} if len(series) > 1 else {}
        rows += [file_label | row for row in _rows(one, folder)]
    if len(series) > 1:
        values[_FILE] = _called(series)
    shared = {role: _quoted(pattern) for one in _series(common) for role, pattern in one.files.items()}
    return _text(folder, rows, shared, values)


def _one_by_one(folder: Path, roles: Roles) -> str:
    """Return one run per file, if the names show no structure."""
    files = [(role, name) for role, names in roles.items() for name in names]
    rows = [{_FILE: _quoted(name), role: _quoted(literal(name))} for role, name in files]
    return _text(folder, rows, {}, {_FILE: [name for _, name in files]})


def _finds_each_once(text: str, folder: Path, roles: Roles) -> bool:
    manifest, wrong = parse(text, folder / FILE_NAME)
    runs = expand(manifest, outside=True)
    found = Counter((role, name) for run in runs for role, files in run.files.items() for name in files.names)
    shared = {role for role, names in roles.items() if len(names) == 1}
    return (
        not wrong
        and not any(run.problems for run in runs)
        and set(found) == {(role, name) for role, names in roles.items() for name in names}
        and all(count == 1 or role in shared for (role, _), count in found.items())
    )


def _quoted(text: str) -> str:
    # TOML does not allow an unescaped DEL, JSON does.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _text(
    folder: Path, rows: Sequence[Mapping[str, str]], common: Mapping[str, str], values: Mapping[str, Sequence[str]]
) -> str:
    labels = [name for name in values if name != "repetition"]
    texts = [name for name in labels if not are_numbers(values[name])]
    # A run's baseline has equal labels, except for the label that selects the baseline.
    axis = [name for name in labels if name not in texts] + texts[1:]
    lines = [f"title = {_quoted(legible(folder.resolve().name))}"]
    lines += [f"axis = {json.dumps(axis, ensure_ascii=False)}"] if axis else ['# axis = ["vms"]   # what is swept']
    if texts:
        choice = ", ".join(_quoted(value)[1:-1] for value in values[texts[0]])
        lines.append(f"# the runs that the others are compared with; {texts[0]} is one of: {choice}")
        lines.append(f"baseline = {{ {texts[0]} = {_quoted(values[texts[0]][0])} }}")
    else:
        lines.append('# baseline = { filter = "default" }   # the runs that the others are compared with')
    generator = next(iter(sorted(WORKLOADS & {key for row in rows for key in row})), "fio")
    lines += [
        "",
        "[window]   # the measured part of each run; by default, all of it",
        '# warmup = "2m"',
        '# measure = "2m"',
        f'# span = "{generator}"   # or: from start to end of the load generator\'s own run',
        "",
        "[host]   # facts that no file contains",
        "# cpus = 32   # PCPUs as esxtop counts them",
        "# cores = 16",
        "# mhz = 2400",
    ]
    if common:
        lines += ["", "[files]   # files that all runs share"]
        lines += [f"{role} = {pattern}" for role, pattern in common.items()]
    for row in rows:
        lines += ["", "[[run]]", *(f"{key} = {value}" for key, value in row.items())]
    return "\n".join(lines) + "\n"


def write(folder: Path, *, replace: bool = False) -> tuple[Path, list[str]]:
    """Write `study.toml` into a directory of files."""
    path = folder / FILE_NAME
    out = target(path, replace=replace)
    text, other = draft(folder)
    out.write(text.encode())
    return path, other
