"""Sentences, tables and charts of studies over a sweep, and of those that compare: each number by its own formula."""

from __future__ import annotations

import math
from itertools import pairwise

from page_oracle.arithmetic import mean
from page_oracle.compare import Expected, Rows


def consolidation(study, found: Expected) -> None:
    """The largest load at each tolerance: on a straight line between the last within it and the first beyond."""
    sweep, limits = study.report["sweep"], study.report["tolerances"]
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
                f"Largest {sweep}": most[series, value],
                "Last within": float(low),
                "First beyond": float(high),
            }
    heads = [name for name, _ in next(iter(loads))]
    found.tables.append(Rows(f"Largest {sweep} at each tolerance", (*heads, "Tolerance"), rows, ordered=False))
    bars = {
        (words, _series(series)): {"value": most[series, value], "runs": 1} for (series, value), words in ends.items()
    }
    found.charts.append(Rows(f"Largest {sweep} at each tolerance", ("place", "label"), bars, ordered=False))
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
                f" {sweep}, ",
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
                    f" {sweep} against ",
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
            f"Largest {sweep}": float(peak),
            "Straight line": line,
            "Efficiency %": 100 * peak / line,
            "For each": peak / unit,
            "Fails at": float(fails[unit]) if unit in fails else None,
        }
        points[unit,] = {"value": float(peak), "linear": line, "runs": 1}
        each[unit,] = {"value": peak / unit, "runs": 1}
    found.tables.append(Rows(f"Largest {sweep} that keep every rule", (units,), rows))
    found.charts.append(Rows(f"Largest {sweep} that keep every rule", ("place",), points))
    found.charts.append(Rows(f"For each of the {units}", ("place",), each))
    per = [peak / unit for unit, peak in largest.items()]
    found.texts.append(
        (
            float(min(largest.values())),
            f" {sweep} keep every rule at ",
            float(least),
            f" {units}, ",
            float(max(largest.values())),
            " at ",
            float(max(largest)),
            ": ",
            min(per),
            " to ",
            max(per),
            f" for each of the {units}.",
        )
    )


def _straight(study, found: Expected, sweep: str) -> None:
    for value in study.values:
        if value not in study.names:
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
                    f"For each of the {sweep}": number / at,
                }
        found.tables.append(Rows(f"{name} against a straight line", (*heads, sweep), rows, ordered=False))


def _series(series: tuple) -> str:
    return ", ".join(f"{name} {value}" if isinstance(value, int | float) else value for name, value in series)


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
    """Ratios to the first protocol on its first disk, of the same size and release: geometric means over sizes."""
    (label, base), sweep, first = *study.base.items(), study.report.get("sweep", "size"), {}
    for key in study.configurations:
        labels = dict(key)
        first = first or {"protocol": labels["protocol"], "disk": labels["disk"]}
    for value in study.values:
        ratios: dict[str, list[float]] = {}
        for key in study.configurations:
            labels = dict(key)
            of = tuple((name, first.get(name, one)) for name, one in key)
            if labels[label] != base and labels["protocol"] != first["protocol"] and study.numbers(of, value):
                ratios.setdefault(labels["protocol"], []).append(
                    mean(study.numbers(key, value)) / mean(study.numbers(of, value))
                )
        other = next(one for one in (dict(key)[label] for key in study.configurations) if one != base)
        for protocol, each in ratios.items():
            average = math.exp(mean(math.log(one) for one in each))
            name = study.names[value][0]
            found.may.append(
                (
                    f"{other}, {protocol}: {name} ",
                    100 * (average - 1),
                    f" % against {first['protocol']} (geometric mean over {sweep}; ",
                    100 * (min(each) - 1),
                    " to ",
                    100 * (max(each) - 1),
                    " %).",
                )
            )
