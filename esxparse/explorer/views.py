"""Views of the explorer as plain values: their checks, the presets, and the page of an object."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, get_args

from esxparse import toml
from esxparse.errors import EsxparseError, check_known, choose_from
from esxparse.explorer.counter_columns import find
from esxparse.explorer.objects import KINDS, Objects
from esxparse.explorer.panel import Align
from esxparse.recording import Recording

_VIEW: Final = ("panels", "range", "notes", "smooth", "normalise", "difference", "object")


def check(align: str, view: dict[str, Any]) -> None:
    """Check a view.

    Raises EsxparseError: `align` or a key of the view is unknown.
    """
    check_known("align", align, get_args(Align))
    for key in view:
        if key not in _VIEW:
            raise EsxparseError(f"a view has no {key!r}: {choose_from(key, _VIEW)}")


def plain(rec: Recording, view: dict[str, Any]) -> dict[str, Any]:
    """Return the view as the page has it: each panel has its table, and times are milliseconds."""
    made = dict(view)
    if view.get("panels"):
        made["panels"] = [_named_panel(rec, one) for one in view["panels"]]
    if view.get("range"):
        try:
            start, end = (one.timestamp() * 1000 if isinstance(one, datetime) else float(one) for one in view["range"])
        except (TypeError, ValueError):
            raise EsxparseError(f"the range of a view is two times, not {view['range']!r}") from None
        made["range"] = [start, end]
    return made


def _named_panel(rec: Recording, one: Any) -> dict[str, Any]:
    if not isinstance(one, dict) or "counter" not in one:
        raise EsxparseError(f'a panel of a view is {{"counter": NAME}}, perhaps with "table", not {one!r}')
    return one if "table" in one else {**one, "table": find(rec, one["counter"]).table}


def of_object(objects: Objects, wanted: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the view on the page of an object; empty if no object is set.

    `wanted`: by kind ("vm", "device", "uplink") the name of the object.

    Raises EsxparseError: More than one is set, or there is no such object.
    """
    chosen = {kind: name for kind, name in wanted.items() if name is not None}
    if not chosen:
        return {}
    if len(chosen) > 1:
        raise EsxparseError(f"one page at a time: give one of {', '.join(KINDS)}, not {' and '.join(chosen)}")
    ((kind, name),) = chosen.items()
    return {"object": {"kind": kind, "name": name}, "panels": objects.page(kind, name)["panels"]}


def presets(rec: Recording) -> list[dict[str, Any]]:
    """Return the presets, without the panels whose counters the recording does not have."""
    made = []
    for one in toml.beside(__file__, "presets.toml")["preset"]:
        panels = [each for each in one["panels"] if has(rec, each)]
        if panels:
            made.append({"name": one["name"], "panels": panels})
    return made


def has(rec: Recording, one: dict[str, str]) -> bool:
    """Return whether the recording has the counter of a panel."""
    if one["table"] not in (*rec, *rec.derived):
        return False
    try:
        return find(rec, one["counter"], one["table"]) is not None
    except EsxparseError:
        return False
