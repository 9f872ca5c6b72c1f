r"""Writes a simulated capture as `esxtop -b` writes it, byte for byte in its grammar.

Grammar: one physical line per sample after the header, LF, every cell quoted, first cell `(PDH-CSV 4.0) (UTC)(0)`,
times `MM/DD/YYYY HH:MM:SS` in UTC, whole numbers or two decimals as each counter has them. Columns are those of the
first moment; they stay.

Releases (`releases/*.toml` say all of it, each with its evidence)
--------
6.5            evidence for objects, counters, order, decimals and world ids: a capture of all counters. With all
               counters the A/MPERF cells are broken as that release breaks them: `   -` in the header and `    73.1`
               in rows, unquoted, without the comma that should follow
6.0            evidence: first world id, groups 1:idle and 2:system, a comma at the end of every line
5.0, 5.1, 5.5  evidence: header cells of NFS volumes, virtual disks, groups and ports of some 5.x
4.1            evidence: lists of the counters of Memory (duplicate names and all) and Group Cpu, Interrupt Vector
6.7 (default)  evidence: world ids, the name `% of aperf/mperf`
7.0            evidence: a counter `Exclusive Affinity` that holds texts
8.0, 4.0, 3.5  assumption, but for what VMware's texts say of worlds in 3.5

Assumptions
-----------
* Which counters are default fields (`-b` without `-a`): general knowledge. That every line then ends in a comma is
  evidence; with `-a` too it is assumed for the releases up to 6.0.
* The place of Numa Node, NFS volumes and roles of VSAN among the objects, and most counters of the roles.
* A bias other than UTC (`utc_offset`), as resxtop on Windows might print it: `(Pacific Daylight Time)(420)`, times
  local, local time + bias = UTC. esxtop itself always writes UTC.
* What the host is called in the paths: the scenario's name for it; captures with a short name, an address or
  `localhost` are known, see `host`.
"""

from __future__ import annotations

import bz2
import gzip
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import IO, TypedDict, Unpack, cast

from esxparse.errors import EsxparseError
from esxparse.whole import whole_file
from esxparse_simulator.esxtop.cells import joined, lines
from esxparse_simulator.esxtop.columns import Block, blocks
from esxparse_simulator.esxtop.groups import groups_of
from esxparse_simulator.esxtop.releases import release_of
from esxparse_simulator.esxtop.rows import Rows
from esxparse_simulator.model.engine import Capture
from esxparse_simulator.model.sums import Numbers

_BROKEN_NAME = b"   -"
_FOREVER = 24 * 60  # minutes: no zone is further from UTC


def put(path: Path, parts: Iterable[bytes]) -> int:
    """Writes `parts`, compressed where the name ends in .gz or .bz2; gives their size before that."""
    with whole_file(path) as file, ExitStack() as stack:
        out: IO[bytes] = file
        if path.suffix == ".gz":
            # without name and time in it, so that the same parts give the same bytes
            out = cast("IO[bytes]", stack.enter_context(gzip.GzipFile("", "wb", 6, out, mtime=0)))
        elif path.suffix == ".bz2":
            out = stack.enter_context(bz2.open(out, "wb"))
        return sum(out.write(part) for part in parts)


class How(TypedDict, total=False):
    """What is written of a capture; see `esxtop_lines`."""

    release: str
    all_counters: bool
    only: Sequence[str] | None
    host: str | None
    utc_offset: int
    zone: str | None


def write_esxtop(target: str | os.PathLike[str] | IO[bytes], capture: Capture, **how: Unpack[How]) -> int:
    """Write `capture` to a path or to an open binary handle; gives the number of bytes of the capture.

    A path is written beside and moved into place when complete, so that nobody meets half a file; one that ends in
    `.gz` or `.bz2` is compressed. See `esxtop_lines` for the other arguments.

    Raises:
        EsxparseError: what `esxtop_lines` refuses, or a path that cannot be written.
    """
    made = esxtop_lines(capture, **how)
    if not isinstance(target, str | os.PathLike):
        return sum(target.write(line) for line in made)
    path = Path(target)
    try:
        return put(path, made)
    except OSError as error:
        message = f"cannot write {path}: {error.strerror}. Check that the folder is there and may be written."
        raise EsxparseError(message) from error


def esxtop_lines(
    capture: Capture,
    *,
    release: str = "6.7",
    all_counters: bool = True,
    only: Sequence[str] | None = None,
    host: str | None = None,
    utc_offset: int = 0,
    zone: str | None = None,
) -> Iterator[bytes]:
    r"""The lines of the file, header first, each with its newline.

    Args:
        capture: What to write.
        release: Whose grammar, as `release_names` lists them.
        all_counters: As `-a` does; else the default fields.
        only: Objects (`Group Cpu`), counters (`% Ready`) or `object(instance)\counter` to write, `*` for any text.
        host: What the host is called in the paths (the scenario's name for it).
        utc_offset: Minutes that the printed times are ahead of UTC; the header has the bias, its negative.
        zone: What the header calls the zone.

    Raises:
        EsxparseError: a release there is no grammar for, or `only` names what the capture does not have.
    """
    how = release_of(release)
    first = _first_cell(utc_offset, zone)
    groups = groups_of(capture.layout, how)
    columns = blocks(capture.layout, how, groups, all_counters=all_counters, only=only)
    numbers = Rows(capture.layout, groups, columns)
    comma = how.end_comma == "always" or (how.end_comma == "default" and not all_counters)
    end = b",\n" if comma else b"\n"
    yield _header(first, host or capture.scenario.host.name, columns) + end

    def rows() -> Iterator[tuple[bytes, Numbers]]:
        for now in capture:
            moment = (now.time + timedelta(minutes=utc_offset)).strftime("%m/%d/%Y %H:%M:%S")
            yield moment.encode(), numbers(now)

    yield from lines([counter for block in columns for counter in block.counters], rows(), end)


def _first_cell(utc_offset: int, zone: str | None) -> bytes:
    if abs(utc_offset) >= _FOREVER:
        message = f"utc_offset is {utc_offset} minutes. Give less than a day, as -420 for seven hours behind UTC."
        raise EsxparseError(message)
    hours, minutes = divmod(abs(utc_offset), 60)
    sign = "-" if utc_offset < 0 else "+"
    name = zone or (f"UTC{sign}{hours:02}:{minutes:02}" if utc_offset else "UTC")
    return f"(PDH-CSV 4.0) ({name})({-utc_offset})".encode()


def _header(first: bytes, host: str, columns: Sequence[Block]) -> bytes:
    cells, broken = [first], []
    for block in columns:
        head = f"\\\\{host}\\{block.head}\\"
        for counter in block.counters:
            if counter.kind == "broken":
                broken.append(len(cells))
            cells.append(_BROKEN_NAME if counter.kind == "broken" else f"{head}{counter.name}".encode())
    return joined(cells, broken)
