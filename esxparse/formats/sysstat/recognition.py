"""The tool of sysstat that printed a text."""

from __future__ import annotations

from collections.abc import Sequence

from esxparse.formats.kit import stamps
from esxparse.formats.sysstat.tables import known, layouts
from esxparse.formats.sysstat.text import CPU_HEAD, RESTART, TIME_HEAD, banner, is_number, plain, timed, titles_of


def tool_of(lines: Sequence[str]) -> str | None:
    """Return the tool that printed the lines, by the first titles with a row below them; None without such lines.

    Only a few other lines may come first: quotations in documents come later.
    """
    found: str | None = None
    other = begun = 0
    for line in plain(lines):
        if not line.strip():
            continue
        clock, epoch, rest = timed(line)
        if found and (begun := begun + 1) > _WITHIN:
            return None
        if found and rest[:1] and any(is_number(word) for word in rest.split()):
            return found
        titles = titles_of(rest)
        if clock is not None and len(titles) > 1 and not known(titles[0]) and known(titles[1]):
            # The zone of the clock.
            titles = titles[1:]
        bare = rest.startswith((CPU_HEAD, "Device", "Filesystem:", "Filesystem ", "Tape")) or titles[-1:] == ("Device",)
        if titles and (clock is not None or epoch or bare or TIME_HEAD.match(line)):
            found, begun = _tool(titles, bare), 0
        elif banner(line) is None and not epoch and not stamps.has_date(line) and not RESTART.match(rest):
            other += 1
            if other > _WITHIN:
                return None
    return None


_WITHIN = 3
"""Most other lines before the first titles: a prompt, a warning of ssh."""


def _tool(titles: tuple[str, ...], bare: bool) -> str:
    if "fo/s" in titles:
        return "cifsiostat"
    if titles[0].removesuffix(":") == "Tape":
        return "tapestat"
    if bare:
        return "iostat"
    if {"PID", "TID", "TGID"} & set(titles):
        return "pidstat"
    each = layouts(titles)[0].table.name
    of_mpstat = titles[0] == "NODE" or (titles[0] == "CPU" and each in {"interrupts", "soft_interrupts"})
    irq_before_steal = "%irq" in titles and "%steal" in titles and titles.index("%irq") < titles.index("%steal")
    old = "%irq" in titles and "%steal" not in titles
    return "mpstat" if of_mpstat or irq_before_steal or old or (titles[0] == "CPU" and "intr/s" in titles) else "sar"
