"""Colours of a page: the same name, the same colour; what findings are about first."""

from __future__ import annotations

from copy import deepcopy

from esxparse.charts.theme import colour, colours
from esxparse.reports.colours import settle


def chart(names, hues, mark="line", fault=()):
    """A chart of `names` as the builders make it."""
    scale = {"domain": list(names), "range": list(hues)}
    made = {
        "layer": [{"mark": {"type": mark}, "encoding": {"color": {"field": "label", "scale": scale}}}],
        "datasets": {"rows": [{"label": name, "full": f"full {name}"} for name in names]},
    }
    return made | ({"usermeta": {"fault": [f"full {name}" for name in fault]}} if fault else {})


def given(spec):
    scale = spec["layer"][0]["encoding"]["color"]["scale"]
    return dict(zip(scale["domain"], scale["range"], strict=True))


def test_a_name_at_fault_keeps_its_colour_and_has_a_wider_line():
    finding = chart(["sick", "calm"], [colour("orange"), colour("rest")], fault=["sick"])
    lines = chart(["calm", "other", "sick"], colours(3))
    bars = chart(["other", "sick"], [colour("rest")] * 2, mark="bar")
    settle([finding, lines, bars])
    assert given(finding) == {"sick": colour("blue"), "calm": colour("rest")}
    assert given(lines)["sick"] == colour("blue")
    assert len(set(given(lines).values())) == 3
    assert given(bars) == {"other": colour("rest"), "sick": colour("blue")}
    widths = lines["layer"][0]["encoding"]["strokeWidth"]["scale"]["range"]
    assert widths[2] > widths[0] == widths[1]


def test_eight_names_of_a_chart_have_eight_colours_whatever_the_page_gave_before():
    first = chart([f"a{number}" for number in range(8)], colours(8))
    second = chart(["a7", "a3", *(f"b{number}" for number in range(6))], colours(8))
    settle([first, second])
    assert given(second)["a7"] == given(first)["a7"]
    assert given(second)["a3"] == given(first)["a3"]
    assert len(set(given(second).values())) == 8


def test_charts_without_names_stay_as_they_are():
    plain = chart(["Used", "Util"], colours(2)) | {"datasets": {"rows": [{"label": "Used"}]}}
    other = {"mark": "bar", "encoding": {"color": {"field": "label", "scale": None}}}
    before = deepcopy([plain, other])
    settle([plain, other])
    assert [plain, other] == before


def series(names, hues=None):
    """A chart of the series of a study, which are no objects."""
    made = chart(names, hues or colours(len(names)))
    return made | {"datasets": {"rows": [{"label": name} for name in names]}}


def test_a_series_of_a_study_keeps_its_colour_in_views_of_other_series():
    """A change has all protocols, a ratio to one of them has it not."""
    change, ratio = series(["fc", "iscsi", "nfs"]), series(["iscsi", "nfs", "smb"])
    settle([change, ratio])
    assert given(change) == dict(zip(["fc", "iscsi", "nfs"], colours(3), strict=True))
    assert {name: given(ratio)[name] for name in ("iscsi", "nfs")} == {
        name: given(change)[name] for name in ("iscsi", "nfs")
    }
    assert len(set(given(ratio).values())) == 3


def test_grey_and_colours_of_classes_are_not_series():
    before, heat = series(["before", "after"], [colour("rest"), colour("blue")]), series(["low"], ["#eef3f8"])
    settle([series(["after"], [colour("teal")]), before, heat])
    assert given(before) == {"before": colour("rest"), "after": colour("teal")}
    assert given(heat) == {"low": "#eef3f8"}
