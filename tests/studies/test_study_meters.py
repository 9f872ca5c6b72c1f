"""`runs`: what meters, counters and benchmarks beside a load generator give, against arithmetic on their own lines."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import mean

import fio_outputs
import pytest
import studies

DISKSPD = studies.FORMATS / "diskspd-2.0.21.xml"
BEGIN = datetime(2026, 3, 2, 8, 0, 7, tzinfo=UTC)
"""When that run of DiskSpd began; it took 60 s."""
WATTS = {"node": [100 + 7 * place**2 for place in range(14)], "shelf": [50 + 3 * place for place in range(10)]}
"""Of two outlets, a reading every 10 s from 30 s before the run on."""


def write_readings(folder, watts):
    """A CSV of the outlets: readings of each on the same clock."""
    lines = ["time,sensor,watts"]
    for sensor, values in watts.items():
        times = (BEGIN + timedelta(seconds=10 * place - 30) for place in range(len(values)))
        lines += [f"{time:%Y-%m-%dT%H:%M:%SZ},{sensor},{value}" for time, value in zip(times, values, strict=True)]
    (folder / "power.csv").write_text("\n".join(lines) + "\n")


def joules(values, begin, end):
    """By the trapezoidal rule between `begin` and `end`, which are readings: seconds from the run's begin."""
    inside = values[(begin + 30) // 10 : (end + 30) // 10 + 1]
    return sum(10 * (one + other) / 2 for one, other in pairwise(inside))


@pytest.mark.parametrize(("sensor", "begin", "end"), [("node", 0, 60), ("shelf", 0, 60)])
def test_watts_are_those_of_the_seconds_in_which_diskspd_ran(tmp_path, sensor, begin, end):
    write_readings(tmp_path, WATTS)
    row = one(
        tmp_path,
        f'[[run]]\ndiskspd = "{DISKSPD}"\nwindow = {{ span = "diskspd" }}\n'
        f'power = {{ file = "power.csv", sensor = "{sensor}" }}\n',
    )
    assert (row["start"], row["measured_s"]) == (BEGIN, 60.0)
    assert row["energy_joules"] == pytest.approx(joules(WATTS[sensor], begin, end))
    assert row["watts"] == pytest.approx(joules(WATTS[sensor], begin, end) / 60)


def test_without_a_choice_the_sensor_with_most_readings_is_the_power_and_a_note_says_so(tmp_path):
    write_readings(tmp_path, dict(reversed(WATTS.items())))
    found = studies.computed(tmp_path, '[[run]]\npower = "power.csv"\n')
    (row,) = studies.rows(found)
    assert row["energy_joules"] == pytest.approx(joules(WATTS["node"], -30, 100))
    assert any("power is from 'node'" in str(note) and ": shelf" in str(note) for note in found.notes)


def test_a_single_reading_is_power_and_no_energy(tmp_path):
    write_readings(tmp_path, {"node": [230]})
    row = one(tmp_path, '[[run]]\npower = "power.csv"\n')
    assert (row["watts"], row["energy_joules"]) == (230.0, None)


def one(folder, text):
    (row,) = studies.rows(studies.computed(folder, text))
    assert row["gap"] is None
    return row


def test_logs_of_fio_with_times_of_day_are_the_span_of_their_run(tmp_path):
    write_readings(tmp_path, WATTS)
    zero = round(BEGIN.timestamp())
    (tmp_path / "vm_iops.1.log").write_text("".join(f"{1000 * (zero + at)}, 500, 0, 0\n" for at in range(10, 51)))
    row = one(
        tmp_path,
        '[[run]]\nfio = "vm_iops.1.log"\nwindow = { span = "fio" }\npower = { file = "power.csv", sensor = "node" }\n',
    )
    assert (row["start"], row["measured_s"]) == (BEGIN + timedelta(seconds=10), 40.0)
    assert row["energy_joules"] == pytest.approx(joules(WATTS["node"], 10, 50))


COUNTS = {1: (4_000, 2_000_000, 1_000_000), 2: (9_000, 3_500_000, 2_000_000), 3: (2_000, 1_000_000, 1_500_000)}
"""By second: misses, instructions, cycles."""


def test_events_of_intervals_are_summed_once_and_divided_by_their_seconds(tmp_path):
    names = ("dTLB-load-misses", "instructions", "cycles")
    lines = [
        f"{second}.000000000,{count},,{name},1000000,100.00,,"
        for second, counts in COUNTS.items()
        for name, count in zip(names, counts, strict=True)
    ]
    sums = [sum(counts) for counts in zip(*COUNTS.values(), strict=True)]
    # The summary at the end counts all of it again.
    lines += [f"{total},,{name},3000000,100.00,," for name, total in zip(names, sums, strict=True)]
    (tmp_path / "perf.csv").write_text("\n".join(lines) + "\n")
    row = one(tmp_path, '[[run]]\nperf = "perf.csv"\n')
    misses, instructions, cycles = sums
    assert row["tlb_miss_load_per_s"] == row["dtlb_load_misses_per_s"] == pytest.approx(misses / 3)
    assert row["tlb_misses_load"] == misses
    assert row["instructions_per_cycle"] == pytest.approx(instructions / cycles)


LINPACK = {"n 2000": (102.7, 104.73), "n 5000": (136.71,), "n 10000": (154.72,)}
"""GFlop/s of each repetition in linpack-mkl.txt."""


def test_a_test_of_a_benchmark_is_the_mean_of_its_repetitions(tmp_path):
    for test, rates in LINPACK.items():
        text = f'[[run]]\nlinpack = {{ file = "{studies.FORMATS / "linpack-mkl.txt"}", test = "{test}" }}\n'
        row = one(tmp_path, text)
        (value,) = [value for name, value in row.items() if name.endswith("gflop_per_s")]
        assert value == pytest.approx(mean(rates))


POLLS = (
    (18211.40, 2204.00, 3911.20, 4811203.60),
    (17590.00, 1980.60, 4408.00, 4790118.20),
    (21733.80, 2417.20, 3702.40, 4835540.00),
)
"""vmkperf-poll.txt: rates of the four PCPUs."""


@pytest.mark.parametrize("pcpus", [(), (1, 2), (3,)])
def test_a_poll_is_summed_over_its_pcpus_and_averaged_over_time(tmp_path, pcpus):
    chosen = f", pcpus = {list(pcpus)}" if pcpus else ""
    row = one(tmp_path, f'[[run]]\nvmkperf = {{ file = "{studies.FORMATS / "vmkperf-poll.txt"}"{chosen} }}\n')
    sums = [sum(rates[pcpu] for pcpu in pcpus or range(4)) for rates in POLLS]
    assert row["tlb_misses_per_s"] == pytest.approx(mean(sums))


JOBS = {
    # name: (reads, mean of reads in ns, writes, mean of writes in ns, depth, seconds)
    "a.json": {"one": (8_000, 900_000, 2_000, 1_500_000, 16, 10), "two": (4_000, 300_000, 0, 0, 8, 10)},
    "b.json": {"three": (1_000, 5_000_000, 3_000, 200_000, 4, 10)},
}


def write_jobs(folder, sizes=(4096, 4096, 4096)):
    left = iter(sizes)
    for name, jobs in JOBS.items():
        made = []
        for job, (reads, read_ns, writes, write_ns, depth, seconds) in jobs.items():
            size = next(left)
            options = {"name": job, "rw": "randrw", "bs": str(size), "iodepth": str(depth)}
            ways = {
                "read": fio_outputs.direction(reads, msec=1000 * seconds, mean=read_ns, size=size),
                "write": fio_outputs.direction(writes, msec=1000 * seconds, mean=write_ns, size=size),
            }
            begun = {"job_start": 1000 * round(BEGIN.timestamp())}
            made.append(fio_outputs.job(job, options=options, **ways) | begun)
        stamp = round(BEGIN.timestamp()) + 10
        (folder / name).write_text(fio_outputs.document(*made, timestamp=stamp, timestamp_ms=1000 * stamp))


def weighted(pairs):
    return sum(weight * value for weight, value in pairs) / sum(weight for weight, _ in pairs)


def test_jobs_that_ran_together_are_added_up_and_their_latencies_weighted_by_rate(tmp_path):
    write_jobs(tmp_path)
    row = one(tmp_path, '[[run]]\nfio = ["a.json", "b.json"]\n')
    jobs = [job for of in JOBS.values() for job in of.values()]
    reads, writes = sum(job[0] for job in jobs) / 10, sum(job[2] for job in jobs) / 10
    assert (row["read_iops"], row["write_iops"], row["iops"]) == pytest.approx((reads, writes, reads + writes))
    assert (row["read_mb_per_s"], row["mb_per_s"]) == pytest.approx((reads * 0.004096, (reads + writes) * 0.004096))
    # fio's `lat` is a tenth above `clat` in these files.
    read_ms = weighted([(job[0], 1.1e-6 * job[1]) for job in jobs])
    write_ms = weighted([(job[2], 1.1e-6 * job[3]) for job in jobs if job[2]])
    assert (row["read_latency_mean_ms"], row["write_latency_mean_ms"]) == pytest.approx((read_ms, write_ms), rel=1e-4)
    assert row["latency_mean_ms"] == pytest.approx(weighted([(reads, read_ms), (writes, write_ms)]), rel=1e-4)
    assert row["latency_max_ms"] == pytest.approx(9 * 5.5, rel=1e-4)
    assert row["outstanding"] == 16 + 8 + 4
    assert row["outstanding_by_law"] == pytest.approx((reads + writes) * row["latency_mean_ms"] / 1000)
    assert row["median_read_latency_ms"] == pytest.approx(1.1 * 0.9, rel=1e-4)
    assert row["block_size_bytes"] == 4096
    assert row["io_errors"] == 0
    # Percentiles of several jobs are of none of them; those of one job are its own.
    assert (row["read_p95_ms"], row["write_p99_ms"]) == (None, None)
    alone = one(tmp_path, '[[run]]\nfio = "b.json"\n')
    assert alone["read_p95_ms"] == pytest.approx(5.0 * 95 / 50, rel=1e-3)
    assert alone["write_p99_ms"] == pytest.approx(0.2 * 99 / 50, rel=1e-3)


def test_jobs_of_several_block_sizes_have_none_in_common(tmp_path):
    write_jobs(tmp_path, (4096, 8192, 4096))
    assert one(tmp_path, '[[run]]\nfio = ["a.json", "b.json"]\n')["block_size_bytes"] is None


def test_watts_of_the_manifest_are_said_to_be_its_whatever_else_was_measured(tmp_path):
    write_jobs(tmp_path)
    measured = one(tmp_path, '[[run]]\nfio = "b.json"\nvalues = { watts = 250.0 }\n')
    assert (measured["watts_from"], measured["throughput_from"]) == ("manifest", "fio")
    given = one(tmp_path, "[[run]]\nvalues = { watts = 250.0 }\n")
    assert (given["watts_from"], given.get("throughput_from")) == ("manifest", None)
    write_readings(tmp_path, WATTS)
    metered = one(tmp_path, '[[run]]\npower = { file = "power.csv", sensor = "node" }\n')
    assert (metered["watts_from"], metered.get("throughput_from")) == ("power_csv", None)


def test_of_readings_without_times_the_first_of_the_host_is_its_power(tmp_path):
    document = json.loads((studies.FORMATS / "redfish-ilo5-power.json").read_text())
    (control,) = document["PowerControl"]
    document["PowerControl"] += [{**control, "MemberId": "1", "PowerConsumedWatts": 111}]
    (tmp_path / "power.json").write_text(json.dumps(document))
    row = one(tmp_path, '[[run]]\npower = "power.json"\n')
    assert (row["watts"], row["energy_joules"]) == (308.0, None)
