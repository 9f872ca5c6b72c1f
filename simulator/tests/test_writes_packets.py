"""Packets as the simulator writes them: the text that tshark prints, read back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import compose
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.errors import EsxparseError
from esxparse.metrics import alignment
from esxparse_simulator.writers.packets import Request, Trace, frames, tshark_lines

START = datetime(2008, 3, 2, 8, tzinfo=UTC)
quick = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def traces(draw):
    protocol = draw(st.sampled_from(["nfs", "iscsi"]))
    unit = 512 if protocol == "iscsi" else 1
    at, requests = 0.0, []
    for _ in range(draw(st.integers(1, 12))):
        at += draw(st.integers(1000, 400_000)) / 1e6
        requests.append(
            Request(
                at,
                draw(st.booleans()),
                draw(st.integers(0, 2**40 // unit)) * unit,
                draw(st.integers(1, 256 * 1024 // unit)) * unit,
                draw(st.integers(1000, 500_000)) / 1000,
            )
        )
    return Trace(protocol, START, tuple(requests))


def compare(rec, trace):
    """The table of a recording with the requests that were written."""
    found = rec[trace.protocol].collect()
    assert found["offset_bytes"].to_list() == [request.offset_bytes for request in trace.requests]
    assert found["size_bytes"].to_list() == [request.size_bytes for request in trace.requests]
    assert found["direction"].to_list() == ["read" if request.read else "write" for request in trace.requests]
    expected = [request.response_ms for request in trace.requests]
    for value, wanted in zip(found["latency_ms"], expected, strict=True):
        assert (value is None) == (wanted is None)
        assert value is None or value == pytest.approx(wanted, abs=6e-4)
    times = [START + timedelta(microseconds=round(request.at_s * 1e6)) for request in trace.requests]
    assert found["time"].to_list() == times
    assert rec["tcp"].collect()["retransmissions"].to_list() == [0]
    assert not [note for note in rec.notes if note.severity == "warning"]


@quick
@given(trace=traces())
def test_text_gives_back_what_was_written(tmp_path, trace):
    content = b"".join(tshark_lines(trace))
    rec = ex.open(compose.write(tmp_path, content, "trace.txt"))
    assert rec.format == "packets"
    compare(rec, trace)


def test_places_beyond_two_terabytes_are_read_too(tmp_path):
    """What tshark prints of READ(16), made of what the simulator writes of READ(10)."""
    reads = tuple(Request(0.1 * n, True, 4096 * n, 4096, 1.0) for n in range(1, 9))
    rows = [line.decode().rstrip("\n").split("\t") for line in tshark_lines(Trace("iscsi", START, reads))]
    at = {title: rows[0].index(title) for title in rows[0]}
    ten, long = (
        (at["scsi_sbc.rdwr10.lba"], at["scsi_sbc.rdwr10.xferlen"]),
        (at["scsi_sbc.rdwr16.lba"], at["scsi_sbc.rdwr12.xferlen"]),
    )
    for row in rows[1:]:
        row[at["scsi_sbc.opcode"]] = row[at["scsi_sbc.opcode"]].replace("0x28", "0x88")
        row[at["scsi"]] = row[at["scsi"]].replace("(10)", "(16)")
        if row[ten[0]]:
            row[long[0]], row[long[1]] = f"{int(row[ten[0]]) + 2**33:016x}", row[ten[1]]
            row[ten[0]] = row[ten[1]] = ""
    rec = ex.open(compose.write(tmp_path, "".join("\t".join(row) + "\n" for row in rows), "far.txt"))
    found = rec["iscsi"].collect()
    assert found["offset_bytes"].to_list() == [one.offset_bytes + 2**42 for one in reads]
    assert found["size_bytes"].to_list() == [4096] * 8


def test_case_of_misaligned_writes(tmp_path):
    """1 KB random writes of a guest whose partition begins at sector 63: 20 ms each, off every power of two."""
    writes = tuple(
        Request(0.05 * n, False, 63 * 512 + 1024 * ((n * 7919) % 4_000_000), 1024, 20.0) for n in range(1, 400)
    )
    content = b"".join(tshark_lines(Trace("nfs", START, writes)))
    rec = ex.open(compose.write(tmp_path, content, "writes.tsv"))
    offsets = rec["nfs"].collect()["offset_bytes"]
    assert (offsets % 4096 % 1024 == 512).all()
    assert rec["nfs"].collect()["latency_ms"].unique().to_list() == [20.0]
    shares = alignment.shares(rec["nfs"], boundaries=[512, 4096]).collect()
    assert dict(shares.select("boundary_bytes", "aligned_requests_pct").rows()) == {512: 100.0, 4096: 0.0}


def test_case_of_a_slow_array(tmp_path):
    """Sequential reads of 256 KB that the array answers in 10 to 20 ms, and nothing is sent twice."""
    reads = tuple(Request(0.02 * n, True, 262_144 * n, 262_144, 10.0 + n % 11) for n in range(1, 200))
    rec = ex.open(compose.write(tmp_path, b"".join(tshark_lines(Trace("iscsi", START, reads))), "reads.tsv"))
    latency = rec["iscsi"].collect()["latency_ms"]
    assert (latency.min(), latency.max()) == (10.0, 20.0)
    tcp = rec["tcp"].collect()
    assert tcp["retransmissions"].to_list() == [0]
    assert (tcp["payload_bytes"] > 199 * 262_144).all()


@quick
@given(trace=traces())
def test_packets_are_in_order_and_every_byte_is_sent_once(trace):
    packets = list(frames(trace))
    assert [packet.ns for packet in packets] == sorted(packet.ns for packet in packets)
    for up in (True, False):
        following = None
        for packet in packets:
            if packet.up is not up:
                continue
            assert following in {None, packet.sequence}
            following = packet.sequence + packet.size + (packet.number < 3)


def test_long_traces_stream():
    """Nothing is made before it is asked for, and the same packets every time."""
    many = [Request(0.01 * n, True, 4096 * n, 4096, 1.0) for n in range(1, 20_000)]
    stream = tshark_lines(Trace("nfs", START, many))
    begin = [next(stream) for _ in range(10)]
    again = tshark_lines(Trace("nfs", START, many))
    assert [next(again) for _ in range(10)] == begin


GOOD = Request(1.0, True, 0, 512, 1.0)


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        (Trace("smb", START, (GOOD,)), "smb"),
        (Trace("nfs", START.replace(tzinfo=None), (GOOD,)), "time zone"),
        (Trace("nfs", START, (GOOD, Request(0.5, True, 0, 512, 1.0))), "order of time"),
        (Trace("nfs", START, (Request(0.0, True, 0, 512, 1.0),)), "order of time"),
        (Trace("nfs", START, (Request(1.0, True, -1, 512, 1.0),)), "from 0 up"),
        (Trace("iscsi", START, (Request(1.0, True, 1 << 41, 512, 1.0),)), "from 0 up"),
        (Trace("nfs", START, (Request(1.0, True, 0, 0, 1.0),)), "1 byte or more"),
        (Trace("nfs", START, (Request(1.0, True, 0, 512, 0.0),)), "response time"),
        (Trace("iscsi", START, (Request(1.0, True, 100, 512, 1.0),)), "whole blocks"),
        (Trace("iscsi", START, (Request(1.0, True, 0, 1 << 20, 1.0),)), "whole blocks"),
    ],
)
def test_what_makes_no_sense_is_refused(trace, message):
    with pytest.raises(EsxparseError, match=message) as caught:
        list(frames(trace))
    assert "\n" not in str(caught.value)
