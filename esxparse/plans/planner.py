"""A planner: a form and its arithmetic, called with inputs or recordings."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from esxparse.errors import EsxparseError, did_you_mean
from esxparse.plans.forms import Form, form
from esxparse.plans.result import Plan
from esxparse.plans.values import ALL, Known, Range, Value, cases_of, cell_text, complete, read
from esxparse.reading import as_recording
from esxparse.recording import Recording
from esxparse.studies import Study, study

if TYPE_CHECKING:
    import polars as pl

_MOST_RANGES: Final = 2
"""Most ranged inputs of a case: the sensitivity table has 9 rows for two."""
Source = Recording | Study | str | os.PathLike[str]


class Answer(NamedTuple):
    """The results of one case at one combination of its inputs."""

    results: Mapping[str, Any]
    verdict: str
    because: str = ""
    """The numbers behind the verdict."""
    notes: Sequence[str] = ()


class Found(NamedTuple):
    """The result from a recording or a study: inputs by case, and tables to show."""

    values: Mapping[str, Mapping[str, Known]]
    tables: Mapping[str, pl.DataFrame] = {}


@dataclass(frozen=True)
class Planner:
    """A planner.

    `answer` computes the results of one case. `measure` takes inputs from a recording, `measure_study` from a study.
    `beside` adds results that compare a case with the first one.
    """

    name: str
    answer: Callable[[Mapping[str, Any]], Answer]
    measure: Callable[[Recording, Mapping[str, Any]], Found] | None = None
    measure_study: Callable[[Study, Mapping[str, Any]], Found] | None = None
    beside: Callable[[Mapping[str, Any], Mapping[str, Any]], Mapping[str, Any]] | None = None

    @property
    def form(self) -> Form:
        """Its inputs, results and sources."""
        return form(self.name)

    @property
    def __signature__(self) -> inspect.Signature:
        """For `help` and editors: every input, and `recordings` if the planner takes any."""
        names = [*self.form.inputs, *(["recordings"] if self.measure else [])]
        return inspect.Signature(
            [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any) for name in names],
            return_annotation=Plan,
        )

    def __call__(self, *, recordings: Source | Mapping[str, Source] | None = None, **inputs: Any) -> Plan:
        """Answer the planner's question.

        Args:
            recordings: A recording, a study or the path of one, from which inputs are taken; or one for each case.
            inputs: By name: a number, a range as `(0.10, 0.30)` or `"0.10..0.30"`, text, or a mapping of cases to such
                values. None is the same as not given. `planner.form.inputs` has their units and meanings.

        Raises EsxparseError: An input is unknown, missing or outside its range, or a recording does not have a
        requested input.
        """
        entered = self._read(inputs)
        found = self._measured(recordings, entered)
        cases = cases_of(self.form, entered, found.values)
        values = complete(self.form, cases, entered, found.values)
        points = {case: self._points(values[case]) for case in cases}
        answers = {case: [self.answer(point) for point in points[case]] for case in cases}
        results = {case: [dict(one.results) for one in found_of] for case, found_of in answers.items()}
        self._compare(results)
        merged = {case: _merged(rows) for case, rows in results.items()}
        return Plan(
            self.form,
            values,
            merged,
            {case: self._sentence(answers[case], merged[case]) for case in cases},
            [row for case in cases for row in self._rows(case, values[case], points[case], results[case])],
            found.tables,
            list(dict.fromkeys(note for case in cases for one in answers[case] for note in one.notes)),
        )

    def _read(self, inputs: Mapping[str, Any]) -> dict[str, dict[str, Value]]:
        known = self.form.inputs
        for name in inputs:
            if name not in known:
                raise EsxparseError(
                    f"{self.name} has no input {name!r}; {did_you_mean(name, known)}it has: {', '.join(known)}"
                )
        return {name: read(self.form, name, value) for name, value in inputs.items() if value is not None}

    def _measured(
        self, recordings: Source | Mapping[str, Source] | None, entered: Mapping[str, Mapping[str, Value]]
    ) -> Found:
        """Return the inputs and tables from recordings, by case."""
        if recordings is None:
            return Found({})
        sources = recordings if isinstance(recordings, Mapping) else {ALL: recordings}
        values: dict[str, Mapping[str, Known]] = {}
        tables: dict[str, pl.DataFrame] = {}
        for case, source in sources.items():
            known = {name: mine[at] for name, mine in entered.items() if (at := case if case in mine else ALL) in mine}
            defaults = {name: one.default for name, one in self.form.inputs.items() if one.default is not None}
            found = self._found(_opened(source), defaults | known)
            for inner, taken in found.values.items():
                values[inner or case] = taken
            tables |= {f"{title}, {case}" if case else title: frame for title, frame in found.tables.items()}
        return Found(values, tables)

    def _found(self, source: Recording | Study, known: Mapping[str, Any]) -> Found:
        """Return the inputs and tables from one recording or study.

        Raises EsxparseError: The planner takes nothing of its kind.
        """
        if isinstance(source, Study):
            if self.measure_study is None:
                raise EsxparseError(f"{self.name} takes no study: give {self.form.recordings or 'its inputs'}")
            return self.measure_study(source, known)
        if self.measure is None:
            raise EsxparseError(f"{self.name} takes no recording: give its inputs")
        return self.measure(source, known)

    def _points(self, values: Mapping[str, Known]) -> list[dict[str, Any]]:
        """Return all combinations of the steps of ranged inputs.

        Raises EsxparseError: Too many inputs are ranges.
        """
        ranged = {name: one.value.steps for name, one in values.items() if isinstance(one.value, Range)}
        if len(ranged) > _MOST_RANGES:
            raise EsxparseError(
                f"{self.name}: {', '.join(ranged)} are ranges: give ranges for {_MOST_RANGES} inputs at most"
            )
        fixed = {name: one.value for name, one in values.items()}
        return [fixed | dict(zip(ranged, steps, strict=True)) for steps in product(*ranged.values())]

    def _compare(self, results: Mapping[str, Sequence[dict[str, Any]]]) -> None:
        """Add results that compare each case with the first, combination by combination."""
        if self.beside is None or len(results) < 2:  # noqa: PLR2004  the first and another
            return
        first, *others = results.values()
        for rows in others:
            for at, row in enumerate(rows):
                row.update(self.beside(row, first[at] if len(first) == len(rows) else first[0]))

    def _sentence(self, answers: Sequence[Answer], merged: Mapping[str, Any]) -> str:
        """Return the verdict of a case with its numbers; for ranged inputs, the different verdicts and main results."""
        verdicts = [text for text in dict.fromkeys(one.verdict for one in answers) if text]
        because = answers[0].because
        if len(answers) > 1:
            mains = [name for name, one in self.form.results.items() if one.main and one.unit and name in merged]
            units = self.form.results
            because = ", ".join(f"{units[name].meaning} {cell_text(merged[name])} {units[name].unit}" for name in mains)
        return ": ".join(part for part in (" or ".join(verdicts), because) if part)

    def _rows(
        self,
        case: str,
        values: Mapping[str, Known],
        points: Sequence[Mapping[str, Any]],
        results: Sequence[Mapping[str, Any]],
    ) -> list[dict[str, Any]]:
        """Return the sensitivity table of a case: the ranged inputs, and the main results; empty without ranges."""
        ranged = [name for name, one in values.items() if isinstance(one.value, Range)]
        if not ranged:
            return []
        heads = {name: _with_unit(name, self.form.inputs[name].unit) for name in ranged}
        mains = {
            name: _with_unit(one.meaning, one.unit)
            for name, one in self.form.results.items()
            if one.main and any(name in found for found in results)
        }
        label = {"case": case} if case else {}
        return [
            label
            | {head: point[name] for name, head in heads.items()}
            | {head: found.get(name) for name, head in mains.items()}
            for point, found in zip(points, results, strict=True)
        ]


def _with_unit(name: str, unit: str) -> str:
    return f"{name}, {unit}" if unit else name


def _opened(source: Source) -> Recording | Study:
    if isinstance(source, Recording | Study):
        return source
    return study(source) if os.fspath(source).endswith(".toml") else as_recording(source)


def _merged(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return each result over all combinations: one value, the range of numbers, or the different texts."""
    merged: dict[str, Any] = {}
    for name in rows[0]:
        values = list(dict.fromkeys(row[name] for row in rows))
        if len(values) == 1:
            merged[name] = values[0]
        else:
            merged[name] = _together(values)
    return merged


def _together(values: Sequence[Any]) -> Range | str:
    """Return the range of numbers, or different values in words; combinations without a number are mentioned."""
    known = [value for value in values if value is not None]
    if any(isinstance(value, bool | str) for value in known):
        return " or ".join("none" if value is None else cell_text(value) for value in values)
    numbers = Range(min(known), max(known))
    return numbers if len(known) == len(values) else f"{numbers} or none"
