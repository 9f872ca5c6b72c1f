"""Means, shares and percentiles over time: what a sample covers, and that everything that forms them goes by it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import cells
import numpy as np
import polars as pl
import pytest
import studies

import esxparse as ex
from esxparse.charts import energy as power_charts
from esxparse.charts import events, findings, power, reduce
from esxparse.derived import vms
from esxparse.derived.capture import Capture
from esxparse.derived.panels import Panel
from esxparse.diagnosis import diagnose, evidence, levels, rules, symptoms
from esxparse.diagnosis.finding import Finding
from esxparse.diagnosis.series import Series
from esxparse.explorer import rows
from esxparse.explorer.panel import PanelRequest, Values, panel
from esxparse.metrics import consolidation, energy, fleet, host_cpu, network, over_time, ranking, steady, storage
from esxparse.reports.hardware_events import gather as hardware_gather
from esxparse.reports.host_health import verdict
from esxparse.reports.power_profile import gather as power_gather
from esxparse.studies import fio_logs
from esxparse.studies.span import Span

ZERO = datetime(2026, 3, 2, 8, tzinfo=UTC)
SLOWER = [*range(0, 300, 5), 595]
"""60 samples of 5 s, whose first has no known interval, and one of 300 s: 595 s are known."""
TEN_THEN_NINETY = [10.0] * 60 + [90.0]
BY_TIME = (59 * 5 * 10 + 300 * 90) / 595


def series(seconds, values):
    """Rows with what each covers."""
    rows = pl.LazyFrame({"time": [ZERO + timedelta(seconds=one) for one in seconds], "value": values})
    return over_time.with_covered(rows)


def mean(seconds, values):
    return series(seconds, values).select(over_time.mean(pl.col("value"))).collect().item()


def test_a_changed_interval_counts_by_its_length():
    assert mean(SLOWER, TEN_THEN_NINETY) == pytest.approx(BY_TIME) == pytest.approx(50.336, abs=0.001)
    rows = series(SLOWER, TEN_THEN_NINETY)
    assert rows.select(over_time.share(pl.col("value") > 50)).collect().item() == pytest.approx(300 / 595)
    assert rows.select(over_time.quantile(pl.col("value"), 0.49)).collect().item() == 10
    assert rows.select(over_time.quantile(pl.col("value"), 0.5)).collect().item() == 90
    covered = over_time.weights(rows.collect()["time"].to_list())
    assert over_time.average(np.array(TEN_THEN_NINETY), covered) == pytest.approx(BY_TIME)
    assert [over_time.percentile(np.array(TEN_THEN_NINETY), one, covered) for one in (0.49, 0.5)] == [10, 90]


@pytest.mark.parametrize(
    "seconds",
    [
        [*range(0, 200, 2)],
        # Stamps are cut to seconds: 2.5 s are 2 or 3.
        [int(2.5 * n) for n in range(100)],
        # A host that is late now and then, by up to a fifth.
        [5 * n + n // 30 for n in range(100)],
        # A row is lost, or many in a row are.
        [*range(0, 250, 5), *range(255, 505, 5)],
        [*range(0, 250, 5), *range(4000, 4250, 5)],
        # Stamps without seconds: several samples have one time.
        [60 * (n // 12) for n in range(100)],
    ],
)
def test_one_interval_with_jitter_or_gaps_is_the_plain_mean_to_the_last_bit(seconds):
    values = [0.1 * n**1.5 for n in range(100)]
    rows = series(seconds, values)
    value = pl.col("value")
    assert rows.collect()["covered_s"].null_count() == 100
    mine, plain = (rows.select(one).collect().item() for one in (over_time.mean(value), value.mean()))
    assert mine == plain
    mine, plain = (
        rows.select(one).collect().item() for one in (over_time.quantile(value, 0.95), value.quantile(0.95, "linear"))
    )
    assert mine == plain
    assert over_time.weights(rows.collect()["time"].to_list()) is None


@pytest.mark.parametrize(
    ("seconds", "covers"),
    [
        ([0, 10, 40], [0, 10, 30]),
        ([0, 300, 305, 310, 315], [0, 300, 5, 5, 5]),
        ([*range(0, 50, 5), *range(105, 405, 60)], [0] + [5] * 9 + [60] * 5),
        # A gap within a capture whose interval changed: the sample after it covers 60 s.
        ([0, 5, 10, 70, 130, 1000, 1060, 1120], [0, 5, 5, 60, 60, 60, 60, 60]),
        ([0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 22], [0] + [1] * 6 + [2] * 8),
    ],
)
def test_what_each_sample_covers(seconds, covers):
    assert series(seconds, [1.0] * len(seconds)).collect()["covered_s"].to_list() == covers


def test_rows_of_one_time_cover_the_same_and_hosts_have_their_own_intervals():
    times = [ZERO + timedelta(seconds=one) for one in SLOWER]
    two = pl.LazyFrame({"time": times * 2, "host": ["a"] * 61 + ["b"] * 61, "value": TEN_THEN_NINETY * 2})
    found = over_time.with_covered(two).group_by("host").agg(over_time.mean(pl.col("value"))).collect()
    assert found["value"].to_list() == [pytest.approx(BY_TIME)] * 2
    even = [ZERO + timedelta(seconds=7 * one) for one in range(61)]
    two = pl.LazyFrame({"time": times + even, "host": ["a"] * 61 + ["b"] * 61, "value": TEN_THEN_NINETY * 2})
    found = over_time.with_covered(two, "host").group_by("host", maintain_order=True)
    means = found.agg(over_time.mean(pl.col("value"))).collect()["value"].to_list()
    assert means == [pytest.approx(BY_TIME), pytest.approx(pl.Series(TEN_THEN_NINETY).mean())]


def test_what_only_the_first_sample_has_is_its_mean_all_the_same():
    values = [7.0, *[None] * 60]
    assert mean(SLOWER, values) == 7
    assert series(SLOWER, values).select(over_time.quantile(pl.col("value"), 0.95)).collect().item() == 7


CPU = "Physical Cpu"
DISK = cells.disk(
    "naa.6",
    iops=[100.0] * 60 + [300.0],
    reads=[100.0] * 60 + [300.0],
    writes=[0.0] * 61,
    gavg=[1.0] * 60 + [4.0],
    gavg_read=[1.0] * 60 + [4.0],
    failed=[0.0] * 61,
)


@pytest.fixture
def path(tmp_path):
    """A capture of a host whose PCPUs, NIC and disk were quiet for 300 s and busy for the next."""
    columns = {(CPU, one, counter): TEN_THEN_NINETY for one in ("0", "_Total") for counter in USE}
    nic = "50331650:12:vmnic0"
    for counter in ("MBits Transmitted/sec", "MBits Received/sec", "Packets Transmitted/sec", "Packets Received/sec"):
        columns["Network Port", f"vSwitch0:{nic}", counter] = TEN_THEN_NINETY
    return cells.capture(tmp_path, columns | DISK, seconds=SLOWER)


USE = ("% Processor Time", "% Util Time", "% Core Util Time")


def test_a_study_goes_by_time(path):
    (row,) = studies.rows(studies.computed(path.parent, '[[run]]\nesxtop = "capture.csv"\n'))
    assert row["host_util_pct"] == pytest.approx(BY_TIME)
    assert row["host_used_pct"] == pytest.approx(BY_TIME)
    assert row["host_util_p95_pct"] == 90
    iops = (59 * 5 * 100 + 300 * 300) / 595
    assert row["host_iops"] == pytest.approx(iops)
    assert row["gavg_ms"] == pytest.approx((59 * 5 * 100 * 1 + 300 * 300 * 4) / 595 / iops)
    assert row["gavg_read_ms"] == pytest.approx(row["gavg_ms"])


def test_summaries_rankings_charts_and_verdicts_go_by_time(path):
    rec = ex.open(path)
    disk = storage.summary(storage.latency(rec["physical_disk_scsi_device"])).collect().row(0, named=True)
    iops = (59 * 5 * 100 + 300 * 300) / 595
    assert disk["mean_iops"] == pytest.approx(iops)
    assert disk["gavg_ms"] == pytest.approx((59 * 5 * 100 * 1 + 300 * 300 * 4) / 595 / iops)
    assert disk["p95_gavg_ms"] == 4
    port = network.summary(network.ports(rec["network_port"])).collect().row(0, named=True)
    assert port["tx_packets"] == pytest.approx(BY_TIME)
    assert rows.top(rec, "% Util Time", order="mean")["mean"].to_list() == [pytest.approx(BY_TIME)]
    use = host_cpu.pcpu(rec["physical_cpu"]).with_columns(label=pl.lit("host"), name=pl.lit("host"))
    ranked, _ = reduce.ranking(use, "name", "util_pct", "hosts")
    assert ranked["mean"].item() == pytest.approx(BY_TIME)
    bucket = reduce.over_time(use, ["util_pct"], buckets=1).frame
    assert bucket["util_pct"].to_list() == [pytest.approx(BY_TIME)]
    limits = rules.load()
    made = diagnose.series_of(rec)
    found = verdict.judge(limits, made).filter(pl.col("over_pct").is_between(1, 99))
    assert found.height
    assert found["over_pct"].to_list() == [pytest.approx(100 * 300 / 595)] * found.height


def vcpu_of_a_lake(seconds, ready):
    """The table `vcpu` of a lake with one world, by seconds since `ZERO`."""
    times = [ZERO + timedelta(seconds=one) for one in seconds]
    return pl.LazyFrame({"time": times, "pct_ready": ready}).with_columns(
        host=pl.lit("esx-01"),
        date=pl.col("time").dt.date(),
        group_id=pl.lit(7),
        group=pl.lit("db"),
        world=pl.lit("vmx-vcpu-0:db"),
    )


def test_the_waits_of_a_fleet_go_by_time():
    worlds = vcpu_of_a_lake(SLOWER, TEN_THEN_NINETY)
    found = fleet.ready(worlds).collect().row(0, named=True)
    assert (found["median_pct"], found["p95_pct"], found["max_pct"]) == (90, 90, 90)
    assert fleet.ready(worlds.drop("time")).collect()["median_pct"].item() == 10
    assert fleet.ready_by_day(worlds).collect()["median_pct"].item() == 90


TIMES = [ZERO + timedelta(seconds=one) for one in SLOWER]


def test_a_part_of_a_capture_keeps_what_its_samples_cover():
    rows = series(SLOWER, TEN_THEN_NINETY)
    late = over_time.with_covered(rows.filter(pl.col("time") >= TIMES[-2]))
    assert late.collect()["covered_s"].to_list() == [5, 300]
    use = rows.filter(pl.col("time") >= TIMES[-3]).with_columns(name=pl.lit("host"))
    (mean_of_three,) = reduce.over_time(use, ["value"], ["name"], buckets=1).frame["value"].to_list()
    assert mean_of_three == pytest.approx((2 * 5 * 10 + 300 * 90) / 310)


def test_the_variability_of_a_ranking_goes_by_time():
    row = ranking.top(series(SLOWER, TEN_THEN_NINETY).with_columns(vm=pl.lit("db")), "vm", "value").collect()
    variance = (295 * (10 - BY_TIME) ** 2 + 300 * (90 - BY_TIME) ** 2) / 595
    assert row["variability"].item() == pytest.approx(variance**0.5 / BY_TIME)


def test_a_check_for_dense_mode_and_the_share_of_checks_go_by_time():
    rows = {"vms": [90] * 61, "vcpus": [160] * 61, "pcpus": [80] * 61, "pcpu_util_pct": TEN_THEN_NINETY}
    load = pl.LazyFrame({"time": TIMES} | rows)
    one = consolidation.dense_mode(load, check_every_s=595).collect()
    assert one["pcpu_util_pct"].to_list() == [pytest.approx(BY_TIME)]
    assert one["eligible"].to_list() == [True]
    checks = pl.LazyFrame({"time": [TIMES[0], TIMES[12], TIMES[24], TIMES[-1]], "eligible": [False] * 3 + [True]})
    found = consolidation.dense_mode_summary(checks.with_columns(switched=pl.lit(None, dtype=pl.String))).collect()
    assert found["eligible_pct"].item() == pytest.approx(100 * (595 - 120) / 595)


def of_vms(**columns):
    """The series of a kind of object, with the intervals of the capture."""
    values = {name: np.array(one, dtype=float).T for name, one in columns.items()}
    objects = next(iter(values.values())).shape[1]
    made = Panel("vm", tuple(f"vm{one}" for one in range(objects)), values)
    return Series({"vm": made}, 61, covered=over_time.weights(TIMES))


def test_spells_of_a_diagnosis_go_by_time():
    made = of_vms(contention_pct=[TEN_THEN_NINETY, [1.0] * 61])
    inside = np.arange(61) >= 40
    # 20 samples of 5 s at 10 %, and 300 s at 90 %.
    mean_inside = (20 * 5 * 10 + 300 * 90) / 400
    assert made.spell("vm", 0, inside, "contention_pct") == pytest.approx(mean_inside)
    assert made.spell("vm", 0, inside, "spell_pct") == pytest.approx(100 * 400 / 595)
    # Outside of the first 40 samples more than half of the time is at 90 %.
    assert made.spell("vm", 0, ~inside, "contention_pct_before") == 90
    assert made.spell("vm", 0, ~inside, "contention_pct_rise") == 10 - 90


def test_the_level_of_an_object_goes_by_time():
    """6 % of contention is a warning, 90 % critical: for half of the time, and in one of 61 samples."""
    limits = {"cpu.ready": rules.load()["cpu.ready"]}
    made = of_vms(contention_pct=[[6.0] * 60 + [90.0], [90.0] * 3 + [1.0] * 58])
    judged = symptoms.values(limits.values(), made)
    first = next(one for one in symptoms.symptoms(limits, made, judged, TIMES) if one["name"] == "vm0")
    assert (first["severity"], first["mean"]) == ("critical", round((295 * 6 + 300 * 90) / 595, 3))
    assert levels.levels(limits, judged, made) == {("vm", "vm0", "CPU"): "critical"}
    low = next(rule for rule in rules.load().values() if rule.direction == "below")
    column = np.array([50.0] * 60 + [1.0])
    assert levels.end(low, column, made.covered) == 1
    assert levels.end(low, column, None) == 50


def test_others_at_fault_are_ranked_by_time():
    made = of_vms(contention_pct=[[30.0] * 60 + [0.0], [0.0] * 60 + [30.0]])
    host = {"kind": "host", "name": "host"}
    finding = Finding("cpu.overcommit", "warning", 0.9, host, TIMES[0], TIMES[-1], "", (), (), (), "", "", (), "")
    matrix = made.matrix("vm", "contention_pct")
    assert evidence._fault(finding, "vm", "", matrix, made, TIMES) == ("vm1", "vm0")


def test_percentiles_of_power_per_work_go_by_time():
    beside = pl.DataFrame({"time": TIMES, "util_pct": [10.0] * 61, "watts": TEN_THEN_NINETY})
    found = power_gather.Gathered((), None, pl.DataFrame(), (), beside, "", "", 0.0)
    row = power_gather.per_unit(found).row(0, named=True)
    assert (row["p5"], row["p95"]) == (1, 9)
    half = beside.with_columns(watts=pl.Series([90.0] * 60 + [10.0]))
    row = power_gather.per_unit(power_gather.Gathered((), None, pl.DataFrame(), (), half, "", "", 0.0)).row(
        0, named=True
    )
    assert (row["p5"], row["p95"]) == (1, 9)


def test_means_of_power_per_work_go_by_time_without_a_meter():
    columns = {"time": TIMES, "interval_s": [None] * 61, "util_pct": [10.0] * 60 + [40.0], "watts": TEN_THEN_NINETY}
    own = pl.DataFrame(columns, schema_overrides={"interval_s": pl.Float64})
    row = power_gather.per_unit(power_gather.Gathered((), None, pl.DataFrame(), (), own, "", "", 0.0))
    assert row["watts"].item() == pytest.approx(BY_TIME)
    assert row["work_mean"].item() == pytest.approx((295 * 10 + 300 * 40) / 595)


def test_words_and_bands_of_a_finding_go_by_time():
    table = pl.DataFrame({"time": TIMES, "name": ["db"] * 61, "value": TEN_THEN_NINETY})
    seen = findings.Evidence(table, ("db",), TIMES[40], TIMES[-1], "ready", "%RDY", "%", "VM")
    assert f"ready {(20 * 5 * 10 + 300 * 90) / 400:.3g} %" in str(findings.spell(seen).to_dict()["title"])


def test_samples_without_power_do_not_change_what_the_others_cover():
    """One interval throughout: leaving out readings of 0 W does not change the time that the other samples cover."""
    watts = [200.0 if place < 250 or place % 2 == 0 else 0.0 for place in range(498)] + [100.0, 500.0]
    times = [ZERO + timedelta(seconds=5 * place) for place in range(500)]
    chart = power.host(pl.LazyFrame({"time": times, "watts": watts, "cap_watts": [None] * 500}))
    (data,) = (one for one in chart.to_dict()["datasets"].values() if len(one) > 10)
    assert [row["watts"] for row in data][-1] == 300


@pytest.mark.parametrize("smooth", [1, 3])
def test_the_explorer_goes_by_time_in_any_range(path, smooth):
    values = Values([ex.open(path)])
    start, end = (cells.START + timedelta(seconds=one) for one in (200, 595))
    state = {"counter": "% Util Time", "table": "physical_cpu", "order": "mean", "buckets": 20, "smooth": smooth}
    state |= {"start": start.timestamp() * 1000, "end": end.timestamp() * 1000}
    answer = panel(values, PanelRequest.of(state))
    assert answer["by_time"]
    # 200 to 295 s: 20 samples of 5 s.
    assert answer["series"][0]["ranked"] == pytest.approx((20 * 5 * 10 + 300 * 90) / 400)


def test_waits_that_are_missing_do_not_change_what_the_others_cover():
    """Regular samples, of which the later half tells every second one: a plain median."""
    ready = [10.0 if place < 140 else 90.0 if place % 2 else None for place in range(300)]
    worlds = vcpu_of_a_lake(range(0, 1500, 5), ready)
    # 140 samples of 10 % and 80 of 90 %.
    assert fleet.ready(worlds).collect()["median_pct"].item() == 10


def rows_of(chart, of):
    """The rows of a chart that have a field."""
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows if of in row]


def test_a_run_that_is_sampled_ever_more_rarely_is_judged_by_the_time():
    # 100 s at 1,000 in samples of 5 s, then 400 s at 2,000 in samples of 100 s.
    seconds = [*range(0, 105, 5), 200, 300, 400, 500]
    rows = series(seconds, [1000.0] * 21 + [2000.0] * 4)
    found = steady.steadiness(rows, "value").collect().row(0, named=True)
    assert found["mean"] == pytest.approx((100 * 1000 + 400 * 2000) / 500)
    # The first of the five parts is the first 100 s, and the others are the rest.
    assert found["range_pct"] == pytest.approx(100 * 1000 / 1800)


def test_a_part_of_a_run_that_one_sample_covers_has_its_value():
    rows = series([0, 5, 10, 15, 20, 320], [100.0] * 5 + [200.0])
    found = steady.steadiness(rows, "value").collect().row(0, named=True)
    first = (20 * 100 + 44 * 200) / 64
    assert found["range_pct"] == pytest.approx(100 * (200 - first) / ((20 * 100 + 300 * 200) / 320))


def test_how_little_a_vm_usually_runs_is_a_share_of_the_time():
    times = [ZERO + timedelta(seconds=one) for one in SLOWER]
    groups = pl.LazyFrame({"time": times, "group_id": 7, "group": "db", "pct_run": TEN_THEN_NINETY})
    more = vms.group(Capture({"group_cpu": groups})).select("run_more_pct").collect().to_series()
    # At 10 % for half of the time: so it is 10 % that it runs at least, in samples and by time.
    assert more.to_list() == [0.0] * 60 + [80.0]
    busy = groups.with_columns(pct_run=pl.Series([90.0] * 30 + [10.0] * 30 + [90.0]))
    more = vms.group(Capture({"group_cpu": busy})).select("run_more_pct").collect().to_series()
    # 10 % in half of the samples, but in a quarter of the time.
    assert more.to_list() == [80.0] * 30 + [0.0] * 30 + [80.0]
    rarely = groups.with_columns(pct_run=pl.Series([90.0] * 40 + [10.0] * 20 + [90.0]))
    more = vms.group(Capture({"group_cpu": rarely})).select("run_more_pct").collect().to_series()
    # A third of the samples, and a sixth of the time: too little to be usual.
    assert more.to_list() == [0.0] * 40 + [-80.0] * 20 + [0.0]


def perf_lines(folder, lines):
    path = folder / "perf.csv"
    path.write_text("".join(f"{line}\n" for line in lines))
    return hardware_gather.gather([path])


def test_how_long_an_event_was_counted_is_a_share_of_the_time(tmp_path):
    lines = [
        f"{end}.000000000,100,,cycles,1000,{share:.2f},," for end, share in ((1, 100), (2, 100), (3, 100), (33, 50))
    ]
    (subject,) = perf_lines(tmp_path, lines).subjects
    assert subject.whole["counted_pct"].item() == pytest.approx((3 * 100 + 30 * 50) / 33)


def test_lines_of_events_that_stand_for_many_intervals_are_means_over_time():
    ends = [1.9, 2.0, *(float(end) for end in range(3, 401))]
    rates = pl.LazyFrame(
        {"x": ends, "event": "cycles", "unit": None, "per_s": [10.0] + [90.0] * 399},
        schema_overrides={"unit": pl.String},
    ).with_columns(by_poll=pl.lit(value=False))
    (chart,) = events.over_time(rates)
    first = min(rows_of(chart, "value"), key=lambda row: row["x"])
    assert (first["x"], first["value"]) == (0, pytest.approx((1.9 * 10 + 0.1 * 90) / 2))


def test_the_power_line_and_its_ends_weigh_intervals_by_their_length():
    util = [10.0, 20.0, 30.0, 40.0, 50.0] * 20 + [100.0] * 2
    watts = [100.0 + 2 * one for one in util[:-1]] + [200.0]
    points = pl.DataFrame({"util_pct": util, "watts": watts, "interval_s": [5.0] * 100 + [5.0, 3000.0]})
    weight, x, y = (points[name].to_numpy() for name in ("interval_s", "util_pct", "watts"))
    slope, intercept = np.polyfit(x, y, 1, w=np.sqrt(weight))
    assert energy.fit(points)[:2] == pytest.approx((slope, intercept), abs=1e-5)
    assert energy.fit(points.drop("interval_s"))[0] == pytest.approx(np.polyfit(x, y, 1)[0], abs=1e-5)
    times = [ZERO + timedelta(seconds=5 * at) for at in range(101)] + [ZERO + timedelta(seconds=3500)]
    timed = points.with_columns(time=pl.Series(times))
    assert energy.fit(timed.drop("interval_s"))[0] == pytest.approx(slope, abs=0.01)
    drawn = rows_of(power_charts.against_load(timed.lazy(), "Host util"), "place")
    (mark,) = {row["watts"] for row in drawn if row["place"] == "high"}
    few = [(50.0, 200.0, 5.0)] * 3 + [(100.0, 300.0, 5.0), (100.0, 200.0, 3000.0)]
    seconds = sum(one[2] for one in few)
    assert mark == pytest.approx(sum(watts * length for _, watts, length in few) / seconds, abs=0.01)


def test_the_rate_of_a_log_of_fio_counts_the_time_without_a_line_as_zero():
    span = Span(ZERO, ZERO + timedelta(seconds=60))

    def rate(seconds, values, metric="iops"):
        logged = pl.LazyFrame(
            {
                "time": [ZERO + timedelta(seconds=one) for one in seconds],
                "stream": "0 job/1",
                "metric": metric,
                "direction": "read",
                "value": values,
                "size": 0,
            }
        )
        found = fio_logs.load(logged, span, "x_iops.1.log")
        return found["read_iops" if metric == "iops" else "read_mb_per_s"]

    assert rate(range(1, 61), [500.0] * 60) == pytest.approx(500)
    # A burst of 20 s in a minute.
    assert rate(range(21, 41), [600.0] * 20) == pytest.approx(200)
    # Idle in the middle; the line after it covers a second, not all of it.
    assert rate([*range(1, 11), *range(51, 61)], [600.0] * 20) == pytest.approx(200)
    assert rate([*range(1, 11), *range(51, 61)], [3e6] * 20, "bandwidth") == pytest.approx(1)
    # The last line is shorter than the others.
    assert rate([10, 20, 30, 40, 50, 60], [100.0] * 5 + [700.0]) == pytest.approx(200)
    assert rate([10, 20, 30, 40, 50, 55, 60], [100.0] * 5 + [1000.0, 700.0]) == pytest.approx(13500 / 60)
    # Lines that reach over an end of the span count for what is in it; an end that is not yet logged is not idle.
    assert rate([-5, 5, 15, 25, 35, 45, 55], [0.0, 900.0] + [100.0] * 5) == pytest.approx((5 * 900 + 50 * 100) / 55)


def test_logs_of_means_and_of_single_ios_of_one_run_are_not_mixed():
    """Latencies of each read, and IOPS of writes as means: percentiles are of the former alone."""
    second = [ZERO + timedelta(seconds=one) for one in range(1, 5)]
    each = [
        {"time": at, "stream": "0 a/1", "metric": "clat", "direction": "read", "value": value, "size": size}
        for at, value, size in zip(second, [4.0, 1.0, 2.0, 3.0], [4096, 0, 4096, 8192], strict=True)
    ]
    means = [
        {"time": at, "stream": "0 b/1", "metric": "iops", "direction": "write", "value": 50.0, "size": 0}
        for at in second
    ]
    found = fio_logs.load(pl.LazyFrame([*each, *means]), Span(ZERO, ZERO + timedelta(seconds=4)), "x.log")
    assert found["read_iops"] == 1
    assert found["write_iops"] == pytest.approx(50)
    assert found["read_latency_mean_ms"] == 2.5
    assert found["latency_max_ms"] == 4
    # Writes have no latencies: the mean of both is not known.
    assert "latency_mean_ms" not in found
    assert found["iops"] == pytest.approx(51)
    mixed = [{**row, "stream": "0 c/1", "value": 9.0, "size": 0} for row in each]
    both = fio_logs.load(pl.LazyFrame([*each, *mixed]), Span(ZERO, ZERO + timedelta(seconds=4)), "x.log")
    assert not any("_p9" in name for name in both)
