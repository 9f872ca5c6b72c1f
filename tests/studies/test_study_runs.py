"""`runs`: the numbers of each run against those of its files, and the gaps of runs that lack something."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import compose
import fio_outputs
import polars as pl
import pytest
import studies

import esxparse as ex
from esxparse.formats.esxtop.slice import slice_capture
from esxparse.metrics import cpu_cost, host_cpu, inventory, scheduling, storage

BUSY = ex.datasets_dir() / "busy-host" / "busy-host.csv"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A sweep of two VM counts, twice each, with and without a filter that costs CPU."""
    path = tmp_path_factory.mktemp("sweep")
    for name, cpu in (("default", 20.0), ("null", 30.0)):
        for vms in (1, 2):
            for again in (1, 2):
                seed = again + 10 * vms
                studies.write_capture(path / f"{name}-{vms}vm-r{again}.csv", vms=vms, seed=seed, cpu=cpu)
    return path


SWEEP = """
title = "Filter against default"
axis = "vms"
baseline = { filter = "default" }
[window]
warmup = "1m"
measure = "2m"
[host]
cores = 8
[[run]]
esxtop = "{filter}-{vms}vm-r{repetition}.csv"
"""
ONCE = SWEEP.replace("r{repetition}", "r1")
"""Each run once, where repetitions tell nothing more."""


@pytest.fixture(scope="module")
def sweep(folder):
    return studies.computed(folder, SWEEP)


def measured(file, start_s=60, end_s=180):
    rec = ex.open(file)
    time = pl.col("time")
    first = rec.meta["start"]
    inside = (time > first + timedelta(seconds=start_s)) & (time <= first + timedelta(seconds=end_s))
    return rec, {name: table.filter(inside) for name, table in rec.tables.items()}


@pytest.mark.search
def test_a_sweep_is_one_line_and_one_row_per_run(sweep):
    found = studies.rows(sweep)
    assert [(row["filter"], row["vms"], row["repetition"], row["is_baseline"]) for row in found] == [
        (name, vms, again, name == "default") for name in ("default", "null") for vms in (1, 2) for again in (1, 2)
    ]
    assert {row["samples"] for row in found} == {12}
    assert {row["measured_s"] for row in found} == {120.0}
    assert {row["gap"] for row in found} == {None}
    assert [row["vms_running"] for row in found] == [1, 1, 2, 2] * 2
    assert studies.warnings(sweep) == []


def test_each_number_is_that_of_the_metric_on_the_measured_span(folder, sweep):
    row = studies.rows(sweep)[3]
    rec, tables = measured(folder / "default-2vm-r2.csv")
    use = host_cpu.pcpu(tables["physical_cpu"].filter(pl.col("pcpu").is_null())).collect()
    assert row["host_used_pct"] == pytest.approx(use["used_pct"].mean())
    assert row["host_util_pct"] == pytest.approx(use["util_pct"].mean())
    vms = inventory.vms(rec["vcpu"])
    run = scheduling.per_vcpu(tables["group_cpu"], vms, tables["vcpu"]).collect()
    # Every vCPU of every VM counts once in each of the 12 samples.
    each = scheduling.each_vcpu(tables["vcpu"]).collect()
    assert each.height == 12 * vms.collect()["vcpus"].sum()
    assert row["ready_pct"] == pytest.approx(each["ready_pct"].mean())
    assert row["overlap_pct"] == pytest.approx(each["overlap_pct"].mean())
    assert each["overlap_pct"].mean() > 0
    assert row["ready_from"] == "vCPU worlds" == run["ready_from"].unique().item()
    latency = pl.concat(
        [storage.latency(tables[name]) for name in ("physical_disk_scsi_device", "physical_disk_nfs_volume")]
    ).collect()
    assert row["host_iops"] == pytest.approx(latency["iops"].sum() / 12)
    assert row["gavg_ms"] == pytest.approx((latency["gavg_ms"] * latency["iops"]).sum() / latency["iops"].sum())
    mb = (latency["read_mib_per_s"] + latency["write_mib_per_s"]).sum() / 12 * 1.048576
    assert row["mb_per_s"] == pytest.approx(mb)
    assert row["throughput_from"] == "esxtop"
    assert (row["cpus"], row["mhz"], row["cores"]) == (16, 2600.0, 8)
    assert row["used_mhz_per_mbps"] == pytest.approx(
        cpu_cost.mhz_per_mbps(row["host_used_pct"], 16, 2600, row["mb_per_s"])
    )
    assert row["vcpus_per_core"] == row["vcpus_running"] / 8


def test_the_comparison_has_repetitions_and_its_own_baseline_at_each_point(sweep):
    found = sweep.compare("host_used_pct").collect()
    assert found.select("filter", "vms", "runs", "baseline_runs").rows() == [
        ("default", 1, 2, 2),
        ("default", 2, 2, 2),
        ("null", 1, 2, 2),
        ("null", 2, 2, 2),
    ]
    assert found["ratio"][:2].to_list() == pytest.approx([1.0, 1.0])
    assert all(ratio > 1.1 for ratio in found["ratio"][2:])


@pytest.mark.search
def test_a_run_that_lacks_something_is_a_gap_and_the_others_are_computed(folder):
    text = ONCE + '[[run]]\nfilter = "gone"\nvms = 1\nesxtop = "gone.csv"\n[[run]]\nfilter = "late"\nvms = 1\n'
    text += 'esxtop = "default-1vm-r1.csv"\nwindow = { warmup = "4m" }\n'
    text += '[[run]]\nfilter = "odd"\nvms = 1\nesxtop = "study.toml"\n'
    text += '[[run]]\nfilter = "outside"\nvms = 1\nesxtop = "null-1vm-r1.csv"\nwindow = { end = 2027-01-01 }\n'
    found = studies.computed(folder, text)
    rows = studies.rows(found)
    assert [row["host_used_pct"] is None for row in rows] == [False] * 4 + [True] * 4
    gaps = [row["gap"] for row in rows[4:]]
    assert "there is no file gone.csv" in gaps[0]
    assert "the recording is 300 s long, too short for 240 s of warm-up and 120 s measured" in gaps[1]
    assert "study.toml is not in a format esxparse reads" in gaps[2]
    assert "the window (2026-03-02T08:30:00 to 2027-01-01T00:00:00) is not within the capture" in gaps[3]
    lines = [warning.split(":")[0] for warning in studies.warnings(found)]
    assert lines == ["line 15", "line 16", "line 21", "line 25"]


@pytest.mark.search
def test_the_span_of_iometer_is_found_on_the_clock_of_the_capture(tmp_path):
    studies.write_capture(tmp_path / "c.csv", samples=91)
    text = (
        '[window]\nspan = "iometer"\n[host]\ncores = 8\nload_hosts = 1\n[[run]]\n'
        'test_number = [1, 2, 3, 4]\nesxtop = "c.csv"\n'
        f'iometer = {{ file = "{studies.FORMATS / "iometer-1.1.0.csv"}", test = NUMBER }}\n'
    )
    found = studies.computed(tmp_path, text.replace("NUMBER", "2").replace("[1, 2, 3, 4]", "2"))
    (row,) = studies.rows(found)
    assert row["end"] == datetime(2026, 3, 2, 8, 39, 56, 7000, tzinfo=UTC)
    assert row["measured_s"] == 120.0
    assert row["samples"] == 12
    assert row["iops"] == pytest.approx(11904.761905)
    assert row["read_mb_per_s"] == pytest.approx(48.761905)
    assert row["median_read_latency_ms"] == pytest.approx((2.688 + 2.76864) / 2)
    assert row["throughput_from"] == "iometer"
    assert row["used_mhz_per_mbps"] == pytest.approx(row["used_mhz"] / row["mb_per_s"])


def test_each_test_of_a_result_file_is_a_run(tmp_path):
    text = (
        '[[run]]\nspec = ["4K; 100% Read; 100% random", "64K; 70% Read; 100% random", "none"]\n'
        f'iometer = {{ file = "{studies.FORMATS / "iometer-1.1.0.csv"}", test = "{{spec}}" }}\n[[run]]\nspec = "all"\n'
        f'iometer = "{studies.FORMATS / "iometer-1.1.0.csv"}"\n'
    )
    rows = studies.rows(studies.computed(tmp_path, text))
    assert "holds several tests of the name '4K; 100% Read; 100% random': choose one with test" in rows[0]["gap"]
    assert "has no test 'none'" in rows[2]["gap"]
    assert "it has 1 '4K; 100% Read; 100% random', 2 " in rows[3]["gap"]


def test_jobs_that_ran_one_after_another_are_not_added_up(tmp_path):
    one, two = ("a", 0, 0, 30, 900, 1), ("b", 0, 40, 30, 700, 1)
    (tmp_path / "late.json").write_text(fio_outputs.timed(one, two))
    (tmp_path / "one.json").write_text(fio_outputs.timed(one))
    (tmp_path / "two.json").write_text(fio_outputs.timed(two))
    (tmp_path / "beside.json").write_text(fio_outputs.timed(("a", 0, 5, 30, 500, 1)))
    text = (
        '[[run]]\nfio = "late.json"\n[[run]]\nfio = {file = "late.json", test = "b"}\n'
        '[[run]]\nfio = ["one.json", "two.json"]\n[[run]]\nfio = ["one.json", "beside.json"]\n'
    )
    rows = studies.rows(studies.computed(tmp_path, text))
    assert [row["iops"] for row in rows] == [None, 700.0, None, 1400.0]
    assert "did not all run at the same time: choose one with test = its name" in rows[0]["gap"]
    assert "before " in rows[2]["gap"]
    assert "give each file its own run" in rows[2]["gap"]


@pytest.mark.search
def test_a_clock_in_local_time_is_noticed_and_put_right_when_asked(tmp_path):
    studies.write_capture(tmp_path / "c.csv", samples=31, interval=30, start=studies.START - timedelta(hours=2))
    text = (
        '[window]\nspan = "iometer"\n[host]\nload_hosts = 1\n[[run]]\nesxtop = "c.csv"\n'
        f'iometer = {{ file = "{studies.FORMATS / "iometer-1.1.0.csv"}", test = 1 CLOCK }}\n'
    )
    (row,) = studies.rows(studies.computed(tmp_path, text.replace("CLOCK", "")))
    assert "is not within the capture" in row["gap"]
    assert "it would be with clock = '-120m' for that file" in row["gap"]
    assert row["iops"] == pytest.approx(4761.904762)
    (row,) = studies.rows(studies.computed(tmp_path, text.replace("CLOCK", ', clock = "-120m"')))
    assert row["gap"] is None
    assert row["end"] == datetime(2026, 3, 2, 6, 37, 56, 7000, tzinfo=UTC)


@pytest.mark.search
def test_the_span_of_fio_is_taken_from_what_it_wrote(tmp_path):
    end = datetime(2026, 3, 7, 8, 40, 0, 250_000, tzinfo=UTC)
    studies.write_fio(tmp_path / "f.json", msec=120_000)
    stamp = json.loads((tmp_path / "f.json").read_text()) | {"timestamp_ms": int(end.timestamp() * 1000)}
    (tmp_path / "f.json").write_text(json.dumps(stamp))
    studies.write_capture(tmp_path / "c.csv", start=end - timedelta(minutes=4))
    text = '[window]\nspan = "fio"\n[[run]]\nesxtop = "c.csv"\nfio = "f.json"\n'
    (row,) = studies.rows(studies.computed(tmp_path, text))
    assert (row["start"], row["end"]) == (end - timedelta(seconds=120), end)
    assert row["samples"] == 12
    (row,) = studies.rows(studies.computed(tmp_path, text.replace('fio = "f.json"\n', "")))
    assert row["gap"] == "the window is the span of fio, but the run has no fio file"


def test_no_throughput_is_a_gap_and_no_infinite_cost(tmp_path):
    studies.write_capture(tmp_path / "c.csv", start=datetime(2026, 3, 7, 7, 58, tzinfo=UTC))
    studies.write_fio(tmp_path / "f.json", ios=0)
    found = studies.computed(tmp_path, '[[run]]\nesxtop = "c.csv"\nfio = "f.json"\n')
    (row,) = studies.rows(found)
    assert row["iops"] == 0
    assert row["used_mhz_per_mbps"] is None
    assert row["joules_per_io"] is None
    assert row["host_used_pct"] > 0
    assert "zero throughput" in row["gap"]


def test_two_load_generators_are_one_too_many(tmp_path):
    studies.write_fio(tmp_path / "f.json")
    text = f'[[run]]\nfio = "f.json"\niometer = "{studies.FORMATS / "iometer-2006.csv"}"\n'
    (row,) = studies.rows(studies.computed(tmp_path, text))
    assert "it has results of fio and iometer" in row["gap"]


def test_a_file_under_the_wrong_key_is_told_its_right_one(tmp_path):
    text = f'[[run]]\nfio = "{studies.FORMATS / "iometer-2006.csv"}"\n'
    (row,) = studies.rows(studies.computed(tmp_path, text))
    assert row["gap"].endswith("is a recording of iometer: name it as iometer = ...")


@pytest.mark.search
def test_facts_that_disagree_are_said_once(folder):
    text = ONCE.replace("cores = 8", "cores = 8\ncpus = 8\nmhz = 2610")
    found = studies.computed(folder, text)
    assert {row["cpus"] for row in studies.rows(found)} == {16}
    assert studies.warnings(found) == ["cpus is 16 by esxtop and 8 by the manifest: 16 is used (run 1, 2, 3, 4)"]


@pytest.mark.search
def test_facts_come_from_a_file_on_the_hardware(folder):
    text = ONCE.replace("cores = 8", "") + f'hardware = "{studies.FORMATS / "lscpu-host.txt"}"\n'
    found = studies.computed(folder, text)
    row = studies.rows(found)[0]
    assert (row["sockets"], row["cores"], row["mhz"], row["cpus"]) == (2, 20, 2400.0, 16)
    assert [warning.split(" (run")[0] for warning in studies.warnings(found)] == [
        "cpus is 16 by esxtop and 40 by hardware: 16 is used",
        "mhz is 2400 by hardware and 2600 by the P-states in esxtop: 2400 is used",
    ]


@pytest.mark.search
def test_a_host_whose_frequency_nobody_tells_has_no_cost(tmp_path):
    lines = BUSY.read_text().splitlines()
    (tmp_path / "c.csv").write_text("\n".join([lines[0].replace("P-State MHZ", "Other"), *lines[1:20]]) + "\n")
    found = studies.computed(tmp_path, '[[run]]\nesxtop = "c.csv"\n')
    (row,) = studies.rows(found)
    assert row["mhz"] is None
    assert row["used_mhz_per_mbps"] is None
    assert studies.warnings(found) == ["the host's CPU frequency is not known: no CPU cost; give it in [host]"]


@pytest.mark.search
@pytest.mark.parametrize(
    ("baseline", "message"),
    [
        ('{ filter = "off" }', "no run matches the baseline filter=off: filter is 'default', 'null'"),
        ("{ vms = 1 }", "the baseline vms=1 is not unique: filter is 'default', 'null'; specify it in baseline"),
        ("{ filter = 1 }", "no run matches the baseline filter=1"),
    ],
)
def test_a_baseline_that_is_not_there_or_not_unique_is_named_and_the_runs_are_computed(folder, baseline, message):
    text = ONCE.replace('{ filter = "default" }', baseline).replace("measure", "#")
    found = studies.computed(folder, text)
    assert any(warning.startswith(f"line 4: {message}") for warning in studies.warnings(found))
    assert all(row["host_used_pct"] > 0 for row in studies.rows(found))
    with pytest.raises(ex.EsxparseError):
        found.compare("host_used_pct").collect()


def test_figures_by_hand_fill_what_no_file_tells(tmp_path):
    text = (
        'axis = []\nbaseline = { protocol = "iscsi" }\n'
        '[[run]]\nprotocol = "iscsi"\n[run.values]\nread_iops = 34255.18\nread_mb_per_s = 2740.80\n'
        '[[run]]\nprotocol = "iser"\n[run.values]\nread_iops = 71108.85\nread_mib_per_s = 3935.4\n'
    )
    found = studies.computed(tmp_path, text)
    ratios = found.compare("read_iops").collect()["ratio"].to_list()
    assert round(ratios[1] * 100, 2) == 207.59
    (warning,) = studies.warnings(found)
    assert warning.startswith("unit mismatch: read_mb_per_s and read_mib_per_s are one figure in several units")
    studies.write_fio(tmp_path / "f.json")
    found = studies.computed(tmp_path, '[[run]]\nfio = "f.json"\nvalues = { read_iops = 5, users = 3 }\n')
    (row,) = studies.rows(found)
    assert (row["read_iops"], row["users"]) == (10_000, 3)
    assert "read_iops is 10000 by its files and 5 by the manifest: 10000 is used" in str(found.notes)


def test_labels_of_two_types_become_text(tmp_path):
    text = '[[run]]\nsize = [4, 8]\nvalues = { users = 3 }\n[[run]]\nsize = "64k"\nvalues = { users = 4 }\n'
    found = studies.computed(tmp_path, text)
    assert [row["size"] for row in studies.rows(found)] == ["4", "8", "64k"]
    assert "the label size is 8 (line 1) and '64k' (line 4): it is kept as text" in studies.warnings(found)[0]


@pytest.mark.search
def test_the_idle_host_is_subtracted(folder):
    text = ONCE + 'idle = "default-1vm-r1.csv"\n'
    row = studies.rows(studies.computed(folder, text))[-1]
    above = row["host_used_pct"] - row["idle_used_pct"]
    assert row["used_above_idle_mhz_per_mbps"] == pytest.approx(above / 100 * 16 * 2600 / row["mb_per_s"])


def test_a_run_that_drifts_is_told(tmp_path):
    text = f'[[run]]\nesxtop = \'{BUSY}\'\n[run.window]\nwarmup = "1m"\nmeasure = "2m"\n'
    found = studies.computed(tmp_path, text)
    (row,) = studies.rows(found)
    assert row["steady"] == "drifts down"
    assert -20 < row["drift_pct"] < -15
    assert row["gap"] is None
    told = f"not shown to be steady: host_iops: drifts down ({row['drift_pct']:+.1f} % over the span)"
    assert any(told in str(n) for n in found.notes)


def test_a_slice_without_the_host_s_own_row_gives_the_mean_of_its_pcpus(tmp_path):
    rec = ex.open(studies.write_capture(tmp_path / "c.csv"))
    slice_capture(tmp_path / "c.csv", tmp_path / "s.csv", instances=[r"^\d+$"], tables=["physical_cpu"])
    (row,) = studies.rows(studies.computed(tmp_path, '[[run]]\nesxtop = "s.csv"\n'))
    total = rec["physical_cpu"].filter(pl.col("pcpu").is_null()).collect()
    assert row["host_util_pct"] == pytest.approx(total["pct_util_time"].mean(), abs=0.01)
    assert row["gap"] is None
    assert row["iops"] is None


@pytest.mark.search
def test_no_recording_outlives_its_row(folder, monkeypatch):
    import gc  # noqa: PLC0415
    import weakref  # noqa: PLC0415

    from esxparse.studies import opened  # noqa: PLC0415

    alive: list[weakref.ref] = []
    most = 0

    def watched(*args, **kwargs):
        nonlocal most
        rec = open_recording(*args, **kwargs)
        gc.collect()
        alive.append(weakref.ref(rec))
        most = max(most, sum(one() is not None for one in alive))
        return rec

    # Files from before do not matter here, and take long to look through.
    gc.collect()
    gc.freeze()
    open_recording = opened.open_recording
    monkeypatch.setattr(opened, "open_recording", watched)
    studies.computed(folder, ONCE)
    gc.collect()
    gc.unfreeze()
    assert len(alive) == 4
    assert most <= 2
    assert all(one() is None for one in alive)


def test_jobs_that_ran_together_for_a_while_are_added_up(tmp_path):
    """One began 10 s later and ended 10 s later: they need not have run together all the time."""
    (tmp_path / "both.json").write_text(fio_outputs.timed(("a", 0, 0, 30, 900, 1), ("b", 0, 10, 30, 700, 1)))
    (row,) = studies.rows(studies.computed(tmp_path, '[[run]]\nfio = "both.json"\n'))
    assert (row["iops"], row["gap"]) == (1600.0, None)


def test_whose_waits_they_are_is_told_of_all_vms(tmp_path):
    """One VM has ready time of its vCPU, one of its group alone."""
    columns = {
        ("Vcpu", "7:db:70:vmx-vcpu-0:db", "% Ready"): ["4", "6", "8"],
        ("Vcpu", "9:old:90:vmx-vcpu-0:old", "% Ready"): ["", "", ""],
        ("Vcpu", "9:old:90:vmx-vcpu-0:old", "% Used"): ["20", "20", "20"],
        ("Group Cpu", "7:db", "% Ready"): ["5", "7", "9"],
        ("Group Cpu", "9:old", "% Ready"): ["10", "20", "30"],
    }
    path = tmp_path / "two.csv"
    names = [(f"{kind}({instance})", counter) for kind, instance, counter in columns]
    path.write_text(compose.text(names, [list(row) for row in zip(*columns.values(), strict=True)]))
    (row,) = studies.rows(studies.computed(tmp_path, '[[run]]\nesxtop = "two.csv"\n'))
    assert row["ready_from"] == "vCPU worlds and group"
    assert row["worst_vm_ready_pct"] > 10
