"""perf stat, composed: text in many locales, CSV of every field count, JSON with its slips, and damage."""

from __future__ import annotations

import json

import compose
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples
from strategies_of_text import damaged, reads_or_refuses

import esxparse as ex
from esxparse.errors import DamagedError
from esxparse.formats import perf_stat as reader
from esxparse.formats.kit.head import Head

MANY = settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

TEXT = """
 Performance counter stats for './work --all' (5 runs):

         12,345.67 msec task-clock                #    1.998 CPUs utilized            ( +-  0.31% )
     9,876,543,210      cycles                    #    0.800 GHz                      ( +-  0.11% )  (66.61%)
    19,753,086,420      instructions              #    2.00  insn per cycle
                                                  #    0.12  stalled cycles per insn  ( +-  0.07% )  (83.31%)
           123,456      dTLB-load-misses          #    0.24% of all dTLB cache accesses  ( +-  2.43% )  (83.40%)
   <not supported>      LLC-loads
     <not counted>      LLC-load-misses                                               (0.00%)

            6.1789 +- 0.0130 seconds time elapsed  ( +-  0.21% )

"""


def read(folder, text, name="perf.txt"):
    return ex.open(compose.write(folder, text, name))


def events(rec):
    return rec["events"].collect().to_dicts()


def test_text_gives_counts_states_shares_and_deviations(tmp_path):
    rec = read(tmp_path, TEXT)
    clock, cycles, instructions, misses, loads, load_misses = events(rec)
    assert (clock["event"], clock["value"], clock["unit"], clock["stddev_pct"]) == (
        "task-clock",
        12345.67,
        "msec",
        0.31,
    )
    assert (cycles["value"], cycles["counted_pct"], cycles["metric_value"], cycles["metric_unit"]) == (
        9876543210, 66.61, 0.8, "GHz",
    )  # fmt: skip
    assert (instructions["stddev_pct"], instructions["counted_pct"]) == (0.07, 83.31)
    assert (misses["metric_value"], misses["metric_unit"]) == (0.24, "of all dTLB cache accesses")
    assert (loads["value"], loads["state"]) == (None, "not supported")
    assert (load_misses["value"], load_misses["state"], load_misses["counted_pct"]) == (None, "not counted", 0.0)
    of_instructions = [row for row in rec["metrics"].collect().to_dicts() if row["event"] == "instructions"]
    assert [(row["metric_value"], row["metric_unit"], row["counted_pct"]) for row in of_instructions] == [
        (2.0, "insn per cycle", 83.31),
        (0.12, "stalled cycles per insn", 83.31),
    ]
    (run,) = rec["runs"].collect().to_dicts()
    assert (run["command"], run["repetitions"], run["elapsed_s"]) == ("./work --all", 5, 6.1789)
    assert (run["elapsed_stddev_s"], run["elapsed_stddev_pct"]) == (0.013, 0.21)
    assert not rec.notes


@pytest.mark.parametrize(
    ("group", "decimal"),
    [
        (",", "."),
        (".", ","),
        ("\u202f", ","),
        ("\u00a0", ","),
        ("'", "."),
        ("\u2019", "."),
        (" ", ","),
        ("", "."),
        ("", ","),
    ],
)
def test_numbers_of_any_locale_are_the_same(tmp_path, group, decimal):
    signs = str.maketrans({",": group, ".": decimal})
    lines = [line if "stats for" in line else line.translate(signs) for line in TEXT.split("\n")]
    rec = read(tmp_path, "\n".join(lines))
    plain = events(read(tmp_path, TEXT, "plain.txt"))
    names = ("event", "value", "unit", "counted_pct", "stddev_pct", "metric_value")
    assert [[row[name] for name in names] for row in events(rec)] == [[row[name] for name in names] for row in plain]
    assert ["decimal comma" in str(note) for note in rec.notes] == ([True] if decimal == "," else [])
    assert rec["runs"].collect()["elapsed_s"].item() == 6.1789


def test_indian_digits_are_grouped_in_twos(tmp_path):
    rec = read(
        tmp_path, " Performance counter stats for 'x':\n\n   1,23,45,678  cycles\n\n  1.500 seconds time elapsed\n"
    )
    assert events(rec)[0]["value"] == 12345678


def test_a_number_that_may_be_either_is_said_to_be(tmp_path):
    rec = read(tmp_path, " Performance counter stats for 'x':\n\n    1.234      page-faults\n")
    assert events(rec)[0]["value"] == 1234
    assert [note.severity for note in rec.notes] == ["warning", "info"]
    assert "may have a thousands separator" in str(rec.notes[0])
    rest = " Performance counter stats for 'y':\n\n    2,50 msec task-clock\n\n   0,100000000 seconds time elapsed\n"
    rec = read(tmp_path, " Performance counter stats for 'x':\n\n    1.234      page-faults\n" + rest)
    assert events(rec)[0]["value"] == 1234
    assert "as in the rest of the file, decimal comma" in str(rec.notes)


def test_numbers_written_in_two_ways_are_warned_of(tmp_path):
    rec = read(tmp_path, TEXT.replace("0.31%", "0,31%"))
    assert any("in two ways" in str(note) and note.severity == "warning" for note in rec.notes)
    assert events(rec)[1]["value"] == 9876543210


def test_two_documents_of_two_locales_keep_their_own(tmp_path):
    german = " Performance counter stats for 'y':\n\n   1.234      page-faults\n\n   0,100000000 seconds time elapsed\n"
    rec = read(tmp_path, TEXT + german)
    assert [row["value"] for row in events(rec) if row["run"] == 2] == [1234.0]
    assert rec["runs"].collect()["elapsed_s"].to_list() == [6.1789, 0.1]


def test_old_text_and_text_from_a_web_page_are_read(tmp_path):
    old = """root@vm:~# perf stat -e dTLB-load-misses perl stress.pl
Performance counter stats for 'perl stress.pl':
 4.301284  task-clock-msecs         #      0.966 CPUs
7 context-switches # 0.001 M/sec
123456789 dTLB-load-misses # 0.000 M/sec [83.31%]
99 raw 0x1a8  (scaled from 66.70%)
60.125000000  seconds time elapsed
root@vm:~#
"""
    rec = read(tmp_path, old)
    rows = events(rec)
    assert [row["value"] for row in rows] == [4.301284, 7, 123456789, 99]
    assert [row["counted_pct"] for row in rows] == [None, None, 83.31, 66.7]
    assert rec["runs"].collect().row(0, named=True)["elapsed_s"] == 60.125


def test_hybrid_pmus_groups_of_metrics_and_nan(tmp_path):
    text = """ Performance counter stats for 'system wide':

       257,711,907      cpu_atom/cycles/                 #    0.008 GHz                         (54.18%)
             TopdownL1 (cpu_core)                 #      nan %  tma_backend_bound
                                                  #      0.4 %  tma_bad_speculation      (63.36%)
               812 Joules power/energy-pkg/
                77      cycles:u  my.slice

       1.004244114 seconds time elapsed
"""
    rec = read(tmp_path, text)
    cycles, energy, sliced = events(rec)
    assert (cycles["pmu"], cycles["counted_pct"]) == ("cpu_atom", 54.18)
    assert (energy["unit"], energy["event"], energy["pmu"]) == ("Joules", "power/energy-pkg/", "power")
    assert (sliced["event"], sliced["cgroup"]) == ("cycles:u", "my.slice")
    of_group = [row for row in rec["metrics"].collect().to_dicts() if row["metric_group"]]
    assert [(row["metric_group"], row["metric_name"], row["metric_value"], row["event"]) for row in of_group] == [
        ("TopdownL1 (cpu_core)", "tma_backend_bound", None, None),
        ("TopdownL1 (cpu_core)", "tma_bad_speculation", 0.4, None),
    ]
    assert of_group[1]["metric_unit"] == "%"


@pytest.mark.parametrize(
    "prefix", ["S0-D0-C1 2", "S1 28", "N0 28", "S0-D1 14", "S0-D0-L3-ID0 4", "CPU3", "bash-4711", "my app-7"]
)
def test_every_unit_of_aggregation_is_told(tmp_path, prefix):
    cpus = prefix.split()[-1] if prefix.split()[-1].isdigit() else None
    aggregate = prefix.removesuffix(f" {cpus}") if cpus else prefix
    wide = f"{aggregate:<12} {cpus or '':>4}"
    text = f" Performance counter stats for 'system wide':\n\n{wide}     1,234,567      cycles   #  1.0 GHz  (50.00%)\n"
    (row,) = events(read(tmp_path, text + f"{wide}          # 0.5 other metric\n\n 1.5 seconds time elapsed\n"))
    assert (row["aggregate"], row["cpus"], row["value"]) == (aggregate, int(cpus) if cpus else None, 1234567)
    sep = ","
    line = sep.join([aggregate, *([cpus] if cpus else []), "1234567", "", "cycles", "500", "50.00", "1.0", "GHz"])
    rec = read(tmp_path, f"{line}\n1.0,msec,task-clock,1,100.00,,\n".split("\n")[0] + "\n")
    (row,) = events(rec)
    assert (row["aggregate"], row["cpus"], row["value"], row["counted_pct"]) == (
        aggregate, int(cpus) if cpus else None, 1234567, 50.0,
    )  # fmt: skip


@pytest.mark.parametrize("sep", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("interval", ["", "     1.000123456"])
@pytest.mark.parametrize("aggregate", [(), ("CPU0",), ("S0-D0-C0", "2"), ("bash-12",)])
@pytest.mark.parametrize("stddev", ["", "0.61%"])
def test_csv_of_every_field_count(tmp_path, sep, interval, aggregate, stddev):
    def line(value, unit, event, metric):
        cells = [interval] if interval else []
        return sep.join(
            [*cells, *aggregate, value, unit, event, *([stddev] if stddev else []), "2000000", "83.31", *metric]
        )

    text = "\n".join([
        line("12.50", "msec", "task-clock", ["0.500", "CPUs utilized"]),
        line("987654321", "", "instructions:u", ["1.25", "insn per cycle"]),
        line("<not supported>", "", "LLC-loads", ["", ""]),
    ])  # fmt: skip
    rec = read(tmp_path, text + "\n", "perf.csv")
    clock, instructions, loads = events(rec)
    assert (clock["value"], clock["unit"], clock["runtime_ms"], clock["counted_pct"]) == (12.5, "msec", 2.0, 83.31)
    assert (instructions["value"], instructions["metric_value"]) == (987654321, 1.25)
    assert instructions["metric_unit"] == "insn per cycle"
    assert (loads["state"], loads["value"]) == ("not supported", None)
    assert clock["stddev_pct"] == (0.61 if stddev else None)
    assert clock["aggregate"] == (aggregate[0] if aggregate else None)
    assert clock["elapsed_s"] == (1.000123456 if interval else None)
    assert not [note for note in rec.notes if note.severity == "warning"]


def test_csv_with_topdown_rows_summary_cgroups_and_commas_in_events(tmp_path):
    text = """1.000100000,123456,,cpu/event=0x3c,umask=0x0/,1234,50.00,,
1.000100000,77,,cycles,my.slice,1234,100.00,0.1,GHz
1.000100000,,225849327050,100.00,,,,TopdownL1
1.000100000,,,,,,70.1,%  tma_backend_bound
2.000200000,123457,,cpu/event=0x3c,umask=0x0/,1234,50.00,,
         summary,246913,,cpu/event=0x3c,umask=0x0/,1234,50.00,,
"""
    rec = read(tmp_path, text)
    rows = events(rec)
    assert [row["event"] for row in rows] == ["cpu/event=0x3c,umask=0x0/", "cycles", *["cpu/event=0x3c,umask=0x0/"] * 2]
    assert [row["run"] for row in rows] == [1, 1, 1, 2]
    assert rows[1]["cgroup"] == "my.slice"
    group = rec["metrics"].collect().row(1, named=True)
    assert (group["metric_group"], group["metric_name"], group["metric_value"]) == (
        "TopdownL1",
        "tma_backend_bound",
        70.1,
    )
    assert (rec.meta["samples"], rec.meta["interval"]) == (2, 1.0)


def test_a_decimal_comma_between_commas_is_put_together(tmp_path):
    rec = read(
        tmp_path,
        "1204,57,msec,task-clock,1204570000,100,00,0,003,CPUs utilized\n58,,page-faults,12045,99,50,1,747,K/sec\n",
    )
    clock, faults = events(rec)
    assert (clock["value"], clock["counted_pct"], clock["metric_value"]) == (1204.57, 100.0, 0.003)
    assert (faults["value"], faults["counted_pct"], faults["metric_value"]) == (58, 99.5, 1.747)
    assert faults["metric_unit"] == "K/sec"


def test_json_with_all_its_slips(tmp_path):
    counted = '"unit" : "", "event" : "{}", "event-runtime" : {}, "pcnt-running" : {}'
    text = "\n".join([
        '{"counter-value" : "3112.000000", ' + counted.format("branch-misses", 20699340, "100.00") + ", }",
        '{"core" : "S0-D0-C0""counter-value" : "5.000000", ' + counted.format("cs", 7, "50,25") + "}",
        '{"cpu" : "3", "counter-value" : "<not counted>", '
        + counted.format("cs", 0, "0.00") + ', "metric-value" : nan, "metric-unit" : "(null)"}',
        '{"metric-value" : -nan, "metric-unit" : "%  tma_retiring", "metric-threshold" : "good"}\n',
    ])  # fmt: skip
    rec = read(tmp_path, text)
    misses, core, cpu = events(rec)
    assert (misses["value"], misses["runtime_ms"]) == (3112, 20.69934)
    assert (core["aggregate"], core["value"], core["counted_pct"]) == ("S0-D0-C0", 5, 50.25)
    assert (cpu["aggregate"], cpu["state"], cpu["metric_value"]) == ("CPU3", "not counted", None)
    metric = rec["metrics"].collect().row(-1, named=True)
    assert (metric["metric_value"], metric["metric_name"], metric["threshold"]) == (None, "tma_retiring", "good")
    assert "repaired" in str(rec.notes)


def test_a_run_begins_where_its_first_event_comes_again(tmp_path):
    lines = [f"{value},,{event},1000,100.00,," for value, event in ((1, "cycles"), (2, "cs"), (3, "cycles"), (4, "cs"))]
    assert [row["run"] for row in events(read(tmp_path, "\n".join(lines) + "\n"))] == [1, 1, 2, 2]
    asked_twice = [lines[0], lines[2], lines[1]]
    assert [row["run"] for row in events(read(tmp_path, "\n".join(asked_twice)))] == [1, 1, 1]


def test_what_is_not_perf_stat_is_left_alone():
    for head in (
        b"",
        b"time,value\n1,2\n",
        b"\xff\xfe",
        b"\x00" * 99,
        b'{"event": 1}\n',
        b"a,b,c,d,e,f\n1,2,3,4,5,6\n",
    ):
        assert not reader.recognise(Head(head))
    assert reader.recognise(Head(TEXT.encode("utf-16")))


@pytest.mark.parametrize("text", [" Performance counter stats for 'sleep 1':\n\n", TEXT[:60], '{"metric-unit" : 3}\n'])
def test_output_without_an_event_is_one_clear_error(tmp_path, text):
    with pytest.raises(DamagedError, match="no readable perf stat event"):
        read(tmp_path, text)


def test_a_line_that_was_cut_is_told_of_and_the_rest_is_kept(tmp_path):
    rec = read(tmp_path, TEXT.replace("     9,876,543,210      cycles  ", "     9,876,543,210  \x01 # "))
    assert [row["event"] for row in events(rec)][:2] == ["task-clock", "instructions"]
    assert any(note.severity == "warning" and note.line for note in rec.notes)


CSV = "".join(
    f"{n}.000{n}00000,{n * 1000},,cycles,2000,99.10,1.{n},GHz\n{n}.000{n}00000,3.25,msec,task-clock,2000,100.00,,\n"
    for n in range(1, 9)
)
JSON = "".join(
    json.dumps({"counter-value": f"{n}.0", "unit": "", "event": f"e-{n}", "event-runtime": n, "pcnt-running": 5.5})
    + "\n"
    for n in range(9)
)


@MANY
@given(damage=st.sampled_from([TEXT, TEXT.replace(",", "."), CSV, JSON]).flatmap(damaged))
def test_damage_gives_a_recording_or_one_clear_line(tmp_path, damage):
    assert reader.recognise(Head(damage)) in {True, False}
    assert reads_or_refuses(compose.write(tmp_path, damage, "damaged"), "perf_stat")


NAMES = st.from_regex(r"[a-z][a-z0-9_.-]{0,20}[a-z](:[uk]{1,2})?", fullmatch=True).filter(
    lambda name: name not in {"nan", "inf"}
)


@MANY
@given(
    counts=st.lists(st.tuples(NAMES, st.integers(0, 10**17)), min_size=1, max_size=6, unique_by=lambda one: one[0]),
    signs=st.sampled_from([(",", "."), (".", ","), ("\u202f", ","), ("'", "."), ("", ".")]),
    form=st.sampled_from(["text", "csv", "json"]),
)
def test_what_is_written_is_read_back(tmp_path, counts, signs, form):
    if form == "text":
        lines = [f"{value:>26,}      {name:<25}   ( +-  0.12% )  (83.31%)" for name, value in counts]
        tail = "\n       1.234567891 seconds time elapsed\n"
        body = ("\n".join(lines) + "\n" + tail).translate(str.maketrans({",": signs[0]} | {".": signs[1]}))
        for name, _ in counts:
            body = body.replace(name.translate(str.maketrans({".": signs[1]})) + " ", name + " ")
        text = " Performance counter stats for 'x':\n\n" + body
    elif form == "csv":
        text = "".join(f"{value},,{name},1000,83.31,,\n" for name, value in counts)
    else:
        keys = ({"counter-value": f"{value}.000000", "event": name, "pcnt-running": 83.31} for name, value in counts)
        text = "".join(json.dumps(one) + "\n" for one in keys)
    rows = events(read(tmp_path, text))
    assert [(row["event"], row["value"], row["counted_pct"]) for row in rows] == [
        (name, float(value), 83.31) for name, value in counts
    ]


def warned(rec):
    return [str(note) for note in rec.notes if note.severity == "warning"]


@pytest.mark.parametrize(
    ("whole", "lost"),
    [
        ("CPU0,7,,cs,1000,100.00,,\n", "CPU0,<not supported>,,cycles,100.00,,\n"),
        ("CPU0,7,,cs,1000,16.60,1.25,GHz\n", "CPU0,8,,cycles,1000,1.25,GHz\n"),
        ("CPU0,7,,cs,1000,16.60,1.25,GHz\n", "CPU0,8,,cycles,16.60,1.25,GHz\n"),
        ("1.000100000 7 cs 1000 16.60 1.25 GHz\n", "1.000100000 8 cycles 1000 1.25 GHz\n"),
        ("1.000100000 7 cs 1000 16.60 1.25 GHz\n", "1.000100000 8 cycles 16.60 1.25 GHz\n"),
    ],
)
def test_a_line_that_lost_a_cell_is_left_out(tmp_path, whole, lost):
    rec = read(tmp_path, whole + lost)
    assert [(row["event"], row["value"]) for row in events(rec)] == [("cs", 7)]
    (note,) = warned(rec)
    assert "line 2" in note


@pytest.mark.parametrize(
    "cut", ["   1.7488 +- 0.0130 se", "  58.3 58.3 seconds time elapsed\n", "  1.7488 s", "  1.7 seconds ti"]
)
def test_what_is_left_of_how_long_it_took_is_no_event(tmp_path, cut):
    rec = read(tmp_path, f" Performance counter stats for 'x':\n\n   100 cycles\n{cut}")
    assert [row["event"] for row in events(rec)] == ["cycles"]
    (note,) = warned(rec)
    assert "line 4" in note


@pytest.mark.parametrize(
    ("whole", "cut"),
    [
        ("100,,cycles,1000,100.00,,\n", "54.94,msec,task-clock,549"),
        (" Performance counter stats for 'x':\n\n   100 cycles\n", "   200 cs  # 32"),
    ],
)
def test_a_number_that_touches_the_end_of_the_file_is_not_read(tmp_path, whole, cut):
    rec = read(tmp_path, whole + cut)
    assert [row["event"] for row in events(rec)] == ["cycles"]
    (note,) = warned(rec)
    assert "its last number may be cut" in note


_TITLE = " Performance counter stats for 'sleep 1':\n\n"
_END = "\n       1.001234567 seconds time elapsed\n\n"


@pytest.mark.parametrize(
    ("line", "event", "pmu", "cgroup", "value", "unit"),
    [
        ("0.512345 task-clock (msec) # 0.001 CPUs utilized", "task-clock", None, None, 0.512345, "msec"),
        ("1,234 cpa_cycles [hisi_sicl0_cpa0]", "cpa_cycles [hisi_sicl0_cpa0]", "hisi_sicl0_cpa0", None, 1234, None),
        (
            "12.5 MiB uncore_imc/cas/ [uncore_imc_0]",
            "uncore_imc/cas/ [uncore_imc_0]",
            "uncore_imc_0",
            None,
            12.5,
            "MiB",
        ),
        ("1,004,123,456 cpu-clock # 0.998 CPUs utilized", "cpu-clock", None, None, 1004123456, "ns"),
        ("512.25 cpu-clock:u # 0.998 CPUs utilized", "cpu-clock:u", None, None, 512.25, "msec"),
        ("77 ref_cycles my/group", "ref_cycles", None, "my/group", 77, None),
    ],
)
def test_event_unit_pmu_and_cgroup_are_told_apart(tmp_path, line, event, pmu, cgroup, value, unit):
    (row,) = events(read(tmp_path, f"{_TITLE}     {line}\n{_END}"))
    names = ("event", "pmu", "cgroup", "value", "unit")
    assert tuple(row[name] for name in names) == (event, pmu, cgroup, value, unit)


@pytest.mark.parametrize(
    "cut", [f"{_TITLE} 12 cycles\n 1 conte", "0.58,msec,task-clock,575403,100.00,0.003,CPUs utilized\n1,,conte"]
)
def test_an_event_whose_name_ends_the_file_is_left_out_and_noted(tmp_path, cut):
    rec = read(tmp_path, cut)
    assert len(events(rec)) == 1
    (note,) = [note for note in rec.notes if note.severity == "warning"]
    assert (note.line, "may be cut" in note.message) == (cut.count("\n") + 1, True)
    whole = read(tmp_path, cut + "xt-switches\n")
    assert len(events(whole)) == 2
    assert not [note for note in whole.notes if note.severity == "warning"]


def test_an_output_that_does_not_say_how_long_it_took_may_be_cut(tmp_path):
    assert any("ends before the time it took" in note.message for note in read(tmp_path, f"{_TITLE} 1 faults\n").notes)
    assert not read(tmp_path, f"{_TITLE} 1 faults\n{_END}").notes
