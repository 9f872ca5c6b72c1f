"""The datasets that ship: which there are, and that their raw files are made again to the byte."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl
import pytest
import studied

import esxparse as ex
from esxparse_simulator.experiment import load_experiment
from esxparse_simulator.recorder import record

if TYPE_CHECKING:
    from pathlib import Path

STUDIES = (
    "baseline",
    "case-alignment",
    "case-readahead",
    "dense",
    "docker",
    "iser",
    "linerate",
    "mmu",
    "monster",
    "numa",
    "pmem",
    "power",
    "protocols",
    "raid-pool",
    "remote",
    "replication",
    "sapiq",
    "spark",
    "vaio",
    "vcenter",
    "vdi",
    "vpmc",
    "vsan",
    "zephyr",
)
WRITTEN_BY_HAND = {"README.md", "scenario.toml", "study.toml", "published.toml"}


def raw_files(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in WRITTEN_BY_HAND
    }


def test_every_published_study_has_its_dataset():
    listed = ex.datasets.list()
    assert listed.filter(kind="study")["dataset"].to_list() == list(STUDIES)
    assert (listed["files"] > 0).all()
    assert "busy-host" in listed.filter(kind="capture")["dataset"].to_list()


def test_they_are_small_enough_to_travel():
    sizes = {path: path.stat().st_size for path in ex.datasets_dir().rglob("*") if path.is_file()}
    assert sum(sizes.values()) < 25e6
    assert max(sizes.values()) < 5e6


@pytest.mark.search
@pytest.mark.parametrize("name", STUDIES)
def test_the_raw_files_are_made_again_to_the_byte(name, tmp_path):
    folder = ex.datasets.folder(name)
    written = record(load_experiment(folder / "scenario.toml"), tmp_path)
    assert {file.path.relative_to(tmp_path).as_posix() for file in written} == raw_files(folder)
    changed = [
        path for path in sorted(raw_files(folder)) if (folder / path).read_bytes() != (tmp_path / path).read_bytes()
    ]
    assert changed == []


@pytest.mark.parametrize("name", STUDIES)
def test_our_readers_open_the_raw_files_without_a_warning(name):
    folder = ex.datasets.folder(name)
    captures = sorted(path for path in raw_files(folder) if path.endswith(".csv.bz2"))
    # The study's own test opens every capture; here one stands for those that the same writer wrote.
    for path in sorted(raw_files(folder) - set(captures[1:])):
        rec = ex.open(folder / path)
        assert len(rec.tables) > 0, path
        assert [note.message for note in rec.notes if note.severity == "warning"] == [], path


@pytest.mark.parametrize("name", STUDIES)
def test_the_readme_says_what_was_published_and_how_the_files_were_made(name):
    folder = ex.datasets.folder(name)
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {name}: ")
    assert f"esxparse simulate datasets/{name}/scenario.toml -o datasets/{name}" in text
    seed = re.search(r"^seed = (\d+)$", (folder / "scenario.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert seed
    assert seed[1] in text


@pytest.mark.parametrize("name", STUDIES)
def test_every_published_figure_is_computed_and_comes_back(name):
    figures = studied.figures(name)
    assert figures["here"].null_count() == 0
    assert figures.filter(~pl.col("within")).rows() == []


@pytest.mark.parametrize("name", STUDIES)
def test_figures_have_a_claim_a_unit_and_a_tolerance_of_some_sense(name):
    figures = ex.datasets.published(name)
    assert figures.height > 0
    assert figures["figure"].is_unique().all()
    assert (figures["claim"].str.len_chars() > 0).all()
    assert (figures["tolerance"].drop_nulls().is_between(0.0, 0.5)).all()
    assert figures.select("claim", "unit", "stated").null_count().sum_horizontal().item() == 0


@pytest.mark.parametrize("name", STUDIES)
def test_a_figure_is_printed_somewhere_or_assumed_for_a_reason(name):
    figures = ex.datasets.published(name)
    assert (figures["source"].is_null() != figures["assumed"].is_null()).all()
    for row in figures.drop_nulls("source").iter_rows(named=True):
        # The document, who published it, and the place.
        assert len(row["source"].split(", ")) > 2, row
        # Words about our own work belong to assumed figures.
        assert not re.search(r"put in|not published|\bours?\b|\bwe\b|no number", row["note"] or "", re.IGNORECASE), row
    for row in figures.drop_nulls("assumed").iter_rows(named=True):
        assert re.match(
            r"in words only|in a graph|derived:|put into the scenario:|by definition:|our reading:|the text ",
            row["assumed"],
        ), row


@pytest.mark.parametrize("name", STUDIES)
def test_the_readme_counts_published_and_assumed_figures_apart(name):
    figures = ex.datasets.published(name)
    printed, assumed = (figures[kind].drop_nulls().len() for kind in ("source", "assumed"))
    (line,) = re.findall(
        r"^\*\*Figures\.\*\* (.*)$", (ex.datasets.folder(name) / "README.md").read_text(), re.MULTILINE
    )
    assert f" {printed or 'no'} published figure" in line
    assert (f" {assumed} assumed one" in line) == bool(assumed)


def test_the_counts_of_the_overview_are_those_of_the_files():
    figures = [ex.datasets.published(name) for name in STUDIES]
    every, printed = sum(one.height for one in figures), sum(one["source"].drop_nulls().len() for one in figures)
    text = " ".join((ex.datasets_dir() / "README.md").read_text().split())
    assert f"Of {every} figures the sources print {printed}. The other {every - printed} are assumed" in text


def test_an_unknown_dataset_names_those_there_are():
    with pytest.raises(ex.EsxparseError, match=r"no dataset 'viao'. Did you mean 'vaio'\? There are: .*vaio"):
        ex.datasets.load("viao")
    with pytest.raises(ex.EsxparseError, match="does not belong to a published study"):
        ex.datasets.published("busy-host")


def test_an_installed_package_says_where_the_other_datasets_are(monkeypatch):
    monkeypatch.setattr("esxparse.bundled.is_checkout", lambda: False)
    with pytest.raises(
        ex.EsxparseError, match=r"no dataset 'viao'.*; the others are in the datasets folder of an esxparse checkout"
    ):
        ex.datasets.load("viao")
