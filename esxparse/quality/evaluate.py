"""A small evaluator of our suites' expectations, with the results of Great Expectations in milliseconds.

Great Expectations takes seconds to import, and reads the same suites (`esxparse.quality.gx`); tests compare the two.
It also evaluates the types that are not listed here.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

import polars as pl

KNOWN: Final = frozenset(
    f"expect_column_values_to_{what}" for what in ("be_between", "be_in_set", "not_be_in_set", "not_be_null", "be_null")
)
_KEYS: Final = frozenset(
    [
        "column",
        "min_value",
        "max_value",
        "strict_min",
        "strict_max",
        "value_set",
        "mostly",
        "row_condition",
        "condition_parser",
    ]
)
_COMPARE: Final[dict[type[ast.cmpop], Callable[[pl.Expr, Any], pl.Expr]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: pl.Expr.is_in,
    ast.NotIn: lambda left, right: ~left.is_in(right),
}


class UnknownConditionError(ValueError):
    """A condition on rows that this evaluator does not support."""


@cache
def condition(text: str) -> pl.Expr:
    """Parse a pandas condition on rows: comparisons, `in`, `and`, `or`, `not`, `str.contains`.

    Raises UnknownConditionError: The condition contains anything else.

    >>> pl.DataFrame({"unit": ["ms", "W"]}).filter(condition('unit in ["ms", "us"]'))["unit"].to_list()
    ['ms']
    """
    try:
        return _expr(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, KeyError, ValueError, AttributeError) as error:
        raise UnknownConditionError(text) from error


def _expr(node: ast.expr) -> pl.Expr:
    match node:
        case ast.BoolOp(op=op, values=values):
            parts = [_expr(one) for one in values]
            return pl.all_horizontal(parts) if isinstance(op, ast.And) else pl.any_horizontal(parts)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return ~_expr(inner)
        case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[right]):
            return _COMPARE[type(op)](pl.col(name), ast.literal_eval(right)).fill_null(value=False)
        case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id=name), attr="str"), attr="contains")):
            return pl.col(name).str.contains(ast.literal_eval(node.args[0])).fill_null(value=False)
    raise UnknownConditionError(ast.unparse(node))


def knows(expectation: Mapping[str, Any], columns: Mapping[str, Any]) -> bool:
    """Return whether this evaluator supports an expectation on a table with these columns."""
    kwargs = expectation["kwargs"]
    if expectation["type"] not in KNOWN or not set(kwargs) <= _KEYS or kwargs.get("column") not in columns:
        return False
    where = kwargs.get("row_condition")
    try:
        return where is None or (isinstance(where, str) and set(condition(where).meta.root_names()) <= set(columns))
    except UnknownConditionError:
        return False


def judge(expectations: Sequence[Mapping[str, Any]], frame: pl.DataFrame) -> list[tuple[int, pl.DataFrame]]:
    """Return the number of rows each expectation judged, and the failing rows (none if `mostly` allows them)."""
    if not expectations:
        return []
    # All conditions in one query: separate queries would take longer than the computation.
    masks = frame.select(mask for place, one in enumerate(expectations) for mask in _masks(str(place), one))
    counts = masks.sum().row(0)
    return [
        (judged, _failing(frame, masks.to_series(2 * place + 1), one["kwargs"].get("mostly") or 1.0, judged, bad))
        for place, (one, judged, bad) in enumerate(zip(expectations, counts[::2], counts[1::2], strict=True))
    ]


def judge_limits(expectations: Sequence[Mapping[str, Any]], frame: pl.DataFrame) -> list[tuple[int, pl.DataFrame]]:
    """Return the same as `judge`, much faster, for expectations that are all limits of a column, as in our suites.

    For some thirty rows, planning a query takes longer than a loop.
    """
    wanted = dict.fromkeys(one["kwargs"]["row_condition"] for one in expectations)
    query = frame.lazy().select(condition(text).alias(text) for text in wanted)
    # A query plan would not pay off.
    masks = query.collect(optimizations=pl.QueryOptFlags.none())
    places = {text: masks[text].arg_true().to_list() for text in wanted}
    found = []
    for kwargs in (one["kwargs"] for one in expectations):
        values, low, high = frame[kwargs["column"]].to_list(), kwargs.get("min_value"), kwargs.get("max_value")
        judged = [place for place in places[kwargs["row_condition"]] if values[place] is not None]
        # NaN is above all numbers, as in polars.
        bad = [
            place
            for place in judged
            if (low is not None and values[place] < low) or (high is not None and not values[place] <= high)
        ]
        found.append((len(judged), frame[bad] if bad else frame.clear()))
    return found


def _masks(name: str, expectation: Mapping[str, Any]) -> tuple[pl.Expr, pl.Expr]:
    """Return masks of the rows that are judged, and of the rows that fail."""
    kwargs, kind = expectation["kwargs"], expectation["type"]
    column = pl.col(kwargs["column"])
    judged = column.is_not_null() if not kind.endswith("be_null") else column.is_null() | True
    if kwargs.get("row_condition"):
        judged &= condition(kwargs["row_condition"])
    failing = (judged & ~_holds(kind, column, kwargs)).fill_null(value=False)
    return judged.alias(name), failing.alias(f"{name} fails")


def _failing(frame: pl.DataFrame, mask: pl.Series, mostly: float, judged: int, bad: int) -> pl.DataFrame:
    return frame.filter(mask) if bad and 1 - bad / judged < mostly else frame.clear()


def _holds(kind: str, column: pl.Expr, kwargs: Mapping[str, Any]) -> pl.Expr:
    if kind.endswith("not_be_null"):
        return column.is_not_null()
    if kind.endswith("be_null"):
        return column.is_null()
    if kind.endswith("not_be_in_set"):
        return ~column.is_in(kwargs["value_set"])
    if kind.endswith("in_set"):
        return column.is_in(kwargs["value_set"])
    low, high = kwargs.get("min_value"), kwargs.get("max_value")
    tests = [pl.lit(value=True)]
    if low is not None:
        tests.append(column > low if kwargs.get("strict_min") else column >= low)
    if high is not None:
        tests.append(column < high if kwargs.get("strict_max") else column <= high)
    return pl.all_horizontal(tests)
