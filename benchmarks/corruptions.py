"""How many kinds of corruption `ex.check` catches, in simulated and in real recordings, and how often it cries wolf.

    make score                                        all of it, into benchmarks/QUALITY.md
    python benchmarks/corruptions.py --hosts 20       fewer healthy hosts, printed only

Each kind is put into every recording here that has what it changes; of the real ones (ESXPARSE_REAL_DATA) nothing is
kept. It is caught where the check finds an expectation at fault that the sound recording meets, or where the file is
refused. Healthy hosts are drawn at random (untidy, no trouble, two to six things that only look like it), by seeds that
nobody looked at while limits were chosen.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from corrupting import KINDS, NotHereError

import esxparse as ex

SEEDS = 740000
HOSTS = 300
CORRUPTED = 4
"""Simulated captures that each kind is put into."""

Faults = set[tuple[str, str]]


def read(path: Path) -> tuple[str, Any, list[list[str]]]:
    """A recording as its format, what changes work on, and what stands between the cells of each row."""
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    if path.suffix != ".csv":
        return ("redfish" if "PowerControl" in text else "fio"), json.loads(text[text.index("{") :]), []
    lines = text.splitlines()
    if '"' not in lines[0]:
        return "esxtop", [line.split(",") for line in lines], []
    # ESXi 6.5 prints some cells without quotes and commas: they are no cells here.
    parts = [re.split(r'"([^"]*)"', line) for line in lines]
    return "esxtop", [one[1::2] for one in parts], [one[::2] for one in parts]


def written(form: str, content: Any, between: list[list[str]], path: Path) -> Path:
    """The recording as a file, what stands between cells as it was where their number is the same."""
    if form != "esxtop":
        path.write_text(json.dumps(content), encoding="utf-8")
        return path
    lines = []
    for place, row in enumerate(content):
        kept = between[min(place, len(between) - 1)] if between else []
        if len(kept) == len(row) + 1:
            cells = [f'{before}"{cell}"' for before, cell in zip(kept, row, strict=False)]
            lines.append("".join([*cells, kept[-1]]))
        else:
            lines.append(",".join(f'"{cell}"' for cell in row) if between else ",".join(row))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="surrogateescape")
    return path


def faults(path: Path) -> Faults:
    """The expectations at fault of a file; one of its own where it is refused."""
    try:
        found = ex.check(ex.open(path))
    except ex.EsxparseError:
        return {("file", "refused")}
    return {(one.table, one.id) for one in (*found.failed, *found.warned)}


def caught(path: Path, folder: Path) -> Iterator[tuple[str, bool]]:
    """For each kind that this recording can have whether it is caught."""
    form, content, between = read(path)
    plain = written(form, content, between, folder / f"plain{path.suffix}")
    sound = faults(plain)
    for name, (formats, changes) in KINDS.items():
        for change in changes if form in formats.split() else ():
            changed = [list(row) for row in content] if form == "esxtop" else json.loads(json.dumps(content))
            with suppress(NotHereError, KeyError, IndexError, TypeError, AttributeError):
                change(changed)
                if changed != content:
                    yield name, bool(faults(written(form, changed, between, folder / f"changed{path.suffix}")) - sound)
    if form == "esxtop":
        rec = ex.open(plain)
        later = {name: rec.meta[name] + timedelta(hours=3) for name in ("start", "end")}
        for meta in ({**rec.meta, "host": "another"}, {**rec.meta, **later}):
            yield list(KINDS)[-1], ex.check([rec, replace(rec, meta=meta)]).status != "pass"


def simulated(folder: Path) -> Iterator[Path]:
    """Simulated recordings: captures of random hosts, and of the bundled ones fio's and a BMC's."""
    for seed in range(SEEDS - CORRUPTED, SEEDS):
        ex.simulate.record(ex.simulate.random_experiment(seed, troubles=[]), folder / str(seed))
        yield next((folder / str(seed)).glob("*.csv"))
    yield from sorted((ex.datasets_dir() / "formats").glob("fio*.json"))[:1]
    yield from sorted((ex.datasets_dir() / "formats").glob("redfish*.json"))


def real() -> list[Path]:
    """Real recordings, all of them."""
    place = os.environ.get("ESXPARSE_REAL_DATA")
    return sorted(path for path in Path(place).rglob("*") if path.is_file()) if place else []


def alarms(paths: Iterator[Path] | Sequence[Path]) -> tuple[int, list[str]]:
    """How many sound recordings were looked at, and those with an expectation at fault."""
    looked, wrong = 0, []
    for path in paths:
        with suppress(ex.EsxparseError):
            found = ex.check(ex.open(path))
            looked += 1
            told = sorted({f"{one.table} {one.id}" for one in (*found.failed, *found.warned)})
            wrong += [f"{path.name}: {', '.join(told)}"] if told else []
    return looked, wrong


def healthy(hosts: int, folder: Path) -> Iterator[Path]:
    for seed in range(SEEDS, SEEDS + hosts):
        ex.simulate.record(ex.simulate.random_experiment(seed, troubles=[]), folder)
        path = next(folder.glob("*.csv"))
        yield path
        for one in folder.iterdir():
            one.unlink()


def table(hosts: int) -> str:
    """The report, in Markdown."""
    score: dict[str, list[list[bool]]] = {name: [[], []] for name in KINDS}
    there = [
        path for path in real() if path.suffix in {".csv", ".json"} and path.parent.name in {"esxtop", "fio", "power"}
    ]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for column, paths in enumerate((list(simulated(folder)), there)):
            for path in paths:
                with suppress(json.JSONDecodeError, ValueError):
                    for name, found in caught(path, folder):
                        score[name][column].append(found)
        (folder / "healthy").mkdir()
        drawn, wrong = alarms(healthy(hosts, folder / "healthy"))
    looked, false = alarms(real())
    lines = ["| corruption | simulated | real |", "|---|---|---|"]
    for name, columns in score.items():
        lines.append(f"| {name} | " + " | ".join(f"{sum(one)} of {len(one)}" if one else "-" for one in columns) + " |")

    def total(column: int) -> str:
        tried = [columns[column] for columns in score.values() if columns[column]]
        return f"{sum(all(one) for one in tried)} of {len(tried)}"

    lines += ["", f"Kinds caught wherever they were put: {total(0)} in simulated recordings, {total(1)} in real ones."]
    lines += [f"False alarms: {len(wrong)} of {drawn} healthy hosts, {len(false)} of {looked} real recordings."]
    return "\n".join([*lines, *(f"* {one}" for one in (*wrong, *false))]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=HOSTS, help=f"healthy hosts (default: {HOSTS})")
    parser.add_argument("--output", type=Path, help="also write it here")
    options = parser.parse_args()
    told = (
        f"# Data quality: what is caught\n\nMade by `make score` (benchmarks/corruptions.py).\n\n{table(options.hosts)}"
    )
    print(told)
    if options.output:
        options.output.write_text(told, encoding="utf-8")


if __name__ == "__main__":
    main()
