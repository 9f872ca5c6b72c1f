"""A command of several lines: pidstat -l prints line ends within arguments unchanged.

    20:42:21        0      4880      0.00      0.00      0.00    1  /bin/sh -c set -e
    # a comment of the script

    sleep 300
    20:42:21        0      4881      0.00      0.00      0.00    1  sleep 300

It ends at the next row, line of titles or average.
"""

from __future__ import annotations

Line = tuple[int, str]


class Command:
    """The command of the row above, while it may continue."""

    def __init__(self) -> None:
        self.may_go_on = False
        self.rows: list[tuple[str, int]] = []
        """Table and place of the rows that end with it; empty below a line of averages."""
        self.lines: list[Line] = []
        """Its further lines, without blank ones."""
        self._blank: int | None = None
        """How many of them come before the first blank line."""
        self._whole: set[tuple[str, ...]] = set()
        """Further lines of other commands, each complete because a row followed."""

    def begin(self, rows: list[tuple[str, int]]) -> None:
        """Take the command at the end of the given rows."""
        self.may_go_on, self.rows, self.lines, self._blank = True, rows, [], None

    def gap(self) -> None:
        """Process a blank line."""
        self._blank = len(self.lines) if self._blank is None else self._blank

    def end(self, *, within: bool) -> tuple[list[Line], list[Line]]:
        """Return the lines of the command, and other lines below it.

        If no row follows (not `within`), text below a blank line may be from another program. It belongs to the command
        if the same text occurred before, or if the command continued before the blank line.
        """
        kept = len(self.lines)
        texts = tuple(line for _, line in self.lines)
        if within:
            self._whole.add(texts)
        else:
            known = max((len(whole) for whole in self._whole if texts[: len(whole)] == whole), default=0)
            kept = known or (0 if self._blank == 0 else kept)
        found = self.lines[:kept], self.lines[kept:]
        self.may_go_on, self.lines, self._blank = False, [], None
        return found
