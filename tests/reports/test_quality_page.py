"""The page of `esxparse check --format html` in a real browser."""

from __future__ import annotations

from pathlib import Path

import axe_playwright_python
import browser
import pytest

import esxparse as ex
from esxparse.quality.results import Expectation, Quality
from esxparse.reports.quality_page import page

AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"


@pytest.mark.search
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_the_page_fits_its_window_and_hinders_nobody(tmp_path, chromium, width, scheme):
    wrong = Expectation(
        "esxtop.vcpu", "states", "fail", "vcpu", "They add up.", "92 to 109", 9, 1, "states", "db", None, 1.5
    )
    sound = ex.check(ex.open(ex.datasets_dir() / "busy-host" / "busy-host.csv"))
    file = tmp_path / "check.html"
    file.write_text(page([sound, Quality((wrong,), "/home/somebody/wrong.csv")]), encoding="utf-8")
    with browser.opened(chromium, file, width, scheme=scheme) as seen:
        seen.page.evaluate(AXE.read_text(encoding="utf-8"))
        assert seen.page.evaluate("axe.run().then(all => all.violations.map(one => [one.id, one.nodes[0].html]))") == []
        assert seen.overflow() <= 0
        assert seen.problems == seen.requests[1:] == []
        assert seen.page.title() == "Data quality: 1 of 2 recordings have faults"
        assert "somebody" not in seen.page.content()
        headings = seen.page.locator("h2").all_inner_texts()
    assert headings == ["wrong.csv", "busy-host.csv", "Where this page comes from"]
