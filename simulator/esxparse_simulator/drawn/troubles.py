"""What happens to a drawn host: troubles, and what is none, by the catalogue, in spells of several shapes.

A change is a place in the host's tables, the key below it and a value; a spell's value is a phase. What a trouble
changes is kept by its name, so that the host can be made without it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from math import fsum, sqrt
from typing import Any

from esxparse_simulator.drawn.host import Dice, stores_of
from esxparse_simulator.model.engine import moments
from esxparse_simulator.model.layout import Layout
from esxparse_simulator.model.memory import fixed_of, min_free, room
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.scenario import parse_scenario

Tree = dict[str, Any]
Place = tuple[str | int, ...]
Things = Mapping[str, Place]
Change = tuple[Place, str, Any]

_SHAPES = ("step", "step", "ramp", "relapse", "pulses", "drift")
_WHOLE = {"vcpus", "memory_mb", "cpu_limit_mhz", "memory_limit_mb", "queue_depth"}
_CLOCK = ("clock_jump",)
_COMES = 0.4  # of the VMs that move come to the host; the others leave it


class Happening:
    """A host's tables with what its troubles are laid on (`tree`), and what each of them changes."""

    def __init__(self, tree: Tree, dice: Dice) -> None:
        """A host to which nothing has happened yet."""
        self.tree, self.dice = tree, dice
        self.lasts = tree["samples"] * tree["interval"]
        *_, self.last = moments(tree["samples"], tree["interval"], Noise(tree["seed"], tree["untidy"]))
        self._changes: dict[str, list[Change]] = {}
        self._led: dict[str, list[Tree]] = {}
        self._taken: set[Place] = set()

    def fits(self, row: Tree) -> bool:
        """Whether the host has what a row of the catalogue needs."""
        has = {
            "nodes": self.tree["host"]["sockets"] > 1,
            **{kind: bool(of) for kind, of in stores_of(self.tree).items()},
        }
        return bool(has.get(str(row.get("host")), True))

    def tree_with(self, troubles: set[str]) -> Tree:
        """The host's tables with these of its troubles."""
        tree = copy.deepcopy(self.tree)
        for name, changes in self._changes.items():
            for change in changes if name in troubles else ():
                _put(tree, *change)
        return tree

    def trouble(self, row: Tree, severity: float) -> list[Tree]:
        """Lets a trouble happen; its truths, one for each thing that shows it."""
        things, shows = self._things(row), "Transmitted"
        if "before" in row and self.dice.chance(_COMES):
            row, shows = {key: value for key, value in row.items() if key != "after"}, "Received"
        elif "before" in row:
            row = {key: value for key, value in row.items() if key != "before"}
        self._base(row, severity, things)
        shape = self.dice.one(row.get("shapes", _SHAPES)) if "spell" in row or "clock" in row else "whole"
        spells = self._led.get(row["id"]) or list(self._spells(shape))
        self._led |= dict.fromkeys(row.get("leads", ()), spells)
        self._changes[row["id"]] = list(self._changed(row, severity, things, spells))
        extent = self._extent(spells, shape)
        about = {
            "trouble": row["id"],
            "start": extent["start"],
            "end": extent["end"],
            "severity": round(severity, 3),
            "shape": shape,
            "spells": extent["spells"],
        }
        return [
            {
                **about,
                "where": self._location(things, where),
                "shows": [name.replace("Transmitted", shows) for name in truth.get("shows", [])],
                **{key: truth.get(key, []) for key in ("not", "also")},
            }
            for truth, where in zip(row["truths"], row["where"], strict=False)
        ]

    def background(self, row: Tree) -> Tree:
        """Lets something happen that is no trouble, and tells of it."""
        things, severity = self._things(row), self.dice.between(0.0, 1.0)
        self._base(row, severity, things)
        shape = self.dice.one(row.get("shapes", ("whole",)))
        spells = list(self._spells(shape))
        for change in list(self._changed(row, severity, things, spells)):
            _put(self.tree, *change)
        extent, where = self._extent(spells, shape), self._location(things, row["where"])
        when = {"start": extent["start"], "end": extent["end"]}
        return {"is": "background", "id": row["id"], "where": where, **when, "what": row["what"]}

    def _extent(self, spells: Sequence[Tree], shape: str) -> Tree:
        """Begin and end of spells as far as there are samples, of which the last is late; by then, what never ends."""
        ends = [(spell["start"], self.last if shape == "whole" else spell["end"]) for spell in spells]
        seen = [(start, min(self.last, end)) for start, end in ends if start < self.last] or [ends[0][:1] * 2]
        rounded = [[round(start, 1), round(end, 1)] for start, end in seen]
        return {"start": seen[0][0], "end": seen[-1][1], "spells": rounded}

    def _things(self, row: Tree) -> dict[str, Place]:
        """Places in the tables by the words of the catalogue: a VM is drawn, and with it what it uses."""
        tree, dice = self.tree, self.dice
        vms, stores = tree["vm"], stores_of(tree).get(str(row.get("host")), [])
        place = dice.one([n for n in range(len(vms)) if ("vm", n) not in self._taken] or range(len(vms)))
        self._taken.add(("vm", place))
        disk = vms[place]["disks"][0]
        if stores and disk["target"] not in stores:
            disk["target"] = dice.one(stores)
        same = [n for n, vm in enumerate(vms) if vm["node"] == vms[place]["node"] and n != place]
        same = [n for n in same if ("vm", n) not in self._taken] or same
        victim = dice.one(same or [(place + 1) % len(vms)])
        if "shared" in row and ("vm", victim) not in self._taken:
            vms[victim]["disks"][0]["target"] = disk["target"]
            self._taken.add(("vm", victim))
        found: dict[str, Place] = {
            "host": ("host",),
            "vm": ("vm", place),
            "victim": ("vm", victim),
            "quiet": ("vm", min(range(len(vms)), key=lambda n: vms[n]["load"]["rx_pps"])),
            "nic": ("switch", 0, "uplinks", place % 2),
            "other": ("switch", 0, "uplinks", 1 - place % 2),
            "motion": ("switch", 1, "uplinks", 0),
        }
        if "spare" in row:
            tree["device"].append({**row["spare"], "phase": []})
            found["spare"] = ("device", len(tree["device"]) - 1)
        for table in ("device", "nfs", "vsan"):
            names = [each["name"] for each in tree[table]]
            found |= {table: (table, names.index(disk["target"]))} if disk["target"] in names else {}
        return found

    def _location(self, things: Things, where: str) -> str:
        words = {name: _at(self.tree, place)["name"] for name, place in things.items()}
        if "device" in things:
            paths = _at(self.tree, things["device"])["paths"]
            words |= {"path": paths[-1], "adapter": paths[0].partition(":")[0]}
        # the model binds the interrupts of its vectors, adapters first, to every third PCPU
        vector = len(self.tree["adapter"]) + int(things["nic"][3])
        return where.format(**words, vmk="vmk1", pcpu=3 * vector % _pcpus(self.tree["host"]))

    def _places(self, things: Things, name: str) -> Sequence[Place]:
        if name in {"vms", "adapters"}:
            rows = self.tree[name[:-1]]
            return [(name[:-1], n) for n in range(name == "adapters", len(rows))]
        return [things[name]]

    def _of(self, name: str, things: Things) -> float:
        """A quantity of the host as it is now, by its name in the catalogue."""
        tree, host, vm = self.tree, self.tree["host"], _at(self.tree, things["vm"])
        if name in {"tight", "short"}:  # memory, and how many times more its VMs may use until balloons are
            scenario = parse_scenario(tree)
            needs = 0.94 * fsum(row["load"]["used_mb"] for row in tree["vm"])
            free = room(scenario.host, fixed_of(Layout(scenario))) - 0.8 * min_free(scenario.host)
            return host["memory_mb"] + 1.06 * needs - free if name == "tight" else free / needs
        line = _at(tree, things["nic"])["mbits"] * 125_000.0
        found: dict[str, float] = {
            "fill": 0.985 * _pcpus(host) / fsum(row["vcpus"] * row["load"]["cpu"] / 100.0 for row in tree["vm"]),
            "vm_mhz": vm["vcpus"] * vm["load"]["cpu"] / 100.0 * host["all_core_mhz"],
            "node_pcpus": _pcpus(host) / host["sockets"],
            "vm_mb": vm["memory_mb"],
            "slower": 100 if line <= 1000 * 125_000.0 else 1000,
            "line_pps": line / 8_500.0,
            "line_frames": line / 1_538.0,
            "motion_mb": _at(tree, things["motion"])["mbits"] * 0.11,
            "turbo": host["turbo_mhz"],
            "nominal": host["mhz"],
        }
        return found[name]

    def _value(self, change: Any, severity: float, was: float, things: Things) -> Any:
        if not isinstance(change, dict):
            return change
        value = _graded(change.get("to") or change["times"], severity)
        value *= was if "times" in change else 1.0
        value *= self._of(change["of"], things) if "of" in change else 1.0
        value = max(value, _graded(change["least"], severity)) if "least" in change else value
        return min(change.get("most", value), value)

    def _base(self, row: Tree, severity: float, things: Things) -> None:
        for key, change in row.get("base", {}).items():
            name, _, path = key.partition(".")
            for place in self._places(things, name):
                _put(self.tree, place, path, self._value(change, severity, _current(self.tree, place, path), things))

    def _changed(self, row: Tree, severity: float, things: Things, spells: Sequence[Tree]) -> Iterator[Change]:
        if "clock" in row:
            by = self._value(row["clock"], severity, 0.0, things)
            yield _CLOCK, "phase", {"second": spells[0]["start"], "by": by}
            yield _CLOCK, "phase", {"second": spells[-1]["end"], "by": -by}
        before = {"start": 0.0, "end": spells[-1]["end"], "level": 1.0}
        after = {"start": spells[-1]["end"], "end": 10.0 * self.lasts, "level": 1.0}
        for part, when in (("always", [after]), ("before", [before]), ("spell", spells), ("after", [after])):
            for key, change in row.get(part, {}).items():
                name, _, path = key.partition(".")
                for place in self._places(things, name):
                    base_path = f"load.{path}" if part != "always" and place[0] == "vm" else path
                    was = _current(self.tree, place, base_path)
                    for spell in when:
                        value = self._value(change, severity * spell["level"], was, things)
                        phase = {key: number for key, number in spell.items() if key != "level"} | {path: value}
                        yield (place, path, value) if part == "always" else (place, "phase", phase)

    def _spells(self, shape: str) -> Iterator[Tree]:
        """Spells of a shape: begin and end, seconds of coming and going, the part of its severity that each has."""
        dice = self.dice
        start = dice.between(0.1, 0.6) * self.lasts
        long = max(4.0 * self.tree["interval"], dice.between(0.15, 0.5) * self.lasts)

        def spell(begin: float, seconds: float, level: float = 1.0, rise: float = 0.0, fall: float = 0.0) -> Tree:
            return {"start": begin, "end": begin + seconds, "rise": rise, "fall": fall, "level": level}

        if shape == "ramp":
            yield spell(start, long, rise=0.4 * long, fall=0.2 * long)
        elif shape == "drift":
            yield spell(start, long, rise=0.95 * long)
        elif shape == "relapse":
            for n in range(2 + dice.chance(0.4)):
                seconds = long * dice.between(0.25, 0.5)
                yield spell(start, seconds, 1.0 if n == 0 else dice.between(0.5, 1.0))
                start += seconds + long * dice.between(0.1, 0.4)
        elif shape == "pulses":
            period, part = dice.between(20.0, 70.0), dice.between(0.3, 0.7)
            yield from (spell(start + n * period, period * part) for n in range(max(2, int(long / period))))
        elif shape == "stairs":
            yield from (
                spell(start + n * long / 4.0, long / 4.0, level) for n, level in enumerate((0.4, 0.7, 1.0, 0.6))
            )
        else:
            yield spell(start, long) if shape == "step" else spell(0.0, self.lasts)


def _graded(ends: Sequence[float], severity: float) -> float:
    """From mild to severe: nearly as many times more from mild to the middle as from there to severe."""
    mild, severe = ends
    rest, middle = 1.0 - severity, sqrt(mild * severe)
    return rest * rest * mild + 2.0 * rest * severity * middle + severity * severity * severe


def _pcpus(host: Tree) -> int:
    return int(host["sockets"] * host["cores_per_socket"] * host["threads_per_core"])


def _at(tree: Tree, place: Place) -> Any:
    found: Any = tree
    for step in place:
        found = found[step]
    return found


def _current(tree: Tree, place: Place, path: str) -> float:
    row = _at(tree, place)
    for step in path.split("."):
        row = row.get(step, 0.0)
    return row if isinstance(row, int | float) else 0.0


def _put(tree: Tree, place: Place, path: str, value: Any) -> None:
    if path == "phase":
        row = tree.setdefault("clock_jump", []) if place == _CLOCK else _at(tree, place)["phase"]
        row.append(value)
        return
    *steps, last = path.split(".")
    _at(tree, (*place, *steps))[last] = max(1, int(value)) if last in _WHOLE else value
