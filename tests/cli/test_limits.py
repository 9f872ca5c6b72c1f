"""Commands under the limits that a shell sets, on full disks, and ended by signals."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import hosts
import pytest
from checkout import ROOT

from esxparse.cli import main

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")

_LIMITED = "import resource, sys; from esxparse.cli import main; {}; sys.exit(main(sys.argv[1:]))"
_FILES = "resource.setrlimit(resource.RLIMIT_NOFILE, ({0}, {0}))"
_MEMORY = "resource.setrlimit(resource.RLIMIT_AS, ({0} << 20, {0} << 20))"


def limited(limit: str, *words: object, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _LIMITED.format(limit), *map(str, words)]
    whole = {**os.environ, **env}
    whole.pop("POLARS_MAX_THREADS", None)
    return subprocess.run(command, capture_output=True, text=True, env=whole, timeout=120, check=False)


def commands(folder: Path) -> dict[str, list[object]]:
    file = hosts.capture(folder)
    where = folder / "lake"
    assert main(["lake", "add", str(file), "--lake", str(where), "-q"]) == 0
    return {
        "info": ["info", file],
        "check": ["check", file],
        "diagnose": ["diagnose", file],
        "slice": ["slice", file, "-o", folder / "part.csv"],
        "convert": ["convert", file, "-o", folder / "converted"],
        "lake add": ["lake", "add", hosts.capture(folder, "esx-02"), "--lake", where],
        "lake sql": ["lake", "sql", "SELECT count(*) FROM vcpu", "--lake", where],
        "lake report": ["lake", "report", "--lake", where, "-o", folder / "fleet.html"],
        "report": ["report", file, "-o", folder / "page.html"],
        "batch": ["batch", file, "-o", folder / "batch"],
        "collect": ["collect", "host", "nobody@127.0.0.1", "--port", "9", "-o", folder / "collected"],
    }


@pytest.mark.search
@pytest.mark.parametrize("limit", [_FILES.format(64), _FILES.format(16), _MEMORY.format(600), _MEMORY.format(976)])
def test_every_command_works_or_names_the_limit_in_one_line(tmp_path, limit):
    worked = set()
    for name, words in commands(tmp_path).items():
        done = limited(limit, *words)
        if done.returncode == 0:
            worked.add(name)
            continue
        assert done.returncode == 1, (name, done.returncode, done.stderr)
        assert done.stderr.count("\n") == 1, (name, done.stderr[:2000])
        named = "ulimit -n" if "NOFILE" in limit else "ulimit -v"
        # Nothing listens where `collect` asks.
        assert named in done.stderr or name == "collect", (name, done.stderr)
    if limit == _FILES.format(64):
        assert worked >= {"info", "check", "diagnose", "slice", "convert", "lake add", "lake sql"}


def test_a_limit_that_is_too_low_is_named_before_anything_begins(tmp_path):
    file = hosts.capture(tmp_path)
    done = limited(_FILES.format(64), "report", file, "-o", tmp_path / "page.html")
    assert (done.returncode, done.stderr) == (
        1,
        "esxparse: report needs 128 open files, and ulimit -n allows 64: raise it\n",
    )
    done = limited(_MEMORY.format(800), "info", file)
    assert (done.returncode, done.stderr) == (
        1,
        "esxparse: info needs 900 MiB of memory, and ulimit -v allows 800 MiB: raise it\n",
    )
    assert list(tmp_path.iterdir()) == [file]


def assert_works_or_is_one_line(done: subprocess.CompletedProcess[str], what: object) -> None:
    if done.returncode:
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), (what, done.stderr[:2000])
        assert "ulimit -v allows" in done.stderr or "needs more memory than there is" in done.stderr, what


@pytest.mark.search
def test_native_code_that_gets_no_memory_is_one_line(tmp_path):
    done = limited(_MEMORY.format(1300), "check", hosts.wide(tmp_path, "esx-01", 200_000))
    assert done.returncode == 1
    assert_works_or_is_one_line(done, "check")


@pytest.mark.search
@pytest.mark.parametrize("mib", [900, 1100, 1500, 1700])
def test_every_command_without_enough_memory_is_one_line(tmp_path, mib):
    """Where memory ends differs from machine to machine: somewhere between what suffices and what does not.

    Each command has every second limit: some wait for half a minute.
    """
    file = hosts.wide(tmp_path, "esx-01", 200_000)
    for name, words in list(commands(tmp_path).items())[mib // 200 % 2 :: 2]:
        if name in {"info", "check", "diagnose", "slice", "convert"}:
            words[1] = file
        done = limited(_MEMORY.format(mib), *words, TMPDIR=str(tmp_path))
        if name != "collect":
            assert_works_or_is_one_line(done, (name, mib))
        assert not list(tmp_path.glob("esxparse-*")), name


_RUN = """
import os, signal, sys, threading
from esxparse.cli import limits
from esxparse.cli.output import fail
def run():
    os.write(2, b"thread panicked\\n" * 50)
    {}
try:
    sys.exit(limits.contained(run))
except limits.EsxparseError as error:
    fail(error)
    sys.exit(1)
"""
_OUT_OF_MEMORY = "esxparse: out of memory: ulimit -v is not limited: raise it, or read a smaller part\n"


@pytest.mark.parametrize(
    ("ending", "code", "told"),
    [
        ("raise MemoryError", 1, _OUT_OF_MEMORY),
        ("os.abort()", 1, _OUT_OF_MEMORY),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 1, _OUT_OF_MEMORY),
        ("os._exit(127)", 1, _OUT_OF_MEMORY),
        ("thread = threading.Thread(target=int, args='x'); thread.start(); thread.join(); return 0", 0, ""),
        ("print('esxparse: warning: odd', file=sys.stderr); return 0", 0, "esxparse: warning: odd\n"),
        ("print('esxparse: it is odd', file=sys.stderr); return 1", 1, "esxparse: it is odd\n"),
    ],
)
def test_only_what_a_command_prints_itself_is_shown(ending, code, told):
    """However it ends, and whatever libraries print that get no memory."""
    command = [sys.executable, "-c", _RUN.format(ending)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, told)


@pytest.mark.search
def test_a_soft_limit_is_raised_as_far_as_it_may(tmp_path):
    limit = "resource.setrlimit(resource.RLIMIT_NOFILE, (32, 1024))"
    done = limited(limit, "report", hosts.capture(tmp_path), "-o", tmp_path / "page.html")
    assert (done.returncode, done.stderr) == (0, "")


def with_small_disk(folder: Path, *words: object, temporary: bool) -> subprocess.CompletedProcess[str]:
    """Runs a command where `folder` is a disk of 1 MiB with 100 kB free; `temporary`: for temporary files, too."""
    folder.mkdir()
    script = 'mount -t tmpfs -o size=1m tmpfs "$0" && head -c 950000 /dev/zero > "$0/fill" && exec "$@"'
    command = ["unshare", "-r", "-m", "sh", "-c", script, folder, sys.executable, "-m", "esxparse", *words]
    env = {**os.environ, **({"TMPDIR": str(folder)} if temporary else {})}
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, env=env, timeout=120, check=False)


@pytest.fixture
def small_disk(tmp_path):
    trial = tmp_path / "trial"
    trial.mkdir()
    script = 'mount -t tmpfs tmpfs "$0"'
    try:
        command = ["unshare", "-r", "-m", "sh", "-c", script, str(trial)]
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError:
        pytest.skip("there is no unshare here")
    if done.returncode:
        pytest.skip("this machine allows no mounts")
    return tmp_path / "small"


BUSY = ROOT / "datasets/busy-host/busy-host.csv"


@pytest.mark.search
@pytest.mark.needs("unshare", "obstore")
def test_a_full_disk_for_temporary_files_is_named(small_disk, tmp_path):
    done = with_small_disk(small_disk, "lake", "add", BUSY, "--lake", tmp_path / "lake", temporary=True)
    told = f"esxparse: {small_disk} has no space left: make room, or set TMPDIR to a place with room\n"
    assert (done.returncode, done.stderr) == (1, told)
    assert not list((tmp_path / "lake").rglob("*.parquet"))


@pytest.mark.search
@pytest.mark.needs("unshare", "obstore")
@pytest.mark.parametrize(
    "words",
    [
        ["slice", BUSY, "-o", "{}/part.csv"],
        ["convert", BUSY, "-o", "{}/converted"],
        ["lake", "add", BUSY, "--lake", "{}/lake"],
        pytest.param(["report", BUSY, "-o", "{}/page.html"], marks=pytest.mark.search),
        pytest.param(["report", BUSY, "-o", "{}/page.md"], marks=pytest.mark.search),
    ],
    ids=lambda words: f"{words[0]} {Path(words[-1]).name}",
)
def test_a_full_disk_for_the_output_is_named(small_disk, words):
    done = with_small_disk(small_disk, *(str(one).format(small_disk) for one in words), temporary=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert str(small_disk) in done.stderr
    assert "space left" in done.stderr


_FULL = """
import mmap, resource, sys, threading, time
def compute(seconds):
    start = time.process_time()
    while time.process_time() < start + seconds:
        pass
def run():
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    kept = []
    while {full}:
        try:
            kept.append(mmap.mmap(-1, 1 << 20))
        except OSError:
            break
    {then}
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
from esxparse.cli import limits
from esxparse.cli.output import fail
try:
    sys.exit(limits.contained(run))
except limits.EsxparseError as error:
    fail(error)
    sys.exit(1)
"""


@pytest.mark.search
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux reports the address space in use")
def test_a_command_that_waits_for_memory_for_ever_is_ended():
    """Polars does, where a thread is not started; one that waits for a host, or computes, is left alone."""
    cases = [
        (True, "threading.Event().wait()", "esxparse: out of memory: ulimit -v allows 2,048 MiB"),
        (False, "threading.Event().wait(25); print('waited', file=sys.stderr); return 0", "waited"),
        (True, "compute(25); return 0", ""),
    ]
    # All at once: each takes half a minute.
    commands = [[sys.executable, "-c", _FULL.format(full=full, then=then)] for full, then, _ in cases]
    running = [subprocess.Popen(one, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for one in commands]
    for (_, _, told), one in zip(cases, running, strict=True):
        _, said = one.communicate(timeout=100)
        assert said.startswith(told)
        assert one.returncode == (1 if "out of memory" in told else 0)
