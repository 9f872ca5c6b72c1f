"""HCIBench (1.6 to 2.8): the results of a case (`*-res.txt`), and the directories of cases and tests.

A case is a directory with a file per VM (`*.json` of fio, `*.txt` of vdbench), `resource_usage.info`, and the vSAN
observer's data in `iotest-fio-8vm/jsonstats`; beside it is `CASE-res.txt`. A test is a directory of cases.

Source: parseFioResult.rb, parseVdbResult.rb, io-test.rb, getCpuUsage.rb of HCIBench 2.x. Assumption: other topics of
the observer have the form of `pcpu`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from esxparse.errors import DamagedError, EsxparseError
from esxparse.formats import fio, vdbench
from esxparse.formats.benchmarks.table import BETTER, Fields, Figure, Run, listing, nothing
from esxparse.formats.benchmarks.table import tables as common
from esxparse.formats.kit.notes import Notes, excerpt, left_out
from esxparse.formats.kit.numbers import number
from esxparse.formats.kit.objects import listed, mapping
from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.tables import data, schemas
from esxparse.formats.source import Source, resolve
from esxparse.recording import Note, Recording, counted

FORMAT = "hcibench"

_FIGURES = data(__file__)["figures"]
_SCHEMAS, _LINES = schemas(__file__), kinds(__file__)
_FILES = 2_000
_APART = 0.02
_LISTED = 5


def read_result(lines: Sequence[str], case: str | None) -> tuple[list[Run], list[Fields], Notes]:
    """Return the results, the used resources and notes from a `*-res.txt`."""
    runs: list[Fields] = []
    resources: list[Fields] = []
    rest, notes = [], Notes()
    facts: Fields = {}
    titles: list[str] = []
    for place, line in enumerate(lines, 1):
        text = line.strip()
        match = _LINES["line"].fullmatch(text)
        name, value = (match["name"].strip(), match["value"]) if match else ("", "")
        if text.startswith("|"):
            titles, found = _table_row(text, titles)
            resources += [{**one, "case": case, "datastore": facts.get("Datastore")} for one in found]
        elif name in {"Datastore", "Version", "VMs", "Number of VMs"}:
            facts["VMs" if name.endswith("VMs") else name] = value
        elif name in {"Run Def", "JOB_NAME"}:
            facts["test"] = value.removeprefix("RD=") if name == "Run Def" else value
            runs.append({"facts": {**facts}, "figures": {}})
        elif name in _FIGURES and (runs or facts):
            runs = runs or [{"facts": {**facts}, "figures": {}}]
            runs[-1]["facts"] |= facts
            number_of = _LINES["value"].fullmatch(value.strip())
            runs[-1]["figures"][name] = number(number_of["number"]) if number_of else None
            if number_of is None:
                notes.warn(f"{name} is {excerpt(value)!r}, no number: left out", place)
        elif name.upper().endswith("USAGE"):
            found = [
                {"cluster": (one["cluster"] or "").strip() or None, "resource": name, "pct": number(one["pct"])}
                for part in value.split(";")
                if (one := _LINES["usage"].match(part.strip()))
            ]
            resources += [{**one, "case": case, "datastore": facts.get("Datastore")} for one in found]
        elif text.startswith(("Testing is done", "There are ")):
            notes.warn(excerpt(text), place)
        elif text and not _LINES["ordinary"].match(text):
            rest.append((place, line))
    return [_run(one, case) for one in runs], resources, Notes([*notes, *left_out(rest)])


def _table_row(text: str, titles: list[str]) -> tuple[list[str], list[Fields]]:
    """Return a row of a table drawn with bars: its titles, and the shares below them."""
    cells = [cell.strip() for cell in text.strip("|").split("|")]
    shares = [number(cell.removesuffix("%").strip()) for cell in cells[1:]]
    if not titles or all(share is None for share in shares):
        return cells, []
    resources = zip(titles[1:], shares, strict=False)
    return titles, [{"cluster": cells[0], "resource": name, "pct": pct} for name, pct in resources if pct is not None]


def _run(found: Fields, case: str | None) -> Run:
    facts = found["facts"]
    test, _, rest = str(facts.get("test") or "unknown").removesuffix("; For loops: None").partition("; ")
    measures = ((*_FIGURES[name], value) for name, value in found["figures"].items())
    figures = (Figure(metric, value, unit, BETTER[better]) for metric, unit, better, value in measures)
    vms = f"{facts['VMs']} VMs" if facts.get("VMs") else ""
    settings = listing(rest, vms, facts.get("Datastore"), facts.get("Version"))
    return Run(f"{case}: {test}" if case else test, settings, tuple(figures))


def read(source: Source) -> Recording:
    """Read one `*-res.txt`."""
    text = source.text().without_cut_line()
    runs, resources, notes = read_result(text.lines(), None)
    if not (runs or resources):
        raise nothing([*text.notes, *notes], "HCIBench")
    found = common("hcibench", runs, {"resources": (resources, _SCHEMAS["resources"])})
    return Recording(FORMAT, source.name, found, {"samples": len(runs)}, (*text.notes, *notes))


def _is_case(path: Path) -> bool:
    """Return whether a directory is of one case."""
    try:
        names = [one.name for one in path.iterdir()]
    except OSError:
        return False
    return any(_LINES["case"].fullmatch(name) for name in names) or "hcibench.cfg" in names


def recognise_directory(path: Path) -> bool:
    """Return whether a directory is a case of HCIBench, or a test with cases in it."""
    try:
        inside = [one for one in path.iterdir() if one.is_dir()]
    except OSError:
        return False
    return _is_case(path) or any(_is_case(one) for one in inside)


def read_directory(path: Path) -> Recording:
    """Read a case, or all cases of a test."""
    cases = [path] if _is_case(path) else sorted(one for one in path.iterdir() if one.is_dir() and _is_case(one))
    runs: list[Run] = []
    resources: list[Fields] = []
    vms: list[Fields] = []
    frames: dict[str, list[pl.LazyFrame]] = {}
    notes = Notes()
    for case in cases:
        result = case.with_name(f"{case.name}-res.txt")
        if result.is_file():
            text = resolve(result).text().without_cut_line()
            found, used, case_notes = read_result(text.lines(), case.name)
            runs, resources = [*runs, *found], [*resources, *used]
            notes += [replace(note, message=f"{result.name}: {note.message}") for note in (*text.notes, *case_notes)]
        else:
            notes.warn(f"{case.name} has no {result.name} beside it: its sums are not there")
            found = []
        resources += _usage(case, notes) if not any(row["case"] == case.name for row in resources) else []
        each = list(_vms(case, frames, notes))
        vms += each
        notes += _compared(case.name, found, each)
        if observed := _observer(case, notes):
            frames.setdefault("observer", []).append(
                pl.DataFrame(observed, schema=_SCHEMAS["observer"], orient="row").lazy()
            )
    details = {"resources": (resources, _SCHEMAS["resources"]), "vms": (vms, _SCHEMAS["vms"])}
    together = {name: pl.concat(each, how="diagonal_relaxed") for name, each in frames.items()}
    tables = {**common("hcibench", runs, details), **together}
    if not tables:
        raise DamagedError(f"{path}: no result of HCIBench in it: let the test finish")
    names = {"cases": tuple(case.name for case in cases), "vms": tuple(sorted({row["vm"] for row in vms}))}
    return Recording(FORMAT, str(path), tables, {**names, "samples": len(runs)}, tuple(notes))


def _usage(case: Path, notes: Notes) -> list[Fields]:
    """Return the contents of `resource_usage.info`."""
    info = case / "resource_usage.info"
    document = mapping(_loaded(info, notes)) if info.is_file() else {}
    return [
        {"case": case.name, "datastore": None, "cluster": cluster, "resource": name, "pct": number(value)}
        for cluster, used in document.items()
        for name, value in mapping(used).items()
    ]


def _loaded(path: Path, notes: Notes) -> Any:
    try:
        return json.loads(resolve(path).text().text)
    except (ValueError, RecursionError):
        notes.warn(f"{path.name} of {path.parent.name} is no whole JSON: left out")
    except EsxparseError as error:
        notes.warn(f"{path.name}: {error}")
    return None


def _vms(case: Path, frames: dict[str, list[pl.LazyFrame]], notes: Notes) -> Iterator[Fields]:
    """Yield the results of each VM of a case, and add its tables to `frames`."""
    other = []
    for file in sorted(case.iterdir())[:_FILES]:
        if file.suffix not in {".json", ".txt"} or not file.is_file():
            continue
        try:
            source = resolve(file)
            reader = next((one for one in (fio, vdbench) if one.recognise(source.head)), None)
            rec = reader.read(source) if reader else None
        except EsxparseError as error:
            notes.warn(f"{file.name}: {error}")
            continue
        if rec is None:
            other.append(file.name)
            continue
        whose = {"case": pl.lit(case.name), "vm": pl.lit(file.stem)}
        for name, frame in rec.tables.items():
            if name != "benchmark_results":
                frames.setdefault(name, []).append(
                    frame.with_columns(**whose).select("case", "vm", pl.exclude("case", "vm"))
                )
        notes += [replace(note, message=f"{file.name}: {note.message}") for note in rec.notes]
        shared = {"case": case.name, "vm": file.stem, "tool": rec.format}
        yield from ({**shared, **row} for row in (_of_fio(rec) if rec.format == "fio" else _of_vdbench(rec)))
    if other:
        notes.say(f"not read in {case.name}: {', '.join(other[:_LISTED])}{' ...' if len(other) > _LISTED else ''}")


def _of_fio(rec: Recording) -> Iterator[Fields]:
    """Yield the jobs of the last document: fio prints one at each interval, and at the end."""
    if "jobs" not in rec:
        return
    jobs = rec["jobs"].filter(pl.col("document") == pl.col("document").max(), pl.col("direction") != "sync").collect()
    for (_, job), rows in jobs.group_by("group", "job", maintain_order=True):
        latency = {row["direction"]: row["latency_mean_ms"] for row in rows.iter_rows(named=True) if row["ios"]}
        done = rows.filter(pl.col("ios") > 0, pl.col("latency_mean_ms").is_not_null())
        weights = done.select(weighted=pl.col("ios") * pl.col("latency_mean_ms"), ios=pl.col("ios")).sum()
        mean = weights["weighted"].item() / weights["ios"].item() if done.height else None
        yield {
            "test": job,
            "iops": rows["iops"].sum(),
            "mib_per_s": rows["bandwidth_bytes_per_s"].sum() / 2**20,
            "latency_mean_ms": mean,
            "latency_read_ms": latency.get("read"),
            "latency_write_ms": latency.get("write"),
        }


def _of_vdbench(rec: Recording) -> Iterator[Fields]:
    """Yield the averages of runs."""
    if "averages" not in rec:
        return
    names = {"latency_mean_ms": "response_ms"}
    names |= {f"latency_{side}_ms": f"{side}_response_ms" for side in ("read", "write")}
    for row in rec["averages"].filter(statistic="avg", scope="total").collect().iter_rows(named=True):
        rates = {"iops": row.get("iops") or row.get("operations_per_s"), "mib_per_s": row.get("mib_per_s")}
        yield {"test": row["rd"], **rates, **{name: row.get(column) for name, column in names.items()}}


def _compared(case: str, runs: Sequence[Run], vms: Sequence[Fields]) -> Iterator[Note]:
    """Yield a warning if the sum over VMs differs from HCIBench's own figure."""
    stated = sum(one.value or 0 for run in runs for one in run.figures if one.metric == "iops")
    counted_up = sum(row["iops"] or 0 for row in vms)
    if stated and vms and abs(stated - counted_up) > _APART * stated:
        many = counted(len({row["vm"] for row in vms}), "VM")
        message = f"{case}: HCIBench says {stated:,.0f} IOPS, the files of {many} add up to {counted_up:,.0f}"
        yield Note(message, severity="warning")


def _observer(case: Path, notes: Notes) -> list[tuple[Any, ...]]:
    """Return the vSAN observer's data as lists of values, without the thumbnails of its charts."""
    rows: list[tuple[Any, ...]] = []
    files = [path for path in sorted(case.glob("iotest-*/jsonstats/*/*.json")) if "thumb" not in path.name]
    if len(files) > _FILES:
        notes.warn(f"{case.name}: {len(files):,} files of the vSAN observer, of which {_FILES:,} are read")
    for path in files[:_FILES]:
        for instance, metrics in mapping(mapping(_loaded(path, notes)).get("stats")).items():
            for metric, series in mapping(metrics).items():
                values = listed(series.get("values")) if isinstance(series, dict) else listed(series)
                whose = (case.name, path.parent.name, path.stem, str(instance), str(metric))
                rows += [
                    (*whose, place, found) for place, one in enumerate(values, 1) if (found := number(one)) is not None
                ]
    return rows
