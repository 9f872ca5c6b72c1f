"""NaN and infinity are missing values in every metric: each public function gives what it gives for null.

The calls are those of the docstrings: each function is watched while its own examples run, and then called again with
one number of one column replaced.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import math
from pkgutil import iter_modules

import polars as pl
import pytest

from esxparse import metrics

BAD = (math.nan, math.inf, -math.inf)


def modules():
    return [importlib.import_module(f"esxparse.metrics.{one.name}") for one in iter_modules(metrics.__path__)]


def public():
    """Functions on tables, by name."""
    found = {}
    for module in modules():
        for name, function in vars(module).items():
            own = inspect.isfunction(function) and function.__module__ == module.__name__
            if own and not name.startswith("_") and not module.__name__.rpartition(".")[2].startswith("_"):
                kinds = [str(one.annotation) for one in inspect.signature(function).parameters.values()]
                if any("LazyFrame" in kind for kind in kinds) and "LazyFrame" in str(
                    function.__annotations__["return"]
                ):
                    found[f"{module.__name__.rpartition('.')[2]}.{name}"] = function
    return found


def calls_of_examples(function):
    """The arguments that a function's own examples call it with."""
    calls = []

    def watched(*args, **kwargs):
        calls.append((args, kwargs))
        return function(*args, **kwargs)

    module = inspect.getmodule(function)
    for test in doctest.DocTestFinder(recurse=False).find(function, function.__name__, module):
        test.globs = {**vars(module), function.__name__: watched}
        doctest.DocTestRunner(verbose=False).run(test, out=lambda _: None)
    return calls


def result(function, args, kwargs):
    """What a call gives, or the type of its error: a refusal is an answer too."""
    try:
        return function(*args, **kwargs).collect()
    except Exception as error:  # noqa: BLE001  whatever null gives, the others have to give
        return type(error)


def variants(args):
    """Each place for one bad number: the arguments as a function of it, a description, and the column's name."""
    for place, frame in enumerate(args):
        table = frame.collect() if isinstance(frame, pl.LazyFrame) else pl.DataFrame()
        for column in (name for name, kind in table.schema.items() if kind.is_numeric()):
            numbers = table[column].cast(pl.Float64)
            for row in {0, table.height - 1} if table.height else ():

                def put(value, place=place, table=table, numbers=numbers, row=row):
                    changed = pl.Series(numbers.name, [*numbers[:row], value, *numbers[row + 1 :]], dtype=pl.Float64)
                    return [*args[:place], table.with_columns(changed).lazy(), *args[place + 1 :]]

                yield put, f"{column}, row {row}", column


@pytest.mark.parametrize("name", sorted(public()))
def test_nan_and_infinity_are_answered_like_null(name):
    function = public()[name]
    calls = calls_of_examples(function)
    if not calls:
        pytest.skip("its docstring calls it in no example")
    wrong = []
    for args, kwargs in calls[:2]:
        for put, what, column in variants(args):
            expected = result(function, put(None), kwargs)
            for bad in BAD:
                got = result(function, put(bad), kwargs)
                if not alike(got, expected, column):
                    wrong.append(f"{bad} in {what}: {got}, not {expected}")
    assert not wrong, "\n".join(wrong[:4])


def alike(got, expected, column):
    if isinstance(expected, type) or isinstance(got, type):
        return got is expected
    # The column itself may be passed through as it was.
    if column in got.columns and got.schema[column].is_float():
        number = pl.col(column)
        got = got.with_columns(pl.when(number.is_finite()).then(number))
    return got.equals(expected)
