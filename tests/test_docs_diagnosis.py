"""docs/diagnosis.md names every trouble that is not in docs/faults.md, and its example is a case."""

from __future__ import annotations

import re
from pathlib import Path

from esxparse.diagnosis import cases

DOCS = Path(__file__).parents[1] / "docs"


def test_every_trouble_of_a_case_is_in_the_docs():
    words = (DOCS / "faults.md").read_text(encoding="utf-8") + (DOCS / "diagnosis.md").read_text(encoding="utf-8")
    for case in cases.load():
        assert f"`{case.trouble}`" in words or f"`{case.area}.*`" in words, case.trouble


def test_the_example_is_a_case():
    (text,) = re.findall(r"```toml\n(.*?)```", (DOCS / "diagnosis.md").read_text(encoding="utf-8"), re.DOTALL)
    assert cases.parse(text, "example.toml").trouble == "storage.reservations"
