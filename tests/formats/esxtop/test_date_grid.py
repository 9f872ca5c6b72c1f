"""Files of every reader of dates, saved again as other programs do: no sample is in a wrong month without a warning."""

from __future__ import annotations

import datetime as dt
import json
import re
from itertools import starmap

import pytest

import esxparse as ex

MARCH = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
HEADER = r'"(PDH-CSV 4.0) (UTC)(0)","\\esx-01\Memory\Free MBytes"'
WINDOWS = r'"(PDH-CSV 4.0) (UTC)(0)","\\guest-01\Processor Information(0,0)\% Processor Time"'
IOSTAT = "Linux 6.1.0 (guest-01) \t{} \t_x86_64_\t(2 CPU)\n\n"
CPU = """avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          46.58   13.36    8.59    0.36    0.10   31.00

"""
VMSTAT = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC\n"
)
DCMI = """    Instantaneous power reading:                     {} Watts
    Power reading state is:                   activated
"""
POWER = {"@odata.id": "/redfish/v1/Chassis/1/Power", "@odata.type": "#Power.v1_3_0.Power", "Id": "Power"}
METER = {
    "@odata.id": "/redfish/v1/Chassis/1/Power/FastPowerMeter",
    "@odata.type": "#HpePowerMeter.v2_0_1.HpePowerMeter",
    "Id": "FastPowerMeter",
}
RIBCL = (
    '<?xml version="1.0"?>\n<RIBCL VERSION="2.23">\n<RESPONSE STATUS="0x0000" MESSAGE="No error" />\n'
    '<GET_POWER_READINGS><PRESENT_POWER_READING VALUE="{}" UNIT="Watts"/></GET_POWER_READINGS>\n</RIBCL>\n'
)
IOMETER = "'Test Type,Test Description\n0,nightly\n'Version\n1.1.0\n"
RESULT = (
    "'Results\n'Target Type,Target Name,Access Specification Name,# Managers,# Workers,# Disks,IOps\n"
    "ALL,All,4K,1,1,1,{}\n'Time Stamp\n{}\n"
)


def power(at):
    return POWER | {"PowerControl": [{"Name": "Server", "PowerConsumedWatts": 200 + at}]}


def meter(stamps):
    return METER | {"PowerDetail": [{"Time": stamp, "Average": 200 + at} for at, stamp in enumerate(stamps)]}


def listed(form, stamps):
    return "".join(starmap(form.format, ((at + 200, stamp) for at, stamp in enumerate(stamps))))


FILES = {
    "esxtop": ("a.csv", lambda stamps: HEADER + "\n" + listed('"{1}","{0}"\n', stamps)),
    "esxtop, only names in quotes": ("b.csv", lambda stamps: HEADER + "\n" + listed("{1},{0}\n", stamps)),
    "esxtop, without quotes": ("c.csv", lambda stamps: HEADER.replace('"', "") + "\n" + listed("{1},{0}\n", stamps)),
    "esxtop, quotes and semicolons": (
        "d.csv",
        lambda stamps: (HEADER + "\n" + listed('"{1}","{0}"\n', stamps)).replace('","', '";"'),
    ),
    "perfmon": ("e.csv", lambda stamps: WINDOWS + "\n" + listed('"{1}","{0}"\n', stamps)),
    "perfmon, without quotes": ("f.csv", lambda stamps: WINDOWS + "\n" + listed("{1},{0}\n", stamps)),
    "vcenter": ("g.csv", lambda stamps: '"Time","Ready for web-01"\n' + listed('"{1}","{0}"\n', stamps)),
    "vcenter, without quotes": ("h.csv", lambda stamps: "Time,Ready for web-01\n" + listed("{1},{0}\n", stamps)),
    "power_csv": ("i.csv", lambda stamps: "Time,Power (W)\n" + listed("{1},{0}\n", stamps)),
    "power_csv, quotes": ("j.csv", lambda stamps: '"Time","Power (W)"\n' + listed('"{1}","{0}"\n', stamps)),
    "ipmi": ("k.txt", lambda stamps: "".join(stamp + "\n" + DCMI.format(200 + at) for at, stamp in enumerate(stamps))),
    "ipmi, the clock of the BMC": (
        "l.txt",
        lambda stamps: "".join(
            DCMI.format(200 + at) + f"    IPMI timestamp:                           {stamp}\n"
            for at, stamp in enumerate(stamps)
        ),
    ),
    "redfish, collected": (
        "m.jsonl",
        lambda stamps: "".join(
            json.dumps({"time": stamp, "uri": "/redfish/v1/Chassis/1/Power", "document": power(at)}) + "\n"
            for at, stamp in enumerate(stamps)
        ),
    ),
    "redfish, lines of date": (
        "n.txt",
        lambda stamps: "".join(f"{stamp}\n{json.dumps(power(at), indent=1)}\n" for at, stamp in enumerate(stamps)),
    ),
    "redfish, a history": ("o.json", lambda stamps: json.dumps(meter(stamps))),
    "redfish, escaped": ("p.json", lambda stamps: json.dumps(meter(stamps), indent=1).replace("/", r"\/")),
    "ribcl": ("q.xml", lambda stamps: "".join(f"{stamp}\n{RIBCL.format(200 + at)}" for at, stamp in enumerate(stamps))),
    "iostat": (
        "r.txt",
        lambda stamps: IOSTAT.format(stamps[0].split(" ")[0]) + "".join(f"{stamp}\n{CPU}" for stamp in stamps),
    ),
    "mpstat": (
        "s.txt",
        lambda stamps: "\n".join(
            IOSTAT.format(day)
            + f"{clock}     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n"
            + f"{clock[:-1]}9     all   73.23   22.22    4.55    0.00    0.00    0.00    0.00    0.00    0.00    0.00\n"
            for day, clock in (stamp.split(" ") for stamp in stamps)
        ),
    ),
    "vmstat": (
        "t.txt",
        lambda stamps: VMSTAT + "".join(
            f" 1  0      0 178002  57144 450384    0    0  2649  4988  494 2675 60  9 31  0  0 {stamp}\n"
            for stamp in stamps
        ),
    ),
    "elbencho": (
        "u.csv",
        lambda stamps: "ISO Date,Label,Phase,RuntimeMS,Rank,MixType,Done%,DoneBytes,MiB/s,IOPS,Entries,Entries/s,"
        "Lat Ent us,Lat IO us,Active,CPU,Service,\n" + "".join(
            f"{stamp},night,WRITE,1000,Total,,12,524288000,500,{4000 + at},0,0,0,998,4,9,,\n"
            for at, stamp in enumerate(stamps)
        ),
    ),
    "iometer": ("v.csv", lambda stamps: IOMETER + "".join(RESULT.format(200 + at, s) for at, s in enumerate(stamps))),
    "results": (
        "w.csv",
        lambda stamps: "# esxparse benchmark results\ntest;time;orders per minute [opm]\n"
        + "".join(f"native;{stamp};{18000 + at}\n" for at, stamp in enumerate(stamps)),
    ),
    "sadf": (
        "x.csv",
        lambda stamps: "# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle\n"
        + "".join(f"web-01;600;{stamp};-1;0.12;0.00;0.05;0.00;0.00;99.83\n" for stamp in stamps),
    ),
}  # fmt: skip
OPTIONS = {"results": {"time_column": "time"}}

CLOCK = " %H:%M:%S"
SAVINGS = {
    "as it was": ("%m/%d/%Y", "%m/%d/%Y"),
    "as it was, two digits": ("%m/%d/%y", "%m/%d/%y"),
    "swapped": ("%d/%m/%Y", "%d/%m/%Y"),
    "swapped, two digits": ("%d/%m/%y", "%d/%m/%y"),
    "swapped, points": ("%m.%d.%Y", "%m.%d.%Y"),
    "half swapped": ("%d/%m/%Y", "%m/%d/%Y"),
    "half swapped, the day first": ("%m/%d/%Y", "%d/%m/%Y"),
    "half swapped, two digits": ("%d/%m/%y", "%m/%d/%y"),
    "half swapped, short": ("%-d/%-m/%Y", "%-m/%-d/%Y"),
    "half swapped, points": ("%m.%d.%Y", "%d.%m.%Y"),
    "half swapped, year first": ("%Y-%d-%m", "%Y-%m-%d"),
    "half swapped, two forms": ("%Y-%d-%m", "%m/%d/%Y"),
    "year of two digits first": ("%y-%m-%d", "%y-%m-%d"),
    "year of two digits first, slashes": ("%y/%m/%d", "%y/%m/%d"),
    "year of two digits first, points": ("%y.%m.%d", "%y.%m.%d"),
}
"""How a program writes dates whose day may be a month, and all others."""

HOURS = (0, 6, 12, 18)
GAPS = {
    "every six hours": (range(12), HOURS),
    "by day": (range(12), HOURS[1:3]),
    "one a day": (range(12), HOURS[2:3]),
    "a gap": ([0, *range(5, 12)], HOURS),
    "a long gap": ([0, 1, 11], HOURS),
}
"""Days and hours of a recording, from its first day."""
FIRST_DAYS = (0, 11, 27)
"""The days of March on which recordings begin, from 0; each lasts twelve days."""
ABOUT_DATES = re.compile(r"date_order|swapped|took days up to 12|readable time|time stamp|not a time|no time|damaged")


def recorded(first, days, hours):
    return [MARCH + dt.timedelta(days=first + day, hours=hour) for day in days for hour in hours]


def saved(times, swapped, kept):
    return [time.strftime((swapped if time.day <= 12 else kept) + CLOCK) for time in times]


def found_times(rec):
    return {
        time
        for table in rec.tables.values()
        for name, kind in table.collect_schema().items()
        if name in {"time", "bmc_time"} and kind.base_type().__name__ == "Datetime"
        for time in table.collect()[name].drop_nulls()
    }


def wrong_months(file, times, options):
    """The days outside the recording, unless a warning or an error is about dates."""
    try:
        rec = ex.open(file, **options)
    except ex.EsxparseError:
        return set()
    if any(ABOUT_DATES.search(note.message) for note in rec.notes if note.severity == "warning"):
        return set()
    return {time.date() for time in found_times(rec)} - {time.date() for time in times}


@pytest.mark.parametrize("saving", SAVINGS)
@pytest.mark.parametrize("reader", FILES)
def test_no_month_is_wrong_without_a_warning(tmp_path, reader, saving):
    name, content = FILES[reader]
    wrong = []
    for first in FIRST_DAYS:
        for gap, kept in GAPS.items():
            times = recorded(first, *kept)
            file = tmp_path / name
            file.write_text(content(saved(times, *SAVINGS[saving])))
            if found := wrong_months(file, times, OPTIONS.get(reader, {})):
                wrong.append((gap, times[0].date().isoformat(), sorted(map(str, found))[:3]))
    assert not wrong


@pytest.mark.parametrize("reader", FILES)
def test_dates_with_the_year_first_are_read_as_they_are(tmp_path, reader):
    """The files above are such that their reader reads them."""
    name, content = FILES[reader]
    for first in FIRST_DAYS:
        for kept in GAPS.values():
            times = recorded(first, *kept)
            file = tmp_path / name
            file.write_text(content(saved(times, "%Y-%m-%d", "%Y-%m-%d")))
            rec = ex.open(file, **OPTIONS.get(reader, {}))
            assert {time.replace(minute=0, second=0) for time in found_times(rec)} == set(times)
            assert not [note for note in rec.notes if "swapped" in note.message]


@pytest.mark.parametrize("reader", ["vmstat", "iometer", "results", "sadf", "iostat", "vcenter"])
def test_a_warning_names_the_option_only_if_the_reader_has_it(tmp_path, reader):
    name, content = FILES[reader]
    times = recorded(7, *GAPS["a gap"])
    file = tmp_path / name
    file.write_text(content(saved(times, *SAVINGS["half swapped, year first"])))
    rec = ex.open(file, **OPTIONS.get(reader, {}))
    (warning,) = [note.message for note in rec.notes if "spreadsheet" in note.message]
    assert ("set date_order=" in warning) == (reader == "iostat")
