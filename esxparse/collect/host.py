"""Capture a host with esxtop over ssh, its hardware beside it, and its power if its BMC is given.

Files
-----
NAME.csv.gz         the capture; NAME-2.csv.gz and so on if esxtop came back with other columns
topology.txt        processors, NUMA nodes, memory, as esxcli and vim-cmd print them
versions.txt        release, profile, adapters, VMs, power policy
power.jsonl         of the BMC (`esxparse collect power`)
collected.jsonl     what happened: the first line has the target and the interval; then `{"time", "host"}` (release,
                    clock_offset_s), `{"time", "file"}` for each file begun, `{"time", "gap"}` (before, file, from, to,
                    why) for each connection that was lost, `{"time", "left_out"}` for lines that are not samples,
                    `{"time", "end"}` (samples, gaps, why) at the end; times are this machine's clock, UTC
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from esxparse.collect import facts
from esxparse.collect.bmc import Auth
from esxparse.collect.credentials import account as find_account
from esxparse.collect.folder import POWER, Folder, claimed
from esxparse.collect.lines import Lines, iso, seconds
from esxparse.collect.polling import address, power
from esxparse.collect.samples import Capture, WholeLines
from esxparse.collect.ssh import Login, RefusedError, Remote
from esxparse.errors import EsxparseError
from esxparse.formats.collected import COLLECTOR
from esxparse.recording import counted, printable
from esxparse.version import __version__

_LEAST_S: Final = 2
"""esxtop's own limit; it takes whole seconds."""
_LONGEST_PAUSE_S: Final = 60.0
_LOOK_S: Final = 0.1


@dataclass(frozen=True)
class Captured:
    """The result of a capture."""

    files: tuple[Path, ...]
    """The captures."""
    samples: int
    gaps: int
    """How often samples are missing because the connection was lost."""
    seconds: float
    power: str | None = None
    """Why power readings are missing or ended early, if they were requested."""
    lost: str | None = None
    """Why there was no connection at the end."""
    power_gaps: int = 0
    """Number of requests that the BMC did not answer properly."""


@dataclass
class _Run:
    """The state of a run."""

    login: Login
    capture: Capture
    notes: Lines
    step: int
    until: float | None
    patience: float
    retry: float
    stop: threading.Event
    say: Callable[[str], None]
    last: datetime | None = None
    lost: str | None = None
    gaps: int = 0

    def note(self, **what: Any) -> None:
        self.notes.write({"time": iso(datetime.now(UTC)), **what})

    def wanted(self) -> int | None:
        """Return the number of samples still to come; None if there is no end."""
        return None if self.until is None else max(round((self.until - time.monotonic()) / self.step), 0)

    def take(self, line: bytes) -> bool:
        """Take a line of esxtop, with notes on files begun and gaps ended; return whether it was a sample."""
        files = list(self.capture.files)
        if not self.capture.take(line):
            return False
        now = datetime.now(UTC)
        name = self.capture.path.name
        if self.capture.files != files:
            self.note(file=name)
            self.say(f"{'its columns are others now: it goes on in' if files else 'writing'} {self.capture.path}")
        if self.last and self.lost:
            length = self.gap(files[-1].name, name, now)
            self.say(f"captures again, after {length:.0f} s without samples")
        self.last, self.lost = now, None
        return True

    def gap(self, before: str, after: str, now: datetime) -> float:
        """Note that samples are missing since the last one; return for how many seconds."""
        last = self.last or now
        self.note(gap={"before": before, "file": after, "from": iso(last), "to": iso(now), "why": self.lost})
        self.gaps += 1
        return (now - last).total_seconds()

    def end(self) -> None:
        """Note a connection that was not back at the end."""
        if self.capture.samples and self.lost:
            name = self.capture.path.name
            length = self.gap(name, name, datetime.now(UTC))
            self.say(f"not connected at the end: {length:.0f} s without samples ({self.lost})")


def _connection(run: _Run) -> bool:
    """Take the output of one esxtop; return whether the run is over, or set `run.lost` to the reason it ended.

    Raises:
        EsxparseError: Trying again is no use.
    """
    wanted, got, why = run.wanted(), 0, ""
    lines = WholeLines()
    run.capture.restart()
    remote = Remote(run.login, f"TERM=xterm esxtop -b -a -d {run.step}{'' if wanted is None else f' -n {wanted}'}")
    heard = time.monotonic()
    try:
        while not run.stop.is_set() and (piece := remote.piece(_LOOK_S)) != b"":
            if piece:
                taken = [run.take(line) for line in lines.feed(piece)]
                got += sum(taken)
                # A part of a long line counts as a sign of life; whole lines without a sample do not.
                if any(taken) or not taken:
                    heard = time.monotonic()
            if time.monotonic() - heard > run.patience:
                why = f"no sample came for {run.patience:g} s"
                break
    finally:
        code = remote.end()
        _note_left_out(run)
    if run.stop.is_set() or (wanted is not None and got >= wanted):
        return True
    failure = remote.failure(code)
    if isinstance(failure, RefusedError) or (failure and not run.capture.samples):
        raise failure
    said = f": {printable(remote.said[-1])}" if remote.said else ""
    lost = why or (str(failure) if failure else f"esxtop ended (exit code {code}){said}")
    if not run.capture.samples:
        raise EsxparseError(f"{run.login.host}: no sample came: {lost}")
    if got or run.lost is None:
        run.say(f"{lost}; trying again")
    run.lost = lost
    return False


def _note_left_out(run: _Run) -> None:
    if left := run.capture.left_out:
        run.note(left_out=[printable(text) for text in left], lines=run.capture.left_out_lines)
        left.clear()
        run.capture.left_out_lines = 0


def _capture(run: _Run) -> None:
    """Run esxtop until the time is over or somebody stops it, again after each loss."""
    tries = 0
    while True:
        before = run.capture.samples
        if _connection(run) or run.wanted() == 0:
            return
        tries = 0 if run.capture.samples > before else tries + 1
        run.stop.wait(min(run.retry * 2 ** min(tries, 16), _LONGEST_PAUSE_S))


def _whole(interval: str | float | timedelta) -> int:
    step = seconds(interval, "interval")
    if step < _LEAST_S or step % 1:
        raise EsxparseError(f"interval {interval!s}: esxtop takes whole seconds, {_LEAST_S} at least")
    return int(step)


class _Power:
    """The poller of the host's BMC during a capture; does nothing without an address."""

    def __init__(self, redfish: str | None, username: str | None, options: dict[str, Any]) -> None:
        self._redfish = redfish
        self._options = options
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.failed: str | None = None
        self.gaps = 0
        if redfish is not None:
            # Ask for the password before anything begins.
            url = address(redfish, account=False, insecure=options["insecure"])
            options["account"] = find_account(urlsplit(url).hostname or "", username)

    def start(self, folder: Folder, say: Callable[[str], None]) -> None:
        redfish = self._redfish
        if redfish is None:
            return
        output = folder.make(POWER)

        def poll() -> None:
            try:
                self.gaps = power(redfish, output, append=True, stop=self._stop, say=say, **self._options).gaps
            except Exception as error:  # noqa: BLE001  nobody else would hear of it
                self.failed = str(error) if isinstance(error, EsxparseError) else repr(error)
            # Somebody may have removed it meanwhile.
            some = output.exists() and output.stat().st_size > 0
            if self.failed:
                say(f"no {'more ' if some else ''}power readings: {self.failed}")
            if not some:
                output.unlink(missing_ok=True)

        self._thread = threading.Thread(target=poll, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()


def host(
    target: str,
    output: str | os.PathLike[str],
    *,
    interval: str | float | timedelta = "5s",
    duration: str | float | timedelta | None = None,
    port: int | None = None,
    identity: str | os.PathLike[str] | None = None,
    ssh_config: str | os.PathLike[str] | None = None,
    redfish: str | None = None,
    username: str | None = None,
    ca: str | os.PathLike[str] | None = None,
    insecure: bool = False,
    auth: Auth = "auto",
    power_interval: str | float | timedelta = "10s",
    patience: float = 60.0,
    retry: float = 1.0,
    stop: threading.Event | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Captured:
    """Capture a host with esxtop over ssh until the duration is over, or `stop` is set.

    The host's key must be known, and a key or an agent must log in: there are no prompts. A lost connection is tried
    again, after 1, 2, 4 ... up to 60 s. The capture is readable at any moment, also by `esxparse.follow`.

    Args:
        target: `root@esx.example.com`, or a name of the ssh configuration.
        output: A directory, created if need be, without an earlier capture or other files of these names.
        interval: Time between samples: whole seconds, 2 at least.
        duration: How long to go on; by default forever.
        port: Port of the SSH server.
        identity: A private key, instead of the agent's and the configuration's.
        ssh_config: A configuration of ssh, instead of the user's.
        redfish: The address of its BMC, to poll for power meanwhile.
        username: Account of the BMC; its password comes as in `power`.
        ca: As in `power`.
        insecure: As in `power`.
        auth: As in `power`.
        power_interval: Time between two polls of the BMC.
        patience: Seconds without output from the host after which the connection counts as lost, 4 intervals at least.
        retry: Seconds before the first new try.
        stop: Ends the capture when it is set.
        say: Called with one line for each file begun, each loss and each return.

    Returns:
        The files, with their number of samples and gaps.

    Raises EsxparseError: The host cannot be reached at first, refuses the login, has no esxtop, or a file cannot be
    written. Earlier samples stay.
    """
    login = Login.of(target, port, identity, ssh_config)
    step = _whole(interval)
    length = None if duration is None else seconds(duration, "duration")
    if length is not None and length < step:
        raise EsxparseError(f"duration {duration!s} is shorter than the interval of {step} s: no sample would come")
    options = {"interval": power_interval, "ca": ca, "insecure": insecure, "auth": auth}
    bmc = _Power(redfish, username, options)
    stop = stop or threading.Event()
    begun = time.monotonic()

    def tell(text: str) -> None:
        say(text if text.startswith(login.host) else f"{login.host}: {text}")

    with claimed(Path(output).expanduser(), _name(login.host)) as (folder, capture, notes):
        known = facts.ask(login, patience, stop)
        if known is None:
            raise EsxparseError(f"{login.host}: stopped before the first sample: nothing is written")
        for name, text in known.files.items():
            folder.write(name, text)
        until = None if length is None else time.monotonic() + length
        quiet = max(patience, 4.0 * step)
        run = _Run(login, capture, notes, step, until, quiet, retry, stop, tell)
        run.note(collector=COLLECTOR, version=__version__, target=target, interval_s=step)
        about = {"release": known.release, "clock_offset_s": known.clock_offset_s, "failed": list(known.failed)}
        run.note(host=about)
        if known.failed:
            tell(f"no answer to {', '.join(known.failed)}")
        bmc.start(folder, tell)
        why = "done"
        try:
            _capture(run)
            run.end()
            why = run.lost or why
        except BaseException as error:
            why = str(error) or "interrupted"
            if capture.samples:
                tell(f"ended early, after {counted(capture.samples, 'sample')}")
            raise
        finally:
            bmc.end()
            run.note(end={"samples": capture.samples, "gaps": run.gaps, "why": why})
        if not capture.samples:
            raise EsxparseError(f"{login.host}: stopped before the first sample: nothing is written")
    took = time.monotonic() - begun
    return Captured(tuple(capture.files), capture.samples, run.gaps, took, bmc.failed, run.lost, bmc.gaps)


def _name(host: str) -> str:
    """Return a file name for a host."""
    return re.sub(r"[^\w.-]+", "_", host).strip("._") or "esx"
