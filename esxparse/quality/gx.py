"""Great Expectations: the only module that imports it and pandas.

It runs in an ephemeral context, with analytics and progress bars off: it writes and sends nothing.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.quality.suites import Suite

_ROW = "_row"


@cache
def _module() -> Any:
    """Return the module of Great Expectations."""
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    try:
        import great_expectations as gx  # noqa: PLC0415
        import pandas as pd  # noqa: F401, PLC0415
    except ImportError:
        msg = "Great Expectations is not installed: pip install 'esxparse[quality]'"
        raise EsxparseError(msg) from None
    return gx


def context() -> Any:
    """Return a context of Great Expectations that stores and sends nothing."""
    made = _module().get_context(mode="ephemeral")
    made.variables.progress_bars = {"globally": False, "metric_calculations": False}
    return made


def expectation_suite(name: str, expectations: Sequence[Mapping[str, Any]]) -> Any:
    """Return the suite as loaded by Great Expectations.

    Raises EsxparseError: Great Expectations is not installed, or does not load the suite.
    """
    gx = _module()
    try:
        with warnings.catch_warnings():
            # All of 1.x reads conditions as text; since 1.9 there is another way, too.
            warnings.simplefilter("ignore", DeprecationWarning)
            return gx.ExpectationSuite(name=name, expectations=[dict(one) for one in expectations])
    except Exception as error:  # noqa: BLE001 - each type of expectation raises what it likes
        raise EsxparseError(f"Great Expectations does not load the suite {name}: {_first_line(error)}") from None


def pandas_of(frame: pl.DataFrame) -> Any:
    """Return a table for pandas: numbers as floats, times in UTC without their zone, and the number of each row."""
    import pandas as pd  # noqa: PLC0415 - the one boundary

    columns: dict[str, Any] = {}
    for name, column in zip(frame.columns, frame.iter_columns(), strict=True):
        kind = column.dtype
        plain = column.cast(pl.Float64) if kind.is_numeric() else column
        columns[name] = plain.to_numpy() if kind.is_numeric() or kind.is_temporal() else column.to_list()
    return pd.DataFrame(columns | {_ROW: range(frame.height)})


def _definition(made: Any, name: str) -> Any:
    """Return the batch definition of a table: its data are passed when it runs."""
    return (
        made.data_sources.add_or_update_pandas(name)
        .add_dataframe_asset(name)
        .add_batch_definition_whole_dataframe("whole")
    )


def judge(
    suite: Suite, expectations: Sequence[Mapping[str, Any]], frame: pl.DataFrame
) -> list[tuple[int, pl.DataFrame]]:
    """Return the number of rows each expectation judged, and the rows at fault.

    Raises EsxparseError: Great Expectations is not installed, does not know an expectation, or cannot run it.
    """
    # Results are not in the order of the suite.
    placed = [{**one, "meta": {**(one.get("meta") or {}), _ROW: place}} for place, one in enumerate(expectations)]
    loaded = expectation_suite(suite.name, placed)
    result_format = {"result_format": "COMPLETE", "unexpected_index_column_names": [_ROW]}
    batch = _definition(context(), "table").get_batch({"dataframe": pandas_of(frame)})
    results = {
        one.expectation_config.meta[_ROW]: one for one in batch.validate(loaded, result_format=result_format).results
    }
    for place, config in enumerate(expectations):
        if place not in results:
            raise EsxparseError(f"suite {suite.name}: Great Expectations knows no {config['type']}")
    return [_failed_rows(suite, results[place], config, frame) for place, config in enumerate(expectations)]


def _failed_rows(suite: Suite, result: Any, config: Mapping[str, Any], frame: pl.DataFrame) -> tuple[int, pl.DataFrame]:
    if (why := _exception(result.exception_info or {})) is not None:
        raise EsxparseError(f"suite {suite.name}: Great Expectations cannot run {config['type']}: {why}")
    details = result.result
    count = max(1, frame.height)
    if "element_count" in details:
        without = 0 if config["type"].endswith("be_null") else details.get("missing_count") or 0
        count = int(details["element_count"]) - int(without)
    if result.success:
        return count, frame.clear()
    places = [one[_ROW] for one in details.get("unexpected_index_list") or ()]
    return count, frame[places] if places else frame.head(1)


def _exception(info: Mapping[str, Any]) -> str | None:
    """Return the error message, from the result itself or from the metric that failed."""
    for one in (info, *(value for value in info.values() if isinstance(value, Mapping))):
        if one.get("raised_exception"):
            return _first_line(one.get("exception_message"))
    return None


def _first_line(error: object) -> str:
    return (str(error).splitlines() or [""])[0]


def data_docs(frames: Iterable[tuple[str, pl.DataFrame, Suite]], folder: str | Path) -> Path:
    """Write Data Docs, the pages of Great Expectations on each table and its suite, into a folder.

    Returns: Its index.html.

    Raises EsxparseError: Great Expectations is not installed.
    """
    gx, made = _module(), context()
    store = {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(Path(folder).resolve())}
    builder = {"class_name": "DefaultSiteIndexBuilder"}
    made.add_data_docs_site(
        "esxparse", {"class_name": "SiteBuilder", "store_backend": store, "site_index_builder": builder}
    )
    for table, frame, suite in frames:
        loaded = made.suites.add(expectation_suite(table, suite.config["expectations"]))
        run = gx.ValidationDefinition(name=table, data=_definition(made, table), suite=loaded)
        made.validation_definitions.add(run).run(batch_parameters={"dataframe": pandas_of(frame)})
    made.build_data_docs(site_names=["esxparse"])
    return Path(folder) / "index.html"
