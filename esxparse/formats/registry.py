"""Which reader reads a file: told by its content, never by its name alone."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from esxparse.errors import DamagedError, EsxparseError, TooLargeError, UnknownFormatError, UnreadableError
from esxparse.formats import memory
from esxparse.formats.source import read_up_to, resolve
from esxparse.formats.unpack import unpacked
from esxparse.formats.window import EVERYTHING, cut
from esxparse.recording import printable

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping
    from datetime import date
    from types import ModuleType

    from esxparse.formats.source import Source
    from esxparse.formats.window import Window
    from esxparse.recording import Recording

READERS = tuple(
    f"esxparse.formats.{name}"
    for name in (
        "esxtop",
        "fio",
        "iometer",
        "vscsistats",
        "diskspd",
        "packets",
        "power.redfish",
        "power.ribcl",
        "power.ipmi",
        "power.meter",
        "perf_stat",
        "vmkperf",
        "topology.numactl",
        "topology.cpuinfo",
        "topology.lscpu",
        "topology.vmx",
        "topology.esxcli",
        "benchmarks.netperf",
        "benchmarks.iperf3",
        "benchmarks.stream",
        "benchmarks.linpack",
        "benchmarks.redis_benchmark",
        "benchmarks.memtier",
        "benchmarks.sysbench",
        "benchmarks.results",
    )
)
"""Modules with `FORMAT`, `TITLE`, `OPTIONS`, `recognise(head)` and `read(source, **options)`.

`OPTIONS` are the names of the options of `esxparse.open` that the reader takes itself; where `window` is not among
them the tables are cut to it here.
"""

_OF_DIRECTORIES = ("esxparse.formats.converted", "esxparse.formats.fio")
"""Modules with `TITLE`, `OPTIONS`, `recognise_directory(path)` and `read_directory(path)`."""

_OPTION_NAMES = {"dates": "date_order and date"}

_HINTS = frozenset({"lazy", "numbers"})
"""Options that spare work where a reader has them, and change nothing where it has not."""

_HEAD = 1 << 20
_MEMBER_HEAD = 64 << 10
"""Bytes in which a member of a bundle must show itself, where it is no capture of esxtop."""

_SHOWN = 200


def readers() -> list[ModuleType]:
    """The modules of all readers."""
    return [import_module(name) for name in READERS]


def _recognising(head: bytes) -> ModuleType | None:
    """The reader of what begins with `head`. Readers after it are not even imported."""
    modules = (import_module(name) for name in READERS)
    return next((reader for reader in modules if reader.recognise(head)), None)


def _unknown(name: str, head: bytes) -> UnknownFormatError:
    known = ", ".join(reader.FORMAT for reader in readers())
    return UnknownFormatError(
        f"{name} is of no format esxparse reads (it begins with {head[:40]!r}); it reads: {known}"
    )


def opening_options(
    *,
    lazy: bool | None = None,
    segment: int = 1,
    date_order: Literal["mdy", "dmy", "ymd"] | None = None,
    date: date | None = None,
    time_column: str | None = None,
    value_column: str | None = None,
) -> dict[str, Any]:
    """Options of readers as `esxparse.open` has them, those that say something."""
    # numpy and polars are imported when they are needed.
    from esxparse.formats.esxtop.resaved import AS_WRITTEN, Dates  # noqa: PLC0415

    dates = Dates(date_order, date)
    options = {
        "lazy": lazy,
        "segment": None if segment == 1 else segment,
        "dates": None if dates == AS_WRITTEN else dates,
        "time_column": time_column,
        "value_column": value_column,
    }
    return {name: value for name, value in options.items() if value is not None}


def _reader(name: str) -> ModuleType:
    known = {reader.FORMAT: reader for reader in readers()}
    if name not in known:
        msg = f"there is no reader for format {name!r}; there is: {', '.join(known)}"
        raise EsxparseError(msg)
    return known[name]


def open_recording(
    where: str | os.PathLike[str],
    window: Window = EVERYTHING,
    member: str | None = None,
    name: str | None = None,
    options: Mapping[str, Any] = MappingProxyType({}),
    memory_limit: int = memory.DEFAULT,
) -> Recording:
    """Reads a raw recording, whatever its format: see `esxparse.open`, which names the options."""
    folder = Path(where)
    if folder.is_dir():
        return _directory(folder / (member or ""), window, options)
    source = resolve(where, member, lambda head: _recognising(head[:_MEMBER_HEAD]) is not None)
    source = replace(source, memory_limit=memory_limit)
    return open_source(source if source.once is None else unpacked(source), window, name, options)


def _directory(folder: Path, window: Window, options: Mapping[str, Any]) -> Recording:
    for module in _OF_DIRECTORIES:
        reader = import_module(module)
        if reader.recognise_directory(folder):
            _refuse_other(reader, options, str(folder))
            with _own_errors(str(folder), reader.TITLE):
                rec: Recording = reader.read_directory(folder)
            return replace(rec, tables=cut(rec.tables, window))
    msg = f"{folder} is a directory: name a capture in it" if folder.is_dir() else f"{folder} does not exist"
    raise UnreadableError(msg)


def _refuse_other(reader: ModuleType, options: Mapping[str, Any], name: str) -> None:
    other = [_OPTION_NAMES.get(option, option) for option in options if option not in reader.OPTIONS | _HINTS]
    if other:
        msg = f"{name} is read as {reader.TITLE}, which has no {other[0]}: leave it out"
        raise EsxparseError(msg)


def open_source(
    source: Source,
    window: Window = EVERYTHING,
    name: str | None = None,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> Recording:
    """Reads what a source holds."""
    with source.open() as stream:
        head = read_up_to(stream, _HEAD)
    if not head:
        msg = f"{source.name} is empty: nothing was captured, or the copy failed"
        raise DamagedError(msg)
    with _own_errors(source.name, "any format"):
        reader = _reader(name) if name else _recognising(head)
    if reader is None:
        raise _unknown(source.name, head)
    _refuse_other(reader, options, source.name)
    chosen = {option: value for option, value in options.items() if option in reader.OPTIONS}
    if "window" in reader.OPTIONS:
        chosen["window"] = window
    with _own_errors(source.name, reader.TITLE):
        rec: Recording = reader.read(source, **chosen)
        return rec if "window" in reader.OPTIONS else replace(rec, tables=cut(rec.tables, window))


@contextmanager
def _own_errors(name: str, title: str) -> Iterator[None]:
    """Whatever a reader raises about a file becomes an error of ours, which names the file, and what caused it.

    Raises:
        EsxparseError: Always in the place of another; that stays as its cause.
    """
    try:
        yield
    except EsxparseError as error:
        msg = str(error) if name in str(error) else f"{name}: {error}"
        raise type(error)("\n".join(map(printable, msg.split("\n")))) from error
    except MemoryError as error:
        msg = f"{name} takes more memory than there is: read less of it, or read it on a larger machine"
        raise TooLargeError(msg) from error
    except BaseException as error:
        # What polars panics with is not an Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        why = f"{type(error).__name__}: {str(error)[:_SHOWN]}"
        msg = f"{name} cannot be read as {title} ({why}): copy it again; if it is whole, this is a fault of esxparse"
        raise DamagedError(printable(msg)) from error
