"""The documentation page on inputs and results of planners: docs/planners.md."""

from __future__ import annotations

from collections.abc import Iterator

from esxparse.plans.forms import NAMES, Form, Input, form
from esxparse.recording import as_markdown

_HEAD = """\
# Planners and audit items

`make written` writes this page from the code; [Plan and audit](plan.md) explains how to use them. An input with a
constant is optional.
"""


def page() -> str:
    """Return the page as Markdown."""
    return "\n".join([_HEAD, *(line for name in NAMES for line in _planner(form(name)))])


def _planner(one: Form) -> Iterator[str]:
    yield f"## {one.name}\n\n{as_markdown(one.question)}\n"
    if one.recordings:
        yield f"`--from` takes {as_markdown(one.recordings)}.\n"
    yield "| input | unit | allowed | meaning |\n|---|---|---|---|"
    for name, it in one.inputs.items():
        cells = (it.unit, it.allowed, _meaning(it))
        yield f"| `--{name.replace('_', '-')}` | {' | '.join(map(as_markdown, cells))} |"
    yield "\n| result | unit |\n|---|---|"
    for result in one.results.values():
        yield f"| {as_markdown(result.meaning)} | {as_markdown(result.unit)} |"
    yield "\nSources:\n"
    yield from (f"- {as_markdown(source)}" for source in one.sources)
    yield ""


def _meaning(one: Input) -> str:
    """Return the meaning of an input, its replacement, and its constants."""
    constants = ", ".join(f"{case} {value:.4g}" for case, value in (one.published or {}).items())
    parts = [
        one.meaning,
        f"in place of --{one.replaces}" if one.replaces else "",
        one.needs,
        f"constant: {one.default} ({one.source})" if one.default is not None else "",
        f"published: {constants}" if constants else "",
        "optional" if one.optional else "",
    ]
    return "; ".join(part for part in parts if part)
