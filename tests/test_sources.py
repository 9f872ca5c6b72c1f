from __future__ import annotations

import bz2
import gzip
import hashlib
import importlib.util
import io
import lzma
import os
import pickle
import subprocess
import sys
import tarfile
import threading
import zipfile
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esxparse.errors import EsxparseError
from esxparse.formats import bundle, decompress
from esxparse.formats.source import members, problem, resolve

CAPTURE = b'"(PDH-CSV 4.0) (UTC)(0)","\\\\esx\\Memory\\Free MBytes"\n' + b"".join(
    b'"03/02/2026 08:%02d:%02d","%d.%02d"\n' % (n // 60 % 60, n % 60, n * 7919 % 9973, n % 97) for n in range(9000)
)
VARIED = b"".join(b'"03/02/2026 08:00:00","%d.%02d"\n' % (n * n * 7919 % 999983, n * n * n % 97) for n in range(60_000))
NOISE = b"".join(hashlib.sha512(b"%d" % n).digest() for n in range(150_000))
OTHER = CAPTURE.replace(b"esx", b"two")
SMALL = gzip.compress(CAPTURE[:1500]) + gzip.compress(CAPTURE[1500:2000])


def needs(module):
    if importlib.util.find_spec(module.partition(".")[0]) and importlib.util.find_spec(module):
        return
    if os.environ.get("ESXPARSE_REQUIRE_ALL") == "1":
        pytest.fail(f"{module} is not installed")
    pytest.skip(f"{module} is not installed")


def zstd_compress(data):
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415
    else:
        needs("backports.zstd")
        from backports import zstd  # noqa: PLC0415
    return zstd.compress(data)


COMPRESS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": zstd_compress}


@pytest.fixture(params=["isal", "zlib"])
def deflate_by(request, monkeypatch):
    """With the fast library for gzip, and without."""
    if request.param == "isal":
        needs("isal")
    else:
        monkeypatch.setitem(sys.modules, "isal", None)


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    yield
    left = [thread for thread in threading.enumerate() if thread.name == "esxparse-read-ahead"]
    assert not left


def drain(source):
    with source.open() as stream:
        content = stream.read()
        return content, problem(stream)


def put(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data)
    return path


def tar_of(files, mode="w"):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return file.getvalue()


def zip_of(files, method=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as packed:
        for name, data in files.items():
            packed.writestr(name, data)
    return file.getvalue()


def refusal(where, member=None):
    with pytest.raises(EsxparseError) as caught:
        drain(resolve(where, member))
    return str(caught.value)


# One file


def test_a_plain_file_is_read_as_it_lies_there(tmp_path):
    path = put(tmp_path, "night.csv", CAPTURE)
    source = resolve(path)
    assert (source.name, source.size, source.compression, source.path) == (str(path), len(CAPTURE), None, path)
    with source.open() as stream:
        assert stream.fileno() > 0
    assert drain(source) == (CAPTURE, None)


@pytest.mark.usefixtures("deflate_by")
@pytest.mark.parametrize("title", COMPRESS)
@pytest.mark.parametrize("parts", [1, 2, 7])
def test_compressed_files_are_told_by_their_content(tmp_path, title, parts):
    size = len(CAPTURE) // parts + 1
    data = b"".join(COMPRESS[title](CAPTURE[at : at + size]) for at in range(0, len(CAPTURE), size))
    source = resolve(put(tmp_path, "night.csv", data))
    assert (source.compression, source.path, source.size) == (title, None, None)
    assert drain(source) == (CAPTURE, None)
    assert drain(source) == (CAPTURE, None)
    assert drain(pickle.loads(pickle.dumps(source))) == (CAPTURE, None)  # noqa: S301  our own bytes


def test_readinto_fills_what_it_is_given_until_the_end(tmp_path):
    content = NOISE[:5_000_000]
    with resolve(put(tmp_path, "x.gz", gzip.compress(content, 1))).open() as stream:
        buffer = bytearray(2_000_000)
        got = []
        while length := stream.readinto(buffer):
            got.append(bytes(buffer[:length]))
    assert [len(piece) for piece in got] == [2_000_000, 2_000_000, 1_000_000]
    assert b"".join(got) == content


@pytest.mark.parametrize("title", COMPRESS)
def test_padding_is_passed_over_and_other_bytes_after_the_data_are_told(tmp_path, title):
    data = COMPRESS[title](CAPTURE)
    assert drain(resolve(put(tmp_path, "x", data + bytes(512)))) == (CAPTURE, None)
    content, why = drain(resolve(put(tmp_path, "y", data + b"login: something else")))
    assert content == CAPTURE
    assert "something else follows: left out" in why


def test_an_empty_capture_in_gzip_is_empty_and_not_damaged(tmp_path):
    assert drain(resolve(put(tmp_path, "x.gz", gzip.compress(b"")))) == (b"", None)


@pytest.mark.usefixtures("deflate_by")
@settings(deadline=None, max_examples=60)
@given(cut=st.integers(0, len(SMALL)))
def test_a_gzip_cut_anywhere_gives_what_is_there_and_says_so(tmp_path_factory, cut):
    path = put(tmp_path_factory.mktemp("cut"), "x.gz", SMALL[:cut])
    first = len(gzip.compress(CAPTURE[:1500]))
    if cut >= 3 and not zlib.decompressobj(31).decompress(SMALL[:cut]):
        assert "gzip data is cut after 0 bytes" in refusal(path)
        return
    content, why = drain(resolve(path))
    if cut < 3:
        assert content == SMALL[:cut]
        return
    assert CAPTURE[:2000].startswith(content)
    assert (why is None) == (cut in {first, len(SMALL)})
    if cut >= first:
        assert len(content) >= 1500
    if why and "is cut" in why:
        assert f"{len(content):,} bytes" in why


@pytest.mark.usefixtures("deflate_by")
@pytest.mark.parametrize("title", COMPRESS)
def test_a_large_file_cut_in_the_middle_gives_about_half(tmp_path, title):
    data = COMPRESS[title](VARIED)
    content, why = drain(resolve(put(tmp_path, "x", data[: len(data) // 2])))
    assert why == f"{title} data is cut after {len(content):,} bytes of content"
    assert VARIED.startswith(content)
    assert len(content) > len(VARIED) / 4


@pytest.mark.usefixtures("deflate_by")
@pytest.mark.parametrize("title", COMPRESS)
def test_damage_in_the_middle_ends_the_content_and_is_told(tmp_path, title):
    data = bytearray(b"".join(COMPRESS[title](CAPTURE) for _ in range(8)))
    middle = len(data) // 2 + 5000
    data[middle : middle + 400] = bytes(400)
    content, why = drain(resolve(put(tmp_path, "x", bytes(data))))
    assert content.startswith(CAPTURE * 3)
    assert f"{title} data cannot be decompressed beyond {len(content):,} bytes of content" in why


@pytest.mark.usefixtures("deflate_by")
def test_a_wrong_check_sum_is_told(tmp_path):
    data = bytearray(gzip.compress(CAPTURE))
    data[-6] ^= 1
    content, why = drain(resolve(put(tmp_path, "x.gz", bytes(data))))
    assert CAPTURE.startswith(content)
    assert len(content) > len(CAPTURE) / 2
    assert "may be wrong" in why


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (SMALL[:9], "gzip data is cut after 0 bytes of content: copy it again"),
        (gzip.compress(gzip.compress(CAPTURE)), "compressed twice (gzip in gzip)"),
        (b"7z\xbc\xaf'\x1c" + bytes(100), "packed by 7-Zip"),
        (gzip.compress(b"Rar!\x1a\x07" + bytes(100)), "packed by RAR"),
        (gzip.compress(zip_of({"a.csv": CAPTURE})), "is a zip compressed by gzip: decompress it first"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_to_do(tmp_path, data, says):
    assert says in refusal(put(tmp_path, "x.gz", data))


@pytest.mark.parametrize(("name", "says"), [("absent.csv", "does not exist"), (".", "is a directory")])
def test_paths_that_are_no_files(tmp_path, name, says):
    assert says in refusal(tmp_path / name)


def test_a_path_with_a_nul(tmp_path):
    assert "cannot be read" in refusal(f"{tmp_path}/a\0b")


def test_zstd_without_its_library_names_what_to_install(tmp_path, monkeypatch):
    data = zstd_compress(CAPTURE)
    for name in ("backports", "backports.zstd", "compression", "compression.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    assert 'pip install "esxparse[compressed]"' in refusal(put(tmp_path, "x", data))


# Absurd expansion


@pytest.mark.usefixtures("deflate_by")
@pytest.mark.parametrize("title", COMPRESS)
def test_absurd_expansion_is_refused(tmp_path, title):
    path = put(tmp_path, "x", COMPRESS[title](bytes(120 << 20)))
    assert "over 1000 times" in refusal(path)


def test_absurd_expansion_inside_a_bundle_is_refused(tmp_path):
    zeros = bytes(120 << 20)
    head = CAPTURE[:1000]
    assert "over 1000 times" in refusal(put(tmp_path, "a.tgz", gzip.compress(tar_of({"a.csv": head + zeros}))))
    assert "over 1000 times" in refusal(put(tmp_path, "a.zip", zip_of({"a.csv": head + zeros})))
    # Two levels that each stay within the bounds.
    inner = gzip.compress(head + zeros)
    assert "over 1000 times" in refusal(put(tmp_path, "b.tgz", gzip.compress(tar_of({"a.csv.gz": inner}))))


def test_a_capture_of_idle_rows_is_not_taken_for_a_bomb(tmp_path):
    row = b'"03/02/2026 08:00:00"' + b',"0.00"' * 4000 + b"\n"
    content = b"".join(row.replace(b"08:00:00", b"08:%02d:%02d" % (n // 60, n % 60)) for n in range(3000))
    assert len(content) > decompress.FREE
    assert drain(resolve(put(tmp_path, "x.gz", gzip.compress(content)))) == (content, None)


def test_a_header_of_a_tar_cannot_ask_for_memory(tmp_path):
    file = io.BytesIO()
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 1 << 40
    file.write(info.tobuf(tarfile.USTAR_FORMAT if info.size < 8**11 else tarfile.GNU_FORMAT))
    file.write(bytes(1 << 20))
    path = put(tmp_path, "x.tar", file.getvalue())
    assert "holds no capture" in refusal(path)
    assert "absurdly long" in resolve_problem(path)


def resolve_problem(path):
    file, raw = path.open("rb"), None
    with file:
        raw = decompress.Raw(file, "x")
        list(bundle.look_through(file, raw, raw, (), None))
    return raw.problem


# Bundles

PLAIN = {"readme.txt": b"nothing", "var/log/esxtop.csv": CAPTURE, "var/log/vmkernel.log": b"x" * 3000}
TAR_MODES = {"w": "tar", "w:gz": "gzip, tar", "w:xz": "xz, tar", "w:bz2": "bzip2, tar"}


@pytest.mark.parametrize("mode", TAR_MODES)
def test_the_one_capture_of_a_tar_is_meant(tmp_path, mode):
    path = put(tmp_path, "vm-support", tar_of(PLAIN, mode))
    source = resolve(path)
    assert source.name == f"{path}:var/log/esxtop.csv"
    assert source.compression == TAR_MODES[mode]
    assert source.problem is None
    assert drain(source) == (CAPTURE, None)
    assert drain(source) == (CAPTURE, None)
    assert members(path) == ["var/log/esxtop.csv"]


def test_a_tar_in_zstd(tmp_path):
    path = put(tmp_path, "x", zstd_compress(tar_of(PLAIN)))
    assert drain(resolve(path)) == (CAPTURE, None)


@pytest.mark.usefixtures("deflate_by")
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_the_one_capture_of_a_zip_is_meant(tmp_path, method):
    path = put(tmp_path, "x", zip_of(PLAIN, method))
    assert drain(resolve(path)) == (CAPTURE, None)
    assert resolve(path).compression.startswith("zip, ")


@pytest.mark.parametrize("title", COMPRESS)
def test_members_may_be_compressed_themselves(tmp_path, title):
    packed = COMPRESS[title](CAPTURE)
    for name, data in {"a.tgz": tar_of({"x/esxtop.csv.z": packed}, "w:gz"), "a.zip": zip_of({"c": packed})}.items():
        source = resolve(put(tmp_path, name, data))
        assert source.compression.endswith(title)
        assert drain(source) == (CAPTURE, None)


def test_of_several_captures_one_has_to_be_named(tmp_path):
    files = {**PLAIN, "second.csv.gz": gzip.compress(OTHER)}
    for name, data in {"a.tgz": tar_of(files, "w:gz"), "a.zip": zip_of(files)}.items():
        path = put(tmp_path, name, data)
        assert members(path) == ["var/log/esxtop.csv", "second.csv.gz"]
        says = refusal(path)
        assert f"{path} holds 2 captures" in says
        assert f"{path}:var/log/esxtop.csv" in says
        assert "second.csv.gz" in says
        assert drain(resolve(path, "second.csv.gz")) == (OTHER, None)
        assert drain(resolve(f"{path}:second.csv.gz")) == (OTHER, None)
        assert drain(resolve(f"{path}:var/log/esxtop.csv")) == (CAPTURE, None)
        assert "holds no third.csv" in refusal(path, "third.csv")


def test_a_bundle_without_captures(tmp_path):
    path = put(tmp_path, "a.tgz", tar_of({"a": b"1", "b": b"2"}, "w:gz"))
    assert members(path) == []
    assert "holds no capture" in refusal(path)
    assert "holds no capture" in refusal(put(tmp_path, "a.zip", zip_of({})))


def test_a_member_of_what_is_no_bundle(tmp_path):
    path = put(tmp_path, "a.csv", CAPTURE)
    assert "is no bundle" in refusal(path, "b.csv")
    assert "is no bundle" in refusal(f"{path}:b.csv")
    assert members(path) == []


def test_a_file_with_a_colon_in_its_name_is_that_file(tmp_path):
    put(tmp_path, "a.tar", tar_of(PLAIN))
    path = put(tmp_path, "a.tar:night.csv", OTHER)
    assert drain(resolve(path)) == (OTHER, None)


def test_members_of_one_name_are_told_apart(tmp_path):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for data in (CAPTURE, OTHER):
            info = tarfile.TarInfo("./a.csv")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    path = put(tmp_path, "a.tar", file.getvalue())
    assert members(path) == ["a.csv", "a.csv#2"]
    assert drain(resolve(path, "a.csv#2")) == (OTHER, None)


def test_utf_16_captures_are_found(tmp_path):
    data = CAPTURE.decode().encode("utf-16")
    assert members(put(tmp_path, "a.tar", tar_of({"a.csv": data}))) == ["a.csv"]


def test_an_archive_in_an_archive_is_looked_into_once(tmp_path):
    one = tar_of(PLAIN, "w:gz")
    two = zip_of({"host-1.tgz": one, "note.txt": b"x"})
    path = put(tmp_path, "all.zip", two)
    assert members(path) == ["host-1.tgz:var/log/esxtop.csv"]
    assert drain(resolve(path)) == (CAPTURE, None)
    assert drain(resolve(f"{path}:host-1.tgz:var/log/esxtop.csv")) == (CAPTURE, None)
    assert drain(resolve(path, "host-1.tgz")) == (CAPTURE, None)
    deep = tar_of({"a.tar": tar_of({"b.tar": tar_of(PLAIN)})})
    assert "an archive in an archive in an archive" in refusal(put(tmp_path, "deep.tar", deep))
    assert "a zip inside an archive" in refusal(put(tmp_path, "zips.tar", tar_of({"all.zip": two})))


UNSAFE = ("../out.csv", "a/../../out.csv", "/etc/out.csv", "..\\out.csv", "C:\\out.csv", "\\\\server\\out.csv")


@pytest.mark.parametrize("name", UNSAFE)
def test_names_that_lead_out_are_refused_by_name(tmp_path, name):
    for packed, data in {"a.tar": tar_of({name: CAPTURE}), "a.zip": zip_of({name: CAPTURE})}.items():
        path = put(tmp_path, packed, data)
        assert members(path) == []
        says = refusal(path)
        assert "its name leads out of the bundle" in says
        assert bundle.shown(name) in says
        assert "its name leads out of the bundle" in refusal(path, bundle.shown(name))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar", "a.zip"]


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (tarfile.SYMTYPE, "a link"),
        (tarfile.LNKTYPE, "a link"),
        (tarfile.CHRTYPE, "a device or pipe"),
        (tarfile.BLKTYPE, "a device or pipe"),
        (tarfile.FIFOTYPE, "a device or pipe"),
    ],
)
def test_links_and_devices_in_a_tar_are_refused(tmp_path, kind, says):
    target = put(tmp_path, "target.csv", OTHER)
    info = tarfile.TarInfo("esxtop.csv")
    info.type, info.linkname = kind, str(target)
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        tar.addfile(info)
    path = put(tmp_path, "a.tar", file.getvalue())
    assert f"esxtop.csv: {says}" in refusal(path)
    assert f"esxtop.csv: {says}" in refusal(path, "esxtop.csv")


def test_links_in_a_zip_are_refused(tmp_path):
    info = zipfile.ZipInfo("esxtop.csv")
    info.create_system, info.external_attr = 3, 0o120777 << 16
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr(info, "/etc/passwd")
    assert "esxtop.csv: a link" in refusal(put(tmp_path, "a.zip", file.getvalue()))


def test_an_encrypted_zip_is_refused(tmp_path):
    data = bytearray(zip_of({"a.csv": CAPTURE}))
    data[6] |= 1
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    path = put(tmp_path, "a.zip", bytes(data))
    assert "a.csv: encrypted" in refusal(path)


def test_a_method_of_zip_that_is_not_read(tmp_path):
    path = put(tmp_path, "a.zip", zip_of({"a.csv": CAPTURE}, zipfile.ZIP_LZMA))
    assert "a.csv: compressed by lzma" in refusal(path)


def test_a_zip_whose_content_is_not_what_its_sum_says(tmp_path):
    data = zip_of({"a.csv": CAPTURE}, zipfile.ZIP_STORED)
    content, why = drain(resolve(put(tmp_path, "a.zip", data.replace(b"esx", b"esy", 1))))
    assert len(content) == len(CAPTURE)
    assert "check sum" in why


def test_a_damaged_entry_of_a_zip_leaves_the_others(tmp_path):
    data = zip_of({"a.csv": CAPTURE, "b.csv": OTHER})
    second = data.index(b"PK\x03\x04", 1)
    path = put(tmp_path, "a.zip", data[:second] + b"XX" + data[second + 2 :])
    assert members(path) == ["a.csv"]
    assert "b.csv: damaged" in refusal(path, "b.csv")


def test_a_zip_that_is_cut_gives_its_first_file(tmp_path):
    data = zip_of({"a.csv": CAPTURE, "b.csv": OTHER})
    source = resolve(put(tmp_path, "a.zip", data[: len(data) // 4]))
    assert "its directory is missing" in source.problem
    content, why = drain(source)
    assert CAPTURE.startswith(content)
    assert len(content) > 1000
    assert "deflate data is cut" in why


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_tar_that_is_cut_gives_what_is_there(tmp_path, mode):
    data = tar_of({"a.txt": b"x", "b.csv": CAPTURE}, mode)
    source = resolve(put(tmp_path, "a.tar", data[: len(data) // 2]))
    assert "cut" in source.problem
    content, why = drain(source)
    assert CAPTURE.startswith(content)
    assert len(content) > len(CAPTURE) / 4
    assert "cut" in why


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_damaged_bundles_end_in_content_or_in_an_error_of_ours(tmp_path_factory, data):
    whole = data.draw(st.sampled_from([tar_of(PLAIN), tar_of(PLAIN, "w:gz"), zip_of(PLAIN)]))
    damaged = bytearray(whole)
    for place in data.draw(st.lists(st.integers(0, 2000), min_size=1, max_size=4)):
        damaged[place % len(damaged)] = data.draw(st.integers(0, 255))
    damaged = damaged[: data.draw(st.integers(1, len(damaged)))]
    path = put(tmp_path_factory.mktemp("damaged"), "x", bytes(damaged))
    try:
        members(path)
        drain(resolve(path))
    except EsxparseError:
        pass


def test_names_that_do_not_print_are_escaped(tmp_path):
    name = "a\x1b]0;t\x07\udcff.csv"
    path = put(tmp_path, "a.tar", tar_of({name: CAPTURE}))
    (found,) = members(path)
    assert found.isprintable()
    found.encode()
    assert drain(resolve(path, found)) == (CAPTURE, None)


# Threads


def test_a_stream_closed_early_leaves_no_thread_and_no_open_file(tmp_path):
    path = put(tmp_path, "x.gz", gzip.compress(NOISE, 1))
    stream = resolve(path).open()
    assert stream.read(10)
    stream.close()
    stream.close()
    with pytest.raises(ValueError, match="closed"):
        stream.read(1)
    abandoned = resolve(path).open()
    assert abandoned.read(10)
    del abandoned


def test_memory_ahead_of_the_reader_is_bounded(tmp_path):
    path = put(tmp_path, "x.gz", gzip.compress(NOISE + NOISE, 1))
    with resolve(path).open() as stream:
        assert stream.read(1)
        assert stream._handover.chunks.maxsize * decompress.CHUNK <= 16 << 20
        assert stream._handover.chunks.qsize() <= stream._handover.chunks.maxsize


def test_an_error_of_the_thread_reaches_the_reader_each_time(tmp_path):
    with resolve(put(tmp_path, "x.gz", gzip.compress(bytes(120 << 20)))).open() as stream:
        for _ in range(2):
            with pytest.raises(EsxparseError, match="over 1000 times"):
                stream.readall()


# Standard input

READ_TWICE = """
import sys
from esxparse.errors import EsxparseError
from esxparse.formats.source import problem, resolve
try:
    source = resolve("-")
    with source.open() as stream:
        content = stream.read()
    print(source.name, source.compression, len(content), problem(stream))
    source.open()
except EsxparseError as error:
    print(error)
"""


def piped(data, script=READ_TWICE):
    done = subprocess.run([sys.executable, "-c", script], input=data, capture_output=True, check=True)
    assert not done.stderr
    return done.stdout.decode().splitlines()


@pytest.mark.parametrize(("compress", "title"), [(bytes, None), (gzip.compress, "gzip")])
def test_standard_input_is_read_once(compress, title):
    first, second = piped(compress(CAPTURE))
    assert first == f"- {title} {len(CAPTURE)} None"
    assert second == "- can be read once, and has been: write it to a file and name that"


def test_a_bundle_on_standard_input_is_refused():
    (says,) = piped(tar_of(PLAIN, "w:gz"))
    assert says.startswith("standard input is a bundle")


def test_a_program_ends_while_its_standard_input_waits():
    script = """
from esxparse.formats.source import resolve
stream = resolve("-").open()
print(stream.readinto(bytearray(1 << 20)), flush=True)
"""
    read, write = os.pipe()
    with subprocess.Popen([sys.executable, "-c", script], stdin=read, stdout=subprocess.PIPE) as program:
        os.write(write, CAPTURE[:60_000])
        # A little more than a chunk, and no end.
        for _ in range(17):
            os.write(write, CAPTURE[:60_000])
        assert program.stdout.readline().strip() == str(1 << 20).encode()
        assert program.wait(20) == 0
    os.close(write)
    os.close(read)


# URLs


@pytest.fixture
def fsspec():
    needs("fsspec")
    return importlib.import_module("fsspec")


@pytest.mark.parametrize("scheme", ["memory", "file"])
def test_urls_are_read_as_files_are(tmp_path, fsspec, scheme):
    base = "memory://night" if scheme == "memory" else tmp_path.as_uri()
    files = {"a.csv": CAPTURE, "a.gz": gzip.compress(CAPTURE), "a.tgz": tar_of(PLAIN, "w:gz"), "a.zip": zip_of(PLAIN)}
    for name, data in files.items():
        with fsspec.open(f"{base}/{name}", "wb") as file:
            file.write(data)
        source = resolve(f"{base}/{name}")
        assert source.path is None
        assert drain(source) == (CAPTURE, None)
        assert drain(source) == (CAPTURE, None)
    assert resolve(f"{base}/a.csv").size == len(CAPTURE)
    assert resolve(f"{base}/a.csv").name == f"{base}/a.csv"
    assert members(f"{base}/a.tgz") == ["var/log/esxtop.csv"]
    assert drain(resolve(f"{base}/a.zip:var/log/esxtop.csv")) == (CAPTURE, None)
    assert "does not exist" in refusal(f"{base}/absent.csv")


@pytest.mark.usefixtures("fsspec")
def test_urls_of_no_known_kind():
    assert "cannot be read" in refusal("nosuch://a/b.csv")


def test_a_url_without_fsspec_names_what_to_install(monkeypatch):
    for name in ("fsspec", "fsspec.core"):
        monkeypatch.setitem(sys.modules, name, None)
    assert 'pip install "esxparse[remote]"' in refusal("s3://bucket/x.csv")


def test_messages_keep_passwords_and_signatures_to_themselves(monkeypatch):
    for name in ("fsspec", "fsspec.core"):
        monkeypatch.setitem(sys.modules, name, None)
    says = refusal("https://me:secret@host/x.csv?signature=abc")
    assert "https://host/x.csv" in says
    assert "secret" not in says
    assert "abc" not in says
