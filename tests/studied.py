"""The bundled studies, each computed once a process, their published figures, and studies of given values."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import esxparse as ex

if TYPE_CHECKING:
    import polars as pl


@cache
def study(name: str) -> ex.Study:
    """The study of a dataset."""
    return ex.datasets.load(name)


@cache
def runs(name: str) -> pl.DataFrame:
    """Its runs."""
    return study(name).runs.collect()


@cache
def figures(name: str) -> pl.DataFrame:
    """Its published figures beside what its runs give."""
    return study(name).published()


@cache
def here(name: str) -> dict[str, float]:
    """What its runs give, by the name of the figure."""
    return dict(figures(name).select("figure", "here").iter_rows())


def made(path, runs, head=""):
    """A study of figures that its manifest tells."""
    lines = [head]
    for labels, values in runs:
        lines += ["[[run]]", *(f"{name} = {value!r}" for name, value in labels.items())]
        lines += ["[run.values]", *(f"{name} = {value}" for name, value in values.items())]
    (path / "study.toml").write_text("\n".join(lines))
    return path
