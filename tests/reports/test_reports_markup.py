"""Markup of tables and charts: what is escaped, aligned and coloured."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl

from esxparse import reports
from esxparse.reports import blocks, export
from esxparse.shipped import templates_dir


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


def test_the_list_of_columns_has_the_tables_that_reports_show_and_no_others():
    cells = [
        "".join(cell["source"])
        for template in templates_dir().glob("*.ipynb")
        for cell in json.loads(template.read_text("utf-8"))["cells"]
    ]
    rooms = [room.read_text("utf-8") for room in Path(reports.__file__).parent.rglob("*.py")]
    shown = {name for text in (*cells, *rooms) for name in re.findall(r'columns_of\(\s*"([\w.]+)"', text)}
    listed = Path(reports.__file__).with_name("columns.csv").read_text("utf-8").splitlines()[1:]
    assert shown == {line.partition(",")[0] for line in listed}
