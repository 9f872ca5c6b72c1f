"""The tables, tiles and charts of the report on storage benchmarks: what its cells show of `gather`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from esxparse.charts import latency, workload
from esxparse.metrics import simultaneous
from esxparse.recording import counted
from esxparse.reports import page
from esxparse.reports.blocks import NOTHING, Block, Header, note, number, stack, table, tiles
from esxparse.reports.columns import columns_of
from esxparse.reports.storage_benchmark.gather import Gathered

if TYPE_CHECKING:
    import altair as alt


def header(gathered: Gathered, title: str) -> Header:
    """The title, and which programs reported."""
    releases = sorted({str(rec.meta.get("release") or rec.format) for rec in gathered.recordings})
    return page.header(title, gathered.recordings, f"{', '.join(releases)}: {page.files(gathered.recordings)}")


def summary(gathered: Gathered) -> Block:
    """Tiles: how much was tested, and the best of it."""
    if gathered.results is None:
        return note("These recordings have no test results, only logs or histograms.", "info")
    results = gathered.results.collect()
    if results.is_empty():
        return note("No test in these recordings did any I/O.", "warning")
    most = simultaneous.moments(results.lazy()).collect()
    by_iops = most.sort("iops", descending=True, maintain_order=True).row(0, named=True)
    by_rate = most.sort("bandwidth_bytes_per_s", descending=True, maintain_order=True).row(0, named=True)
    errors = int(results["errors"].sum() or 0)
    items = [
        (
            "Tests",
            number(results["test"].n_unique(), 0),
            "in one recording" if len(gathered.recordings) == 1 else f"in {len(gathered.recordings)} recordings",
        ),
        ("Most IOPS", number(by_iops["iops"], 0), _together(by_iops["tests"])),
        ("Highest bandwidth", f"{number(by_rate['bandwidth_bytes_per_s'] / 1e6, 1)} MB/s", _together(by_rate["tests"])),
        ("I/O errors", number(errors, 0), "of all tests"),
    ]
    timed = results.filter(pl.col("latency_mean_ms").is_not_null()).sort("latency_mean_ms")
    if timed.height:
        best = timed.row(0, named=True)
        items.insert(3, ("Lowest mean latency", f"{number(best['latency_mean_ms'], 3)} ms", best["test"]))
    return tiles(items)


def _together(names: Sequence[str]) -> str:
    """The tests that ran at one time, in words.

    >>> _together(["oltp"]), _together(["oltp", "log", "backup"])
    ('oltp', 'oltp and 2 others at the same time')
    """
    others = len(names) - 1
    return f"{names[0]} and {counted(others, 'other')} at the same time" if others else names[0]


def tests(gathered: Gathered) -> Block:
    """Every test and direction with its numbers."""
    if gathered.results is None or gathered.means is None:
        return NOTHING
    column = pl.col
    frame = gathered.results.with_columns(
        size=column("block_size_bytes") / 1024, rate=column("bandwidth_bytes_per_s") / 1e6
    ).collect()
    made = table(frame, columns_of("storage_benchmark.tests"), "Tests; MB are 10\u2076 bytes, KiB 1024 bytes")
    each, apart = (one.select(pl.len()).collect().item() for one in (gathered.results, gathered.means))
    if each == apart:
        return made
    said = f"Repetitions, whose names end in 1, 2, 3 ..., are their mean in the charts: {each} tests are {apart}."
    return stack(note(said), made)


_HISTOGRAMS: Final = {
    "io_length": ("Command sizes", "bytes"),
    "outstanding": ("Outstanding commands on arrival", "commands"),
    "latency": ("Command latency", "microseconds"),
    "seek_distance": ("Distance from the previous command", "blocks of 512 bytes"),
    "interarrival": ("Time between commands", "microseconds"),
}
"""Histogram of vscsiStats -> title of its chart, unit."""


def series_charts(gathered: Gathered) -> list[alt.LayerChart | None]:
    """What fio logged over time; completion latency where the whole was not logged."""
    if gathered.series is None:
        return []
    logged = (
        gathered.series.select(pl.col("metric").cast(pl.String).unique(maintain_order=True))
        .collect()["metric"]
        .to_list()
    )
    return [
        workload.over_time(gathered.series, metric)
        for metric in workload.LOGGED
        if metric in logged and not (metric == "clat" and "lat" in logged)
    ]


def histogram_charts(gathered: Gathered) -> list[alt.LayerChart | None]:
    """The histograms of vscsiStats, all disks together."""
    if gathered.histograms is None:
        return []
    return [
        latency.histogram(gathered.histograms.filter(pl.col("histogram") == name), title, unit)
        for name, (title, unit) in _HISTOGRAMS.items()
    ]
