"""The report, made as users make it and opened in a real browser that is cut off from the network."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser

import browser
import compose
import nbclient
import nbformat
import polars as pl
import pytest

import esxparse as ex
from esxparse.diagnosis import thresholds
from esxparse.metrics import inventory, scheduling
from esxparse.reports import blocks, export, report, templates, verdict

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
SAMPLES = 12


def hostile_capture(folder):
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
    for number, vm in enumerate(HOSTILE):
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


@pytest.fixture(scope="module")
def bundled(tmp_path_factory, busy_host_file):
    return report(busy_host_file, output=tmp_path_factory.mktemp("bundled") / "report.html")


@pytest.fixture(scope="module")
def chromium():
    with browser.chromium() as running:
        yield running


def test_the_reader_took_the_names_as_they_are(hostile):
    rec = ex.open(hostile[0].parent / "capture.csv")
    assert sorted(rec.meta["vms"]) == sorted(HOSTILE)
    assert rec.meta["host"] == HOST


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


def test_tooltips_hold_names_as_text(hostile, chromium):
    with browser.opened(chromium, hostile[0]) as seen:
        said = set()
        for bar in seen.page.query_selector_all("figure:has(h3:text-is('Ready per vCPU')) svg .layer_0_marks path"):
            bar.scroll_into_view_if_needed()
            box = bar.bounding_box()
            seen.page.mouse.move(box["x"] + min(box["width"] / 2, 20), box["y"] + box["height"] / 2)
            seen.page.wait_for_selector("#vg-tooltip-element.visible")
            said.add(seen.page.text_content("#vg-tooltip-element td.value"))
            assert seen.page.query_selector_all("#vg-tooltip-element img, #vg-tooltip-element script") == []
        assert said == set(HOSTILE)
        assert seen.dialogs == []
        assert seen.problems == []
        assert len(seen.requests) == 1


def test_pointing_at_a_line_tells_name_time_and_value(bundled, chromium):
    with browser.opened(chromium, bundled) as seen:
        dots = seen.page.query_selector_all(
            "figure:has(h3:text-is('Ready per vCPU over time')) svg .mark-symbol.role-mark path"
        )
        peak = min(dots, key=lambda dot: dot.bounding_box()["y"])
        peak.scroll_into_view_if_needed()
        box = peak.bounding_box()
        seen.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        seen.page.wait_for_selector("#vg-tooltip-element.visible")
        values = seen.page.eval_on_selector_all(
            "#vg-tooltip-element td.value", "all => all.map(one => one.textContent)"
        )
        assert values[0] == "orders-app"
        assert re.fullmatch(r"Mar 11, 2026 09:0\d:\d\d", values[1])
        assert float(values[2]) > 20


def test_the_page_holds_the_runtime_once_and_names_no_address(hostile):
    parser = Scripts()
    html = hostile[0].read_text(encoding="utf-8")
    parser.feed(html)
    running = [text for kind, text in parser.scripts if kind != "application/json"]
    assert len(running) == 2
    assert sum("vegaEmbed=" in text for text in running) == 1
    assert [address for address in parser.addresses if not address.startswith("#")] == []
    assert "cdn." not in html


def test_the_policy_forbids_every_request_and_every_other_script(hostile):
    html = hostile[0].read_text(encoding="utf-8")
    policy = unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1])
    assert policy.startswith("default-src 'none'")
    assert "unsafe-eval" not in policy
    scripts = next(part for part in policy.split(";") if "script-src" in part)
    assert scripts.count("sha256-") == 2
    assert "unsafe-inline" not in scripts


def test_a_script_that_got_in_would_not_run(hostile, chromium, tmp_path):
    poisoned = tmp_path / "poisoned.html"
    html = hostile[0].read_text(encoding="utf-8")
    poison = "<script>alert(1)</script><img src='https://example.invalid/x' onerror='alert(2)'>"
    poisoned.write_text(html.replace("</main>", f"{poison}</main>"), encoding="utf-8")
    with browser.opened(chromium, poisoned) as seen:
        assert seen.dialogs == []
        assert any("Content Security Policy" in problem for problem in seen.problems)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_every_chart_is_drawn_and_nothing_is_wider_than_the_window(bundled, chromium, width, scheme):
    with browser.opened(chromium, bundled, width, scheme=scheme) as seen:
        sizes = seen.charts()
        assert len(sizes) >= 15
        assert all(0 < chart_width <= width and chart_height > 20 for chart_width, chart_height in sizes)
        assert seen.hidden_words() == []
        assert seen.overflow() <= 0
        assert seen.problems == []
        assert len(seen.requests) == 1


def test_light_and_dark_differ_and_keep_text_readable(bundled, chromium):
    pairs = {}
    for scheme in ("light", "dark"):
        with browser.opened(chromium, bundled, scheme=scheme) as seen:
            pairs[scheme] = seen.page.evaluate(
                "[getComputedStyle(document.body).backgroundColor,"
                " getComputedStyle(document.querySelector('figure svg .role-axis-label text')).fill]"
            )
    assert pairs["light"][0] == "rgb(255, 255, 255)"
    assert pairs["dark"][0] != pairs["light"][0]
    assert pairs["dark"][1] != pairs["light"][1]


def test_charts_follow_the_window(bundled, chromium):
    with browser.opened(chromium, bundled, 1440) as seen:
        before = seen.charts()[0][0]
        seen.page.set_viewport_size({"width": 390, "height": 900})
        seen.page.wait_for_timeout(800)
        assert seen.charts()[0][0] < before
        assert seen.overflow() <= 0
        assert seen.hidden_words() == []


def test_times_are_utc_for_a_reader_in_tokyo(bundled, chromium, busy_host):
    first = f"{busy_host.meta['start']:%H:%M}"
    with browser.opened(chromium, bundled, zone="Asia/Tokyo") as seen:
        labels = seen.page.eval_on_selector_all(
            "figure svg .role-axis-label text", "all => all.map(one => one.textContent)"
        )
        assert first in labels


def test_it_prints(bundled, chromium, tmp_path):
    with browser.opened(chromium, bundled, scheme="dark") as seen:
        printed = seen.page.pdf(path=tmp_path / "report.pdf", format="A4", print_background=True)
    assert printed.startswith(b"%PDF")
    assert 5 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 30


def test_sections_are_linked_and_the_figures_named(bundled, chromium):
    with browser.opened(chromium, bundled) as seen:
        targets = seen.page.eval_on_selector_all("nav a", "all => all.map(a => a.getAttribute('href').slice(1))")
        assert {"cpu", "memory", "disk", "network", "power"} <= set(targets)
        assert all(seen.page.query_selector(f"#{target}") for target in targets)
        alts = seen.page.eval_on_selector_all(".ex-chart", "all => all.map(one => one.getAttribute('aria-label'))")
        assert all(alts)
        assert seen.page.get_attribute("html", "lang") == "en"


def test_progress_is_told_and_ends(hostile):
    steps = hostile[1]
    assert [done for done, _, _ in steps] == sorted(done for done, _, _ in steps)
    assert steps[-1][0] == steps[-1][1]
    assert "CPU" in {what for _, _, what in steps}


def test_nothing_is_left_beside_the_report(hostile):
    assert {entry.name for entry in hostile[0].parent.iterdir()} == {"capture.csv", "report.html"}


def run_report(*lines, env=None):
    """What a fresh interpreter prints when it runs `lines`."""
    code = "\n".join(["from esxparse.reports import report", *lines])
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False, env=env
    )


def test_a_foreign_python3_kernel_is_not_used_and_nothing_is_printed(tmp_path, busy_host_file):
    spec = tmp_path / "jupyter" / "kernels" / "python3"
    spec.mkdir(parents=True)
    (spec / "kernel.json").write_text(
        json.dumps({"argv": ["/nonexistent/python", "{connection_file}"], "display_name": "no", "language": "python"})
    )
    env = os.environ | {"JUPYTER_DATA_DIR": str(tmp_path / "jupyter"), "JUPYTER_PATH": str(tmp_path / "jupyter")}
    out = tmp_path / "report.html"
    ran = run_report(f"report({str(busy_host_file)!r}, output={str(out)!r})", env=env)
    assert ran.returncode == 0, ran.stderr
    assert (ran.stdout, ran.stderr) == ("", "")
    assert out.stat().st_size > 500_000


def test_a_failing_cell_is_one_clear_line_and_leaves_the_old_report_alone(tmp_path, busy_host_file):
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell('capture: str = ""  # path', metadata={"tags": ["parameters"]}),
            nbformat.v4.new_markdown_cell("## Sums"),
            nbformat.v4.new_code_cell("1 / 0"),
        ]
    )
    nbformat.write(notebook, tmp_path / "broken.ipynb")
    out = tmp_path / "report.html"
    out.write_text("the old one")
    with pytest.raises(ex.EsxparseError) as caught:
        report(busy_host_file, template=tmp_path / "broken.ipynb", output=out)
    assert str(caught.value) == "template 'broken' failed in section 'Sums': ZeroDivisionError: division by zero"
    assert out.read_text() == "the old one"
    assert {entry.name for entry in tmp_path.iterdir()} == {"broken.ipynb", "report.html"}


def test_a_kernel_that_dies_is_one_clear_line(tmp_path, busy_host_file):
    cells = [
        nbformat.v4.new_code_cell('capture: str = ""  # path', metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell("import os\nos._exit(9)"),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "dying.ipynb")
    with pytest.raises(ex.EsxparseError, match=r"template 'dying' could not be run .*: Kernel died") as caught:
        report(busy_host_file, template=tmp_path / "dying.ipynb", output=tmp_path / "report.html")
    assert "\n" not in str(caught.value)
    assert {entry.name for entry in tmp_path.iterdir()} == {"dying.ipynb"}


def test_it_runs_where_an_event_loop_runs_already_as_in_a_notebook(tmp_path, busy_host_file):
    out = tmp_path / "report.html"
    ran = run_report(
        "import asyncio",
        "async def inside():",
        f"    report({str(busy_host_file)!r}, output={str(out)!r})",
        "asyncio.run(inside())",
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert out.is_file()


def test_a_notebook_of_ones_own_with_a_plain_altair_chart_and_an_image_works(tmp_path, busy_host_file, chromium):
    cells = [
        nbformat.v4.new_code_cell('capture: str = ""  # path', metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell(
            "from esxparse.reports import page\npage.prepare()\nimport altair as alt, polars as pl"
        ),
        nbformat.v4.new_markdown_cell("## Mine <b>own</b>\n\nSome *words*."),
        nbformat.v4.new_code_cell("alt.Chart(pl.DataFrame({'a': [1, 2]})).mark_point().encode(x='a:Q')"),
        nbformat.v4.new_code_cell("print('<i>printed</i>')"),
        nbformat.v4.new_code_cell("1 + 1"),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "own.ipynb")
    made = report(busy_host_file, template=tmp_path / "own.ipynb", output=tmp_path / "own.html")
    with browser.opened(chromium, made) as seen:
        assert len(seen.charts()) == 1
        assert "<i>printed</i>" in seen.page.inner_text("main")
        assert "1 + 1" not in seen.page.inner_text("main")
        assert len(seen.requests) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"captures": "nowhere.csv"}, "nowhere.csv"),
        ({"template": "host_helth"}, r"unknown template 'host_helth': there is .*host_health"),
        ({"template": "nowhere.ipynb"}, "no template notebook at nowhere.ipynb"),
        ({"output": "no/such/folder/report.html"}, "there is no directory"),
        ({"output": "."}, "is a directory"),
        (
            {"parameters": {"colour": "red"}},
            r"no parameter 'colour': it takes date_order, end, profile, segment, start",
        ),
        ({"parameters": {"start": "yesterday"}}, "start 'yesterday' is no time"),
        ({"parameters": {"start": "2031-01-01"}}, "no sample in the window"),
        ({"parameters": {"profile": "lenient"}}, "unknown thresholds profile 'lenient'"),
        ({"captures": []}, "no capture given"),
    ],
)
def test_what_cannot_work_is_refused_before_a_kernel_starts(tmp_path, monkeypatch, busy_host_file, change, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("esxparse.reports.run._execute", None)
    with pytest.raises(ex.EsxparseError, match=message) as caught:
        report(**({"captures": busy_host_file, "output": "report.html"} | change))
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_two_captures_for_a_template_of_one_are_refused(busy_host_file):
    with pytest.raises(ex.EsxparseError, match="takes one capture, and 2 were given"):
        report([busy_host_file, busy_host_file])


def test_templates_say_what_they_are_for():
    found = {one.name: one for one in templates()}
    health = found["host_health"]
    assert health.title == "Host health"
    assert health.formats == ("esxtop",)
    assert [(one.name, one.type, one.default) for one in health.parameters] == [
        ("capture", "str", "''"),
        ("start", "str", "''"),
        ("end", "str", "''"),
        ("profile", "str", "'standard'"),
        ("segment", "int", "1"),
        ("date_order", "str", "''"),
    ]
    assert all(one.description for one in found.values())
    assert all(parameter.help for parameter in health.parameters)


def test_templates_hold_no_output_and_say_where_each_cell_is():
    for one in templates():
        notebook = nbformat.read(one.path, as_version=4)
        nbformat.validate(notebook)
        assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in notebook.cells)


def test_the_template_runs_in_a_plain_notebook_and_shows_live_charts():
    client = nbclient.NotebookClient(
        nbformat.read(templates()[0].path, as_version=4), kernel_name="python3", timeout=120
    )
    done = client.execute()
    shown = [output.data for cell in done.cells for output in cell.get("outputs", []) if "data" in output]
    charts = [data for data in shown if blocks.VEGALITE_MIME in data]
    assert len(charts) >= 15
    assert all("vega" in data["text/html"] for data in charts)
    nbformat.validate(done)


def test_the_verdict_names_the_worst_and_tells_peaks_from_troubles():
    times = pl.datetime_range(
        pl.datetime(2026, 1, 1), pl.datetime(2026, 1, 1, 0, 1, 39), "1s", time_zone="UTC", eager=True
    )
    frame = pl.concat(
        pl.LazyFrame({"time": times, "group_id": number, "vm": vm, "contention_pct": ready, "costop_pct": costop})
        for number, (vm, ready, costop) in enumerate(
            [("calm", [1.0] * 100, [0.0] * 100), ("waiting", [12.0] * 50 + [1.0] * 50, [9.0] + [0.0] * 99)]
        )
    )
    found = verdict.judge(thresholds.load("standard"), {"scheduling.per_vcpu": frame})
    rows = {row["id"]: row for row in found.iter_rows(named=True)}
    assert set(rows) == {"cpu.ready", "cpu.costop"}
    assert (rows["cpu.ready"]["verdict"], rows["cpu.ready"]["object"]) == ("critical", "waiting")
    assert (rows["cpu.ready"]["objects"], rows["cpu.ready"]["of"], rows["cpu.ready"]["over_pct"]) == (1, 2, 50.0)
    assert (rows["cpu.costop"]["verdict"], rows["cpu.costop"]["extreme"]) == ("peaks", 9.0)


def test_samples_below_the_floor_do_not_count():
    quiet = pl.LazyFrame({"device": ["a", "a"], "iops": [1.0, 500.0], "gavg_ms": [400.0, 2.0]})
    found = verdict.judge(thresholds.load("standard"), {"storage.latency": quiet})
    assert found.filter(pl.col("id") == "disk.gavg").select("verdict", "extreme").row(0) == ("ok", 2.0)


def test_the_verdict_on_the_bundled_host_agrees_with_its_metrics(busy_host):
    waits = scheduling.per_vcpu(busy_host["group_cpu"], inventory.vms(busy_host["vcpu"]))
    found = verdict.judge(thresholds.load("standard"), {"scheduling.per_vcpu": waits})
    ready = found.filter(pl.col("id") == "cpu.ready").row(0, named=True)
    worst = waits.group_by("vm").agg(pl.col("contention_pct").quantile(0.95, "linear")).sort("contention_pct").collect()
    assert ready["object"] == worst["vm"][-1]
    assert ready["p95"] == pytest.approx(worst["contention_pct"][-1])


def test_a_table_escapes_aligns_and_says_its_units():
    frame = pl.DataFrame({"vm": ["<b>&\"'"], "ready": [1234.567], "n": [2], "none": [None]})
    columns = [
        blocks.Column("vm", "VM"),
        blocks.Column("ready", "Ready", "%", 2),
        blocks.Column("n", "Count", digits=None),
        blocks.Column("none", "Nothing"),
        blocks.Column("absent", "Absent"),
    ]
    made = blocks.table(frame, columns, "VMs <i>")
    assert "<td>&lt;b&gt;&amp;&quot;&#x27;</td>" in made.html
    assert '<td class="ex-number">1,234.57</td>' in made.html
    assert '<span class="ex-unit">%</span>' in made.html
    assert "Nothing" not in made.html
    assert "<i>" not in made.html
    assert "1,234.57" in made.text


def test_a_spec_cannot_end_its_script_element():
    text = export._json_inside_script({"name": "</script><!--\u2028&"})
    assert "<" not in text
    assert "\u2028" not in text
    assert json.loads(text) == {"name": "</script><!--\u2028&"}


def test_colours_become_variables_and_names_that_look_like_colours_do_not():
    spec = {
        "mark": {"type": "bar", "color": "#2a6fb8"},
        "encoding": {"color": {"scale": {"domain": ["#2a6fb8"], "range": ["#2a6fb8"]}}},
        "config": {"title": {"color": "#1c232b"}},
        "datasets": {"d": [{"label": "#2a6fb8"}]},
    }
    themed = export._themed(spec)
    assert themed["mark"]["color"] == "var(--blue)"
    assert themed["encoding"]["color"]["scale"] == {"domain": ["#2a6fb8"], "range": ["var(--blue)"]}
    assert themed["config"]["title"]["color"] == "var(--ink)"
    assert themed["datasets"]["d"] == [{"label": "#2a6fb8"}]
