"""Notebooks run from top to bottom, without any optional program, and give the outputs that are stored in them.

One kernel runs some of them, cleared between two, so that libraries are imported once. It draws no pictures: their
bytes are not compared. `make search` runs all of them with nbval, each in a kernel of its own, and draws.
"""

from __future__ import annotations

import shlex
import subprocess
import sys

import nbclient
import nbformat
import pytest
from checkout import ROOT
from kernels import SocketKernelManager

from esxparse.charts.theme import LAB_MIME

FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.rglob("[!.]*.ipynb"))
VARIES = "nbval-ignore-output"
ROUTINE = {"01-first-look", "04-ready-and-co-stop", "remote"}
"""What `make test` runs."""
# Pictures differ with the fonts of a machine, and rows of charts may come in any order.
PICTURES = {"image/png", "image/svg+xml", LAB_MIME}


@pytest.fixture(scope="module")
def kernel():
    manager = SocketKernelManager(kernel_name="python3")
    manager.start_kernel()
    yield manager
    manager.shutdown_kernel(now=True)


START = """\
%reset -f
import os
import altair, polars
polars.Config.restore_defaults()
altair.theme.enable("default")
altair.renderers.register("png", lambda spec, **_: {{"image/png": ""}})
altair.renderers.enable("default")
os.chdir({folder!r})
del altair, os, polars
"""


def executed(path, kernel):
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(START.format(folder=str(path.parent))))
    nbclient.NotebookClient(notebook, km=kernel, timeout=300).execute()
    return notebook.cells[1:]


def shown(cell):
    """What a cell shows: its printed text by stream, and its results by kind."""
    printed, results = {}, []
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            printed[output.name] = printed.get(output.name, "") + output.text
        else:
            results.append({kind: data for kind, data in output.data.items() if kind not in PICTURES})
    return printed, results


@pytest.mark.parametrize("path", [path for path in NOTEBOOKS if path.stem in ROUTINE], ids=lambda path: path.stem)
def test_a_notebook_gives_the_outputs_that_are_stored_in_it(path, kernel):
    stored = nbformat.read(path, as_version=4).cells
    for before, after in zip(stored, executed(path, kernel), strict=True):
        if VARIES not in before.metadata.get("tags", []):
            assert shown(after) == shown(before), before.source


@pytest.mark.search
def test_what_is_left_out_without_a_program_is_said(kernel):
    cells = executed(FOLDER / "02-storage-and-power.ipynb", kernel)
    assert any("Left out: " in text and "tshark" in text for cell in cells for text in shown(cell)[0].values())


@pytest.mark.search
def test_make_search_runs_every_cell_of_every_notebook():
    """The marks of datasets with large studies are meant for tests, and would leave out notebooks of the same names."""
    makefile = (ROOT / "Makefile").read_text()
    (line,) = (line for line in makefile.splitlines() if "--nbval" in line)
    options = shlex.split(line.strip().removeprefix("$(TEST)"))
    made = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n0", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    cells = [cell for path in NOTEBOOKS for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert f"{len(cells)} tests collected" in made.stdout
