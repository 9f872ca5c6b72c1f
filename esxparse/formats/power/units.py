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
_OTHER: Final = re.compile(
    r"[(\[]\s*(?P<symbol>m?A|[kM]?VA|[kM]?[Vv]ar|m?V|Hz|hp|PS|%|°?[CF]|k?J|[kM]?Wh)\s*[)\]]"
    r"|(?<![A-Za-z])(?P<word>(?i:amps?|amperes?|volts?|btus?(?:/?h(?:r|our)?)?|dbm|joules?|hertz))(?![A-Za-z])"
)
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


def other_unit(title: str) -> str | None:
    """Return the unit in a title if it is not one of power.

    >>> other_unit("Power (Amps)"), other_unit("Outlet A power [W]"), other_unit("Power A"), other_unit("Load (VA)")
    ('Amps', None, None, 'VA')
    """
    found = _OTHER.search(title)
    return found["symbol"] or found["word"] if found and unit_of_title(title) is None else None


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
