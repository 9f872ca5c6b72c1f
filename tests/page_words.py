"""Words that no page should have: minus zero, a span from a number to itself, `1 runs`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from page_oracle.page import Page

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
    # A job may be named after what it does: "write write".
    "a doubled word": re.compile(r"\b(?!read|write)([A-Za-z]{2,}) \1\b", re.IGNORECASE),
    "no number": re.compile(r"\b(?:nan|None|undefined)\b|(?<!\w)\? ?(?:%|\.|W\b|ms\b)"),
    "an empty part": re.compile(r"\(\s*\)|; ?;|: ?\.(?!\d)|\{\w*\}"),
}


def words(made: Page) -> list[str]:
    """The texts of a page: sentences, tiles, cells of tables, and titles and labels of charts."""
    found = [" ".join(one) for one in (*made.tiles, *made.facts)]
    found += [text for _, kind, text in made.texts if kind not in {"pre", "ex-pre"}]
    for one in made.tables:
        found += [one.caption, *one.heads, *(cell for row in one.rows for cell in row)]
    for one in made.charts:
        found += [one.title, one.subtitle]
        found += re.findall(r'"(?:title|text|label|state|name)": "([^"]*)"', json.dumps(one.spec, ensure_ascii=False))
    return found


def wrong_words(found: Iterable[str]) -> list[tuple[str, str]]:
    """What is wrong with texts: the rule, and the text."""
    return [(what, text) for text in found for what, one in WRONG.items() if one.search(text)]
