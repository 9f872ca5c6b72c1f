"""Names of objects that lost letters: their tables are not where anybody looks for them."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from esxparse.counters.catalogue import objects
from esxparse.counters.naming import table_name
from esxparse.formats.esxtop.layout import Layout
from esxparse.recording import Note

_NEAR = 0.8


def mangled_names(layout: Layout) -> Iterator[Note]:
    """Warnings about objects that are nearly one of esxtop's, in a capture most objects of which are esxtop's.

    Windows has objects of its own, such as PhysicalDisk.
    """
    known = objects()
    strange = [shape for shape in layout.tables if shape.object not in known]
    if len(strange) * 2 >= len(layout.tables):
        return
    for shape in strange:
        for near in get_close_matches(shape.object, known, 1, _NEAR):
            message = (
                f"object {shape.object!r} is nearly {near!r}: if its name lost letters, the numbers in table "
                f"{shape.name} belong to table {table_name(near)}"
            )
            yield Note(message, severity="warning")
