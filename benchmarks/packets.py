"""Packet traces: the reader beside `tshark -T fields` alone and pyshark; and how the bundled traces were captured.

`python benchmarks/packets.py` composes a trace of about 100 MB (NFSv3 and iSCSI, 4 KB requests) in `benchmarks/data`,
reads it and prints Markdown. pyshark is no dependency: where it can be imported it is measured on a tenth of the trace.

`python benchmarks/packets.py capture nfs|iscsi|iscsi-queue FILE` captures one of the bundled traces again: as root,
with tcpdump, editcap, and nfs-ganesha with libnfs-utils, or tgt with libiscsi-bin. Servers listen on 127.0.0.1 alone.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sections

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent
DATA = ROOT / "data"
REQUESTS = 24_000
ROUNDS = 3
PEER_SHARE = 10

GANESHA = """
NFS_CORE_PARAM {{ NFS_Port = 2049; MNT_Port = 20048; Protocols = 3,4; Enable_NLM = false; Enable_RQUOTA = false;
  Bind_addr = 127.0.0.1; allow_set_io_flusher_fail = true; }}
NFSv4 {{ Graceless = true; RecoveryRoot = {folder}/recovery; Only_Numeric_Owners = true; }}
EXPORT {{ Export_Id = 1; Path = {folder}/export; Pseudo = /x; Access_Type = RW; Squash = No_Root_Squash;
  SecType = sys; Protocols = 3,4; Transports = TCP; FSAL {{ Name = VFS; }} }}
"""
TARGET = "iqn.2026-03.lab.example:disk1"


def compose(path: Path, requests: int) -> None:
    """A trace of as many reads and writes: half NFSv3, half iSCSI, segments of 1460 bytes."""
    sys.path.insert(0, str(ROOT.parent / "tests"))
    import wire  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415  the composer of the tests

    nfs, iscsi, data = wire.Tcp(2049), wire.Tcp(3260, client_port=50000), os.urandom(4096)
    nfs.shake(wire.START)
    iscsi.shake(wire.START)
    frames: list[tuple[float, bytes]] = []
    for turn in range(requests):
        at, place, write = wire.START + 1 + turn / 1000, turn * 37 % 100_000, turn % 4 > 1
        if turn % 2:
            calls = wire.nfs3_write(turn, b"h" * 32, 512 * 63 + 4096 * place, data), wire.nfs3_write_reply(turn, 4096)
            if not write:
                calls = wire.nfs3_read(turn, b"h" * 32, 4096 * place, 4096), wire.nfs3_read_reply(turn, data)
            call, reply, tcp = wire.marked(calls[0]), wire.marked(calls[1]), nfs
        else:
            cdb = wire.cdb16(wire.WRITE_16 if write else wire.READ_16, 63 + 8 * place, 8)
            call = wire.scsi_command(turn, cdb, 4096, read=not write, data=data if write else b"")
            reply, tcp = wire.scsi_response(turn) if write else wire.data_in(turn, data), iscsi
        tcp.send(at, call, up=True, mss=1460)
        tcp.send(at + 0.0005, reply, up=False, mss=1460)
        if len(tcp.frames) > 1:
            frames += tcp.frames
            tcp.frames.clear()
    path.write_bytes(wire.pcap(sorted(frames, key=lambda pair: pair[0])))


def _esxparse(path: str) -> int:
    import esxparse as ex  # noqa: PLC0415

    rec = ex.open(path)
    return sum(rec[table].collect().height for table in ("nfs", "iscsi"))


def _pyshark(path: str) -> int:
    import pyshark  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415

    found = 0
    with pyshark.FileCapture(path, display_filter="rpc.msgtyp == 1 or iscsi.time", keep_packets=False) as packets:
        for packet in packets:
            layer: Any = packet.rpc if "RPC" in packet else packet.iscsi
            float(layer.time)
            found += 1
    return found


READERS = {"esxparse": _esxparse, "pyshark": _pyshark}


def _measure(reader: str, path: Path) -> dict[str, float]:
    run = subprocess.run([sys.executable, __file__, "once", reader, path], check=True, capture_output=True, text=True)
    answer: dict[str, float] = json.loads(run.stdout)
    return answer


def _once(reader: str, path: str) -> None:
    begin = time.perf_counter()
    found = READERS[reader](path)
    seconds = time.perf_counter() - begin
    # Not ru_maxrss of its own: that begins with what the process that started it had.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    own = int(re.findall(r"VmHWM:\s*(\d+)", status)[0])
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(json.dumps({"seconds": seconds, "requests": found, "own": own / 1024, "tshark": children / 1024}))


def _tshark_alone(path: Path) -> float:
    from esxparse.formats.packets.tshark import command  # noqa: PLC0415

    begin = time.perf_counter()
    subprocess.run(command(str(path)), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main() -> None:
    DATA.mkdir(exist_ok=True)
    whole, part = DATA / f"packets-{REQUESTS}.pcap", DATA / f"packets-{REQUESTS // PEER_SHARE}.pcap"
    for path, requests in ((whole, REQUESTS), (part, REQUESTS // PEER_SHARE)):
        if not path.exists():
            compose(path, requests)
    size = whole.stat().st_size / 1e6
    rounds = [(_tshark_alone(whole), _measure("esxparse", whole)) for _ in range(ROUNDS)]
    alone = min(seconds for seconds, _ in rounds)
    ours = min((answer for _, answer in rounds), key=lambda answer: answer["seconds"])
    lines = [
        f"{size:.0f} MB, {REQUESTS:,} requests, best of {ROUNDS}.",
        "",
        "| reader | s | MB/s | own peak MiB | tshark's peak MiB | requests |",
        "|---|---:|---:|---:|---:|---:|",
        f"| tshark -T fields > /dev/null | {alone:.2f} | {size / alone:.0f} | - | - | - |",
        (
            f"| esxparse.open, all tables | {ours['seconds']:.2f} | {size / ours['seconds']:.0f} | {ours['own']:.0f} "
            f"| {ours['tshark']:.0f} | {ours['requests']:,.0f} |"
        ),
    ]
    if importlib.util.find_spec("pyshark") is None:
        lines += ["", "pyshark is not installed: not measured."]
    else:
        answer, tenth = _measure("pyshark", part), part.stat().st_size / 1e6
        rate = tenth / answer["seconds"]
        lines.append(
            f"| pyshark, replies only, {tenth:.0f} MB of it | {answer['seconds']:.2f} | {rate:.1f} "
            f"| {answer['own']:.0f} | {answer['tshark']:.0f} | {answer['requests']:,.0f} |"
        )
    sections.put("Packet traces", lines)


@contextmanager
def _running(*command: str, wait: float = 1.0) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(wait)
    try:
        yield
    finally:
        time.sleep(0.7)
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            # tgtd does not end while it has targets.
            process.kill()


@contextmanager
def _captured(pcap: str, port: str) -> Iterator[None]:
    """Captures from the moment tcpdump has written the head of its file."""
    with _running("tcpdump", "-i", "lo", "-U", "--immediate-mode", "-w", pcap, "port", port):
        while not Path(pcap).stat().st_size:
            time.sleep(0.1)
        yield


def _do(*command: str) -> None:
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _capture_nfs(folder: Path, pcap: str) -> None:
    for name in ("export", "recovery"):
        (folder / name).mkdir()
    (folder / "data.bin").write_bytes(os.urandom(9000))
    (folder / "ganesha.conf").write_text(GANESHA.format(folder=folder), encoding="utf-8")
    server = ("ganesha.nfsd", "-F", "-L", f"{folder}/log", "-f", f"{folder}/ganesha.conf", "-p", f"{folder}/pid")
    url, v3 = f"nfs://127.0.0.1{folder}/export", "?version=3&nfsport=2049&mountport=20048"
    with (
        _running("rpcbind", "-w", "-f"),
        _running(*server, wait=3),
        _captured(pcap, "2049"),
    ):
        _do("nfs-cp", f"{folder}/data.bin", f"{url}/s.bin{v3}")
        _do("nfs-cat", f"{url}/s.bin{v3}")
        _do("nfs-ls", f"{url}/{v3}")
        _do("nfs-cat", f"{url}/none{v3}")
        _do("nfs-cat", "nfs://127.0.0.1/x/s.bin?version=4")


def _capture_iscsi(folder: Path, pcap: str, tests: list[tuple[str, int]]) -> None:
    admin = ("tgtadm", "-C", "79", "--lld", "iscsi", "--op")
    with _running("tgtd", "-C", "79", "-f", "--iscsi", "portal=127.0.0.1:3260"):
        _do(*admin, "new", "--mode", "target", "--tid", "1", "-T", TARGET)
        for lun, size, block in ((1, 8, "512"), (2, 4, "4096")):
            disk = folder / f"lun{lun}"
            disk.write_bytes(bytes(size << 20))
            of_lun = ("--mode", "logicalunit", "--tid", "1", "--lun", str(lun))
            _do(*admin, "new", *of_lun, "-b", str(disk), "--blocksize", block)
        _do(*admin, "bind", "--mode", "target", "--tid", "1", "-I", "ALL")
        with _captured(pcap, "3260"):
            for test, lun in tests:
                _do("iscsi-test-cu", "-d", "-s", "-t", f"ALL.{test}", f"iscsi://127.0.0.1/{TARGET}/{lun}")
        _do(*admin, "delete", "--mode", "target", "--tid", "1", "--force")


def capture(kind: str, out: str) -> None:
    """Captures a bundled trace again."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    pcap = str(folder / "capture.pcap")
    Path(pcap).touch(mode=0o666)
    Path(pcap).chmod(0o666)
    folder.chmod(0o777)  # tcpdump writes as a user of its own
    try:
        if kind == "nfs":
            _capture_nfs(folder, pcap)
        elif kind == "iscsi":
            _capture_iscsi(folder, pcap, [("Write16.DpoFua", 1), ("Read10.DpoFua", 2)])
        else:
            _capture_iscsi(folder, pcap, [("Read10.Async", 1)])
        packets = ["-r", pcap, out, "1-88"] if kind == "iscsi-queue" else [pcap, out]
        subprocess.run(["editcap", "-F", "pcapng", *packets], check=True)  # noqa: S607  as on the PATH
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    if sys.argv[1:2] == ["once"]:
        _once(*sys.argv[2:4])
    elif sys.argv[1:2] == ["capture"]:
        capture(*sys.argv[2:4])
    else:
        main()
