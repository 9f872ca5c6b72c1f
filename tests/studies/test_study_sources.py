"""`runs`: the columns of files beside the capture: load generators, meters, hardware events, disks, benchmarks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import polars as pl
import pytest
import studies

import esxparse as ex
import esxparse_simulator as simulate
from esxparse.errors import EsxparseError
from esxparse.metrics import energy, workload


def test_fio_of_several_vms_is_added_up(tmp_path):
    for number, ios in enumerate((20_000, 40_000)):
        studies.write_fio(tmp_path / f"vm-{number}.json", ios, mean=100_000 * (number + 1))
    (row,) = studies.rows(studies.computed(tmp_path, '[[run]]\nfio = ["vm-*.json"]\n'))
    jobs = [ex.open(tmp_path / f"vm-{number}.json") for number in (0, 1)]
    tests = pl.concat([workload.results(rec.format, rec.tables) for rec in jobs]).collect()
    reads = tests.filter(pl.col("direction") == "read")
    assert row["read_iops"] == reads["iops"].sum() == 30_000
    assert row["iops"] == tests["iops"].sum() == 45_000
    assert row["mb_per_s"] == pytest.approx(tests["bandwidth_bytes_per_s"].sum() / 1e6)
    assert row["read_latency_mean_ms"] == pytest.approx(
        (reads["latency_mean_ms"] * reads["iops"]).sum() / reads["iops"].sum()
    )
    assert row["median_read_latency_ms"] == pytest.approx(reads["latency_mean_ms"].mean())
    assert row["read_p99_ms"] is None
    assert row["outstanding_by_law"] == pytest.approx(row["iops"] * row["latency_mean_ms"] / 1000)


def test_histograms_without_results_are_a_gap(tmp_path):
    text = f'[[run]]\nfio = "{studies.FORMATS / "fio-mixed_clat_hist.1.log"}"\n'
    (row,) = studies.rows(studies.computed(tmp_path, text))
    assert "has no results (only latency_bins" in row["gap"]


def test_power_is_the_meter_s_where_there_is_one(tmp_path):
    studies.write_capture(tmp_path / "c.csv", start=datetime(2026, 3, 2, 8, 0, tzinfo=UTC), samples=31)
    meter = studies.FORMATS / "power-pdu-export.csv"
    text = f'[[run]]\nesxtop = "c.csv"\npower = {{ file = "{meter}", sensor = "A1" }}\n'
    text += f'[[run]]\nesxtop = "c.csv"\n[[run]]\npower = {{ file = "{meter}", sensor = "A1" }}\n'
    found = studies.computed(tmp_path, text)
    with_meter, without, alone = studies.rows(found)
    readings = ex.open(meter)["power"].filter(pl.col("sensor") == "A1")
    assert with_meter["watts_from"] == "power_csv"
    whole = energy.energy(readings).collect().head(1)
    assert with_meter["energy_joules"] == pytest.approx(whole["energy_joules"].item(), rel=1e-3)
    assert with_meter["watts"] == pytest.approx(with_meter["energy_joules"] / 300, rel=1e-6)
    assert with_meter["joules_per_io"] == pytest.approx(with_meter["watts"] / with_meter["iops"])
    assert without["watts_from"] == "esxtop"
    assert alone["watts"] == pytest.approx(whole["watts_mean"].item())


def test_of_a_meter_with_several_outlets_one_is_taken_and_the_others_are_named(tmp_path):
    studies.write_capture(tmp_path / "c.csv", start=datetime(2026, 3, 2, 8, 0, tzinfo=UTC), samples=31)
    text = f'[[run]]\nesxtop = "c.csv"\npower = "{studies.FORMATS / "power-pdu-export.csv"}"\n'
    found = studies.computed(tmp_path, text)
    assert any(
        "power is from 'A1'; to use another, set sensor = ... for that file: A2" in str(one) for one in found.notes
    )
    assert studies.rows(found)[0]["watts_from"] == "power_csv"


def test_power_that_shares_no_time_with_the_capture_is_a_gap(tmp_path):
    studies.write_capture(tmp_path / "c.csv")
    text = (
        f'[[run]]\nesxtop = "c.csv"\npower = {{ file = "{studies.FORMATS / "power-pdu-export.csv"}", sensor = "A1" }}\n'
    )
    (row,) = studies.rows(studies.computed(tmp_path, text))
    assert "do not overlap in time" in row["gap"]
    assert row["watts_from"] == "esxtop"


def test_events_disks_and_benchmarks_have_their_columns(tmp_path):
    text = (
        f'[[run]]\nmode = "nested"\nperf = "{studies.FORMATS / "perf-plain.txt"}"\n'
        f'vscsistats = "{studies.FORMATS / "vscsistats-web.csv"}"\nstream = "{studies.FORMATS / "stream-runs.txt"}"\n'
        f'[[run]]\nmode = "polled"\nvmkperf = "{studies.FORMATS / "vmkperf-poll.txt"}"\n'
        f'benchmark = {{ file = "{studies.FORMATS / "redis-report.txt"}", test = "GET" }}\n'
    )
    found = studies.computed(tmp_path, text)
    nested, polled = studies.rows(found)
    assert nested["gap"] is None
    assert polled["gap"] is None
    assert nested["elapsed_s"] > 0
    assert polled["tlb_misses_per_s"] == polled["tlb_miss_load_per_s"] > 0
    assert 0 <= nested["vscsi_read_pct"] <= 100
    triad = [name for name in nested if name.startswith("stream_triad") and name.endswith("mb_per_s")]
    assert triad
    assert nested[triad[0]] > 0
    assert polled["redis_benchmark_get_throughput_requests_per_s"] > 0
    assert not [name for name in polled if name.startswith("redis_benchmark_set")]
    results = found.results.collect()
    assert {"run", "mode", "repetition", "benchmark", "value", "unit"} <= set(results.columns)
    assert set(results["mode"]) == {"nested", "polled"}


def test_polls_of_vmkperf_may_be_of_the_pcpus_a_vm_is_pinned_to(tmp_path):
    polls = studies.FORMATS / "vmkperf-poll.txt"
    text = "".join(
        f'[[run]]\nof = "{name}"\nvmkperf = {{ file = "{polls}"{option} }}\n'
        for name, option in (("all", ""), ("one", ", pcpus = 0"), ("two", ", pcpus = [0, 1]"), ("none", ", pcpus = 99"))
    )
    rows = {row["of"]: row for row in studies.rows(studies.computed(tmp_path, text))}
    means = ex.open(polls)["events"].group_by("pcpu").agg(pl.col("rate_per_s").mean()).collect()
    by_pcpu = dict(means.iter_rows())
    assert rows["one"]["tlb_misses_per_s"] == pytest.approx(by_pcpu[0])
    assert rows["two"]["tlb_misses_per_s"] == pytest.approx(by_pcpu[0] + by_pcpu[1])
    assert rows["all"]["tlb_misses_per_s"] == pytest.approx(sum(by_pcpu.values()))
    assert "has no PCPU 99" in rows["none"]["gap"]


@pytest.mark.parametrize(("release", "nodes", "doubted"), [("5.1", 2, False), ("6.0", 2, False), ("4.1", 1, True)])
def test_the_manifest_knows_the_release_better_than_a_capture_tells_it(tmp_path, release, nodes, doubted):
    capture = tmp_path / "c.csv"
    simulate.write_esxtop(
        capture, simulate.capture(replace(simulate.load_scenario("healthy-web"), samples=3)), release="5.5"
    )
    (tmp_path / "vm.vmx").write_text(
        '.encoding = "UTF-8"\nvirtualHW.version = "8"\nnumvcpus = "12"\nmemSize = "1024"\n', encoding="utf-8"
    )
    text = f'[host]\nrelease = "{release}"\ncores = 12\nnuma_nodes = 2\n[[run]]\nesxtop = "c.csv"\nvmx = "vm.vmx"\n'
    found = studies.computed(tmp_path, text)
    (row,) = studies.rows(found)
    assert row["esxi_release"] == release
    assert row["vmx_vnuma_nodes"] == nodes
    said = [str(note) for note in found.notes if "esxi_release is 6.0 or 5.x by esxtop and 4.1" in str(note)]
    assert bool(said) is doubted


@pytest.mark.parametrize("release", ["5.0", '"newest"'])
def test_a_release_without_a_number_or_as_one_is_refused(tmp_path, release):
    with pytest.raises(EsxparseError, match=r"toml:2: release is .*; write a release such as"):
        studies.computed(tmp_path, f'[host]\nrelease = {release}\n[[run]]\nesxtop = "c.csv"\n')


def test_a_host_that_did_no_io_is_no_gap_where_nobody_asked_for_any(tmp_path):
    text = f"[[run]]\nesxtop = '{ex.datasets_dir() / 'busy-host' / 'busy-host.csv'}'\n"
    (row,) = studies.rows(studies.computed(tmp_path, text))
    assert (row["throughput_from"], row["gap"]) == ("esxtop", None)
    quiet = {"read_iops": 0.0, "write_iops": 0.0}
    studies.write_capture(tmp_path / "q.csv", **quiet)
    (row,) = studies.rows(studies.computed(tmp_path, '[[run]]\nesxtop = "q.csv"\n'))
    assert row["gap"] is None


def test_one_reading_is_power_and_no_energy(tmp_path):
    (tmp_path / "p.txt").write_text("\n".join((studies.FORMATS / "ipmi-dcmi-loop.txt").read_text().splitlines()[:9]))
    found = ex.open(tmp_path / "p.txt")["power"].collect()
    (row,) = studies.rows(studies.computed(tmp_path, '[[run]]\npower = "p.txt"\n'))
    assert row["watts"] == found["watts"].mean()
    assert (row["energy_joules"] is None) == (found.height < 2)


@pytest.mark.parametrize(
    ("role", "name", "column"),
    [
        ("hpcc", "hpcc-hpccoutf.txt", "hpcc_starstream_triad_bandwidth_gb_per_s"),
        ("ioping", "ioping-batch.txt", "ioping_{}_latency_mean_ms"),
        ("elbencho", "elbencho-results.csv", "elbencho_write_throughput_mib_per_s"),
        ("ntttcp", "ntttcp-windows.txt", "ntttcp_send_throughput_mbit_per_s"),
        ("vdbench", "vdbench-summary.html", "vdbench_rd1_4k_{}_iops_1_per_s"),
        ("hcibench", "hcibench-fio-res.txt", "hcibench_job0_latency_read_ms"),
        ("benchmark", "hcibench-fio-res.txt", "hcibench_job0_latency_read_ms"),
    ],
)
def test_every_benchmark_has_its_columns(tmp_path, role, name, column):
    (row,) = studies.rows(studies.computed(tmp_path, f'[[run]]\n{role} = "{studies.FORMATS / name}"\n'))
    begin, _, end = column.partition("{}")
    assert [value for name, value in row.items() if name.startswith(begin) and name.endswith(end) and value]
    assert row["gap"] is None


def test_the_share_of_reads_is_that_of_the_printed_counts(tmp_path):
    path = studies.FORMATS / "vscsistats-web.csv"
    counts = {"Read": 0, "Write": 0}
    for block in path.read_text().split("Histogram: ")[1:]:
        for way in counts:
            if block.startswith(f"IO lengths of {way} commands"):
                counts[way] += int(block.partition("count,")[2].splitlines()[0])
    (row,) = studies.rows(studies.computed(tmp_path, f'[[run]]\nvscsistats = "{path}"\n'))
    assert row["vscsi_read_pct"] == pytest.approx(100 * counts["Read"] / sum(counts.values()))
    assert 0 < row["vscsi_read_pct"] < 100
