"""DiskSpd's output for people (`-Rtext`, the default)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from esxparse.formats.diskspd.rows import DIRECTIONS, SCHEMAS, Row, common, empty, job, moment
from esxparse.formats.kit.notes import Notes, left_out, strange
from esxparse.formats.kit.numbers import number, size_bytes, whole
from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.tables import data, typed
from esxparse.recording import Note

Lines = list[tuple[int, str]]


@dataclass(frozen=True)
class _Printed:
    """A table as printed."""

    kind: str
    header: list[str]
    label: str
    """The last line before it that is in no table."""
    rows: list[tuple[int, list[str]]]


_LINES, _IO = kinds(__file__), data(__file__)["io"]
_SECTION = {"total io": "all", "read io": "read", "write io": "write"}
_MIB = ("mib/s", "mb/s")
"""Both are 2**20 bytes per second: the earliest releases wrote MB/s."""
_CPU = {"usage": "cpu_pct", "user": "user_pct", "kernel": "kernel_pct", "idle": "idle_pct"}
_PLACES = ("socket", "node", "group", "core", "cpu")
_STOPPED = "interrupted before the measurements"

_READ: Mapping[str, Callable[[str], float | None]] = {"bytes": size_bytes, "whole": whole, "number": number}
_SETTINGS = [(re.compile(one["pattern"]), one["set"]) for one in data(__file__)["setting"]]
"""A line of the input parameters, and the values that it sets."""


def runs(lines: list[str]) -> Iterator[Lines]:
    """Yield the numbered lines of each run of the program: several may be in one file."""
    current: Lines = []
    for number_of_line, line in enumerate(lines, 1):
        if _LINES["run"].match(line) and any(
            _LINES["results"].match(text) or _LINES["run"].match(text) for _, text in current
        ):
            yield current
            current = []
        current.append((number_of_line, line))
    yield current


def read_run(lines: Lines, run: int, *, cut: int | None) -> tuple[dict[str, list[Row]], Row, list[Note]]:
    """Return rows of the tables, facts about the run, notes; `cut` is a line without an end."""
    rows = empty()
    notes = Notes()
    before, spans = _spans(lines)
    rows["targets"], facts, unknown = _parameters(before, run)
    notes += left_out(unknown)
    for place, span in spans:
        which = {"run": run, "timespan": place}
        settings = [row for row in rows["targets"] if row["timespan"] == place]
        notes += _read_span(which, span, settings, rows, cut)
    return rows, facts, notes


def _spans(lines: Lines) -> tuple[Lines, list[tuple[int, Lines]]]:
    """Return the lines before the results, and the lines of each time span."""
    before: Lines = []
    spans: list[tuple[int, Lines]] = []
    for numbered in lines:
        if found := _LINES["results"].fullmatch(numbered[1]):
            spans.append((int(found[1]), []))
        elif _LINES["totals"].fullmatch(numbered[1]):
            # Sums over the time spans, which are all in the tables.
            break
        else:
            (spans[-1][1] if spans else before).append(numbered)
    return before, spans


def _parameters(lines: Lines, run: int) -> tuple[list[Row], Row, Lines]:
    """Return rows of `targets`, facts about the run, and lines that are not DiskSpd's."""
    unknown: Lines = []
    targets: list[Row] = []
    facts: Row = {}
    span: Row = {"run": run, "timespan": 1}
    for place, line in lines:
        text = line.strip()
        command, fact = _LINES["run"].match(line), _LINES["fact"].fullmatch(line)
        name, value = (fact["name"].lower(), fact["value"].strip()) if fact else ("", "")
        set_here = next((_set(found, what) for rule, what in _SETTINGS if (found := rule.fullmatch(text))), None)
        if command:
            facts["command_line"] = command["command"].strip() or None
        elif name == "timespan":
            span = {"run": run, "timespan": whole(value) or 1}
        elif name == "path":
            targets.append(span | {"target": value.removeprefix("template target ").strip("'")})
        elif name == "computer name":
            facts["host"] = value or None
        elif name == "start time":
            facts["start"] = moment(value)
        elif set_here is not None and targets and targets[-1]["timespan"] == span["timespan"]:
            targets[-1] |= set_here
        elif set_here is not None:
            span |= set_here
        elif text and not fact and not _LINES["ordinary"].match(text):
            unknown.append((place, line))
    return targets, facts, unknown


def _set(found: re.Match[str], columns: Row) -> Row:
    """Return the values that a line of the input parameters sets: constants, or groups of the line."""
    groups = iter(found.groups())
    return {name: _READ[how](next(groups)) if isinstance(how, str) else how for name, how in columns.items()}


def _kind(cells: list[str]) -> str | None:
    """Return the table that a header line begins; None for any other line."""
    if {"cpu", "usage"} <= set(cells):
        return "cpu"
    if cells[:2] == ["thread", "bytes"]:
        return "jobs"
    if cells[0] == "%-ile":
        return "percentiles"
    return "other" if cells[0] in {"thread", "type", "size"} and len(cells) > 1 else None


def _printed(lines: Lines) -> tuple[list[_Printed], Lines]:
    """Return the tables of a time span, and the lines that are in none."""
    tables: list[_Printed] = []
    plain: Lines = []
    for line, text in lines:
        stripped = text.strip()
        cells = [cell.strip() for cell in stripped.split("|")]
        kind = _kind([cell.lower() for cell in cells])
        if not stripped.strip("-*"):
            continue
        if kind:
            tables.append(_Printed(kind, [cell.lower() for cell in cells], plain[-1][1].strip() if plain else "", []))
        elif "|" in stripped and tables:
            tables[-1].rows.append((line, cells))
        else:
            plain.append((line, text))
    return tables, plain


def _read_span(
    which: Row, lines: Lines, settings: list[Row], rows: dict[str, list[Row]], cut: int | None
) -> list[Note]:
    """Add the rows of one time span to the tables."""
    notes = Notes()
    if lines and lines[-1][0] == cut and not _LINES["whole"].fullmatch(lines[-1][1]):
        *lines, (line, text) = lines
        before, bar, _ = text.rpartition("|")
        notes.warn(f"the file ends in this line: {'its last cell is ' if bar else ''}left out", line)
        lines += [(line, before + bar)] if bar else []
    tables, plain = _printed(lines)
    others = [(line, text) for line, text in plain if "|" not in text and not _LINES["fact"].fullmatch(text)]
    known = re.compile(rf"(?i)\s*(?:{'|'.join(_SECTION)})\s*|{_LINES['etw'].pattern}.*|.*{_STOPPED}.*")
    notes += left_out([one for one in others if not known.fullmatch(one[1])])
    facts = {found["name"].lower(): found["value"] for _, text in plain if (found := _LINES["fact"].fullmatch(text))}
    unread = [(line, text) for line, text in plain if "|" in text]
    jobs = []
    for table in tables:
        for line, cells in table.rows:
            here: list[Row] = [{}] if table.kind == "other" else []
            if table.kind == "cpu":
                here = list(_cpu(which, table.header, cells))
                rows["cpu"] += here
            elif table.kind == "percentiles":
                here = list(_percentiles(which, table, cells))
                rows["percentiles"] += here
            elif table.kind == "jobs":
                here = _counted(table, cells)
                jobs += [(_SECTION[table.label.lower()], row) for row in here]
            if not here or _has_odd_cells(here[0]):
                unread.append((line, " | ".join(cells)))
    notes += [
        Note(f"DiskSpd says: {text.strip()[:120]}", line, severity="warning")
        for line, text in plain
        if _STOPPED in text
    ]
    if any(_LINES["etw"].match(text) for _, text in plain):
        notes.say("event tracing, wait statistics and I/O distributions are not read", lines[0][0])
    seconds = number(facts.get("actual test time", "").removesuffix("s"))
    rows["jobs"] += _jobs(which, jobs, settings, seconds, whole(facts.get("thread count")), rows["percentiles"])
    return [*notes, *strange(unread, "not understood")]


def _numbers(row: Row) -> Row:
    """Return the numbers of a line of jobs, by column; None if a cell holds something else."""
    return typed({column: row[title] for title, column in _IO.items() if title in row}, SCHEMAS["jobs"])


def _has_odd_cells(row: Row) -> bool:
    """Return whether cells of a line of jobs hold anything but numbers."""
    numbers = _numbers(row)
    return any(numbers.get(column, 0.0) is None and row[title] not in {"", "N/A"} for title, column in _IO.items())


def _counted(table: _Printed, written: list[str]) -> list[Row]:
    """Return the cells of a thread or of the total by the names in the header; empty for other lines."""
    total = written[0].lower().startswith("total:")
    if not (total or whole(written[0]) is not None) or table.label.lower() not in _SECTION:
        return []
    cells = ["", written[0].partition(":")[2], *written[1:]] if total else written
    # A total has only numbers: it has no file.
    expected = table.header[: table.header.index("file")] if total and "file" in table.header else table.header
    return [dict(zip(table.header, cells, strict=False))] if len(cells) in {len(expected), len(table.header)} else []


def _jobs(
    which: Row,
    lines: list[tuple[str, Row]],
    settings: list[Row],
    seconds: float | None,
    threads: int | None,
    percentiles: list[Row],
) -> Iterator[Row]:
    for direction, row in lines:
        total = not row["thread"]
        counted = _numbers(row)
        rate = next((number(row[title]) for title in _MIB if title in row), None)
        if not seconds and rate is not None:
            counted["bandwidth_bytes_per_s"] = rate * (1 << 20)
        path, bracket, _ = row.get("file", "").rpartition("(")
        path = (path.strip() if bracket else row.get("file")) or None
        own = which | {"level": "total" if total else "thread", "thread": whole(row["thread"]), "target": path}
        own |= {"workers": threads if total else 1} | common(settings, path)
        if total:
            own |= _extremes(which, direction, percentiles)
        if not counted.get("ios"):
            # Without I/O the program prints 0.000: no latency was measured.
            counted |= dict.fromkeys(("latency_mean_ms", "latency_stddev_ms"))
        yield job(own, direction, seconds, counted)


def _extremes(which: Row, direction: str, percentiles: list[Row]) -> Row:
    own = which | {"target": None, "direction": direction}
    at = {row["percentile"]: row["latency_ms"] for row in percentiles if own.items() <= row.items()}
    return {"latency_min_ms": at.get(0.0), "latency_max_ms": at.get(100.0)}


def _percentile(title: str) -> float | None:
    """Return the percentile in a title.

    >>> _percentile("25th"), _percentile("3-nines"), _percentile("5-nines"), _percentile("max")
    (25.0, 99.9, 99.999, 100.0)
    """
    if not (found := _LINES["percentile"].fullmatch(title)):
        return None
    if found["nines"]:
        return float("99." + "9" * (int(found["nines"]) - 2)) if int(found["nines"]) > 2 else None  # noqa: PLR2004
    return float(found["plain"]) if found["plain"] else {"min": 0.0, "max": 100.0}[found["end"]]


def _percentiles(which: Row, table: _Printed, cells: list[str]) -> Iterator[Row]:
    # If a cell is missing, the directions of the others are unknown.
    percentile = _percentile(cells[0]) if len(cells) == len(table.header) else None
    scope = table.label
    of_all = scope.lower() in {"total:", "total latency distribution:"}
    target = None if of_all else scope.removeprefix("Latency distribution:").strip() or None
    for direction, cell in zip(DIRECTIONS, cells[1:], strict=False):
        latency = number(cell)
        if percentile is not None and latency is not None:
            yield which | {"target": target, "direction": direction, "percentile": percentile, "latency_ms": latency}


def _cpu(which: Row, header: list[str], written: list[str]) -> Iterator[Row]:
    average = written[0].lower().startswith("avg")
    share_titles = header[header.index("usage") :]
    titles = ["average", *share_titles] if average else header
    if len(written) != len(titles):
        return
    row = dict(zip(titles, written, strict=True))
    shares = {own: number(row.get(title, "").removesuffix("%")) for title, own in _CPU.items()}
    if any(share is not None for share in shares.values()):
        yield which | {name: None if average else whole(row.get(name)) for name in _PLACES} | shares
