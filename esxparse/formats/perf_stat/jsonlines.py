"""perf stat -j: one JSON object a line, with the errors of releases before 6.12 and of locales."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from esxparse.formats.kit.numbers import scaled
from esxparse.formats.perf_stat import line as text_line
from esxparse.formats.perf_stat import rows
from esxparse.formats.perf_stat.numbers import is_nan, number
from esxparse.formats.perf_stat.rows import Line, Parsed, Row
from esxparse.recording import Note

_OWN_KEYS = ("counter-value", "metric-unit", "metricgroup")
WORDS = tuple(f'"{key}"' for key in _OWN_KEYS)
"""Words of which every such file has at least one."""
_KEYS = re.compile(rf'\{{[^{{}}\n]*"(?:{"|".join(_OWN_KEYS)})"\s*:')
_OBJECT = re.compile(r"\{[^{}]*\}")
_MENDED = (
    # Objects of some events end in a comma (arm64, 6.10 and 6.11).
    (re.compile(r",\s*\}"), "}"),
    # C prints nan and inf bare.
    (re.compile(r":\s*([+-]?(?:nan|inf))\s*(?=[,}])"), r': "\1"'),
    # --percore has no comma after the core.
    (re.compile(r'"(?=")(?!"\s*[,}:])'), '", '),
    # Locales with a decimal comma.
    (re.compile(r":\s*([+-]?\d+),(\d+)(?=\s*[,}])"), r": \1.\2"),
)
_AGGREGATES = ("core", "cluster", "cache", "die", "socket", "node", "thread", "cpu")
_MOST_CPUS = 10**6
_CPUS = ("aggregate-number", "counters")


def recognise(text: str) -> bool:
    """Return whether a text has a key that only perf stat writes."""
    return bool(_KEYS.search(text))


def parse(lines: Sequence[str]) -> Parsed:
    """Return all objects of a file."""
    found: list[tuple[int, Line]] = []
    heads: list[tuple[int, Row]] = []
    bad: list[tuple[int, str]] = []
    other: list[tuple[int, str]] = []
    mended: list[int] = []
    for place, text in enumerate(lines, start=1):
        if not (objects := _OBJECT.findall(text)):
            if head := text_line.head(text):
                heads.append((place, head))
            elif text.strip() and not text_line.is_known(text):
                (bad if "{" in text or '" :' in text else other).append((place, text))
            continue
        for one in objects:
            content, was_mended = _loads(one)
            read = _line(content) if content is not None else None
            if read is None:
                bad.append((place, one))
                continue
            found.append((place, read))
            mended += [place] * was_mended
        if "{" in _OBJECT.sub("", text):
            bad.append((place, _OBJECT.sub("", text)))
    notes = rows.left_out(bad, "are not complete perf stat objects and are left out", "warning")
    notes += rows.left_out(other, "not from perf stat, left out", "info")
    if mended:
        notes += (Note(f"{len(mended):,} objects are not valid JSON (a known perf bug): repaired", line=mended[0]),)
    parsed = rows.assemble(found, heads)
    meta = {"kind": "json", "runs": len(parsed.runs), **rows.interval_meta(parsed.events)}
    return replace(parsed, notes=notes + parsed.notes, meta=meta)


def _loads(text: str) -> tuple[dict[str, Any] | None, bool]:
    """Return an object, and whether it had to be mended."""
    mended = text
    for pattern, instead in _MENDED:
        mended = pattern.sub(instead, mended)
    for one, was_mended in ((text, False), (mended, True)):
        try:
            return json.loads(one), was_mended
        except (ValueError, RecursionError):
            continue
    return None, False


def _number(value: object) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    text = str(value)
    return None if is_nan(text) else number(text, "," if "," in text else ".")


def _text(value: object) -> str | None:
    return str(value) if value not in (None, "", "(null)") else None


def _line(content: dict[str, Any]) -> Line | None:
    """Return the content of one object; None if it has neither event nor metric."""
    event, group = _text(content.get("event")), _text(content.get("metricgroup"))
    has_metric = "metric-value" in content
    if event is None and group is None and not has_metric:
        return None
    count = content.get("counter-value")
    value = None if count is None or rows.state(str(count)) else _number(count)
    cpus = next((_number(content[key]) for key in _CPUS if key in content), None)
    unit = str(content.get("metric-unit") or "")
    metric = _number(content.get("metric-value"))
    # Up to 6.9 a line without a metric has 0 with no unit, or "(null)".
    metrics = ((metric, unit, _text(content.get("metric-threshold"))),) if has_metric and _text(unit) else ()
    if event is None and group is None and not metrics:
        return None
    return Line(
        elapsed_s=_number(content.get("interval")),
        aggregate=_aggregate(content),
        cpus=int(cpus) if cpus is not None and abs(cpus) < _MOST_CPUS else None,
        event=event,
        counter=None if count is None else str(count),
        value=value,
        unit=_text(content.get("unit")),
        cgroup=_text(content.get("cgroup")),
        stddev_pct=_number(content.get("variance")),
        runtime_ms=scaled(_number(content.get("event-runtime")), 1e-6),
        counted_pct=_number(content.get("pcnt-running")),
        metrics=metrics,
        group=group,
    )


def _aggregate(content: dict[str, Any]) -> str | None:
    key = next((key for key in _AGGREGATES if key in content), None)
    if key is None:
        return None
    value = str(content[key])
    return f"CPU{value}" if key == "cpu" and value.isdigit() else value
