"""How like a real host a simulated one is: 20 statistics of captures, and whether a classifier tells windows apart.

`python benchmarks/realism.py REAL [HOSTS] [JOBS]`: REAL is a directory of captures by esxtop, HOSTS (200) how many
healthy hosts are drawn; adds to RESULTS.md. Statistics of three samples are taken of the first three of each capture of
all counters; those of CPUs over time need 100 samples, and are medians of windows of 120. What a capture cannot tell is
left out. Run it with `uv run --group bench`: the classifier is scikit-learn's.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import sections

import esxparse as ex
import esxparse_simulator as simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Cube = dict[str, Numbers]

HOSTS, LONG, FEWEST, WINDOW = 200, 120, 100, 3
WHAT = {
    "host util: coefficient of variation": ".2f",
    "PCPU util: coefficient of variation": ".2f",
    "PCPU util: lag-1 autocorrelation": ".2f",
    "PCPU util: kurtosis": ".2f",
    "PCPU util: maximum over median": ".2f",
    "PCPU util: change per sample, %": ".0f",
    "PCPU util: correlation of pairs": ".2f",
    "PCPU used over util: spread": ".3f",
    "Kernel MBytes: spread, MB": ".2f",
    "columns that never move, %": ".0f",
    "columns not 0 that never move, %": ".0f",
    "% Wait of worlds, if not 0, that moves, %": ".0f",
    "worlds with switches, %": ".0f",
    "worlds: largest |sum of states - 100|": ".2f",
    "% Ready of worlds: change per sample, %": ".0f",
    "GAVG of devices: change per sample, %": ".0f",
    "Timers/sec of VMs: change per sample, %": ".0f",
    "packets: change per sample, %": ".0f",
    "Switches/sec of worlds: change per sample, %": ".0f",
    "disk cells that are 0 in the first sample, %": ".0f",
}


def cubes(rec: ex.Recording, samples: int | None = None) -> dict[str, Cube]:
    """Of each table its counters: [samples, instances]."""
    found: dict[str, Cube] = {}
    for name, table in rec.tables.items():
        frame = table.collect()
        times = frame["time"].n_unique() if name not in {"physical_cpu", "memory"} else rec.meta["samples"]
        rows = frame.height // times if times else 0
        numbers = [column for column, kind in frame.schema.items() if kind == pl.Float64]
        if rows and rows * times == frame.height:
            found[name] = {c: frame[c].to_numpy().reshape(times, rows)[:samples] for c in numbers}
    return found


def pcpus(rec: ex.Recording) -> tuple[Numbers, Numbers]:
    """Util and used of each PCPU: [samples, PCPUs]."""
    frame = rec["physical_cpu"].filter(pl.col("pcpu").is_not_null()).collect()
    many = frame["pcpu"].n_unique()
    util, used = (frame[f"pct_{what}_time"].to_numpy().reshape(-1, many) for what in ("util", "processor"))
    return util, used


def change(values: Numbers, least: float) -> float:
    """Median change from one sample to the next, percent of the mean of both, of what is above `least`."""
    before, after = values[:-1], values[1:]
    both = (before > least) & (after > least)
    return float(np.median(200.0 * np.abs(after - before)[both] / (after + before)[both])) if both.any() else np.nan


def over_time(util: Numbers, used: Numbers, memory: Numbers) -> list[float]:
    """The statistics of a window of many samples."""
    host, spread = util.mean(axis=1), util.std(axis=0)
    moving = util[:, spread > 0.0]
    away = (moving - moving.mean(axis=0)) / moving.std(axis=0)
    pairs = np.atleast_2d(np.corrcoef(moving.T))[np.triu_indices(moving.shape[1], 1)]
    ratio = (used / np.where(util > 1.0, util, np.nan)).ravel()
    return [
        host.std() / host.mean(),
        np.median(moving.std(axis=0) / moving.mean(axis=0)),
        np.median((away[1:] * away[:-1]).mean(axis=0)),
        np.median((away**4).mean(axis=0)),
        np.median(moving.max(axis=0) / np.median(moving, axis=0)),
        np.median(200.0 * np.abs(np.diff(moving, axis=0)) / (moving[1:] + moving[:-1] + 1e-9)),
        np.median(pairs) if len(pairs) else np.nan,
        np.nanstd(ratio),
        memory.std(),
    ]


def of_three(tables: dict[str, Cube]) -> list[float]:
    """The statistics of the first three samples of a capture of all counters."""
    moves, not_zero = [], []
    for cube in tables.values():
        for values in cube.values():
            moves.append((values.max(axis=0) != values.min(axis=0)).ravel())
            not_zero.append((np.nan_to_num(values) != 0.0).any(axis=0).ravel())
    still, there = ~np.concatenate(moves), np.concatenate(not_zero)
    worlds = tables["vcpu"]
    waits = worlds["pct_wait"]
    states = sum(worlds[f"pct_{name}"] for name in ("run", "ready", "wait", "costop") if f"pct_{name}" in worlds)
    devices, ports = tables["physical_disk_scsi_device"], tables["network_port"]
    first = np.concatenate(
        [cube["commands_per_sec"][0] for name, cube in tables.items() if name.startswith("physical_disk")]
    )
    return [
        100.0 * still.mean(),
        100.0 * still[there].mean(),
        100.0 * (waits.max(axis=0) != waits.min(axis=0))[waits.max(axis=0) > 0.0].mean(),
        100.0 * (worlds["switches_per_sec"][1:] > 0.0).mean(),
        float(np.abs(states - 100.0)[1:].max()),
        change(worlds["pct_ready"], 0.05),
        change(devices["average_guest_millisec_per_command"][1:], 0.0),
        change(tables["group_cpu"]["timers_per_sec"], 0.0),
        change(ports["packets_received_per_sec"], 1.0),
        change(worlds["switches_per_sec"][1:], 0.0),
        100.0 * (np.nan_to_num(first) == 0.0).mean(),
    ]


def statistics(path: Path) -> list[float]:
    """All of one capture; NaN for what it cannot give."""
    rec = ex.open(path)
    long, three = [np.nan] * 9, [np.nan] * 11
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        if rec.meta["samples"] >= FEWEST:
            util, used = pcpus(rec)
            memory = rec["memory"].collect()["kernel_mbytes"].to_numpy()
            starts = range(0, max(1, len(util) - LONG + 1), LONG)
            windows = [over_time(*(of[start : start + LONG] for of in (util, used, memory))) for start in starts]
            long = np.nanmedian(windows, axis=0).tolist()
        if "vcpu" in rec.tables:
            three = of_three(cubes(rec, WINDOW))
    return [*long, *three]


def windows(path: Path) -> Iterator[list[float]]:
    """What the classifier is told of each three samples: nothing that says how large or how busy the host is."""
    rec = ex.open(path)
    util, used = pcpus(rec)
    memory = rec["memory"].collect()["kernel_mbytes"].to_numpy()
    for start in range(0, len(util) - WINDOW + 1, WINDOW):
        cpu, kernel = util[start : start + WINDOW] + 0.01, memory[start : start + WINDOW]
        host, ratio = cpu.mean(axis=1), used[start : start + WINDOW] / cpu
        yield [
            host.std() / host.mean(),
            float(np.median(cpu.std(axis=0) / cpu.mean(axis=0))),
            float(np.median(np.abs(np.diff(cpu, axis=0)) / (cpu[1:] + cpu[:-1]))),
            float(np.median(cpu.std(axis=1) / cpu.mean(axis=1))),
            float(np.median(cpu.max(axis=0) / np.median(cpu, axis=0))),
            float(np.median(ratio)),
            float(ratio.std()),
            float(np.ptp(kernel)),
        ]


def simulated(seed: int) -> tuple[list[float], list[list[float]]]:
    """The statistics of one healthy host drawn at random, and its windows."""
    experiment = simulate.random_experiment(seed, troubles=(), samples=LONG + 1, interval=5.0)
    with tempfile.TemporaryDirectory() as folder:
        simulate.record(experiment, folder, capture={"all_counters": True, "release": "6.5"})
        path = Path(folder) / f"random-{seed}.csv"
        return statistics(path), list(windows(path))


def told_apart(real: dict[str, list[list[float]]], drawn: list[list[list[float]]]) -> list[str]:
    """How well a random forest tells windows apart that it has not seen: area under the curve, 0.5 is not at all."""
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415  of the group `bench` alone
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415
    from sklearn.model_selection import GroupKFold, cross_val_predict  # noqa: PLC0415

    blocks = [(f"{name}/{4 * n // len(rows)}", row) for name, rows in real.items() for n, row in enumerate(rows)]
    rows = np.array([row for _, row in blocks] + [row for rows in drawn for row in rows])
    is_real = np.array([1] * len(blocks) + [0] * (len(rows) - len(blocks)))
    hosts = [f"{n}" for n, rows in enumerate(drawn) for _ in rows]
    lines = []
    for what, groups, folds in (
        ("by capture", [name.rpartition("/")[0] for name, _ in blocks] + hosts, len(real)),
        ("by capture, the real ones in quarters", [name for name, _ in blocks] + hosts, 5),
    ):
        if folds > 1:
            forest = RandomForestClassifier(300, min_samples_leaf=3, class_weight="balanced", random_state=1)
            found = cross_val_predict(
                forest, rows, is_real, groups=groups, cv=GroupKFold(folds), method="predict_proba"
            )
            lines.append(f"* cross-validated {what}: AUC {roc_auc_score(is_real, found[:, 1]):.2f}")
    return lines


def table(real: dict[str, list[float]], drawn: Numbers) -> list[str]:
    """The table's lines."""
    lines = [
        "| statistic | " + " | ".join(real) + " | simulated: 5 % | median | 95 % | inside |",
        "|---|" + "---:|" * (len(real) + 4),
    ]
    count = 0
    for place, (name, form) in enumerate(WHAT.items()):
        low, middle, high = np.nanpercentile(drawn[:, place], [5, 50, 95])
        values = [of[place] for of in real.values()]
        known = [value for value in values if np.isfinite(value)]
        inside = bool(known) and all(low - 1e-9 <= value <= high + 1e-9 for value in known)
        count += inside
        cells = [format(value, form) if np.isfinite(value) else "" for value in values]
        ends = [format(value, form) for value in (low, middle, high)]
        lines.append(f"| {name} | {' | '.join([*cells, *ends])} | {'yes' if inside else 'no'} |")
    return [*lines, "", f"{count} of {len(WHAT)} inside."]


def main(arguments: list[str]) -> None:
    """Compare, and write the section."""
    files = sorted(path for path in Path(arguments[0]).iterdir() if path.suffix == ".csv")
    hosts = int(arguments[1]) if len(arguments) > 1 else HOSTS
    jobs = int(arguments[2]) if len(arguments) > 2 else 1
    real, seen = {}, {}
    for path in files:
        try:
            real[path.stem], seen[path.stem] = statistics(path), list(windows(path))
        except ex.EsxparseError as error:
            print(f"left out: {path.name}: {error}")
    # not forked: the threads of polars would be missing
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        drawn = list(pool.map(simulated, range(1, hosts + 1)))
    counts = " and ".join(str(len(rows)) for rows in seen.values())
    lines = [
        f"Made by `python benchmarks/realism.py REAL {hosts}` on {datetime.now(tz=UTC):%Y-%m-%d}: {hosts} healthy",
        f"hosts of `esxparse simulate random`, and {len(real)} real captures (empty: cannot be told from it).",
        "",
        *table(real, np.array([found for found, _ in drawn])),
        "",
        f"How a random forest tells windows of {WINDOW} samples apart ({counts} real ones), 0.5 being a guess.",
        "A capture of few windows teaches it nothing of the other: by capture it may guess worse than at random.",
        "With part of the same host to learn from, it knows that host again.",
        "",
        *told_apart(seen, [rows for _, rows in drawn]),
    ]
    print("\n".join(lines))
    sections.put("Realism", lines)


if __name__ == "__main__":
    main(sys.argv[1:])
