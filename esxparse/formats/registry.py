"""Which reader reads a file: told by its content, never by its name alone."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from esxparse.errors import DamagedError, EsxparseError, UnknownFormatError, UnreadableError
from esxparse.formats.source import problem, read_up_to, resolve
from esxparse.formats.window import EVERYTHING, cut

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
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
them the tables are cut to it here. A reader of directories has `recognise_directory(path)`, `read_directory(path)`.
"""

_OPTION_NAMES = {"dates": "date_order and date"}

_HEAD = 1 << 20


def readers() -> list[ModuleType]:
    """The modules of all readers."""
    return [import_module(name) for name in READERS]


def _unknown(name: str, head: bytes) -> UnknownFormatError:
    known = "; ".join(reader.TITLE for reader in readers())
    return UnknownFormatError(
        f"{name} is of no format esxparse reads (it begins with {head[:40]!r}); it reads: {known}"
    )


def _spooled(source: Source, folder: str) -> Source:
    """A copy of what can be read once, in a file."""
    copy = Path(folder, "content")
    with source.open() as stream, copy.open("wb") as file:
        shutil.copyfileobj(stream, file, _HEAD)
        cut = problem(stream)
    return replace(source, path=copy, once=None, problem=cut)


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
) -> Recording:
    """Reads a raw recording, whatever its format: see `esxparse.open`, which names the options."""
    folder = Path(where)
    if member is None and folder.is_dir():
        return _directory(folder, window, options)
    source = resolve(where, member)
    if source.once is not None:
        with tempfile.TemporaryDirectory(prefix="esxparse-") as spool:
            return _recognised(_spooled(source, spool), window, name, options, at_once=True)
    return _recognised(source, window, name, options)


def _directory(folder: Path, window: Window, options: Mapping[str, Any]) -> Recording:
    for reader in readers():
        if hasattr(reader, "recognise_directory") and reader.recognise_directory(folder):
            _refuse_other(reader, options, str(folder))
            rec: Recording = reader.read_directory(folder)
            return replace(rec, tables=cut(rec.tables, window))
    msg = f"{folder} is a directory: name a capture in it"
    raise UnreadableError(msg)


def _refuse_other(reader: ModuleType, options: Mapping[str, Any], name: str) -> None:
    other = [_OPTION_NAMES.get(option, option) for option in options if option not in reader.OPTIONS | {"lazy"}]
    if other:
        msg = f"{name} is read as {reader.TITLE}, which has no {other[0]}: leave it out"
        raise EsxparseError(msg)


def _recognised(
    source: Source, window: Window, name: str | None, options: Mapping[str, Any], *, at_once: bool = False
) -> Recording:
    with source.open() as stream:
        head = read_up_to(stream, _HEAD)
    if not head:
        msg = f"{source.name} is empty: nothing was captured, or the copy failed"
        raise DamagedError(msg)
    reader = _reader(name) if name else next((one for one in readers() if one.recognise(head)), None)
    if reader is None:
        raise _unknown(source.name, head)
    _refuse_other(reader, options, source.name)
    chosen = {option: value for option, value in options.items() if option in reader.OPTIONS}
    if "lazy" in reader.OPTIONS and at_once:
        chosen["lazy"] = False
    if "window" in reader.OPTIONS:
        chosen["window"] = window
    try:
        rec: Recording = reader.read(source, **chosen)
        return rec if "window" in reader.OPTIONS else replace(rec, tables=cut(rec.tables, window))
    except EsxparseError as error:
        msg = str(error) if source.name in str(error) else f"{source.name}: {error}"
        raise type(error)(msg) from error
