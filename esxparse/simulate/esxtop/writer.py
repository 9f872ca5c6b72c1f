r"""Writes a simulated capture as `esxtop -b` writes it, byte for byte in its grammar.

Grammar: one physical line per sample after the header, LF, every cell quoted, first cell `(PDH-CSV 4.0) (UTC)(0)`,
times `MM/DD/YYYY HH:MM:SS` in UTC, whole numbers or two decimals as each counter has them.

Releases
--------
6.7 (default)  first world id 2097153, `PCPU Power State(PCPU n)\% of aperf/mperf` an ordinary column (assumption: no
               6.7 capture with all counters could be had; pieced together from what readers of such files expect)
6.5            first world id 65537; with all counters the A/MPERF cells are broken as that release breaks them:
               `   -` in the header and `    73.1` in rows, unquoted, without the comma that should follow (evidence)

Without all counters (`-b` alone) the columns are the default fields, and every line ends in a comma (evidence for the
comma; which fields are default is general knowledge).
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from esxparse.errors import EsxparseError
from esxparse.simulate.esxtop.columns import Block, Key, blocks
from esxparse.simulate.esxtop.rows import values
from esxparse.simulate.model.worlds import WORLD_BASE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from esxparse.simulate.model.engine import Capture, Snapshot

__all__ = ["esxtop_lines", "write_esxtop"]

Release = Literal["6.5", "6.7"]

_FIRST_CELL = '"(PDH-CSV 4.0) (UTC)(0)"'
_APERF = "% of aperf/mperf"


def write_esxtop(
    target: str | os.PathLike[str] | IO[bytes], capture: Capture, *, release: Release = "6.7", all_counters: bool = True
) -> int:
    """Write `capture` to a path or to an open binary handle; gives the number of bytes written.

    A path is written beside and moved into place when complete, so that nobody meets half a file.

    Raises:
        EsxparseError: a release this writer has no grammar for, or a path that cannot be written.
    """
    lines = esxtop_lines(capture, release=release, all_counters=all_counters)
    if not isinstance(target, str | os.PathLike):
        return sum(target.write(line) for line in lines)
    path = Path(target)
    try:
        return _write_beside(path, lines)
    except OSError as error:
        message = f"cannot write {path}: {error.strerror}. Check that the folder is there and may be written."
        raise EsxparseError(message) from error


def esxtop_lines(capture: Capture, *, release: Release = "6.7", all_counters: bool = True) -> Iterator[bytes]:
    """The lines of the file, header first, each with its newline.

    Raises:
        EsxparseError: a release this writer has no grammar for.
    """
    if release not in WORLD_BASE:
        message = f"no esxtop grammar for release {release!r}. There are: {', '.join(WORLD_BASE)}."
        raise EsxparseError(message)
    columns = blocks(capture, WORLD_BASE[release], all_counters)
    broken = release == "6.5"
    end = "\n" if all_counters else ",\n"
    host = capture.scenario.host.name
    names = [
        None if broken and counter.name == _APERF else _path(host, block, counter.name)
        for block in columns
        for counter in block.counters
    ]
    yield (_join(_FIRST_CELL, [None if name is None else f'"{name}"' for name in names], "   -") + end).encode()
    cells = [
        None if broken and counter.name == _APERF else '"%.0f"' if counter.whole else '"%.2f"'
        for block in columns
        for counter in block.counters
    ]
    template = _join('"%s"', cells, "%8.1f") + end
    for snapshot in capture:
        moment = snapshot.time.strftime("%m/%d/%Y %H:%M:%S")
        yield (template % (moment, *_cells(capture, columns, snapshot))).encode()


def _cells(capture: Capture, columns: Sequence[Block], snapshot: Snapshot) -> list[float]:
    row: list[float] = []
    known: dict[Key, Mapping[str, float]] = {}
    for block in columns:
        have = known.get(block.key)
        if have is None:
            have = known[block.key] = values(block.key, snapshot, capture)
        row += [have.get(counter.name, 0.0) for counter in block.counters]
    return row


def _path(host: str, block: Block, counter: str) -> str:
    instance = "" if block.instance is None else f"({block.instance})"
    return f"\\\\{host}\\{block.object}{instance}\\{counter}"


def _join(first: str, cells: Sequence[str | None], broken: str) -> str:
    """Join cells by commas; None stands for a broken cell, which no comma follows."""
    parts = [first]
    comma = ","
    for cell in cells:
        parts.append(comma)
        parts.append(broken if cell is None else cell)
        comma = "" if cell is None else ","
    return "".join(parts)


def _write_beside(path: Path, lines: Iterator[bytes]) -> int:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            size = sum(out.write(line) for line in lines)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return size
