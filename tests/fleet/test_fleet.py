"""Work on many items: in processes, and on a real Dask cluster."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import fleet_work
import hosts
import pytest
from checkout import TESTS
from dask_cluster import cluster
from polars.testing import assert_frame_equal
from s3_server import s3

import esxparse as ex
from esxparse import fleet
from esxparse.cli import main
from esxparse.errors import EsxparseError
from esxparse.fleet import Crew, in_order
from esxparse.lakes import upkeep

SEARCHED = (str(Path(__file__).parent), str(TESTS))
"""Where a worker finds the modules of tests."""


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    with cluster(tmp_path_factory.mktemp("dask"), path=SEARCHED) as made:
        yield made


@pytest.fixture(params=["here", "processes", "dask"])
def crew(request):
    if request.param == "dask":
        pytest.importorskip("distributed")
        return Crew(on=request.getfixturevalue("dask").on)
    return Crew(jobs=2 if request.param == "processes" else 1)


@pytest.mark.needs("distributed")
def test_every_item_is_done_once_in_order(crew):
    found = list(in_order(fleet.run(fleet_work.square, range(9), crew)))
    assert [(one.place, one.result, one.why) for one in found] == [(n, n * n, "") for n in range(9)]


@pytest.mark.needs("distributed")
def test_what_one_item_raises_stops_no_other(crew):
    if not crew.elsewhere:
        # In this process an error that is a bug of ours is shown as one.
        with pytest.raises(RuntimeError):
            list(fleet.run(fleet_work.picky, range(5), crew))
        return
    found = {one.place: one for one in fleet.run(fleet_work.picky, range(5), crew)}
    assert [found[place].result for place in (0, 1, 4)] == [0, 1, 4]
    assert found[2].why == "2 is not liked here"
    assert found[3].why == "RuntimeError: 3 breaks it"


@pytest.mark.search
def test_a_process_that_is_killed_costs_a_repetition_and_a_deadly_item_its_own_answer(tmp_path):
    jobs = [(str(tmp_path), number) for number in range(5)]
    found = {one.place: one for one in fleet.run(fleet_work.deadly, jobs, Crew(jobs=2, retries=1))}
    assert sorted(found) == [0, 1, 2, 3, 4]
    assert [found[place].result for place in (0, 1, 3, 4)] == [0, 1, 3, 4]
    assert found[2].why_of("esx-02.csv") == "esx-02.csv: its process was killed 2 times, perhaps for lack of memory"


@pytest.mark.needs("distributed")
def test_what_cannot_travel_is_an_error_of_its_own(crew):
    if not crew.elsewhere:
        return
    found = {one.place: one for one in fleet.run(fleet_work.awkward, range(6), crew)}
    assert sorted(found) == [0, 1, 2, 3, 4, 5]
    assert [found[place].result for place in (0, 5)] == [0, 5]
    assert found[1].why == "UnreadableError: 1 and 2"
    assert found[2].why == "RuntimeError: it holds a lock"
    assert found[3].why == "SystemExit: 3"
    assert "pickle" in found[4].why


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(
    ("end", "all_of_them", "code"),
    [
        (signal.SIGINT, True, 130),
        (signal.SIGINT, False, 130),
        (signal.SIGTERM, False, -signal.SIGTERM),
        (signal.SIGKILL, False, -signal.SIGKILL),
    ],
)
def test_processes_end_with_the_one_that_began_them(tmp_path, end, all_of_them, code):
    """`all_of_them`: as a terminal does it."""
    words = [sys.executable, fleet_work.__file__, str(tmp_path)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, start_new_session=True) as asking:
        pids = begun(tmp_path, 2)
        (os.killpg if all_of_them else os.kill)(asking.pid, end)
        said = asking.communicate(timeout=60)[1].decode()
    assert asking.returncode == code
    # Nobody gives back what a process had that is killed.
    assert not said or end == signal.SIGKILL
    assert "Traceback" not in said
    until = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < until, "they work on"
        time.sleep(0.05)
    assert not list(tmp_path.glob("part-*"))


@pytest.mark.search
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_what_a_process_leaves_that_does_not_end_in_time_is_removed(tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    words = [sys.executable, "-c", f"import sys, fleet_work; sys.exit(fleet_work.ended_by({str(tmp_path)!r}))"]
    environment = {**os.environ, "PYTHONPATH": str(TESTS), "TMPDIR": str(temporary)}
    with subprocess.Popen(words, env=environment, start_new_session=True) as asking:
        begun(tmp_path, 2)
        assert len(list(temporary.glob("esxparse-*"))) == 2
        asking.send_signal(signal.SIGINT)
        assert asking.wait(60) == 130
    assert not list(temporary.glob("esxparse-*"))


def begun(folder: Path, count: int) -> list[int]:
    """Processes that have begun an item, once there are so many."""
    until = time.monotonic() + 60
    while len(list(folder.glob("begun-*"))) < count:
        assert time.monotonic() < until
        time.sleep(0.02)
    return [int(one.name.split("-")[2]) for one in folder.glob("begun-*")]


@pytest.mark.search
@pytest.mark.needs("distributed")
def test_a_worker_that_is_killed_loses_nothing(tmp_path):
    with cluster(tmp_path / "dask", path=SEARCHED) as made:
        work = tmp_path / "work"
        work.mkdir()
        found = []
        jobs = [(str(work), number) for number in range(6)]
        asking = threading.Thread(target=lambda: found.extend(fleet.run(fleet_work.waits, jobs, Crew(on=made.on))))
        asking.start()
        begun(work, 2)
        made.kill(made.workers[0])
        (work / "go").touch()
        asking.join(60)
        assert sorted((one.place, one.result) for one in found) == [(n, n) for n in range(6)]


@pytest.mark.search
@pytest.mark.needs("distributed")
def test_an_item_that_takes_too_much_memory_is_its_own_error(tmp_path):
    with cluster(tmp_path / "dask", path=SEARCHED, limit="400MB") as made:
        found = {one.place: one for one in fleet.run(fleet_work.greedy, range(5), Crew(on=made.on))}
    assert [found[place].result for place in (0, 1, 3, 4)] == [0, 1, 3, 4]
    assert found[2].why_of("esx-02.csv") == "esx-02.csv: its worker was killed 4 times, perhaps for lack of memory"


def tasks_of(dask_scheduler) -> list[str]:
    return [str(key) for key in dask_scheduler.tasks]


def waiting_of(dask_worker) -> int:
    return len(dask_worker.state.ready)


@pytest.mark.needs("distributed")
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(("end", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -15), (signal.SIGKILL, -9)])
def test_a_cluster_has_no_tasks_left_of_who_was_interrupted(dask, tmp_path, end, code):
    from distributed import Client  # noqa: PLC0415  an extra

    words = [sys.executable, fleet_work.__file__, str(tmp_path), dask.on]
    with (
        Client(dask.tcp, set_as_default=False) as client,
        subprocess.Popen(words, stderr=subprocess.PIPE) as asking,
    ):
        begun(tmp_path, 2)
        assert {key.split("-")[0] for key in client.run_on_scheduler(tasks_of)} == {"fleet_work.waits_and_clears"}
        asking.send_signal(end)
        said = asking.communicate(timeout=60)[1].decode()
        assert (asking.returncode, said) == (code, "")
        until = time.monotonic() + 60
        while client.run_on_scheduler(tasks_of):
            assert time.monotonic() < until, "tasks are left"
            time.sleep(0.05)
        # The scheduler forgets tasks before its workers hear of it.
        while any(client.run(waiting_of).values()):
            assert time.monotonic() < until, "tasks are left with workers"
            time.sleep(0.05)
        (tmp_path / "go").touch()
        while list(tmp_path.glob("part-*")):
            assert time.monotonic() < until, "what had begun is not cleared away"
            time.sleep(0.05)
        assert len(list(tmp_path.glob("begun-*"))) == 2


@pytest.mark.search
@pytest.mark.needs("distributed")
def test_a_scheduler_that_is_killed_is_said(tmp_path):
    with cluster(tmp_path / "dask", workers=1, path=SEARCHED) as made:
        work = tmp_path / "work"
        work.mkdir()
        said = []

        def ask():
            with pytest.raises(EsxparseError) as error:
                list(fleet.run(fleet_work.waits, [(str(work), number) for number in range(4)], Crew(on=made.on)))
            said.append(str(error.value))

        asking = threading.Thread(target=ask)
        asking.start()
        begun(work, 1)
        made.kill(made.scheduler)
        asking.join(60)
        assert said == [
            f"the Dask cluster at {made.tcp} was lost before 4 of 4 items were done: run it again, what is done is kept"
        ]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"jobs": 0}, "jobs is 0"),
        ({"on": "127.0.0.1:8786"}, "write it as dask://host:8786"),
        ({"on": "dask://"}, "write it as"),
    ],
)
def test_what_a_crew_cannot_be(given, why):
    with pytest.raises(EsxparseError, match=why):
        Crew(**given)


@pytest.mark.needs("distributed")
def test_a_cluster_that_is_not_there_is_said(monkeypatch):
    monkeypatch.setattr("esxparse.fleet.cluster._PATIENCE_S", 1)
    with pytest.raises(EsxparseError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        list(fleet.run(fleet_work.square, [1], Crew(on="dask://127.0.0.1:9")))


@pytest.mark.search
@pytest.mark.needs("distributed", "openssl")
def test_a_cluster_that_wants_certificates_works_with_them_and_says_that_it_wants_them(tmp_path):
    pytest.importorskip("distributed")  # which has settings of its own
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-subj", "/CN=us"]
    subprocess.run(["openssl", *words], check=True, capture_output=True)  # noqa: S607
    settings = {"ca-file": str(certificate)}
    for role in ("scheduler", "worker", "client"):
        settings |= {f"{role}.cert": str(certificate), f"{role}.key": str(key)}
    env = {f"distributed.comm.tls.{name}".replace(".", "__").replace("-", "_"): one for name, one in settings.items()}
    tls = {f"DASK_{name.upper()}": one for name, one in env.items()}
    known = pytest.importorskip("dask").config.set(
        {f"distributed.comm.tls.{name}": one for name, one in settings.items()}
    )
    with known, cluster(tmp_path / "dask", workers=1, path=SEARCHED, tls=tls) as made:
        assert made.on.startswith("tls://127.0.0.1:")
        assert [done.result for done in in_order(fleet.run(fleet_work.square, range(3), Crew(on=made.on)))] == [0, 1, 4]
    with pytest.raises(EsxparseError, match=r"asks for certificates: name them in the settings of Dask \(distributed"):
        list(fleet.run(fleet_work.square, [1], Crew(on=made.on)))


@pytest.mark.needs("distributed")
def test_a_port_that_takes_the_call_and_says_nothing_is_no_scheduler(monkeypatch):
    monkeypatch.setattr("esxparse.fleet.cluster._PATIENCE_S", 1)
    with (
        socket.create_server(("127.0.0.1", 0)) as mute,
        pytest.raises(EsxparseError, match="no Dask scheduler answers"),
    ):
        list(fleet.run(fleet_work.square, [1], Crew(on=f"dask://127.0.0.1:{mute.getsockname()[1]}")))


@pytest.mark.needs("distributed")
def test_a_notebook_whose_thread_has_a_loop_uses_a_cluster(dask):
    async def cell():
        return [done.result for done in in_order(fleet.run(fleet_work.square, range(3), Crew(on=dask.on)))]

    assert asyncio.run(cell()) == [0, 1, 4]


@pytest.mark.search
@pytest.mark.needs("distributed")
def test_a_cluster_whose_workers_are_all_gone_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("esxparse.fleet.cluster._PATIENCE_S", 2)
    with cluster(tmp_path / "dask", path=SEARCHED) as made:
        jobs = [(str(tmp_path), 2)]
        with pytest.raises(EsxparseError, match="has had no worker for 6 s: start some and run it again"):
            list(fleet.run(fleet_work.deadly, jobs, Crew(on=made.on)))


@pytest.mark.search
@pytest.mark.needs("distributed")
@pytest.mark.parametrize(
    ("module", "has"),
    [("raise ModuleNotFoundError", "no esxparse"), ("", "esxparse 0.0.9, not ")],
    ids=["none", "another version"],
)
def test_a_scheduler_without_this_esxparse_is_said_once(tmp_path, module, has):
    with (
        cluster(tmp_path / "dask", workers=1, path=SEARCHED, first=elsewhere(tmp_path, module)) as made,
        pytest.raises(EsxparseError, match=f"the scheduler at .* has {has}"),
    ):
        list(fleet.run(fleet_work.square, [1, 2], Crew(on=made.on)))


@pytest.mark.search
@pytest.mark.needs("distributed")
@pytest.mark.parametrize(
    ("module", "have"),
    [("", r"esxparse 0\.0\.9, not "), ("raise ModuleNotFoundError", "no esxparse: start them where")],
)
def test_workers_without_this_esxparse_are_said_once(tmp_path, module, have):
    with (
        cluster(tmp_path / "dask", workers=1, theirs=elsewhere(tmp_path, module)) as made,
        pytest.raises(EsxparseError, match=f"workers of .* have {have}"),
    ):
        list(fleet.run(fleet_work.square, [1, 2], Crew(on=made.on)))


def elsewhere(folder: Path, module: str) -> str:
    """A place with another esxparse, whose module is this."""
    other = folder / "other" / "esxparse"
    (other / "fleet").mkdir(parents=True)
    (other / "__init__.py").write_text(module)
    (other / "fleet" / "__init__.py").touch()
    (other / "fleet" / "cluster.py").write_text("def _version(): return '0.0.9'")
    return str(other.parent)


def small_study(folder: Path) -> Path:
    hosts.capture(folder, "esx-01", (1, 2, 3, 4))
    hosts.capture(folder, "esx-02", (5, 6, 7, 8))
    runs = "".join(f'[[run]]\nload = "{host}"\nesxtop = "{host}-03022026.csv"\n' for host in ("esx-01", "esx-02"))
    (folder / "study.toml").write_text(f'title = "Two hosts"\naxis = "load"\nbaseline = {{ load = "esx-01" }}\n{runs}')
    return folder / "study.toml"


@pytest.mark.search
@pytest.mark.needs("distributed")
def test_a_study_is_the_same_computed_elsewhere(dask, tmp_path):
    manifest = small_study(tmp_path)
    there = ex.study(manifest, crew=Crew(on=dask.on))
    assert_frame_equal(there.runs.collect().drop("files"), ex.study(manifest).runs.collect().drop("files"))
    assert there.runs.collect()["measured_s"].to_list() == [15, 15]


@pytest.mark.search
@pytest.mark.needs("distributed")
def test_commands_say_the_same_with_a_cluster(dask, tmp_path, capsys, monkeypatch):
    files = [str(hosts.capture(tmp_path, host, (1, 2, 3))) for host in ("esx-01", "esx-02")]
    files.insert(1, str(tmp_path / "none.csv"))
    for words in (["diagnose"], ["check"], ["diagnose", "--format", "json"], ["convert", "-o", str(tmp_path / "made")]):
        assert main([*words, *files]) == 1
        here = capsys.readouterr()
        # Workers have another directory: paths are told to them in full.
        monkeypatch.chdir(tmp_path)
        again = [Path(file).name for file in files]
        assert main([*words, *again, "--on", dask.on]) == 1
        there = capsys.readouterr()
        assert there.err == here.err
        done = here.out if words[0] != "convert" else re.sub(r": .*", ": already converted", here.out)
        assert there.out == done


@pytest.mark.search
@pytest.mark.needs("distributed")
def test_reports_of_a_batch_are_made_by_a_cluster(dask, tmp_path):
    night = tmp_path / "night"
    night.mkdir()
    for host in ("esx-01", "esx-02"):
        hosts.capture(night, host, (1, 2, 3))
    (night / "esx-03.csv").write_text("<html>")
    made = ex.batch(night, tmp_path / "reports", on=dask.on)
    assert (made.items, list(made.failed)) == (3, ["esx-03"])
    assert "esx-01" in (tmp_path / "reports" / "esx-01-03022026.html").read_text()
    assert ex.batch(night, tmp_path / "reports", on=dask.on).reused == 2


def rows_of(lake: ex.Lake) -> dict[str, int]:
    """Rows of the files of a lake, without what tells one writing from another."""
    return {hosts.unwritten(file["path"]): file["rows"] for one in lake.captures for file in one.files()}


@pytest.mark.search
@pytest.mark.needs("distributed", "moto", "obstore")
def test_a_cluster_fills_a_lake_on_s3_whoever_dies(tmp_path, monkeypatch):
    files = [hosts.capture(tmp_path, f"esx-{place:02d}", tuple(range(place + 3))) for place in range(12)]
    ex.lake(tmp_path / "lake").add(files)
    wanted = rows_of(ex.lake(tmp_path / "lake"))
    with s3() as server:
        for name, value in server.env.items():
            monkeypatch.setenv(name, value)
        for death, uri in (("worker", "s3://lake/one"), ("scheduler", "s3://lake/two")):
            with cluster(tmp_path / death, path=SEARCHED) as made:
                done = []

                def told(capture, _, made=made, death=death, done=done):
                    done.append(capture)
                    if len(done) == 4:
                        made.kill(made.scheduler if death == "scheduler" else made.workers[0])

                with suppress(EsxparseError):
                    ex.lake(uri).add(files, crew=Crew(on=made.on), told=told)
            if death == "scheduler":
                assert len(ex.lake(uri).captures) < len(files)
                with cluster(tmp_path / "again", path=SEARCHED) as made:
                    again = ex.lake(uri).add(files, crew=Crew(on=made.on))
                    assert sum(one.skipped for one in again) >= 4
            lake = ex.lake(uri)
            assert rows_of(lake) == wanted
            assert len(lake.captures) == len(files)
            assert upkeep.verify(lake.store).damaged == ()
