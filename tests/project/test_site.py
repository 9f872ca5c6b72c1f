"""The documentation site: built strictly, readable from a disk without a network."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from checkout import ROOT

import esxparse as ex
from esxparse.counters.catalogue import placed_counters
from esxparse.diagnosis import cases

pytestmark = [pytest.mark.search, pytest.mark.needs("mkdocs")]


def build(folder, *options):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder), *options]
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    made = build(folder)
    assert made.returncode == 0, made.stderr
    return folder


def test_every_counter_rule_case_and_format_has_a_section(site):
    for group in placed_counters():
        for one in group:
            assert f"<code>{one.column}</code>" in (site / "counters" / f"{one.table}.html").read_text(encoding="utf-8")
    for rule in ex.rules().values():
        page = site / "rules" / f"{rule.id.partition('.')[0]}.html"
        assert f'id="{rule.id.replace(".", "")}"' in page.read_text(encoding="utf-8")
    for case in cases.load():
        page = site / "cases" / f"{case.area}.html"
        assert f'id="{case.trouble.replace(".", "")}"' in page.read_text(encoding="utf-8")
    formats = (site / "formats.html").read_text(encoding="utf-8")
    assert all(f'id="{one.name}"' in formats for one in ex.catalogue())
    # Doctests keep their lines.
    assert "<blockquote>" not in (site / "api" / "metrics" / "scaling.html").read_text(encoding="utf-8")


def test_no_page_asks_anything_of_a_network(site):
    asks = re.compile(r'<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)="?(https?:)?//', re.IGNORECASE)
    for page in site.rglob("*.html"):
        assert not asks.search(page.read_text(encoding="utf-8")), page


@pytest.mark.parametrize("width", [1440, 390])
def test_it_is_read_and_searched_from_a_disk_without_a_network(site, chromium, width):
    with chromium.new_context(viewport={"width": width, "height": 900}, offline=True) as context:
        page = context.new_page()
        asked, said = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text) if message.type in {"error", "warning"} else None)
        page.goto((site / "counters" / "group_cpu.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        if width < 800:
            page.click("label.md-header__button[for=__search]")
        else:
            page.click("input.md-search__input")
        page.keyboard.type("%RDY")
        page.wait_for_selector(".md-search-result__item", timeout=120_000)
        titles = page.locator(".md-search-result__item h2, .md-search-result__item h1").all_inner_texts()
        assert any("%RDY" in title for title in titles)
        assert [url for url in asked if not url.startswith(("file:", "data:", "about:", "blob:"))] == []
        assert said == []


def test_a_broken_link_fails(tmp_path):
    broken = (
        (ROOT / "mkdocs.yml").read_text(encoding="utf-8").replace("docs_dir: docs", f"docs_dir: {tmp_path / 'docs'}")
    )
    # Without what takes long and has nothing to do with links.
    broken = re.sub(r"(?s)\nhooks:.*?\nvalidation", "\nvalidation", broken).partition("\nplugins:")[0]
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# x\n\n[there](nowhere.md)\n")
    config = tmp_path / "mkdocs.yml"
    config.write_text(broken.replace("site_dir: site", f"site_dir: {tmp_path / 'site'}"))
    made = build(tmp_path / "made", "--config-file", str(config))
    assert made.returncode == 1
    assert "nowhere.md" in made.stderr + made.stdout
