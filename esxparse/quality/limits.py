"""Our own suites on profiles, in plain Python: a query on some thirty rows takes longer to plan than to answer.

`evaluate` says the same of any table and any suite; tests hold the two against each other.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from esxparse.quality import evaluate

if TYPE_CHECKING:
    import polars as pl

Row = Mapping[str, Any]


class _OfRow(ast.NodeTransformer):
    """A condition on columns as one on the values of a row; a comparison with nothing does not hold."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Subscript(ast.Name("row", ast.Load()), ast.Constant(node.id), ast.Load())

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        value = self.visit(node.left)
        there = ast.Compare(value, [ast.IsNot()], [ast.Constant(None)])
        return ast.BoolOp(ast.And(), [there, ast.Compare(value, node.ops, node.comparators)])

    def visit_Call(self, node: ast.Call) -> ast.expr:
        # evaluate.condition has seen that it is `name.str.contains(text)`.
        name = node.func.value.value  # type: ignore[attr-defined]
        return ast.Call(ast.Name("contains", ast.Load()), [self.visit(name), *node.args], [])


def _contains(text: str | None, pattern: str) -> bool:
    return text is not None and re.search(pattern, text) is not None


@cache
def condition(text: str) -> Callable[[Row], bool]:
    """A condition on rows, as `evaluate.condition` reads it, for one row.

    >>> condition('unit in ["ms", "us"] and not name.str.contains("ticks")')({"unit": "ms", "name": "await"})
    True
    """
    evaluate.condition(text)
    body = _OfRow().visit(ast.parse(text.strip(), mode="eval").body)
    row = ast.arguments(posonlyargs=[], args=[ast.arg("row")], kwonlyargs=[], kw_defaults=[], defaults=[])
    code = ast.fix_missing_locations(ast.Expression(ast.Lambda(row, body)))
    made: Callable[[Row], bool] = eval(compile(code, text, "eval"), {"contains": _contains})  # noqa: S307 - as read above
    return made


def judge(expectations: Sequence[Mapping[str, Any]], frame: pl.DataFrame) -> list[tuple[int, pl.DataFrame]]:
    """How many rows each expectation of ours judged (all are limits of a column), and those that fail it."""
    rows, none = list(enumerate(frame.rows(named=True))), frame.clear()
    picked: dict[str, list[tuple[int, Row]]] = {}
    found = []
    for kwargs in (one["kwargs"] for one in expectations):
        where, column = kwargs["row_condition"], kwargs["column"]
        if where not in picked:
            holds = condition(where)
            picked[where] = [one for one in rows if holds(one[1])]
        judged = [(place, row[column]) for place, row in picked[where] if row[column] is not None]
        low, high = kwargs.get("min_value"), kwargs.get("max_value")
        # What is not a number is above all numbers, as polars has it.
        bad = [
            place
            for place, value in judged
            if (low is not None and value < low) or (high is not None and not value <= high)
        ]
        found.append((len(judged), frame[bad] if bad else none))
    return found
