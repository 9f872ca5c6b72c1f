"""Damaged traces: a note or one clear error, never a traceback; and composed requests that come back as written."""

from __future__ import annotations

import random
import subprocess
import tempfile
from pathlib import Path

import compose
import pytest
import wire
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.errors import DamagedError, EsxparseError
from esxparse.formats import packets
from esxparse.formats.kit.head import Head

pytestmark = pytest.mark.needs("tshark")

SAMPLES = sorted((ex.datasets_dir() / "formats").glob("packets-*"))
SLOW = settings(max_examples=examples(5), deadline=None, suppress_health_check=list(HealthCheck))
QUICK = settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))


def survives(content, name="trace"):
    """The recording, or none if one line said what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        file = compose.write(Path(folder), content, name)
        said = ""
        try:
            rec = ex.open(file)
        except EsxparseError as error:
            rec, said = None, str(error)
        assert "\n" not in said
        assert rec or str(file) in said
        for table in rec or ():
            rec[table].collect()
        return rec


def test_samples_are_there():
    assert len(SAMPLES) == 3


def test_a_capture_cut_in_a_packet_keeps_what_came_before(tmp_path):
    whole = SAMPLES[-1].read_bytes()
    cut = compose.write(tmp_path, whole[: len(whole) // 2 + 3], "cut.pcapng")
    rec = ex.open(cut)
    before = ex.open(SAMPLES[-1])["nfs"].collect()
    kept = rec["nfs"].collect()
    assert 0 < kept.height < before.height
    assert kept["xid"].to_list() == before["xid"][: kept.height].to_list()
    (note,) = [note for note in rec.notes if note.severity == "warning"]
    assert "cut short in the middle of a packet" in str(note)
    assert f'"{cut}"' in str(note)


@pytest.mark.parametrize("size", [4, 11, 23, 24, 40, 200])
def test_a_capture_cut_near_its_beginning_is_an_error_of_one_line(size):
    content = wire.pcap([(wire.START, wire.udp(wire.CLIENT, 800, wire.SERVER, 53, b"no rpc"))])[:size]
    assert survives(content) is None


def test_a_capture_without_tcp_says_so(tmp_path):
    file = compose.write(tmp_path, wire.pcap([(wire.START, wire.udp(wire.CLIENT, 9, wire.SERVER, 53, b"x"))]))
    with pytest.raises(DamagedError, match="no TCP, NFS or iSCSI in 1 packets"):
        ex.open(file)


def test_a_trace_of_something_else_says_so(tmp_path):
    tcp = wire.Tcp(80)
    tcp.shake(wire.START)
    tcp.send(wire.START + 1, b"GET / HTTP/1.0\r\n\r\n", up=True)
    rec = ex.open(compose.write(tmp_path, wire.pcap(tcp.frames)))
    assert set(rec) == {"tcp"}
    assert ["no NFS and no iSCSI" in str(note) for note in rec.notes] == [True]


@SLOW
@given(seed=st.integers(0, 2**32), kind=st.sampled_from(["flip", "zero", "drop", "splice"]))
def test_no_damage_to_a_capture_is_a_traceback(seed, kind):
    chance = random.Random(seed)  # noqa: S311  not for secrets
    content = bytearray(chance.choice(SAMPLES).read_bytes())
    for _ in range(30):
        at = chance.randrange(len(content) - 200)
        if kind == "flip":
            content[at] ^= 1 << chance.randrange(8)
        elif kind == "zero":
            content[at : at + 20] = bytes(20)
        elif kind == "drop":
            del content[at : at + chance.randrange(1, 9)]
        else:
            content[at:at] = chance.randbytes(7)
    survives(bytes(content))


@pytest.fixture(scope="module")
def printed():
    texts = []
    for arguments in (
        ["-T", "fields", "-E", "header=y", *(part for field in packets.FIELDS for part in ("-e", field))],
        ["-T", "ek", "-J", "frame ip tcp rpc nfs iscsi scsi"],
    ):
        for sample in SAMPLES[1:]:
            run = subprocess.run(
                ["tshark", "-n", "-r", sample, *arguments],  # noqa: S607  as on the PATH
                capture_output=True,
                check=True,
            )
            texts.append(run.stdout[:60000])
    return texts


@QUICK
@given(data=st.data())
def test_no_damage_to_what_tshark_printed_is_a_traceback(printed, data):
    content = data.draw(st.sampled_from(printed))
    at = data.draw(st.integers(0, len(content)))
    middle = data.draw(st.one_of(st.binary(max_size=40), st.sampled_from([b"\0" * 30, b"\n", b'"', b",,,", b"9" * 30])))
    skipped = data.draw(st.integers(0, 3000))
    end = data.draw(st.one_of(st.none(), st.integers(0, len(content))))
    survives((content[:at] + middle + content[at + skipped :])[:end])


def test_lines_that_do_not_fit_are_named(tmp_path, printed):
    lines = printed[0].splitlines(keepends=True)
    lines[4] = b"1\t2\n"
    rec = ex.open(compose.write(tmp_path, b"".join(lines), "trace.tsv"))
    (note,) = [note for note in rec.notes if note.line]
    assert note.line == 5
    assert "fields as in the header: left out" in str(note)


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\n",
        b"time,value\n1,2\n",
        b"frame.number\n",
        b"frame.a,b\n",
        b'{"timestamp":"soon"}',
        b"\x0a\x0d\x0d\x0aabcdefgh",
    ],
)
def test_other_files_are_not_claimed(head):
    assert not packets.recognise(Head(head))


@pytest.mark.parametrize("head", [sample.read_bytes()[:size] for sample in SAMPLES[:1] for size in (12, 100)])
def test_captures_are_claimed_from_their_first_bytes(head):
    assert packets.recognise(Head(head))


request = st.tuples(
    st.sampled_from(["read", "write"]),
    st.integers(0, 2**63 - 1),
    st.integers(0, 3000),
    st.booleans(),
    st.integers(1, 16),
)


@pytest.mark.search
@SLOW
@given(requests=st.lists(request, min_size=30, max_size=80), together=st.integers(1, 6))
def test_any_requests_come_back_as_they_were_written(requests, together):
    """Several calls in a packet, replies in another order and some missing: each row has its own numbers."""
    tcp = wire.Tcp(2049)
    tcp.shake(wire.START)
    for first in range(0, len(requests), together):
        at = wire.START + 1 + first
        some = list(enumerate(requests[first : first + together], first))
        tcp.send(at, b"".join(wire.marked(call(xid, *one)) for xid, one in some), up=True)
        replies = [wire.marked(reply(xid, *one)) for xid, one in reversed(some) if one[3]]
        tcp.send(at + 0.5, b"".join(replies), up=False)
    rec = survives(wire.pcap(tcp.frames))
    rows = {row["xid"]: row for row in rec["nfs"].collect().to_dicts()}
    assert len(rows) == len(requests)
    for xid, (kind, offset, size, answered, version) in enumerate(requests):
        row = rows[xid]
        shown = (row["direction"], row["offset_bytes"], row["size_bytes"], row["done_bytes"])
        assert shown == (kind, offset, size, size if answered else None), (xid, version)
        assert (row["latency_ms"] is None) != answered
        assert row["status"] == ("OK" if answered else None)


def call(xid, kind, offset, size, _, length):
    handle = b"h" * 4 * length
    return (
        wire.nfs3_read(xid, handle, offset, size)
        if kind == "read"
        else wire.nfs3_write(xid, handle, offset, b"d" * size)
    )


def reply(xid, kind, _offset, size, _answered, _length):
    return wire.nfs3_read_reply(xid, b"d" * size) if kind == "read" else wire.nfs3_write_reply(xid, size)


command = st.tuples(
    st.sampled_from([wire.READ_10, wire.WRITE_10, wire.READ_16, wire.WRITE_16, 0x12]),
    st.integers(0, 2**32 - 1),
    st.integers(1, 8),
    st.sampled_from([1, 2, 7]),
    st.booleans(),
)


@pytest.mark.search
@SLOW
@given(commands=st.lists(command, min_size=30, max_size=80), together=st.integers(1, 6))
def test_any_commands_come_back_as_they_were_written(commands, together):
    """Commands for several LUNs in a packet, some with data; replies in another order and some missing."""
    tcp = wire.Tcp(3260)
    tcp.shake(wire.START)
    for first in range(0, len(commands), together):
        at = wire.START + 1 + first
        some = list(enumerate(commands[first : first + together], first))
        tcp.send(at, b"".join(scsi(tag, *one) for tag, one in some), up=True)
        tcp.send(at + 0.25, b"".join(ended(tag, *one) for tag, one in reversed(some) if one[4]), up=False)
    rows = {row["tag"]: row for row in survives(wire.pcap(tcp.frames))["iscsi"].collect().to_dicts()}
    assert len(rows) == len(commands)
    for tag, (opcode, lba, blocks, lun, answered) in enumerate(commands):
        row = rows[tag]
        shown = (row["opcode"], row["lun"], row["lba"], row["blocks"], row["size_bytes"])
        moved = (lba, blocks, 512 * blocks) if opcode != 0x12 else (None, None, 255)
        assert shown == (opcode, lun, *moved)
        assert row["latency_ms"] == (pytest.approx(250.0) if answered else None)
        assert row["status"] == ("GOOD" if answered else None)


def scsi(tag, opcode, lba, blocks, lun, _):
    if opcode == 0x12:
        return wire.scsi_command(tag, b"\x12\0\0\0\xff", 255, lun=lun, read=True)
    cdb = (wire.cdb16 if opcode in {wire.READ_16, wire.WRITE_16} else wire.cdb10)(opcode, lba, blocks)
    read = opcode in {wire.READ_10, wire.READ_16}
    data = b"" if read or blocks % 2 else b"d" * 512 * blocks
    return wire.scsi_command(tag, cdb, 512 * blocks, lun=lun, read=read, data=data)


def ended(tag, opcode, *_):
    return wire.data_in(tag, b"r" * 64) if opcode in {wire.READ_10, wire.READ_16} else wire.scsi_response(tag)


PRINTED = """
frame.number frame.time_epoch frame.len frame.cap_len ip.src ip.dst tcp.srcport tcp.dstport tcp.stream rpc.xid
rpc.msgtyp rpc.program rpc.programversion nfs.procedure_v3 nfs.offset3 nfs.count3
"""


def table(*requests, end="\n"):
    """What tshark prints of READ calls: procedure, offset and count of each."""
    lines = [
        f"{place} {1772438400 + place}.0 200 200 10.0.0.1 10.0.0.2 800 2049 0 {place:#x} 0 100003 3 "
        + " ".join(map(str, one))
        for place, one in enumerate(requests, 1)
    ]
    return "\n".join("\t".join(line.split()) for line in [PRINTED, *lines]) + end


@pytest.mark.parametrize("number", [2**63, 2**64, -(2**63) - 1, int("9" * 400)])
@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_number_that_no_column_holds_is_null_and_told_of(tmp_path, number, column):
    damaged = [6, 4096, 1024]
    damaged[column] = number
    rec = ex.open(compose.write(tmp_path, table((6, 0, 512), damaged), "nfs.tsv"))
    found = rec["nfs"].select("operation", "offset_bytes", "size_bytes").collect().rows()
    assert found[0] == ("READ", 0, 512)
    assert found[1][column] is None
    assert any("1 requests or replies whose values cannot be read" in str(note) for note in rec.notes)


def test_a_procedure_below_zero_is_none_that_is_known(tmp_path):
    rec = ex.open(compose.write(tmp_path, table((6, 0, 512), (-1, 0, 512)), "nfs.tsv"))
    assert rec["nfs"].collect()["operation"].to_list() == ["READ", "procedure -1"]


def test_a_count_that_touches_the_end_of_the_file_is_not_read(tmp_path):
    rec = ex.open(compose.write(tmp_path, table((6, 0, 512), (6, 0, 10), end=""), "nfs.tsv"))
    assert rec["nfs"].collect()["size_bytes"].to_list() == [512]
    assert any("line 3: the last line has no line end" in str(note) for note in rec.notes)
