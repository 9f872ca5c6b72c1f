"""elbencho (1.5 to 3.1): results as text (console, `--resfile`), CSV (`--csvfile`), JSON (`--jsonfile`), `--livecsv`.

Tables
------
benchmark_results   see `esxparse.formats.benchmarks.table`: test is the phase in lower case (`write`, `read`, `mkdirs`
                    ...), of its end ("last done"); metrics `iops`, `entries` (files, directories, objects; 1/s),
                    `throughput` (MiB/s), `latency_mean`, `latency_min`, `latency_max` of I/Os, `entry_latency_mean`
                    ... (ms), `cpu` (%), `time` (s); `iops_read_mix` ... are the reads beside a phase that writes
phases              two rows per phase: phase (from 1), operation, done (`first`: until the fastest thread ended;
                    `last`: all of it), started (UTC, where known; in text that of the whole run), label, elapsed_s,
                    iops, mib_per_s, entries_per_s, entries, mib, ios, cpu_pct; read_mix_iops ... where there are
latencies           one row per phase and kind: phase, operation, of (`io`, `entries`, `read_mix io` ...), min_ms,
                    mean_ms, max_ms
percentiles         one row per percentile: phase, operation, of, percentile, at_most_ms
histogram           one row per bin: phase, operation, of, to_ms, count
live                one row per line of `--livecsv`: time (UTC), label, operation, elapsed_s, rank (`Total`, a number),
                    mix, service, done_pct, bytes, mib_per_s, iops, entries, entries_per_s, entry_latency_us,
                    io_latency_us, active_threads, cpu_pct

elbencho writes times as ISO 8601. If a spreadsheet rewrote them, a number above 12 shows the order of day and month, or
option `date_order` sets it.
"MB/s" of `--base10` is converted. Text and CSV hold whole numbers, JSON bytes per second.
Source: Statistics.cpp (printPhaseResults*), LatencyHistogram, docs of elbencho 3.1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from esxparse.formats.benchmarks.table import BETTER, Fields, Figure, Run, lower, recording, whose
from esxparse.formats.kit.notes import Notes, left_out
from esxparse.formats.kit.numbers import number, scaled, times, whole
from esxparse.formats.kit.objects import each_object, mapping
from esxparse.formats.kit.tables import Schema, data, known, schema
from esxparse.formats.kit.text import cells_of
from esxparse.formats.opening import DateOrder
from esxparse.formats.power.dates import orders_of, read_date
from esxparse.formats.power.readings import Stamp, stamp
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording

FORMAT = "elbencho"

_DATA = data(__file__)
_TITLES = re.compile(r"OPERATION\s+RESULT TYPE\s+FIRST DONE\s+LAST DONE")
_LINE = re.compile(r"(?P<operation>[A-Z][A-Z0-9_]*)?\s+(?P<label>[A-Z][^:]*): (?P<rest>.*)")
_PAIR = re.compile(r"\s*(?P<first>\S+)\s+(?P<last>\S+)\s*")
_STEPS = re.compile(r"(?:[^\s%]+%<=[^\s%]+(?: |\Z))*")
_LIST = re.compile(r"\[ (?P<inside>.*?) ?\]")
_ENTRIES = re.compile(r"[A-Z]\w*(?P<rate>/s)?(?: (?P<side>read|write|total))?")
_OF = re.compile(r"(?P<what>\w+)(?: (?P<side>rd|wr))? lat(?:ency| % us| hist)")
_DATE = re.compile(r"ISO DATE(?: start)?: (?P<time>\S+)")
_ORDINARY = re.compile(r"=+ =+|---|ISO DATE|COMMAND LINE:|LABEL:|OPERATION|\s*(?:Time ms each|Svc compl\. time)")
_DURATION = re.compile(
    r"(?:(?P<h>\d+)h)?(?:(?P<m>\d+)m(?!s))?(?:(?P<s>[\d.]+)s)?(?:(?P<ms>[\d.]+)ms)?(?:(?P<us>[\d.]+)us)?"
)
_UNIT_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4, "h": 3.6e6}
_SETTINGS = ("label", "path type", "hosts", "threads", "file size", "block size", "direct io", "random", "io depth")
_CSV_LATENCY = re.compile(r"(?P<mix>rwmix read )?(?P<what>Ent|IO) lat us \[(?P<side>min|avg|max)\]")
_SIDES = {"min": "min_ms", "avg": "mean_ms", "max": "max_ms"}
_FIGURES = ("elapsed_s", "iops", "mib_per_s", "entries_per_s", "entries", "mib", "ios", "cpu_pct")

_PHASES = schema("phase i64, operation done label str")
_STARTED = schema("started time")
_LATENCIES = schema("phase i64, operation of str, min_ms mean_ms max_ms f64")
_PERCENTILES = schema("phase i64, operation of str, percentile at_most_ms f64")
_HISTOGRAM = schema("phase i64, operation of str, to_ms f64, count i64")
_LIVE = schema("time time, label operation rank mix service str, elapsed_s f64")


def _ms(text: str) -> float | None:
    """Milliseconds of a length of time such as `2m3.241s`, `588ms`, `14.5ms`.

    >>> _ms("2m3.241s"), _ms("588ms"), _ms("108us"), _ms("soon")
    (123241.0, 588.0, 0.108, None)
    """
    match = _DURATION.fullmatch(text) if text else None
    parts = {unit: number(part) for unit, part in match.groupdict().items() if part} if match else {}
    return round(sum(_UNIT_MS[unit] * (part or 0) for unit, part in parts.items()), 6) if parts else None


def _phase(operation: str, **more: Any) -> Fields:
    lists: Fields = {"percentiles": [], "histogram": []}
    return {"operation": operation.lower(), "first": {}, "last": {}, "latency": {}, **lists, "settings": {}, **more}


def _kind(what: str, mixed: bool) -> str:
    return f"{'read_mix ' if mixed else ''}{'io' if what.lower() == 'io' else 'entries'}"


def read_text(lines: Sequence[str]) -> tuple[list[Fields], Notes]:
    """The phases of the text results."""
    phases: list[Fields] = []
    rest: list[tuple[int, str]] = []
    damaged: list[tuple[int, str]] = []
    time = None
    for place, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line.rstrip())
        if date := _DATE.match(line):
            time = date["time"]
        elif match and phases and _is_damaged(match):
            damaged.append((place, line))
        elif match and match["operation"] and not _ORDINARY.match(line):
            phases.append(_phase(match["operation"], started=time, line=place))
            _of_line(match, phases[-1])
        elif not (match and phases and _of_line(match, phases[-1])) and line.strip() and not _ORDINARY.match(line):
            rest.append((place, line))
    return phases, Notes([*left_out(damaged, "warning"), *left_out(rest)])


def _is_damaged(match: re.Match[str]) -> bool:
    """Whether a line has other cells than the program prints under its label: blanks between digits make more."""
    label, inside = match["label"].strip(), _LIST.fullmatch(match["rest"].strip())
    if label.endswith("% us"):
        return not (inside and _STEPS.fullmatch(inside["inside"]))
    return not match["operation"] and label.lower() in _DATA["text"] and not _PAIR.fullmatch(match["rest"])


def _of_line(match: re.Match[str], phase: Fields) -> bool:
    """Adds what a line says of its phase."""
    label, inside = match["label"].strip(), _LIST.fullmatch(match["rest"].strip())
    if inside:
        return _of_list(label, inside["inside"], phase)
    if (pair := _PAIR.fullmatch(match["rest"])) is None:
        return False
    column = _DATA["text"].get(label.lower())
    if column is None and (entries := _ENTRIES.fullmatch(label)):
        if entries["side"] == "total" and entries["rate"]:
            return True
        column = f"{'read_mix_' if entries['side'] == 'read' else ''}entries{'_per_s' if entries['rate'] else ''}"
    if column is None:
        return label.endswith(" total")
    for done in ("first", "last"):
        cell = pair[done]
        phase[done][column] = scaled(_ms(cell), 1e-3) if column == "elapsed_s" else number(cell)
    return True


def _of_list(label: str, inside: str, phase: Fields) -> bool:
    """Adds latencies, percentiles or a histogram."""
    if (match := _OF.fullmatch(label)) is None:
        return label in {"Time ms each", "Svc compl. time"}
    of = _kind(match["what"], match["side"] == "rd")
    if label.endswith("latency"):
        sides = dict(part.partition("=")[::2] for part in inside.split())
        phase["latency"][of] = {_SIDES[side]: _ms(cell) for side, cell in sides.items() if side in _SIDES}
    elif label.endswith("% us"):
        steps = [part.partition("%<=")[::2] for part in inside.split()]
        rows = ((number(p), scaled(number(us), 1e-3)) for p, us in steps)
        phase["percentiles"] += [{"of": of, "percentile": p, "at_most_ms": ms} for p, ms in rows]
    else:
        bins = [part.partition(":")[::2] for part in inside.split(",")]
        counts = ((scaled(number(us.strip()), 1e-3), whole(n)) for us, n in bins)
        phase["histogram"] += [{"of": of, "to_ms": ms, "count": n} for ms, n in counts]
    return True


def read_csv(lines: Sequence[str]) -> tuple[list[Fields], Notes]:
    """The phases of the CSV results; releases have columns more or less, and a file may have titles again."""
    phases: list[Fields] = []
    notes = Notes()
    titles: list[str] = []
    for place, line in enumerate(lines, 1):
        cells = cells_of(line)
        if "operation" in cells and "label" in cells:
            titles = cells
        elif titles and line.strip() and len(cells) != len(titles):
            notes.warn(f"{len(cells)} cells where the titles are {len(titles)}: left out", place)
        elif titles and line.strip():
            row = dict(zip(titles, cells, strict=True))
            started = row.get("ISO date") or None
            phase = _phase(row["operation"], started=started, line=place, release=row.get("version"))
            phase["settings"] = {name.lower(): cell for name, cell in row.items() if cell}
            for title, cell in row.items():
                _of_cell(title, number(cell), phase)
            phases.append(phase)
    return phases, notes


def _of_cell(title: str, value: float | None, phase: Fields) -> None:
    """Adds the figure that a column of the CSV holds."""
    name, _, done = title.removesuffix("]").rpartition(" [")
    if (latency := _CSV_LATENCY.fullmatch(title)) and value is not None:
        of = _kind(latency["what"], bool(latency["mix"]))
        phase["latency"].setdefault(of, {})[_SIDES[latency["side"]]] = scaled(value, 1e-3)
    elif done in {"first", "last"} and name.lower() in _DATA["csv"]:
        phase[done][_DATA["csv"][name.lower()]] = value


def read_json(text: str) -> tuple[list[Fields], Notes]:
    """The phases of the JSON results."""
    phases, notes = [], Notes()
    for line, one in each_object(text, notes):
        if not isinstance(one.get("phase_type"), str):
            notes.warn("an object without a phase: left out", line)
            continue
        config = mapping(one.get("config"))
        phase = _phase(one["phase_type"], started=one.get("iso_start_date"), line=line, release=config.get("version"))
        phase["settings"] = {
            name.replace("_", " "): cell if isinstance(cell, (str, int)) else str(cell)
            for name, cell in {**config, "label": str(one.get("label") or "")}.items()
            if cell
        }
        for done in ("first", "last"):
            found = mapping(one.get(f"{done}_done"))
            for prefix, part in (("", found), ("read_mix_", mapping(found.get("rwmix_read")))):
                phase[done] |= {
                    prefix + column: number(part[name]) for name, column in _DATA["json"].items() if name in part
                }
            if done == "last":
                _of_latency(mapping(found.get("latency")), phase)
        phases.append(phase)
    return phases, notes


def _of_latency(latency: Fields, phase: Fields) -> None:
    """Adds what the JSON says of latencies: of I/Os and entries, and of the reads in a mix."""
    for what in ("IO", "entries"):
        both = mapping(latency.get(what))
        for mixed, part in ((False, both), (True, mapping(both.get("rwmix_read")))):
            of = _kind(what, mixed)
            sides = {name: scaled(number(part.get(f"{side}_us")), 1e-3) for side, name in _SIDES.items()}
            if known(sides):
                phase["latency"][of] = sides
        bins = mapping(both.get("histogram")) or mapping(latency.get(f"{what}.histogram"))
        steps = {us: whole(count) for us, count in bins.items() if number(us) is not None}
        whose = {"of": _kind(what, False)}
        phase["histogram"] += [{**whose, "to_ms": scaled(number(us), 1e-3), "count": n} for us, n in steps.items()]


def _times(texts: Sequence[str], order: DateOrder | None) -> tuple[dict[str, Stamp | None], list[Note]]:
    """The time of each text, and notes on the order of dates: elbencho writes ISO 8601, spreadsheets do not."""
    orders, notes = orders_of(texts, order)
    return {text: read_date(text, orders[text]) if text in orders else stamp(text) for text in texts}, notes


def read_live(lines: Sequence[str], order: DateOrder | None) -> tuple[list[Fields], Notes]:
    """The lines of `--livecsv`."""
    titles = [cell.lower() for cell in cells_of(lines[0])]
    times, order_notes = _times([(cells_of(line) or [""])[0] for line in lines[1:]], order)
    notes = Notes(order_notes)
    rows = []
    for place, line in enumerate(lines[1:], 2):
        cells = cells_of(line)
        if not line.strip() or [cell.lower() for cell in cells] == titles:
            continue
        row = dict(zip(titles, cells, strict=False))
        time = times[cells[0]]
        if len(cells) != len(titles) or time is None:
            notes.warn("a line that is cut or damaged: left out", place)
            continue
        named = {"label": "label", "operation": "phase", "rank": "rank", "mix": "mixtype", "service": "service"}
        text = {name: row.get(title) or None for name, title in named.items()}
        figures = {column: number(row[title]) for title, column in _DATA["live"].items() if title in row}
        rows.append({"time": time.time, **text, "elapsed_s": scaled(number(row.get("runtimems")), 1e-3), **figures})
    return rows, notes


def _converted(row: Fields) -> Fields:
    """A row with MiB and seconds, whatever its form has."""
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


def run_of(phase: Fields) -> Run:
    """The end of a phase as the common table has it."""
    last = _converted(phase["last"])
    figures = [
        Figure(one["metric"], last.get(one["column"]), one["unit"], BETTER[one["better"]]) for one in _DATA["figure"]
    ]
    for of, sides in phase["latency"].items():
        prefix = {"io": "latency", "entries": "entry_latency"}.get(of, f"{of.replace(' ', '_')}_latency")
        figures += [lower(f"{prefix}_{side[:-3]}", value, "ms") for side, value in sides.items()]
    settings = {name.lower(): cell for name, cell in phase["settings"].items()}
    shown = [f"{name} {settings[name]}" for name in _SETTINGS if settings.get(name)]
    return Run(phase["operation"], ", ".join(shown), tuple(figures))


def _tables(phases: Sequence[Fields], notes: Notes, order: DateOrder | None) -> dict[str, tuple[list[Fields], Schema]]:
    rows: list[Fields] = []
    details: dict[str, list[Fields]] = {"latencies": [], "percentiles": [], "histogram": []}
    times, order_notes = _times([phase["started"] for phase in phases if phase.get("started")], order)
    notes += order_notes
    for place, phase in enumerate(phases, 1):
        time = times[phase["started"]] if phase.get("started") else None
        if phase.get("started") and time is None:
            notes.warn(f"phase {place} without a readable time: {phase['started']!r}")
        if time and time.assumed and time.assumed not in {note.message for note in notes}:
            notes.say(time.assumed)
        whose = {"phase": place, "operation": phase["operation"]}
        shared = {**whose, "label": phase["settings"].get("label"), "started": time.time if time else None}
        rows += [{**shared, "done": done, **_converted(phase[done])} for done in ("first", "last") if phase[done]]
        details["latencies"] += [{**whose, "of": of, **sides} for of, sides in phase["latency"].items()]
        for name in ("percentiles", "histogram"):
            details[name] += [{**whose, **row} for row in phase[name]]
    there = dict.fromkeys([*_FIGURES, *(name for row in rows for name in row if name.startswith("read_mix"))])
    dated = _STARTED if rows and all(row["started"] for row in rows) else {}
    columns = {**_PHASES, **dated, **dict.fromkeys(there, _LATENCIES["min_ms"])}
    kinds = {"latencies": _LATENCIES, "percentiles": _PERCENTILES, "histogram": _HISTOGRAM}
    return {"phases": (rows, columns), **{name: (details[name], kinds[name]) for name in kinds}}


def read(source: Source, date_order: DateOrder | None = None) -> Recording:
    """Reads one file of results, of one run or many; `date_order` is of dates that a spreadsheet rewrote."""
    text = source.text().without_cut_line()
    lines = text.lines()
    live: list[Fields] = []
    phases: list[Fields] = []
    if text.text.lstrip().startswith("{"):
        phases, notes = read_json(text.text)
    elif lines[0].lower().startswith("iso date,label,phase,"):
        live, notes = read_live(lines, date_order)
    elif "," in lines[0] and not any(map(_TITLES.match, lines)):
        phases, notes = read_csv(lines)
    else:
        phases, notes = read_text(lines)
    notes[:0] = text.notes
    details = _tables(phases, notes, date_order)
    details["live"] = live, {**_LIVE, **dict.fromkeys(_DATA["live"].values(), _LATENCIES["min_ms"])}
    times = [row["time"] for row in live]
    facts = {"start": min(times, default=None), "end": max(times, default=None), "samples": len(phases) or len(live)}
    return recording(source, FORMAT, "elbencho", list(map(run_of, phases)), details, facts | whose(phases), notes)
