r"""vdbench (5.00 to 5.04): an output directory, one of its files, or its console output.

The reader accepts summary.html, totals.html, logfile.html, reports of SDs, workloads, hosts, slaves, FSDs and FWDs
(sd1.html ...), flatfile.html, histograms, skew.html and parmfile.html. A directory is one recording of all of them.
Rows of whole runs are from the flat file, which has more digits, with values that only the summary has.

Clocks are local: the creation line of summary.html shows the zone.
Source: Report.java, Flat.java, Histogram.java of 5.04.06 and published output of 5.04.06 and 5.04.07.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from esxparse.errors import DamagedError, EsxparseError
from esxparse.formats.benchmarks.table import tables as common
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.notes import Notes, reason
from esxparse.formats.kit.tables import known
from esxparse.formats.kit.text import Text
from esxparse.formats.source import Source, resolve
from esxparse.formats.vdbench import parts, reports
from esxparse.formats.vdbench.rows import LINES, SCHEMAS, Clock, Row, columns_of, runs_of, tables
from esxparse.recording import Recording, counted, first_few

FORMAT = "vdbench"

_FIRST = ("summary.html", "flatfile.html")
_LISTED = 10
_LONGEST = 4000
"""Most characters of a line that are read: all lines of vdbench except parameters are shorter."""


@dataclass
class _Found:
    """The collected content of an output's files."""

    runs: list[Row] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    flat: list[Row] = field(default_factory=list)
    skew: list[Row] = field(default_factory=list)
    histogram: list[Row] = field(default_factory=list)
    parameters: list[Row] = field(default_factory=list)
    facts: Row = field(default_factory=dict)


def recognise(head: Head) -> bool:
    """Return whether a head has a vdbench title, a console run, or the titles of a flat file or histogram."""
    if not head.holds("vdbench", "starting rd=", "min(ms)"):
        return False
    shows = any(LINES[kind].search(head.text) for kind in ("console", "flat_file", "histogram"))
    return shows or bool(LINES["title"].match(head.text.lstrip()))


def _gather(text: Text, clock: Clock, found: _Found) -> Notes:
    """Add the content of a file, and return notes on it."""
    lines = text.without_cut_line().lines()
    short = [line[:_LONGEST] for line in lines]
    notes = Notes(text.without_cut_line().notes)
    name = match["file"] if (match := LINES["title"].match(text.text.lstrip())) else ""
    if LINES["flat_file"].search(text.text):
        runs, rows, more = parts.read_flat(short, clock)
        found.flat += rows
        found.runs = found.runs or runs
        return Notes([*notes, *more])
    if LINES["histogram"].search(text.text):
        found.histogram += parts.read_histogram(short)
        return notes
    if name.startswith(("parmfile", "parmscan")):
        found.parameters += parts.read_parameters(lines)
        return notes
    if name.startswith("skew"):
        rows, odd = reports.read_skew(short)
        found.skew += rows
        return Notes([*notes, *odd.notes("warning")])
    runs, rows, facts, more = reports.read_report(short, clock)
    found.runs = runs if len(runs) > len(found.runs) or not any("began" in run for run in found.runs) else found.runs
    found.rows += rows
    found.facts |= facts
    return Notes([*notes, *more])


def _merged(rows: Sequence[Row], flat: Sequence[Row]) -> list[Row]:
    """Return the rows of whole runs once: of the flat file, with values that only the summary has."""

    def key(row: Row) -> tuple[object, ...]:
        return row["run"], row.get("interval"), row.get("statistic"), row.get("first_interval")

    precise = {key(row): row for row in flat}
    wholes = [row for row in rows if row["scope"] == "total"]
    both = [
        {**row, **known(precise.pop(key(row), {}))} if row.get("rd") == precise.get(key(row), row).get("rd") else row
        for row in wholes
    ]
    return [*both, *precise.values(), *(row for row in rows if row["scope"] != "total")]


def _recording(name: str, found: _Found, clock: Clock, notes: Notes) -> Recording:
    rows = _merged(found.rows, found.flat)
    of_rows = tables(rows)
    averages, _ = of_rows["averages"]
    numbered = [{**run, "run": place} for place, run in enumerate(found.runs, 1)]
    dated = all(run.get("started") for run in numbered)
    details = {
        "runs": (numbered, {kept: kind for kept, kind in SCHEMAS["runs"].items() if dated or kept != "started"}),
        **of_rows,
        "skew": (found.skew, columns_of("skew", found.skew)),
        "histogram": (found.histogram, SCHEMAS["histogram"]),
        "parameters": (found.parameters, SCHEMAS["parameters"]),
    }
    if not any(each for table, (each, _) in details.items() if table != "runs"):
        raise DamagedError(f"vdbench's output without a number{reason(notes)}: run it again, and let it finish")
    averaged = {row["run"] for row in averages if row["statistic"] == "avg"}
    if rows and (missing := [run for run in numbered if run["run"] not in averaged]):
        some = f"{len(missing)} of {counted(len(numbered), 'run')}"
        notes.warn(f"{some} without an average: vdbench was stopped, or the file was cut")
    if clock.assumption:
        notes.say(clock.assumption)
    elif not clock.zoned and any(row.get("time") for row in rows):
        notes.say("times without a zone are taken as UTC")
    times = [row["time"] for row in rows if row.get("time")]
    # Measured intervals, of any scope.
    samples = len({(row["run"], row["interval"]) for row in of_rows["intervals"][0]})
    span = {"start": min(times, default=None), "end": max(times, default=None)}
    runs = runs_of(averages, {run["run"]: run["parameters"] for run in numbered})
    meta = known({"release": found.facts.get("release"), **span, "samples": samples})
    return Recording(FORMAT, name, common("vdbench", runs, details), meta, tuple(notes))


def read(source: Source) -> Recording:
    """Read one file of an output, or the console output."""
    clock, found = Clock(), _Found()
    notes = _gather(source.text(), clock, found)
    return _recording(source.name, found, clock, notes)


def _files(folder: Path) -> list[Path]:
    """Return the files of an output, beginning with those that show zone and runs."""
    try:
        paths = [path for path in folder.iterdir() if path.suffix == ".html" and path.is_file()]
    except OSError:
        return []
    order = {name: place for place, name in enumerate(_FIRST)}
    return sorted(paths, key=lambda path: (order.get(path.name, len(order)), path.name))


def recognise_directory(path: Path) -> bool:
    """Return whether a directory is an output of vdbench: it has its summary or its flat file."""
    return any((path / name).is_file() and _is_one(path / name) for name in _FIRST)


def _is_one(path: Path) -> bool:
    try:
        return recognise(resolve(path).head)
    except EsxparseError:
        return False


_REPEATED = ("totals.html", "logfile.html", "parmscan.html")
"""Files that repeat the content of others."""


def read_directory(path: Path) -> Recording:
    """Read the output directory of one call of vdbench."""
    clock, found, notes = Clock(), _Found(), Notes()
    other: list[str] = []
    paths = _files(path)
    names = {one.name for one in paths}
    for one in paths:
        if not _is_one(one):
            other.append(one.name)
            continue
        if "summary.html" in names and one.name in _REPEATED and one.name != "logfile.html":
            continue
        before = len(found.rows)
        part_notes = _gather(resolve(one).text(), clock, found)
        if "summary.html" in names and one.name in _REPEATED:
            # The facts of the log are read, but its rows repeat the summary's.
            del found.rows[before:]
        notes += [replace(note, message=f"{one.name}: {note.message}") for note in part_notes]
    if other:
        notes.say(f"not read: {first_few(other, _LISTED)}")
    return _recording(str(path), found, clock, notes)
