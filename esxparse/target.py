"""Permitted places for output: one rule for every command and function that writes.

- An input is never overwritten, not even by another name, through a link, or in an input directory.
- Functions replace existing files by default. Commands do so only with `--force`, or if the file is of the same
  kind and written by esxparse (a report, a table of a study).
- Devices and pipes (`/dev/stdout`) are written to directly.
- Whether a place can be written is checked before any work, and a file appears once it is complete.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from esxparse.errors import EsxparseError
from esxparse.recording import printable
from esxparse.whole import whole_file

Input = str | os.PathLike[str] | os.stat_result

PAGE_MARK = b'<meta name="generator" content="esxparse">'
"""Near the beginning of every page that esxparse writes."""

_STREAMS = frozenset(map(Path, ("/dev", "/dev/fd", "/proc/self/fd")))
"""Directories that list the open files of a process."""


@dataclass(frozen=True)
class Target:
    """A checked place for output."""

    path: Path
    """As the caller wrote it."""
    mode: int | None
    """Permissions of the file that it replaces."""
    replace: bool
    """Whether it may replace a file."""
    special: bool
    """Whether it is a device or a pipe."""

    @contextmanager
    def open(self, *, buffering: int = -1) -> Iterator[BinaryIO]:
        """Yield a stream to it; the file appears once it is complete.

        Raises:
            EsxparseError: It cannot be written, or another run has written it meanwhile.
        """
        try:
            # Append: standard output may be redirected to a file that already has content.
            with (
                self.path.open("ab")
                if self.special
                else whole_file(self.path.resolve(), mode=self.mode, buffering=buffering, replace=self.replace)
            ) as file:
                yield file
        except FileExistsError:
            msg = f"{_name(self.path)} has meanwhile been written by another run: give this output another name"
            raise EsxparseError(msg) from None
        except OSError as error:
            raise _unwritable(self.path, error.strerror or error) from None

    def write(self, content: bytes) -> None:
        """Write `content` to it.

        Raises:
            EsxparseError: As `open`.
        """
        with self.open() as file:
            file.write(content)


def _name(path: object) -> str:
    return printable(str(path))


def _unwritable(path: Path, why: object) -> EsxparseError:
    return EsxparseError(f"{_name(path)} cannot be written: {why}")


def _stat(path: str | os.PathLike[str]) -> os.stat_result | None:
    """Return the status of a path; None if nothing exists, or if it cannot be a file name (a URL)."""
    with suppress(OSError, ValueError):
        return os.stat(path)  # noqa: PTH116  a name may be no path
    return None


def _names(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield a file by its name, and the bundle that `bundle.tgz:member` is in."""
    name = os.fspath(path)
    yield name
    for place, char in enumerate(name):
        if char == ":" and place:
            yield name[:place]


def refuse_inputs(output: object, inputs: Iterable[Input], there: os.stat_result | None) -> None:
    """Refuse output that would overwrite an input.

    Args:
        output: Its name for messages.
        inputs: The inputs.
        there: Status of the output path now.

    Raises:
        EsxparseError: It would.
    """
    if there is None:
        return
    for source in inputs:
        for read in (source,) if isinstance(source, os.stat_result) else map(_stat, _names(source)):
            if read and stat.S_ISREG(read.st_mode) and os.path.samestat(read, there):
                msg = f"{_name(output)} is an input, and would be overwritten: give the output another name"
                raise EsxparseError(msg)


def _is_within(path: Path, inputs: Iterable[Input]) -> bool:
    """Return whether a file lies in an input directory."""
    real = path.resolve()
    folders = (Path(source) for source in inputs if not isinstance(source, os.stat_result))
    return any(_is_folder(folder) and real.is_relative_to(folder.resolve()) for folder in folders)


def _is_folder(path: Path) -> bool:
    there = _stat(path)
    return there is not None and stat.S_ISDIR(there.st_mode)


def target(
    output: str | os.PathLike[str],
    inputs: Iterable[Input] = (),
    *,
    replace: bool = True,
    ours: Callable[[Path], bool] = lambda _: False,
) -> Target:
    """Return a place for output, checked before anything is computed.

    Args:
        output: The requested path.
        inputs: The inputs: files, directories, `bundle:member`, URLs, or the status of an open stream.
        replace: Whether any existing file may be replaced.
        ours: Whether an existing file is of the same kind and written by esxparse.

    Raises:
        EsxparseError: Output may not, or cannot, be written to it.
    """
    path = Path(output).expanduser()
    inputs = tuple(inputs)
    try:
        there = path.stat() if path.exists() else None
        refuse_inputs(path, inputs, there)
        real = path.resolve()
        if there and stat.S_ISDIR(there.st_mode):
            raise EsxparseError(f"{_name(path)} cannot be written: it is a directory, give the name of a file in it")
        if there and (path.parent in _STREAMS or not stat.S_ISREG(there.st_mode)):
            return Target(path, None, replace=True, special=True)
        if not real.parent.is_dir():
            msg = f"{_name(path)} cannot be written: there is no directory {_name(real.parent)}; make it first"
            raise EsxparseError(msg)
        if not os.access(real.parent, os.W_OK):
            raise _unwritable(path, f"no permission to write in {_name(real.parent)}")
        if there is None:
            return Target(path, None, replace=replace, special=False)
        mine = ours(path)
    except (OSError, ValueError) as error:
        raise _unwritable(path, getattr(error, "strerror", None) or error) from None
    if not mine and _is_within(path, inputs):
        msg = f"{_name(path)} is in an input directory, and would be overwritten: give the output another name"
        raise EsxparseError(msg)
    if not (replace or mine):
        raise EsxparseError(f"{_name(path)} already exists: give the output another name, or replace it with --force")
    return Target(path, stat.S_IMODE(there.st_mode), replace=True, special=False)
