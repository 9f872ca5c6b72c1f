"""Units of power in the titles and cells of a table."""

from __future__ import annotations

import re
from typing import Final

from esxparse.errors import EsxparseError
from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.tables import data

_PATTERNS: Final = kinds(__file__, "patterns")
_FACTORS: Final[dict[str, float]] = data(__file__)["factors"]


def bare(cell: str) -> str:
    """Return a cell without the unit after its number."""
    return _PATTERNS["in_cell"].sub("", cell.strip()).rstrip()


def unit_of_title(title: str) -> float | None:
    """Return the watts per unit of a column, by the last unit in its title; None if the title has no unit.

    >>> unit_of_title("Outlet 1 Power (kW)"), unit_of_title("power_mW"), unit_of_title("Power")
    (1000.0, 0.001, None)
    """
    return _factor(max(_PATTERNS["in_title"].finditer(title), key=lambda found: found.start(), default=None), title)


def other_unit(title: str) -> str | None:
    """Return the unit in a title if it is not one of power.

    >>> other_unit("Power (Amps)"), other_unit("Outlet A power [W]"), other_unit("Power A"), other_unit("Load (VA)")
    ('Amps', None, None, 'VA')
    """
    found = _PATTERNS["other"].search(title)
    return found["symbol"] or found["word"] if found and unit_of_title(title) is None else None


def unit_of_cell(cell: str) -> float | None:
    """Return the watts per unit of the unit after a cell's number; None without a unit."""
    return _factor(_PATTERNS["in_cell"].search(cell.strip()), cell)


def is_small_mw(title: str) -> bool:
    """Return whether a title has `mw`, as software writes milliwatts."""
    return _PATTERNS["small_mw"].search(title) is not None


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
