"""Throughput against the line: the share left by framing, packets and their size, host CPU by number of NICs.

A packet of MTU bytes carries MTU - 40 bytes of data (20 of IP, 20 of TCP, more with TCP options) and takes MTU + 38
bytes of the wire (8 preamble and start, 14 header, 4 checksum, 12 gap between frames):

    share = (MTU - 40 - options) / (MTU + 38)

    MTU   without options   with TCP timestamps (12 bytes)
    1500  94.93 %           94.15 %: the 9.4 Gbps of a 10 GbE port
    9000  99.14 %           99.01 %

Mbit/s are 10**6 bits. Source: VMware, "Line-Rate Performance with 80GbE and vSphere 5.5", footnote 1 (40 and 38 bytes
of a 1500 byte packet); IEEE 802.3 for the 38 bytes, RFC 7323 for the 12 of timestamps, which Linux sends by default
(general knowledge).
"""

from __future__ import annotations

from typing import Final

import polars as pl

from esxparse.errors import EsxparseError

from ._inputs import ABOVE_0, check
from .frames import column, finite, names
from .interval import check_confidence, needs_scipy

TCP_IP_BYTES: Final = 40
FRAMING_BYTES: Final = 38
TIMESTAMP_BYTES: Final = 12
"""TCP timestamps, an option that most systems send with every segment."""
_HEADER_BYTES: Final = 14
_ROUNDING: Final = 0.01
"""Counters are rounded: a mean size up to this share above one packet is one packet."""


def payload_bytes(mtu: int = 1500, tcp_option_bytes: int = 0) -> int:
    """Return the bytes of data in a full packet: MTU - 40 - options.

    Raises EsxparseError: Headers and options leave no room for data.

    >>> payload_bytes(), payload_bytes(9000), payload_bytes(1500, TIMESTAMP_BYTES)
    (1460, 8960, 1448)
    """
    left = mtu - TCP_IP_BYTES - tcp_option_bytes
    if left <= 0 or tcp_option_bytes < 0:
        msg = f"an MTU of {mtu} with {tcp_option_bytes} bytes of TCP options carries no data: give the MTU in bytes"
        raise EsxparseError(msg)
    return left


def payload_share(mtu: int = 1500, tcp_option_bytes: int = 0) -> float:
    """Return the share of the line that is left for data: (MTU - 40 - options) / (MTU + 38).

    Raises EsxparseError: Headers and options leave no room for data.

    >>> round(payload_share(1500), 4), round(payload_share(1500, TIMESTAMP_BYTES), 4), round(payload_share(9000), 4)
    (0.9493, 0.9415, 0.9914)
    """
    return payload_bytes(mtu, tcp_option_bytes) / (mtu + FRAMING_BYTES)


def available_mbit_per_s(line_mbit_per_s: float, mtu: int = 1500, tcp_option_bytes: int = 0) -> float:
    """Return the most data TCP can move over a line, Mbit/s: line x payload_share.

    Raises EsxparseError: The line's speed is not above 0, or headers and options leave no room for data.

    >>> round(available_mbit_per_s(10_000)), round(available_mbit_per_s(10_000, tcp_option_bytes=TIMESTAMP_BYTES))
    (9493, 9415)
    """
    check("the speed of the line in Mbit/s", line_mbit_per_s, ABOVE_0)
    return line_mbit_per_s * payload_share(mtu, tcp_option_bytes)


def packets_per_s(mbit_per_s: float, packet_payload_bytes: float) -> float:
    """Return the packets per second that move data at a rate: Mbit/s x 10**6 / 8 / bytes of data in each.

    Raises EsxparseError: The packets carry no data.

    >>> round(packets_per_s(9400, payload_bytes()))  # published: 800K per second and NIC
    804795
    """
    check("the data in a packet in bytes", packet_payload_bytes, ABOVE_0)
    return mbit_per_s * 125_000 / packet_payload_bytes


def packet_bytes(mbit_per_s: float, per_s: float) -> float:
    """Return the mean size of packets, bytes: Mbit/s x 10**6 / 8 / packets per second.

    Raises EsxparseError: The number of packets is not above 0.

    >>> round(packet_bytes(9400, 120_000))  # published: TSO packets of close to 10K
    9792
    """
    check("the number of packets per second", per_s, ABOVE_0)
    return mbit_per_s * 125_000 / per_s


def aggregated(packet_payload_bytes: float, mtu: int = 1500, tcp_option_bytes: int = 0) -> float:
    """Return the number of wire packets per host packet, with TSO for sending or LRO for receiving.

    bytes of data in the host's packet / bytes of data in a full packet on the wire; 1 means no aggregation.

    >>> round(aggregated(9792), 1)
    6.7
    """
    return packet_payload_bytes / payload_bytes(mtu, tcp_option_bytes)


def against_line(ports: pl.LazyFrame, mtu: int = 1500, tcp_option_bytes: int = 0) -> pl.LazyFrame:
    """Compare the traffic of ports with the capacity of their lines, one row in, one row out.

    Needs `link_mbits` (`network.link_speeds`, joined by the caller) and, for each direction, `tx_mbits` and
    `tx_packets`, `rx_mbits` and `rx_packets` (`network.ports`), or their means under the same names. Keeps all columns
    and adds, null if a counter is missing or 0:

    available_mbit_per_s                     link x payload share: the most data TCP can move
    tx_packet_bytes, rx_packet_bytes         mean size of a packet on the host
    tx_wire_packets_per_s, rx_...            packets on the wire (estimate): the host's, cut to the MTU (TSO, LRO)
    tx_data_mbit_per_s, rx_...               traffic without the Ethernet, IP and TCP headers of the host's packets
    tx_of_available_pct, rx_...              data / available x 100

    esxtop counts frames with the Ethernet header, but without preamble, checksum and gap, and sees headers once per
    host packet (assumptions, general knowledge). Pure acknowledgements carry no data. In a direction of mixed traffic
    the share is a little too high for data and too low for the line.

    >>> ports = pl.LazyFrame({
    ...     "client": ["vmnic0"], "link_mbits": [10_000.0], "tx_mbits": [9_452.0], "tx_packets": [120_000.0],
    ... })
    >>> row = against_line(ports).collect().row(0, named=True)
    >>> round(row["tx_packet_bytes"]), round(row["tx_of_available_pct"], 1), row["rx_packet_bytes"]
    (9846, 99.0, None)
    """
    ports = finite(ports)
    there = names(ports)
    full = payload_bytes(mtu, tcp_option_bytes)
    headers = _HEADER_BYTES + mtu - full
    link = column(there, "link_mbits")
    available = pl.when(link > 0).then(link * payload_share(mtu, tcp_option_bytes))
    added = [available.alias("available_mbit_per_s")]
    for way in ("tx", "rx"):
        mbits, packets = column(there, f"{way}_mbits"), column(there, f"{way}_packets")
        size = pl.when(packets > 0).then(mbits * 125_000 / packets)
        carried = (size - headers).clip(lower_bound=0.0)
        data = carried * packets / 125_000
        added += [
            size.alias(f"{way}_packet_bytes"),
            ((carried / full - _ROUNDING).ceil().clip(lower_bound=1.0) * packets).alias(f"{way}_wire_packets_per_s"),
            data.alias(f"{way}_data_mbit_per_s"),
            (data / available * 100).alias(f"{way}_of_available_pct"),
        ]
    return ports.with_columns(added)


def cpu_by_nics(
    runs: pl.LazyFrame, cpu: str = "host_util_pct", by: tuple[str, ...] = (), confidence: float = 0.95
) -> pl.LazyFrame:
    """Fit a line to the host's CPU by the number of NICs: the cost of one more NIC.

    cpu = intercept + slope x nics by least squares; the interval of the slope is slope +- t(n - 2) x its standard
    error. Needs `nics` and the column `cpu` (% of the host, util or used, never both in one column). Rows without
    either do not count. Returns one row for each group of `by` (send and receive, for example), in order:

    by...
    points              i64  rows that counted
    slope_pct_per_nic   f64  percentage points per NIC; null with fewer than two numbers of NICs
    slope_low_pct_per_nic, slope_high_pct_per_nic   f64  its interval; null with fewer than three points
    intercept_pct       f64  % without a NIC
    r_squared           f64  share of the variance that the line explains; null if the CPU does not vary
    largest_deviation_pct   f64  percentage points from the line to the point farthest from it

    An r_squared near 1 does not prove a line: check the deviation too. Source: VMware, "Line-Rate Performance with
    80GbE and vSphere 5.5", figure 3 ("CPU usage increased linearly as we added more physical NICs"); least squares:
    general knowledge.

    Raises EsxparseError: `confidence` is not between 0 and 1, or scipy is missing (when the result is collected).

    >>> runs = pl.LazyFrame({"nics": [1, 2, 4, 8], "host_util_pct": [6.0, 11.0, 21.0, 41.0]})
    >>> cpu_by_nics(runs).select("points", "slope_pct_per_nic", "intercept_pct", "r_squared").collect().row(0)
    (4, 5.0, 1.0, 1.0)
    """
    runs = finite(runs)
    check_confidence(confidence)
    keys: list[str | pl.Expr] = [*by] or [pl.lit(0).alias("_all")]
    nics, load = pl.col("nics").cast(pl.Float64), pl.col(cpu).cast(pl.Float64)
    across, up = nics - nics.mean(), load - load.mean()
    spread = (across**2).sum()
    slope = pl.when(spread > 0).then((across * up).sum() / spread)
    left = up - slope * across
    fitted = (
        runs.filter(nics.is_not_null() & load.is_not_null())
        .group_by(keys, maintain_order=True)
        .agg(
            points=pl.len().cast(pl.Int64),
            slope_pct_per_nic=slope,
            intercept_pct=load.mean() - slope * nics.mean(),
            r_squared=pl.when((up**2).sum() > 0, spread > 0).then(1 - (left**2).sum() / (up**2).sum()),
            largest_deviation_pct=left.abs().max(),
            _error=((left**2).sum() / (pl.len() - 2) / spread).sqrt(),
        )
    )
    reach = pl.when(pl.col("points") > 2).then(_t(pl.col("points") - 2, confidence) * pl.col("_error"))  # noqa: PLR2004
    return fitted.select(
        *by,
        "points",
        "slope_pct_per_nic",
        (pl.col("slope_pct_per_nic") - reach).alias("slope_low_pct_per_nic"),
        (pl.col("slope_pct_per_nic") + reach).alias("slope_high_pct_per_nic"),
        "intercept_pct",
        "r_squared",
        "largest_deviation_pct",
    )


def _t(freedom: pl.Expr, confidence: float) -> pl.Expr:
    """Return the quantile of Student's t with a probability of (1 - confidence) / 2 above it."""

    def quantile(series: pl.Series) -> pl.Series:
        needs_scipy()
        from scipy.special import stdtrit  # noqa: PLC0415  (an extra, and slow to import)

        return pl.Series(stdtrit(series.to_numpy(), (1 + confidence) / 2), dtype=pl.Float64)

    return freedom.cast(pl.Float64).map_batches(quantile, return_dtype=pl.Float64)
