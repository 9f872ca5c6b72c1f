"""Check of a manifest: opens the files of its runs, but computes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from esxparse.recording import Note, counted
from esxparse.studies import baseline
from esxparse.studies.expand import Run, expand
from esxparse.studies.opened import Kept, open_run, try_others
from esxparse.studies.runs import disagreements, label_columns
from esxparse.studies.study_file import as_notes, examine


@dataclass(frozen=True)
class Checked:
    """The size of a study, and the problems in its manifest."""

    path: Path
    runs: int
    labels: tuple[str, ...]
    files: int
    notes: tuple[Note, ...]

    def __str__(self) -> str:
        """Return the summary that the command line prints."""
        wrong = sum(note.severity == "warning" for note in self.notes)
        labels = f" by {', '.join(self.labels)}" if self.labels else ""
        ending = counted(wrong, "problem") if wrong else "all well"
        return f"{counted(self.runs, 'run')}{labels}, {counted(self.files, 'file')}, {ending}"


def check(
    path: str | os.PathLike[str],
    *,
    outside: bool = False,
    progress: Callable[[int, int, str], None] | None = None,
) -> Checked:
    """Check a manifest and open the files of each run; files outside its directory only if `outside` allows them."""
    manifest, wrong = examine(Path(path))
    if wrong:
        return Checked(manifest.path, len(manifest.runs), (), 0, as_notes(wrong))
    runs = expand(manifest, outside=outside)
    notes: list[Note] = []
    against: list[tuple[Run, tuple[str, ...]]] = []
    kept: Kept = {}
    for done, run in enumerate(runs):
        if progress:
            progress(done, len(runs), str(run))
        opened = open_run(run, kept)
        gaps = (*opened.gaps[len(run.problems) :], *try_others(run, kept))
        notes += [Note(f"{run}: {problem.message}", problem.line, severity="warning") for problem in run.problems]
        notes += [Note(f"{run}: {gap}", run.line, severity="warning") for gap in gaps]
        against.append((run, opened.against))
        notes += [Note(f"{run}: {text}", run.line) for text in opened.notes]
    labels, label_notes = label_columns(runs)
    notes += [*label_notes, *disagreements(against), *baseline.complaints(manifest, runs)]
    paths = {path for run in runs for files in run.files.values() for path in files.paths}
    return Checked(manifest.path, len(runs), tuple(labels), len(paths), tuple(notes))
