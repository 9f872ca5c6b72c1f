"""Count the numbers of finished pages that tests/page_oracle derives from raw files, and those that it cannot derive.

    python benchmarks/page_numbers.py [TEMPLATE ...]

Renders each page of tests/published/test_page_oracle.py (half an hour) and prints a Markdown table, a row per page and
a sum per template or shape of study. Without a template it writes the section of RESULTS.md. On stderr: what is left
open.
"""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import sections
import test_page_oracle as pages

HEAD = [
    "Numbers of tiles, sentences, tables and charts that `tests/page_oracle` computes from raw files, plainly.",
    "Open: no formula there yet; `tests/page_oracle/listed.toml` has the reason of each. Different: the two disagree.",
    "",
    "| template or shape | page | checked | open | different |",
    "|---|---|---:|---:|---:|",
]


def main(wanted: list[str]) -> None:
    """Print the table of the templates, or of those that are named."""
    counts: dict[str, dict[str, Counter[str]]] = {}
    for name in pages.PAGES:
        # A study counts for its shape.
        (template,) = pages.template_of(name) - {"study"}
        if not wanted or template in wanted:
            with redirect_stdout(StringIO()):
                found, _ = pages.rendered(name)
            one = Counter(checked=found.checked, open=sum(found.open.values()), different=len(found.wrong))
            counts.setdefault(template, {})[name] = one
            places = "".join(f"\n    {count} {place}" for place, count in found.open.most_common())
            wrong = "".join(f"\n    different: {text[:300]}" for text in found.wrong)
            print(f"{name}: {_cells(one)}{places}{wrong}", file=sys.stderr, flush=True)
    lines = [*HEAD]
    for template, each in sorted(counts.items()):
        lines += [f"| {template} | {name} | {_cells(one)} |" for name, one in sorted(each.items())]
        lines.append(f"| **{template}** | {len(each)} pages | {_cells(_sum(each.values()))} |")
    every = [one for each in counts.values() for one in each.values()]
    lines.append(f"| **all** | {len(every)} pages | {_cells(_sum(every))} |")
    print("\n".join(lines))
    if not wanted:
        sections.put("Numbers of finished pages", lines)


def _sum(parts: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return total


def _cells(one: Counter[str]) -> str:
    return " | ".join(f"{one[name]:,}" for name in ("checked", "open", "different"))


if __name__ == "__main__":
    main(sys.argv[1:])
