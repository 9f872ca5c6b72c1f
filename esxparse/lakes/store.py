"""The files of a lake, in a directory or an object store (`s3://bucket/prefix`), by one interface."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit
from urllib.request import url2pathname

from esxparse.errors import EsxparseError
from esxparse.lakes import servers
from esxparse.locations import is_url, public

A = TypeVar("A")
T = TypeVar("T")

_AT_ONCE: Final = 16
_PAUSE_S: Final = 0.2
"""Pause before a request is repeated after its connection broke."""
_STORES: Final = frozenset({"s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss"})
_NEARLY_URL: Final = re.compile(rf"(file|{'|'.join(_STORES)}):", re.IGNORECASE)
_NOT_IN_URL: Final = re.compile(r"[#?]")
_NOT_IN_KEYS: Final = re.compile(r"[#?%*[]|(?<=/)\.{1,2}(?=/|$)")
"""Clients of object stores disagree on the meaning of these characters."""
_PARTITION: Final = re.compile(r"[^/\\=]+=[^/\\=]*(?=[/\\]|$)")
_OF_SYSTEM: Final = re.compile(r"\(os error (\d+)\)")
_TO_DO: Final = {
    errno.ENOSPC: "make room, and add the capture again",
    errno.ENOTDIR: "a file is where a directory should be",
}


def at_once(work: Callable[[A], T], items: Iterable[A]) -> list[T]:
    """Return the result of `work` for each item, several at a time: for work that waits for a store."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(work, items))


def _is_no_directory(path: Path) -> bool | None:
    """Return whether the path exists but is not a directory; None if nothing exists."""
    try:
        return not stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError):
        return None


def why(error: BaseException) -> str:
    """Return an error of a store in one line, with advice if we have any."""
    text = str(error)
    if known := servers.why(text):
        return known
    text = text.partition("Debug source:")[0]
    if of_system := _OF_SYSTEM.search(text):
        number = int(of_system[1])
        return f"{os.strerror(number)}: {_TO_DO.get(number, 'name a directory that can be written')}"
    return servers.shortened(text)


@dataclass(frozen=True, slots=True)
class File:
    """A file of a store."""

    path: str
    size: int
    changed: datetime


@dataclass(frozen=True)
class Store:
    """Files by their paths below `uri`."""

    uri: str
    options: Mapping[str, str] = field(default_factory=dict)
    """Of an object store, as obstore and polars take them (`aws_region`, `aws_endpoint_url`, `allow_http` ...); options
    in the environment (AWS_REGION ...) apply too."""

    @classmethod
    def of(cls, uri: str | os.PathLike[str], options: Mapping[str, str] | None = None) -> Store:
        """Return the store at a path or a URL.

        Raises:
            EsxparseError: It is not a possible place of a lake.
        """
        where = os.fspath(uri)
        scheme, _, rest = where.partition("://") if is_url(where) else ("", "", where)
        kind = scheme.lower()
        if kind == "file":
            scheme, parts = "", urlsplit(where)
            rest = "" if parts.netloc not in {"", "localhost"} else url2pathname(parts.path)
        path = Path(rest).expanduser().absolute()
        if not rest or _NEARLY_URL.match(rest) or (kind not in _STORES if scheme else _is_no_directory(path)):
            raise EsxparseError(f"{public(where)!r} is no lake: name a directory, or a bucket as s3://captures/2026")
        if kind and (wrong := (_NOT_IN_URL if kind == "file" else _NOT_IN_KEYS).search(where)):
            instead = "write # as %23 and ? as %3F" if kind == "file" else "name another prefix"
            raise EsxparseError(f"the address of a lake cannot have {wrong[0]!r} in it, as {public(where)}: {instead}")
        if is_url(where) and public(where) != where:
            raise EsxparseError(
                f"the address of a lake cannot have keys in it, as {public(where)}: set them in the environment"
            )
        if wrong := _PARTITION.search(rest if scheme else str(path)):
            what = f"{wrong[0]!r} in the address {public(where)!r} would be a column of the lake"
            raise EsxparseError(f"{what}: name a place whose directories have no = in their names")
        return cls(where.rstrip("/") if scheme else str(path), options or {})

    @cached_property
    def _store(self) -> Any:
        try:
            from obstore.store import LocalStore, from_url  # noqa: PLC0415  an extra
        except ImportError:
            raise EsxparseError('a lake needs obstore: pip install "esxparse[lake]"') from None
        if is_url(self.uri):
            servers.need_credentials(self.uri, self.options)
            servers.need_address(self.uri, self.options)
            settings = servers.client(self.uri, self.options)
            return self._do(lambda: from_url(self.uri, **settings))
        return self._do(lambda: LocalStore(self.uri, mkdir=True))

    def __getstate__(self) -> dict[str, Any]:
        return {"uri": self.uri, "options": dict(self.options)}

    def _do(self, work: Callable[[], T]) -> T:
        """Do the work, again if the connection breaks: clients never repeat a request that may have succeeded."""
        from obstore.exceptions import AlreadyExistsError, BaseError  # noqa: PLC0415

        for left in reversed(range(servers.RETRIES + 1)):
            try:
                return work()
            except (FileNotFoundError, AlreadyExistsError):
                raise
            except BaseException as error:
                # A panic of the library is not an Exception: it panics on options that it does not know.
                panic = type(error).__name__ == "PanicException"
                if not (panic or isinstance(error, (BaseError, OSError, ValueError))):
                    raise
                if left and servers.is_broken_connection(str(error)):
                    time.sleep(_PAUSE_S)
                    continue
                raise EsxparseError(f"lake {public(self.uri)}: {why(error)}") from error
        raise AssertionError  # the last attempt returns or raises

    def names(self, path: str) -> str:
        """Return the full path or URL of a file, for other programs."""
        return f"{self.uri}/{path}"

    def is_there(self) -> bool:
        """Return whether anything may be there; does not create a missing directory."""
        return bool(is_url(self.uri)) or _is_no_directory(Path(self.uri)) is False

    def files(self, under: str) -> list[File]:
        """Return all files below the directory `under`."""
        found = self._do(lambda: [one for some in self._store.list(under or None) for one in some])
        return [File(one["path"], one["size"], one["last_modified"]) for one in found]

    def _of_file(self, work: Callable[[], T]) -> T | None:
        """Return the result of the work; None if its file does not exist."""
        try:
            return self._do(work)
        except FileNotFoundError:
            return None

    def read(self, path: str) -> bytes | None:
        """Return the content of a file; None if there is no such file."""
        return self._of_file(lambda: bytes(self._store.get(path).bytes()))

    def read_all(self, paths: Iterable[str]) -> list[bytes | None]:
        """Return the contents of many files, several at a time."""
        return at_once(self.read, paths)

    def put(self, path: str, content: bytes | Path, *, replace: bool = False) -> bool:
        """Write a file, whole or not at all; return False if one existed, which stays unless `replace`."""
        from obstore.exceptions import AlreadyExistsError  # noqa: PLC0415

        mode = "overwrite" if replace else "create"
        try:
            self._do(lambda: self._store.put(path, content, mode=mode, use_multipart=replace or None))
        except AlreadyExistsError:
            return False
        except FileNotFoundError as error:
            raise EsxparseError(f"lake {public(self.uri)}: {why(error)}") from error
        return True

    def size(self, path: str) -> int | None:
        """Return the bytes of a file; None if there is no such file."""
        return self._of_file(lambda: int(self._store.head(path)["size"]))

    def sha256(self, path: str) -> str | None:
        """Return the fingerprint of a file; None if there is no such file."""

        def digested() -> str:
            digest = hashlib.sha256()
            for piece in self._store.get(path).stream():
                digest.update(piece)
            return digest.hexdigest()

        return self._of_file(digested)

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files; missing ones are not an error."""
        at_once(lambda path: self._of_file(lambda: self._store.delete(path)), paths)
