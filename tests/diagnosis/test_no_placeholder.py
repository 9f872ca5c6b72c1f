"""No sentence of a case shows a placeholder, whatever counters a capture lacks."""

import random
import re

import numpy as np
import polars as pl
import pytest

from esxparse.diagnosis import cases, engine
from esxparse.diagnosis.wording import fill_text

SUBSETS = 60
PLACEHOLDER = re.compile(r"(?<![\w?])\?(?![\w?])|\b(?:None|nan|null|COALESCE|SELECT|IS NULL|AND|OR)\b|[{}]")
HALF = re.compile(r"[,;:(]\s*[.)]|\(\s*\)|[,;:]\s*$|\s,|\b(?:of|to|at|than|by|above|below)[.,;)]|\.\.|^\s*[,.;]|_pct")
CASES = [one.under({}) for one in cases.load()]


def subsets(case):
    """Values of a case's series, with each missing alone, all missing, and many random parts of them missing."""
    drawn = random.Random(case.trouble)  # noqa: S311  the same subsets in every run
    names = sorted(case.per_spell | case.reads | set(case.who))
    gone = [frozenset(), frozenset(names), *(frozenset([name]) for name in names)]
    gone += [frozenset(name for name in names if drawn.random() < 0.5) for _ in range(SUBSETS)]
    for missing in gone:
        values = {name: None if name in missing else drawn.choice([0.5, 3.0, 40.0, 900.0]) for name in names}
        yield {name: values[name] for name in names}


def answers(case, rows):
    """The trigger and each evidence of a case: true, false, or None if the counters that are missing decide."""
    series = sorted(case.per_spell | case.reads)
    frame = pl.DataFrame(
        [{name: row[name] for name in series} for row in rows], schema=dict.fromkeys(series, pl.Float64)
    )
    asked = [case.trigger, *(one.holds for one in case.evidence)]
    return frame.select(pl.sql_expr(one).alias(str(number)) for number, one in enumerate(asked)).rows()


def sentences(case):
    """Every sentence that a case can show for some missing counters, with the values."""
    rows = list(subsets(case))
    for row, (called, *held) in zip(rows, answers(case, rows), strict=True):
        if called is None:
            continue
        values = row | {"name": "object"} | {who: None if row[who] is None else "another" for who in case.who}
        yield row, story(case, values).text
        texts = [fill_text(case.next, values)]
        for one, holds in zip(case.evidence, held, strict=True):
            words = one.say if holds else one.otherwise
            texts.append(engine.unanswered(case, one, values) if holds is None else fill_text(words, values))
        yield from ((row, text) for text in texts if text)


def story(case, values):
    return engine.Story(case, 0, "object", np.array([True]), 0.0, 0.0, values, (), (), ())


@pytest.mark.parametrize("case", CASES, ids=lambda one: one.trouble)
def test_no_sentence_shows_a_placeholder_whatever_is_missing(case):
    found = {}
    for row, sentence in sentences(case):
        if PLACEHOLDER.search(sentence) or HALF.search(sentence.strip()):
            found.setdefault(sentence, sorted(name for name, value in row.items() if value is None))
    listed = [f"{sentence!r} without {', '.join(missing)}" for sentence, missing in found.items()]
    assert listed == []
