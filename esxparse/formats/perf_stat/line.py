"""One line of perf stat's text, parsed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from esxparse.formats.perf_stat.numbers import NUMBER
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
"""The head over the columns of `-I`."""
_KNOWN = "known"
"""A line of perf's that holds nothing."""

Part = Title | Fields | Seconds | Repetition | datetime | str

_UNITS = frozenset((
    "msec", "usec", "nsec", "ns", "us", "ms", "sec", "s", "Joules", "J", "W", "Watts", "C", "%", "#", "MHz",
    "GHz", "Bytes", "bytes", "B", "KiB", "MiB", "GiB", "KB", "MB", "GB", "MiB/s", "MB/s", "mV", "V", "(null)",
))  # fmt: skip

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_TITLE = re.compile(r"\s*Performance counter stats for\s++(.*?)(?<!\s)(?:\s*+\((\d{1,9}) runs?\))?\s*+:?\s*+$")
_TITLE_BEGIN = re.compile(r"\s*Performance counter stats for\b")
_OPEN = re.compile(r"\s*Performance counter stats for '[^']*+$")
_TITLE_SEARCH = re.compile(r"(?m)^[ \t\ufeff]*Performance counter stats for\b")
_TITLE_END = re.compile(r"'(?:\s*+\(\d++ runs?\))?\s*+:\s*+$")
_TITLE_LINES = 1000
"""Lines of the longest command in a title: scripts are shorter."""
_STARTED = re.compile(r"#\s*started on\s+(\w{3}\s+\w{3}\s+\d+\s+\d+:\d+:\d+\s+\d{4})\s*$")
_INTERVALS = re.compile(r"#\s+time\s.*\bcounts\b")
_INTERVALS_SEARCH = re.compile(r"(?m)^#[ \t]+time[ \t](?>.*?\bcounts\b).*?\bevents?\b")
_KNOWN_LINES = re.compile(
    r"\s*(?:# (?:Table of individual measurements|Final result):|perf version \S+"
    r"|Some events weren't counted\.|\(Intel TopDown|echo [01] > /proc/sys/kernel/nmi_watchdog|perf stat \.\.\."
    r"|The events in group usually have to be from the same PMU\.|Try disabling the NMI watchdog:?.*)"
)
_SECONDS = re.compile(
    rf"\s*({NUMBER})(?:\s*\+-\s*({NUMBER}))?\s+seconds\s+(time elapsed|user|sys)\b"
    rf"\s*(?:\(\s*\+-\s*({NUMBER})\s*%\s*\))?"
)
_REPETITION = re.compile(rf"\s*({NUMBER})\s+\([+-]\s*{NUMBER}\)\s*#")
_STDDEV = re.compile(rf"\(\s*\+-\s*({NUMBER})\s*%\s*\)")
_SHARE = re.compile(rf"[(\[]\s*(?:scaled from\s+)?({NUMBER})\s*%\s*[)\]]\s*$")
_ELAPSED = re.compile(r"\s*(\d+[.,]\d{9})(?=\s)(.*)")
_HASH = re.compile(r"(?:^|\s)#(?:\s|$)")
_AGGREGATE = r"S\d++(?:-[A-Z][A-Za-z]*+\d*+)*|N\d++|CPU\d++"
_COUNT = rf"(?:{NUMBER}|<not \w+>)"
_LEFT = re.compile(
    rf"\s*+(?:(?P<aggregate>{_AGGREGATE})\s++(?:(?P<cpus>\d{{1,6}})\s++(?={_COUNT}\s))?)?(?P<count>{_COUNT})\s++(?P<rest>\S.*)"
)
_THREAD = re.compile(rf"\s*+(?P<aggregate>\S.{{0,64}}?-\d++)\s++(?P<count>{_COUNT})\s++(?P<rest>\S.*)")
_ONLY_AGGREGATE = re.compile(rf"\s*+({_AGGREGATE})?(?:(?<=\s)\d++|\s++\d++)?\s*+")
_GROUP = re.compile(rf"\s*(?:({_AGGREGATE})\s+(?:\d+\s+)?)?([A-Za-z]\S*(?: \(\w+\))?)\s*")
_NO_EVENT = re.compile(r"[+-]*(?!0x)[\d.,(]|\+-|seconds\b|#")
_DURATIONS = ("seconds time elapsed", "seconds user", "seconds sys")
_EVENT = re.compile(r"[-:/._]|^(?:cycles|instructions|branches|faults|cs|migrations|slots|r[0-9a-f]{2,})$")
_METRIC = re.compile(rf"({NUMBER}|[+-]?nan|[+-]?inf)(%?)\s*(.*)", re.IGNORECASE)


def recognise(text: str) -> bool:
    """A title, or the head over the columns of `-I`."""
    has_title = "Performance counter stats for" in text and _TITLE_SEARCH.search(text)
    return bool(has_title or ("counts" in text and _INTERVALS_SEARCH.search(text)))


def join_titles(lines: Sequence[str]) -> tuple[list[str], list[int]]:
    """Join the title of a command of several lines into one.

    Returns the lines, with blank ones in the place of the others, and the numbers of the joined lines.
    """
    whole = list(lines)
    joined: list[int] = []
    for place, text in enumerate(lines):
        end = _title_end(lines, place) if _TITLE_BEGIN.match(text) else place
        if end > place:
            whole[place : end + 1] = [" ".join(lines[place : end + 1]), *[""] * (end - place)]
            joined += range(place + 1, end + 2)
    return whole, joined


def _title_end(lines: Sequence[str], place: int) -> int:
    """The place of the last line of a title; its first if no line ends it."""
    if _TITLE_END.search(lines[place]) or (lines[place].rstrip().endswith(":") and not _OPEN.match(lines[place])):
        return place
    for end in range(place + 1, min(place + _TITLE_LINES, len(lines))):
        if _TITLE_BEGIN.match(lines[end]):
            break
        if _TITLE_END.search(lines[end]):
            return end
    return place


def read(text: str) -> Part | None:
    """What a line says; None where it is not perf's."""
    text = _COLOUR.sub("", text) if "\x1b" in text else text
    if title := _TITLE.match(text):
        return Title(_unquoted(title[1]), int(title[2]) if title[2] else None)
    if text.startswith("#") and (kind := _comment(text)) is not None:
        return kind
    if found := _SECONDS.match(text):
        return Seconds(found[3].removeprefix("time "), found[1], found[2], found[4])
    if found := _REPETITION.match(text):
        return Repetition(found[1])
    if _KNOWN_LINES.match(text):
        return _KNOWN
    return _event_or_metric(text)


def head(text: str) -> Row:
    """What a line says of the run below it: its command, or `# started on Tue Jun 16 21:38:49 2026` (local clock)."""
    if name := command(text):
        return {"command": name}
    found = _comment(text) if text.startswith("#") else None
    return {"started_local": found} if isinstance(found, datetime) else {}


def is_known(text: str) -> bool:
    """Whether a line is perf's but has no number: advice, headings."""
    return bool(_KNOWN_LINES.match(text) or _INTERVALS.match(text))


def _unquoted(title: str) -> str:
    return title[1:-1] if len(title) > 1 and title[0] == title[-1] == "'" else title.removeprefix("'")


def _comment(text: str) -> Part | None:
    if _INTERVALS.match(text):
        return INTERVALS
    if started := _STARTED.match(text):
        try:
            return datetime.strptime(" ".join(started[1].split()), "%a %b %d %H:%M:%S %Y")  # noqa: DTZ007  no zone
        except ValueError:
            return None
    return None


def _event_or_metric(text: str) -> Part | None:
    if stddev := _STDDEV.search(text):
        text = text[: stddev.start()] + text[stddev.end() :]
    if share := _SHARE.search(text):
        text = text[: share.start()]
    # The unit of AMD's Data Fabric and others may be `#`: never first on the line's right side.
    hash_ = _HASH.search(text)
    left, right = (text[: hash_.start()], text[hash_.end() :]) if hash_ else (text, "")
    if elapsed := _ELAPSED.match(left):
        left = elapsed[2]
    metric = _METRIC.fullmatch(right.strip())
    told = Fields(
        elapsed=elapsed[1] if elapsed else None,
        stddev=stddev[1] if stddev else None,
        share=share[1] if share else None,
        metrics=((metric[1].strip(), metric[3]),) if metric else (),
    )
    if found := _LEFT.fullmatch(left) or _THREAD.fullmatch(left):
        unit, event, cgroup = _named(found["rest"].split())
        if not found["rest"].replace("\t", " ").isprintable() or _is_no_event(found["rest"], unit, event):
            return None
        cpus = found["cpus"] if "cpus" in found.re.groupindex else None
        told = told._replace(aggregate=found["aggregate"], cpus=cpus, cgroup=cgroup)
        return told._replace(value=found["count"], unit=unit, event=event)
    whose = _ONLY_AGGREGATE.fullmatch(left) or _GROUP.fullmatch(left)
    if metric is None or whose is None:
        return None
    return told._replace(group=whose[2] if whose.re is _GROUP else None, aggregate=whose[1])


def _is_no_event(rest: str, unit: str | None, event: str) -> bool:
    """Whether what stands behind a number is what is left of how long it took, or another number."""
    cut = " ".join(rest.split())
    return (
        any(duration.startswith(cut) for duration in _DURATIONS)
        or bool(_NO_EVENT.match(event))
        or bool(unit and unit not in _UNITS and _NO_EVENT.match(unit))
    )


def _named(words: list[str]) -> tuple[str | None, str, str | None]:
    """Unit, event and cgroup: the event alone is always there."""
    # A PMU in brackets belongs to its event (--no-merge); old releases have the unit in parentheses behind it.
    at = next((place for place, word in enumerate(words) if place and word[0] + word[-1] in {"[]", "()"}), None)
    if at is not None and words[at][0] == "[":
        words = [*words[: at - 1], f"{words[at - 1]} {words[at]}", *words[at + 1 :]]
    elif at is not None and words[at][1:-1] in _UNITS:
        words = [words[at][1:-1], *words[:at], *words[at + 1 :]]
    if len(words) == 1:
        return None, words[0], None
    if words[0] in _UNITS or not _EVENT.search(words[0]):
        return words[0], words[1], " ".join(words[2:]) or None
    return None, words[0], " ".join(words[1:])
