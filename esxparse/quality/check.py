"""`ex.check`: a recording, or the files of a study, against what a sound one looks like."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeVar, cast
from weakref import WeakKeyDictionary

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.formats.esxtop import LAZY_FROM
from esxparse.quality import evaluate, suites
from esxparse.quality.profile import profile, together
from esxparse.quality.results import STATUSES, Expectation, Quality
from esxparse.quality.suites import Suite
from esxparse.recording import Recording

Engine = Literal["esxparse", "gx"]
F = TypeVar("F", bound=Any)
_DOUBTS: Final = 3
"""Doubts that a finding names."""
_STATUS: Final = {"critical": "fail", "warning": "warn", "info": "warn"}
Judged = tuple[Suite, Mapping[str, Any], int, pl.DataFrame]
"""A suite, one of its expectations, how many rows it judged, and those at fault."""


_KNOWN: Final[WeakKeyDictionary[Recording, Quality]] = WeakKeyDictionary()
"""What was said of recordings by our suites: a report asks for its findings and for its section on quality."""


class Checked(Protocol):
    """What was checked when it was computed: a study."""

    @property
    def quality(self) -> Quality | None:
        """What was said of its files."""


def check(
    rec: Recording | Checked | Sequence[Recording], suite: str | Path | None = None, *, engine: Engine = "esxparse"
) -> Quality:
    """Check a recording, or the files of a study, against what a sound one looks like.

    Args:
        rec: A recording; several that belong together (the files of one run) are also held against each other; or a
            study, whose files were checked by our suites when it was computed.
        suite: A suite of your own, as Great Expectations writes it (JSON); ours by default.
        engine: `esxparse` evaluates our suites in milliseconds. `gx` runs Great Expectations on the same profiles; that
            takes seconds and needs the extra `quality`. Expectations that only it knows are run by it in any case.

    Returns: Each expectation with pass, warn or fail, those at fault first, with the entity, time and value at fault.

    Raises EsxparseError: The suite cannot be read or fits no table, or Great Expectations is needed and not installed.
    """
    quality = getattr(rec, "quality", None)
    if isinstance(quality, Quality):
        return quality
    ours = suite is None and engine == "esxparse"
    if ours and isinstance(rec, Recording) and rec in _KNOWN:
        return _KNOWN[rec]
    recordings = _all(cast("Recording | Sequence[Recording]", rec))
    judged: list[Expectation] = []
    for one in recordings:
        for table, frame, plan in _plans(one, suite):
            judged += [_judged(table, *found) for found in run(plan, frame, engine)]
    if len(recordings) > 1 and suite is None:
        frame = together(recordings)
        judged += [_judged("files", *found) for found in run(suites.ours("", "files"), frame, engine)]
    judged.sort(key=lambda one: STATUSES.index(one.status))
    found = Quality(tuple(judged), ", ".join(one.source for one in recordings), engine)
    if ours and isinstance(rec, Recording):
        _KNOWN[rec] = found
    return found


def stays(rec: Recording) -> bool:
    """Whether a capture stays in its file: to profile all its counters takes longer than what is asked of it."""
    file = Path(rec.source)
    return file.is_file() and file.stat().st_size > LAZY_FROM


def doubted(rec: Recording, findings: Iterable[tuple[F, Collection[str]]]) -> Iterator[F]:
    """Findings of a diagnosis, each with what speaks against its evidence: expectations at fault in its tables.

    `findings`: each with the tables that it rests on. Findings about the clock and gaps are those faults themselves.
    A capture that stays in its file is not checked for them.
    """
    told = list(findings)
    wrong = [one for one in check(rec) if one.status in {"fail", "warn"}] if told and not stays(rec) else []
    for finding, tables in told:
        own = finding.trouble.startswith(("clock.", "capture."))
        said = [f"in doubt: {one}" for one in wrong if not own and one.table in {*tables, "samples"}]
        yield replace(finding, against=(*finding.against, *said[:_DOUBTS]))


def _plans(rec: Recording, own: str | Path | None) -> Iterable[tuple[str, pl.DataFrame, Suite]]:
    """What is to be judged of a recording: the name of a table, its profile or itself, and the suite."""
    if own is None:
        profiles = profile(rec)
        return [(table, profiles[table], suites.ours(rec.format, table)) for table in profiles]
    mine = suites.load(own)
    frames = profile(rec) if mine.on == "profile" else {name: frame.collect() for name, frame in rec.tables.items()}
    if mine.format not in {"", "any", rec.format}:
        raise EsxparseError(f"suite {own} is for {mine.format}, and {rec.source} is {rec.format}")
    if mine.table not in {"*", *frames}:
        raise EsxparseError(f"suite {own} is for the table {mine.table!r}; {rec.source} has {', '.join(frames)}")
    return [(name, frame, mine) for name, frame in frames.items() if mine.table in {"*", name}]


def run(suite: Suite, frame: pl.DataFrame, engine: Engine = "esxparse") -> list[Judged]:
    """Every expectation of a suite on a table: how many rows it judged, and those at fault."""
    if engine == "esxparse" and not suite.source:
        expectations = suite.config["expectations"]
        judged = evaluate.judge_limits(expectations, frame)
        return [(suite, one, *told) for one, told in zip(expectations, judged, strict=True)]
    mine: list[Mapping[str, Any]] = []
    others: list[Mapping[str, Any]] = []
    for one in suite.config["expectations"]:
        (mine if engine == "esxparse" and evaluate.knows(one, frame.schema) else others).append(one)
    found: list[Judged] = [(suite, one, *told) for one, told in zip(mine, evaluate.judge(mine, frame), strict=True)]
    if others:
        from esxparse.quality import gx  # noqa: PLC0415 - takes seconds to import

        found += [(suite, one, *told) for one, told in zip(others, gx.judge(suite, others, frame), strict=True)]
    return found


def data_docs(rec: Recording | Sequence[Recording], folder: str | Path, suite: str | Path | None = None) -> Path:
    """Write the HTML pages of Great Expectations (Data Docs) on each table of a recording and its suite.

    Returns: Their index.html, in the folder.

    Raises EsxparseError: Great Expectations is not installed, or the suite cannot be read.
    """
    from esxparse.quality import gx  # noqa: PLC0415

    recordings = _all(rec)
    plans = [
        (f"{Path(one.source).name} {table}" if len(recordings) > 1 else table, frame, plan)
        for one in recordings
        for table, frame, plan in _plans(one, suite)
    ]
    return gx.data_docs(plans, folder)


def _all(rec: Recording | Sequence[Recording]) -> list[Recording]:
    return [rec] if isinstance(rec, Recording) else list(rec)


def _judged(table: str, suite: Suite, config: Mapping[str, Any], count: int, bad: pl.DataFrame) -> Expectation:
    meta, kwargs = config.get("meta") or {}, config["kwargs"]
    column = str(kwargs.get("column", ""))
    status = "not judged" if not count else "pass" if not bad.height else _STATUS[config.get("severity") or "critical"]
    worst: dict[str, Any] = {}
    if bad.height:
        descending = kwargs.get("min_value") is None
        ordered = (
            bad.sort(column, descending=descending, nulls_last=True, maintain_order=True)
            if column in bad.columns
            else bad
        )
        row = ordered.row(0, named=True)
        of = f" ({row['of']})" if row.get("of") else ""
        worst = {
            "name": f"{row['name']}{of}" if suite.on == "profile" and "name" in row else column,
            "entity": _entity(row, column, on_profile=suite.on == "profile"),
            "time": row.get(f"{column}_time") if suite.on == "profile" else row.get("time"),
            "value": row.get(column),
        }
        if suite.on == "profile" and column not in {"min", "max"}:
            worst["name"] += f", {column}"
    return Expectation(
        suite.name,
        str(meta.get("id", config["type"])),
        status,
        table,
        str(meta.get("means", "")),
        _expected(config),
        count,
        bad.height,
        **worst,
    )


def _entity(row: Mapping[str, Any], column: str, *, on_profile: bool) -> str:
    if on_profile:
        return row.get(f"{column}_at") or row.get("max_at" if row.get("kind") == "field" else "", "") or ""
    if "instance" in row:
        return row["instance"] or ""
    return " ".join(value for value in row.values() if isinstance(value, str))


def _expected(config: Mapping[str, Any]) -> str:
    kwargs = config["kwargs"]
    low, high = kwargs.get("min_value"), kwargs.get("max_value")
    if low is not None and high is not None:
        return f"{low:g} to {high:g}"
    if low is not None:
        return f"{low:g} or more"
    if high is not None:
        return f"{high:g} or less"
    if "value_set" in kwargs:
        return f"one of {', '.join(map(str, kwargs['value_set']))}"
    return str(config["type"]).removeprefix("expect_").replace("_", " ")
