"""What the readers of topology share: lists of CPUs, sizes, tables of facts, and the keys of `meta`.

`meta` of each holds what is known of these: `sockets`, `cores` and `threads` (of the whole machine), `numa_nodes`,
`mhz`, `memory_bytes`, `model`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl

from esxparse.formats.kit.tables import schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FACTS = schema("section key value str")
LARGEST = (1 << 63) - 1
_MOST_CPUS = 1 << 16

_RANGE = re.compile(r"(\d{1,7})(?:-(\d{1,7})(?::(\d{1,5}))?)?")
_SIZE = re.compile(r"([\d.,]+)\s*([KMGT]?)(i?B|B)?(?:yte[s]?)?", re.IGNORECASE)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_NOMINAL = re.compile(r"@\s*([\d.]+)\s*([GM])Hz", re.IGNORECASE)


def whole(text: object, base: int = 10) -> int | None:
    """A whole number that fits a table, or None; base 0 reads 0x1f.

    >>> whole(" 12 "), whole("0x1f", 0), whole("many"), whole("9" * 30)
    (12, 31, None, None)
    """
    try:
        value = int(str(text).strip()[:64], base)
    except ValueError:
        return None
    return value if -LARGEST <= value <= LARGEST else None


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


def size_bytes(text: str) -> int | None:
    """Bytes of a size as lscpu and cpuinfo write it, in powers of 1024.

    >>> size_bytes("32K"), size_bytes("1.5 MiB (4 instances)"), size_bytes("6144 KB"), size_bytes("?")
    (32768, 1572864, 6291456, None)
    """
    found = _SIZE.match(text.strip())
    if found is None:
        return None
    try:
        value = float(found[1].replace(",", ".")) * 1024 ** _POWERS[found[2].upper()]
    except ValueError:
        return None
    return round(value) if value <= LARGEST else None


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


def known(meta: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of it."""
    return {key: value for key, value in meta.items() if value is not None}


def facts(rows: Sequence[tuple[str | None, str, str]]) -> pl.LazyFrame:
    """A table of facts, as printed."""
    return pl.DataFrame(list(rows), schema=FACTS, orient="row").lazy()


def distinct(values: Iterable[Any]) -> int | None:
    """How many different ones there are; None where one of them is not known."""
    found = set(values)
    return None if None in found or not found else len(found)
