"""Whatever happens to a file of any reader: it is read, or there is one clear error."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

import pumps
import pytest
from checkout import TESTS
from compose import write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples
from strategies_of_text import damaged, reads_or_refuses

import esxparse as ex
from esxparse.formats import benchmarks
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.numbers import whole
from esxparse.formats.registry import reader_of, readers
from esxparse.studies.roles import BENCHMARKS

SAMPLES = sorted(path for path in (ex.datasets_dir() / "formats").iterdir() if path.suffix not in {".md", ".pcapng"})
FORMS = TESTS / "golden" / "forms"
FILES = {path.name: [path] for path in SAMPLES} | {
    folder.name: sorted(folder.iterdir()) for folder in sorted(FORMS.iterdir()) if folder.is_dir()
}
"""Each bundled sample, and the forms of each tool."""


def test_every_benchmark_has_a_role_in_studies():
    modules = {one.name for one in pkgutil.iter_modules(benchmarks.__path__)}
    modules -= {"table", "printed", "iperf3_json", "netperf_omni", "netperf_text"}
    formats = {importlib.import_module(f"{benchmarks.__name__}.{name}").FORMAT for name in modules}
    assert formats <= BENCHMARKS, "add it to studies/roles.toml"


@cache
def format_of(path):
    """The format of a file; None of one that is refused as it is."""
    try:
        return ex.open(path).format
    except ex.EsxparseError:
        return None


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_is_read_or_told(name, data, tmp_path):
    sample = data.draw(st.sampled_from(FILES[name]))
    content, form = data.draw(damaged(sample.read_bytes())), format_of(sample)
    assert not form or reader_of(form).recognise(Head(content)) in (True, False)
    assert reads_or_refuses(write(tmp_path, content, sample.name), form)


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
        other = ex.open(write(tmp_path, content, sample.name))
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
    assert all(reader.recognise(Head(head)) in (True, False) for reader in readers())


@pytest.mark.parametrize(("text", "number"), [("0" * 5000 + "12", 12), ("-" + "0" * 5000 + "1", -1), ("9" * 25, None)])
def test_whole_numbers_of_any_length_are_read_or_are_none(text, number):
    assert whole(text) == number
