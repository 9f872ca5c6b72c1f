"""Which reader reads a file: told by its content, never by its name alone.

`recognise.toml` lists the formats in the order in which they are asked for, and how each is told. A format is a module
with `FORMAT`, `read(source, **options)` and, where words and patterns are not enough, `recognise(head)`.
"""

from __future__ import annotations

import re
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from esxparse.errors import DamagedError, EsxparseError, TooLargeError, UnknownFormatError, UnreadableError
from esxparse.formats import converted
from esxparse.formats.opening import AS_FOUND
from esxparse.formats.source import resolve
from esxparse.formats.unpack import unpacked
from esxparse.formats.window import cut
from esxparse.recording import printable

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterator, Mapping

    from esxparse.formats.kit.head import Head
    from esxparse.formats.opening import Opening
    from esxparse.formats.source import Source
    from esxparse.recording import Recording

_DATA = Path(__file__).with_name("recognise.toml")

_HINTS = frozenset({"lazy"})
"""Options that spare work where a reader has them, and change nothing where it has not."""

_OF_READERS = ("lazy", "segment", "date_order", "date", "time_column", "value_column")
"""Options of `esxparse.open` that are readers' own; what is left is done here, whatever the reader."""

_SHOWN = 200


class _Reading(Protocol):
    """What the module of a format has."""

    FORMAT: str

    def recognise(self, head: Head) -> bool:
        """Whether a file that begins so is of the format; asked where the data leaves it open."""

    def read(self, source: Source, **options: Any) -> Recording:
        """The recording."""

    def recognise_directory(self, path: Path) -> bool:
        """Whether a directory is a recording of the format."""

    def read_directory(self, path: Path) -> Recording:
        """The recording that a directory is."""


class _Named(Protocol):
    FORMAT: str


def _texts(told: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(told.get(key, ()))


@dataclass(frozen=True)
class _Sign:
    """One way in which a format is told: one of the words is there, all patterns are found, and `no` is not."""

    words: tuple[str, ...] = ()
    """In lower case."""
    patterns: tuple[str, ...] = ()
    no: str | None = None

    def shows(self, head: Head) -> bool:
        """Whether a head has it."""
        if self.words and not head.holds(*self.words):
            return False
        if not all(re.search(pattern, head.text) for pattern in self.patterns):
            return False
        return not (self.no and re.search(self.no, head.text))


@dataclass(frozen=True)
class Reader:
    """A format: what `recognise.toml` says of it, and the module that reads it, imported when it is needed."""

    name: str
    title: str
    module: str
    options: frozenset[str] = frozenset()
    """Names of the options of `esxparse.open` that `read` takes itself; tables are cut to a `window` here else."""
    words: tuple[str, ...] = ()
    """In lower case: without one of them it is not of this format."""
    signs: tuple[_Sign, ...] = ()
    """One of them is enough; without any the module is asked."""

    @classmethod
    def of(cls, name: str, told: Mapping[str, Any]) -> Reader:
        """The reader that an entry describes."""
        signs = tuple(
            _Sign(_texts(one, "words"), _texts(one, "patterns"), one.get("no")) for one in told.get("sign", ())
        )
        module = told.get("module", name)
        return cls(name, told["title"], module, frozenset(_texts(told, "options")), _texts(told, "words"), signs)

    @cached_property
    def reading(self) -> _Reading:
        """The module."""
        return cast("_Reading", import_module(f"esxparse.formats.{self.module}"))

    def recognise(self, head: Head) -> bool:
        """Whether a file that begins so is of the format."""
        if self.words and not head.holds(*self.words):
            return False
        return any(sign.shows(head) for sign in self.signs) if self.signs else self.reading.recognise(head)

    def chosen(self, opening: Opening, name: str, left_out: set[str] | None = None) -> dict[str, Any]:
        """The options that the reader takes; others are refused, or added to `left_out`.

        Raises:
            EsxparseError: The reader does not take one, or the file is not in the format asked for.
        """
        if opening.format not in {None, self.name}:
            msg = f"{name} is read as {self.title}, not as {opening.format}: leave the format out"
            raise EsxparseError(msg)
        options = {option: value for option, value in opening.said().items() if option in _OF_READERS}
        other = [option for option in options if option not in self.options | _HINTS]
        if other and left_out is None:
            msg = f"{name} is read as {self.title}, which has no option {other[0]}: leave it out"
            raise EsxparseError(msg)
        if left_out is not None:
            left_out.update(other)
        return {option: value for option, value in options.items() if option in self.options}


@cache
def readers() -> tuple[Reader, ...]:
    """All readers, in the order in which they are asked."""
    with _DATA.open("rb") as file:
        return tuple(Reader.of(name, told) for name, told in tomllib.load(file).items())


def recognising(head: Head) -> Reader | None:
    """The reader of what begins so."""
    return next((reader for reader in readers() if reader.recognise(head)), None)


def _known(head: Head) -> bool:
    return recognising(head) is not None


def _unknown(name: str, head: Head) -> UnknownFormatError:
    known = ", ".join(reader.name for reader in readers())
    return UnknownFormatError(
        f"{name} is not in a format esxparse reads (it begins with {head.content[:40]!r}); it reads: {known}"
    )


def reader_of(name: str) -> Reader:
    """The reader of the format of that name.

    Raises:
        EsxparseError: There is none.
    """
    known = {reader.name: reader for reader in readers()}
    if name not in known:
        msg = f"unknown format {name!r}; the formats are: {', '.join(known)}"
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
    source = resolve(where, opening.member, _known, timeout=opening.timeout, memory_limit=opening.memory_limit)
    return open_source(source if source.once is None else unpacked(source), opening, numbers, left_out)


def _directory(folder: Path, opening: Opening, left_out: set[str] | None) -> Recording:
    converts = Reader("converted", converted.TITLE, "converted")
    for reader in (converts, reader_of("fio")):
        if reader.reading.recognise_directory(folder):
            reader.chosen(opening, str(folder), left_out)
            with _own_errors(str(folder), reader.title):
                rec = reader.reading.read_directory(folder)
            return replace(rec, tables=cut(rec.tables, opening.window))
    msg = f"{folder} is a directory: name a capture in it" if folder.is_dir() else f"{folder} does not exist"
    raise UnreadableError(msg)


def refuse_foreign(reading: _Named, opening: Opening, name: str) -> None:
    """Refuses options that a reader does not take.

    Raises:
        EsxparseError: One was given.
    """
    reader_of(reading.FORMAT).chosen(opening, name)


def open_source(
    source: Source,
    opening: Opening = AS_FOUND,
    numbers: Collection[str] | None = None,
    left_out: set[str] | None = None,
) -> Recording:
    """Reads a source."""
    if not source.head.content:
        msg = f"{source.name} is empty: nothing was captured, or the copy failed"
        raise DamagedError(msg)
    with _own_errors(source.name, "any format"):
        reader = reader_of(opening.format) if opening.format else recognising(source.head)
    if reader is None:
        raise _unknown(source.name, source.head)
    chosen = reader.chosen(opening, source.name, left_out)
    if numbers is not None and "numbers" in reader.options:
        chosen["numbers"] = numbers
    if "window" in reader.options:
        chosen["window"] = opening.window
    with _own_errors(source.name, reader.title):
        rec = reader.reading.read(source, **chosen)
        return rec if "window" in reader.options else replace(rec, tables=cut(rec.tables, opening.window))


@contextmanager
def _own_errors(name: str, title: str) -> Iterator[None]:
    """Turns whatever a reader raises into an error of ours that names the file and the cause."""
    try:
        yield
    except EsxparseError as error:
        msg = str(error) if name in str(error) else f"{name}: {error}"
        raise type(error)("\n".join(map(printable, msg.split("\n")))) from error
    except MemoryError as error:
        msg = f"{name} needs more memory than there is: read less of it, or read it on a larger machine"
        raise TooLargeError(msg) from error
    except BaseException as error:
        # A panic of polars is not an Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        why = f"{type(error).__name__}: {str(error)[:_SHOWN]}"
        msg = f"{name} cannot be read as {title} ({why}): copy it again; if it is intact, this is a bug in esxparse"
        raise DamagedError(printable(msg)) from error
