"""What the report on a study must show: its runs from raw files, compared with plain arithmetic."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from absolute import expected as raw
from absolute import printed, tools
from absolute.manifest import runs as listed

from page_oracle import benchmarks
from page_oracle.answers import ANSWERS
from page_oracle.arithmetic import divided, highest, lowest, mean, value_words
from page_oracle.compare import Expected, Rows

NAMES = {
    "iops": ("IOPS", ""), "read_iops": ("Read IOPS", ""), "write_iops": ("Write IOPS", ""),
    "mb_per_s": ("Throughput", "MB/s"), "read_mb_per_s": ("Read throughput", "MB/s"),
    "write_mb_per_s": ("Write throughput", "MB/s"), "latency_mean_ms": ("Latency mean", "ms"),
    "latency_max_ms": ("Latency max", "ms"), "watts": ("Power", "W"), "elapsed_s": ("Elapsed", "s"),
    "used_pct_of_core_per_1k_iops": ("CPU cost, used", "% of a core per 1K IOPS"),
    "used_cycles_per_io": ("CPU cost, used", "cycles per I/O"), "used_mhz_per_mbps": ("CPU cost, used", "MHz per MB/s"),
    "ready_pct": ("Ready per vCPU", "%"), "costop_pct": ("Co-stop per vCPU", "%"),
    "host_used_pct": ("Host CPU used", "%"), "host_util_pct": ("Host CPU util", "%"),
    "tx_mbit_per_s": ("Traffic sent", "Mbit/s"), "rx_mbit_per_s": ("Traffic received", "Mbit/s"),
    "tx_packets_per_s": ("Packets sent", "1/s"), "rx_packets_per_s": ("Packets received", "1/s"),
    "dropped_packets_per_s": ("Dropped packets", "1/s"), "tlb_miss_load_per_s": ("TLB misses of loads", "1/s"),
    "numa_local_pct": ("NUMA-local memory", "%"), "median_read_latency_ms": ("Median read latency", "ms"),
    "read_p99_ms": ("Read p99", "ms"),
}  # fmt: skip
"""Column of a run: what a page calls it, and its unit."""
SCALES = {
    "s": {"s": 1.0, "ms": 1e3, "\N{MICRO SIGN}s": 1e6, "min": 1 / 60},
    "ms": {"ms": 1.0, "s": 1e-3, "\N{MICRO SIGN}s": 1e3},
    "bytes": {"B": 1.0, "KB": 1e-3, "kB": 1e-3, "MB": 1e-6, "GB": 1e-9},
    "MB/s": {"MB/s": 1.0, "GB/s": 1e-3, "kB/s": 1e3},
    "Mbit/s": {"Mbit/s": 1.0, "Gbit/s": 1e-3},
}
"""Unit of a number in a file: units in which a page may write it, and the factors."""
MEANS = (
    "Means are over the repetitions of a configuration. Error bars are their range; of ratios, the 95 % interval.",
    (
        "The ratio is the mean of the repetitions divided by the baseline's mean; its interval rests on how far "
        'repetitions differ (Fieller). "No difference shown" means that the interval holds 1.'
    ),
)
FOLDER = Path(__file__).parents[2] / "templates"


class Study:
    """Runs of a study by configuration: the labels without the number of the repetition."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = tomllib.loads((folder / "study.toml").read_text(encoding="utf-8"))
        self.report = self.manifest.get("report", {})
        self.base: dict = self.manifest.get("baseline", {})
        self.fixed: dict = self.manifest.get("labels", {})
        self.configurations: dict[tuple, list[dict[str, float]]] = {}
        for labels, numbers in raw.of(folder):
            own = {name: value for name, value in labels.items() if name != "repetition"}
            self.configurations.setdefault(tuple(own.items()), []).append(numbers)
        self.names = dict(NAMES)
        self.results = [row for run in listed(folder) for row in _results(run)]
        for row in self.results:
            self.names.setdefault(tools.column(row), (_called(row, self.results), row["unit"]))

    @property
    def values(self) -> list[str]:
        """Columns that the manifest asks for, or all that this oracle knows."""
        return self.report.get("values") or list(
            dict.fromkeys(
                name for runs in self.configurations.values() for run in runs for name in run if name in self.names
            )
        )

    @property
    def labels(self) -> list[str]:
        return list(dict.fromkeys(name for key in self.configurations for name, _ in key))

    def numbers(self, key: tuple, value: str) -> list[float]:
        """A value of each repetition."""
        return [run[value] for run in self.configurations[key] if run.get(value) is not None]

    def baseline_of(self, key: tuple) -> tuple | None:
        """The configuration that shares all labels but those of the baseline."""
        of = tuple((name, self.base.get(name, value)) for name, value in key)
        return of if self.base and of != key and of in self.configurations else None

    def ratio(self, key: tuple, value: str) -> dict[str, float | None] | None:
        """Means, ratio and interval against the baseline."""
        base = self.baseline_of(key)
        return divided(self.numbers(key, value), self.numbers(base, value) if base else [])

    def pairs(self, *values: str) -> list[tuple[list[float], list[float]]]:
        """The repetitions of each configuration and of its baseline, of these values or all, if both have several."""
        found = [
            (self.numbers(key, value), self.numbers(base, value))
            for value in values or self.values
            for key in self.configurations
            if (base := self.baseline_of(key))
        ]
        return [pair for pair in found if min(map(len, pair)) > 1]


def _results(run: dict) -> list[dict]:
    files = {role: paths for role, (paths, _) in run["files"].items()}
    rows = [*tools.listed(files.get("results_csv", ())), *printed.listed(files)]
    return [{**row, "labels": run["labels"]} for row in rows]


def _called(row: dict, results: list[dict]) -> str:
    """The name of a figure of a benchmark: with its configuration where a test has several."""
    alike = {
        one["configuration"] for one in results if (one["benchmark"], one["test"]) == (row["benchmark"], row["test"])
    }
    parts = [row["benchmark"], row["test"], f"({row['configuration']})" if len(alike) > 1 else "", row["metric"]]
    text = " ".join(filter(None, parts if row["benchmark"] != "results" else parts[1:])).replace("_", " ")
    return text[:1].upper() + text[1:]


def expected(folder: Path) -> Expected:
    """The page of a study, whatever its shape."""
    study = Study(folder)
    found = Expected()
    found.tables = [_measured(study), _compared(study), *stated(folder)]
    found.charts = [chart for value in study.names for chart in _charts(study, value)]
    found.may = [(text,) for text in MEANS]
    about = (f"{study.manifest.get(name, '')}" for name in ("title", "description"))
    found.may += [(text,) for text in (*about, study.report.get("question", ""))]
    benchmarks.add(study, found)
    answers = ANSWERS.get(study.report.get("shape", ""))
    if answers:
        answers(study, found)
    template = FOLDER / f"{study.report.get('shape')}.ipynb"
    found.quoted = _named(study, _cells(template)) if template.is_file() else ""
    given = ", ".join(f"{name} = {_word(one)}" for name, one in study.report.get("inputs", {}).items())
    found.may.append((f"Given in study.toml: {given}.",))
    if not study.results:
        found.may.append(benchmarks.allowed_for(len(study.pairs())))
    return found


def _named(study: Study, text: str) -> str:
    """The text of a template with the names that the study gives a meaning."""
    names = {"base": next(iter(study.base), "")}
    if "protocol" in study.labels:
        names["reference"] = next(str(dict(key)["protocol"]) for key in study.configurations)
    return re.sub(r"\{(\w+)\}", lambda hole: names.get(hole[1], hole[0]), text)


def _cells(path: Path) -> str:
    """The texts that the cells of a template hold, without those of its sentences that numbers fill."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells)


def _word(value: object) -> str:
    return "\N{EN DASH}" if value is None else f"{value:,g}" if isinstance(value, int | float) else str(value)


def _measured(study: Study) -> Rows:
    rows: dict[tuple, dict] = {}
    for key, runs in study.configurations.items():
        labels = dict(key)
        row: dict = {"Runs": float(len(runs))}
        for value in study.values:
            if value not in study.names:
                continue
            name, unit = study.names[value]
            for written, factor in SCALES.get(unit, {unit: 1.0}).items():
                if study.numbers(key, value):
                    row[f"{name} {written}".strip()] = mean(study.numbers(key, value)) * factor
        rows[tuple(_word(labels.get(name)) for name in study.labels)] = row
    return Rows("What was measured", tuple(study.labels), rows, ordered=False, choice=True)


def _compared(study: Study) -> Rows:
    """Each configuration against its baseline; labels that do not vary have no column."""
    made: dict[tuple, dict] = {}
    found = [
        (key, value, study.ratio(key, value))
        for value in study.values
        for key in study.configurations
        if value in study.names
    ]
    there = [(dict(key), value, one) for key, value, one in found if one]
    heads = [name for name in study.labels if len({labels.get(name) for labels, _, _ in there}) > 1]
    for labels, value, one in there:
        name, unit = study.names[value]
        unit = {"bytes": "B"}.get(unit, unit)
        made[f"{name}, {unit}" if unit else name, *(_word(labels.get(head)) for head in heads)] = {
            "Runs": float(one["runs"]), "Mean": one["mean"], "Baseline": one["base"],
            "Difference": one["mean"] - one["base"], "Ratio": one["ratio"], "from": one["low"], "to": one["high"],
            "Change %": None if one["ratio"] is None else 100 * (one["ratio"] - 1),
        }  # fmt: skip
    known = {*study.report.get("values", ["?"])} <= study.names.keys()
    return Rows("Against .*95", ("Value", *heads), made, ordered=False, some=not known, partly=not known)


def stated(folder: Path) -> list[Rows]:
    """Published and assumed figures as published.toml has them; what these runs give is of the data set itself."""
    path = folder / "published.toml"
    whole = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"figure": []}
    figures = [
        one | ({"source": f"{whole['document']}, {one['source']}"} if "document" in whole and "source" in one else {})
        for one in whole["figure"]
    ]
    assumed = [one for one in figures if "assumed" in one]
    return [
        _figures(
            [one for one in figures if one not in assumed], "Published", ("What was published", "Where"), "source"
        ),
        _figures(assumed, "Assumed", ("About", "Why it is not published"), "assumed"),
    ]


def _figures(figures: list[dict], word: str, heads: tuple[str, str], reason: str) -> Rows:
    rows: dict[tuple, dict] = {}
    # A table without any note has no column of notes.
    none = "\N{EN DASH}" if any(one.get("note") for one in figures) else ""
    for one in figures:
        key = (_line(one["claim"]), _written(one), _line(one.get("note", "")) or none)
        row = {
            "Unit": (one["unit"],),
            heads[1]: (_line(one[reason]),),
            **({"Tolerance %": 100 * one["tolerance"]} if "tolerance" in one else {}),
        }
        before = rows.setdefault(key, row)
        # One claim may hold several figures of one value: in what they differ, the page does not tell which is which.
        for head in [head for head in before if before[head] != row.get(head)]:
            del before[head]
    return Rows(f"{word} figures", (heads[0], word, "Note"), rows, ordered=False)


def _line(text: str) -> str:
    return " ".join(text.split())


def _written(one: dict) -> str:
    """A value or range with all its digits."""
    if "value" in one:
        return _digits(one["value"])
    ends = [_digits(one[name]) for name in ("least", "most") if name in one]
    return " to ".join(ends) if len(ends) > 1 else f"at {'least' if 'least' in one else 'most'} {ends[0]}"


def _digits(number: float) -> str:
    return f"{number:,.10f}".rstrip("0").rstrip(".")


class Points(Mapping):
    """Points of a value by the words that tell them apart; where the words fit several, each of them is right."""

    def __init__(self, study: Study, value: str, style: str) -> None:
        self.study, self.style, self.value = study, style, value
        self.points = {key: point for key in study.configurations if (point := self._point(key))}

    def _point(self, key: tuple) -> dict | None:
        if self.style == "plain":
            own = self.study.numbers(key, self.value)
            ends = (lowest(own), highest(own)) if len(own) > 1 else (None, None)
            return {"value": mean(own), "low": ends[0], "high": ends[1], "runs": len(own)} if own else None
        one = self.study.ratio(key, self.value)
        if one is None:
            return None
        change = self.style == "change"
        ends = {name: one[of] for name, of in (("value", "ratio"), ("low", "low"), ("high", "high"))}
        return {name: end if end is None or not change else 100 * (end - 1) for name, end in ends.items()} | {
            "runs": one["runs"]
        }

    def fitting(self, words: tuple) -> list[tuple]:
        said = {word for one in words for word in str(one).split(", ")} - {"", "all"}
        return [key for key in self.points if said <= _said(key)]

    def __getitem__(self, words: tuple) -> dict:
        found = self.fitting(words)
        if not found:
            raise KeyError(words)
        made = {name: [self.points[key][name] for key in found] for name in ("value", "low", "high", "runs")}
        return made | {"linear": self._linear(words)}

    def _linear(self, words: tuple) -> list[float]:
        """A straight line through 0 and the smallest place of the series."""
        if not isinstance(words[0], int | float):
            return []
        series = self.fitting(words[1:])
        sweeps = [name for name in self.study.labels if name == self.study.report.get("sweep")]
        at = {key: dict(key)[sweeps[0]] for key in series if sweeps}
        least = min(at.values(), default=0)
        return [self.points[key]["value"] / least * words[0] for key, place in at.items() if place == least and least]

    def __iter__(self) -> Iterator:
        return iter(())

    def __len__(self) -> int:
        return len(self.points)


def _said(key: tuple) -> set[str]:
    """The words of a configuration's labels, on an axis and in a legend."""
    return {word for name, value in key for word in (str(value), value_words(name, value))}


def _charts(study: Study, value: str) -> list[Rows]:
    name, unit = study.names[value]
    title = re.escape(name)
    titles = {
        "plain": rf"{title} by .*",
        "relative": rf"{title}, ratio to .* by .*",
        "change": rf"{title}, change against .*",
    }
    names = [one for one, _ in study.names.values()]
    scales = SCALES.get(unit, {unit or name: 1.0} if names.count(name) > 1 else {})
    if names.count(name) > 1 and value not in study.values:
        del titles["relative"], titles["change"]
    return [
        Rows(pattern, ("place", "label", "panel"), Points(study, value, style), some=True, ordered=False,
             scales=scales if style == "plain" else {}, partly=not Points(study, value, style))
        for style, pattern in titles.items()
    ]  # fmt: skip
