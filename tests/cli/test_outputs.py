"""Where output may go: never over what is read, over what is there only where that was said, whole or not at all."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import compose
import pytest

import esxparse as ex
from esxparse.cli import main
from esxparse.errors import EsxparseError
from esxparse.target import target
from esxparse.whole import Scratch, claimed, whole_file

COLUMNS = [("Memory", "Free MBytes")]
TEXT = compose.text(COLUMNS, [["1"], ["2"], ["3"]])


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.csv").write_text(TEXT)
    return tmp_path


def refused(capsys, message):
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1


def others(folder):
    """Other names of the capture."""
    (folder / "link.csv").symlink_to(folder / "c.csv")
    os.link(folder / "c.csv", folder / "hard.csv")
    (folder / "sub").mkdir()
    return ["c.csv", "./c.csv", "sub/../c.csv", "link.csv", "hard.csv", str(folder / "c.csv")]


def test_no_command_writes_over_what_it_reads_by_any_name(here, capsys):
    (here / "study.toml").write_text('[[run]]\nesxtop = "c.csv"\n')
    (here / "s.toml").write_text('base = "busy-host"\n[[file]]\ntool = "esxtop"\nname = "s.toml"\n')
    for name in others(here):
        for command in (["report", "c.csv", "--to", "html", "-o", name], ["slice", "c.csv", "-o", name]):
            for force in ([], ["--force"]):
                assert main([*command, *force, "-q"]) == 1
                refused(capsys, "is an input, and would be overwritten")
    for out in ("c.csv", "hard.csv"):
        assert main(["study", "run", "study.toml", "-o", out, "--force", "-q"]) == 1
        refused(capsys, "is an input, and would be overwritten")
    assert main(["simulate", "s.toml", "-o", ".", "--force", "-q"]) == 1
    refused(capsys, "s.toml is an input")
    assert (here / "c.csv").read_text() == TEXT
    assert sorted(path.name for path in here.iterdir()) == [
        *("c.csv", "hard.csv", "link.csv", "s.toml", "study.toml", "sub")
    ]


def test_a_page_without_a_name_of_its_own_is_not_written_over_its_input(here, capsys):
    shutil.copy(here / "c.csv", here / "page.html")
    assert main(["report", "page.html", "-q"]) == 1
    refused(capsys, "page.html is an input")
    assert (here / "page.html").read_text() == TEXT
    for own, option in (("own.ipynb", "-t"), ("mine.toml", "--profile")):
        (here / own).write_text("{}" if option == "-t" else "")
        assert main(["report", "c.csv", option, own, "-o", own, "--force"]) == 1
        assert (here / own).read_text() in {"{}", ""}


def test_what_is_there_stays_without_force(here, capsys):
    (here / "study.toml").write_text('[[run]]\nesxtop = "c.csv"\n')
    (here / "mine.csv").write_text("mine,own\n")
    commands = (
        ["report", "c.csv", "--to", "html", "-o", "mine.csv"],
        ["slice", "c.csv", "-o", "mine.csv"],
        ["study", "run", "study.toml", "-o", "mine.csv"],
    )
    for command in commands:
        assert main([*command, "-q"]) == 1
        refused(capsys, "mine.csv already exists: give the output another name, or replace it with --force")
        assert (here / "mine.csv").read_text() == "mine,own\n"
    for command in commands[1:]:
        (here / "mine.csv").write_text("mine,own\n")
        main([*command, "-q", "--force"])
        assert (here / "mine.csv").read_text() != "mine,own\n"
    assert main(["simulate", "busy-host", "-o", "sim", "--samples", "2", "-q"]) == 0
    before = (here / "sim" / "busy-host.csv").read_bytes()
    assert main(["simulate", "busy-host", "-o", "sim", "--samples", "3", "-q"]) == 1
    refused(capsys, "busy-host.csv already exists")
    assert (here / "sim" / "busy-host.csv").read_bytes() == before
    assert main(["simulate", "busy-host", "-o", "sim", "--samples", "3", "-q", "--force"]) == 0
    assert (here / "sim" / "busy-host.csv").read_bytes() != before
    assert main(["study", "new", "."]) == 1
    refused(capsys, "study.toml already exists")


@pytest.mark.parametrize("name", ["report.docx", "report.HTML5", "host.2026-03-02"])
def test_a_report_is_not_written_under_the_name_of_another_form(here, capsys, name):
    assert main(["report", "c.csv", "-o", name, "-q"]) == 1
    refused(capsys, f"{name}: a report is .html, .ipynb, .pdf or .md: name it so, or say which by --to")
    assert sorted(path.name for path in here.iterdir()) == ["c.csv"]


def test_tables_of_a_study_are_made_again(here):
    (here / "study.toml").write_text('[[run]]\nesxtop = "c.csv"\n')
    for ending in ("csv", "parquet", "html"):
        for _ in range(2):
            main(["study", "run", "study.toml", "-o", f"runs.{ending}", "-q"])
            assert (here / f"runs.{ending}").stat().st_size > 100
    (here / "other.parquet").write_bytes(b"PAR1")
    assert main(["study", "run", "study.toml", "-o", "other.parquet", "-q"]) == 1


def test_places_that_cannot_be_written_are_told_before_the_work(here, capsys):
    (here / "study.toml").write_text('[[run]]\nesxtop = "c.csv"\n')
    for command in (["report", "c.csv"], ["slice", "c.csv"], ["study", "run", "study.toml"]):
        ending = "html" if command[0] == "report" else "csv"
        assert main([*command, "-o", f"none/x.{ending}", "-q"]) == 1
        refused(capsys, "there is no directory")
    (here / "dir.csv").mkdir()
    for command in (["slice", "c.csv"], ["study", "run", "study.toml"]):
        assert main([*command, "-o", "dir.csv", "-q"]) == 1
        refused(capsys, "it is a directory")


def test_files_of_a_directory_that_is_read_are_no_place_for_output(here, capsys):
    made = ex.convert(here / "c.csv", here / "lake")
    before = (made.folder / "memory.parquet").read_bytes()
    assert main(["report", str(made.folder), "--to", "md", "-o", str(made.folder / "memory.parquet"), "--force"]) == 1
    refused(capsys, "is in an input directory")
    assert (made.folder / "memory.parquet").read_bytes() == before


def test_standard_output_by_its_name_is_added_to(here):
    command = [sys.executable, "-m", "esxparse", "slice", "c.csv", "-o", "/dev/stdout", "-q"]
    assert subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode() == TEXT
    with (here / "log").open("ab") as log:
        log.write(b"before\n")
        log.flush()
        subprocess.run(command, stdout=log, check=True)
    assert (here / "log").read_text() == "before\n" + TEXT
    with (here / "c.csv").open("ab") as itself:
        assert subprocess.run(command, stdout=itself, stderr=subprocess.PIPE, check=False).returncode == 1
    assert (here / "c.csv").read_text() == TEXT


def test_of_two_runs_that_write_one_new_file_the_second_is_told(tmp_path):
    place = target(tmp_path / "out", replace=False)
    target(tmp_path / "out", replace=False).write(b"first")
    with pytest.raises(EsxparseError, match="has meanwhile been written by another run"):
        place.write(b"second")
    assert (tmp_path / "out").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_two_converts_of_one_name_at_once_lose_nothing(here):
    (here / "a").mkdir()
    (here / "b").mkdir()
    files = [
        compose.write(here / name, compose.text(COLUMNS, [[value]] * 3)) for name, value in (("a", "1"), ("b", "2"))
    ]
    found: list[object] = []
    gate = threading.Barrier(2)

    def run(file):
        gate.wait()
        try:
            found.append(ex.convert(file, here / "lake"))
        except EsxparseError as error:
            found.append(error)

    threads = [threading.Thread(target=run, args=(file,)) for file in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wrong = [one for one in found if isinstance(one, EsxparseError)]
    assert len(wrong) == 1
    assert "being written by another run" in str(wrong[0]) or "holds another recording" in str(wrong[0])
    assert [path.name for path in (here / "lake").iterdir()] == ["capture"]
    assert ex.open(here / "lake")["memory"].collect()["free_mbytes"].n_unique() == 1


def test_a_name_that_is_claimed_is_refused_and_free_again_when_its_run_ends(here):
    lake = here / "lake"
    lake.mkdir()
    with claimed(lake / "c"), pytest.raises(EsxparseError, match="being written by another run"):
        ex.convert(here / "c.csv", lake)
    (lake / ".c.esxparse-claim").touch()
    assert ex.convert(here / "c.csv", lake).tables == 1
    assert [path.name for path in lake.iterdir()] == ["c"]
    for name in ("../x", ".x", "a/b"):
        with pytest.raises(EsxparseError, match="is not a valid directory name"):
            ex.convert(here / "c.csv", lake, name=name)


KILLED = """
import os, signal, sys
from pathlib import Path
from esxparse.whole import Scratch, whole_file
scratch = Scratch(folder=Path(sys.argv[1]))
(scratch.path / "content").write_bytes(b"half")
with whole_file(Path(sys.argv[1], "out")) as file:
    file.write(b"half")
    file.flush()
    if sys.argv[2] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_run_left_is_cleared_by_the_next_and_what_another_still_writes_is_not(tmp_path):
    killed = subprocess.run([sys.executable, "-c", KILLED, tmp_path, "kill"], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 2
    alive = subprocess.Popen(
        [sys.executable, "-c", KILLED, tmp_path, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with alive:
        assert alive.stdout.readline() == b"ready\n"
        assert len(list(tmp_path.iterdir())) == 2
        with Scratch(folder=tmp_path), whole_file(tmp_path / "mine") as file:
            file.write(b"whole")
        left = sorted(path.name for path in tmp_path.iterdir())
        assert len(left) == 3
        alive.communicate(b"")
    assert alive.returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "out"]
    assert (tmp_path / "out").read_bytes() == b"half"


def test_what_is_cleared_cannot_be_taken_meanwhile(tmp_path, monkeypatch):
    """Another run may have made it and be about to lock it: it must see that it is late."""
    fcntl = pytest.importorskip("fcntl")
    subprocess.run([sys.executable, "-c", KILLED, tmp_path, "kill"], check=False)
    (part,) = tmp_path.glob(".out*")
    (lock,) = tmp_path.glob("esxparse-*/*lock*")
    taken = []
    removed = {"unlink": Path.unlink, "rmtree": shutil.rmtree}

    def tried(what, path):
        with path.open("rb") as file, suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            taken.append(what)

    monkeypatch.setattr(Path, "unlink", lambda path, **how: (tried(path.name, path), removed["unlink"](path, **how)))
    monkeypatch.setattr(shutil, "rmtree", lambda path, **how: (tried("folder", lock), removed["rmtree"](path, **how)))
    with whole_file(tmp_path / "mine"), Scratch(folder=tmp_path):
        assert not part.exists()
        assert not lock.exists()
        assert not taken
        monkeypatch.undo()


def test_directories_that_are_not_ours_are_left_alone(tmp_path):
    for name in ("esxparse-notes", "ex-files"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine").write_text("keep")
    with Scratch(folder=tmp_path), Scratch("ex-", tmp_path):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["esxparse-notes", "ex-files"]


def test_names_as_long_as_a_file_system_takes(tmp_path):
    name = "n" * 250 + ".csv"
    target(tmp_path / name).write(b"x")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert Path(tmp_path, name).read_bytes() == b"x"


MADE = [
    ("report", "{capture}", "-o", "r.html", "-q"),
    ("report", "{capture}", "-o", "r.md", "-q"),
    ("slice", "{capture}", "-o", "s.csv.gz"),
    ("convert", "{capture}", "-o", "converted", "-q"),
    ("batch", "{capture}", "-o", "pages", "-q"),
    ("lake", "add", "--lake", "lake", "{capture}", "-q"),
    ("simulate", "busy-host", "-o", "simulated"),
    ("study", "run", "{study}", "-o", "runs.csv", "-q"),
]


@pytest.mark.search
@pytest.mark.needs("obstore")
@pytest.mark.parametrize("umask", [0o077, 0o022, 0o002])
def test_every_command_obeys_the_umask(tmp_path, busy_host_file, umask):
    study = ex.datasets_dir() / "docker" / "study.toml"
    for command in MADE:
        words = [one.format(capture=busy_host_file, study=study) for one in command]
        subprocess.run([sys.executable, "-m", "esxparse", *words], cwd=tmp_path, umask=umask, check=True)
    modes = {path: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert len(modes) > 30
    assert {path: oct(mode) for path, mode in modes.items() if mode & umask} == {}
    readable = 0o666 & ~umask
    assert {path.name for path, mode in modes.items() if path.is_file() and mode & 0o666 != readable} == set()
