"""sysstat: forms of single releases and options, clocks of locales, and tools that are refused."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime

import pytest

import esxparse as ex

BANNER = "Linux 5.14.0 (web-01) \t11/22/2026 \t_x86_64_\t(2 CPU)\n\n"
USED = """avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           1.00    0.00    1.00    0.00    0.00   98.00
"""


def opened(path, text, **options):
    path.write_text(text, encoding="utf-8")
    return ex.open(path, **options)


def warned(rec):
    return [note.message for note in rec.notes if note.severity == "warning"]


def document(*reports, **facts):
    host = {"sysname": "Linux", "release": "5.14.0", "number-of-cpus": 2, **facts, "statistics": list(reports)}
    return json.dumps({"sysstat": {"hosts": [host]}})


def load(stamp, *cpus):
    return {"timestamp": stamp, "cpu-load": [{"cpu": cpu, "usr": 18.0, "sys": 2.0, "idle": 80.0} for cpu in cpus]}


def test_all_processors_of_mpstat_have_one_name_whatever_the_release(tmp_path):
    text = document(load("20:42:21", "-1", "0"), nodename="web-01", date="11/22/2026")
    assert opened(tmp_path / "a", text)["cpu"].collect()["cpu"].to_list() == ["all", "0"]
    nodes = {"timestamp": "20:42:21", "node-load": [{"node": "-1", "usr": 18.0}, {"node": "0", "usr": 18.0}]}
    frame = opened(tmp_path / "b", document(nodes, nodename="web-01", date="11/22/2026"))["node_cpu"].collect()
    assert frame["node"].to_list() == ["all", "0"]


def test_a_document_without_the_name_of_its_host_is_read(tmp_path):
    rec = opened(tmp_path / "a", document(load("20:42:21", "all"), load("20:42:22", "all"), date="11/22/2026"))
    frame = rec["cpu"].collect()
    assert frame["time"].to_list() == [datetime(2026, 11, 22, 20, 42, second, tzinfo=UTC) for second in (21, 22)]
    assert frame["host"].to_list() == [None, None]
    assert rec.meta["cpus"] == 2


@pytest.mark.parametrize("stamp", ["1795380141", 1795380141])
def test_documents_with_seconds_since_1970_need_no_date_and_no_zone(tmp_path, stamp):
    rec = opened(tmp_path / "a", document(load(stamp, "all"), nodename="web-01"))
    assert rec["cpu"].collect()["time"].to_list() == [datetime(2026, 11, 22, 20, 42, 21, tzinfo=UTC)]
    assert not any("zone" in note.message for note in rec.notes)


PIDSTAT = {
    "timestamp": "20:42:21",
    "task-cpu-load": [
        {"UID": 1000, "PID": 42, "usr": 3.0, "system": 1.0, "guest": 0.0, "wait": 0.5, "cpu": 4.0, "cmd": "postgres"}
    ],
    "task-memory": [
        {"UID": 1000, "PID": 42, "minflt/s": 7.0, "majflt/s": 0.0, "VSZ": 4096, "RSS": 2048, "cmd": "postgres"}
    ],
    "io": [{"UID": "1000", "PID": "42", "kB_rd/s": 100.0, "kB_wr/s": 20.0, "kB_ccwr/s": 1.0, "cmd": "postgres"}],
    "kernel": [{"USER": "db", "PID": 42, "threads": 9, "fd-nr": 30, "cmd": "postgres"}],
}


def test_json_of_pidstat_has_the_tables_of_its_text(tmp_path):
    rec = opened(tmp_path / "a", document(PIDSTAT, nodename="web-01", date="11/22/2026"))
    assert rec.format == "pidstat"
    assert set(rec) == {"process_cpu", "process_memory", "process_disk", "process_files"}
    cpu, memory = rec["process_cpu"].collect(), rec["process_memory"].collect()
    assert cpu.select("uid", "pid", "command", "user_pct", "wait_pct", "cpu_pct").row(0) == (
        1000,
        42,
        "postgres",
        3,
        0.5,
        4,
    )
    assert memory.select("minflt_per_s", "virtual_kib", "resident_kib").row(0) == (7.0, 4096.0, 2048.0)
    disk, files = rec["process_disk"].collect(), rec["process_files"].collect()
    assert disk.select("uid", "pid", "read_kib_per_s", "cancelled_write_kib_per_s").row(0) == (1000, 42, 100.0, 1.0)
    assert files.select("user", "threads", "file_descriptors").row(0) == ("db", 9, 30)


SHARE = "\\\\server\\share   102.00  51.00  2.00  1.00  0.00  0.00  0.00\n"
CIFS = "Filesystem:              rB/s         wB/s    rops/s    wops/s         fo/s         fc/s         fd/s\n"
TAPE = "Tape:    r/s     w/s   kB_read/s   kB_wrtn/s %Rd %Wr %Oa    Rs/s    Ot/s\n"


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("cifsiostat", BANNER + CIFS + SHARE),
        ("cifsiostat", BANNER + CIFS.replace(":", " ") + SHARE),
        ("tapestat", BANNER + TAPE + "st0        0     134           0       17152   0  99   0       0       0\n"),
        ("cifsiostat", document({"timestamp": "20:42:21", "cifs": [{"filesystem": "s", "rB/s": 1.0, "fo/s": 0.0}]})),
        ("tapestat", document({"timestamp": "20:42:21", "tape": [{"tape_device": "st0", "r/s": 1.0}]})),
    ],
)  # fmt: skip
def test_tools_of_sysstat_that_are_not_read_are_refused_by_name(tmp_path, tool, text):
    with pytest.raises(ex.UnreadableError, match=f"output of {tool} .sysstat., which esxparse does not read"):
        opened(tmp_path / "a", text)


def test_shares_do_not_replace_the_counts_of_the_same_name(tmp_path):
    report = {
        "timestamp": {"date": "2026-11-22", "time": "20:42:21", "utc": 1, "interval": 1},
        "kernel": {"dentunusd": 7, "super-sz": 4, "super-sz-percent": 1.5},
        "filesystems": [{"filesystem": "/dev/sda1", "Ifree": 90, "Iused": 10, "Iused-percent": 10.5}],
    }
    rec = opened(tmp_path / "a", document(report, **{"nodename": "web-01", "file-date": "2026-11-22"}))
    assert rec["kernel_tables"].collect().select("super_sz", "super_sz_pct").row(0) == (4.0, 1.5)
    assert rec["filesystems"].collect().select("inodes_used", "inodes_used_pct").row(0) == (10.0, 10.5)


def test_the_order_of_dates_in_a_document_is_that_of_all_of_them(tmp_path):
    reports = [{"timestamp": f"{day}/01/26 20:42:21", "avg-cpu": {"user": 1.0, "idle": 99.0}} for day in (12, 13)]
    rec = opened(tmp_path / "a", document(*reports, nodename="web-01", date="12/01/26"))
    assert [time.date() for time in rec["cpu"].collect()["time"]] == [date(2026, 1, 12), date(2026, 1, 13)]
    rec = opened(tmp_path / "b", document(reports[0], nodename="web-01", date="12/01/26"))
    assert any("'12/01/26' are read with the month first" in message for message in warned(rec))


ROW = "     1000      4881    1.00    0.50    0.00    0.00    1.50     1  {}\n"
TITLES = "      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n"


def test_titles_with_seconds_since_1970(tmp_path):
    rows = "".join(f"{1795380141 + n}{ROW.format('postgres')}" for n in (0, 1))
    rec = opened(tmp_path / "a", f"{BANNER}1795380140{TITLES}{rows}")
    frame = rec["process_cpu"].collect()
    assert rec.format == "pidstat"
    assert frame["time"][0] == datetime(2026, 11, 22, 20, 42, 21, tzinfo=UTC)
    assert frame["interval_s"].to_list() == [1.0, 1.0]
    assert frame["since_boot"].to_list() == [False, False]
    assert frame["cpu_pct"].to_list() == [1.5, 1.5]
    once = opened(tmp_path / "b", f"{BANNER}1795380141{TITLES}1795380141{ROW.format('postgres')}")
    assert once["process_cpu"].collect()["since_boot"].to_list() == [True]
    cpus = f"{BANNER}1795380140  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n"
    used = "1795380141  all    2.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00    0.00   97.00\n"
    rec = opened(tmp_path / "c", cpus + used)
    assert (rec.format, rec["cpu"].collect()["idle_pct"].to_list()) == ("mpstat", [97.0])


def test_rows_of_release_10_begin_with_a_blank(tmp_path):
    titles = "#      Time       PID    %usr %system  %guest    %CPU   CPU  minflt/s  majflt/s     VSZ    RSS   %MEM  "
    titles += "Command\n"
    row = " {}      4881    1.00    0.50    0.00    1.50     1      3.00      0.00  461128 110744   0.17  kate\n"
    text = BANNER + "".join(f"{titles}{row.format(1795380141 + n)}\n" for n in range(3))
    frame = opened(tmp_path / "a", text)["process_memory"].collect()
    assert frame["resident_kib"].to_list() == [110744.0] * 3
    assert frame["interval_s"].to_list() == [None, 1.0, 1.0]


LOAD = "{time}  {cpu:>3}    2.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00    0.00   97.00\n"
HEAD = "{time}  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n"


@pytest.mark.parametrize(
    ("before", "after", "hour"),
    [
        ("08:42:20 μμ", "08:42:21 μμ", 20),
        ("08:42:20 πμ", "08:42:21 πμ", 8),
        ("08:42:20 PM IST", "08:42:21 PM IST", 20),
        ("08:42:20 UTC", "08:42:21 UTC", 8),
    ],
)
def test_words_beside_a_clock_are_no_column(tmp_path, before, after, hour):
    text = BANNER + HEAD.format(time=before) + LOAD.format(time=after, cpu="all") + LOAD.format(time=after, cpu=0)
    rec = opened(tmp_path / "a", text)
    frame = rec["cpu"].collect()
    assert frame["time"].to_list() == [datetime(2026, 11, 22, hour, 42, 21, tzinfo=UTC)] * 2
    assert frame["cpu"].to_list() == ["all", "0"]
    assert frame["user_pct"].to_list() == [2.0, 2.0]
    assert warned(rec) == (
        ["the zone IST of the times is not used: give it with zone= (Asia/Kolkata)"] if "IST" in before else []
    )


def test_a_word_that_may_be_am_or_pm_is_refused(tmp_path):
    text = BANNER + HEAD.format(time="08:42:20 अपराह्न") + LOAD.format(time="08:42:21 अपराह्न", cpu="all")
    with pytest.raises(ex.EsxparseError, match=r"neither AM nor PM .* record with LC_TIME=C"):
        opened(tmp_path / "a", text)


def test_the_zone_in_rows_of_one_line_moves_no_column(tmp_path):
    rows = "".join(f"08:42:2{n} PM UTC{ROW.format('postgres')}" for n in (1, 2))
    frame = opened(tmp_path / "a", f"{BANNER}# Time  {TITLES}{rows}")["process_cpu"].collect()
    assert frame.select("uid", "pid", "user_pct", "command").row(0) == (1000, 4881, 1.0, "postgres")
    assert frame["time"][0].hour == 20


def test_averages_with_a_wide_colon_are_averages(tmp_path):
    rows = HEAD.format(time="20:42:20") + LOAD.format(time="20:42:21", cpu="all")
    rec = opened(
        tmp_path / "a",
        BANNER + rows + "\n" + HEAD.format(time="平均時間\uff1a") + LOAD.format(time="平均時間\uff1a", cpu="all"),
    )
    assert rec["cpu"].collect().height == 1
    assert any("averages left out" in note.message for note in rec.notes)


@pytest.mark.parametrize("stamp", ["2026년 11월 22일 20시 42분 21초", "22/11/2026 08:42:21 PM UTC", "1795380141"])
def test_times_of_reports_of_iostat(tmp_path, stamp):
    text = f"{BANNER}{stamp}\n{USED}"
    rec = opened(tmp_path / "a", text)
    assert rec["cpu"].collect()["time"].to_list() == [datetime(2026, 11, 22, 20, 42, 21, tzinfo=UTC)]
    assert not warned(rec)


def test_a_time_in_words_is_a_warning(tmp_path):
    text = f"{BANNER}it-Tlieta, 24 ta Nov, 2026 08:16:45\n{USED}"
    assert any("time in words" in message for message in warned(opened(tmp_path / "a", text)))


def test_clocks_with_points_are_no_dates(tmp_path):
    rec = opened(tmp_path / "a", document(load("20.42.21", "all"), nodename="web-01", date="22.11.2026"))
    assert rec["cpu"].collect()["time"].to_list() == [datetime(2026, 11, 22, 20, 42, 21, tzinfo=UTC)]
    text = document(load("20:42:21", "all"), nodename="web-01", date="ar., 2026.eko azaren 22a")
    with pytest.raises(ex.EsxparseError, match="give the day of the first with date="):
        opened(tmp_path / "b", text)
    frame = opened(tmp_path / "b", text, date=date(2026, 11, 22))["cpu"].collect()
    assert frame["time"].to_list() == [datetime(2026, 11, 22, 20, 42, 21, tzinfo=UTC)]


XML = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE sysstat PUBLIC "DTD v3.11 sysstat //EN"
"http://pagesperso-orange.fr/sebastien.godard/sysstat-3.11.dtd">
<sysstat xmlns="http://pagesperso-orange.fr/sebastien.godard/sysstat">
  <sysdata-version>3.11</sysdata-version>
  <host nodename="web-01">
    <release>5.14.0</release>
    <number-of-cpus>2</number-of-cpus>
    <statistics>
      <timestamp date="2026-11-22" time="20:42:21" utc="0" interval="60">
        <power-management>
        <fan-speed unit="rpm"><fan number="1" rpm="2100" drpm="1100" device="dell_smm"/></fan-speed>
      </power-management>
        <network per="second">
        <fchost name="host7" fch_rxf="1.00" fch_txf="2.00" fch_rxw="3.00" fch_txw="4.00"/>
      </network>
        <io per="second"><tps>7.00</tps>
        <io-reads rtps="4.00" bread="32.00"/><io-writes wtps="3.00" bwrtn="16.00"/>
      </io>
      </timestamp>
      <timestamp date="2026-11-22" time="20:43:21" utc="0" interval="60">
        <io per="second"><tps>8.00</tps>
        <io-reads rtps="4.00" bread="64.00"/><io-writes wtps="4.00" bwrtn="16.00"/>
      </io>
      </timestamp>
    </statistics>
    <restarts><boot date="2026-11-22" time="19:00:00" utc="1" cpu_count="4"/></restarts>
    <comments><comment date="2026-11-22" time="19:30:00" utc="1" com="load &amp; go"/></comments>
  </host>
</sysstat>
"""


def test_xml_of_sadf_has_units_zones_restarts_and_comments(tmp_path):
    rec = opened(tmp_path / "a", XML, zone="Europe/Berlin")
    io = rec["io"].collect()
    assert io["read_kib_per_s"].to_list() == [16.0, 32.0]
    assert io["interval_s"].to_list() == [60.0, 60.0]
    assert io["time"][0] == datetime(2026, 11, 22, 19, 42, 21, tzinfo=UTC)
    assert rec["fans"].collect().select("fan", "sensor", "rpm").row(0) == ("1", "dell_smm", 2100.0)
    assert rec["fibre_channel"].collect()["fibre_channel_host"].to_list() == ["host7"]
    assert rec["restarts"].collect().select("time", "cpus").row(0) == (datetime(2026, 11, 22, 19, tzinfo=UTC), 4)
    assert rec["comments"].collect()["comment"].to_list() == ["load & go"]
    assert (rec.meta["host"], rec.meta["kernel"], rec.meta["cpus"]) == ("web-01", "5.14.0", 2)


def test_xml_that_is_cut_is_read_as_far_as_it_is_whole(tmp_path):
    rec = opened(tmp_path / "a", XML[: XML.index("<io-reads", XML.index("20:43:21"))])
    assert rec["io"].collect()["read_kib_per_s"].to_list() == [16.0]
    assert any("not whole" in message for message in warned(rec))


def test_pairs_of_sadf_with_restarts_and_what_cannot_be_read(tmp_path):
    stamp = "web-01\t600\t2026-11-22 20:50:01 UTC"
    lines = (
        "web-01\t-1\t2026-11-22 20:40:00 UTC\tLINUX-RESTART\t(2 CPU)",
        f"{stamp}\tcpu1\t%user\t3.50", f"{stamp}\tcpu1\t%idle\t96.50",
        f"{stamp}\t-\tcall/s\t1.00", f"{stamp}\t-\tretrans/s\t2.00",
        f"{stamp}\t-\tatmptf/s\t3.00", f"{stamp}\t-\tretrans/s\t4.00",
        f"{stamp}\tfan2\trpm\t2100.00", f"{stamp}\ti017/s\tintr/s\t5.00", f"{stamp}\tsda\ttps\tmany", "web-01",
    )  # fmt: skip
    rec = opened(tmp_path / "a", "\n".join(lines) + "\n")
    assert rec["cpu"].collect().select("cpu", "user_pct", "idle_pct").row(0) == ("1", 3.5, 96.5)
    assert rec["nfs_client"].collect()["retrans_per_s"].to_list() == [2.0]
    assert rec["tcp_errors"].collect()["retrans_per_s"].to_list() == [4.0]
    assert rec["fans"].collect().select("fan", "rpm").row(0) == ("2", 2100.0)
    assert rec["restarts"].collect()["cpus"].to_list() == [2]
    assert any(re.search(r"no number in column transfers_per_s: 'many'", message) for message in warned(rec))
    assert any("1 line not part of a result" in note.message for note in rec.notes)


def test_rows_that_have_units_behind_all_numbers_are_rows(tmp_path):
    head = "20:42:20        CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
    row = "20:42:21        all     52.0%     32.7%     12.2%      2.0%      0.0%      1.0%\n"
    rec = opened(tmp_path / "a", BANNER + head + row)
    assert rec.format == "sar"
    assert rec["cpu"].collect()["user_pct"].to_list() == [52.0]
