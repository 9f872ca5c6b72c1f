"""A list of results as people type it: CSV of labels and numbers, for what no benchmark's own output holds.

The form is the project's own (there is no tool to be true to): a first line `# esxparse benchmark results`, comments
`# benchmark: ...`, a line of titles with units in brackets, one row for each result. Numbers are written as short as
they can be without loss; with `decimals` they are rounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import isfinite

from esxparse_simulator.limits import need, positive
from esxparse_simulator.measured import repeated
from esxparse_simulator.model.noise import Noise

_SETTINGS = ("benchmark", "test", "configuration", "repetition", "time")


@dataclass(frozen=True, slots=True)
class Results:
    """A table of results: titles of the label and number columns, rows of both, and what comments say.

    Labels are `test`, `configuration`, `repetition`, `time` or any other; others may not hold bare numbers, which would
    be taken for measured ones. `higher_is_better` is said where the unit does not tell (None: not said).
    """

    labels: tuple[str, ...]
    metrics: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[float, ...]], ...]
    benchmark: str = ""
    higher_is_better: bool | None = None


def _number(value: float, decimals: int | None) -> str:
    need(isfinite(value), f"{value!r} is not a result: leave it out")
    return repr(value).removesuffix(".0") if decimals is None else f"{value:.{decimals}f}"


def _plain(text: str) -> str:
    plain = not any(character in text for character in '\t;,|"\r\n\0')
    need(plain, f"a label or title is one line without quotes, tabs, commas, semicolons and bars, not {text!r}")
    return text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def lines(results: Results, decimals: int | None = None) -> Iterator[bytes]:
    """The lines of the file."""
    need(results.rows and results.metrics, "a list of results needs at least one metric and one row: add them")
    for place, title in enumerate(results.labels):
        words = title in _SETTINGS or not any(_is_number(labels[place]) for labels, _ in results.rows)
        need(words, f"numbers under the label {title!r} look like results: call it configuration, or write words")
    comments = ["# esxparse benchmark results"]
    comments += [f"# benchmark: {results.benchmark}"] if results.benchmark else []
    if results.higher_is_better is not None:
        comments.append(f"# higher_is_better: {str(results.higher_is_better).lower()}")
    yield "".join(f"{comment}\n" for comment in comments).encode()
    yield (",".join(map(_plain, (*results.labels, *results.metrics))) + "\n").encode()
    for labels, values in results.rows:
        yield (",".join([*map(_plain, labels), *(_number(value, decimals) for value in values)]) + "\n").encode()


def activities(
    noise: Noise,
    stretches: Sequence[tuple[str, float, int]],
    start: datetime,
    interval_s: float = 20.0,
    spread: float = 0.2,
    measure: str = "bytes",
) -> Results:
    """Bytes (or KB/s, 10**3 bytes) over time with the activity they belong to: `time,activity,bytes`.

    `stretches` are name, seconds and bytes of each. A row is written at the end of every interval, `start` being before
    the first: it tells what was moved in it. The bytes of a stretch add up to its volume.
    """
    positive("the interval in seconds", interval_s)
    known = measure in {"bytes", "kb_per_s"} and stretches
    need(known, "activities need a measure bytes or kb_per_s, and one stretch or more: see them")
    rows: list[tuple[tuple[str, ...], tuple[float, ...]]] = []
    for place, (name, seconds, volume) in enumerate(stretches):
        samples = round(positive(f"the seconds of {name}", seconds) / interval_s)
        whole = samples > 0 and abs(samples * interval_s - seconds) <= 1e-6 * interval_s
        need(whole, f"{name}: {seconds:g} s are not a whole number of intervals of {interval_s:g} s: round it")
        positive(f"the bytes of {name}", volume)
        moved, reached = 0, 0.0
        for part in repeated(noise, f"activity {place} {name}", 1.0, spread, samples):
            reached += part
            so_far = min(volume, round(volume * reached / samples))
            time = start.astimezone(UTC) + timedelta(seconds=interval_s * (len(rows) + 1))
            value = float(so_far - moved) if measure == "bytes" else (so_far - moved) / 1000.0 / interval_s
            rows.append(((f"{time:%Y-%m-%dT%H:%M:%S}Z", name), (value,)))
            moved = so_far
    return Results(("time", "activity"), (measure,), tuple(rows))
