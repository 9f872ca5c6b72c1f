"""Evidence on the unit of a fio log from the files around it: outputs of the run and its other logs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from esxparse.errors import EsxparseError
from esxparse.formats.fio.log_clues import LAW, Clue, Logs, open_logs
from esxparse.formats.fio.log_facts import LogName, log_name
from esxparse.formats.fio.log_outputs import (
    LOOK,
    KnownRelease,
    Output,
    common_release,
    compare_output,
    compared_output,
    release_in,
)
from esxparse.formats.fio.output import is_output, parse_output
from esxparse.formats.source import resolve
from esxparse.recording import first_few

_LARGEST = 16 << 20
"""Size in bytes from which an output is not read for its means."""
_LISTED = 3
_NEIGHBOURS = 64
_CONTRADICTED = "the log or another output of this name contradicts it"


@dataclass(frozen=True)
class Evidence:
    """Evidence on a log from other files."""

    known: KnownRelease | None = None
    clue: Clue | None = None
    unused: str = ""
    """The outputs that prove nothing, with the reasons."""


def weigh(base: str, logs: Logs, outputs: Iterable[Output]) -> Evidence:
    """Return the evidence on the logs that fio named `base`: an output proves a unit only if it is of the same run."""
    own = logs.of_run(base)
    compared = [(output, compare_output(output, base, own.opened)) for output in outputs]
    proofs = [(output, found) for output, found in compared if isinstance(found, Clue)]
    units = {found.nanoseconds for _, found in proofs}
    clue = own.strongest(base)
    if len(units) == 1 and not (clue and clue.strength >= LAW and clue.nanoseconds not in units):
        known = common_release(KnownRelease(one.release, one.name) for one, _ in proofs if one.release)
        return Evidence(known, proofs[0][1])
    doubts = [(output, found if isinstance(found, str) else _CONTRADICTED) for output, found in compared]
    hint = common_release(KnownRelease(one.release, one.name, doubt) for one, doubt in doubts if one.release)
    unused = [f"{output.name}: {doubt}" for output, doubt in doubts]
    return Evidence(hint, logs.strongest(base), first_few(unused, _LISTED, separator="; "))


def _output(file: Path, base: str) -> Output | None:
    """Return a file as an output of fio; None if it is something else."""
    release = release_in(beginning(file))
    try:
        source = resolve(file)
        if not is_output(source.head):
            return Output(file.name, release) if release else None
        if file.stat().st_size >= _LARGEST:
            return Output(file.name, release, unread=f"not compared, as it has {_LARGEST >> 20} MiB or more")
        # Parsing takes time: an output without the name is of another run.
        if base not in source.text().text:
            return Output(file.name, release)
        return compared_output(file.name, release, parse_output(source, file.name).tables)
    except (EsxparseError, OSError):
        return Output(file.name, release, unread="it cannot be read") if release else None


def find_outputs(folders: Iterable[Path], base: str) -> list[Output]:
    """Return the outputs of fio in directories, for comparison by the name that fio gave the logs."""
    files = (file for folder in folders for file in neighbours(folder, lambda name: name.metric == "unknown"))
    return [output for file in files if (output := _output(file, base))]


def neighbours(folder: Path, wanted: Callable[[LogName], bool]) -> list[Path]:
    """Return the first files of a directory with a wanted name, in order of their names."""
    try:
        files = [one for one in sorted(folder.iterdir()) if wanted(log_name(one.name)) and one.is_file()]
    except OSError:
        return []
    return files[:_NEIGHBOURS]


def beginning(path: Path) -> bytes:
    """Return the first bytes of a file; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(LOOK)
    except OSError:
        return b""


def evidence_near(path: Path | None) -> Evidence:
    """Return the evidence in the other logs in a log's directory, and in outputs there or one directory up."""
    if path is None:
        return Evidence()
    own = log_name(path.name)
    # Logs of the same job come first: a directory may have too many logs to read all.
    logs = neighbours(path.parent, lambda name: (name.base, name.number) == (own.base, own.number))
    logs += [file for file in neighbours(path.parent, lambda name: name.metric != "unknown") if file not in logs]
    beginnings = ((file.name, beginning(file).decode(errors="replace")) for file in logs)
    folders = (path.parent, path.parent.resolve().parent)
    return weigh(own.base, open_logs(beginnings), find_outputs(folders, own.base))
