"""What a notebook shows of objects that people look at: tables with names and units, not fields of classes."""

from __future__ import annotations

import pickle
import re
import struct

import altair as alt
import pytest

import esxparse as ex
from esxparse.charts import theme


def cells(html):
    return [re.sub(r"<[^>]+>", " ", cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", html)]


def test_changes_show_counters_by_screen_name_with_units(busy_host):
    shown = ex.changes(busy_host, at="2026-03-11T09:05")._repr_html_()
    assert "largest change first, at 2026-03-11 09:05:00 UTC" in shown
    rows = [cells(row) for row in re.findall(r"<tr>(.*?)</tr>", shown)][1:]
    assert len(rows) == 12
    assert ["MBREAD/s, MiB/s", "backup-proxy"] in [row[:2] for row in rows]
    assert all(re.fullmatch(r"-?[\d,.]+(e-?\d+)?", row[3]) for row in rows)


def test_rules_show_limits_with_their_unit_and_source():
    rules = ex.rules()
    assert len(re.findall(r"<tr>", rules._repr_html_())) == len(rules) + 1
    latency = next(row for row in re.findall(r"<tr>(.*?)</tr>", rules._repr_html_()) if "disk.davg<" in row)
    assert cells(latency)[:5] == ["disk.davg", "DAVG/cmd, ms", "above", "20", "25"]
    assert repr(rules).startswith(f"{len(rules)} rules: ")
    with pytest.raises(TypeError):
        rules["disk.davg"] = None


def test_a_finding_and_the_notes_show_what_they_say(busy_host):
    first = next(one for one in ex.diagnose(busy_host) if one.trouble == "cpu.limit")
    assert first.verdict in first._repr_html_()
    assert "report-batch" in cells(first._repr_html_())[1]
    [note] = busy_host.notes
    assert str(note) in busy_host.notes._repr_html_()
    assert repr(busy_host.notes) == str(note)
    assert pickle.loads(pickle.dumps(busy_host)).notes == busy_host.notes  # noqa: S301  it was made here


def test_names_of_a_capture_are_text(busy_host_file, tmp_path):
    text = busy_host_file.read_text(encoding="utf-8").replace("report-batch", "<b>evil</b>")
    (tmp_path / "evil.csv").write_text(text, encoding="utf-8")
    rec = ex.open(tmp_path / "evil.csv")
    for shown in (ex.changes(rec), *ex.diagnose(rec)):
        assert "<b>evil" not in shown._repr_html_()


@pytest.mark.parametrize(
    "ask",
    [
        ex.diagnose,
        ex.check,
        lambda capture: ex.changes(capture).series,
        lambda capture: ex.top(capture, "%RDY"),
        lambda capture: ex.rows(capture, "%RDY").unit,
    ],
)
def test_a_path_does_as_well_as_a_recording(busy_host, busy_host_file, ask):
    """Nobody should see an AttributeError for a path that is given instead of a recording."""
    assert repr(ask(busy_host_file)) == repr(ask(str(busy_host_file))) == repr(ask(busy_host))


def test_a_path_that_is_not_there_is_one_error(tmp_path):
    with pytest.raises(ex.EsxparseError, match=r"missing\.csv"):
        ex.diagnose(tmp_path / "missing.csv")


def test_runs_of_a_study_show_rows_and_the_names_of_all_columns():
    runs = ex.datasets.load("zephyr").runs
    shown = runs._repr_html_()
    frame = runs.collect()
    assert f"{frame.height} runs, {frame.width} columns, the first 30" in shown
    assert len(re.findall(r"<tr>", shown)) == 31
    not_shown = re.search(r"Not shown: (.*?)\.</p>", shown)[1].split(", ")
    assert len(not_shown) + len(re.findall(r"<th ", shown)) == frame.width
    assert set(not_shown) < set(frame.columns)
    assert "naive plan" in runs.head(1)._repr_html_()


def test_a_chart_is_live_in_jupyterlab_and_a_picture_elsewhere(busy_host):
    """nbconvert and viewers without a runtime of Vega show the picture."""
    with alt.renderers.enable("default"):
        chart = busy_host.plot("%RDY", n=2)
        bundle, size = chart._repr_mimebundle_()
    assert bundle[theme.LAB_MIME]["width"] == theme.LAB_WIDTH
    width, height = struct.unpack(">II", bundle["image/png"][16:24])
    assert (width, height) == pytest.approx([1.5 * size["image/png"][side] for side in ("width", "height")], abs=2)
    assert width > theme.LAB_WIDTH
