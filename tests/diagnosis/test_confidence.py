"""Confidence in words, from one table; what is hardly likely never warns, whoever shows it."""

import re
from dataclasses import replace

import pytest
from checkout import ROOT
from fault_hosts import seen

import esxparse as ex
from esxparse import cli
from esxparse.diagnosis import confidence, diagnose, findings
from esxparse.reports import facts, index, verdicts
from esxparse.reports.batch_items import Item

BUSY = ex.datasets_dir() / "busy-host" / "busy-host.csv"
SCORED = {"simulated": "## 300 unseen hosts", "edited": "## Troubles edited into a real capture"}


@pytest.fixture(scope="module")
def busy():
    return ex.diagnose(ex.open(BUSY))


@pytest.mark.parametrize(
    ("number", "word"),
    [
        *((1.0, "likely"), (0.8, "likely"), (0.799, "possible"), (0.5, "possible"), (0.499, "weak"), (0.3, "weak")),
        *((0.299, "unlikely"), (0.1, "unlikely"), (0.0, "")),
    ],
)
def test_each_confidence_has_a_word(number, word):
    assert confidence.word(number) == word


@pytest.mark.parametrize("severity", ["critical", "warning", "info"])
def test_what_is_hardly_likely_does_not_warn(severity):
    assert confidence.limited(severity, 0.3) == severity
    assert confidence.limited(severity, 0.299) == "info"


def test_no_finding_below_the_limit_warns_and_all_lists_follow(busy):
    below = [one for one in busy if one.confidence < 0.3]
    assert below
    assert {one.severity for one in below} == {"info"}
    levels = [one.severity for one in busy if not one.verdict.startswith("Another reading: ")]
    assert levels == sorted(levels, key=findings.SEVERITIES.index)
    assert all(busy[place].confidence >= 0.3 for place in verdicts.worst(busy, None).values())


@pytest.mark.search
def test_a_host_with_unlikely_findings_alone_is_no_reason_to_fail(busy, monkeypatch, capsys):
    """The limit is where findings are made, so that exit codes and areas of a batch follow it."""
    monkeypatch.setattr(confidence, "WARNS_FROM", 1.1)
    assert cli.main(["diagnose", str(BUSY), "--fail-on", "warning"]) == 0
    assert "WARNING" not in capsys.readouterr().out
    made = diagnose.diagnose(ex.open(BUSY))
    assert len(made) == len(busy)
    assert {one.severity for one in made} == {"info"}
    assert made.verdict.startswith("Nothing found by the checks that were possible")
    assert not set(facts.facts([made])["areas"].values()) & {"critical", "warning"}


def test_texts_show_the_word_and_programs_get_the_number(busy):
    numbers = [f"{one.confidence:.0%}" for one in busy]
    for text in (busy.text(), busy.markdown(), verdicts.sentences(busy).text):
        assert re.search(r"\blikely\b", text)
        assert not re.search(r"\d %?[;,.]? likely|[Cc]onfidence", text)
        assert not any(f", {number}" in text for number in numbers)
    assert [one["confidence"] for one in busy.as_dict()["findings"]] == [round(one.confidence, 3) for one in busy]
    assert busy.frame()["confidence"].to_list() == [one.confidence for one in busy]


def test_pages_have_the_number_in_a_tooltip_with_what_it_was_calibrated_on(busy):
    hint = 'title="Confidence 0.31, fitted on simulated hosts. Of warnings called &quot;weak&quot;, about'
    assert hint in busy._repr_html_()
    assert hint in verdicts.sentences(busy).html
    told = {"worst": {"facts": facts.facts([busy])}}
    page = index.page([Item((str(BUSY),), "host_health", name="worst")], told)
    assert re.search(r'<span class="ex-hint" title="Confidence 0\.9\d*, fitted on .*?">likely</span>', page)


@pytest.mark.search
def test_causes_of_studies_do_not_claim_to_be_calibrated():
    (first, *_) = ex.diagnose(ex.study(ex.datasets_dir() / "case-readahead"))
    assert first.basis.endswith("not calibrated, as two published cases are too few.")
    assert replace(first, confidence=0.0).likelihood == replace(first, confidence=0.0).basis == ""


@pytest.mark.parametrize(("shares", "title"), [(confidence.SIMULATED, "simulated"), (confidence.EDITED, "edited")])
def test_tooltips_say_what_the_score_measured(shares, title):
    """After `make score` the shares follow its tables, to the nearest 5 %."""
    text = (ROOT / "benchmarks" / "SCORE.md").read_text(encoding="utf-8").partition(f"\n{SCORED[title]}\n")[2]
    rows = re.findall(r"^\| (0\.\d) to [01]\.\d \| (\d+) \| (?:none|\d+ % \((\d+) of \d+\)) \|$", text, re.MULTILINE)[
        :10
    ]
    assert len(rows) == 10
    least = dict(confidence.WORDS)
    for word, share in shares.items():
        upper = min([one for one in least.values() if one > least[word]], default=1.0)
        mine = [(int(right or 0), int(count)) for low, count, right in rows if least[word] <= float(low) < upper]
        right, count = map(sum, zip(*mine, strict=True))
        assert share == 5 * round(20 * right / count), (word, right, count)


def test_titles_are_for_people_and_ids_for_programs():
    found = ex.diagnose(seen("cpu-limit").recording)
    page = found._repr_html_() + found.text() + found.markdown()
    assert "A CPU limit holds a VM back" in page
    assert not re.search(r"\b(cpu|memory|storage|network|numa|power|harmless|vsan)\.[a-z_]+", page)
    assert found.as_dict()["findings"][0]["trouble"] == "cpu.limit"
