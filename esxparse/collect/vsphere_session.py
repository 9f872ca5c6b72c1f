"""A session of the vSphere API, of a vCenter or of an ESXi host: log in, call operations, log in again, log out.

pyvmomi makes and reads the messages; `bounded` carries them. Every failure is one line without secrets.
"""

from __future__ import annotations

import importlib
import os
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit
from xml.parsers import expat
from xml.sax.saxutils import escape

from esxparse.collect import credentials
from esxparse.collect.bounded import CONNECT_S, Connection, Limits, context, pin, thumbprint
from esxparse.collect.credentials import Account
from esxparse.collect.failures import (
    REASONS,
    CutError,
    ForbiddenError,
    MissingError,
    NoAnswerError,
    RefusedError,
    UntrustedError,
    reason,
    untrusted,
)
from esxparse.errors import EsxparseError
from esxparse.locations import public
from esxparse.recording import printable

_PORT: Final = 443
_LAST_S: Final = 5.0
"""Seconds for each call that only cleans up."""
_VERSION: Final = "vim.version.version9"
"""vSphere 5.5, until the server has said its own: all later servers speak it."""
_LONGEST_TEXT: Final = 300
_PIECE: Final = 1 << 20
_PAGE: Final = 500
"""Objects of one answer."""
_Value = TypeVar("_Value")


class ExpiredError(NoAnswerError):
    """The server has ended the session: log in again."""


_KINDS: Final = {
    "refused": RefusedError,
    "expired": ExpiredError,
    "forbidden": ForbiddenError,
    "missing": MissingError,
    "lost": NoAnswerError,
}
_FAULTS: Final = {
    name: (_KINDS[kind], text) for kind, texts in REASONS["vsphere"]["faults"].items() for name, text in texts.items()
}


@dataclass(frozen=True)
class Server:
    """The address of a server."""

    name: str
    port: int = _PORT

    def __str__(self) -> str:
        name = f"[{self.name}]" if ":" in self.name else self.name
        return name if self.port == _PORT else f"{name}:{self.port}"


def server(text: str) -> Server:
    """Return the server of `vc.lab`, `vc.lab:8443` or `https://vc.lab`.

    >>> str(server("[2001:db8::1]:8443"))
    '[2001:db8::1]:8443'
    """
    url = text if "://" in text else f"https://{text}"
    try:
        parts = urlsplit(url)
        name, port = parts.hostname, parts.port
    except ValueError:
        name, port, parts = None, None, urlsplit("")
    if parts.username is not None or parts.password is not None:
        raise EsxparseError("a password in an address is visible to everyone: give the account with --username")
    if not name or parts.scheme != "https" or parts.path not in {"", "/", "/sdk"} or parts.query:
        raise EsxparseError(f"{public(url)} is not a server: write it as vc.example.com or vc.example.com:8443")
    return Server(name, port or _PORT)


class Session:
    """A session; `content` has the managers of the server."""

    def __init__(
        self, place: Server, account: Account, tls: ssl.SSLContext, pinned: str | None, limits: Limits
    ) -> None:
        self._vim, _ = types()
        soap: Any = importlib.import_module("pyVmomi.SoapAdapter")
        soap.ParserCreate = _parser
        self.server = place
        self.limits = limits
        self._account = account
        self._pinned = pinned
        self._stub: Any = soap.SoapStubAdapter(
            place.name, place.port, version=_VERSION, sslContext=tls, acceptCompressedResponses=False, poolSize=1
        )
        self._stub.scheme = Connection
        self._stub.schemeArgs |= {"limits": limits, "pinned": pinned}
        self._logged_in = False
        self.content: Any = None

    def log_in(self) -> None:
        """Log in, also again: objects of an earlier session, such as services, have to be looked up again."""
        self._stub.DropConnections()
        self._stub.SetSessionId(None)
        self._logged_in = False
        instance = self._vim.ServiceInstance("ServiceInstance", self._stub)
        with self._errors_of("connecting"):
            self.content = instance.RetrieveContent()
        if getattr(self.content, "sessionManager", None) is None:
            raise EsxparseError(f"{self.server} does not offer the vSphere API: check the address and the port")
        with self._errors_of("logging in"):
            self.content.sessionManager.Login(self._account.username, self._account.password, None)
        self._logged_in = True
        # Objects of a server's own release may have parts that older ones do not know.
        if spoken := _version_of(self.content.about.apiVersion):
            self._stub.ComputeVersionInfo(spoken)

    def call(self, what: str, function: Callable[[Any], _Value], *, renew: bool = False) -> _Value:
        """Return what a function of the `content` returns; `what` is the operation, as errors begin with it.

        Args:
            what: Such as `QueryPerf`.
            function: Called with the content; must not keep objects of an earlier session if `renew` is set.
            renew: Log in again and call it once more if the server has ended the session.

        Raises EsxparseError: `NoAnswerError` (the next try may succeed; `ExpiredError` after a new login),
        `RefusedError`, `ForbiddenError`, `MissingError`, `UntrustedError`, or `StoppedError`.
        """
        try:
            with self._errors_of(what):
                return function(self.content)
        except ExpiredError:
            if not renew:
                raise
        self.log_in()
        return self.call(what, function)

    def hurry(self) -> None:
        """Give the calls that only clean up a few seconds each, also after a stop."""
        self.limits.stop = None
        self.limits.seconds = min(self.limits.seconds, _LAST_S)

    def close(self) -> None:
        """Log out; a failure does not matter."""
        if self._logged_in:
            self.hurry()
            with suppress(Exception):
                self.content.sessionManager.Logout()
        self._logged_in = False
        self._stub.DropConnections()

    @contextmanager
    def _errors_of(self, what: str) -> Iterator[None]:
        """Turn exceptions of pyvmomi, ssl and http into errors with one line each."""
        try:
            yield
        except EsxparseError:
            raise
        except Exception as error:  # noqa: BLE001  pyvmomi itself stumbles over malformed answers
            # Frames of pyvmomi hold the password.
            raise self._translated(what, error) from None

    def _translated(self, what: str, error: Exception) -> EsxparseError:
        name = type(error).__name__.rpartition(".")[2]
        if name in _FAULTS:
            kind, text = _FAULTS[name]
            privilege = getattr(error, "privilegeId", None) if kind is ForbiddenError else None
            return kind(f"{what}: {text}{f' ({self._clean(privilege)})' if privilege else ''}")
        if hasattr(error, "faultMessage"):
            return NoAnswerError(f"{what}: {name}: {self._clean(getattr(error, 'msg', '') or 'no message')}")
        if untrusted(error):
            return UntrustedError(self._distrust())
        if found := reason(error, REASONS["vsphere"]["lost"], REASONS["network"]):
            return CutError(f"{what}: {found}")
        text = self._clean(str(error))
        # HTTP errors are sentences; names of other errors say more than their texts.
        return NoAnswerError(f"{what}: {text if isinstance(error, HTTPException) else f'{name}: {text}'}")

    def _distrust(self) -> str:
        advice = "its certificate cannot be verified: give its CA with --ca FILE"
        # Nothing is sent to it but the greeting.
        with suppress(Exception):
            pem = ssl.get_server_certificate((self.server.name, self.server.port), timeout=CONNECT_S)
            found = thumbprint(ssl.PEM_cert_to_DER_cert(pem))
            return f"{advice}, or compare its thumbprint with the one on the server, and give --thumbprint {found}"
        return advice

    def _clean(self, text: object) -> str:
        """Return a server's text for messages: on one line, short, and without the password if it is echoed."""
        plain = str(text)
        for form in {self._account.password, escape(self._account.password)} - {""}:
            plain = plain.replace(form, "***")
        return printable(" ".join(plain.split())[:_LONGEST_TEXT])


@contextmanager
def session(
    name: str,
    *,
    username: str | None = None,
    password_file: str | os.PathLike[str] | None = None,
    account: Account | None = None,
    ca: str | os.PathLike[str] | None = None,
    thumbprint: str | None = None,
    insecure: bool = False,
    timeout: float = 60.0,
    stop: threading.Event | None = None,
) -> Iterator[Session]:
    """Log in to a vCenter or an ESXi host, and out at the end.

    Args:
        name: The server: `vc.example.com` or `vc.example.com:8443`.
        username: The account; its password comes from `password_file`, the environment variable
            `ESXPARSE_VSPHERE_PASSWORD`, a netrc file or a prompt.
        password_file: A file whose only line is the password.
        account: The account with its password, if the caller has both.
        ca: File with the certificate of the CA (or of the server itself) to trust, instead of the system's.
        thumbprint: SHA-256 or SHA-1 of the server's certificate: trust it and no other.
        insecure: Do not verify the certificate.
        timeout: Seconds to wait for each complete answer.
        stop: An answer that is still to come when this is set has 2 s left; then `StoppedError` is raised.

    Raises:
        EsxparseError: The server cannot be reached, its certificate cannot be verified, or it rejects the account.
    """
    place = server(name)
    if sum([ca is not None, thumbprint is not None, insecure]) > 1:
        raise EsxparseError("a CA, a thumbprint and --insecure cannot be combined: keep one")
    if timeout <= 0:
        raise EsxparseError(f"timeout {timeout:g}: must be more than 0 s")
    pinned = None if thumbprint is None else pin(thumbprint)
    tls = context(ca, verify=not insecure and pinned is None)
    types()
    known = account or credentials.account(
        place.name, username, variable=credentials.VSPHERE_PASSWORD, file=password_file
    )
    if known is None:
        raise EsxparseError(f"no user name for {place}: give --username, or add the server to ~/.netrc")
    made = Session(place, known, tls, pinned, Limits(timeout, stop))
    try:
        try:
            made.log_in()
        except EsxparseError as error:
            raise type(error)(f"{place}: {error}") from None
        yield made
    finally:
        made.close()


def _version_of(release: str) -> str | None:
    """Return pyvmomi's name of a release of the API (`8.0.3.0`); None if it does not know the release."""
    from pyVmomi import VmomiSupport  # noqa: PLC0415  an extra

    known: str | None = VmomiSupport.versionMap.get(f"vim25/{release}")
    return known


def _parser(*arguments: Any, **options: Any) -> expat.XMLParserType:
    """Return a parser of XML that gives text in large pieces: pyvmomi copies all text before a piece once more."""
    made = expat.ParserCreate(*arguments, **options)
    made.buffer_size = _PIECE
    return made


def properties(content: Any, paths: Mapping[str, Sequence[str]]) -> list[tuple[Any, dict[str, Any]]]:
    """Return every object of some kinds, with its properties by their paths, page by page.

    `paths`: by kind, such as `{"HostSystem": ["name"]}`. Properties that the account may not read are missing.
    """
    vim, vmodl = types()
    query = vmodl.query.PropertyCollector
    view = content.viewManager.CreateContainerView(content.rootFolder, [getattr(vim, kind) for kind in paths], True)
    try:
        walk = query.TraversalSpec(name="view", path="view", skip=False, type=type(view))
        start = query.ObjectSpec(obj=view, skip=True, selectSet=[walk])
        wanted = [query.PropertySpec(type=getattr(vim, kind), pathSet=list(each)) for kind, each in paths.items()]
        specs = [query.FilterSpec(objectSet=[start], propSet=wanted)]
        collector = content.propertyCollector
        page = collector.RetrievePropertiesEx(specs, query.RetrieveOptions(maxObjects=_PAGE))
        found = []
        while page is not None:
            found += [(one.obj, {each.name: each.val for each in one.propSet}) for one in page.objects]
            page = collector.ContinueRetrievePropertiesEx(page.token) if page.token else None
    finally:
        view.DestroyView()
    return found


def types() -> tuple[Any, Any]:
    """Return pyvmomi's `vim` and `vmodl`.

    Raises:
        EsxparseError: It is not installed.
    """
    try:
        from pyVmomi import vim, vmodl  # noqa: PLC0415  an extra
    except ImportError:
        raise EsxparseError('the vSphere API needs pyvmomi: pip install "esxparse[vsphere]"') from None
    return vim, vmodl
