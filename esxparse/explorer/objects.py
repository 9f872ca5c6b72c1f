"""The page of one object: everything about a VM, a device or an uplink on one axis of time, and its neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import polars as pl

from esxparse import toml
from esxparse.charts.reduce import MAX_SERIES
from esxparse.derived.capture import Capture
from esxparse.derived.of_recording import lacking
from esxparse.errors import EsxparseError, did_you_mean
from esxparse.metrics import network
from esxparse.recording import Recording, printable

_PAGES: Final = toml.beside(__file__)
_BY_WORLD: Final = "physical_disk_per_device_per_world"
_DEVICES: Final = "physical_disk_scsi_device"
_DISKS: Final = "virtual_disk"
_PORTS: Final = "network_port"
_IN_USE: Final = 1.0
"""Commands a second from which on a VM uses a device."""
KINDS: Final = tuple(_PAGES)


class Objects:
    """The VMs, devices and uplinks of a recording, and their connections."""

    def __init__(self, rec: Recording) -> None:
        self.rec = rec
        self._capture = Capture(rec.tables)

    @cached_property
    def known(self) -> dict[str, str]:
        """The kind of every object that has a page, by its name; empty for other formats than esxtop."""
        if "vm" not in self.rec.derived:
            return {}
        found = dict.fromkeys(self.ports.filter(kind="uplink")["client"], "uplink")
        if _DEVICES in self.rec:
            found |= dict.fromkeys(self._unique(_DEVICES, "instance")["instance"], "device")
        return found | dict.fromkeys(self._capture.entities.collect()["entity"], "vm")

    @cached_property
    def ports(self) -> pl.DataFrame:
        """`switch, client, kind` of each port."""
        if _PORTS not in self.rec:
            return pl.DataFrame(schema=dict.fromkeys(("switch", "client", "kind"), pl.String))
        frame = self.rec.tables[_PORTS]
        return frame.select("switch", "client", network.kind()).unique(maintain_order=True).drop_nulls().collect()

    @cached_property
    def users(self) -> pl.DataFrame:
        """`device, instance, vm, iops`: the mean commands of each world of a VM on each device, the most first."""
        if not {_BY_WORLD, "vcpu"} <= set(self.rec):
            return pl.DataFrame(
                schema={"device": pl.String, "instance": pl.String, "vm": pl.String, "iops": pl.Float64}
            )
        frame = self.rec.tables[_BY_WORLD]
        iops = pl.col("commands_per_sec").mean().fill_null(0.0)
        each = frame.group_by("device", "instance", "world_id", maintain_order=True).agg(iops=iops).collect()
        found = each.join(self._capture.worlds, on="world_id").rename({"entity": "vm"})
        return found.select("device", "instance", "vm", "iops").sort("iops", descending=True, maintain_order=True)

    def page(self, kind: str, name: str) -> dict[str, Any]:
        """Return the page of an object.

        Returns `kind`, `name`, `title`, `panels` (as in a view), `related` (its neighbours: `kind`, `name`).

        Raises EsxparseError: There is no such object.
        """
        self.check(kind, name)
        around = self._around(kind, name)
        panels = [made for one in _PAGES[kind]["panels"] if (made := self._panel(one, around.get(one["of"], {})))]
        neighbours = [*around.get("devices", {}), *around.get("uplinks", {}), *around.get("vms", {})]
        return {
            "kind": kind,
            "name": name,
            "title": f"{_PAGES[kind]['noun']} {printable(name)}",
            "panels": panels,
            "related": [{"kind": self.known[one], "name": one} for one in neighbours if one in self.known],
        }

    def check(self, kind: str, name: str) -> None:
        """Check that the recording has an object of that kind and name.

        Raises EsxparseError: It has none.
        """
        there = sorted(one for one, what in self.known.items() if what == kind)
        if name not in there:
            noun = _PAGES[kind]["noun"]
            have = f"{did_you_mean(name, there)}it has {', '.join(map(printable, there))}" if there else "it has none"
            raise EsxparseError(f"{self.rec.source} has no {noun} {printable(str(name))!r}: {have}")

    def _around(self, kind: str, name: str) -> dict[str, dict[str, str]]:
        """Return the objects of a page, by the word for them: the name or instance of each, and its title."""
        found: dict[str, dict[str, str]] = {"itself": {name: name}}
        if kind == "vm":
            mine = self.users.filter(vm=name)
            found["devices"] = _themselves(mine["device"])
            found["disks"] = self._disks(name)
            found["uplinks"] = _themselves(self._of_switches(name, "uplink"))
        elif kind == "device":
            mine = self.users.filter(pl.col("iops") >= _IN_USE, device=name)
            found["users"] = _told_apart(mine.head(MAX_SERIES))
            found["vms"] = _themselves(mine["vm"])
        else:
            found["vms"] = _themselves(self._of_switches(name, "vm"))
        return found

    def _disks(self, name: str) -> dict[str, str]:
        if _DISKS not in self.rec:
            return {}
        disks = self._unique(_DISKS, "instance", "vm", "disk").filter(vm=name).drop_nulls("disk")
        return dict(disks.select("instance", "disk").rows())

    def _of_switches(self, client: str, kind: str) -> pl.Series:
        """Return the clients of a kind at the switches of another client."""
        switches = self.ports.filter(client=client)["switch"]
        return self.ports.filter(pl.col("switch").is_in(switches.to_list()), kind=kind)["client"]

    def _unique(self, table: str, *columns: str) -> pl.DataFrame:
        return self.rec.tables[table].select(columns).unique(maintain_order=True).drop_nulls(columns[0]).collect()

    def _panel(self, one: Mapping[str, Any], of: Mapping[str, str]) -> dict[str, Any] | None:
        """Return a panel of a view; None if the recording has none of its objects or counters."""
        table = one["table"]
        if table in self.rec.derived:
            missing = lacking(self.rec, table)
            there = [counter for counter in one["counters"] if counter not in missing]
        else:
            columns = self.rec.tables[table].collect_schema().names() if table in self.rec else []
            there = [counter for counter in one["counters"] if counter in columns]
        if not of or not there:
            return None
        first, *more = there
        return {
            "title": one["title"],
            "table": table,
            "counter": first,
            "more": more,
            "only": dict(of),
            "n": MAX_SERIES,
        }


def _themselves(names: pl.Series) -> dict[str, str]:
    return {name: name for name in names.unique(maintain_order=True)}


def _told_apart(users: pl.DataFrame) -> dict[str, str]:
    """Return the instance of each world, and its VM; with the world if a VM has several."""
    world = pl.col("instance").str.extract(r"([^-:]+)$", 1)
    label = pl.when(pl.col("vm").is_duplicated()).then(pl.format("{} ({})", "vm", world)).otherwise("vm")
    return dict(users.select("instance", label=label).rows())
