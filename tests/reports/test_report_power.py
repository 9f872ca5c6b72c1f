"""Every column of the report on power, against arithmetic on readings and cells written for it."""

from __future__ import annotations

import csv
from datetime import timedelta
from itertools import pairwise

import cells
import pytest
from templated import shown

from esxparse.errors import EsxparseError
from esxparse.reports.power_profile import gather

AT = (0, 10, 20, 30, 90, 100, 110)
"""Seconds of the readings: of the gap of 60 s nothing is known."""
WATTS = {"a": (100, 140, 260, 300, 500, 620, 700), "b": (50, 40, 90, 70, 20, 10, 130)}
PRICE = 0.4


def meter(folder, watts=WATTS, name="meter.csv"):
    lines = ["time,sensor,watts"]
    for place, second in enumerate(AT):
        time = cells.START + timedelta(seconds=second)
        lines += [f"{time:%Y-%m-%dT%H:%M:%SZ},{sensor},{values[place]}" for sensor, values in watts.items()]
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder / name


def joules(values):
    """By the trapezoidal rule, without the gap."""
    pairs = zip(pairwise(AT), pairwise(values), strict=True)
    return sum((end - begin) * (one + other) / 2 for (begin, end), (one, other) in pairs if end - begin <= 30)


COVERED = 50


def lines(block):
    return {words[0]: words[1:] for words in (line.split() for line in block.text.splitlines()[2:]) if words}


def test_sensors_have_their_energy_with_a_gap_and_a_price(tmp_path):
    found = gather.gather([meter(tmp_path)], price_per_kwh=PRICE)
    rows = lines(shown("power_profile", "power_profile.energies", found=found))
    for sensor, values in WATTS.items():
        mean, kwh = joules(values) / COVERED, joules(values) / 3.6e6
        year = mean * 8760 / 1000
        assert rows[sensor] == [
            *("whole", "host", "7", "50", "s", "1", "1", "min"),
            f"{mean:.1f}",
            f"{kwh:.4f}",
            f"{year:,.0f}",
            f"{kwh * PRICE:.4f}",
            f"{year * PRICE:,.2f}",
        ]
    each = lines(shown("power_profile", "power_profile.sensors", found=found))
    for sensor, values in WATTS.items():
        mean = joules(values) / COVERED
        assert each[sensor] == ["whole", "host", "7", f"{mean:.1f}", f"{min(values)}", f"{max(values)}"]


def test_tiles_are_of_the_outlets_together_where_they_add_up(tmp_path):
    found = gather.gather([meter(tmp_path)], price_per_kwh=PRICE)
    text = " ".join(shown("power_profile", "shown = tiles(items)", found=found).text.split())
    both = [one + other for one, other in zip(*WATTS.values(), strict=True)]
    mean, kwh = joules(both) / COVERED, joules(both) / 3.6e6
    assert f"Mean power: {mean:.0f} W (sum of 2: a, b, over 50 s)" in text
    assert f"Lowest to highest: {min(both)} to {max(both)} W (14 readings)" in text
    assert f"Energy: {kwh:.4f} kWh (costs {kwh * PRICE:.4f} at 0.4 per kWh)" in text
    year, basis = mean * 8.76, "if all 8,760 h were like these 50 s"
    assert f"A year like this: {year:,.0f} kWh (costs {year * PRICE:,.2f} at 0.4 per kWh, {basis})" in text
    plain = " ".join(
        shown("power_profile", "shown = tiles(items)", found=gather.gather([meter(tmp_path)])).text.split()
    )
    assert f"Energy: {kwh:.4f} kWh (in 50 s; 2 gaps left out)" in plain
    assert basis in plain


UTIL = (10, 20, 40, 80, 60, 50, 30)
OWN = (200, 210, 260, 330, 300, 280, 220)
STEPS = (0, 10, 20, 30, 40, 50, 60)


def capture(folder, **more):
    """Seven samples of one PCPU and of the host's own watts, each over the 10 s before it."""
    columns = {
        ("Physical Cpu", "_Total", "% Util Time"): UTIL,
        ("Physical Cpu", "_Total", "% Processor Time"): [value / 2 for value in UTIL],
        ("Physical Cpu", "0", "% Util Time"): UTIL,
        **cells.disk("naa.6", iops=[0, *(100 * value for value in UTIL[1:])], reads=[0, *UTIL[1:]], **more),
    }
    path = cells.capture(folder, columns, seconds=STEPS)
    # The power table has no instance.
    with path.open(newline="") as stream:
        header, *rows = list(csv.reader(stream))
    header.append(f"\\\\{cells.HOST}\\Power\\Power Usage Now Watts")
    with path.open("w", newline="") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows(
            [header, *([*row, f"{watts:.2f}"] for row, watts in zip(rows, OWN, strict=True))]
        )
    return path


METERED = (205, 230, 280, 300, 310, 290, 240)


def metered(folder):
    lines = ["time,watts"]
    times = (cells.START + timedelta(seconds=second) for second in STEPS)
    lines += [f"{time:%Y-%m-%dT%H:%M:%SZ},{watts}" for time, watts in zip(times, METERED, strict=True)]
    (folder / "pdu.csv").write_text("\n".join(lines) + "\n")
    return folder / "pdu.csv"


def test_a_meter_is_laid_beside_the_intervals_of_the_capture(tmp_path):
    found = gather.gather([capture(tmp_path), metered(tmp_path)])
    (line,) = shown("power_profile", "power_profile.meters", found=found).text.splitlines()[2:]
    # Straight lines between readings: the mean of an interval is that of its ends.
    of_interval = [(one + other) / 2 for one, other in pairwise(METERED)]
    mean, own = sum(of_interval) / 6, sum(OWN[1:]) / 6
    words = line.split()
    assert words[2:9] == [
        *("straight", "lines", "6", "6"),
        f"{mean:.1f}",
        f"{10 * sum(of_interval) / 3.6e6:.4f}",
        f"{own:.1f}",
    ]
    assert words[9] == f"{100 * (mean / own - 1):.1f}".replace("-", words[9][0] if mean < own else "-")
    per = {row["unit"]: row for row in gather.per_unit(found).rows(named=True)}
    assert per["%"]["intervals"] == 6
    # For power per work a reading stands for the time since the one before it.
    watts = METERED[1:]
    assert per["%"]["watts"] == pytest.approx(sum(watts) / 6)
    assert per["%"]["work_mean"] == pytest.approx(sum(UTIL[1:]) / 6)
    assert per["%"]["cost"] == pytest.approx(sum(watts) / sum(UTIL[1:]))
    ordered = sorted(one / util for one, util in zip(watts, UTIL[1:], strict=True))
    assert per["%"]["p5"] == pytest.approx(ordered[0] + 0.25 * (ordered[1] - ordered[0]))
    assert per["%"]["p95"] == pytest.approx(ordered[4] + 0.75 * (ordered[5] - ordered[4]))
    assert per["1,000 IOPS"]["work_mean"] == pytest.approx(sum(UTIL[1:]) / 60)
    text = " ".join(shown("power_profile", "shown = tiles(items)", found=found).text.split())
    assert f"Watts per % of util: {per['%']['cost']:.2f} (at {sum(UTIL[1:]) / 6:.0f} % on average)" in text
    assert found.measured_by.startswith("pdu")


def test_without_a_meter_power_per_work_is_by_the_host_itself(tmp_path):
    found = gather.gather([capture(tmp_path)])
    per = {row["unit"]: row for row in gather.per_unit(found).rows(named=True)}
    assert per["%"]["cost"] == pytest.approx(sum(OWN) / sum(UTIL))
    assert found.measured_by == "esxtop"
    assert shown("power_profile", "power_profile.meters", found=found).text == ""


def test_readings_that_count_from_their_start_have_energy_and_no_time_of_day(tmp_path):
    values = (100, 140, 260, 300)
    (tmp_path / "bench.csv").write_text(
        "elapsed_s,watts\n" + "".join(f"{10 * place}.5,{watts}\n" for place, watts in enumerate(values))
    )
    found = gather.gather([tmp_path / "bench.csv"], time_column="elapsed_s", value_column="watts")
    (row,) = gather.energies(found).rows(named=True)
    assert (row["covered_s"], row["energy_joules"]) == (30, sum(5 * (one + other) for one, other in pairwise(values)))
    assert row["since_start"] is True
    assert "UTC" not in str(shown("power_profile", "title(", found=found).objects)


def test_a_host_that_was_off_for_a_while_has_drawn_nothing_then(tmp_path):
    watts = {"a": (0, 0, 260, 300, 500, 0, 700)}
    found = gather.gather([meter(tmp_path, watts)])
    row = lines(shown("power_profile", "power_profile.energies", found=found))["a"]
    assert f"{joules(watts['a']) / COVERED:.1f}" in row
    with pytest.raises(EsxparseError, match="no power readings above 0 W"):
        gather.gather([meter(tmp_path, {"a": (0,) * 7}, "none.csv")])
