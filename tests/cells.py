"""Captures of disks written cell by cell, and the cells of any capture read back with nothing but `csv`."""

from __future__ import annotations

import csv
from datetime import UTC, datetime, timedelta

START = datetime(2026, 5, 4, 8, 0, tzinfo=UTC)
HOST = "esx-lab"


def capture(folder, cells, name="capture.csv", seconds=None):
    """A capture of `{(object, instance, counter): [cell of each sample]}`, a sample every 5 s or at these `seconds`."""
    samples = len(next(iter(cells.values())))
    header = ["(PDH-CSV 4.0) (UTC)(0)"] + [
        f"\\\\{HOST}\\{kind}({instance})\\{counter}" for kind, instance, counter in cells
    ]
    path = folder / name
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
        writer.writerow(header)
        for sample in range(samples):
            time = START + timedelta(seconds=seconds[sample] if seconds else 5 * sample)
            writer.writerow([f"{time:%m/%d/%Y %H:%M:%S}", *(f"{column[sample]:.2f}" for column in cells.values())])
    return path


COUNTERS = {
    "iops": "Commands/sec",
    "reads": "Reads/sec",
    "writes": "Writes/sec",
    "gavg": "Average Guest MilliSec/Command",
    "davg": "Average Driver MilliSec/Command",
    "gavg_read": "Average Guest MilliSec/Read",
    "gavg_write": "Average Guest MilliSec/Write",
    "failed": "Failed Commands/sec",
    "failed_reads": "Failed Reads/sec",
    "failed_writes": "Failed Writes/sec",
    "mib_read": "MBytes Read/sec",
    "mib_written": "MBytes Written/sec",
}


def disk(instance, kind="Physical Disk SCSI Device", **columns):
    """Cells of one disk, by the short names of `COUNTERS`."""
    return {(kind, instance, COUNTERS[name]): values for name, values in columns.items()}


def columns_of(path, kind):
    """`{instance: {counter: [numbers]}}` of one object of a capture."""
    with path.open(newline="", encoding="utf-8-sig") as stream:
        header, *rows = list(csv.reader(stream))
    found = {}
    for place, cell in enumerate(header[1:], 1):
        # An empty name, and the object before the bracket: names of disks hold brackets and backslashes seldom enough.
        _, _, _, path_, *counter = [*cell.split("\\"), "", "", "", ""]
        name, bracket, instance = path_.partition("(")
        if name == kind and bracket:
            found.setdefault(instance[:-1], {})[counter[0]] = [float(row[place]) for row in rows if len(row) > place]
    return found
