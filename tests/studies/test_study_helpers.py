"""Templates of studies as people use them: helpers given by hand, copies that are changed, plain Jupyter."""

from __future__ import annotations

import ast
import json
import re

import nbformat
import polars as pl
import pytest
from checkout import DOCS
from specs import drawn
from studied import made
from templated import cells, ran, run_cells

import esxparse as ex
from esxparse import EsxparseError
from esxparse.cli import main
from esxparse.reports import blocks, find, library
from esxparse.reports.study import helpers, needs

SWEEP = [({"hosts": hosts}, {"iops": iops}) for hosts, iops in ((4, 1000.0), (8, 2000.0), (16, 3000.0))]
DOCS = DOCS / "templates.md"


@pytest.fixture
def found(tmp_path):
    return helpers.gather(made(tmp_path, SWEEP, 'axis = "hosts"'))


def test_sentences_have_columns_names_and_labels(found):
    rows = pl.DataFrame({"hosts": [4, 8, 8, 16], "load": [0.5, 0.25, 0.25, None], "note": ["a", "b", "b", "c"]})
    told = helpers.sentences(found, rows, "{who}{load:.2f} of {most} ({note}).", most=12345.0)
    # Numbers without a format have about four digits; a row without its number has no sentence, the same row one.
    assert told == ["4 hosts: 0.50 of 12,345 (a).", "8 hosts: 0.25 of 12,345 (b)."]
    assert helpers.sentences(found, rows.select("load"), "up to {load}") == ["Up to 0.5", "Up to 0.25"]
    assert helpers.sentences(found, rows.lazy(), "{note}", lead="Notes: ") == ["Notes: a; b; c."]
    assert helpers.sentences(found, rows.head(0), "{note}", lead="Notes: ") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{lode}", "the sentence '{lode}' names 'lode': its rows have load, who, labels_told"),
        ("{load:d}", "the sentence '{load:d}': "),
    ],
)
def test_a_mistake_in_a_sentence_is_one_clear_error(found, text, message):
    with pytest.raises(EsxparseError, match=re.escape(message)):
        helpers.sentences(found, pl.DataFrame({"load": [0.5]}), text)


def test_a_table_has_its_labels_first_and_names_a_column_that_is_not_there(found):
    rows = pl.DataFrame({"load": [0.5, 0.25], "hosts": [4, 8], "none": [None, None]})
    block = helpers.table(found, rows, "Loads", {"load": "Load [%]", "none": "None"})
    assert block.text.splitlines()[:3] == ["Loads", "hosts  Load [%]", "4      0.5000"]
    assert helpers.table(found, rows.head(0), "Loads", {"load": "Load"}) == blocks.NOTHING
    with pytest.raises(EsxparseError, match="the table 'Loads' has no column 'lode': did you mean 'load'"):
        helpers.table(found, rows, "Loads", {"lode": "Load"})


def test_a_chart_has_a_series_for_each_label_and_none_without_rows(found):
    rows = pl.DataFrame({"size": [1, 2, 4, 1, 2, 4], "hosts": [4, 4, 4, 8, 8, 8], "load": [1.0, 2, 3, 2, 4, 6]})
    (made_chart,) = helpers.chart(found, rows, "size", "load", title="Load", unit="%", level="load", said=["dashed: a"])
    spec = json.dumps(made_chart.to_dict())
    assert '"4 hosts"' in spec
    assert '"8 hosts"' in spec
    assert '"Load; dashed: a"' in spec
    assert helpers.chart(found, rows.head(0), "size", "load", title="Load", unit="%") == []


def test_curves_leave_out_what_has_no_number_and_draw_plain_what_has_no_baseline(found):
    (one,) = helpers.curve(found, ["iops", "watts"], "relative")
    assert one.to_dict()["title"]["text"] == "IOPS: 1,000 at 4 hosts, 3,000 at 16 hosts"
    assert drawn(one.to_dict()) == "IOPS by hosts"
    assert helpers.curve(found, "watts") == []


def test_a_curve_of_a_misspelled_column_is_one_clear_error(found):
    with pytest.raises(EsxparseError, match=r"runs have no column 'iosp'\. Did you mean 'iops'\?"):
        helpers.curve(found, ["iops", "iosp"])


def test_values_follow_the_answer_if_it_says_nothing_or_an_input_is_missing(tmp_path):
    folder = made(tmp_path, SWEEP, 'axis = "hosts"')
    alone = helpers.gather(folder)
    assert "IOPS grows from 1,000 at 4" in helpers.answer(alone, [], each_value=False).text
    assert helpers.answer(alone, ["Yes."], each_value=False).text == "Yes."
    assert helpers.answer(alone, ["Yes."]).text.startswith("Yes.\nIOPS grows")
    asking = helpers.gather(folder, inputs=[helpers.Input("price", float, None, "price of a host")])
    assert not asking.is_complete
    assert asking.input_values == [None]
    text = helpers.answer(asking, ["Yes."], each_value=False).text
    assert text.startswith("This page shows what was measured and draws no conclusion. No file has price (price of a")
    assert "Yes.\nIOPS grows" in text


@pytest.mark.parametrize("name", ["scaling", "protocols", "power_policy", "replication", "numa", "linerate"])
def test_the_comment_of_a_parameter_is_what_the_report_says_of_it(name):
    tree = ast.parse("\n".join("".join(cell["source"]) for cell in cells(name) if cell["cell_type"] == "code"))
    texts = {
        node.targets[0].id: node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.targets[0], ast.Name)
    }
    parameters = {one.name: one for one in find(name).parameters}
    asked = []
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Input":
            ident, kind, value, text = call.args
            one = parameters[ident.value]
            assert (one.name, one.type) == (value.id, kind.id)
            assert one.help.startswith(texts[text.id] if isinstance(text, ast.Name) else text.value)
            if "default" not in [more.arg for more in call.keywords]:
                assert one.help.endswith("; no conclusion without it")
                asked.append(one.name)
    assert asked == list(library.needs_of_studies()[name].asks)


@pytest.mark.parametrize(
    ("study", "message"),
    [
        ({"needs": {"sweeps": True}}, 'unknown key "sweeps"; use one of apart, baseline'),
        ({"needs": {"sweep": "yes"}}, 'sweep is "yes"; write true or false'),
        ({"fits": [{"labels": "vms"}]}, 'labels is "vms"; write a list'),
        ({"fits": {"baseline": True}}, "has rank (a whole number), needs, fits and asks, no more"),
        ({"fits": [["baseline"]]}, "has rank (a whole number), needs, fits and asks, no more"),
        ({"turn": 3}, 'unknown key "turn"; use one of asks, fits, needs, rank'),
        ("scaling", "has rank (a whole number), needs, fits and asks, no more"),
    ],
)
def test_metadata_with_a_mistake_are_one_clear_error(tmp_path, study, message):
    notebook = json.loads(find("scaling").path.read_text())
    notebook["metadata"]["esxparse"]["study"] = study
    path = tmp_path / "mine.ipynb"
    path.write_text(json.dumps(notebook))
    with pytest.raises(EsxparseError, match=re.escape(message)) as caught:
        find(path)
    assert str(caught.value).startswith(str(path))


def test_auto_takes_no_template_that_asks_the_user_even_if_it_fits(tmp_path):
    manifest = ex.studies.study_file.load(made(tmp_path, SWEEP, 'axis = "hosts"'))
    runs = ex.studies.expand.expand(manifest)
    every = {"priced": needs.Needs(1, {}, [{"sweep": True}], ["price"]), "plain": needs.Needs(2, {}, [{"sweep": True}])}
    assert needs.fitting(manifest, runs, every) == "plain"
    assert needs.fitting(manifest, runs, {"priced": every["priced"]}) == "study"


def test_a_template_run_in_jupyter_refuses_a_study_that_it_does_not_serve():
    with pytest.raises(
        EsxparseError, match=r"vdi.*template 'consolidation' needs tolerances in \[report\].*'scaling' fits"
    ):
        list(run_cells("consolidation", {}, study=str(ex.datasets_dir() / "vdi")))


def documented(words):
    """The cell of docs/templates.md that has these words."""
    return next(one for one in re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL) if words in one)


@pytest.mark.search
def test_a_copy_of_scaling_with_one_changed_cell_is_a_report_of_ones_own(tmp_path, capsys):
    folder = made(tmp_path, [(one, {**more, "host_util_pct": 50.0}) for one, more in SWEEP], 'axis = "hosts"')
    assert main(["templates", "copy", "scaling", "our_scaling", "-o", str(tmp_path)]) == 0
    path = tmp_path / "our_scaling.ipynb"
    assert capsys.readouterr().out == f"{path}: esxparse report -t {path} study.toml -o report.html\n"
    notebook = nbformat.read(path, as_version=4)
    (at,) = [at for at, cell in enumerate(notebook.cells) if cell.source == "answer(found, told, each_value=False)"]
    notebook.cells[at].source = documented("Most IOPS")
    nbformat.write(notebook, path)
    own = ex.report(folder, path, tmp_path / "own.html").read_text()
    original = ex.report(folder, "scaling", tmp_path / "original.html").read_text()
    sentence = "<li>Most IOPS: 3,000, with 16 hosts.</li>"
    line = "<li>IOPS: a straight line up to 8 hosts, 75 % of it at 16.</li>"
    assert line in own
    assert line in original
    assert sentence in own
    assert sentence not in original
    assert "<dd>our_scaling</dd>" in own
    assert own.count("<figure data-spec") == original.count("<figure data-spec") == 2
    # A cell more, and parameters, refusals and inputs as in the original.
    notebook.cells.insert(-8, nbformat.v4.new_code_cell(documented('host_util_pct"))')))
    nbformat.write(notebook, path)
    more = ex.report(folder, path, tmp_path / "more.html", {"tolerance_pct": "30"}).read_text()
    assert more.count("<figure data-spec") == 3
    assert "as far as it was tried, to 16 hosts (75 % of it)" in more
    with pytest.raises(EsxparseError, match="template 'our_scaling' needs a label with three numbers or more"):
        ex.report(made(tmp_path, SWEEP[:2]), path, tmp_path / "b.html")


def test_copies_have_names_of_their_own_and_toml_is_refused(tmp_path, capsys):
    assert main(["templates", "copy", "host_health", "ours", "-o", str(tmp_path)]) == 0
    copied = (tmp_path / "ours.ipynb").read_text()
    assert 'host_health\\"' not in copied
    assert '"title": "Ours"' in copied
    assert main(["templates", "copy", "host_health", "ours", "-o", str(tmp_path)]) == 1
    assert main(["templates", "copy", "host_health", "scaling", "-o", str(tmp_path)]) == 1
    assert main(["templates", "copy", "scalling", "ours", "-o", str(tmp_path)]) == 1
    told = capsys.readouterr().err
    assert "already exists" in told
    assert "a template 'scaling' comes with esxparse" in told
    assert "unknown template 'scalling': did you mean 'scaling'" in told
    shape = tmp_path / "shape.toml"
    shape.write_text('title = "Ours"\n')
    with pytest.raises(EsxparseError, match=r"is not a template: a template is a notebook\. Copy the closest one"):
        ex.report(made(tmp_path, SWEEP), shape, tmp_path / "a.html")


def test_the_template_of_any_study_draws_each_value(tmp_path):
    page = ran("study", made(tmp_path, SWEEP, 'axis = "hosts"'))
    assert page.titles == ["IOPS by hosts"]
    assert page.answers == ["IOPS grows from 1,000 at 4 to 3,000 at 16 hosts: 75 % of what a straight line gives."]


PLAIN = {
    "baseline": "baseline",
    "comparison": "spark",
    "consolidation": "dense",
    "linerate": "linerate",
    "mmu": "mmu",
    "numa": "numa",
    "power_policy": "power",
    "protocols": "protocols",
    "remote": "remote",
    "replication": "replication",
    "scaling": "vdi",
    "study": "remote",
    "virtual_to_native": "docker",
}


@pytest.mark.search
@pytest.mark.parametrize("name", PLAIN)
def test_a_template_runs_by_papermill_in_a_plain_kernel(name, tmp_path):
    import papermill  # noqa: PLC0415  half a second

    study = str(ex.datasets.folder(PLAIN[name]))
    output = tmp_path / "out.ipynb"
    papermill.execute_notebook(
        str(find(name).path),
        str(output),
        {"study": study},
        kernel_name="python3",
        progress_bar=False,
        request_save_on_cell_execute=False,
    )
    done = nbformat.read(output, as_version=4)
    nbformat.validate(done)
    shown = [one.data for cell in done.cells for one in cell.get("outputs", []) if "data" in one]
    assert sum(blocks.VEGALITE_MIME in data for data in shown) >= 1
    assert any("The verdicts" in text or "<li>" in text for data in shown if (text := data.get("text/html", "")))
    assert not [one for cell in done.cells for one in cell.get("outputs", []) if one.output_type in {"error", "stream"}]


def test_every_template_of_studies_is_tried_in_a_plain_kernel():
    assert set(PLAIN) == {*library.needs_of_studies(), "study"}
