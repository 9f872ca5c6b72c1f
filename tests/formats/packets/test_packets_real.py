"""Small real traces, and tshark's own tree of every message as the independent witness.

They were captured on a loopback device by `benchmarks/packets.py capture`: NFSv3 and v4.0 of libnfs (nfs-cp, nfs-cat,
nfs-ls) with nfs-ganesha, iSCSI of libiscsi (iscsi-test-cu) with tgt, whose LUN 1 has blocks of 512 and LUN 2 of 4096
bytes. `packets-iscsi-queue` ends in the middle of a test that keeps many commands under way.
"""

from __future__ import annotations

import subprocess
from collections import Counter

import polars as pl
import pytest
from defusedxml.ElementTree import fromstring

import esxparse as ex

pytestmark = pytest.mark.needs("tshark")

CAPTURES = ("packets-nfs", "packets-iscsi", "packets-iscsi-queue")


def path(name):
    return ex.datasets_dir() / "formats" / f"{name}.pcapng"


@pytest.fixture(scope="module")
def recordings():
    return {name: ex.open(path(name)) for name in CAPTURES}


def protocols(name):
    """Number of the packet, and name, title and fields of each protocol in it, in the order of its bytes."""
    run = subprocess.run(
        ["tshark", "-n", "-r", path(name), "-T", "pdml"],  # noqa: S607  as on the PATH
        capture_output=True,
        check=True,
    )
    for packet in fromstring(run.stdout).iter("packet"):
        number = int(next(one.get("show") for one in packet.iter("field") if one.get("name") == "frame.number"))
        for protocol in packet.findall("proto"):
            fields = {}
            for one in protocol.iter("field"):
                fields.setdefault(one.get("name"), []).append(one.get("show"))
            yield number, protocol.get("name"), protocol.get("showname") or "", fields


@pytest.mark.parametrize("name", ["packets-iscsi", "packets-iscsi-queue"])
def test_every_scsi_command_is_as_in_the_tree_of_its_packet(recordings, name):
    commands, latencies = [], {}
    for frame, protocol, title, fields in protocols(name):
        if protocol == "iscsi":
            tag = int(fields["iscsi.initiatortasktag"][0], 16)
            size = int(fields.get("iscsi.scsicommand.expecteddatatransferlength", ["0"])[0])
            if "iscsi.time" in fields:
                latencies[frame, tag] = 1000 * float(fields["iscsi.time"][0])
        elif protocol == "scsi" and title.startswith("SCSI CDB"):
            lba = [field for field in fields if field.startswith("scsi_sbc.rdwr") and field.endswith("lba")]
            blocks = [field for field in fields if field.startswith("scsi_sbc.rdwr") and field.endswith("xferlen")]
            number = fields[lba[0]][0] if lba else None
            commands.append(
                (
                    frame,
                    tag,
                    title.removeprefix("SCSI CDB ").upper(),
                    int(fields["scsi.lun"][0], 16),
                    number and int(number.replace(":", ""), 16 if ":" in number else 10),
                    int(fields[blocks[0]][0]) if blocks else None,
                    size,
                )
            )
    iscsi = recordings[name]["iscsi"].collect()
    columns = ("frame", "tag", "operation", "lun", "lba", "blocks", "size_bytes")
    assert sorted(iscsi.select(columns).rows(), key=str) == sorted(commands, key=str)
    answered = iscsi.filter(pl.col("latency_ms").is_not_null())
    assert {(row["reply_frame"], row["tag"]) for row in answered.to_dicts()} == {*latencies}
    for row in answered.to_dicts():
        assert row["latency_ms"] == pytest.approx(latencies[row["reply_frame"], row["tag"]], abs=1e-9)
    assert any(count > 5 for count in Counter(iscsi["frame"]).values()) == (name == "packets-iscsi-queue")


def test_every_nfs_call_is_as_in_the_tree_of_its_packet(recordings):
    calls, latencies = [], {}
    for frame, protocol, _, fields in protocols("packets-nfs"):
        if protocol == "rpc":
            xid, reply = int(fields["rpc.xid"][0], 16), fields["rpc.msgtyp"] == ["1"]
            if "rpc.time" in fields:
                latencies[xid] = 1000 * float(fields["rpc.time"][0])
        elif protocol == "nfs" and not reply:
            offset = (fields.get("nfs.offset3") or fields.get("nfs.offset4") or [None])[0]
            size = (fields.get("nfs.count3") or fields.get("nfs.count4") or [None])[0]
            calls.append((frame, xid, offset and int(offset), size and int(size)))
    nfs = recordings["packets-nfs"]["nfs"].collect()
    assert nfs.select("frame", "xid", "offset_bytes", "size_bytes").rows() == calls
    assert nfs["latency_ms"].to_list() == pytest.approx([latencies[xid] for xid in nfs["xid"]], abs=1e-9)


def test_the_real_trace_of_nfs_tells_what_was_done(recordings):
    nfs = recordings["packets-nfs"]["nfs"].collect()
    moved = nfs.filter(pl.col("direction").is_not_null())
    assert moved.select("version", "operation", "offset_bytes", "size_bytes", "done_bytes").rows() == [
        ("3", "WRITE", 0, 9000, 9000),
        ("3", "READ", 0, 9000, 9000),
        ("4.0", "READ", 0, 9000, 9000),
    ]
    assert moved["stability"].to_list() == ["unstable", None, None]
    assert nfs.filter(status="NOENT")["operation"].to_list() == ["LOOKUP"]
    assert nfs.filter(version="4.0", operation="OPEN")["compound"].to_list() == ["PUTFH GETATTR ACCESS OPEN GETFH"]


def test_the_real_trace_of_iscsi_knows_both_block_sizes(recordings):
    rec = recordings["packets-iscsi"]
    sizes = rec["iscsi"].select("lun", "block_size_bytes").unique().sort("lun").collect()
    assert sizes.rows() == [(1, 512), (2, 4096)]
    moved = rec["iscsi"].filter(pl.col("direction").is_not_null()).collect()
    assert moved["operation"].to_list() == ["WRITE(16)"] * 3 + ["READ(10)"] * 3
    assert (moved["blocks"] * moved["block_size_bytes"]).to_list() == moved["size_bytes"].to_list()
    assert not rec.notes


@pytest.mark.parametrize("name", CAPTURES)
def test_connections_are_as_tshark_counts_them(recordings, name):
    run = subprocess.run(
        ["tshark", "-n", "-r", path(name), "-T", "fields", "-e", "tcp.stream", "-e", "tcp.len", "-e", "frame.len"],  # noqa: S607
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [[int(number) for number in line.split("\t")] for line in run.stdout.splitlines()]
    tcp = recordings[name]["tcp"].collect()
    for stream, packets, payload, length in tcp.select("stream", "packets", "payload_bytes", "frame_bytes").iter_rows():
        own = [row for row in rows if row[0] == stream]
        assert (packets, payload, length) == (len(own), sum(row[1] for row in own), sum(row[2] for row in own))
    assert recordings[name].meta["samples"] == len(rows)
