"""elbencho (1.5 to 3.1): results as text (console, `--resfile`), CSV (`--csvfile`), JSON (`--jsonfile`), `--livecsv`.

elbencho writes times as ISO 8601. If a spreadsheet rewrote them, a number above 12 shows the order of day and month, or
option `date_order` sets it.
"MB/s" of `--base10` is converted. Text and CSV hold whole numbers, JSON bytes per second.
Source: Statistics.cpp (printPhaseResults*), LatencyHistogram, docs of elbencho 3.1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from re import Match
from typing import Any

from esxparse.formats.benchmarks.printed import Lines, Part, Report
from esxparse.formats.benchmarks.table import Fields, Run, dated, figures_of, listing, lower, recording, whose
from esxparse.formats.kit.notes import Notes, left_out
from esxparse.formats.kit.numbers import number, scaled, times, whole
from esxparse.formats.kit.objects import each_object, mapping
from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.tables import data, known, schemas
from esxparse.formats.kit.text import cells_of
from esxparse.formats.opening import DateOrder
from esxparse.formats.power.dates import orders_of, read_date
from esxparse.formats.power.readings import Stamp, stamp
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording

FORMAT = "elbencho"

_DATA, _SCHEMAS, _LINES = data(__file__), schemas(__file__), Lines(__file__)
_PATTERNS = kinds(__file__, "patterns")
_UNIT_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4, "h": 3.6e6}
_SETTINGS = ("label", "path type", "hosts", "threads", "file size", "block size", "direct io", "random", "io depth")
_SIDES = {"min": "min_ms", "avg": "mean_ms", "max": "max_ms"}


def _ms(text: str) -> float | None:
    """Return the milliseconds of a length of time such as `2m3.241s`, `588ms`, `14.5ms`.

    >>> _ms("2m3.241s"), _ms("588ms"), _ms("108us"), _ms("soon")
    (123241.0, 588.0, 0.108, None)
    """
    match = _PATTERNS["duration"].fullmatch(text) if text else None
    parts = {unit: number(part) for unit, part in match.groupdict().items() if part} if match else {}
    return round(sum(_UNIT_MS[unit] * (part or 0) for unit, part in parts.items()), 6) if parts else None


def _begin(report: Report, operation: str, started: Any, **facts: Any) -> Part:
    return report.begin(
        operation=operation.lower(), started=started, first={}, last={}, latency={}, settings={}, **facts
    )


def _kind(what: str, mixed: bool) -> str:
    return f"{'read_mix ' if mixed else ''}{'io' if what.lower() == 'io' else 'entries'}"


def _is_damaged(match: re.Match[str]) -> bool:
    """Return whether a line has unexpected cells for its label: blanks between digits make extra cells."""
    label, inside = match["label"].strip(), _PATTERNS["list"].fullmatch(match["rest"].strip())
    if label.endswith("% us"):
        return not (inside and _PATTERNS["steps"].fullmatch(inside["inside"]))
    return not match["operation"] and label.lower() in _DATA["text"] and not _PATTERNS["pair"].fullmatch(match["rest"])


@_LINES.reads("date")
def _date(report: Report, found: Match[str]) -> None:
    report.coming |= found.groupdict()


@_LINES.reads("line")
def _line(report: Report, found: Match[str]) -> bool:
    """Read a line of a phase: a label, and a figure for each end or a list."""
    if report.runs and _is_damaged(found):
        report.keep("damaged")
        return True
    if found["operation"]:
        _begin(report, found["operation"], report.coming.get("started"))
        _of_line(found, report.run)
        return True
    return bool(report.runs) and _of_line(found, report.run)


def read_text(lines: Sequence[str]) -> Report:
    """Return the phases of the text results."""
    report = _LINES.read(lines)
    report.remarks = Notes([*report.notes("elbencho"), *left_out(report.kept["unknown"])])
    return report


def _of_line(match: Match[str], phase: Part) -> bool:
    """Add the content of a line to its phase."""
    label, inside = match["label"].strip(), _PATTERNS["list"].fullmatch(match["rest"].strip())
    if inside:
        return _of_list(label, inside["inside"], phase)
    if (pair := _PATTERNS["pair"].fullmatch(match["rest"])) is None:
        return False
    column = _DATA["text"].get(label.lower())
    if column is None and (entries := _PATTERNS["entries"].fullmatch(label)):
        if entries["side"] == "total" and entries["rate"]:
            return True
        column = f"{'read_mix_' if entries['side'] == 'read' else ''}entries{'_per_s' if entries['rate'] else ''}"
    if column is None:
        return label.endswith(" total")
    for done in ("first", "last"):
        cell = pair[done]
        phase.facts[done][column] = scaled(_ms(cell), 1e-3) if column == "elapsed_s" else number(cell)
    return True


def _of_list(label: str, inside: str, phase: Part) -> bool:
    """Add latencies, percentiles or a histogram."""
    if (match := _PATTERNS["of"].fullmatch(label)) is None:
        return label in {"Time ms each", "Svc compl. time"}
    of = _kind(match["what"], match["side"] == "rd")
    if label.endswith("latency"):
        sides = dict(part.partition("=")[::2] for part in inside.split())
        phase.facts["latency"][of] = {_SIDES[side]: _ms(cell) for side, cell in sides.items() if side in _SIDES}
    elif label.endswith("% us"):
        steps = [part.partition("%<=")[::2] for part in inside.split()]
        rows = [{"of": of, "percentile": p, "at_most_ms": scaled(number(us), 1e-3)} for p, us in steps]
        phase.rows["percentiles"] += rows
    else:
        bins = [part.partition(":")[::2] for part in inside.split(",")]
        phase.rows["histogram"] += [{"of": of, "to_ms": scaled(number(us.strip()), 1e-3), "count": n} for us, n in bins]
    return True


def read_csv(lines: Sequence[str]) -> Report:
    """Return the phases of the CSV results; columns differ between releases, and a file may repeat the titles."""
    report = Report()
    titles: list[str] = []
    for report.place, line in enumerate(lines, 1):
        cells = cells_of(line)
        if "operation" in cells and "label" in cells:
            titles = cells
        elif titles and line.strip() and len(cells) != len(titles):
            report.remarks.warn(f"{len(cells)} cells where the titles are {len(titles)}: left out", report.place)
        elif titles and line.strip():
            row = dict(zip(titles, cells, strict=True))
            phase = _begin(report, row["operation"], row.get("ISO date") or None, release=row.get("version"))
            phase.facts["settings"] = {name.lower(): cell for name, cell in row.items() if cell}
            for title, cell in row.items():
                _of_cell(title, number(cell), phase.facts)
    return report


def _of_cell(title: str, value: float | None, phase: Fields) -> None:
    """Add the figure in a column of the CSV."""
    name, _, done = title.removesuffix("]").rpartition(" [")
    if (latency := _PATTERNS["csv_latency"].fullmatch(title)) and value is not None:
        of = _kind(latency["what"], bool(latency["mix"]))
        phase["latency"].setdefault(of, {})[_SIDES[latency["side"]]] = scaled(value, 1e-3)
    elif done in {"first", "last"} and name.lower() in _DATA["csv"]:
        phase[done][_DATA["csv"][name.lower()]] = value


def read_json(text: str) -> Report:
    """Return the phases of the JSON results."""
    report = Report()
    for line, one in each_object(text, report.remarks):
        report.place = line
        if not isinstance(one.get("phase_type"), str):
            report.remarks.warn("an object without a phase: left out", line)
            continue
        config = mapping(one.get("config"))
        phase = _begin(report, one["phase_type"], one.get("iso_start_date"), release=config.get("version"))
        phase.facts["settings"] = {
            name.replace("_", " "): cell if isinstance(cell, (str, int)) else str(cell)
            for name, cell in {**config, "label": str(one.get("label") or "")}.items()
            if cell
        }
        for done in ("first", "last"):
            found = mapping(one.get(f"{done}_done"))
            for prefix, part in (("", found), ("read_mix_", mapping(found.get("rwmix_read")))):
                figures = {
                    prefix + column: number(part[name]) for name, column in _DATA["json"].items() if name in part
                }
                phase.facts[done] |= figures
        _of_latency(mapping(mapping(one.get("last_done")).get("latency")), phase)
    return report


def _of_latency(latency: Fields, phase: Part) -> None:
    """Add latencies from the JSON: of I/Os and entries, and of the reads in a mix."""
    for what in ("IO", "entries"):
        both = mapping(latency.get(what))
        for mixed, part in ((False, both), (True, mapping(both.get("rwmix_read")))):
            sides = {name: scaled(number(part.get(f"{side}_us")), 1e-3) for side, name in _SIDES.items()}
            if known(sides):
                phase.facts["latency"][_kind(what, mixed)] = sides
        bins = mapping(both.get("histogram")) or mapping(latency.get(f"{what}.histogram"))
        phase.rows["histogram"] += [
            {"of": _kind(what, False), "to_ms": scaled(number(us), 1e-3), "count": whole(count)}
            for us, count in bins.items()
            if number(us) is not None
        ]


def _times(texts: Sequence[str], order: DateOrder | None) -> tuple[dict[str, Stamp | None], list[Note]]:
    """Return the time of each text, and notes on the order of dates: elbencho writes ISO 8601, spreadsheets do not."""
    orders, notes = orders_of(texts, order)
    return {text: read_date(text, orders[text]) if text in orders else stamp(text) for text in texts}, notes


def read_live(lines: Sequence[str], order: DateOrder | None) -> Report:
    """Return the lines of `--livecsv`."""
    titles = [cell.lower() for cell in cells_of(lines[0])]
    times, order_notes = _times([(cells_of(line) or [""])[0] for line in lines[1:]], order)
    report = Report(remarks=Notes(order_notes))
    for place, line in enumerate(lines[1:], 2):
        cells = cells_of(line)
        if not line.strip() or [cell.lower() for cell in cells] == titles:
            continue
        row = dict(zip(titles, cells, strict=False))
        time = times[cells[0]]
        if len(cells) != len(titles) or time is None:
            report.remarks.warn("a line that is cut or damaged: left out", place)
            continue
        label_titles = {"label": "label", "operation": "phase", "rank": "rank", "mix": "mixtype", "service": "service"}
        text = {name: row.get(title) or None for name, title in label_titles.items()}
        figures = {column: row.get(title) for title, column in _DATA["live"].items()}
        elapsed = scaled(number(row.get("runtimems")), 1e-3)
        report.rows["live"].append({"time": time.time, **text, "elapsed_s": elapsed, **figures})
    return report


def _converted(row: Fields) -> Fields:
    """Return a row converted to MiB and seconds."""
    found = dict(row)
    for name, value in row.items():
        for suffix, other, factor in (
            ("mb_per_s", "mib_per_s", 1e6 / 2**20),
            ("bytes_per_s", "mib_per_s", 2**-20),
            ("bytes", "mib", 2**-20),
            ("elapsed_ms", "elapsed_s", 1e-3),
        ):
            if name in {suffix, f"read_mix_{suffix}"}:
                found[name.replace(suffix, other)] = times(value, factor)
                del found[name]
    return found


def run_of(phase: Part) -> Run:
    """Return the end of a phase for the common table."""
    figures = figures_of(_converted(phase.facts["last"]), _DATA["figures"])
    for of, sides in phase.facts["latency"].items():
        prefix = {"io": "latency", "entries": "entry_latency"}.get(of, f"{of.replace(' ', '_')}_latency")
        figures += [lower(f"{prefix}_{side[:-3]}", value, "ms") for side, value in sides.items()]
    settings = {name.lower(): cell for name, cell in phase.facts["settings"].items()}
    options = (f"{name} {settings[name]}" for name in _SETTINGS if settings.get(name))
    return Run(phase.facts["operation"], listing(*options), tuple(figures))


def _add_rows(report: Report, order: DateOrder | None) -> None:
    """Make rows of the figures of each phase."""
    began = {place: run.facts["started"] for place, run in enumerate(report.runs, 1) if run.facts["started"]}
    times, notes = _times(list(began.values()), order)
    report.remarks += notes
    for place, phase in enumerate(report.runs, 1):
        time = times[began[place]] if place in began else None
        if place in began and time is None:
            report.remarks.warn(f"phase {place} without a readable time: {began[place]!r}")
        if time and time.assumed and time.assumed not in {note.message for note in report.remarks}:
            report.remarks.say(time.assumed)
        shared = {"label": phase.facts["settings"].get("label"), "started": time.time if time else None}
        ends = {done: phase.facts[done] for done in ("first", "last") if phase.facts[done]}
        phase.rows["phases"] = [{**shared, "done": done, **_converted(end)} for done, end in ends.items()]
        phase.rows["latencies"] = [{"of": of, **sides} for of, sides in phase.facts["latency"].items()]


def read(source: Source, date_order: DateOrder | None = None) -> Recording:
    """Read one file of results, of one run or many; `date_order` applies to dates that a spreadsheet rewrote."""
    text = source.text().without_cut_line()
    lines = text.lines()
    if text.text.lstrip().startswith("{"):
        report = read_json(text.text)
    elif lines[0].lower().startswith("iso date,label,phase,"):
        report = read_live(lines, date_order)
    elif "," in lines[0] and not any(map(_PATTERNS["titles"].match, lines)):
        report = read_csv(lines)
    else:
        report = read_text(lines)
    report.remarks[:0] = text.notes
    _add_rows(report, date_order)
    shared = [{"phase": place, "operation": run.facts["operation"]} for place, run in enumerate(report.runs, 1)]
    details = report.details(_SCHEMAS, shared)
    rows, columns = dated(*details["phases"], "started")
    mixed = dict.fromkeys(name for row in rows for name in row if name.startswith("read_mix_"))
    always = [name for name in columns if not name.startswith("read_mix_")]
    details["phases"] = rows, {name: columns[name] for name in (*always, *mixed)}
    live = report.rows["live"]
    times = [row["time"] for row in live]
    facts = {"start": min(times, default=None), "end": max(times, default=None)}
    facts["samples"] = len(report.runs) or len(live)
    facts |= whose(run.facts for run in report.runs)
    return recording(source, FORMAT, "elbencho", list(map(run_of, report.runs)), details, facts, report.remarks)
