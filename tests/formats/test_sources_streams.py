"""The open stream: the thread that reads ahead of it, and standard input."""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import sys

import pytest
from packing import CAPTURE, PLAIN, put, tar_of

from esxparse.errors import EsxparseError
from esxparse.formats import read_ahead
from esxparse.formats.source import resolve

pytestmark = pytest.mark.usefixtures("no_thread_is_left")

NOISE = b"".join(hashlib.sha512(b"%d" % n).digest() for n in range(150_000))
READ_TWICE = """
import sys
from esxparse.errors import EsxparseError
from esxparse.formats.read_ahead import problem
from esxparse.formats.source import resolve
try:
    source = resolve("-")
    with source.open() as stream:
        content = stream.read()
    print(source.name, source.compression, len(content), problem(stream))
    source.open()
except EsxparseError as error:
    print(error)
"""


def test_readinto_fills_what_it_is_given_until_the_end(tmp_path):
    content = NOISE[:5_000_000]
    with resolve(put(tmp_path, "x.gz", gzip.compress(content, 1))).open() as stream:
        buffer = bytearray(2_000_000)
        got = []
        while length := stream.readinto(buffer):
            got.append(bytes(buffer[:length]))
    assert [len(piece) for piece in got] == [2_000_000, 2_000_000, 1_000_000]
    assert b"".join(got) == content


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
        assert stream._handover.chunks.maxsize * read_ahead.CHUNK <= 16 << 20
        assert stream._handover.chunks.qsize() <= stream._handover.chunks.maxsize


def test_an_error_of_the_thread_reaches_the_reader_each_time(tmp_path):
    with resolve(put(tmp_path, "x.gz", gzip.compress(bytes(120 << 20)))).open() as stream:
        for _ in range(2):
            with pytest.raises(EsxparseError, match="over 1000 times"):
                stream.readall()


def piped(data, script=READ_TWICE):
    done = subprocess.run([sys.executable, "-c", script], input=data, capture_output=True, check=True)
    assert not done.stderr
    return done.stdout.decode().splitlines()


@pytest.mark.parametrize(("compress", "title"), [(bytes, None), (gzip.compress, "gzip")])
def test_standard_input_is_read_once(compress, title):
    first, second = piped(compress(CAPTURE))
    assert first == f"- {title} {len(CAPTURE)} None"
    assert second == "- can be read only once, and has been: write it to a file and open that"


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
