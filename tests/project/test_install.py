"""What people install: a source distribution and a wheel, outside the checkout, with and without Rust and the extras.

Nothing here imports esxparse: every check runs in an environment of its own, as a user would make it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import needs
import pytest
from checkout import ROOT

# A machine has to reach the package registries for it; `.ci/run` does.
pytestmark = pytest.mark.search

RECORDING = "import esxparse as ex; rec = ex.open(ex.datasets_dir() / 'busy-host' / 'busy-host.csv')"
COMPILED = "from esxparse.formats.esxtop import scan; assert scan.COMPILED is {}"
EXTRAS = {
    "report": "import altair, papermill, vl_convert",
    "compressed": "import isal, sys; sys.version_info >= (3, 14) or __import__('backports.zstd')",
    "remote": "import aiohttp, fsspec, s3fs",
    "study": "import scipy, great_tables; "
    "ex.study(ex.datasets_dir() / 'vcenter').compare('workflow_vpxd_memory_gb').collect()",
    "collect": "import sushy",
    "vsphere": "from esxparse.collect import vsphere_session; vsphere_session.types()",
    "lake": "from esxparse.cli import main; main(['lake', 'add', rec.source, '--lake', 'lake']); "
    "assert ex.lake('lake').sql('SELECT count(*) AS n FROM vcpu').item() > 0",
    "fleet": "import distributed",
    "export": "assert ex.export(rec, 'vm.xlsx', table='vm')",
    "lab": "import altair, jupyterlab, papermill",
    "quality": "import great_expectations, pandas; assert not ex.check(rec).failed",
}
"""Of each extra, what it lets a user do."""


def _uv():
    uv = os.environ.get("UV") or shutil.which("uv", path=needs.PATH)
    return uv or needs.missing("uv")


def _cargo():
    return shutil.which("cargo", path=needs.PATH)


def _run(*words, rust=True, cwd=None):
    """Runs a program with cargo on its PATH or without it; gives what it printed."""
    folders = needs.PATH.split(os.pathsep)
    if not rust:
        folders = [folder for folder in folders if shutil.which("cargo", path=folder) is None]
    environment = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PYTHONPATH"}}
    environment |= {"PATH": os.pathsep.join(folders), "CARGO_TARGET_DIR": str(ROOT / "native" / "target")}
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    _run(_uv(), "build", "--sdist", "--out-dir", str(folder), str(ROOT))
    return next(folder.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def wheels(sdist, tmp_path_factory):
    """Wheels built of the source distribution, by whether Rust was there."""
    made = {}
    for rust in (True, False):
        if rust and not _cargo():
            continue
        folder = tmp_path_factory.mktemp("wheel")
        _run(_uv(), "build", "--wheel", "--out-dir", str(folder), str(sdist), rust=rust)
        made[rust] = next(folder.glob("*.whl"))
    return made


def _installed(tmp_path, what, *, rust=True):
    """Python of a new environment in which `what` is installed."""
    home = tmp_path / "env"
    _run(_uv(), "venv", "--python", sys.executable, str(home))
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    _run(_uv(), "pip", "install", "--python", str(python), str(what), rust=rust)
    return str(python)


def test_the_source_distribution_holds_the_crate_and_no_tests(sdist):
    with tarfile.open(sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "native" / "src").rglob("*.rs")}
    assert {"native/Cargo.toml", "native/Cargo.lock", *sources} <= names
    assert not any(name.startswith("tests/") for name in names)


def test_the_wheel_is_small_and_holds_no_simulator(wheels):
    for wheel in wheels.values():
        assert wheel.stat().st_size < 3e6
        with zipfile.ZipFile(wheel) as packed:
            folders = {"/".join(name.split("/")[:3]) for name in packed.namelist() if "/datasets/" in name}
            assert not any("simulator" in name for name in packed.namelist())
            assert any(name.endswith("share/jupyter/labextensions/esxparse/package.json") for name in packed.namelist())
        carried = {"README.md", "__init__.py", "busy-host", "formats", "numa", "vcenter"}
        assert {folder.rpartition("/")[2] for folder in folders} <= carried


def test_the_wheel_holds_the_scanner_only_where_rust_was(wheels):
    for rust, wheel in wheels.items():
        with zipfile.ZipFile(wheel) as packed:
            assert any("_native" in name and name.endswith((".so", ".pyd")) for name in packed.namelist()) is rust
        assert "-cp311-abi3-" in wheel.name


@pytest.mark.parametrize("rust", [True, False], ids=["rust", "no-rust"])
@pytest.mark.parametrize("kind", ["sdist", "wheel"])
def test_a_plain_install_reads_captures_and_names_the_extra_it_lacks(tmp_path, sdist, wheels, kind, rust):
    if rust not in wheels:
        needs.missing("cargo")
    # A place of its own: uv keeps what it built of a file, with Rust or without.
    own = shutil.copy(sdist, tmp_path)
    python = _installed(tmp_path, own if kind == "sdist" else wheels[rust], rust=rust)
    assert (
        _run(python, "-c", f"{RECORDING}; {COMPILED.format(rust)}; print(len(rec.meta['vms']))", cwd=tmp_path) == "8\n"
    )
    capture = _run(python, "-c", "import esxparse as ex; print(ex.datasets_dir())").strip() + "/busy-host/busy-host.csv"
    assert "esxtop" in _run(python, "-m", "esxparse", "info", capture, cwd=tmp_path)
    for words, lacks in (
        (["report", capture, "-o", "r.html"], "esxparse[report]"),
        (["simulate", "--list"], "pip install ./simulator"),
    ):
        refused = subprocess.run(
            [python, "-m", "esxparse", *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert refused.returncode == 1
        assert lacks in refused.stderr
        assert refused.stderr.count("\n") == 1
    assert not (tmp_path / "r.html").exists()


def test_a_plain_install_stays_small(tmp_path, wheels):
    python = _installed(tmp_path, wheels[max(wheels)])
    packages = _run(_uv(), "pip", "list", "--python", python, "--format", "json")
    core = {"cloudpickle", "defusedxml", "esxparse", "msgspec", "nanoarrow", "numpy", "polars", "polars-runtime-32"}
    assert {one["name"] for one in json.loads(packages)} == core
    place = Path(_run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    sizes = {file: file.stat().st_size for file in place.rglob("*") if file.is_file()}
    # 248 MB with polars 2.1, of which polars and numpy are 234; the rest is what we decide on.
    assert sum(sizes.values()) < 320e6
    heavy = ("polars", "_polars", "numpy")
    assert sum(size for file, size in sizes.items() if not file.relative_to(place).parts[0].startswith(heavy)) < 20e6


@pytest.mark.parametrize("extra", EXTRAS)
def test_each_extra_brings_what_it_promises(tmp_path, wheels, extra):
    python = _installed(tmp_path, f"esxparse[{extra}] @ {wheels[max(wheels)].as_uri()}")
    _run(python, "-c", f"{RECORDING}; {EXTRAS[extra]}", cwd=tmp_path)


def test_every_extra_of_the_package_is_tried():
    tables = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = tables.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    assert {line.partition(" =")[0] for line in listed.splitlines() if " = [" in line} == set(EXTRAS)
