"""What the readers of topology share: the nominal frequency, and the keys of `meta`.

`meta` of each holds what is known of these: `sockets`, `cores` and `threads` (of the whole machine), `numa_nodes`,
`mhz`, `memory_bytes`, `model`.
"""

from __future__ import annotations

import re

_NOMINAL = re.compile(r"@\s*([\d.]+)\s*([GM])Hz", re.IGNORECASE)


def nominal_mhz(model: str | None) -> float | None:
    """The frequency in the name of a processor, MHz.

    >>> nominal_mhz("Intel(R) Xeon(R) CPU X5670 @ 2.93GHz"), nominal_mhz("AMD EPYC 7543")
    (2930.0, None)
    """
    if (found := _NOMINAL.search(model or "")) is None:
        return None
    try:
        return round(float(found[1]) * (1000 if found[2] in "Gg" else 1), 3)
    except ValueError:
        return None
