"""Charts of vCenter and Aria Operations (vRealize Operations) as CSV: real-time and rolled up.

Read are "Export to CSV" of the vSphere Client's advanced charts (`Time`, `Ready for web-01`, `Ready for 0` ...),
PowerCLI (`Get-Stat | Export-Csv`, with any choice of its columns; or a column for each `cpu.ready.summation`), and
exports of Aria Operations (`Time`, `web-01 - CPU|Ready (%)`); separated by comma, semicolon or tab, with lines of title
before.

Tables
------
samples     one row per value
    time        datetime, UTC; times without a zone are taken as UTC, which a note says
    entity      str   VM, host, datastore ...; null where the file does not name it
    entity_id   str   `VirtualMachine-vm-90`; null but for PowerCLI
    instance    str   `0` (a vCPU or PCPU), `scsi0:0`, `vmnic0`; empty for the whole entity
    counter     str   `cpu.ready.summation`; as printed where the list of counters has no such label, or several
    value       f64   percentages as percent: the API's hundredths are divided by 100, which a note says
    unit        str   null where neither the file nor the list of counters says
    interval_s  f64   seconds that a value sums up or averages over
cpu_waits   one row per value of a CPU time in ms (ready, co-stop, wait, swap wait, max limited, overlap ...)
    time, entity, instance, counter
    ms          f64   as in `samples`
    interval_s  f64
    pct         f64   ms / (interval_s x 1000) x 100: of one vCPU where `instance` names it, else the sum over vCPUs
    vcpus       i64   of the entity: a column says so, or its instances add up to the whole; null else
    pct_per_vcpu f64  pct of a vCPU, pct / vcpus of a whole; null where vcpus is not known

`metrics.scheduling.ms_to_pct` converts by another number of vCPUs.
Intervals are those of column IntervalSecs; else the usual step between times: 20 s (real-time), 300 (day), 1800 (week),
7200 (month), 86400 (year).
Source: VMware KB 2002181 (ready, intervals); vSphere API, PerformanceManager ("2067 means 20.67% for percent units");
Get-Stat's properties; a public reader of the client's titles. Assumption: Aria's titles, of which no file could be had.
"""

from __future__ import annotations

from esxparse.errors import DamagedError
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.limits import cut_notes
from esxparse.formats.kit.tables import frames, schema
from esxparse.formats.opening import DateOrder, Decimal
from esxparse.formats.source import Source
from esxparse.formats.vcenter import columns, rates
from esxparse.recording import Recording

FORMAT = "vcenter"

_SAMPLES = schema("time time, entity entity_id instance counter str, value f64, unit str, interval_s f64")
_WAITS = schema("time time, entity instance counter str, ms interval_s pct f64, vcpus i64, pct_per_vcpu f64")


def recognise(head: Head) -> bool:
    """Titles of a time and of counters."""
    return columns.titles(head.text.split("\n", columns.PREAMBLE)[: columns.PREAMBLE]) is not None


def read(source: Source, date_order: DateOrder | None = None, decimal: Decimal | None = None) -> Recording:
    """Reads an export; the options are the order of its dates and its decimal mark, if the file shows neither."""
    text = source.text().without_cut_line()
    lines = text.lines()
    if (table := columns.titles(lines)) is None:
        raise DamagedError("no line names a time and a counter: export the chart again, with its titles")
    rows, notes = columns.read_rows(lines, table, date_order, decimal)
    if not rows:
        why = f" ({notes[0]})" if notes else ""
        raise DamagedError(f"no value below its titles{why}: export the chart again")
    notes += rates.complete(rows)
    waits, more = rates.waits(rows)
    times = [row["time"] for row in rows]
    intervals = {row["interval_s"] for row in rows}
    meta = {"start": min(times), "end": max(times), "samples": len(set(times))}
    meta |= {"interval": intervals.pop()} if len(intervals) == 1 and None not in intervals else {}
    cut = cut_notes(len(table.cells), len(lines) - (not lines[-1]), saved=False)
    found = frames({"samples": (rows, _SAMPLES), "cpu_waits": (waits, _WAITS)})
    return Recording(FORMAT, source.name, found, meta, (*text.notes, *cut, *notes, *more))
