"""The colours: told apart, readable on light and on dark."""

from __future__ import annotations

import pytest

from esxparse.charts import theme


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("face", [0, 1], ids=["light", "dark"])
def test_series_stand_out_from_the_page_and_text_can_be_read(face):
    page = theme.ROLES["page"][face]
    for shade in theme.SERIES.values():
        assert contrast(shade[face], page) >= 3.0
    for role in ("ink", "muted", "warn", "critical"):
        assert contrast(theme.ROLES[role][face], page) >= 4.5


def test_no_two_roles_share_a_colour():
    assert len(theme.css_variables()) == len(theme.SERIES) + len(theme.ROLES) + len(theme.HEAT)
