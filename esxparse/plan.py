"""Planners, ready to call: `ex.plan.replication(vms=15, size=102_400, rate=901, change=5, rpo=15)`.

>>> from esxparse import plan
>>> found = plan.replication(vms=15, size=102_400, rate={"local": 901, "routed": 440}, change=5, rpo=15)
>>> [round(one["initial_sync_h"], 2) for one in found.results.values()]
[3.79, 7.76]

`plan.replication.form` has the inputs with their units, the results and the sources; docs/plan.md explains them all.
"""

from __future__ import annotations

from typing import Final

from esxparse.plans import consolidation as _consolidation
from esxparse.plans import dense_mode as _dense_mode
from esxparse.plans import pci as _pci
from esxparse.plans import power as _power
from esxparse.plans import raid as _raid
from esxparse.plans import replication as _replication
from esxparse.plans import wan as _wan
from esxparse.plans.planner import Planner

replication: Final = Planner("replication", _replication.answer, _replication.measure)
power: Final = Planner("power", _power.answer, _power.measure, _power.measure_study, _power.beside)
wan: Final = Planner("wan", _wan.answer, _wan.measure)
consolidation: Final = Planner(
    "consolidation", _consolidation.answer, _consolidation.measure, _consolidation.measure_study
)
dense_mode: Final = Planner("dense-mode", _dense_mode.answer, _dense_mode.measure)
raid: Final = Planner("raid", _raid.answer)
pci: Final = Planner("pci", _pci.answer)

PLANNERS: Final = {one.name: one for one in (replication, power, wan, consolidation, dense_mode, raid, pci)}
"""By their names on the command line."""
