"""The areas of a host, and the area of each trouble and rule."""

from __future__ import annotations

from typing import Final

_WORDS: Final = {
    "CPU": "cpu interrupts guest",
    "Memory": "memory numa",
    "Storage": "storage adapter path world disk nfs vsan vdisk guest.io_burst",
    "Network": "network",
    "Power": "power",
    "Capture": "capture clock",
}
"""Areas with the names of their troubles and rules, or the first words of these names."""
AREAS: Final = tuple(_WORDS)
_AREA_OF: Final = {word: area for area, words in _WORDS.items() for word in words.split()}


def area_of(trouble: str) -> str | None:
    """Return the area of a trouble, None if it has none (`harmless.*`).

    >>> area_of("storage.queue_device"), area_of("harmless.turbo")
    ('Storage', None)
    """
    return _AREA_OF.get(trouble) or _AREA_OF.get(trouble.partition(".")[0])
