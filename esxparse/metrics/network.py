"""Ports of virtual switches: traffic, and drops weighted by packets.

A drop percentage needs context: one packet of two is 50 %. Over time it is weighted by packets, which is the same as
counting packets. Peaks count only in samples with enough packets.

    dropped % = dropped / (passed + dropped) x 100      so     dropped/s = passed/s x pct / (100 - pct)

`PKTTX/s` and `PKTRX/s` count the packets that passed (general knowledge, as is the formula; vCenter's packet totals
exclude dropped packets too).

esxtop prints megabits of 2**20 bits (`esxparse.counters`, unit Mibit/s). `ports` converts them to megabits of 10**6:
every metric, chart and page in Mbit/s uses its result, never the counter.
"""

from __future__ import annotations

import polars as pl

from esxparse import toml

from . import over_time, units
from .frames import column, finite, first_true, names, renamed, weighted_mean

_MEGABITS = {"tx_mbits": "mbits_transmitted_per_sec", "rx_mbits": "mbits_received_per_sec"}
_TRAFFIC: dict[str, str] = toml.beside(__file__, "counters.toml")["network"]
_LINK_SPEED = "link_speed_mb_per_s"
# Below 100 packets per second, a single lost packet in a second reaches the quoted 1 %.
PACKET_FLOOR = 100.0
ALL = 100.0


def kind() -> pl.Expr:
    """Return the kind of each port: "uplink" (vmnicN), "vm" (has a world), "vmkernel" (vmkN) or "other".

    Other ports belong to the switch: `Management`, `Shadow of vmnic0`, mirrors and aggregates. A VM may be called
    `vmnic0`: a port with a world is a VM's, whatever its name. Needs `world_id`, `client`.
    """
    client = pl.col("client")
    return first_true(
        (pl.col("world_id").is_not_null(), "vm"),
        (client.str.contains(r"^vmnic\d+$"), "uplink"),
        (client.str.contains(r"^vmk\d+$"), "vmkernel"),
        otherwise="other",
    ).alias("kind")


def _dropped(passed: pl.Expr, pct: pl.Expr) -> pl.Expr:
    """Return dropped packets per second; null at 100 %, as no packets passed to count from."""
    return pl.when(pct < ALL).then(passed * pct / (ALL - pct))


def offered(passed: str, pct: str) -> pl.Expr:
    """Return all packets per second, passed and dropped; null at 100 %.

    `passed`: column of the packets that passed. `pct`: column of the dropped packets, %.
    """
    return pl.col(passed) + _dropped(pl.col(passed), pl.col(pct))


def ports(network_port: pl.LazyFrame) -> pl.LazyFrame:
    """Return traffic and drops of every port under short names.

    Needs `time`, `switch`, `port_id`, `world_id`, `client` and any of the counters.
    Returns, in input order; null if the counter is missing:

    time, switch, port_id, client
    kind                              "uplink", "vm", "vmkernel" or "other" (see `kind`, the function)
    tx_mbits, rx_mbits                Mbit/s of 10**6 bits (esxtop's number x 1.048576), seen from the port's client: tx
                                      leaves the VM or the host
    tx_packets, rx_packets            packets per second that passed
    drop_tx_pct, drop_rx_pct          % of packets dropped
    tx_dropped_per_s, rx_dropped_per_s   packets dropped per second: passed x pct / (100 - pct), null at 100 %

    Packets of a VM pass its own port and, when leaving the host, the uplink: never add up different kinds.

    >>> table = pl.LazyFrame({
    ...     "time": [0], "switch": ["vSwitch0"], "port_id": [33554449], "world_id": [444768], "client": ["db"],
    ...     "packets_received_per_sec": [990.0], "pct_received_packets_dropped": [1.0],
    ... })
    >>> ports(table).select("kind", "rx_packets", "drop_rx_pct", "rx_dropped_per_s", "tx_packets").collect().rows()
    [('vm', 990.0, 1.0, 10.0, None)]
    """
    network_port = finite(network_port)
    there = names(network_port)
    return network_port.select(
        "time",
        "switch",
        "port_id",
        "client",
        kind(),
        *(
            units.convert(column(there, counter), "mibit_per_s", "mbit_per_s").alias(metric)
            for metric, counter in _MEGABITS.items()
        ),
        *renamed(there, _TRAFFIC),
        *(
            _dropped(column(there, _TRAFFIC[f"{way}_packets"]), column(there, _TRAFFIC[f"drop_{way}_pct"])).alias(
                f"{way}_dropped_per_s"
            )
            for way in ("tx", "rx")
        ),
    )


def summary(ports: pl.LazyFrame, packet_floor: float = PACKET_FLOOR) -> pl.LazyFrame:
    """Sum up each port over time (`over_time`), drop percentages weighted by packets.

    Needs the columns of `ports`, the function. Returns one row per port, sorted by switch, port and client:

    switch, port_id, client, kind
    samples                             i64  number of samples
    mean_tx_mbits, mean_rx_mbits, max_tx_mbits, max_rx_mbits   Mbit/s of 10**6 bits
    tx_packets, rx_packets              mean packets per second that passed
    drop_tx_pct, drop_rx_pct            dropped / (passed + dropped) over all samples, %: null without packets
    max_drop_tx_pct, max_drop_rx_pct    largest % of a sample with at least `packet_floor` packets per second offered
                                        (passed and dropped), null without any
    tx_dropped_per_s, rx_dropped_per_s  mean packets dropped per second

    all_dropped_tx_samples, all_dropped_rx_samples   i64  samples at 100 %

    A sample that dropped all its packets does not show their number. It carries no weight, and counts for the maximum
    only if the floor is 0. Check the last two columns for a port that passes no packets.

    >>> table = pl.LazyFrame({
    ...     "time": [0, 1], "switch": ["vSwitch0"] * 2, "port_id": [5] * 2, "client": ["db"] * 2, "kind": ["vm"] * 2,
    ...     "tx_mbits": [1.0, 0.0], "rx_mbits": [1.0, 0.0], "tx_packets": [100.0, 0.0], "drop_tx_pct": [0.0, 0.0],
    ...     "tx_dropped_per_s": [0.0, 0.0], "rx_packets": [999.0, 1.0], "drop_rx_pct": [0.0, 50.0],
    ...     "rx_dropped_per_s": [0.0, 1.0],
    ... })
    >>> one = summary(table).collect()
    >>> round(one["drop_rx_pct"].item(), 3), one["max_drop_rx_pct"].item()  # 1 of 1001, and 50 % is no peak
    (0.1, 0.0)
    """
    ports = finite(ports)
    both = [aggregate for way in ("tx", "rx") for aggregate in _one_way(way, packet_floor)]
    return (
        over_time.with_covered(ports)
        .group_by("switch", "port_id", "client", "kind")
        .agg(pl.len().cast(pl.Int64).alias("samples"), *both)
        .sort("switch", "port_id", "client")
        .select(
            "switch",
            "port_id",
            "client",
            "kind",
            "samples",
            *(
                name.format(way)
                for name in (
                    "mean_{}_mbits",
                    "max_{}_mbits",
                    "{}_packets",
                    "drop_{}_pct",
                    "max_drop_{}_pct",
                    "{}_dropped_per_s",
                    "all_dropped_{}_samples",
                )
                for way in ("tx", "rx")
            ),
        )
    )


def link_speeds(network_port: pl.LazyFrame | None) -> pl.LazyFrame | None:
    """Return the speed of the link of every uplink; None if the capture does not have the counter.

    Needs `switch`, `port_id`, `world_id`, `client`, `link_speed_mb_per_s`. Returns one row per uplink (see `kind`)
    whose link was up at any time:

    switch, port_id, client
    link_mbits                        Mbit/s of 10**6 bits, the highest of the capture: a link that is down has 0

    Source: the counter `Link Speed (Mb/s)` of Network Port is the nominal speed of the link, in 10**6 bits (a port of
    Fast Ethernet shows 100). 0 means that the link is down (general knowledge).

    >>> table = pl.LazyFrame({
    ...     "switch": ["vSwitch0"] * 3, "port_id": [2, 4, 9], "world_id": [None, None, 444768],
    ...     "client": ["vmnic0", "vmnic1", "db"], "link_speed_mb_per_s": [10000.0, 0.0, 10000.0],
    ... })
    >>> link_speeds(table).collect().rows()
    [('vSwitch0', 2, 'vmnic0', 10000.0)]
    """
    network_port = None if network_port is None else finite(network_port)
    if network_port is None or _LINK_SPEED not in names(network_port):
        return None
    return (
        network_port.filter(kind() == "uplink")
        .group_by("switch", "port_id", "client")
        .agg(link_mbits=pl.col(_LINK_SPEED).max())
        .filter(pl.col("link_mbits") > 0)
    )


def _one_way(way: str, packet_floor: float) -> list[pl.Expr]:
    pct = pl.col(f"drop_{way}_pct")
    offered = pl.col(f"{way}_packets") + pl.col(f"{way}_dropped_per_s")
    enough = (offered >= packet_floor) | (offered.is_null() & (packet_floor <= 0))
    return [
        over_time.mean(pl.col(f"{way}_mbits")).alias(f"mean_{way}_mbits"),
        pl.col(f"{way}_mbits").max().alias(f"max_{way}_mbits"),
        over_time.mean(pl.col(f"{way}_packets")).alias(f"{way}_packets"),
        weighted_mean(pct, offered * over_time.seconds()).alias(f"drop_{way}_pct"),
        pct.filter(enough).max().alias(f"max_drop_{way}_pct"),
        over_time.mean(pl.col(f"{way}_dropped_per_s")).alias(f"{way}_dropped_per_s"),
        (pct >= ALL).sum().cast(pl.Int64).alias(f"all_dropped_{way}_samples"),
    ]
