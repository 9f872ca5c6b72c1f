"""Cells without a number: their meaning, and the notes on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from esxparse.counters.catalogue import lookup
from esxparse.counters.model import Counter
from esxparse.formats.esxtop.body import Body, Texts
from esxparse.formats.esxtop.grammar import kind_of, text_of
from esxparse.formats.esxtop.header import Header
from esxparse.formats.esxtop.layout import Layout
from esxparse.formats.esxtop.notes import Met
from esxparse.formats.esxtop.rows import Samples
from esxparse.formats.esxtop.scan import Flags, Integers
from esxparse.formats.esxtop.scan_twin import FLAGS
from esxparse.recording import Note, Severity, counted

_TEXT_UNITS = frozenset({"text", "id"})  # units of counters that are words, or lists of nodes
_KINDS = ("cut", "torn", "text")
_CUT, _TORN, _TEXT = range(len(_KINDS))
_LONGEST = 80  # bytes of a text in a message


@dataclass(frozen=True)
class Void:
    """Cells of a sample with numbers that must not be used, however they look."""

    sample: int
    start: int  # first cell of the row, the time stamp not counted
    stop: int  # cell after the last


@dataclass(frozen=True)
class OddCells:
    """The odd cells of the samples."""

    blank: Flags  # for each cell of a row: whether some sample has no number in it
    texts: Texts
    voids: Sequence[Void]
    notes: tuple[Note, ...]


def _sample_of(body: Body, samples: Samples) -> Integers:
    """Return the sample of each row, -1 if the row is not a sample."""
    sample_of = np.full(len(body.cells), -1, dtype=np.int64)
    sample_of[samples.keep] = np.arange(len(samples.keep))
    return sample_of


def texts_of(body: Body, samples: Samples) -> Texts:
    """Return the cells of the samples that hold neither a number nor a word for a missing one."""
    return body.odd.of(_sample_of(body, samples))


def _flags(texts: Texts, samples: int, header: Header, layout: Layout) -> Flags:
    """Return which texts are yes or no in a counter that has such answers; in others, such as rates, they are damage.

    A counter outside the catalogue has them if its name is a question, or if all its cells are such words.
    """
    words = np.array([word.strip(b" \t").lower() in FLAGS for word in texts.words], dtype=np.bool_)
    found = words[texts.word] if len(words) else np.zeros(len(texts.word), dtype=np.bool_)
    cells, counts = np.unique(texts.cell[found], return_counts=True)
    of_flags = np.zeros(len(layout.table), dtype=np.bool_)
    for cell, count in zip(cells.tolist(), counts.tolist(), strict=True):
        counter = _counter(layout, cell)
        if counter:
            of_flags[cell] = counter.unit == "flag"
        else:
            of_flags[cell] = header.counters[cell].endswith("?") or count == samples
    return found & of_flags[texts.cell]


def _counter(layout: Layout, cell: int) -> Counter | None:
    shape = layout.tables[layout.table[cell]]
    return lookup(shape.name, shape.columns[layout.column[cell]])


def odd_cells(
    body: Body, samples: Samples, strangers: Sequence[tuple[int, int]], layout: Layout, header: Header
) -> OddCells:
    """Return the odd cells of the samples; `strangers` are numbers written unlike their counter's."""
    last = len(layout.table) - 1
    sample_of = _sample_of(body, samples)
    found = body.odd.of(sample_of)
    flags = _flags(found, len(samples.keep), header, layout)
    answers, found = found.where(flags), found.where(~flags)
    kinds = np.array([_KINDS.index(kind_of(text)) for text in found.words], dtype=np.int64)
    kind = kinds[found.word] if len(kinds) else found.word
    # Only the end of a line leaves a cell open. Elsewhere an extra quote begins the cell.
    kind = np.where((kind == _CUT) & (found.cell < last), _TORN, kind)
    # No tool prints such a cell, so the row is useless from there on.
    torn: dict[int, tuple[int, bytes]] = {}
    others = [(int(sample_of[row]), place - 1, b"") for row, place in strangers]
    for sample, cell, word in sorted([*found.where(kind == _TORN).items(), *others], key=lambda one: one[:2]):
        if sample >= 0:
            torn.setdefault(sample, (cell, word))
    spoilt = np.full(len(samples.keep), last + 1, dtype=np.int64)
    spoilt[list(torn)] = [cell for cell, _ in torn.values()]
    texts = found.where((kind == _TEXT) & (found.cell < spoilt[found.sample]))
    cut = {sample: word for sample, _, word in found.where(kind == _CUT).items()}
    # A bare number at the end of a row without a line end may also be half a number.
    for sample in np.flatnonzero(np.isin(samples.keep, body.bare_ends)).tolist():
        cut.setdefault(sample, b'"')
    voids = [*(Void(sample, last, last + 1) for sample in cut), *(Void(n, torn[n][0], last + 1) for n in torn)]
    blank = body.blank[1:].astype(np.bool_)
    blank[found.cell] = True
    for void in voids:
        blank[void.start : void.stop] = True
    odd_notes = _OddNotes(header, layout, samples.lines)
    notes = [
        *odd_notes.absent(body, sample_of),
        *odd_notes.flags(answers),
        *odd_notes.texts(texts),
        *odd_notes.torn(torn),
    ]
    if cut:
        sample, word = next(iter(cut.items()))
        message = "not closed, perhaps cut in the middle of a number: null"
        notes.append(odd_notes.cells("warning", len(cut), message, (sample, last, word)))
    return OddCells(blank, texts, voids, tuple(notes))


@dataclass(frozen=True)
class _OddNotes:
    """Notes on odd cells."""

    header: Header
    layout: Layout
    lines: Integers

    def cells(self, severity: Severity, count: int, message: str, first: tuple[int, int, bytes]) -> Note:
        """Return the note on `count` cells; `first` is sample, cell and text of the first."""
        sample, cell, text = first
        example = f"(first {text_of(text[:_LONGEST])!r} in {self.header.path(cell)})"
        return self._note(severity, f"{counted(count, 'cell')} {message} {example}", sample, cell)

    def _note(self, severity: Severity, message: str, sample: int, cell: int) -> Note:
        return Note(message, line=int(self.lines[sample]), column=cell + 2, severity=severity)

    def absent(self, body: Body, sample_of: Integers) -> Iterator[Note]:
        """Yield the note on cells with a word for a missing number."""
        mine = [
            (count, (int(sample_of[row]), cell - 1, text))
            for row, count, cell, text in body.absent
            if sample_of[row] >= 0
        ]
        if mine:
            yield self.cells("warning", sum(count for count, _ in mine), "without a number: null", mine[0][1])

    def flags(self, flags: Texts) -> Iterator[Note]:
        """Yield the note on yes-or-no cells."""
        if len(flags.cell):
            message = "with yes or no in words: read as 1 and 0"
            yield self.cells("info", len(flags.cell), message, flags.items()[0])

    def texts(self, texts: Texts) -> Iterator[Note]:
        """Yield the notes on cells with text, with one for counters of texts and one for others."""
        kept = "kept in the column with _text after its name"
        of_texts = np.zeros(len(self.layout.table), dtype=np.bool_)
        for cell in set(texts.cell.tolist()):
            counter = _counter(self.layout, cell)
            of_texts[cell] = counter is not None and counter.unit in _TEXT_UNITS
        right, wrong = (texts.where(of_texts[texts.cell] == flag).items() for flag in (True, False))
        if right:
            yield self.cells("info", len(right), f"with text, as the counter has it: {kept}", right[0])
        if wrong:
            yield self.cells("warning", len(wrong), f"with text: null in the counter's column, {kept}", wrong[0])

    def torn(self, torn: Mapping[int, tuple[int, bytes]]) -> Iterator[Note]:
        """Yield the note on rows with lost bytes."""
        for sample, (cell, word) in list(torn.items())[:1]:
            how = f"reads {text_of(word[:_LONGEST])!r}" if word else "is not written like the others in its column"
            met = Met.of(self.lines[list(torn)])
            message = (
                f"{counted(len(torn), 'row')} with a cell that no tool prints, as where bytes were lost between two "
                f"samples: null from there to the row's end ({met}; first {self.header.path(cell)}, which {how})"
            )
            yield self._note("warning", message, sample, cell)
