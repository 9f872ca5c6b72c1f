"""VM sizes beside their use, and a host's load beside the thresholds of dense mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from esxparse.charts import marks, reduce
from esxparse.metrics.consolidation import BUSY_PCT, VCPUS_PER_PCPU

if TYPE_CHECKING:
    import altair as alt

_THRESHOLDS: Final = {
    f"PCPU utilisation, of {BUSY_PCT:g} %": 100 * pl.col("pcpu_util_pct") / BUSY_PCT,
    f"vCPUs, of {VCPUS_PER_PCPU} x PCPUs": 100 * pl.col("vcpus") / (VCPUS_PER_PCPU * pl.col("pcpus")),
    "VMs, of PCPUs": 100 * pl.col("vms") / pl.col("pcpus"),
}


def sizes(vms: pl.DataFrame) -> alt.LayerChart | None:
    """Draw how many vCPUs VMs wanted at once (p99), with a tick at the number they have.

    `vms`: `vm`, `vcpus`, `wanted_p99`, as `ex.right_size` returns them. The largest VMs are drawn; None without
    numbers.
    """
    known = vms.drop_nulls(["vcpus", "wanted_p99"]).sort("vcpus", "wanted_p99", descending=True, maintain_order=True)
    if known.is_empty():
        return None
    rows = reduce.with_labels(known.head(reduce.MAX_RANKED).lazy(), "vm", "vm").collect()
    left_out = f"{known.height - rows.height} smaller VMs left out" if known.height > rows.height else ""
    look = marks.Look(
        title=marks.heading(
            "vCPUs wanted and given", "bar: wanted at once, p99; tick: vCPUs that the VM has", left_out
        ),
        description="vCPUs that each VM wanted at once, beside the vCPUs that it has.",
        axis="vCPUs",
        noun="VM",
        unit="vCPUs",
    )
    return marks.ranked(rows.rename({"vm": "full"}), "wanted_p99", look, "vcpus", "vCPUs given")


def dense_mode(checks: pl.DataFrame) -> alt.LayerChart | None:
    """Draw the load at each check as a share of each threshold of dense mode: it takes all three at 100 %.

    `checks`: from `metrics.consolidation.dense_mode`. None if every check has missing values.
    """
    shares = checks.select("time", *(one.alias(name) for name, one in _THRESHOLDS.items())).drop_nulls()
    if shares.is_empty():
        return None
    names = list(_THRESHOLDS)
    reduced = reduce.over_time(shares.unpivot(names, index="time", variable_name="label").lazy(), ["value"], ["label"])
    look = marks.Look(
        title=marks.heading("Load at each check, as a share of each threshold", reduced.caption),
        description="Utilisation, vCPUs and VMs over time, each as a percentage of the threshold of dense mode.",
        axis="% of the threshold",
        noun="threshold",
        unit="%",
        levels=marks.Limit(100.0),
        words=("needed", "needed"),
    )
    return marks.over_time(reduced, "value", names, look)
