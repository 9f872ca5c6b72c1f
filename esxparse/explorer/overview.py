"""Recordings without times, such as results of a benchmark, and studies, as facts, charts and tables."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from esxparse.charts import theme
from esxparse.charts import workload as charts
from esxparse.errors import EsxparseError
from esxparse.explorer.table_page import page
from esxparse.metrics import workload
from esxparse.recording import Recording
from esxparse.studies import Study
from esxparse.studies.columns import HEADLINES

if TYPE_CHECKING:
    import altair as alt

_WIDTH: Final = 720
_MOST: Final = 2
"""Charts of a study by default."""


@dataclass(frozen=True)
class Overview:
    """A recording or a study in a notebook."""

    of: Recording | Study
    charts: Sequence[alt.LayerChart | alt.VConcatChart]
    tables: list[str] = field(default_factory=list)
    """HTML."""

    def _ipython_display_(self) -> None:
        from IPython.display import HTML, display  # noqa: PLC0415  (only a kernel asks)

        display(self.of, *self.charts)  # type: ignore[no-untyped-call]
        if self.tables:
            display(HTML("".join(self.tables)))  # type: ignore[no-untyped-call]


def of_recording(rec: Recording) -> Overview:
    """Return the results of a benchmark, or all tables of the recording."""
    theme.use()
    drawn = [chart.properties(width=_WIDTH) for chart in _charts(rec) if chart is not None]
    tables = [
        f"<details><summary>{html.escape(name)}</summary>{page(name, rec.tables[name])}</details>" for name in rec
    ]
    return Overview(rec, drawn, tables)


def _charts(rec: Recording) -> Iterator[alt.LayerChart | None]:
    if {"jobs", "results"} & set(rec.tables):
        results = workload.results(rec.format, rec.tables)
        for value in charts.VALUES:
            yield charts.tests(results, value)
    if "series" in rec and rec.format == "fio":
        for metric in charts.LOGGED:
            yield charts.over_time(rec.tables["series"], metric)


def of_study(study: Study) -> Overview:
    """Return the values that the study asks for, or the first that can be drawn."""
    theme.use()
    drawn: list[alt.LayerChart | alt.VConcatChart] = []
    for name in study.report_section.values or HEADLINES:
        try:
            drawn.append(study.plot(name))
        except EsxparseError:
            continue
        if len(drawn) == _MOST:
            break
    return Overview(study, drawn)
