"""Whatever happens to a file of a benchmark: it is read, or there is one clear error."""

from __future__ import annotations

import importlib
import pkgutil

import pumps
import pytest
from compose import write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.formats import benchmarks, hcibench, turbostat, vcenter, vdbench
from esxparse.formats.benchmarks import (
    elbencho,
    hpcc,
    ioping,
    iperf3,
    linpack,
    memtier,
    netperf,
    ntttcp,
    redis_benchmark,
    results,
    stream,
    sysbench,
)
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.numbers import whole
from esxparse.formats.registry import reader_of
from esxparse.studies.roles import BENCHMARKS

READERS = {
    "netperf": netperf,
    "iperf3": iperf3,
    "stream": stream,
    "linpack": linpack,
    "hpl": linpack,
    "redis": redis_benchmark,
    "memtier": memtier,
    "sysbench": sysbench,
    "results": results,
    "ioping": ioping,
    "hpcc": hpcc,
    "elbencho": elbencho,
    "ntttcp": ntttcp,
    "turbostat": turbostat,
    "vcenter": vcenter,
    "vdbench": vdbench,
    "hcibench": hcibench,
}
SAMPLES = sorted(path for path in (ex.datasets_dir() / "formats").iterdir() if path.name.partition("-")[0] in READERS)


def test_every_benchmark_is_damaged_and_has_a_role_in_studies():
    modules = {one.name for one in pkgutil.iter_modules(benchmarks.__path__)}
    modules -= {"table", "printed", "iperf3_json", "netperf_omni", "netperf_text"}
    forgotten = modules - {module.__name__.rpartition(".")[2] for module in READERS.values()}
    assert not forgotten, f"add {forgotten} to READERS"
    readers = (importlib.import_module(f"{benchmarks.__name__}.{name}") for name in modules)
    assert {one.FORMAT for one in readers} <= BENCHMARKS, "add it to studies/roles.toml"


def damaged(content, draw):
    """Bytes of a sample that something happened to."""
    lines = content.split(b"\n")
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, max(0, len(content) - 1)))
        kind = draw(st.sampled_from(["cut", "nul", "drop", "twice", "splice", "number", "head"]))
        if kind == "cut":
            content = content[:at]
        elif kind == "head":
            content = content[at:]
        elif kind == "nul":
            content = content[:at] + b"\0" * draw(st.integers(1, 40)) + content[at + 10 :]
        elif kind == "splice":
            content = content[:at] + draw(st.binary(min_size=1, max_size=12)) + content[at:]
        elif kind == "number":
            odd = draw(
                st.sampled_from(
                    [b"nan", b"-inf", b"9" * 400, b"1e999", b"", b"-1", b"0x1f", b"1_0", b"null", b"{", b"[]"]
                )
            )
            digit = next((place for place in range(at, len(content)) if content[place : place + 1].isdigit()), at)
            content = content[:digit] + odd + content[digit + 1 :]
        else:
            lines = content.split(b"\n")
            place = draw(st.integers(0, len(lines) - 1))
            lines[place : place + 1] = [] if kind == "drop" else [lines[place]] * 2
            content = b"\n".join(lines)
    return content


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_is_read_or_told(sample, data, tmp_path):
    content = damaged(sample.read_bytes(), data.draw)
    reader = READERS[sample.name.partition("-")[0]]
    assert reader_of(reader.FORMAT).recognise(Head(content)) in (True, False)
    try:
        rec = ex.open(write(tmp_path, content), format=reader.FORMAT)
    except ex.EsxparseError as error:
        told = str(error)
    else:
        told = ""
        assert all(rec[name].collect().height > 0 for name in rec)
    assert "\n" not in told


@pytest.mark.parametrize(
    "sample",
    # Progress that was overwritten has carriage returns of its own.
    [path for path in SAMPLES if b"\r" not in path.read_bytes()],
    ids=lambda path: path.name,
)
def test_line_ends_and_marks_of_other_systems_change_nothing(sample, tmp_path):
    text = sample.read_bytes().decode()
    plain = ex.open(sample)
    for content in (text.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + text.encode(), text.encode("utf-16")):
        other = ex.open(write(tmp_path, content))
        assert other.format == plain.format
        for name in plain:
            assert other[name].collect().equals(plain[name].collect()), name


ONCE_HUNG = {
    "blank lines after a call of NTttcp": (b"ntttcp\n", b"\n", b"", 60_000),
    "blank lines after a histogram of vdbench": (b"min(ms)\n", b"\n", b"", 16_000),
    "a title of vdbench": (b"<title>Vdbench ", b"output", b"\n10:00:00.000 Starting RD=a\n", 8_000),
    "titles of a histogram of vdbench": (b"   min(ms) <  max(ms)  count\n", b"histogram.", b"\n", 16_000),
    "calls of NTttcp": (b"#####  Totals:  #####\n\n   Bytes(MEG)    realtime(s)\n", b"ntttcp ", b"\n", 8_000),
    "usage of HCIBench": (b"R_LATENCY  = 1 ms\nIOPS = 1 IO/s\nCPU USAGE  = ", b" 22.5", b"\n", 16_000),
    "a target of ioping": (b"4 KiB <<< a: request=1 time=1 us\n", b"4 KiB <<< ", b"\n", 8_000),
    "digits of ioping": (b"4 KiB <<< a: request=1 time=1 us\n", b"4", b"\n", 64_000),
    "a label of elbencho": (
        b"OPERATION   RESULT TYPE         FIRST DONE   LAST DONE\n=========== ====\nWRITE       Elapsed",
        b" ",
        b"x\n",
        32_000,
    ),
}


@pytest.mark.parametrize("name", ONCE_HUNG)
def test_what_once_hung_is_read_in_linear_time(tmp_path, name):
    begin, part, end, many = ONCE_HUNG[name]
    power = pumps.exponent(tmp_path / "x", lambda times: begin + part * times + end, many)
    assert power <= pumps.STEEPEST


@pytest.mark.parametrize("odd", ["[]", "{}", "[1]", "-1", "1.5", "true", '"x"'])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("elbencho-results.json", '"night"'),
        ("ioping-objects.json", '"read"'),
        ("ioping-objects.json", '"."'),
    ],
)
def test_a_value_of_another_kind_breaks_nothing(tmp_path, name, value, odd):
    text = (ex.datasets_dir() / "formats" / name).read_text()
    assert value in text
    rec = ex.open(write(tmp_path, text.replace(value, odd), name))
    assert rec["benchmark_results"].collect().height


@given(st.binary(max_size=400))
def test_recognise_takes_any_bytes(head):
    assert all(reader_of(reader.FORMAT).recognise(Head(head)) in (True, False) for reader in set(READERS.values()))


def values(rec, metric):
    return rec["benchmark_results"].filter(metric=metric).collect()["value"].to_list()


@pytest.mark.parametrize(("text", "number"), [("0" * 5000 + "12", 12), ("-" + "0" * 5000 + "1", -1), ("9" * 25, None)])
def test_whole_numbers_of_any_length_are_read_or_are_none(text, number):
    assert whole(text) == number
