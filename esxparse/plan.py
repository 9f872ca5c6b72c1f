"""Planners, as people call them: `ex.plan.replication(vms=15, size=102_400, rate=901, change=5, rpo=15)`.

>>> from esxparse import plan
>>> found = plan.replication(vms=15, size=102_400, rate={"local": 901, "routed": 440}, change=5, rpo=15)
>>> [round(one["initial_sync_h"], 2) for one in found.results.values()]
[3.79, 7.76]

`planner.form` has the inputs with their units, the results and the sources of each; docs/plan.md explains them.
"""

from __future__ import annotations

from typing import Final

from esxparse.plans import replication as _replication
from esxparse.plans.planner import Planner

replication: Final = Planner("replication", _replication.answer, _replication.measure)

PLANNERS: Final = {one.name: one for one in (replication,)}
"""By the name that the command line takes."""
