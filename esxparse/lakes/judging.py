"""Diagnosis and checks of the captures of a lake: made once, and kept beside the catalogue.

judged/<id>.json    verdict, findings, symptoms and failed expectations, and the version that judged
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from esxparse import fleet
from esxparse.diagnosis.diagnose import diagnose
from esxparse.fleet import Crew
from esxparse.lakes.entries import Entry
from esxparse.lakes.query import Lake
from esxparse.lakes.upkeep import judged
from esxparse.quality.check import check
from esxparse.quality.results import Expectation
from esxparse.version import __version__


@dataclass(frozen=True)
class _Job:
    lake: Lake
    entry: Entry


def _judge(job: _Job) -> Mapping[str, Any]:
    """Diagnose and check a capture, and store the result."""
    rec = job.lake.recorded(job.entry)
    with job.lake.reading():
        quality = check(rec)
        found = diagnose(rec) if rec.format == "esxtop" else None
    result: dict[str, Any] = {
        "id": job.entry.id,
        "host": job.entry.host,
        "esxparse": __version__,
        "layout": job.entry.layout,
        "options": job.entry.origin["options"],
        "quality": {
            "status": quality.status,
            "verdict": quality.verdict,
            "failed": [_failed_fields(one) for one in quality.failed],
            "warned": [_failed_fields(one) for one in quality.warned],
        },
    }
    if found is not None:
        result |= {"verdict": found.summary, "judged": found.judged, "of": found.of}
        result["findings"] = [one.as_dict() for one in found]
        result["symptoms"] = list(found.symptoms)
    text = json.dumps(result, ensure_ascii=False, default=str)
    job.lake.store.put(judged(job.entry.id), text.encode(), replace=True)
    return result


def _failed_fields(one: Expectation) -> dict[str, str]:
    """Return a failed expectation: its table, its meaning everywhere, and the mistake here."""
    return {"table": one.table, "means": one.means, "said": str(one).removesuffix(one.means).rstrip()}


def stored_judgements(lake: Lake) -> Iterator[tuple[Entry, Mapping[str, Any] | None]]:
    """Yield the captures, each with its stored result; None without one, or from another reading or version."""
    texts = lake.store.read_all(judged(one.id) for one in lake.captures)
    for entry, text in zip(lake.captures, texts, strict=True):
        yield entry, _current(text, entry)


def _current(text: bytes | None, entry: Entry) -> Mapping[str, Any] | None:
    try:
        found = json.loads(text or b"{}")
    except ValueError:
        return None
    wanted = {"host": entry.host, "esxparse": __version__, "layout": entry.layout, "options": entry.origin["options"]}
    now = isinstance(found, dict) and wanted.items() <= found.items()
    # An earlier state of this version stored results without symptoms (no levels of VMs) or titles (no words for them).
    whole = now and "quality" in found and ("findings" in found) == ("symptoms" in found)
    whole = whole and all("title" in one for one in found.get("findings", ()))
    return found if whole else None


def judge(
    lake: Lake, crew: Crew | None = None, report: Callable[[Entry, Mapping[str, Any] | str], None] | None = None
) -> list[Mapping[str, Any]]:
    """Diagnose and check every capture that this version has not judged yet; return the results of all.

    Args:
        lake: The captures.
        crew: Who does it; by default this process.
        report: Called with each capture and its new result, or the reason for a failure.

    Raises:
        EsxparseError: The lake cannot be read, or the cluster is lost; finished results are kept.
    """
    known = list(stored_judgements(lake))
    made = [one for _, one in known if one is not None]
    todo = [entry for entry, one in known if one is None]
    # A worker needs no catalogue: the entry travels with the job.
    bare = Lake(lake.store)
    for done in fleet.run(_judge, [_Job(bare, one) for one in todo], crew):
        if not done.why:
            made.append(done.result)
        if report is not None:
            report(todo[done.place], done.why or done.result)
    return made
