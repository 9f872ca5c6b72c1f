"""How often `ex.changes` names what a trouble changed, beside BARO's RobustScorer; onsets, beside ruptures.

Random hosts, each with one trouble or more. Asked for are the entity and the counters of the first trouble's truth,
counted as the RCAEval benchmark does: AC@k, the share of hosts where one is among the first k; Avg@5, the mean of AC@1
to AC@5. BARO has to be told when the trouble began: the truth, and, for a second row, what `ex.changes` found.
Run: `python benchmarks/changes.py [--hosts 100] [--seed 1000]`
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import ruptures
import sections
from baro.root_cause_analysis import robust_scorer

import esxparse as ex
from esxparse.counters.naming import column_name, table_name
from esxparse.diagnosis.changes import every
from esxparse.metrics import change_points

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from esxparse.diagnosis.changes import Every

Names = tuple[str, str, str]
KEYS: Final = ("table", "counter", "instance")
FIRST: Final = 5
NEAR: Final = 2


def host(seed: int, folder: Path) -> tuple[Path, list[dict[str, Any]]]:
    """The capture of a random host, and its first trouble's truths; none where nothing is wrong or can be seen."""
    command = [sys.executable, "-m", "esxparse", "simulate", "random", "--seed", str(seed), "-q", "-o", str(folder)]
    subprocess.run(command, check=True)
    truths = tomllib.loads((folder / "truth.toml").read_text(encoding="utf-8")).get("truth", [])
    first = [one for one in truths if one["trouble"] == truths[0]["trouble"] and "visible" in one]
    return next(folder.glob("*.csv")), first


def wanted(truths: Sequence[dict[str, Any]]) -> tuple[set[str], set[tuple[str, str, str]]]:
    """Names of entities, and (table, column, name) of what shows; a host has no name."""
    names, shown = set(), set()
    for truth in truths:
        kind, _, name = truth["where"].partition(" ")
        name = "" if kind == "host" else name
        names |= {name} - {""}
        shown |= {
            (table_name(one), column_name(two), name) for one, _, two in (s.partition("\\") for s in truth["shows"])
        }
    return names, shown


def places(ranked: Sequence[Names], truths: Sequence[dict[str, Any]]) -> tuple[int | None, int]:
    """The rank of the first right entity (None: the host is meant), and of the first right series."""
    names, shown = wanted(truths)
    entities = list(dict.fromkeys(instance for _, _, instance in ranked))
    entity = next((place for place, one in enumerate(entities, 1) if any(name in one for name in names)), 10**6)
    series = next(
        (
            place
            for place, (table, counter, instance) in enumerate(ranked, 1)
            if any(table == t and counter == c and n in instance for t, c, n in shown)
        ),
        10**6,
    )
    return (entity if names else None), series


def baro(values: change_points.Matrix, names: Sequence[Names], at: int) -> list[Names]:
    """What BARO ranks: series without a value are not for it."""
    known = ~np.isnan(values).any(axis=1)
    data = pd.DataFrame(values[known].T, columns=np.flatnonzero(known).astype(str))
    data["time"] = np.arange(values.shape[1])
    return [names[int(one)] for one in robust_scorer(data, inject_time=at)["ranks"]]


def share(ranks: Sequence[int | None], most: int) -> float:
    """How many of those asked for are among the first."""
    known = [one for one in ranks if one is not None]
    return float(np.mean([one <= most for one in known])) if known else float("nan")


def row(title: str, found: Sequence[tuple[int | None, int]], seconds: Sequence[float]) -> str:
    """A row of the table."""
    cells = []
    for place in range(2):
        ranks = [one[place] for one in found]
        average = np.mean([share(ranks, most) for most in range(1, FIRST + 1)])
        cells += [f"{share(ranks, 1):.2f}", f"{share(ranks, 3):.2f}", f"{average:.2f}"]
    return f"| {title} | {' | '.join(cells)} | {np.median(seconds):.2f} |"


def onsets(values: change_points.Matrix, names: Sequence[Names], shown: set[Names], at: int) -> list[list[float]]:
    """Samples between truth and onset in series that show the trouble, and seconds per series: ours, ruptures'."""
    mine = [one for one, (t, c, i) in enumerate(names) if any((t, c) == key[:2] and key[2] in i for key in shown)][:20]
    if not mine:
        return [[], [], [], []]
    rows = np.nan_to_num(values[mine])
    begin = time.perf_counter()
    found = change_points.parts(rows)
    ours = time.perf_counter() - begin
    edges = np.stack([found.begin, found.end])
    begin = time.perf_counter()
    scaled = (rows - rows.mean(axis=1, keepdims=True)) / np.maximum(rows.std(axis=1, keepdims=True), 1e-9)
    theirs = [ruptures.Binseg(model="l2", min_size=2, jump=1).fit_predict(one, n_bkps=2) for one in scaled]
    peer = time.perf_counter() - begin
    off = [float(np.abs(edges[:, one] - at).min()) for one in range(len(mine))]
    peer_off = [float(min(abs(edge - at) for edge in one)) for one in theirs]
    return [off, peer_off, [ours / len(mine)], [peer / len(mine)]]


def rankers(rec: ex.Recording, whole: Every, start: datetime) -> dict[str, Callable[[], list[Names]]]:
    """What ranks the series of a host, by title."""
    names = whole.names.rows()
    at, guess = (int((whole.times < one).sum()) for one in (start, ex.changes(rec).at))
    return {
        "ex.changes, told when": lambda: ex.changes(rec, start).series.select(KEYS).rows(),
        "BARO, told when": lambda: baro(whole.values, names, at),
        "ex.changes": lambda: ex.changes(rec).series.select(KEYS).rows(),
        "BARO, from the time that ex.changes found": lambda: baro(whole.values, names, guess),
    }


def main() -> None:
    """Makes the hosts, ranks and writes the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=100, help="random hosts to draw (100)")
    parser.add_argument("--seed", type=int, default=1000, help="of the first (1000)")
    options = parser.parse_args()
    found: dict[str, list[tuple[int | None, int]]] = {}
    seconds: dict[str, list[float]] = {}
    edges: list[list[float]] = [[], [], [], []]
    for seed in range(options.seed, options.seed + options.hosts):
        with tempfile.TemporaryDirectory() as folder:
            path, truths = host(seed, Path(folder))
            if not truths:
                continue
            rec = ex.open(path)
            whole, _ = every(rec)
            start = truths[0]["start"]
            at = int((whole.times < start).sum())
            if not 8 <= at <= len(whole.times) - 4:
                continue

            for title, rank in rankers(rec, whole, start).items():
                begin = time.perf_counter()
                ranked = rank()
                seconds.setdefault(title, []).append(time.perf_counter() - begin)
                found.setdefault(title, []).append(places(ranked, truths))
            for place, more in enumerate(onsets(whole.values, whole.names.rows(), wanted(truths)[1], at)):
                edges[place] += more
    near = [100 * float(np.mean([one <= NEAR for one in edges[place]])) for place in range(2)]
    micro = [1e6 * float(np.median(edges[place])) for place in range(2, 4)]
    sections.put(
        "What changed",
        [
            f"{len(found['ex.changes'])} random hosts with a trouble that shows, of all severities:",
            f"`python benchmarks/changes.py --hosts {options.hosts} --seed {options.seed}`. The rest of the",
            f"{options.hosts} are healthy, or begin in trouble. AC@k: the entity, or a counter of it, that the trouble",
            "changed is among the first k.",
            "",
            "| | entity AC@1 | AC@3 | Avg@5 | counter AC@1 | AC@3 | Avg@5 | median seconds |",
            "|---|---:|---:|---:|---:|---:|---:|---:|",
            *(row(title, found[title], seconds[title]) for title in found),
            "",
            f"Onsets in {len(edges[0]):,} series that show the trouble: within {NEAR} samples of the truth in",
            f"{near[0]:.0f} % ({micro[0]:,.0f} microseconds a series); ruptures (Binseg, l2, two change points)",
            f"{near[1]:.0f} % ({micro[1]:,.0f}).",
        ],
    )


if __name__ == "__main__":
    main()
