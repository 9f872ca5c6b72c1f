r"""Instance texts to their parts: `1398610:ouranos:473737:vmx-vcpu-0:ouranos` to group, world and their ids.

VM names may hold anything but a backslash, including colons and digits. Texts are therefore parsed from the ends, with
the names that other objects of the capture show, never by a naive split. An instance of unexpected shape gets nulls, or
its whole text as the name (`instance` always has the text).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from esxparse.worlds import DISK_OF_VM

Instances = Sequence[str | None]
Known = Mapping[str, Instances]  # instances of each table of the capture
Parts = Mapping[str, Sequence[str | None]]
Parser = Callable[[Instances, Known], Parts]

_INTEGERS = frozenset({"group_id", "world_id", "port_id", "cpu", "partition", "pcpu", "p_state", "node"})
_DISK = re.compile(DISK_OF_VM, re.DOTALL)
_WORLD = re.compile(r"(?P<group>.*?):(?P<world_id>\d+):(?P<world>.*)", re.DOTALL)


def _by_pattern(pattern: str, name: str = "") -> Parser:
    """Return a parser for the groups of a pattern; without a match, part `name` gets the whole text."""
    whole = re.compile(pattern, re.DOTALL)

    def parse(instances: Instances, _known: Known) -> Parts:
        matches = [whole.fullmatch(text) if text is not None else None for text in instances]
        return {
            part: [
                match[part] if match else text if part == name else None
                for match, text in zip(matches, instances, strict=True)
            ]
            for part in whole.groupindex
        }

    return parse


def _groups(known: Known) -> dict[str, str]:
    """Return the names of groups by their ids."""
    texts = known.get("group_cpu", known.get("group_memory", ()))
    return {gid: name for gid, _, name in ((text or "").partition(":") for text in texts)}


def _vcpu(instances: Instances, known: Known) -> Parts:
    names = _groups(known)

    def split(text: str | None) -> tuple[str | None, str | None, str | None, str | None]:
        gid, _, rest = (text or "").partition(":")
        group = names.get(gid)
        if group is not None and rest.startswith(group + ":"):
            world_id, colon, world = rest[len(group) + 1 :].partition(":")
            if colon and world_id.isascii() and world_id.isdigit():
                return gid, group, world_id, world
        match = _WORLD.fullmatch(rest)
        return (gid, match["group"], match["world_id"], match["world"]) if match else (None, None, None, text)

    return _columns(("group_id", "group", "world_id", "world"), [split(text) for text in instances])


def _virtual_disk(instances: Instances, known: Known) -> Parts:
    names = set(_groups(known).values())
    matches = [None if text is None or text in names else _DISK.fullmatch(text) for text in instances]
    split = [(m["vm"], m["disk"]) if m else (text, None) for m, text in zip(matches, instances, strict=True)]
    return _columns(("vm", "disk"), split)


def _columns(names: Sequence[str], rows: Sequence[tuple[str | None, ...]]) -> Parts:
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


_GROUP = _by_pattern(r"(?P<group_id>[0-9]+):(?P<group>.*)", "group")
_COOKIE = _by_pattern(r"(?P<cookie>.*?)(?::CPU(?P<cpu>\d+))?")
_NUMBERED = r"(?:[^0-9]* )?(?P<{}>\d+)"

PARSERS: Mapping[str, Parser] = {
    "group_cpu": _GROUP,
    "group_memory": _GROUP,
    "vcpu": _vcpu,
    "virtual_disk": _virtual_disk,
    "network_port": _by_pattern(r"(?P<switch>.*?):(?P<port_id>\d+):(?:(?P<world_id>\d+):)?(?P<client>.*)", "client"),
    "interrupt_cookie": _COOKIE,
    "interrupt_vector": _COOKIE,
    "physical_disk": _by_pattern(r"(?P<adapter>[^:]+)?(?::(?P<path>.+)?)?"),
    "physical_disk_per_device_per_world": _by_pattern(r"(?P<device>.*)-(?P<world_id>\d+)", "device"),
    "physical_disk_partition": _by_pattern(r"(?P<device>.*)-(?P<partition>\d+)", "device"),
    "physical_cpu": _by_pattern(_NUMBERED.format("pcpu")),
    "pcpu_power_state": _by_pattern(_NUMBERED.format("pcpu")),
    "power": _by_pattern(_NUMBERED.format("p_state")),
    "numa_node": _by_pattern(_NUMBERED.format("node")),
}
"""Parser of the instances of each table; other tables have only `time` and `instance`."""

PART_NAMES: Mapping[str, tuple[str, ...]] = {
    table: ("time", "instance", *parser((), {})) for table, parser in PARSERS.items()
}
"""Columns of each table that are not counters, so that counters of the same name get another."""


def parts(table: str, instances: Instances, known: Known) -> pl.DataFrame:
    """Return `instance` and its parsed parts, one row per instance in the given order."""
    parser = PARSERS.get(table)
    columns = {"instance": instances, **(parser(instances, known) if parser else {})}
    texts = [pl.Series(name, values, dtype=pl.String) for name, values in columns.items()]
    # An id too long for 64 bits is not from esxtop: null rather than an error.
    return pl.DataFrame([text.cast(pl.Int64, strict=False) if text.name in _INTEGERS else text for text in texts])
