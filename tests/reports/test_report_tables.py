"""The tables of reports, line by line, against arithmetic on the cells of the capture."""

from __future__ import annotations

import pytest
from cells import columns_of
from templated import shown

import esxparse as ex
from esxparse.formats.power import readings
from esxparse.metrics import power_join
from esxparse.metrics._series import Lag
from esxparse.reports.power_profile import gather


def mean(values):
    return sum(values) / len(values)


def from_first_rate(columns):
    """The columns of disks without a first sample that measured nothing: all its rates are 0."""
    rates = [values for columns_ in columns.values() for name, values in columns_.items() if name.endswith("/sec")]
    begin = 0 if any(values[0] for values in rates) else 1
    return {one: {name: values[begin:] for name, values in found.items()} for one, found in columns.items()}


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
