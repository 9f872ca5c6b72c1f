"""perf stat, composed: text in many locales, CSV of every field count."""

from __future__ import annotations

import json

import pytest
from compose import opened
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

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


def events(rec):
    return rec["events"].collect().to_dicts()


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
    rec = opened(tmp_path, "\n".join(lines))
    plain = events(opened(tmp_path, TEXT, "plain.txt"))
    names = ("event", "value", "unit", "counted_pct", "stddev_pct", "metric_value")
    assert [[row[name] for name in names] for row in events(rec)] == [[row[name] for name in names] for row in plain]
    assert ["decimal comma" in str(note) for note in rec.notes] == ([True] if decimal == "," else [])
    assert rec["runs"].collect()["elapsed_s"].item() == 6.1789


@pytest.mark.parametrize(
    "prefix", ["S0-D0-C1 2", "S1 28", "N0 28", "S0-D1 14", "S0-D0-L3-ID0 4", "CPU3", "bash-4711", "my app-7"]
)
def test_every_unit_of_aggregation_is_told(tmp_path, prefix):
    cpus = prefix.split()[-1] if prefix.split()[-1].isdigit() else None
    aggregate = prefix.removesuffix(f" {cpus}") if cpus else prefix
    wide = f"{aggregate:<12} {cpus or '':>4}"
    text = f" Performance counter stats for 'system wide':\n\n{wide}     1,234,567      cycles   #  1.0 GHz  (50.00%)\n"
    (row,) = events(opened(tmp_path, text + f"{wide}          # 0.5 other metric\n\n 1.5 seconds time elapsed\n"))
    assert (row["aggregate"], row["cpus"], row["value"]) == (aggregate, int(cpus) if cpus else None, 1234567)
    sep = ","
    line = sep.join([aggregate, *([cpus] if cpus else []), "1234567", "", "cycles", "500", "50.00", "1.0", "GHz"])
    rec = opened(tmp_path, f"{line}\n1.0,msec,task-clock,1,100.00,,\n".split("\n")[0] + "\n")
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
    rec = opened(tmp_path, text + "\n", "perf.csv")
    clock, instructions, loads = events(rec)
    assert (clock["value"], clock["unit"], clock["runtime_ms"], clock["counted_pct"]) == (12.5, "msec", 2.0, 83.31)
    assert (instructions["value"], instructions["metric_value"]) == (987654321, 1.25)
    assert instructions["metric_unit"] == "insn per cycle"
    assert (loads["state"], loads["value"]) == ("not supported", None)
    assert clock["stddev_pct"] == (0.61 if stddev else None)
    assert clock["aggregate"] == (aggregate[0] if aggregate else None)
    assert clock["elapsed_s"] == (1.000123456 if interval else None)
    assert not [note for note in rec.notes if note.severity == "warning"]


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


NAMES = st.from_regex(r"[a-z][a-z0-9_.-]{0,20}[a-z](:[uk]{1,2})?", fullmatch=True).filter(
    lambda name: name not in {"nan", "inf"}
)


@pytest.mark.search
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
    rows = events(opened(tmp_path, text))
    assert [(row["event"], row["value"], row["counted_pct"]) for row in rows] == [
        (name, float(value), 83.31) for name, value in counts
    ]
