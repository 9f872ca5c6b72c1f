"""The explorer in real JupyterLab in real Chromium, with the network off."""

from __future__ import annotations

import re
import shutil
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from lab_server import FOLLOWED, WAIT_MS, lab, notebook, page_of, run_all

import esxparse as ex

pytestmark = [pytest.mark.search, pytest.mark.needs("anywidget", "chromium", "jupyterlab", "playwright")]

CELLS = [
    "import esxparse as ex\napp = ex.explore(ex.datasets_dir() / 'busy-host' / 'busy-host.csv')\napp",
    "rec = ex.open(ex.datasets_dir() / 'busy-host' / 'busy-host.csv')\nrec.plot('%RDY')",
    "",
]

# The first labels of each panel's axis of time.
AXES = """all => all.map(one =>
    [...one.querySelectorAll('.role-axis-label text')].slice(0, 3).map(text => text.textContent).join())"""


ALL_DRAWN = "[...document.querySelectorAll('.ex-panel')].every(one => one.dataset.drawn)"
SWATCHES = """all => all.map(one => [one.childNodes[1].textContent.trim(), one.querySelector('i').style.background])"""


def assert_one_colour_per_object(page):
    """The same in all panels, and another for each line of a panel."""
    shades = {}
    for panel in page.locator(".ex-panel").all():
        drawn = panel.locator(".ex-legend .ex-name").evaluate_all(SWATCHES)
        assert len({shade for _, shade in drawn}) == len(drawn)
        for name, shade in drawn:
            assert shades.setdefault(name, shade) == shade
    # Only one VM has a limit.
    assert page.locator(".ex-panel").nth(1).locator(".ex-legend").inner_text().count("others at 0") == 1


def add_a_panel_by_keys(page):
    """The arrows walk through the hits of a search, Enter adds a panel."""
    page.wait_for_function("document.querySelectorAll('.ex-panel[data-drawn]').length >= 3", timeout=WAIT_MS)
    before = page.locator(".ex-panel").count()
    page.fill(".ex-explorer input[type=search] >> nth=0", "latency")
    page.locator(".ex-hit").nth(2).wait_for(timeout=WAIT_MS)
    for key, name in (("ArrowDown", "GAVG"), ("ArrowDown", "DAVG"), ("ArrowDown", "KAVG"), ("ArrowUp", "DAVG")):
        page.keyboard.press(key)
        assert name in page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    page.wait_for_function(f"document.querySelectorAll('.ex-panel').length == {before + 1}", timeout=WAIT_MS)
    page.wait_for_function(ALL_DRAWN, timeout=WAIT_MS)
    assert "DAVG" in page.locator(".ex-panel").last.inner_text()


def test_from_a_search_to_the_same_numbers_in_a_cell(tmp_path):
    (tmp_path / "first.ipynb").write_text(notebook(CELLS), encoding="utf-8")
    with page_of(tmp_path) as (address, page, problems):
        page.goto(f"{address}/lab/tree/first.ipynb?reset", wait_until="domcontentloaded")
        run_all(page, WAIT_MS)
        page.wait_for_selector(".ex-explorer[data-ready]", timeout=WAIT_MS)

        add_a_panel_by_keys(page)
        assert_one_colour_per_object(page)

        # Search, choose, rank.
        page.fill(".ex-explorer input[type=search] >> nth=0", "ready")
        hit = page.locator(".ex-hit", has_text="%RDY").first
        hit.wait_for(timeout=WAIT_MS)
        hit.click()
        panels = page.locator(".ex-panel")
        first = panels.first
        first.locator("select").nth(0).select_option("p95")
        first.locator("select").nth(1).select_option("5")
        page.wait_for_function("document.querySelectorAll('.ex-panel[data-drawn]').length >= 3", timeout=WAIT_MS)
        assert first.locator(".ex-legend").inner_text().startswith("report-batch")

        # What moved like the first VM, over all counters.
        first.locator(".ex-legend .ex-alike").first.click()
        page.get_by_text("What moved most like ready time (%RDY) of report-batch").wait_for(timeout=WAIT_MS)
        assert page.locator(".ex-below tr[tabindex]").count() == 12

        # Brush: all panels follow.
        before = [panels.nth(at).get_attribute("data-drawn") for at in range(panels.count())]
        box = first.locator(".ex-room").bounding_box()
        middle = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] * 0.25, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.45, middle, steps=5)
        page.mouse.up()
        page.wait_for_function(FOLLOWED, arg=before, timeout=WAIT_MS)
        axes = page.eval_on_selector_all(".ex-chart", AXES)
        assert len(set(axes)) == 1
        assert axes[0].startswith("09:0")

        # Copy, paste, run: the same numbers.
        page.get_by_role("button", name="Copy code").click()
        page.wait_for_selector(".ex-code", timeout=WAIT_MS)
        code = page.input_value(".ex-code")
        made: dict = {}
        exec(code, made)  # noqa: S102 (the code is what is tested)
        shown = first.locator(".ex-legend b").first.inner_text()
        peak = made["data_1"].filter(made["pl"].col("name") == "report-batch")["value"].quantile(0.95, "linear")
        assert float(shown) == pytest.approx(peak, rel=0.01)
        assert made["data_1"]["time"].min() > ex.open(made["rec"].source).meta["start"]

        cell = page.locator(".jp-CodeCell").nth(2)
        cell.locator(".cm-content").click()
        page.keyboard.insert_text(code)
        page.keyboard.press("Shift+Enter")
        page.wait_for_function(
            "document.querySelectorAll('.jp-CodeCell')[2].querySelector('.jp-OutputArea svg, .jp-OutputArea canvas')",
            timeout=WAIT_MS,
        )
        # The second cell: a chart of a function of ours, by JupyterLab's own runtime.
        assert page.locator(".jp-CodeCell").nth(1).locator(".jp-OutputArea svg, .jp-OutputArea canvas").count() > 0
        assert problems == []


def test_mistakes_are_told_where_they_are_and_the_pointer_may_leave_the_chart(tmp_path):
    (tmp_path / "first.ipynb").write_text(notebook(CELLS[:1]), encoding="utf-8")
    with page_of(tmp_path) as (address, page, problems):
        page.goto(f"{address}/lab/tree/first.ipynb?reset", wait_until="domcontentloaded")
        run_all(page, WAIT_MS)
        page.wait_for_selector(".ex-explorer[data-ready]", timeout=WAIT_MS)
        panels = page.locator(".ex-panel")

        def drawn():
            return [panels.nth(at).get_attribute("data-drawn") for at in range(panels.count())]

        # By Enter as by a click: the spell of a finding.
        before = drawn()
        page.locator(".ex-below .ex-hit", has_text="backup-proxy moved").first.press("Enter")
        page.wait_for_function(FOLLOWED, arg=before, timeout=WAIT_MS)
        assert "UTC" in page.locator(".ex-said").inner_text()
        panels.first.get_by_text("DAVG").first.wait_for(timeout=WAIT_MS)
        before = drawn()
        page.get_by_role("button", name="Whole time").click()
        page.wait_for_function(FOLLOWED, arg=before, timeout=WAIT_MS)

        # A range that ends to the right of the chart ends with the capture.
        before = drawn()
        box = panels.first.locator(".ex-room").bounding_box()
        middle = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] * 0.5, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] + 60, middle + 300, steps=5)
        page.mouse.up()
        page.wait_for_function(FOLLOWED, arg=before, timeout=WAIT_MS)
        assert page.locator(".ex-said").inner_text().endswith("09:10:00 UTC")

        # A name that nobody has: said in its panel, the others go on; code is refused in words.
        pattern = panels.first.locator("input[type=search]")
        pattern.fill("nobody")
        pattern.press("Enter")
        wrong = panels.first.locator(".ex-bad")
        wrong.wait_for(timeout=WAIT_MS)
        before = drawn()
        page.get_by_role("button", name="Whole time").click()
        page.wait_for_function(FOLLOWED, arg=before, timeout=WAIT_MS)
        assert wrong.inner_text() == "no instance has 'nobody' in its name"
        assert panels.first.locator("svg").count() == 0
        page.get_by_role("button", name="Copy code").click()
        page.locator(".ex-said.ex-bad", has_text="no instance has 'nobody'").wait_for(timeout=WAIT_MS)
        pattern.fill("")
        pattern.press("Enter")
        panels.first.locator("svg.marks").wait_for(timeout=WAIT_MS)
        assert problems == []


DRAWN = ".jp-OutputArea svg.marks, .jp-OutputArea canvas.marks"


def test_a_double_click_opens_what_is_ours_and_leaves_the_others_their_viewers(tmp_path):
    data = ex.datasets_dir()
    capture = tmp_path / "capture.csv"
    shutil.copy(data / "busy-host" / "busy-host.csv", capture)
    shutil.copy(data / "formats" / "fio-json-plus.json", tmp_path / "fio.json")
    shutil.copytree(data / "numa", tmp_path / "numa")
    (tmp_path / "people.csv").write_text("name,age\nAnn,30\nBob,4\n", encoding="utf-8")
    (tmp_path / "plain.json").write_text('{"a": [1, 2]}', encoding="utf-8")
    before = capture.read_bytes()
    with page_of(tmp_path) as (address, page, problems):

        def item(name):
            return page.locator(".jp-DirListing-item", has_text=name)

        def document(name):
            page.locator(".lm-TabBar-tab.lm-mod-current", has_text=name).wait_for(timeout=WAIT_MS)
            return page.locator(".jp-Document:not(.lm-mod-hidden)")

        page.goto(f"{address}/lab?reset", wait_until="domcontentloaded")
        item("people.csv").dblclick(timeout=WAIT_MS)
        page.locator(".jp-CSVViewer").wait_for(timeout=WAIT_MS)
        item("plain.json").dblclick()
        page.locator(".jp-RenderedJSON").wait_for(timeout=WAIT_MS)
        assert page.locator(".lm-TabBar-tab[data-type=document-title]", has_text="people.csv").count() == 1

        item("capture.csv").dblclick()
        page.wait_for_selector(".ex-explorer[data-ready]", timeout=WAIT_MS)
        assert page.locator(".ex-panel[data-drawn] svg.marks").count() >= 3
        # Nothing here can write the capture.
        page.keyboard.press("Control+s")

        item("fio.json").dblclick()
        document("fio.json").locator(DRAWN).first.wait_for(timeout=WAIT_MS)
        document("fio.json").locator("summary", has_text="percentiles").wait_for(timeout=WAIT_MS)

        item("numa").dblclick()
        item("study.toml").dblclick(timeout=WAIT_MS)
        shown = document("study.toml")
        shown.locator(DRAWN).first.wait_for(timeout=WAIT_MS)
        # Its runs are sorted by a click.
        table = shown.locator("table.esxparse-sort")
        place = table.locator("thead th").all_inner_texts().index("Vcpus")
        column = table.locator(f"tbody td:nth-child({place + 1})")
        for words, reverse in (("ascending", False), ("descending", True)):
            table.locator("thead th").nth(place).click()
            assert table.locator("thead th").nth(place).get_attribute("aria-sort") == words
            numbers = [int(text) for text in column.all_inner_texts() if text]
            assert numbers == sorted(numbers, reverse=reverse)

        page.locator(".jp-BreadCrumbs-home").click()
        item("people.csv").click(button="right", timeout=WAIT_MS)
        page.get_by_text("Open With", exact=True).hover()
        page.locator(".lm-Menu-item", has_text=re.compile(r"^esxparse")).click()
        document("people.csv").get_by_text("is not in a format esxparse reads").wait_for(timeout=WAIT_MS)
        assert problems == []
    assert capture.read_bytes() == before
    assert not list(tmp_path.rglob("capture-checkpoint.csv"))


def test_the_server_tells_only_whom_it_knows_and_only_of_files_inside_its_root(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    shutil.copy(ex.datasets_dir() / "busy-host" / "busy-host.csv", root / "capture.csv")
    for place in (tmp_path / "outside.csv", root / ".hidden.csv"):
        shutil.copy(root / "capture.csv", place)
    with lab(root, "secret") as address:

        def asked(path, known="&token=secret"):
            try:
                with urlopen(f"{address}/esxparse/kind?path={path}{known}") as answer:  # noqa: S310
                    return answer.read().decode()
            except HTTPError as error:
                return error.code

        assert asked("capture.csv") == '{"kind": "recording"}'
        assert asked("capture.csv", "") == 403
        assert asked("../outside.csv") == 404
        assert asked(".hidden.csv") == '{"kind": null}'
        assert asked("none.csv") == '{"kind": null}'


def test_findings_are_beside_the_charts_on_a_laptop(tmp_path):
    shutil.copy(ex.datasets_dir() / "busy-host" / "busy-host.csv", tmp_path)
    with page_of(tmp_path) as (address, page, problems):
        page.set_viewport_size({"width": 1280, "height": 720})
        page.goto(f"{address}/doc/tree/busy-host.csv?reset", wait_until="domcontentloaded")
        page.wait_for_selector(".ex-explorer[data-ready]", timeout=WAIT_MS)
        chips, beside, panels = page.locator(".ex-chip"), page.locator(".ex-below"), page.locator(".ex-panel")
        found = [one for one in ex.diagnose(ex.open(tmp_path / "busy-host.csv")) if one.severity != "info"]
        assert [one.split()[0] for one in chips.all_inner_texts()] == [one.severity for one in found]
        assert beside.bounding_box()["y"] < 400
        assert beside.bounding_box()["x"] > panels.first.bounding_box()["x"] + panels.first.bounding_box()["width"]

        # A chip: the spell of its finding, in the series that it rests on; then what else changed at its start.
        chips.filter(has_text="09:05:00 to 09:08:55").click()
        page.wait_for_function("document.querySelector('.ex-head')?.textContent.includes('DAVG')", timeout=WAIT_MS)
        assert panels.first.locator(".ex-legend button").first.inner_text().startswith("naa.600")
        page.get_by_role("button", name="What changed").click()
        beside.get_by_text("What changed most at 2026-03-11 09:05:00 UTC").wait_for(timeout=WAIT_MS)
        assert "MBREAD/s of backup-proxy MiB/s" in beside.inner_text()
        count = panels.count()
        beside.locator("tr[tabindex]").first.click()
        page.wait_for_function(f"document.querySelectorAll('.ex-panel').length == {count + 1}", timeout=WAIT_MS)
        assert problems == []
