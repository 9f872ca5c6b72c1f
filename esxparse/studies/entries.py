"""Entries of a manifest: files, windows, host facts and manual figures, each checked on reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, TypedDict

from msgspec import Meta

from esxparse.errors import EsxparseError
from esxparse.formats.opening import AS_FOUND, NAMES, Opening, moment, period
from esxparse.metrics import units
from esxparse.studies.columns import FIRST, LAST, SPAN
from esxparse.studies.roles import ONE_FILE, WORKLOADS
from esxparse.toml.checked import Key, Read, Text, check_names, choose, value_of, written
from esxparse.toml.document import Problems
from esxparse.toml.lines import Place

_OPTIONS: Final = ("test", "sensor", "pcpus", "clock")
_ENTRY: Final = ("file", *_OPTIONS, *NAMES)
_TEXTS: Final = {"name": "host_name", "release": "esxi_release"}
_NEGATIVE = "-"
_LONGEST_S: Final = 10 * 366 * 86400.0
"""Ten years: no recording is longer, and sums with its times stay valid."""


def offset(text: Any, name: str = "clock") -> timedelta:
    """Return a shift of a clock: `-2h`, `90s`, seconds."""
    if type(text) in {int, float} and abs(text) <= _LONGEST_S:
        return timedelta(seconds=text)
    if not isinstance(text, str):
        raise EsxparseError(f"{name} is {written(text)}, not a length of time; write it as -2h, 90s or +30m")
    sign = -1 if text.startswith(_NEGATIVE) else 1
    return sign * timedelta(seconds=_length(text.lstrip("+-"), name))


def _seconds(value: Any, name: str) -> float:
    """Return a length of time in seconds: a number, or `30s`, `2m`, `1h`."""
    if type(value) in {int, float} and 0 <= value <= _LONGEST_S:
        return float(value)
    if not isinstance(value, str):
        raise EsxparseError(f"{name} is {written(value)}, not a length of time; write it as 30s, 5m or 1h")
    if value.strip() in {"0", "0s", "0m", "0h"}:
        return 0.0
    return _length(value, name)


def _length(text: str, name: str) -> float:
    length = period(text or "?", name) or timedelta(0)
    if length.total_seconds() > _LONGEST_S:
        raise EsxparseError(f"{name} {text!r} is longer than any recording: write a duration such as 30s, 5m or 1h")
    return length.total_seconds()


def _time(value: Any, name: str) -> datetime | None:
    return moment(value or "?", name)


def _generator(value: Any, name: str) -> str:
    if isinstance(value, str) and value in WORKLOADS:
        return str(value)
    raise EsxparseError(f"{name} is {written(value)}, not a load generator; use {choose(value, sorted(WORKLOADS))}")


@dataclass(frozen=True)
class WindowSpec:
    """The measured part of a run."""

    warmup_s: Annotated[float, Key("warmup"), Read(_seconds)] = 0.0
    measure_s: Annotated[float | None, Key("measure"), Read(_seconds)] = None
    start: Annotated[datetime | None, Read(_time)] = None
    end: Annotated[datetime | None, Read(_time)] = None
    span: Annotated[str | None, Read(_generator)] = None
    """The load generator whose own start and end are used: fio, iometer, diskspd."""

    def mistakes(self) -> Iterator[tuple[Place, str]]:
        """Report contradicting keys."""
        if self.measure_s == 0:
            yield ("measure",), "measure is 0; leave it out to measure everything after the warm-up"
        if self.start and self.end and self.end <= self.start:
            yield ("end",), "the window ends before it starts; change start or end"
        if self.span and (self.start or self.end):
            yield ("span",), "a window takes either span or start and end; remove one"


def window_of(entry: Any, above: Mapping[str, Any], wrong: Problems, *path: str | int) -> WindowSpec:
    """Return a window, completed from the table above it; its own start or span replaces the ones above."""
    if isinstance(entry, dict):
        replaced = {"start", "end", "span"} if {"start", "end", "span"} & set(entry) else set()
        entry = {**{key: value for key, value in above.items() if key not in replaced}, **entry}
    return value_of(WindowSpec, entry, wrong, *path) or WindowSpec()


_Count = Annotated[float, Meta(gt=0, multiple_of=1)]
_Positive = Annotated[float, Meta(gt=0)]


class _Host(TypedDict, total=False):
    name: str
    release: Annotated[str, Meta(pattern=r"\d", description='a release such as "5.0" or "6.7"')]
    cpus: _Count
    cores: _Count
    sockets: _Count
    numa_nodes: _Count
    mhz: _Positive
    memory_mib: _Positive
    load_hosts: _Count | Annotated[str, Meta(pattern=r"\{", description='a label in braces: "{hosts}"')]


def facts_of(entry: Any, wrong: Problems, *path: str | int) -> dict[str, Any]:
    """Return facts of the host, under the names of their columns."""
    if isinstance(entry, dict) and "memory_mb" in entry:
        wrong.add('unknown key "memory_mb"; write it as memory_mib, 2**20 bytes', *path, "memory_mb")
        entry = {key: value for key, value in entry.items() if key != "memory_mb"}
    facts = value_of(_Host, entry, wrong, *path) or {}
    measured = {"mhz", "memory_mib"}
    return {
        _TEXTS.get(key, key): value if isinstance(value, str) or key in measured else int(value)
        for key, value in facts.items()
    }


@dataclass(frozen=True)
class FileSpec:
    """The file or files of a run for one purpose, as patterns relative to the manifest."""

    patterns: tuple[str, ...]
    several: bool = False
    """Whether all files that a wildcard finds belong to one run, rather than to separate runs."""
    opening: Opening = AS_FOUND
    """Options of `esxparse.open`."""
    test: str | int | None = None
    """Test of a result file, by name or number; may have placeholders."""
    sensor: str | None = None
    pcpus: tuple[int, ...] = ()
    """PCPUs that count, in a file with data per PCPU; default: all."""
    clock: timedelta = timedelta(0)
    """Shift from the file's times to the capture's."""
    line: int | None = None


_Pcpu = Annotated[int, Meta(ge=0)]
_Names = Annotated[
    Text | Annotated[tuple[Text, ...], Meta(min_length=1)],
    Meta(description="the name of a file, or a list of names"),
]


class _Entry(TypedDict, total=False):
    test: Annotated[str | int, Meta(description="its name or its number")]
    sensor: Annotated[str, Meta(description="its name")]
    pcpus: Annotated[_Pcpu | tuple[_Pcpu, ...], Meta(description="the number of a PCPU, or a list of numbers")]
    clock: Annotated[timedelta, Read(offset)]


def figures_of(entry: Any, wrong: Problems, path: Sequence[str | int]) -> dict[str, float]:
    """Return manual figures; a name with an ambiguous unit is an error."""
    figures = {}
    for key, value in (value_of(Mapping[str, Any], entry, wrong, *path) or {}).items():
        if unclear := _unclear_unit(key):
            wrong.add(unclear, *path, key)
        elif key in {**FIRST, **SPAN, **LAST}:
            wrong.add(f"{written(key)} is a column of the results, not a measurement; rename the figure", *path, key)
        elif not key[:1].isalpha():
            wrong.add(f"{written(key)} is not a valid name for a figure; start it with a letter", *path, key)
        elif (figure := value_of(float, value, wrong, *path, key)) is not None:
            figures[key] = figure
    return figures


def _unclear_unit(name: str) -> str:
    """Return why the unit at the end of a name is ambiguous; empty if it is clear, or missing."""
    try:
        units.unit_of(name)
    except units.UnclearUnitError as error:
        return str(error)
    except EsxparseError:
        pass
    return ""


def file_of(role: str, entry: Any, shared: Any, wrong: Problems, path: Sequence[str | int]) -> FileSpec | None:
    """Return the files of a role: a name or pattern, a list of them, or a table with `file` and options."""
    table = entry if isinstance(entry, dict) else {"file": entry}
    options = {**(shared if isinstance(shared, dict) else {}), **table}
    before = len(wrong)
    check_names(options, _ENTRY, wrong, *path)
    names: tuple[str, ...] = ()
    if "file" not in options:
        wrong.add(f'{role} has no file; write {role} = "name", or a list of names', *path)
    elif found := value_of(_Names, options["file"], wrong, *path):
        names = (found,) if isinstance(found, str) else found
        if len(names) > 1 and role in ONE_FILE:
            wrong.add(f"{role} takes one file per run, not {len(names)}; keep one", *path)
    more: _Entry = value_of(_Entry, {key: options[key] for key in _OPTIONS if key in options}, wrong, *path)
    opening = _opening(options, wrong, path)
    if len(wrong) > before:
        return None
    pcpus = more.get("pcpus", ())
    return FileSpec(
        patterns=names,
        several=isinstance(options["file"], list),
        opening=opening,
        test=more.get("test"),
        sensor=more.get("sensor"),
        pcpus=pcpus if isinstance(pcpus, tuple) else (pcpus,),
        clock=more.get("clock", timedelta(0)),
        line=wrong.document.line(*path),
    )


def _opening(options: Mapping[str, Any], wrong: Problems, path: Sequence[str | int]) -> Opening:
    """Return the options of `esxparse.open`; report invalid ones."""
    valid = {}
    for key in NAMES:
        value = options.get(key)
        if value == "":
            wrong.add(f"{key} is empty; write a value or leave it out", *path, key)
            continue
        try:
            Opening.of({key: value})
        except EsxparseError as error:
            wrong.add(str(error), *path, key)
        else:
            valid[key] = value
    try:
        return Opening.of(valid)
    except EsxparseError as error:
        wrong.add(str(error), *path, "end")
        return AS_FOUND
