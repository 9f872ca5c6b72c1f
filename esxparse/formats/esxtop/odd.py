"""Cells that hold no number: what they mean, and the notes on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from esxparse.counters.catalogue import lookup
from esxparse.formats.esxtop.body import Texts
from esxparse.formats.esxtop.grammar import kind_of
from esxparse.formats.esxtop.notes import Met, counted
from esxparse.formats.esxtop.scan_twin import ABSENT, FLAG
from esxparse.recording import Note

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from esxparse.formats.esxtop.body import Body
    from esxparse.formats.esxtop.header import Header
    from esxparse.formats.esxtop.layout import Layout
    from esxparse.formats.esxtop.rows import Samples
    from esxparse.recording import Severity

    Integers = NDArray[np.int64]

_TEXT_UNITS = frozenset({"text", "id"})
"""Units of counters that are words, or lists of nodes."""
_KINDS = ("cut", "torn", "text")
_CUT, _TORN, _TEXT = range(len(_KINDS))
_LONGEST = 80
"""Bytes of a text in a message."""


@dataclass(frozen=True)
class Void:
    """Cells of a sample whose numbers are not to be used, whatever they look like."""

    sample: int
    start: int  # first cell of the row, the time stamp not counted
    stop: int  # cell after the last


@dataclass(frozen=True)
class OddCells:
    """All that is odd in the cells of the samples."""

    blank: NDArray[np.bool_]  # for each cell of a row whether it has no number in some sample
    texts: Texts
    voids: Sequence[Void]
    notes: tuple[Note, ...]


def odd_cells(
    body: Body, samples: Samples, strangers: Sequence[tuple[int, int]], layout: Layout, header: Header
) -> OddCells:
    """What is odd in the cells of the samples; `strangers` are the numbers not written as their counter is."""
    sample_of = np.full(len(body.cells), -1, dtype=np.int64)
    sample_of[samples.keep] = np.arange(len(samples.keep))
    found = body.odd.of(sample_of)
    kinds = np.array([_KINDS.index(kind_of(text)) for text in found.words], dtype=np.int64)
    kind = kinds[found.word] if len(kinds) else found.word
    # Nothing but the end of a line leaves a cell open: elsewhere a quote too many begins it.
    kind = np.where((kind == _CUT) & (found.cell < len(layout.table) - 1), _TORN, kind)
    torn = _torn(sample_of, layout, found.where(kind == _TORN), strangers)
    spoilt = np.full(len(samples.keep), len(layout.table), dtype=np.int64)
    for void in torn:
        spoilt[void.sample] = void.start
    texts = found.where((kind == _TEXT) & (found.cell < spoilt[found.sample]))
    cut = _with_bare_ends(found.where(kind == _CUT), body, samples, len(layout.table) - 1)
    cut_voids = [Void(sample, cell, cell + 1) for sample, cell in cut.places()]
    blank = body.blank[1:].astype(np.bool_)
    blank[found.cell] = True
    for void in (*cut_voids, *torn):
        blank[void.start : void.stop] = True
    said = _Said(header, layout, samples)
    notes = (
        *said.words(body, sample_of),
        *said.cells("warning", "not closed, cut perhaps in the middle of a number: null", cut),
        *said.texts(texts),
        *said.torn(torn, dict(zip(found.places(), found.word.tolist(), strict=True)), found.words),
    )
    return OddCells(blank, texts, (*cut_voids, *torn), notes)


def _with_bare_ends(cut: Texts, body: Body, samples: Samples, last: int) -> Texts:
    """The cells that may be half a number, those included that end bare where a line end is missing."""
    ends = np.flatnonzero(np.isin(samples.keep, body.bare_ends))
    ends = np.setdiff1d(ends, cut.sample)
    return Texts(
        np.append(cut.sample, ends),
        np.append(cut.cell, np.full(len(ends), last)),
        np.append(cut.word, np.full(len(ends), len(cut.words))),
        [*cut.words, b'"'],
    )


def _torn(sample_of: Integers, layout: Layout, texts: Texts, strangers: Sequence[tuple[int, int]]) -> list[Void]:
    """For each sample in which a cell stands that no tool prints: from the first such cell to its end."""
    first: dict[int, int] = {}
    others = [(int(sample_of[row]), place - 1) for row, place in strangers]
    for sample, cell in (*texts.places(), *others):
        if sample >= 0:
            first[sample] = min(cell, first.get(sample, cell))
    return [Void(sample, cell, len(layout.table)) for sample, cell in sorted(first.items())]


@dataclass(frozen=True)
class _Said:
    """What is said of odd cells."""

    header: Header
    layout: Layout
    samples: Samples

    def _note(self, severity: Severity, message: str, sample: int, cell: int) -> Note:
        line = int(self.samples.lines[sample])
        return Note(message, line=line, column=cell + 2, severity=severity)

    def words(self, body: Body, sample_of: Integers) -> Iterator[Note]:
        """The notes on cells without a number, and on yes and no."""
        messages = {ABSENT: "without a number: null", FLAG: "with yes or no in words: read as 1 and 0"}
        for kind, message in messages.items():
            mine = [(count, row, cell, text) for row, of, count, cell, text in body.words if of == kind]
            mine = [word for word in mine if sample_of[word[1]] >= 0]
            if mine:
                _, row, cell, text = mine[0]
                count = counted(sum(word[0] for word in mine), "cell")
                shown = f"{count} {message} (first {_shown(text)!r} in {self.header.path(cell - 1)})"
                yield self._note("info" if kind == FLAG else "warning", shown, int(sample_of[row]), cell - 1)

    def cells(self, severity: Severity, message: str, texts: Texts) -> Iterator[Note]:
        """The note on these cells."""
        if len(texts.cell):
            cell = int(texts.cell[0])
            shown = texts.words[texts.word[0]].decode("utf-8", errors="replace").strip()
            first = f"(first {shown!r} in {self.header.path(cell)})"
            yield self._note(
                severity, f"{counted(len(texts.cell), 'cell')} {message} {first}", int(texts.sample[0]), cell
            )

    def texts(self, texts: Texts) -> Iterator[Note]:
        """The notes on cells with text, those where the counter is one of texts apart."""
        kept = "kept in the column with _text after its name"
        of_texts = np.zeros(len(self.layout.table), dtype=np.bool_)
        for cell in np.unique(texts.cell).tolist():
            shape = self.layout.tables[self.layout.table[cell]]
            counter = lookup(shape.name, shape.columns[self.layout.column[cell]])
            of_texts[cell] = counter is not None and counter.unit in _TEXT_UNITS
        right = of_texts[texts.cell]
        yield from self.cells("info", f"with text, as the counter has it: {kept}", texts.where(right))
        yield from self.cells("warning", f"with text: null in the counter's column, {kept}", texts.where(~right))

    def torn(
        self, voids: Sequence[Void], words: Mapping[tuple[int, int], int], known: Sequence[bytes]
    ) -> Iterator[Note]:
        """The note on rows in which bytes were lost."""
        if not voids:
            return
        first = voids[0]
        word = words.get((first.sample, first.start))
        how = "is not written as the others of its column" if word is None else f"reads {_shown(known[word])!r}"
        met = Met.of(self.samples.lines[[void.sample for void in voids]])
        message = (
            f"{counted(len(voids), 'row')} with a cell that no tool prints, as where bytes were lost between two "
            f"samples: null from there to the row's end ({met}; first {self.header.path(first.start)}, which {how})"
        )
        yield self._note("warning", message, first.sample, first.start)


def _shown(text: bytes) -> str:
    return text[:_LONGEST].decode("utf-8", errors="replace").strip()
