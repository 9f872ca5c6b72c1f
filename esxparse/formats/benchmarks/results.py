"""Results in a table of your own: CSV with a label and a number (orders per minute, VDImark, response times ...).

Such a file does not show its format: it is read with `format="results_csv"`, or if its first line is the comment
`# esxparse benchmark results`.

Titles identify columns, in any case and order: `benchmark`, `test`, `configuration` (`config`), `repetition`
(`run`, `iteration`), `metric`, `unit`, `higher_is_better`. Other columns with words are labels: the first is
`test` if that is missing, the rest go to `configuration` as `name=value`. Every column of numbers is a metric under
its title, or only `value_column` is; a `metric` column replaces the title. A title may contain a unit:
`value [ms]`, `rate (MB/s)`, `latency_ms`. Repetitions are counted if there is no such column. Cells are separated
by tab, semicolon, comma or bar. The decimal mark is derived from all numbers; if none shows it, set `decimal`. A file
with the comment, commas between its cells and no quotes has decimal points.
A row is left out if its number of cells differs from the number of titles.
Lines that begin with `#` are comments. `# benchmark: DVD Store`, `# unit: opm`, `# higher_is_better: false` replace
missing columns.
Whether higher is better follows from the unit (times: no; rates: yes), and is null if it does not.
Source: the format is esxparse's own. Times without a zone are taken as UTC.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from esxparse.errors import DamagedError, EsxparseError, did_you_mean
from esxparse.formats.benchmarks.table import Fields, dated, listing
from esxparse.formats.kit.limits import cut_notes
from esxparse.formats.kit.marks import COMMA, POINT, Marks, marks_of_cells
from esxparse.formats.kit.notes import Notes, excerpt
from esxparse.formats.kit.numbers import number, whole
from esxparse.formats.kit.orders import swap_notes
from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.tables import data, frame, schemas
from esxparse.formats.kit.text import Text, cells_of, may_be_cut
from esxparse.formats.opening import Decimal
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording

FORMAT = "results_csv"

MARK = "# esxparse benchmark results"
_SEPARATORS = "\t;,|"
_DATA, _PATTERNS = data(__file__), kinds(__file__, "patterns")
_NAMES = {title: name for name, titles in _DATA["names"].items() for title in titles}
_TRUE, _FALSE = frozenset({"true", "yes", "1", "higher"}), frozenset({"false", "no", "0", "lower"})
_SECONDS = 1 << 33


def is_number(text: str) -> bool:
    """Return whether a cell holds a number, in any locale.

    >>> is_number("1.234,5"), is_number("1,234.5"), is_number("fast")
    (True, True, False)
    """
    return any(Marks(mark).number(text) is not None for mark in (POINT, COMMA))


def separator_of(lines: Sequence[str]) -> str:
    """Return the separator: the character with the same count in nearly all lines; a comma if none occurs.

    >>> separator_of(['name;opm', '"a, b, c";1,5', '"d; e";2'])
    ';'
    """
    bare = [_PATTERNS["quoted"].sub("", line) for line in lines]

    def regular(character: str) -> tuple[int, int]:
        counts = Counter(line.count(character) for line in bare)
        often, many = max(counts.items(), key=lambda pair: (pair[0] > 0, pair[1]))
        return (many if often else 0, -_SEPARATORS.index(character))

    return max(_SEPARATORS, key=regular) if lines else ","


def unit_of(title: str) -> tuple[str, str]:
    """Return the name and the unit in a title.

    >>> unit_of("response time [ms]"), unit_of("latency_ms"), unit_of("opm")
    (('response time', 'ms'), ('latency', 'ms'), ('opm', ''))
    >>> unit_of("mean_kb_per_s"), unit_of("kb_per_s")
    (('mean', 'kb_per_s'), ('value', 'kb_per_s'))
    """
    found = (_PATTERNS[name].match(title) for name in ("unit_in_title", "unit_alone", "unit_at_end"))
    match = next(filter(None, found), None)
    return ((match["name"] or "value").strip(), match["unit"].strip()) if match else (title, "")


def better(metric: str, unit: str) -> bool | None:
    """Return whether higher is better, if the unit or the name shows it."""
    if unit.lower() in _DATA["units"]["times"]:
        return False
    # A score is in points, if its unit is written at all.
    is_score = unit.lower() in {"", "points"}
    return True if _PATTERNS["rate"].search(unit) or (is_score and _PATTERNS["rate"].search(metric)) else None


def read_time(text: str) -> datetime | None:
    """Return a time: ISO 8601, or seconds (or milliseconds) since 1970."""
    if (seconds := number(text)) is not None:
        seconds = seconds / 1e3 if seconds > _SECONDS else seconds
        return datetime.fromtimestamp(seconds, UTC) if 0 < seconds < _SECONDS else None
    try:
        time = datetime.fromisoformat(text.strip())
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _unreadable_time(cell: str) -> str:
    if _PATTERNS["ordered_date"].match(cell.strip()):
        return (
            f"the order of day, month and year in {excerpt(cell)!r} is not known, and a spreadsheet may have swapped "
            "day and month in other rows; write it as 2026-03-11T09:02"
        )
    return f"no readable time in {excerpt(cell)!r}"


def _column(titles: Sequence[str], wanted: str | None, what: str) -> int | None:
    if not wanted:
        return None
    for place, title in enumerate(titles):
        if wanted.strip().lower() in {title.lower(), unit_of(title)[0].lower(), str(place + 1)}:
            return place
    msg = f"there is no column {wanted!r} for the {what}; {did_you_mean(wanted, titles)}the columns are: "
    raise EsxparseError(msg + ", ".join(map(repr, map(excerpt, titles))))


def read_rows(lines: Sequence[str]) -> tuple[list[tuple[int, list[str]]], dict[str, str]]:
    """Return the rows with their lines, and the values that comments set."""
    kept = [(place, line) for place, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")]
    comments = {match["name"]: match["value"] for line in lines if (match := _PATTERNS["comment"].match(line))}
    separator = separator_of([line for _, line in kept])
    rows = [(place, cells_of(line, separator) or [line]) for place, line in kept]
    return rows, comments


def _titled(rows: Sequence[tuple[int, list[str]]]) -> tuple[list[str], Sequence[tuple[int, list[str]]]]:
    """Return the titles, printed or made up, and the rows below them."""
    first = rows[0][1]
    if not any(is_number(cell) for cell in first):
        last = max((place for place, title in enumerate(first, 1) if title), default=len(first))
        return [title or f"column_{place}" for place, title in enumerate(first[:last], 1)], rows[1:]
    width = Counter(len(cells) for _, cells in rows).most_common(1)[0][0]
    made_up = [f"column_{place}" for place in range(1, width + 1)]
    numbers = [place for place, cell in enumerate(first[:width]) if is_number(cell)]
    if len(numbers) == 1:
        made_up[numbers[0]] = "value"
    return made_up, rows


def roles(titles: Sequence[str], rows: Sequence[tuple[int, list[str]]], options: Mapping[str, str | None]) -> Fields:
    """Return the role of each column: named ones, time, metrics, labels."""
    columns: dict[str, int] = {}
    for place, title in enumerate(titles):
        columns.setdefault(_NAMES.get(title.lower().replace(" ", "_"), ""), place)
    columns.pop("", None)
    time = _column(titles, options.get("time_column"), "time")
    value = _column(titles, options.get("value_column"), "results")
    free = [place for place in range(len(titles)) if place not in {*columns.values(), time, value}]
    count = {place: sum(is_number(cells[place]) for _, cells in rows if place < len(cells)) for place in free}
    numeric = [place for place in free if rows and count[place] * 2 > len(rows)]
    if value is None and not numeric:
        # A column named like a label may hold the results: `run` in a file of two columns, for instance.
        value = next((place for place in reversed(range(len(titles))) if _is_numeric(place, rows)), None)
        columns = {name: place for name, place in columns.items() if place != value}
    metrics = [value] if value is not None else numeric
    # Beside named results, other numbers are settings; columns of words come first, as the test's name.
    labels = sorted((place for place in free if place not in metrics), key=lambda place: place in numeric)
    return {"columns": columns, "time": time, "metrics": metrics, "labels": labels}


def _is_numeric(place: int, rows: Sequence[tuple[int, list[str]]]) -> bool:
    return any(place < len(cells) and is_number(cells[place]) for _, cells in rows)


def _whole_rows(
    titles: Sequence[str], rows: Sequence[tuple[int, list[str]]]
) -> tuple[list[tuple[int, list[str]]], list[Note]]:
    """Return the rows without lost or added cells: in other rows no cell is certain to be below its own title."""
    counts = Counter(len(cells) for _, cells in rows)
    width = max(counts, key=lambda count: counts[count], default=len(titles))
    # A separator at the end of each row adds an empty cell.
    ended = width == len(titles) + 1 and not any(cells[-1] for _, cells in rows if len(cells) == width)
    width = width if ended else len(titles)
    notes = Notes()
    for line, cells in rows:
        if len(cells) != width:
            notes.warn(f"{len(cells)} cells where {width} are expected: the row is left out", line)
    return [(line, cells[: len(titles)]) for line, cells in rows if len(cells) == width], notes


def _without_cut(
    rows: Sequence[tuple[int, list[str]]], role: Fields, text: Text
) -> tuple[list[tuple[int, list[str]]], list[Note]]:
    """Return the rows without a number that touches the end of the file; a cut label removes its row."""
    if not rows or rows[-1][0] != len(text.lines()) or not may_be_cut(text.lines()[-1]):
        return list(rows), []
    line, cells = rows[-1]
    if len(cells) - 1 not in role["metrics"]:
        return list(rows[:-1]), [text.cut_note("the row is left out")]
    return [*rows[:-1], (line, [*cells[:-1], ""])], [text.cut_note("that number is left out")]


def _labelled(cells: Sequence[str], titles: Sequence[str], role: Fields, comments: Mapping[str, str]) -> Fields:
    def at(name: str) -> str:
        place = role["columns"].get(name)
        return cells[place] if place is not None and place < len(cells) and cells[place] else comments.get(name, "")

    labels = [(titles[place], cells[place]) for place in role["labels"] if place < len(cells) and cells[place]]
    test = at("test") or (labels.pop(0)[1] if labels else "")
    settings = [at("configuration"), *(f"{name}={value}" for name, value in labels)]
    label: Fields = {"benchmark": at("benchmark") or "results", "test": test, "configuration": listing(*settings)}
    label |= {"repetition": whole(at("repetition")), "metric": at("metric"), "unit": at("unit")}
    return label | {"higher_is_better": at("higher_is_better").lower()}


def _figure(label: Fields, title: str, value: float) -> Fields:
    name, unit = unit_of(title)
    metric, unit = label["metric"] or name, label["unit"] or unit
    direction = label["higher_is_better"]
    higher = True if direction in _TRUE else False if direction in _FALSE else better(metric, unit)
    return {**label, "metric": metric, "unit": unit, "value": value, "higher_is_better": higher}


def read(
    source: Source,
    value_column: str | None = None,
    time_column: str | None = None,
    decimal: Decimal | None = None,
) -> Recording:
    """Read a table of results; `decimal` is its decimal mark, if the file does not show it."""
    text = source.text()
    every, comments = read_rows(text.lines())
    if not every:
        raise DamagedError("it has no results: each line needs a label and a number")
    titles, rows = _titled(every)
    rows, uneven = _whole_rows(titles, rows)
    role = roles(titles, rows, {"value_column": value_column, "time_column": time_column})
    rows, cut = _without_cut(rows, role, text)
    lines = text.lines()
    # A program wrote the comment. A spreadsheet with decimal commas would have written semicolons or quotes.
    if lines and lines[0].startswith(MARK) and separator_of(lines) == COMMA and not any('"' in line for line in lines):
        decimal = decimal or "point"
    marks = marks_of_cells(
        ((cells[place], (line, place + 1)) for place in role["metrics"] for line, cells in rows if place < len(cells)),
        decimal,
    )
    limits = cut_notes(len(titles), len(lines) - (not lines[-1]), saved=False)
    notes = Notes([*text.notes, *limits, *uneven, *cut, *marks.notes])
    found: list[Fields] = []
    seen: Counter[tuple[str, ...]] = Counter()
    for line, cells in rows:
        label = _labelled(cells, titles, role, comments)
        time = read_time(cells[role["time"]]) if role["time"] is not None and role["time"] < len(cells) else None
        if role["time"] is not None and time is None:
            cell = cells[role["time"]] if role["time"] < len(cells) else ""
            notes.warn(f"{_unreadable_time(cell)}: the row is left out", line, role["time"] + 1)
            continue
        for place in role["metrics"]:
            cell = cells[place] if place < len(cells) else ""
            if (value := marks.number(cell)) is None:
                notes.warn(f"{excerpt(cell)!r} is not a number: left out", line, place + 1)
                continue
            row = _figure(label, titles[place], value)
            key = (row["benchmark"], row["test"], row["configuration"], row["metric"])
            seen[key] += 1
            found.append({**row, "time": time, "repetition": label["repetition"] or seen[key]})
    if not found:
        why = f" (line {notes[0].line}: {notes[0].message})" if notes else ""
        raise DamagedError(f"none of its rows has a number{why}: name the column with value_column")
    notes += swap_notes([row["time"] for row in found], has_option=False)
    rows_and_columns = dated(found, schemas(__file__)["benchmark_results"])
    meta = {"samples": len(rows)}
    return Recording(FORMAT, source.name, {"benchmark_results": frame(*rows_and_columns).lazy()}, meta, tuple(notes))
