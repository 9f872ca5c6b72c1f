"""The page that readers see, in a real browser that is cut off from the network: windows, colours, times, print."""

from __future__ import annotations

import re
from contextlib import contextmanager, nullcontext

import browser
import pytest


@pytest.fixture(scope="module")
def wide(busy_host_report, chromium):
    """The page in a large window, opened once because it takes seconds to draw. Tests leave it as it was."""
    with browser.opened(chromium, busy_host_report) as seen:
        yield seen


@contextmanager
def in_scheme(seen, scheme):
    """The same page for a reader who prefers light or dark pages."""
    seen.page.emulate_media(color_scheme=scheme)
    yield
    seen.page.emulate_media(color_scheme="light")


def test_pointing_at_a_line_tells_name_time_and_value(wide):
    dots = wide.page.query_selector_all(
        "figure:has(h3:text-is('Ready per vCPU over time')) svg .mark-symbol.role-mark path"
    )
    peak = min(dots, key=lambda dot: dot.bounding_box()["y"])
    peak.scroll_into_view_if_needed()
    box = peak.bounding_box()
    wide.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    wide.page.wait_for_selector("#vg-tooltip-element.visible")
    values = wide.page.eval_on_selector_all("#vg-tooltip-element td.value", "all => all.map(one => one.textContent)")
    assert values[0] == "orders-app"
    assert re.fullmatch(r"Mar 11, 2026 09:0\d:\d\d", values[1])
    assert float(values[2]) > 20


@pytest.mark.parametrize("width", [1440, 390])
def test_every_chart_is_drawn_and_nothing_is_wider_than_the_window(busy_host_report, chromium, wide, width):
    with nullcontext(wide) if width == 1440 else browser.opened(chromium, busy_host_report, width) as seen:
        for scheme in ("light", "dark"):
            with in_scheme(seen, scheme):
                sizes = seen.charts()
                assert len(sizes) >= 15
                assert all(0 < chart_width <= width and chart_height > 20 for chart_width, chart_height in sizes)
                assert seen.hidden_words() == []
                assert seen.overflow() <= 0
        assert seen.problems == []
        assert len(seen.requests) == 1


def test_light_and_dark_differ_and_keep_text_readable(wide):
    pairs = {}
    for scheme in ("light", "dark"):
        with in_scheme(wide, scheme):
            pairs[scheme] = wide.page.evaluate(
                "[getComputedStyle(document.body).backgroundColor,"
                " getComputedStyle(document.querySelector('figure svg .role-axis-label text')).fill]"
            )
    assert pairs["light"][0] == "rgb(255, 255, 255)"
    assert pairs["dark"][0] != pairs["light"][0]
    assert pairs["dark"][1] != pairs["light"][1]


def test_charts_follow_the_window(wide):
    before = wide.charts()[0][0]
    wide.page.set_viewport_size({"width": 390, "height": 900})
    wide.page.wait_for_timeout(800)
    assert wide.charts()[0][0] < before
    assert wide.overflow() <= 0
    assert wide.hidden_words() == []
    wide.page.set_viewport_size({"width": 1440, "height": 900})
    wide.page.wait_for_timeout(800)
    assert wide.charts()[0][0] == before


def test_times_are_utc_for_a_reader_in_tokyo(wide, busy_host):
    first = f"{busy_host.meta['start']:%H:%M}"
    labels = wide.page.eval_on_selector_all(
        "figure svg .role-axis-label text", "all => all.map(one => one.textContent)"
    )
    assert first in labels


def test_it_prints(wide, tmp_path):
    with in_scheme(wide, "dark"):
        printed = wide.page.pdf(path=tmp_path / "report.pdf", format="A4", print_background=True)
    assert printed.startswith(b"%PDF")
    assert 5 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 30


def test_sections_are_linked_and_the_figures_named(wide):
    targets = wide.page.eval_on_selector_all("nav a", "all => all.map(a => a.getAttribute('href').slice(1))")
    assert {"cpu", "memory", "disk", "network", "power"} <= set(targets)
    assert all(wide.page.query_selector(f"#{target}") for target in targets)
    alts = wide.page.eval_on_selector_all(".ex-chart", "all => all.map(one => one.getAttribute('aria-label'))")
    assert all(alts)
    assert wide.page.get_attribute("html", "lang") == "en"
