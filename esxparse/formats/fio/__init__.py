"""fio output (2.0 to 3.4x): JSON and JSON+, normal, terse; its logs; the directory of a run.

An output may hold several documents, in several formats, with errors and text around them. All latencies are
milliseconds, whatever unit a release prints.

Tables
------
All tables of outputs have `document` (i64, from 1, in the order of the file), and those of jobs `job_number` (i64, from
1 in its document), `job` (str, its name), `hostname` (str, of a server in client mode), `group` (i64, fio's groupid).
Jobs of servers are followed by their sum, job `All clients`, without a hostname.

jobs           one row per job and direction that did I/O or was asked for
    output                          str   json, normal or terse
    error                           i64   fio's error number, 0 where the job ended well
    direction                       str   read, write, trim; all for `unified_rw_reporting`; sync for fsync and such
    rw, ioengine                    str   as asked for (`rw` is fio's default, read, where the document does not say)
    block_size_bytes                i64   of this direction; empty where it is a range or several
    queue_depth                     i64   asked for: option iodepth, per worker
    workers                         i64   asked for: option numjobs; of normal output the jobs of that name in its group
    ios, total_bytes                i64   done in all (fio 2.1 and terse do not say ios)
    short_ios, dropped_ios          i64
    runtime_s                       f64   seconds in which this direction was busy
    iops                            f64   per second, over the runtime
    iops_mean, _stddev, _min, _max  f64   of samples, every half second by default
    bandwidth_bytes_per_s           f64   over the runtime
    bandwidth_mean_bytes_per_s ...  f64   of samples: mean, stddev, min, max
    latency_mean_ms ...             f64   total, fio's `lat`: mean, stddev, min, max; empty where nothing was measured
    slat_mean_ms ..., clat_...      f64   until submission, from submission to completion
    p50_ms, p95_ms, p99_ms, p99_9_ms  f64 percentiles of clat, or of lat where fio was asked for those
    usr_cpu_pct, sys_cpu_pct        f64   of the job, of one CPU
    context_switches, major_faults, minor_faults  i64  of the job
    errors                          i64   I/O errors gone over (option continue_on_error)
    steadystate                     bool  whether it was attained (option steadystate)
    start, end                      time  UTC: of the job; when the document was written
snapshots      one row per snapshot (`--status-interval`), job and direction; the last is in `jobs`
    end                             time  UTC: when the snapshot was written; only JSON says
    runtime_s, ios, total_bytes, iops, bandwidth_bytes_per_s, latency_mean_ms, clat_mean_ms
                                          as in `jobs`: since the job began, not since the snapshot before
    interval_s                      f64   seconds of runtime since the snapshot before, or the start of the job
    interval_ios, interval_bytes    i64   done in that time (bytes of JSON alone: other outputs round them)
percentiles    `direction`, `latency` (slat, clat, lat), `priority` (str, empty for all I/Os),
               `percentile` (99.9 is 99.9 %), `latency_ms`
latency_bins   `direction`, `latency`, `priority`, `source`, `from_ms`, `to_ms` (empty = open end), `ios`, `share_pct`
    source bins                     bins of JSON+, with `ios`; each I/O is in one
    source distribution             fio's coarse shares of all I/Os of a job, with `share_pct`; those above 0
priorities     `direction`, `latency`, `priority` (class/level/hint, or high, low), `ios`, `latency_mean_ms` ...
queue_depths   `of` (in_flight, submit, complete), `depth` (str, `>=64`), `share_pct`
groups         the lines READ, WRITE ... of normal output: `hostname`, `group`, `direction`, `total_bytes`,
               `bandwidth_bytes_per_s`, `bandwidth_min_bytes_per_s`, `..._max_...` of a job, `runtime_min_s`, ...
disks          `hostname`, `disk`, `scope` (device; members: mean of the devices it is made of), `read_ios`, ...,
               `read_sectors`, ..., `read_merges`, ..., `read_ticks_ms`, ..., `in_queue_ms`, `util_pct`
options        `option`, `value` (str), `given` (job or global; a global one that the job overrides is left out)

Logs have `series`, or `latency_bins_series` and what else `histogram` names; a directory of a run has all of these:
see `logs`, `histogram` and `directory`.

Snapshots of one run (its process or start, or else counts that only grow) are one document: the last complete one. A
count that falls, another process or start, or more time than passed make it another run.

Where one run was printed in several formats (`--output-format=json,terse`), the most precise is read, JSON before
normal before terse, and a note names the other. `All clients` of the same run stays: leave it out of sums.

Assumed: fio 2 wrote KB for 1024 bytes (its default, `kb_base=1024`; with 1000 it prints the same letters); bandwidth of
terse lines without IOPS (2.0.0) is bytes by milliseconds. Normal output has local time without a zone: it is not read.

Source: stat.c, client.c, options.c, HOWTO of fio 2.0 to 3.4x; outputs of fio 3.33.
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
    """Whether a file that begins so is an output or a log of fio."""
    # Logs are told by their first lines; an output is looked for in all of the text.
    return logs.recognise(head) or is_output(head)


def read(source: Source) -> Recording:
    """Reads an output or a log of fio."""
    if logs.recognise(source.head):
        return logs.read(source)
    parsed = parse_output(source, source.name)
    return Recording(FORMAT, source.name, parsed.tables, parsed.meta, parsed.notes)
