"""The reader of each file, chosen by the file's content, never by its name alone.

`recognise.toml` lists the formats in the order of the checks, and the signs of each. A format is a module
with `FORMAT`, `read(source, **options)` and, if words and patterns are not enough, `recognise(head)`. A module for
several formats has such an object for each in `TOOLS`. Their `text` is in `recognise.toml` instead of a docstring.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, cast

import msgspec

from esxparse.errors import (
    DamagedError,
    EsxparseError,
    TooLargeError,
    UnknownFormatError,
    UnreadableError,
    did_you_mean,
)
from esxparse.formats import converted, directory, memory, quoted
from esxparse.formats.kit.foreign import Form
from esxparse.formats.kit.head import Head
from esxparse.formats.opening import AS_FOUND, Opening
from esxparse.formats.source import SeveralError, Source, resolve
from esxparse.formats.unpack import members_unpacked, unpacked
from esxparse.formats.window import cut
from esxparse.recording import Recording, printable

_DATA = Path(__file__).with_name("recognise.toml")
_CONVERTING = Lock()
"""msgspec stores the fields of a class before they are complete: a second thread would read missing ones and crash the
process. Studies and fleets open their files in threads."""

_HINTS = frozenset({"lazy"})
"""Options that save work if a reader has them, and change nothing if it does not."""

_OF_READERS = (
    *("lazy", "segment", "date_order", "date", "decimal", "zone", "time_column", "value_column", "counter_info"),
)
"""Options of `esxparse.open` that readers handle; this module handles the others for every reader."""

_EXCERPT_LENGTH = 200


class _Reading(Protocol):
    """The interface of a format's module."""

    FORMAT: str

    def recognise(self, head: Head) -> bool:
        """Return whether a file with this head is of the format; called if the data does not decide."""

    def read(self, source: Source, **options: Any) -> Recording:
        """Return the recording."""

    def recognise_directory(self, path: Path) -> bool:
        """Return whether a directory is a recording of the format."""

    def read_directory(self, path: Path, **options: Any) -> Recording:
        """Return the recording in a directory."""


class _HasFormat(Protocol):
    FORMAT: str


@dataclass(frozen=True)
class _Sign:
    """One way to recognise a format: one of the words is present, all patterns match, and `no` does not."""

    words: tuple[str, ...] = ()
    """In lower case."""
    patterns: tuple[str, ...] = ()
    no: str | None = None
    near: bool = False
    """Whether the patterns apply to lines with a word."""

    def shows(self, head: Head) -> bool:
        """Return whether a head has this sign."""
        if self.words and not head.holds(*self.words):
            return False
        text = head.near(self.words) if self.near else head.text
        if not all(re.search(pattern, text) for pattern in self.patterns):
            return False
        return not (self.no and re.search(self.no, head.text))


@dataclass(frozen=True)
class Reader:
    """A format: its entry in `recognise.toml`, and the module that reads it, imported when needed."""

    name: str
    title: str
    module: str
    gives: str = ""
    """Format of its recordings, if their tables are those of another one."""
    options: frozenset[str] = frozenset()
    """Names of the options of `esxparse.open` that `read` takes itself; otherwise tables are cut to a `window` here."""
    needs: tuple[str, ...] = ()
    """Software that must be installed for it, in words."""
    words: tuple[str, ...] = ()
    """In lower case: a file without any of them is not of this format."""
    asks: tuple[str, ...] = ()
    """Other words that its module searches for."""
    sign: tuple[_Sign, ...] = ()
    """One of them is enough; without any, the module decides."""
    numbers: Form | None = None
    """How the tool writes numbers."""
    text: str = ""
    """The format's description if the module reads several formats and its docstring has none."""

    @classmethod
    def of(cls, name: str, entry: Mapping[str, Any]) -> Reader:
        """Return the reader that an entry describes."""
        with _CONVERTING:
            made = msgspec.convert({"name": name, "module": name, **entry}, cls)
        if made.words or not all(sign.words for sign in made.sign):
            return made
        return replace(made, words=tuple(word for sign in made.sign for word in sign.words))

    @property
    def recordings(self) -> str:
        """The format of its recordings."""
        return self.gives or self.name

    @cached_property
    def reading(self) -> _Reading:
        """The module, or its object for this format in `TOOLS`."""
        module = import_module(f"esxparse.formats.{self.module}")
        return cast("_Reading", getattr(module, "TOOLS", {}).get(self.name, module))

    def recognise(self, head: Head) -> bool:
        """Return whether a file with this head is of the format."""
        if self.words and not head.holds(*self.words):
            return False
        return any(sign.shows(head) for sign in self.sign) if self.sign else self.reading.recognise(head)

    def chosen(self, opening: Opening, name: str, left_out: set[str] | None = None) -> dict[str, Any]:
        """Return the options that the reader takes; others are refused, or added to `left_out`.

        Raises:
            EsxparseError: The reader does not take an option, or the file is not in the requested format.
        """
        if opening.format not in {None, self.name}:
            raise EsxparseError(f"{name} is read as {self.title}, not as {opening.format}: leave the format out")
        options = {option: value for option, value in opening.said().items() if option in _OF_READERS}
        other = [option for option in options if option not in self.options | _HINTS]
        if other and left_out is None:
            raise EsxparseError(f"{name} is read as {self.title}, which has no option {other[0]}: leave it out")
        if left_out is not None:
            left_out.update(other)
        return {option: value for option, value in options.items() if option in self.options}


@cache
def readers() -> tuple[Reader, ...]:
    """Return all readers, in the order of the checks."""
    with _DATA.open("rb") as file:
        return tuple(Reader.of(name, entry) for name, entry in tomllib.load(file).items())


@cache
def _words() -> tuple[str, ...]:
    """Return all words of all readers."""
    every = (
        (*reader.words, *reader.asks, *(word for sign in reader.sign for word in sign.words)) for reader in readers()
    )
    return tuple(dict.fromkeys(word for words in every for word in words))


def recognising(head: Head) -> Reader | None:
    """Return the reader of a file with this head."""
    first, *others = readers()
    # Checking for a capture of esxtop takes less time than the word search.
    if first.recognise(head):
        return first
    head.look_for(_words())
    return next((reader for reader in others if reader.recognise(head)), None)


def _known(head: Head) -> bool:
    return recognising(head) is not None


def recognised(path: Path) -> bool:
    """Return whether a file is in a known format, or a bundle with such files, judging by beginnings.

    Raises:
        EsxparseError: It cannot be read.
    """
    try:
        return _known(resolve(path, None, _known).head)
    except SeveralError:
        return True


def _unknown(name: str, head: Head) -> UnknownFormatError:
    # For a list of URLs: the rest may be a password, and is cut because nobody could know.
    begins = re.sub(rb"(?s)(://).+", rb"\1...", head.content[:40])
    what = f"{name} is not in a format esxparse reads (it begins with {begins!r})"
    return UnknownFormatError(f"{what}: esxparse formats lists them")


def reader_of(name: str) -> Reader:
    """Return the reader of the format of that name.

    Raises:
        EsxparseError: The format is unknown.
    """
    known = {reader.name: reader for reader in readers()}
    if name not in known:
        raise EsxparseError(f"unknown format {name!r}; {did_you_mean(name, known)}the formats are: {', '.join(known)}")
    return known[name]


def open_recording(
    where: str | os.PathLike[str],
    opening: Opening = AS_FOUND,
    *,
    numbers: Collection[str] | None = None,
    left_out: set[str] | None = None,
) -> Recording:
    """Read a raw recording, whatever its format: see `esxparse.open`.

    Args:
        where: A path, URL or other input of `esxparse.open`.
        opening: How to read it.
        numbers: The tables whose numbers are needed, if the reader can skip the others.
        left_out: Receives the options that the reader does not use; without it they are refused.

    Raises:
        EsxparseError: It cannot be read, or not as `opening` requires.
    """
    folder = Path(where)
    if os.path.isdir(folder):  # noqa: PTH112  False for a name that is too long
        return _directory(folder / (opening.member or ""), opening, left_out)
    try:
        source = resolve(where, opening.member, _known, timeout=opening.timeout, memory_limit=opening.memory_limit)
    except SeveralError:
        limit = opening.memory_limit or memory.DEFAULT
        found = members_unpacked(os.fspath(where), _known, opening.timeout, limit)
        return _bundle(os.fspath(where), directory.files_of(found, _format_of), opening, left_out)
    return open_source(source if source.once is None else unpacked(source), opening, numbers, left_out)


def reader_of_directory(folder: Path, format_name: str | None = None) -> Reader | None:
    """Return the reader of a directory that is a whole recording, if possible of format `format_name`."""
    converts = Reader("converted", converted.TITLE, "converted")
    every = (converts, *map(reader_of, ("hcibench", "vdbench", "fio", "esxtop_api", "vcenter_api")))
    fitting = (one for one in every if format_name in {None, one.name})
    return next((one for one in fitting if one.reading.recognise_directory(folder)), None)


def _directory(folder: Path, opening: Opening, left_out: set[str] | None) -> Recording:
    if (reader := reader_of_directory(folder, opening.format)) is not None:
        chosen = reader.chosen(opening, str(folder), left_out)
        with own_errors(str(folder), reader.title):
            rec = reader.reading.read_directory(folder, **chosen)
        return replace(rec, tables=cut(rec.tables, opening.window))
    if not os.path.isdir(folder):  # noqa: PTH112  False for a name that is too long
        raise UnreadableError(f"{folder} does not exist")
    files = directory.files_in(folder, _format_of, opening.memory_limit)
    return _together(str(folder), files, opening, left_out)


def _bundle(name: str, files: Sequence[directory.File], opening: Opening, left_out: set[str] | None) -> Recording:
    """Return the recording made of the members of a bundle, as of a directory's files."""
    paths = [one.source.path for one in files if one.source and one.source.path]
    above = Path(os.path.commonpath([path.parent for path in paths]))
    if {one.format for one in files if one.format} == {"fio"} and all(path.parent == above for path in paths):
        return replace(_directory(above, opening, left_out), source=name)
    return _together(name, files, opening, left_out)


def _format_of(head: Head) -> str | None:
    reader = recognising(head)
    return None if reader is None else reader.name


def _together(name: str, files: Sequence[directory.File], opening: Opening, left_out: set[str] | None) -> Recording:
    """Return the recording made of files of one format."""
    used = directory.chosen(name, files, opening.format)
    # The window applies to all files together: a file outside it is not an error.
    whole = replace(opening, start=None, end=None, every=None)
    # An option that no file takes is refused once for all of them.
    reader_of(str(used[0].format)).chosen(whole, name, left_out)

    def read_one(source: Source) -> Recording:
        return open_source(source, whole, left_out=left_out)

    rec = directory.read(name, used, read_one, opening.memory_limit or memory.DEFAULT)
    notes = (*rec.notes, *directory.left_over(files, used))
    return replace(rec, tables=cut(rec.tables, opening.window), notes=notes)


def refuse_foreign(reading: _HasFormat, opening: Opening, name: str) -> None:
    """Refuse options that a reader does not take.

    Raises:
        EsxparseError: An option was given that the reader does not take.
    """
    reader_of(reading.FORMAT).chosen(opening, name)


def open_source(
    source: Source,
    opening: Opening = AS_FOUND,
    numbers: Collection[str] | None = None,
    left_out: set[str] | None = None,
) -> Recording:
    """Read a source."""
    if not source.head.content:
        raise DamagedError(f"{source.name} is empty: nothing was captured, or the copy failed")
    with own_errors(source.name, "any format"):
        reader = reader_of(opening.format) if opening.format else recognising(source.head)
    if reader is None:
        raise _unknown(source.name, source.head)
    chosen = reader.chosen(opening, source.name, left_out)
    if numbers is not None and "numbers" in reader.options:
        chosen["numbers"] = numbers
    if "window" in reader.options:
        chosen["window"] = opening.window
    with own_errors(source.name, reader.title):
        rec = reader.reading.read(replace(source, looked_at=source.head, numbers=reader.numbers), **chosen)
        refuse_quoted(rec, source, opening, reader)
        return rec if "window" in reader.options else replace(rec, tables=cut(rec.tables, opening.window))


def refuse_quoted(rec: Recording, source: Source, opening: Opening, reader: Reader | None = None) -> None:
    """Refuse a recording that is quoted in a text or program, unless its format was set.

    `reader`: the reader of the recording, if its format is that of another one.

    Raises:
        UnknownFormatError: The recording is quoted.
    """
    reader = reader or reader_of(rec.format)
    recognised = reader.recognise(source.head)
    if opening.format is None or not recognised:
        quoted.refuse(rec, source, reader.title, reader.name, recognised=recognised)


@contextmanager
def own_errors(name: str, title: str) -> Iterator[None]:
    """Turn any exception of a reader into an error of ours with the file and the cause."""
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
        why = f"{type(error).__name__}: {str(error)[:_EXCERPT_LENGTH]}"
        msg = f"{name} cannot be read as {title} ({why}): copy it again; if it is intact, this is a bug in esxparse"
        raise DamagedError(printable(msg)) from error
