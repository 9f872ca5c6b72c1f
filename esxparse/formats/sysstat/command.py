"""A command that pidstat -l prints over several lines, because it prints line ends within arguments as they are.

    20:42:21        0      4880      0.00      0.00      0.00    1  /bin/sh -c set -e
    # a comment of the script

    sleep 300
    20:42:21        0      4881      0.00      0.00      0.00    1  sleep 300

It ends where the next row, line of titles or average begins.
"""

from __future__ import annotations

Line = tuple[int, str]


class Command:
    """The command of the row above, while it may go on."""

    def __init__(self) -> None:
        self.may_go_on = False
        self.rows: list[tuple[str, int]] = []
        """Table and place of the rows that end with it; empty below a line of averages."""
        self.lines: list[Line] = []
        """The lines that it goes on with, without blank ones."""
        self._blank: int | None = None
        """How many of them stand before the first blank line."""
        self._whole: set[tuple[str, ...]] = set()
        """What other commands went on with, to where a row followed."""

    def begin(self, rows: list[tuple[str, int]]) -> None:
        """Take the command at the end of the given rows."""
        self.may_go_on, self.rows, self.lines, self._blank = True, rows, [], None

    def gap(self) -> None:
        """Take in a blank line."""
        self._blank = len(self.lines) if self._blank is None else self._blank

    def end(self, *, within: bool) -> tuple[list[Line], list[Line]]:
        """Return the lines that are of the command, and those below it that are not.

        Where no row follows (`within`), text below a blank line may be somebody else's. It is of the command where
        the same text was before, or where the command went on before the blank line.
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
