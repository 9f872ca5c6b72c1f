"""Scores the diagnosis on real captures into whose cells troubles are edited.

    python benchmarks/injected.py --output benchmarks/SCORE.md      every situation, into a part of its own
    python benchmarks/injected.py --only "queue-full-*" --keep DIR  some of them, with the captures

`injecting` makes the captures and knows nothing of esxparse; `accepted.toml` alone knows which findings are right.
Every situation is judged in three strengths with all counters, and medium and strong with about half of them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC
from fnmatch import fnmatchcase
from pathlib import Path

import incidents
import sections
from injecting.capture import Capture, Writer, read_capture
from injecting.fields import drop, drop_half
from injecting.host import Host, known_paths
from injecting.situations import STRENGTHS, Roles, Situation, draw_roles, draw_window, inject, read_situations, settle
from injecting.stretch import stretched
from injecting.wide import widened
from judged import Judged, Key, Told, reliability_table, report

import esxparse as ex

HEADING = "Troubles edited into a real capture"
VARIANTS = (("strong", "all"), ("medium", "all"), ("medium", "half"), ("strong", "half"), ("weak", "all"))
"""Strengths, with all counters or half of them."""
_NOISES = 2
"""How many differently stretched captures there are of each host."""
_PLACEHOLDER = re.compile(r"(?<![\w?])\?(?![\w?])|\b(?:None|nan|NaN|COALESCE|SELECT)\b")


def recordings(real: Path) -> dict[str, Capture]:
    """The hosts to edit: the recording itself, and the larger one made of it."""
    recorded = read_capture(real)
    recorded.paths = known_paths(recorded)
    return {"recorded": recorded, "wide": widened(recorded)}


class Bench:
    """Makes captures with a situation, and judges them."""

    def __init__(self, real: Path, seed: int = 1) -> None:
        self._recorded = recordings(real)
        self._bases: dict[tuple[str, int], Capture] = {}
        self._writer = Writer()
        self._seed = seed

    def _base(self, host: str, noise: int) -> Capture:
        if (host, noise) not in self._bases:
            made = Host(stretched(self._recorded[host], self._seed + noise))
            settle(made, everything=True)
            self._bases[host, noise] = made.capture
            self._writer.remember(made.capture)
        return self._bases[host, noise]

    def make(
        self, situation: Situation, strength: str, fields: str, path: Path
    ) -> tuple[Roles, tuple[int, int], Capture]:
        """Write the capture of a situation; returns its objects, its first and last sample and its cells."""
        seed = self._seed + 10 * STRENGTHS.index(strength)
        base = self._base(situation.host, seed % _NOISES)
        host = Host(base.copy(), seed)
        roles, window = draw_roles(host, situation, seed), draw_window(host, situation, seed)
        window = inject(host, situation, strength, roles, window)
        drop(host.capture, situation.drops)
        if fields == "half":
            drop_half(host.capture, situation, seed)
        self._writer.write(host.capture, path)
        return roles, window, host.capture

    def judge(self, situation: Situation, strength: str, fields: str, path: Path) -> Judged:
        """Write the capture of a situation and diagnose it."""
        roles, window, capture = self.make(situation, strength, fields, path)
        times = [one.replace(tzinfo=UTC) for one in capture.times]
        step = (times[1] - times[0]).total_seconds()
        found = []
        for one in ex.diagnose(ex.open(path)):
            start, end = ((at - times[0]).total_seconds() / step if at else 0.0 for at in (one.start, one.end))
            words = " ".join([one.verdict, one.next, *one.evidence, *one.against])
            kind, name = one.entity["kind"], one.entity["name"]
            vague = bool(_PLACEHOLDER.search(words))
            confidence = round(one.confidence, 3)
            found.append(Told(one.trouble, kind, name, one.severity, confidence, start, end, one.verdict, vague))
        objects = sorted(roles.names(situation.where))
        return Judged(
            situation.id,
            situation.family,
            strength,
            fields,
            situation.harmless,
            not (situation.standing or situation.untimed),
            situation.host,
            objects,
            window,
            found,
        )


def judge_all(bench: Bench, only: Sequence[str], keep: Path, known: Mapping[str, Judged]) -> Iterator[Judged]:
    """Every situation in every strength with all counters, medium and strong with half of them too.

    only: Patterns of names such as `queue-full-medium-all`. known: What is judged already.
    """
    for strength, fields in VARIANTS:
        for situation in read_situations():
            name = f"{situation.id}-{strength}-{fields}"
            if only and not any(fnmatchcase(name, pattern) for pattern in only):
                continue
            yield known[name] if name in known else bench.judge(situation, strength, fields, keep / f"{name}.csv")


def judged_before(log: Path) -> dict[str, Judged]:
    """The judgements of a log, by name."""
    found = {}
    for line in log.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        row["found"] = [Told(**one) for one in row["found"]]
        row["objects"] = [(kind, name) for kind, name in row["objects"]]
        first, last = row["window"]
        one = Judged(**(row | {"window": (first, last)}))
        found[one.name] = one
    return found


def incident_pairs(folder: Path, scratch: Path) -> list[tuple[float, bool]]:
    """Confidence of each warning about a published incident, and whether its class is accepted.

    Only incidents whose figures are counters of esxtop have a capture (`incidents.py`).
    """
    pairs = []
    for file in sorted(folder.glob("*.toml")):
        incident = tomllib.loads(file.read_text(encoding="utf-8"))
        columns = incidents.columns(incident)
        if columns:
            path = scratch / f"{incident['id']}.csv"
            incidents.write(path, columns)
            wanted = incidents.CLASSES[incident["class"]]
            told = [one for one in ex.diagnose(ex.open(path)) if one.severity != "info"]
            pairs += [(one.confidence, incidents.matches(one.trouble, wanted)) for one in told]
    return pairs


def main(arguments: Sequence[str] | None = None) -> int:
    """Score every situation, or those that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--capture", type=Path, help="a real capture (default: that of ESXPARSE_REAL_DATA)")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="patterns: queue-full-*, *-medium-all")
    parser.add_argument("--seed", type=int, default=1, help="draws VMs, disks, times and fields")
    parser.add_argument("--keep", type=Path, help="keep all captures there")
    parser.add_argument("--log", type=Path, help="a line of JSON per judgement; those in it are not made again")
    parser.add_argument("-o", "--output", type=Path, help="write the part into this file instead")
    options = parser.parse_args(arguments)
    root = os.environ.get("ESXPARSE_REAL_DATA")
    real = options.capture or (Path(root) / "esxtop" / "esxi65_all_counters.csv" if root else None)
    if real is None or not real.exists():
        print("Not scored: no real capture (set ESXPARSE_REAL_DATA, or use --capture).", file=sys.stderr)
        if options.output:
            sections.put(HEADING, ["Not scored: no real capture."], options.output)
        return 0
    began = time.perf_counter()
    known = judged_before(options.log) if options.log and options.log.exists() else {}
    judged = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for one in judge_all(Bench(real, options.seed), options.only, folder, known):
            judged.append(one)
            if options.log and one.name not in known:
                with options.log.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(asdict(one)) + "\n")
            if not options.keep:
                (folder / f"{one.name}.csv").unlink(missing_ok=True)
        lines = report(judged, Key(), options.seed)
        if root and not options.only and (published := Path(root).parent / "incidents").is_dir():
            pairs = incident_pairs(published, Path(scratch))
            lines += ["", "Warnings about published incidents by confidence:", "", *reliability_table(pairs)]
    if options.output:
        sections.put(HEADING, lines, options.output)
    else:
        print("\n".join(lines))
    print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
