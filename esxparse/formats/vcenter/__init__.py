"""Charts of vCenter and Aria Operations (vRealize Operations) as CSV: real-time and rolled up.

The reader accepts "Export to CSV" of the vSphere Client's advanced charts (`Time`, `Ready for web-01`, `Ready for 0`
...). It also accepts PowerCLI (`Get-Stat | Export-Csv`, with any choice of its columns; or a column for each
`cpu.ready.summation`) and exports of Aria Operations (`Time`, `web-01 - CPU|Ready (%)`). Cells are separated by comma,
semicolon or tab; title lines may come first.

PowerShell writes local times without their zone: set `zone`.
`metrics.scheduling.ms_to_pct` converts with another number of vCPUs.
Intervals are from column IntervalSecs; else the usual step between times: 20 s (real-time), 300 (day), 1800 (week),
7200 (month), 86400 (year).
Source: VMware KB 2002181 (ready, intervals); vSphere API, PerformanceManager ("2067 means 20.67% for percent units");
Get-Stat's properties; a public reader of the client's titles. Assumption: Aria's titles; no such file was available.
"""

from __future__ import annotations

import polars as pl

from esxparse.errors import DamagedError
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.limits import cut_notes
from esxparse.formats.kit.notes import reason
from esxparse.formats.kit.tables import frame
from esxparse.formats.opening import DateOrder, Decimal
from esxparse.formats.source import Source
from esxparse.formats.vcenter import columns, rates
from esxparse.formats.vcenter.columns import Dates
from esxparse.recording import Recording

FORMAT = "vcenter"


def recognise(head: Head) -> bool:
    """Return whether a head has titles of a time and of counters."""
    return columns.titles(head.text.split("\n", columns.PREAMBLE)[: columns.PREAMBLE]) is not None


def read(
    source: Source, date_order: DateOrder | None = None, decimal: Decimal | None = None, zone: str | None = None
) -> Recording:
    """Read an export; the options are what the file may not show: order of dates, decimal mark, zone of its clock."""
    text = source.text().without_cut_line()
    lines = text.lines()
    if (table := columns.titles(lines)) is None:
        raise DamagedError("no line names a time and a counter: export the chart again, with its titles")
    rows, notes = columns.read_rows(lines, table, Dates(date_order, zone), decimal)
    if not rows:
        raise DamagedError(f"no value below its titles{reason(notes)}: export the chart again")
    notes += rates.complete(rows)
    samples = frame(rows, {**columns.SCHEMAS["samples"], "vcpus": pl.Int64()})
    waits, more = rates.waits(samples)
    times = [row["time"] for row in rows]
    intervals = {row["interval_s"] for row in rows}
    meta = {"start": min(times), "end": max(times), "samples": len(set(times))}
    meta |= {"interval": intervals.pop()} if len(intervals) == 1 and None not in intervals else {}
    cut = cut_notes(len(table.cells), len(lines) - (not lines[-1]), saved=False)
    found = columns.tables({"samples": samples, "cpu_waits": waits})
    return Recording(FORMAT, source.name, found, meta, (*text.notes, *cut, *notes, *more))
