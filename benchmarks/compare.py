"""Whether the intervals of `ex.compare` hold, what it finds, and how long it takes; writes a section of RESULTS.md.

Coverage: pairs of AR(1) series of one mean. Frames: tables of such series, and pairs of simulated untidy hosts that
differ in the seed of their noise only; a frame is wrong if any series is said to differ. Power: 75 changes planted into
one of two such hosts with 40 VMs, for several pairs of hosts. Speed: two captures of 92 MB, each time in a process of
its own.
Run: `python benchmarks/compare.py [--pairs 4000] [--hosts 12]`
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import captures
import numpy as np
import polars as pl
import sections
from numpy.typing import NDArray

import esxparse as ex
import esxparse_simulator
from esxparse.comparison.series import Gathered, gather
from esxparse.comparison.sides import side
from esxparse.comparison.table import Options, compared
from esxparse.derived.panels import Panel
from esxparse.metrics.means import adjusted, differences, means

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Matrix = NDArray[np.float64]

SAMPLES: Final = (24, 60, 120, 240)
PHIS: Final = (0.0, 0.5, 0.8, 0.9, 0.95)
HOSTS: Final = ("web", "database", "batch", "vdi", "storage")
LARGE_HOSTS: Final = 8
"""Hosts with 40 VMs, two for each pair that changes are planted into."""
WIDTH: Final = 200
"""Series of a frame of noise."""
PLAIN: Final = Options(0.95, {}, ())
TIMES: Final = 5
LARGE: Final = (17_000, 800)


TWICE: Final = {
    "count = 5": "count = 10",
    "cores_per_socket = 6": "cores_per_socket = 12",
    "memory_mb = 131072": "memory_mb = 262144",
}


def noise(random: np.random.Generator, phi: float, shape: tuple[int, int]) -> Matrix:
    """Autoregressive noise of variance 1, samples x series."""
    steps = random.normal(size=shape)
    values = np.empty(shape)
    values[0] = steps[0]
    for place in range(1, shape[0]):
        values[place] = phi * values[place - 1] + np.sqrt(1 - phi**2) * steps[place]
    return values


def coverage(pairs: int) -> Iterator[str]:
    """A row for each kind of noise: answered, coverage of answers, false differences of all pairs."""
    yield "| correlation of neighbours | " + " | ".join(f"{samples} samples" for samples in SAMPLES) + " |"
    yield "|---|" + "---|" * len(SAMPLES)
    for phi in PHIS:
        cells = []
        for samples in SAMPLES:
            random = np.random.default_rng([samples, int(100 * phi)])
            one, other = (means(noise(random, phi, (samples, pairs))) for _ in range(2))
            found = differences(one, other)
            answered = ~found.too_few
            missed = answered & (found.p_value < 0.05)
            covered = 100 * (1 - missed.sum() / max(answered.sum(), 1))
            cells.append(f"{100 * answered.mean():.0f} %: {covered:.1f} %, {100 * missed.mean():.1f} %")
        yield f"| {phi:g} | " + " | ".join(cells) + " |"


def frames(count: int) -> Iterator[str]:
    """Frames of noise in which a series is said to differ, after the correction for many comparisons."""
    for phi in PHIS[:-1]:
        wrong = 0
        for number in range(count):
            random = np.random.default_rng([7, number, int(100 * phi)])
            one, other = (means(noise(random, phi, (120, WIDTH))) for _ in range(2))
            found = differences(one, other)
            wrong += bool((np.nan_to_num(adjusted(found.p_value), nan=1) < 0.05).any())
        yield f"| {WIDTH} series of noise, correlation {phi:g}, 120 samples | {wrong} of {count} |"


def host(name: str, seed: int, folder: Path) -> ex.Recording:
    """An untidy host without a trouble."""
    text = f'base = "healthy-{name}"\nname = "{name}"\ntitle = "untidy"\nuntidy = 1.0\n'
    return simulated(text, name, seed, folder)


def large_host(seed: int, folder: Path) -> ex.Recording:
    """An untidy host with the 20 desktops of healthy-vdi twice, and twice the cores and the memory."""
    text = (Path(esxparse_simulator.__file__).parent / "scenarios" / "healthy-vdi.toml").read_text(encoding="utf-8")
    for old, new in TWICE.items():
        text = text.replace(old, new)
    return simulated(f"untidy = 1.0\n{text}", "desktops", seed, folder)


def simulated(text: str, name: str, seed: int, folder: Path) -> ex.Recording:
    """The capture of a scenario."""
    scenario = folder / f"{name}.toml"
    scenario.write_text(text, encoding="utf-8")
    output = folder / f"{name}-{seed}"
    command = [sys.executable, "-m", "esxparse", "simulate", str(scenario), "--seed", str(seed), "--samples", "240"]
    subprocess.run([*command, "-q", "-o", str(output)], check=True)
    return ex.open(next(output.glob("*.csv")))


def first(gathered: Gathered, samples: int) -> Gathered:
    """The first samples of a capture."""
    panels = {
        kind: Panel(kind, one.names, {name: values[:samples] for name, values in one.values.items()})
        for kind, one in gathered.panels.items()
    }
    return replace(gathered, panels=panels)


def null_hosts(sides: dict[str, list[Gathered]]) -> Iterator[str]:
    """Pairs of hosts, each host in one pair."""
    for samples in SAMPLES:
        wrong = pairs = series = alone = 0
        for hosts in sides.values():
            for one, other in zip(hosts[::2], hosts[1::2], strict=True):
                table, _ = compared(first(one, samples), first(other, samples), PLAIN)
                judged = table.filter(pl.col("verdict") != "too few samples", pl.col("change").abs() > 0.01)
                outside = (pl.col("change_low") > 0) | (pl.col("change_high") < 0)
                pairs += 1
                wrong += bool(table["differs"].any())
                series += judged.height
                alone += judged.filter(outside).height
        each = f"{series // pairs:,} series each, {100 * alone / series:.1f} % outside of their interval"
        told = f"{wrong} of {pairs} ({each})"
        yield f"| two untidy hosts, {samples} samples | {told} |"


def scaled(share: float) -> Callable[[Matrix], Matrix]:
    """Another level."""
    return lambda values: values * (1 + share)


def ramped(share: float) -> Callable[[Matrix], Matrix]:
    """A level that climbs, by `share` on average."""
    return lambda values: values * (1 + 2 * share * np.linspace(0, 1, len(values)))


def spread(times: float) -> Callable[[Matrix], Matrix]:
    """The same mean with more noise."""
    return lambda values: np.nanmean(values) + times * (values - np.nanmean(values))


KINDS: Final = {
    "level": (scaled, (0.1, 0.2, 0.5, 1.0, 2.0)),
    "ramp": (ramped, (0.2, 0.5, 1.0, 2.0, 4.0)),
    "variance": (spread, (1.5, 2.0, 3.0, 4.0, 6.0)),
}
WHERE: Final = (
    ("device", "gavg_ms"),
    ("vm", "contention_pct"),
    ("vm", "used_pct"),
    ("vm", "vdisk_iops"),
    ("port", "tx_mbits"),
)
"""Each change is planted into one object of each of these: one VM of all."""


def planted(hosts: list[Gathered]) -> Iterator[str]:
    """How many of 75 changes are found in each pair of hosts: among all series and by their interval alone."""
    pairs = list(zip(hosts[::2], hosts[1::2], strict=True))
    tried = len(pairs) * len(WHERE)
    yield f"| into one object, of 40 VMs | size | differ among all, of {tried} | interval without 0 | others differ |"
    yield "|---|---|---|---|---|"
    whole = 0
    for kind, (make, sizes) in KINDS.items():
        for size in sizes:
            rows = [_planted(*pair, place, make(size)) for pair in pairs for place in WHERE]
            found, alone, others = (sum(one) for one in zip(*rows, strict=True))
            whole += found
            shown = f"{size:g} times" if kind == "variance" else f"{100 * size:g} %"
            yield f"| {kind} | {shown} | {found} | {alone} | {others} |"
    yield ""
    mean = whole / len(pairs)
    yield f"Of 75 changes {mean:.0f} are found among all series, on average over {len(pairs)} pairs of hosts."


def _planted(
    before: Gathered, after: Gathered, where: tuple[str, str], change: Callable[[Matrix], Matrix]
) -> tuple[bool, bool, int]:
    """Whether a change differs among all series, whether its interval leaves 0 out, and how many others differ."""
    table, column = where
    panel = after.panels[table]
    place = int(np.nanargmax(np.nanmean(panel.values[column], axis=0)))
    values = panel.values[column].copy()
    values[:, place] = change(values[:, place])
    changed = Panel(table, panel.names, {**panel.values, column: values})
    rows, _ = compared(before, replace(after, panels={**after.panels, table: changed}), PLAIN)
    mine = rows.filter(table=table, column=column, instance=panel.names[place]).row(0, named=True)
    outside = mine["change_low"] is not None and (mine["change_low"] > 0 or mine["change_high"] < 0)
    return mine["differs"], outside, int(rows["differs"].sum()) - mine["differs"]


def seconds(folder: Path) -> str:
    """The time that two captures of 92 MB take, from the start of the process to the table."""
    files = []
    for seed in (1, 2):
        files.append(folder / f"large-{seed}.csv")
        captures.write(files[-1], *LARGE, seed=seed)
    size = files[0].stat().st_size / 1e6
    code = "import sys, esxparse as ex; print(ex.compare(*sys.argv[1:]).frame.height)"
    taken, spent = [], []
    for _ in range(TIMES):
        began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, files)], check=True, capture_output=True, text=True
        )
        taken.append(time.perf_counter() - began)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    rows = int(done.stdout)
    span = f"{min(taken):.1f} to {max(taken):.1f}"
    median = statistics.median(taken)
    cpu = f"{statistics.median(spent):.1f} s of processors"
    return f"Two captures of {size:.0f} MB, {rows:,} series: {median:.1f} s ({span}), {cpu}, Python's start included."


def main() -> None:
    """Measures and writes the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=4000)
    parser.add_argument("--hosts", type=int, default=12, help="seeds of each of the five hosts")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        sides = {
            name: [gather(side(host(name, 500 + seed, folder)), None) for seed in range(options.hosts)]
            for name in HOSTS
        }
        large = [gather(side(large_host(700 + seed, folder)), None) for seed in range(LARGE_HOSTS)]
        lines = [
            "Pairs of series of one mean. Of each: the share with an interval (others: too few samples), how many of",
            "these intervals cover the truth, and false differences of all pairs.",
            "",
            *coverage(options.pairs),
            "",
            "| frames without a difference | in which any series differs |",
            "|---|---|",
            *frames(200),
            *null_hosts(sides),
            "",
            *planted(large),
            "",
            "A comparison of means finds no change of variance, and is not meant to.",
            "",
            seconds(folder),
        ]
    sections.put("Comparing captures", lines)


if __name__ == "__main__":
    main()
