"""The areas of a host, and which of them a trouble or a rule is about."""

from __future__ import annotations

from typing import Final

AREAS: Final = ("CPU", "Memory", "Storage", "Network", "Power", "Capture")

_AREA_OF: Final = {
    "cpu": "CPU",
    "interrupts": "CPU",
    "guest": "CPU",
    "guest.io_burst": "Storage",
    "memory": "Memory",
    "numa": "Memory",
    "storage": "Storage",
    "adapter": "Storage",
    "path": "Storage",
    "world": "Storage",
    "disk": "Storage",
    "nfs": "Storage",
    "vsan": "Storage",
    "vdisk": "Storage",
    "network": "Network",
    "power": "Power",
    "capture": "Capture",
    "clock": "Capture",
}
"""Areas by the name of a trouble or a rule, or its first word."""


def area_of(trouble: str) -> str | None:
    """The area of a trouble; None of what is in none (`harmless.*`).

    >>> area_of("storage.queue_device"), area_of("harmless.turbo")
    ('Storage', None)
    """
    return _AREA_OF.get(trouble) or _AREA_OF.get(trouble.partition(".")[0])
