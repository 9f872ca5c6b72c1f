"""perf stat -x: one line an event, with as many fields as the options request.

    [interval] [summary] [aggregate [cpus]] value [unit] event [cgroup] [+-%] runtime share [metric, unit]...

Lines with only the last two fields are further metrics of the event above, or of the group in the line above.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from esxparse.formats.kit.notes import Notes
from esxparse.formats.perf_stat import line as text_line
from esxparse.formats.perf_stat import rows
from esxparse.formats.perf_stat.numbers import Token, is_nan, reader, style
from esxparse.formats.perf_stat.rows import Fields, Parsed, Row
from esxparse.recording import Severity

_SEPARATORS = (",", ";", "\t", "|", ":", "!", "^", "~", "@", "#", " ")
_LOOKED_AT = 400
_TOO_LONG = 2_000
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?")
_INTERVAL = re.compile(r"\d+\.\d{9}")
_AGGREGATE = re.compile(r"S\d+(?:-[A-Z][A-Za-z]*\d*)*|N\d+|CPU\d+")
_THREAD = re.compile(r"\S.*-\d+")
_TWO_DECIMALS = re.compile(r"[.,]\d\d(?!\d)")
_RAN = re.compile(r"\d[^\S\n]*[,;\t|:!^~@# ][^\S\n]*\d{1,3}[.,]\d\d(?!\d)")
"""A counter's running time, and its share of the time: a line without them may not be an event."""
_PCT = re.compile(r"[\d.,]+%")
_SHARE = re.compile(r"\d{1,3}[.,]\d\d")
_NAME = re.compile(r"[^\d.+-]")
_PERCENT = re.compile(r"\d{1,3}(?:[.,]\d+)?")
_CPUS = re.compile(r"\d{1,6}")
_TWO_DIGITS = re.compile(r"\d\d")
_OPEN_EVENT = re.compile(r"[\w-]+/[^/]*")
_NOT = re.compile(r"<not (\w+)>")
_EVENT = re.compile(r"[A-Za-z_].*")
_UNIT = re.compile(r"[^\d\s][^\s]{0,15}|")


def recognise(text: str) -> bool:
    """Return whether a text has a line with an event, its running time, and its share."""
    begin = text[: _LOOKED_AT * _TOO_LONG]
    return bool(_TWO_DECIMALS.search(begin)) and separator(begin.split("\n")[:_LOOKED_AT]) is not None


def separator(lines: Sequence[str]) -> str | None:
    """Return the separator that makes the most lines events with a share of time; None if none does."""
    lines = [line for line in lines[:_LOOKED_AT] if len(line) < _TOO_LONG and _RAN.search(line)]
    scores = [
        (sum(_is_sure(line, sep) for line in lines if sep in line), -place) for place, sep in enumerate(_SEPARATORS)
    ]
    best, place = max(scores, default=(0, 0))
    return _SEPARATORS[-place] if best else None


def _is_sure(line: str, sep: str) -> bool:
    fields = split(line, sep)
    if fields is None or fields.event is None or fields.share is None or fields.runtime is None:
        return False
    timed = _SHARE.fullmatch(fields.share) is not None and fields.runtime.isdigit()
    return timed and _UNIT.fullmatch(fields.unit or "") is not None


def parse(lines: Sequence[str]) -> Parsed:
    """Return all lines of a file."""
    sep = separator(lines) or ","
    found: list[tuple[int, Fields]] = []
    other: list[tuple[int, str]] = []
    heads: list[tuple[int, Row]] = []
    for place, text in enumerate(lines, start=1):
        fields = split(text, sep) if len(text) < _TOO_LONG else None
        if fields:
            found.append((place, fields))
        elif head := text_line.head(text):
            heads.append((place, head))
        elif text.strip() and not text_line.is_known(text):
            other.append((place, text))
    number_style = style(token for place, fields in found for token in _tokens(place, fields))
    severity: Severity = "warning" if _looks_cut(other, sep) else "info"
    notes = Notes(rows.left_out(other, "are not events and are left out", severity))
    if number_style.decimal == "," and number_style.example:
        notes.say(f"numbers have a decimal comma, as in {number_style.example.text!r}", number_style.example.line)
    if number_style.against and number_style.example:
        note = f"numbers are written in two ways: {number_style.example.text!r} and {number_style.against.text!r}"
        notes.warn(note, number_style.against.line)
    read = reader(number_style.decimal or ".")
    parsed = rows.assemble([(place, rows.line_of(fields, read)) for place, fields in found], heads)
    meta = {"kind": "csv", "separator": sep, "runs": len(parsed.runs), **rows.interval_meta(parsed.events)}
    return replace(parsed, notes=tuple(notes) + parsed.notes, meta=meta)


def _looks_cut(other: Sequence[tuple[int, str]], sep: str) -> bool:
    return any(text.count(sep) > 1 and ("<not" in text or re.search(r"\d{3}|\d[.,]\d\d", text)) for _, text in other)


def _tokens(place: int, fields: Fields) -> Iterator[Token]:
    numbers = (fields.value, fields.stddev, fields.share, *(value for value, _ in fields.metrics))
    yield from (
        Token(one.rstrip("%"), place, grouped=False) for one in numbers if one and _NUMBER.fullmatch(one.rstrip("%"))
    )


def split(text: str, sep: str) -> Fields | None:
    """Return the fields of a line; None if perf did not write it."""
    if sep == " ":
        text = _NOT.sub(r"<not_\1>", text)
    cells = [cell.strip() for cell in text.strip(" \r" if sep != " " else " ").split(sep)]
    elapsed = summary = aggregate = cpus = None
    if len(cells) > 1 and _INTERVAL.fullmatch(cells[0]):
        elapsed, cells = cells[0], cells[1:]
    if len(cells) > 1 and cells[0] == "summary":
        summary, cells = cells[0], cells[1:]
    if len(cells) > 1 and _AGGREGATE.fullmatch(cells[0]):
        aggregate, cells = cells[0], cells[1:]
        if len(cells) > 1 and _CPUS.fullmatch(cells[0]) and (_is_count(cells[1]) or not any(cells[1:3])):
            cpus, cells = cells[0], cells[1:]
    elif len(cells) > 1 and _THREAD.fullmatch(cells[0]) and not _is_count(cells[0]):
        aggregate, cells = cells[0], cells[1:]
    begin = Fields(elapsed=elapsed, aggregate=aggregate, cpus=cpus, summary=bool(summary))
    return _event(begin, cells, sep) or _only_metric(begin, cells)


def _is_count(cell: str) -> bool:
    return bool(_NUMBER.fullmatch(cell)) or rows.state(cell) is not None


def _event(begin: Fields, cells: list[str], sep: str) -> Fields | None:
    """Return the fields from the value on, if there is an event."""
    if len(cells) < 2 or not _is_count(cells[0]):  # noqa: PLR2004  a value and its event
        return None
    if sep == ",":
        cells = _decimals_joined(cells)
    third = cells[2] if len(cells) > 2 else ""  # noqa: PLR2004
    has_unit = bool(_EVENT.fullmatch(third) and _UNIT.fullmatch(cells[1]))
    at = 2 if has_unit else 1
    if not _EVENT.fullmatch(cells[at]):
        return None
    end = _event_end(cells, at)
    after = cells[end:]
    cgroup = stddev = runtime = share = None
    if after and after[0] and not _is_count(after[0]) and not _PCT.fullmatch(after[0]):
        cgroup, after = after[0], after[1:]
    if after and _PCT.fullmatch(after[0]):
        stddev, after = after[0], after[1:]
    if after and after[0].isdigit():
        runtime, share, after = after[0], next(iter(after[1:2]), None), after[2:]
    if not _is_whole(share, after, sep):
        return None
    return begin._replace(
        value=cells[0],
        unit=cells[1] if has_unit else None,
        event=sep.join(cells[at:end]),
        cgroup=cgroup,
        stddev=stddev,
        runtime=runtime,
        share=share if share and _NUMBER.fullmatch(share) else None,
        metrics=_metrics(after, sep),
    )


def _is_whole(share: str | None, after: Sequence[str], sep: str) -> bool:
    """Return whether the cells after the runtime are in their places: if a cell is lost, others move."""
    if share and not _PERCENT.fullmatch(share):
        return False
    pairs = [(after[0], " ".join(after[1:]))] if sep == " " and after else zip_longest(after[::2], after[1::2])
    return all(
        bool(unit and _NAME.match(unit)) if _NUMBER.fullmatch(value) else not value or is_nan(value)
        for value, unit in pairs
    )


def _event_end(cells: list[str], at: int) -> int:
    """Return the cell after the event: cpu/event=0x3c,umask=0x0/ has the separator inside."""
    if not _OPEN_EVENT.fullmatch(cells[at]):
        return at + 1
    closing = next((n for n in range(at + 1, len(cells)) if "/" in cells[n]), at)
    inside = cells[at : closing + 1]
    return closing + 1 if any("=" in cell for cell in inside) and not cells[closing].endswith("/sec") else at + 1


def _decimals_joined(cells: list[str]) -> list[str]:
    """Return cells with decimal commas between commas joined again: 0,58,msec,task-clock,575403,100,00."""
    if len(cells) > 3 and _TWO_DIGITS.fullmatch(cells[1]) and _EVENT.match(cells[3]):  # noqa: PLR2004
        cells = [f"{cells[0]}.{cells[1]}", *cells[2:]]
    for at in range(2, min(len(cells) - 2, 8)):
        # The runtime, in whole nanoseconds, comes before the share.
        if all(cell.isdigit() for cell in cells[at : at + 2]) and _TWO_DIGITS.fullmatch(cells[at + 2]):
            after = cells[at + 3 :]
            if len(after) > 2 and after[0].isdigit() and after[1].isdigit():  # noqa: PLR2004
                after = [f"{after[0]}.{after[1]}", *after[2:]]
            return [*cells[: at + 1], f"{cells[at + 1]}.{cells[at + 2]}", *after]
    return cells


def _metrics(cells: list[str], sep: str) -> tuple[tuple[str, str], ...]:
    if sep == " ":
        cells = [cells[0], " ".join(cells[1:])] if len(cells) > 1 else []
    pairs = zip(cells[::2], cells[1::2], strict=False)
    return tuple((value, unit) for value, unit in pairs if _NUMBER.fullmatch(value) or is_nan(value))


def _only_metric(begin: Fields, cells: list[str]) -> Fields | None:
    """Return a further metric, or the name of a group of metrics: the cells of value and event are empty."""
    if len(cells) < 3 or cells[0]:  # noqa: PLR2004  an empty value, a number and a name
        return None
    *numbers, name = [cell for cell in cells if cell] or [""]
    sound = all(_NUMBER.fullmatch(cell) or is_nan(cell) for cell in numbers)
    if not numbers or _NUMBER.fullmatch(name) or not sound:
        return None
    if len(numbers) > 1 and numbers[0].isdigit():
        begin, numbers = begin._replace(runtime=numbers[0], share=numbers[1]), numbers[2:]
    return begin._replace(metrics=((numbers[-1], name),)) if numbers else begin._replace(group=name)
