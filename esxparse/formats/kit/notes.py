"""Notes on a file, collected while it is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from esxparse.recording import Note, Severity, counted, printable

_EXCERPT_LENGTH = 80
_EXCERPT = 60


class Notes(list[Note]):
    """Notes in their order."""

    def say(self, message: str, line: int | None = None, column: int | None = None) -> None:
        """Add a note."""
        self.append(Note(message, line, column))

    def warn(self, message: str, line: int | None = None, column: int | None = None) -> None:
        """Add a warning about unusable data."""
        self.append(Note(message, line, column, "warning"))

    def skip(self, text: str, line: int, severity: Severity = "info") -> None:
        """Add a note on a skipped line."""
        self.append(Note(f"left out: {text.strip()[:_EXCERPT]!r}", line, severity=severity, unused=1))


class Counted:
    """Repeated messages, with one note each at the first of their lines."""

    def __init__(self) -> None:
        self.lines: dict[str, list[int]] = {}
        """The lines of each message."""
        self._unused: set[str] = set()

    def __iter__(self) -> Iterator[str]:
        return iter(self.lines)

    def __bool__(self) -> bool:
        return bool(self.lines)

    def say(self, message: str, line: int) -> None:
        """Add a message about a line."""
        self.lines.setdefault(message, []).append(line)

    def skip(self, message: str, line: int) -> None:
        """Add a message about a skipped line."""
        self._unused.add(message)
        self.say(message, line)

    def notes(self, severity: Severity = "info") -> list[Note]:
        """Return the notes, each with its count."""
        return [
            Note(
                f"{message} ({len(lines):,} times)" if len(lines) > 1 else message,
                lines[0],
                severity=severity,
                unused=len(lines) if message in self._unused else 0,
            )
            for message, lines in self.lines.items()
        ]


def excerpt(text: str) -> str:
    """Return a part of a file for a message: one line of printable characters."""
    line = " ".join(text.split())
    return printable(line if len(line) <= _EXCERPT_LENGTH else line[: _EXCERPT_LENGTH - 3] + "...")


def reason(notes: Sequence[Note]) -> str:
    """Return the first note in brackets, for a message that nothing could be read; empty without notes."""
    return f" ({notes[0]})" if notes else ""


def strange(lines: Iterable[tuple[int, str]], what: str) -> Iterator[Note]:
    """Yield a warning about unknown lines, with the first of them and their count."""
    if there := list(lines):
        line, text = there[0]
        more = f" ({len(there):,} such lines)" if len(there) > 1 else ""
        yield Note(f"{what}: {text.strip()[:60]!r}{more}", line, severity="warning", unused=len(there))


def left_out(lines: Sequence[tuple[int, str]], severity: Severity = "info") -> list[Note]:
    """Return one note on unknown lines, with their count and the first of them."""
    if not lines:
        return []
    many = counted(len(lines), "line")
    message = f"{many} not part of a result, left out: {excerpt(lines[0][1])!r}"
    return [Note(message, lines[0][0], severity=severity, unused=len(lines))]
