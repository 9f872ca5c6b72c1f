"""docs/diagnosis.md names every trouble that is not in docs/faults.md, and its examples are a profile and a case."""

from __future__ import annotations

import re

from checkout import DOCS

from esxparse.diagnosis import cases, rules


def test_every_trouble_of_a_case_is_in_the_docs():
    words = (DOCS / "faults.md").read_text(encoding="utf-8") + (DOCS / "diagnosis.md").read_text(encoding="utf-8")
    for case in cases.load():
        assert f"`{case.trouble}`" in words or f"`{case.area}.*`" in words, case.trouble


def test_the_examples_are_a_profile_and_a_case(tmp_path):
    text = (DOCS / "diagnosis.md").read_text(encoding="utf-8")
    profile, case = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    (tmp_path / "mine.toml").write_text(profile, encoding="utf-8")
    standard, mine = rules.load(), rules.load(tmp_path / "mine.toml")
    assert [one for one in mine if one not in standard] == ["cpu.helper"]
    assert mine["cpu.ready"].warn == 2.0
    assert cases.parse(case, "example.toml").trouble == "storage.reservations"
