"""Capture a host with esxtop through the vSphere API, without ssh: its raw replies, as they come.

Files
-----
esxtop-api.jsonl.gz   the replies of the Esxtop service (`replies` explains the lines); opens as a capture
vscsistats.xml        the histograms of the VscsiStats service at the end, if they were requested

Source of the operations: William Lam, "ESXTOP vSphere API" (2013, 2017); VMware, ServiceManager in the vSphere Web
Services API. Their replies are not part of the documented API.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from esxparse.collect import replies, vsphere_hosts, vsphere_session
from esxparse.collect.bounded import StoppedError
from esxparse.collect.credentials import Account
from esxparse.collect.failures import NoAnswerError
from esxparse.collect.folder import directory
from esxparse.collect.lines import seconds, unwritable
from esxparse.collect.replies import Replies
from esxparse.collect.vsphere_hosts import EsxHost
from esxparse.collect.vsphere_session import ExpiredError, Session
from esxparse.errors import EsxparseError
from esxparse.formats.esxtop_api.grammar import VALUES
from esxparse.recording import counted, printable
from esxparse.whole import whole_file

HISTOGRAMS: Final = "vscsistats.xml"

_LEAST_S: Final = 2.0
"""esxtop's own limit."""
_MOST_S: Final = 3600.0
_WHY_MOST: Final = "each sample is work for the host's management service; a vCenter's statistics are for longer"
_LONGEST_PAUSE_S: Final = 60.0
_LATE_S: Final = 0.001
_SERVICE: Final = "Esxtop"
_HISTOGRAM_SERVICE: Final = "VscsiStats"
_FETCH: Final = "FetchAllHistograms"


@dataclass(frozen=True)
class Fetched:
    """The result of a capture through the vSphere API."""

    files: tuple[Path, ...]
    samples: int
    gaps: int
    """How often samples are missing."""
    seconds: float
    lost: str | None = None
    """Why there was no answer at the end."""
    failed: tuple[str, ...] = ()
    """What else did not work: histograms, or the release of the host's resources."""


@dataclass
class _Run:
    session: Session
    host: EsxHost
    file: Replies
    step: float
    length: float
    retry: float
    stop: threading.Event
    say: Callable[[str], None]
    service: Any = None
    lost: str | None = None
    slow: bool = False
    failed: list[str] = field(default_factory=list)


def _services(run: _Run) -> dict[str, Any]:
    """Look up the host's services, which are other objects in each session; log in again if it was ended."""
    location = None if run.host.direct else [f"vmware.host.{run.host.name}"]
    found = run.session.call(
        "QueryServiceList", lambda content: content.serviceManager.QueryServiceList(location=location), renew=True
    )
    return {one.serviceName: one.service for one in found or []}


def _execute(run: _Run, service: Any, operation: str) -> str:
    reply = run.session.call(operation, lambda _: service.ExecuteSimpleCommand(arguments=[operation]))
    return reply or ""


def _service(run: _Run, name: str) -> Any:
    found = _services(run)
    if name not in found:
        others = f" (it has {', '.join(sorted(printable(str(one)) for one in found))})" if found else ""
        raise NoAnswerError(f"{run.host.name} offers no service {name}{others}: is it connected and switched on?")
    return found[name]


def _begin(run: _Run) -> None:
    """Find the service and the meaning of its counters, in a new session."""
    run.service = _service(run, _SERVICE)
    before = replies.now()
    info = _execute(run, run.service, "CounterInfo")
    if not info.lstrip().startswith("|"):
        raise NoAnswerError(f"CounterInfo: the answer has no counters: {_start(info)}")
    run.file.info(before, info)


def _sample(run: _Run) -> None:
    before = replies.now()
    reply = _execute(run, run.service, "FetchStats")
    if VALUES not in reply:
        raise NoAnswerError(f"FetchStats: the answer has no counters: {_start(reply)}")
    missing = run.file.missing_s()
    run.file.sample(before, reply, run.lost)
    if run.lost:
        run.say(f"samples come again, after {missing:.0f} s without")
        run.lost = None
    if run.file.samples == 1:
        took = (replies.now() - before).total_seconds()
        run.say(f"writing {run.file.path}; a sample has {len(reply) / 1e3:.0f} kB and takes {took:.2f} s")


def _start(reply: str) -> str:
    return repr(printable(reply[:60])) if reply else "it is empty"


def _next(run: _Run, begun: float, started: float) -> float:
    """Return the time of the next sample: a whole number of intervals after the first; never more work than rest."""
    now = time.monotonic()
    took = now - started
    if 2 * took > run.step and not run.slow:
        run.slow = True
        run.say(f"the host needs {took:.1f} s for a sample: intervals are longer than {run.step:g} s, to let it rest")
    free = now + took
    return begun + run.step * max(1, -(-(free - begun) // run.step))


def _capture(run: _Run) -> None:
    """Take samples until the time is over or somebody stops it; after each loss, try again.

    Raises:
        EsxparseError: Trying again is no use, or no sample has come yet.
    """
    begun = time.monotonic()
    until = begun + run.length
    tries = 0
    while not run.stop.is_set():
        started = time.monotonic()
        try:
            if run.lost:
                _begin(run)
            _sample(run)
            tries = 0
            due = _next(run, begun, started)
        except StoppedError:
            return
        except NoAnswerError as error:
            if not run.file.samples:
                raise
            if run.lost is None:
                run.say(f"{error}; trying again")
            # A session that was ended costs no more than a login.
            at_once = isinstance(error, ExpiredError) and run.lost is None
            run.lost = run.lost or str(error)
            pause = 0.0 if at_once else min(run.retry * 2 ** min(tries, 16), _LONGEST_PAUSE_S)
            due = time.monotonic() + pause
            tries += 1
        # The last sample is that of the end itself: a sample is about the interval before it.
        run.stop.wait(max(0.0, min(due, until + _LATE_S) - time.monotonic()))
        if due > until + _LATE_S:
            return


def _attempt(run: _Run, what: str, work: Callable[[], None]) -> None:
    try:
        work()
    except EsxparseError as error:
        run.failed.append(f"{what}: {error}")
        run.say(f"{what}: {error}")


@contextmanager
def _histograms(run: _Run, folder: Path, wanted: bool, reset: bool) -> Iterator[None]:
    """Start vscsiStats for all VMs of the host, fetch its histograms at the end, and always stop it."""
    if not wanted:
        yield
        return

    def send(operation: str) -> str:
        reply = _execute(run, _service(run, _HISTOGRAM_SERVICE), operation)
        if operation != _FETCH and reply.strip() != "OK":
            run.say(f"{operation}: the answer is not OK: {_start(reply)}")
        return reply

    def fetch() -> None:
        text = send(_FETCH)
        try:
            with whole_file(folder / HISTOGRAMS) as file:
                file.write(text.encode())
        except OSError as error:
            raise unwritable(folder / HISTOGRAMS, error) from None

    def end() -> None:
        run.session.hurry()
        send("StopVscsiStats")

    try:
        send("StartVscsiStats")
        if reset:
            send("ResetVscsiStats")
        yield
        run.session.limits.stop = None
        _attempt(run, "no histograms of vscsiStats", fetch)
    finally:
        # Also after a start whose answer was lost.
        _attempt(run, "vscsiStats may still run on the host (vscsiStats -x stops it)", end)


@contextmanager
def _freed(run: _Run) -> Iterator[None]:
    """Let the host release what it keeps for the samples, whatever happens; log in again if the session is lost."""

    def free() -> None:
        run.session.hurry()
        if run.lost:
            run.service = _service(run, _SERVICE)
        before = replies.now()
        reply = _execute(run, run.service, "FreeStats")
        if run.file.samples:
            # The host has done it; a full disk is reported by the sample that did not fit.
            with suppress(EsxparseError):
                run.file.freed(before, reply)

    try:
        yield
    finally:
        if run.service is not None:
            _attempt(run, "the host may still keep resources for esxtop (FreeStats)", free)


def vsphere(
    server: str,
    output: str | os.PathLike[str],
    *,
    host: str | None = None,
    interval: str | float | timedelta = "5s",
    duration: str | float | timedelta = "10m",
    username: str | None = None,
    password_file: str | os.PathLike[str] | None = None,
    account: Account | None = None,
    ca: str | os.PathLike[str] | None = None,
    thumbprint: str | None = None,
    insecure: bool = False,
    timeout: float = 60.0,
    vscsistats: bool = False,
    reset: bool = False,
    retry: float = 1.0,
    stop: threading.Event | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Fetched:
    """Capture a host with esxtop through the vSphere API until the duration is over, or `stop` is set.

    The account needs the privilege `Global.ServiceManagers`. A lost session is established again, after 1, 2, 4 ... up
    to 60 s. The capture is readable at any moment, also by `esxparse.follow`. Nothing here was tried on a real host.

    Args:
        server: The vCenter, or the ESXi host itself: `vc.example.com` or `vc.example.com:8443`.
        output: A directory, created if need be, without an earlier capture.
        host: The host's name in the vCenter's inventory; not needed if there is only one.
        interval: Time between samples: 2 s at least. It grows if the host needs more than half of it for an answer.
        duration: How long to go on: 1 h at most, because each sample is work for the host's management service.
        username: The account; its password comes from `password_file`, the environment variable
            `ESXPARSE_VSPHERE_PASSWORD`, a netrc file or a prompt.
        password_file: A file whose only line is the password.
        account: The account with its password, if the caller has both.
        ca: File with the certificate of the CA (or of the server itself) to trust, instead of the system's.
        thumbprint: SHA-256 or SHA-1 of the server's certificate: trust it and no other.
        insecure: Do not verify the certificate.
        timeout: Seconds to wait for each complete answer.
        vscsistats: Also start vscsiStats, for all VMs of the host; fetch its histograms at the end, and stop it.
        reset: Set its histograms to zero at the start, if vscsiStats was running.
        retry: Seconds before the first new try.
        stop: Ends the capture when it is set.
        say: Called with one line for the start, each loss and each return.

    Returns:
        The files, with the number of samples and gaps.

    Raises EsxparseError: The server cannot be reached at first or not trusted, rejects the account, has no such host
    or service, or a file cannot be written. Earlier samples stay.
    """
    step = seconds(interval, "interval")
    length = seconds(duration, "duration")
    if step < _LEAST_S:
        raise EsxparseError(f"interval {interval!s}: must be {_LEAST_S:g} s at least, as for esxtop itself")
    if length < step:
        raise EsxparseError(f"duration {duration!s} is shorter than the interval of {step:g} s")
    if length > _MOST_S:
        raise EsxparseError(f"duration {duration!s}: must be {_MOST_S / 60:g} min at most: {_WHY_MOST}")
    if reset and not vscsistats:
        raise EsxparseError("only vscsiStats has histograms to reset: request them too, or leave out the reset")
    stop = stop or threading.Event()
    begun = time.monotonic()
    folder = Path(output).expanduser()
    login = vsphere_session.session(
        server,
        username=username,
        password_file=password_file,
        account=account,
        ca=ca,
        thumbprint=thumbprint,
        insecure=insecure,
        timeout=timeout,
        stop=stop,
    )
    names = {replies.NAME, HISTOGRAMS}
    with directory(folder, names.__contains__) as files:
        with login as session:
            known, skew = vsphere_hosts.find(session, host)
            about = session.content.about
            written = Replies(
                files.make(replies.NAME),
                {
                    "server": str(session.server),
                    "host": known.name,
                    "release": known.release,
                    "build": known.build,
                    "api": about.apiVersion,
                    "interval": step,
                    "skew": skew,
                },
            )

            def tell(text: str) -> None:
                say(f"{known.name}: {text}")

            run = _Run(session, known, written, step, length, retry, stop, tell)
            try:
                _collect(run, folder, vscsistats, reset)
            except EsxparseError as error:
                if written.samples:
                    tell(f"ended early, after {counted(written.samples, 'sample')}")
                raise type(error)(f"{known.name}: {error}") from None
            finally:
                files.keep = written.samples > 0
        if not written.samples:
            raise EsxparseError(f"{known.name}: stopped before the first sample: nothing is written")
    paths = [path for name in sorted(names) if (path := folder / name).exists()]
    took = time.monotonic() - begun
    return Fetched(tuple(paths), written.samples, written.gaps, took, run.lost, tuple(run.failed))


def _collect(run: _Run, folder: Path, vscsistats: bool, reset: bool) -> None:
    with _histograms(run, folder, vscsistats, reset), _freed(run):
        try:
            _begin(run)
            _capture(run)
        finally:
            if run.lost and run.file.samples:
                run.say(f"no answer at the end: {run.file.missing_s():.0f} s without samples ({run.lost})")
                run.file.end(run.lost)
