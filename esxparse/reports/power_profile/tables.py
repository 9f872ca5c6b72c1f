"""The tables, tiles and charts of the report on power: what its cells show of `gather`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.charts import energy as drawn
from esxparse.metrics import host
from esxparse.metrics.energy import watts_per_unit
from esxparse.metrics.frames import weighted_mean
from esxparse.reports import page
from esxparse.reports.blocks import (
    NOTHING,
    Block,
    Header,
    moment,
    note,
    number,
    spoken_span,
    stack,
    table,
    tiles,
)
from esxparse.reports.columns import columns_of
from esxparse.reports.power_profile import gather
from esxparse.reports.power_profile.gather import Gathered

if TYPE_CHECKING:
    import altair as alt

_BY_TIME: Final = {"name": pl.String, "watts_mean": pl.Float64}
_HOURS_A_YEAR: Final = 8760
_MEND: Final = "In this report, set the parameter offset; until then power and load are from different times."
_KINDS: Final = {"system": "whole host", "enclosure": "chassis", "supply": "power supply", "part": "part"}


def header(found: Gathered, title: str) -> Header:
    """The title with the host's name where one is known, and when readings were taken."""
    times = found.readings.filter(~pl.col("since_start"))["time"].drop_nulls()
    first, last = times.min(), times.max()
    span = "" if times.is_empty() else f"{moment(first)} to {moment(last)}; "  # type: ignore[arg-type]
    return page.header(title, found.recordings, span + page.files(found.recordings))


def clocks(found: Gathered) -> Block:
    """What has to be known before anything is compared: clocks that seem apart, and meters that share no time."""
    said = []
    for meter in found.meters:
        if meter.join is None:
            said.append(note(f"{meter.recording} is not aligned with the capture. {meter.refused}. {_MEND}", "warning"))
            continue
        said += [
            note(f"{meter.recording}: {one.message}. {_MEND}", "warning")
            for one in meter.join.notes
            if one.severity == "warning"
        ]
        if meter.join.offset:
            hours = meter.join.offset / timedelta(hours=1)
            said.append(note(f"The times of {meter.recording} were shifted by {hours:+.4g} h, as requested.", "info"))
    return stack(*said) if said else NOTHING


def _main(found: Gathered, used: pl.DataFrame) -> dict[str, Any] | None:
    """The sensor that the tiles are about: the one beside the capture, or the host's with most readings."""
    if used.is_empty():
        return None
    joined = next(
        (meter for meter in found.meters if meter.join and found.measured_by.startswith(meter.recording)), None
    )
    if joined is not None and joined.join is not None:
        of = found.readings.filter(
            pl.col("recording") == joined.recording,
            pl.col("sensor").eq_missing(joined.join.sensor),
            pl.col("source").eq_missing(joined.join.source),
        )["name"]
        row = used.filter(pl.col("name").is_in(of.to_list()))
        if row.height:
            return row.row(0, named=True)
    return used.row(0, named=True)


def _cost(found: Gathered, kwh: float | None) -> str:
    if not found.price_per_kwh or kwh is None:
        return ""
    cost = kwh * found.price_per_kwh
    return f"costs {number(cost, 2 if cost >= 1 else 4)} at {found.price_per_kwh:g} per kWh"


def _kwh_digits(kwh: float | None) -> int:
    return 4 if kwh is not None and kwh < 1 else 2


def summary(found: Gathered) -> Block:
    """Tiles: mean power, energy, what a year like this needs, the cap, what the load costs."""
    used = gather.energies(found)
    row = _main(found, used)
    if row is None:
        watts = found.readings.filter(pl.col("watts").is_not_null()).sort(
            pl.col("kind") != "system", maintain_order=True
        )
        if watts.is_empty():
            return note("No recording has readings in watts.", "warning")
        one = watts.row(0, named=True)
        items = [("Power", f"{number(one['watts'], 0)} W", f"{one['name']}, once, at an unknown time")]
        return tiles(items)
    row = gather.summed(found, used, row)
    mean = row["watts_mean"]
    if mean is None:
        return tiles([("Power", f"{number(row['highest'], 0)} W", f"{row['name']}, {row['readings']} reading")])
    span = spoken_span(row["covered_s"])
    gaps = f"; {row['gaps']} gaps left out" if row["gaps"] else ""
    kwh, year = row["energy_kwh"], mean * _HOURS_A_YEAR / 1000
    ends = (
        "not read together" if row["lowest"] is None else f"{number(row['lowest'], 0)} to {number(row['highest'], 0)} W"
    )
    items = [
        ("Mean power", f"{number(mean, 0)} W", f"{row['name']}, over {span}"),
        ("Lowest to highest", ends, f"{row['readings']:,} readings"),
        ("Energy", f"{number(kwh, _kwh_digits(kwh))} kWh", _cost(found, kwh) or f"in {span}{gaps}"),
        ("A year like this", f"{number(year, 0)} kWh", _cost(found, year) or "mean power x 8,760 h"),
    ]
    cap = gather.cap(found)
    if cap and row["highest"]:
        items.append(
            ("Power cap", f"{number(cap, 0)} W", f"highest reading: {number(100 * row['highest'] / cap, 0)} % of it")
        )
    work = gather.per_unit(found)
    if work.height:
        first = work.row(0, named=True)
        items.append(
            ("Watts per % of util", number(first["cost"], 2), f"at {number(first['work_mean'], 0)} % on average")
        )
    return tiles(items)


def sensors(found: Gathered) -> Block:
    """Every sensor: its readings, and what its BMC says of minimum, average and maximum."""
    rows = found.readings.with_columns(order=gather.order())
    # A sensor has one mean on the page: by time, as its energy has it.
    used = gather.energies(found)
    by_time = used.select("name", "watts_mean") if used.height else pl.DataFrame(schema=_BY_TIME)
    frame = (
        rows.group_by("order", "name", "kind", maintain_order=True)
        .agg(
            readings=pl.col("watts").count(),
            mean=pl.col("watts").mean(),
            low=pl.col("watts").min(),
            high=pl.col("watts").max(),
            bmc_mean=pl.col("watts_average").drop_nulls().last(),
            bmc_low=pl.col("watts_minimum").min(),
            bmc_high=pl.col("watts_maximum").max(),
            period=pl.col("interval_s").drop_nulls().last(),
            cap=pl.col("watts_cap").min(),
        )
        .join(by_time, on="name", how="left", maintain_order="left")
        .with_columns(mean=pl.coalesce("watts_mean", "mean"))
        .filter(pl.any_horizontal(pl.col("mean", "bmc_mean", "bmc_high", "cap").is_not_null()))
        .sort("order", maintain_order=True)
        .with_columns(pl.col("kind").replace(_KINDS), pl.col("readings").cast(pl.Int64))
    )
    caption = "Sensors. Whole host, chassis, power supplies and components measure the same watts: do not add them up"
    return table(frame, columns_of("power_profile.sensors"), caption, "No recording has power readings.")


def energies(found: Gathered) -> Block:
    """Energy of each sensor, with the gaps that are left out, and its price."""
    used = gather.energies(found)
    if used.is_empty():
        return note("Energy needs readings at several times, but these have no times.")
    kwh = pl.col("energy_kwh")
    frame = used.with_columns(
        pl.col("kind").replace(_KINDS),
        covered=pl.col("covered_s").map_elements(spoken_span, return_dtype=pl.String),
        left_out=pl.when(pl.col("gaps") > 0).then(pl.col("gap_s").map_elements(spoken_span, return_dtype=pl.String)),
        year=pl.col("watts_mean") * _HOURS_A_YEAR / 1000,
    )
    columns = columns_of(
        "power_profile.energies",
        but=() if found.price_per_kwh else ("cost", "cost_year"),
        digits={"energy_kwh": _kwh_digits(used["energy_kwh"].max())},  # type: ignore[arg-type]
    )
    if found.price_per_kwh:
        frame = frame.with_columns(cost=kwh * found.price_per_kwh, cost_year=pl.col("year") * found.price_per_kwh)
    price = f"; cost at {found.price_per_kwh:g} per kWh" if found.price_per_kwh else ""
    caption = (
        f"Energy, by the trapezoidal rule between readings; gaps longer than 3 typical intervals are left out{price}"
    )
    made = table(frame, columns, caption)
    restarted = used.filter(pl.col("restarts").list.len() > 0).select("name", "restarts")
    return stack(made, *(note(_restarts(name, times), "warning") for name, times in restarted.iter_rows()))


def _restarts(name: str, times: Sequence[datetime]) -> str:
    first = f"{times[0]:%Y-%m-%d %H:%M:%S} UTC"
    when = f"before {first}" if len(times) == 1 else f"{len(times):,} times, first before {first}"
    return f"The energy counter of {name} restarted {when}. The meter's own count leaves that interval out."


def _by_time(intervals: pl.DataFrame, name: str) -> float | None:
    """The mean of a column over intervals, each by its length."""
    mean: float | None = intervals.select(weighted_mean(pl.col(name), pl.col("interval_s"))).item()
    return mean


def meters(found: Gathered) -> Block:
    """How each meter lies to the capture, and how it compares with what esxtop has."""
    rows = []
    for meter in found.meters:
        if meter.join is None:
            continue
        joined = meter.join.table.collect()
        both = joined.filter(pl.col("watts").is_not_null(), pl.col("watts_esxtop").is_not_null())
        mean, own = (_by_time(both, name) for name in ("watts", "watts_esxtop"))
        rows.append(
            {
                "meter": f"{meter.recording}: {meter.join.sensor or meter.join.source}",
                "shape": {"trapezoid": "straight lines", "step": "steps"}[meter.join.shape],
                "intervals": joined["watts"].count(),
                "of": max(joined.height - 1, 0),
                "watts": _by_time(joined, "watts"),
                "kwh": joined["energy_joules"].sum() / 3_600_000,
                "own": own,
                "apart": 100 * (mean / own - 1) if mean is not None and own else None,
                "correlation": meter.join.correlation,
            }
        )
    if not rows:
        return NOTHING
    columns = columns_of("power_profile.meters")
    return table(pl.DataFrame(rows, infer_schema_length=None), columns, "Meters aligned with the capture's intervals")


def per_unit(found: Gathered) -> Block:
    """What work costs in power."""
    by = f", power by {found.measured_by}" if found.measured_by else ""
    caption = f"Power per unit of work{by}, both over the same intervals; intervals without such work are left out"
    caption += _left_out(found)
    empty = "Power per unit of work needs an esxtop capture with power, or a meter that overlaps one in time."
    return table(gather.per_unit(found), columns_of("power_profile.per_unit"), caption, empty)


def _left_out(found: Gathered) -> str:
    """Whose commands are not counted as I/O of the host, for the caption."""
    disks = None if found.capture is None else host.disks(found.capture.tables)
    rows = [] if disks is None else host.left_out(disks).collect().rows(named=True)
    each = [f"{number(row['iops'], 2)}/s of {row['device']} ({row['left_out']})" for row in rows]
    return f"; commands that are not host I/O: {', '.join(each)}" if each else ""


def over_time_charts(found: Gathered) -> list[alt.LayerChart | None]:
    """Watts over time, each kind of sensor and each stretch of time in a chart of its own."""
    charts: list[alt.LayerChart | None] = []
    for group in gather.periods(found):
        lowest = group.select(pl.col("watts_cap").min()).collect().item()
        charts += [drawn.sensors(group, kind, lowest if kind == "system" else None) for kind in drawn.KINDS]
        charts.append(drawn.parts(group))
    return charts


def surrounding_charts(found: Gathered) -> list[alt.LayerChart | None]:
    """Temperature, frequency and utilisation as the meters have them."""
    return [drawn.surroundings(group, value) for group in gather.periods(found) for value in drawn.SURROUNDINGS]


def load_charts(found: Gathered) -> list[alt.LayerChart | None]:
    """Power and load in the same stretch of time, and one against the other."""
    if found.beside is None:
        return []
    beside = found.beside.lazy()
    return [
        drawn.beside_watts(beside, found.measured_by),
        drawn.beside_load(beside, found.load),
        drawn.against_load(beside, found.load, clocks_apart=gather.clocks_apart(found)),
    ]


def work_charts(found: Gathered) -> list[alt.Chart | None]:
    """What a GHz of work costs as the load grows."""
    if found.beside is None or "used_ghz" not in found.beside.columns:
        return []
    return [drawn.cost_of_work(watts_per_unit(found.beside.lazy(), "used_ghz"), "GHz of CPU work", "W per GHz")]
