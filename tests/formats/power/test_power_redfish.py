"""Redfish documents: every number of the real ones, and the units and names of others."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import compose
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.formats.power import resources

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def opened(folder, *documents, name="bmc.json"):
    text = "\n".join(one if isinstance(one, str) else json.dumps(one, indent=2) for one in documents)
    return ex.open(compose.write(folder, text, name))


def power(watts, **more):
    return {
        "@odata.id": "/redfish/v1/Chassis/1/Power",
        "@odata.type": "#Power.v1_3_0.Power",
        "PowerControl": [{"MemberId": "0", "PowerConsumedWatts": watts, **more}],
    }


def polled(second, document):
    moment = (NOON + timedelta(seconds=second)).isoformat().replace("+00:00", "Z")
    return json.dumps({"time": moment, "uri": document["@odata.id"], "document": document})


@pytest.mark.parametrize(
    "name",
    [
        "dmtf_mockup_power.json",
        "idrac_redfish_power.json",
        "ilo5_edgeline_power_v1_7_1.json",
        "ilo5_redfish_power.json",
    ],
)
def test_every_number_of_a_real_document_is_there(name):
    file = compose.real_data("power", name)
    raw = json.loads(file.read_text())
    rec = ex.open(file)
    assert rec.format == "redfish"
    table = rec["power"].collect()
    assert "time" not in table.columns
    assert not [note for note in rec.notes if note.severity == "warning"]
    (control,) = raw["PowerControl"]
    (row,) = table.filter(kind="system").to_dicts()
    metrics = control["PowerMetrics"]
    assert row["source"] == raw["@odata.id"]
    assert row["watts"] == control["PowerConsumedWatts"]
    assert row["watts_average"] == metrics["AverageConsumedWatts"]
    assert row["watts_minimum"] == metrics["MinConsumedWatts"]
    assert row["watts_maximum"] == metrics["MaxConsumedWatts"]
    assert row["interval_s"] == metrics["IntervalInMin"] * 60
    assert row["watts_cap"] == control.get("PowerLimit", {}).get("LimitInWatts")
    block = raw.get("Oem", {}).get("Hpe", {}).get("PowerMetric", {})
    for column, key in {"cpu_watts": "CpuWatts", "dimm_watts": "DimmWatts", "inlet_celsius": "AmbTemp"}.items():
        assert row.get(column) == block.get(key)
    outputs = table.filter(pl.col("sensor").str.ends_with("output"))["watts"].to_list()
    expected = [
        s["LastPowerOutputWatts"] if s["LastPowerOutputWatts"] is not None else s["PowerOutputWatts"]
        for s in raw["PowerSupplies"]
    ]
    assert outputs == expected
    inputs = table.filter(pl.col("sensor").str.ends_with("input"))["watts"].to_list()
    assert inputs == [s["PowerInputWatts"] for s in raw["PowerSupplies"] if "PowerInputWatts" in s]
    averages = table.filter(pl.col("sensor").str.ends_with("output"))["watts_average"].to_list()
    oem = [s.get("Oem", {}).get("Hpe", {}) for s in raw["PowerSupplies"]]
    assert averages == [one.get("AveragePowerOutputWatts") for one in oem]
    (capacity,) = rec["capacity"].collect().to_dicts()
    assert capacity["capacity_watts"] == control["PowerCapacityWatts"]
    assert capacity["allocated_watts"] == control.get("PowerAllocatedWatts")


def test_a_document_that_is_no_json_is_one_clear_error_with_its_place():
    with pytest.raises(ex.DamagedError, match=r"invalid\.json: line 2, column 1: not valid JSON") as caught:
        ex.open(compose.real_data("power", "ilo5_redfish_power_invalid.json"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["-1", "NaN", "null", '"N/A"', "true", "1e999", "[]", "{}", "9" * 400])
def test_what_is_no_reading_is_none(tmp_path, value):
    text = json.dumps(power(123, PowerMetrics={"AverageConsumedWatts": 7})).replace("123", value)
    row = opened(tmp_path, text)["power"].collect().row(0, named=True)
    assert row["watts"] is None
    assert row["watts_average"] == 7


def test_deep_nesting_is_an_error_and_no_crash(tmp_path):
    with pytest.raises(ex.DamagedError, match="nested too deeply"):
        opened(tmp_path, '{"@odata.type": "#Power", "PowerControl": ' + "[" * 100_000)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 10_000)), min_size=1, unique_by=lambda pair: pair[0]))
def test_numbers_written_are_numbers_read(tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("redfish")
    rec = opened(folder, *(polled(second, power(watts)) for second, watts in pairs), name="polled.jsonl")
    table = rec["power"].collect()
    assert table["watts"].to_list() == [watts for _, watts in sorted(pairs)]


def found_by(function, resource, *more):
    found = resources.Found()
    function(resource, "/redfish/v1/x", found, *more)
    assert not found.bad
    return found.readings[0]


def test_minutes_become_seconds_and_kilowatt_hours_joules():
    control = {"PowerConsumedWatts": 300, "PowerMetrics": {"IntervalInMin": 20, "AverageConsumedWatts": 290}}
    assert found_by(resources.power, {"PowerControl": [control]})["interval_s"] == 1200
    del control["PowerMetrics"]["IntervalInMin"]
    assert found_by(resources.power, {"PowerControl": [control]})["interval_s"] is None
    assert found_by(resources.environment, {"EnergykWh": {"Reading": 0.5}})["energy_joules"] == 1_800_000
    both = {"EnergykWh": {"Reading": 0.5}, "EnergyJoules": {"Reading": 7}}
    assert found_by(resources.environment, both)["energy_joules"] == 7


@pytest.mark.parametrize(("name", "step"), [("FastPowerMeter", 10), ("PowerMeter", 300), ("SlowPowerMeter", None)])
def test_a_history_without_times_has_the_steps_its_maker_tells(name, step):
    resource = {"Id": name, "PowerDetail": [{"Average": 100}, {"Average": 101}]}
    assert found_by(resources.meter, resource, 1)["interval_s"] == step


@pytest.mark.parametrize(
    ("metric", "column"),
    [
        ("SystemInputPower", "watts"), ("TotalPOWER", "watts"), ("CPUWatts", "watts"),
        ("AvgPower", "watts_average"), ("PowerAVG", "watts_average"), ("AveragePowerWatts", "watts_average"),
        ("MinPower", "watts_minimum"), ("MinimumPower", "watts_minimum"),
        ("MaxPower", "watts_maximum"), ("MaximumPower", "watts_maximum"), ("PeakPower", "watts_maximum"),
        # No word of its own.
        ("PowerRemaxed", "watts"),
        *((name, "") for name in (
            "FanSpeed", "PowerState", "PowerSTATE", "PowerFactor", "PowerStatus", "PowerPercent", "PowerCapacityWatts",
            "PowerAllocatedWatts", "PowerHeadroomWatts", "PowerEnergykWh", "PowerOnCount", "PowerLoad", "PowerMode",
            "PowerTime", "PowerVoltage", "PowerAmps", "PowerRedundancy", "PowerAvailableWatts", "PowerRequestedWatts",
            "PowerLimitWatts", "PowerCap", "PowerSupplied", "PowerHealth", "PowerCapability",
        )),
    ],
)  # fmt: skip
def test_what_a_metric_of_a_report_measures_is_told_by_the_words_of_its_name(metric, column):
    assert resources._metric_column(metric) == column
