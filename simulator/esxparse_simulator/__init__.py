"""Models a host, and writes captures and benchmark results of it in the very grammar of the tools.

`capture(scenario)` models a host sample by sample (see `model/engine.py` for the order of things), `write_esxtop`
writes it as `esxtop -b` would. Scenarios are TOML files; `busy_host()` is the one behind the bundled capture. An
`Experiment` is a scenario done several times, `record` writes all that its instruments saw; `random_experiment(seed)`
draws a host, its troubles and what only looks like one.

>>> from esxparse import simulate
>>> lines = list(simulate.esxtop_lines(simulate.capture(simulate.busy_host(), samples=2)))
>>> lines[0][:23]
b'"(PDH-CSV 4.0) (UTC)(0)'
>>> lines[1][:21]
b'"03/11/2026 09:00:00"'
"""

from __future__ import annotations

from esxparse_simulator.drawn import random_experiment, trouble_names
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
    "random_experiment",
    "record",
    "release_names",
    "scenario_names",
    "scenario_titles",
    "trouble_names",
    "write_esxtop",
]
