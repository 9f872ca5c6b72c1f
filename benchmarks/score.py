"""Scores the diagnosis: incidents as published, bundled troubles, real captures, and hosts drawn at random.

    make score                                    all of it, into benchmarks/SCORE.md; confusions into docs/diagnosis.md
    python benchmarks/score.py random --seeds 20000-20100 --keep DIR    one part

Random hosts are drawn by seeds below 100,000 here; whoever judges it uses others. A host counts where its trouble
shows: `visible` is in its truth, and `spreads` is at least 3. Right is a finding with the trouble of a truth at an
overlapping time; its object is right where some truth of that trouble names it (docs/faults.md).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import sections
from incidents import incident_table, scored
from judged import reliability_table, share

import esxparse as ex

DOCS = Path(__file__).parents[1] / "docs" / "diagnosis.md"
_HEAD = """\
Made by `make score`; `benchmarks/score.py` says how. Cases were built on the bundled troubles, the published incidents
and the building hosts; not on the unseen ones.
"""
_CONFUSIONS = """\
`make score` writes this table. It has random simulated hosts whose problem is visible, moderate or severe: how often
the right problem came first, and what came first instead. Cases were built on the hosts of the first column;
`benchmarks/SCORE.md` has the seeds.
"""
_SHOWS = 3.0
_MODERATE, _SEVERE = 0.35, 0.7


@dataclass
class Scored:
    """One host: what is true of it, and what was found."""

    name: str
    truths: list[dict[str, Any]]
    found: list[ex.Finding]
    interval: float
    background: list[dict[str, Any]] = field(default_factory=list)

    @property
    def told(self) -> list[ex.Finding]:
        """Findings that are more than harmless."""
        return [one for one in self.found if one.severity != "info"]

    @property
    def shows(self) -> list[dict[str, Any]]:
        """Truths that can be seen."""
        return [one for one in self.truths if "visible" in one and one.get("spreads", _SHOWS) >= _SHOWS]

    @property
    def severity(self) -> float:
        """Of the worst that shows."""
        return max((float(one.get("severity", 1.0)) for one in self.shows), default=0.0)

    def right(self, one: ex.Finding) -> bool:
        """Whether a truth has the finding's trouble, at a time that overlaps."""
        slack = timedelta(seconds=2 * self.interval)
        return any(
            truth["trouble"] == one.trouble and one.start <= truth["end"] + slack and one.end >= truth["start"] - slack
            for truth in self.truths
        )

    def entity(self, one: ex.Finding) -> bool:
        """Whether a truth of its trouble names the finding's object."""
        kind, name = one.entity["kind"], one.entity["name"]
        where = "host" if kind == "host" else f"{kind} {name}"
        places = {truth["where"] for truth in self.truths if truth["trouble"] == one.trouble}
        return where in places or (kind == "vsan" and any(place.startswith("vsan") for place in places))

    def times(self, one: ex.Finding) -> tuple[float, float]:
        """By how many samples start and end of a finding are off."""
        truth = next(truth for truth in self.truths if truth["trouble"] == one.trouble)
        start = max(truth["start"], truth.get("visible", truth["start"]))
        return (
            (one.start - start).total_seconds() / self.interval,
            (one.end - truth["end"]).total_seconds() / self.interval,
        )


def judged(folder: Path) -> Scored:
    """Diagnose the capture in a folder beside its truth."""
    (capture,) = folder.glob("*.csv")
    recording = ex.open(capture)
    told = folder / "truth.toml"
    truth = tomllib.loads(told.read_text(encoding="utf-8")) if told.exists() else {}
    truths = [{"visible": one["start"], **one} if "shape" not in one else one for one in truth.get("truth", [])]
    found = list(ex.diagnose(recording))
    return Scored(folder.name, truths, found, recording.meta.get("interval") or 5.0, truth.get("background", []))


def drawn(seeds: Iterable[int], keep: Path, **options: Any) -> Iterator[Scored]:
    """Hosts drawn by seeds, made where they are not there yet."""
    for seed in seeds:
        folder = keep / str(seed)
        if not (folder / "truth.toml").exists():
            folder.mkdir(parents=True, exist_ok=True)
            ex.simulate.record(ex.simulate.random_experiment(seed, **options), folder)
        yield judged(folder)


def random_table(hosts: Sequence[Scored], *, misses: bool = False) -> list[str]:
    """What the random hosts show, as Markdown."""
    lines = ["| | first | among two | object | start | end |", "|---|---|---|---|---|---|"]
    wrong: Counter[tuple[str, str]] = Counter()
    sure: list[tuple[float, bool]] = []
    told: list[str] = []
    bands = {"moderate": (_MODERATE, _SEVERE), "severe": (_SEVERE, 1.01), "mild": (0.0, _MODERATE)}
    for band, (low, high) in bands.items():
        mine = [one for one in hosts if one.shows and low <= one.severity < high]
        first = [one for one in mine if one.told and one.right(one.told[0])]
        two = [one for one in mine if any(one.right(found) for found in [*one.told[:2], *one.found[:2]])]
        objects = [one for one in first if one.entity(one.told[0])]
        times = [one.times(one.told[0]) for one in first]
        starts, ends = (sum(abs(pair[place]) <= 2.01 for pair in times) for place in (0, 1))
        counts = (first, mine), (two, mine), (objects, first)
        cells = [share(len(part), len(of)) for part, of in counts]
        lines.append(f"| {band} | {' | '.join([*cells, share(starts, len(times)), share(ends, len(times))])} |")
        for one in mine:
            if one not in first and low >= _MODERATE:
                got = one.told[0].trouble if one.told else "nothing"
                wrong[one.shows[0]["trouble"], got] += 1
                told.append(_miss(one))
    for one in hosts:
        sure += [(found.confidence, one.right(found)) for found in one.told]
    healthy = [one for one in hosts if not one.truths]
    alarms = [one for one in healthy if any(found.severity == "critical" for found in one.found)]
    lines += ["", f"Healthy hosts with a critical finding: {share(len(alarms), len(healthy))}.", ""]
    told += [_miss(one) for one in alarms]
    lines += reliability_table(sure)
    lines += ["", "| trouble | taken for | hosts |", "|---|---|---|"]
    lines += [f"| `{want}` | `{got}` | {count} |" for (want, got), count in wrong.most_common()]
    return lines + (["", *told] if misses else [])


def confusion_table(groups: Mapping[str, Sequence[Scored]]) -> list[str]:
    """Of each trouble that shows, moderate or worse: how often it was told first, and what was told in its place."""
    first: Counter[tuple[str, str]] = Counter()
    taken: dict[tuple[str, str], Counter[str]] = {}
    for group, hosts in groups.items():
        for one in (one for one in hosts if one.severity >= _MODERATE):
            got = one.told[0] if one.told else None
            right = got is not None and one.right(got)
            trouble = got.trouble if got and right else one.shows[0]["trouble"]
            first[group, trouble] += right
            told = taken.setdefault((group, trouble), Counter())
            told.update([] if right else [f"`{got.trouble}`" if got else "nothing"])
    lines = [f"| trouble | {' | '.join(groups)} |", f"|---|{'---|' * len(groups)}"]
    for trouble in sorted({trouble for _, trouble in taken}):
        cells = []
        for group in groups:
            wrong = taken.get((group, trouble), Counter())
            hosts_of = first[group, trouble] + wrong.total()
            others = "".join(f", {name} {count}" for name, count in wrong.most_common())
            cells.append(f"{first[group, trouble]} of {hosts_of}{others}" if hosts_of else "")
        lines.append(f"| `{trouble}` | {' | '.join(cells)} |")
    return lines


def _miss(one: Scored) -> str:
    wanted = "; ".join(f"{t['trouble']} @ {t['where']} {t.get('severity')} {t.get('spreads')}" for t in one.shows)
    got = " | ".join(f"{f.trouble}[{f.entity['name']} {f.severity[0]} {f.confidence:.2f}]" for f in one.found[:4])
    back = ", ".join(b["id"] for b in one.background)
    return f"{one.name}: {wanted or 'healthy'} -> {got or 'nothing'} ({back})"


def seeds(text: str) -> range:
    """Seeds from one to another, as `90000-90199`."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _range(drawn_by: range) -> str:
    return f"{drawn_by[0]} to {drawn_by[-1]}"


def fault_table(keep: Path) -> list[str]:
    """The bundled troubles at full severity and mild, and the healthy hosts."""
    lines = ["| scenario | severe | mild |", "|---|---|---|"]
    right = 0
    for name in ex.simulate.scenario_names():
        if name == "busy-host":
            continue
        cells = []
        for severity in (1.0, 0.0):
            folder = keep / f"{name}-{severity:g}"
            if not any(folder.glob("*.csv")):
                folder.mkdir(parents=True, exist_ok=True)
                ex.simulate.record(ex.simulate.load_experiment(name, severity=severity), folder)
            one = judged(folder)
            good = not one.told if not one.truths else bool(one.told) and one.right(one.told[0])
            first = one.told[0].trouble if one.told else "nothing"
            cells.append(
                ("yes" if good else f"**{first}**")
                + ("" if not good or not one.told or one.entity(one.told[0]) else ", another object")
            )
            right += good and severity > 0
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return [f"{right} scenarios are right at full severity.", "", *lines]


def main(arguments: Sequence[str] | None = None) -> int:
    """Scores what was asked for and prints it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("random", "incidents", "faults", "all"), nargs="?", default="all")
    parser.add_argument("--building", type=seeds, default=seeds("40000-40119"), help="hosts that cases were built on")
    parser.add_argument("--seeds", type=seeds, default=seeds("100000-100239"), help="hosts that they were not")
    parser.add_argument("--healthy", type=seeds, default=seeds("105000-105059"), help="the same, without a trouble")
    parser.add_argument("--incidents", type=Path, help="directory of incidents (default: beside ESXPARSE_REAL_DATA)")
    parser.add_argument("--keep", type=Path, help="where captures are kept between runs")
    parser.add_argument("--misses", action="store_true", help="list every miss")
    parser.add_argument("-o", "--output", type=Path, help="write it there instead")
    options = parser.parse_args(arguments)
    began = time.perf_counter()
    real = os.environ.get("ESXPARSE_REAL_DATA")
    folder = options.incidents or (Path(real).parent / "incidents" if real else None)
    lines = ["# How right the diagnosis is", "", _HEAD, ""]
    with tempfile.TemporaryDirectory() as scratch:
        keep = options.keep or Path(scratch)
        if options.part in {"faults", "all"}:
            lines += ["## Bundled troubles", "", *fault_table(keep), ""]
        if options.part in {"incidents", "all"}:
            if folder and folder.is_dir():
                lines += ["## Published incidents", "", *incident_table(scored(folder, Path(scratch))), ""]
            else:
                lines += ["## Published incidents", "", "Not scored: no directory of incidents.", ""]
        if options.part in {"random", "all"}:
            unseen = [*drawn(options.seeds, keep), *drawn(options.healthy, keep, troubles=())]
            groups = {"building": list(drawn(options.building, keep)), "unseen": unseen}
            told = f"{_range(options.seeds)} as drawn, {_range(options.healthy)} healthy"
            said = {"building": f"{_range(options.building)} as drawn", "unseen": told}
            for group, hosts in groups.items():
                table = random_table(hosts, misses=options.misses)
                lines += [f"## {len(hosts)} {group} hosts", "", f"Seeds {said[group]}.", "", *table, ""]
            if options.output:
                sections.put("Confusions", [_CONFUSIONS, *confusion_table(groups)], DOCS)
    text = "\n".join(lines)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    else:
        print(text)
    print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
