"""The page of the documentation on the items of the audit, a part of docs/planners.md."""

from __future__ import annotations

from esxparse.audits.items import Item, items
from esxparse.recording import as_markdown


def page() -> str:
    """Return the items as Markdown."""
    rows = [f"| {' | '.join(map(as_markdown, _cells(one)))} |" for one in items()]
    return "\n".join(["## Items of the audit\n", "| item | of | met if | source |\n|---|---|---|---|", *rows, ""])


def _cells(one: Item) -> tuple[str, ...]:
    wanted = f"{one.least:g} or more" if one.least is not None else " or ".join(one.allowed)
    default = f"; default {one.default}" if one.default is not None else ""
    setting = f" ({one.setting}: {wanted}{default})" if one.setting else ""
    return one.id, one.subject, f"{one.title}{setting}", one.source
