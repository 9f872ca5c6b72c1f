"""The page that readers see, in a real browser that is cut off from the network: windows, colours, times, print."""

from __future__ import annotations

import csv
import re
from contextlib import contextmanager, nullcontext
from pathlib import Path

import altair as alt
import axe_playwright_python
import browser
import nbformat
import polars as pl
import pytest
from search import routine_of

from esxparse.reports import blocks
from esxparse.reports.export import to_html


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


PAPER = {"A4": 711, "Letter": 733}
"""Pixels between the margins."""


@contextmanager
def on_paper(seen, width):
    """The page as it is laid out for paper of this width, without being printed."""
    before = seen.page.viewport_size
    seen.page.emulate_media(media="print")
    seen.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    seen.page.set_viewport_size({"width": width, "height": 1000})
    seen.page.wait_for_timeout(800)
    yield
    seen.page.set_viewport_size(before)
    seen.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    seen.page.emulate_media(media="null")
    seen.page.wait_for_timeout(800)


def violations(seen):
    """What axe-core finds."""
    seen.page.evaluate((Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    return seen.page.evaluate("axe.run().then(all => all.violations.map(one => [one.id, one.nodes[0].html]))")


def figure(seen, title):
    """A figure by its heading, in the window."""
    found = seen.page.locator(f"figure:has(h3:text-is('{title}'))")
    found.scroll_into_view_if_needed()
    return found


def pointed(seen, chart, share):
    """Moves to `share` of the width of a chart's plot; gives its box."""
    box = chart.locator("svg .role-frame .background").first.bounding_box()
    seen.page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] / 2)
    return box


def strokes(chart):
    """The colour of each line of a chart, by the name in its data."""
    return chart.locator("svg .mark-line path").evaluate_all(
        "all => Object.fromEntries(all.map(p => { const d = p.__data__.items ? p.__data__.items[0] : p.__data__;"
        " return [d.datum.full ?? d.datum.label, p.getAttribute('stroke')] }))"
    )


@pytest.mark.search
def test_pointing_at_a_chart_tells_every_series_and_draws_a_line_through_all_charts(wide):
    pointed(wide, figure(wide, "Ready per vCPU over time"), 0.25)
    rows = wide.page.eval_on_selector_all(".ex-tip tr", "all => all.map(r => [...r.cells].map(c => c.innerText))")
    assert re.fullmatch(r"2026-03-11 09:02:[34]\d UTC", wide.page.inner_text(".ex-tip b"))
    assert rows[0][0] == "orders-app"
    assert rows[0][1].endswith(" %")
    assert float(rows[0][1].split()[0]) > 10
    assert len(rows) == 8
    shares = wide.page.evaluate(
        "[...document.querySelectorAll('.ex-cross')].map(c => { const f = c.closest('figure')"
        ".querySelector('.role-frame .background').getBoundingClientRect();"
        " return (c.getBoundingClientRect().left - f.left) / f.width })"
    )
    assert len(shares) > 10
    assert max(shares) - min(shares) < 0.01


@pytest.mark.search
def test_a_zoom_holds_in_all_charts_until_it_is_reset(wide):
    other = figure(wide, "Host CPU, used and util")
    labels = "svg .role-axis-label text"
    before = sorted(other.locator(labels).all_text_contents())
    box = pointed(wide, figure(wide, "Power drawn by the host"), 0.2)
    wide.page.mouse.down()
    wide.page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 20, steps=3)
    wide.page.mouse.up()
    wide.page.wait_for_function(
        "[...document.querySelectorAll('.role-axis-label text')].filter(t => t.textContent === '09:03:00').length > 10"
    )
    assert wide.page.inner_text(".ex-bar output").startswith("09:02:0")
    wide.page.click("text=Reset zoom")
    wide.page.wait_for_function(
        "![...document.querySelectorAll('.role-axis-label text')].some(t => t.textContent === '09:03:00')"
    )
    assert sorted(other.locator(labels).all_text_contents()) == before


def test_a_name_has_one_colour_and_is_singled_out_in_all_charts_that_draw_it(wide):
    first = strokes(figure(wide, "report-batch: time withheld by a limit 30.7 % on average"))
    second = strokes(figure(wide, "Ready per vCPU over time"))
    assert first["report-batch"] == second["report-batch"]
    assert len(set(second.values())) == len(second)
    wide.page.select_option(".ex-bar select", "files-02")
    wide.page.wait_for_timeout(300)
    shown = (
        figure(wide, "Ready per vCPU over time")
        .locator("svg .mark-line path")
        .evaluate_all("all => all.filter(p => Number(p.getAttribute('opacity') ?? 1) > 0.5).length")
    )
    assert shown == 1
    assert "ex-without" in figure(wide, "Limited per vCPU").get_attribute("class")
    assert wide.page.locator("tr.ex-only").count() >= 2
    wide.page.select_option(".ex-bar select", "")


def test_the_data_of_a_chart_are_in_its_csv(wide):
    with wide.page.expect_download() as got:
        figure(wide, "Power drawn by the host").locator("figcaption button").click()
    rows = list(csv.reader(got.value.path().read_text(encoding="utf-8-sig").splitlines()))
    assert got.value.suggested_filename == "power-drawn-by-the-host.csv"
    assert rows[0][:3] == ["Drawn by", "time, UTC", "watts"]
    assert len(rows) == 122
    assert rows[1][1] == "2026-03-11T09:00:00.000Z"


def test_tables_sort_by_key_and_search_and_fold(wide):
    table = wide.page.locator("table", has=wide.page.locator("th:has-text('Warning from')")).first
    visible = table.locator("tbody tr:visible")
    assert visible.count() == 0
    wide.page.click("summary:has-text('Thresholds exceeded')")
    assert visible.count() == 15
    title = table.locator("th button:text-is('Worst')")
    title.focus()
    wide.page.keyboard.press("Enter")
    assert table.locator("th[aria-sort=ascending]").inner_text() == "Worst"
    names = table.locator("tbody tr td:nth-child(4)").all_inner_texts()
    assert names == sorted(names, key=str.casefold)
    tools = table.locator("xpath=../preceding-sibling::p[1]")
    tools.locator("input").fill("files-02 balloon")
    assert 0 < visible.count() < 5
    tools.locator("input").fill("")
    table.locator("xpath=../following-sibling::button[1]").click()
    assert visible.count() > 30
    wide.page.click("summary:has-text('Thresholds exceeded')")


@pytest.mark.search
@pytest.mark.parametrize("scheme", routine_of(["light", "dark"], {"light"}))
def test_nothing_hinders_readers_with_assistive_technology(wide, scheme):
    with in_scheme(wide, scheme):
        assert violations(wide) == []


@pytest.mark.search
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


@pytest.mark.search
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


@pytest.mark.search
@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_it_prints_on_few_pages_with_the_verdict_on_the_first(wide, tmp_path, paper):
    with in_scheme(wide, "dark"):
        printed = wide.page.pdf(path=tmp_path / "report.pdf", format=paper, print_background=True)
    assert printed.startswith(b"%PDF")
    assert 5 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 11
    assert wide.page.locator("details[open]").count() == 0
    with on_paper(wide, PAPER[paper]):
        first = wide.page.evaluate("document.querySelector('.ex-verdicts').getBoundingClientRect().bottom")
        assert first < PAPER[paper]


@pytest.mark.search
@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_paper_cuts_no_legend_and_leaves_nothing_out(wide, paper):
    """Charts that were drawn for a wide window are not drawn again for paper, only fitted to its width."""
    with on_paper(wide, PAPER[paper]):
        assert wide.hidden_words() == []
        assert wide.overflow() <= 0
        shut = "all => all.filter(one => !one.getBoundingClientRect().height).map(one => one.textContent.slice(0, 40))"
        assert wide.page.eval_on_selector_all("main :is(figure, td, h2, p:not(.ex-tools), dd)", shut) == []
    assert wide.page.locator("summary:has-text('Thresholds exceeded')").is_visible()


@pytest.fixture(scope="module")
def phone(busy_host_report, chromium):
    """The page in the window of a phone. Tests leave it as it was."""
    with browser.opened(chromium, busy_host_report, 390, 844) as seen:
        yield seen


@pytest.mark.search
def test_a_phone_shows_the_findings_and_closes_the_other_sections(phone):
    """All of the page was 21,500 pixels high there."""
    height = phone.page.evaluate("document.documentElement.scrollHeight")
    assert height < 10_750
    open_ones = phone.page.locator("h2 button[aria-expanded=true]").all_inner_texts()
    assert open_ones == ["What troubles this host"]
    every = phone.page.locator("h2 button[aria-expanded=false]")
    assert every.count() >= 8
    assert phone.page.locator("section:has(#cpu) figure").first.is_hidden()
    phone.page.click("nav a[href='#cpu']")
    assert phone.page.locator("section:has(#cpu) figure").first.is_visible()
    for button in every.all()[::-1]:
        button.click()
    assert phone.page.locator("figure:visible").count() == len(phone.charts())
    assert phone.hidden_words() == []
    assert phone.overflow() <= 0
    for button in phone.page.locator("h2 button").all()[1:]:
        button.click()
    assert phone.page.evaluate("document.documentElement.scrollHeight") == height


def test_an_address_leads_into_a_section_that_was_closed(phone):
    phone.page.evaluate("location.hash = '#disk'")
    phone.page.wait_for_selector("section:has(#disk) figure >> visible=true")
    phone.page.click("#disk button")
    assert phone.page.locator("section:has(#disk) figure").first.is_hidden()


def test_on_a_phone_tables_scroll_beside_a_fixed_column_and_evidence_is_cards(phone):
    phone.page.click("#cpu button")
    moved = (
        "one => { const places = () => [...one.querySelector('tbody tr').cells].slice(0, 2)"
        ".map(cell => cell.getBoundingClientRect().left);"
        " const before = places(); one.scrollLeft = 100; const after = places(); one.scrollLeft = 0;"
        " return before.map((left, cell) => Math.round(left - after[cell])) }"
    )
    assert phone.page.eval_on_selector("section:has(#cpu) .ex-scroll", moved) == [0, 100]
    widths = phone.page.eval_on_selector_all(".ex-cards td", "all => all.map(one => one.getBoundingClientRect().right)")
    assert max(widths) <= 390
    labels = "all => all.map(one => getComputedStyle(one, '::before').content)"
    shown = phone.page.eval_on_selector_all(".ex-cards tr:first-child td", labels)
    assert [one for one in shown if "Evidence" in one]
    phone.page.click("#cpu button")


@pytest.mark.search
@pytest.mark.parametrize("scheme", routine_of(["light", "dark"], {"light"}))
def test_nothing_hinders_readers_with_assistive_technology_on_a_phone(phone, scheme):
    with in_scheme(phone, scheme):
        assert violations(phone) == []


def test_sections_are_linked_and_the_figures_named(wide):
    targets = wide.page.eval_on_selector_all("nav a", "all => all.map(a => a.getAttribute('href').slice(1))")
    assert {"cpu", "memory", "disk", "network", "power"} <= set(targets)
    assert all(wide.page.query_selector(f"#{target}") for target in targets)
    alts = wide.page.eval_on_selector_all(".ex-chart", "all => all.map(one => one.getAttribute('aria-label'))")
    assert all(alts)
    assert wide.page.get_attribute("html", "lang") == "en"


@pytest.mark.search
@pytest.mark.parametrize(
    "minutes", [[0, 60_000, 120_000], ["2026-01-01T00:00", "2026-01-01T00:01", "2026-01-01T00:02"]]
)
def test_charts_that_others_made_are_drawn_too_and_no_cell_of_their_csv_is_a_formula(chromium, tmp_path, minutes):
    rows = pl.DataFrame({"time": minutes, "v": [1, 2, 3], "label": ["=a", "b", "=a"], "full": ["=a", "b", "=a"]})
    line = alt.Chart(rows).mark_line().encode(x="time:T", y="v:Q", color="label:N", tooltip=["full:N", "v:Q"])
    seen = alt.selection_point(on="pointerover", empty=False)
    dots = line.mark_point().encode(opacity=alt.condition(seen, alt.value(1), alt.value(0))).add_params(seen)
    drawn = [line, alt.hconcat(line, line), line.facet(column="label:N"), alt.layer(line, dots)]
    outputs = [{blocks.VEGALITE_MIME: chart.to_dict(), "text/plain": ""} for chart in drawn]
    shown = [nbformat.v4.new_output("display_data", data=data) for data in outputs]
    page = tmp_path / "own.html"
    page.write_text(to_html(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", outputs=shown)])))
    with browser.opened(chromium, page) as opened:
        assert all(width > 0 for width, _ in opened.charts())
        with opened.page.expect_download() as got:
            opened.page.locator("figcaption button").first.click()
        assert got.value.path().read_text(encoding="utf-8-sig").splitlines()[1].startswith("'=a,1,")
        assert opened.problems == []
