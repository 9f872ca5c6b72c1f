"""Writing a simulated capture: the same bytes each time, and what is refused."""

from __future__ import annotations

import bz2
import gzip
import io
import re
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples
from sheet import Sheet, written

import esxparse as ex
import esxparse_simulator as simulate
from esxparse.cli import main
from esxparse.errors import EsxparseError
from esxparse_simulator.esxtop.cells import lines
from esxparse_simulator.esxtop.releases import Counter
from esxparse_simulator.host import Phase


def test_the_bundled_capture_is_what_the_command_writes(tmp_path: Path, busy_host_file: Path) -> None:
    assert main(["simulate", "busy-host", "-o", str(tmp_path)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["busy-host.csv"]
    assert (tmp_path / "busy-host.csv").read_bytes() == busy_host_file.read_bytes()


def test_the_bundled_capture_is_small_enough_to_travel(busy_host_file: Path) -> None:
    assert busy_host_file.stat().st_size < 5_000_000


def test_going_through_a_capture_twice_gives_the_same(busy_host_scenario: simulate.Scenario) -> None:
    capture = simulate.capture(busy_host_scenario, samples=3)
    assert list(simulate.esxtop_lines(capture)) == list(simulate.esxtop_lines(capture))


def test_another_seed_gives_other_numbers_under_the_same_header(busy_host_scenario: simulate.Scenario) -> None:
    one, other = (
        list(simulate.esxtop_lines(simulate.capture(busy_host_scenario, samples=2, seed=seed))) for seed in (1, 2)
    )
    assert one[0] == other[0]
    assert one[1:] != other[1:]


def test_the_noise_of_a_vm_does_not_depend_on_its_neighbours(busy_host_scenario: simulate.Scenario) -> None:
    alone = replace(busy_host_scenario, vms=tuple(vm for vm in busy_host_scenario.vms if vm.name != "print-old"))
    both = [Sheet(written(scenario, 4)) for scenario in (busy_host_scenario, alone)]
    used = [sheet.column("Network Port", sheet.port("ledger-db"), "Packets Received/sec") for sheet in both]
    assert used[0] == used[1]


def test_a_handle_and_a_path_get_the_same_bytes(busy_host_scenario: simulate.Scenario, tmp_path: Path) -> None:
    capture, handle = simulate.capture(busy_host_scenario, samples=2), io.BytesIO()
    size = simulate.write_esxtop(handle, capture)
    assert simulate.write_esxtop(tmp_path / "c.csv", capture) == size == len(handle.getvalue())
    assert (tmp_path / "c.csv").read_bytes() == handle.getvalue()


def test_without_the_simulator_one_line_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "esxparse_simulator", None)
    monkeypatch.delitem(vars(ex), "simulate", raising=False)
    assert main(["simulate", "--list"]) == 1
    told = capsys.readouterr().err
    assert "the simulator is not installed: run `pip install ./simulator`" in told
    assert told.count("\n") == 1
    with pytest.raises(EsxparseError, match="not installed"):
        ex.simulate  # noqa: B018  the attribute is what is asked for


def test_an_unknown_release_is_refused_before_anything_is_written(
    busy_host_scenario: simulate.Scenario, tmp_path: Path
) -> None:
    with pytest.raises(EsxparseError, match=r"no esxtop grammar for release '9\.9'.*6\.5, 6\.7"):
        simulate.write_esxtop(tmp_path / "c.csv", simulate.capture(busy_host_scenario, samples=1), release="9.9")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_one_clear_line(busy_host_scenario: simulate.Scenario, tmp_path: Path) -> None:
    with pytest.raises(EsxparseError, match=r"cannot write .*Check that the folder is there"):
        simulate.write_esxtop(tmp_path / "no" / "c.csv", simulate.capture(busy_host_scenario, samples=1))


def test_a_capture_that_fails_half_way_leaves_nothing_behind(
    busy_host_scenario: simulate.Scenario, tmp_path: Path
) -> None:
    odd = replace(
        busy_host_scenario, vms=(replace(busy_host_scenario.vms[0], phases=(Phase(5.0, 10.0, {"no_such_load": 1.0}),)),)
    )
    with pytest.raises(TypeError):
        simulate.write_esxtop(tmp_path / "c.csv", simulate.capture(odd, samples=3))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = 'x'", "scenario: title is missing"),
        ("name = ", "s.toml:1: not TOML"),
    ],
)
def test_a_scenario_that_makes_no_sense_names_the_place(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(simulate.ScenarioError, match=message):
        simulate.load_scenario(tmp_path / "s.toml")


def test_a_key_that_is_unknown_is_named(tmp_path: Path) -> None:
    text = (Path(simulate.__file__).parent / "scenarios" / "busy-host.toml").read_text(encoding="utf-8")
    for bogus in ("bogus = 1\n" + text, text.replace("[[vm]]", "[[vm]]\nbogus = 1", 1)):
        (tmp_path / "s.toml").write_text(bogus, encoding="utf-8")
        with pytest.raises(simulate.ScenarioError, match=r"unknown key bogus. Known: "):
            simulate.load_scenario(tmp_path / "s.toml")


def test_an_unknown_scenario_names_those_there_are(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["simulate", "quiet-host", "-o", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert said.startswith("esxparse: no scenario quiet-host, nor a path ending in .toml. There are: ")
    assert "busy-host" in said
    assert not (tmp_path / "out").exists()


def test_a_vm_on_a_device_that_is_not_there_is_refused(tmp_path: Path) -> None:
    source = Path(simulate.__file__).parent / "scenarios" / "busy-host.toml"
    text = source.read_text(encoding="utf-8").replace('target = "backup-nfs"', 'target = "gone"')
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    with pytest.raises(simulate.ScenarioError, match=r"vm backup-proxy stands on something.*gone"):
        simulate.load_scenario(tmp_path / "s.toml")


def test_a_capture_can_be_written_compressed(busy_host_scenario: simulate.Scenario, tmp_path: Path) -> None:
    capture = simulate.capture(busy_host_scenario, samples=2)
    plain = b"".join(simulate.esxtop_lines(capture))
    for name, unpack in (("c.csv.gz", gzip.decompress), ("c.csv.bz2", bz2.decompress)):
        assert simulate.write_esxtop(tmp_path / name, capture) == len(plain)
        packed = (tmp_path / name).read_bytes()
        assert unpack(packed) == plain
        simulate.write_esxtop(tmp_path / name, capture)
        assert (tmp_path / name).read_bytes() == packed


def test_the_command_takes_the_options_of_the_writer(tmp_path: Path) -> None:
    options = ["--samples", "2", "--release", "4.1", "--only", "Group Cpu", "--only", "% Util*", "--compress", "gz"]
    clock = ["--utc-offset", "60", "--zone", "CET", "--host", "localhost"]
    assert main(["simulate", "busy-host", "-o", str(tmp_path), *options, *clock]) == 0
    header, first, _ = gzip.decompress((tmp_path / "busy-host.csv.gz").read_bytes()).decode().splitlines()
    assert header.startswith('"(PDH-CSV 4.0) (CET)(-60)","\\\\localhost\\Physical Cpu(0)\\% Util Time",')
    assert first.startswith('"03/11/2026 10:00:00",')


HALVES = st.integers(-10, 10**7).map(lambda n: n / 200.0)
NUMBERS = st.one_of(
    HALVES,
    st.sampled_from([-1.0, -3.0, 0.0, 0.125, 0.285, 1.005, 999.995, 999.994, 69_999.5, 70_000.0, 1e9, 1e17]),
    st.floats(-1e6, 1e18, allow_nan=False),
    st.floats(0, 100),
)


def cells_of(counter: Counter, values: list[float]) -> list[str]:
    rows = ((b"t", np.array([value])) for value in values)
    return [line.decode().removeprefix('"t",').strip() for line in lines([counter], rows, b"\n")]


@settings(max_examples=examples(400))
@given(st.lists(NUMBERS, max_size=8))
def test_numbers_are_printed_as_c_prints_them(values: list[float]) -> None:
    """The same to the last digit, whatever stood in the cell before; only what rounds to zero loses its sign."""
    kinds = {"decimal": '"%.2f"', "whole": '"%.0f"', "broken": "%8.1f"}
    for kind, form in kinds.items():
        expected = [re.sub(r"-(0(\.0*)?)(?=\"|$)", r"\1", form % value) for value in values]
        cells = [
            re.sub(r"-(0(\.0*)?)(?=\"|$)", r"\1", cell) for cell in cells_of(Counter("x", kind, True, "x"), values)
        ]
        assert [cell.strip() for cell in cells] == [cell.strip() for cell in expected]
        assert kind == "broken" or not any('"-0"' in cell or '"-0.00"' in cell for cell in cells)


def test_a_number_that_is_none_shows() -> None:
    """A NaN of the model must be seen, not printed as some number."""
    assert cells_of(Counter("x", "decimal", True, "x"), [float("nan"), 1.0, float("inf")]) == [
        '"nan"',
        '"1.00"',
        '"inf"',
    ]


@pytest.mark.parametrize("columns", [3_000, 5_000, 12_345])
def test_a_large_host_has_as_many_columns_as_asked_for(columns: int) -> None:
    scenario = simulate.large_host(columns)
    fewer = replace(scenario, vms=scenario.vms[:-1])
    assert simulate.column_count(fewer) < columns <= simulate.column_count(scenario)
    first, second = islice(simulate.esxtop_lines(simulate.capture(scenario)), 2)
    assert first.count(b'","') == second.count(b'","') == simulate.column_count(scenario) - 1


def test_a_host_smaller_than_any_is_refused() -> None:
    with pytest.raises(EsxparseError, match="columns are too few"):
        simulate.large_host(100)


def test_the_command_makes_a_host_of_any_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    size = ["simulate", "--columns", "4000", "-o", str(tmp_path)]
    assert main([*size, "--samples", "2", "--interval", "20"]) == 0
    header, first, second = (tmp_path / "large-host.csv").read_text().splitlines()
    assert 4_000 <= header.count('","') + 1 < 4_600
    assert [row[1:20] for row in (first, second)] == ["03/11/2026 09:00:00", "03/11/2026 09:00:20"]
    assert main(["simulate", "busy-host", *size[1:]]) == 1
    assert "leave out busy-host" in capsys.readouterr().err
    assert main(["simulate", "--columns", "10", "-o", str(tmp_path / "none")]) == 1
    assert "too few for a host" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
