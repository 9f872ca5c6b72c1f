"""Units of power in the titles and cells of a table."""

from __future__ import annotations

import re
from typing import Final

from esxparse.errors import EsxparseError

_FACTORS: Final = {
    "": 1.0,
    "k": 1e3,
    "K": 1e3,
    "h": 100.0,
    "m": 1e-3,
    "kilo": 1e3,
    "hecto": 100.0,
    "milli": 1e-3,
    "mega": 1e6,
}
_IN_TITLE: Final = re.compile(
    r"(?:^|[\s_(\[./-])(?P<prefix>[kKhmM]?)[wW](?:atts?)?(?=$|[\s_)\].,/-])"
    r"|(?P<word>(?i:kilo|hecto|milli|mega))(?i:watts?)"
)
_IN_CELL: Final = re.compile(r"(?<![A-Za-z])(?P<prefix>[kKhmM]?)[wW](?:atts?)?$")
_SMALL_MW: Final = re.compile(r"(?:\b|_)mw(?:\b|_)")


def bare(cell: str) -> str:
    """Return a cell without the unit after its number."""
    return _IN_CELL.sub("", cell.strip()).rstrip()


def unit_of_title(title: str) -> float | None:
    """Return the watts per unit of a column, by the last unit in its title; None if the title has no unit.

    >>> unit_of_title("Outlet 1 Power (kW)"), unit_of_title("power_mW"), unit_of_title("Power")
    (1000.0, 0.001, None)
    """
    return _factor(max(_IN_TITLE.finditer(title), key=lambda found: found.start(), default=None), title)


def unit_of_cell(cell: str) -> float | None:
    """Return the watts per unit that a cell names after its number; None if it names none."""
    return _factor(_IN_CELL.search(cell.strip()), cell)


def is_small_mw(title: str) -> bool:
    """Return whether a title has `mw`, which software writes for milliwatts."""
    return _SMALL_MW.search(title) is not None


def _factor(found: re.Match[str] | None, text: str) -> float | None:
    """Return the watts per unit.

    Raises:
        EsxparseError: The unit may be megawatts or milliwatts.
    """
    if found is None:
        return None
    unit = found.groupdict()
    prefix = (unit.get("word") or "").lower() or unit["prefix"] or ""
    if prefix == "M":
        raise EsxparseError(f"{text!r} may be megawatts or milliwatts: write mW, W or kW in the file")
    return _FACTORS[prefix]
