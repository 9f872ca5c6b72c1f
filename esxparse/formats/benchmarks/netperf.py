r"""netperf 2.x: classic text (TCP_STREAM, TCP_MAERTS, UDP_STREAM, TCP_RR, TCP_CRR ...), omni CSV, text, key=value.

`configuration` holds destination and message sizes. Throughputs are all turned into Mbit/s: from `10^3bits`,
`10^6bits`, `10^9bits`, and `KBytes`, `MBytes`, `GBytes`, which are 2**10, 2**20, 2**30 bytes (netlib.c, calc_thruput).
CPU figures below zero mean "not measured" and are left out. Results without titles (`-P 0`) are told by their
shape: their protocol and unit are not in the file, and netperf's default, 10^6bits/s, is taken.
Source: nettest_bsd.c, nettest_omni.c (titles and formats), hist.h of netperf 2.4 and 2.7; real captures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from esxparse.formats.benchmarks import netperf_omni as omni
from esxparse.formats.benchmarks import netperf_text as text
from esxparse.formats.benchmarks.printed import Report
from esxparse.formats.benchmarks.table import nothing, tables
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.notes import Notes, left_out
from esxparse.formats.kit.numbers import number, whole
from esxparse.formats.source import Source
from esxparse.recording import Recording, counted

FORMAT = "netperf"

_LATER_TITLES = 6
_NOT_MEASURED = -1.0


@dataclass
class Found(Report):
    """What the lines of a file hold, as far as they were read."""

    groups: list[list[int]] = field(default_factory=list)
    """Banners without a result between them, and results below them, of which there should be as many."""
    failed: tuple[int, ...] = ()
    """How many runs of each group had no result; none is known before the lines were gone through once."""
    waiting: list[text.Banner] = field(default_factory=list)
    """Banners whose results are still to come."""
    used: text.Banner | None = None
    unit: tuple[float, str] | None = None
    """The unit in the latest titles, or of the latest command."""
    commands: list[text.Command] = field(default_factory=list)
    """Commands without a result below them."""
    ordered: list[int] = field(default_factory=list)
    """The lines of all commands."""

    def banner(self, family: str | None = None) -> text.Banner:
        """The banner of a result that is there, or what its command says."""
        if not self.waiting and self.commands:
            # Of several commands without a result it is not known whose this is.
            tests = {one.banner.test for one in self.commands}
            places = {one.banner.destination for one in self.commands}
            test, place = (next(iter(some)) if len(some) == 1 else None for some in (tests, places))
            self.waiting = [text.Banner(test, place)] if test else []
        self.commands = []
        if self.groups and not self.groups[-1][1] and len(self.groups) <= len(self.failed):
            # Runs one after another: who has no result was there before those that have one.
            self.without_result(self.failed[len(self.groups) - 1])
        if self.groups:
            self.groups[-1][1] += 1
        self.used = text.take(self.waiting, self.used, family)
        return self.used

    def without_result(self, many: int) -> None:
        """Gives up the oldest banners that wait."""
        for banner in self.waiting[:many]:
            self.remarks.warn(f"{banner.test} has a banner and no result: the run failed, or was cut", banner.line)
        del self.waiting[:many]


def _command(lines: Sequence[str], at: int, found: Found) -> int:
    if (command := text.read_command(lines[at], at + 1)) is None:
        return 0
    found.commands.append(command)
    found.ordered.append(at + 1)
    found.unit, found.used = omni.unit_of(command.unit), None
    return 1


def _banner(lines: Sequence[str], at: int, found: Found) -> int:
    if not (match := text.LINES["banner"].match(lines[at])):
        return 0
    more = lines[at + 1].split() if match["to"] is None and at + 1 < len(lines) else []
    if not found.groups or found.groups[-1][1]:
        found.without_result(len(found.waiting))
        found.groups.append([0, 0])
    found.groups[-1][0] += 1
    destination = match["to"] or (more[0] if more else None)
    found.waiting.append(text.Banner(text.test_name(match["test"]), destination, at + 1))
    found.unit = None
    return 2 if more else 1


def _classic(lines: Sequence[str], at: int, found: Found) -> int:
    if not (shape := text.shape_of(lines[at])):
        return 0
    family, cells = shape
    result = text.read_classic(family, cells, found.banner(family), at + 1, found.unit)
    found.runs.append(result)
    if any((value := number(cell)) is not None and value < 0 and value != _NOT_MEASURED for cell in cells):
        found.remarks.say("a CPU figure below zero means not measured: left out", at + 1)
    following = lines[at + 1] if at + 1 < len(lines) else ""
    below = {"rr": "remote", "udp": "received"}.get(family)
    if below and (match := text.SHAPES[below].match(following)):
        text.read_below(below, result, match.groups(), found.unit)
        return 2
    if below:
        lost = "the other side's sizes" if family == "rr" else "what the other side received"
        found.remarks.warn(f"the second line of this result is missing: {lost}", at + 1)
    return 1


def _alone(lines: Sequence[str], at: int, found: Found) -> int:
    match = text.LINES["alone"].match(lines[at])
    if not match or not (found.waiting or found.commands):
        return 0
    unit = found.commands[-1].unit if found.commands else ""
    if not unit:
        found.remarks.say("a result without a unit (-v 0): the test's default unit is assumed", at + 1)
    fields = {"THROUGHPUT": match[1]} | ({"THROUGHPUT_UNITS": unit} if unit else {})
    found.runs.append(text.read_omni(fields, found.banner(), at + 1))
    return 1


def _csv(lines: Sequence[str], at: int, found: Found) -> int:
    if not omni.is_csv_titles(lines[at]):
        return 0
    end, separator = at, omni.separator_of(lines[at])
    while (
        end < len(lines)
        and lines[end].strip()
        and not text.LINES["banner"].match(lines[end])
        and separator in lines[end]
    ):
        end += 1
    # A last line may be wrapped so that no comma is left on it.
    results, left = omni.read_csv(lines[at:end])
    for fields in results:
        found.runs.append(text.read_omni(fields, found.banner(), at + 1))
    found.kept["unknown"] += [(end, line) for line in left]
    if not results:
        found.remarks.warn("column titles of an omni result without the result", at + 1)
    return end - at


def _key_values(lines: Sequence[str], at: int, found: Found) -> int:
    fields: dict[str, str] = {}
    end = at
    while end < len(lines) and (pair := omni.key_value(lines[end])) and not text.LINES["interim_key"].match(lines[end]):
        if pair[0] in fields:
            break
        fields[pair[0]] = pair[1]
        end += 1
    if fields:
        found.runs.append(text.read_omni(fields, found.banner(), at + 1))
    return end - at


def _interim(lines: Sequence[str], at: int, found: Found) -> int:
    parts: dict[str, str] = {}
    end = at
    while end < len(lines) and (match := text.LINES["interim_key"].match(lines[end])) and match["what"] not in parts:
        parts[match["what"]] = match["value"].strip()
        end += 1
    if parts:
        row = text.read_interim(
            parts.get("INTERIM_RESULT", ""), parts.get("UNITS", ""), parts.get("INTERVAL", ""), parts.get("ENDING")
        )
    else:
        line = text.LINES["interim"].search(lines[at]) or text.LINES["interim_csv"].match(lines[at])
        if not line:
            return 0
        row, end = text.read_interim(line["value"], line["unit"], line["seconds"], line["end"]), at + 1
    if row:
        found.rows["intervals"].append(row)
    else:
        found.kept["unknown"].append((at + 1, lines[at]))
    return end - at


def _histogram(lines: Sequence[str], at: int, found: Found) -> int:
    if bins := text.read_bins(lines[at]):
        if found.runs:
            found.runs[-1].rows["histogram"] += bins
            found.runs[-1].facts["uncounted"] = at + 1
        else:
            found.kept["unknown"].append((at + 1, lines[at]))
        return 1
    if total := text.LINES["bins_total"].match(lines[at]):
        counts = [row["count"] for row in found.runs[-1].rows["histogram"]] if found.runs else []
        if found.runs:
            found.runs[-1].facts["uncounted"] = None
        if counts and sum(counts) != whole(total["count"]):
            found.remarks.warn(
                f"the histogram has {sum(counts):,} of {total['count']}: lines of it are missing", at + 1
            )
        return 1
    return 0


def _columns(lines: Sequence[str], at: int, found: Found) -> int:
    if not found.waiting or not text.LINES["column_titles"].match(lines[at]):
        return 0
    for end in range(at + 1, min(at + _LATER_TITLES, len(lines))):
        first = lines[end].split()[:1]
        if first and (number(first[0]) is not None):
            found.runs.append(text.read_omni(omni.read_columns(lines[at:end], lines[end]), found.banner(), at + 1))
            return end - at + 1
    return 0


def _messages(lines: Sequence[str], at: int, found: Found) -> int:
    line = lines[at]
    if confidence := text.LINES["confidence"].match(line):
        if confidence["what"] == "Throughput":
            message = f"the requested confidence was not reached: throughput is known to {confidence['pct']}"
            found.remarks.warn(message, at + 1)
        return 1
    if text.LINES["titles"].match(line):
        found.unit = omni.unit_of(line) or found.unit
        if text.is_titles(line) and found.used and not found.waiting:
            # Each test prints its banner first: the latest one belongs to another result.
            found.used = None
            found.remarks.warn("column titles without a banner above them: test and destination are unknown", at + 1)
        return 1
    if text.LINES["error"].match(line):
        found.kept["error"].append((at + 1, line))
        if found.waiting:
            # That test prints no result.
            found.waiting.pop()
            found.groups[-1][0] -= 1
        return 1
    return 1 if text.LINES["warning"].match(line) or text.LINES["ordinary"].match(line) else 0


_KINDS: tuple[Callable[[Sequence[str], int, Found], int], ...] = (
    _command,
    _banner,
    _classic,
    _interim,
    _key_values,
    _csv,
    _histogram,
    _messages,
    _columns,
    _alone,
)
"""Each reads what begins at a line, if it is of its kind, and says how many lines that was."""


def split(lines: Sequence[str], failed: tuple[int, ...] | None = None) -> Found:
    """Reads the lines of a file: twice where it has fewer results than banners, to know which runs had none."""
    found = Found(failed=failed or ())
    at = 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        read = next((count for kind in _KINDS if (count := kind(lines, at, found))), 0)
        if not read:
            found.kept["unknown"].append((at + 1, lines[at]))
        at += read or 1
    missing = tuple(max(banners - results, 0) for banners, results in found.groups)
    if failed is None and any(missing):
        return split(lines, missing)
    found.without_result(len(found.waiting))
    if (missing_results := len(found.ordered) - len(found.runs)) > 0:
        many = f"{missing_results} of {counted(len(found.ordered), 'netperf command')}"
        found.remarks.warn(f"{many} have no result: those runs failed, or were cut", found.ordered[0])
    for line in filter(None, (result.facts.get("uncounted") for result in found.runs)):
        found.remarks.warn("the histogram ends before the sum of its counts: lines of it are missing", line)
    if any(result.facts["test"] in {"STREAM", "RR"} and not result.rows["fields"] for result in found.runs):
        found.remarks.say("no banner (-P 0): netperf's default protocol and unit are assumed")
    return found


_MARKS = (
    " test from ", " test to", "recv", "elapsed", "netperf_", "throughput_units=", "_latency=", "local_cpu_util=",
    "elapsed_time=",
)  # fmt: skip
"""Words of which one, whatever its case, stands in every output but CSV and bare numbers."""


def recognise(head: Head) -> bool:
    """By its banner or titles, by omni's names, or (`-P 0`) because every line has the shape of a result."""
    begin = head.text
    first = begin.lstrip().split("\n", 1)[0]
    if not (head.holds(*_MARKS) or omni.is_csv_titles(first) or text.is_part(first) or text.is_command(first)):
        return False
    lines = [line for line in head.lines if line.strip() and not text.is_command(line)] or [first]
    return any(text.LINES["banner"].match(line) or text.is_titles(line) for line in lines) or (
        omni.is_key_value(lines) or omni.is_csv(lines) or text.is_bare([first, *lines])
    )


def read(source: Source) -> Recording:
    """Reads one or many results of netperf, whatever the mix of their forms."""
    content = source.text()
    # Numbers in columns are told by their place: a cut one leaves a mark there. Others leave nothing.
    content = content.without_cut_number("nan" if text.is_in_columns(content.lines()[-1]) else "")
    found = split(content.lines())
    notes = Notes([*content.notes, *found.notes("netperf"), *found.remarks])
    details = found.details(text.SCHEMAS)
    tabled = tables("netperf", [result.measured() for result in found.runs], details)
    if not tabled:
        raise nothing(notes, "netperf")
    if "benchmark_results" not in tabled:
        notes.warn("no result: the run ended early, or failed")
    notes += left_out(found.kept["unknown"])
    return Recording(FORMAT, source.name, tabled, {"samples": len(found.runs)}, tuple(notes))
