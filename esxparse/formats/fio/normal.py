"""fio's normal output, for people (2.0 to 3.4x), also as a client prints it for its servers.

A run is: a line for each job (`job: (g=0): rw=...`), the release, progress, then a block for each job that begins
`job: (groupid=0, jobs=1): err= 0: pid=...`, then groups and disks. fio rounds numbers to about 4 digits
(`IOPS=20.6k`, `BW=1289MiB/s`); minima, maxima and counts are whole.
fio 2 writes KB for 1024 bytes, fio 3 KiB for 1024 and kB for 1000. The sampled bandwidth (`bw (KiB/s): min=`) is
in 1024 bytes in both, whatever its label.
Source: show_thread_status_normal, show_ddir_status, show_group_stats, print_disk_util of fio's stat.c, num2str of its
lib, several releases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from esxparse.formats.fio.normal_job import amount_in_bytes, read_job, tells_of_job
from esxparse.formats.fio.options import DIRECTIONS, directions_of, size
from esxparse.formats.fio.tables import ALL_CLIENTS, Document, Line, Row
from esxparse.formats.kit.numbers import scaled
from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.tables import data
from esxparse.recording import Note

RESULT = re.compile(
    r"^[^\S\n]*+(?P<job>\S.*?|): \(groupid=(?P<group>\d+), jobs=(?P<members>\d+)\): err=\s*(?P<error>-?\d+)"
    r"(?:\s*\((?P<why>.*)\))?: pid=(?P<pid>-?\d+)(?:: (?P<time>.*))?$",
    re.MULTILINE,
)
JOB_LINE = re.compile(
    r"^[^\S\n]*+(?P<job>\S.*?|): \(g=(?P<group>\d+)\): rw=(?P<rw>[^,\s]+), (?P<rest>.*)$", re.MULTILINE
)

_LINES = kinds(__file__)
_AMOUNTS, _DISK_COLUMNS = (data(__file__)[section] for section in ("amounts", "disk_columns"))
_WORDS = ("ioengine", "iodepth")


def _requested_options(rest: str) -> tuple[dict[str, int | None], Row]:
    """Return block sizes by direction, and the other options, from the line with which fio announces a job."""
    option = dict(re.findall(rf"\b({'|'.join(_WORDS)})=([^,\s]+)", rest))
    texts = re.findall(r"\(([RWT])\) ([^,\s]+)", rest)
    old = re.search(r"\bbs=([^,(\s]+)", rest)
    ranges = dict(zip("RWT", old[1].split("/"), strict=False)) if old else dict(texts)
    sizes: dict[str, int | None] = {}
    for letter, direction in zip("RWT", DIRECTIONS, strict=True):
        low, _, high = (ranges.get(letter) or ranges.get("W") or "").partition("-")
        # `4K` and `4096B`, `64.0KiB`: all in powers of 1024, rounded to one decimal if not whole.
        sizes[direction] = size(low.replace("i", "")) if low and high in ("", low) else None
    return sizes, {"ioengine": option.get("ioengine"), "iodepth": option.get("iodepth")}


def _is_head(text: str) -> bool:
    return bool(
        RESULT.match(text) or _LINES["group_head"].match(text) or _LINES["disk_head"].match(text) or _starts_run(text)
    )


def _starts_run(text: str) -> bool:
    return bool(JOB_LINE.match(text) or _LINES["release"].match(text))


def _blocks(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield the lines in blocks that begin with a head; lines before the first head are a block too."""
    block: list[Line] = []
    for line in lines:
        if _is_head(line[1]) and block:
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _groups(document: Document, head: re.Match[str], lines: Iterable[Line], hostname: str | None) -> None:
    for _, text, _ in lines:
        line = _LINES["group"].match(text)
        found = line and (_LINES["group_new"].match(line["rest"]) or _LINES["group_old"].match(line["rest"]))
        if line and found:
            new = found.re is _LINES["group_new"]
            direction = "all" if line["direction"] == "MIXED" else line["direction"].lower()
            whose = {"hostname": hostname, "group": head["group"], "direction": direction}
            amounts = {column: amount_in_bytes(found[name], new=new) for column, name in _AMOUNTS.items()}
            times = {"runtime_min_s": scaled(found["shortest"], 1e-3), "runtime_max_s": scaled(found["longest"], 1e-3)}
            document.rows["groups"].append({**whose, **amounts, **times})


def _disks(document: Document, lines: Iterable[Line], hostname: str | None) -> None:
    for _, text, said_by in lines:
        found = _LINES["disk"].match(text)
        for scope in ("", "aggr") if found else ():
            row: Row = {}
            for aggregated, name, first, second in _LINES["disk_field"].findall(found["fields"]) if found else ():
                if aggregated == scope:
                    row |= dict(zip(_DISK_COLUMNS[name], (first, second), strict=False))
            if found and row:
                whose = {"hostname": said_by or hostname, "disk": found["disk"]}
                document.rows["disks"].append({**whose, "scope": "members" if scope else "device", **row})


def _result(document: Document, head: re.Match[str], block: Sequence[Line], host: str | None, place: int) -> list[Row]:
    """Return the rows of the block of one job."""
    line = block[0][0]
    whose: Row = {
        "job_number": place,
        "job": head["job"],
        "hostname": None if head["job"] == ALL_CLIENTS else host,
        "group": head["group"],
        "priority": None,
    }
    rows = read_job(document, whose, block[1:])
    if head["error"] != "0":
        why = f" ({head['why']})" if head["why"] else ""
        document.notes.warn(f"job {head['job']} failed: error {head['error']}{why}", line)
    if not rows:
        document.notes.warn(f"job {head['job']} has no results", line)
        rows = [{"direction": "all"}]
    elif rows[0].get("usr_cpu_pct") is None:
        what = f"job {head['job']} ends before its line on the CPU"
        document.notes.warn(f"{what}: if the output was cut, directions are missing", block[-1][0])
    return [
        {**whose, "output": "normal", "pid": head["pid"], "error": head["error"], "members": head["members"], **row}
        for row in rows
    ]


def _with_options(document: Document, rows: list[Row], askings: Sequence[re.Match[str]]) -> list[Row]:
    """Return the rows with the requested options of their jobs, and the total workers of each job."""
    by_job = {(match["job"], match["group"]): match for match in askings}
    members: dict[Any, int] = {}
    for row in {row["job_number"]: row for row in rows}.values():
        key = (row["hostname"], row["job"], row["group"])
        members[key] = members.get(key, 0) + int(row["members"][:9])
    done, found = set(), []
    for row in rows:
        workers = members[row["hostname"], row["job"], row["group"]]
        match = by_job.get((row["job"], row["group"]))
        extra: Row = {"workers": workers if row["job"] != ALL_CLIENTS else None}
        if match:
            sizes, others = _requested_options(match["rest"])
            used = {sizes[direction] for direction in directions_of(match["rw"])}
            sizes["all"] = used.pop() if len(used) == 1 else None
            extra |= {"rw": match["rw"], "block_size_bytes": sizes.get(row["direction"])}
            extra |= {"ioengine": others["ioengine"], "queue_depth": others["iodepth"]}
            if row["job_number"] not in done:
                whose = {name: row[name] for name in ("job_number", "job", "hostname", "group")}
                bs = re.search(r"\bbs=(.*?), (?:ioengine|iodepth)=", match["rest"])
                options = {"rw": match["rw"], "bs": bs[1] if bs else None, **others}
                rows_of = [{**whose, "option": name, "value": value} for name, value in options.items() if value]
                document.rows["options"] += [row | {"given": "job"} for row in rows_of]
                done.add(row["job_number"])
        found.append({**row, **extra})
    return found


def _without_results(rows: Sequence[Row], askings: Sequence[re.Match[str]], lines: Sequence[int]) -> Iterator[Note]:
    reported = {row["group"] for row in rows} | {(row["job"], row["group"]) for row in rows}
    for match, line in zip(askings, lines, strict=True):
        # With group reporting, the jobs of a group appear under the name of the first.
        if match["group"] not in reported and (match["job"], match["group"]) not in reported:
            yield Note(f"job {match['job']} was started and has no result", line, severity="warning")


def is_part(text: str) -> bool:
    """Return whether a line is part of normal output."""
    return _is_head(text) or tells_of_job(text) or bool(_LINES["group"].match(text) or _LINES["disk"].match(text))


def _snapshots(blocks: Sequence[list[Line]]) -> list[list[list[Line]]]:
    """Return the blocks of a run by snapshot: a repeated process, after the groups' results, begins one."""
    found: list[list[list[Line]]] = [[]]
    seen: set[tuple[str | None, ...]] = set()
    groups = False
    for block in blocks:
        _, text, host = block[0]
        groups = groups or bool(_LINES["group_head"].match(text))
        if match := RESULT.match(text):
            process = (host, match["job"], match["group"], match["pid"])
            if groups and process in seen:
                found.append([])
                seen, groups = set(), False
            seen.add(process)
        found[-1].append(block)
    return found


def _run(lines: Sequence[Line]) -> list[Document]:
    """Return the documents of one run, one for each snapshot."""
    askings: list[tuple[int, re.Match[str]]] = []
    release: str | None = None
    documents = []
    for blocks in _snapshots(list(_blocks(lines))):
        document = Document("normal", blocks[0][0][0])
        rows: list[Row] = []
        place = 0
        for block in blocks:
            line, text, host = block[0]
            if match := JOB_LINE.match(text):
                askings.append((line, match))
            elif match := _LINES["release"].match(text):
                release = f"fio-{match['release'] or match['of_client']}"
            elif match := RESULT.match(text):
                place += 1
                rows += _result(document, match, block, host, place)
            elif match := _LINES["group_head"].match(text):
                _groups(document, match, block[1:], host)
            elif _LINES["disk_head"].match(text):
                _disks(document, block[1:], host)
            document.release = release
        document.rows["jobs"] = _with_options(document, rows, [match for _, match in askings])
        documents.append(document)
    last = documents[-1]
    last.notes += _without_results(last.rows["jobs"], [match for _, match in askings], [line for line, _ in askings])
    return documents


def parse(lines: Sequence[Line]) -> list[Document]:
    """Return the documents of the runs in numbered lines: jobs announced after results begin a new run."""
    runs: list[list[Line]] = [[]]
    results = False
    for line in lines:
        if results and _starts_run(line[1]):
            runs.append([])
            results = False
        results = results or bool(RESULT.match(line[1]))
        runs[-1].append(line)
    documents = [_run(run) for run in runs if any(_is_head(text) for _, text, _ in run)]
    return [
        document
        for found in documents
        for document in found
        if document.rows["jobs"] or document.notes or document.rows["disks"]
    ]
