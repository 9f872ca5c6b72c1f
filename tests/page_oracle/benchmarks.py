"""Figures of benchmarks against the baseline's: tables, charts and sentences, from what the programs printed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from page_oracle.arithmetic import cutoff, divided, mean, p_value
from page_oracle.compare import ABSENT, Expected, Rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

OWN = {"benchmark", "test", "configuration", "metric"}
"""Columns of results: a label of such a name does not stand beside them."""
MAIN = ("iops", "mb_per_s", "latency_mean_ms", "median_read_latency_ms", "read_p99_ms")
"""What a page compares of load generators beside figures of benchmarks."""


class Figure:
    """A figure of one configuration, and of its baseline if that has it."""

    def __init__(self, row: dict, who: str, own: list[float], against: list[float]) -> None:
        self.row, self.who, self.own, self.against = row, who, own, against
        self.p_value = p_value(own, against) if min(len(own), len(against)) > 1 else None

    def performance(self) -> dict[str, float | None]:
        """The ratio, turned so that above 1 is better; nothing if neither way is."""
        one = divided(self.own, self.against)
        if one is None or self.row["better"] is None:
            return dict.fromkeys(("value", "low", "high"))
        ends = {"value": one["ratio"], "low": one["low"], "high": one["high"]}
        if self.row["better"]:
            return ends
        turned = {name: None if end is None else 1 / end for name, end in ends.items()}
        return {"value": turned["value"], "low": turned["high"], "high": turned["low"]}


def figures(study) -> list[Figure]:
    """Each figure of each configuration but the baseline's own; nothing if the manifest asks for columns."""
    if len(study.base) != 1 or study.report.get("values"):
        return []
    ((label, base),) = study.base.items()
    found: dict[tuple, dict[str, list[float]]] = {}
    rows = {}
    for row in study.results:
        others = study.fixed | {name: row["labels"].get(name) for name in study.labels if name != label}
        words = [
            f"{name}={row.get(name, one) if name in OWN else one}" for name, one in others.items() if one or name in OWN
        ]
        own = ", ".join(filter(None, [row["configuration"], *words]))
        key = (row["benchmark"], row["test"], own, row["metric"], row["unit"])
        rows.setdefault(key, row)
        found.setdefault(key, {}).setdefault(str(row["labels"][label]), []).append(row["value"])
    return [
        Figure({**rows[key], "configuration": key[2]}, who, own, each.get(str(base), []))
        for key, each in found.items()
        for who, own in each.items()
        if who != str(base)
    ]


def add(study, found: Expected) -> None:
    """The table and the charts of a study with figures, and how many comparisons its verdicts allow for."""
    every = figures(study)
    if not every:
        return
    ((label, base),) = study.base.items()
    heads = ("Benchmark", "Test", "Configuration", "Metric", label)
    # A column without any text is left out.
    empty = {head: ABSENT if any(one.row.get(head.lower()) for one in every) else "" for head in heads}
    rows, charts = {}, {}
    for one in every:
        row, shown = one.row, one.performance()
        key = (row["benchmark"], row["test"], row["configuration"], row["metric"], one.who)
        rows[tuple(part or empty[head] for part, head in zip(key, heads, strict=True))] = {
            "Runs": float(len(one.own)), "Mean": mean(one.own), "Baseline": mean(one.against), "Unit": (row["unit"],),
            "Performance": shown["value"], "from": shown["low"], "to": shown["high"],
        }  # fmt: skip
        if shown["value"] is not None:
            place = " ".join(filter(None, (row["test"], row["metric"]))).replace("_", " ")
            charts.setdefault(row["benchmark"], {})[place, one.who] = {**shown, "runs": len(one.own)}
    found.tables.append(Rows(f"Benchmarks against {label}={re.escape(str(base))}", heads, rows, ordered=False))
    for benchmark, points in charts.items():
        titles = rf"Performance(: {re.escape(benchmark)})?"
        found.charts.append(Rows(titles, ("place", "label"), points, some=True, ordered=False))
    if study.report.get("shape") != "virtual_to_native":
        return
    found.may.append(allowed_for(len(_p_values(study, every))))


def _p_values(study, every: Iterable[Figure]) -> list[float]:
    beside = [p_value(*pair) for value in MAIN for pair in study.pairs(value)]
    return [one.p_value for one in every if one.p_value is not None] + beside


def virtual_to_native(study, found: Expected) -> None:
    """Round trips, and what each benchmark reaches of native, in percent."""
    every = figures(study)
    if not every:
        return
    limit = cutoff(_p_values(study, every))
    (base,) = study.base.values()
    trips = [one for one in every if one.row["unit"] == "transactions/s"]
    if trips:
        parts = []
        for one in trips:
            more = 1e6 / mean(one.own) - 1e6 / mean(one.against)
            doubt = "" if one.p_value is not None and one.p_value <= limit else " (no difference shown)"
            parts.append((f"{one.who}: ", more, f" us{doubt}"))
        found.texts.append(listed(f"A round trip of netperf, against {base}: ", parts))
    _benchmark(found, f"LINPACK performance in percent of {base}: ", limit, every, "linpack", "performance")
    _benchmark(found, f"STREAM bandwidth in percent of {base}: ", limit, every, "stream", "bandwidth")
    parts = [
        (f"{one.who}: ", 100 * one.performance()["value"], "" if _is_worse(one, limit) else " (not shown to be worse)")
        for one in every
        if one.row["benchmark"] == "redis-benchmark"
    ]
    if parts:
        found.texts.append(listed(f"Redis requests in percent of {base}: ", parts))
    rates = [mean(side) / 1000 for one in every if one.row["unit"] == "Mbit/s" for side in (one.own, one.against)]
    if rates:
        ends = (min(rates),) if f"{min(rates):.2f}" == f"{max(rates):.2f}" else (min(rates), " to ", max(rates))
        found.texts.append(("Netperf streams reach ", *ends, " Gbit/s in every configuration."))
    tests: dict[str, list[float]] = {}
    for key in study.configurations:
        one = study.ratio(key, "iops")
        if one and one["ratio"] is not None:
            tests.setdefault(str(dict(key)[next(iter(study.base))]), []).append(100 * one["ratio"])
    if tests:
        parts = [(f"{who}: ", *_ends(each), " in ", float(len(each)), " tests") for who, each in tests.items()]
        found.texts.append(listed(f"IOPS in percent of {base}: ", parts))


def _is_worse(one: Figure, limit: float) -> bool:
    return one.p_value is not None and one.p_value <= limit and one.performance()["value"] < 1


def _benchmark(found: Expected, lead: str, limit: float, every: Sequence[Figure], benchmark: str, metric: str) -> None:
    own = [one for one in every if (one.row["benchmark"], one.row["metric"]) == (benchmark, metric)]
    parts = []
    for who in dict.fromkeys(one.who for one in own):
        mine = [one for one in own if one.who == who]
        each = [100 * one.performance()["value"] for one in mine]
        worse = float(sum(_is_worse(one, limit) for one in mine))
        parts.append((f"{who}: ", *_ends(each), " (", worse, " of ", float(len(mine)), " worse)"))
    if parts:
        found.texts.append(listed(lead, parts))


def _ends(values: Sequence[float]) -> tuple:
    low, high = min(values), max(values)
    return (low,) if f"{low:.3g}" == f"{high:.3g}" else (low, " to ", high)


def listed(lead: str, parts: Sequence[tuple]) -> tuple:
    """A sentence of several parts."""
    return lead, *(one for at, part in enumerate(parts) for one in (*(("; ",) if at else ()), *part)), "."


def allowed_for(comparisons: int) -> tuple:
    """The sentence on how many comparisons the verdicts allow for."""
    alone = "Each 95 % interval is for one comparison alone."
    words = f" comparisons. Of the differences shown, 1 in 20 is false on average. {alone}"
    return "The verdicts allow for ", float(comparisons), words
