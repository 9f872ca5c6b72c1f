"""Studies composed for tests: small simulated captures, results of load generators, a manifest."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import fio_outputs

import esxparse as ex
import esxparse_simulator as simulate
from esxparse.studies import study

FORMATS = ex.datasets_dir() / "formats"
START = datetime(2026, 3, 2, 8, 30, tzinfo=UTC)
"""The Iometer results among the datasets are of the quarter of an hour that begins then."""


def scenario(vms=2, start=START, **load):
    """The host of the bundled capture with fewer VMs, none of which has its troubles; `load` is what each asks for."""
    whole = simulate.busy_host()
    some = tuple(replace(vm, phases=(), load=replace(vm.load, **load)) for vm in whole.vms[:vms])
    return replace(whole, vms=some, start=start)


def write_capture(path: Path, *, vms=2, samples=31, interval=10.0, start=START, seed=1, **load):
    """A capture of `samples` samples; gives its path."""
    path.write_bytes(_capture(vms, samples, interval, start, seed, tuple(sorted(load.items()))))
    return path


@cache
def _capture(vms, samples, interval, start, seed, load) -> bytes:
    """Many tests study the same few captures: each is simulated once."""
    host = scenario(vms, start, **dict(load))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "capture.csv"
        simulate.write_esxtop(path, simulate.capture(host, samples=samples, interval=interval, seed=seed))
        return path.read_bytes()


def write_fio(path: Path, ios=20_000, **more):
    """A JSON output of fio: `ios` reads of 4 KiB in 2 seconds, and half as many writes."""
    job = fio_outputs.job(read=fio_outputs.direction(ios, **more), write=fio_outputs.direction(ios // 2, **more))
    path.write_text(fio_outputs.document(job))


def manifest(folder: Path, text: str) -> Path:
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


def computed(folder: Path, text: str):
    # Tests name files of the datasets too.
    return study(manifest(folder, text), outside=True)


def rows(found):
    return found.runs.collect().to_dicts()


def warnings(found):
    return [str(note) for note in found.notes if note.severity == "warning"]
