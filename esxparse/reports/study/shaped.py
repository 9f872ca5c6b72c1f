"""What a shape says of a study: its sentences, charts and tables, from the rows of their queries."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.reports.blocks import rounded
from esxparse.reports.study import shape as shapes
from esxparse.reports.study.inputs import missing
from esxparse.schema import TIME
from esxparse.studies import plot
from esxparse.studies.columns import COLUMNS
from esxparse.studies.derived import READ, Derived
from esxparse.studies.named import named

if TYPE_CHECKING:
    from pathlib import Path

    import altair as alt

    from esxparse.reports.study.gather import Found
    from esxparse.reports.study.inputs import Input
    from esxparse.studies import Study

_POINT: Final = {
    "_x": "place",
    "_y": "value",
    "_low": "low",
    "_high": "high",
    "_linear": "linear",
    "_panel": "panel",
    "_runs": "runs",
    "who": "label",
}
"""Columns of a chart's query, which no label of a study is called, and what they are of a point."""


def sentences(found: Found) -> list[str]:
    """The answers of the manifest and of the shape: one for each row of a query, or one for all rows with a `lead`."""
    write = _Sentence()
    made = []
    for part in _parts(found, "answer"):
        texts = []
        for row in _with_who(found, part, _varied(found)).iter_rows(named=True):
            who = f"{row['who']}: " if row["who"] else ""
            text = write.filled(part.item["text"], {**part.names, **row, "who": who})
            # Names keep their own capitals.
            texts += [text if who or "lead" in part.item else text[:1].upper() + text[1:]] if text else []
        texts = list(dict.fromkeys(texts))
        if texts and "lead" in part.item:
            texts = [f"{write.filled(part.item['lead'], part.names)}{'; '.join(texts)}."]
        made += texts
    return list(dict.fromkeys(made))


def notes(found: Found, texts: Sequence[str]) -> list[str]:
    """Return texts of the study's shape with its names filled in, without those that rest on inputs nobody gave."""
    names = {name: value for name, value in _names(found).items() if value is not None}
    return [shapes.filled(text, names) for text in texts if shapes.holes(text) <= set(names)]


def charts(found: Found) -> list[alt.LayerChart]:
    """The charts of the study's shape; those of one unit have one scale."""
    from esxparse.charts import study as builder  # noqa: PLC0415  altair takes more than a second

    parts = list(_parts(found, "chart"))
    drawn = [part for part in parts if part.frame is None and part.value]
    ends = shared(found, [(part.value or "", _style(found, part)) for part in drawn])
    made: list[alt.LayerChart] = []
    for part in parts:
        item = part.item
        if part.frame is None:
            value, style = part.value or "", _style(found, part)
            swept = [name for name in found.study.axis if plot.is_sweep(found.runs, name)]
            axes: list[str | None] = [item["x"]] if "x" in item else [*swept] if swept else [None]
            room, limit, by = ends[value, style], _limit(found, value), item.get("by")
            for x in axes:
                with suppress(EsxparseError):  # too many panels: the tables have the numbers
                    made += plot.charts(found.study, value, x, by, {}, style, ends=room, limit=limit)
        else:
            frame = _with_label(found, part)
            said, level = item.get("said", []), item.get("level")
            if isinstance(level, str):
                level = next(iter(part.frame[level].drop_nulls()), None)
            relative = item.get("relative", False)
            made += builder.panels(
                frame, item["title"], item["unit"], plot.axis_words(item["place"]), said, level, relative=relative
            )
    return made


def _style(found: Found, part: Part) -> plot.Style:
    """How a value is drawn: as it is where nothing of it can be divided by a baseline."""
    style: plot.Style = part.item.get("style", "plain")
    alone = part.value in found.values and part.value not in found.compared
    return "plain" if alone and style in {"relative", "change"} else style


def _limit(found: Found, value: str) -> float | None:
    """What the study allows of a value, if that is one number."""
    asked = found.study.asked
    limit = {**asked.rules, **asked.tolerances}.get(value)
    return limit if isinstance(limit, int | float) else None


def shared(found: Found, drawn: list[tuple[str, plot.Style]]) -> dict[tuple[str, plot.Style], tuple[float, float]]:
    """The ends of the axes of charts side by side: one unit, one scale, unless that would flatten a chart."""
    reach = {one: plot.reach(found.study, *one) for one in drawn}
    made = {}
    for one, (low, high) in reach.items():
        unit = plot.unit_of(found.study, *one)
        alike = [reach[other] for other in drawn if unit and plot.unit_of(found.study, *other) == unit] or [(low, high)]
        least, most = min(a for a, _ in alike), max(b for _, b in alike)
        made[one] = (least, most) if most - least < _FLAT * (high - low) else (low, high)
    return made


_FLAT: Final = 6
"""A chart of which less than one part in so many would be used has a scale of its own."""


_FORMS: Final = string.Formatter()
_TWICE: Final = re.compile(r"(?<![\w.,])([+-]?\d[\d.,]*) to \1(?![\d.,]*\d)")
"""Both ends of a range that are printed alike."""


@dataclass(frozen=True)
class Part:
    """An item of a shape for one value, with its names filled in, and the rows of its query."""

    item: Mapping[str, Any]
    value: str | None
    frame: pl.DataFrame | None
    names: Mapping[str, Any]


def _parts(found: Found, kind: str) -> Iterator[Part]:
    study, shape = found.study, found.shape
    if kind == "answer":
        yield from _made_of(found, kind, study.asked.answer, study.asked.tables, study.path)
    if shape is not None:
        yield from _made_of(found, kind, getattr(shape, kind), shape.tables, shape.path)


def _made_of(
    found: Found, kind: str, items: Sequence[Mapping[str, Any]], tables: Mapping[str, Any], path: Path
) -> Iterator[Part]:
    """Parts of a shape or a manifest, without those that rest on inputs nobody gave."""
    for place, item in enumerate(items, 1):
        if not _is_asked(found, item) or missing(found.inputs) & _reach(item, tables):
            continue
        each = item.get("each")
        for value in (each if isinstance(each, list) else found.values) if each else (None,):
            better = "" if value is None else named(found.study, value).better
            if item.get("better", better) != better or (value is not None and not _measured(found, value)):
                continue
            names = {**_names(found), **_of_value(found, value)}
            filled = shapes.filled({key: one for key, one in item.items() if key not in {"text", "lead"}}, names)
            known = {name: one for name, one in tables.items() if shapes.holes(one) <= set(names)}
            derived = Derived(_complete(found), shapes.filled(known, names), path)
            frame = derived.frame(f"{kind} {place}", filled["sql"]) if "sql" in filled else None
            if frame is None or frame.height:
                yield Part({**item, **filled}, value, _readable(found, frame), names)


def _reach(item: Mapping[str, Any], tables: Mapping[str, Any]) -> set[str]:
    """The names that an item rests on: its own, and those of the tables that it reads."""
    reached: set[str] = set()
    todo = [item]
    seen: set[str] = set()
    while todo:
        one = todo.pop()
        reached |= shapes.holes(one)
        reached |= {name for key in ("text", "lead") for _, name, _, _ in _FORMS.parse(one.get(key, "")) if name}
        read = {name for text in (one.get("sql", ""),) for name in READ.findall(text)} | set(one.get("of", ()))
        todo += [tables[name] for name in sorted(read - seen) if name in tables]
        seen |= read
    return reached


def _complete(found: Found) -> Study:
    """The study with a column for everything that can be measured, null if it was not: queries may name it."""
    study = found.study
    runs, results = study.runs, study.results
    lacking = [pl.lit(None, column.type).alias(name) for name, column in COLUMNS.items()]
    present = set(runs.collect_schema())
    runs = runs.with_columns(one for one in lacking if one.meta.output_name() not in present)
    if results is not None and "time" not in results.collect_schema():
        results = results.with_columns(time=pl.lit(None, TIME))
    return replace(study, runs=runs, results=results)


def _readable(found: Found, frame: pl.DataFrame | None) -> pl.DataFrame | None:
    """The rows with tolerances and rules in words: web_p95_ms as "web p95 of at most 100 ms"."""
    if frame is None:
        return None
    asked = found.study.asked
    words = {name: named(found.study, name) for name in (*asked.rules, *asked.tolerances)}
    limits = {
        name: f"{words[name].name} of at most {one:g} {words[name].unit}" for name, one in asked.tolerances.items()
    }
    told = [name for name in ("tolerance", "_x") if name in frame.columns and frame[name].dtype == pl.String]
    frame = frame.with_columns(pl.col(told).replace(limits)) if limits else frame
    if asked.rules and "failed_rules" in frame.columns:
        failed = (
            pl.col("failed_rules")
            .str.split(", ")
            .list.eval(pl.element().replace({name: one.name for name, one in words.items()}))
        )
        frame = frame.with_columns(failed.list.join(", "))
    return frame


def tables(found: Found) -> Iterator[tuple[pl.DataFrame, str, Mapping[str, str]]]:
    """The tables of the study's shape: rows, caption, and heads of their columns."""
    for part in _parts(found, "table"):
        if part.frame is not None:
            labels = {name: name for name in _vary(found, part)}
            yield part.frame, part.item["caption"], {**labels, **part.item["columns"]}


def _is_asked(found: Found, item: Mapping[str, Any]) -> bool:
    asked = found.study.asked
    there = {
        "rules": bool(asked.rules),
        "tolerances": bool(asked.tolerances),
        "figures": found.figures is not None,
        "sweep": found.sweep is not None,
        "units": _names(found)["units"] is not None,
        "baseline": bool(found.study.baseline),
        "results": found.study.results is not None,
    }
    wanted = all(there[one.removeprefix("no ")] != one.startswith("no ") for one in item.get("when", ()))
    return wanted and all(_measured(found, name) for name in item.get("has", ()))


def _measured(found: Found, column: str) -> bool:
    return column in found.runs.columns and found.runs[column].null_count() < found.runs.height


def _names(found: Found) -> dict[str, Any]:
    """What the names in a shape stand for, whatever the value."""
    study, runs = found.study, found.runs
    base = next(iter(study.baseline.items()), (None, None))
    numbers = [name for name in study.labels if name != found.sweep and runs[name].dtype.is_numeric()]
    units = max(
        (name for name in numbers if runs[name].n_unique() > 1), key=lambda one: runs[one].n_unique(), default=None
    )
    others = [name for name in study.labels if name not in {found.sweep, units}]
    return {
        **{one.name: _default(found, one) for one in found.inputs if one.origin},
        "sweep": found.sweep,
        "units": units,
        **(
            {"swept": plot.label_words(found.sweep)[0], "number": plot.number_words(found.sweep)} if found.sweep else {}
        ),
        **({"unit_words": plot.label_words(units)[0]} if units else {}),
        "others": others,
        "by": [name for name in study.labels if name != found.sweep],
        "labels": list(study.labels),
        "base": base[0],
        "base_value": base[1],
        "tolerances": dict(study.asked.tolerances),
    }


def _of_value(found: Found, value: str | None) -> dict[str, Any]:
    if value is None:
        return {}
    told = named(found.study, value)
    return {"value": value, "name": told.name, "unit": told.unit, "better": told.better}


def _default(found: Found, one: Input) -> Any:
    """A parameter's value; if it is empty, that of its label in the first run that has one."""
    label = found.shape.parameters[one.name].get("of") if found.shape else None
    if one.value != "" or label is None:
        return one.value
    return found.runs[label].drop_nulls().first() if label in found.study.labels else None


def _vary(found: Found, part: Part) -> list[str]:
    """The labels that tell the rows of a query apart."""
    frame = part.frame if part.frame is not None else pl.DataFrame()
    return [name for name in found.study.labels if name in frame.columns and frame[name].n_unique() > 1]


def _varied(found: Found) -> list[str]:
    """The labels that the runs vary."""
    return [name for name in found.study.labels if found.runs[name].n_unique() > 1]


def _with_who(found: Found, part: Part, labels: Sequence[str]) -> pl.DataFrame:
    """The rows with `who`, these labels in words, and `labels_told`, all of them."""
    frame = part.frame if part.frame is not None else pl.DataFrame()

    def told(names: Sequence[str]) -> pl.Expr:
        words = [
            pl.when(pl.col(one).is_not_null()).then(plot.said(one, frame)) for one in names if one in frame.columns
        ]
        return pl.concat_str(words, separator=", ", ignore_nulls=True) if words else pl.lit("")

    return frame.with_columns(who=told(labels), labels_told=told(found.study.labels))


def _with_label(found: Found, part: Part) -> pl.DataFrame:
    """The rows as points, with a series for each combination of their labels."""
    frame = _with_who(found, part, [name for name in _vary(found, part) if name != part.item["place"]])
    frame = frame.with_columns(who=pl.when(pl.col("who") != "").then("who").otherwise(pl.lit("all")))
    return frame.select(pl.col(name).alias(to) for name, to in _POINT.items() if name in frame.columns)


class _Sentence(string.Formatter):
    """Fills in a row's columns, numbers as people write them."""

    def filled(self, text: str, row: Mapping[str, Any]) -> str:
        """The sentence; none where a number that it names is not known."""
        names = [name for _, name, _, _ in self.parse(text) if name]
        for name in names:
            if name not in row:
                raise EsxparseError(f"the sentence {text!r} names {name!r}: its query has {', '.join(row)}")
        if any(row[name] is None for name in names):
            return ""
        try:
            return _TWICE.sub(r"\1", self.vformat(text, (), row))
        except ValueError as error:
            raise EsxparseError(f"the sentence {text!r}: {error}") from None

    def format_field(self, value: Any, spec: str) -> str:
        """A number without a form of its own with about four digits."""
        plain = not spec and isinstance(value, int | float) and not isinstance(value, bool)
        return rounded(value) if plain else format(value, spec)
