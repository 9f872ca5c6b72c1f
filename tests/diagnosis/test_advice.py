"""Advice is safe: it checks before it changes, and claims nothing that esxtop cannot see."""

import re

import pytest

from esxparse.diagnosis import cases, rules
from esxparse.diagnosis.experiments import tables

CASES, RULES = cases.load(), tuple(rules.load().values())
LOOKS = r"(Look|See|Check|Find|Read|Ask|Compare|List|Expand|Sort|Profile|Capture|Nothing|Disconnect)\b"
CHANGES = re.compile(
    r"\b(raise|remove|set|enlarge|move|add|reserve|consolidate|swap|limit|disable|lower)\b", re.IGNORECASE
)
UNSEEN = {
    "cpu.costop_io": "snapshot",
    "harmless.empty_drive": "empty",
    "power.thermal": "heat",
    "storage.iops_limit": "I/O limit",
    "storage.snapshot": "snapshot",
    "storage.read_ahead": "reads ahead",
}
"""Troubles whose cause no counter shows, and the word for it."""


def texts(case):
    return [case.title, case.verdict, case.next, *(text for one in case.evidence for text in (one.say, one.otherwise))]


@pytest.mark.parametrize("case", CASES, ids=lambda one: f"{one.trouble}-{one.kind}")
def test_a_look_comes_before_a_change(case):
    assert re.match(LOOKS, case.next), case.next
    first = CHANGES.search(case.next)
    assert (
        first is None
        or re.search(r"\b(look|see|check|find|read|list|compare)\b", case.next[: first.start()], re.IGNORECASE)
        or ("if it is empty" in case.next)
    )


@pytest.mark.parametrize("one", [*CASES, *RULES], ids=lambda one: getattr(one, "id", getattr(one, "trouble", "")))
def test_limits_depths_and_paths_are_changed_only_with_care(one):
    text = one.next
    assert not re.search(r"take (it|the .*) off|must (be|go|fall|vanish|stop|rise)", text, re.IGNORECASE)
    if re.search(r"raise or remove", text):
        assert re.search(
            r"[Ff]ind out who set .* and why, then raise or remove|who set it and why, then raise or remove", text
        )
    if re.search(r"raise the (queue )?depth|number of outstanding", text, re.IGNORECASE):
        assert "only if" in text.lower()
        assert "array's own latency" in text
    if re.search(r"disable|set .* off", text):
        assert "Only with another path active" in text


@pytest.mark.parametrize("case", [one for one in CASES if one.trouble in UNSEEN], ids=lambda one: one.trouble)
def test_a_cause_that_esxtop_cannot_see_is_most_likely(case):
    told = [text for text in (case.title, case.verdict) if UNSEEN[case.trouble] in text]
    assert told
    assert all("most likely" in text for text in told)


@pytest.mark.parametrize("case", CASES, ids=lambda one: f"{one.trouble}-{one.kind}")
def test_the_medium_is_never_assumed(case):
    assert not [text for text in texts(case) if re.search(r"\bflash\b|\bSSD\b|spinning|of that kind", text)]


def test_titles_read_as_headings_and_are_no_ids():
    titles = [one.title for one in (*CASES, *tables.causes(), tables.unknown())]
    assert all(title[0].isupper() or title[0] == "%" or title.startswith(("vCPU", "vSAN")) for title in titles)
    assert not [title for title in titles if re.search(r"[a-z]\.[a-z]|_|\.$", title)]
    assert all(len(title) <= 80 for title in titles)
    # Two readings of one trouble have titles of their own.
    assert len({one.title for one in CASES}) == len(CASES)
