"""Locations of recordings, without their secrets.

A URL may hold a password, a signature or a token. `public` keeps the URL in memory and returns a text that is safe in
pages, files and messages; `complete` returns the URL to the code that connects. Other processes get it through
`environment` or with a pickled `Location`, never through an argument, a notebook or a file.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Final
from urllib.parse import unquote, unquote_plus

VARIABLE: Final = "ESXPARSE_LOCATIONS"
"""Environment variable of a child process: public texts and their URLs, as JSON."""
MASK: Final = "***"

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.:-]*://")
_NEXT_URL: Final = re.compile(r"::(?=[A-Za-z][A-Za-z0-9+.-]*://)")
_HOST: Final = re.compile(r"(?:[^:\[\]]*|\[[^\]]*\])(?::\d*)?")
"""A host with its port, as they precede the first `/`."""
_NOT_UTF_8: Final = re.compile("[\ud800-\udfff]")
"""Bytes of file names that are not UTF-8, as Python represents them."""
_MASKED: Final = re.compile(r"\*\*\*\d*")
_SHORTEST: Final = 4
"""Fewest characters of a secret to search for in texts: a shorter one would be found everywhere."""
_KEYS: Final = re.compile(
    r"AWS_(SECRET_ACCESS_KEY|SESSION_TOKEN|ACCESS_KEY_ID)|AZURE_\w*(KEY|TOKEN|SECRET)|GOOGLE_SERVICE_ACCOUNT_KEY"
    r"|ESXPARSE_BMC_PASSWORD"
)
"""Environment variables whose values servers and libraries repeat in errors."""
_IN_TEXT: Final = re.compile(
    r"(?P<scheme>(?<![\w+.-])[A-Za-z][A-Za-z0-9+.-]+:[/\\]{1,8}|(?<![\w:/\\.])//(?=[^\s/@:]+:[^\s/@]*@))"
    r"(?P<rest>[^\s'\"<>]*[^\s'\"<>.,:;)\]}])"
)
"""A URL in a text, without the punctuation behind it; a URL turned into a path loses slashes."""
_BASIC: Final = re.compile(r"(?i)\b(basic) ([A-Za-z0-9+/_-]{4,}={0,2})")
_BEARER: Final = re.compile(r"(?i)\b(bearer) [\w.~+/=-]{8,}")

_complete: dict[str, str] = {}
_secrets: set[str] = set()


class Location(str):
    """The public text of a URL with a secret. A pickle of it carries the URL, so that workers can open it."""

    __slots__ = ()

    def __reduce__(self) -> tuple[object, ...]:
        """Restore the URL in the process that loads the pickle."""
        return _restored, (str(self), complete(self))


def _restored(text: str, url: str) -> Location:
    adopt({text: url})
    return Location(text)


def legible(name: object) -> str:
    r"""Return a file name or location as text: bytes of it that are not UTF-8 are escaped.

    >>> legible("a-\udcff.csv"), legible("a.csv")
    ('a-\\xff.csv', 'a.csv')
    """
    return _NOT_UTF_8.sub(lambda found: f"\\x{ord(found[0]) & 0xFF:02x}", str(name))


def is_url(where: str) -> re.Match[str] | None:
    """Match a URL; the match ends behind the scheme."""
    return _URL.match(where)


def public(where: str) -> str:
    """Return a location without its secrets: its text for pages, files and messages.

    User name and password, query and fragment become `***`. Two URLs that differ in their secrets only are numbered.
    A path, or a URL without a secret, is returned as it is.

    >>> public("https://ann:pass@nas/esx.csv?sig=abcd"), public("night/esx.csv")
    ('https://***@nas/esx.csv?***', 'night/esx.csv')
    """
    if not is_url(where) or where in _complete:
        return Location(where) if where in _complete else where
    if _masked(where, MASK) == where:
        return where
    for number in count(1):
        text = _masked(where, MASK if number == 1 else f"{MASK}{number}")
        if _complete.setdefault(text, where) == where:
            break
    _secrets.update(_found(where))
    return Location(text)


def complete(where: str) -> str:
    """Return the URL of a public text, for a connection. Any other text is returned as it is."""
    return _complete.get(where, where)


def is_incomplete(where: str) -> bool:
    """Return whether a text lost its secrets: read from a page or a file, in a process that never had the URL."""
    return where not in _complete and bool(is_url(where) and _MASKED.search(where))


def carried(locations: Iterable[str]) -> dict[str, str]:
    """Return the URLs that another process needs to open these locations, by their public texts."""
    return {str(one): _complete[one] for one in locations if one in _complete}


def environment(locations: Iterable[str]) -> dict[str, str]:
    """Return the environment variable that lets a child process open these locations; empty if none is secret."""
    known = carried(locations)
    return {VARIABLE: json.dumps(known)} if known else {}


def adopt(known: Mapping[str, str]) -> None:
    """Add the URLs that `carried` returned in another process."""
    for text, url in known.items():
        _complete[text] = url
        _secrets.update(_found(url))


def scrubbed(text: str) -> str:
    """Return a text of a library or a server without secrets.

    It removes secrets of URLs that this process knows, keys in its environment, and secrets in any other URL or
    authorization header of the text: a redirect, a proxy, an account of a netrc file.

    >>> scrubbed("moved to https://ann:pass@nas/a?sig=1, with Basic YW5uOnBhc3M=")
    'moved to https://***@nas/a?***, with Basic ***'
    """
    for url, known in _complete.items():
        text = text.replace(known, url)
    keys = {value for name, value in os.environ.items() if _KEYS.fullmatch(name)}
    # The longest first: one secret may be a part of another.
    decoded = {text, unquote(text), unquote_plus(text)}
    there = (one for one in _secrets | keys if len(one) >= _SHORTEST and any(one in form for form in decoded))
    for secret in sorted(there, key=len, reverse=True):
        # Libraries encode as they like: any of its characters may be percent-encoded.
        text = re.sub("".join(map(_form_of, secret)), MASK, text)
    text = _IN_TEXT.sub(_without_secrets, text)
    return _BEARER.sub(rf"\1 {MASK}", _BASIC.sub(_without_account, text))


def _form_of(character: str) -> str:
    encoded = "".join(f"%(?i:{byte:02x})" for byte in character.encode(errors="surrogateescape"))
    return f"(?:{re.escape(character)}|{encoded}{r'|[+]' if character == ' ' else ''})"


def _without_secrets(found: re.Match[str]) -> str:
    if _IN_TEXT.match(found["rest"]):
        return found["scheme"] + _IN_TEXT.sub(_without_secrets, found["rest"])
    masked = _masked(f"http://{found['rest']}", MASK)
    return found["scheme"] + masked.removeprefix("http://")


def _without_account(found: re.Match[str]) -> str:
    """Return Basic authentication without its account; two words of a sentence stay."""
    try:
        plain = base64.b64decode(found[2], altchars=b"-_" if {"-", "_"} & {*found[2]} else None, validate=True)
    except ValueError:
        return found[0]
    return f"{found[1]} {MASK}" if b":" in plain else found[0]


def _parts(where: str) -> list[tuple[str, str, str, str, str]]:
    """Return scheme, user and password, host and path, query, fragment of each URL of a chain."""
    found = []
    for one in _NEXT_URL.split(where):
        match = is_url(one)
        scheme, rest = (one[: match.end()], one[match.end() :]) if match else ("", one)
        authority = rest.partition("/")[0]
        # A password may hold `@`, and, written carelessly, `/`, `?` or `#`: then no port precedes them.
        if match and "@" not in authority and "@" in rest and not _HOST.fullmatch(authority):
            authority = rest
        user, at, _ = authority.rpartition("@") if match else ("", "", "")
        rest = rest[len(user) + len(at) :]
        rest, _, fragment = rest.partition("#") if match else (rest, "", "")
        rest, _, query = rest.partition("?") if match else (rest, "", "")
        found.append((scheme, user, rest, query, fragment))
    return found


def _found(where: str) -> Iterator[str]:
    """Yield the secrets in a URL, decoded: passwords (also as Basic authentication), query values and fragments."""
    for _, user, _, *behind in _parts(where):
        if user:
            yield unquote(user.partition(":")[2] or user)
            yield base64.b64encode(unquote(user).encode(errors="surrogateescape")).decode()
        for one in filter(None, behind):
            yield from (unquote(pair.partition("=")[2] or pair) for pair in re.split("[&;]", one))


def _masked(where: str, mask: str) -> str:
    def hidden(secret: str, before: str = "", behind: str = "") -> str:
        # A masked part stays as it is: its number distinguishes two URLs.
        return f"{before}{secret if _MASKED.fullmatch(secret) else mask}{behind}" if secret else ""

    return "::".join(
        scheme + hidden(user, behind="@") + rest + hidden(query, "?") + hidden(fragment, "#")
        for scheme, user, rest, query, fragment in _parts(where)
    )


def inherit() -> None:
    """Adopt the parent process's locations; removes the variable, so that no child inherits it by accident."""
    adopt(json.loads(os.environ.pop(VARIABLE, "{}")))


inherit()
