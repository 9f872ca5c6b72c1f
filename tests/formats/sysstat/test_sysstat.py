"""sar, sadf, iostat, mpstat and pidstat: what the real tools print, and what older releases and other locales do."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

import esxparse as ex

ACTIVITIES = ["-u", "ALL", "-P", "ALL", "-A"]


def run(*command):
    env = {"LC_ALL": "C", "TZ": "UTC", "PATH": ""}
    program = shutil.which(command[0])
    return subprocess.run([program, *command[1:]], capture_output=True, text=True, check=True, env=env).stdout


def opened(path, text, **options):
    path.write_text(text, encoding="utf-8")
    return ex.open(path, **options)


def times(frame):
    return [time.strftime("%d %H:%M:%S") for time in frame["time"]]


def warned(rec):
    return [note.message for note in rec.notes if note.severity == "warning"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A file of sar's own, of two samples."""
    path = tmp_path_factory.mktemp("sar") / "activities.sa"
    if shutil.which("sar"):
        run("sar", "-o", str(path), "-A", "1", "2")
    return path


@pytest.mark.search
@pytest.mark.needs("sar", "sadf")
def test_all_forms_of_one_file_of_sar_have_the_same_numbers(recorded, tmp_path):
    printed = opened(tmp_path / "sar.txt", run("sar", "-f", str(recorded), *ACTIVITIES))
    others = (
        opened(tmp_path / "sadf.json", run("sadf", "-j", str(recorded), "--", *ACTIVITIES)),
        opened(tmp_path / "sadf.csv", run("sadf", "-d", str(recorded), "--", *ACTIVITIES)),
        opened(tmp_path / "sadf.tsv", run("sadf", "-p", str(recorded), "--", *ACTIVITIES)),
        opened(tmp_path / "sadf.xml", run("sadf", "-x", str(recorded), "--", *ACTIVITIES)),
    )
    assert len(printed) > 30
    for other in others:
        assert other.format == "sar"
        assert set(other) == set(printed)
        for name in printed:
            one, two = printed[name].collect(), other[name].collect()
            names = [column for column, kind in one.schema.items() if kind == pl.String() or column == "time"]
            assert set(one.columns) == set(two.columns), name
            # A late sample may have the second of the next: the order within one second is that of the file.
            one, two = (table.select(one.columns).sort(names, maintain_order=True) for table in (one, two))
            assert one.drop("interval_s").equals(two.drop("interval_s")), name
            # sadf knows the intervals, and what sar prints has whole seconds.
            gap = (one["interval_s"].fill_null(0) - two["interval_s"].fill_null(0)).abs().max()
            assert gap <= 1, name
        assert not warned(other)
    assert not warned(printed)
    assert printed.meta["interval"] <= 2


@pytest.mark.needs("sar", "sadf")
@pytest.mark.parametrize("form", ["-x", "-d", "-p"])
def test_decimal_commas_give_the_same_numbers_in_every_form(recorded, tmp_path, form):
    text = run("sadf", form, str(recorded), "--", *ACTIVITIES)
    plain = opened(tmp_path / "a", text)
    local = opened(tmp_path / "b", re.sub(r"(?<![\w.:/])(\d+)\.(\d\d)(?![\w.])", r"\1,\2", text))
    for name in plain:
        assert local[name].collect().equals(plain[name].collect()), name
    assert not warned(local)


@pytest.mark.needs("sar")
def test_a_file_of_sars_own_is_refused_with_what_to_do(recorded):
    with pytest.raises(ex.UnreadableError, match="export it with sadf -j FILE -- -A"):
        ex.open(recorded)


@pytest.mark.needs("sar", "sadf")
def test_numbers_of_sadf_are_those_that_json_has(recorded, tmp_path):
    text = run("sadf", "-j", str(recorded), "--", "-r", "-d", "-b")
    samples = json.loads(text)["sysstat"]["hosts"][0]["statistics"]
    rec = opened(tmp_path / "sadf.json", text)
    first = rec["memory"].collect().row(0, named=True)
    assert first["memfree_kib"] == samples[0]["memory"]["memfree"]
    assert first["memused_pct"] == samples[0]["memory"]["memused-percent"]
    disks = [disk for sample in samples for disk in sample["disk"]]
    assert rec["disk"].collect()["read_kib_per_s"].to_list() == [disk["rkB"] for disk in disks]
    blocks = [sample["io"]["io-writes"]["bwrtn"] for sample in samples]
    assert rec["io"].collect()["write_kib_per_s"].to_list() == [block / 2 for block in blocks]


@pytest.mark.needs("iostat")
def test_text_and_json_of_iostat_have_the_same_columns(tmp_path):
    printed = opened(tmp_path / "a", run("iostat", "-x", "-t", "1", "2"))
    other = opened(tmp_path / "b", run("iostat", "-x", "-t", "-o", "JSON", "1", "2"))
    for name in ("cpu", "device"):
        assert set(printed[name].collect().columns) == set(other[name].collect().columns)
    for rec in (printed, other):
        cpu = rec["cpu"].collect()
        assert cpu["since_boot"].to_list() == [True, False]
        assert cpu["interval_s"].to_list() in ([None, 1.0], [None, 2.0])
        assert any("since_boot" in note.message for note in rec.notes)


@pytest.mark.needs("iostat")
@pytest.mark.parametrize("option", ["-m", "-k", "-h", "-xh", "-xm", "-s", "-xs"])
def test_iostat_has_kib_whatever_unit_it_prints(tmp_path, option):
    # Since the machine was started: the same but for what was done between two runs.
    plain = opened(tmp_path / "a", run("iostat", "-x" if "x" in option else "-k", "-d"))["device"].collect()
    other = opened(tmp_path / "b", run("iostat", option, "-d"))["device"].collect()
    same = [name for name in ("read_kib_per_s", "kib_per_s") if name in other.columns and name in plain.columns]
    both = plain.join(other, on="device", suffix="_other")
    assert both.height == plain.height
    for name in same:
        for one, two in both.select(name, f"{name}_other").iter_rows():
            assert two == pytest.approx(one, rel=0.2, abs=10)


@pytest.mark.needs("mpstat")
def test_text_and_json_of_mpstat_have_the_same_tables(tmp_path):
    printed = opened(tmp_path / "a", run("mpstat", "-A"))
    other = opened(tmp_path / "b", run("mpstat", "-A", "-o", "JSON"))
    assert set(printed) == set(other) == {"cpu", "node_cpu", "interrupts", "soft_interrupts"}
    for name in printed:
        keys = ["cpu" if name != "node_cpu" else "node", *(["interrupt"] if "interrupts" in name else [])]
        assert printed[name].select(keys).collect().equals(other[name].select(keys).collect()), name


@pytest.mark.needs("mpstat")
def test_a_report_since_the_start_of_the_machine_is_marked(tmp_path):
    assert opened(tmp_path / "a", run("mpstat"))["cpu"].collect()["since_boot"].to_list() == [True]
    assert opened(tmp_path / "b", run("mpstat", "1", "1"))["cpu"].collect()["since_boot"].to_list() == [False]


SCRIPT = """set -e
# Time of day, for PID and UID

note: this
PID %CPU 12
Average: 3 of 4
12:00:01 started
import sys"""
"""Lines of a command that look like a comment, titles, averages and a sample."""
ONE_LINE = "set -e # Time of day, for PID and UID note: this PID %CPU 12 Average: 3 of 4 12:00:01 started import sys"


PROGRAM = r"""#!/bin/bash
# Keeps what the benchmark printed on each host, and removes the rest when it is done.
measure() {
    cat <<'EOF' > "$1.conf"
[global]
ioengine=libaio
EOF
    ssh "$1" ./bench.sh \
        --output "$1.txt"
}
function finish {
    rm -f "$1.conf" ;
}
function report() {
    python3 -c "
def mean(values):
    return sum(values) / len(values)
class Meter:
    pass
print(mean([1, 2]))
"
}
while true; do
    measure "$1";
done"""
"""A command that looks like source code and like a quotation."""


@contextmanager
def running(*commands: str) -> Iterator[list[str]]:
    """Processes with these commands; gives their PIDs in rising order."""
    with ExitStack() as stack:
        made = [
            stack.enter_context(
                subprocess.Popen([name, "-S", "-c", "input()"], executable=sys.executable, stdin=subprocess.PIPE)
            )
            for name in commands
        ]
        # The kernel shows a command only some microseconds after a process has begun it.
        while not all(Path(f"/proc/{one.pid}/cmdline").read_bytes() for one in made):
            pass
        yield sorted((str(one.pid) for one in made), key=int)
        for one in made:
            one.kill()


@pytest.mark.needs("pidstat")
@pytest.mark.parametrize("form", [("-l",), ("-l", "-h"), ("-l", "-t"), ("-l", "-U", "1", "1")])
@pytest.mark.parametrize("last", ["/bin/of one line", f"/bin/last -c\n{SCRIPT}"])
def test_a_command_of_several_lines_is_one(tmp_path, form, last):
    with running(f"/bin/multi -c\n{SCRIPT}", f"/bin/multi -c\n{SCRIPT}", last) as pids:
        text = run("pidstat", "-p", ",".join(pids), "-u", "-r", *form)
    rec = opened(tmp_path / "a", text + "\n$ pidstat\n")
    for name in ("process_cpu", "process_memory"):
        commands = rec[name].collect()["command"].to_list()
        assert commands.count(f"/bin/multi -c {ONE_LINE} -S -c input()") == 2
        assert commands.count(f"{last.replace(SCRIPT, ONE_LINE)} -S -c input()".replace("\n", " ")) == 1
    assert not warned(rec)
    assert any("commands of several lines" in note.message for note in rec.notes)
    assert any("'$ pidstat'" in note.message for note in rec.notes)


@pytest.mark.needs("pidstat")
@pytest.mark.parametrize("form", [(), ("-h",)])
@pytest.mark.parametrize("command", ["/bin/of one line", f"/bin/multi -c\n{SCRIPT}"])
def test_samples_below_one_line_of_titles_are_rows(tmp_path, form, command):
    with running(command) as pids:
        rec = opened(tmp_path / "a", run("pidstat", "-l", "-u", *form, "-p", *pids, "1", "2"))
    rows = rec["process_cpu"].collect()
    assert rows["command"].to_list() == [f"{command} -S -c input()".replace(SCRIPT, ONE_LINE).replace("\n", " ")] * 2
    assert rows["time"].n_unique() == 2
    assert not warned(rec)


@pytest.mark.needs("pidstat")
@pytest.mark.parametrize("form", [(), ("-h",), ("-h", "-H"), ("-t",), ("-l", "-U")])
def test_pidstat_has_a_table_for_each_activity_whatever_its_form(tmp_path, form):
    rec = opened(tmp_path / "a", run("pidstat", "-p", "ALL", "-u", "-r", "-d", "-w", *form))
    assert set(rec) == {"process_cpu", "process_memory", "process_disk", "process_switches"}
    cpu = rec["process_cpu"].collect()
    assert cpu["cpu_pct"].null_count() == 0
    assert cpu["command"].null_count() == 0
    assert not warned(rec)


@pytest.mark.needs("pidstat")
@pytest.mark.parametrize("form", [("-l", "-h"), ("-l", "-t"), ("-l", "-U")])
def test_commands_that_look_like_source_quote_nothing(tmp_path, form):
    with running(*[f"/bin/bash -c {PROGRAM} # {n}" for n in range(4)]) as pids:
        text = run("pidstat", "-p", ",".join(pids), "-u", "-r", "-d", "-w", *form)
        everything = run("pidstat", "-p", "ALL", "-u", "-r", "-d", "-w", *form)
    rec = opened(tmp_path / "a", text)
    for name in ("process_cpu", "process_memory", "process_disk", "process_switches"):
        # Rows of threads (-t) have the short name.
        commands = [one for one in rec[name].collect()["command"] if one.startswith("/bin")]
        expected = " ".join(line.strip() for line in PROGRAM.splitlines())
        assert commands == [f"/bin/bash -c {expected} # {n} -S -c input()" for n in range(4)]
    assert opened(tmp_path / "b", everything)["process_cpu"].collect().height > 4
    with pytest.raises(ex.UnknownFormatError, match="quotes pidstat"):
        opened(tmp_path / "c", f'SAMPLE = """\n{text}"""\nassert parse(SAMPLE)\n')


LISTS = """/bin/sh -c set -e
 0,11 0,5 12,5 22,33 44,44 55,66
 0   4881    0,11    0,00    0,2    0,3
taskset -c 0,11 run 1,234 1.234,5"""


@pytest.mark.needs("pidstat")
@pytest.mark.parametrize("form", [("-l",), ("-l", "-h"), ("-l", "-h", "-H"), ("-l", "-t"), ("-l", "-U")])
def test_lists_in_a_command_are_not_numbers_of_another_locale(tmp_path, form):
    with running(*[f"{LISTS} {n}" for n in range(9)]) as pids:
        text = run("pidstat", "-p", ",".join(pids), "-u", "-r", "-d", "-w", *form)
    rec = opened(tmp_path / "a", text)
    expected = " ".join(line.strip() for line in LISTS.splitlines())
    for name in ("process_cpu", "process_memory", "process_disk", "process_switches"):
        commands = [one for one in rec[name].collect()["command"] if one.startswith("/bin")]
        assert commands == [f"{expected} {n} -S -c input()" for n in range(9)]
    assert rec["process_memory"].collect()["memory_pct"].null_count() == 0
    assert not warned(rec)


PIDSTAT = """Linux 6.1.0 (web) \t11/22/26 \t_x86_64_\t(2 CPU)

20:42:20      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
20:42:21        0      4880    0.25    0.00    0.00    0.00    0.50     1  /bin/sh -c taskset -c 0,11 run
20:42:21        0      4881    0.75    0.00    0.00    0.00    0.50     1  /bin/sh -c 1,5 2,5 3,5 4,5 5,5 6,5
"""


@pytest.mark.parametrize(
    "written", ["1,25", "1.250", "1,250", "1,250.5", "1.250,5", "1'250.50", "1\u202f250.50", "1\u00a0250,5", "1 250.50"]
)
def test_a_number_with_marks_that_sysstat_does_not_print_is_left_out(tmp_path, written):
    rec = opened(tmp_path / "a", PIDSTAT.replace("  0.75", written))
    cpu = rec["process_cpu"].collect()
    assert cpu["user_pct"].to_list() == ([0.25] if written == "1 250.50" else [0.25, None])
    assert cpu["command"][0] == "/bin/sh -c taskset -c 0,11 run"
    assert len(warned(rec)) == 1
    device = OLD_IOSTAT.replace("2.00    4.00", f"2.00 {written}")
    rec = opened(tmp_path / "b", device)
    assert set(rec["device"].collect()["writes_per_s"]) <= {4.0, 0.0, None}
    assert set(rec["device"].collect()["device"]) <= {"sda", "/dev/mapper/a-very-long-name-of-a-volume"}
    assert warned(rec)


OLD_SAR = """Linux 2.6.32-431.el6.x86_64 (db-01) \t11/22/2013 \t_x86_64_\t(4 CPU)

11:50:01 PM     CPU     %user     %nice   %system   %iowait    %steal     %idle
12:00:01 AM     all      1.50      0.00      0.50      0.25      0.00     97.75
12:10:01 AM     all      2.50      0.00      0.50      0.25      0.00     96.75
Average:        all      2.00      0.00      0.50      0.25      0.00     97.25

12:10:30 AM       LINUX RESTART

12:20:01 AM     CPU     %user     %nice   %system   %iowait    %steal     %idle
12:30:01 AM     all      3.50      0.00      0.50      0.25      0.00     95.75

11:50:01 PM       DEV       tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz     await     svctm     %util
12:00:01 AM    dev8-0     10.00    200.00    100.00     30.00      0.10      5.00      1.00      1.00
12:10:01 AM    dev8-0     20.00    400.00    100.00     25.00      0.10      5.00      1.00      2.00
"""


def test_sar_of_old_releases_with_am_and_pm_over_midnight(tmp_path):
    rec = opened(tmp_path / "a", OLD_SAR)
    cpu, disk = rec["cpu"].collect(), rec["disk"].collect()
    assert times(cpu) == ["22 00:00:01", "22 00:10:01", "22 00:30:01"]
    assert cpu["interval_s"].to_list() == [600.0, 600.0, 600.0]
    # Sectors have 512 bytes.
    assert disk["read_kib_per_s"].to_list() == [100.0, 200.0]
    assert disk["request_size_kib"].to_list() == [15.0, 12.5]
    assert rec["restarts"].collect()["time"].to_list() == [datetime(2013, 11, 22, 0, 10, 30, tzinfo=UTC)]
    assert rec.meta["cpus"] == 4
    assert any("averages" in note.message for note in rec.notes)


OLD_IOSTAT = """Linux 2.6.32-431.el6.x86_64 (db-01) \t11/22/2013 \t_x86_64_\t(4 CPU)

11/22/2013 11:59:59 PM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           1.00    0.00    0.50    0.00    0.00   98.50

Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util
sda               0.00     1.00    2.00    4.00    64.00   128.00    32.00     0.01    5.00   1.00   0.60
/dev/mapper/a-very-long-name-of-a-volume
                  0.00     0.00    1.00    0.00     8.00     0.00     8.00     0.00    1.00   1.00   0.10

11/23/2013 12:00:04 AM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           2.00    0.00    0.50    0.00    0.00   97.50

Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util
sda               0.00     1.00    2.00    4.00    64.00   128.00    32.00     0.01    5.00   1.00   0.60
"""


def test_iostat_of_old_releases(tmp_path):
    rec = opened(tmp_path / "a", OLD_IOSTAT)
    device = rec["device"].collect()
    assert device["device"].to_list() == ["sda", "/dev/mapper/a-very-long-name-of-a-volume", "sda"]
    assert device["read_kib_per_s"].to_list() == [32.0, 4.0, 32.0]
    assert device["report"].to_list() == [1, 1, 2]
    assert times(device) == ["22 23:59:59", "22 23:59:59", "23 00:00:04"]
    assert device["interval_s"].to_list() == [None, None, 5.0]


@pytest.mark.parametrize(("zone", "found"), [("+02:00", "20 21:59:59"), ("America/New_York", "21 04:59:59")])
def test_the_zone_of_the_clock_can_be_given(tmp_path, zone, found):
    text = "Linux 6.1.0 (web) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n23:59:58       proc/s   cswch/s\n"
    text += "23:59:59         1.50     99.00\n"
    rec = opened(tmp_path / "a", text, zone=zone)
    assert times(rec["tasks"].collect()) == [found]
    assert any(note.message == f"times have no zone: taken as {zone}, as requested" for note in rec.notes)
    report = (
        f"Linux 6.1.0 (web) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n11/20/26 23:59:59\n{OLD_IOSTAT.partition('PM')[2][1:]}"
    )
    assert times(opened(tmp_path / "b", report, zone=zone)["cpu"].collect())[0] == found
    lines = "# hostname;interval;timestamp;proc/s;cswch/s\nweb;1;2026-11-20 23:59:59;1.50;99.00\n"
    assert times(opened(tmp_path / "c", lines, zone=zone)["tasks"].collect()) == [found]


def test_a_zone_that_no_time_needs_is_said_to_be_unused():
    rec = ex.open(ex.datasets_dir() / "formats" / "sar-sadf.json", zone="+02:00")
    assert warned(rec) == ["zone +02:00 is not used: no time in the file is without a zone"]
    with pytest.raises(ex.EsxparseError, match=r"zone is 'Mars': write it as \+02:00"):
        ex.open(ex.datasets_dir() / "formats" / "sar-sadf.json", zone="Mars")


@pytest.mark.needs("sar", "sadf")
def test_colours_are_left_out(recorded, tmp_path):
    program = shutil.which("sar")
    env = {"LC_ALL": "C", "TZ": "UTC", "S_COLORS": "always"}
    done = subprocess.run(
        [program, "-f", str(recorded), "-u", "-d"], capture_output=True, text=True, check=True, env=env
    )
    assert "\x1b" in done.stdout
    coloured = opened(tmp_path / "a", done.stdout)
    plain = opened(tmp_path / "b", run("sar", "-f", str(recorded), "-u", "-d"))
    assert all(coloured[name].collect().equals(plain[name].collect()) for name in ("cpu", "disk"))


def test_means_of_the_rows_are_the_averages_that_sar_prints():
    path = ex.datasets_dir() / "formats" / "sar-guest.txt"
    printed = path.read_text().partition("Average:        all")[2].splitlines()[0].split()
    cpu = ex.open(path)["cpu"].filter(pl.col("cpu") == "all").collect()
    means = [cpu[name].mean() for name in ("user_pct", "nice_pct", "system_pct", "iowait_pct", "steal_pct")]
    assert means == pytest.approx([float(number) for number in printed[:5]], abs=0.3)


def printed(date, clock="10:00:00"):
    return (
        f"Linux 6.1.0 (web) \t{date} \t_x86_64_\t(2 CPU)\n\n{clock}     CPU   %user   %idle\n"
        f"{clock}     all    1.25   98.75\n"
    )


@pytest.mark.parametrize(
    ("dates", "days", "is_doubtful"),
    [
        (["26.4.18"], [(2018, 4, 26)], True),
        (["26.4.18", "26.4.19"], [(2026, 4, 18), (2026, 4, 19)], False),
        (["18.4.26", "19.4.26"], [(2026, 4, 18), (2026, 4, 19)], False),
        (["18.4.2026"], [(2026, 4, 18)], False),
        (["45.4.13"], [(2045, 4, 13)], False),
        (["04/18/26"], [(2026, 4, 18)], False),
    ],
)
def test_a_year_of_two_digits_may_come_first_or_last(tmp_path, dates, days, is_doubtful):
    text = "\n".join(map(printed, dates))
    rec = opened(tmp_path / "a", text, format="sar")
    assert [(time.year, time.month, time.day) for time in rec["cpu"].collect()["time"]] == days
    assert bool(warned(rec)) == is_doubtful
    assert not is_doubtful or "are read with the day first: set date_order" in str(warned(rec))
    if is_doubtful:
        rec = opened(tmp_path / "a", text, format="sar", date_order="ymd")
        assert rec["cpu"].collect()["time"][0].day == 18


def test_dates_beside_a_clock_with_am_and_pm_may_have_the_day_first(tmp_path):
    """en_US has the month first there, en_IN the day."""
    rec = opened(tmp_path / "a", printed("04/05/26", "10:00:00 PM"), format="sar")
    assert rec["cpu"].collect()["time"][0].month == 4
    assert "'04/05/26' are read with the month first: set date_order" in str(warned(rec))


@pytest.mark.parametrize("written", ["true", '"x"', '"1.234,5"'])
def test_what_is_no_number_in_json_is_left_empty_with_a_warning(tmp_path, written):
    text = (ex.datasets_dir() / "formats" / "mpstat-all.json").read_text()
    changed = re.sub(r'"usr": [\d.]+', f'"usr": {written}', text, count=1)
    rec = opened(tmp_path / "a", changed)
    assert rec["cpu"].collect()["user_pct"].null_count() == 1
    assert any("no number in column user_pct" in message for message in warned(rec))
    nothing = opened(tmp_path / "b", re.sub(r'"usr": [\d.]+', '"usr": null', text, count=1))
    assert nothing["cpu"].collect()["user_pct"].null_count() == 1
    assert not any("no number" in message for message in warned(nothing))
