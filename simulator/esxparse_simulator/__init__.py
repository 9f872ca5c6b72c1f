"""A host that never was, and captures of it in the very grammar of the tools.

`capture(scenario)` models a host sample by sample (see `model/engine.py` for the order of things), `write_esxtop`
writes it as `esxtop -b` would. Scenarios are TOML files; `busy_host()` is the one behind the bundled capture. An
`Experiment` is a scenario done several times, `record` writes all that its instruments saw.

The names are loaded when they are first used: a writer of one format needs no model of a host.

>>> from esxparse import simulate
>>> lines = list(simulate.esxtop_lines(simulate.capture(simulate.busy_host(), samples=2)))
>>> lines[0][:23]
b'"(PDH-CSV 4.0) (UTC)(0)'
>>> lines[1][:21]
b'"03/11/2026 09:00:00"'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from esxparse_simulator.esxtop.releases import release_names
    from esxparse_simulator.esxtop.writer import esxtop_lines, write_esxtop
    from esxparse_simulator.experiment import (
        Experiment,
        busy_host,
        load_experiment,
        load_scenario,
        scenario_names,
        scenario_titles,
    )
    from esxparse_simulator.host import Scenario
    from esxparse_simulator.large import column_count, large_experiment, large_host
    from esxparse_simulator.limits import ScenarioError
    from esxparse_simulator.model.engine import Capture, capture
    from esxparse_simulator.model.sample import Snapshot
    from esxparse_simulator.recorder import record

__all__ = [
    "Capture",
    "Experiment",
    "Scenario",
    "ScenarioError",
    "Snapshot",
    "busy_host",
    "capture",
    "column_count",
    "esxtop_lines",
    "large_experiment",
    "large_host",
    "load_experiment",
    "load_scenario",
    "record",
    "release_names",
    "scenario_names",
    "scenario_titles",
    "write_esxtop",
]

_WHERE = {
    "Capture": "model.engine",
    "Experiment": "experiment",
    "Scenario": "host",
    "ScenarioError": "limits",
    "Snapshot": "model.sample",
    "busy_host": "experiment",
    "capture": "model.engine",
    "column_count": "large",
    "esxtop_lines": "esxtop.writer",
    "large_experiment": "large",
    "large_host": "large",
    "load_experiment": "experiment",
    "load_scenario": "experiment",
    "record": "recorder",
    "release_names": "esxtop.releases",
    "scenario_names": "experiment",
    "scenario_titles": "experiment",
    "write_esxtop": "esxtop.writer",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        msg = f"module 'esxparse_simulator' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(f"esxparse_simulator.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
