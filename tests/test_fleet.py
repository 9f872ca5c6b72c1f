"""Work on many items: in processes, and on a real Dask cluster."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import fleet_work
import pytest
from dask_cluster import cluster

from esxparse import fleet
from esxparse.errors import EsxparseError
from esxparse.fleet import Crew, in_order

HERE = str(Path(__file__).parent)


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    with cluster(tmp_path_factory.mktemp("dask"), path=(HERE,)) as made:
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


def test_a_process_that_is_killed_costs_a_repetition_and_a_deadly_item_its_own_answer(tmp_path):
    jobs = [(str(tmp_path), number) for number in range(5)]
    found = {one.place: one for one in fleet.run(fleet_work.deadly, jobs, Crew(jobs=2, retries=1))}
    assert sorted(found) == [0, 1, 2, 3, 4]
    assert [found[place].result for place in (0, 1, 3, 4)] == [0, 1, 3, 4]
    assert "was killed 2 times" in found[2].why


def begun(folder: Path, count: int) -> list[int]:
    """Processes that have begun an item, once there are so many."""
    until = time.monotonic() + 60
    while len(list(folder.glob("begun-*"))) < count:
        assert time.monotonic() < until
        time.sleep(0.02)
    return [int(one.name.split("-")[2]) for one in folder.glob("begun-*")]


@pytest.mark.needs("distributed")
def test_a_worker_that_is_killed_loses_nothing(tmp_path):
    with cluster(tmp_path / "dask", path=(HERE,)) as made:
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


@pytest.mark.needs("distributed")
def test_a_scheduler_that_is_killed_is_said(tmp_path):
    with cluster(tmp_path / "dask", workers=1, path=(HERE,)) as made:
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
