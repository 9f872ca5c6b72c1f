"""Counters of objects to the columns of a batch capture, as `mapping.toml` has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

import msgspec
import polars as pl

from esxparse import toml
from esxparse.counters.catalogue import lookup
from esxparse.formats.esxtop.instances import parts
from esxparse.formats.esxtop_api.clock import Clock
from esxparse.formats.esxtop_api.grammar import LINE, SAMPLE, Objects
from esxparse.formats.kit.notes import Notes
from esxparse.recording import counted
from esxparse.worlds import VCPU_WORLD

Rule = Literal["gauge", "rate", "count", "percent", "idle", "ratio", "worlds"]
Certainty = Literal["stated", "inferred", "guess"]

_US: Final = 1e6
_SECONDS: Final = "_seconds"
_TOPOLOGY: Final = "_topology"
_INSTANCE: Final = re.compile(r"\{(\w+)\}")
_SUBGROUP: Final = r"^(vm|uw|vmm)\.(\d+)$"
"""Groups of one VM: `vm.N` is its own; its vCPUs and helpers may be in the others."""
_GUESSED: Final = "by its name, as CoStopTimeInUsec is % CoStop"


@dataclass(frozen=True)
class Column:
    """How a column is computed; `mapping.toml` explains the fields."""

    rule: Rule
    certainty: Certainty
    source: str
    field: str = ""
    times: float = 1.0
    less: tuple[str, ...] = ()
    per: str = ""

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields it needs."""
        return tuple(filter(None, (self.field, *self.less, self.per)))


@dataclass(frozen=True)
class Mapped:
    """How a table is made of the objects of a type; `mapping.toml` explains the fields."""

    name: str
    object: str
    columns: Mapping[str, Column]
    id: tuple[str, ...] = ()
    instance: str = ""
    elapsed: str = ""
    valid: tuple[str, ...] = ()
    mean: str = ""
    sums: str = ""
    named: tuple[str, ...] = ()
    named_time: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """The fields that identify an object."""
        return (*self.id, *_INSTANCE.findall(self.instance), *self.valid, *self.named, self.elapsed)

    @property
    def numbers(self) -> frozenset[str]:
        """The fields that must be numbers."""
        values = (name for column in self.columns.values() for name in column.fields)
        return frozenset({*self.id, *self.valid, *values, self.elapsed, *({"IsVM"} & {*self.named})})

    def known(self, schema: Mapping[str, pl.DataType]) -> dict[str, Column]:
        """Return the columns whose fields are there, guessed ones too."""
        there = frozenset(name for name, kind in schema.items() if kind != pl.String)
        found = {name: one for name, one in self.columns.items() if there.issuperset(one.fields)}
        if self.named_time:
            mapped = {one for column in self.columns.values() for one in column.fields}
            for one in sorted(there - mapped):
                word = one.removesuffix(self.named_time)
                column = "pct_" + re.sub(r"(?<=[a-z])(?=[A-Z])", "_", word).lower()
                if word != one and column not in self.columns and lookup(self.name, column) is not None:
                    found[column] = Column("percent", "guess", _GUESSED, one)
        return found


@cache
def mapping() -> tuple[Mapped, ...]:
    """Return how each table is made."""
    return tuple(msgspec.convert(toml.beside(__file__, "mapping.toml")["table"], list[Mapped]))


@dataclass(frozen=True)
class Derived:
    """The tables of a capture, how each `table.column` was computed, and the names of the VMs."""

    tables: Mapping[str, pl.DataFrame]
    columns: Mapping[str, Column]
    vms: tuple[str, ...]


def derive(objects: Objects, frames: Mapping[str, pl.DataFrame], clock: Clock, notes: Notes) -> Derived:
    """Return the tables whose objects are in the replies; `frames` come from `objects`."""
    frames = _usable(frames, notes)
    named = groups_of(frames.get("SchedGroup"))
    prepared = {**frames, **_prepared(objects, frames, named, notes)}
    groups = named.select(pl.format("{}:{}", "group_id", "group")).unique(maintain_order=True).to_series().to_list()
    tables: dict[str, pl.DataFrame] = {}
    columns: dict[str, Column] = {}
    # Sums need the table that they sum.
    for one in sorted(mapping(), key=lambda one: one.sums != ""):
        if (frame := prepared.get(one.object)) is None:
            continue
        if missing := [name for name in one.id if name not in frame.columns]:
            notes.warn(f"{one.object} has no field {missing[0]} with a number: no table {one.name}", frame[LINE][0])
            continue
        known = one.known(frame.schema)
        frame = _sound(one, frame, notes)
        made = _computed(one, known, _with_growth(one, known, frame, clock, notes))
        if one.sums and one.sums in tables:
            summed = {name: column for name, column in columns.items() if name.startswith(f"{one.sums}.")}
            more = {name.partition(".")[2]: column for name, column in summed.items()}
            known |= {name: column for name, column in more.items() if lookup(one.name, name) is not None}
            made = _with_sums(made, tables[one.sums], [name for name in known if name not in made.columns])
        if one.mean:
            made = _with_mean(made, one.mean, list(known))
        if known:
            tables[one.name] = _with_parts(one.name, made, groups).select(
                SAMPLE, *(name for name in parts(one.name, [], {}).columns), *known
            )
            columns |= {f"{one.name}.{name}": column for name, column in known.items()}
    in_order = {one.name: tables[one.name] for one in mapping() if one.name in tables}
    dated = {name: with_time(frame, clock) for name, frame in in_order.items()}
    return Derived(dated, columns, _vms(tables.get("vcpu"), named))


def _usable(frames: Mapping[str, pl.DataFrame], notes: Notes) -> dict[str, pl.DataFrame]:
    """Return the frames without texts in the place of numbers."""
    found = dict(frames)
    for one in mapping():
        if (frame := found.get(one.object)) is not None:
            texts = [name for name in frame.columns if name in one.numbers and frame.schema[name] == pl.String]
            for name in texts:
                notes.warn(f"{one.object}.{name} is text, not a number: only in raw_{one.object}", frame[LINE][0])
            found[one.object] = frame.drop(texts)
    return found


def with_time(frame: pl.DataFrame, clock: Clock) -> pl.DataFrame:
    """Return the frame with the time of its samples in place of their numbers."""
    return frame.select(clock.times[frame[SAMPLE]].alias("time"), pl.exclude(SAMPLE, LINE))


def groups_of(frame: pl.DataFrame | None) -> pl.DataFrame:
    """Return the groups of each sample: `_sample`, `GroupID`, `group_id`, `group`, `is_vm`.

    `group_id` is the id of the VM's own group, `vm.N`, for the other groups of that VM.
    """
    empty = {SAMPLE: pl.Int64, "GroupID": pl.Int64, "group_id": pl.Int64, "group": pl.String, "is_vm": pl.Boolean}
    if frame is None or "GroupID" not in frame.columns:
        return pl.DataFrame(schema=empty)
    named = frame.select(
        SAMPLE,
        "GroupID",
        group=_text(frame, "GroupName"),
        vm=_text(frame, "VMName"),
        number=_text(frame, "GroupName").str.extract(_SUBGROUP, 2),
        is_vm=(
            pl.col("IsVM") == 1 if "IsVM" in frame.columns else _text(frame, "GroupName").str.starts_with("vm.")
        ).fill_null(value=False),
    ).unique([SAMPLE, "GroupID"], keep="first", maintain_order=True)
    own = named.filter(pl.col("is_vm"), pl.col("number").is_not_null()).unique([SAMPLE, "number"], keep="first")
    own = own.select(SAMPLE, "number", group_id="GroupID", own="vm")
    joined = named.join(own, on=[SAMPLE, "number"], how="left", maintain_order="left")
    name = pl.when(pl.col("group_id").is_not_null()).then("own").when("is_vm").then("vm")
    return joined.select(
        SAMPLE,
        "GroupID",
        pl.coalesce("group_id", "GroupID"),
        group=pl.coalesce(name.replace("", None), "group"),
        is_vm=pl.col("is_vm"),
    )


def _text(frame: pl.DataFrame, name: str) -> pl.Expr:
    return pl.col(name).cast(pl.String) if name in frame.columns else pl.lit("")


def _prepared(
    objects: Objects, frames: Mapping[str, pl.DataFrame], groups: pl.DataFrame, notes: Notes
) -> dict[str, pl.DataFrame]:
    """Return groups with their names and worlds, worlds with their group, ports with their switch."""
    topology = pl.DataFrame(
        {SAMPLE: range(len(objects.topology)), _TOPOLOGY: objects.topology},
        schema=dict.fromkeys((SAMPLE, _TOPOLOGY), pl.Int64),
    )
    worlds = topology.join(objects.worlds(), on=_TOPOLOGY).join(
        groups.rename({"group_id": "own"}), left_on=[SAMPLE, "group_id"], right_on=[SAMPLE, "GroupID"]
    )
    worlds = worlds.select(SAMPLE, "world_id", "group", group_id="own")
    found = {}
    if (frame := frames.get("SchedGroup")) is not None and groups.height:
        count = worlds.group_by(SAMPLE, "group_id").len("_worlds")
        of_groups = frame.join(groups, on=[SAMPLE, "GroupID"], how="left", maintain_order="left")
        of_groups = of_groups.filter(pl.col("group_id") == pl.col("GroupID"))
        of_groups = of_groups.join(count, on=[SAMPLE, "group_id"], how="left", maintain_order="left")
        # Groups of groups, such as host/user, have no worlds: esxtop does not print them.
        empty = of_groups["_worlds"].is_null() & ~of_groups["is_vm"] & (worlds.height > 0)
        if empty.any():
            notes.say(f"{counted(int(empty.sum()), 'row')} of groups without worlds, only in raw_SchedGroup")
        found["SchedGroup"] = of_groups.filter(~empty)
    if (frame := frames.get("VCPU")) is not None and "VCPUID" in frame.columns:
        keys = [SAMPLE, "VCPUID"], [SAMPLE, "world_id"]
        found["VCPU"] = frame.join(worlds, left_on=keys[0], right_on=keys[1], how="left", maintain_order="left")
        alone = found["VCPU"].filter(pl.col("group_id").is_null())
        if alone.height:
            what = f"{counted(alone.height, 'line')} of VCPU that the topology has in no group"
            notes.warn(f"{what}: no name of a VM in vcpu", alone[LINE][0])
    if (frame := frames.get("NetPort")) is not None and "PortID" in frame.columns:
        ports = topology.join(objects.ports(), on=_TOPOLOGY).select(SAMPLE, "port_id", "switch")
        keys = [SAMPLE, "PortID"], [SAMPLE, "port_id"]
        found["NetPort"] = frame.join(ports, left_on=keys[0], right_on=keys[1], how="left", maintain_order="left")
    return found


def _sound(one: Mapped, frame: pl.DataFrame, notes: Notes) -> pl.DataFrame:
    """Return the rows that are valid, each object once in a sample."""
    for name in one.valid:
        if name in frame.columns:
            kept = frame.filter(pl.col(name) != 0)
            if (left := frame.height - kept.height) > 0:
                notes.say(f"{one.name}: {counted(left, 'row')} with {name} 0, only in raw_{one.object}")
            frame = kept
    keys = [SAMPLE, *one.id]
    if set(keys) <= set(frame.columns):
        twice = frame.filter(~pl.struct(keys).is_first_distinct())
        if twice.height:
            what = f"{counted(twice.height, 'line')} of {one.object} with the id of another in the same sample"
            notes.warn(f"{what}: left out", twice[LINE][0])
            frame = frame.filter(pl.struct(keys).is_first_distinct())
    return frame


def _growth(name: str) -> str:
    return f"_growth_{name}"


def _with_growth(
    one: Mapped, known: Mapping[str, Column], frame: pl.DataFrame, clock: Clock, notes: Notes
) -> pl.DataFrame:
    """Return the frame with the growth of each counter since the sample before, null if unknown, and `_seconds`."""
    counting = (column for column in known.values() if column.rule not in {"gauge", "worlds"})
    names = {name for column in counting for name in column.fields} | ({one.elapsed} & set(frame.columns))
    seconds = pl.DataFrame({SAMPLE: pl.int_range(len(clock.seconds), eager=True), _SECONDS: clock.seconds})
    frame = frame.join(seconds, on=SAMPLE, how="left", maintain_order="left")

    def before(name: str) -> pl.Expr:
        shifted = pl.col(name).shift(1)
        return shifted.over(one.id) if one.id else shifted

    follows = (before(SAMPLE) == pl.col(SAMPLE) - 1) & pl.col(_SECONDS).is_not_null()
    grown = {_growth(name): pl.when(follows).then(pl.col(name) - before(name)) for name in sorted(names)}
    frame = frame.with_columns(**grown)
    for name in sorted(names):
        fell = frame.filter(pl.col(_growth(name)) < 0)
        if fell.height:
            what = f"{one.object}.{name} fell {counted(fell.height, 'time')}: restarted, moved or made again"
            notes.warn(f"{what}. No rate of that interval in {one.name}", fell[LINE][0])
    frame = frame.with_columns(pl.when(pl.col(name) >= 0).then(pl.col(name)).alias(name) for name in grown)
    if one.elapsed in names:
        own = pl.col(_growth(one.elapsed)) / _US
        frame = frame.with_columns(pl.when(own > 0).then(own).alias(_SECONDS))
    return frame


def _expression(column: Column) -> pl.Expr:
    growth = pl.col(_growth(column.field))
    share = 100.0 * growth / (pl.col(_SECONDS) * _US)
    match column.rule:
        case "gauge":
            value = pl.col(column.field)
            for name in column.less:
                value -= pl.col(name)
        case "worlds":
            value = pl.col("_worlds")
        case "rate":
            value = growth / pl.col(_SECONDS)
        case "percent":
            value = share
        case "idle":
            value = 100.0 - share
        case "ratio":
            per = pl.col(_growth(column.per))
            value = pl.when(per > 0).then(growth / per).when(per == 0).then(0.0)
        case _:
            value = growth
    return value.cast(pl.Float64) * column.times


def _computed(one: Mapped, known: Mapping[str, Column], frame: pl.DataFrame) -> pl.DataFrame:
    names = _INSTANCE.findall(one.instance)
    texts = [pl.col(name).cast(pl.String).fill_null("") for name in names if name in frame.columns]
    whole = len(texts) == len(names) > 0
    instance = pl.format(_INSTANCE.sub("{}", one.instance), *texts) if whole else pl.lit(None, dtype=pl.String)
    keys = [name for name in (SAMPLE, LINE, "group_id") if name in frame.columns]
    return frame.select(
        *keys, instance.alias("instance"), **{name: _expression(column) for name, column in known.items()}
    )


def _with_sums(groups: pl.DataFrame, worlds: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Add the sums over the worlds of each group whose values are known."""
    sums = worlds.group_by(SAMPLE, "group_id").agg(
        pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()).alias(name) for name in names
    )
    return groups.join(sums, on=[SAMPLE, "group_id"], how="left", maintain_order="left")


def _with_mean(frame: pl.DataFrame, instance: str, names: list[str]) -> pl.DataFrame:
    """Add a row with the mean over all objects to each sample."""
    mean = frame.group_by(SAMPLE, maintain_order=True).agg(pl.col(names).mean())
    mean = mean.with_columns(instance=pl.lit(instance))
    return pl.concat([frame, mean], how="diagonal").sort(SAMPLE, maintain_order=True)


def _with_parts(name: str, frame: pl.DataFrame, groups: list[str | None]) -> pl.DataFrame:
    """Add the parts of each instance, as a capture's instances have them."""
    instances = frame["instance"].unique(maintain_order=True).drop_nulls().to_list()
    made = parts(name, instances, {"group_cpu": groups})
    frame = frame.drop([one for one in made.columns if one in frame.columns and one != "instance"])
    return frame.join(made, on="instance", how="left", maintain_order="left")


def _vms(vcpu: pl.DataFrame | None, groups: pl.DataFrame) -> tuple[str, ...]:
    """Return the names of the VMs: groups with a world of a vCPU, else groups that are marked as VMs."""
    if vcpu is not None:
        found = vcpu.filter(pl.col("world").str.contains(VCPU_WORLD))
        if found.height:
            return tuple(found.unique("group_id", maintain_order=True)["group"].to_list())
    return tuple(groups.filter("is_vm").unique("group_id", maintain_order=True)["group"].to_list())
