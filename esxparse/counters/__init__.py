"""The counter catalogue: names, meaning and sums of every counter of esxtop.

>>> from esxparse.counters import counter
>>> counter("%RDY")
Counter('%RDY', group_cpu.pct_ready, '% of one core')
"""

from __future__ import annotations

from esxparse.counters.catalogue import UnknownCounterError, catalogue, counter, lookup
from esxparse.counters.model import UNITS, Counter
from esxparse.counters.naming import column_name, table_name

__all__ = [
    "UNITS",
    "Counter",
    "UnknownCounterError",
    "catalogue",
    "column_name",
    "counter",
    "lookup",
    "table_name",
]
