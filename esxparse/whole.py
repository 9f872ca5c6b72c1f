"""Files and directories written whole or not at all, even if the program is killed, and names claimed by one run.

A file being written holds a lock, which ends with the process. So the next run can distinguish leftovers of a killed
run from files that another run is still writing, even on a shared disk, and removes the leftovers.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from esxparse.errors import EsxparseError

_PART = ".esxparse-part"
_LOCK = ".esxparse-lock"
_PREFIX = "esxparse-"
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_FULL = os.strerror(errno.ENOSPC)
_ROOM = 16 << 20
"""If fewer bytes than this are free, a failed write counts as a full disk."""
_NAME_BYTES = 120
"""Bytes of a name kept in the names of working files: file systems allow 255."""

if sys.platform == "win32":

    def _locked(_file: int) -> bool:
        """Return True: Windows keeps others out of open files anyway."""
        return True

else:
    import fcntl

    def _locked(file: int) -> bool:
        """Lock an open file; return False if another process holds it, True on file systems without locks."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True


def short_name(name: str) -> str:
    """Return as much of a name as fits into the name of a working file."""
    while len(os.fsencode(name)) > _NAME_BYTES:
        name = name[:-1]
    return name


def _is_still(file: int, path: Path) -> bool:
    """Return whether the open file is still the one at `path`: another run may have cleared it before it was locked."""
    with suppress(OSError):
        return os.path.samestat(os.fstat(file), path.stat())
    return False


@contextmanager
def _left(lock: Path) -> Iterator[bool]:
    """Yield whether nobody else holds this lock any more; False if we may not open it. The block holds the lock.

    Remove files under their lock: the next owner may have created one and not locked it yet.
    """
    if sys.platform == "win32":
        yield False
        return
    file = None
    try:
        with suppress(OSError):
            file = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        ours = False
        if file is not None:
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                ours = True
        yield ours
    finally:
        if file is not None:
            os.close(file)


def _clear_parts(folder: Path) -> None:
    """Remove unfinished files of killed runs from a directory."""
    with suppress(OSError):
        for left in folder.glob(f".*{_PART}"):
            with _left(left) as ours:
                if ours:
                    left.unlink(missing_ok=True)


@contextmanager
def whole_file(
    target: Path, *, mode: int | None = None, buffering: int = -1, replace: bool = True
) -> Iterator[BinaryIO]:
    """Yield a file that takes the target's place once it is complete, and is removed if it never is.

    Args:
        target: The final path.
        mode: Permissions; by default everything that the umask of the process allows.
        buffering: As in `open`.
        replace: Whether it may replace a file that exists by then.

    Raises:
        FileExistsError: There is one, and `replace` is false.
        OSError: It cannot be written.
    """
    folder = target.resolve().parent
    _clear_parts(folder)
    while True:
        made = folder / f".{short_name(target.name)}.{secrets.token_hex(8)}{_PART}"
        handle = os.open(made, _NEW, 0o666 if mode is None else 0o600)
        if _locked(handle) and _is_still(handle, made):
            break
        os.close(handle)
    # The lock is held until the file has its name.
    lock = os.dup(handle) if os.name == "posix" else None
    try:
        with os.fdopen(handle, "wb", buffering=buffering) as file:
            yield file
        if mode is not None:
            made.chmod(mode)
        _put(made, target, replace=replace)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    finally:
        if lock is not None:
            os.close(lock)


def _put(made: Path, target: Path, *, replace: bool) -> None:
    if replace:
        made.replace(target)
        return
    try:
        os.link(made, target)
    except FileExistsError:
        raise
    except OSError:
        # Not every file system has hard links.
        if target.exists():
            raise FileExistsError(17, "it is there already", str(target)) from None
        made.replace(target)
    else:
        made.unlink()


class Scratch:
    """A directory for working files, removed with the last reference to this object, or when Python ends."""

    def __init__(self, prefix: str = _PREFIX, folder: Path | None = None) -> None:
        above = Path(tempfile.gettempdir()) if folder is None else folder
        self._is_temporary = folder is None
        _clear_scratch(above, prefix)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=above))
            lock = self.path / _LOCK
            try:
                file = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
                if _locked(file) and _is_still(file, lock):
                    break
                os.close(file)
            except FileNotFoundError:
                continue
            except BaseException:
                shutil.rmtree(self.path, ignore_errors=True)
                raise
        self._end = weakref.finalize(self, _remove, self.path, file)

    def __enter__(self) -> Path:
        """Return the directory."""
        return self.path

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Remove the directory.

        Raises:
            EsxparseError: The block failed because its disk is full.
        """
        full = error is not None and _FULL in str(error) and shutil.disk_usage(self.path).free < _ROOM
        self._end()
        if full:
            instead = "make room, or set TMPDIR to a place with room" if self._is_temporary else "make room there"
            raise EsxparseError(f"{self.path.parent} has no space left: {instead}") from error


def clear_temporary() -> None:
    """Remove the temporary directories of killed processes."""
    _clear_scratch(Path(tempfile.gettempdir()), _PREFIX)


def _clear_scratch(above: Path, prefix: str) -> None:
    """Remove the leftover directories of killed runs of this user."""
    with suppress(OSError):
        for left in above.iterdir():
            if left.name.startswith(prefix) and _is_own(left):
                with _left(left / _LOCK) as ours:
                    if ours:
                        shutil.rmtree(left, ignore_errors=True)


def _is_own(folder: Path) -> bool:
    with suppress(OSError):
        there = folder.lstat()
        return stat.S_ISDIR(there.st_mode) and (os.name != "posix" or there.st_uid == os.geteuid())
    return False


def _remove(folder: Path, lock: int) -> None:
    if os.name != "posix":
        # Windows cannot remove open files.
        os.close(lock)
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except KeyboardInterrupt:
        # A signal that comes meanwhile ends the program, but not the removal.
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        if os.name == "posix":
            os.close(lock)


@contextmanager
def claimed(target: Path) -> Iterator[bool]:
    """Claim the name `target` against other runs; yield False if another run holds it.

    Raises:
        OSError: The claim cannot be written beside it.
    """
    claim = target.with_name(f".{short_name(target.name)}.esxparse-claim")
    while True:
        file = os.open(claim, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        mine = _locked(file)
        if not mine or _is_still(file, claim):
            break
        os.close(file)
    try:
        yield mine
    finally:
        if mine and os.name == "posix":
            claim.unlink(missing_ok=True)
        os.close(file)


def sha256(path: Path) -> str:
    """Return the fingerprint of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
