"""A guest's own readings beside the capture of its host, on one axis of time."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import polars as pl

from esxparse import clock, toml
from esxparse.charts.reduce import MAX_SERIES
from esxparse.derived.guests import BUSY, FORMATS, readings
from esxparse.derived.of_recording import lacking
from esxparse.derived.of_recording import table as derived_table
from esxparse.errors import EsxparseError
from esxparse.explorer.objects import Objects
from esxparse.metrics import guest as metrics
from esxparse.metrics.guest import Shift
from esxparse.reading import as_recording
from esxparse.recording import Recording, printable

_PANELS: Final = toml.beside(__file__)["panel"]
TABLE: Final = "guest"
_WAITED: Final = 5.0
"""% of one core per vCPU from which on time counts as stolen: the limit of the rule cpu.ready."""
_CLOSE: Final = 0.1
"""Correlations this close do not separate two VMs."""
_NEED: Final = ("run_pct", "ready_pct")


@dataclass(frozen=True)
class Guest:
    """The readings of a guest, laid beside its VM.

    recording: the host's recording with an additional table `guest`. vm: its name. path: of the readings. found: the
    shift of the clock.
    """

    recording: Recording
    vm: str
    path: str
    found: Shift

    @property
    def panels(self) -> list[dict[str, Any]]:
        """The panels of a view, host and guest in each."""
        there = self.recording.tables[TABLE].collect_schema().names()
        missing = lacking(self.recording, "vm")
        made = []
        for one in _PANELS:
            host = [name for name in one["counters"] if name not in missing]
            mine = [f"{TABLE}.{name}" for name in one["guest"] if name in there]
            if host and mine:
                panel = {"title": f"{one['title']}: host and guest", "table": "vm", "counter": host[0], "n": MAX_SERIES}
                made.append(panel | {"more": [*host[1:], *mine], "only": {self.vm: self.vm}})
        return made

    @property
    def about(self) -> dict[str, Any]:
        """The text of the page: `alignment`, `verdict`, and whether time was `stolen`."""
        name = printable(Path(self.path).name)
        shift = self.found.shift
        way = "later" if shift > timedelta(0) else "earlier"
        moved = (
            f"shown {clock.spoken_span(abs(shift).total_seconds())} {way}"
            if shift
            else "its clock agrees with the host's"
        )
        verdict, stolen = self._verdict()
        alignment = f"{name} beside VM {printable(self.vm)}: {moved} (correlation of CPU {self.found.correlation:.2f})."
        return {"alignment": alignment, "verdict": verdict, "stolen": stolen}

    def _verdict(self) -> tuple[str, bool]:
        host = _of_vm(self.recording, self.vm)
        guest = self.recording.tables[TABLE].select("time", BUSY).collect()
        both = (
            host.sort("time").join_asof(guest.sort("time"), on="time", strategy="nearest", tolerance="1m").drop_nulls()
        )
        if both.is_empty():
            return "The readings and the capture have no common time.", False
        rows = both.filter(pl.col("waited") >= _WAITED)
        stolen = not rows.is_empty()
        rows = rows if stolen else both
        delivered = metrics.given_pct(pl.col("waited").mean(), pl.col("run").mean())
        busy, share, ready, costop = (
            rows.select(pl.col(BUSY).mean(), delivered, pl.col("ready").mean(), "costop").mean().row(0)
        )
        first = f"The guest reports {busy:.0f} % busy; the host gave it {share:.0f} % of the CPU time it asked for"
        if not stolen:
            return f"{first}.", False
        span = clock.spell(rows["time"][0], rows["time"][-1])
        return f"{first}: time was stolen ({ready:.1f} % ready, {costop:.1f} % co-stop; {span} UTC).", True


def with_guest(rec: Recording, guest: Recording | str | os.PathLike[str], vm: str | None = None) -> Guest:
    """Lay the readings of a guest beside its VM: sar, mpstat, iostat, vmstat or perfmon.

    The guest's clock is shifted until its CPU use best matches the VM's.

    Args:
        rec: An esxtop capture.
        guest: The readings, or their path.
        vm: Its name; by default the VM with the guest's host name, or else the VM whose CPU use matches best.

    Raises:
        EsxparseError: The readings are of another format or have no times or CPU, there is no such VM, or no VM matches
            them well enough (a correlation of 0.6) or clearly better than others.
    """
    read = as_recording(guest)
    name = printable(Path(read.source).name)
    if read.format not in FORMATS:
        raise EsxparseError(f"{name} is {read.format}: the readings of a guest are {', '.join(FORMATS)}")
    table = readings(read)
    if table is None or BUSY not in table.columns:
        raise EsxparseError(f"{name} has no CPU use with times: without it the clocks cannot be aligned")
    missing = lacking(rec, "vm") if "vm" in rec.derived else dict.fromkeys(_NEED, "no VMs")
    if short := [why for column, why in missing.items() if column in _NEED]:
        raise EsxparseError(f"{printable(rec.source)} cannot be compared with a guest: {short[0]}")
    chosen, found = _matched(rec, table, _candidates(rec, read, vm), name)
    shifted = table.with_columns(pl.col("time") + found.shift, instance=pl.lit(chosen))
    host = replace(rec, tables={**rec.tables, TABLE: shifted.lazy()})
    return Guest(host, chosen, read.source, found)


def _candidates(rec: Recording, read: Recording, vm: str | None) -> list[str]:
    objects = Objects(rec)
    if vm is not None:
        objects.check("vm", vm)
        return [vm]
    vms = [name for name, kind in objects.known.items() if kind == "vm"]
    host = str(read.meta.get("host") or "").casefold()
    return [name for name in vms if name.casefold() == host] or vms


def _matched(rec: Recording, table: pl.DataFrame, vms: list[str], name: str) -> tuple[str, Shift]:
    """Return the VM whose CPU use best matches the guest's, and the shift of the clock."""
    busy = table.select("time", value=BUSY).drop_nulls().sort("time")
    every = {one: metrics.clock_shift(_of_vm(rec, one).select("time", value="run"), busy) for one in vms}
    ranked = sorted(((one, found) for one, found in every.items() if found), key=lambda pair: -pair[1].correlation)
    if not ranked:
        raise EsxparseError(f"the clock of {name} cannot be aligned: fewer than 20 common samples, or a constant load")
    best, found = ranked[0]
    if found.correlation < metrics.SURE:
        raise EsxparseError(
            f"the clock of {name} cannot be aligned: its CPU and that of VM {printable(best)} go together with "
            f"{found.correlation:.2f}, and {metrics.SURE} is needed; is it a guest of this host at this time?"
        )
    if len(ranked) > 1 and found.correlation - ranked[1][1].correlation < _CLOSE:
        several = " and ".join(printable(one) for one, _ in ranked[:2])
        raise EsxparseError(f"{name} goes together with {several}: name its VM with vm=")
    return best, found


def _of_vm(rec: Recording, vm: str) -> pl.DataFrame:
    """Return `time`, `run`, `ready`, `costop`, `waited` of a VM, % of one core per vCPU."""
    missing = lacking(rec, "vm")
    wanted = [one for one in ("run_pct", "ready_pct", "costop_pct") if one not in missing]
    frame = derived_table(rec, "vm", wanted).filter(instance=vm)
    costop = pl.col("costop_pct") if "costop_pct" in wanted else pl.lit(0.0)
    rows = frame.select("time", run="run_pct", ready="ready_pct", costop=costop)
    return rows.drop_nulls().with_columns(waited=pl.col("ready") + pl.col("costop")).sort("time").collect()
