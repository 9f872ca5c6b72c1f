"""The derived table of ports: physical NICs and ports of the VMkernel."""

from __future__ import annotations

from typing import Final

import polars as pl

from esxparse.derived.capture import Capture, beside, derived
from esxparse.metrics import network
from esxparse.metrics.frames import column, names, share_pct

_SPEEDS: Final = (1_000, 10_000, 25_000, 40_000, 100_000)
"""Mbit/s of usual links; servers do not have 100 Mbit/s."""


@derived("port", "network_port")
def ports(one: Capture) -> pl.LazyFrame:
    """Return traffic, drops and links of physical NICs and of ports of the VMkernel."""
    frame = one.tables["network_port"]
    there = names(frame)
    rows = network.ports(frame)
    more = frame.select(
        "time",
        link_up=column(there, "link_up"),
        speed_mbits=column(there, "link_speed_mb_per_s"),
        duplex=column(there, "full_duplex"),
    )
    rows = beside(rows, more).filter(pl.col("kind").is_in(["uplink", "vmkernel"]))
    uplink = pl.col("kind") == "uplink"
    team = pl.col("speed_mbits").filter(uplink).max().over("time", "switch")
    speed = pl.when(uplink & (pl.col("speed_mbits") > 0)).then("speed_mbits")
    traffic = pl.max_horizontal("tx_mbits", "rx_mbits")
    return rows.with_columns(
        entity=pl.col("client"),
        is_uplink=uplink.cast(pl.Float64),
        link_up=pl.when(uplink).then("link_up"),
        duplex=pl.when(uplink).then("duplex"),
        speed_mbits=pl.when(uplink).then("speed_mbits"),
        team_mbits=pl.when(uplink).then(team),
        traffic_mbits=traffic,
        line_pct=share_pct(traffic, speed),
        guessed_line_pct=pl.when(uplink).then(100 * traffic / _guessed(traffic.max().over("switch", "client"))),
        both_pct=share_pct(pl.col("tx_mbits") + pl.col("rx_mbits"), speed),
    ).drop("switch", "port_id", "client", "kind")


def _guessed(most: pl.Expr) -> pl.Expr:
    """Guess the speed of a link as the smallest usual speed that fits its highest traffic."""
    return pl.coalesce(pl.when(most <= speed).then(float(speed)) for speed in _SPEEDS)
