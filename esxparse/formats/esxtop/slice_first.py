"""First samples of a slice: its reader is to find disks measured where they were, and not where they were not.

A slice may begin later than its capture, or keep disks that did nothing in its first sample while others did: its
reader would take such a sample for one that was not measured, so the header says that it goes on (`header.CONTINUED`).
And where esxtop was started again, the header that stands there is kept if the disks after it were not measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from esxparse.formats.esxtop import first_sample
from esxparse.formats.esxtop.header import CONTINUED
from esxparse.formats.esxtop.slice_header import header_line
from esxparse.recording import Note

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from esxparse.formats.esxtop.header import Header
    from esxparse.formats.esxtop.layout import Layout

    Integers = NDArray[np.int64]


class Headers:
    """Gives the header that has to stand before a sample of a slice."""

    def __init__(self, line: bytes, parsed: Header, laid_out: Layout, kept: Integers) -> None:
        self.line = line
        self.parsed = parsed
        self.kept = kept
        self.rates = first_sample.rate_cells(laid_out)
        self.kept_rates = np.full(len(self.rates), -1, dtype=np.int64)
        self.kept_rates[kept + 1] = self.rates[kept + 1]
        self.header = b""
        self.notes: list[Note] = []

    def before(self, row: bytes, line: int, *, first: bool) -> bytes:
        """What is written before a row (on that line of the capture), `first` after a header: a header, or nothing."""
        if self.header and not first:
            return b""
        at_rest = first_sample.all_zero(row, self.kept_rates)
        unmeasured = first and at_rest and first_sample.all_zero(row, self.rates)
        if self.header:
            return self.header if unmeasured else b""
        goes_on = at_rest and not unmeasured
        if goes_on:
            message = "disks did nothing in the first sample that is kept: the header says that it goes on"
            self.notes.append(Note(f"{message} ({CONTINUED.strip(', ')})", line=line, column=1))
        self.header = header_line(self.line, self.parsed, self.kept, continued=goes_on) + b"\n"
        return self.header
