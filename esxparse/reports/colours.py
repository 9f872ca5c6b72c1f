"""One colour for each name on a page: objects of findings stand out in every chart.

Charts are made one by one, each with its own colours. Together on a page, a VM must not be blue in one and orange in
the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from esxparse.charts.theme import SERIES, colour

_STRONG: Final = 2.8
_PLAIN: Final = 1.3


def settle(specs: Sequence[dict[str, Any]]) -> None:
    """Give each name its colour in all of `specs`, in place: first the objects of findings, in wider lines.

    `specs`: Vega-Lite specifications with light colours. Names are the column `full` beside the labels of a scale.
    Grey stays grey, except for objects of findings.
    """
    palette = [shade.light for shade in SERIES.values()]
    faults = list(dict.fromkeys(name for spec in specs for name in _fault(spec)))
    known = {name: palette[place % len(palette)] for place, name in enumerate(faults)}
    free = [*palette[len(faults) :], *palette]
    series: dict[str, str] = {}
    for spec in specs:
        names = _names(spec)
        if not names:
            _keep(spec, series)
        # In a chart of one finding, the objects of other findings do not stand out.
        strong = _fault(spec) or faults
        for unit in _coloured(spec) if names else ():
            scale = unit["encoding"]["color"]["scale"]
            scale["range"] = _range(scale, names, known, free, strong)
            if unit["mark"]["type"] == "line":
                _widen(unit, scale["domain"], [names.get(label) in strong for label in scale["domain"]])


def _fault(spec: dict[str, Any]) -> list[str]:
    """Return the names that the chart of a finding is about."""
    found: list[str] = spec.get("usermeta", {}).get("fault", [])
    return found


def _coloured(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the layers coloured by names."""
    for unit in spec.get("layer", [spec]):
        hue = unit.get("encoding", {}).get("color", {})
        if hue.get("field") == "label" and {"domain", "range"} <= (hue.get("scale") or {}).keys():
            yield unit


def _names(spec: dict[str, Any]) -> dict[str, str]:
    return {
        row["label"]: row["full"]
        for rows in spec.get("datasets", {}).values()
        for row in rows
        if "label" in row and "full" in row
    }


def _range(
    scale: dict[str, Any], names: dict[str, str], known: dict[str, str], free: list[str], faults: Sequence[str]
) -> list[str]:
    """Return the colours of a scale; adds new names to `known`."""
    made = dict(zip(scale["domain"], scale["range"], strict=True))
    grey = colour("rest")
    apart = {label for label in made if label in names and (made[label] != grey or names[label] in faults)}
    taken: set[str] = {hue for label, hue in made.items() if label not in apart}
    # Names with a colour come first, so that no new name takes it.
    for label in sorted(apart, key=lambda one: (names[one] not in known, scale["domain"].index(one))):
        wanted = known.get(names[label])
        if wanted is None or wanted in taken:
            wanted = next((hue for hue in free if hue not in taken), made[label])
        known.setdefault(names[label], wanted)
        made[label] = wanted
        taken.add(wanted)
    return [made[label] for label in scale["domain"]]


def _keep(spec: dict[str, Any], series: dict[str, str]) -> None:
    """Give labels that are not names of objects, such as the series of a study, the colour of earlier charts.

    `series`: the colour of each label; new labels are added. Scales with custom colours stay unchanged.
    """
    palette = [shade.light for shade in SERIES.values()]
    for unit in _coloured(spec):
        scale = unit["encoding"]["color"]["scale"]
        if not {*scale["range"]} <= {*palette, colour("rest")}:
            continue
        made: dict[str, str] = dict(zip(scale["domain"], scale["range"], strict=True))
        taken: set[str] = set()
        for label in sorted(made, key=lambda one: one not in series):
            if made[label] not in palette:
                continue
            hue: str = series.get(label, made[label])
            if hue in taken:
                hue = next((one for one in palette if one not in taken), hue)
            series.setdefault(label, hue)
            made[label] = hue
            taken.add(hue)
        scale["range"] = [made[label] for label in scale["domain"]]


def _widen(unit: dict[str, Any], domain: list[str], strong: list[bool]) -> None:
    if any(strong) and not all(strong):
        scale = {"domain": domain, "range": [_STRONG if one else _PLAIN for one in strong]}
        legend = unit["encoding"]["color"].get("legend", {})
        unit["encoding"]["strokeWidth"] = {"field": "label", "type": "ordinal", "legend": legend, "scale": scale}
