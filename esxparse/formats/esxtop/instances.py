r"""Instance texts to their parts: `1398610:ouranos:473737:vmx-vcpu-0:ouranos` to group, world and their ids.

VM names may hold anything but a backslash, colons and digits too, so texts are parsed from the ends and by what other
objects of the same capture say of a name, never by a naive split.

Each parser takes the instances of one object and gives its columns; an instance that does not have the expected shape
gets nulls (its raw text is always there in `instance`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from esxparse.worlds import DISK_OF_VM

Instances = Sequence[str | None]
Known = Mapping[str, Instances]
"""Instances of each table of the capture."""
Columns = dict[str, pl.Series]

_DISK = re.compile(DISK_OF_VM, re.DOTALL)
_PORT = re.compile(r"(?P<switch>.*?):(?P<port>\d+):(?:(?P<world>\d+):)?(?P<client>.*)", re.DOTALL)
_COOKIE = re.compile(r"(?P<cookie>.*?)(?::CPU(?P<cpu>\d+))?", re.DOTALL)
_WORLD = re.compile(r"(?P<group>.*?):(?P<world_id>\d+):(?P<world>.*)", re.DOTALL)
_DASHED = re.compile(r"(?P<device>.*)-(?P<number>\d+)", re.DOTALL)
_NUMBERED = re.compile(r"(?:[^0-9]* )?(?P<number>\d+)")


def _strings(name: str, values: Sequence[str | None]) -> pl.Series:
    return pl.Series(name, values, dtype=pl.String)


def _integers(name: str, values: Sequence[str | None]) -> pl.Series:
    # An id too long for 64 bits is no id of esxtop's: null rather than an error.
    return pl.Series(name, values, dtype=pl.String).cast(pl.Int64, strict=False)


def _matches(pattern: re.Pattern[str], instances: Instances) -> list[Mapping[str, str | None]]:
    found = (pattern.fullmatch(text) if text is not None else None for text in instances)
    return [match.groupdict() if match else {} for match in found]


def _get(matches: Sequence[Mapping[str, str | None]], key: str) -> list[str | None]:
    return [match.get(key) for match in matches]


def _group(instances: Instances, _known: Known) -> Columns:
    split = [(text or "").partition(":") for text in instances]
    right = [gid.isascii() and gid.isdigit() and colon for gid, colon, _ in split]
    return {
        "group_id": _integers("group_id", [gid if ok else None for (gid, _, _), ok in zip(split, right, strict=True)]),
        "group": _strings(
            "group",
            [name if ok else text for (_, _, name), ok, text in zip(split, right, instances, strict=True)],
        ),
    }


def _vcpu(instances: Instances, known: Known) -> Columns:
    names = {
        gid: name
        for gid, _, name in (
            (text or "").partition(":") for text in known.get("group_cpu", known.get("group_memory", ()))
        )
    }

    def split(text: str | None) -> tuple[str | None, str | None, str | None, str | None]:
        gid, _, rest = (text or "").partition(":")
        group = names.get(gid)
        if group is not None and rest.startswith(group + ":"):
            world_id, colon, world = rest[len(group) + 1 :].partition(":")
            if colon and world_id.isascii() and world_id.isdigit():
                return gid, group, world_id, world
        match = _WORLD.fullmatch(rest)
        return (gid, match["group"], match["world_id"], match["world"]) if match else (None, None, None, text)

    parts = [split(text) for text in instances]
    return {
        "group_id": _integers("group_id", [part[0] for part in parts]),
        "group": _strings("group", [part[1] for part in parts]),
        "world_id": _integers("world_id", [part[2] for part in parts]),
        "world": _strings("world", [part[3] for part in parts]),
    }


def _virtual_disk(instances: Instances, known: Known) -> Columns:
    names = {(text or "").partition(":")[2] for text in known.get("group_cpu", known.get("group_memory", ()))}

    def split(text: str | None) -> tuple[str | None, str | None]:
        match = None if text is None or text in names else _DISK.fullmatch(text)
        return (match["vm"], match["disk"]) if match else (text, None)

    parts = [split(text) for text in instances]
    return {"vm": _strings("vm", [part[0] for part in parts]), "disk": _strings("disk", [part[1] for part in parts])}


def _network_port(instances: Instances, _known: Known) -> Columns:
    matches = _matches(_PORT, instances)
    return {
        "switch": _strings("switch", _get(matches, "switch")),
        "port_id": _integers("port_id", _get(matches, "port")),
        "world_id": _integers("world_id", _get(matches, "world")),
        "client": _strings("client", [m.get("client", text) for m, text in zip(matches, instances, strict=True)]),
    }


def _interrupt_cookie(instances: Instances, _known: Known) -> Columns:
    matches = _matches(_COOKIE, instances)
    return {
        "cookie": _strings("cookie", _get(matches, "cookie")),
        "cpu": _integers("cpu", _get(matches, "cpu")),
    }


def _dashed(number: str, dtype: type[pl.DataType]) -> Callable[[Instances, Known], Columns]:
    def parse(instances: Instances, _known: Known) -> Columns:
        matches = _matches(_DASHED, instances)
        numbers = _get(matches, "number")
        devices = [match.get("device", text) for match, text in zip(matches, instances, strict=True)]
        series = _integers(number, numbers) if dtype is pl.Int64 else _strings(number, numbers)
        return {"device": _strings("device", devices), number: series}

    return parse


def _physical_disk(instances: Instances, _known: Known) -> Columns:
    split = [(text or "").partition(":") for text in instances]
    return {
        "adapter": _strings("adapter", [adapter or None for adapter, _, _ in split]),
        "path": _strings("path", [path or None for _, _, path in split]),
    }


def _numbered(name: str) -> Callable[[Instances, Known], Columns]:
    def parse(instances: Instances, _known: Known) -> Columns:
        return {name: _integers(name, _get(_matches(_NUMBERED, instances), "number"))}

    return parse


PARSERS: Mapping[str, Callable[[Instances, Known], Columns]] = {
    "group_cpu": _group,
    "group_memory": _group,
    "vcpu": _vcpu,
    "virtual_disk": _virtual_disk,
    "network_port": _network_port,
    "interrupt_cookie": _interrupt_cookie,
    "interrupt_vector": _interrupt_cookie,
    "physical_disk": _physical_disk,
    "physical_disk_per_device_per_world": _dashed("world_id", pl.Int64),
    "physical_disk_partition": _dashed("partition", pl.Int64),
    "physical_cpu": _numbered("pcpu"),
    "pcpu_power_state": _numbered("pcpu"),
    "power": _numbered("p_state"),
    "numa_node": _numbered("node"),
}
"""Table name to the parser of its instances; a table not named here has `time` and `instance` only."""

PART_NAMES: Mapping[str, tuple[str, ...]] = {
    table: ("time", "instance", *parser((), {})) for table, parser in PARSERS.items()
}
"""Columns of each table that are no counters, so that a counter of the same name is told apart."""


def parts(table: str, instances: Instances, known: Known) -> pl.DataFrame:
    """`instance` and its parsed parts, one row per instance in the order given."""
    parser = PARSERS.get(table)
    columns = parser(instances, known) if parser else {}
    return pl.DataFrame([_strings("instance", instances), *columns.values()])
