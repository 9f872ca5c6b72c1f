"""The look of every chart: one palette with a light and a dark face, one altair theme.

A chart is built with the light colours. The HTML export replaces each by the CSS variable of the same role
(`css_variables`), so that one chart follows the reader's colour scheme and always prints in the light one.
The series colours differ in hue and lightness for readers with colour vision deficiency, and each keeps a contrast of
at least 3:1 to the page in both schemes (WCAG 2.2, 1.4.11; checked in the tests).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from esxparse import toml

if TYPE_CHECKING:
    import altair as alt


_ODD: Final = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff"
)
_NOT_DRAWN: Final = re.compile(f"[{_ODD}]")
"""Control characters, including the ones that reverse the text behind them."""
_NOT_DRAWN_IN_JSON: Final = re.compile(rf"\\\\|\\u(?:00[01][0-9a-f])|[{_ODD}]")
"""The same in a text of JSON, in which some are escaped; a backslash that is itself escaped begins no escape."""


class Shade(NamedTuple):
    """A colour of one role on a light page and on a dark one."""

    light: str
    dark: str


_LOOK: Final = toml.beside(__file__)
SERIES: Final = {name: Shade(*shades) for name, shades in _LOOK["series"].items()}
"""Colours of series, in the order of their use."""
ROLES: Final = {name: Shade(*shades) for name, shades in _LOOK["roles"].items()}
"""Colours of everything else: text, axes, thresholds, and `rest` for anything grouped together or free."""
HEAT: Final = tuple(Shade(*shades) for shades in _LOOK["heat"]["steps"])
"""Steps of a heat map, from idle to saturated."""

LAB_MIME: Final = "application/vnd.vegalite.v5+json"
LAB_WIDTH: Final = 720
LAB_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v5.json"
_DIGITS: Final = 12
"""Significant digits of numbers in a chart for JupyterLab."""
_PICTURE_PPI: Final = 108
"""Pixels per inch of a picture in a notebook; its charts have 72. Sharp enough when printed."""


def css_variables() -> dict[str, tuple[str, Shade]]:
    """Return light colour -> (name of its CSS variable, its two shades): the replacements of the HTML export."""
    shades = {**SERIES, **ROLES, **{f"heat-{step}": shade for step, shade in enumerate(HEAT)}}
    return {shade.light: (f"--{name}", shade) for name, shade in shades.items()}


def palette(dark: str = "@media screen and (prefers-color-scheme:dark){{{0}}}", root: str = ":root") -> str:
    """Return both schemes' colours as CSS variables of the elements `root`; `dark` is the condition for dark."""
    shades = css_variables().values()
    light = "".join(f"{name}:{shade.light};" for name, shade in shades)
    night = "".join(f"{name}:{shade.dark};" for name, shade in shades)
    return f"{root}{{{light}}}\n{dark.format(f'{root}{{{night}}}')}\n"


def colours(count: int) -> list[str]:
    """Return the first `count` series colours, starting again if there are more series than colours."""
    palette = [shade.light for shade in SERIES.values()]
    return [palette[place % len(palette)] for place in range(count)]


def colour(name: str) -> str:
    """Return one colour by its name in `SERIES` or `ROLES`."""
    return (SERIES.get(name) or ROLES[name]).light


def _theme() -> alt.theme.ThemeConfig:
    config: Any = _coloured(_LOOK["config"])
    # TOML has no null.
    config["view"] = {"stroke": None, **config["view"]}
    config["range"] = {"category": colours(len(SERIES))}
    return {"config": config}


def _coloured(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings with colours in place of the names of roles."""
    made = {}
    for key, value in settings.items():
        is_colour = key == "background" or key.lower().endswith("color")
        made[key] = _coloured(value) if isinstance(value, dict) else colour(value) if is_colour else value
    return made


def drawable(part: Any) -> Any:
    r"""Return a chart, or a part of one, without control characters, such as U+0007 or U+202E in the name of a VM.

    The converter to pictures aborts the process on most of them, and with it the kernel of a notebook.

    >>> drawable({"title": "web\x07", "data": [1, None]})
    {'title': 'web\ufffd', 'data': [1, None]}
    """
    if isinstance(part, str):
        return _NOT_DRAWN.sub("\ufffd", part)
    if isinstance(part, dict):
        return {drawable(key): drawable(value) for key, value in part.items()}
    return [drawable(one) for one in part] if isinstance(part, (list, tuple)) else part


def drawable_json(text: str) -> str:
    r"""Return the JSON of a chart as `drawable` would return the chart: much faster.

    >>> drawable_json('{"title": "web\\u0007 \u202e C:\\\\u0007"}')
    '{"title": "web� � C:\\\\u0007"}'
    """
    return _NOT_DRAWN_IN_JSON.sub(lambda found: found[0] if found[0] == r"\\" else "\ufffd", text)


def use() -> None:
    """Draw every altair chart of this process in the look of the reports."""
    import altair as alt  # noqa: PLC0415 - the colours are there without it
    from altair.vegalite.v6.display import png_renderer, svg_renderer  # noqa: PLC0415

    alt.theme.register("esxparse", enable=True)(_theme)
    alt.renderers.register("png", lambda spec, **options: png_renderer(drawable(spec), **options))
    alt.renderers.register("svg", lambda spec, **options: svg_renderer(drawable(spec), **options))
    if alt.renderers.active == "default":
        # Altair's own renderer loads its runtime from another server; JupyterLab has one.
        alt.renderers.register("esxparse-lab", _for_jupyterlab)
        alt.renderers.enable("esxparse-lab")


def _for_jupyterlab(spec: dict[str, Any], **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a chart as JupyterLab draws it by itself, and a picture of it for nbconvert and other viewers.

    JupyterLab draws Vega-Lite 5; our charts use nothing that differs in 6. A chart as wide as its container would grow
    without end in JupyterLab, because the container grows with it.
    """
    from altair.vegalite.v6.display import png_renderer  # noqa: PLC0415

    # Sums in polars differ in their last digits from run to run; a stored notebook should not.
    exact = json.loads(drawable_json(json.dumps(spec)), parse_float=lambda text: float(f"{float(text):.{_DIGITS}g}"))
    fixed = {key: value for key, value in exact.items() if key != "autosize"}
    if fixed.get("width") == "container":
        fixed["width"] = LAB_WIDTH
    made: Any = png_renderer(fixed, ppi=_PICTURE_PPI)
    picture, size = made
    words = {"text/plain": str(spec.get("description", "chart"))}
    return {LAB_MIME: fixed | {"$schema": LAB_SCHEMA}, **picture, **words}, size
