"""Verdicts of a report, as lines of its opening and as cards with evidence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from esxparse.reports.blocks import Block, anchor, escape, known_level


@dataclass(frozen=True, slots=True)
class Verdict:
    """One line of a report's opening: severity, time, problem, next step, and the section with details."""

    level: str
    when: str
    text: str
    next: str
    section: str = ""
    sure: tuple[str, str] = ("", "")
    """The confidence in a word, and the tooltip of that word."""


def listed(verdicts: Iterable[Verdict]) -> Block:
    """Return verdicts one below the other."""
    items, lines = [], []
    for one in verdicts:
        level, verdict = known_level(one.level), hinted(one.text, *one.sure)
        link = f' <a href="#{anchor(one.section)}">{escape(one.section)}</a>' if one.section else ""
        items.append(
            f'<li class="ex-{level}"><p><span class="ex-badge ex-{level}">{escape(one.level)}</span> '
            f"<strong>{escape(one.when)}</strong></p><p>{verdict.html}{link}</p>"
            f"<p><strong>Next</strong> {escape(one.next)}</p></li>"
        )
        lines.append(f"{one.when}: {verdict.text}")
    return Block(f'<ol class="ex-verdicts">{"".join(items)}</ol>', "\n".join(lines))


def hinted(text: str, word: str, hint: str) -> Block:
    """Return a sentence followed by a word with a tooltip; the sentence alone without a word."""
    mark = f' <span class="ex-hint" title="{escape(hint)}">{escape(word)}</span>'
    return Block(f"{escape(text)}{mark}", f"{text} ({word})") if word else Block(escape(text), text)


def card(
    title: str, ident: str, text: str, level: str, lines: Iterable[tuple[str, str]], sure: tuple[str, str] = ("", "")
) -> Block:
    """Return a finding: a title with an anchor, its verdict in a box, and points below it, each under a word.

    `ident`: the anchor. `lines`: (word, text), such as ("against", "PCPUs were 20 % busy"). `sure`: the confidence in a
    word, and the tooltip of that word.
    """
    entries = list(lines)
    items = "".join(f"<li><b>{escape(word)}</b> {escape(more)}</li>" for word, more in entries)
    verdict = hinted(text, *sure)
    html = f'<h3 class="ex-card" id="{escape(ident)}">{escape(title)}</h3>'
    html += f'<p class="ex-note ex-{known_level(level)}">{verdict.html}</p><ul class="ex-points">{items}</ul>'
    return Block(html, "\n".join([title, verdict.text, *(f"{word}: {more}" for word, more in entries)]))
