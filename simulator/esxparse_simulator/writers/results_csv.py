"""A list of results as people type it: CSV of labels and numbers, for what no benchmark's own output holds.

QoS records, orders per minute, VDImark, run times, operations per second, bytes by activity. What stands in such a file
is the project's own convention (there is no tool to be true to): an optional first line `# esxparse benchmark results`,
comments `# benchmark: ...`, a line of titles with units in brackets, one row for each result.

Numbers are written as short as they can be without loss; with `decimals` they are rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import TYPE_CHECKING, Final, Literal

from esxparse.errors import EsxparseError
from esxparse_simulator.writers.repetitions import needs, repeated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from esxparse_simulator.model.noise import Noise

__all__ = ["Activity", "Metric", "Results", "Row", "activities", "lines", "text"]

MARK: Final = "# esxparse benchmark results"
_SEPARATORS: Final = "\t;,|"
_SETTINGS: Final = ("benchmark", "test", "configuration", "repetition", "time")


@dataclass(frozen=True, slots=True)
class Metric:
    """One column of numbers: its title and its unit, which may be empty."""

    name: str
    unit: str = ""

    @property
    def title(self) -> str:
        """As it stands in the line of titles."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name


@dataclass(frozen=True, slots=True)
class Row:
    """One result: a label for each label column, a number (None: not measured) for each metric."""

    labels: tuple[str, ...]
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Results:
    """A table of results.

    `labels` are the titles of the label columns: `test`, `configuration`, `repetition`, `time` or any other; `test` and
    `configuration` may hold bare numbers (vCPUs, nodes), others may not: they would be taken for measured ones.
    `higher_is_better`: said in a comment where the unit does not tell (None: not said).
    """

    labels: tuple[str, ...]
    metrics: tuple[Metric, ...]
    rows: tuple[Row, ...]
    benchmark: str = ""
    higher_is_better: bool | None = None


@dataclass(frozen=True, slots=True)
class Activity:
    """A stretch of one activity over a remote connection: how long, s, and how many bytes it moved in all."""

    name: str
    seconds: float
    volume_bytes: int


def _number(value: float | None, decimals: int | None, *, comma: bool) -> str:
    if value is None:
        return ""
    if not isfinite(value):
        msg = f"{value!r} is no result: leave it out, or give None where nothing was measured"
        raise EsxparseError(msg)
    shown = repr(value) if decimals is None else f"{value:.{decimals}f}"
    shown = shown.removesuffix(".0") if decimals is None else shown
    return shown.replace(".", ",") if comma else shown


def _plain(text: str) -> str:
    if any(character in text for character in f'{_SEPARATORS}"\r\n\0'):
        msg = f"a label or title is one line without quotes, tabs, commas, semicolons and bars, not {text!r}: change it"
        raise EsxparseError(msg)
    return text


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _check(results: Results, separator: str, *, decimal_comma: bool) -> None:
    if separator not in _SEPARATORS or len(separator) != 1:
        msg = f"cells are separated by tab, semicolon, comma or bar, not by {separator!r}: choose one"
        raise EsxparseError(msg)
    if decimal_comma and separator == ",":
        msg = "a decimal comma in cells that are separated by commas cannot be read: choose another separator"
        raise EsxparseError(msg)
    if not results.rows or not results.metrics:
        msg = "a list of results needs at least one metric and one row: add them"
        raise EsxparseError(msg)
    for row in results.rows:
        if len(row.labels) != len(results.labels) or len(row.values) != len(results.metrics):
            msg = f"the row {row.labels!r} has not the {len(results.labels)} labels and {len(results.metrics)} values"
            raise EsxparseError(msg + " of the titles: complete it")
    for place, metric in enumerate(results.metrics):
        if 2 * sum(row.values[place] is not None for row in results.rows) <= len(results.rows):
            msg = (
                f"{metric.name!r} has numbers in half of the rows or fewer, so it would be taken for a label: add some"
            )
            raise EsxparseError(msg)
    for place, title in enumerate(results.labels):
        if title not in _SETTINGS and any(_is_number(row.labels[place]) for row in results.rows):
            msg = f"numbers under the label {title!r} look like results: call it configuration, or write words"
            raise EsxparseError(msg)


def lines(
    results: Results,
    separator: str = ",",
    *,
    mark: bool = True,
    decimal_comma: bool = False,
    decimals: int | None = None,
) -> Iterator[bytes]:
    """The lines of the file; `mark`: with the first line by which esxparse knows it without being told.

    Raises:
        EsxparseError: There is nothing to write, or it could not be read again.
    """
    _check(results, separator, decimal_comma=decimal_comma)
    comments = [MARK] if mark else []
    comments += [f"# benchmark: {results.benchmark}"] if results.benchmark else []
    if results.higher_is_better is not None:
        comments.append(f"# higher_is_better: {str(results.higher_is_better).lower()}")
    yield "".join(f"{comment}\n" for comment in comments).encode()
    titles = (*results.labels, *(metric.title for metric in results.metrics))
    yield (separator.join(map(_plain, titles)) + "\n").encode()
    for row in results.rows:
        cells = list(map(_plain, row.labels))
        cells += [_number(value, decimals, comma=decimal_comma) for value in row.values]
        yield (separator.join(cells) + "\n").encode()


def text(
    results: Results,
    separator: str = ",",
    *,
    mark: bool = True,
    decimal_comma: bool = False,
    decimals: int | None = None,
) -> str:
    """The whole file; see `lines`."""
    every = lines(results, separator, mark=mark, decimal_comma=decimal_comma, decimals=decimals)
    return b"".join(every).decode()


def activities(
    noise: Noise,
    stretches: Sequence[Activity],
    start: datetime,
    interval_s: float = 20.0,
    spread: float = 0.2,
    measure: Literal["bytes", "kb_per_s"] = "bytes",
) -> Results:
    """Bytes (or KB/s, 10**3 bytes) over time with the activity they belong to: `time,activity,bytes`.

    A row is written at the end of every interval, `start` being before the first: it tells what was moved in it. The
    bytes of a stretch add up to its volume. Read it with `time_column="time"` and `value_column` as `measure`.

    Raises:
        EsxparseError: A stretch is no whole number of intervals, or a number makes no sense.
    """
    needs("the interval in seconds", interval_s)
    if start.tzinfo is None or measure not in {"bytes", "kb_per_s"} or not stretches:
        msg = "activities need a start with a time zone, a measure bytes or kb_per_s, and one stretch or more: see them"
        raise EsxparseError(msg)
    rows: list[Row] = []
    for place, stretch in enumerate(stretches):
        samples = round(needs(f"the seconds of {stretch.name}", stretch.seconds) / interval_s)
        if samples < 1 or abs(samples * interval_s - stretch.seconds) > 1e-6 * interval_s:
            msg = (
                f"{stretch.name}: {stretch.seconds:g} s are no whole number of intervals of {interval_s:g} s: round it"
            )
            raise EsxparseError(msg)
        volume = needs(f"the bytes of {stretch.name}", stretch.volume_bytes)
        share = repeated(noise, f"activity {place} {stretch.name}", 1.0, spread, samples)
        moved, reached = 0, 0.0
        for part in share:
            reached += part
            so_far = min(round(volume), round(volume * reached / samples))
            time = start.astimezone(UTC) + timedelta(seconds=interval_s * (len(rows) + 1))
            value = float(so_far - moved) if measure == "bytes" else (so_far - moved) / 1000.0 / interval_s
            rows.append(Row((f"{time:%Y-%m-%dT%H:%M:%S}Z", stretch.name), (value,)))
            moved = so_far
    return Results(("time", "activity"), (Metric(measure),), tuple(rows))
