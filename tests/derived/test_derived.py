"""Derived tables: their numbers against cells of the file, what a capture lacks, and any order of rows."""

from __future__ import annotations

import csv
import json
import random
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from statistics import fmean

import polars as pl
import pytest
from fault_hosts import FAULTS, seen
from search import routine_of

import esxparse as ex
from esxparse.derived.capture import VIEWS
from esxparse.derived.catalogue import COLUMNS, TABLES
from esxparse.derived.of_recording import lacking, table
from esxparse.derived.tables import CLOCK, columns, declared
from esxparse.errors import EsxparseError, MissingTableError


@pytest.fixture(scope="module")
def cells(busy_host_file):
    """The file by counter: object, instance, counter to the numbers of all samples; None if a cell is empty."""
    with busy_host_file.open(newline="", encoding="utf-8") as stream:
        head, *rows = list(csv.reader(stream))
    found = {}
    for place, name in enumerate(head[1:], 1):
        thing, counter = name.rsplit("\\", 1)
        thing = thing.rsplit("\\", 1)[1]
        kind, _, instance = thing.partition("(")
        found[kind, instance.removesuffix(")"), counter] = [
            float(row[place]) if row[place].strip() else None for row in rows
        ]
    return found


@pytest.fixture(scope="module")
def few_samples(busy_host_file):
    return ex.open(busy_host_file, end="2026-03-11T09:00:40")


def of(frame, instance, column):
    return frame.filter(pl.col("instance") == instance)[column].to_list()


def test_waits_of_a_vm_are_means_over_its_vcpus(busy_host, cells):
    rows = busy_host["vm"].collect()
    worlds = defaultdict(list)
    for kind, instance, counter in cells:
        if kind == "Vcpu" and "vmx-vcpu-" in instance and counter == "% Ready":
            worlds[instance.split(":")[1]].append(instance)
    assert set(rows["instance"]) == set(worlds)
    for vm, mine in worlds.items():
        ready = [[cells["Vcpu", one, "% Ready"][at] for one in mine] for at in range(121)]
        limited = [[cells["Vcpu", one, "% Max Limited"][at] for one in mine] for at in range(121)]
        assert of(rows, vm, "ready_pct") == pytest.approx([fmean(one) for one in ready])
        assert of(rows, vm, "contention_pct") == pytest.approx(
            [max(fmean(one) - fmean(held), 0) for one, held in zip(ready, limited, strict=True)]
        )
        assert set(of(rows, vm, "vcpus")) == {len(mine)}


def test_what_a_vm_uses_and_its_latency_are_its_groups_by_vcpus(busy_host, cells):
    rows = busy_host["vm"].collect()
    for name, counter in (("used_pct", "% Used"), ("lat_c_pct", "% CPU Latency")):
        for (kind, instance, of_group), values in cells.items():
            vm = instance.split(":", 1)[-1]
            if kind == "Group Cpu" and of_group == counter and vm in set(rows["instance"]):
                vcpus = of(rows, vm, "vcpus")[0]
                assert of(rows, vm, name) == pytest.approx([one / vcpus for one in values]), (vm, name)


def test_devices_have_the_numbers_of_their_cells(busy_host, cells):
    rows = busy_host["device"].collect()
    kind = "Physical Disk SCSI Device"
    for instance in set(rows["instance"]):
        reads, writes, active, depth = (
            cells[kind, instance, name]
            for name in ("MBytes Read/sec", "MBytes Written/sec", "Active Commands", "Device Q Depth")
        )
        shown = rows.filter(pl.col("instance") == instance).select("mib_per_s", "fill_pct").rows()
        for at, (both, fill) in enumerate(shown):
            # The first sample has no rates.
            if at:
                assert both == pytest.approx(reads[at] + writes[at])
            if depth[at]:
                assert fill == pytest.approx(100 * active[at] / depth[at])


def test_every_column_is_declared_once_and_made_by_a_view():
    made = {(view.table, name) for view in VIEWS for name in columns(view)} | {("host", name) for name in CLOCK}
    listed = [(one.table, one.column) for one in COLUMNS]
    assert len(listed) == len(set(listed))
    assert made == set(listed)


def test_every_column_has_a_unit_a_meaning_and_a_weight_of_its_table():
    for kind, mine in declared().items():
        for one in mine.values():
            assert one.unit, one
            assert one.name, one
            assert one.better in {"low", "high", "neither"}, one
            assert one.weight in {"", *mine}, one
            assert one.meaning or one.screen or kind == "vsan", one


def without(rec, counters):
    """The recording as a capture that lacks some counters."""
    return replace(rec, tables={name: frame.drop(counters, strict=False) for name, frame in rec.tables.items()})


def needs(kind):
    """The sets of counters of which a column of a table needs one."""
    return sorted({one for column in declared()[kind].values() for one in column.counters})


KINDS = [name for name in TABLES if name != "vsan"]


@pytest.mark.parametrize("kind", routine_of(KINDS, set(KINDS) - {"host", "vm"}))
def test_a_column_is_left_out_and_listed_where_its_counter_is_missing(few_samples, kind):
    full = table(few_samples, kind).collect()
    filled = {column.name for column in full if column.null_count() < len(column)}
    for counters in needs(kind):
        rec = without(few_samples, counters)
        if kind not in rec.derived:
            continue
        gone = {name for name, one in declared()[kind].items() if counters in one.counters}
        lost = lacking(rec, kind)
        assert gone <= set(lost), counters
        kept = table(rec, kind).collect()
        # Nothing else is lost, and nothing that is kept is empty if it was not.
        assert set(kept.columns) == set(full.columns) - set(lost), counters
        assert all(why.startswith("no counter ") for name, why in lost.items() if name in gone), lost
        for name in filled & set(kept.columns):
            assert kept[name].null_count() < kept.height, (counters, name)


def test_a_sum_of_a_missing_counter_is_not_zero(busy_host):
    rec = without(busy_host, ["pct_used", "packets_received_per_sec", "commands_per_sec"])
    missing = rec.missing()
    assert missing.filter(table="host", column="kernel_used_pct")["reason"].item() == "no counter pct_used"
    assert "kernel_used_pct" not in rec["host"].collect_schema()
    assert "rx_packets" not in rec["vm"].collect_schema()
    assert {"vm", "device"} <= set(missing["table"])


def test_tables_that_a_capture_lacks(busy_host, tmp_path):
    rec = replace(busy_host, tables={"memory": busy_host.tables["memory"]})
    assert rec.derived == ("host",)
    with pytest.raises(MissingTableError, match=r"has no table 'device'; it has: memory, host"):
        rec["device"]
    with pytest.raises(MissingTableError, match="has no derived table 'device': it needs physical_disk_scsi_device"):
        table(rec, "device")
    assert rec.missing("pcpu")["reason"].unique().to_list() == ["no table physical_cpu"] or set(
        rec.missing("pcpu")["reason"]
    ) == {"no table physical_cpu", "no table interrupt_cookie", "no table pcpu_power_state"}
    with pytest.raises(EsxparseError, match="no derived table 'vms': did you mean 'vm'"):
        busy_host.missing("vms")
    (tmp_path / "a.json").write_text(json.dumps({"fio version": "fio-3.35", "jobs": []}))


def test_a_recording_of_another_format_has_none():
    rec = ex.open(ex.datasets_dir() / "formats" / "iometer-1.1.0.csv")
    assert rec.derived == ()
    assert rec.search("ready").is_empty()


def test_a_counter_of_groups_is_found_per_vcpu_and_the_groups_own_by_its_table(busy_host, cells):
    best = busy_host.top("%RDY", n=1, order="mean").row(0, named=True)
    assert (best["name"], best["unit"]) == ("report-batch", "% of one core, per vCPU")
    worlds = [one for (kind, one, what) in cells if (kind, what) == ("Vcpu", "% Ready") and "vmx-vcpu" in one]
    mine = [cells["Vcpu", one, "% Ready"] for one in worlds if one.split(":")[1] == "report-batch"]
    assert best["mean"] == pytest.approx(fmean(fmean(one) for one in zip(*mine, strict=True)))
    group = busy_host.top("%RDY", n=1, table="group_cpu")
    assert group["unit"].item() == "% of one core"


def test_latency_of_an_8_vcpu_vm_is_per_vcpu_and_under_its_own_limit(busy_host):
    shown = busy_host.top("%LAT_C", n=10)
    assert shown["max"].max() < 100
    assert shown["unit"].unique().to_list() == ["% of one core, per vCPU"]


def test_columns_are_ranked_drawn_and_searched_by_name_unit_and_weight(busy_host, cells):
    assert busy_host.top("contention_pct", n=1)["name"].item() == "orders-app"
    device = busy_host["device"].collect()["instance"][0]
    chart = busy_host.plot("gavg_ms", device=device).to_dict()
    assert chart["title"]["text"] == "guest latency (GAVG/cmd) of devices"
    kind = "Physical Disk SCSI Device"
    reads, writes, failed, latency = (
        cells[kind, device, name]
        for name in ("Reads/sec", "Writes/sec", "Failed Commands/sec", "Average Guest MilliSec/Command")
    )
    assert not any(failed[1:])
    done = [one + two for one, two in zip(reads[1:], writes[1:], strict=True)]
    mean = sum(one * ms for one, ms in zip(done, latency[1:], strict=True)) / sum(done)
    found = busy_host.top("gavg_ms", device=device, table="device")
    assert found["mean"].item() == pytest.approx(mean, rel=0.02)
    hit = busy_host.search("contention").row(0, named=True)
    assert (hit["table"], hit["column"]) == ("vm", "contention_pct")
    with pytest.raises(EsxparseError, match=r"no device 'naa\.1' in device"):
        busy_host.top("gavg_ms", device="naa.1")


def test_a_column_that_the_capture_cannot_give_is_refused_with_the_reason(busy_host):
    poor = without(busy_host, ["pct_costop"])
    with pytest.raises(EsxparseError, match="cannot give costop_pct: no counter pct_costop"):
        poor.top("costop_pct")
    with pytest.raises(MissingTableError, match="has no costop_pct of vm: no counter pct_costop"):
        table(poor, "vm", ["costop_pct"])


@pytest.mark.search
def test_changes_and_likeness_take_derived_tables(busy_host):
    plain, more = ex.changes(busy_host), ex.changes(busy_host, derived=["vm"])
    assert "vm" not in set(plain.series["table"])
    assert "contention_pct" in set(more.series.filter(table="vm")["counter"])
    alike = ex.similar(busy_host, ("vm", "contention_pct", "orders-app"))
    # It has no limit: all its ready time is contention.
    assert alike.row(0)[:3] == ("vm", "ready_pct", "orders-app")
    assert ex.compare(busy_host, busy_host, tables=["host"]).frame.filter(table="host")["differs"].any() is False
    with pytest.raises(MissingTableError, match="did you mean 'vm'"):
        ex.changes(busy_host, derived=["vmm"])


def test_a_lake_gives_derived_tables_to_python_and_sql(busy_host_file, tmp_path):
    pytest.importorskip("duckdb")
    lake = ex.lake(tmp_path / "lake")
    lake.add([busy_host_file], host="esx-a")
    lake.add([busy_host_file], host="esx-b", replace=True)
    lake = ex.lake(tmp_path / "lake")
    rows = lake["vm"].collect()
    assert rows.columns[-2:] == ["date", "host"]
    asked = lake.sql("SELECT host, max(contention_pct) AS most FROM vm GROUP BY host ORDER BY host")
    assert (
        asked["most"].to_list()
        == rows.group_by("host").agg(pl.col("contention_pct").max()).sort("host")["contention_pct"].to_list()
    )
    later = lake.of(since=datetime(2026, 3, 11, 9, 5, tzinfo=UTC))
    assert later.sql("SELECT min(time) AS first FROM vm")["first"].item() == datetime(2026, 3, 11, 9, 5, tzinfo=UTC)
    none = lake.of(since="2030-01-01")
    assert none.sql("SELECT count(*) AS n FROM vm")["n"].item() == 0
    with pytest.raises(MissingTableError, match="did you mean 'vm'"):
        lake.sql("SELECT * FROM vmm")


def in_order(rec, order, seed):
    """The recording with the rows of every table in another order; those of one instance stay in order of time."""
    dice = random.Random(seed)  # noqa: S311  (no secret)
    names = list(rec.tables)
    dice.shuffle(names)
    made = {}
    for name in names:
        rows = rec.tables[name].collect()
        if "instance" not in rows.columns or not rows.height:
            made[name] = rows.lazy()
            continue
        sample = rows.select(pl.int_range(pl.len()).over("instance")).to_series().to_list()
        instances = rows["instance"].fill_null("").to_list()
        place = {one: dice.random() for one in sorted(set(instances))}
        keys = {
            "within samples": [(at, dice.random()) for at in sample],
            "by instance": [(place[one], at) for one, at in zip(instances, sample, strict=True)],
            "woven": [at + 3 * place[one] for one, at in zip(instances, sample, strict=True)],
        }[order]
        made[name] = rows[sorted(range(len(keys)), key=keys.__getitem__)].lazy()
    return replace(rec, tables=made)


def told(rec):
    """Findings as people read them; the last digits of sums depend on their order."""

    def rounded(one):
        if isinstance(one, float):
            return float(f"{one:.9g}")
        if isinstance(one, dict):
            return {key: rounded(value) for key, value in one.items()}
        return [rounded(value) for value in one] if isinstance(one, list) else one

    return rounded(json.loads(ex.diagnose(rec).json()))


ORDERS = ("within samples", "by instance", "woven")


@pytest.fixture(scope="module")
def told_of_host(busy_host):
    return told(busy_host)


@pytest.mark.parametrize("order", ORDERS)
def test_findings_do_not_depend_on_the_order_of_rows(busy_host, told_of_host, order):
    assert told(in_order(busy_host, order, 7)) == told_of_host


@pytest.mark.search
@pytest.mark.parametrize("order", ORDERS)
def test_derived_tables_do_not_depend_on_the_order_of_rows(busy_host, order):
    other = in_order(busy_host, order, 3)
    for name in busy_host.derived:
        mine, others = (rec[name].collect() for rec in (busy_host, other))
        assert mine.columns == others.columns
        assert mine["instance"].equals(others["instance"])
        for column in mine.columns[2:]:
            assert others[column].to_list() == pytest.approx(mine[column].to_list(), abs=1e-9, nan_ok=True), column


@pytest.mark.search
@pytest.mark.parametrize("name", FAULTS)
def test_findings_of_faults_do_not_depend_on_the_order_of_rows(name):
    rec = seen(name, 1.0).recording
    kept = told(rec)
    for seed in range(len(ORDERS)):
        assert told(in_order(rec, ORDERS[seed], seed)) == kept, seed
