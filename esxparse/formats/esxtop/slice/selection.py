"""The columns of a capture that a slice keeps: by table, VM, instance or counter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from esxparse.counters.catalogue import UnknownCounterError, counter, plain_name
from esxparse.counters.model import FAMILY_MARK
from esxparse.counters.naming import column_name, table_name
from esxparse.errors import EsxparseError, nearest
from esxparse.formats.esxtop.layout import Layout, TableShape
from esxparse.formats.esxtop.scan import Flags, Integers
from esxparse.recording import Note
from esxparse.worlds import VCPU_WORLD

_SPEAKS_OF = r"^(?:NetWorld-VM-|vmast\.|PVSCSI-|LSI-)(\d+)"
"""World of a VM whose name contains another world of the same VM, as in captures of ESXi 6.5."""

HOST_TABLES = ("memory", "physical_cpu_load", "physical_cpu", "numa_node", "power", "vsan")
"""The tables about the whole host, which `keep_host` keeps."""

_MOST_NAMES = 5  # names in a message


@dataclass(frozen=True)
class Selection:
    """The values to keep: a column must match one value of each kind that has values."""

    tables: tuple[str, ...] = ()
    vms: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()
    counters: tuple[str, ...] = ()
    keep_host: bool = False


def none_such(what: str, there: Iterable[str | None], requested: str) -> EsxparseError:
    """Return the error that lists the available names, the nearest first."""
    names = sorted({name for name in there if name is not None})
    near = nearest(requested, names, _MOST_NAMES, 0.5) or names[:_MOST_NAMES]
    more = f" and {len(names) - len(near)} more" if len(names) > len(near) else ""
    return EsxparseError(f"{what}; there are {', '.join(near)}{more}" if names else f"{what}; there are none at all")


def _where(laid_out: Layout, masks: Sequence[Flags]) -> Flags:
    """Return the kept cells, from masks of each table's columns and instances."""
    kept = np.zeros(len(laid_out.table), dtype=np.bool_)
    for place, mask in enumerate(masks):
        cells = laid_out.cells(place)
        chosen = cells[np.broadcast_to(mask, cells.shape)]
        kept[chosen[chosen >= 0]] = True
    return kept


def _of_table(laid_out: Layout, name: str) -> Flags:
    places = [place for place, shape in enumerate(laid_out.tables) if table_name(name) == shape.name]
    if not places:
        what = f'no table or object of the capture is called "{name}"'
        raise none_such(what, (shape.name for shape in laid_out.tables), table_name(name))
    return np.asarray(laid_out.table == places[0])


def _of_instance(laid_out: Layout, expression: str) -> Flags:
    try:
        pattern = re.compile(expression)
    except re.error as error:
        msg = f'instance "{expression}" is not a regular expression: {error}'
        raise EsxparseError(msg) from None
    lanes = [
        np.array([text is not None and pattern.search(text) is not None for text in shape.instances])
        for shape in laid_out.tables
    ]
    if not any(flags.any() for flags in lanes):
        there = (text for shape in laid_out.tables for text in shape.instances)
        what = f'no instance of the capture matches "{expression}"'
        raise none_such(what, there, expression)
    return _where(laid_out, lanes)


def _groups_of_vms(parts: Mapping[str, pl.DataFrame]) -> dict[str, set[int]]:
    """Return VMs by name, each with its groups: two VMs may share a name. A VM may be known by its disks alone."""
    groups: dict[str, set[int]] = {}
    if "vcpu" in parts:
        found = [parts["vcpu"].filter(pl.col("world").str.contains(VCPU_WORLD))]
    else:
        # Without worlds, VMs cannot be separated from other groups.
        found = [parts[table] for table in ("group_cpu", "group_memory") if table in parts]
    for frame in found:
        for group_id, name in frame.select("group_id", "group").unique(maintain_order=True).drop_nulls().rows():
            groups.setdefault(name, set()).add(group_id)
    if "virtual_disk" in parts:
        for name in parts["virtual_disk"]["vm"].drop_nulls():
            groups.setdefault(name, set())
    return groups


def _worlds(parts: Mapping[str, pl.DataFrame], vm: str, groups: set[int]) -> set[int]:
    """Return the worlds of a VM: from its groups, from the names of those worlds, and from ports with its name.

    Ports and devices may belong to a world that Vcpu does not list (473729, beside `PVSCSI-473729:0`).
    """
    mine: set[int] = set()
    others: set[int] = set()
    if "vcpu" in parts:
        spoken_of = pl.col("world").str.extract(_SPEAKS_OF, 1).cast(pl.Int64, strict=False)
        frame = parts["vcpu"].select("group_id", "world_id", spoken_of=spoken_of)
        for group_id, *worlds in frame.rows():
            (mine if group_id in groups else others).update(world for world in worlds if world is not None)
    if "network_port" in parts:
        # Since ESXi 6.7 the adapter follows the VM's name (general knowledge).
        client = pl.col("client")
        of_vm = (client == vm) | (client.str.replace(r"\.eth\d+$", "") == vm)
        ports = parts["network_port"].filter(of_vm)["world_id"].drop_nulls()
        mine.update(set(ports) - others)
    return mine


def _of_vm(laid_out: Layout, parts: Mapping[str, pl.DataFrame], vm: str) -> Flags:
    """Return the cells of a VM: its groups, worlds, virtual disks, ports, and its worlds' activity on each device."""
    groups = _groups_of_vms(parts)
    if vm not in groups:
        what = f'no VM of the capture is called "{vm}"'
        raise none_such(what, groups, vm)
    worlds = _worlds(parts, vm, groups[vm])
    lanes = []
    for frame in parts.values():
        mine = pl.lit(value=False)
        if "group_id" in frame:
            mine = pl.col("group_id").is_in(list(groups[vm]))
        elif "vm" in frame:
            mine = pl.col("vm") == vm
        elif "world_id" in frame:
            mine = pl.col("world_id").is_in(list(worlds))
        lanes.append(frame.select(mine.fill_null(value=False)).to_series().to_numpy())
    return _where(laid_out, lanes)


def _by_catalogue(shape: TableShape, requested: str, *, on_screen: bool) -> Flags:
    """Return the columns of the table with the counter that the catalogue has for it under that name."""
    try:
        found = counter(requested, shape.name)
    except UnknownCounterError:
        found = None
    if found is None or (on_screen and plain_name(found.screen) != plain_name(requested)):
        return np.zeros(len(shape.columns), dtype=np.bool_)
    pattern = re.escape(found.column).replace(re.escape(FAMILY_MARK), "[0-9]+")
    return np.array([re.fullmatch(pattern, name) is not None for name in shape.columns])


def _by_name(shape: TableShape, requested: str) -> Flags:
    names = zip(shape.counters, shape.columns, strict=True)
    return np.array([plain_name(requested) in {plain_name(batch), column} for batch, column in names])


def _with_those_before(shape: TableShape, flags: Flags) -> Flags:
    """Return the flags with earlier columns of the same name: only its place shows which column is the second."""
    plain = [column_name(name) for name in shape.counters]
    last = {name: place for place, name in enumerate(plain) if flags[place]}
    return np.array([[place <= last.get(name, -1)] for place, name in enumerate(plain)])


def _of_counter(laid_out: Layout, requested: str) -> Flags:
    """Return the cells of a counter: `% Used` and `pct_used` in all tables, `%USED` if the screen shows that name."""
    shapes = laid_out.tables
    try:
        meant = counter(requested)
    except UnknownCounterError as error:
        meant, unknown = None, error
    if meant is None or any(requested in {*shape.counters, *shape.columns} for shape in shapes):
        flags = [_by_name(shape, requested) for shape in shapes]
    else:
        on_screen = plain_name(meant.screen) == plain_name(requested)
        flags = [_by_catalogue(shape, requested, on_screen=on_screen) for shape in shapes]
    if any(each.any() for each in flags):
        return _where(laid_out, [_with_those_before(shape, each) for shape, each in zip(shapes, flags, strict=True)])
    if meant is None:
        raise unknown
    what = (
        f'no column of the capture holds "{requested}" ("{meant.batch}" of {meant.table}): its field was not captured'
    )
    there = [name for shape in shapes if shape.name == meant.table for name in shape.counters]
    raise none_such(what, there or [shape.name for shape in shapes], meant.batch)


def select(laid_out: Layout, parts: Mapping[str, pl.DataFrame], chosen: Selection) -> tuple[Integers, list[Note]]:
    """Return the cells to keep, without the time stamp, and notes on requested names that match none of them."""
    kinds: dict[str, dict[str, Flags]] = {
        "table": {name: _of_table(laid_out, name) for name in chosen.tables},
        "VM": {name: _of_vm(laid_out, parts, name) for name in chosen.vms},
        "instance": {name: _of_instance(laid_out, name) for name in chosen.instances},
        "counter": {name: _of_counter(laid_out, name) for name in chosen.counters},
    }
    kept = np.ones(len(laid_out.table), dtype=np.bool_)
    for found in kinds.values():
        if found:
            kept &= np.logical_or.reduce(list(found.values()))
    if not kept.any():
        criteria = "; ".join(f"{kind} {' or '.join(found)}" for kind, found in kinds.items() if found)
        msg = f"no column of the capture matches all of it ({criteria}), although each part matches some column"
        raise EsxparseError(msg)
    notes = [
        Note(f'{kind} "{name}" has no column that matches the rest of the selection', severity="warning")
        for kind, found in kinds.items()
        for name, flags in found.items()
        if not (flags & kept).any()
    ]
    if chosen.keep_host:
        kept |= np.array([shape.name in HOST_TABLES for shape in laid_out.tables])[laid_out.table]
    return np.flatnonzero(kept), notes
