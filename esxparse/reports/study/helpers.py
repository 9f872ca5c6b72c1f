"""Functions for the cells of study templates. docs/templates.md shows examples.

`gather` reads a study; the others take its result:

    title, headline              the head of the report
    answer, sentences            the answer in words; a sentence for each row of a table
    curve, chart, show_charts    a value over the varied label; a column of any table; display them
    table, in_words              a table of any rows; tolerances and rules in words
    against_baseline             ratios to the baseline, a section
    against_published            published figures beside the runs' results, a section
    measured, levels             means of each configuration, as a table and as charts
    quality, method, provenance  gaps and notes; how numbers were computed; files and parameters
    finding, section             a verdict in a box; a heading
"""

from __future__ import annotations

from esxparse.reports.helpers import finding, section
from esxparse.reports.page import show
from esxparse.reports.study.charts import chart, curve, levels, show_charts
from esxparse.reports.study.gather import Found, gather
from esxparse.reports.study.inputs import Input
from esxparse.reports.study.sentences import sentences
from esxparse.reports.study.tables import (
    against_baseline,
    against_published,
    answer,
    headline,
    in_words,
    measured,
    method,
    provenance,
    quality,
    table,
    title,
)
from esxparse.reports.study.words import largest_loads

__all__ = [
    "Found",
    "Input",
    "against_baseline",
    "against_published",
    "answer",
    "chart",
    "curve",
    "finding",
    "gather",
    "headline",
    "in_words",
    "largest_loads",
    "levels",
    "measured",
    "method",
    "provenance",
    "quality",
    "section",
    "sentences",
    "show",
    "show_charts",
    "table",
    "title",
]
