"""Sentences, tables and charts of studies over a sweep, and of those that compare: each number by its own formula."""

from __future__ import annotations

import csv
import math
import re
from itertools import pairwise
from pathlib import Path

from page_oracle.arithmetic import WORDS, cutoff, divided, mean, p_value, value_words
from page_oracle.benchmarks import listed
from page_oracle.compare import Expected, Rows

COLUMNS = Path(__file__).parents[2] / "esxparse" / "studies" / "columns.csv"


def consolidation(study, found: Expected) -> None:
    """The largest load at each tolerance: on a straight line between the last within it and the first beyond."""
    sweep, limits = study.report["sweep"], study.report["tolerances"]
    swept = WORDS.get(sweep, sweep)
    loads: dict[tuple, dict[str, float]] = {}
    for key in study.configurations:
        labels = dict(key)
        loads.setdefault(tuple((name, value) for name, value in key if name != sweep), {})[labels[sweep]] = key
    rows, most, ends = {}, {}, {}
    for series, places in loads.items():
        for value, limit in limits.items():
            name, unit = study.names[value]
            words = f"{name} of at most {limit:g} {unit}"
            curve = [(at, mean(study.numbers(places[at], value))) for at in sorted(places)]
            (low, y0), (high, y1) = next(pair for pair in pairwise(curve) if pair[1][1] > limit)
            most[series, value] = low + (limit - y0) / (y1 - y0) * (high - low)
            ends[series, value] = words
            rows[(*(str(one) for _, one in series), words)] = {
                f"Largest number of {swept}": most[series, value],
                "Last within": float(low),
                "First beyond": float(high),
            }
    heads = [name for name, _ in next(iter(loads))]
    found.tables.append(
        Rows(f"Largest number of {swept} at each tolerance", (*heads, "Tolerance"), rows, ordered=False)
    )
    bars = {
        (words, _series(series)): {"value": most[series, value], "runs": 1} for (series, value), words in ends.items()
    }
    found.charts.append(Rows(f"Largest number of {swept} at each tolerance", ("place", "label"), bars, ordered=False))
    for series in loads:
        base = tuple((name, study.base.get(name, value)) for name, value in series)
        if base == series:
            continue
        (against,) = study.base.values()
        both = [min(most[one, value] for value in limits) for one in (series, base)]
        found.texts.append(
            (
                f"{_series(series)}: within all tolerances ",
                both[0],
                f" {swept}, ",
                100 * (both[0] / both[1] - 1),
                f" % against {against} (",
                both[1],
                ").",
            )
        )
        for value in limits:
            one, other = most[series, value], most[base, value]
            found.texts.append(
                (
                    f"{_series(series)}: {ends[series, value]}: ",
                    one,
                    f" {swept} against ",
                    other,
                    f" of {against}, ",
                    100 * (one / other - 1),
                    " %.",
                )
            )


def scaling(study, found: Expected) -> None:
    """Of rules: the largest load that keeps each; else each curve against a straight line through its smallest."""
    sweep, rules = study.report["sweep"], study.report.get("rules")
    if not rules:
        _straight(study, found, sweep)
        return
    (units,) = [name for name in study.labels if name != sweep]
    largest, fails = {}, {}
    for key in sorted(study.configurations, key=lambda one: dict(one)[sweep]):
        labels = dict(key)
        run = {name: mean(study.numbers(key, name)) for name in {*study.configurations[key][0]}}
        kept = all(run[value] <= (run[limit] if isinstance(limit, str) else limit) for value, limit in rules.items())
        if kept and labels[units] not in fails:
            largest[labels[units]] = labels[sweep]
        elif not kept:
            fails.setdefault(labels[units], labels[sweep])
    least = min(largest)
    rows, points, each = {}, {}, {}
    for unit, peak in largest.items():
        line = largest[least] / least * unit
        rows[str(unit),] = {
            f"Largest number of {sweep}": float(peak),
            "Straight line": line,
            "Efficiency %": 100 * peak / line,
            "For each": peak / unit,
            "Fails at": float(fails[unit]) if unit in fails else None,
        }
        points[unit,] = {"value": float(peak), "linear": line, "runs": 1}
        each[unit,] = {"value": peak / unit, "runs": 1}
    found.tables.append(Rows(f"Largest number of {sweep} that keeps every rule", (units,), rows))
    found.charts.append(Rows(f"Largest number of {sweep} that keeps every rule", ("place",), points))
    found.charts.append(Rows(f"For each of the {units}", ("place",), each))
    per = [peak / unit for unit, peak in largest.items()]
    found.texts.append(
        (
            "With ",
            float(least),
            " to ",
            float(max(largest)),
            f" {units}, ",
            float(min(largest.values())),
            " to ",
            float(max(largest.values())),
            f" {sweep} keep every rule: ",
            min(per),
            " to ",
            max(per),
            f" for each of the {units}.",
        )
    )


def _straight(study, found: Expected, sweep: str) -> None:
    with COLUMNS.open(encoding="utf-8") as file:
        better = {row["name"]: row["better"] for row in csv.DictReader(file)}
    for value in study.values:
        # Of what host counters give, only what should be high is held against a line.
        if value not in study.names or better.get(value, "higher") != "higher":
            continue
        name, unit = study.names[value]
        curves: dict[tuple, dict[float, float]] = {}
        for key in study.configurations:
            if study.numbers(key, value):
                own = tuple((label, one) for label, one in key if label != sweep)
                curves.setdefault(own, {})[dict(key)[sweep]] = mean(study.numbers(key, value))
        heads = [label for label in study.labels if len({dict(key).get(label) for key in curves}) > 1]
        rows = {}
        for own, curve in curves.items():
            first = min(curve)
            for at, number in curve.items():
                line = curve[first] / first * at
                rows[(*(str(dict(own)[label]) for label in heads), str(at))] = {
                    f"Measured {unit}".strip(): number,
                    f"Straight line {unit}".strip(): line,
                    "Efficiency %": 100 * number / line,
                    f"For each of the {WORDS.get(sweep, sweep)}": number / at,
                }
        points = {
            (at, ", ".join(value_words(label, dict(own)[label]) for label in heads) or "all"): {
                "value": 100 * number / (curve[min(curve)] / min(curve) * at), "runs": 1
            }
            for own, curve in curves.items()
            for at, number in curve.items()
        }  # fmt: skip
        found.charts.append(
            Rows(rf"Efficiency, {re.escape(name)}", ("place", "label"), points, some=True, ordered=False)
        )
        found.tables.append(Rows(f"{name} against a straight line", (*heads, sweep), rows, ordered=False))


def _series(series: tuple) -> str:
    return ", ".join(value_words(name, value) for name, value in series)


def mmu(study, found: Expected) -> None:
    (base,) = study.base.values()
    for key in study.configurations:
        if one := study.ratio(key, "tlb_miss_load_per_s"):
            found.texts.append(
                (
                    f"{_series(key)}: ",
                    one["ratio"],
                    f" times the TLB misses of loads of {base}: ",
                    one["mean"],
                    " against ",
                    one["base"],
                    " per second.",
                )
            )


def protocols(study, found: Expected) -> None:
    """Ratios to the older release, and to the first protocol on its first disk: geometric means over the sweep."""
    (label, base), sweep = next(iter(study.base.items())), study.report.get("sweep", "size")
    first = dict(next(iter(study.configurations)))
    first = {name: first[name] for name in ("protocol", "disk") if name in first}
    limit = cutoff([p_value(*pair) for pair in study.pairs()])
    later = {dict(key)[label] for key in study.configurations} - {base}
    # One release against the older one is named once.
    of, named_once = (f" of {next(iter(later))}", {sweep, label}) if len(later) == 1 else ("", {sweep})
    for value in study.values:
        name = study.names[value][0]
        own: dict[tuple, list] = {}
        others: dict[tuple, list[float]] = {}
        points = {}
        for key in study.configurations:
            labels, reference = dict(key), tuple((one, first.get(one, was)) for one, was in key)
            series = tuple(str(was) for one, was in key if one not in named_once)
            pair = study.numbers(key, value), study.numbers(study.baseline_of(key) or key, value)
            if labels[label] != base and all(pair):
                shown = min(map(len, pair)) > 1 and p_value(*pair) <= limit
                own.setdefault(series, []).append((mean(pair[0]) / mean(pair[1]), shown))
            compared = reference in study.configurations and reference != key
            one = divided(pair[0], study.numbers(reference, value)) if compared else None
            if one and labels[label] != base:
                drawn = tuple(str(was) for name, was in key if name not in {sweep, label})
                points[str(labels[sweep]), ", ".join(drawn)] = {
                    "value": one["ratio"], "low": one["low"], "high": one["high"], "runs": one["runs"]
                }  # fmt: skip
                if labels["protocol"] != first["protocol"]:
                    beside = (labels["protocol"],) if of else (str(labels[label]), labels["protocol"])
                    others.setdefault(beside, []).append(one["ratio"])
        found.texts.append(
            listed(
                f"{name}{of} against {base}, geometric mean over {sweep}: ",
                [
                    (*_change(series, [ratio for ratio, _ in each]), " % (shown in ",
                     float(sum(shown for _, shown in each)), " of ", float(len(each)), ")")
                    if any(shown for _, shown in each)
                    else (f"{', '.join(series)}: no difference shown",)
                    for series, each in own.items()
                ],
            )
        )  # fmt: skip
        found.texts.append(
            listed(
                f"{name}{of} against {first['protocol']}, geometric mean over {sweep}: ",
                [(*_change(series, each), " %") for series, each in others.items()],
            )
        )
        title = re.escape(f"{name}, ratio to {first['protocol']}")
        found.charts.append(Rows(title, ("place", "label"), points, ordered=False))


def _change(series: tuple, ratios: list[float]) -> tuple:
    """A series, and the geometric mean of its ratios in percent."""
    return f"{', '.join(series)}: ", 100 * (math.exp(mean(map(math.log, ratios))) - 1)
