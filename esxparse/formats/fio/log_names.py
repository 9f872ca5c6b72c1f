"""What the name of a fio log tells: which metric, which job. Nothing in the log itself says it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(
    r"(?P<base>.*?)[_-](?P<metric>clat_hist|hist|bw|iops|clat|slat|lat)(?:\.(?P<number>\d{1,9}))?\.log(?:\.(?P<host>.+))?",
    re.DOTALL,
)
_PACKED = re.compile(r"\.(?:gz|xz|bz2|zst|lz4|Z)$")
_FOLDERS = re.compile(r"[/\\:]")


@dataclass(frozen=True)
class LogName:
    """A name such as `randread_clat.3.log`, taken apart."""

    base: str
    """What `write_bw_log` and the like were given, by default the job's name; without a metric, the whole name."""
    metric: str
    """bw, iops, lat, clat, slat, clat_hist, or unknown."""
    number: int | None
    """Which job of the run, from 1; none with `per_job_logs=0`."""
    host: str | None
    """The server a client wrote it for."""


def log_name(name: str) -> LogName:
    """The parts of a log's name; folders, bundles and what packed it are left out.

    >>> log_name("runs/night.tgz:fio/randread_clat.3.log.gz")
    LogName(base='randread', metric='clat', number=3, host=None)
    """
    last = _PACKED.sub("", _FOLDERS.split(name)[-1])
    match = _NAME.fullmatch(last)
    if not match:
        return LogName(last.removesuffix(".log"), "unknown", None, None)
    metric = "clat_hist" if match["metric"] == "hist" else match["metric"]
    number = match["number"]
    return LogName(match["base"], metric, int(number) if number else None, match["host"])
