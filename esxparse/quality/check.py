"""`ex.check`: compares a recording, or the files of a study, with a sound one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeVar, cast
from weakref import WeakKeyDictionary

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.formats.esxtop import LAZY_FROM
from esxparse.quality import data, evaluate, suites
from esxparse.quality.profile import profile, together
from esxparse.quality.results import STATUSES, Expectation, Fault, Quality
from esxparse.quality.suites import Suite
from esxparse.reading import Capture, as_recording
from esxparse.recording import Recording, first_few

Engine = Literal["esxparse", "gx"]
F = TypeVar("F", bound=Any)
_DOUBTS: Final = 3
"""Most doubts added to a finding."""
_STILL: Final = "frozen_pct"
"""The column of a profile for a counter that is frozen in all instances."""
_STATUS: Final = {"critical": "fail", "warning": "warn", "info": "warn"}
Judged = tuple[Suite, Mapping[str, Any], int, pl.DataFrame]
"""A suite, one of its expectations, the number of rows judged, and the rows at fault."""


_KNOWN: Final[WeakKeyDictionary[Recording, Quality]] = WeakKeyDictionary()
"""Results of our suites: a report needs them for its findings and for its section on quality."""


class Checked(Protocol):
    """An object whose files were checked when it was computed: a study."""

    @property
    def quality(self) -> Quality | None:
        """The results for its files."""


def check(
    rec: Capture | Checked | Sequence[Recording], suite: str | Path | None = None, *, engine: Engine = "esxparse"
) -> Quality:
    """Check a recording, or the files of a study, against the expectations of a sound one.

    Args:
        rec: A recording, or its path; several that belong together (the files of one run) are also compared with each
            other; or a study, whose files were checked by our suites when it was computed.
        suite: A suite of your own, in the JSON of Great Expectations; ours by default.
        engine: `esxparse` evaluates our suites in milliseconds. `gx` runs Great Expectations on the same profiles; that
            takes seconds and needs the extra `quality`. It also runs expectations that `esxparse` does not support.

    Returns: Each expectation with pass, warn or fail, failures first, with the entity, time and value at fault.

    Raises EsxparseError: The suite cannot be read or fits no table, or Great Expectations is needed and not installed.
    """
    if isinstance(rec, (str, os.PathLike)):
        rec = as_recording(rec)
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
    """Return whether a capture is so large that profiling all its counters would take longer than other queries."""
    file = Path(rec.source)
    return file.is_file() and file.stat().st_size > LAZY_FROM


class Used(NamedTuple):
    """Counters behind the evidence of a finding, in instances with one of these names.

    Without names the evidence is over all instances, such as a sum or maximum.
    """

    table: str
    counters: frozenset[str]
    names: frozenset[str]

    def has(self, table: str, fault: Fault) -> bool:
        """Return whether a fault concerns one of the counters and one of the instances."""
        mine = table == self.table and bool(_counters(table, fault.counter) & self.counters)
        return mine and (fault.of_all or not self.names or any(data.is_of(fault.entity, name) for name in self.names))


def _counters(table: str, name: str) -> frozenset[str]:
    """Return the counter, or the counters in an identity of a table."""
    made = data.identity("esxtop", table, name)
    return made.counters if made else frozenset({name})


def doubted(rec: Recording, findings: Iterable[tuple[F, Sequence[Used]]]) -> Iterator[F]:
    """Yield the findings of a diagnosis, each with the faults of its counters as evidence against it.

    `findings`: each with its counters. Faults of the clock and of whole samples affect all findings, except findings
    about the clock and gaps, which are those faults. Large captures (`stays`) are not checked. A counter that the
    reader computed by a guess (`meta["guessed_columns"]`) is a doubt too.
    """
    pairs = list(findings)
    wrong = [one for one in check(rec) if one.status in {"fail", "warn"}] if pairs and not stays(rec) else []
    for finding, used in pairs:
        own = finding.trouble.startswith(("clock.", "capture."))
        doubts = [f"in doubt: {doubt}" for one in wrong if not own and (doubt := _doubt(one, used)) is not None]
        yield replace(finding, against=(*finding.against, *doubts[:_DOUBTS], *_guesses(rec, used)))


def _guesses(rec: Recording, used: Sequence[Used]) -> list[str]:
    """Return the doubt about counters whose formula the reader had to guess."""
    counters = {f"{each.table}.{counter}" for each in used for counter in each.counters}
    found = [name for name in rec.meta.get("guessed_columns", ()) if name in counters]
    return [f"in doubt: {first_few(found, _DOUBTS)} by a formula that no source states"] if found else []


def _doubt(one: Expectation, used: Sequence[Used]) -> Expectation | None:
    """Return an expectation at fault, limited to the counters that were used; None if there are none."""
    if one.table == "samples":
        return one
    mine = [fault for fault in one.faults if any(each.has(one.table, fault) for each in used)]
    return one.about(mine) if mine else None


def _plans(rec: Recording, own: str | Path | None) -> Iterable[tuple[str, pl.DataFrame, Suite]]:
    """Return the plan for a recording: the name of a table, its profile or its rows, and the suite."""
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
    """Judge every expectation of a suite on a table: the number of rows judged, and the rows at fault."""
    if engine == "esxparse" and not suite.source:
        expectations = suite.config["expectations"]
        judged = evaluate.judge_limits(expectations, frame)
        return [(suite, one, *result) for one, result in zip(expectations, judged, strict=True)]
    mine: list[Mapping[str, Any]] = []
    others: list[Mapping[str, Any]] = []
    for one in suite.config["expectations"]:
        (mine if engine == "esxparse" and evaluate.knows(one, frame.schema) else others).append(one)
    found: list[Judged] = [(suite, one, *result) for one, result in zip(mine, evaluate.judge(mine, frame), strict=True)]
    if others:
        from esxparse.quality import gx  # noqa: PLC0415 - takes seconds to import

        found += [(suite, one, *result) for one, result in zip(others, gx.judge(suite, others, frame), strict=True)]
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
    faults: tuple[Fault, ...] = ()
    if bad.height:
        descending = kwargs.get("min_value") is None
        ordered = (
            bad.sort(column, descending=descending, nulls_last=True, maintain_order=True)
            if column in bad.columns
            else bad
        )
        # For tables themselves, which may be long, the worst row is enough.
        ordered = ordered if suite.on == "profile" else ordered.head(1)
        faults = tuple(_fault(row, column, on_profile=suite.on == "profile") for row in ordered.iter_rows(named=True))
    made = Expectation(
        suite.name,
        str(meta.get("id", config["type"])),
        status,
        table,
        str(meta.get("means", "")),
        _expected(config),
        count,
        bad.height,
    )
    return replace(made.about(faults), failed=bad.height) if faults else made


def _fault(row: Mapping[str, Any], column: str, *, on_profile: bool) -> Fault:
    # Missing counters cast no doubt on the counters that were used.
    counter = "" if row.get("kind") == "field" else str(row["name"]) if on_profile and "name" in row else column
    of = f" ({row['of']})" if row.get("of") else ""
    name = f"{row['name']}{of}" if on_profile and "name" in row else column
    name += f", {column}" if on_profile and column not in {"min", "max"} else ""
    time = row.get(f"{column}_time") if on_profile else row.get("time")
    entity = _entity(row, column, on_profile=on_profile)
    return Fault(counter, name, entity, time, row.get(column), column == _STILL)


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
