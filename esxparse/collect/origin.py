"""The transport of a BMC's session: requests go only to the BMC that the user gave.

A BMC, or whoever answers in its place, may redirect the login, or give another host for its sessions. sushy would send
the password or the token to that host. It would also wait for a login answer that never ends.
"""

from __future__ import annotations

import time
from typing import Any, Final
from urllib.parse import urlsplit

from esxparse.collect.failures import NoAnswerError

LARGEST: Final = 16 << 20
"""Most bytes of an answer."""
_PIECE: Final = 1 << 16
_PORTS: Final = {"http": 80, "https": 443}


def confine(session: Any, url: str, seconds: float) -> None:
    """Let a session of requests send to the origin of `url` only, and bound the time and size of each answer."""
    from requests.adapters import HTTPAdapter  # noqa: PLC0415  an extra

    home = origin(url)

    class Confined(HTTPAdapter):
        def send(self, request: Any, stream: bool = False, *arguments: Any, **options: Any) -> Any:
            if origin(request.url) != home:
                where = urlsplit(request.url).netloc
                raise NoAnswerError(f"the BMC points to {where}, which gets no password or token")
            until = time.monotonic() + seconds
            response = super().send(request, True, *arguments, **options)
            if not stream:
                # requests takes this for the body, which it would otherwise read without a bound.
                response._content = body(response, until, urlsplit(request.url).path)  # noqa: SLF001
            return response

    for scheme in ("http://", "https://"):
        session.mount(scheme, Confined())


def origin(url: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port of a URL.

    >>> origin("https://BMC.lab/redfish/v1/") == origin("https://bmc.lab:443")
    True
    """
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)


def body(response: Any, until: float, uri: str) -> bytes:
    """Read the body of an answer until a moment of `time.monotonic`: the limit is for all of it, not for each piece.

    Raises:
        NoAnswerError: It takes longer, or has more than `LARGEST` bytes.
    """
    pieces: list[bytes] = []
    size = 0
    # Waiting for a full piece would let a BMC that drips go on forever.
    while piece := response.raw.read1(_PIECE, decode_content=True):
        pieces.append(piece)
        size += len(piece)
        if time.monotonic() > until:
            raise NoAnswerError(f"{uri}: timed out before the answer was complete")
        if size > LARGEST:
            raise NoAnswerError(f"{uri}: an answer of more than {LARGEST >> 20} MiB")
    return b"".join(pieces)
