"""A report whose every name is an attack: names stay text, and the page runs and asks for nothing of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser

import browser
import compose
import pytest
from search import routine_of

import esxparse as ex
from esxparse.charts import theme
from esxparse.reports import report

HOST = 'esx&"01.<b>lab</b>'
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=1>',
    "</script><b>bold</b><!--",
    "日本語 (1)",
    "**x** [a](javascript:1)",
    "datum.x' + alert(1) + '",
    "{{ 7 * 7 }}{% raw %}",
    "#2a6fb8",
    "image",
]
LIKE_KEYS = [
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "a.b",
    "x[0]",
    '"q"',
    "</script>",
]
"""Names that would be something else where a name is a key of an object, or a path in one."""
SAMPLES = 12


def hostile_capture(folder, names=tuple(HOSTILE)):
    """Every VM busy and waiting, so that its name stands in charts as well as in tables."""
    columns, rows = [], [[] for _ in range(SAMPLES)]

    def add(owner, **counters):
        for name, value in counters.items():
            columns.append((owner, COUNTERS[name]))
            for sample, row in enumerate(rows):
                row.append(f"{value + sample / 10:.2f}")

    add("Memory", machine=65536, kernel=2048, other=50000, free=13000, minfree=1000, balloon=100, swapped=10)
    for cpu in ("0", "1", "_Total"):
        add(f"Physical Cpu({cpu})", pcpu_used=50, pcpu_util=60)
    add("Power", watts=200)
    for number, vm in enumerate(names):
        gid = 100 + number
        add(f"Group Cpu({gid}:{vm})", used=40, ready=12 + number, limited=2, costop=4, swap_wait=6)
        add(f"Vcpu({gid}:{vm}:{1000 + number}:vmx-vcpu-0:{vm})", used=40, ready=12)
        add(f"Group Memory({gid}:{vm})", size=4096, ballooned=50)
        add(f"Network Port(vSwitch0:{50 + number}:{2000 + number}:{vm})", tx=10, rx=5, tx_pkts=900, rx_pkts=800, drop=3)
        add(f"Physical Disk NFS Volume({vm})", commands=50, gavg=5)
    add("Network Port(vSwitch0:33554434:vmnic0)", tx=90, rx=50, tx_pkts=9000, rx_pkts=8000, drop=0, speed=10000)
    add("Physical Disk SCSI Device(naa.600)", commands=500, gavg=30, davg=20, kavg=10, queued=4)
    return compose.write(
        folder, compose.text([(owner, name) for owner, name in columns], rows).replace("esx-01.example.com", HOST)
    )


COUNTERS = {
    "machine": "Machine MBytes",
    "kernel": "Kernel MBytes",
    "other": "NonKernel MBytes",
    "free": "Free MBytes",
    "minfree": "Kernel MinFree MBytes",
    "balloon": "Memctl Current MBytes",
    "swapped": "Swap Used MBytes",
    "pcpu_used": "% Processor Time",
    "pcpu_util": "% Util Time",
    "watts": "Power Usage Now Watts",
    "used": "% Used",
    "ready": "% Ready",
    "limited": "% Max Limited",
    "costop": "% CoStop",
    "swap_wait": "% Swap Wait",
    "size": "Memory Size MBytes",
    "ballooned": "Memctl MBytes",
    "tx": "MBits Transmitted/sec",
    "rx": "MBits Received/sec",
    "tx_pkts": "Packets Transmitted/sec",
    "rx_pkts": "Packets Received/sec",
    "drop": "% Outbound Packets Dropped",
    "speed": "Link Speed (Mb/s)",
    "commands": "Commands/sec",
    "gavg": "Average Guest MilliSec/Command",
    "davg": "Average Driver MilliSec/Command",
    "kavg": "Average Kernel MilliSec/Command",
    "queued": "Queued Commands",
}


class Scripts(HTMLParser):
    """Every script element of a page with its type, and every address that the page's markup names."""

    def __init__(self):
        super().__init__()
        self.scripts, self.addresses, self.inside = [], [], False

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        self.addresses += [known[name] for name in ("src", "href", "srcset", "action", "data") if name in known]
        if tag == "script":
            self.scripts.append([known.get("type", ""), ""])
            self.inside = True

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "script"

    def handle_data(self, data):
        if self.inside:
            self.scripts[-1][1] += data


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    steps = []
    made = report(hostile_capture(folder), output=folder / "report.html", progress=lambda *step: steps.append(step))
    return made, steps


@pytest.mark.search
def test_the_reader_took_the_names_as_they_are(hostile):
    rec = ex.open(hostile[0].parent / "capture.csv")
    assert sorted(rec.meta["vms"]) == sorted(HOSTILE)
    assert rec.meta["host"] == HOST


@pytest.mark.search
def test_names_are_text_and_run_nothing(hostile, chromium):
    with browser.opened(chromium, hostile[0]) as seen:
        assert seen.requests == [hostile[0].as_uri()]
        assert seen.dialogs == []
        assert seen.problems == []
        text = seen.page.inner_text("body")
        cells = seen.page.eval_on_selector_all("td", "all => all.map(cell => cell.textContent)")
        drawn = seen.page.eval_on_selector_all("figure svg text", "all => all.map(one => one.textContent)")
        assert HOST in seen.page.inner_text("h1")
        for name in HOSTILE:
            assert name in text
            assert name in cells
        shown = " ".join(drawn)
        assert "<script…" in shown
        assert "日本語 (1)" in shown
        assert "#2a6fb8" in shown
        assert seen.page.query_selector_all("main img, main b, main a[href^=javascript]") == []


def names_in_tooltips(seen, title):
    """What pointing at each bar of a ranking calls it."""
    said = set()
    for bar in seen.page.query_selector_all(f"figure:has(h3:text-is('{title}')) svg .layer_0_marks path"):
        bar.scroll_into_view_if_needed()
        box = bar.bounding_box()
        seen.page.mouse.move(box["x"] + min(box["width"] / 2, 20), box["y"] + box["height"] / 2)
        seen.page.wait_for_selector("#vg-tooltip-element.visible")
        said.add(seen.page.text_content("#vg-tooltip-element td.value").replace("\u2060", ""))
        assert seen.page.query_selector_all("#vg-tooltip-element img, #vg-tooltip-element script") == []
    return said


@pytest.mark.search
def test_tooltips_hold_names_as_text(hostile, chromium):
    with browser.opened(chromium, hostile[0]) as seen:
        assert names_in_tooltips(seen, "Ready per vCPU") == set(HOSTILE)
        assert seen.dialogs == []
        assert seen.problems == []
        assert len(seen.requests) == 1


def marks_drawn(seen):
    """Marks of each chart, by its title."""
    return seen.page.eval_on_selector_all(
        "figure[data-spec]",
        "all => all.map(f => [f.querySelector('h3')?.textContent ?? f.getAttribute('aria-label'),"
        " f.querySelectorAll('svg g.role-mark > *').length])",
    )


def names_drawn(seen, names):
    """How many of the names stand in each chart, and which stand in any."""
    texts = seen.page.eval_on_selector_all(
        "figure[data-spec]", "all => all.map(f => [...f.querySelectorAll('svg text')].map(one => one.textContent))"
    )
    found = [[text.replace("\u2060", "") for text in chart] for chart in texts]
    found = [[text for text in chart if text in names] for chart in found]
    return [len(chart) for chart in found], {text for chart in found for text in chart}


@pytest.mark.search
def test_names_like_keys_of_objects_are_drawn_as_others(chromium, tmp_path):
    marks, many = {}, {}
    plain = [f"vm-{number}" for number in range(len(LIKE_KEYS))]
    for kind, names in (("plain", plain), ("keys", LIKE_KEYS)):
        (tmp_path / kind).mkdir()
        page = report(hostile_capture(tmp_path / kind, names), output=tmp_path / kind / "report.html")
        with browser.opened(chromium, page) as seen:
            assert seen.problems == []
            # Titles of findings and of heat maps name a VM; of equal ones the first in the alphabet.
            whole = re.compile("|".join(f"(?:^|(?<=highest )){re.escape(name)}" for name in names))
            marks[kind] = [(whole.sub("a VM", title, count=1), count) for title, count in marks_drawn(seen)]
            # Of names with equal values another may be left out, by its place in the alphabet: never more of them.
            many[kind], drawn = names_drawn(seen, names)
            assert drawn == set(names)
            assert names_in_tooltips(seen, "Ready per vCPU") == set(names)
    assert len(marks["plain"]) > 5
    assert all(count for _, count in marks["plain"])
    assert marks["keys"] == marks["plain"]
    assert many["keys"] == many["plain"]


def test_the_page_holds_the_runtime_once_and_names_no_address(hostile):
    parser = Scripts()
    html = hostile[0].read_text(encoding="utf-8")
    parser.feed(html)
    running = [text for kind, text in parser.scripts if kind != "application/json"]
    assert len(running) == 5
    assert sum("vegaEmbed=" in text for text in running) == 1
    assert [address for address in parser.addresses if not address.startswith("#")] == []
    assert "cdn." not in html


def test_the_policy_forbids_every_request_and_every_other_script(hostile):
    html = hostile[0].read_text(encoding="utf-8")
    policy = unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1])
    assert policy.startswith("default-src 'none'")
    assert "unsafe-eval" not in policy
    scripts = next(part for part in policy.split(";") if "script-src" in part)
    assert scripts.count("sha256-") == 5
    assert "unsafe-inline" not in scripts


@pytest.mark.search
def test_a_script_that_got_in_would_not_run(hostile, chromium, tmp_path):
    poisoned = tmp_path / "poisoned.html"
    html = hostile[0].read_text(encoding="utf-8")
    poison = "<script>alert(1)</script><img src='https://example.invalid/x' onerror='alert(2)'>"
    poisoned.write_text(html.replace("</main>", f"{poison}</main>"), encoding="utf-8")
    with browser.opened(chromium, poisoned) as seen:
        assert seen.dialogs == []
        assert any("Content Security Policy" in problem for problem in seen.problems)


def test_progress_is_told_and_ends(hostile):
    steps = hostile[1]
    assert [done for done, _, _ in steps] == sorted(done for done, _, _ in steps)
    assert steps[-1][0] == steps[-1][1]
    assert "CPU" in {what for _, _, what in steps}


def test_nothing_is_left_beside_the_report(hostile):
    assert {entry.name for entry in hostile[0].parent.iterdir()} == {"capture.csv", "report.html"}


UNPRINTABLE = ["bell\x07", "escape\x1b[31m", "null\x01", "delete\x7f", "last\ufffe", "none\uffff", "right\u202eleft"]


@pytest.mark.search
@pytest.mark.parametrize("form", routine_of(["html", "md", "ipynb"], {"html"}))
def test_no_page_holds_control_characters_of_a_name(tmp_path, form):
    page = ex.report(hostile_capture(tmp_path, UNPRINTABLE), output=tmp_path / f"page.{form}")
    text = page.read_text(encoding="utf-8")
    assert "bell\ufffd" in text
    assert not re.search("[\x01\x07\x1b\x7f\ufffe\u202e]|\\\\+u(?:001b|0007|202e)", text)


def test_names_that_differ_in_control_characters_only_stay_two_lines_of_a_chart(tmp_path):
    rec = ex.open(hostile_capture(tmp_path, ["web\u202e1", "web\x071", "web\ufffd1"]))
    names = rec.plot("%RDY").to_dict()["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert len(set(names)) == 3
    assert all(theme.drawable(name) == name for name in names)


@pytest.mark.parametrize("part", [{"title": "web\x07\x1b[0m\u202e"}, {"path": "C:\\u0007", "x": ["\x00\\", "日本語"]}])
def test_json_of_a_chart_is_cleaned_as_the_chart(part):
    assert json.loads(theme.drawable_json(json.dumps(part, ensure_ascii=False))) == theme.drawable(part)


@pytest.mark.search
@pytest.mark.parametrize("name", UNPRINTABLE)
def test_a_notebook_that_draws_pictures_goes_on(name):
    code = """
import sys, altair as alt, polars as pl
from esxparse.charts import theme
theme.use()
alt.renderers.enable("png")
frame = pl.DataFrame({"x": [1, 2], "vm": [sys.argv[1], "web"]})
chart = alt.Chart(frame, title=sys.argv[1]).mark_point().encode(x="x", color="vm")
assert chart._repr_mimebundle_()
"""
    done = subprocess.run([sys.executable, "-c", code, name], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
