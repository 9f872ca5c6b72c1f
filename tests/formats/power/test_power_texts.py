"""Power readings in RIBCL, from IPMI tools and in CSV: the real files number by number, their variants, and damage."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import compose
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.formats.power.readings import stamp

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def ribcl(*bodies, status="0x0000", message="No error"):
    response = f"<RESPONSE\n    STATUS=\"{status}\"\n    MESSAGE='{message}'\n     />\n"
    return "".join(f'<?xml version="1.0"?>\r\n<RIBCL VERSION="2.23">\n{response}{body}</RIBCL>\n' for body in bodies)


def readings(now, average, highest, lowest):
    rows = {"PRESENT": now, "AVERAGE": average, "MAXIMUM": highest, "MINIMUM": lowest}
    inside = "".join(f'<{name}_POWER_READING VALUE="{value}" UNIT="Watts"/>\n' for name, value in rows.items())
    return f"<GET_POWER_READINGS>\n{inside}</GET_POWER_READINGS>\n"


def chunked(text, size):
    content = text.encode()
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    head = b"HTTP/1.1 200 OK\r\nDate: Mon, 02 Mar 2026 12:00:00 GMT\r\nExpires: Thu, 26 Oct 1995 00:00:00 GMT\r\n\r\n"
    return head + b"".join(b"%03x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def opened(folder, content, name="power.txt", **options):
    return ex.open(compose.write(folder, content, name), **options)


def test_the_real_readings_of_an_ilo_3():
    file = compose.real_data("power", "ilo3_ribcl_power_readings.raw.xml")
    text = file.read_bytes().decode()
    rec = ex.open(file)
    (row,) = rec["power"].collect().to_dicts()
    for column, name in {
        "watts": "PRESENT",
        "watts_average": "AVERAGE",
        "watts_minimum": "MINIMUM",
        "watts_maximum": "MAXIMUM",
    }.items():
        assert row[column] == float(re.search(rf'{name}_POWER_READING VALUE="(\d+)"', text)[1])
    day, month, year, clock = re.search(r"\nDate: \w+, (\d+) (\w+) (\d+) ([\d:]+) GMT", text).groups()
    assert f"{row['time']:%d %b %Y %H:%M:%S}" == f"{day} {month} {year} {clock}"
    assert row["watts_cap"] is None
    assert not [note for note in rec.notes if note.severity == "warning"]


def test_the_real_cap_of_an_ilo_3_is_off():
    rec = ex.open(compose.real_data("power", "ilo3_ribcl_power_cap.raw.xml"))
    assert rec["settings"].collect().select("setting", "value").rows() == [("POWER_CAP", "OFF")]
    assert "power" not in rec
    assert not [note for note in rec.notes if note.severity == "warning"]


@pytest.mark.parametrize("size", [15, 16, 97, 150, 255, 4000])
def test_chunk_sizes_anywhere_are_taken_out(tmp_path, size):
    content = chunked(ribcl("", readings(108, 106, 157, 101), ""), size)
    rec = opened(tmp_path, content)
    expected = ("GET_POWER_READINGS", "system", "system", 108, 106, 101, 157, None, None)
    assert rec["power"].collect().row(0) == (NOON, *expected)


def test_a_cap_and_the_power_regulator(tmp_path):
    alert = '<PWRALERT TYPE="PEAK"/><PWRALERT_SETTINGS THRESHOLD="200" DURATION="35"/>'
    pwreg = f'<GET_PWREG><PCAP MODE="MAN"/><GET_HOST_POWER HOST_POWER="ON"/>{alert}</GET_PWREG>'
    rec = opened(tmp_path, ribcl('<GET_POWER_CAP>\n<POWER_CAP>"350"</POWER_CAP>\n</GET_POWER_CAP>\n', pwreg))
    assert rec["power"].collect()["watts_cap"].to_list() == [350]
    found = dict(rec["settings"].collect().select("setting", "value").rows())
    assert found == {
        "POWER_CAP": "350",
        "PCAP.MODE": "MAN",
        "GET_HOST_POWER.HOST_POWER": "ON",
        "PWRALERT.TYPE": "PEAK",
        "PWRALERT_SETTINGS.THRESHOLD": "200",
        "PWRALERT_SETTINGS.DURATION": "35",
    }


def test_the_power_summary_of_embedded_health(tmp_path):
    summary = '<POWER_SUPPLY_SUMMARY><PRESENT_POWER_READING VALUE = "61 Watts"/></POWER_SUPPLY_SUMMARY>'
    health = f"<GET_EMBEDDED_HEALTH_DATA><POWER_SUPPLIES>{summary}</POWER_SUPPLIES></GET_EMBEDDED_HEALTH_DATA>"
    assert opened(tmp_path, ribcl(health))["power"].collect()["watts"].to_list() == [61]


def test_an_error_of_an_ilo_is_told(tmp_path):
    refused = ribcl("", status="0x005F", message="Login credentials rejected.")
    with pytest.raises(ex.DamagedError, match="error 0x005F: Login credentials rejected"):
        opened(tmp_path, refused)
    rec = opened(tmp_path, ribcl(readings(1, 2, 3, 1)) + refused)
    assert rec["power"].collect()["watts"].to_list() == [1]
    assert any("0x005F" in note.message and note.severity == "warning" for note in rec.notes)


def test_entities_are_refused(tmp_path):
    bomb = (
        '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><RIBCL VERSION="2.0">&b;</RIBCL>'
    )
    with pytest.raises(ex.DamagedError, match="entities"):
        opened(tmp_path, bomb)


def test_a_cut_document_leaves_the_others(tmp_path):
    whole = ribcl(readings(100, 100, 100, 100))
    for text in (whole + whole[: len(whole) // 2], whole[: len(whole) // 2] + "\n" + whole):
        rec = opened(tmp_path, text)
        assert rec["power"].collect().height == 1
        assert any("cut" in note.message for note in rec.notes)


def test_every_number_of_the_real_dcmi_reading():
    file = compose.real_data("power", "ipmitool_dcmi_power_reading.txt")
    raw = dict(re.findall(r"^(.+?)\s+:\s+(.+?)\s*$", file.read_text(), re.MULTILINE))
    (row,) = ex.open(file)["power"].collect().to_dicts()
    watts = {
        "watts": "Instantaneous power reading",
        "watts_minimum": "Minimum during sampling period",
        "watts_maximum": "Maximum during sampling period",
        "watts_average": "Average power reading over sample period",
    }
    for column, label in watts.items():
        assert row[column] == float(raw[label].split()[0])
    assert row["interval_s"] == float(raw["Sampling period"].split()[0]) / 1000
    assert f"{row['time']:%Y-%m-%d %H:%M:%S} UTC" == raw["IPMI timestamp"]


def dcmi(watts, moment="Thu Jan  1 00:00:00 1970", state="activated"):
    return f"""
    Instantaneous power reading:                   {watts:5d} Watts
    Minimum during sampling period:                   70 Watts
    Maximum during sampling period:                  600 Watts
    Average power reading over sample period:        220 Watts
    IPMI timestamp:                           {moment}
    Sampling period:                          00000005 Seconds.
    Power reading state is:                   {state}

"""


@pytest.mark.parametrize(
    "dates",
    [
        ["Mon Mar  2 13:00:00 CET 2026", "Mon Mar  2 13:00:10 CET 2026"],
        ["2026-03-02T12:00:00Z", "2026-03-02T14:00:10+02:00"],
        ["1772452800", "1772452810"],
        ["Mo 2. Mär 13:00:00 CET 2026", "Mo 2. Mär 13:00:10 CET 2026"],
        ["Mon, 02 Mar 2026 13:00:00 +0100", "Mon, 02 Mar 2026 13:00:10 +0100"],
        ["Mon Mar  2 12:00:00 PM UTC 2026", "Mon Mar  2 12:00:10 PM UTC 2026"],
    ],
)
def test_a_loop_with_dates_between_of_any_form(tmp_path, dates):
    rec = opened(tmp_path, "".join(f"{date}\n{dcmi(200 + n)}" for n, date in enumerate(dates)))
    table = rec["power"].collect()
    assert table["time"].to_list() == [NOON, NOON + timedelta(seconds=10)]
    assert table["watts"].to_list() == [200, 201]
    assert any("not set" in note.message for note in rec.notes)


def test_dates_that_follow_their_readings(tmp_path):
    rec = opened(tmp_path, f"{dcmi(200)}2026-03-02T12:00:00Z\n{dcmi(201)}2026-03-02T12:00:10Z\n")
    assert rec["power"].collect().select("watts").to_series().to_list() == [200, 201]
    assert rec["power"].collect()["time"].to_list() == [NOON, NOON + timedelta(seconds=10)]
    assert any("before it" in note.message for note in rec.notes)


def test_dates_on_the_line_and_errors_between(tmp_path):
    lines = [
        "2026-03-02T12:00:00Z Instantaneous power reading:   214 Watts",
        "Error: Unable to establish IPMI v2 / RMCP+ session",
        "2026-03-02T12:00:20Z Instantaneous power reading:   216 Watts",
    ]
    rec = opened(tmp_path, "\n".join(lines) + "\n")
    assert rec["power"].collect()["watts"].to_list() == [214, 216]
    (note,) = [note for note in rec.notes if note.severity == "warning"]
    assert note.line == 2
    assert "RMCP+" in note.message


def test_a_bmc_that_does_not_measure(tmp_path):
    rec = opened(tmp_path, dcmi(235, state="deactivated"))
    assert rec["power"].collect()["watts"].to_list() == [None]
    assert "time" not in rec["power"].collect().columns


def test_freeipmi_and_a_limit(tmp_path):
    text = (
        "Current Power                        : 591 Watts\nMinimum Power over sampling duration : 558 watts\n"
        "Maximum Power over sampling duration : 607 watts\nAverage Power over sampling duration : 572 watts\n"
        "Time Stamp                           : 03/02/2026 - 12:0:1\n"
        "Statistics reporting time period     : 10000 milliseconds\nPower Measurement                    : Active\n"
        "    Current Limit State: Power Limit Active\n    Exception actions:   Hard Power Off\n"
        "    Power Limit:         450 Watts\n    Correction time:     1000 milliseconds\n"
    )
    rec = opened(tmp_path, text)
    (row,) = rec["power"].collect().to_dicts()
    assert (row["watts"], row["watts_minimum"], row["watts_maximum"], row["watts_average"]) == (591, 558, 607, 572)
    assert row["interval_s"] == 10
    assert row["time"] == NOON + timedelta(seconds=1)
    assert rec["power_undated"].collect()["watts_cap"].to_list() == [450]
    assert not [note for note in rec.notes if note.severity == "warning"]


@pytest.mark.parametrize(
    "lines",
    [
        [
            "Inlet Temp | 23.000 | degrees C | ok | na | 3.000 | na | 42.000 | 47.000 | na",
            "Pwr Consumption | 168.000 | Watts | ok | na | na | na | 896.000 | 980.000 | na",
            "PS1 Input Power | na | Watts | na | na | na | na | na | na | na",
        ],
        [
            "Inlet Temp       | 23 degrees C      | ok",
            "Pwr Consumption  | 168 Watts         | ok",
            "PS1 Input Power  | no reading        | ns",
        ],
        [
            "Inlet Temp       | 04h | ok  |  7.1 | 23 degrees C",
            "Pwr Consumption  | 77h | ok  |  7.1 | 168 Watts",
            "PS1 Input Power  | 60h | ns  | 10.1 | No Reading",
        ],
        ["Inlet Temp,23,degrees C,ok", "Pwr Consumption,168,Watts,ok", "PS1 Input Power,,,ns"],
    ],
    ids=["sensor", "sdr", "elist", "csv"],
)
def test_listings_of_sensors(tmp_path, lines):
    rec = opened(tmp_path, "2026-03-02T12:00:00Z\n" + "\n".join(lines) + "\n")
    (row,) = rec["power"].collect().to_dicts()
    assert (row["time"], row["sensor"], row["kind"], row["watts"]) == (NOON, "Pwr Consumption", "system", 168)
    assert row["inlet_celsius"] == 23
    assert rec["sensors"].collect().height == 3


def test_freeipmi_sensors(tmp_path):
    text = "ID | Name            | Type    | Reading | Units | Event\n"
    text += "9  | Pwr Consumption | Current | 168.00  | W     | 'OK'\n"
    assert opened(tmp_path, text)["power"].collect()["watts"].to_list() == [168]


ELIST = """\
PS1 Status       | C8h | ok  | 10.1 | 110 Watts, Presence detected
PS2 Status       | C9h | ok  | 10.2 | 0 Watts, Power Supply AC lost
PS3 Status       | CAh | ns  | 10.3 | No Reading
Fan Redundancy   | 75h | ok  |  7.1 | Fully Redundant
VRM              | 76h | ok  |  7.1 | 0x01
Airflow          | 77h | ok  |  7.1 | 12.50 CFM
CPU              | 78h | ok  |  7.1 | 41 % degrees C
Disk             | 79h | ns  |  7.1 | Disabled
Pwr Consumption  | 7Ah | ok  |  7.1 | 168 (+/- 2) Watts
"""


def test_each_form_of_a_reading_is_a_number_or_its_words(tmp_path):
    rec = opened(tmp_path, ELIST)
    assert rec["power"].collect().select("sensor", "watts").rows() == [
        ("PS1 Status", 110.0), ("PS2 Status", 0.0), ("Pwr Consumption", 168.0),
    ]  # fmt: skip
    assert rec["sensors"].collect().select("value", "unit", "state").rows() == [
        (110.0, "Watts", "Presence detected"), (0.0, "Watts", "Power Supply AC lost"), (None, None, "No Reading"),
        (None, None, "Fully Redundant"), (None, None, "0x01"), (12.5, "CFM", None), (41.0, "% degrees C", None),
        (None, None, "Disabled"), (168.0, "Watts", None),
    ]  # fmt: skip
    assert [note.message for note in rec.notes if "state" in note.message] == [
        "sensors without a number: their words are in column state (4 times)"
    ]


def test_a_listing_of_power_supplies_alone_is_recognised(tmp_path):
    rec = opened(tmp_path, "".join(ELIST.splitlines(keepends=True)[:1]))
    assert (rec.format, rec["power"].collect()["watts"].to_list()) == ("ipmi", [110.0])


@pytest.mark.parametrize(
    ("titles", "row"),
    [
        ("State | Reading | Units | Event", "Nominal | 168.00 | W | 'OK'"),
        (
            "Reading | Units | Lower NR | Lower C | Lower NC | Upper NC | Upper C | Upper NR | Event",
            "168.00 | W | N/A | N/A | N/A | 896.00 | 980.00 | N/A | 'OK'",
        ),
        (
            "State | Reading | Units | Lower NR | Lower C | Lower NC | Upper NC | Upper C | Upper NR | Event",
            "Nominal | 168.00 | W | N/A | N/A | N/A | 896.00 | 980.00 | N/A | 'OK'",
        ),
    ],
    ids=["state", "thresholds", "both"],
)
def test_columns_of_freeipmi(tmp_path, titles, row):
    rec = opened(tmp_path, f"ID | Name | Type | {titles}\n9 | Pwr Consumption | Current | {row}\n", format="ipmi")
    assert rec["power"].collect().select("sensor", "watts").rows() == [("Pwr Consumption", 168.0)]
    assert rec["sensors"].collect()["status"].to_list() == ["'OK'"]


@pytest.mark.parametrize(
    "text", ["214 Watts", "", "12:00", "ok", "2026-13-45T00:00:00Z", "99999999999999999999", "é" * 30]
)
def test_what_is_no_time_is_none(text):
    assert stamp(text) is None


@given(st.datetimes(datetime(2001, 1, 1), datetime(2099, 1, 1)), st.integers(-12 * 4, 14 * 4))  # noqa: DTZ001  naive is what the strategy takes
def test_a_time_written_is_the_time_read(moment, quarters):
    east = timedelta(minutes=15 * quarters)
    minutes = int(abs(east).total_seconds() // 60)
    zone = f"{'-' if quarters < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"
    expected = moment.replace(microsecond=0, tzinfo=UTC) - east
    for form in ("%Y-%m-%dT%H:%M:%S", "%a, %d %b %Y %H:%M:%S "):
        assert stamp(moment.strftime(form) + zone).time == expected
    assert stamp(moment.strftime(f"%a %b %e %H:%M:%S {zone} %Y")).time == expected


def test_a_meter_s_columns_are_found_by_name(tmp_path):
    rows = "2026-03-02 12:00:00+00:00,230,0.25,1\n2026-03-02 12:00:10+00:00,231,0.5,1\n"
    text = f"Time,Volts,Power (kW),Energy (kWh)\n{rows}"
    rec = opened(tmp_path, text, "meter.csv")
    assert rec.format == "power_csv"
    assert rec["power"].collect().select("time", "watts").rows() == [(NOON, 250), (NOON + timedelta(seconds=10), 500)]


HOSTS = "2026-03-02T12:00:00Z,a,200\n2026-03-02T12:00:00Z,b,200\n2026-03-02T12:01:00Z,a,210\n2026-03-02T12:01:00Z,b,9\n"


@pytest.mark.parametrize("title", ["host", "Outlet Name", "where", "gpu_uuid", "ServerName"])
def test_a_column_that_names_what_was_metered_splits_the_series(tmp_path, title):
    rec = opened(tmp_path, f"timestamp,{title},watts\n{HOSTS}", "m.csv")
    assert rec["power"].collect().select("sensor", "watts").rows() == [("a", 200), ("b", 200), ("a", 210), ("b", 9)]
    assert not rec.notes
    assert rec.meta["interval"] == 60


def test_each_gpu_of_nvidia_smi_is_a_series_and_no_host(tmp_path):
    rows = "".join(
        f"2026/03/02 12:00:0{second}.500, {gpu}, NVIDIA A100, {watts:.2f} W, 96 %, 55.00 W, 400.00 W\n"
        for second in range(3)
        for gpu, watts in ((0, 51), (1, 51), (2, 210 + second))
    )
    titles = "timestamp, index, name, power.draw [W], utilization.gpu [%], power.draw.average [W], power.limit [W]\n"
    table = opened(tmp_path, titles + rows, "gpus.csv")["power"].collect()
    assert table.height == 9
    assert table["watts"].sum() == 3 * 102 + 633
    assert table.filter(sensor="2 NVIDIA A100")["watts"].to_list() == [210, 211, 212]
    assert set(table["kind"]) == {"part"}


def test_a_column_that_counts_rows_or_measures_splits_nothing(tmp_path):
    rows = "".join(f"{n},2026-03-02T12:0{n}:00Z,{20 + n},1.{n},7{n},200\n" for n in range(5))
    rec = opened(tmp_path, "id,time,inlet temperature,meter volts,server util,watts\n" + rows, "m.csv")
    assert set(rec["power"].collect()["sensor"]) == {"watts"}


def test_readings_of_one_time_that_nothing_tells_apart_are_a_warning(tmp_path):
    rec = opened(tmp_path, "time,watts\n2026-03-02T12:00:00Z,200\n2026-03-02T12:00:00Z,90\n", "m.csv")
    (note,) = [note for note in rec.notes if note.severity == "warning"]
    assert "1 times have several readings" in note.message


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(
            (name, "system")
            for name in ("Total_Power", "Pwr Consumption", "SystemInputPower", "NODE_PWR", "System Board")
        ),
        *((name, "part") for name in ("CPU_Power", "MEM_Power", "FAN_Power", "HDD_Power", "CPU1 Power", "GPU1 Power")),
        *((name, "part") for name in ("TotalGPUsPower", "P1_DIMM_Pwr", "NVMeDrive Power", "Memory Sub-system Power")),
        *((name, "supply") for name in ("PS1 Input Power", "PSU2_PIN", "Power Supply 1", "PS_1")),
    ],
)
def test_whose_watts_a_sensor_reads_is_in_its_name(tmp_path, name, kind):
    rec = opened(tmp_path, f"{name:16} | 158.000    | Watts      | ok    | na | na | na | na | na | na\n", "s.txt")
    assert rec["power"].collect()["kind"].to_list() == [kind]


def test_a_chassis_is_the_host_only_where_nothing_else_is(tmp_path):
    line = "{:16} | 158.000    | Watts      | ok    | na | na | na | na | na | na\n"
    alone = opened(tmp_path, line.format("Chassis Power"), "s.txt")["power"].collect()
    both = opened(tmp_path, line.format("Chassis Power") + line.format("Node Power"), "s.txt")["power"].collect()
    assert alone["kind"].to_list() == ["system"]
    assert dict(both.select("sensor", "kind").rows()) == {"Chassis Power": "enclosure", "Node Power": "system"}


def test_columns_named_by_the_caller(tmp_path):
    text = "a;b;c\n02.03.2026 12:00:00;1.234,5;9\n03.03.2026 12:00:00;7,25;9\n"
    for options in ({"time_column": "a", "value_column": "b"}, {"time_column": "1", "value_column": "2"}):
        rec = opened(tmp_path, text, "meter.csv", format="power_csv", **options)
        assert rec["power"].collect()["watts"].to_list() == [1234.5, 7.25]
        assert rec["power"].collect()["time"][0] == NOON


def test_columns_that_cannot_be_told_are_listed(tmp_path):
    text = "time,watts in,watts out\n2026-03-02T12:00:00Z,1,2\n"
    with pytest.raises(
        ex.EsxparseError, match=r"2 columns may be the one with the watts: name it with value_column.*3 'watts out'"
    ):
        opened(tmp_path, text, "meter.csv", format="power_csv")
    with pytest.raises(ex.EsxparseError, match="no column 'x'; the columns are: 1 'time', 2 'watts in'"):
        opened(tmp_path, text, "meter.csv", format="power_csv", value_column="x")


def test_days_and_months_are_told_by_the_other_rows_or_asked_for(tmp_path):
    sure = "date,watts\n03/02/2026 12:00:00,1\n03/13/2026 12:00:00,2\n"
    assert opened(tmp_path, sure, "m.csv")["power"].collect()["time"][0] == NOON
    doubtful = "date,watts\n03/02/2026 12:00:00,1\n"
    with pytest.raises(ex.EsxparseError, match="date_order"):
        opened(tmp_path, doubtful, "m.csv")
    assert opened(tmp_path, doubtful, "m.csv", date_order="mdy")["power"].collect()["time"][0] == NOON


def test_elapsed_seconds_are_no_time(tmp_path):
    rec = opened(tmp_path, "time (s),watts\n0,100\n10,110\n", "m.csv", format="power_csv")
    assert "time" not in rec["power"].collect().columns
    assert rec["power"].collect()["elapsed_s"].to_list() == [0, 10]


def test_rows_that_cannot_be_used_are_told(tmp_path):
    text = "time,watts\n2026-03-02T12:00:00Z,1\nsoon,2\n2026-03-02T12:00:10Z,lots\n2026-03-02T12:00:20Z\n"
    rec = opened(tmp_path, text, "m.csv")
    assert rec["power"].collect()["watts"].to_list() == [1]
    assert [note.line for note in rec.notes if note.severity == "warning"] == [3, 4, 5]


def test_a_csv_without_watts_is_not_recognised(tmp_path):
    for text in ("time,value\n1,2\n", "time,power factor\n2026-03-02T12:00:00Z,0.9\n", "a,b\n"):
        with pytest.raises(ex.UnknownFormatError):
            opened(tmp_path, text, "other.csv")


def read_or_refused(file, form):
    try:
        return ex.open(file, format=form)
    except ex.EsxparseError as error:
        said = str(error)
    assert "\n" not in said
    return None


SAMPLES = sorted(
    path.name for kind in ("ribcl", "ipmi", "power") for path in (ex.datasets_dir() / "formats").glob(f"{kind}-*")
)


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(SAMPLES), st.data())
def test_whatever_the_damage_it_is_read_or_refused(tmp_path_factory, name, data):
    content = (ex.datasets_dir() / "formats" / name).read_bytes()
    where, length = data.draw(st.integers(0, len(content))), data.draw(st.integers(0, 200))
    how = data.draw(st.sampled_from(["cut", "nul", "lose", "twice", "noise", "utf-16"]))
    middle = {"cut": b"", "nul": b"\0" * length, "lose": b"", "twice": content[where : where + length] * 2}.get(
        how, data.draw(st.binary(max_size=40))
    )
    damaged = content[:where] + middle + (b"" if how == "cut" else content[where + length :])
    if how == "utf-16":
        damaged = content.decode().encode("utf-16")
    file = compose.write(tmp_path_factory.mktemp("damage"), damaged, "damaged.txt")
    form = {"ribcl": "ribcl", "ipmi": "ipmi", "power": "power_csv"}[name.partition("-")[0]]
    if rec := read_or_refused(file, form):
        assert all(rec[table].collect().height for table in rec)
        assert how != "utf-16" or rec["power"].select(pl.len()).collect().item() >= 3


def of_datasets(name, *, without):
    """A bundled recording without one of its lines."""
    lines = (ex.datasets_dir() / "formats" / name).read_text().split("\n")
    return "\n".join(lines[: without - 1] + lines[without:])


def warned(rec):
    return [str(note) for note in rec.notes if note.severity == "warning"]


def test_an_answer_of_an_ilo_that_lost_its_date_has_no_time(tmp_path):
    rec = opened(tmp_path, of_datasets("ribcl-power-readings.xml", without=95))
    assert rec["power_undated"].collect()["watts"].to_list() == [216]
    assert 216 not in rec["power"].collect()["watts"].to_list()
    assert any("an answer has lost its time" in note and "line 113" in note for note in warned(rec))


def test_a_second_answer_to_a_command_below_one_date_has_no_time(tmp_path):
    answer = ribcl("", readings(210, 207, 266, 188), '<GET_POWER_CAP>\n<POWER_CAP POWER="350"/>\n</GET_POWER_CAP>\n')
    rec = opened(tmp_path, f"2026-03-02T12:00:00Z\n{answer}Mon Mar 2 1\n{answer.replace('210', '220')}")
    assert rec["power"].collect()["watts"].to_list() == [None, 210]
    assert rec["power_undated"].collect()["watts"].to_list() == [220, None]
    assert rec["settings"].collect()["time"].to_list() == [NOON]
    assert rec["settings_undated"].collect()["value"].to_list() == ["350"]
    assert any("an answer has lost its time" in note for note in warned(rec))


def test_what_an_ilo_says_of_an_error_is_shown_in_part(tmp_path):
    rec = opened(tmp_path, ribcl(readings(1, 1, 1, 1)) + ribcl("", status="0x005F", message="x" * 5000))
    (note,) = [note for note in warned(rec) if "0x005F" in note]
    assert len(note) < 250


def test_a_reading_of_dcmi_that_lost_its_line_of_time_takes_that_of_the_bmc(tmp_path):
    rec = opened(tmp_path, of_datasets("ipmi-dcmi-loop.txt", without=11))
    (time,) = rec["power"].filter(pl.col("watts") == 289).collect()["time"]
    assert time == datetime(2026, 3, 2, 8, 1, 2, tzinfo=UTC)
    assert any("line 12: a reading has lost its time" in note for note in warned(rec))


def test_a_listing_of_sensors_that_lost_its_line_of_time_has_none(tmp_path):
    rec = opened(tmp_path, of_datasets("ipmi-sensor-loop.txt", without=7))
    assert rec["power_undated"].collect()["watts"].to_list() == [266, 137]
    assert rec["power_undated"].collect()["inlet_celsius"].to_list() == [22, None]
    first = rec["power"].filter(pl.col("time") == pl.col("time").min()).collect()
    assert first["watts"].to_list() == [130, 252]
    assert rec["sensors_undated"].collect().height == 5
    assert rec["sensors"].collect()["time"].null_count() == 0
    assert any("line 7: a reading has lost its time" in note for note in warned(rec))


def test_a_time_that_follows_its_listing_is_lost_for_the_first_of_two(tmp_path):
    listing = "Pwr Consumption  | {}.000    | Watts      | ok\n"
    polls = [listing.format(200 + number) + f"2026-03-02T12:0{number}:00Z\n" for number in range(4)]
    rec = opened(tmp_path, "".join(polls).replace("2026-03-02T12:01:00Z\n", ""))
    assert rec["power"].collect()["watts"].to_list() == [200, 202, 203]
    assert rec["power_undated"].collect()["watts"].to_list() == [201]


def test_sensors_of_one_name_in_every_listing_keep_their_time(tmp_path):
    listing = "Temp | 40.000 | degrees C | ok\nTemp | 41.000 | degrees C | ok\nPwr Consumption | 252.000 | Watts | ok\n"
    rec = opened(tmp_path, "".join(f"2026-03-02T12:0{number}:00Z\n{listing}" for number in range(3)))
    assert rec["sensors"].collect().height == 9
    assert "power_undated" not in rec
    assert not warned(rec)


def test_a_row_of_a_meter_with_a_lost_cell_is_left_out(tmp_path):
    text = "Outlet;Time;Active Power (W);Energy (kWh)\nA1;2026-03-02 08:00:00Z;288,2;1204,000\n"
    rec = opened(tmp_path, f"{text}A2;2026-03-02 08:01:00Z;1204,015\nA1;2026-03-02 08:02:00Z;290,5;1204,1;\n", "a.csv")
    assert rec["power"].collect()["watts"].to_list() == [288.2, 290.5]
    (note,) = warned(rec)
    assert "line 3" in note
    assert "not as many cells as the header" in note


@pytest.mark.parametrize(
    ("whole", "cut"),
    [
        ("Time;Power (W)\n2026-03-02 08:00:00Z;288,2\n", "2026-03-02 08:01:00Z;290,"),
        ("Time;Power (W)\n2026-03-02 08:00:00Z;288,2\n", "2026-03-02 08:01:00Z;29"),
        ("    Instantaneous power reading:                     288 Watts\n", "    Sampling period: 18"),
    ],
)
def test_a_number_that_touches_the_end_of_the_file_is_not_read(tmp_path, whole, cut):
    rec = opened(tmp_path, whole + cut, "power.csv")
    row = rec["power"].collect().to_dicts()
    assert [(one["watts"], one["interval_s"]) for one in row] == [(pytest.approx(288, abs=0.3), None)]
    (note,) = warned(rec)
    assert "the last line has no line end, so its last number may be cut" in note


def test_a_time_and_a_period_on_one_line_are_two_fields(tmp_path):
    text = (
        "    Instantaneous power reading:                   214 Watts\n"
        "    IPMI timestamp:                           03/02/26 12:00:00 UTC    Sampling period: 00000005 Seconds.\n"
    )
    (row,) = opened(tmp_path, text, "dcmi.txt")["power"].collect().to_dicts()
    assert (row["time"], row["watts"], row["interval_s"]) == (NOON, 214, 5)


def test_the_power_saver_of_an_ilo_is_a_setting(tmp_path):
    text = '<?xml version="1.0"?>\n<RIBCL VERSION="2.23">\n<GET_HOST_POWER_SAVER HOST_POWER_SAVER= "AUTO"/>\n</RIBCL>\n'
    rows = opened(tmp_path, text, "saver.xml")["settings"].collect().select("source", "setting", "value").rows()
    assert rows == [("GET_HOST_POWER_SAVER", "HOST_POWER_SAVER", "AUTO")]


def test_watts_of_a_locale_are_at_their_scale_or_refused(tmp_path):
    file = tmp_path / "meter.csv"
    file.write_text("time;watts\n2026-03-02 12:00:00;1.204\n2026-03-02 12:00:10;1.198\n")
    with pytest.raises(ex.EsxparseError, match=r"'1.204' \(line 2, column 2\) is 1.204 or 1204"):
        ex.open(file)
    assert ex.open(file, decimal="comma")["power"].collect()["watts"].to_list() == [1204.0, 1198.0]
    file.write_text("time;watts;volts\n2026-03-02 12:00:00;1.204;230,1\n")
    assert ex.open(file)["power"].collect()["watts"].to_list() == [1204.0]


@pytest.mark.parametrize("stamps", [("18/04/26 10:00", "18/04/26 10:01"), ("04/13/2026 10:00", "04.12.2026 10:01")])
def test_dates_that_may_be_another_day_are_refused(tmp_path, stamps):
    file = tmp_path / "meter.csv"
    file.write_text("time;watts\n" + "".join(f"{stamp};100,5\n" for stamp in stamps))
    with pytest.raises(ex.EsxparseError, match=r"may come first or last|in two forms"):
        ex.open(file)


def test_the_zone_of_a_meter_can_be_given(tmp_path):
    text = "Time,Power (W)\n2026-07-01 12:00:00,210\n2026-07-01 12:00:10,211\n"
    rec = opened(tmp_path, text, "pdu.csv", zone="Europe/Berlin")
    assert rec["power"].collect()["time"][0] == datetime(2026, 7, 1, 10, tzinfo=UTC)
    assert any("those of Europe/Berlin, as requested" in note.message for note in rec.notes)
    rec = opened(
        tmp_path, text.replace("12:00:00", "12:00:00Z").replace("12:00:10", "12:00:10Z"), "z.csv", zone="+02:00"
    )
    assert rec["power"].collect()["time"][0] == datetime(2026, 7, 1, 12, tzinfo=UTC)
    assert any("zone +02:00 is not used" in note.message for note in rec.notes if note.severity == "warning")


def test_the_zone_of_a_bmc_can_be_given(tmp_path):
    text = (
        "2026-07-01 12:00:00\n    Instantaneous power reading:                   214 Watts\n"
        "    IPMI timestamp:                           Wed Jul  1 11:59:58 2026\n"
    )
    (row,) = opened(tmp_path, text, zone="Europe/Berlin")["power"].collect().to_dicts()
    assert row["time"] == datetime(2026, 7, 1, 10, tzinfo=UTC)
    assert row["bmc_time"] == datetime(2026, 7, 1, 9, 59, 58, tzinfo=UTC)


@pytest.mark.parametrize(
    ("title", "cell"),
    [
        ("Total Watts", "0.412 kW"),
        ("Power (kW)", "0.412"),
        ("Power (kW)", "412 W"),
        ("Power_KW", "0.412"),
        ("power_mW", "412000"),
        ("power_mw", "412000"),
        ("Milliwatts", "412000"),
        ("Power [hW]", "4.12"),
        ("Power (Watts)", "412"),
        ("Power", "412 Watts"),
    ],
)
def test_units_of_cells_and_titles_are_converted(tmp_path, title, cell):
    path = tmp_path / "meter.csv"
    path.write_text(f"Time,{title}\n2026-01-01 10:00:00,{cell}\n2026-01-01 10:05:00,{cell}\n")
    assert ex.open(path, format="power_csv")["power"].collect()["watts"].to_list() == pytest.approx([412.0, 412.0])


@pytest.mark.parametrize(
    "text", ["Time,Power (MW)\n2026-01-01 10:00:00,412\n", "Time,Power\n2026-01-01 10:00:00,4 MW\n"]
)
def test_megawatts_may_be_milliwatts_and_are_refused(tmp_path, text):
    path = tmp_path / "meter.csv"
    path.write_text(text)
    with pytest.raises(ex.EsxparseError, match="may be megawatts or milliwatts"):
        ex.open(path, format="power_csv")


HALF_DAYS = [datetime(2026, 4, 9, 12, tzinfo=UTC) + timedelta(hours=12 * step) for step in range(16)]


def half_swapped(swapped, kept, times=HALF_DAYS):
    rows = [f"{time.strftime(swapped if time.day <= 12 else kept)},{400 + at}" for at, time in enumerate(times)]
    return "Time,Power (W)\n" + "\n".join(rows) + "\n"


@pytest.mark.parametrize(
    ("swapped", "kept"),
    [
        ("%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S"),
        ("%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M"),
        ("%-d/%-m/%Y %-H:%M", "%-m/%-d/%Y %-H:%M"),
        ("%m-%d-%Y %H:%M", "%d-%m-%Y %H:%M"),
        ("%Y-%d-%m %H:%M:%S", "%d/%m/%Y %H:%M:%S"),
        ("%Y-%d-%m %H:%M:%S", "%Y-%m-%d %H:%M:%S"),
    ],
)
def test_days_that_a_spreadsheet_took_for_months_are_swapped_back(tmp_path, swapped, kept):
    rec = opened(tmp_path, half_swapped(swapped, kept), "m.csv")
    rows = rec["power"].collect()
    assert rows["time"].to_list() == HALF_DAYS
    assert rows["watts"].to_list() == [400.0 + at for at in range(16)]
    assert "took days up to 12 for months" in str([note for note in rec.notes if note.severity == "warning"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            half_swapped("%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M", [*HALF_DAYS[:4], *HALF_DAYS[8:], *HALF_DAYS[4:8]]),
            "days and months are swapped in some dates",
        ),
        ("Time,Watts\n04/05/2026 22:42,1\n14/05/2026 22:43,2\n04/05/2026 22:44,3\n", "only '14/05/2026 22:43' has"),
        ("Time,Watts\n26/03/2026 22:42,1\n03/27/2026 22:43,2\n", "in different orders"),
    ],
)
def test_dates_that_have_no_one_order_are_refused(tmp_path, text, message):
    with pytest.raises(ex.EsxparseError, match=message):
        opened(tmp_path, text, "m.csv")
    assert opened(tmp_path, text, "m.csv", date_order="dmy")["power"].collect().height


def test_a_date_order_may_begin_with_a_year_of_two_digits(tmp_path):
    text = "Time,Watts\n18-04-26 10:00:00,400\n18-04-26 10:00:01,401\n"
    with pytest.raises(ex.EsxparseError, match="may come first or last: set date_order= to ymd, dmy or mdy"):
        opened(tmp_path, text, "m.csv")
    for order, day in (("ymd", datetime(2018, 4, 26, 10, tzinfo=UTC)), ("dmy", datetime(2026, 4, 18, 10, tzinfo=UTC))):
        assert opened(tmp_path, text, "m.csv", date_order=order)["power"].collect()["time"][0] == day


@pytest.mark.parametrize("title", ["Date,Time,Watts", "Datum,Uhrzeit,Watts", "Time,Date,Watts"])
def test_a_day_and_a_time_of_day_in_two_columns_are_recognised(tmp_path, title):
    cells = ("10:00:05", "18/04/2026") if title.startswith("Time") else ("18/04/2026", "10:00:05")
    rec = opened(tmp_path, f"{title}\n{','.join(cells)},400\n", "m.csv")
    assert rec.format == "power_csv"
    assert rec["power"].collect()["time"].to_list() == [datetime(2026, 4, 18, 10, 0, 5, tzinfo=UTC)]


APRIL = [
    datetime(2026, 4, day, hour, minute, tzinfo=UTC) for day, hour, minute in ((11, 23, 59), (12, 0, 0), (13, 0, 1))
]


@pytest.mark.parametrize(
    ("form", "line", "days"),
    [
        ("%d/%m/%Y %H:%M:%S", "", slice(0, 3)),  # the 13th shows the order of all
        ("%m/%d/%y %H:%M:%S", "", slice(0, 3)),
        ("%d/%m/%Y %H:%M:%S", "%a %b %d %H:%M:%S UTC %Y\n", slice(0, 1)),
        ("%d/%m/%y %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ\n", slice(0, 1)),
        ("%d/%m/%y %I:%M:%S %p", "%m/%d/%Y %H:%M:%S\n", slice(0, 3)),  # each program has its own order
        ("%d/%m/%y %H:%M:%S", "", slice(0, 2)),  # time goes on by a minute, not by a month
    ],
)
def test_the_dates_of_a_log_have_one_order(tmp_path, form, line, days):
    text = "".join(time.strftime(line) + dcmi(200, time.strftime(form)) for time in APRIL[days])
    rec = opened(tmp_path, text, "dcmi.txt")
    rows = rec["power"].collect()
    assert rows["time"].to_list() == APRIL[days]
    assert not line or rows["bmc_time"].to_list() == APRIL[days]
    assert not warned(rec)


def test_a_date_whose_order_nothing_shows_has_a_warning(tmp_path):
    text = dcmi(200, "04/05/26 10:00:00")
    rec = opened(tmp_path, text, "dcmi.txt")
    assert rec["power"].collect()["time"].to_list() == [datetime(2026, 4, 5, 10, tzinfo=UTC)]
    assert "line 6: dates such as '04/05/26' are read with the month first: set date_order" in str(warned(rec))
    rec = opened(tmp_path, text, "dcmi.txt", date_order="dmy")
    assert rec["power"].collect()["time"].to_list() == [datetime(2026, 5, 4, 10, tzinfo=UTC)]
    assert not warned(rec)


def test_a_log_with_dates_of_two_orders_is_refused(tmp_path):
    text = dcmi(200, "13/04/26 10:00:00") + dcmi(201, "04/14/26 10:00:00")
    with pytest.raises(
        ex.EsxparseError, match="'13/04/26 10:00:00' and '04/14/26 10:00:00' are in different orders: set date_order="
    ):
        opened(tmp_path, text, "dcmi.txt")
    rec = opened(tmp_path, text, "dcmi.txt", date_order="mdy")
    assert rec["power"].collect()["time"].to_list() == [datetime(2026, 4, 14, 10, tzinfo=UTC)]


def test_a_damaged_date_costs_its_own_reading_its_time(tmp_path):
    days = ["04/05/26 10:00:00", "00/05/26 10:00:10", "04/05/26 10:00:20"]
    text = "".join(f"Sun Apr  5 10:00:{at}0 UTC 2026\n" + dcmi(200 + at, day) for at, day in enumerate(days))
    rows = opened(tmp_path, text, "dcmi.txt")["power"].collect()
    assert [time and time.strftime("%m-%d") for time in rows["bmc_time"]] == ["04-05", None, "04-05"]


@pytest.mark.parametrize(
    ("unit", "factor"), [("Watts", 1.0), ("W", 1.0), ("kW", 1000.0), ("KW", 1000.0), ("mW", 0.001), ("mw", 0.001)]
)
def test_units_of_texts_are_those_of_tables(tmp_path, unit, factor):
    rec = opened(
        tmp_path, f"    Instantaneous power reading:                     412 {unit}\n", "dcmi.txt", format="ipmi"
    )
    assert rec["power"].collect()["watts"].to_list() == pytest.approx([412.0 * factor])
    listing = f"System Power     | 412.000    | {unit}      | ok    | na | na | na | na | na | na\n"
    rec = opened(tmp_path, f"{NOON:%a %b %d %H:%M:%S UTC %Y}\n{listing}", "sensor.txt", format="ipmi")
    assert rec["power"].collect()["watts"].to_list() == pytest.approx([412.0 * factor])


RIBCL_IN_MW = """<?xml version="1.0"?>
<RIBCL VERSION="2.23">
<RESPONSE STATUS="0x0000" MESSAGE="No error" />
<GET_POWER_READINGS><PRESENT_POWER_READING VALUE="412" UNIT="MW"/></GET_POWER_READINGS>
</RIBCL>
"""


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        ("ipmi", "    Instantaneous power reading:                     412 MW\n"),
        ("ipmi", "System Power     | 412.000    | MW         | ok    | na        | na | na | na | na | na\n"),
        ("redfish", json.dumps({"Id": "Power", "PowerControl": [{"Name": "Server", "PowerConsumedWatts": "412 MW"}]})),
        ("ribcl", RIBCL_IN_MW),
    ],
)
def test_megawatts_of_a_bmc_may_be_milliwatts_and_are_refused(tmp_path, reader, text):
    with pytest.raises(ex.EsxparseError, match="MW' may be megawatts or milliwatts"):
        opened(tmp_path, text, "reading.txt", format=reader)


DOCUMENT = '{"@odata.id": "/redfish/v1/Chassis/1/Power", "Id": "Power", "PowerControl": [{"PowerConsumedWatts": %d}]}\n'
ANSWER = RIBCL_IN_MW.replace("MW", "Watts").replace("412", "%d")


@pytest.mark.parametrize(("name", "answer"), [("power.json", DOCUMENT), ("power.xml", ANSWER)])
def test_lines_of_time_between_answers_have_one_order(tmp_path, name, answer):
    """The 13th shows the order of all; of the 11th and 12th alone, time goes on by a minute, not by a month."""
    for days in (slice(0, 3), slice(0, 2)):
        text = "".join(f"{time:%d/%m/%Y %H:%M:%S}\n{answer % at}" for at, time in enumerate(APRIL[days]))
        rec = opened(tmp_path, text, name)
        assert rec["power"].collect()["time"].to_list() == APRIL[days]
        assert not warned(rec)
    alone = f"12/04/2026 14:06:00\n{answer % 1}"
    rec = opened(tmp_path, alone, name)
    assert "line 1: dates such as '12/04/2026' are read with the month first: set date_order" in str(warned(rec))
    rec = opened(tmp_path, alone, name, date_order="dmy")
    assert rec["power"].collect()["time"].to_list() == [datetime(2026, 4, 12, 14, 6, tzinfo=UTC)]
    assert not warned(rec)


def test_each_clock_of_a_collected_document_has_its_own_order(tmp_path):
    rows = [
        {
            "time": f"{time:%m/%d/%Y %H:%M:%S}",
            "bmc_time": f"{time:%d/%m/%Y %H:%M:%S}",
            "document": json.loads(DOCUMENT % at),
        }
        for at, time in enumerate(APRIL)
    ]
    rec = opened(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "power.jsonl")
    power = rec["power"].collect()
    assert power["time"].to_list() == power["bmc_time"].to_list() == APRIL
    assert not warned(rec)


def test_swapped_dates_that_only_jump_ahead_are_warned_about(tmp_path):
    times = [datetime(2026, 4, day, hour, tzinfo=UTC) for day in (2, 3, 15) for hour in (8, 9, 10)]
    for swapped, kept in (("%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M"), ("%Y-%d-%m %H:%M", "%Y-%m-%d %H:%M")):
        rec = opened(tmp_path, half_swapped(swapped, kept, times), "m.csv")
        assert "a spreadsheet may have swapped day and month" in str(warned(rec))


def test_a_clock_that_was_not_set_is_no_swapped_date(tmp_path):
    times = ["2000-01-02 00:00:10", "2000-01-02 00:00:20", "2026-04-13 08:00:00", "2026-04-13 08:00:10"]
    rec = opened(tmp_path, "".join(time + "\n" + dcmi(200 + at, time) for at, time in enumerate(times)), "dcmi.txt")
    assert "swapped" not in str(rec.notes)


@pytest.mark.parametrize("title", ["Power (Amps)", "Power [BTU/h]", "Power (dBm)", "Power (hp)", "power_amps"])
def test_a_column_with_another_unit_is_not_read_as_watts(tmp_path, title):
    file = compose.write(tmp_path, f"Time,{title}\n2026-07-11 10:00:00,214\n2026-07-11 10:00:05,215\n")
    with pytest.raises(ex.EsxparseError, match="no column is the one with the watts"):
        ex.open(file, format="power_csv")
    with pytest.raises(ex.EsxparseError, match=r"is in \w+(?:/h)?, not in watts"):
        ex.open(file, format="power_csv", value_column=title)


def test_readings_of_an_ilo_in_another_unit_are_left_out(tmp_path):
    text = (ex.datasets_dir() / "formats" / "ribcl-power-readings.xml").read_text()
    plain = ex.open(ex.datasets_dir() / "formats" / "ribcl-power-readings.xml")["power"].collect()
    part = text.replace('UNIT="Watts"', 'UNIT="Amps"', 1)
    assert part != text
    rec = ex.open(compose.write(tmp_path, part, "a.xml"))
    power = rec["power"].collect()
    measured = [name for name in power.columns if name.startswith("watts")]
    assert sum(power[name].null_count() - plain[name].null_count() for name in measured) == 1
    assert any("'Amps', which is not a unit of power" in note.message for note in rec.notes)
