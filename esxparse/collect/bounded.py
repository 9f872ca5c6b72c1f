"""HTTPS to a server of the vSphere API: certificates verified or pinned, answers bounded in time and size.

pyvmomi does not check a pinned certificate that a CA has signed, trusts whatever answers on the loopback interface,
and waits for an answer that never ends.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import selectors
import ssl
import threading
import time
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, Final

from esxparse.collect.failures import UntrustedError
from esxparse.errors import EsxparseError

LARGEST: Final = 64 << 20
"""Most bytes of an answer. No public text has the size of a real one; a batch sample of a large host has 3 MB."""
CONNECT_S: Final = 10.0
_LOOK_S: Final = 0.1
_GRACE_S: Final = 2.0
"""How long an answer may still come after the collection was stopped."""
_DIGESTS: Final = {40: "sha1", 64: "sha256"}


class StoppedError(EsxparseError):
    """The collection was stopped before the answer was complete."""


@dataclass
class Limits:
    """Limits of each answer; they may change between two requests."""

    seconds: float
    stop: threading.Event | None = None


def pin(text: str) -> str:
    """Return a thumbprint as lower-case hexadecimal digits: SHA-256 or SHA-1, with colons or without.

    >>> pin("SHA1:52:6C:4E:88:1D:78:AE:12:1C:F3:BB:6C:5B:F4:E2:82:86:A7:08:AF")
    '526c4e881d78ae121cf3bb6c5bf4e28286a708af'
    """
    digits = re.sub(r"^sha-?(1|256)[:= ]|[\s:]", "", text.strip().lower())
    if len(digits) not in _DIGESTS or not re.fullmatch("[0-9a-f]+", digits):
        raise EsxparseError("a thumbprint has 64 hexadecimal digits (SHA-256) or 40 (SHA-1), with colons or without")
    return digits


def thumbprint(certificate: bytes, digits: int = 64) -> str:
    """Return the thumbprint of a certificate (DER) as vSphere clients write it: `4C:3D:58:...`."""
    digest = hashlib.new(_DIGESTS[digits], certificate, usedforsecurity=False).digest()
    return ":".join(f"{one:02X}" for one in digest)


def context(ca: str | os.PathLike[str] | None, *, verify: bool) -> ssl.SSLContext:
    """Return the TLS context: of the system's CAs, of one CA, or without verification (pinned or insecure)."""
    try:
        made = ssl.create_default_context(cafile=None if ca is None else os.fspath(ca))
    except FileNotFoundError:
        raise EsxparseError(f"{os.fspath(ca or '')} does not exist: give the file with the CA's certificate") from None
    except (ssl.SSLError, OSError):
        raise EsxparseError(
            f"{os.fspath(ca or '')} has no certificate in PEM form: give the CA's certificate"
        ) from None
    if not verify:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    return made


class Connection(HTTPSConnection):
    """A connection that checks the pinned certificate before it sends anything."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext, limits: Limits, pinned: str | None) -> None:
        super().__init__(host, port, timeout=min(CONNECT_S, limits.seconds), context=context)
        self._limits = limits
        self._pinned = pinned
        self.response_class = partial(_Response, limits)  # type: ignore[assignment]

    def connect(self) -> None:
        """Connect, and compare the certificate with the pinned one."""
        super().connect()
        if self._pinned is None:
            return
        found = thumbprint(self.sock.getpeercert(binary_form=True) or b"", len(self._pinned))
        if pin(found) != self._pinned:
            self.close()
            raise UntrustedError(f"its certificate has another thumbprint, {found}: find out why before you trust it")

    def request(self, *arguments: Any, **options: Any) -> None:
        """Send a request; the time for it is not what the last answer left."""
        if self.sock is not None:
            self.sock.settimeout(min(CONNECT_S, self._limits.seconds))
        super().request(*arguments, **options)


class _Response(HTTPResponse):
    def __init__(self, limits: Limits, sock: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        self.fp = io.BufferedReader(_Bounded(sock, self.fp.detach(), limits), 1 << 16)

    def begin(self) -> None:
        super().begin()
        # Nothing else is accepted; a small compressed answer can be of any size.
        if self.getheader("Content-Encoding", "identity").lower() != "identity":
            raise HTTPException("the answer is compressed")


class _Bounded(io.RawIOBase):
    """What a socket receives, within limits of time and size."""

    def __init__(self, sock: Any, raw: Any, limits: Limits) -> None:
        self._sock = sock
        self._raw = raw
        self._limits = limits
        self._until = time.monotonic() + limits.seconds
        self._stopped: float | None = None
        self._size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._wait()
        self._sock.settimeout(max(self._until - time.monotonic(), _LOOK_S))
        size: int = self._raw.readinto(buffer) or 0
        self._size += size
        if self._size > LARGEST:
            raise HTTPException(f"an answer of more than {LARGEST >> 20} MiB")
        return size

    def _wait(self) -> None:
        with selectors.DefaultSelector() as ready:
            ready.register(self._sock, selectors.EVENT_READ)
            while True:
                now = time.monotonic()
                if now > self._until:
                    raise TimeoutError("timed out before the answer was complete")
                if self._limits.stop is not None and self._limits.stop.is_set():
                    self._stopped = self._stopped or now
                    if now - self._stopped > _GRACE_S:
                        raise StoppedError("stopped before the answer was complete")
                if self._sock.pending() or ready.select(_LOOK_S):
                    return

    def close(self) -> None:
        self._raw.close()
        super().close()
