"""One line of perf stat's text, parsed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.tables import data
from esxparse.formats.perf_stat.rows import Fields, Row, command


class Title(NamedTuple):
    """`Performance counter stats for 'sleep 1' (3 runs):`."""

    command: str
    repetitions: int | None


class Seconds(NamedTuple):
    """`1.75 +- 0.01 seconds time elapsed ( +- 0.74% )`, or `user`, `sys`."""

    what: str
    value: str
    stddev: str | None
    pct: str | None


class Repetition(NamedTuple):
    """A line of `--table`."""

    elapsed: str


INTERVALS = "intervals"
"""The head of the columns of `-I`."""
_KNOWN = "known"
"""A line of perf without data."""

Part = Title | Fields | Seconds | Repetition | datetime | str

_UNITS, _LINES = frozenset(data(__file__)["units"].split()), kinds(__file__)
_TITLE_LINES = 1000
"""Most lines of a command in a title: scripts are shorter."""
_DURATIONS = ("seconds time elapsed", "seconds user", "seconds sys")


def recognise(text: str) -> bool:
    """Return whether a text has a title, or the head of the columns of `-I`."""
    has_title = "Performance counter stats for" in text and _LINES["title_search"].search(text)
    return bool(has_title or ("counts" in text and _LINES["intervals_search"].search(text)))


def join_titles(lines: Sequence[str]) -> tuple[list[str], list[int]]:
    """Join the title of a command of several lines into one.

    Returns the lines, with blank ones in place of the others, and the numbers of the joined lines.
    """
    whole = list(lines)
    joined: list[int] = []
    for place, text in enumerate(lines):
        end = _title_end(lines, place) if _LINES["title_begin"].match(text) else place
        if end > place:
            whole[place : end + 1] = [" ".join(lines[place : end + 1]), *[""] * (end - place)]
            joined += range(place + 1, end + 2)
    return whole, joined


def _title_end(lines: Sequence[str], place: int) -> int:
    """Return the place of the last line of a title; the first if no line ends it."""
    if _LINES["title_end"].search(lines[place]) or (
        lines[place].rstrip().endswith(":") and not _LINES["open"].match(lines[place])
    ):
        return place
    for end in range(place + 1, min(place + _TITLE_LINES, len(lines))):
        if _LINES["title_begin"].match(lines[end]):
            break
        if _LINES["title_end"].search(lines[end]):
            return end
    return place


def read(text: str) -> Part | None:
    """Return the content of a line; None if it is not perf's."""
    text = _LINES["colour"].sub("", text) if "\x1b" in text else text
    if title := _LINES["title"].match(text):
        return Title(_unquoted(title[1]), int(title[2]) if title[2] else None)
    if text.startswith("#") and (kind := _comment(text)) is not None:
        return kind
    if found := _LINES["seconds"].match(text):
        return Seconds(found[3].removeprefix("time "), found[1], found[2], found[4])
    if found := _LINES["repetition"].match(text):
        return Repetition(found[1])
    if _LINES["known_lines"].match(text):
        return _KNOWN
    return _event_or_metric(text)


def head(text: str) -> Row:
    """Return facts of the run below: its command, or `# started on Tue Jun 16 21:38:49 2026` (local clock)."""
    if name := command(text):
        return {"command": name}
    found = _comment(text) if text.startswith("#") else None
    return {"started_local": found} if isinstance(found, datetime) else {}


def is_known(text: str) -> bool:
    """Return whether a line is perf's but has no number: advice, headings."""
    return bool(_LINES["known_lines"].match(text) or _LINES["intervals"].match(text))


def _unquoted(title: str) -> str:
    return title[1:-1] if len(title) > 1 and title[0] == title[-1] == "'" else title.removeprefix("'")


def _comment(text: str) -> Part | None:
    if _LINES["intervals"].match(text):
        return INTERVALS
    if started := _LINES["started"].match(text):
        try:
            return datetime.strptime(" ".join(started[1].split()), "%a %b %d %H:%M:%S %Y")  # noqa: DTZ007  no zone
        except ValueError:
            return None
    return None


def _event_or_metric(text: str) -> Part | None:
    if stddev := _LINES["stddev"].search(text):
        text = text[: stddev.start()] + text[stddev.end() :]
    if share := _LINES["share"].search(text):
        text = text[: share.start()]
    # The unit of AMD's Data Fabric and others may be `#`, but never first on the line's right side.
    hash_ = _LINES["hash"].search(text)
    left, right = (text[: hash_.start()], text[hash_.end() :]) if hash_ else (text, "")
    if elapsed := _LINES["elapsed"].match(left):
        left = elapsed[2]
    metric = _LINES["metric"].fullmatch(right.strip())
    fields = Fields(
        elapsed=elapsed[1] if elapsed else None,
        stddev=stddev[1] if stddev else None,
        share=share[1] if share else None,
        metrics=((metric[1].strip(), metric[3]),) if metric else (),
    )
    if found := _LINES["left"].fullmatch(left) or _LINES["thread"].fullmatch(left):
        unit, event, cgroup = _unit_event_cgroup(found["rest"].split())
        if not found["rest"].replace("\t", " ").isprintable() or _is_no_event(found["rest"], unit, event):
            return None
        cpus = found["cpus"] if "cpus" in found.re.groupindex else None
        fields = fields._replace(aggregate=found["aggregate"], cpus=cpus, cgroup=cgroup)
        return fields._replace(value=found["count"], unit=unit, event=event)
    whose = _LINES["only_aggregate"].fullmatch(left) or _LINES["group"].fullmatch(left)
    if metric is None or whose is None:
        return None
    return fields._replace(group=whose[2] if whose.re is _LINES["group"] else None, aggregate=whose[1])


def _is_no_event(rest: str, unit: str | None, event: str) -> bool:
    """Return whether the text after a number is the rest of a duration, or another number."""
    cut = " ".join(rest.split())
    return (
        any(duration.startswith(cut) for duration in _DURATIONS)
        or bool(_LINES["no_event"].match(event))
        or bool(unit and unit not in _UNITS and _LINES["no_event"].match(unit))
    )


def _unit_event_cgroup(words: list[str]) -> tuple[str | None, str, str | None]:
    """Return unit, event and cgroup; only the event is always present."""
    # A PMU in brackets belongs to its event (--no-merge); old releases have the unit in parentheses after it.
    at = next((place for place, word in enumerate(words) if place and word[0] + word[-1] in {"[]", "()"}), None)
    if at is not None and words[at][0] == "[":
        words = [*words[: at - 1], f"{words[at - 1]} {words[at]}", *words[at + 1 :]]
    elif at is not None and words[at][1:-1] in _UNITS:
        words = [words[at][1:-1], *words[:at], *words[at + 1 :]]
    if len(words) == 1:
        return None, words[0], None
    if words[0] in _UNITS or not _LINES["event"].search(words[0]):
        return words[0], words[1], " ".join(words[2:]) or None
    return None, words[0], " ".join(words[1:])
