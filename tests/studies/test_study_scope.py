"""Costs divide numbers of one scope: hosts that share a load, clients that are a part of one, other hosts' idle use."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest
import studies

import esxparse as ex
from esxparse.studies import scope

COSTS = ("used_cycles_per_io", "used_mhz_per_mbps", "used_pct_of_core_per_1k_iops", "joules_per_io")
HOST = "[host]\nmhz = 2400\ncores = 4\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A capture whose host did some I/O, and one client after another whose files say that it did as much."""
    path = tmp_path_factory.mktemp("scope")
    studies.write_capture(path / "c.csv")
    (row,) = studies.rows(studies.computed(path, f'{HOST}[[run]]\nesxtop = "c.csv"\n'))
    # Of `ios` reads and half as many writes in 2 s.
    ios = round(row["host_iops"] * 2 / 1.5)
    for name, share in (
        ("all", 1),
        ("half", 0.5),
        ("double", 2),
        ("triple", 3),
        ("a", 0.5),
        ("b", 0.5),
        ("near", 1.15),
        ("far", 1.3),
    ):
        studies.write_fio(path / f"{name}.json", round(ios * share))
    return path


@pytest.fixture
def folder(files, tmp_path):
    return Path(shutil.copytree(files, tmp_path, dirs_exist_ok=True))


def one(folder, fio, host="", more=""):
    text = f'axis = ["hosts"]\n{HOST}{host}[[run]]\nhosts = 4\nesxtop = "c.csv"\nfio = {fio}\n{more}'
    text += "[run.values]\nwatts = 200\n"
    return studies.rows(studies.computed(folder, text))[0]


def costs(row):
    return [row[name] for name in COSTS]


@pytest.mark.parametrize("fio", ['"all.json"', '["a.json", "b.json"]', '"near.json"'])
def test_a_load_that_the_capture_shows_is_that_of_its_host(folder, fio):
    row = one(folder, fio)
    assert (row["load_hosts"], row["gap"]) == (1, None)
    assert row["used_cycles_per_io"] == pytest.approx(row["used_mhz"] * 1e6 / row["iops"])
    assert row["joules_per_io"] == pytest.approx(row["watts"] / row["iops"])


@pytest.mark.parametrize("fio", ['"triple.json"', '["all.json", "double.json"]', '"half.json"', '"far.json"'])
def test_a_load_of_several_hosts_or_of_a_part_of_one_has_no_cost_and_says_why(folder, fio):
    row = one(folder, fio)
    assert row["load_hosts"] is None
    assert costs(row) == [None] * 4
    assert f"the load is {row['iops']:,.0f} I/Os per second by fio" in row["gap"]
    assert f"the host in the capture did {row['host_iops']:,.0f}: no cost per I/O" in row["gap"]
    assert "load_hosts = 4" in row["gap"]
    # What each of them is for itself stays.
    assert row["used_mhz"] > 0 < row["watts"]


@pytest.mark.parametrize(("said", "hosts"), [('"{hosts}"', 4), ("4", 4), ("2", 2), ("1", 1)])
def test_the_manifest_says_how_many_hosts_share_the_load(folder, said, hosts):
    row = one(folder, '["all.json", "double.json"]', f"load_hosts = {said}\n")
    assert (row["load_hosts"], row["gap"]) == (hosts, None)
    alone = row["iops"] / hosts
    assert row["used_cycles_per_io"] == pytest.approx(row["used_mhz"] * 1e6 / alone)
    assert row["used_mhz_per_iops"] == pytest.approx(row["used_mhz"] / alone)
    assert row["used_mhz_per_mbps"] == pytest.approx(row["used_mhz"] * hosts / row["mb_per_s"])
    assert row["used_cycles_per_byte"] == pytest.approx(row["used_mhz"] * hosts / row["mb_per_s"])
    assert row["used_pct_of_core_per_1k_iops"] == pytest.approx(row["host_used_pct"] * row["cpus"] * 1000 / alone)
    assert row["joules_per_io"] == pytest.approx(row["watts"] / alone)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ('"{racks}"', "not a label of this run"),
        ('"{kind}"', "is two: use a label whose values are whole numbers above 0"),
        ('"{none}"', "is 0: use a label"),
        ('"half of {hosts}"', "is half of 4: use a label"),
    ],
)
def test_a_number_of_hosts_that_no_label_tells_is_a_gap_of_its_run(folder, said, why):
    row = one(folder, '"triple.json"', f"load_hosts = {said}\n", 'kind = "two"\nnone = 0\n')
    assert why in row["gap"]
    assert costs(row) == [None] * 4


@pytest.mark.parametrize("said", ["0", "1.5", "true", "[4]", '"four"'])
def test_a_number_of_hosts_is_a_whole_number_or_a_label(folder, said):
    text = f'{HOST}load_hosts = {said}\n[[run]]\nesxtop = "c.csv"\n'
    with pytest.raises(ex.EsxparseError, match=r"load_hosts is .*; write a whole number above 0 or a label in braces"):
        studies.computed(folder, text)


@pytest.mark.search
def test_the_same_holds_for_throughput_that_the_manifest_gives(folder):
    text = f'{HOST}[[run]]\nesxtop = "c.csv"\n[run.values]\niops = 100000\n'
    (row,) = studies.rows(studies.computed(folder, text))
    assert (row["load_hosts"], row["used_cycles_per_io"]) == (None, None)
    assert "100,000 I/Os per second by the manifest" in row["gap"]
    text = f'{HOST}[[run]]\nesxtop = "c.csv"\n[run.values]\nmb_per_s = 100000\n'
    (row,) = studies.rows(studies.computed(folder, text))
    assert "100,000 MB/s by the manifest" in row["gap"]


def test_one_figure_that_agrees_is_enough():
    """A host may split an I/O; its bytes are the same. What rounding leaves of a load is not a second host."""
    row = {"host_used_pct": 5.0, "iops": 1000.0, "mb_per_s": 64.0, "throughput_from": "fio"}
    shown = {"host_iops": 4000.0, "host_read_mb_per_s": 40.0, "host_write_mb_per_s": 24.0}
    assert scope.load_hosts(row | shown, {}) == (1, None)
    assert scope.load_hosts(row | shown | {"host_write_mb_per_s": None}, {})[0] is None
    assert scope.load_hosts(row | {"host_iops": 1200.0}, {}) == (1, None)
    assert scope.load_hosts(row | {"host_iops": 1201.0}, {})[0] is None
    assert scope.load_hosts(row | {"host_iops": 1000 / 1.19}, {}) == (1, None)
    assert scope.load_hosts(row | {"host_iops": 1000 / 1.21}, {})[0] is None
    assert scope.load_hosts(row | {"host_iops": 0.0}, {})[0] is None
    # Without a cost there is nothing to settle.
    assert scope.load_hosts({"iops": 1000.0, "host_iops": 1.0}, {}) == (None, None)
    assert scope.load_hosts({"host_used_pct": 5.0, "iops": 0.0, "host_iops": 1.0}, {}) == (None, None)


def test_watts_of_one_meter_are_not_divided_by_the_work_of_several_clients_unless_said(folder):
    power = f"power = '{ex.datasets_dir() / 'power' / 'dynamic-1.ilo.xml'}'\n"
    text = f"[window]\nstart = 2015-02-06T10:05:00\nend = 2015-02-06T10:10:00\n[[run]]\nfio = FILES\n{power}HOSTS"
    for files, hosts, expected in (
        ('"all.json"', "", 1),
        ('["a.json", "b.json"]', "", None),
        ('["a.json", "b.json"]', "host = { load_hosts = 2 }\n", 2),
    ):
        named = text.replace("FILES", files).replace("HOSTS", hosts)
        (row,) = studies.rows(studies.computed(folder, named))
        assert row["load_hosts"] == expected
        if expected is None:
            assert row["joules_per_io"] is None
            assert "2 load generators ran together" in row["gap"]
        else:
            assert row["joules_per_io"] == pytest.approx(row["watts"] * expected / row["iops"])


def test_managers_of_iometer_are_load_generators():
    files = sorted((ex.datasets_dir() / "formats").glob("iometer*"))
    rec = ex.open(next(path for path in files if path.suffix == ".csv"))
    managers = rec["results"].filter(pl.col("row_type") == "MANAGER").collect()["name"].n_unique()
    row = {"watts": 100.0, "iops": 1000.0}
    assert scope.load_hosts(row, {"iometer": [rec]})[0] == (1 if managers == 1 else None)
    several, why = scope.load_hosts(row, {"iometer": [rec, rec]})
    assert several is None
    assert why.startswith(f"{2 * managers} load generators ran together")


def test_idle_use_of_a_host_with_other_processors_is_not_subtracted(folder):
    idle = ex.datasets_dir() / "case-alignment" / "esx-idle.csv.bz2"
    text = f'{HOST}[[run]]\nesxtop = "c.csv"\nidle = \'{idle}\'\n[[run]]\nesxtop = "c.csv"\nidle = "c.csv"\n'
    other, same = studies.rows(studies.computed(folder, text))
    assert (other["idle_used_pct"], other["used_above_idle_mhz"]) == (None, None)
    assert "is from a host with 4 PCPUs, but the run's host has" in other["gap"]
    # What arithmetic leaves of thousands of MHz.
    assert same["used_above_idle_mhz"] == pytest.approx(0.0, abs=1e-6)
