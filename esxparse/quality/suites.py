"""Suites: plain Great Expectations suites (JSON), ours in suites/ and users' own.

python -m esxparse.quality.suites        rewrite suites/ from checks.toml
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from esxparse.errors import EsxparseError
from esxparse.quality.data import HERE, Rule, raw, rules, suite_names

SUITES: Final = HERE / "suites"
VERSION: Final = 1
"""Version of the suites: increases with each changed limit or new expectation."""
_BETWEEN: Final = "expect_column_values_to_be_between"


@dataclass(frozen=True)
class Suite:
    """A suite, and the tables that it judges."""

    name: str
    config: Mapping[str, Any]
    """The contents of the file."""
    table: str = "*"
    """The table whose profile, or whose rows, it judges; `*` for all tables."""
    on: str = "profile"
    format: str = ""
    source: str = ""


@cache
def ours(form: str, table: str) -> Suite:
    """Return our suite for a table of a format."""
    candidates = (f"{form}.{table}", f"any.{table}", "any.any")
    name = next(one for one in candidates if (SUITES / f"{one}.json").is_file())
    return Suite(name, json.loads((SUITES / f"{name}.json").read_text(encoding="utf-8")), table, "profile", form)


def load(path: str | Path) -> Suite:
    """Return a user's suite.

    Its `meta` defines its target: `"esxparse": {"format": "esxtop", "table": "vcpu", "on": "profile"}`, with `on`
    either `profile` or `table`. By default its name defines the target (`esxtop.vcpu`), and it judges profiles.

    Raises EsxparseError: The file cannot be read, or is not a suite.
    """
    try:
        config = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise EsxparseError(f"suite {path} cannot be read: {error.strerror or error}") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise EsxparseError(f"suite {path} is not valid JSON: {error}") from None
    if not isinstance(config, dict) or not isinstance(config.get("expectations"), list):
        msg = f'suite {path} has no "expectations": write it with ExpectationSuite.to_json_dict() of Great Expectations'
        raise EsxparseError(msg)
    for number, one in enumerate(config["expectations"], 1):
        if not isinstance(one, dict) or "type" not in one or not isinstance(one.get("kwargs"), dict):
            raise EsxparseError(f"suite {path}: expectation {number} has no type and kwargs")
    name = str(config.get("name", Path(path).stem))
    settings = (config.get("meta") or {}).get("esxparse") or {}
    form, _, table = name.partition(".") if "." in name else ("", "", "*")
    on = settings.get("on", "profile")
    if on not in {"profile", "table"}:
        raise EsxparseError(f'suite {path}: "on" is {on!r}: write "profile" or "table"')
    return Suite(name, config, settings.get("table", table), on, settings.get("format", form), str(path))


def written() -> dict[str, str]:
    """Return the suites made from checks.toml, by file name."""
    return {f"{name}.json": _json(name) for name in suite_names()}


def _json(name: str) -> str:
    form, _, table = name.partition(".")
    lines = ",\n    ".join(json.dumps(one) for one in _expectations(name))
    meta = {"great_expectations_version": "1.24.1", "esxparse": {"format": form, "table": table, "on": "profile"}}
    meta["esxparse"]["version"] = VERSION  # type: ignore[index]
    return f'{{\n  "name": "{name}",\n  "expectations": [\n    {lines}\n  ],\n  "meta": {json.dumps(meta)}\n}}\n'


def _expectations(name: str) -> Iterator[dict[str, Any]]:
    counters = not name.endswith((".samples", ".files"))
    fields = name.partition(".")[2] in raw()["field"]["esxtop"]
    for rule in rules("check"):
        # A rule on all tables may not apply to this one.
        fits = (counters or 'kind == "counter"' not in rule.where) and (fields or 'kind == "field"' not in rule.where)
        if name in rule.tables and fits:
            yield _expectation(rule, rule.column, rule.low, rule.high, rule.where)
    for rule in rules("identity"):
        where = f'kind == "identity" and name == "{rule.id}"'
        if name in rule.tables:
            if rule.low is not None:
                yield _expectation(rule, "min", rule.low, None, where)
            if rule.high is not None:
                yield _expectation(rule, "max", None, rule.high, where)
            if rule.mean:
                low, high = rule.mean
                yield _expectation(rule, "mean", low, high, where)


def _expectation(rule: Rule, column: str, low: float | None, high: float | None, where: str) -> dict[str, Any]:
    limits = {key: value for key, value in (("min_value", low), ("max_value", high)) if value is not None}
    kwargs = {"column": column, **limits, "row_condition": where, "condition_parser": "pandas"}
    return {
        "type": _BETWEEN,
        "kwargs": kwargs,
        "severity": "critical" if rule.fail else "warning",
        "meta": {"id": rule.id, "means": rule.means},
    }


def write() -> None:
    """Write the suites, and remove files that checks.toml no longer makes."""
    made = written()
    SUITES.mkdir(exist_ok=True)
    for path in SUITES.glob("*.json"):
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        (SUITES / name).write_text(text, encoding="utf-8")
