"""The host's own capture of slow runs beside one of fast runs: the cases of `ex.diagnose`, on one run of either."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from esxparse.diagnosis.experiments.contrasts import Contrast, Grid, Key
from esxparse.diagnosis.finding import Finding
from esxparse.diagnosis.findings import Findings
from esxparse.errors import EsxparseError
from esxparse.formats.opening import Opening
from esxparse.formats.registry import open_recording
from esxparse.recording import Recording

if TYPE_CHECKING:
    import polars as pl

Judge = Callable[[Recording], Findings]

QUESTION: Final = "Does the host's capture of a slow run show a trouble of its own?"
MISSING: Final = "Take an esxtop capture of the slow runs."
_CAPTURE: Final = re.compile(r"(?:^|, )esxtop=(.+?)(?=, \w+=|$)")


class Own(NamedTuple):
    """The answer to `QUESTION`: yes, no or not known, its meaning, and the findings that only a slow run has."""

    answer: str
    means: str
    findings: tuple[Finding, ...] = ()


def own(cells: Grid, seen: Contrast, folder: Path, judge: Judge) -> Own:
    """Diagnose a capture of a slow run beside one of a fast run; `folder`: the folder of the runs' files."""
    slow = _judged(cells, seen.bad, folder, judge)
    if slow is None:
        return Own("not known", MISSING)
    fast = _judged(cells, (seen.good,), folder, judge)
    usual = {_key(one) for one in fast or ()}
    serious = [one for one in slow if one.severity != "info"]
    new = tuple(one for one in serious if _key(one) not in usual)
    if new:
        beside = "" if fast is None else ", but the capture of a fast run does not"
        return Own("yes", f"it shows: {_titles(new)}{beside}. {new[0].verdict}", new)
    looked = f"{slow.judged} of {slow.of} troubles and limits could be judged"
    if serious:
        return Own("no", f"it shows: {_titles(serious)}, as a fast run's capture does; {looked}")
    return Own("no", f"it shows none; {looked}")


def _judged(cells: Grid, keys: Sequence[Key], folder: Path, judge: Judge) -> Findings | None:
    """Return the findings of the first readable capture of these runs, in its measured span."""
    for key in keys:
        rows: pl.DataFrame = cells.rows[key]
        if "files" not in rows.columns:
            continue
        for files, start, end in rows.select("files", "start", "end").iter_rows():
            if match := _CAPTURE.search(files or ""):
                try:
                    return judge(open_recording(folder / match[1], Opening.of({"start": start, "end": end})))
                except EsxparseError:
                    continue  # a note of the study reports it
    return None


def _titles(findings: Sequence[Finding]) -> str:
    return "; ".join(one.title for one in findings)


def _key(one: Finding) -> tuple[str, ...]:
    return (one.trouble, *one.entity.values())
