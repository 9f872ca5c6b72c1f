"""Slices that cannot be made, where they are written to, and the command that makes them."""

from __future__ import annotations

import gzip
import io
import os
import stat
import subprocess
import sys

import compose
import pytest
from slices import WHOLE, sliced

import esxparse as ex
from esxparse.cli import main
from esxparse.formats.esxtop import slice as slicing
from esxparse.formats.esxtop.slice import slice_capture


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"tables": ["vcpus"]}, 'no table or object of the capture is called "vcpus"; there are vcpu'),
        ({"vms": ["ledger"]}, 'no VM of the capture is called "ledger"; there are ledger-db'),
        ({"instances": ["^nothing$"]}, 'no instance of the capture matches "^nothing$"; there are'),
        ({"instances": ["("]}, 'instance "(" is not a regular expression'),
        ({"counters": ["%RDYY"]}, 'no counter is called "%RDYY"; the nearest are "%RDY"'),
        ({"counters": ["Rebuild Queue"]}, "no counter is called"),
        ({"tables": ["memory"], "counters": ["%RDY"]}, "table memory; counter %RDY"),
        ({"start": "2031-01-01"}, "no sample in the requested window (from 2031-01-01T00:00:00)"),
        ({"start": "yesterday"}, "start 'yesterday' is not a time"),
        ({"every": "soon"}, "every 'soon' is not a length of time"),
    ],
)
def test_what_selects_nothing_is_one_error_and_leaves_nothing(tmp_path, busy_host_file, asked, said):
    with pytest.raises(ex.EsxparseError) as error:
        slice_capture(busy_host_file, tmp_path / "part.csv", **asked)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_counter_that_was_not_captured(tmp_path):
    with pytest.raises(ex.EsxparseError, match=r'holds "%RDY" \("% Ready" of group_cpu\).*there are % Used'):
        slice_capture(compose.write(tmp_path, WHOLE), tmp_path / "part.csv", counters=["%RDY"])


def test_a_value_that_adds_nothing_is_told(tmp_path):
    _, _, done = sliced(tmp_path, WHOLE, tables=["group_cpu"], counters=["% Used", "Free MBytes"])
    assert [note.message for note in done.notes] == [
        'counter "Free MBytes" has no column that matches the rest of the selection'
    ]


@pytest.mark.parametrize(
    ("content", "error", "said"),
    [
        (b"", ex.DamagedError, "empty"),
        (b"time,value\n1,2\n", ex.UnknownFormatError, "not an esxtop capture"),
        (WHOLE.splitlines()[0].encode(), ex.DamagedError, "no rows"),
        ('"(PDH-CSV 4.0) (UTC)(0)"\n', ex.DamagedError, "without a single column"),
    ],
)
def test_files_that_hold_nothing(tmp_path, content, error, said):
    file = compose.write(tmp_path, content)
    with pytest.raises(error, match=said) as raised:
        slice_capture(file, tmp_path / "part.csv")
    assert str(file) in str(raised.value)
    assert list(tmp_path.iterdir()) == [file]


# --- Files


def test_the_capture_itself_is_never_written_over(tmp_path):
    file = compose.write(tmp_path, WHOLE)
    (tmp_path / "link.csv").symlink_to(file)
    os.link(file, tmp_path / "hard.csv")
    for output in (file, tmp_path / "link.csv", tmp_path / "hard.csv"):
        with pytest.raises(ex.EsxparseError, match="is an input, and would be overwritten"):
            slice_capture(file, output)
    with file.open("ab") as itself, pytest.raises(ex.EsxparseError, match="is an input, and would be overwritten"):
        slice_capture(file, itself)
    assert file.read_text() == WHOLE


def test_an_error_leaves_the_old_output_as_it_was(tmp_path):
    file, output = compose.write(tmp_path, WHOLE), tmp_path / "part.csv"
    output.write_text("old")

    def stop(*_):
        raise KeyboardInterrupt

    wide = compose.write(tmp_path, WHOLE + "\n" * 40, "wide.csv")
    slicing_step, slicing._STEP = slicing._STEP, 1
    try:
        with pytest.raises(KeyboardInterrupt):
            slice_capture(wide, output, progress=stop)
    finally:
        slicing._STEP = slicing_step
    assert sorted(path.name for path in tmp_path.iterdir()) == ["capture.csv", "part.csv", "wide.csv"]
    assert output.read_text() == "old"
    output.chmod(0o600)
    slice_capture(file, output)
    assert output.read_text() == WHOLE
    assert stat.S_IMODE(output.stat().st_mode) == 0o600


def test_a_compressed_capture_and_one_that_is_cut(tmp_path):
    whole = gzip.compress(WHOLE.encode())
    file = compose.write(tmp_path, whole, "whole.csv.gz")
    assert slice_capture(file, tmp_path / "part.csv").notes == ()
    assert (tmp_path / "part.csv").read_text() == WHOLE
    with pytest.raises(ex.EsxparseError, match="is an input, and would be overwritten"):
        slice_capture(file, file)
    done = slice_capture(compose.write(tmp_path, whole[:-4], "cut.csv.gz"), tmp_path / "part.csv")
    assert any("what comes before is read" in note.message for note in done.notes)


def test_a_place_that_cannot_be_written(tmp_path):
    file = compose.write(tmp_path, WHOLE)
    for output in (tmp_path / "none" / "part.csv", tmp_path):
        with pytest.raises(ex.EsxparseError, match="cannot be written"):
            slice_capture(file, output)


def test_streams_need_no_seeking(tmp_path, busy_host_file):
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(reading)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(busy_host_file.read_bytes())
        os._exit(0)
    os.close(writing)
    out = io.BytesIO()
    with os.fdopen(reading, "rb") as pipe:
        slice_capture(pipe, out, tables=["memory"])
    slice_capture(busy_host_file, tmp_path / "part.csv", tables=["memory"])
    assert out.getvalue() == (tmp_path / "part.csv").read_bytes()


# --- The command


def run(*arguments):
    return main(["slice", *map(str, arguments)])


def test_the_command(tmp_path, capsys, busy_host_file):
    output = tmp_path / "small.csv"
    asked = ["--vm", "ledger-db", "--counter", "%RDY", "%USED", "--every", "30s", "--start", "2000-01-01"]
    assert run(busy_host_file, "-o", output, *asked) == 0
    part = ex.open(output)
    said = capsys.readouterr()
    assert said.out == f"{output}: {part.meta['columns']:,} columns, {part.meta['samples']} samples\n"
    assert said.err == ""
    assert part.meta["interval"] == 30.0
    assert set(part.tables) == {"group_cpu", "vcpu"}


def test_the_command_says_what_was_odd_and_what_failed(tmp_path, capsys):
    file = compose.write(tmp_path, WHOLE[:-8])
    assert run(file, "-o", tmp_path / "small.csv", "-q") == 0
    assert capsys.readouterr() == ("", "esxparse: line 4, column 3: the last row is cut after 3 of 4 cells: left out\n")
    assert run(file, "-o", tmp_path / "other.csv", "--vm", "x") == 1
    assert capsys.readouterr().err.startswith('esxparse: no VM of the capture is called "x"; there are a, b')
    assert run(tmp_path / "none.csv", "-o", tmp_path / "other.csv") == 1
    assert capsys.readouterr().err == f"esxparse: {tmp_path / 'none.csv'} does not exist\n"
    assert not (tmp_path / "other.csv").exists()


PIPED = """
import argparse, sys
from esxparse.cli import slice
parser = argparse.ArgumentParser()
slice.add(parser.add_subparsers())
options = parser.parse_args(["slice", *sys.argv[1:]])
sys.exit(options.run(options))
"""


def test_the_command_between_pipes(busy_host_file):
    done = subprocess.run(
        [sys.executable, "-c", PIPED, "-", "-o", "-", "--table", "Memory"],
        input=busy_host_file.read_bytes(),
        capture_output=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 122
    assert b"Group Cpu" not in lines[0]
    assert done.stderr.startswith(b"standard output: ")


def test_the_memory_limit_holds_for_slices(tmp_path):
    """For what a spreadsheet saved, which is read whole, and for each line of a capture."""
    resaved = WHOLE.replace('"', "").replace("03/02/", "3/20/") + "3/20/2026 8:00,1,2,3\n" * 2000
    for content in (resaved, WHOLE + '"' + "x" * 60_000 + "\n"):
        file = compose.write(tmp_path, content)
        slice_capture(file, io.BytesIO(), memory_limit="64MiB")
        for capture in (file, io.BytesIO(content.encode())):
            with pytest.raises(ex.TooLargeError, match="memory_limit"):
                slice_capture(capture, io.BytesIO(), memory_limit="1MiB")
