"""The report on a host of about 300 VMs: its page stays light, and its heat maps say what they leave out."""

from __future__ import annotations

import re

import browser
import pytest

import esxparse as ex
from esxparse import cli

MOST_BYTES = 3_000_000


@pytest.mark.search
def test_a_page_on_300_vms_is_under_3_mb_and_shows_the_worst_40(tmp_path, chromium):
    assert cli.main(["simulate", "--columns", "100000", "--samples", "60", "-q", "-o", str(tmp_path)]) == 0
    (capture,) = tmp_path.glob("*.csv")
    page = ex.report(capture, template="host_health", output=tmp_path / "x.html")
    assert page.stat().st_size < MOST_BYTES
    left_out = re.findall(r"the worst 40 of (\d+) VMs, (\d+) left out", page.read_text(encoding="utf-8"))
    assert left_out
    assert all(int(vms) > 250 and int(vms) - int(rest) == 40 for vms, rest in left_out)
    with browser.opened(chromium, page, 390) as seen:
        assert seen.overflow() <= 0
        assert seen.hidden_words() == []
        assert seen.problems == []
        assert seen.page.locator("h2#all-vms-over-time").count() == 1


@pytest.mark.search
def test_a_host_of_three_vms_has_no_section_of_heat_maps(tmp_path):
    source = ex.datasets_dir() / "busy-host" / "busy-host.csv"
    wanted = ["--vm", "ledger-db", "files-02", "print-old", "--keep-host"]
    assert cli.main(["slice", str(source), "-o", str(tmp_path / "three.csv"), "-q", *wanted]) == 0
    page = ex.report(tmp_path / "three.csv", template="host_health", output=tmp_path / "x.html")
    assert "All VMs over time" not in page.read_text(encoding="utf-8")
