"""Captures behind URLs: http and https directly, other schemes through fsspec.

Errors of servers are reported with their cause. Each answer, and each piece of it, has a time limit. Content of unknown
length is read only up to a bound.
"""

from __future__ import annotations

import io
import os
import re
import socket
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

from esxparse.errors import UnreadableError
from esxparse.formats.opening import PATIENCE_S
from esxparse.locations import complete, is_incomplete, public
from esxparse.toml import beside

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MOST_UNSAID: Final = 1 << 30
"""Most bytes read of an answer without a length."""

_PIECE: Final = 1 << 18
_SLOWEST: Final = 1 << 10
"""Fewest bytes that must arrive within the time limit."""
_HTTP: Final = re.compile(r"https?://", re.IGNORECASE)
_PARTIAL: Final = 206
_GONE: Final = frozenset({400, 403, 404, 410})
"""Answers of servers for a file that is missing, or hidden from us."""
_LOGIN: Final = frozenset({401, 403, 407})
_OF_SERVER: Final = 500
_MOST_SAID: Final = 300
"""Most characters of a library's error."""
_S3: Final = re.compile(r"s3a?://", re.IGNORECASE)
_METADATA: Final = ("AWS_METADATA_ENDPOINT", "AWS_EC2_METADATA_SERVICE_ENDPOINT")
"""Either variable shows that the user wants the role of a cloud instance."""
_OF_STORES: Final = beside(__file__)["signs"]
"""Signs in errors of file systems, with the cause and the advice."""


class UnansweredError(UnreadableError):
    """Raised if a server cannot be reached, or does not show whether it has the file."""


def opened(url: str, timeout: float | None = None) -> BinaryIO:
    """Return a stream of the content behind a URL.

    Args:
        url: The URL, or its public text (`esxparse.locations`).
        timeout: Seconds to wait for each answer, and for each piece of one.

    Raises:
        UnreadableError: The URL has no content, or access fails.
    """
    try:
        import fsspec.asyn  # type: ignore[import-untyped,unused-ignore]  # noqa: F401, PLC0415  an extra
    except ImportError:
        raise UnreadableError(f'{public(url)} is a URL, which needs fsspec: pip install "esxparse[remote]"') from None
    if is_incomplete(url):
        raise UnreadableError(f"{url} was stored without its password or signature: open it by its whole URL")
    url = complete(url)
    try:
        if _HTTP.match(url):
            return cast("BinaryIO", _Answer(url, timeout or PATIENCE_S))
        return cast("BinaryIO", _Waited(url, timeout or PATIENCE_S))
    except FileNotFoundError:
        raise UnreadableError(f"{public(url)} does not exist") from None
    except ImportError as error:
        why = f'{error}. Install what it asks for, or pip install "esxparse[remote]"'
        raise _unreadable(url, why) from None
    except UnreadableError:
        raise
    except Exception as error:  # noqa: BLE001  each file system has errors of its own
        raise _of_store(url, error) from None


def _unreadable(url: str, why: object) -> UnreadableError:
    return UnreadableError(f"{public(url)} cannot be read: {why}")


def _of_store(url: str, error: Exception) -> UnreadableError:
    """Return the error of a file system, in one line; a library's own words only if nothing better is known."""
    kind, text = type(error).__name__, " ".join(str(error).split())
    for sign, why in _OF_STORES:
        if re.search(sign, f"{kind} {text}"):
            return _unreadable(url, why)
    return _unreadable(url, text[:_MOST_SAID] or kind)


def _settings(url: str, timeout: float) -> dict[str, Any]:
    """Return options of the file system of a URL: S3 uses only credentials that the user configured."""
    if not _S3.match(url):
        return {}
    from aiobotocore.session import get_session  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415

    session = get_session()
    if not any(os.environ.get(name) for name in _METADATA):
        # Without credentials the library would query the cloud's metadata address, which anybody may answer.
        session.get_component("credential_provider").remove("iam-role")
    waiting = {"connect_timeout": timeout, "read_timeout": timeout, "retries": {"total_max_attempts": 1}}
    return {
        "session": session,
        "config_kwargs": waiting,
        "anon": os.environ.get("AWS_SKIP_SIGNATURE", "").lower() == "true",
        "skip_instance_cache": True,
    }


class _Waited(io.RawIOBase):
    """A file of any file system, with a time limit for each answer, whatever the file system itself does."""

    def __init__(self, url: str, timeout: float) -> None:
        super().__init__()
        self._url = url
        self._timeout = timeout
        from fsspec.core import url_to_fs  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415  an extra

        # Loading a library does not count as waiting for a server.
        files, path = url_to_fs(url, **_settings(url, timeout))
        self._file: Any = self._within(lambda: files.open(path, "rb"))
        self.size: int | None = getattr(self._file, "size", None)

    def _within(self, work: Callable[[], Any]) -> Any:
        done: Future[Any] = Future()

        def run() -> None:
            try:
                done.set_result(work())
            except BaseException as error:  # noqa: BLE001  raised in the waiting thread
                done.set_exception(error)

        # A daemon: a server that never answers does not keep the program from ending.
        Thread(target=run, daemon=True).start()
        try:
            return done.result(self._timeout)
        except TimeoutError:
            if done.done():
                raise
            raise _too_slow(self._url, "the server gave no answer", self._timeout) from None

    def readable(self) -> bool:
        """Return True: the file can be read."""
        return True

    def seekable(self) -> bool:
        """Return whether its file system can seek."""
        return bool(self._file.seekable())

    def tell(self) -> int:
        """Return the position of the next byte."""
        return int(self._file.tell())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to another position."""
        return int(self._file.seek(offset, whence))

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read available bytes, up to the size of the buffer."""
        view = memoryview(buffer).cast("B")
        try:
            piece = self._within(lambda: self._file.read(len(view)))
        except UnreadableError:
            raise
        except Exception as error:  # noqa: BLE001  each file system has errors of its own
            raise _of_store(self._url, error) from None
        view[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        """End the connection."""
        if not self.closed:
            with suppress(Exception):
                self._within(self._file.close)
        super().close()


class _Answer(io.RawIOBase):
    """The answer of a web server: read as it arrives, and requested again for another position if needed."""

    def __init__(self, url: str, timeout: float) -> None:
        super().__init__()
        self._url = url
        self._timeout = timeout
        self._session: Any = None
        self._answer: Any = None
        self._at = 0
        """Position of the answer's next byte."""
        self._wanted = 0
        self._since, self._came = time.monotonic(), 0
        self.size: int | None = None
        """Total bytes, if the server reports them."""
        try:
            self._ask(0)
        except BaseException:
            self.close()
            raise

    def _run(self, work: Coroutine[Any, Any, Any], what: str) -> Any:
        """Wait for the server."""
        import asyncio  # noqa: PLC0415

        from fsspec.asyn import get_loop  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415

        doing = asyncio.run_coroutine_threadsafe(work, get_loop())
        try:
            return doing.result(self._timeout)
        except TimeoutError:
            doing.cancel()
            raise self._too_slow(what) from None
        except KeyboardInterrupt:
            doing.cancel()
            raise

    def _too_slow(self, what: str) -> UnansweredError:
        return _too_slow(self._url, what, self._timeout)

    def _ask(self, place: int) -> None:
        """Request the file from a position on."""
        import aiohttp  # noqa: PLC0415  an extra

        self._drop()
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={place}-"} if place else {})

        async def get() -> None:
            if self._session is None:
                waiting = aiohttp.ClientTimeout(total=None)
                self._session = aiohttp.ClientSession(timeout=waiting, trust_env=True)
            self._answer = await self._session.get(self._url, headers=headers)

        try:
            self._run(get(), "the server gave no answer")
        except aiohttp.ClientError as error:
            raise _connection_error(self._url, error) from None
        except (OSError, ValueError) as error:
            raise UnansweredError(str(_unreadable(self._url, error or type(error).__name__))) from None
        for one in (*self._answer.history, self._answer):
            # The address of a redirect is signed, and repeated in its errors.
            public(str(one.url))
        status, reason = self._answer.status, self._answer.reason or ""
        if status >= 400:  # noqa: PLR2004  the first HTTP error
            raise _refused(self._url, status, reason)
        if place and status != _PARTIAL:
            why = "the server does not serve parts of files, which this bundle needs: download it and open the file"
            raise _unreadable(self._url, why)
        length = self._answer.headers.get("Content-Length", "")
        if not place and length.isdecimal() and "Content-Encoding" not in self._answer.headers:
            self.size = int(length)
        self._at = place
        self._since, self._came = time.monotonic(), 0

    def readable(self) -> bool:
        """Return True: the answer can be read."""
        return True

    def seekable(self) -> bool:
        """Return whether its length is known."""
        return self.size is not None

    def tell(self) -> int:
        """Return the position of the next byte."""
        return self._wanted

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to another position; the next read requests it from the server."""
        if whence == io.SEEK_END and self.size is None:
            raise OSError("the server does not say how long the file is, which this bundle needs: download it")
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._wanted, io.SEEK_END: self.size or 0}[whence]
        self._wanted = max(base + offset, 0)
        return self._wanted

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read available bytes, up to the size of the buffer."""
        import aiohttp  # noqa: PLC0415  an extra

        view = memoryview(buffer).cast("B")
        if not len(view) or (self.size is not None and self._wanted >= self.size):
            return 0
        if self._wanted != self._at:
            self._ask(self._wanted)
        try:
            piece = self._run(self._answer.content.read(min(len(view), _PIECE)), "the server sent nothing more")
        except aiohttp.ClientError as error:
            raise _connection_error(self._url, error) from None
        view[: len(piece)] = piece
        self._at += len(piece)
        self._wanted = self._at
        self._watch(len(piece))
        return len(piece)

    def _watch(self, came: int) -> None:
        """Refuse answers that never end, or that would take too long."""
        if self.size is None and self._at > MOST_UNSAID:
            why = f"the server does not say how long it is, and it goes on after {MOST_UNSAID:,} bytes: download it"
            raise _unreadable(self._url, why)
        self._came += came
        now = time.monotonic()
        if now - self._since > self._timeout:
            if came and self._came < _SLOWEST:
                what = f"the server sent {self._came:,} bytes"
                raise self._too_slow(what)
            self._since, self._came = now, 0

    def _drop(self) -> None:
        if self._answer is not None:
            self._answer.close()
            self._answer = None

    def close(self) -> None:
        """End the connection."""
        if not self.closed and self._session is not None:

            async def end() -> None:
                self._drop()
                await self._session.close()

            with suppress(Exception):
                self._run(end(), "the connection did not end")
        super().close()


def _too_slow(url: str, what: str, timeout: float) -> UnansweredError:
    return UnansweredError(f"{public(url)}: {what} within {timeout:g} s; wait longer with timeout= (--timeout)")


def _refused(url: str, status: int, reason: str) -> UnreadableError:
    """Return the error for an unusable answer."""
    name, answer = public(url), f"the server answers {status} {reason}".rstrip()
    if status in {404, 410}:
        return UnreadableError(f"{name} does not exist ({answer})")
    hint = "try again later" if status >= _OF_SERVER else "check the address"
    if status in _LOGIN:
        hint = "it needs a login with read access: https://NAME:PASSWORD@host/..."
    kind = UnreadableError if status in _GONE else UnansweredError
    return kind(f"{name} cannot be read: {answer}; {hint}")


def _connection_error(url: str, error: Exception) -> UnreadableError:
    """Return the error for a failed connection to a server."""
    import aiohttp  # noqa: PLC0415  an extra

    cause = getattr(error, "os_error", None) or error
    host = getattr(error, "host", None) or "the host"
    port = getattr(error, "port", None)
    where = f"{host}:{port}" if port else host
    if isinstance(error, aiohttp.TooManyRedirects):
        why = "the server keeps redirecting, perhaps in a circle: check the address"
    elif isinstance(error, aiohttp.InvalidURL):
        why = "it is not a URL: check the address"
    elif isinstance(cause, socket.gaierror):
        why = f"there is no host called {host}: check the address, or the network"
    elif isinstance(cause, ConnectionRefusedError):
        why = f"{where} refuses the connection: nothing listens there"
    elif isinstance(error, aiohttp.ClientSSLError):
        why = f"the certificate of {where} is not valid: {cause}"
    elif isinstance(error, aiohttp.ClientPayloadError):
        why = "the connection ended before the file did: try again"
    else:
        why = str(error) or type(error).__name__
    return UnansweredError(str(_unreadable(url, why)))
