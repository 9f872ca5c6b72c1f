"""What the report on a study whose runs are compared as experiments must show, from the raw files of its runs."""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from absolute.manifest import runs as listed

from page_oracle.arithmetic import highest, lowest, mean
from page_oracle.compare import ABSENT, Expected, Rows
from page_oracle.study import Study, stated

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Key = tuple
EXPERIMENTS = Path(__file__).parents[2] / "esxparse" / "diagnosis" / "experiments"
MERIT, WHAT, UNIT = "mb_per_s", "Throughput", "MB/s"
SLOW, BEST, FAR, SEEN = 0.8, 0.98, 0.1, (0.5, 1.5)
"""Slow is what reaches less than a share of the fast runs; the best is what comes near it. A change of one
configuration that is worth words. Where a capture has the disk in question, its latency is about the benchmark's."""
COLUMNS = {
    "mb_per_s": "Throughput MB/s",
    "iops": "I/O rate 1/s",
    "latency_mean_ms": "Response time ms",
    "used_above_idle_cycles_per_io": "CPU of an I/O, above idle cycles",
    "davg_ms": "DAVG ms",
    "kavg_ms": "KAVG ms",
    "wire_read_p50_ms": "Reads on the wire, median ms",
    "wire_write_p50_ms": "Writes on the wire, median ms",
    "wire_read_off_size_pct": "Reads off their boundary %",
    "wire_write_off_size_pct": "Writes off their boundary %",
    "tcp_retransmissions": "Packets sent again",
}
INSTEAD = {"iops": "mb_per_s", "used_cycles_per_io": "used_above_idle_cycles_per_io"}
"""Of two measures that say the same, the one that is shown."""


@dataclass
class Contrast:
    """Configurations that are slow beside one from which they differ in one label."""

    factor: str
    bad: list[Key]
    good: Key


def expected(folder: Path) -> Expected:
    """The page of `case_study`."""
    study = Study(folder)
    steps = tomllib.loads((EXPERIMENTS / "steps.toml").read_text(encoding="utf-8"))["step"]
    changes = _changes(study, steps)
    found = Expected()
    slow = list(_contrasts(study, set(changes)))
    found.tiles = {
        "Runs": (
            (float(sum(map(len, study.configurations.values()))),),
            (float(len(study.configurations)), f" configurations by {', '.join(study.labels)}"),
        ),
        "Slow configurations": (
            (float(sum(len(one.bad) for one in slow)),),
            ("at least a fifth slower than the runs they are compared with",),
        ),
    }
    found.may = [(f"Case study: {study.manifest['title']}",), (study.manifest["description"],), ("Finding 1: ", ...)]
    files = {path for run in listed(folder) for paths, _ in run["files"].values() for path in paths}
    found.facts["Files"] = (float(len({*files, folder / "published.toml"})),)
    found.tables = [_configurations(study), _differences(study), *stated(folder)]
    if slow:
        first = slow[0]
        found.tables += [_changed(study, first, changes), _answers(study, first, steps, changes)]
        found.charts = _charts(study, first, changes)
        found.may += [*_verdicts(study, first), _title(study, first)]
        known, unknown = _questions(study, first, steps, changes)
        answered = (float(known), " of ", float(known + len(unknown)))
        found.tiles["Questions answered"] = answered, ("of the first finding",)
        left = {(step["question"],): {"Reason": (step["missing"],)} for step in unknown}
        found.tables.append(Rows("Questions without an answer", ("Not judged",), left, ordered=False))
        found.may.append(("Questions without an answer: ", float(len(unknown))))
    return found


def _normal(value: object) -> str:
    return re.sub(r"[\W_]+", " ", str(value)).strip().casefold()


def _changes(study: Study, steps: Sequence[dict]) -> dict[tuple[str, object], str]:
    """Labels and values that are experiments of their own, and which: `disk = cached`."""
    roles = {word: step["id"] for step in steps for word in step.get("words", ())}
    pairs = dict.fromkeys(pair for key in study.configurations for pair in key)
    return {pair: roles[_normal(pair[1])] for pair in pairs if _normal(pair[1]) in roles}


def _mean(study: Study, keys: Iterable[Key], value: str = MERIT) -> float | None:
    return mean(number for key in keys for number in study.numbers(key, value))


def _with(study: Study, key: Key, label: str, value: object) -> Key | None:
    made = tuple((name, value if name == label else other) for name, other in key)
    return made if made in study.configurations and made != key else None


def _contrasts(study: Study, special: set) -> Iterable[Contrast]:
    """In a sweep of numbers what falls behind the last of the best; else what falls behind the baseline."""
    for factor in sorted(study.labels, key=lambda name: (name not in study.base, study.labels.index(name))):
        sweeps: dict[Key, list[Key]] = {}
        for key in study.configurations:
            if factor in study.base or not set(key) & special:
                rest = tuple(pair for pair in key if pair[0] != factor)
                if not set(rest) & special:
                    sweeps.setdefault(rest, []).append(key)
        for keys in sweeps.values():
            levels = {dict(key)[factor]: key for key in keys}
            reached = {level: _mean(study, [key]) for level, key in levels.items()}
            at = study.base.get(factor)
            if at is None and all(isinstance(level, int | float) for level in levels):
                best = max(reached.values())
                at = max(level for level, value in reached.items() if value >= BEST * best)
                levels = {level: levels[level] for level in sorted(levels) if level >= at}
            if at in levels:
                bad = [key for level, key in levels.items() if reached[level] <= SLOW * reached[at]]
                if bad:
                    yield Contrast(factor, bad, levels[at])


@dataclass
class Experiment:
    """The slow runs with one label changed, and how well they do beside fast runs with the same change, %."""

    words: str
    role: str
    made: list[Key]
    share: float


def _experiments(study: Study, one: Contrast, changes: dict) -> list[Experiment]:
    found = []
    pairs = dict.fromkeys(pair for key in study.configurations for pair in key if pair[0] != one.factor)
    for label, value in pairs:
        there = [key for key in one.bad if _with(study, key, label, value)]
        made = [_with(study, key, label, value) for key in there]
        if made:
            good = _mean(study, [one.good])
            before, level = _mean(study, there) / good, _mean(study, made) / good
            fast = _with(study, one.good, label, value)
            back = (level - before) / (1 - before)
            share = _mean(study, made) / _mean(study, [fast]) if fast and fast not in made and back > 0.1 else level
            role = changes.get((label, value), "other_way")
            found.append(Experiment(f"{label} = {value}", role, made, 100 * share))
    return found


def _changed(study: Study, one: Contrast, changes: dict) -> Rows:
    rows = {
        (made.words,): {
            f"Slow runs {UNIT}": _mean(study, one.bad),
            f"Then {UNIT}": _mean(study, made.made),
            "Of the fast runs with the same change %": made.share,
            "What it means": (..., f"({made.words}: ", _mean(study, made.made), f" {UNIT})", ...),
        }
        for made in _experiments(study, one, changes)
    }
    return Rows("Finding 1: the slow runs with one thing changed", ("Changed",), rows, ordered=False)


def _slow(one: Contrast) -> str:
    return " and ".join(str(dict(key)[one.factor]) for key in one.bad)


def _title(study: Study, one: Contrast) -> tuple:
    slow, fast = _mean(study, one.bad), _mean(study, [one.good])
    good = dict(one.good)[one.factor]
    return (f"{WHAT}: ", slow, f" {UNIT} with {one.factor} {_slow(one)}, ", fast, f" with {good}")


def _verdicts(study: Study, one: Contrast) -> list[tuple]:
    """The first sentence of the page; how sure it is, and why, is the diagnosis's."""
    slow, fast = _mean(study, one.bad), _mean(study, [one.good])
    lost, label = 100 * (1 - slow / fast), one.factor
    said = (
        f"Runs with {label} {_slow(one)} reach ",
        slow,
        f" {UNIT}, ",
        lost,
        f" % less than with {label} {dict(one.good)[label]} (",
        fast,
        ")",
    )
    return [(..., *said, ...)]


def _charts(study: Study, one: Contrast, changes: dict) -> list[Rows]:
    experiments = _experiments(study, one, changes)
    sweep = [key for key in study.configurations if _rest(key, one) == _rest(one.bad[0], one)]
    lines = {"slow runs' sweep": sweep}
    for made in experiments:
        label, value = made.words.split(" = ")
        lines[made.words] = [
            other for key in sweep for other in study.configurations
            if {**dict(key), label: value} == {**dict(other), label: str(dict(other)[label])} and other != key
        ]  # fmt: skip
    points = {}
    for label, keys in lines.items():
        for key in keys:
            own = study.numbers(key, MERIT)
            place = str(dict(key)[one.factor])
            points[place, label] = {"mean": mean(own), "low": lowest(own), "high": highest(own)}
    bars = {(f"with {made.words}",): {"value": made.share} for made in experiments}
    bars["the slow runs",] = {"value": 100 * _mean(study, one.bad) / _mean(study, [one.good])}
    return [
        Rows(f"{WHAT}: .* with .*", ("level", "label"), points, ordered=False),
        Rows("Slow runs (are|stay) .*", ("label",), bars, ordered=False),
        Rows("Slow runs (are|stay) .*", ("at",), {(100.0,): {}}),
    ]


def _rest(key: Key, one: Contrast) -> Key:
    return tuple(pair for pair in key if pair[0] != one.factor)


def _facts(study: Study, one: Contrast, changes: dict) -> dict[str, float | None]:
    """The numbers that answers quote."""
    bad, good = one.bad, [one.good]
    reads = _mean(study, bad, "read_iops") > 0
    way = "read" if reads else "write"
    traced = [key for key in bad if _mean(study, [key], f"wire_{way}_p50_ms") is not None]
    hits = next((name for runs in study.configurations.values() for name in runs[0] if name.endswith("hit_pct")), "")
    experiments = _experiments(study, one, changes)
    native = [key for made in experiments if made.role == "native" for key in made.made]
    sizes = {key: 1e6 * _mean(study, [key]) / _mean(study, [key], "iops") / 1024 for key in study.configurations}
    costs = "used_above_idle_cycles_per_io"
    waited, gavg, kernel = (_mean(study, bad, name) for name in ("latency_mean_ms", "gavg_ms", "kavg_ms"))
    pairs = [(key, one.good) for key in bad if round(sizes[key]) == round(sizes[one.good])]
    if not pairs:
        fast = next(made for made in experiments if made.share > 90)
        pairs = list(zip(bad, fast.made, strict=True))
    ratios = [_mean(study, [key], costs) / _mean(study, [other], costs) for key, other in pairs]
    carried = _mean(study, traced, f"wire_{way}_size_bytes")
    # What these studies have no files of.
    absent = ("guest_cpu_pct", "vcpu_run_pct", "exclusive_pct", "contexts", "good_contexts", "downtime_ms")
    return {
        **dict.fromkeys(absent),
        "wire_kib": carried and carried / 1024,
        "guest_kib": mean(sizes[key] for key in traced for _ in study.configurations[key]),
        "host_util_pct": _mean(study, bad, "host_util_pct") or _mean(study, bad, "host_used_pct"),
        "latency_ms": waited,
        "good_latency_ms": _mean(study, good, "latency_mean_ms"),
        "kavg_ms": kernel if gavg and SEEN[0] <= gavg / waited <= SEEN[1] else None,
        "wire_ms": _mean(study, traced, f"wire_{way}_p50_ms"),
        "off_size_pct": _mean(study, bad, f"wire_{way}_off_size_pct"),
        "native_off_size_pct": _mean(study, native, f"wire_{way}_off_size_pct"),
        "hit_pct": _mean(study, bad, hits),
        "good_hit_pct": _mean(study, good, hits),
        "size_bytes": mean(sizes[key] for key in bad for _ in study.configurations[key]),
        "sizes": " and ".join(f"{size:g}" for size in sorted({sizes[key] for key in bad})),
        "good_sizes": f"{sizes[one.good]:g}",
        "cost_ratio": mean(ratios),
        "retransmitted_pct": _mean(study, bad, "tcp_retransmissions"),
    }


def _answers(study: Study, one: Contrast, steps: Sequence[dict], changes: dict) -> Rows:
    """The words of each answer are data; the numbers in them are of the runs."""
    facts = _facts(study, one, changes)
    rows = {
        (step["question"], answer): {"What it means": _filled(step[f"if_{answer}"], facts)}
        for step in steps
        for answer in ("yes", "no")
    }
    rows["Does the host's capture of a slow run show a trouble of its own?", "no"] = {"What it means": (...,)}
    return Rows("Finding 1: what was recorded", ("Question", "Answer"), rows, some=True, ordered=False)


OF = {"kernel_share_pct": "kavg_ms", "wire_share_pct": "wire_ms", "reads_pct": "latency_ms"}
"""What is known when the other is."""


def _questions(study: Study, one: Contrast, steps: Sequence[dict], changes: dict) -> tuple[int, list[dict]]:
    """How many questions have an answer, by what was recorded or by what was run, and those that could have one."""
    facts = _facts(study, one, changes)
    roles = {made.role for made in _experiments(study, one, changes)}
    known, unknown = 1, []  # the captures of the slow runs are judged, too
    for step in steps:
        names = re.findall(r"[a-z]\w+", step.get("value", ""))
        found = step["id"] in roles if step.get("role") else None not in [facts[OF.get(name, name)] for name in names]
        known += found
        unknown += [step] if step["missing"] and not found else []
    return known, unknown


def _filled(words: str, facts: dict) -> tuple:
    parts = re.split(r"\{(\w+)(?::[^}]*)?\}", words)
    return tuple(part if at % 2 == 0 else facts.get(part, ...) for at, part in enumerate(parts) if part)


def _configurations(study: Study) -> Rows:
    rows = {}
    for key, runs in study.configurations.items():
        labels = dict(key)
        found = {head: _mean(study, [key], column) for column, head in COLUMNS.items()}
        rows[tuple(str(labels[name]) for name in study.labels)] = {"Runs": float(len(runs)), **found}
    return Rows("Configurations, means of their runs", tuple(study.labels), rows)


def _differences(study: Study) -> Rows:
    """Each measure against the baseline: geometric means of the configurations' means, and of their ratios."""
    known = tomllib.loads((EXPERIMENTS / "measures.toml").read_text(encoding="utf-8"))["measure"]
    words = {one["column"]: one["words"].removeprefix("the ").rstrip(",") for one in known}
    words |= {name: called[0].lower() for name, called in study.names.items() if name.endswith("hit_pct")}
    rows: dict[tuple, dict] = {}
    for column, measure in words.items():
        for label, value in dict.fromkeys(
            pair for key in study.configurations for pair in key if pair[0] in study.base
        ):
            keys = [key for key in study.configurations if dict(key)[label] == value and study.ratio(key, column)]
            each = [(key, study.ratio(key, column)) for key in keys]
            sound = [(key, one) for key, one in each if one["ratio"] and one["ratio"] > 0]
            if not sound or INSTEAD.get(column) in {name for name, _ in rows.values()}:
                continue
            ratios = [one["ratio"] for _, one in sound]
            change = 100 * (_geometric_mean(ratios) - 1)
            rows[f"{label} = {value}", measure] = (
                column,
                {
                    "Baseline": _geometric_mean(one["base"] for _, one in sound),
                    "With it": _geometric_mean(one["mean"] for _, one in sound),
                    "Change %": change,
                    "Least %": 100 * (min(ratios) - 1),
                    "Most %": 100 * (max(ratios) - 1),
                    "Configurations": float(len(sound)),
                    "Except for": (ABSENT,) if column.endswith("hit_pct") else _but(study, sound),
                },
            )
    title = "Against .*: values and changes are geometric means over configurations"
    values = {key: row for key, (_, row) in rows.items()}
    return Rows(title, ("With", "Measure"), values, ordered=False)


def _geometric_mean(values: Iterable[float]) -> float:
    return math.exp(mean(map(math.log, values)))


def _but(study: Study, sound: Sequence[tuple[Key, dict]]) -> tuple:
    """Single configurations that differ much although no difference of all is shown."""
    own = [name for name in study.labels if name not in study.base]
    varied = [name for name in own if len({dict(key)[name] for key, _ in sound}) > 1]
    far = [
        (key, one) for key, one in sound
        if abs(one["ratio"] - 1) >= FAR and one["low"] is not None and not one["low"] <= 1 <= one["high"]
    ]  # fmt: skip
    if not varied or not far or 2 * len(far) > len(sound):
        return (ABSENT,)
    parts: list = []
    for key, one in far[:2]:
        labels = ", ".join(f"{name} = {dict(key)[name]}" for name in varied)
        parts += [" and "] if parts else []
        parts += [100 * (one["ratio"] - 1), f" % with {labels}"]
    return tuple(parts)
