"""Reports with a row per interval: summary, totals, logfile, console, of SDs, workloads, hosts, slaves; and skew."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from esxparse.formats.kit.notes import Counted, Notes, excerpt, left_out
from esxparse.formats.vdbench.rows import LINES, SCOPES, Clock, Row, column, labelled, mebi, started, value
from esxparse.recording import counted

_TOKEN = re.compile(r"\S+")
_KINDS = {"slave": "slave", "host": "host", "sd": "sd", "wd": "workload", "fsd": "fsd", "fwd": "fwd"}
_MOST_MESSAGES = 5


@dataclass(frozen=True)
class Columns:
    """The columns below two lines of titles."""

    names: list[str]
    ends: list[int]
    """Where each column ends: numbers are below the ends of titles."""

    @classmethod
    def of(cls, above: str, below: str) -> Columns:
        """Return the columns of two lines of titles; a title of the first line may span several of the second."""
        upper = [match for match in _TOKEN.finditer(above) if match[0].strip(".")]
        lower = list(_TOKEN.finditer(below))
        over = [max(upper, key=lambda one: _overlap(one, match), default=None) for match in lower]
        titles = [
            f"{one[0].strip('.').lower() if one else ''} {match[0]}" for one, match in zip(over, lower, strict=True)
        ]
        return cls([column(title.strip()) for title in titles], [match.end() for match in lower])

    def row(self, cells: list[str]) -> Row | None:
        """Return values in order; None if their count differs, as none is certain to be below its own title."""
        if len(cells) != len(self.names):
            return None
        return {name: value(cell) for name, cell in zip(self.names, cells, strict=True)}

    def sparse(self, text: str, begin: int) -> Row | None:
        """Return values by place: rows of deviations and maxima have few; None if two are below one title."""
        row: Row = {}
        for match in _TOKEN.finditer(text):
            end = begin + match.end()
            nearest = min(range(len(self.ends)), key=lambda at: abs(self.ends[at] - end))
            if self.names[nearest] in row:
                return None
            row[self.names[nearest]] = value(match[0])
        return row


def _overlap(one: re.Match[str], other: re.Match[str]) -> int:
    return min(one.end(), other.end()) - max(one.start(), other.start())


def scope_of(lines: Sequence[str]) -> tuple[str, str | None]:
    """Return the subject of a report, from its title."""
    for line in lines[:10]:
        for scope, pattern in SCOPES.items():
            if match := pattern.search(line):
                # If there are several hosts, an SD has a report for each: host=h1,sd=sd1.
                return scope, ".".join(part.rpartition("=")[2] for part in match["name"].split(","))
    return "total", None


def read_report(lines: Sequence[str], clock: Clock) -> tuple[list[Row], list[Row], Row, Notes]:
    """Return the runs of a report; its rows; the facts it states; notes."""
    whose = dict(zip(("scope", "name"), scope_of(lines), strict=True))
    runs: list[Row] = []
    rows: list[Row] = []
    odd, facts = Counted(), {}
    rest: list[tuple[int, str]] = []
    above: str | None = None
    columns: Columns | None = None
    for place, line in enumerate(lines, 1):
        if above is not None:
            columns, above = (None if "KSTAT" in above else Columns.of(above, line)), None
        elif "nterval" in line and (titles := LINES["titles"].match(line)):
            clock.date(titles["date"] or "")
            above = " " * titles.end() + line[titles.end() :]
        elif begin := LINES["starting"].search(line):
            runs.append(started(begin, clock))
        elif row := LINES["row"].match(line):
            runs = runs or [{"rd": "unknown", "parameters": None, "began": None}]
            at, found = clock.seconds(row), _values(row, columns)
            if found is None:
                odd.skip("a row with other columns than its titles, left out", place)
            else:
                shared = {"run": len(runs), "rd": runs[-1]["rd"], **whose, **_times(at, runs[-1], clock)}
                rows.append(mebi({**found, **shared, **labelled(row["label"])}))
        elif LINES["damaged"].fullmatch(line):
            odd.skip("a row that is cut or damaged, left out", place)
        elif not clock.created(line) and (release := LINES["distribution"].search(line)):
            facts["release"] = release["release"]
        elif line.strip() and not clock.created(line) and not LINES["own"].match(line):
            rest.append((place, line))
    return runs, rows, facts, Notes([*odd.notes("warning"), *_warnings(lines), *left_out(rest)])


def _times(at: float, run: Row, clock: Clock) -> Row:
    """Return the time of a row, and since its run began; store the start time in the run."""
    time, began = clock.moment(at), run["began"]
    run.setdefault("started", None if began is None else clock.moment(began))
    return {"time": time, "elapsed_s": None if began is None else round(at - began, 3)}


def _warnings(lines: Sequence[str]) -> Notes:
    """Return warnings about errors, in vdbench's words."""
    notes = Notes()
    messages = ((place, line) for place, line in enumerate(lines, 1) if LINES["wrong"].search(line))
    wrong = [(place, line) for place, line in messages if not LINES["link"].search(line)]
    for place, line in wrong[:_MOST_MESSAGES]:
        notes.warn(f"vdbench says: {excerpt(line)}", place)
    if len(wrong) > _MOST_MESSAGES:
        notes.warn(f"vdbench printed {counted(len(wrong) - _MOST_MESSAGES, 'more message')}", wrong[_MOST_MESSAGES][0])
    return notes


def _values(row: re.Match[str], columns: Columns | None) -> Row | None:
    if columns is None or not columns.names:
        return None
    if row["label"][:3] in {"std", "max"}:
        return columns.sparse(row["cells"], row.start("cells"))
    return columns.row(row["cells"].split())


def read_skew(lines: Sequence[str]) -> tuple[list[Row], Counted]:
    """Return the rows of skew.html: each slave, host, SD or workload of a run without its warm-up; and odd ones."""
    odd = Counted()
    rows: list[Row] = []
    run, rd, above, kind = 0, None, "", None
    columns: Columns | None = None
    for place, line in enumerate(lines, 1):
        if begin := LINES["starting"].search(line):
            run, rd, columns = run + 1, begin["rd"], None
        elif found := LINES["skew"].match(line):
            text = found["text"]
            title, colon, _ = text.partition(":")
            cells = text.split()
            if colon and above and (of := _KINDS.get(title.strip().lower())):
                kind, columns = of, Columns.of(above, " " * (len(title) + 1) + text[len(title) + 1 :])
            elif columns is not None and len(cells) > 1 and cells[0] != "Total" and value(cells[1]) is not None:
                if len(cells) - 1 != len(columns.names):
                    odd.skip("a row with other columns than its titles, left out", place)
                    continue
                values = dict(zip(columns.names, map(value, cells[1:]), strict=True))
                rows.append({**values, "run": run, "rd": rd, "kind": kind, "name": cells[0]})
            elif not cells:
                columns = None
            above = text
    return rows, odd
