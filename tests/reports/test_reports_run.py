"""Running a template: kernels, failures, notebooks of one's own, and what is refused before."""

from __future__ import annotations

import base64
import hashlib
import importlib
import json
import os
import subprocess
import sys
from importlib import metadata

import altair as alt
import browser
import nbformat
import polars as pl
import pytest

import esxparse as ex
from esxparse.charts import runtime
from esxparse.reports import datasets, find, kernel, lean, page, report, standby


def run_report(*lines, env=None):
    """What a fresh interpreter prints when it runs `lines`."""
    code = "\n".join(["from esxparse.reports import report", *lines])
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False, env=env
    )


def small_template(folder):
    """The path of a template that needs none of the time that a real one takes."""
    cells = [
        nbformat.v4.new_code_cell('capture: str = ""  # path', metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell("print('what it adds up to:', 1 + 1)"),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "small.ipynb")
    return str(folder / "small.ipynb")


@pytest.mark.search
def test_a_foreign_python3_kernel_is_not_used_and_nothing_is_printed(tmp_path, busy_host_file):
    spec = tmp_path / "jupyter" / "kernels" / "python3"
    spec.mkdir(parents=True)
    (spec / "kernel.json").write_text(
        json.dumps({"argv": ["/nonexistent/python", "{connection_file}"], "display_name": "no", "language": "python"})
    )
    env = os.environ | {"JUPYTER_DATA_DIR": str(tmp_path / "jupyter"), "JUPYTER_PATH": str(tmp_path / "jupyter")}
    out = tmp_path / "report.html"
    template = small_template(tmp_path)
    ran = run_report(f"report({str(busy_host_file)!r}, template={template!r}, output={str(out)!r})", env=env)
    assert ran.returncode == 0, ran.stderr
    assert (ran.stdout, ran.stderr) == ("", "")
    assert "what it adds up to: 2" in out.read_text()


@pytest.mark.search
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


@pytest.mark.search
def test_a_kernel_that_dies_is_one_clear_line(tmp_path, busy_host_file):
    cells = [
        nbformat.v4.new_code_cell('capture: str = ""  # path', metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell("import os\nos._exit(9)"),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "dying.ipynb")
    with pytest.raises(ex.EsxparseError, match=r"template 'dying' could not run .*: Kernel died") as caught:
        report(busy_host_file, template=tmp_path / "dying.ipynb", output=tmp_path / "report.html")
    assert "\n" not in str(caught.value)
    # Libraries print that, too, but only where nothing else has set up their logs.
    words = ["report", busy_host_file, "--template", tmp_path / "dying.ipynb", "-o", tmp_path / "report.html"]
    done = subprocess.run([sys.executable, "-m", "esxparse", *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"esxparse: {caught.value}\n")
    assert {entry.name for entry in tmp_path.iterdir()} == {"dying.ipynb"}


@pytest.mark.search
def test_it_runs_where_an_event_loop_runs_already_as_in_a_notebook(tmp_path, busy_host_file):
    out = tmp_path / "report.html"
    template = small_template(tmp_path)
    ran = run_report(
        "import asyncio",
        "async def inside():",
        f"    report({str(busy_host_file)!r}, template={template!r}, output={str(out)!r})",
        "asyncio.run(inside())",
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert out.is_file()


@pytest.mark.search
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
        ({"template": "host_helth"}, r"unknown template 'host_helth': did you mean 'host_health'\? choose from .*"),
        ({"template": "nowhere.ipynb"}, "no template notebook at nowhere.ipynb"),
        ({"output": "no/such/folder/report.html"}, "there is no directory"),
        ({"output": "."}, "is a directory"),
        (
            {"parameters": {"colour": "red"}},
            r"no parameter 'colour': it takes end, events, profile, start and options of esxparse",
        ),
        ({"parameters": {"start": "yesterday"}}, "start 'yesterday' is not a time"),
        ({"parameters": {"start": "2031-01-01"}}, "no sample in the requested window"),
        ({"parameters": {"profile": "lenient"}}, "unknown thresholds profile 'lenient'"),
        ({"captures": []}, "no capture given"),
        (
            {"captures": ex.datasets_dir() / "formats" / "iometer-1.1.0.csv", "template": "host_health"},
            "template 'host_health' reads esxtop, but .*iometer-1.1.0.csv is iometer: take storage_benchmark",
        ),
    ],
)
def test_what_cannot_work_is_refused_before_a_kernel_starts(tmp_path, monkeypatch, busy_host_file, change, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("esxparse.reports.run._execute", None)
    with pytest.raises(ex.EsxparseError, match=message) as caught:
        report(**({"captures": busy_host_file, "output": "report.html"} | change))
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_what_is_refused_leaves_no_process(monkeypatch, busy_host_file):
    begun = []
    monkeypatch.setattr(
        kernel, "Popen", lambda *args, **more: begun.append(subprocess.Popen(*args, **more)) or begun[0]
    )
    with pytest.raises(ex.EsxparseError, match="no sample in the requested window"):
        report(busy_host_file, parameters={"start": "2031-01-01"})
    assert begun[0].returncode is not None


def test_a_process_that_is_told_nothing_ends_without_a_word(tmp_path):
    command = [sys.executable, "-m", "esxparse.reports.standby", str(tmp_path / "nowhere.ipynb")]
    ran = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def test_what_a_template_takes_of_esxparse_is_imported_before_it_runs(tmp_path):
    names = set(standby._imported(str(find("host_health").path)))
    assert {"esxparse.charts", "esxparse.metrics.storage", "esxparse.reports.host_health.verdict"} <= names
    sources = [
        "%matplotlib inline",
        "import os\nfrom json import loads\nfrom . import x",
        "from esxparse import charts",
    ]
    own = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in sources])
    nbformat.write(own, tmp_path / "own.ipynb")
    assert list(standby._imported(str(tmp_path / "own.ipynb"))) == ["esxparse.charts"]


def test_charts_of_ones_own_template_are_checked(monkeypatch):
    wrong = alt.Chart(alt.InlineData([])).mark_point()
    wrong["width"] = {"no": "width"}
    monkeypatch.setenv("ESXPARSE_REPORT", "own")
    with pytest.raises(alt.utils.schemapi.SchemaValidationError):
        page.show(wrong, missing="nothing")


def test_a_metric_is_computed_once_for_all_that_show_it(monkeypatch):
    computed = []

    def metric(table):
        return table.map_batches(lambda frame: computed.append(1) or frame, schema={"time": pl.Int64})

    table = pl.LazyFrame({"time": range(100)})
    held = page.if_present(metric, table)
    assert [held.collect().height, held.select(pl.len()).collect().item(), len(computed)] == [100, 100, 1]
    monkeypatch.setattr(page, "_HELD_BYTES", 799)
    assert [page.if_present(metric, table).collect().height, len(computed)] == [100, 2]
    assert page.if_present(metric, table, None) is None
    assert page.if_present(len, [1, 2]) == 2


def test_two_captures_for_a_template_of_one_are_refused(busy_host_file):
    with pytest.raises(ex.EsxparseError, match="takes one capture, but 2 were given"):
        report([busy_host_file, busy_host_file])


def test_the_runtime_of_charts_is_kept_and_made_again_where_it_is_damaged(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept = tmp_path / f"esxparse/vega-{metadata.version('vl-convert-python')}.js"

    def keep(script, of):
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(f"{base64.b64encode(hashlib.sha256(of).digest()).decode()}\n{script}", encoding="utf-8")

    keep("console.log(", b"console.log(1)")
    made = runtime.vega_runtime()
    assert "vegaEmbed" in made
    assert kept.read_text(encoding="utf-8").partition("\n")[2] == made
    keep("console.log(1)", b"console.log(1)")
    assert runtime.vega_runtime() == "console.log(1)"


@pytest.mark.search
def test_a_page_can_be_made_where_nothing_can_be_kept(tmp_path, monkeypatch):
    (tmp_path / "esxparse").write_text("a file where the directory should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert "vegaEmbed" in runtime.vega_runtime()


def test_what_is_left_out_of_an_import_is_there_afterwards(tmp_path, monkeypatch):
    (tmp_path / "left_out_here.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    with lean.without("left_out_here", "sys"):
        assert importlib.util.find_spec("left_out_here") is None
        with pytest.raises(ImportError):
            importlib.import_module("left_out_here")
        assert importlib.import_module("sys") is sys
    assert importlib.import_module("left_out_here")


def test_each_layer_has_the_rows_that_altair_gives_it():
    frame = pl.DataFrame({"x": [1, 2], "y": [0.5, None]})
    base = alt.Chart(frame).encode(x="x:Q", y="y:Q")
    chart = alt.LayerChart(layer=[base.mark_line(), base.mark_point(), alt.Chart(frame.head(1)).mark_rule()])
    alt.data_transformers.register("held", datasets.Datasets())
    with alt.data_transformers.enable("held"):
        held = datasets.filled(chart.to_dict())
    rows = [[spec["datasets"][one["data"]["name"]] for one in spec["layer"]] for spec in (held, chart.to_dict())]
    assert rows[0] == rows[1]
    assert len(held["datasets"]) == 2
