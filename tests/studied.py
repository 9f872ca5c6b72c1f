"""The bundled studies, each computed once for all tests of a process, and the published figures of their runs."""

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
def figures(name: str) -> pl.DataFrame:
    """Its published figures beside what its runs give."""
    return study(name).published()


@cache
def here(name: str) -> dict[str, float]:
    """What its runs give, by the name of the figure."""
    return dict(figures(name).select("figure", "here").iter_rows())
