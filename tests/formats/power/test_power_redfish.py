"""Redfish documents: every number of the real ones, and what other BMCs, releases and damage make of them."""

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


def meter(samples, kind="FastPowerMeter", **more):
    return {
        "@odata.id": f"/redfish/v1/Chassis/1/Power/{kind}/",
        "@odata.type": "#HpePowerMeter.v2_0_1.HpePowerMeter",
        "Id": kind,
        "PowerDetail": samples,
        **more,
    }


def polled(second, document, **more):
    moment = (NOON + timedelta(seconds=second)).isoformat().replace("+00:00", "Z")
    return json.dumps({"time": moment, "uri": document["@odata.id"], "document": document, **more})


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


def test_samples_of_a_history_have_their_own_times(tmp_path):
    samples = [
        {
            "Time": f"2026-03-02T12:00:{second:02d}Z",
            "Average": 100 + second,
            "Peak": 150,
            "Minimum": 90,
            "AmbTemp": 22,
            "Cap": 0,
            "CpuAvgFreq": 2400,
            "CpuUtil": 37,
            "CpuWatts": 41,
            "DimmWatts": 12,
            "GpuWatts": 0,
            "SharedFanWatts": 3,
            "UnachCap": False,
        }
        for second in (20, 10, 0)
    ]
    rec = opened(tmp_path, meter(samples, Average=111, Maximum=150, Minimum=90, Samples=3))
    table = rec["power"].collect()
    assert table["time"].to_list() == [NOON, NOON + timedelta(seconds=10), NOON + timedelta(seconds=20)]
    assert table["watts"].to_list() == [100, 110, 120]
    (first, *_) = table.to_dicts()
    expected = {
        "watts_average": 100,
        "watts_maximum": 150,
        "watts_minimum": 90,
        "watts_cap": None,
        "interval_s": 10,
        "cpu_watts": 41,
        "dimm_watts": 12,
        "gpu_watts": 0,
        "fan_watts": 3,
        "inlet_celsius": 22,
        "cpu_util_pct": 37,
        "cpu_mhz": 2400,
        "sensor": "FastPowerMeter",
        "kind": "system",
    }
    assert {name: first[name] for name in expected} == expected
    assert rec["power_summary"].collect().row(0)[1:] == ("FastPowerMeter", 111, 90, 150, 3)
    assert rec.meta["interval"] == 10
    assert rec.meta["samples"] == 3


def test_samples_without_a_time_get_none(tmp_path):
    samples = [
        {"Time": "N/A", "Average": 80},
        {"Time": "1970-01-01T00:00:09Z", "Average": 81},
        {"Time": "2026-03-02T12:00:00Z", "Average": 82},
    ]
    rec = opened(tmp_path, polled(60, meter(samples)), name="polled.jsonl")
    assert rec["power"].collect()["watts"].to_list() == [82]
    assert rec["power_undated"].collect()["watts"].to_list() == [80, 81]
    assert any("not set" in note.message for note in rec.notes)


def test_lines_of_a_collector_have_the_time_of_the_poll_and_gaps_are_a_table(tmp_path):
    header = json.dumps(
        {"time": "2026-03-02T12:00:00Z", "collector": "esxparse collect power", "url": "https://ilo-1:8443"}
    )
    gap = json.dumps(
        {"time": "2026-03-02T12:00:20Z", "uri": "/redfish/v1/Chassis/1/Power", "error": "connection refused"}
    )
    lines = [
        header,
        polled(0, power(200), round_trip_s=0.5, bmc_time="2026-03-02T13:00:00Z"),
        polled(10, power(210)),
        gap,
        polled(30, power(240)),
    ]
    rec = opened(tmp_path, *lines, name="polled.jsonl")
    table = rec["power"].collect()
    assert [(row["time"] - NOON).total_seconds() for row in table.to_dicts()] == [0, 10, 30]
    assert table["watts"].to_list() == [200, 210, 240]
    assert table["round_trip_s"][0] == 0.5
    assert table["bmc_time"][0] == NOON + timedelta(hours=1)
    assert rec["gaps"].collect()["error"].to_list() == ["connection refused"]
    assert rec.meta["host"] == "ilo-1"
    cut = ex.open(tmp_path / "polled.jsonl", start="2026-03-02T12:00:05", end="2026-03-02T12:00:15")
    assert cut["power"].collect()["watts"].to_list() == [210]


def test_collections_of_two_hosts_one_after_the_other_stay_two(tmp_path):
    lines = []
    for host, watts in (("ilo-1", 200), ("ilo-2", 210)):
        first = {"time": "2026-03-02T12:00:00Z", "collector": "esxparse collect power", "url": f"https://{host}"}
        lines += [json.dumps(first), polled(10, power(watts))]
    rec = opened(tmp_path, *lines, name="polled.jsonl")
    assert rec["power"].collect().select(pl.col("sensor").str.head(5), "watts").rows() == [
        ("ilo-1", 200),
        ("ilo-2", 210),
    ]
    assert rec.meta["host"] == "ilo-1, ilo-2"


def test_overlapping_histories_count_once(tmp_path):
    def sample(second):
        return {"Time": f"2026-03-02T12:00:{second:02d}Z", "Average": 100 + second}

    first, second = meter([sample(n) for n in range(0, 30, 10)]), meter([sample(n) for n in range(10, 50, 10)])
    rec = opened(tmp_path, polled(30, first), polled(50, second), name="polled.jsonl")
    assert rec["power"].collect()["watts"].to_list() == [100, 110, 120, 130, 140]


def test_documents_in_a_loop_of_date_and_curl(tmp_path):
    first = ["Mon Mar  2 13:00:00 CET 2026", power(200)]
    second = [
        "HTTP/1.1 200 OK",
        "Content-Type: application/json",
        "Date: Mon, 02 Mar 2026 12:00:10 GMT",
        "",
        power(220),
    ]
    third = ["1772452820", power(230), "some noise of the script"]
    rec = opened(tmp_path, *first, *second, *third)
    table = rec["power"].collect()
    assert [(time - NOON).total_seconds() for time in table["time"]] == [0, 10, 20]
    assert table["watts"].to_list() == [200, 220, 230]
    (odd,) = [note for note in rec.notes if note.severity == "warning"]
    assert "neither JSON nor a time" in odd.message


def test_a_broken_document_between_others_costs_only_itself(tmp_path):
    whole = json.dumps(power(200), indent=2)
    rec = opened(tmp_path, whole, whole[: len(whole) // 2], whole.replace("200", "300"))
    assert rec["power"].collect()["watts"].to_list() == [200, 300]
    (note,) = [note for note in rec.notes if note.severity == "warning"]
    assert "not valid JSON" in note.message
    assert note.line > 1


def test_parts_are_not_taken_for_the_whole(tmp_path):
    control = [
        {"Name": "Server Power Control", "PowerConsumedWatts": 300, "PowerLimit": {"LimitInWatts": 0}},
        {"Name": "CPU Sub-system Power", "PowerConsumedWatts": 110},
        {"Name": "Memory Sub-system Power", "PowerConsumedWatts": 31},
    ]
    rec = opened(tmp_path, power(0) | {"PowerControl": control})
    assert rec["power"].collect()["kind"].to_list() == ["system", "part", "part"]
    assert rec["power"].collect()["watts_cap"][0] is None


def test_the_power_metrics_of_an_old_ilo_4(tmp_path):
    old = {
        "Type": "PowerMetrics.0.11.0",
        "PowerConsumedWatts": 96,
        "PowerCapacityWatts": 920,
        "PowerMetrics": {
            "AverageConsumedWatts": 97,
            "IntervalInMin": 20,
            "MaxConsumedWatts": 143,
            "MinConsumedWatts": 95,
        },
        "links": {"self": {"href": "/rest/v1/Chassis/1/PowerMetrics"}},
    }
    row = opened(tmp_path, old)["power"].collect().row(0, named=True)
    assert (row["source"], row["watts"], row["watts_average"]) == ("/rest/v1/Chassis/1/PowerMetrics", 96, 97)


def test_environment_supplies_subsystem_and_sensor(tmp_path):
    where = "/redfish/v1/Chassis/1"
    environment = {
        "@odata.id": f"{where}/EnvironmentMetrics",
        "@odata.type": "#EnvironmentMetrics.v1_3_1.EnvironmentMetrics",
        "Name": "Chassis Environment",
        "PowerWatts": {"Reading": 374.5},
        "PowerLimitWatts": {"SetPoint": 500},
        "TemperatureCelsius": {"Reading": 24, "DataSourceUri": f"{where}/Sensors/InletTemp"},
        "EnergykWh": {"Reading": 2},
    }
    supply = {
        "@odata.id": f"{where}/PowerSubsystem/PowerSupplies/Bay1/Metrics",
        "@odata.type": "#PowerSupplyMetrics.v1_1_0.PowerSupplyMetrics",
        "InputPowerWatts": {"Reading": 937.5},
        "OutputPowerWatts": {"Reading": 900.25},
    }
    subsystem = {
        "@odata.id": f"{where}/PowerSubsystem",
        "@odata.type": "#PowerSubsystem.v1_1_0.PowerSubsystem",
        "CapacityWatts": 2000,
        "Allocation": {"AllocatedWatts": 80, "RequestedWatts": 90},
    }
    sensor = {
        "@odata.id": f"{where}/Sensors/TotalPower",
        "@odata.type": "#Sensor.v1_7_0.Sensor",
        "Name": "Total Power",
        "Reading": 371.0,
        "ReadingUnits": "W",
    }
    rec = opened(tmp_path, environment, supply, subsystem, sensor)
    rows = {row["sensor"]: row for row in rec["power"].collect().to_dicts()}
    assert rows["Chassis Environment"]["watts"] == 374.5
    assert rows["Chassis Environment"]["watts_cap"] == 500
    assert rows["Chassis Environment"]["inlet_celsius"] == 24
    assert rows["Chassis Environment"]["energy_joules"] == 7_200_000
    assert rows["power supply Bay1 input"]["watts"] == 937.5
    assert rows["power supply Bay1 output"]["watts"] == 900.25
    assert rows["Total Power"]["watts"] == 371
    assert rec["capacity"].collect().row(0)[2:] == (2000, 80, 90, None)


def test_a_metric_report_gives_its_watts_and_keeps_all_metrics(tmp_path):
    def metric(name, value, stamp="2026-03-02T07:00:00-05:00", place="#/PowerControl/0/PowerConsumedWatts"):
        return {
            "MetricId": name,
            "MetricProperty": f"/redfish/v1/Chassis/1/Power{place}",
            "MetricValue": value,
            "Timestamp": stamp,
        }

    values = [
        metric("SystemInputPower", "412"),
        metric("TotalCPUPower", "120"),
        metric("SystemHeadRoom", "9", place=""),
        metric("PSUHealthStatus", "OK", place=""),
    ]
    rec = opened(
        tmp_path,
        {
            "@odata.id": "/redfish/v1/TelemetryService/MetricReports/PowerMetrics",
            "MetricValues": values,
            "@odata.type": "#MetricReport.v1_4_2.MetricReport",
        },
    )
    table = rec["power"].collect()
    assert table.select("watts", "kind").rows() == [(412, "system"), (120, "part")]
    assert set(table["time"]) == {NOON}
    assert rec["metrics"].collect()["text"].to_list() == ["412", "120", "9", "OK"]


def test_an_error_of_the_bmc_is_told(tmp_path):
    error = {"error": {"code": "Base.1.4", "@Message.ExtendedInfo": [{"MessageId": "iLO.2.14.NoPermission"}]}}
    with pytest.raises(ex.DamagedError, match=r"the BMC answered with an error: iLO\.2\.14\.NoPermission"):
        opened(tmp_path, error)


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


def read_or_refused(file, form):
    try:
        return ex.open(file, format=form)
    except ex.EsxparseError as error:
        said = str(error)
    assert "\n" not in said
    return None


SAMPLES = sorted(path.name for path in (ex.datasets_dir() / "formats").glob("redfish-*"))


@settings(max_examples=examples(120), deadline=None)
@given(st.sampled_from(SAMPLES), st.data())
def test_whatever_the_damage_it_is_read_or_refused(tmp_path_factory, name, data):
    content = (ex.datasets_dir() / "formats" / name).read_bytes()
    where = data.draw(st.integers(0, len(content)))
    length = data.draw(st.integers(0, 400))
    how = data.draw(st.sampled_from(["cut", "nul", "lose", "twice", "noise"]))
    middle = {"cut": b"", "nul": b"\0" * length, "lose": b"", "twice": content[where : where + length] * 2}.get(
        how, data.draw(st.binary(max_size=40))
    )
    tail = b"" if how == "cut" else content[where + length :]
    file = compose.write(tmp_path_factory.mktemp("damage"), content[:where] + middle + tail, "damaged.json")
    if rec := read_or_refused(file, "redfish"):
        assert all(rec[table].collect().height for table in rec)


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
