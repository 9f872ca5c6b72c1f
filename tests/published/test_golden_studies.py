"""Tables and charts of the bundled studies, compared with golden texts (`make golden` writes them again)."""

from __future__ import annotations

import polars as pl
import pytest
import studied
from golden import kept, texts
from search import routine_of

import esxparse as ex
from esxparse.errors import EsxparseError

STUDIES = sorted(path.parent.name for path in ex.datasets_dir().glob("*/study.toml"))
ROUTINE = {"numa", "replication", "sapiq", "spark", "vcenter", "vpmc", "zephyr"}


def of_call(title, call):
    """What a method gives: a table, a chart, or why it gives none."""
    try:
        found = call()
    except EsxparseError as error:
        yield f"{title}: {texts.value(str(error))}"
        return
    if found is None:
        yield f"{title}: none"
    elif isinstance(found, pl.LazyFrame | pl.DataFrame):
        yield from texts.of_frame(found, title)
    else:
        yield title
        yield from texts.of_spec(found.to_dict())


def of_study(study):
    yield f"{study.title} | {study.axis} | {dict(study.baseline)} | {study.labels} | {study.within}"
    yield from (texts.shortened(f"{note.severity} {note.line} {texts.value(note.message)}") for note in study.notes)
    yield f"quality {study.quality.verdict if study.quality else None}"
    yield from texts.of_frame(study.runs, "runs")
    if study.results is not None:
        yield from texts.of_frame(study.results, "results")
    yield from of_call("published", study.published)
    yield from of_call("virtual to native", study.virtual_to_native)
    numeric = [name for name, kind in study.runs.collect_schema().items() if kind.is_numeric()]
    values = [name for name in numeric if name not in {*study.labels, "run", "recording"}][:40:4]
    for name in values:
        yield from of_call(f"compare {name}", lambda name=name: study.compare(name))
        yield from of_call(f"plot {name}", lambda name=name: study.plot(name))
    for name in values[:2]:
        yield from of_call(f"ratio of {name}", lambda name=name: study.plot(name, relative=True))
        yield from of_call(f"change of {name}", lambda name=name: study.plot(name, change=True))
    for load in [name for name in study.labels if name in numeric][:1]:
        for name in values[:3]:
            yield from of_call(f"scaling of {name} with {load}", lambda load=load, name=name: study.scaling(load, name))
            yield from of_call(f"linear {name} of {load}", lambda load=load, name=name: study.leaves_linear(load, name))
            limits = {name: float(study.runs.select(pl.col(name).mean()).collect().item() or 1.0)}
            yield from of_call(f"most {load}", lambda load=load, limits=limits: study.consolidation(load, limits))


@pytest.mark.parametrize("name", routine_of(STUDIES, ROUTINE))
def test_the_tables_and_charts_of_a_study(name):
    kept.check("studies", name, of_study(studied.study(name)))
