"""A client of a Redfish service: log in, fetch a document, find documents with power readings.

The transport is sushy's: TLS, sessions that are renewed if the BMC has forgotten them. Its retries are turned off: the
caller records failures and tries again.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal
from urllib.parse import urljoin

from esxparse.collect.credentials import Account
from esxparse.collect.failures import (
    REASONS,
    ForbiddenError,
    MissingError,
    NoAnswerError,
    RefusedError,
    UntrustedError,
    reason,
    untrusted,
)
from esxparse.collect.origin import body, confine
from esxparse.errors import EsxparseError
from esxparse.formats.kit.objects import mapping

Auth = Literal["auto", "session", "basic"]

ROOT = "/redfish/v1/"

_REDIRECTS = 3
_REDIRECTED = frozenset({301, 302, 303, 307, 308})
_NO_SESSIONS = frozenset({400, 404, 405, 406, 501})
_UNAUTHORIZED = 401
_METERS = ("FastPowerMeter", "PowerMeter", "SlowPowerMeter")
_MOST_CHASSIS = 64
_MOST_SUPPLIES = 16


@dataclass(frozen=True)
class Answer:
    """A document, with the time it was fetched."""

    uri: str
    document: dict[str, Any]
    time: datetime
    """The collector's clock, halfway between request and answer."""
    round_trip_s: float
    bmc_time: datetime | None
    """The HTTP `Date` of the answer: the BMC's clock, in whole seconds."""


class Bmc:
    """A connection to a Redfish service; it logs in if there is an account."""

    def __init__(self, url: str, account: Account | None, verify: bool | str, auth: Auth, timeout: float) -> None:
        sushy = _sushy()
        self._sushy = sushy
        self.url = url
        self._timeout = timeout
        self._connector = sushy.connector.Connector(
            url,
            verify=verify,
            # One try: sushy counts its tries by this number, and sleeps between them.
            server_side_retries=1,
            default_request_timeout=timeout,
            connect_timeout=timeout,
        )
        # Only `credentials` reads a netrc file; a proxy is for the way out, not to a BMC.
        session = self._connector._session  # noqa: SLF001  sushy has no other way to its transport
        session.trust_env = False
        confine(session, url, timeout)
        self._session: Any = None
        if account is not None:
            self._log_in(account, auth)

    def _log_in(self, account: Account, auth: Auth) -> None:
        if auth != "basic" and (auth == "session" or self._has_sessions()):
            session = self._sushy.auth.SessionAuth(username=account.username, password=account.password)
            try:
                with _errors_of(self._sushy, self.url + ROOT):
                    self._session = session
                    self._sushy.Sushy(self.url, auth=session, connector=self._connector)
            except NoAnswerError as error:
                status = getattr(error.__cause__, "status_code", None)
                if auth == "session" or status not in _NO_SESSIONS:
                    raise
                self._session = None
            else:
                return
        self._connector.set_http_basic_auth(account.username, account.password)

    def _has_sessions(self) -> bool:
        """Return whether the service has a path for sessions; its root needs no account."""
        try:
            root = self.get(ROOT).document
        except (RefusedError, ForbiddenError):
            return False
        return bool(_link(root.get("SessionService")) or _link(mapping(root.get("Links")).get("Sessions")))

    def get(self, uri: str) -> Answer:
        """Fetch a document."""
        where = uri
        for _ in range(_REDIRECTS):
            sent, started = datetime.now(UTC), time.monotonic()
            with _errors_of(self._sushy, uri):
                response = self._connector.get(
                    where,
                    timeout=self._timeout,
                    server_side_retries_left=0,
                    stream=True,
                    # Followed below: requests would follow 30 of them.
                    allow_redirects=False,
                )
                with closing(response):
                    if response.status_code not in _REDIRECTED:
                        content = body(response, started + self._timeout, uri)
                        took = time.monotonic() - started
                        return Answer(
                            uri, _object(content, uri), sent + (datetime.now(UTC) - sent) / 2, took, _date(response)
                        )
                where = urljoin(urljoin(self.url, where), response.headers.get("Location", ""))
        raise NoAnswerError(f"{uri}: too many redirects")

    def close(self) -> None:
        """Log out of a session; a failure does not matter."""
        if self._session is not None:
            with suppress(Exception):
                self._session.close()
        self._connector.close()


def _sushy() -> Any:
    try:
        import sushy  # noqa: PLC0415  an extra
        import sushy.auth  # noqa: PLC0415
        import sushy.connector  # noqa: PLC0415
    except ImportError:
        raise EsxparseError('polling a BMC needs sushy: pip install "esxparse[collect]"') from None
    # The caller reports sushy's warnings in its own words.
    logger = logging.getLogger("sushy")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return sushy


@contextmanager
def _errors_of(sushy: Any, what: str) -> Iterator[None]:
    """Turn exceptions of sushy and requests into errors of this module, with one line each."""
    try:
        yield
    except EsxparseError:
        raise
    except Exception as error:
        # sushy itself stumbles over malformed answers.
        raise _translated(sushy, what, error) from error


def _translated(sushy: Any, what: str, error: Exception) -> EsxparseError:
    status = getattr(error, "status_code", None)
    if isinstance(error, sushy.exceptions.AccessError):
        if status == _UNAUTHORIZED:
            return RefusedError("the BMC rejects the login (401): check the user name and password")
        return ForbiddenError(f"{what}: access denied ({status})")
    if isinstance(error, sushy.exceptions.ResourceNotFoundError):
        return MissingError(f"{what}: not found (404)")
    if status is not None:
        return NoAnswerError(f"{what}: the BMC answered with status {status}")
    if untrusted(error):
        return UntrustedError("its certificate cannot be verified: give its CA with --ca FILE, or use --insecure")
    return NoAnswerError(f"{what}: {reason(error, REASONS['network']) or 'the request failed'}")


def _object(content: bytes, uri: str) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise NoAnswerError(f"{uri}: the answer is truncated or not JSON ({len(content):,} bytes)") from None
    if not isinstance(document, dict):
        raise NoAnswerError(f"{uri}: the answer is not a JSON object")
    return document


def _date(response: Any) -> datetime | None:
    try:
        return parsedate_to_datetime(response.headers.get("Date", "")).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def _link(value: Any) -> str:
    """Return the address of a link, `@odata.id` or the `href` of iLO 4; empty if it leads to another host."""
    uri = mapping(value).get("@odata.id") or mapping(value).get("href")
    return uri if isinstance(uri, str) and uri.startswith("/") and not uri.startswith("//") else ""


def _members(document: dict[str, Any], most: int) -> list[str]:
    listed = document.get("Members") or mapping(document.get("links")).get("Member")
    return [uri for one in (listed if isinstance(listed, list) else []) if (uri := _link(one))][:most]


@dataclass(frozen=True)
class Places:
    """The documents of a BMC with power readings."""

    now: tuple[str, ...]
    """Documents with the current readings: to be polled."""
    histories: tuple[str, ...]
    """Documents with samples of the last minutes and hours: to be fetched occasionally."""
    once: tuple[str, ...]
    """Documents that do not change: capacities."""


def _tried(bmc: Bmc, uri: str) -> dict[str, Any]:
    try:
        return bmc.get(uri).document if uri else {}
    except (MissingError, ForbiddenError):
        return {}


def find(bmc: Bmc) -> Places:
    """Follow the links from the root to every document with power readings."""
    root = bmc.get(ROOT).document
    collection = _link(root.get("Chassis")) or _link(mapping(root.get("links")).get("Chassis"))
    now: dict[str, None] = {}
    histories: dict[str, None] = {}
    once: dict[str, None] = {}
    for uri in _members(_tried(bmc, collection), _MOST_CHASSIS):
        chassis = _tried(bmc, uri)
        links = mapping(chassis.get("links"))
        power = _link(chassis.get("Power")) or _link(links.get("PowerMetrics"))
        if document := _tried(bmc, power):
            now[power] = None
            oem = mapping(document.get("Oem"))
            vendor = mapping(oem.get("Hpe")) or mapping(oem.get("Hp"))
            own = mapping(vendor.get("Links")) or mapping(vendor.get("links"))
            histories |= dict.fromkeys(place for name in _METERS if (place := _link(own.get(name))))
        environment = _link(chassis.get("EnvironmentMetrics"))
        if mapping(_tried(bmc, environment).get("PowerWatts")):
            now[environment] = None
        subsystem = _link(chassis.get("PowerSubsystem"))
        if document := _tried(bmc, subsystem):
            once[subsystem] = None
            now |= dict.fromkeys(_supplies(bmc, document))
    if not now and not histories:
        msg = "no chassis of this BMC has power readings that this account can read (Power, EnvironmentMetrics ...)"
        raise EsxparseError(msg)
    return Places(tuple(now), tuple(histories), tuple(once))


def _supplies(bmc: Bmc, subsystem: dict[str, Any]) -> Iterator[str]:
    """Yield the paths of power supplies' metrics that have any reading."""
    collection = _link(subsystem.get("PowerSupplies"))
    for uri in _members(_tried(bmc, collection), _MOST_SUPPLIES):
        metrics = _link(_tried(bmc, uri).get("Metrics"))
        document = _tried(bmc, metrics)
        if any("Reading" in mapping(document.get(name)) for name in ("InputPowerWatts", "OutputPowerWatts")):
            yield metrics
