"""The tables of reports, line by line, against arithmetic on the cells of the capture."""

from __future__ import annotations

import statistics

import pytest
from cells import columns_of
from sheet import VCPUS
from templated import alone, shown

import esxparse as ex
from esxparse.formats.power import readings
from esxparse.metrics import power_join, storage
from esxparse.metrics._series import Lag
from esxparse.reports.power_profile import gather


def p95(values):
    """95th percentile, linear between neighbours."""
    ordered = sorted(values)
    place = 0.95 * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def mean(values):
    return sum(values) / len(values)


def lines_of(block):
    """The lines of a table as text, by their first cell."""
    _, _, *lines = block.text.splitlines()
    return {line.split("  ")[0].strip(): " ".join(line.split()) for line in lines}


def from_first_rate(columns):
    """The columns of disks without a first sample that measured nothing: all its rates are 0."""
    rates = [values for columns_ in columns.values() for name, values in columns_.items() if name.endswith("/sec")]
    begin = 0 if any(values[0] for values in rates) else 1
    return {one: {name: values[begin:] for name, values in found.items()} for one, found in columns.items()}


def test_the_table_of_vms_is_made_of_the_cells_of_their_vcpus(busy_host, busy_host_file):
    worlds, groups = columns_of(busy_host_file, "Vcpu"), columns_of(busy_host_file, "Group Cpu")
    lines = lines_of(alone("host_health", "host_health.vm_cpu", vms=busy_host["vm"]))
    expected = {}
    for vm, vcpus in VCPUS.items():
        own = [values for name, values in worlds.items() if ":vmx-vcpu-" in name and name.endswith(f":{vm}")]
        assert len(own) == vcpus
        group = next(values for name, values in groups.items() if name.endswith(f":{vm}"))

        def per_sample(counter, own=own):
            return [mean(cells) for cells in zip(*(one[counter] for one in own), strict=True)]

        ready, limited = per_sample("% Ready"), per_sample("% Max Limited")
        waited = [max(one - other, 0.0) for one, other in zip(ready, limited, strict=True)]
        numbers = [
            mean(group["% Used"]) / vcpus,
            mean(group["% Run"]) / vcpus,
            p95(waited),
            max(waited),
            p95(per_sample("% CoStop")),
            p95(limited),
            p95(per_sample("% Swap Wait")),
        ]
        expected[vm] = " ".join([vm, str(vcpus), *(f"{number:,.1f}" for number in numbers), "vCPU worlds"])
    assert lines == expected


def test_the_table_of_devices_is_made_of_their_cells(busy_host, busy_host_file):
    columns = from_first_rate(columns_of(busy_host_file, "Physical Disk SCSI Device"))
    lines = lines_of(
        alone("host_health", "host_health.devices", per_device=storage.summary(busy_host["device"], by="instance"))
    )
    assert set(lines) == set(columns)
    for device, cells in columns.items():
        iops = cells["Commands/sec"]
        busy = [ms for ms, rate in zip(cells["Average Guest MilliSec/Command"], iops, strict=True) if rate > 0]

        def weighted(name, cells=cells, iops=iops):
            pairs = zip(cells[f"Average {name} MilliSec/Command"], iops, strict=True)
            return f"{sum(ms * rate for ms, rate in pairs) / sum(iops):.2f}"

        rates = zip(cells["MBytes Read/sec"], cells["MBytes Written/sec"], strict=True)
        expected = [
            device,
            f"{mean(iops):,.1f}",
            f"{max(iops):,.1f}",
            f"{mean([sum(both) for both in rates]):,.2f}",
            *(weighted(name) for name in ("Guest", "Driver", "Kernel", "Queue")),
            f"{p95(busy):.2f}",
            f"{max(busy):.2f}",
            f"{max(cells['Queued Commands']):.0f}",
        ]
        assert lines[device] == " ".join(expected)


def test_the_table_of_memory_is_made_of_the_cells_of_the_groups(busy_host, busy_host_file):
    groups = columns_of(busy_host_file, "Group Memory")
    lines = lines_of(alone("host_health", "host_health.vm_memory", vms=busy_host["vm"]))
    for vm in VCPUS:
        cells = next(values for name, values in groups.items() if name.endswith(f":{vm}"))
        start = [
            vm,
            f"{max(cells['Memory Size MBytes']):,.0f}",
            f"{mean(cells['Memory Granted Size MBytes']):,.0f}",
        ]
        assert lines[vm].startswith(" ".join(start))


def host_mb_per_s(file):
    """MB/s of 10**6 bytes of all disks and NFS volumes, sample by sample."""
    kinds = ("Physical Disk SCSI Device", "Physical Disk NFS Volume")
    columns = from_first_rate({name: found for kind in kinds for name, found in columns_of(file, kind).items()})
    each = [columns_[name] for columns_ in columns.values() for name in ("MBytes Read/sec", "MBytes Written/sec")]
    return [sum(cells) * 2**20 / 1e6 for cells in zip(*each, strict=True)]


def test_the_power_report_and_the_study_have_the_throughput_of_the_cells(busy_host_file, tmp_path):
    found = gather.gather([busy_host_file])
    moved = mean(host_mb_per_s(busy_host_file))
    assert 190 < moved < 195
    row = next(row for row in gather.per_unit(found).rows(named=True) if row["unit"] == "MB/s")
    assert row["work_mean"] == pytest.approx(moved, abs=0.01)
    assert f"MB per second of storage {row['intervals']} {moved:.2f}" in " ".join(
        shown("power_profile", 'columns_of("power_profile.per_unit', found=found).text.split()
    )
    (tmp_path / "study.toml").write_text(f'[[run]]\nesxtop = "{busy_host_file}"\n', encoding="utf-8")
    assert ex.study(tmp_path, outside=True).runs.collect()["mb_per_s"].item() == pytest.approx(moved, abs=0.01)


def test_samples_of_one_time_are_not_added_up(busy_host_file, tmp_path):
    """A spreadsheet that dropped the seconds leaves twelve samples a minute, which are twelve samples."""
    minutes = tmp_path / "minutes.csv"
    header, *rows = busy_host_file.read_text(encoding="utf-8").splitlines(keepends=True)
    minutes.write_text("".join([header, *(row[:15] + "00" + row[17:] if row[0] == '"' else row for row in rows)]))
    whole, rounded = (gather.per_unit(gather.gather([path])) for path in (busy_host_file, minutes))
    assert rounded["intervals"].to_list() == whole["intervals"].to_list()
    assert rounded["work_mean"].to_list() == pytest.approx(whole["work_mean"].to_list())
    assert rounded["cost"].to_list() == pytest.approx(whole["cost"].to_list())


UNITS = {
    "": 1.0,
    "W": 1.0,
    "watt": 1.0,
    "Watts": 1.0,
    "kW": 1000.0,
    "mW": 0.001,
    # 1 Btu (International Table) is 1055.05585262 J.
    "btu/hr": 1055.05585262 / 3600,
}


def test_every_unit_of_power_is_what_it_is_defined_as():
    for unit, factor in UNITS.items():
        assert readings.number(f"1,500 {unit}".strip()) == pytest.approx(1500 * factor, rel=1e-7), unit


@pytest.mark.parametrize(
    ("correlation", "unshifted", "suspected"),
    [
        (0.61, 0.10, True),  # they went together well enough: from 0.6 on
        (0.59, 0.10, False),
        (0.90, 0.69, True),  # and clearly better: by 0.2
        (0.90, 0.71, False),
    ],
)
def test_a_clock_is_suspected_from_a_clear_lag_on(correlation, unshifted, suspected):
    lag = Lag(seconds=240.0, correlation=correlation, unshifted=unshifted, step=10.0)
    assert (power_join._suspect(lag) is not None) is suspected


def test_p95_of_these_tests_is_the_usual_one():
    values = [float(number) for number in range(1, 102)]
    assert p95(values) == statistics.quantiles(values, n=20, method="inclusive")[-1] == 96.0
