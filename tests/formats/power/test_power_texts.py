"""Power readings in RIBCL, from IPMI tools and in CSV: the real files number by number, units, and dates."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import compose
import pytest
from compose import opened
from hypothesis import given
from hypothesis import strategies as st

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


def dcmi(watts, moment="Thu Jan  1 00:00:00 1970"):
    return f"""
    Instantaneous power reading:                   {watts:5d} Watts
    Minimum during sampling period:                   70 Watts
    Maximum during sampling period:                  600 Watts
    Average power reading over sample period:        220 Watts
    IPMI timestamp:                           {moment}
    Sampling period:                          00000005 Seconds.
    Power reading state is:                   activated

"""


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


HOSTS = "2026-03-02T12:00:00Z,a,200\n2026-03-02T12:00:00Z,b,200\n2026-03-02T12:01:00Z,a,210\n2026-03-02T12:01:00Z,b,9\n"


@pytest.mark.parametrize("title", ["host", "Outlet Name", "where", "gpu_uuid", "ServerName"])
def test_a_column_that_names_what_was_metered_splits_the_series(tmp_path, title):
    rec = opened(tmp_path, f"timestamp,{title},watts\n{HOSTS}", "m.csv")
    assert rec["power"].collect().select("sensor", "watts").rows() == [("a", 200), ("b", 200), ("a", 210), ("b", 9)]
    assert not rec.notes
    assert rec.meta["interval"] == 60


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


def test_days_and_months_are_told_by_the_other_rows_or_asked_for(tmp_path):
    sure = "date,watts\n03/02/2026 12:00:00,1\n03/13/2026 12:00:00,2\n"
    assert opened(tmp_path, sure, "m.csv")["power"].collect()["time"][0] == NOON
    doubtful = "date,watts\n03/02/2026 12:00:00,1\n"
    with pytest.raises(ex.EsxparseError, match="date_order"):
        opened(tmp_path, doubtful, "m.csv")
    assert opened(tmp_path, doubtful, "m.csv", date_order="mdy")["power"].collect()["time"][0] == NOON


def warned(rec):
    return [str(note) for note in rec.notes if note.severity == "warning"]


def test_what_an_ilo_says_of_an_error_is_shown_in_part(tmp_path):
    rec = opened(tmp_path, ribcl(readings(1, 1, 1, 1)) + ribcl("", status="0x005F", message="x" * 5000))
    (note,) = [note for note in warned(rec) if "0x005F" in note]
    assert len(note) < 250


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


@pytest.mark.parametrize("title", ["Power (Amps)", "Power [BTU/h]", "Power (dBm)", "Power (hp)", "power_amps"])
def test_a_column_with_another_unit_is_not_read_as_watts(tmp_path, title):
    file = compose.write(tmp_path, f"Time,{title}\n2026-07-11 10:00:00,214\n2026-07-11 10:00:05,215\n")
    with pytest.raises(ex.EsxparseError, match="no column is the one with the watts"):
        ex.open(file, format="power_csv")
    with pytest.raises(ex.EsxparseError, match=r"is in \w+(?:/h)?, not in watts"):
        ex.open(file, format="power_csv", value_column=title)
