"""esxparse reads esxtop batch captures and computes what VMware performance people compute.

>>> import esxparse as ex
>>> rec = ex.open(ex.datasets_dir() / "busy-host" / "busy-host.csv")
>>> rec.format, len(rec.meta["vms"])
('esxtop', 8)

Every public name is below; each is loaded on first use, so the import itself costs little.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from esxparse import attached as _attached  # noqa: F401  (gives recordings their methods)
from esxparse.version import __version__ as __version__

if TYPE_CHECKING:
    import builtins
    import os
    from datetime import date, datetime, timedelta
    from typing import Literal

    import esxparse_simulator as simulate
    from esxparse import bundled as datasets
    from esxparse import collect, metrics, quality
    from esxparse.counters.catalogue import counter
    from esxparse.counters.model import Counter
    from esxparse.diagnosis.changes import Changes, changes
    from esxparse.diagnosis.diagnose import diagnose
    from esxparse.diagnosis.finding import Finding
    from esxparse.diagnosis.findings import Findings
    from esxparse.diagnosis.likeness import compare, similar
    from esxparse.diagnosis.rules import Rule
    from esxparse.diagnosis.rules import load as rules
    from esxparse.errors import (
        DamagedError,
        EsxparseError,
        MissingTableError,
        TooLargeError,
        UnknownFormatError,
        UnreadableError,
    )
    from esxparse.explorer.app import explore, follow
    from esxparse.explorer.held import search
    from esxparse.explorer.plots import plot
    from esxparse.explorer.rank import top
    from esxparse.explorer.rows import Rows, rows
    from esxparse.fleet import Crew
    from esxparse.formats.catalogue import Format, catalogue
    from esxparse.formats.esxtop.slice import Sliced
    from esxparse.formats.esxtop.slice import slice_capture as slice  # noqa: A004  the command's name
    from esxparse.lakes import Converted, Lake, convert, lake
    from esxparse.metrics.power_join import PowerJoin, join_power
    from esxparse.quality.check import check
    from esxparse.quality.results import Expectation, Quality
    from esxparse.recording import Note, Recording
    from esxparse.reports import Template, report, templates
    from esxparse.reports.batch import Batch, batch
    from esxparse.shipped import datasets_dir, templates_dir
    from esxparse.studies import Study, study

_WHERE = {
    "Batch": "esxparse.reports.batch",
    "Changes": "esxparse.diagnosis.changes",
    "Converted": "esxparse.lakes",
    "Counter": "esxparse.counters.model",
    "Crew": "esxparse.fleet",
    "DamagedError": "esxparse.errors",
    "EsxparseError": "esxparse.errors",
    "Expectation": "esxparse.quality.results",
    "Finding": "esxparse.diagnosis.finding",
    "Findings": "esxparse.diagnosis.findings",
    "Format": "esxparse.formats.catalogue",
    "Lake": "esxparse.lakes",
    "MissingTableError": "esxparse.errors",
    "Note": "esxparse.recording",
    "PowerJoin": "esxparse.metrics.power_join",
    "Quality": "esxparse.quality.results",
    "Recording": "esxparse.recording",
    "Rows": "esxparse.explorer.rows",
    "Rule": "esxparse.diagnosis.rules",
    "Sliced": "esxparse.formats.esxtop.slice",
    "Study": "esxparse.studies",
    "Template": "esxparse.reports",
    "TooLargeError": "esxparse.errors",
    "UnknownFormatError": "esxparse.errors",
    "UnreadableError": "esxparse.errors",
    "batch": "esxparse.reports.batch",
    "catalogue": "esxparse.formats.catalogue",
    "check": "esxparse.quality.check",
    "changes": "esxparse.diagnosis.changes",
    "compare": "esxparse.diagnosis.likeness",
    "convert": "esxparse.lakes",
    "counter": "esxparse.counters.catalogue",
    "diagnose": "esxparse.diagnosis.diagnose",
    "datasets_dir": "esxparse.shipped",
    "explore": "esxparse.explorer.app",
    "follow": "esxparse.explorer.app",
    "join_power": "esxparse.metrics.power_join",
    "lake": "esxparse.lakes",
    "plot": "esxparse.explorer.plots",
    "report": "esxparse.reports",
    "rows": "esxparse.explorer.rows",
    "rules": "esxparse.diagnosis.rules:load",
    "search": "esxparse.explorer.held",
    "similar": "esxparse.diagnosis.likeness",
    "slice": "esxparse.formats.esxtop.slice:slice_capture",
    "study": "esxparse.studies",
    "templates": "esxparse.reports",
    "templates_dir": "esxparse.shipped",
    "top": "esxparse.explorer.rank",
}
_MODULES = {
    "collect": "esxparse.collect",
    "datasets": "esxparse.bundled",
    "metrics": "esxparse.metrics",
    "quality": "esxparse.quality",
}

__all__ = [
    "Batch",
    "Changes",
    "Converted",
    "Counter",
    "Crew",
    "DamagedError",
    "EsxparseError",
    "Expectation",
    "Finding",
    "Findings",
    "Format",
    "Lake",
    "MissingTableError",
    "Note",
    "PowerJoin",
    "Quality",
    "Recording",
    "Rows",
    "Rule",
    "Sliced",
    "Study",
    "Template",
    "TooLargeError",
    "UnknownFormatError",
    "UnreadableError",
    "batch",
    "catalogue",
    "changes",
    "check",
    "collect",
    "compare",
    "convert",
    "counter",
    "datasets",
    "datasets_dir",
    "diagnose",
    "explore",
    "follow",
    "join_power",
    "lake",
    "metrics",
    "open",
    "plot",
    "quality",
    "report",
    "rows",
    "rules",
    "search",
    "similar",
    "slice",
    "study",
    "templates",
    "templates_dir",
    "top",
]
if TYPE_CHECKING:
    # Not for `from esxparse import *`, which has to work where the simulator is not installed.
    __all__ += ["simulate"]


def open(  # noqa: A001  what people type is ex.open
    path: str | os.PathLike[str],
    member: str | None = None,
    *,
    start: str | datetime | None = None,
    end: str | datetime | None = None,
    every: str | timedelta | None = None,
    lazy: bool | None = None,
    segment: int = 1,
    date_order: Literal["mdy", "dmy", "ymd"] | None = None,
    date: str | date | None = None,
    decimal: Literal["point", "comma"] | None = None,
    zone: str | None = None,
    format: str | None = None,  # noqa: A002  the word that `Recording.format` has
    time_column: str | None = None,
    value_column: str | None = None,
    timeout: float | str | None = None,
    memory_limit: str | int | None = None,
) -> Recording:
    """Reads a raw recording; its content determines the format.

    `convert`, `report`, studies and commands take the same options; one that does not apply to the file is an error.

    Args:
        path: A file, plain or compressed (gzip, zstd, xz, bzip2); a .zip, .tar or vm-support bundle that holds
            captures; a directory or bundle of files of one format; the directory of a converted capture, or of one fio
            run; a URL (with the extra `remote`); `-` for standard input.
        member: Which capture of a bundle that holds several; `bundle.tgz:name` says the same.
        start: Leave out samples before this time: a datetime, or text such as `2026-03-11T09:02` (UTC).
        end: Leave out samples after this time.
        every: Keep the first sample of each period of this length (`30s`, `5m`, `1h`); nothing is averaged.
        lazy: Leave the numbers in the file, and let each query read the columns, samples and instances it needs. By
            default captures of more than 256 MB are read so; the file has to stay as it is meanwhile.
        segment: Which capture, from 1, where several with columns of their own were glued together in the file (a note
            says so); captures with the same columns are joined.
        date_order: Order of day, month and year in dates such as 03/04/26, if the file does not show it.
            What is said here counts, also where time stamps look as esxtop writes them (month first): a note says so.
        date: The day of the first sample, where time stamps were saved without one: a date, or text such as
            `2026-03-11`. Past midnight the next day begins.
        decimal: The decimal mark of a file that another program saved, where the file does not show whether `1.234` is
            about one or about a thousand.
        zone: The zone of the clock that wrote times without one: `+02:00`, or a name such as `Europe/Berlin`, which
            knows daylight saving. Without it such times are taken as UTC, which a note says.
        format: Read it with the reader of this name, whatever it looks like. Files that nothing but their columns tell
            (a power meter's export, a list of results) need it.
        time_column: Which column holds the time, in such a file.
        value_column: Which column holds the watts, or the results, in such a file.
        timeout: How long to wait for each answer of a server, and for each piece of one: seconds, or text such as `2m`;
            60 seconds by default.
        memory_limit: Bytes of memory that reading may take (`8GiB`, or a number; 4 GiB by default). What would take
            more is refused: files that are read whole may be a 32nd of it long.

    Returns:
        Its tables, facts and notes.

    Raises:
        UnreadableError: The file does not exist, is a directory, or cannot be read.
        TooLargeError: It would take more memory than `memory_limit`.
        UnknownFormatError: No reader recognises it.
        DamagedError: The format is known, but the file holds no usable data.
        EsxparseError: A bound is not a valid time, no sample lies between them, or a date or a number is ambiguous.
    """
    options = {name: value for name, value in locals().items() if name != "path"}
    # polars is imported when it is needed.
    from esxparse.formats.opening import Opening  # noqa: PLC0415
    from esxparse.formats.registry import open_recording  # noqa: PLC0415

    return open_recording(path, Opening.of(options))


def _missing(name: str) -> str:
    """The error for an unknown name; notebooks ask for many private ones."""
    what = f"module 'esxparse' has no attribute {name!r}"
    if name.startswith("_"):
        return what
    from esxparse.errors import did_you_mean  # noqa: PLC0415

    return f"{what}; {did_you_mean(name, __all__)}".rstrip("; ")


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        module, _, own = _WHERE[name].partition(":")
        value = getattr(import_module(module), own or name)
    elif name in _MODULES:
        value = import_module(_MODULES[name])
    elif name == "simulate":
        from esxparse.shipped import simulator  # noqa: PLC0415

        value = simulator()
    else:
        raise AttributeError(_missing(name))
    globals()[name] = value
    return value


def __dir__() -> builtins.list[str]:
    return sorted([*globals(), *__all__])
