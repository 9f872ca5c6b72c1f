"""Differences from a study's baseline: every measure of its runs, summed up over the configurations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import polars as pl

from esxparse import toml
from esxparse.diagnosis.experiments.study import Study
from esxparse.errors import EsxparseError
from esxparse.metrics.ratio import geometric_mean

_SAME: Final = {"iops": "mb_per_s", "used_cycles_per_io": "used_above_idle_cycles_per_io"}
_LEAST_PCT: Final = 2.0
"""A smaller difference is not worth a sentence."""
_FAR: Final = 0.1
_TOLD: Final = 3
_MOST: Final = 5
"""Most measures in a sentence."""
_SIGNS: Final = 6
"""If this many configurations all differ in one way, it is not chance (sign test, 3 %)."""
_WHOLE: Final = 1000
NONE: Final = "no difference shown"
MEASURES: Final = toml.beside(__file__, "measures.toml")["measure"]


def differences(study: Study) -> list[dict[str, Any]]:
    """Return one entry for each measure and each alternative to the baseline.

    `measure` (words), `column`, `better` (higher, lower or empty), `alternative`, `baseline` (labels in words),
    `configurations` (compared), `mean`, `baseline_mean` (geometric means over them), `change_pct` (of the first against
    the second), `least_pct`, `most_pct`, `higher`, `lower` (configurations in which repetitions show it), `shown`
    (higher, lower, or no difference shown), `but` (configurations that differ all the same, in words).
    """
    if not study.baseline:
        return []
    comparable = [one for one in MEASURES if _is_comparable(study, one["column"])]
    # Verdicts allow for all comparisons of the answer, whichever of them it mentions.
    study = study.answering([one["column"] for one in comparable], figures=_has_figures(study))
    rows: list[dict[str, Any]] = []
    for one in comparable:
        # Of two columns with the same content, the first.
        if not any(row["column"] == _SAME.get(one["column"]) for row in rows):
            compared = study.compare(one["column"]).filter(~pl.col("is_baseline")).collect()
            own = [name for name in study.labels if name not in study.baseline]
            rows += _summed(compared, one, study.baseline, own)
    return [*rows, *_figures(study)]


def _is_comparable(study: Study, column: str) -> bool:
    if column not in study.runs.collect_schema():
        return False
    with suppress(EsxparseError):
        study.compare(column).collect()
        return True
    return False


def _has_figures(study: Study) -> bool:
    return study.results is not None and len(study.baseline) == 1


def _figures(study: Study) -> list[dict[str, Any]]:
    """Return the differences in benchmark figures; each figure has its own measure."""
    if not _has_figures(study):
        return []
    # Figures have the labels of their run in the configuration: NAME=VALUE after the program's own text.
    figures = study.virtual_to_native().filter(~pl.col("is_baseline"))
    others = [name for name in study.labels if name not in {*study.baseline, *figures.collect_schema()}]
    value = r"(?:^|, ){}=(.*?)(?:, \w+=|$)"
    labels = [pl.col("configuration").str.extract(value.format(re.escape(name))).alias(name) for name in others]
    compared = figures.with_columns(labels).collect()
    rows: list[dict[str, Any]] = []
    for (benchmark, test, metric), some in compared.group_by("benchmark", "test", "metric", maintain_order=True):
        better = {True: "higher", False: "lower"}.get(some["higher_is_better"].drop_nulls().first(), "")  # type: ignore[call-overload]
        words = " ".join(dict.fromkeys(part for part in (benchmark, test, metric.replace("_", " ")) if part))
        # For a benchmark's figure the verdict is better or worse.
        directions = {"better": better, "worse": {"higher": "lower", "lower": "higher"}.get(better, "")}
        measure = {"words": words, "column": f"{benchmark} {test} {metric}", "better": better}
        rows += _summed(some.with_columns(pl.col("verdict").replace(directions)), measure, study.baseline, others)
    return rows


def _summed(
    compared: pl.DataFrame, measure: Mapping[str, Any], baseline: Mapping[str, Any], labels: Sequence[str]
) -> list[dict[str, Any]]:
    found = []
    sound = compared.filter(pl.col("ratio") > 0, pl.col("baseline_mean") > 0)
    for alternative, rows in sound.group_by(*baseline, maintain_order=True):
        ratios = rows["ratio"].to_list()
        # A mean ratio is geometric, and so are the means beside it: arithmetic ones can differ the other way.
        mean, base = (geometric_mean(rows[name].to_list()) for name in ("mean", "baseline_mean"))
        change = 100 * (geometric_mean(ratios) - 1)
        small = abs(change) < _LEAST_PCT or abs(mean - base) < measure.get("least", 0.0)
        found.append(
            {
                "measure": measure["words"],
                "column": measure["column"],
                "better": measure["better"],
                "alternative": _words(dict(zip(baseline, alternative, strict=True))),
                "baseline": _words(baseline),
                "configurations": rows.height,
                "mean": mean,
                "baseline_mean": base,
                "change_pct": change,
                "least_pct": 100 * (min(ratios) - 1),
                "most_pct": 100 * (max(ratios) - 1),
                "higher": rows.filter(verdict="higher").height,
                "lower": rows.filter(verdict="lower").height,
                "shown": (direction := NONE if small else _direction(rows, ratios)),
                "but": _exceptions(rows, labels) if direction == NONE else "",
            }
        )
    return found


def _exceptions(rows: pl.DataFrame, labels: Sequence[str]) -> str:
    """Return single configurations in which repetitions show a large difference: `+80 % with vms = 1`."""
    varied = [name for name in labels if rows[name].n_unique() > 1]
    far = rows.filter(pl.col("verdict").is_in(["higher", "lower"]), (pl.col("ratio") - 1).abs() >= _FAR)
    if not varied or 2 * far.height > rows.height:
        return ""
    exceptions = [
        f"{100 * (row['ratio'] - 1):+z.0f} % with {_words({name: row[name] for name in varied})}"
        for row in far.iter_rows(named=True)
    ]
    return _listed(exceptions[:2], "and")


def _direction(rows: pl.DataFrame, ratios: Sequence[float]) -> str:
    """Return which way at least half of the configurations differ by repetitions; without any, all by their sign."""
    higher, lower = (rows.filter(verdict=word).height for word in ("higher", "lower"))
    single = rows["verdict"].null_count() == rows.height and len(ratios) >= _SIGNS
    for word, count, one, way in (("higher", higher, lower, 1), ("lower", lower, higher, -1)):
        if (2 * count >= rows.height and not one) or (single and all(way * (ratio - 1) > 0 for ratio in ratios)):
            return word
    return NONE


def sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the differences from the baseline in words, shown or not; empty if nothing was compared."""
    made = []
    for alternative in list(dict.fromkeys(row["alternative"] for row in rows))[:_TOLD]:
        mine = [row for row in rows if row["alternative"] == alternative]
        differing = [_sentence(row) for row in mine if row["shown"] != NONE]
        more = [f"{len(differing) - _MOST} more differ"] if len(differing) > _MOST else []
        none_of = [row for row in mine if row["shown"] == NONE]
        same = [row["measure"].rstrip(",") + (f" (but {row['but']})" if row["but"] else "") for row in none_of]
        same = same if len(same) <= _MOST else [*same[: _MOST - 1], f"{len(same) - _MOST + 1} others"]
        none = [f"no difference is shown in {_listed(same)}"] if same else []
        differing = [*differing[:_MOST], *more]
        made.append(f"With {alternative} instead of {mine[0]['baseline']}: {'; '.join([*differing, *none])}.")
    return " ".join(made)


def _sentence(row: Mapping[str, Any]) -> str:
    many = row["configurations"] > 1
    spread = f"{row['least_pct']:+z.0f} to {row['most_pct']:+z.0f} % over {row['configurations']} configurations"
    means = f"{_short(row['mean'])} against {_short(row['baseline_mean'])}"
    return f"{row['measure']} is {abs(row['change_pct']):.0f} % {row['shown']} ({spread if many else means})"


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= _WHOLE else f"{value:.4g}"


def _listed(words: Sequence[str], last: str = "or") -> str:
    return f" {last} ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def _words(labels: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in labels.items())
