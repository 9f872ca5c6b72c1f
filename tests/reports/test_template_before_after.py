"""The report `before_after`: the answer, the largest changes with their load, and what could not be compared."""

from __future__ import annotations

from dataclasses import replace

import pytest

import esxparse as ex


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    """A host with a slow array, and the same host with a fast one and a VM less."""
    folder = tmp_path_factory.mktemp("array")
    made = []
    for name, latency, without in (("slow", 8.0, 0), ("fast", 0.5, 1)):
        (run,) = ex.simulate.load_experiment("healthy-storage", seed=3 + without, samples=60).runs
        host = run.scenario
        disks = tuple(replace(one, read_ms=latency, write_ms=latency) for one in host.devices)
        host = replace(host, devices=disks, vms=host.vms[: len(host.vms) - without])
        ex.simulate.write_esxtop(folder / f"{name}.csv", ex.simulate.capture(host))
        made.append(str(folder / f"{name}.csv"))
    return made


def text_of(folder, *captures, **parameters):
    return ex.report(list(captures), "before_after", folder / "r.md", parameters).read_text(encoding="utf-8")


@pytest.mark.search
def test_a_faster_array_is_said_to_be_better(captures, tmp_path):
    text = text_of(tmp_path, *captures)
    first_screen, _, rest = text.partition("## The largest changes")
    assert "Better: Storage" in first_screen
    assert "1 VM disappeared" in first_screen
    assert "latency" in first_screen
    assert "1 VM disappeared" in rest.partition("What could not be compared")[2]
    assert len(list((tmp_path / "r_files").glob("*.svg"))) >= 2


@pytest.mark.search
def test_one_capture_is_split_at_a_time(busy_host_file, tmp_path):
    text = text_of(tmp_path, busy_host_file, at="2026-03-11T09:05:00")
    assert "No difference shown: CPU, Memory, Storage, Network, Power." in text
    assert "storage.queue\\_device" in text or "storage.queue_device" in text


def test_it_is_never_chosen_by_itself(captures):
    from esxparse.reports.pick import picked  # noqa: PLC0415  (named by no other test here)

    assert picked(captures[:1]) == "host_health"
