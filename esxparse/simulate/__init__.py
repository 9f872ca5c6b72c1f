"""A host that never was, and captures of it in the very grammar of the tools.

`capture(scenario)` models a host sample by sample (see `model/engine.py` for the order of things), `write_esxtop` writes it
as `esxtop -b` would. Scenarios are TOML files; `busy_host()` is the one behind the bundled capture.

>>> from esxparse import simulate
>>> lines = list(simulate.esxtop_lines(simulate.capture(simulate.busy_host(), samples=2)))
>>> lines[0][:23]
b'"(PDH-CSV 4.0) (UTC)(0)'
>>> lines[1][:21]
b'"03/11/2026 09:00:00"'
"""

from esxparse.simulate.model.engine import Capture, Snapshot, capture
from esxparse.simulate.esxtop.writer import esxtop_lines, write_esxtop
from esxparse.simulate.host import Scenario
from esxparse.simulate.scenario import ScenarioError, busy_host, load_scenario, scenario_names

__all__ = [
    "Capture",
    "Scenario",
    "ScenarioError",
    "Snapshot",
    "busy_host",
    "capture",
    "esxtop_lines",
    "load_scenario",
    "scenario_names",
    "write_esxtop",
]
