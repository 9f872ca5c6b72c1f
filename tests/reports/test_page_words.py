"""Words on finished pages of every template: no minus zero, no span from a number to itself, no `1 runs`."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import hosts
import pytest
from golden import kept
from page_oracle import page
from search import routine_of

import esxparse as ex
from esxparse.lakes import judging
from esxparse.reports import report
from esxparse.shipped import templates_dir

DATA = ex.datasets_dir()
FORMATS = DATA / "formats"
BUSY = DATA / "busy-host" / "busy-host.csv"

NOUNS = (
    "runs|samples|VMs|vCPUs|PCPUs|hosts|servers|captures|readings|tests|jobs|intervals|devices|disks|ports|comparisons|"
    "repetitions|units|findings|rules|cases|gaps|checks|threads|cores|nodes|files|columns|thresholds|polls|events|"
    "minutes|hours|days|seconds|troubles|warnings|instances|sensors|meters|clients|users|requests|spells|sockets"
)
# What numactl prints, "1 nodes (0)", is quoted as it is.
WRONG = {
    "minus zero": re.compile(r"(?<![\w.,)\]\u2212-])[-\u2212]0(?:\.0+)?(?![\w.,:-]*\d)"),
    "a span from a number to itself": re.compile(r"(?<![\w.,:-])(\d[\d.,]*)(?: [%\w/]+)? to \1(?![\w.,:%-]*\d)"),
    "one of many": re.compile(rf"(?<![\w.,:/+\u2212-])1 (?:{NOUNS})\b(?! \(\d)"),
    "lower case": re.compile(r"(?<![\w.,:/-])\d(?:[\d,.]*\d)? (?:vms|vcpus|pcpus|iops)\b"),
    "a doubled word": re.compile(r"\b([A-Za-z]{2,}) \1\b", re.IGNORECASE),
    "no number": re.compile(r"\b(?:nan|None|undefined)\b|(?<!\w)\? ?(?:%|\.|W\b|ms\b)"),
    "an empty part": re.compile(r"\(\s*\)|; ?;|: ?\.(?!\d)|\{\w*\}"),
}


def lake() -> Path:
    folder = Path(mkdtemp(prefix="words-"))
    where = folder / "lake"
    ex.lake(where).add([hosts.capture(folder, "esx-01", (5, 6)), hosts.capture(folder, "esx-02", (1,))])
    judging.judge(ex.lake(where))
    return where


STUDIES = [path for path in sorted(DATA.glob("*/study.toml")) if not path.parent.name.startswith("case-")]
PAGES = {
    "host_health": ("host_health", [BUSY]),
    "troubleshooting": ("troubleshooting", [BUSY]),
    "power_profile": ("power_profile", [FORMATS / "power-pdu-export.csv"]),
    "power_profile-redfish": ("power_profile", [FORMATS / "redfish-collected.jsonl"]),
    "storage_benchmark": ("storage_benchmark", [FORMATS / "iometer-1.1.0.csv"]),
    "storage_benchmark-fio": ("storage_benchmark", [FORMATS / "fio-json-plus.json"]),
    "hardware_events": ("hardware_events", [FORMATS / "perf-per-cpu.csv"]),
    "hardware_events-polls": ("hardware_events", [FORMATS / "vmkperf-poll.txt"]),
    "fleet": ("fleet", lake),
    "case_study": ("case_study", [DATA / "case-alignment" / "study.toml"]),
    **{f"study-{path.parent.name}": ("study", [path]) for path in STUDIES},
}
"""Of studies by the template of any study. The golden texts have those by the template that a manifest asks for."""
ROUTINE = {"host_health", "power_profile", "storage_benchmark", "hardware_events", "fleet", "study-replication"}
SHOWN = re.compile(r"tile |table |chart |.* \| (?:li|p|h\d|ex-\w+) \|")
"""Lines of a golden text that people read, not data of charts."""


@cache
def words(name: str) -> list[str]:
    """The texts of a rendered page: sentences, tiles, cells of tables, and titles and labels of charts."""
    template, files = PAGES[name]
    paths = [files()] if callable(files) else files
    output = Path(mkdtemp(prefix="words-")) / "page.html"
    given = [str(one) for one in paths]
    made = page.read(report(given if len(given) > 1 else given[0], template, output).read_text(encoding="utf-8"))
    found = [" ".join(part for part in (*one,)) for one in (*made.tiles, *made.facts)]
    found += [text for _, kind, text in made.texts if kind not in {"pre", "ex-pre"}]
    for one in made.tables:
        found += [one.caption, *one.heads, *(cell for row in one.rows for cell in row)]
    for one in made.charts:
        found += [one.title, one.subtitle]
        found += re.findall(r'"(?:title|text|label|state|name)": "([^"]*)"', json.dumps(one.spec, ensure_ascii=False))
    return found


@pytest.mark.parametrize("name", routine_of(PAGES, ROUTINE))
def test_a_page_has_no_such_words(name):
    found = words(name)
    assert len(found) > 10
    wrong = [(what, text) for text in found for what, one in WRONG.items() if one.search(text)]
    assert not wrong


@pytest.mark.parametrize("path", sorted((kept.TEXTS / "pages").glob("*.txt")), ids=lambda path: path.stem)
def test_a_golden_page_has_no_such_words(path):
    found = [line for line in path.read_text(encoding="utf-8").split("\n") if SHOWN.match(line)]
    assert len(found) > 10
    wrong = [(what, text) for text in found for what, one in WRONG.items() if one.search(text)]
    assert not wrong


def test_every_template_has_a_page_here_or_a_golden_one():
    notebooks = {path.stem for path in templates_dir().glob("*.ipynb")}
    asked = {tomllib.loads(path.read_text(encoding="utf-8"))["report"]["shape"] for path in STUDIES}
    assert notebooks == asked | {template for template, _ in PAGES.values()}
    golden = {path.stem for path in (kept.TEXTS / "pages").glob("*.txt")}
    assert {path.parent.name for path in STUDIES} <= golden


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
