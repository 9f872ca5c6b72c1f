"""Which reader reads a file: told by its content, never by its name alone."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from esxparse.errors import DamagedError, EsxparseError, TooLargeError, UnknownFormatError, UnreadableError
from esxparse.formats import memory
from esxparse.formats.opening import AS_FOUND
from esxparse.formats.source import read_up_to, resolve
from esxparse.formats.unpack import unpacked
from esxparse.formats.window import cut
from esxparse.recording import printable

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterator
    from types import ModuleType

    from esxparse.formats.opening import Opening
    from esxparse.formats.source import Source
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

_HINTS = frozenset({"lazy"})
"""Options that spare work where a reader has them, and change nothing where it has not."""

_HEAD = 1 << 20
_MEMBER_HEAD = 64 << 10
"""Bytes in which a member of a bundle must show its format, unless it is a capture of esxtop."""

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


_OF_READERS = ("lazy", "segment", "date_order", "date", "time_column", "value_column")
"""Options of `esxparse.open` that are readers' own; what is left is done here, whatever the reader."""


def _of_reader(opening: Opening) -> dict[str, Any]:
    """Options of readers, those that say something."""
    return {name: value for name, value in opening.said().items() if name in _OF_READERS}


def _reader(name: str) -> ModuleType:
    known = {reader.FORMAT: reader for reader in readers()}
    if name not in known:
        msg = f"there is no reader for format {name!r}; there is: {', '.join(known)}"
        raise EsxparseError(msg)
    return known[name]


def open_recording(
    where: str | os.PathLike[str],
    opening: Opening = AS_FOUND,
    *,
    numbers: Collection[str] | None = None,
    left_out: set[str] | None = None,
) -> Recording:
    """Reads a raw recording, whatever its format: see `esxparse.open`.

    Args:
        where: What `esxparse.open` takes.
        opening: How to read it.
        numbers: The tables whose numbers are needed, where the reader can spare itself the others.
        left_out: Gets the options that the reader has no use for, which are refused where it is not given.

    Raises:
        EsxparseError: It cannot be read, or not as `opening` says.
    """
    folder = Path(where)
    if folder.is_dir():
        return _directory(folder / (opening.member or ""), opening, left_out)
    source = resolve(
        where, opening.member, lambda head: _recognising(head[:_MEMBER_HEAD]) is not None, timeout=opening.timeout
    )
    source = replace(source, memory_limit=opening.memory_limit or memory.DEFAULT)
    return open_source(source if source.once is None else unpacked(source), opening, numbers, left_out)


def _directory(folder: Path, opening: Opening, left_out: set[str] | None) -> Recording:
    for module in _OF_DIRECTORIES:
        reader = import_module(module)
        if reader.recognise_directory(folder):
            _fitting(reader, opening, str(folder), left_out)
            with _own_errors(str(folder), reader.TITLE):
                rec: Recording = reader.read_directory(folder)
            return replace(rec, tables=cut(rec.tables, opening.window))
    msg = f"{folder} is a directory: name a capture in it" if folder.is_dir() else f"{folder} does not exist"
    raise UnreadableError(msg)


def refuse_foreign(reader: ModuleType, opening: Opening, name: str) -> None:
    """Refuses options that a reader has no use for.

    Raises:
        EsxparseError: One was given.
    """
    _fitting(reader, opening, name, None)


def _fitting(reader: ModuleType, opening: Opening, name: str, left_out: set[str] | None) -> dict[str, Any]:
    """The options that a reader takes; others are refused, or told in `left_out`."""
    if opening.format not in {None, getattr(reader, "FORMAT", None)}:
        msg = f"{name} is read as {reader.TITLE}, not as {opening.format}: leave the format out"
        raise EsxparseError(msg)
    options = _of_reader(opening)
    other = [option for option in options if option not in reader.OPTIONS | _HINTS]
    if other and left_out is None:
        msg = f"{name} is read as {reader.TITLE}, which has no {other[0]}: leave it out"
        raise EsxparseError(msg)
    if left_out is not None:
        left_out.update(other)
    return {option: value for option, value in options.items() if option in reader.OPTIONS}


def open_source(
    source: Source,
    opening: Opening = AS_FOUND,
    numbers: Collection[str] | None = None,
    left_out: set[str] | None = None,
) -> Recording:
    """Reads what a source holds."""
    with source.open() as stream:
        head = read_up_to(stream, _HEAD)
    if not head:
        msg = f"{source.name} is empty: nothing was captured, or the copy failed"
        raise DamagedError(msg)
    with _own_errors(source.name, "any format"):
        reader = _reader(opening.format) if opening.format else _recognising(head)
    if reader is None:
        raise _unknown(source.name, head)
    chosen = _fitting(reader, opening, source.name, left_out)
    if numbers is not None and "numbers" in reader.OPTIONS:
        chosen["numbers"] = numbers
    if "window" in reader.OPTIONS:
        chosen["window"] = opening.window
    with _own_errors(source.name, reader.TITLE):
        rec: Recording = reader.read(source, **chosen)
        return rec if "window" in reader.OPTIONS else replace(rec, tables=cut(rec.tables, opening.window))


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
