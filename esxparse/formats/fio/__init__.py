"""fio output (2.0 to 3.4x): JSON and JSON+, normal, terse; its logs; the directory of a run.

An output may hold several documents, in several formats, with errors and text around them. All latencies are
milliseconds, whatever unit a release prints. Jobs of servers are followed by their sum, job `All clients`, without a
hostname.

Snapshots of one run are one document, the last complete one. They share a process or start, or else their counts only
grow. A falling count, another process or start, or more time than passed shows another run.

If one run was printed in several formats (`--output-format=json,terse`), the most precise is read: JSON before
normal before terse. A note lists the others. `All clients` of the same run stays: leave it out of sums.

Without `log_avg_msec` each I/O has a line in a log: its latency, 1 for iops, or for bandwidth its size over its
latency. With it, a line is the mean of one direction over about that time, rounded to whole units, and its time is the
end of that interval. The mean is over I/Os for latencies, and over short-time rates for bandwidth and iops. With
`log_max_value=1` a line is the maximum, but nothing in the file shows this. Intervals without I/O have no line, and
the last one is shorter than the others: lines are not weighted by I/Os.

A log states neither its metric nor its unit. The metric is in the file's name. Latencies are nanoseconds from fio 3.0
(2.99) on, microseconds before. Bandwidth is KiB/s if lines are averages, and 1000 bytes/s if each I/O has a line.
The release comes from an output of the same run, or from a priority in the lines (3.19 and later). The reader
looks for outputs beside the log and one directory up. An output is of the same run if it has the log's job or prefix
(`write_lat_log`) and similar latencies. Any other output is only a hint. Without proof the reader infers the unit of
latencies from the I/Os in flight (rate x latency), other logs and the time since the job began. It then warns.
Averages without an iops log fit both units.
`meta` has `metric`, `unit`, `unit_evidence`; `guessed_units` lists the unit with that note.

fio writes an interval of a `*_clat_hist` log when an I/O completes after its end. I/Os after the last interval are in
no line: the log has fewer I/Os than the run.

A directory has the tables of its outputs and logs. If no output has `latency_bins` and `percentiles`, they are from
`*_clat_hist` logs.

A log's name contains a number: fio counts the jobs of a run from 1, in the order of its output, which has a part for
each job. With `group_reporting` the output has fewer jobs: a log then keeps its given name, unless all jobs have one
name. The output shows the release, and so the unit of latencies, if the same run wrote the log.
Outputs in the directory above are compared, too.

A directory is a fio directory if it has a file of fio and no esxtop capture, which is a recording of its own. A note
lists the other files beside them (lscpu's output, the job file). Logs may be in directories below it. A directory with
its own output is a run of its own, and a note lists it.

Assumed: fio 2 wrote KB for 1024 bytes (its default, `kb_base=1024`; with 1000 it prints the same letters); bandwidth of
terse lines without IOPS (2.0.0) is bytes per millisecond. Normal output has local time without a zone: it is not read.

Assumed: before 2.11 bandwidth and iops lines are averages although they have a block size; a fifth number that is never
above 1 is a priority, not the offset 0 of averages that fio to 3.18 writes with `log_offset=1`.

Source: stat.c, client.c, options.c, HOWTO of fio 2.0 to 3.4x; outputs of fio 3.33.
Logs: fio's iolog.c (`flush_samples`) and stat.c (`add_log_sample`, `add_bw_sample`, `__add_samples`), fio's HOWTO,
"Log File Formats".
Histograms: `plat_val_to_idx` and `plat_idx_to_val` in fio's stat.c, stat.h, `flush_hist_samples` in iolog.c,
tools/hist/fio-histo-log-pctiles.py.
"""

from __future__ import annotations

from esxparse.formats.fio import logs
from esxparse.formats.fio.directory import read_directory, recognise_directory
from esxparse.formats.fio.output import is_output, parse_output
from esxparse.formats.kit.head import Head
from esxparse.formats.source import Source
from esxparse.recording import Recording

__all__ = ["FORMAT", "read", "read_directory", "recognise", "recognise_directory"]

FORMAT = "fio"


def recognise(head: Head) -> bool:
    """Return whether a file with this head is an output or a log of fio."""
    # Logs are recognised by their first lines, outputs anywhere in the text.
    return logs.recognise(head) or is_output(head)


def read(source: Source) -> Recording:
    """Read an output or a log of fio."""
    if logs.recognise(source.head):
        return logs.read(source)
    parsed = parse_output(source, source.name)
    return Recording(FORMAT, source.name, parsed.tables, parsed.meta, parsed.notes)
