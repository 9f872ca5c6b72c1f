"""Every command that takes `--jobs` or `--on` says and writes the same, whoever does the work."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

import hosts
import pytest
from checkout import TESTS
from dask_cluster import cluster
from search import routine_of

from esxparse.cli import main

SEARCHED = (str(Path(__file__).parent), str(TESTS))
"""Where a worker finds the modules of tests."""
COMMANDS = {
    "diagnose": "diagnose INPUTS",
    "diagnose as JSON": "diagnose --format json INPUTS",
    "check": "check INPUTS",
    "check as JSON": "check --format json INPUTS",
    "convert": "convert INPUTS -o OUT/made",
    "study": "study run STUDY -o OUT/study.csv",
    "damaged study": "study run DAMAGED -o OUT/study.csv",
    "batch": "batch NIGHT -o OUT/reports",
    "lake add": "lake add INPUTS NIGHT --lake OUT/lake",
    "lake judge": "lake judge --lake OUT/lake",
    "lake compact": "lake compact --merge --lake OUT/lake",
}
UNORDERED = ("lake add", "lake judge")
"""What tells of each item as it ends."""


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    pytest.importorskip("distributed")
    with cluster(tmp_path_factory.mktemp("dask"), path=SEARCHED) as made:
        yield made


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Files of a night, good and bad; a study of two of them, and one with a bad one."""
    night = tmp_path_factory.mktemp("inputs") / "night"
    night.mkdir()
    good = [hosts.capture(night, host, tuple(range(1, 40))) for host in ("esx-01", "esx-02")]
    text = good[0].read_bytes()
    made = {
        "cut-in-header.csv": text[:60],
        "cut.csv": text[:-30].replace(b"esx-01", b"esx-03"),
        "binary.csv": random.Random(1).randbytes(5000),  # noqa: S311
        "empty.csv": b"",
        "page.csv": b"<html><title>404</title></html>",
        "packed.csv.gz": b"\x1f\x8b\x08\x00" + b"\x00" * 20,
        "nulls.csv": text[:200] + b"\0" * 300,
        "notes.json": b'{"a": 1}',
    }
    for name, content in made.items():
        (night / name).write_bytes(content)
    (night / "folder.csv").mkdir()
    for name, second in (("STUDY", good[1].name), ("DAMAGED", "binary.csv")):
        runs = "".join(
            f'[[run]]\nload = "{number}"\nesxtop = "{file}"\n' for number, file in enumerate([good[0].name, second])
        )
        folder = night.parent / name
        shutil.copytree(night, folder)
        (folder / "study.toml").write_text(f'title = "Two"\naxis = "load"\nbaseline = {{ load = "0" }}\n{runs}')
    (night / "no-permission.csv").write_bytes(text.replace(b"esx-01", b"esx-04"))
    (night / "no-permission.csv").chmod(0)
    return night.parent


def said(
    command: str, inputs: Path, out: Path, who: list[str], capsys
) -> tuple[int, list[str], list[str], dict[str, str]]:
    """Exit code, lines of both outputs, and files of a command."""
    out.mkdir(exist_ok=True)
    night = inputs / "night"
    files = [*map(str, sorted(night.iterdir())), str(night / "missing.csv")]
    words = []
    for one in COMMANDS[command].split():
        words += files if one == "INPUTS" else [one.replace("OUT", str(out))]
    words = [
        str(inputs / one) if one in {"STUDY", "DAMAGED"} else str(night) if one == "NIGHT" else one for one in words
    ]
    code = main([*words, *who])
    told = capsys.readouterr()

    def lines(text: str) -> list[str]:
        text = hosts.unwritten(text.replace(str(out), "OUT"))
        found = re.sub(r"\d+\.\d s\b", "SOME s", text).splitlines()
        return sorted(found) if command in UNORDERED else found

    return code, lines(told.out), lines(told.err), written(out)


def written(out: Path) -> dict[str, str]:
    """The files of a run, without what is drawn by lot, a directory's name, or a time of day."""
    found = {}
    for file in sorted(one for one in out.rglob("*") if one.is_file()):
        name = re.sub(r"[0-9a-f]{16}(-\d+)?\.(json|parquet)", r"\2", hosts.unwritten(str(file.relative_to(out))))
        text = hosts.unwritten(file.read_text("latin-1").replace(str(out), "OUT"))
        found[name] = "made" if "reports" in file.parts else re.sub(r"[0-9a-f]{16}-\d+|\"sha256\": \"\w+", "", text)
    return found


@pytest.mark.search
@pytest.mark.needs("distributed", "obstore")
@pytest.mark.parametrize("command", routine_of(COMMANDS, {"lake add"}))
def test_whoever_works_says_and_writes_the_same(command, inputs, dask, tmp_path, capsys):
    crews = {"here": [], "processes": ["--jobs", "2"], "cluster": ["--on", dask.on]}
    if command in {"lake judge", "lake compact"}:
        for name in crews:
            assert main(["lake", "add", str(inputs / "night"), "--lake", str(tmp_path / name / "lake"), "-q"]) == 1
        capsys.readouterr()
    wanted = said(command, inputs, tmp_path / "here", [], capsys)
    for name, who in crews.items():
        if name != "here":
            code, out, err, files = said(command, inputs, tmp_path / name, who, capsys)
            assert (code, out, err) == wanted[:3], name
            assert files.keys() == wanted[3].keys(), name
            assert [one for one in files if files[one] != wanted[3][one]] == [], name
