"""The report on power, made as users make it; its numbers are computed again here from the raw readings."""

from __future__ import annotations

import json
import random
import re
from datetime import UTC, datetime, timedelta
from html import unescape
from itertools import pairwise

import polars as pl
import pytest
from templated import shown

import esxparse as ex
from esxparse.charts import energy, theme
from esxparse.reports import report
from esxparse.reports.power_profile import gather

FORMATS = ex.datasets_dir() / "formats"
START = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)


def text_of(page):
    """What a reader of the page reads, without the charts."""
    words = re.sub(r"<(script|style)\b.*?</\1>", " ", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", words)).split())


def host_samples(rec):
    """Times, watts and util of the bundled host, taken from the raw tables."""
    watts = dict(
        rec["power"].filter(pl.col("p_state").is_null()).select("time", "power_usage_now_watts").collect().rows()
    )
    total = rec["physical_cpu"].filter(pl.col("pcpu").is_null()).select("time", "pct_util_time", "pct_processor_time")
    return [(time, watts[time], util, used) for time, util, used in total.collect().rows()]


def meter_file(folder, samples, shift=timedelta(0), skip=(), name="meter.csv"):
    """A power meter's export that follows the load of the host, a reading every 10 s."""
    noise = random.Random(7)  # noqa: S311  not a secret
    rows = [
        (time + shift, 120 + 2.1 * util + noise.random())
        for place, (time, _, util, _) in enumerate(samples)
        if place % 2 == 0 and place not in skip
    ]
    lines = [f"{time:%Y-%m-%dT%H:%M:%SZ},{watts:.1f}" for time, watts in rows]
    path = folder / name
    path.write_text("Time,Power (W)\n" + "\n".join(lines) + "\n")
    return path, [(time, round(watts, 1)) for time, watts in rows]


def trapezoid(points, longest=None):
    """Joules between points, those of longer steps left out."""
    pairs = pairwise(points)
    steps = [((after[0] - before[0]).total_seconds(), before[1] + after[1]) for before, after in pairs]
    return sum(step * both / 2 for step, both in steps if longest is None or step <= longest)


@pytest.fixture(scope="module")
def samples(busy_host):
    return host_samples(busy_host)


@pytest.mark.search
def test_a_meter_beside_the_capture_with_a_gap_and_a_price(busy_host_file, samples, tmp_path):
    meter, points = meter_file(tmp_path, samples, skip=range(40, 56))
    page = text_of(
        report([busy_host_file, meter], "power_profile", tmp_path / "report.html", {"price_per_kwh": "0.25"})
    )
    joules = trapezoid(points, longest=30)
    assert f"{joules / 3.6e6:.4f} kWh costs {joules / 3.6e6 * 0.25:.4f} at 0.25 per kWh" in page
    assert "8 min 30 s 1 1 min 30 s" in page
    year = joules / 510 * 8.76
    assert f"{year:,.0f} kWh costs {year * 0.25:.2f}" in page
    assert "18 of 120 intervals have no power" in page
    assert "straight lines" in page
    assert "seems" not in page


@pytest.mark.search
def test_a_wrong_clock_is_said_first_and_can_be_mended(busy_host_file, samples, tmp_path):
    meter, points = meter_file(tmp_path, samples, shift=timedelta(hours=2))
    page = text_of(report([busy_host_file, meter], "power_profile", tmp_path / "report.html"))
    warned = page.index("seems 2h ahead of the capture's")
    assert page.index("What was drawn", page.index("What was drawn") + 1) < warned < page.index("Mean power")
    assert "offset='-2h'" in page
    found = gather.gather([busy_host_file, meter], offset="-2h")
    assert found.measured_by == "meter: Power (W)"
    assert found.meters[0].join.correlation > 0.9
    shifted = found.readings.filter(pl.col("recording") == "meter")
    assert shifted["time"].min() == points[0][0] - timedelta(hours=2)
    assert "shifted by -2 h" in shown("power_profile", "mend =", found=found).text


def test_a_clock_that_is_off_by_seconds_is_said_where_times_are_shared(busy_host_file, samples, tmp_path):
    meter, _ = meter_file(tmp_path, samples, shift=timedelta(seconds=60))
    found = gather.gather([busy_host_file, meter])
    assert "1m ahead of the capture's" in shown("power_profile", "mend =", found=found).text
    assert "ex-warning" in shown("power_profile", "mend =", found=found).html


@pytest.mark.parametrize(
    ("other", "told"), [("b", "Mean power: 300 W (sum of 2: a, b,"), ("Total", "Mean power: 200 W (Total,")]
)
def test_watts_of_one_column_are_summed_where_they_add_up(tmp_path, other, told):
    rows = (f"2026-03-02T08:0{n}:00Z,{name},{watts}\n" for n in range(3) for name, watts in (("a", 100), (other, 200)))
    (tmp_path / "hosts.csv").write_text("timestamp,host,watts\n" + "".join(rows))
    assert told in shown("power_profile", "shown = tiles(items)", found=gather.gather([tmp_path / "hosts.csv"])).text


def counting_meter(folder, counts):
    """What is collected of a BMC that counts kWh, every minute from START: its watts are always 300."""
    lines = [{"time": f"{START:%FT%TZ}", "collector": "esxparse collect power", "version": "0.1.0", "interval_s": 60.0}]
    for place, kwh in enumerate(counts):
        document = {
            "@odata.id": "/redfish/v1/Chassis/1/EnvironmentMetrics",
            "@odata.type": "#EnvironmentMetrics.v1_3_0.EnvironmentMetrics",
            "Name": "Chassis",
            "PowerWatts": {"Reading": 300},
            "EnergykWh": {"Reading": kwh},
        }
        time = START + timedelta(minutes=place)
        lines.append({"time": f"{time:%FT%TZ}", "uri": document["@odata.id"], "document": document})
    path = folder / "meter.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_counter_that_restarts_counts_its_steps_up_and_says_when(tmp_path):
    found = gather.gather([counting_meter(tmp_path, [999.98, 999.985, 999.99, 0.002, 0.007, 0.012])])
    assert gather.energies(found)["by_counter_kwh"].item() == pytest.approx(0.005 * 4)
    text = shown("power_profile", "## Energy", found=found).text
    assert "The energy counter of Chassis restarted before 2026-03-02 08:03:00 UTC." in text
    twice = gather.gather([counting_meter(tmp_path, [5, 6, 1, 2, 0.5])])
    assert gather.energies(twice)["by_counter_kwh"].item() == pytest.approx(2)
    assert (
        "restarted 2 times, first before 2026-03-02 08:02:00 UTC."
        in shown("power_profile", "## Energy", found=twice).text
    )
    steady = gather.gather([counting_meter(tmp_path, [999.98, 999.985, 1000.0])])
    assert gather.energies(steady)["by_counter_kwh"].item() == pytest.approx(0.02)
    assert "restarted" not in shown("power_profile", "## Energy", found=steady).text
    once = gather.gather([counting_meter(tmp_path, [7])])
    assert gather.energies(once)["by_counter_kwh"].item() is None


def test_a_sensor_has_one_mean_on_the_page(tmp_path):
    lines = [
        f"{START + timedelta(seconds=at):%FT%TZ},{watts}" for at, watts in ((0, 100), (10, 100), (20, 100), (50, 400))
    ]
    (tmp_path / "meter.csv").write_text("Time,Power (W)\n" + "\n".join(lines) + "\n")
    found = gather.gather([tmp_path / "meter.csv"])
    mean = (100 * 10 + 100 * 10 + 250 * 30) / 50
    assert f"Mean power: {mean:.0f} W" in shown("power_profile", "shown = tiles(items)", found=found).text
    for block in (shown("power_profile", f"power_profile.{name}", found=found) for name in ("sensors", "energies")):
        assert f" {mean:.1f}" in block.text


def test_the_columns_of_a_csv_that_nothing_else_tells(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("moment,left,right\n2026-03-02T08:00:00Z,100,1\n2026-03-02T08:01:00Z,200,2\n")
    found = gather.gather([path], time_column="moment", value_column="left")
    assert gather.energies(found)["energy_joules"].item() == 9000.0


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        (["busy-host/busy-host.csv", "busy-host/busy-host.csv"], {}, "are both esxtop captures"),
        (["formats/perf-plain.txt"], {}, "is perf_stat: this report reads esxtop, redfish"),
        (["formats/power-pdu-export.csv"], {"price_per_kwh": "dear"}, "price_per_kwh must be a number of 0 or more"),
    ],
)
def test_what_cannot_work_is_one_clear_line(files, options, message):
    with pytest.raises(ex.EsxparseError, match=message):
        gather.gather([ex.datasets_dir() / name for name in files], **options)


def test_recordings_of_different_days_get_an_axis_each(busy_host_file):
    found = gather.gather([busy_host_file, FORMATS / "ipmi-dcmi-loop.txt"])
    assert len(gather.periods(found)) == 2
    assert len(shown("power_profile", "energy.sensors(", found=found).charts) == 2
    assert "do not overlap in time" in shown("power_profile", "mend =", found=found).text


def readings(count=20, step=10, skip=(), **columns):
    rows = {
        "time": [START + timedelta(seconds=step * place) for place in range(count) if place not in skip],
        "watts": [200.0 + place for place in range(count) if place not in skip],
    }
    frame = pl.LazyFrame(rows, schema_overrides={"time": pl.Datetime("us", "UTC")})
    filled = {"label": "Meter", "kind": "system", "since_start": False} | columns
    empty = {name: None for name in ("watts_minimum", "watts_maximum", "interval_s") if name not in columns}
    more = {
        name: pl.lit(value, dtype=pl.Float64 if value is None else None) for name, value in (filled | empty).items()
    }
    return frame.with_columns(**more)


def layers(spec):
    return [one for layer in spec.get("layer", [spec]) for one in (layers(layer) if "layer" in layer else [layer])]


def test_lines_end_at_gaps_and_the_cap_is_drawn():
    spec = energy.sensors(readings(30, skip=range(10, 20)), "system", 300.0).to_dict()
    assert spec["title"]["text"] == "Power of the whole host"
    assert "gaps break the lines" in spec["title"]["subtitle"][0]
    data = [row for rows in spec["datasets"].values() for row in rows if "piece" in row]
    assert {row["piece"] for row in data} == {0, 1}
    assert "cap 300 W" in str(spec["datasets"])
    assert any(layer.get("encoding", {}).get("y", {}).get("title") == "watts" for layer in layers(spec))


def test_a_meters_own_minimum_and_maximum_are_the_band_only_where_they_are_of_one_reading():
    own = energy.sensors(readings(watts_minimum=150.0, watts_maximum=260.0, interval_s=10.0), "system").to_dict()
    wide = energy.sensors(readings(watts_minimum=150.0, watts_maximum=260.0, interval_s=1200.0), "system").to_dict()
    lows = [{row["low"] for rows in spec["datasets"].values() for row in rows if "low" in row} for spec in (own, wide)]
    assert lows[0] == {150.0}
    assert min(lows[1]) == 200.0


def test_idle_and_full_load_are_called_so_only_where_they_are():
    frame = readings(100).with_columns(util_pct=pl.int_range(pl.len()).cast(pl.Float64))
    spec = str(energy.against_load(frame, "Host util").to_dict())
    assert "idle: 202 W at 2 %" in spec
    assert "full load: 297 W at 97 %" in spec
    assert "+1.00 W per % util (correlation 1.00)" in spec
    half = frame.with_columns(util_pct=30 + pl.col("util_pct") / 5)
    assert "lowest load" in str(energy.against_load(half, "Host util").to_dict())


def test_charts_without_anything_to_draw_are_none():
    nothing = readings().filter(pl.lit(value=False))
    assert energy.sensors(nothing, "system") is None
    assert energy.sensors(readings(), "supply") is None
    assert energy.parts(readings()) is None
    assert energy.surroundings(readings(), "inlet_celsius") is None
    assert energy.against_load(nothing.with_columns(util_pct=1.0), "Host util") is None
    assert energy.cost_of_work(nothing.with_columns(util_pct=1.0, watts_per_unit=1.0), "GHz", "W per GHz") is None


def test_only_colours_that_follow_dark_mode_are_drawn(busy_host_file):
    found = gather.gather([busy_host_file])
    charts = shown("power_profile", "energy.sensors(", "against_load(", "cost_of_work(", found=found).charts
    assert len(charts) > 3
    drawn = {word for chart in charts for word in re.findall(r"#[0-9a-f]{6}", str(chart))}
    assert drawn <= set(theme.css_variables())


def test_samples_of_one_time_are_their_mean_in_charts_beside_the_load():
    times = [START, START, START, START + timedelta(seconds=10)]
    frame = pl.LazyFrame(
        {"time": times, "watts": [100.0, 110.0, 400.0, 200.0], "watts_esxtop": [90.0, None, 96.0, 0.0]}
    )
    spec = energy.beside_watts(frame.with_columns(pl.col("time").dt.replace_time_zone("UTC")), "PDU").to_dict()
    drawn = {
        (row["label"], row["time"] - min(one["time"] for one in rows)): row["value"]
        for rows in spec["datasets"].values()
        for row in rows
        if "value" in row
    }
    assert drawn == {("PDU", 0): pytest.approx(610 / 3, abs=0.01), ("PDU", 10_000): 200, ("esxtop", 0): 93}
