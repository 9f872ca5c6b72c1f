"""Snapshots of a run (`--status-interval`): one result, and a table of what was printed on the way."""

from __future__ import annotations

import json
import subprocess

import fio_outputs
import pytest
from compose import opened

import esxparse as ex
from esxparse.metrics import workload

BEGIN_MS = 1_772_870_400_000


def document(runs, *, begin_ms=BEGIN_MS, at_ms=None, release="fio-3.19"):
    """JSON of the jobs that (name, msec, ios) describe, printed when the longest has run for its time."""
    at_ms = max((msec for _, msec, _ in runs), default=0) if at_ms is None else at_ms
    jobs = [
        fio_outputs.job(name, read=fio_outputs.direction(ios, msec=max(msec, 1)), options={"iodepth": "1"})
        for name, msec, ios in runs
    ]
    when = begin_ms + at_ms
    return fio_outputs.document(*jobs, release=release, timestamp=when // 1000, timestamp_ms=when)


def rows(rec, table="jobs"):
    return rec[table].collect().to_dicts()


def test_growing_counts_are_one_run_and_its_snapshots(tmp_path):
    steps = [(1000, 500), (2000, 1500), (3000, 2500), (3100, 2600)]
    rec = opened(tmp_path, "".join(document([("bench", msec, ios)]) for msec, ios in steps))
    (job,) = rows(rec)
    assert (job["document"], job["ios"], job["runtime_s"]) == (1, 2600, 3.1)
    assert rec.meta["documents"] == 1
    found = rows(rec, "snapshots")
    assert [row["runtime_s"] for row in found] == [1, 2, 3, 3.1]
    assert [row["ios"] for row in found] == [500, 1500, 2500, 2600]
    assert [row["interval_s"] for row in found] == [1, 1, 1, 0.1]
    assert [row["interval_ios"] for row in found] == [500, 1000, 1000, 100]
    assert [row["interval_bytes"] for row in found] == [one * 4096 for one in (500, 1000, 1000, 100)]
    assert sum(row["interval_bytes"] for row in found) == job["total_bytes"]
    assert {row["document"] for row in found} == {1}
    assert rec["percentiles"].collect()["document"].to_list() == [1] * len(fio_outputs.PERCENTILES)
    (note,) = [note for note in rec.notes if "snapshots of one run" in note.message]
    assert (note.line, note.severity) == (1, "info")
    (test,) = workload.results("fio", rec.tables).collect().to_dicts()
    assert (test["outstanding"], test["workers"], test["iops"]) == (1, 1, pytest.approx(2600 / 3.1))


def test_jobs_one_after_the_other_are_one_run(tmp_path):
    steps = [
        ([("a", 900, 100), ("a", 900, 110), ("b", 0, 0)], 900),
        ([("a", 1800, 200), ("a", 1700, 190), ("b", 100, 4)], 1900),
        ([("a", 1800, 200), ("a", 1700, 190), ("b", 1100, 50)], 2900),
    ]
    rec = opened(tmp_path, "".join(document(runs, at_ms=at) for runs, at in steps))
    assert [(row["job_number"], row["job"], row["ios"]) for row in rows(rec)] == [
        (1, "a", 200), (2, "a", 190), (3, "b", 50),
    ]  # fmt: skip
    added = [(row["job_number"], row["interval_ios"]) for row in rows(rec, "snapshots")]
    assert added == [(1, 100), (2, 110), (1, 100), (2, 80), (3, 4), (1, 0), (2, 0), (3, 46)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # Counts fall: the same job again.
        (document([("bench", 3000, 900)]), document([("bench", 3000, 890)], begin_ms=BEGIN_MS + 5000)),
        # Counts grow, but the second took all the time since the first: 20 s after it.
        (document([("bench", 10_000, 900)]), document([("bench", 20_000, 1900)], begin_ms=BEGIN_MS + 10_000)),
        # The second began later by its own word.
        (
            document([("bench", 1000, 900)]).replace('"error"', f'"job_start" : {BEGIN_MS}, "error"'),
            document([("bench", 2000, 1900)]).replace('"error"', f'"job_start" : {BEGIN_MS + 9}, "error"'),
        ),
        (document([("bench", 1000, 900)]), document([("other", 2000, 1900)])),
    ],
)
def test_two_runs_in_one_file_stay_two(tmp_path, first, second):
    rec = opened(tmp_path, first + second)
    assert [row["document"] for row in rows(rec)] == [1, 2]
    assert "snapshots" not in rec
    assert not any("snapshot" in note.message for note in rec.notes)


def test_two_runs_with_snapshots_are_two_results(tmp_path):
    texts = [
        document([("bench", msec, msec)], begin_ms=begin)
        for begin in (BEGIN_MS, BEGIN_MS + 60_000)
        for msec in (1000, 2000, 2500)
    ]
    rec = opened(tmp_path, "".join(texts))
    assert [(row["document"], row["ios"]) for row in rows(rec)] == [(1, 2500), (2, 2500)]
    assert [row["document"] for row in rows(rec, "snapshots")] == [1, 1, 1, 2, 2, 2]


def test_a_cut_snapshot_leaves_the_result_to_the_one_before(tmp_path):
    whole = document([("a", 1000, 500), ("b", 1000, 400)])
    later = document([("a", 2000, 900), ("b", 2000, 800)])
    rec = opened(tmp_path, whole + later[: later.index('"jobname"', later.index('"jobname"') + 1) + 40])
    assert [(row["job"], row["ios"]) for row in rows(rec)] == [("a", 500), ("b", 400)]
    assert [row["ios"] for row in rows(rec, "snapshots")] == [500, 400, 900]
    messages = [note.message for note in rec.notes if note.severity == "warning"]
    assert any("the last snapshot is cut" in message for message in messages)
    assert any("the JSON is cut" in message for message in messages)
    # Without a job in it, only its note is left.
    rec = opened(tmp_path, whole + later[: later.index('"jobname"') + 40])
    assert [(row["document"], row["ios"]) for row in rows(rec)] == [(1, 500), (1, 400)]
    assert any("the JSON is cut" in note.message for note in rec.notes)


def line(name, kib, msec, *, low=3, high=50, disk=None):
    """A terse line of one job that only reads."""
    block = fio_outputs.terse_direction(1000)
    block[0], block[1], block[3] = str(kib), str(kib * 1000 // msec), str(msec)
    block[8:10] = [str(low), str(high)]
    tail = f";sda;{disk};0;0;0;9;0;9;{disk % 100}.00%" if disk else ""
    return fio_outputs.terse(name, [block, fio_outputs.terse_direction(0)], tail=tail) + "\n"


def terse_of(steps, names=("job",)):
    return "".join(line(name, kib, msec, disk=disk) for kib, msec, disk in steps for name in names)


@pytest.mark.parametrize("names", [("job",), ("a", "b"), ("a", "a", "b")])
@pytest.mark.parametrize("disks", [True, False])
def test_terse_snapshots_are_found_by_their_counts(tmp_path, names, disks):
    steps = [(4000, 1000, 7), (8100, 2000, 19), (12_000, 3000, 33), (12_200, 3050, 34)]
    rec = opened(tmp_path, terse_of([(*step[:2], step[2] if disks else None) for step in steps], names))
    found = rows(rec)
    assert [row["job"] for row in found] == list(names)
    assert [row["job_number"] for row in found] == [*range(1, len(names) + 1)]
    assert {row["total_bytes"] for row in found} == {12_200 * 1024}
    assert rec["snapshots"].collect()["runtime_s"].to_list() == [msec / 1000 for _, msec, _ in steps for _ in names]
    # Whole KiB are no exact difference.
    assert rec["snapshots"].collect()["interval_bytes"].null_count() == len(steps) * len(names)


def test_terse_workers_and_runs_are_no_snapshots(tmp_path):
    workers = [(4000, 10_001, 7), (4010, 10_004, 7), (4020, 10_009, 7)]
    rec = opened(tmp_path, terse_of(workers))
    assert [row["document"] for row in rows(rec)] == [1, 1, 1]
    assert "snapshots" not in rec
    # The lowest latency of a run never rises.
    runs = line("job", 4000, 10_000, low=3, disk=7) + line("job", 9000, 20_000, low=5, disk=9)
    rec = opened(tmp_path, runs)
    assert [row["document"] for row in rows(rec)] == [1, 2]
    assert "snapshots" not in rec
    twice = [(4000, 1000, 7), (8000, 2000, 9)]
    rec = opened(tmp_path, terse_of(twice * 2))
    assert [row["total_bytes"] for row in rows(rec)] == [8000 * 1024] * 2


def normal(pid, msec, ios, *, announced=True, name="one"):
    """Normal output of a job of one worker that reads 4 KiB."""
    head = (
        f"{name}: (g=0): rw=randread, bs=(R) 4096B-4096B, ioengine=psync, iodepth=1\nfio-3.33\nStarting 1 process\n\n"
    )
    kib, seconds = ios * 4, msec / 1000
    return (
        f"{head if announced else ''}{name}: (groupid=0, jobs=1): err= 0: pid={pid}: Tue Nov 24 11:05:26 2026\n"
        f"  read: IOPS={ios / seconds:.0f}, BW={kib / seconds:.0f}KiB/s ({kib * 1.024:.0f}kB/s)({kib}KiB/{msec}msec)\n"
        "    clat (nsec): min=100, max=9000, avg=400.00, stdev=5.00\n"
        "  cpu          : usr=1.00%, sys=2.00%, ctx=3, majf=0, minf=9\n"
        f"     issued rwts: total={ios},0,0,0 short=0,0,0,0 dropped=0,0,0,0\n\n"
        f"Run status group 0 (all jobs):\n   READ: bw={kib / seconds:.0f}KiB/s (1kB/s), 1KiB/s-1KiB/s (1kB/s-1kB/s), "
        f"io={kib}KiB (1kB), run={msec}-{msec}msec\n\n"
    )


def test_normal_snapshots_of_one_process_are_one_run(tmp_path):
    texts = [normal(77, 1000, 500), *(normal(77, msec, msec // 2, announced=False) for msec in (2000, 3000))]
    rec = opened(tmp_path, "".join(texts))
    (job,) = rows(rec)
    assert (job["ios"], job["workers"], job["queue_depth"], job["runtime_s"]) == (1500, 1, 1, 3)
    assert [row["interval_ios"] for row in rows(rec, "snapshots")] == [500, 500, 500]
    assert rec["groups"].collect()["total_bytes"].to_list() == [1500 * 4096]
    assert workload.results("fio", rec.tables).collect()["outstanding"].to_list() == [1]
    # Two processes are two runs.
    rec = opened(tmp_path, normal(77, 1000, 500) + normal(78, 2000, 1500))
    assert [row["document"] for row in rows(rec)] == [1, 2]
    assert "snapshots" not in rec


@pytest.mark.needs("fio")
@pytest.mark.parametrize("output", ["json", "json+", "normal", "terse", "json,normal,terse"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_fio_itself(tmp_path, output, jobs):
    path = tmp_path / "out.txt"
    command = ["fio", "--name=one", "--ioengine=psync", "--rw=randread", "--size=1m", f"--filename={tmp_path}/data"]
    command += ["--time_based", "--runtime=2", "--status-interval=500ms", "--thinktime=2000", f"--numjobs={jobs}"]
    subprocess.run([*command, f"--output-format={output}", f"--output={path}"], check=True, capture_output=True)
    rec = ex.open(path)
    assert rec["jobs"].collect()["job"].to_list() == ["one"] * jobs
    (test,) = workload.results("fio", rec.tables).collect().to_dicts()
    assert test["workers"] == jobs
    series = rec["snapshots"].collect()
    for number in range(1, jobs + 1):
        mine = series.filter(series["job_number"] == number)
        assert mine.height >= 3
        assert mine["runtime_s"].is_sorted()
        assert mine["total_bytes"].is_sorted()
        assert mine["interval_s"].sum() == pytest.approx(rec["jobs"].collect()["runtime_s"][number - 1])
    if output == "json":
        last = json.JSONDecoder().raw_decode(path.read_text(), path.read_text().rindex('{\n  "fio version"'))[0]
        assert rec["jobs"].collect()["total_bytes"].to_list() == [one["read"]["io_bytes"] for one in last["jobs"]]
