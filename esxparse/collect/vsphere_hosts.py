"""The hosts of a vCenter, or the only one of an ESXi host: found by name, with their release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from esxparse.collect.failures import MissingError, NoAnswerError
from esxparse.collect.vsphere_session import Session, properties
from esxparse.errors import EsxparseError
from esxparse.recording import counted, printable

_ESXI: Final = "HostAgent"
_SHOWN: Final = 8
_PATHS: Final = ("name", "config.product.version", "config.product.build", "configManager.dateTimeSystem")


@dataclass(frozen=True)
class EsxHost:
    """A host, as the inventory has it."""

    name: str
    release: str | None
    build: str | None
    direct: bool
    """Whether the session is with the host itself, without a vCenter."""


def find(session: Session, name: str | None) -> tuple[EsxHost, float | None]:
    """Return a host, and how many seconds its clock is ahead of ours; None if it does not tell.

    Args:
        session: With a vCenter or the host itself.
        name: Its name in the inventory, or the part before the domain; may be None if there is only one host.

    Raises:
        EsxparseError: There is no such host, there are several, or it cannot be asked.
    """
    direct = session.content.about.apiType == _ESXI
    found = session.call("RetrieveProperties", _every, renew=True)
    # The name under which an ESXi host knows itself may be any.
    one = found[0] if direct and len(found) == 1 else _named(found, name)
    host = EsxHost(one["name"], one.get(_PATHS[1]), one.get(_PATHS[2]), direct)
    return host, _skew(session, one.get("configManager.dateTimeSystem"))


def _named(hosts: Sequence[dict[str, Any]], name: str | None) -> dict[str, Any]:
    names = sorted(one["name"] for one in hosts)
    listed = ", ".join(printable(one) for one in names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    if not hosts:
        raise EsxparseError("this account sees no host: give it a role on the hosts")
    if name is None:
        if len(hosts) == 1:
            return hosts[0]
        raise EsxparseError(f"{counted(len(hosts), 'host')}: choose one with --host ({listed})")
    wanted = name.lower()
    for matches in (
        [one for one in hosts if one["name"] == name],
        [one for one in hosts if one["name"].lower() == wanted],
        [one for one in hosts if one["name"].lower().partition(".")[0] == wanted],
    ):
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise EsxparseError(f"several hosts are called {name}: give the whole name")
    raise EsxparseError(f"no host {name} that this account can see: there are {listed}")


def _every(content: Any) -> list[dict[str, Any]]:
    """Return name, release and clock of each host."""
    return [one for _, one in properties(content, {"HostSystem": _PATHS}) if one.get("name")]


def _skew(session: Session, clock: Any) -> float | None:
    if clock is None:
        return None
    before = datetime.now(UTC)
    try:
        read: datetime = session.call("QueryDateTime", lambda _: clock.QueryDateTime())
    except (NoAnswerError, MissingError):
        return None
    after = datetime.now(UTC)
    return round((read.astimezone(UTC) - (before + (after - before) / 2)).total_seconds(), 3)
