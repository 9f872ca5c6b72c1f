r"""netperf 2.x: classic text (TCP_STREAM, TCP_MAERTS, UDP_STREAM, TCP_RR, TCP_CRR ...), omni CSV, text, key=value.

`configuration` holds destination and message sizes. Throughputs are converted to Mbit/s from `10^3bits`,
`10^6bits`, `10^9bits`, and `KBytes`, `MBytes`, `GBytes`, which are 2**10, 2**20, 2**30 bytes (netlib.c, calc_thruput).
CPU figures below zero mean "not measured" and are left out. Results without titles (`-P 0`) are recognised by their
shape. Their protocol and unit are not in the file: netperf's default, 10^6bits/s, is assumed.
Source: nettest_bsd.c, nettest_omni.c (titles and formats), hist.h of netperf 2.4 and 2.7; real captures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, takewhile
from re import Match

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
class Banners:
    """The banners, titles and commands above results."""

    failed: tuple[int, ...] = ()
    """Number of runs without a result in each group; empty on the first pass over the lines."""
    groups: list[list[int]] = field(default_factory=list)
    """For each group, the number of banners before a result and of the results below, which should be equal."""
    waiting: list[text.Banner] = field(default_factory=list)
    """Banners that still wait for their results."""
    used: text.Banner | None = None
    unit: tuple[float, str] | None = None
    """The unit in the latest titles, or of the latest command."""
    commands: list[text.Command] = field(default_factory=list)
    """Commands without a result below them."""
    ordered: list[int] = field(default_factory=list)
    """The lines of all commands."""

    def take(self, report: Report, family: str | None = None) -> text.Banner:
        """Return the banner of a present result, or the test of its command."""
        if not self.waiting and self.commands:
            # With several commands without a result, it is unknown which of them has this one.
            tests = {one.banner.test for one in self.commands}
            places = {one.banner.destination for one in self.commands}
            test, place = (next(iter(some)) if len(some) == 1 else None for some in (tests, places))
            self.waiting = [text.Banner(test, place)] if test else []
        self.commands = []
        if self.groups and not self.groups[-1][1] and len(self.groups) <= len(self.failed):
            # Runs one after another: those without a result came first.
            self.give_up(report, self.failed[len(self.groups) - 1])
        if self.groups:
            self.groups[-1][1] += 1
        self.used = text.take(self.waiting, self.used, family)
        return self.used

    def give_up(self, report: Report, many: int) -> None:
        """Give up the oldest waiting banners."""
        for banner in self.waiting[:many]:
            report.remarks.warn(f"{banner.test} has a banner and no result: the run failed, or was cut", banner.line)
        del self.waiting[:many]


def _add_omni(report: Report, fields: Mapping[str, str]) -> None:
    report.runs.append(text.read_omni(fields, report.under.take(report), report.place))


@text.LINES.reads("command")
def _command(report: Report, found: Match[str]) -> None:
    command, banners = text.read_command(found["options"], report.place), report.under
    banners.commands.append(command)
    banners.ordered.append(report.place)
    banners.unit, banners.used = omni.unit_of(command.unit), None


@text.LINES.reads("banner")
def _banner(report: Report, found: Match[str]) -> None:
    banners: Banners = report.under
    if not banners.groups or banners.groups[-1][1]:
        banners.give_up(report, len(banners.waiting))
        banners.groups.append([0, 0])
    banners.groups[-1][0] += 1
    more = next(report.below, "").split() if found["to"] is None else []
    destination = found["to"] or (more[0] if more else None)
    banners.waiting.append(text.Banner(text.test_name(found["test"]), destination, report.place))
    banners.unit = None
    report.place += bool(more)


@text.LINES.reads("result")
def _result(report: Report, _: Match[str]) -> bool:
    """Read a classic result: a line of numbers, or two."""
    if not (shape := text.shape_of(report.line)):
        return False
    (family, cells), unit, place = shape, report.under.unit, report.place
    result = text.read_classic(family, cells, report.under.take(report, family), place, unit)
    report.runs.append(result)
    if any((value := number(cell)) is not None and value < 0 and value != _NOT_MEASURED for cell in cells):
        report.remarks.say("a CPU figure below zero means not measured: left out", place)
    below = {"rr": "remote", "udp": "received"}.get(family)
    if below and (found := text.SHAPES[below].match(next(report.below, ""))):
        text.read_below(below, result, found.groups(), unit)
        report.place += 1
    elif below:
        lost = "the other side's sizes" if family == "rr" else "what the other side received"
        report.remarks.warn(f"the second line of this result is missing: {lost}", place)
    return True


def _add_interim(report: Report, value: str, unit: str, seconds: str, end: str | None) -> None:
    if row := text.read_interim(value, unit, seconds, end):
        report.rows["intervals"].append(row)
    else:
        report.keep("unknown")


@text.LINES.reads("interim", "interim_csv")
def _interim(report: Report, found: Match[str]) -> None:
    _add_interim(report, **found.groupdict())


@text.LINES.reads("interim_key")
def _interim_keys(report: Report, _: Match[str]) -> None:
    """Read an interim result of several lines, one for each key."""
    parts: dict[str, str] = {}
    for line in chain([report.line], report.below):
        if not (found := text.LINES["interim_key"].match(line)) or found["what"] in parts:
            break
        parts[found["what"]] = found["value"].strip()
    value, unit, seconds = (parts.get(name, "") for name in ("INTERIM_RESULT", "UNITS", "INTERVAL"))
    _add_interim(report, value, unit, seconds, parts.get("ENDING"))
    report.place += len(parts) - 1


@text.LINES.reads("key_value")
def _key_values(report: Report, _: Match[str]) -> bool:
    fields: dict[str, str] = {}
    for line in chain([report.line], report.below):
        pair = omni.key_value(line)
        if not pair or pair[0] in fields or text.LINES["interim_key"].match(line):
            break
        fields |= [pair]
    if fields:
        _add_omni(report, fields)
        report.place += len(fields) - 1
    return bool(fields)


@text.LINES.reads("csv_titles")
def _csv(report: Report, _: Match[str]) -> bool:
    if not omni.is_csv_titles(report.line):
        return False
    separator = omni.separator_of(report.line)
    # A wrapped last line may have no comma.
    below = takewhile(lambda line: separator in line and not text.LINES["banner"].match(line), report.below)
    block = [report.line, *below]
    results, left = omni.read_csv(block)
    for fields in results:
        _add_omni(report, fields)
    if not results:
        report.remarks.warn("column titles of an omni result without the result", report.place)
    report.place += len(block) - 1
    report.kept["unknown"] += [(report.place, line) for line in left]
    return True


@text.LINES.reads("bins", "last_bin")
def _bins(report: Report, _: Match[str]) -> bool:
    bins = text.read_bins(report.line)
    if bins and report.runs:
        report.run.rows["histogram"] += bins
        report.run.facts["uncounted"] = report.place
    elif bins:
        report.keep("unknown")
    return bool(bins)


@text.LINES.reads("bins_total")
def _bins_total(report: Report, found: Match[str]) -> None:
    for result in report.runs[-1:]:
        result.facts["uncounted"] = None
        counted_here = sum(row["count"] for row in result.rows["histogram"])
        if result.rows["histogram"] and counted_here != whole(found["count"]):
            message = f"the histogram has {counted_here:,} of {found['count']}: lines of it are missing"
            report.remarks.warn(message, report.place)


@text.LINES.reads("confidence")
def _confidence(report: Report, found: Match[str]) -> None:
    if found["what"] == "Throughput":
        message = f"the requested confidence was not reached: throughput is known to {found['pct']}"
        report.remarks.warn(message, report.place)


@text.LINES.reads("titles")
def _titles(report: Report, _: Match[str]) -> None:
    banners: Banners = report.under
    banners.unit = omni.unit_of(report.line) or banners.unit
    if text.is_titles(report.line) and banners.used and not banners.waiting:
        # Each test prints its banner first: the latest banner belongs to another result.
        banners.used = None
        message = "column titles without a banner above them: test and destination are unknown"
        report.remarks.warn(message, report.place)


@text.LINES.reads("error")
def _error(report: Report, _: Match[str]) -> None:
    report.keep("error")
    if report.under.waiting:
        # The last test prints no result.
        report.under.waiting.pop()
        report.under.groups[-1][0] -= 1


@text.LINES.reads("column_titles")
def _columns(report: Report, _: Match[str]) -> bool:
    """Read a result in columns, below titles of one line or several."""
    for many, line in enumerate(islice(report.below, _LATER_TITLES - 1 if report.under.waiting else 0), 1):
        first = line.split()[:1]
        if first and number(first[0]) is not None:
            titles = report.lines[report.place - 1 : report.place - 1 + many]
            _add_omni(report, omni.read_columns(titles, line))
            report.place += many
            return True
    return False


@text.LINES.reads("alone")
def _alone(report: Report, found: Match[str]) -> bool:
    banners: Banners = report.under
    if not (banners.waiting or banners.commands):
        return False
    unit = banners.commands[-1].unit if banners.commands else ""
    if not unit:
        report.remarks.say("a result without a unit (-v 0): the test's default unit is assumed", report.place)
    _add_omni(report, {"THROUGHPUT": found[1]} | ({"THROUGHPUT_UNITS": unit} if unit else {}))
    return True


def read_report(lines: Sequence[str], failed: tuple[int, ...] | None = None) -> Report:
    """Read the lines of a file, twice if it has fewer results than banners, to find the runs without a result."""
    banners = Banners(failed or ())
    report = text.LINES.read(lines, Report(under=banners))
    missing = tuple(max(many - results, 0) for many, results in banners.groups)
    if failed is None and any(missing):
        return read_report(lines, missing)
    banners.give_up(report, len(banners.waiting))
    if (missing_results := len(banners.ordered) - len(report.runs)) > 0:
        many = f"{missing_results} of {counted(len(banners.ordered), 'netperf command')}"
        report.remarks.warn(f"{many} have no result: those runs failed, or were cut", banners.ordered[0])
    for line in filter(None, (result.facts.get("uncounted") for result in report.runs)):
        report.remarks.warn("the histogram ends before the sum of its counts: lines of it are missing", line)
    if any(result.facts["test"] in {"STREAM", "RR"} and not result.rows["fields"] for result in report.runs):
        report.remarks.say("no banner (-P 0): netperf's default protocol and unit are assumed")
    return report


_MARKS = (
    " test from ", " test to", "recv", "elapsed", "netperf_", "throughput_units=", "_latency=", "local_cpu_util=",
    "elapsed_time=",
)  # fmt: skip
"""Words, in any case, of which every output but CSV and bare numbers has at least one."""


def recognise(head: Head) -> bool:
    """Return whether a head has netperf's banner, titles or omni names, or (`-P 0`) only lines shaped like results."""
    begin = head.text
    first = begin.lstrip().split("\n", 1)[0]
    if not (head.holds(*_MARKS) or omni.is_csv_titles(first) or text.is_part(first) or text.is_command(first)):
        return False
    lines = [line for line in head.lines if line.strip() and not text.is_command(line)] or [first]
    return any(text.LINES["banner"].match(line) or text.is_titles(line) for line in lines) or (
        omni.is_key_value(lines) or omni.is_csv(lines) or text.is_bare([first, *lines])
    )


def read(source: Source) -> Recording:
    """Read one or many results of netperf, whatever the mix of their forms."""
    content = source.text()
    # Numbers in columns depend on their place: a cut number is replaced there. Elsewhere it is removed.
    content = content.without_cut_number("nan" if text.is_in_columns(content.lines()[-1]) else "")
    report = read_report(content.lines())
    notes = Notes([*content.notes, *report.notes("netperf"), *report.remarks])
    details = report.details(text.SCHEMAS)
    tabled = tables("netperf", [result.measured() for result in report.runs], details)
    if not tabled:
        raise nothing(notes, "netperf")
    if "benchmark_results" not in tabled:
        notes.warn("no result: the run ended early, or failed")
    notes += left_out(report.kept["unknown"])
    return Recording(FORMAT, source.name, tabled, {"samples": len(report.runs)}, tuple(notes))
