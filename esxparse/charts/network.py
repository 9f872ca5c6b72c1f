"""Network: traffic of each uplink, and ports that drop packets.

All builders take frames of `esxparse.metrics.network`. Network megabits are 10**6 bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from esxparse.charts import marks
from esxparse.charts.captions import past_in_samples
from esxparse.charts.marks import Levels
from esxparse.charts.reduce import MAX_RANKED, kept, leaders, over_time, with_labels

if TYPE_CHECKING:
    import altair as alt

_DIRECTIONS: Final = {"tx_mbits": "transmitted", "rx_mbits": "received"}
_KINDS: Final = {
    "uplink": ("Uplink", "uplinks"),
    "vm": ("VM port", "VM ports"),
    "vmkernel": ("VMkernel port", "VMkernel ports"),
    "other": ("Other port", "other ports"),
}
_DROPS: Final = {"tx": "Sent packets dropped", "rx": "Received packets dropped"}


def throughput(
    ports: pl.LazyFrame | None, kind: str = "uplink", speeds: pl.LazyFrame | None = None
) -> alt.LayerChart | None:
    """Draw the traffic of the busiest ports of one kind over time, a line for each direction.

    Args:
        ports: `network.ports`: `time, switch, port_id, client, kind, tx_mbits, rx_mbits`.
        kind: "uplink", "vm", "vmkernel" or "other".
        speeds: Speed of links, `client, link_mbits`: written below the title, and drawn if traffic comes near the
            slowest.
    """
    if ports is None:
        return None
    of_kind = with_labels(ports.filter(pl.col("kind") == kind), "client", "port_id")
    both = of_kind.with_columns(both=pl.max_horizontal("tx_mbits", "rx_mbits"))
    chosen = leaders(both, "label", "both", n=6)
    if not chosen.chosen:
        return None
    noun, nouns = _KINDS[kind]
    long = (
        kept(of_kind, chosen, nouns, "client")
        .unpivot(
            list(_DIRECTIONS),
            index=["time", "label", "full"],
            variable_name="direction",
            value_name="mbits",
        )
        .drop_nulls("mbits")
        .with_columns(pl.col("direction").replace_strict(_DIRECTIONS))
    )
    reduced = over_time(long, ["mbits"], ["label", "full", "direction"])
    link, words = _links(speeds, reduced.frame["full"].unique().to_list())
    highest = reduced.frame.select(pl.col("mbits_max").max()).item()
    most = chosen.caption(nouns, "95th percentile")
    look = marks.Look(
        title=marks.heading(f"{noun} traffic over time", words, most, reduced.caption),
        description=f"{noun} traffic over time by direction, megabits per second.",
        noun=noun,
        unit="Mbit/s",
        levels=link if link is not None and link.warn is not None and highest >= link.warn / 2 else None,
        words=("link speed", ""),
        palette=marks.same_colours(chosen),
    )
    return marks.over_time(reduced, "mbits", chosen.chosen, look, dash="direction", rest=chosen.rest(nouns))


def _links(speeds: pl.LazyFrame | None, clients: list[str]) -> tuple[marks.Limit | None, str]:
    """Return the slowest link of `clients`, and words for the speeds of all."""
    if speeds is None:
        return None, ""
    known = speeds.filter(pl.col("client").is_in(clients)).sort("client").collect()
    if known.is_empty():
        return None, ""
    rates = known["link_mbits"].to_list()
    each = (
        f"{rates[0]:,.0f} Mbit/s each"
        if len(set(rates)) == 1
        else ", ".join(f"{client} {rate:,.0f}" for client, rate in zip(known["client"], rates, strict=True)) + " Mbit/s"
    )
    return marks.Limit(min(rates)), f"link speed: {each}"


def drops_ranked(summary: pl.LazyFrame | None, direction: str, levels: Levels | None = None) -> alt.LayerChart | None:
    """Rank ports by the share of packets they dropped over the whole time; None without any drops.

    `summary`: `network.summary`: `client, port_id, drop_tx_pct, max_drop_tx_pct, drop_rx_pct, max_drop_rx_pct`.
    `direction`: "tx" or "rx". `levels`: threshold, percent of packets.
    """
    if summary is None:
        return None
    title = _DROPS[direction]
    share, highest = f"drop_{direction}_pct", f"max_drop_{direction}_pct"
    table = (
        with_labels(summary, "client", "port_id")
        .filter(pl.max_horizontal(share, highest) > 0)
        .select("label", pl.col("client").alias("full"), pl.col(share).alias("dropped"), pl.col(highest).alias("max"))
        .sort(["dropped", "label"], descending=[True, False], nulls_last=True)
        .collect()
    )
    if table.is_empty():
        return None
    total = table.height
    table = table.head(MAX_RANKED)
    left_out = f"{MAX_RANKED} of {total} ports" if total > MAX_RANKED else ""
    bars = "bar: share of all packets, tick: highest sample with enough packets"
    look = marks.Look(
        title=marks.heading(title, bars, past_in_samples(table, "dropped", "max", levels), left_out),
        description=f"Ports ranked by {title.lower()}, percent.",
        axis="% of packets",
        noun="Port",
        unit="%",
        levels=levels,
    )
    return marks.ranked(table, "dropped", look)
