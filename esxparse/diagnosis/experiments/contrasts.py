"""Symptoms of a study: runs that are slow against runs that differ from them in one label."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import polars as pl

from esxparse.diagnosis.experiments.study import Study
from esxparse.errors import EsxparseError
from esxparse.metrics import interval

LOST: Final = 0.2
"""A smaller loss of speed than this share is not a symptom."""
_BEST: Final = 0.98
_FEWEST: Final = 2
_TURNED: Final = 20.0

Key = tuple[Any, ...]


class Merit(NamedTuple):
    """A column of `runs` that decides which runs are good or bad."""

    column: str
    unit: str
    higher: bool = True


MERITS: Final = (Merit("mb_per_s", "MB/s"), Merit("iops", "IOPS"), Merit("latency_mean_ms", "ms", higher=False))
"""Figures to compare runs by: the first that the study has, else the one figure of its benchmark."""


@dataclass(frozen=True)
class Grid:
    """The configurations of a study: rows of `runs` by the values of its labels."""

    labels: tuple[str, ...]
    rows: Mapping[Key, pl.DataFrame]
    merit: Merit

    def mean(self, keys: Sequence[Key], column: str | None = None) -> float | None:
        """Return the mean of a column over the runs of configurations; by default of the figure to compare."""
        name = column or self.merit.column
        found = [self.rows[key][name] for key in keys if name in self.rows[key].columns]
        values = pl.concat(found).cast(pl.Float64).drop_nulls() if found else pl.Series(dtype=pl.Float64)
        return None if values.is_empty() else float(values.mean())  # type: ignore[arg-type]

    def ratio(self, bad: Sequence[Key], good: Sequence[Key]) -> float | None:
        """Return how well `bad` does against `good`: below 1 is worse, whether high or low values are good."""
        one, other = self.mean(bad), self.mean(good)
        if one is None or other is None or not one or not other:
            return None
        return one / other if self.merit.higher else other / one

    def reads_pct(self, keys: Sequence[Key]) -> float | None:
        """Return the share of reads among the I/Os, %."""
        read, every = self.mean(keys, "read_iops"), self.mean(keys, "iops")
        return None if read is None or not every else 100 * read / every

    def changed(self, key: Key, change: Mapping[str, Any]) -> Key | None:
        """Return the configuration that differs from `key` in these labels alone, if it was run."""
        if not set(change) <= set(self.labels):
            return None
        made = tuple(change.get(name, value) for name, value in zip(self.labels, key, strict=True))
        return made if made in self.rows and made != key else None

    def in_words(self, key: Key, without: Collection[str] = ()) -> str:
        """Return a configuration in words: `machine = esx, disk = lun`."""
        parts = [
            f"{name} = {value}"
            for place, (name, value) in enumerate(zip(self.labels, key, strict=True))
            if name not in without and value is not None and len({one[place] for one in self.rows}) > 1
        ]
        return ", ".join(parts)


@dataclass(frozen=True)
class Contrast:
    """Configurations that are slow against another one from which they differ in one label."""

    factor: str
    bad: tuple[Key, ...]
    good: Key
    sure: bool
    """Whether repetitions show it; False if either side has only one run."""

    def slow(self, labels: Sequence[str]) -> str:
        """Return the values of the label with which runs are slow, in words."""
        place = labels.index(self.factor)
        return " and ".join(str(key[place]) for key in self.bad)


def grid(runs: pl.DataFrame, labels: Sequence[str], figures: Sequence[Merit] = ()) -> Grid | None:
    """Return the configurations of runs; None if no column separates slow from fast. `figures`: from `figure`."""
    merit = next(
        (one for one in (*MERITS, *figures) if one.column in runs.columns and runs[one.column].count() > 1), None
    )
    if merit is None or not labels:
        return None
    runs = runs.filter(pl.col(merit.column).is_not_null())
    return Grid(tuple(labels), dict(runs.group_by(*labels, maintain_order=True)), merit)


def figure(study: Study) -> list[Merit]:
    """Return the figure of a benchmark whose runs have a baseline, such as orders per minute; nothing if several."""
    if not study.baseline or study.results is None:
        return []
    figures = study.results.select("column", "unit", "higher_is_better").unique().collect()
    return [Merit(*row) for row in figures.drop_nulls().rows()] if figures.height == 1 else []


def contrasts(cells: Grid, baseline: Mapping[str, Any], special: Collection[tuple[str, Any]]) -> Iterator[Contrast]:
    """Yield the symptoms of a study, starting with the baseline's label.

    `baseline`: labels of the runs that others are compared with. `special`: labels and values that make experiments;
    only the baseline's own label is compared over them. Figures of benchmarks are compared with the baseline alone:
    other labels may ask for other work.
    """
    labels = cells.labels if cells.merit in MERITS else [name for name in cells.labels if name in baseline]
    order = sorted(labels, key=lambda name: (name not in baseline, cells.labels.index(name)))
    for factor in order:
        place = cells.labels.index(factor)
        sweeps: dict[Key, dict[Any, Key]] = {}
        for key in cells.rows:
            made = {one for one in zip(cells.labels, key, strict=True) if one[0] != factor or factor not in baseline}
            if not made & set(special) and key[place] is not None:
                sweeps.setdefault(key[:place] + key[place + 1 :], {})[key[place]] = key
        for sweep in sweeps.values():
            if len(sweep) > 1 and (found := _slow(cells, factor, sweep, baseline.get(factor))):
                yield found


def _slow(cells: Grid, factor: str, sweep: Mapping[Any, Key], reference: Any) -> Contrast | None:
    """Return the slow runs in a sweep over one label: beyond the best number, or against the baseline or best word."""
    numeric = all(isinstance(one, int | float) and not isinstance(one, bool) for one in sweep)
    means = {level: value for level, key in sweep.items() if (value := cells.mean([key])) is not None}
    if len(means) < _FEWEST:
        return None
    best = (max if cells.merit.higher else min)(means.values())
    if numeric and reference is None:
        # Throughput grows with sizes and loads: runs are slow if it falls again. The last of equals is the reference.
        # Response times grow with any load, so their reference is the last of all, and no run is slow.
        at = max(level for level, value in means.items() if value >= _BEST * best)
        behind = [level for level in means if level > at]
    else:
        at = reference if reference in means else next(level for level, value in means.items() if value == best)
        behind = [level for level in means if level != at]
    behind = sorted(behind) if numeric else behind
    slow = [sweep[level] for level in behind if _slower(cells, sweep[level], sweep[at])]
    if not numeric and reference is None:
        slow = [key for key in slow if _alike(cells, key, sweep[at])]
    if not slow:
        return None
    return Contrast(factor, tuple(slow), sweep[at], all(_differ(cells, key, sweep[at]) for key in slow))


def _slower(cells: Grid, bad: Key, good: Key) -> bool:
    ratio = cells.ratio([bad], [good])
    return ratio is not None and ratio <= 1 - LOST and _differ(cells, bad, good) is not False


def _alike(cells: Grid, one: Key, other: Key) -> bool:
    """Return whether two configurations do the same work, in I/O size and direction; other work is not a symptom."""
    sizes = [cells.mean([key], "block_size_bytes") for key in (one, other)]
    shares = [cells.reads_pct([key]) for key in (one, other)]
    return sizes[0] == sizes[1] and (None in shares or abs(shares[0] - shares[1]) <= _TURNED)  # type: ignore[operator]


def _differ(cells: Grid, bad: Key, good: Key) -> bool | None:
    """Return whether repetitions show that two configurations differ; None if there are too few."""
    one, other = (cells.rows[key][cells.merit.column].cast(pl.Float64).drop_nulls() for key in (bad, good))
    if min(len(one), len(other)) < _FEWEST:
        return None
    try:
        return interval.fieller(one.to_list(), other.to_list()).verdict != "no difference shown"
    except EsxparseError:
        return None  # the reference scatters too much
