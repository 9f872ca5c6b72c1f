"""Findings and quality of simulated hosts, compared with golden texts (`make golden` writes them again)."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from fault_hosts import FAULTS, HEALTHY, seen
from golden import kept, texts

import esxparse as ex

DATA = ex.datasets_dir()
CAPTURES = {path.parent.name: path for path in sorted(DATA.glob("*/*.csv.bz2"), reverse=True)}
"""One capture of each bundled study."""


def of_quality(quality):
    """What is at fault, and how much of each suite was judged."""
    yield quality.verdict
    every = [one.as_dict() for one in quality]
    yield from texts.of_json([one for one in every if one["status"] in {"fail", "warn"}])
    yield f"all {texts.sum_of(texts.of_json(every))}"
    judged = Counter((one["suite"], one["status"]) for one in every)
    yield from (f"{suite} {status}: {count}" for (suite, status), count in sorted(judged.items()))


def of_recording(rec):
    found = ex.diagnose(rec)
    yield found.verdict
    yield from texts.of_json(json.loads(found.json()))
    for chart in found.charts():
        yield from texts.of_spec(chart.to_dict())
    yield from of_quality(ex.check(rec))


def of_changes(found):
    yield f"changes at {found.at}"
    for title in ("series", "events", "not_judged"):
        yield from texts.of_frame(getattr(found, title), title)


@pytest.mark.parametrize("name", [*FAULTS, *HEALTHY])
def test_findings_and_quality_of_a_simulated_host(name):
    kept.check("diagnosis", name, of_recording(seen(name, 0.0 if name in HEALTHY else 1.0).recording))


@pytest.mark.parametrize("name", CAPTURES)
def test_findings_and_quality_of_a_capture_of_a_study(name):
    kept.check("diagnosis", f"study-{name}", of_recording(ex.open(CAPTURES[name])))


@pytest.mark.search
def test_findings_quality_and_changes_of_the_busy_host(busy_host):
    kept.check("diagnosis", "busy-host", of_recording(busy_host))
    kept.check("diagnosis", "busy-host-changes", of_changes(ex.changes(busy_host)))
