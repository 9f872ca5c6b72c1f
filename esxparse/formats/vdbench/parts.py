"""Histograms of response times, the flat file, and parameter files."""

from __future__ import annotations

import re
from collections.abc import Sequence

from esxparse.formats.kit.notes import Counted, Notes
from esxparse.formats.kit.numbers import whole
from esxparse.formats.power.readings import stamp
from esxparse.formats.vdbench.rows import LINES, Clock, Row, column, labelled, value


def read_histogram(lines: Sequence[str]) -> list[Row]:
    """Return the steps of all histograms of a file; `operation` is read, write or all."""
    rows: list[Row] = []
    run, rd, title, scope, name = 0, None, "", "total", None
    for line in lines:
        if begin := LINES["starting"].search(line):
            run, rd = run + 1, begin["rd"]
        elif step := LINES["bin"].fullmatch(line):
            low = title.lower()
            operations = [word for word in ("read", "write") if word in low]
            operation = operations[0] if len(operations) == 1 else "all"
            row = {"from_ms": value(step["low"]), "to_ms": None if step["high"] == "max" else value(step["high"])}
            row |= {"count": whole(re.sub(r"\D", "", step["count"])), "pct": value(step["share"])}
            shared = {"run": run, "rd": rd, "scope": scope, "name": name, "operation": operation}
            rows.append({**shared, **row, "cumulative_pct": value(step["sum"])})
        elif heading := LINES["histogram_of"].search(line):
            scope, name = heading["kind"].lower().replace("wd", "workload", 1), heading["name"]
            scope = {"fworkload": "fwd"}.get(scope, scope)
        elif line.strip() and "min(ms)" not in line:
            title = line
    return rows


def read_flat(lines: Sequence[str], clock: Clock) -> tuple[list[Row], list[Row], Notes]:
    """Return the runs of a flat file, its rows, and notes."""
    runs: list[Row] = []
    rows: list[Row] = []
    odd = Counted()
    columns: list[str] = []
    files = False
    for place, line in enumerate(lines, 1):
        if LINES["flat_titles"].match(line):
            cells = line.split()
            titles = cells[cells.index("Interval") + 1 :]
            files = "Mkdir_rate" in titles
            columns = [column(title, "flatfile") for title in titles]
            columns = ["operations_per_s" if name == "iops" and files else name for name in columns]
        elif columns and (match := LINES["flat_row"].match(line)):
            cells = match["cells"].split()
            if len(cells) != len(columns):
                odd.say("not as many cells as titles, left out", place)
                continue
            label = labelled(match["label"])
            again = bool(runs) and label.get("interval", 0) == 1 and "interval" in label
            if not runs or runs[-1]["rd"] != match["rd"] or (again and rows):
                runs.append({"rd": match["rd"], "parameters": None, "began": None})
            figures = {name: value(cell) for name, cell in zip(columns, cells, strict=True)}
            if None not in (parts := (figures.get("cpu_user_pct"), figures.get("cpu_system_pct"))):
                # Release 5.04.06 writes the share of users there.
                figures["cpu_pct"] = sum(part for part in parts if part is not None)
            shared = {"run": len(runs), "rd": match["rd"], "scope": "total", "name": None}
            rows.append({**figures, **shared, **label, "time": _moment(match, clock)})
        elif columns and line.strip() and not line.startswith(("*", "<")):
            odd.say("not a row of the flat file, left out", place)
    return runs, rows, Notes(odd.notes("warning"))


def _moment(match: re.Match[str], clock: Clock) -> object:
    """Return the time of a row, by its own date; in its own zone if no other file shows the time in UTC."""
    if not match["date"]:
        return None
    month, day, year = match["date"].split("/")
    text = f"{year}-{month}-{day} {match['hour']}:{match['minute']}:{match['second']}"
    if clock.east is not None:
        found = stamp(f"{text} UTC")
        return found.time - clock.east if found else None
    found = stamp(f"{text} {match['zone']}")
    clock.assumption = found.assumed if found else clock.assumption
    clock.zoned = clock.assumption is None
    return found.time if found else None


def read_parameters(lines: Sequence[str]) -> list[Row]:
    """Return the definitions of a parameter file: kind, name, and the rest of the line, with continuation lines."""
    rows: list[Row] = []
    for place, line in enumerate(lines, 1):
        text = line.strip()
        if match := LINES["parameter"].fullmatch(text):
            row = {"line": place, "kind": match["kind"], "name": match["name"]}
            rows.append({**row, "parameters": match["rest"].strip(", ") or None})
        elif rows and text and text[0] not in "*#/<" and LINES["more_parameters"].fullmatch(text):
            rows[-1]["parameters"] = ",".join(filter(None, (rows[-1]["parameters"], text.strip(", "))))
    return rows
