"""Words on finished pages of every template, by their golden texts; test_page_oracle.py looks at more pages."""

from __future__ import annotations

import re

import pytest
from golden import kept
from page_oracle import page
from page_words import WRONG, words, wrong_words
from search import routine_of

import esxparse as ex

SHOWN = re.compile(r"tile |table |chart |.* \| (?:li|p|h\d|ex-\w+) \|")
"""Lines of a golden text that people read, not data of charts."""


@pytest.mark.parametrize("path", sorted((kept.TEXTS / "pages").glob("*.txt")), ids=lambda path: path.stem)
def test_a_golden_page_has_no_such_words(path):
    found = [line for line in path.read_text(encoding="utf-8").split("\n") if SHOWN.match(line)]
    assert len(found) > 10
    assert wrong_words(found) == []


@pytest.mark.search
@pytest.mark.parametrize("name", routine_of(["docker", "mmu", "power", "replication", "vdi"], {"replication"}))
def test_a_page_by_the_template_of_any_study_has_no_such_words(name, tmp_path):
    output = ex.report(ex.datasets.folder(name) / "study.toml", "study", tmp_path / "page.html")
    found = words(page.read(output.read_text(encoding="utf-8")))
    assert len(found) > 10
    assert wrong_words(found) == []


@pytest.mark.parametrize(
    ("what", "bad", "good"),
    [
        ("minus zero", "change -0.0 %", "change -0.04 %"),
        ("minus zero", "\u22120 %", "10-0.5"),
        ("a span from a number to itself", "9.40 to 9.40 ms", "9.40 to 9.401 ms"),
        ("a span from a number to itself", "9.40 ms to 9.40 ms", "1 to 12"),
        ("one of many", "at 1 servers", "at 11 servers"),
        ("one of many", "1 runs", "1 run"),
        ("lower case", "495 vms", "495 VMs"),
        ("a doubled word", "the the mean", "the mean"),
        ("no number", "PCPUs were ? % busy", "busy?"),
        ("no number", "mean: nan W", "a nanometre"),
        ("an empty part", "1 of 2 ()", "1 of 2 (half)"),
        ("an empty part", "higher; ; lower", "higher; lower"),
    ],
)
def test_wrong_words_are_found_and_others_are_not(what, bad, good):
    assert WRONG[what].search(bad)
    assert not WRONG[what].search(good)
