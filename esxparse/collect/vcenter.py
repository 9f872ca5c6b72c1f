"""Counters, tasks, events and the inventory of a vCenter, or of one cluster, host or VM, for a span of time.

Files
-----
counters.jsonl.gz   one line per object and interval, as a member of `sample` in `govc metric.sample -json`, with a name
tasks.json          as `govc tasks -json`, with the titles of the vSphere Client
events.json         as `govc events -json`, with user, object and host
inventory.json      rows of clusters, hosts, VMs, snapshots and datastores
collected.jsonl     what was collected: server, release, span; a line for what failed; times are the server's, UTC

The directory appears once everything in it is complete.
"""

from __future__ import annotations

import gzip
import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from esxparse.collect import vcenter_counters, vcenter_history, vcenter_inventory
from esxparse.collect.failures import ForbiddenError, MissingError, NoAnswerError
from esxparse.collect.lines import iso, seconds, unwritable
from esxparse.collect.vcenter_counters import Reading
from esxparse.collect.vcenter_inventory import Inventory
from esxparse.collect.vsphere_session import Session, session
from esxparse.errors import EsxparseError
from esxparse.formats.vcenter import collection
from esxparse.recording import counted
from esxparse.version import __version__
from esxparse.whole import Scratch, short_name

_LONGEST: Final = timedelta(days=366)
_LEAST: Final = timedelta(minutes=1)


@dataclass(frozen=True)
class Gathered:
    """The result of a collection."""

    folder: Path
    objects: int
    """Clusters, hosts, VMs and datastores in the inventory."""
    series: int
    values: int
    tasks: int
    events: int
    failed: tuple[tuple[str, str], ...]
    """What could not be read, and why."""
    seconds: float


def vcenter(
    server: str,
    output: str | os.PathLike[str],
    *,
    cluster: str | None = None,
    host: str | None = None,
    vm: str | None = None,
    last: str | float | timedelta = "1h",
    every_counter: bool = False,
    username: str | None = None,
    password_file: str | os.PathLike[str] | None = None,
    ca: str | os.PathLike[str] | None = None,
    thumbprint: str | None = None,
    insecure: bool = False,
    timeout: float = 60.0,
    stop: threading.Event | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Gathered:
    """Collect counters, tasks, events and the inventory of a vCenter.

    Hosts and VMs have real-time values (20 s) for the last hour. Longer spans, datastores and clusters have the values
    that the vCenter stores, at the shortest interval that it keeps for so long.

    Args:
        server: The vCenter: `vc.example.com` or `vc.example.com:8443`.
        output: A directory that does not exist, or is empty.
        cluster: Only this cluster, with its hosts, their VMs and datastores.
        host: Only this host, with its VMs and datastores.
        vm: Only this VM, with its host and its datastores.
        last: The span that ends now.
        every_counter: Read every counter that the server has, not the usual ones (`vcenter.toml`).
        username: As in `vsphere_session.session`; so are `password_file`, `ca`, `thumbprint`, `insecure`, `timeout`.
        password_file: See `username`.
        ca: See `username`.
        thumbprint: See `username`.
        insecure: See `username`.
        timeout: See `username`.
        stop: Ends the collection when it is set: nothing is written.
        say: Called with one line for each step.

    Raises EsxparseError: The server cannot be reached or stops to answer, rejects the account, has no object of that
    name, or the directory cannot be written.
    """
    if sum(one is not None for one in (cluster, host, vm)) > 1:
        raise EsxparseError("a cluster, a host and a VM cannot be combined: keep one")
    span = timedelta(seconds=seconds(last, "last"))
    if not _LEAST <= span <= _LONGEST:
        raise EsxparseError(f"last {last!s}: give a span from 1m to 366d")
    folder = Path(output).expanduser()
    _require_free(folder)
    begun = time.monotonic()
    with session(
        server,
        username=username,
        password_file=password_file,
        ca=ca,
        thumbprint=thumbprint,
        insecure=insecure,
        timeout=timeout,
        stop=stop,
    ) as one:
        now = one.call("asking for the time", lambda content: content.sessionManager.currentSession.lastActiveTime)
        inventory = vcenter_inventory.read(one)
        scope = vcenter_inventory.chosen(inventory, cluster, host, vm)
        say(_summary(scope))
        gathering = _Gathering(
            one, now.astimezone(UTC) - span, now.astimezone(UTC), scope, inventory, say, hosts_matter=vm is None
        )
        with _writing(folder) as part:
            made = gathering.write(part, folder, every_counter=every_counter)
            _put(part, folder)
    return Gathered(folder, len(scope.things), *made, tuple(gathering.failed), time.monotonic() - begun)


def _summary(scope: Inventory) -> str:
    things = {"cluster": scope.clusters, "host": scope.hosts, "VM": scope.vms, "datastore": scope.datastores}
    return ", ".join(counted(len(several), kind) for kind, several in things.items() if several)


def _require_free(folder: Path) -> None:
    """Refuse an output that exists, unless it is an empty directory.

    Raises EsxparseError: It does.
    """
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise EsxparseError(f"{folder} exists already: give another directory")
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from None


def _writing(folder: Path) -> Scratch:
    try:
        return Scratch(f".{short_name(folder.name)}.esxparse-", folder.parent)
    except OSError as error:
        raise unwritable(folder, error) from None


def _put(part: Path, folder: Path) -> None:
    try:
        with suppress(FileNotFoundError):
            folder.rmdir()
        (part / "collected").rename(folder)
    except OSError as error:
        raise unwritable(folder, error) from None


@dataclass
class _Gathering:
    """A collection: where from, for which span, and what failed."""

    session: Session
    begin: datetime
    end: datetime
    scope: Inventory
    whole: Inventory
    say: Callable[[str], None]
    hosts_matter: bool
    """Whether events of the hosts count, whatever VM they are about."""

    def __post_init__(self) -> None:
        self.failed: list[tuple[str, str]] = []

    def write(self, part: Path, folder: Path, *, every_counter: bool) -> tuple[int, int, int, int]:
        """Write the files; return the numbers of series, values, tasks and events.

        Raises EsxparseError: The server does not answer any more, or a file cannot be written.
        """
        inside = part / "collected"
        try:
            inside.mkdir()
            series, values = self._counters(inside / collection.COUNTERS, every_counter=every_counter)
            tasks, events = self._history(inside)
            rows = vcenter_inventory.tables(self.scope)
            _write(inside / collection.INVENTORY, [json.dumps(rows, ensure_ascii=False, indent=1)])
            _write(inside / collection.COLLECTED, map(_line, self._log(every_counter=every_counter)))
        except OSError as error:
            raise unwritable(folder, error) from None
        return series, values, tasks, events

    def _counters(self, path: Path, *, every_counter: bool) -> tuple[int, int]:
        reading = Reading(self.session, self.begin, self.end, every_counter, failed=self.failed)
        series = values = 0
        with gzip.open(path, "wb", compresslevel=4) as file:
            for member in reading.members(self.scope.things, self.say):
                series += len(member["value"])
                values += sum(len(one["value"]) for one in member["value"])
                file.write(vcenter_counters.line(member))
        return series, values

    def _history(self, inside: Path) -> tuple[int, int]:
        self.say("reading tasks and events")
        names = {one.id: one.name for one in self.whole.things}
        tasks = self._tried("tasks", lambda: vcenter_history.tasks(self.session, self.begin, self.end, names))
        events = self._tried("events", lambda: vcenter_history.events(self.session, self.begin, self.end))
        _write(inside / collection.TASKS, [json.dumps({"tasks": tasks}, ensure_ascii=False, indent=1)])
        _write(inside / collection.EVENTS, map(_line, events))
        return len(tasks), len(events)

    def _tried(self, what: str, read: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
        try:
            found = read()
        except (ForbiddenError, MissingError, NoAnswerError) as error:
            vcenter_counters.require_answer(self.session, error)
            self.failed.append((what, str(error)))
            return []
        if self.scope is self.whole:
            return found
        ids = {one.id for one in self.scope.things}
        # VMs may have left these hosts since; beside a single VM, its host's other VMs do not matter.
        hosts = {one.name for one in self.scope.hosts} if self.hosts_matter else set()
        return [one for one in found if one.get("entity", {}).get("value") in ids or one.get("host") in hosts]

    def _log(self, *, every_counter: bool) -> list[dict[str, Any]]:
        about = self.session.content.about
        first = {
            "time": iso(datetime.now(UTC)),
            "collector": collection.COLLECTOR,
            "version": __version__,
            "server": str(self.session.server),
            "release": about.fullName,
            "from": iso(self.begin),
            "to": iso(self.end),
            "every_counter": every_counter,
        }
        return [first, *({"failed": {"what": what, "why": why}} for what, why in self.failed)]


def _line(found: dict[str, Any]) -> str:
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def _write(path: Path, lines: Sequence[str] | Any) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", errors="replace")
