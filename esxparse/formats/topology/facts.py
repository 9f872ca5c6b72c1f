"""What the readers of topology share: lists of CPUs, sizes, tables of facts, and the keys of `meta`.

`meta` of each holds what is known of these: `sockets`, `cores` and `threads` (of the whole machine), `numa_nodes`,
`mhz`, `memory_bytes`, `model`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from esxparse.formats.kit.tables import schema

if TYPE_CHECKING:
    from collections.abc import Sequence

_FACTS = schema("section key value str")
_MOST_CPUS = 1 << 16

_RANGE = re.compile(r"(\d{1,7})(?:-(\d{1,7})(?::(\d{1,5}))?)?")
_NOMINAL = re.compile(r"@\s*([\d.]+)\s*([GM])Hz", re.IGNORECASE)


def cpu_list(text: str) -> list[int] | None:
    """The CPUs of a list as Linux writes it; None where it is none.

    >>> cpu_list("0-2,8"), cpu_list("0-6:2"), cpu_list(""), cpu_list("all")
    ([0, 1, 2, 8], [0, 2, 4, 6], [], None)
    """
    cpus: list[int] = []
    for part in text.replace(" ", ",").split(","):
        if not part:
            continue
        found = _RANGE.fullmatch(part)
        if found is None or int(found[2] or found[1]) > _MOST_CPUS:
            return None
        cpus += range(int(found[1]), int(found[2] or found[1]) + 1, max(1, int(found[3] or 1)))
    return cpus


def nominal_mhz(model: str | None) -> float | None:
    """The frequency in the name of a processor, MHz.

    >>> nominal_mhz("Intel(R) Xeon(R) CPU X5670 @ 2.93GHz"), nominal_mhz("AMD EPYC 7543")
    (2930.0, None)
    """
    found = _NOMINAL.search(model or "")
    if found is None:
        return None
    try:
        return round(float(found[1]) * (1000 if found[2] in "Gg" else 1), 3)
    except ValueError:
        return None


def facts(rows: Sequence[tuple[str | None, str, str]]) -> pl.LazyFrame:
    """A table of facts, as printed."""
    return pl.DataFrame(list(rows), schema=_FACTS, orient="row").lazy()
