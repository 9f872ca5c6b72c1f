"""Charts as pictures, for forms without a browser."""

from __future__ import annotations

import base64
from typing import Any, Final

import vl_convert

from esxparse.charts.theme import drawable

_WIDTH: Final = 640
_ROOM: Final = 10
_SCALE: Final = 1.5


def svg(spec: dict[str, Any]) -> str:
    """Return a chart as SVG, without network access."""
    made: str = vl_convert.vegalite_to_svg(_sized(spec), allowed_base_urls=[])
    return made


def png(spec: dict[str, Any]) -> str:
    """Return a chart as PNG, in Base64, as in notebooks."""
    return base64.b64encode(vl_convert.vegalite_to_png(_sized(spec), scale=_SCALE, allowed_base_urls=[])).decode()


def _sized(spec: dict[str, Any]) -> dict[str, Any]:
    """Set a fixed width: there is no page to adapt to."""
    wide = {"width": _WIDTH} if spec.get("width") == "container" else {}
    return {**drawable(spec), **wide, "background": "white", "padding": _ROOM}
