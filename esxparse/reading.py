"""Reading a raw recording: `ex.open`."""

from __future__ import annotations

import os
from datetime import date, datetime, timedelta
from typing import Literal

from esxparse.formats.opening import Opening
from esxparse.formats.registry import open_recording
from esxparse.recording import Recording

Capture = Recording | str | os.PathLike[str]
"""A recording, or the path of a file to open."""


def as_recording(capture: Capture) -> Recording:
    """Return the recording; a path is opened first.

    Raises EsxparseError: The file cannot be read.
    """
    return capture if isinstance(capture, Recording) else open_recording(capture, Opening.of({}))


def open(  # noqa: A001  as in ex.open
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
    counter_info: str | None = None,
    timeout: float | str | None = None,
    memory_limit: str | int | None = None,
) -> Recording:
    """Read a raw recording; its content determines the format.

    `convert`, `report`, studies and commands take the same options; an option that does not apply to the file is an
    error.

    Args:
        path: A file, plain or compressed (gzip, zstd, xz, bzip2); a .zip, .tar or vm-support bundle that holds
            captures; a directory or bundle of files of one format; the directory of a converted capture, or of one fio
            run; a URL (with the extra `remote`); `-` for standard input.
        member: Which capture of a bundle that holds several; `bundle.tgz:name` means the same.
        start: Leave out samples before this time: a datetime, or text such as `2026-03-11T09:02` (UTC).
        end: Leave out samples after this time.
        every: Keep the first sample of each period of this length (`30s`, `5m`, `1h`); nothing is averaged.
        lazy: Leave the numbers in the file, and let each query read the columns, samples and instances it needs. By
            default captures of more than 256 MB are read so; the file must not change meanwhile.
        segment: Which capture, from 1, if several with columns of their own were joined in the file (a note reports
            this); captures with the same columns are joined.
        date_order: Order of day, month and year in dates such as 03/04/26, if the file does not show it.
            It applies even to time stamps in esxtop's own form (month first); a note reports this.
        date: The day of the first sample, if time stamps were saved without one: a date, or text such as
            `2026-03-11`. Past midnight the next day begins.
        decimal: The decimal mark of a file that another program saved, if the file does not show whether `1.234` is
            about one or about a thousand.
        zone: The zone of the clock that wrote times without one: `+02:00`, or a name such as `Europe/Berlin`, which
            knows daylight saving. By default such times are taken as UTC, and a note reports this.
        format: Read it with the reader of this name, whatever it looks like. Files that only their columns identify
            (a power meter's export, a list of results) need it.
        time_column: Which column holds the time, in such a file.
        value_column: Which column holds the watts, or the results, in such a file.
        counter_info: A file with the reply of CounterInfo, for replies of esxtop's service that were saved without it.
        timeout: How long to wait for each answer of a server, and for each piece of one: seconds, or text such as `2m`;
            60 seconds by default.
        memory_limit: Bytes of memory that reading may take (`8GiB`, or a number; 4 GiB by default). Files that need
            more are refused: a file that is read whole may be up to a 32nd of it long.

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
    return open_recording(path, Opening.of(options))
