"""The forms of netperf's omni tests: CSV (`-o`), text in columns (`-O`) and key=value (`-k`).

A result maps printed names to texts; `figures` selects the ones for the common table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from esxparse.formats.benchmarks.table import BETTER, Figure, higher, listing
from esxparse.formats.kit.numbers import number
from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.tables import data
from esxparse.formats.kit.text import cells_of

_UNITS_FIELDS = ("THROUGHPUT_UNITS", "Throughput Units")
_DEMAND_FIELDS = ("SD_UNITS", "Service Demand Units")
_FIELDS, _LINES = data(__file__), kinds(__file__)
_FACTORS = {"10^3bits": 1e-3, "10^6bits": 1.0, "10^9bits": 1e3, "bits": 1e-6}
_FACTORS |= {f"{prefix}Bytes": 2**power * 8 / 1e6 for prefix, power in (("", 0), ("K", 10), ("M", 20), ("G", 30))}


def unit_of(text: str) -> tuple[float, str] | None:
    """Return factor and unit of a throughput, if the printed unit (or titles) show them: Mbit/s or transactions/s."""
    if not (match := _LINES["unit"].search(text)):
        return None
    return (1.0, "transactions/s") if match["trans"] else (_FACTORS[match["size"]], "Mbit/s")


def is_key_value(lines: Sequence[str]) -> bool:
    """Return whether there are key=value lines that only netperf prints."""
    keys = sum(bool(_LINES["own_key"].match(line)) for line in lines)
    rate = any(re.match(r"THROUGHPUT=-?[\d.]", line) for line in lines)
    return any(_LINES["interim"].match(line) for line in lines) or (keys > 0 and (rate or keys > 1))


def is_csv(lines: Sequence[str]) -> bool:
    """Return whether the first line is omni's CSV titles."""
    return bool(lines) and is_csv_titles(lines[0])


def separator_of(titles: str) -> str:
    """Return the separator of the cells: a comma, or the separator of a spreadsheet that saved the file."""
    return max(",;\t", key=titles.count)


def is_csv_titles(line: str) -> bool:
    """Return whether a line is (the beginning of) omni's CSV titles: several of its labels, and nothing else."""
    if len(line) > _MOST_TITLES * _LONGEST_TITLE:
        return False
    separator = separator_of(line)
    cells = [cell.strip() for cell in line.strip().strip(separator).split(separator)]
    known = sum(bool(_LINES["label"].search(cell)) for cell in cells)
    return (
        len(cells) > 1
        and known * 2 >= len(cells)
        and all(cell and number(cell) is None and len(cell) < _LONGEST_TITLE for cell in cells)
        and any(cell.startswith(("Throughput", "Elapsed Time", "Local", "Minimum Latency", "50th")) for cell in cells)
    )


def key_value(line: str) -> tuple[str, str] | None:
    """Return key and value of a line `KEY=value`."""
    match = _LINES["key"].match(line.strip())
    return (match["key"], match["value"].strip().strip('"')) if match else None


_MOST_TITLES = 500
"""omni prints at most a third of that."""

_LONGEST_TITLE = 80

_LONGEST_RESULT = 20_000


def read_csv(block: Sequence[str]) -> tuple[list[dict[str, str]], list[str]]:
    """Return the results of a CSV block (titles, then one line per result), and the lines that fit no titles.

    Mail programs wrap lines. Lines are joined until there are as many cells as titles, and the last cell is whole.
    """
    titles: list[str] = []
    results: list[dict[str, str]] = []
    left: list[str] = []
    pending = ""
    separator = separator_of(block[0])
    for line in block:
        cells = cells_of(line, separator)
        has_number = any(number(cell) is not None for cell in cells)
        if not has_number and not pending and (not results or is_csv_titles(line)):
            wrapped = titles and not results and len(titles) < _MOST_TITLES
            titles = cells_of(f"{separator.join(titles)} {line.strip()}", separator) if wrapped else cells
            continue
        pending = f"{pending} {line.strip()}".strip()
        values = cells_of(pending, separator)
        if len(values) == len(titles):
            results.append(dict(zip(titles, values, strict=True)))
            pending = ""
        elif len(values) > len(titles) or len(pending) > _LONGEST_RESULT:
            left.append(line)
            pending = ""
    return results, [*left, *([pending] if pending else [])]


def read_columns(titles: Sequence[str], values: str) -> dict[str, str]:
    """Return a result in columns: titles of several lines are above their values, and begin in the same column."""
    starts = [match.start() for match in re.finditer(r"\S+", values)]
    ends = [*starts[1:], None]
    names = [
        " ".join(part for line in titles if (part := line[begin:end].strip()))
        for begin, end in zip(starts, ends, strict=True)
    ]
    return dict(zip(names, values.split(), strict=True))


def _first(fields: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((fields[name] for name in names if name in fields), None)


def figures(fields: Mapping[str, str], unit: tuple[float, str]) -> list[Figure]:
    """Return the figures of a result for the common table; `unit` is the default."""
    factor, name = unit_of(_first(fields, _UNITS_FIELDS) or "") or unit
    found = []
    for metric, titles in {"throughput": ("THROUGHPUT", "Throughput"), **_FIELDS["throughputs"]}.items():
        if (value := number(_first(fields, titles))) is not None:
            found.append(higher(metric, value * factor, name))
    for metric, (*names, printed, better) in _FIELDS["figures"].items():
        value = number(_first(fields, names))
        # -1 means not measured.
        if value is not None and value >= 0:
            demand = _first(fields, _DEMAND_FIELDS) if metric.startswith("service_demand") else None
            found.append(Figure(metric, value, demand or printed, BETTER[better]))
    return found


def configuration(fields: Mapping[str, str]) -> str:
    """Return the settings of a result, as text."""
    settings = {name: _first(fields, names) for name, names in _FIELDS["configuration"].items()}
    return listing(*(f"{name} {value}" for name, value in settings.items() if value))
