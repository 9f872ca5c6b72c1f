"""Files made to do harm: they cost bounded memory and time, and end in an error of ours that names them."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import subprocess
import sys
import tarfile
import zipfile

import bmc
import pytest

import esxparse as ex
from esxparse.formats import memory, registry

CAPTURE = (ex.datasets_dir() / "busy-host" / "busy-host.csv").read_bytes()[:2_000_000]
FIO = (ex.datasets_dir() / "formats" / "fio-json-plus.json").read_bytes()
NORMAL = (ex.datasets_dir() / "formats" / "fio-normal.txt").read_bytes()


def put(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def fio(**changes):
    document = json.loads(FIO)
    document["jobs"][0] |= changes
    return json.dumps(document)


@pytest.mark.parametrize(
    "content",
    [
        fio(jobname="\ud800").encode(),
        fio(jobname={"a": 1}).encode(),
        fio(jobname=["a"]).encode(),
        fio(error=["x"]).encode(),
        fio(groupid=10**400).encode(),
        fio(jobname="x").replace('"x"', "9" * 5000).encode(),
        fio(jobname="x" * 140_000).encode(),
        b"\xff\xfe" + FIO,
        FIO.replace(b'"jobs"', b'"deep" : ' + b"[" * 5000 + b', "jobs"', 1),
        NORMAL.replace(b"lat (", b"[lat ("),
        NORMAL.replace(b"total=", b"total=" + b"9" * 5000, 1),
        b'{"counter-value" : "1", "event" : []}\n{"counter-value" : "1", "event" : ' + b"[" * 5000,
        b'"' + b"x" * 140_000 + b'",time,watts\n1,2,3\n',
        b"SET," + b"1" * 140_000 + b"\n",
        b'"test","rps"\n"SET","' + b"1" * 140_000 + b'"\n',
    ],
)
def test_an_odd_value_is_read_or_refused_by_an_error_of_ours(tmp_path, content):
    path = put(tmp_path, "x", content)
    said = str(path)
    try:
        rec = ex.open(path)
        assert all(rec[name].collect().width for name in rec)
    except ex.EsxparseError as error:
        said = str(error)
    assert str(path) in said
    assert "bug in esxparse" not in said


@pytest.mark.parametrize(
    "raised", [RecursionError("deep"), KeyError("x"), UnicodeEncodeError("utf-8", "\ud800", 0, 1, "no")]
)
def test_what_a_reader_did_not_foresee_is_an_error_of_ours_with_its_cause(tmp_path, monkeypatch, raised):
    path = put(tmp_path, "x", FIO)

    def read(_):
        raise raised

    monkeypatch.setattr("esxparse.formats.fio.read", read)
    with pytest.raises(ex.DamagedError, match="bug in esxparse") as caught:
        ex.open(path)
    assert caught.value.__cause__ is raised
    assert str(path) in str(caught.value)


def test_running_out_of_memory_is_said_as_such(tmp_path, monkeypatch):
    def read(_):
        raise MemoryError

    monkeypatch.setattr("esxparse.formats.fio.read", read)
    with pytest.raises(ex.TooLargeError, match="more memory than there is"):
        ex.open(put(tmp_path, "x", FIO))


def test_what_is_read_whole_may_be_a_32nd_of_the_limit_long(tmp_path):
    stream = (ex.datasets_dir() / "formats" / "stream-runs.txt").read_bytes()
    path = put(tmp_path, "x.txt.gz", gzip.compress(stream + b"\n" * (1 << 17)))
    assert ex.open(path, memory_limit="8MiB").format == "stream"
    with pytest.raises(ex.TooLargeError, match="memory_limit"):
        ex.open(path, memory_limit="2MiB")


def test_json_may_be_longer_where_its_values_are_few(tmp_path):
    blank, many = FIO + b" " * (1 << 20), FIO.replace(b"{", b'{"x":[' + b"[]," * 300_000 + b"[]],", 1)
    assert ex.open(put(tmp_path, "x.json", blank), memory_limit="16MiB").format == "fio"
    with pytest.raises(ex.TooLargeError, match="memory_limit"):
        ex.open(put(tmp_path, "y.json", many), memory_limit="16MiB")


def test_standard_input_is_copied_to_disk_up_to_a_bound():
    code = f"import esxparse as ex; ex.open('-', memory_limit={1 << 20})"
    begin = CAPTURE[: CAPTURE.index(b"\n") + 1]
    run = subprocess.run(
        [sys.executable, "-c", code], input=begin + b"1," * (9 << 20), capture_output=True, check=False
    )
    assert b"TooLargeError: - has more than 16 MiB when it is unpacked" in run.stderr
    assert b"set memory_limit higher" in run.stderr


def test_a_header_may_not_spread_over_more_cells_than_memory_has(tmp_path):
    cells = "".join(f',"\\\\h\\Vcpu({place}:v:{place}:w)\\c{place}"' for place in range(3000))
    row = '"03/02/2026 08:00:0{}"' + ',"1"' * 3000 + "\n"
    content = f'"(PDH-CSV 4.0) (UTC)(0)"{cells}\n{row.format(0)}{row.format(5)}'
    path = put(tmp_path, "x.csv", content.encode())
    with pytest.raises(ex.TooLargeError, match=r"9,000,000 cells .* memory_limit"):
        ex.open(path, memory_limit="256MiB")


def test_numbers_read_at_once_and_endless_lines_are_bounded(tmp_path):
    with pytest.raises(ex.TooLargeError, match="lazy=True"):
        ex.open(put(tmp_path, "x.csv", CAPTURE), lazy=False, memory_limit=400_000)
    begin = CAPTURE[: CAPTURE.index(b"\n") + 1]
    with pytest.raises(ex.TooLargeError, match="a line of it"):
        ex.open(put(tmp_path, "y.csv", begin + b"1" * 5_000_000), lazy=False, memory_limit="64MiB")


_OPEN = """
import resource, sys, esxparse as ex
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    ex.open(sys.argv[1], memory_limit="256MiB")
except ex.TooLargeError as error:
    print(str(error).replace(chr(10), " "))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""


@pytest.mark.search
@pytest.mark.parametrize(
    ("packed", "part"),
    [("plain", b',"\\\\h\\Vcpu(1:a:1:b)\\x"'), ("gzip", b"1" * 32), ("http", b',"\\\\h\\Vcpu(1:a:1:b)\\x"')],
    ids=["plain", "gzip", "http"],
)
def test_a_header_that_never_ends_is_refused_in_bounded_memory(tmp_path, packed, part):
    piece = part * ((1 << 20) // len(part))
    begin = b'"(PDH-CSV 4.0) (UTC)(0)"'

    def endless(handler):
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(begin)
        with contextlib.suppress(OSError):
            while True:
                handler.wfile.write(piece)

    where = tmp_path / "x.csv"
    with gzip.open(where, "wb", 1) if packed == "gzip" else where.open("wb") as file:
        file.write(begin + piece * 300)
    with bmc.server(endless) as address:
        name = f"{address}/x.csv" if packed == "http" else str(where)
        run = subprocess.run(
            [sys.executable, "-c", _OPEN, name], capture_output=True, text=True, timeout=60, check=True
        )
    said, peak = run.stdout.splitlines()
    assert said.startswith(name)
    assert "a line of it is longer than 8 MiB" in said
    assert "set memory_limit higher" in said
    assert int(peak) < 256


@pytest.mark.parametrize("asked", ["lots", "0", -1, "8 apples"])
def test_a_limit_that_is_no_size_is_refused(tmp_path, asked):
    with pytest.raises(ex.EsxparseError, match="memory_limit"):
        ex.open(put(tmp_path, "x", FIO), memory_limit=asked)


def peak(path):
    """MiB at the highest, in a process of its own, of looking for captures in a bundle."""
    code = (
        "import re, sys, esxparse as ex\n"
        "try: ex.open(sys.argv[1])\n"
        "except ex.EsxparseError as error: pass\n"
        "print(int(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1]) >> 10)"
    )
    said = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    return int(said.stdout)


@pytest.mark.search
def test_members_of_a_bundle_are_not_held_while_it_is_looked_through(tmp_path):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as bundle:
        for number in range(200):
            info = tarfile.TarInfo(f"{number}.csv")
            info.size = len(CAPTURE)
            bundle.addfile(info, io.BytesIO(CAPTURE))
    assert peak(put(tmp_path, "x.tgz", file.getvalue())) < 150


def test_a_zip_whose_files_share_their_bytes_is_not_expanded_for_each(tmp_path):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("a.csv", CAPTURE)
        one = bundle.infolist()[0]
        for number in range(1000):
            again = zipfile.ZipInfo(f"{number}.csv")
            for slot in ("compress_type", "CRC", "compress_size", "file_size", "header_offset"):
                setattr(again, slot, getattr(one, slot))
            bundle.filelist.append(again)
            bundle.NameToInfo[again.filename] = again
    path = put(tmp_path, "x.zip", file.getvalue())
    with pytest.raises(ex.EsxparseError) as caught:
        ex.open(path, "7.csv")
    assert "its place in the zip with another file" in str(caught.value)


def test_forty_thousand_empty_members_are_passed_once(tmp_path, monkeypatch):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as bundle:
        for number in range(500):
            bundle.addfile(tarfile.TarInfo(f"{number}.csv"))
    asked = []
    monkeypatch.setattr(registry, "recognising", asked.append)
    with pytest.raises(ex.UnreadableError, match="no capture"):
        ex.open(put(tmp_path, "x.tar", file.getvalue()))
    assert not asked


def test_the_default_limit_is_what_the_documents_say():
    assert memory.DEFAULT == 4 << 30
    assert memory.PER_BYTE == 32
