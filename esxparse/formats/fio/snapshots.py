"""Snapshots of a run (`--status-interval`, or SIGUSR1): fio printed its growing counts several times.

Each snapshot covers everything since the job began, and looks like a run of its own. Two runs of one job look alike,
too, but differ in their process or start, or a count falls again.

Source: __show_running_run_stats of fio's stat.c.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from esxparse.formats.fio.tables import Document, Row
from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.numbers import exact
from esxparse.recording import Note, counted

Key = tuple[Any, ...]

_GROWING = ("ios", "total_bytes", "runtime_s", "slat_max_ms", "clat_max_ms", "latency_max_ms")
_FALLING = ("slat_min_ms", "clat_min_ms", "latency_min_ms")
_CLEAR = 1.03
"""Factor that times of workers of one job do not reach; a snapshot that close to the next counts as a worker."""
_BURST = 10.0
"""Factor of its mean that a job's rate does not reach."""
_ROUNDED = 0.02
"""Normal output has three or four digits."""
_CARRIED = (
    "end",
    "runtime_s",
    "ios",
    "total_bytes",
    "iops",
    "bandwidth_bytes_per_s",
    "latency_mean_ms",
    "clat_mean_ms",
)
_IDENTITY = ("job_number", "job", "hostname", "group", "direction")


def _numbers(row: Row, names: Iterable[str]) -> dict[str, float]:
    found = ((name, exact(row.get(name))) for name in names)
    return {name: float(value) for name, value in found if value is not None}


def _keyed(document: Document) -> dict[Key, Row]:
    """Return the rows of jobs with activity, by keys that all snapshots share; workers in their order."""
    workers: dict[Key, dict[Any, int]] = {}
    found = {}
    for row in document.rows["jobs"]:
        whose = (row.get("hostname"), str(row.get("job")), str(exact(row.get("group"))))
        worker = workers.setdefault(whose, {}).setdefault(row["job_number"], len(workers[whose]))
        if _numbers(row, ("runtime_s",)).get("runtime_s"):
            found[*whose, worker, row["direction"]] = row
    return found


def _may_follow(before: Row, after: Row, slack: float) -> bool:
    """Return whether a job's first counts may grow into the second ones: none falls, and the rate stays likely."""
    first, second = (_numbers(row, (*_GROWING, *_FALLING)) for row in (before, after))
    both = first.keys() & second.keys()
    if any(second[name] < first[name] * (1 - slack * (name != "runtime_s")) for name in both if name in _GROWING):
        return False
    if any(second[name] > first[name] * (1 + slack) for name in both if name in _FALLING):
        return False
    if not {"total_bytes", "runtime_s"} <= both:
        return True
    moved, took = (second[name] - first[name] for name in ("total_bytes", "runtime_s"))
    mean = second["total_bytes"] / second["runtime_s"]
    return moved <= _BURST * mean * took + slack * second["total_bytes"]


def _same_process(pairs: Sequence[tuple[Row, Row]]) -> bool | None:
    """Return whether process or start identify both rows as one run; None if neither is known."""
    for name in ("start", "pid"):
        known = [(one[name], two[name]) for one, two in pairs if one.get(name) and two.get(name)]
        if known:
            return all(one == two for one, two in known)
    return None


def _unchanged(before: Row, after: Row) -> bool:
    first, second = (_numbers(row, _GROWING) for row in (before, after))
    return first == second


def _by_clock(before: Document, after: Document, pairs: Sequence[tuple[Row, Row]]) -> bool | None:
    """Return whether less time passed between two documents than the second took; None without times."""
    if before.time is None or after.time is None:
        return None
    passed = (after.time - before.time).total_seconds()
    took = [
        (_numbers(one, ("runtime_s",))["runtime_s"], _numbers(two, ("runtime_s",))["runtime_s"]) for one, two in pairs
    ]
    earlier, longest = max(took, key=lambda pair: pair[1])
    # Older releases write whole seconds.
    resolution = 0.0 if before.time.microsecond or after.time.microsecond else 1.0
    return passed - resolution < longest - earlier / 2 or any(_unchanged(one, two) for one, two in pairs)


def continues(before: Document, after: Document, *, known_run: bool = False) -> bool:
    """Return whether a document is a later snapshot of another's run; if cut, it may have fewer jobs.

    `known_run`: whether the other is already a snapshot.
    """
    first, second = _keyed(before), _keyed(after)
    pairs = [(row, second[key]) for key, row in first.items() if key in second]
    if before.output != after.output or not pairs:
        return False
    slack = _ROUNDED if after.output == "normal" else 0.0
    if not all(_may_follow(one, two, slack) for one, two in pairs):
        return False
    evidence = _same_process(pairs)
    evidence = _by_clock(before, after, pairs) if evidence is None else evidence
    return known_run or _clearly_later(before, after, pairs) if evidence is None else evidence


def _clearly_later(before: Document, after: Document, pairs: Sequence[tuple[Row, Row]]) -> bool:
    """Return whether counts alone show a later snapshot: workers of one job have equal disks and nearly equal times."""
    disks = [document.rows["disks"] for document in (before, after)]
    if disks[0] and disks[0] == disks[1] and not all(_unchanged(one, two) for one, two in pairs):
        return False
    times = [[_numbers(row, ("runtime_s", "total_bytes")) for row in pair] for pair in pairs]
    grown = any(
        two["runtime_s"] > _CLEAR * one["runtime_s"] and two.get("total_bytes", 0) > one.get("total_bytes", 0)
        for one, two in times
    )
    return grown or len(_keyed(after)) > len(pairs)


def cycles(parts: Sequence[Document]) -> list[list[Document]]:
    """Return documents of one job each, grouped into snapshots of all jobs or into runs.

    In terse output, only a repeated job shows the beginning of the next snapshot.
    """
    names = [_names(part) for part in parts]
    found: list[list[Document]] = []
    alone: list[Document] = []
    at = 0
    while at < len(parts):
        length = _cycle(parts, names, at)
        if not length:
            if alone and _other_run(alone[-1], parts[at]):
                found.append(alone)
                alone = []
            alone.append(parts[at])
            at += 1
            continue
        found += [alone] if alone else []
        alone = []
        end = at + length
        while end < len(parts) and _repeats(parts, names, end, length):
            end += 1
        found += [list(parts[place : min(place + length, end)]) for place in range(at, end, length)]
        at = end
    return found + ([alone] if alone else [])


def _other_run(before: Document, after: Document) -> bool:
    """Return whether disk counts, which every line has, grew between two lines: a run prints its lines at once."""
    first, second = before.rows["disks"], after.rows["disks"]
    return bool(first and second) and first != second and _names(before) == _names(after)


def _names(part: Document) -> Key:
    row = part.rows["jobs"][0] if part.rows["jobs"] else {}
    return row.get("hostname"), row.get("job"), row.get("group")


def _repeats(parts: Sequence[Document], names: Sequence[Key], at: int, length: int) -> bool:
    """Return whether a part repeats the part one cycle earlier, later; a job that has not begun may follow itself."""
    if names[at] != names[at - length]:
        return False
    before, after = parts[at - length], parts[at]
    first, second = _keyed(before), _keyed(after)
    if not first:
        return True
    return first.keys() <= second.keys() and all(_may_follow(row, second[key], 0.0) for key, row in first.items())


def _cycle(parts: Sequence[Document], names: Sequence[Key], at: int) -> int | None:
    """Return the number of parts after which all jobs repeat with later counts; None if they do not."""
    for length in range(1, (len(parts) - at) // 2 + 1):
        if names[at + length] != names[at]:
            continue
        both = range(at, at + length)
        if all(_repeats(parts, names, place + length, length) for place in both) and any(
            continues(parts[place], parts[place + length]) for place in both
        ):
            return length
    return None


def join_snapshots(documents: Sequence[Document]) -> tuple[list[Document], list[Note]]:
    """Return one document per run, its last complete snapshot, with a table of all; and a note for each such run."""
    runs: list[list[Document]] = []
    for document in documents:
        earlier = next((run for run in reversed(runs) if run[0].output == document.output), None)
        if earlier and continues(earlier[-1], document, known_run=len(earlier) > 1):
            earlier.append(document)
        elif earlier and not document.rows["jobs"]:
            # Cut in its first job.
            earlier[-1].notes += document.notes
        else:
            runs.append([document])
    notes = Notes()
    for run in runs:
        if len(run) > 1:
            notes += _joined(run)
    return [_result(run) for run in runs], list(notes)


def _result(run: Sequence[Document]) -> Document:
    """Return the last snapshot, or the one before it if only that has some of the jobs or numbers."""
    last, before = _keyed(run[-1]), _keyed(run[-2] if len(run) > 1 else run[-1])
    whole = all(
        key in last and last[key].get(name) is not None
        for key, row in before.items()
        for name in (*_GROWING, "usr_cpu_pct")
        if row.get(name) is not None
    )
    return run[-1] if whole else run[-2]


def _joined(run: Sequence[Document]) -> Notes:
    """Fill the table of snapshots of a run's result, and return notes about it."""
    notes = Notes()
    result = _result(run)
    result.rows["snapshots"] = _series(run)
    notes.say(
        f"{counted(len(run), 'snapshot')} of one run (--status-interval): the last complete one is the result, "
        "the table snapshots has all",
        run[0].line,
    )
    if result is not run[-1]:
        notes.warn("the last snapshot is cut: the result is the one before", run[-1].line)
    for document in run:
        if document is not result:
            notes += [note for note in document.notes if note.severity == "warning"]
    return notes


def _series(run: Sequence[Document]) -> list[Row]:
    """Return the rows of all snapshots, and the increase over the snapshot before."""
    result = _keyed(_result(run))
    counts: dict[Key, dict[str, float]] = {}
    rows = []
    for document in run:
        for key, row in _keyed(document).items():
            now = _numbers(row, ("runtime_s", "ios", "total_bytes"))
            before = counts.get(key, dict.fromkeys(now, 0.0))
            added = {name: now[name] - before[name] for name in now if name in before}
            counts[key] = now
            whose = result.get(key, row)
            rows.append(
                {
                    **{name: whose.get(name) for name in _IDENTITY},
                    **{name: row.get(name) for name in _CARRIED},
                    "interval_s": round(added["runtime_s"], 3) if "runtime_s" in added else None,
                    "interval_ios": added.get("ios"),
                    # Other outputs round bytes.
                    "interval_bytes": added.get("total_bytes") if document.output == "json" else None,
                }
            )
    return rows
