"""What the report on hardware events must show, from the files of perf stat (text, CSV, JSON) and vmkperf."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from page_oracle.arithmetic import highest, lowest, median, span
from page_oracle.compare import Expected, Rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

TLB = {"dTLB-load-misses", "dTLB-store-misses", "iTLB-load-misses"}
TEXT = re.compile(
    r" *(?P<value>[\d,.]+|<not \w+>) (?:(?P<unit>msec) )? *(?P<event>[\w-]+) *"
    r"(?:# +(?P<metric>[\d.]+%? .*?))? *(?:\((?P<share>[\d.]+)%\))? *"
)
ELAPSED = re.compile(r" +([\d.]+) seconds time elapsed")
SIZES = {"": 1.0, "thousands of ": 1e-3, "millions of ": 1e-6, "billions of ": 1e-9}
UNEVEN, CHARTS, RANKED = 1.1, 3, 12
"""From how many medians on an event is drawn CPU by CPU, in how many charts of a recording, and bars of each."""
ALIKE, LINES, PANELS = 12.0, 8, 8
"""Events whose mean rates differ by this factor share a chart of so many lines; there are no more charts than that."""


@dataclass
class Line:
    """A count of an event as printed: of an interval that ends at `end`, on `on`; None if it was not counted."""

    event: str
    value: float | None
    unit: str = ""
    end: float | None = None
    on: str = ""
    state: str = "counted"
    share: float | None = None
    metric: str = ""


@dataclass
class Recording:
    """The lines of a file, and how long it took if it has no intervals."""

    name: str
    lines: list[Line]
    elapsed: float | None = None
    command: str = ""
    polled: bool = False

    @property
    def events(self) -> list[str]:
        return list(dict.fromkeys(line.event for line in self.lines))

    def of(self, event: str) -> list[Line]:
        return [line for line in self.lines if line.event == event]

    def seconds(self, end: float | None) -> float | None:
        """How long an interval was: from the end of the one before."""
        if end is None:
            return self.elapsed
        ends = sorted({line.end for line in self.lines})
        return {after: after - before for before, after in pairwise([0.0, *ends])}[end]

    def unit(self, event: str) -> str:
        return self.of(event)[0].unit or "events"


def expected(*paths: Path) -> Expected:
    """The page of `hardware_events`."""
    recordings = [_read(path) for path in paths]
    wholes = {one.name: {event: whole for event in one.events if (whole := _whole(one, event))} for one in recordings}
    found = Expected(tiles=_tiles(recordings, wholes))
    found.tables = [_events(wholes), _estimated(recordings, wholes), _spread(recordings)]
    found.charts = [*_tlb_chart(wholes), *_lines(recordings), *_each_cpu(recordings)]
    if len(recordings) == 2:
        found.tables.append(_compared(*wholes.items()))
        found.charts += _ratios(*wholes.items())
    said = [f"{one.name} ({one.command})" if one.command else one.name for one in recordings]
    found.may = [("; ".join(said),), *((str(place),) for place in paths)]
    return found


def _read(path: Path) -> Recording:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return Recording(path.stem, list(_json(text)))
    if path.suffix == ".csv":
        return Recording(path.stem, list(_csv(text)))
    if "vmkperf" in text:
        return Recording(path.stem, list(_polls(text)), polled=True)
    lines = []
    for found in filter(None, map(TEXT.fullmatch, text.splitlines())):
        metric = re.sub(r"\s+", " ", (found["metric"] or "").replace("%", " %")).strip()
        lines.append(_line(found["event"], found["value"].replace(",", ""), found["unit"], share=found["share"] or 100))
        lines[-1].metric = re.sub(r"^[\d.]+", lambda number: str(float(number[0])), metric)
    command = re.search(r"stats for '(.*)'", text)
    elapsed = next(filter(None, map(ELAPSED.fullmatch, text.splitlines())))
    return Recording(path.stem, lines, float(elapsed[1]), command[1])


def _line(event: str, value: str, unit: str | None, *, share: object, **where: object) -> Line:
    state = value.strip("<>") if value.startswith("<") else "counted"
    number = float(value) if state == "counted" else None
    return Line(event, number, unit or "", state=state, share=float(str(share)), **where)


def _json(text: str) -> Iterator[Line]:
    """Lines with an interval; those without sum all of them up again."""
    for row in (json.loads(line) for line in text.splitlines() if line.startswith("{")):
        if "interval" in row:
            on = f"CPU{row['cpu']}" if "cpu" in row else ""
            where = {"end": row["interval"], "on": on, "share": row["pcnt-running"]}
            yield _line(row["event"], row["counter-value"], row["unit"], **where)


def _csv(text: str) -> Iterator[Line]:
    for row in csv.reader(line for line in text.splitlines() if line.startswith("CPU")):
        yield _line(row[3], row[1], row[2], on=row[0], share=row[5])


def _polls(text: str) -> Iterator[Line]:
    """Rates of each PCPU; the command says how far polls are apart."""
    apart = float(re.search(r"poll .* -i (\d+)", text)[1])
    event, _, names, *polls = [line for line in text.splitlines() if not line.startswith("~")]
    for number, line in enumerate(polls, 1):
        for name, rate in zip(names.split(), line.split(), strict=True):
            yield Line(event.split()[0], float(rate), end=number * apart, on=name.upper().replace("PCPU", "PCPU "))


def _whole(one: Recording, event: str) -> dict | None:
    """Counts of all CPUs and intervals; the time of those intervals in which it was counted."""
    lines = [line for line in one.of(event) if line.value is not None]
    if not lines:
        return None
    total = math.fsum(line.value for line in lines)
    ends = {line.end for line in lines}
    if one.polled:
        return {"value": None, "unit": "", "per_s": total / len(ends), "per_1k": None, "share": None, "metric": ""}
    lengths = [one.seconds(end) for end in ends]
    seconds = None if None in lengths else math.fsum(lengths)
    instructions = math.fsum(line.value or 0.0 for line in one.of("instructions"))
    return {
        "value": total,
        "unit": one.of(event)[0].unit,
        "per_s": total / seconds if seconds else None,
        "per_1k": 1000 * total / instructions if instructions and not one.of(event)[0].unit else None,
        "share": _share(lines, [1.0 if seconds is None else one.seconds(line.end) for line in lines]),
        "metric": one.of(event)[0].metric if len(one.of(event)) == 1 else "",
    }  # fmt: skip


def _share(lines: Sequence[Line], lengths: Sequence[float]) -> float:
    """The share of the time in which an event was counted: each line by the length of its interval."""
    return math.fsum(line.share * length for line, length in zip(lines, lengths, strict=True)) / math.fsum(lengths)


def _tiles(recordings: Sequence[Recording], wholes: dict[str, dict]) -> dict:
    missing = sum(len(one.events) - len(wholes[one.name]) for one in recordings)
    counted = float(sum(map(len, wholes.values())))
    none = (float(missing), " was not counted" if missing == 1 else " were not counted")
    made: dict = {"Events counted": ((counted,), none if missing else ("all requested events",))}
    for one in recordings[:2]:
        seconds = highest(line.end for line in one.lines) or one.elapsed
        whole = wholes[one.name]
        if one.polled:
            polls, cpus = ({getattr(line, what) for line in one.lines} for what in ("end", "on"))
            made["Physical CPUs"] = ((float(len(cpus)),), (f"{one.name}, ", float(len(polls)), " polls"))
        elif seconds is not None:
            words = (span(seconds),) if seconds >= 120 else (seconds, " s")
            made.setdefault("Measured", []).append((words, (one.name,)))
        if {"instructions", "cycles"} <= whole.keys():
            ratio = whole["instructions"]["value"] / whole["cycles"]["value"]
            made.setdefault("Instructions per cycle", []).append(((ratio,), (one.name,)))
    misses = [(row["per_1k"], event, name) for name, event, row in _tlb(wholes)]
    if misses:
        most, event, name = max(misses)
        made["TLB misses per 1,000 instructions"] = ((most,), (f"{event}, {name}",))
    least = lowest(row["share"] for whole in wholes.values() for row in whole.values())
    if least is not None and least < 100:
        made["Lowest share counted"] = ((least, " %"), ("of the time; counts are estimates",))
    return made


def _tlb(wholes: dict[str, dict]) -> Iterable[tuple[str, str, dict]]:
    each = ((name, event, row) for name, whole in wholes.items() for event, row in whole.items())
    return ((name, event, row) for name, event, row in each if event in TLB and row["per_1k"] is not None)


def _head(wholes: dict | Sequence) -> tuple[str, ...]:
    """Tables of several recordings begin with their names."""
    return ("Recording", "Event") if len(wholes) > 1 else ("Event",)


def _key(wholes: dict | Sequence, name: str, event: str) -> tuple[str, ...]:
    return (name, event) if len(wholes) > 1 else (event,)


def _events(wholes: dict[str, dict]) -> Rows:
    rows = {
        _key(wholes, name, event): {
            "Count": row["value"],
            "Unit": (row["unit"] or "\N{EN DASH}",),
            "Per second": row["per_s"],
            "Per 1,000 instructions": row["per_1k"],
            "Counted % of the time": row["share"],
            "As perf reports it": (row["metric"] or "\N{EN DASH}",),
        }
        for name, whole in wholes.items()
        for event, row in whole.items()
    }
    return Rows("Events", _head(wholes), rows)


def _estimated(recordings: Sequence[Recording], wholes: dict[str, dict]) -> Rows:
    """Events that were not counted in all lines, and those that shared a counter, least of the time first."""
    rows: dict[tuple, dict] = {}
    for one in recordings:
        for event in [] if one.polled else one.events:
            states = Counter(line.state for line in one.of(event) if line.state != "counted")
            for state, count in states.items():
                every = len(one.of(event))
                parts = (state,) if count == every else (f"{state} in ", float(count), " of ", float(every), " lines")
                rows[(*_key(recordings, one.name, event), "warning")] = {"What to know": parts}
        shared = {event: row["share"] for event, row in wholes[one.name].items() if (row["share"] or 100) < 100}
        for event, share in sorted(shared.items(), key=lambda pair: pair[1]):
            parts = ("counted ", share, " % of the time: an estimate")
            rows[(*_key(recordings, one.name, event), "info")] = {"What to know": parts}
    return Rows("Estimated, or not counted", (*_head(recordings), ""), rows, ordered=False)


def _on_each(one: Recording, event: str) -> tuple[dict[str, float], str]:
    """An event on each CPU, per second if the time is known, and its unit."""
    found: dict[str, tuple[float, float | None]] = {}
    for line in one.of(event):
        if line.on and line.value is not None:
            value, time = found.get(line.on, (0.0, 0.0))
            length = one.seconds(line.end)
            found[line.on] = value + line.value, None if length is None or time is None else time + length
    if one.polled:
        polls = len({line.end for line in one.lines})
        return {on: value / polls for on, (value, _) in found.items()}, "events per second"
    if all(time for _, time in found.values()):
        return {on: value / time for on, (value, time) in found.items()}, f"{one.unit(event)} per second"
    return {on: value for on, (value, _) in found.items()}, one.unit(event)


def _uneven(one: Recording) -> dict[str, tuple[dict[str, float], str, float]]:
    """Events by CPU, those first whose highest is most times the median."""
    made = {}
    for event in one.events:
        each, unit = _on_each(one, event)
        if len(each) > 1 and max(each.values()) > 0:
            middle = median(each.values())
            made[event] = each, unit, max(each.values()) / middle if middle else math.inf
    return dict(sorted(made.items(), key=lambda pair: (-pair[1][2], pair[0])))


def _spread(recordings: Sequence[Recording]) -> Rows:
    rows = {}
    for one in recordings:
        for event, (each, unit, times) in _uneven(one).items():
            rows[_key(recordings, one.name, event)] = {
                "Unit": (unit,),
                "CPUs or other units": float(len(each)),
                "Lowest on": (min(sorted(each), key=each.get),),
                "Lowest": min(each.values()),
                "Median": median(each.values()),
                "Highest": max(each.values()),
                "Highest on": (max(sorted(each), key=each.get),),
                "Highest / median": times if math.isfinite(times) else None,
                "Highest overall %": 100 * max(each.values()) / math.fsum(each.values()),
            }
    return Rows("Distribution of events over CPUs", _head(recordings), rows)


def _each_cpu(recordings: Sequence[Recording]) -> list[Rows]:
    made = []
    for one in recordings:
        drawn = [(event, *of) for event, of in _uneven(one).items() if of[2] >= UNEVEN]
        for event, each, unit, _ in drawn[:CHARTS]:
            middle = median(each.values())
            bars = {(on,): {"value": value, "median": middle} for on, value in each.items()}
            about = ("Tick: median of all ", float(len(each)), ", ", middle)
            if len(recordings) > 1:
                about = (f"Recording: {one.name}; tick: median of all ", *about[1:])
            scales = {f"{size}{unit}": factor for size, factor in SIZES.items()}
            rows = Rows(re.escape(event), ("aggregate",), bars, some=len(bars) > RANKED, ordered=False, scales=scales)
            made.append(rows)
            rows.about = about if len(bars) <= RANKED else None
    return made


def _lines(recordings: Sequence[Recording]) -> list[Rows]:
    """Rates over intervals; events of like size share a chart. An interval has no rate if a CPU did not count in it."""
    made = []
    for one in recordings:
        counts = {(line.event, line.on) for line in one.lines if line.value is not None}
        rates: dict[str, dict[float, float | None]] = {}
        lengths: dict[float, float] = {}
        for line in one.lines:
            if line.end is not None and (line.event, line.on) in counts:
                length = 1.0 if one.polled else one.seconds(line.end)
                at, each = round(line.end, 4), rates.setdefault(line.event, {})
                lengths[at] = length
                before = each.setdefault(at, 0.0)
                each[at] = None if before is None or line.value is None else before + line.value / length
        means = {
            event: _over_time(each, lengths)
            for event, each in rates.items()
            if sum(rate is not None for rate in each.values()) > 1 and highest(each.values()) > 0
        }
        panels = [
            (unit, panel)
            for unit in sorted({one.unit(event) for event in means}, key=lambda unit: (unit != "events", unit))
            for panel in _panels({event: size for event, size in means.items() if one.unit(event) == unit})
        ]
        for unit, panel in panels[:PANELS]:
            title = panel[0] if len(panel) == 1 else f"{panel[0]} and {len(panel) - 1} more"
            points = {
                (event, at): {"value": rate, "low": rate, "high": rate}
                for event in panel
                for at, rate in rates[event].items()
            }
            scales = {f"{size}{unit} per second": factor for size, factor in SIZES.items()}
            parts = [f"recording: {one.name}"] if len(recordings) > 1 else []
            parts += ["gaps: not counted on every CPU"] if any(None in rates[event].values() for event in panel) else []
            words = "; ".join(parts)
            about = (words[:1].upper() + words[1:],) if words else None
            made.append(Rows(re.escape(title), ("event", "x"), points, ordered=False, scales=scales, about=about))
    return made


def _over_time(rates: dict[float, float | None], lengths: dict[float, float]) -> float:
    there = {at: rate for at, rate in rates.items() if rate is not None}
    return math.fsum(rate * lengths[at] for at, rate in there.items()) / math.fsum(lengths[at] for at in there)


def _panels(means: dict[str, float]) -> list[list[str]]:
    groups: list[list[str]] = []
    for event in sorted(means, key=lambda event: (-means[event], event)):
        if groups and means[event] * ALIKE >= means[groups[-1][0]] and len(groups[-1]) < LINES:
            groups[-1].append(event)
        else:
            groups.append([event])
    return groups


def _tlb_chart(wholes: dict[str, dict]) -> list[Rows]:
    bars = {(event, name): {"per_1k": row["per_1k"]} for name, event, row in _tlb(wholes)}
    return [Rows("TLB misses per 1,000 instructions", ("event", "subject"), bars, ordered=False)]


def _both(first: dict, second: dict) -> dict[str, tuple[float | None, float | None]]:
    """Ratios of counts and of rates of the events that both recordings counted."""
    made = {}
    for event in first.keys() & second.keys():
        pairs = [(first[event][what], second[event][what]) for what in ("value", "per_s")]
        ratios = tuple(None if None in pair or not pair[1] else pair[0] / pair[1] for pair in pairs)
        if any(ratios):
            made[event] = ratios
    return made


def _compared(first: tuple[str, dict], second: tuple[str, dict]) -> Rows:
    (one, left), (other, right) = first, second
    both = _both(left, right)
    order = sorted(both, key=lambda event: (-abs(math.log(both[event][0] or both[event][1])), event))
    rows = {
        (event,): {
            f"Count, {one}": left[event]["value"],
            f"Count, {other}": right[event]["value"],
            "Ratio of counts": both[event][0],
            f"Per second, {one}": left[event]["per_s"],
            f"Per second, {other}": right[event]["per_s"],
            "Ratio of rates": both[event][1],
        }
        for event in order
    }
    return Rows(re.escape(f"{one} / {other}: ratio of counts"), ("Event",), rows)


def _ratios(first: tuple[str, dict], second: tuple[str, dict]) -> list[Rows]:
    kinds = ("of counts", "of rates")
    both = _both(first[1], second[1])
    dots = {(event, kind): {"ratio": of[at]} for event, of in both.items() for at, kind in enumerate(kinds) if of[at]}
    title, some = re.escape(f"{first[0]} against {second[0]}"), len(both) > RANKED
    return [
        Rows(title, ("event", "kind"), dots, some=some, ordered=False),
        Rows(title, ("at",), {(1.0,): {}}, ordered=False),
    ]
