"""Cells that hold no number: what they mean, and what is said of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from esxparse.recording import Note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esxparse.formats.esxtop.body import Body
    from esxparse.formats.esxtop.header import Header
    from esxparse.formats.esxtop.rows import Samples

Kind = Literal["flag", "absent", "cut", "text"]

_FLAGS = {"yes": 1.0, "y": 1.0, "true": 1.0, "on": 1.0, "no": 0.0, "n": 0.0, "false": 0.0, "off": 0.0}
_ABSENT = {"", "-", "n/a", "nan", "-nan", "inf", "-inf", "+inf", "infinity"}

_MESSAGES: dict[Kind, str] = {
    "flag": "yes and no in words: read as 1 and 0",
    "absent": "cells without a number: null",
    "cut": "cells that are not closed, cut perhaps in the middle of a number: null",
    "text": "cells with text: null in the counter's column, kept in the column with _text after its name",
}


@dataclass(frozen=True)
class OddCell:
    """A cell that is no number, in a row that is a sample."""

    sample: int
    """Place among the samples."""
    place: int
    """Cell of the row, the time stamp not counted."""
    text: str
    kind: Kind

    @property
    def flag(self) -> float | None:
        """1 or 0 where the text says yes or no."""
        return _FLAGS.get(self.text.lower())


def _kind(text: str) -> Kind:
    if text.lower() in _FLAGS:
        return "flag"
    if text.lower() in _ABSENT:
        return "absent"
    return "cut" if text.startswith('"') else "text"


def odd_cells(body: Body, samples: Samples) -> list[OddCell]:
    """The odd cells of the samples, in the order of the file."""
    if not body.odd:
        return []
    sample_of = np.full(len(body.cells), -1, dtype=np.int64)
    sample_of[samples.keep] = np.arange(len(samples.keep))
    cells = []
    for row, cell, raw in body.odd:
        if sample_of[row] >= 0:
            text = raw.decode("utf-8", errors="replace").strip()
            cells.append(OddCell(int(sample_of[row]), cell - 1, text, _kind(text)))
    return cells


def notes(cells: Sequence[OddCell], header: Header, samples: Samples) -> list[Note]:
    """One note for each kind of odd cell."""
    kinds: dict[Kind, list[OddCell]] = defaultdict(list)
    for cell in cells:
        kinds[cell.kind].append(cell)
    return [
        Note(
            f"{len(met):,} {_MESSAGES[kind]} (first {met[0].text!r} in {header.path(met[0].place)})",
            line=int(samples.lines[met[0].sample]),
            column=met[0].place + 2,
            severity="info" if kind == "flag" else "warning",
        )
        for kind, met in kinds.items()
    ]
