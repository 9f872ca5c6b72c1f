"""Packet traces composed byte by byte (see `wire`), with addresses, sizes and latencies that are known."""

from __future__ import annotations

import gzip
import subprocess
from datetime import UTC, datetime, timedelta

import compose
import polars as pl
import pytest
import wire

import esxparse as ex
from esxparse.errors import DamagedError, EsxparseError
from esxparse.formats import packets
from esxparse.formats.packets import tshark
from esxparse.metrics import alignment

pytestmark = pytest.mark.needs("tshark")

FILE = b"handle-of-the-vmdk!!"
OTHER = b"handle-of-another-1."


def opened(folder, *connections, name="trace.pcap", frames=(), **options):
    every = sorted([*frames, *(frame for one in connections for frame in one.frames)], key=lambda pair: pair[0])
    return ex.open(compose.write(folder, wire.pcap(every, **options), name))


def nfs_connection():
    """Reads and writes of a partition that begins at sector 63, each with a latency of its own."""
    tcp = wire.Tcp(2049)
    tcp.shake(wire.START)
    for turn in range(20):
        at, offset, data = wire.START + 1 + turn / 10, 63 * 512 + 4096 * turn, b"d" * 4096
        xid = 0x9000 + turn
        write = turn % 2
        call = wire.nfs3_write(xid, FILE, offset, data) if write else wire.nfs3_read(xid, FILE, offset, 4096)
        reply = wire.nfs3_write_reply(xid, 4096) if write else wire.nfs3_read_reply(xid, data)
        tcp.send(at, wire.marked(call), up=True)
        tcp.send(at + 0.001 * (turn + 1), wire.marked(reply), up=False)
    return tcp


def test_nfs_reads_and_writes_come_back_with_their_numbers(tmp_path):
    rec = opened(tmp_path, nfs_connection())
    nfs = rec["nfs"].collect()
    assert rec.format == "packets"
    assert rec.meta["samples"] == 3 + 40
    assert nfs["operation"].to_list() == ["READ", "WRITE"] * 10
    assert nfs["direction"].to_list() == ["read", "write"] * 10
    assert nfs["offset_bytes"].to_list() == [32256 + 4096 * turn for turn in range(20)]
    assert nfs["size_bytes"].unique().to_list() == [4096]
    assert nfs["done_bytes"].unique().to_list() == [4096]
    assert nfs["latency_ms"].to_list() == pytest.approx([1.0 * (turn + 1) for turn in range(20)], abs=1e-9)
    first = datetime.fromtimestamp(wire.START + 1, UTC)
    assert nfs["time"].to_list()[:2] == [first, first + timedelta(seconds=0.1)]
    assert nfs["status"].unique().to_list() == ["OK"]
    assert nfs["stability"].to_list() == [None, "file_sync"] * 10
    assert nfs["committed"].to_list() == [None, "file_sync"] * 10
    assert nfs["xid"].to_list() == [0x9000 + turn for turn in range(20)]
    assert set(nfs.select("client", "server", "version").rows()) == {(wire.CLIENT, wire.SERVER, "3")}
    assert nfs["file"].n_unique() == 1
    assert not rec.notes
    assert "unanswered" not in rec


@pytest.mark.parametrize(("order", "nano"), [(">", False), ("<", True)])
def test_every_kind_of_pcap_gives_the_same(tmp_path, order, nano):
    plain = opened(tmp_path, nfs_connection())
    other = opened(tmp_path, nfs_connection(), name="other.pcap", order=order, nano=nano)
    latency = other["nfs"].collect()["latency_ms"]
    assert latency.to_list() == pytest.approx(plain["nfs"].collect()["latency_ms"].to_list(), abs=1e-3)
    assert (
        other["nfs"]
        .drop("latency_ms", "time", "reply_time")
        .collect()
        .equals(plain["nfs"].drop("latency_ms", "time", "reply_time").collect())
    )


def test_many_calls_in_one_packet_keep_their_own_numbers(tmp_path):
    """tshark prints the fields of a packet, not of its messages: the reader deals them out."""
    tcp = wire.Tcp(2049)
    tcp.shake(wire.START)
    getattr_call = wire.rpc_call(3, 1, wire.opaque(OTHER))
    readdir_call = wire.rpc_call(6, 16, wire.opaque(OTHER) + bytes(16) + (512).to_bytes(4, "big"))
    rename_call = wire.rpc_call(7, 14, wire.opaque(OTHER) + wire.opaque(b"a") + wire.opaque(OTHER) + wire.opaque(b"b"))
    calls = [
        wire.nfs3_read(1, FILE, 512, 8192),
        wire.nfs3_commit(2, FILE),
        getattr_call,
        readdir_call,
        rename_call,
        wire.nfs3_write(4, OTHER, 1024, b"w" * 100, stable=0),
        wire.nfs3_read(5, OTHER, 2**40, 16384),
    ]
    replies = [
        wire.nfs3_write_reply(4, 100, committed=0),
        wire.nfs3_read_reply(1, b"", status=70),
        wire.nfs3_read_reply(5, b"r" * 300),
    ]
    tcp.send(wire.START + 1, b"".join(wire.marked(call) for call in calls), up=True)
    tcp.send(wire.START + 2, b"".join(wire.marked(reply) for reply in replies), up=False)
    rec = opened(tmp_path, tcp)
    nfs = rec["nfs"].collect().sort("xid")
    assert nfs["operation"].to_list() == ["READ", "COMMIT", "GETATTR", "WRITE", "READ", "READDIR", "RENAME"]
    assert nfs["offset_bytes"].to_list() == [512, 0, None, 1024, 2**40, None, None]
    assert nfs["size_bytes"].to_list() == [8192, 0, None, 100, 16384, None, None]
    assert nfs["done_bytes"].to_list() == [None, None, None, 100, 300, None, None]
    assert nfs["status"].to_list() == ["STALE", None, None, "OK", "OK", None, None]
    assert nfs["committed"].to_list() == [None, None, None, "unstable", None, None, None]
    handles = nfs["file"].to_list()
    assert handles[0] == handles[1] != handles[2]
    assert handles[2:] == [handles[2]] * 5
    assert rec["unanswered"].collect()["id"].sort().to_list() == [2, 3, 6, 7]
    assert [note.severity for note in rec.notes] == ["info"]


def test_compounds_of_version_4_give_a_row_for_each_read_and_write(tmp_path):
    tcp = wire.Tcp(2049)
    tcp.shake(wire.START)
    getattr4 = (9).to_bytes(4, "big") + bytes(8)
    sequence = (53).to_bytes(4, "big") + bytes(32)
    calls = [
        wire.nfs4_call(1, [wire.putfh(FILE), wire.nfs4_read(63 * 512, 4096), getattr4]),
        wire.nfs4_call(2, [sequence, wire.putfh(OTHER), wire.nfs4_write(8192, b"x" * 777, stable=2)], minor=1),
        wire.nfs4_call(3, [wire.putfh(OTHER), getattr4]),
        wire.nfs4_call(4, [wire.putfh(FILE), wire.nfs4_read(0, 100), wire.nfs4_read(100, 200)]),
    ]
    written = wire.done4(38, (777).to_bytes(4, "big") + (2).to_bytes(4, "big") + b"verifier")
    read = [wire.done4(25, bytes(4) + wire.opaque(b"r" * size)) for size in (50, 200)]
    replies = [
        wire.nfs4_reply(2, [wire.done4(53, bytes(36)), wire.done4(22), written]),
        wire.nfs4_reply(4, [wire.done4(22), *read]),
        wire.nfs4_reply(1, [wire.done4(22), wire.done4(25, status=10025)], status=10025),
    ]
    for place, call in enumerate(calls):
        tcp.send(wire.START + 1 + place, wire.marked(call), up=True)
    tcp.send(wire.START + 9, b"".join(wire.marked(reply) for reply in replies), up=False)
    nfs = opened(tmp_path, tcp)["nfs"].collect()
    assert nfs["xid"].to_list() == [1, 2, 3, 4, 4]
    assert nfs["version"].to_list() == ["4.0", "4.1", "4.0", "4.0", "4.0"]
    assert nfs["operation"].to_list() == ["READ", "WRITE", "GETATTR", "READ", "READ"]
    assert nfs["offset_bytes"].to_list() == [32256, 8192, None, 0, 100]
    assert nfs["size_bytes"].to_list() == [4096, 777, None, 100, 200]
    assert nfs["done_bytes"].to_list() == [None, 777, None, 50, 200]
    assert nfs["status"].to_list() == ["BAD_STATEID", "OK", None, "OK", "OK"]
    assert nfs["stability"].to_list() == [None, "file_sync", None, None, None]
    assert nfs["committed"].to_list() == [None, "file_sync", None, None, None]
    assert nfs["compound"][1] == "SEQUENCE PUTFH WRITE"
    assert nfs["file"][0] == nfs["file"][3] == nfs["file"][4] != nfs["file"][1] == nfs["file"][2]
    assert nfs["latency_ms"].to_list() == pytest.approx([8000, 7000, None, 5000, 5000])


def test_calls_that_udp_lost_are_counted_once_with_the_times_they_were_sent(tmp_path):
    frames = []
    for turn, (at, back) in enumerate([(0.0, 0.5), (1.0, 1.7), (2.0, None)]):
        call = wire.nfs3_read(turn, FILE, 4096 * turn, 512)
        for again in range(turn + 1):
            sent = wire.udp(wire.CLIENT, 800, wire.SERVER, 2049, call)
            frames.append((wire.START + at + again / 10, sent))
        if back is not None:
            reply = wire.nfs3_read_reply(turn, b"r" * 512)
            frames.append((wire.START + back, wire.udp(wire.SERVER, 2049, wire.CLIENT, 800, reply)))
    rec = opened(tmp_path, frames=frames)
    nfs = rec["nfs"].collect()
    assert nfs["calls"].to_list() == [1, 2, 3]
    assert nfs["latency_ms"].to_list() == pytest.approx([500, 700, None])
    assert nfs["stream"].null_count() == 3
    assert "tcp" not in rec


def test_what_the_server_refuses_is_a_status(tmp_path):
    tcp = wire.Tcp(2049)
    tcp.shake(wire.START)
    for xid in (1, 2):
        tcp.send(wire.START + xid, wire.marked(wire.nfs3_read(xid, FILE, 0, 512)), up=True)
    denied = (2).to_bytes(4, "big") + (1).to_bytes(4, "big") + (1).to_bytes(4, "big") * 3
    tcp.send(wire.START + 3, wire.marked(wire.rpc_reply(1, b"", accepted=5)), up=False)
    tcp.send(wire.START + 4, wire.marked(denied), up=False)
    nfs = opened(tmp_path, tcp)["nfs"].collect()
    assert nfs["status"].to_list() == ["RPC SYSTEM_ERR", "RPC DENIED"]


def iscsi_connection():
    tcp = wire.Tcp(3260, client_port=51000)
    tcp.shake(wire.START, rtt=0.0004)
    for turn in range(8):
        at, lba, tag = wire.START + 1 + turn, 63 + 8 * turn, 0x100 + turn
        if turn % 2:
            cdb = wire.cdb16(wire.WRITE_16, lba, 8)
            tcp.send(at, wire.scsi_command(tag, cdb, 4096, data=b"i" * 4096), up=True)
            tcp.send(at + 0.02, wire.scsi_response(tag, status=8 if turn == 7 else 0), up=False)
        else:
            tcp.send(at, wire.scsi_command(tag, wire.cdb10(wire.READ_10, lba, 8), 4096, read=True), up=True)
            tcp.send(at + 0.005, wire.data_in(tag, b"d" * 2048, last=False), up=False)
            tcp.send(at + 0.01, wire.data_in(tag, b"d" * 2048, offset=2048), up=False)
    return tcp


def test_scsi_commands_come_back_with_their_numbers(tmp_path):
    rec = opened(tmp_path, iscsi_connection())
    iscsi = rec["iscsi"].collect()
    assert iscsi["operation"].to_list() == ["READ(10)", "WRITE(16)"] * 4
    assert iscsi["opcode"].to_list() == [0x28, 0x8A] * 4
    assert iscsi["lba"].to_list() == [63 + 8 * turn for turn in range(8)]
    assert iscsi["blocks"].unique().to_list() == [8]
    assert iscsi["size_bytes"].unique().to_list() == [4096]
    assert iscsi["block_size_bytes"].unique().to_list() == [512]
    assert iscsi["offset_bytes"].to_list() == [512 * (63 + 8 * turn) for turn in range(8)]
    assert iscsi["lun"].unique().to_list() == [1]
    assert iscsi["latency_ms"].to_list() == pytest.approx([10, 20] * 4)
    assert iscsi["status"].to_list() == ["GOOD"] * 7 + ["BUSY"]
    assert set(iscsi.select("initiator", "target").rows()) == {(wire.CLIENT, wire.SERVER)}
    (note,) = rec.notes
    assert "block size of LUN 1 of 192.0.2.20 is 512" in str(note)


def test_commands_for_several_luns_in_one_packet_keep_their_own_numbers(tmp_path):
    tcp = wire.Tcp(3260)
    tcp.shake(wire.START)
    pdus = [
        wire.scsi_command(1, wire.cdb10(wire.WRITE_10, 7, 1), 4096, lun=2, data=b"d" * 4096),
        wire.data_out(90, b"e" * 512, lun=3),
        wire.scsi_command(2, wire.cdb16(wire.READ_16, 2**33, 16), 8192, lun=1, read=True),
        wire.scsi_command(3, b"\x12\0\0\0\xff", 255, lun=3, read=True),
        wire.scsi_command(4, wire.cdb10(wire.READ_10, 9, 2), 8192, lun=2, read=True),
    ]
    tcp.send(wire.START + 1, b"".join(pdus), up=True)
    ends = [wire.data_in(4, b"r" * 64), wire.scsi_response(1, 2), wire.data_in(2, b"r" * 32, last=False)]
    tcp.send(wire.START + 2, b"".join(ends), up=False)
    rec = opened(tmp_path, tcp)
    iscsi = rec["iscsi"].collect().sort("tag")
    assert iscsi["operation"].to_list() == ["WRITE(10)", "READ(16)", "INQUIRY", "READ(10)"]
    assert iscsi["lun"].to_list() == [2, 1, 3, 2]
    assert iscsi["lba"].to_list() == [7, 2**33, None, 9]
    assert iscsi["blocks"].to_list() == [1, 16, None, 2]
    assert iscsi["block_size_bytes"].to_list()[:2] == [4096, 512]
    assert iscsi["offset_bytes"].to_list() == [7 * 4096, 2**42, None, 9 * 4096]
    assert iscsi["status"].to_list() == ["CHECK CONDITION", None, None, "GOOD"]
    assert rec["unanswered"].collect()["id"].sort().to_list() == [2, 3]


def test_capacity_that_was_asked_for_gives_the_block_size(tmp_path):
    tcp = wire.Tcp(3260)
    tcp.shake(wire.START)
    tcp.send(wire.START + 1, wire.scsi_command(1, wire.cdb10(0x25, 0, 0), 8, read=True), up=True)
    tcp.send(wire.START + 1.1, wire.data_in(1, (999).to_bytes(4, "big") + (4096).to_bytes(4, "big")), up=False)
    # A size that is not the blocks' is what a test of residuals sends.
    tcp.send(wire.START + 2, wire.scsi_command(2, wire.cdb10(wire.READ_10, 5, 1), 512, read=True), up=True)
    rec = opened(tmp_path, tcp)
    assert rec["iscsi"].collect()["offset_bytes"].to_list() == [None, 5 * 4096]
    assert not any("block size" in str(note) for note in rec.notes)


def test_the_state_of_connections_is_summed_up(tmp_path):
    tcp = wire.Tcp(3260, client_port=51000)
    tcp.shake(wire.START, rtt=0.0004)
    read = wire.scsi_command(1, wire.cdb10(wire.READ_10, 64, 8), 4096, read=True)
    tcp.send(wire.START + 1, read, up=True)
    tcp.frames.append((wire.START + 1.5, tcp.frame(read, up=True, back=len(read))))
    tcp.send(wire.START + 2, wire.data_in(1, b"d" * 4096), up=False)
    for turn in range(3):
        tcp.frames.append((wire.START + 3 + turn, tcp.frame(b"", up=True, flags=0x10)))
    tcp.frames.append((wire.START + 7, tcp.frame(b"", up=True, flags=0x10, window=0)))
    rec = opened(tmp_path, tcp, nfs_connection())
    assert rec["iscsi"].collect()["latency_ms"].to_list() == pytest.approx([1000.0])
    tables = rec["tcp"].collect()
    assert tables.height == 2
    (row,) = tables.filter(pl.col("server_port") == 3260).to_dicts()
    assert (row["client"], row["client_port"], row["server"]) == (wire.CLIENT, 51000, wire.SERVER)
    assert row["packets"] == len(tcp.frames)
    assert row["frame_bytes"] == sum(len(frame) for _, frame in tcp.frames)
    assert row["payload_bytes"] == 2 * len(read) + 48 + 4096
    assert (row["retransmissions"], row["duplicate_acks"], row["zero_windows"]) == (1, 2, 1)
    assert row["duration_s"] == pytest.approx(7.0)
    assert row["rtt_handshake_ms"] == pytest.approx(0.4)
    assert row["rtt_max_ms"] == pytest.approx(1000.0)


def test_a_partition_at_sector_63_shows_in_the_offsets(tmp_path):
    rec = opened(tmp_path, nfs_connection(), iscsi_connection())
    for table in ("nfs", "iscsi"):
        shares = alignment.shares(rec[table]).collect()
        pct = {
            (row["operation"], row["boundary_bytes"]): row["aligned_requests_pct"]
            for row in shares.iter_rows(named=True)
        }
        write = "WRITE" if table == "nfs" else "WRITE(16)"
        assert [pct[write, boundary] for boundary in (512, 1024, 4096, 65536)] == [100.0, 0.0, 0.0, 0.0]
        left = alignment.remainders(rec[table]).collect()
        assert left["remainder_bytes"].unique().to_list() == [63 * 512 % 4096]


def test_packets_cut_by_a_snap_length_are_said_and_what_is_there_is_read(tmp_path):
    rec = opened(tmp_path, nfs_connection(), snap=180)
    assert any("incomplete" in str(note) and note.severity == "warning" for note in rec.notes)
    assert rec["nfs"].collect()["offset_bytes"].drop_nulls().len() > 0


def test_a_compressed_capture_is_unpacked_first(tmp_path):
    content = wire.pcap(nfs_connection().frames)
    rec = ex.open(compose.write(tmp_path, gzip.compress(content), "trace.pcap.gz"))
    assert rec["nfs"].collect().height == 20
    cut = ex.open(compose.write(tmp_path, gzip.compress(content)[:-9], "cut.pcap.gz"))
    assert cut.notes
    assert cut["nfs"].collect().height > 0


def printed(folder, *arguments, name):
    file = compose.write(folder, wire.pcap([*nfs_connection().frames, *iscsi_connection().frames]))
    run = subprocess.run(
        ["tshark", "-n", "-r", file, *arguments],  # noqa: S607  as on the PATH
        capture_output=True,
        check=True,
    )
    return compose.write(folder, run.stdout, name), ex.open(file)


FIELDS = ["-T", "fields", "-E", "header=y", *(part for field in packets.FIELDS for part in ("-e", field))]


@pytest.mark.parametrize("shape", ["tabs", "quoted", "utf-16", "ek", "ek all"])
def test_what_tshark_printed_elsewhere_gives_the_same(tmp_path, monkeypatch, shape):
    arguments = {
        "quoted": [*FIELDS, "-E", "separator=,", "-E", "quote=d"],
        "ek": ["-T", "ek", "-J", "frame ip ipv6 tcp udp rpc nfs iscsi scsi"],
        "ek all": ["-T", "ek"],
    }.get(shape, FIELDS)
    file, whole = printed(tmp_path, *arguments, name="trace.txt")
    if shape == "utf-16":
        file.write_bytes(file.read_text().replace("\n", "\r\n").encode("utf-16"))
    monkeypatch.setenv("PATH", str(tmp_path))
    rec = ex.open(file)
    assert set(rec) == set(whole)
    for table in ("nfs", "iscsi", "tcp"):
        assert rec[table].collect().equals(whole[table].collect()), table


def test_a_table_with_the_few_fields_one_needs_is_read(tmp_path):
    wanted = ["frame.time_epoch", "rpc.xid", "rpc.msgtyp", "nfs.procedure_v3", "nfs.offset3", "nfs.count3"]
    arguments = ["-T", "fields", "-E", "header=y", *(part for field in wanted for part in ("-e", field))]
    file, whole = printed(tmp_path, *arguments, name="few.tsv")
    rec = ex.open(file)
    columns = ["time", "latency_ms", "operation", "offset_bytes", "size_bytes", "xid"]
    assert rec["nfs"].select(columns).collect().equals(whole["nfs"].select(columns).collect())


def test_a_table_without_times_says_what_to_add(tmp_path):
    file = compose.write(tmp_path, "frame.number\trpc.xid\trpc.msgtyp\n1\t0x01\t0\n", "t.tsv")
    with pytest.raises(DamagedError, match=r"no column frame\.time_epoch: run tshark again with -e frame\.time_epoch"):
        ex.open(file)


def test_without_tshark_one_line_says_what_to_do(tmp_path, monkeypatch):
    file = compose.write(tmp_path, wire.pcap(nfs_connection().frames), "trace.pcap")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EsxparseError, match=r"not on the PATH: install it .* tshark -n -r trace\.pcap -T ek") as caught:
        ex.open(file)
    assert "\n" not in str(caught.value)


@pytest.mark.search
def test_a_field_that_this_tshark_does_not_know_is_left_out(tmp_path, monkeypatch):
    file = compose.write(tmp_path, wire.pcap(nfs_connection().frames), "trace.pcap")
    monkeypatch.setattr(packets, "FIELDS", ("nfs.no_such_field", *packets.FIELDS))
    monkeypatch.setattr(tshark, "FIELDS", packets.FIELDS)
    rec = ex.open(file)
    assert rec["nfs"].collect().height == 20
    assert ["does not know nfs.no_such_field" in str(note) for note in rec.notes] == [True]


def test_a_window_cuts_the_tables(tmp_path):
    file = compose.write(tmp_path, wire.pcap(nfs_connection().frames), "trace.pcap")
    start = datetime.fromtimestamp(wire.START + 2, UTC)
    assert ex.open(file, start=start)["nfs"].collect().height == 10
