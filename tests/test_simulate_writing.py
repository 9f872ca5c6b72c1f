"""Writing a simulated capture: the same bytes each time, and what is refused."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from sheet import Sheet, written

from esxparse import simulate
from esxparse.errors import EsxparseError
from esxparse.simulate.__main__ import main
from esxparse.simulate.host import Phase


def test_the_bundled_capture_is_what_the_command_writes(tmp_path: Path, busy_host_file: Path) -> None:
    assert main(["busy-host", "-o", str(tmp_path)]) == 0
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


def test_an_unknown_release_is_refused_before_anything_is_written(
    busy_host_scenario: simulate.Scenario, tmp_path: Path
) -> None:
    with pytest.raises(EsxparseError, match=r"no esxtop grammar for release '9\.9'.*6\.5, 6\.7"):
        simulate.write_esxtop(tmp_path / "c.csv", simulate.capture(busy_host_scenario, samples=1), release="9.9")  # type: ignore[arg-type]
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
        ("name = 1\nbogus = 2", "unknown key bogus"),
        ("name = 'x'", "scenario: title is missing"),
        ("name = ", "is not TOML"),
    ],
)
def test_a_scenario_that_makes_no_sense_names_the_place(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(simulate.ScenarioError, match=message):
        simulate.load_scenario(tmp_path / "s.toml")


def test_an_unknown_scenario_names_those_there_are(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["quiet-host", "-o", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err.startswith("no scenario quiet-host. There are: busy-host")
    assert not (tmp_path / "out").exists()


def test_a_vm_on_a_device_that_is_not_there_is_refused(tmp_path: Path) -> None:
    source = Path(simulate.__file__).parent / "scenarios" / "busy-host.toml"
    text = source.read_text(encoding="utf-8").replace('target = "backup-nfs"', 'target = "gone"')
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    with pytest.raises(simulate.ScenarioError, match=r"vm backup-proxy stands on something.*gone"):
        simulate.load_scenario(tmp_path / "s.toml")
