"""Tasks and events of a vCenter in a span of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

from esxparse.collect.lines import iso
from esxparse.collect.vcenter_counters import patiently
from esxparse.collect.vcenter_inventory import identity
from esxparse.collect.vsphere_session import Session, types

_PAGE: Final = 500
_MOST: Final = 100_000
"""Most tasks, and most events: an hour of a large vCenter has some thousands."""
_OTHER_REASONS: Final = {
    "TaskReasonSchedule": "scheduled task",
    "TaskReasonAlarm": "alarm",
    "TaskReasonSystem": "system",
}

_ABOUT: Final = (("vm", "vm"), ("host", "host"), ("ds", "datastore"), ("computeResource", "computeResource"))
"""Arguments of an event, and the attribute of each that refers to its object."""

Document = dict[str, Any]


def tasks(session: Session, begin: datetime, end: datetime, names: Mapping[str, str]) -> list[Document]:
    """Return the tasks that started in the span, as `govc tasks -json` has them, with the titles of the vSphere Client.

    `names` has the name of each object by its identifier.
    """
    labels = patiently(session, "reading the titles of tasks", _labels)
    found = patiently(session, "reading tasks", lambda content: list(_tasks(content, begin, end)))
    return [_task(one, labels, names) for one in found if _is_inside(one.startTime or one.queueTime, begin, end)]


def _is_inside(time: datetime | None, begin: datetime, end: datetime) -> bool:
    return time is not None and begin <= time <= end


def _labels(content: Any) -> dict[str, str]:
    return {one.key: one.label for one in content.taskManager.description.methodInfo}


def _tasks(content: Any, begin: datetime, end: datetime) -> Iterator[Any]:
    vim, _ = types()

    by_time = vim.TaskFilterSpec.ByTime(timeType="startedTime", beginTime=begin, endTime=end)
    collector = content.taskManager.CreateCollectorForTasks(vim.TaskFilterSpec(time=by_time))
    yield from _read(collector, collector.ReadNextTasks)


def _read(collector: Any, more: Callable[[int], list[Any]]) -> Iterator[Any]:
    """Yield everything that a collector of history has, and destroy it."""
    try:
        count = 0
        while (page := more(_PAGE)) and count < _MOST:
            yield from page
            count += len(page)
    finally:
        with suppress(Exception):
            collector.DestroyCollector()


def _task(one: Any, labels: Mapping[str, str], names: Mapping[str, str]) -> Document:
    kind, number = identity(one.entity) if one.entity is not None else ("", "")
    reason = type(one.reason).__name__.rpartition(".")[2]
    user = getattr(one.reason, "userName", None) or _OTHER_REASONS.get(reason)
    error = getattr(one.error, "localizedMessage", None) or getattr(one.error, "msg", None)
    found = {
        "key": one.key,
        "name": labels.get(one.descriptionId) or one.descriptionId,
        "descriptionId": one.descriptionId,
        "entity": {"type": kind, "value": number} if number else None,
        "entityName": names.get(number) or one.entityName,
        "state": str(one.state),
        "error": {"localizedMessage": error} if error else None,
        "reason": {"userName": user} if user else None,
        "queueTime": _iso(one.queueTime),
        "startTime": _iso(one.startTime),
        "completeTime": _iso(one.completeTime),
    }
    return {name: value for name, value in found.items() if value is not None}


def _iso(time: datetime | None) -> str | None:
    return iso(time, "microseconds") if time is not None else None


def events(session: Session, begin: datetime, end: datetime) -> list[Document]:
    """Return the events of the span, as `govc events -json` has them, with user, object and host."""
    found = patiently(session, "reading events", lambda content: list(_events(content, begin, end)))
    return [_event(one) for one in found if _is_inside(one.createdTime, begin, end)]


def _events(content: Any, begin: datetime, end: datetime) -> Iterator[Any]:
    vim, _ = types()

    by_time = vim.event.EventFilterSpec.ByTime(beginTime=begin, endTime=end)
    collector = content.eventManager.CreateCollectorForEvents(vim.event.EventFilterSpec(time=by_time))
    yield from _read(collector, collector.ReadNextEvents)


def _event(one: Any) -> Document:
    # The object that it is about: the narrowest that it names.
    about, reference = next(
        ((found, getattr(found, attribute)) for kind, attribute in _ABOUT if (found := getattr(one, kind, None))),
        (None, None),
    )
    kind, number = identity(reference) if reference is not None else ("", "")
    found = {
        "type": getattr(one, "eventTypeId", None) or type(one).__name__.rpartition(".")[2],
        "createdTime": _iso(one.createdTime),
        "category": getattr(one, "severity", None),
        "message": (one.fullFormattedMessage or getattr(one, "message", None) or "").strip() or None,
        "key": one.key,
        "chainId": one.chainId,
        "userName": one.userName or None,
        "entity": {"type": kind, "value": number} if number else None,
        "entityName": about.name if about is not None else None,
        "host": one.host.name if one.host is not None else None,
    }
    return {name: value for name, value in found.items() if value is not None}
