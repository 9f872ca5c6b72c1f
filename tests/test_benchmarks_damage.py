"""Whatever happens to a file of a benchmark: it is read, or there is one clear error."""

from __future__ import annotations

import pytest
from compose import write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import esxparse as ex
from esxparse.formats.benchmarks import iperf3, linpack, memtier, netperf, redis_benchmark, results, stream, sysbench

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
}
SAMPLES = sorted(path for path in (ex.datasets_dir() / "formats").iterdir() if path.name.partition("-")[0] in READERS)


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
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_is_read_or_told(sample, data, tmp_path):
    content = damaged(sample.read_bytes(), data.draw)
    reader = READERS[sample.name.partition("-")[0]]
    assert reader.recognise(content) in (True, False)
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


@given(st.binary(max_size=400))
def test_recognise_takes_any_bytes(head):
    assert all(reader.recognise(head) in (True, False) for reader in set(READERS.values()))
