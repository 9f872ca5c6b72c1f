"""Hosts drawn at random, with troubles, with what only looks like one, or with neither: `drawn.toml` says what of.

A seed gives a host: its size, release, hardware, VMs and their names, which fields are captured, how long and how
often. `truth.toml` tells what is wrong with it, and since when that can be seen.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

from esxparse_simulator.drawn.host import Dice, host_tree
from esxparse_simulator.drawn.troubles import Happening
from esxparse_simulator.experiment import Experiment, FileSpec, parse_experiment
from esxparse_simulator.limits import known, need
from esxparse_simulator.scenario import parse_scenario

_HEALTHY = 0.3  # of hosts drawn without a word about troubles have none, and
_TWO = 0.3  # of the others have two, of which
_LED = 0.5  # the second comes of the first, where something does


def _catalogue() -> dict[str, Any]:
    """What hosts are drawn from; each trouble with the truths of its fault."""
    place = files("esxparse_simulator")
    tree = tomllib.loads((place / "drawn" / "drawn.toml").read_text(encoding="utf-8"))
    for row in tree["trouble"]:
        fault = tomllib.loads((place / "faults" / f"{row['fault']}.toml").read_text(encoding="utf-8"))
        row |= {"id": fault["truth"][0]["trouble"], "truths": fault["truth"]}
    return tree


def trouble_names() -> tuple[str, ...]:
    """The troubles that a host can be drawn with, sorted."""
    return tuple(sorted(row["id"] for row in _catalogue()["trouble"]))


def random_experiment(
    seed: int,
    *,
    troubles: Sequence[str] | None = None,
    severity: float | None = None,
    background: int | None = None,
    samples: int | None = None,
    interval: float | None = None,
) -> Experiment:
    """One capture of a host drawn by `seed`.

    Args:
        seed: Of everything.
        troubles: Names as `trouble_names` lists them, () for none (None: drawn; three hosts of ten have none).
        severity: From 0 (mild) to 1 (severe), of all troubles (None: each its own).
        background: How many things it has that are no trouble (None: 2 to 6).
        samples: Of the capture (None: drawn).
        interval: Seconds between them (None: drawn).

    Raises:
        ScenarioError: A trouble that there is not, or a number that cannot be.
    """
    has = _catalogue()
    kinds = {row["id"]: row for row in has["trouble"]}
    for name in troubles or ():
        known(name, kinds, f"no trouble {name!r} to draw")
    need(severity is None or 0.0 <= severity <= 1.0, f"severity {severity} is not from 0 (mild) to 1 (severe).")
    most = len(has["background"])
    need(background is None or 0 <= background <= most, f"background {background} is not from 0 to {most}.")
    dice = Dice(seed)
    drawn = _some(has["trouble"], dice) if not dice.chance(_HEALTHY) else []
    wanted = [kinds[name] for name in dict.fromkeys(drawn if troubles is None else troubles)]
    overrides = {"samples": samples, "interval": interval}
    tree = host_tree(has, dice, {str(row.get("host")) for row in wanted}, seed, overrides)
    return _experiment(has, dice, tree, wanted, severity, background)


_SHARED = (("host.", "vms."), ("nic.", "other."))  # what only one thing that is drawn may change


def _shared(row: dict[str, Any]) -> set[tuple[str, ...]]:
    """What else would be changed twice: the host or all of its VMs, the uplinks of its VMs."""
    keys = [key for part in ("base", "always", "spell") for key in row.get(part, ())]
    return {names for names in _SHARED if any(key.startswith(names) for key in keys)}


def _some(kinds: Sequence[dict[str, Any]], dice: Dice) -> list[str]:
    """One trouble or two, the second one that the first leads to or any other."""
    first, two, led = dice.one(kinds), dice.chance(_TWO), dice.chance(_LED)
    # two that prepare the host in the same way would hide each other
    beside = [row["id"] for row in kinds if not set(row.get("base", ())) & set(first.get("base", ()))]
    more = first["leads"] if led and "leads" in first else beside
    return [first["id"], dice.one(more)] if two else [first["id"]]


def _experiment(
    has: dict[str, Any],
    dice: Dice,
    tree: dict[str, Any],
    wanted: Sequence[dict[str, Any]],
    severity: float | None,
    background: int | None,
) -> Experiment:
    happening = Happening(tree, dice)
    truths = [
        truth
        for row in wanted
        for truth in happening.trouble(row, dice.between(0.0, 1.0) if severity is None else severity)
    ]
    taken = {names for row in wanted for names in _shared(row)}
    left = [row for row in has["background"] if happening.fits(row) and not taken & _shared(row)]
    for _ in range(int(dice.between(2, 7)) if background is None else background):
        if left:
            left.remove(row := dice.one(left))
            truths.append(happening.background(row))
    release, every = dice.one(has["releases"]), dice.chance(0.5) or any("all_counters" in row for row in wanted)
    spec = FileSpec("esxtop", f"{tree['name']}.csv", {"release": release, "all_counters": every})
    about = {
        "is": "drawn",
        **{key: tree[key] for key in ("seed", "samples", "interval", "untidy")},
        **spec.options,
        "vms": len(tree["vm"]),
    }
    names = {row["id"] for row in wanted}
    for truth in truths:
        if "not" in truth:
            truth["not"] = [name for name in truth["not"] if name not in names]
    made = parse_experiment(happening.tree_with(names))
    without = {name: parse_scenario(happening.tree_with(names - {name})) for name in sorted(names)}
    (run,) = made.runs
    return replace(made, runs=(replace(run, files=(spec,), truths=(about, *truths), without=without),))
