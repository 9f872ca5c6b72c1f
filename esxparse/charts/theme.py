"""The look of every chart: one palette with a light and a dark face, one altair theme.

A chart is built with the light colours. The HTML export replaces each of them by the CSS variable of the same role
(`css_variables`), so that one chart follows the reader's colour scheme and always prints in the light one.
The series colours differ in hue and lightness for readers with colour vision deficiency, and each keeps a contrast of
at least 3:1 to the page in both schemes (WCAG 2.2, 1.4.11; checked in the tests).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    import altair as alt


_ODD: Final = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff"
)
_NOT_DRAWN: Final = re.compile(f"[{_ODD}]")
"""Control characters, and those that turn around the text behind them."""
_NOT_DRAWN_IN_JSON: Final = re.compile(rf"\\\\|\\u(?:00[01][0-9a-f])|[{_ODD}]")
"""The same in a text of JSON, where some are escaped; a backslash that is itself escaped begins no escape."""


class Shade(NamedTuple):
    """A colour of one role on a light page and on a dark one."""

    light: str
    dark: str


SERIES: Final[dict[str, Shade]] = {
    "blue": Shade("#2a6fb8", "#74b0f2"),
    "orange": Shade("#c2570c", "#f59a55"),
    "teal": Shade("#0f9680", "#49e0c4"),
    "wine": Shade("#84122e", "#f34c73"),
    "sky": Shade("#3a96b2", "#4ea5b0"),
    "plum": Shade("#663466", "#e7c3ee"),
    "sand": Shade("#978a50", "#f7d33a"),
    "navy": Shade("#1c3db5", "#7a78f5"),
}
"""Colours of series, in the order they are given out."""

ROLES: Final[dict[str, Shade]] = {
    "page": Shade("#ffffff", "#14181d"),
    "ink": Shade("#1c232b", "#e8ecf1"),
    "muted": Shade("#57626f", "#a3afbc"),
    "axis": Shade("#c3cad2", "#4a5561"),
    "grid": Shade("#e6e9ed", "#2a3139"),
    "warn": Shade("#a15c00", "#f0b13c"),
    "critical": Shade("#c01c28", "#ff7b7b"),
    "rest": Shade("#7a8594", "#87929f"),
}
"""Colours of everything else: text, axes, thresholds, and `rest` for what is grouped together or free."""

HEAT: Final[tuple[Shade, ...]] = (
    Shade("#eef3f8", "#1d2530"),
    Shade("#c6dbef", "#24405c"),
    Shade("#8fbfe0", "#2d618f"),
    Shade("#4d94c7", "#3f8ac4"),
    Shade("#f0a35e", "#e0873a"),
    Shade("#b8441f", "#ffb07c"),
)
"""Steps of a heat map, from idle to saturated."""

LAB_MIME: Final = "application/vnd.vegalite.v5+json"
LAB_WIDTH: Final = 720
LAB_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v5.json"

FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"


def css_variables() -> dict[str, tuple[str, Shade]]:
    """Light colour -> (name of its CSS variable, its two shades): what the HTML export replaces."""
    named = {**SERIES, **ROLES, **{f"heat-{step}": shade for step, shade in enumerate(HEAT)}}
    return {shade.light: (f"--{name}", shade) for name, shade in named.items()}


def palette(dark: str = "@media screen and (prefers-color-scheme:dark){{{0}}}", root: str = ":root") -> str:
    """The colours of both schemes as CSS variables of the elements `root`; `dark` says where the dark one holds."""
    shades = css_variables().values()
    light = "".join(f"{name}:{shade.light};" for name, shade in shades)
    night = "".join(f"{name}:{shade.dark};" for name, shade in shades)
    return f"{root}{{{light}}}\n{dark.format(f'{root}{{{night}}}')}\n"


def colours(count: int) -> list[str]:
    """The first `count` series colours, again from the start when there are more series than colours."""
    palette = [shade.light for shade in SERIES.values()]
    return [palette[place % len(palette)] for place in range(count)]


def colour(name: str) -> str:
    """One colour by its name in `SERIES` or `ROLES`."""
    return (SERIES.get(name) or ROLES[name]).light


def _theme() -> alt.theme.ThemeConfig:
    ink, muted, axis, grid = (colour(role) for role in ("ink", "muted", "axis", "grid"))
    config: Any = {
        "background": colour("page"),
        "font": FONT,
        "padding": {"left": 4, "right": 12, "top": 4, "bottom": 4},
        "view": {"stroke": None, "continuousWidth": 560, "continuousHeight": 220},
        "title": {
            "anchor": "start",
            "frame": "group",
            "color": ink,
            "subtitleColor": muted,
            "fontSize": 14,
            "fontWeight": 600,
            "subtitleFontSize": 12,
            "offset": 10,
            "subtitlePadding": 4,
        },
        "axis": {
            "domainColor": axis,
            "tickColor": axis,
            "gridColor": grid,
            "labelColor": muted,
            "titleColor": muted,
            "labelFontSize": 11,
            "titleFontSize": 11,
            "titleFontWeight": "normal",
            "labelLimit": 190,
            "labelOverlap": True,
        },
        "axisX": {"grid": False},
        "axisY": {"domain": False, "ticks": False},
        "axisBand": {"domain": False, "ticks": False, "grid": False},
        "legend": {
            "orient": "top",
            "direction": "horizontal",
            "labelColor": ink,
            "titleColor": muted,
            "labelFontSize": 11,
            "titleFontSize": 11,
            "titleFontWeight": "normal",
            "labelLimit": 190,
            "symbolType": "square",
            "symbolStrokeWidth": 0,
            "columnPadding": 14,
            "rowPadding": 3,
            "offset": 6,
        },
        # Marks carry no label of their own for assistive technology: thousands of points read aloud tell nothing.
        # The chart's description does, and the tables hold the numbers.
        "mark": {"aria": False},
        "line": {"strokeWidth": 1.7, "strokeJoin": "round"},
        "text": {"font": FONT, "fontSize": 11, "color": ink},
        "range": {"category": colours(len(SERIES))},
    }
    return {"config": config}


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
        # Altair's own asks another server for its runtime; JupyterLab has one.
        alt.renderers.register("esxparse-lab", _for_jupyterlab)
        alt.renderers.enable("esxparse-lab")


def _for_jupyterlab(spec: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A chart as JupyterLab draws it by itself, as Vega-Lite 5: what our charts use is the same in 6.

    A chart as wide as the place it stands in would grow without end there: the place grows with it.
    """
    fixed = {key: value for key, value in drawable(spec).items() if key != "autosize"} | {"$schema": LAB_SCHEMA}
    if fixed.get("width") == "container":
        fixed["width"] = LAB_WIDTH
    return {LAB_MIME: fixed, "text/plain": str(spec.get("description", "chart"))}
