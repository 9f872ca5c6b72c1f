"""Poll a BMC for its power readings while a capture runs, into a file of JSON lines.

Lines
-----
first       {"time", "collector", "version", "url", "interval_s"}
documents   {"time", "uri", "round_trip_s", "bmc_time", "document"}; `time` is the collector's clock (UTC), in the
            middle between request and answer; `bmc_time` the BMC's (the HTTP `Date`), if it sends one
gaps        {"time", "uri", "error"}: a request that failed

`esxparse.open` reads the file as `redfish`. No line has a user name or a password.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from esxparse.collect.bmc import Answer, Auth, Bmc, Places, find
from esxparse.collect.credentials import Account
from esxparse.collect.credentials import account as find_account
from esxparse.collect.failures import ForbiddenError, MissingError, NoAnswerError, RefusedError, UntrustedError
from esxparse.collect.lines import STANDARD_OUTPUT, Lines, iso, seconds
from esxparse.errors import EsxparseError
from esxparse.target import target
from esxparse.version import __version__

COLLECTOR = "esxparse collect power"

_HISTORY_EVERY_S = 900.0
"""FastPowerMeter holds 20 minutes."""
_LONGEST_PAUSE_S = 60.0
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class Collected:
    """The result of a collection."""

    documents: int
    gaps: int
    """Number of failed requests."""
    seconds: float


@dataclass
class _Run:
    """The state of a run: its output, listener and stop event."""

    bmc: Bmc
    lines: Lines
    say: Callable[[str], None]
    stop: threading.Event
    documents: int = 0
    gaps: int = 0
    failed_since: float | None = None
    failures: int = 0
    forbidden: set[str] = field(default_factory=set)
    """Documents the account may not read: repeated requests would look like an attack."""

    def document(self, answer: Answer) -> None:
        line: dict[str, Any] = {
            "time": iso(answer.time),
            "uri": answer.uri,
            "round_trip_s": round(answer.round_trip_s, 4),
        }
        if answer.bmc_time is not None:
            line["bmc_time"] = iso(answer.bmc_time, "seconds")
        self.lines.write(line | {"document": answer.document})
        self.documents += 1

    def gap(self, uri: str, error: EsxparseError) -> None:
        self.lines.write({"time": iso(datetime.now(UTC)), "uri": uri, "error": str(error)})
        self.gaps += 1


def address(url: str, *, account: bool, insecure: bool) -> str:
    """Return the scheme and host of a BMC, by default `https`."""
    text = url if "://" in url else f"https://{url}"
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if not host or parts.scheme not in {"http", "https"}:
        shown = url.rpartition("@")[2]
        raise EsxparseError(f"{shown!r} is not a BMC address: write it as https://bmc.example.com")
    if parts.username is not None or parts.password is not None:
        raise EsxparseError("a password in an address is visible to everyone: remove it and set ESXPARSE_BMC_PASSWORD")
    if account and parts.scheme == "http" and not insecure and host not in _LOCAL:
        raise EsxparseError(f"http://{host} would send the password unencrypted: use https, or give --insecure")
    return urlunsplit((parts.scheme, parts.netloc, "", "", ""))


def _fetch(run: _Run, uri: str) -> bool:
    """Fetch one document into the file; return whether the BMC answered."""
    try:
        run.document(run.bmc.get(uri))
    except (ForbiddenError, MissingError) as error:
        run.gap(uri, error)
        if isinstance(error, ForbiddenError):
            run.forbidden.add(uri)
            run.say(f"{error}; not retried")
        return True
    except NoAnswerError as error:
        run.gap(uri, error)
        if run.failed_since is None:
            run.failed_since = time.monotonic()
            run.say(f"{error}; retrying")
        run.failures += 1
        return False
    if run.failed_since is not None:
        run.say(f"answers again, after {time.monotonic() - run.failed_since:.0f} s")
        run.failed_since = None
    run.failures = 0
    return True


def _poll(run: _Run, uris: tuple[str, ...]) -> bool:
    """Fetch documents; stop at the first that gets no answer."""
    return all(run.stop.is_set() or uri in run.forbidden or _fetch(run, uri) for uri in uris)


def _pause(run: _Run, interval: float, started: float) -> float:
    """Return seconds to wait: to the next full interval; longer and longer, up to a minute, while nothing answers."""
    if run.failures:
        first = min(interval, 1.0)
        return float(min(first * 2 ** min(run.failures - 1, 10), max(interval, 1.0), _LONGEST_PAUSE_S))
    return interval - (time.monotonic() - started) % interval


def _loop(run: _Run, places: Places, interval: float, duration: float | None) -> None:
    started = time.monotonic()
    until = None if duration is None else started + duration
    _poll(run, (*places.once, *places.histories))
    fetched = time.monotonic()
    while not run.stop.is_set():
        answered = _poll(run, places.now)
        if places.now and run.forbidden.issuperset(places.now):
            raise ForbiddenError(f"{places.now[0]}: access is now denied")
        if answered and time.monotonic() - fetched >= _HISTORY_EVERY_S:
            _poll(run, places.histories)
            fetched = time.monotonic()
        pause = _pause(run, interval, started)
        if until is not None and time.monotonic() + pause > until:
            run.stop.wait(max(0.0, until - time.monotonic()))
            break
        run.stop.wait(pause)
    if not run.stop.is_set() and not run.failures:
        _poll(run, places.histories)


def _verify(ca: str | os.PathLike[str] | None, *, insecure: bool) -> bool | str:
    if ca is None:
        return not insecure
    if insecure:
        raise EsxparseError("a CA and --insecure cannot be combined: remove one")
    if not os.path.exists(ca):  # noqa: PTH110  a file or a directory, as requests takes it
        raise EsxparseError(f"{os.fspath(ca)} does not exist: give the file with the CA's certificate")
    return os.fspath(ca)


def power(
    redfish: str,
    output: str | os.PathLike[str],
    *,
    username: str | None = None,
    account: Account | None = None,
    interval: str | float | timedelta = "10s",
    duration: str | float | timedelta | None = None,
    append: bool = False,
    replace: bool = False,
    ca: str | os.PathLike[str] | None = None,
    insecure: bool = False,
    auth: Auth = "auto",
    timeout: float = 10.0,
    stop: threading.Event | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Collected:
    """Poll a BMC for its power readings until the duration is over, or `stop` is set.

    Args:
        redfish: The address of the BMC: `https://bmc.example.com`.
        output: The file to write, JSON lines; `-` is standard output.
        username: The account; its password comes from `ESXPARSE_BMC_PASSWORD`, a netrc file or a prompt.
        account: The account with its password, if the caller has both.
        interval: Time from poll to poll.
        duration: How long to go on; by default forever.
        append: Add to an existing file.
        replace: Replace an existing file.
        ca: File with the certificate of the CA (or of the BMC itself) to trust.
        insecure: Do not verify the BMC's certificate.
        auth: `session`, `basic`, or `auto`: a session if the BMC has them.
        timeout: Seconds to wait for a whole answer.
        stop: Ends the collection when it is set.
        say: Called with one line when the BMC stops answering, and when it answers again.

    Returns:
        How many documents were written, and how many requests failed.

    Raises EsxparseError: The BMC cannot be reached at first, its certificate cannot be verified, it refuses the
    account, it has no power readings, or the file cannot be written. Earlier readings stay.
    """
    step = seconds(interval, "interval")
    length = None if duration is None else seconds(duration, "duration")
    url = address(redfish, account=False, insecure=insecure)
    known = account or find_account(urlsplit(url).hostname or "", username)
    url = address(redfish, account=known is not None, insecure=insecure)
    verify = _verify(ca, insecure=insecure)
    if output != STANDARD_OUTPUT:
        target(output, [] if ca is None else [ca])
    begun = time.monotonic()
    host = urlsplit(url).netloc
    try:
        bmc = Bmc(url, known, verify, auth, timeout)
        with closing(bmc):
            places = find(bmc)
            with closing(Lines(output, append=append, replace=replace)) as lines:
                run = _Run(bmc, lines, lambda text: say(f"{host}: {text}"), stop or threading.Event())
                lines.write(
                    {
                        "time": iso(datetime.now(UTC)),
                        "collector": COLLECTOR,
                        "version": __version__,
                        "url": url,
                        "interval_s": step,
                    }
                )
                _loop(run, places, step, length)
    except (RefusedError, UntrustedError, NoAnswerError, ForbiddenError, MissingError) as error:
        raise EsxparseError(f"{host}: {error}") from None
    return Collected(run.documents, run.gaps, time.monotonic() - begun)
