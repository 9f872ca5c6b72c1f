"""Power as BMCs say it, written: read back by our readers, by sushy from a static server, and against real replies."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import compose
import pytest
import sushy
import sushy.auth
from bmc import static_server
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples
from sushy.resources.chassis.constants import ChassisType

import esxparse as ex
from esxparse.collect import power as collect
from esxparse.errors import EsxparseError
from esxparse_simulator.writers import redfish, redfish_poll, ribcl
from esxparse_simulator.writers.power_series import Reading, Series, history, series, window

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
FLAVOURS = ("ilo4", "ilo5", "ilo6", "idrac9")
FEW = settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def readings(count=200, step=10.0, watts=lambda number: 180.0 + number % 50):
    return series(
        Reading(
            NOON + timedelta(seconds=step * number),
            watts(number),
            cpu_util_pct=37.0,
            cpu_mhz=2400.0,
            inlet_celsius=23.0,
            cpu_watts=90.0,
            dimm_watts=21.0,
        )
        for number in range(count)
    )


def end(of: Series):
    return of.readings[-1].time


def opened(folder, content, name="bmc.json"):
    return ex.open(compose.write(folder, content, name))


def loud(rec):
    return [str(note) for note in rec.notes if note.severity == "warning"]


some_watts = st.lists(st.floats(50, 900), min_size=3, max_size=150)


@FEW
@given(watts=some_watts, flavour=st.sampled_from(FLAVOURS), cap=st.sampled_from([None, 250, 400]))
def test_power_gives_the_numbers_back(tmp_path, watts, flavour, cap):
    of = readings(len(watts), watts=watts.__getitem__)
    document = redfish.power_document(redfish.Bmc(flavour, cap_watts=cap), of, end(of))
    rec = opened(tmp_path, redfish.text(document))
    assert rec.format == "redfish"
    assert not loud(rec)
    (row,) = [one for one in rec["power"].collect().to_dicts() if one["kind"] == "system"]
    over = window(of, end(of), row["interval_s"])
    assert row["watts"] == round(watts[-1])
    assert (row["watts_minimum"], row["watts_maximum"]) == (round(over.minimum), round(over.maximum))
    assert row["watts_average"] == round(over.average)
    assert row["watts_minimum"] <= row["watts_average"] <= row["watts_maximum"]
    assert row["watts_cap"] == cap
    assert row["interval_s"] == (60 if flavour == "idrac9" else 1200)
    supplies = [one["watts"] for one in rec["power"].collect().to_dicts() if one["sensor"].endswith("output")]
    assert sum(supplies) == pytest.approx(watts[-1] * 0.94, abs=1.0)
    assert rec["capacity"].collect()["capacity_watts"].item() == 1600


@pytest.mark.parametrize("flavour", ["ilo4", "ilo5", "ilo6"])
def test_histories_give_every_sample_back(tmp_path, flavour):
    of = readings(600)
    bmc = redfish.Bmc(flavour, cap_watts=300)
    for name in redfish.histories(bmc):
        rec = opened(tmp_path, redfish.text(redfish.meter_document(bmc, of, end(of), name), indent=2))
        assert not loud(rec)
        table = rec["power"].collect()
        step = {"FastPowerMeter": 10, "PowerMeter": 300, "SlowPowerMeter": 3600}[name]
        spans = history(of, end(of), step, 120 * 10 if step == 10 else 288 * 300)
        assert table["time"].to_list() == [one.end for one in spans]
        assert table["watts"].to_list() == [round(one.watts.average) for one in spans]
        assert table["watts_maximum"].to_list() == [round(one.watts.maximum) for one in spans]
        assert set(table["cpu_util_pct"]) == {37.0}
        assert set(table["cpu_mhz"]) == {2400.0}
        assert set(table["inlet_celsius"]) == {23.0}
        assert set(table["watts_cap"]) == {300.0}
        (summary,) = rec["power_summary"].collect().to_dicts()
        assert summary["samples"] == len(spans)
        assert summary["watts_maximum"] == table["watts_maximum"].max()
        assert summary["watts_average"] == pytest.approx(table["watts"].mean(), abs=0.5)


def test_fast_samples_are_the_readings_and_twenty_minutes_agree_with_power():
    of = readings(500)
    bmc = redfish.Bmc()
    fast = redfish.meter_document(bmc, of, end(of), "FastPowerMeter")
    assert [one["Average"] for one in fast["PowerDetail"]] == [round(one.watts) for one in of.readings[-120:]]
    (control,) = redfish.power_document(bmc, of, end(of))["PowerControl"]
    told = control["PowerMetrics"]
    assert (told["MinConsumedWatts"], told["MaxConsumedWatts"]) == (fast["Minimum"], fast["Maximum"])
    assert told["AverageConsumedWatts"] == pytest.approx(fast["Average"], abs=1)
    slow = redfish.meter_document(bmc, of, end(of), "PowerMeter")["PowerDetail"][-1]
    ending = datetime.fromisoformat(slow["Time"])
    assert slow["Average"] == round(window(of, ending, 300.0).average)


@pytest.mark.parametrize(
    ("flavour", "file"),
    [("ilo5", "ilo5_redfish_power.json"), ("ilo6", "ilo5_edgeline_power_v1_7_1.json"),
     ("idrac9", "idrac_redfish_power.json")],
)  # fmt: skip
def test_power_has_the_keys_of_the_real_one_in_its_order(flavour, file):
    real = json.loads(compose.real_data("power", file).read_text())
    of = readings()
    ours = redfish.power_document(redfish.Bmc(flavour), of, end(of))

    def same(mine, theirs, where):
        if isinstance(mine, dict):
            assert [key for key in theirs if key in mine] == list(mine), where
            for key in mine:
                same(mine[key], theirs[key], f"{where}.{key}")
        elif isinstance(mine, list) and mine and theirs:
            same(mine[0], theirs[0], f"{where}[0]")

    same(ours, real, flavour)
    assert ours["@odata.type"] == real["@odata.type"]
    own, oem = ours.get("Oem", {}).get("Hpe"), real.get("Oem", {}).get("Hpe")
    assert own is None or (list(own), list(own["Links"])) == (list(oem), list(oem["Links"]))


def test_an_ilo_4_has_its_own_key_links_and_slashes():
    of = readings()
    served = redfish.documents(redfish.Bmc("ilo4"), of, end(of))
    power = served["/redfish/v1/Chassis/1/Power/"]
    links = power["Oem"]["Hp"]["links"]
    assert {uri for name, one in links.items() if (uri := one["href"]) and name != "FederatedGroupCapping"} <= set(
        served
    )
    assert all(uri.endswith("/") for uri in served)
    assert power["PowerMetrics"] == power["PowerControl"][0]["PowerMetrics"]
    times = [one["Time"] for one in served[links["FastPowerMeter"]["href"]]["PowerDetail"]]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_sushy_and_our_collector_read_a_static_server(tmp_path, flavour):
    of = readings()
    folder = tmp_path / "mockup"
    bmc = redfish.Bmc(flavour, serial="CZ1234", supplies=3)
    for path, content in redfish.mockup(bmc, of, end(of)).items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    with static_server(folder) as port:
        url = f"http://127.0.0.1:{port}"
        root = sushy.Sushy(url, auth=sushy.auth.BasicAuth("someone", "secret"))
        (chassis,) = root.get_chassis_collection().get_members()
        assert (chassis.serial_number, chassis.chassis_type) == ("CZ1234", ChassisType.RACK_MOUNT)
        supplies = chassis.power.power_supplies
        assert [one.power_capacity_watts for one in supplies] == [800] * 3
        watts = round(of.readings[-1].watts * 0.94 / 3)
        assert {one.last_power_output_watts for one in supplies} == {None if flavour == "idrac9" else watts}
        assert [one.reading_celsius for one in chassis.thermal.temperatures] == [23]
        (system,) = root.get_system_collection().get_members()
        assert (system.power_state, system.identity) == (sushy.PowerState.ON, chassis.identity)
        out = tmp_path / "collected.jsonl"
        collect(url, out, interval=1, duration=0.2)
    rec = ex.open(out)
    (found,) = {
        one["watts"]
        for one in rec["power"].collect().to_dicts()
        if "PowerControl" in one["sensor"] or one["sensor"] == "System Power Control"
    }
    assert found == round(of.readings[-1].watts)
    assert not loud(rec)


def test_polls_are_as_the_collector_writes_them(tmp_path):
    of = readings(400)
    polling = redfish_poll.Polling(NOON, 30.0, 3600.0, gaps=((600.0, 700.0),), bmc_ahead_s=3.0)
    content = b"".join(redfish_poll.lines(polling, of, seed=5))
    assert content == b"".join(redfish_poll.lines(polling, of, seed=5))
    rec = opened(tmp_path, content, "polled.jsonl")
    assert not loud(rec)
    assert rec.meta["host"] == "ilo-01.lab.example"
    polled = rec["power"].filter(source="/redfish/v1/Chassis/1/Power", kind="system").collect()
    assert [f"{one:%M:%S}" for one in polled["time"].to_list()][:3] == ["00:00", "00:30", "01:00"]
    assert len(polled) == 121 - 4
    assert rec["gaps"].collect().height == 4
    expected = [round(of.last(one).watts) for one in polled["time"].to_list()]
    assert polled["watts"].to_list() == expected
    ahead = (polled["bmc_time"] - polled["time"]).dt.total_seconds()
    assert ahead.min() >= 2
    first, second, *_ = (json.loads(line) for line in content.splitlines())
    assert list(first) == ["time", "collector", "version", "url", "interval_s"]
    assert list(second) == ["time", "uri", "round_trip_s", "bmc_time", "document"]
    times = [json.loads(line)["time"] for line in content.splitlines()]
    assert times == sorted(times)


@FEW
@given(watts=some_watts, generation=st.sampled_from(["ilo2", "ilo3", "ilo4"]))
def test_ribcl_gives_the_numbers_back(tmp_path, watts, generation):
    of = readings(len(watts), step=60.0, watts=watts.__getitem__)
    polls = ribcl.Polls(NOON + timedelta(seconds=60), 60.0, len(watts) - 1, generation)
    rec = opened(tmp_path, b"".join(ribcl.lines(polls, of)), "ribcl.txt")
    assert not loud(rec)
    rows = rec["power"].collect().to_dicts()
    assert [row["watts"] for row in rows] == [round(one) for one in watts[1:]]
    assert [row["time"] for row in rows] == [one.time for one in of.readings[1:]]
    whole = window(of, end(of), 1200.0 if generation == "ilo4" else 86_400.0)
    assert rows[-1]["watts_average"] == round(whole.average)
    assert (rows[-1]["watts_minimum"], rows[-1]["watts_maximum"]) == (round(whole.minimum), round(whole.maximum))


def test_a_reply_of_an_ilo_3_is_that_of_a_real_one_byte_by_byte():
    real = compose.real_data("power", "ilo3_ribcl_power_readings.raw.xml").read_bytes()
    now, average, most, least = (int(one) for one in re.findall(rb'READING VALUE="(\d+)"', real))
    at = datetime.strptime(re.search(rb"\nDate: (.*) GMT", real)[1].decode(), "%a, %d %b %Y %H:%M:%S").replace(
        tzinfo=UTC
    )
    # A day as the real one sums it up, and the last second.
    of = series(
        Reading(at - timedelta(seconds=before), average, least, most) if before else Reading(at, now)
        for before in (86_400, 1, 0)
    )
    assert ribcl.reply(of, at) == real


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: series([]),
        lambda: series([Reading(NOON.replace(tzinfo=None), 100.0)]),
        lambda: series([Reading(NOON, -1.0)]),
        lambda: series([Reading(NOON, float("nan"))]),
        lambda: series([Reading(NOON, 100.0, minimum_watts=120.0)]),
        lambda: series([Reading(NOON, 100.0), Reading(NOON, 101.0)]),
        lambda: redfish.power_document(redfish.Bmc("ilo9"), readings(), NOON),
        lambda: redfish.power_document(redfish.Bmc(supplies=0), readings(), NOON),
        lambda: redfish.meter_document(redfish.Bmc("idrac9"), readings(), NOON, "PowerMeter"),
        lambda: list(redfish_poll.lines(redfish_poll.Polling(NOON, interval_s=0.0), readings())),
        lambda: list(redfish_poll.lines(redfish_poll.Polling(NOON, gaps=((5.0, 5.0),)), readings())),
        lambda: list(ribcl.lines(ribcl.Polls(NOON, count=0), readings())),
        lambda: ribcl.reply(readings(), NOON, "ilo1"),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(wrong):
    with pytest.raises(EsxparseError, match=r"^[^\n]+$"):
        wrong()


def test_readings_weigh_by_their_time():
    of = series(
        [
            Reading(NOON, 100.0),
            Reading(NOON + timedelta(seconds=10), 100.0),
            Reading(NOON + timedelta(seconds=40), 200.0),
        ]
    )
    assert window(of, NOON + timedelta(seconds=40), 40.0) == (175.0, 100.0, 200.0)
    assert window(of, NOON + timedelta(seconds=40), 20.0) == (200.0, 200.0, 200.0)
    assert window(of, NOON + timedelta(hours=5), 60.0) == (200.0, 200.0, 200.0)
