"""Instruments: what a scenario's `[[file]]` may ask for, tool by tool.

An instrument watches the host while it goes by, or needs no host; at the end it writes. The registry `INSTRUMENTS` is
by the name that `tool` has in a scenario. esxtop is none of them: it writes as the host goes by (`recorder.py`).
"""

from __future__ import annotations

from esxparse_simulator.instruments.benchmarks import INSTRUMENTS as BENCHMARKS
from esxparse_simulator.instruments.events import INSTRUMENTS as EVENTS
from esxparse_simulator.instruments.hardware import INSTRUMENTS as HARDWARE
from esxparse_simulator.instruments.load import INSTRUMENTS as LOAD
from esxparse_simulator.instruments.model import Entry, Instrument
from esxparse_simulator.instruments.power import INSTRUMENTS as POWER
from esxparse_simulator.instruments.traffic import INSTRUMENTS as TRAFFIC

__all__ = ["INSTRUMENTS", "Entry", "Instrument"]

INSTRUMENTS: dict[str, Instrument] = BENCHMARKS | EVENTS | HARDWARE | LOAD | POWER | TRAFFIC
