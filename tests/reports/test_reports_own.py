"""Templates of one's own: begun by a command, written with a few helpers, brought by a package."""

from __future__ import annotations

import json
import subprocess
import sys
from zipfile import ZipFile

import nbformat
import polars as pl
import pytest

import esxparse as ex
from esxparse.cli import main
from esxparse.reports import find, helpers, library, starter


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """What `esxparse templates new` writes."""
    folder = tmp_path_factory.mktemp("own")
    assert main(["templates", "new", "night-shift", "-o", str(folder)]) == 0
    return folder / "night-shift.ipynb"


@pytest.mark.search
def test_a_new_template_makes_a_report_at_once(begun, tmp_path, busy_host_file):
    asked = {"limit_pct": "50"}
    page = ex.report(busy_host_file, begun, tmp_path / "report.html", asked).read_text()
    cpu = ex.metrics.host.cpu(ex.open(busy_host_file).tables).collect()["util_pct"]
    assert f"{(cpu > 50).sum()} of {cpu.len()} samples are above 50 %; the mean is {cpu.mean():.1f} %." in page
    assert '<h2 id="how-busy-was-the-host">How busy was the host?</h2>' in page
    assert page.count("<figure data-spec") == 1
    assert "The ten busiest samples" in page
    assert "SHA-256" in page
    assert find(begun).parameters[1].help == "CPU utilisation of the host from which it counts as busy, %"


def test_what_is_there_and_what_is_no_name_is_refused(begun, capsys):
    assert main(["templates", "new", "night-shift", "-o", str(begun.parent)]) == 1
    assert "already exists" in capsys.readouterr().err
    for name, why in (("../up", "is no name for a template"), ("host_health", "comes with esxparse")):
        with pytest.raises(ex.EsxparseError, match=why):
            starter.write(name, begun.parent)
    assert [path.name for path in begun.parent.iterdir()] == ["night-shift.ipynb"]


def test_names_are_text_in_every_helper():
    evil = "<img src=x onerror=alert(1)>"
    rows = pl.DataFrame({evil: [1.25], "vm": [evil]})
    made = [
        helpers.section(evil, evil)._repr_mimebundle_()["text/html"],
        helpers.table(rows, evil).html,
        helpers.table(rows, evil, {"vm": f"{evil} [{evil}]"}).html,
        helpers.finding(evil, "warning", {evil: evil}).html,
        helpers.chart(None, evil).html,
    ]
    assert not any("<img" in one for one in made)
    with pytest.raises(ex.EsxparseError, match="the table 'a' has no column 'none': it has"):
        helpers.table(rows, "a", {"none": "None"})


def test_a_block_brings_its_style_to_a_notebook_and_none_to_a_page(monkeypatch):
    block = helpers.finding("It waits.", "warning")
    monkeypatch.delenv("ESXPARSE_REPORT", raising=False)
    shown = block._repr_mimebundle_()["text/html"]
    assert shown.startswith("<style>")
    assert shown.endswith(block.html)
    monkeypatch.setenv("ESXPARSE_REPORT", "shipped")
    assert block._repr_mimebundle_()["text/html"] == block.html


def test_heads_carry_units():
    html = helpers.table(
        pl.LazyFrame({"ready": [1.25], "vms": [3]}), "Ready", {"ready": "Ready [%]", "vms": "VMs"}
    ).html
    assert 'Ready <span class="ex-unit">%</span>' in html
    assert ">1.2<" in html or ">1.3<" in html
    assert ">3<" in html


@pytest.fixture(scope="module")
def installed(tmp_path_factory, begun):
    """Where a package is installed that brings a template, one that is lost, and one with a name that is taken."""
    source = tmp_path_factory.mktemp("source")
    module = source / "night_reports"
    module.mkdir()
    (module / "__init__.py").write_text("raise RuntimeError('listing templates runs no code of theirs')\n")
    (module / "night_shift.ipynb").write_bytes(begun.read_bytes())
    names = "\n".join(f'{name} = "night_reports"' for name in ("night_shift", "lost", "host_health"))
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        '[project]\nname = "night-reports"\nversion = "1"\n'
        f'[project.entry-points."esxparse.templates"]\n{names}\n'
        '[tool.setuptools]\npackages = ["night_reports"]\n[tool.setuptools.package-data]\nnight_reports = ["*.ipynb"]\n'
    )
    target = tmp_path_factory.mktemp("site")
    build = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", build, str(target)], cwd=source, check=True, capture_output=True, text=True
    )
    # A wheel of Python alone is a zip of what is installed.
    with ZipFile(target / done.stdout.splitlines()[-1]) as wheel:
        wheel.extractall(target)
    return target


def test_a_package_brings_a_template_by_an_entry_point(installed, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(installed))
    found = find("night_shift")
    assert found.path == installed / "night_reports" / "night_shift.ipynb"
    assert "night_shift" in [one.name for one in ex.templates()]
    with pytest.raises(ex.EsxparseError, match=r"template 'lost' of package night-reports: there is no lost\.ipynb"):
        find("lost")
    assert find("host_health").path.parent == library.templates_dir()
    assert main(["templates"]) == 1
    told = capsys.readouterr()
    assert "night_shift: Night shift\n  How busy a host was.\n    limit_pct: float" in told.out
    assert "template 'host_health' of package night-reports: there is another template of that name" in told.err


def test_the_notebook_is_one_that_jupyter_reads(begun):
    nbformat.validate(nbformat.read(begun, as_version=4))
    assert json.loads(begun.read_text())["metadata"]["esxparse"]["title"] == "Night shift"
