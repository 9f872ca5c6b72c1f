"""A TOML file that somebody wrote, with the lines of its keys and its mistakes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cached_property
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final, NamedTuple

from esxparse import toml
from esxparse.errors import EsxparseError
from esxparse.toml.lines import Place, index, line_of

_POSITION: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


class Problem(NamedTuple):
    """A mistake in a file, with its line."""

    message: str
    line: int


class Problems(list[Problem]):
    """The problems found so far in a file."""

    def __init__(self, document: Document) -> None:
        super().__init__()
        self.document = document

    def add(self, message: str, *place: str | int) -> None:
        """Add a problem with the key at a place."""
        self.append(Problem(message, self.document.line(*place)))

    def first(self, more: str = "") -> EsxparseError:
        """Return the first problem as an error, with file and line, and `more` behind it."""
        return EsxparseError(f"{self.document.name}:{self[0].line}: {self[0].message}{more}")


def read_text(path: Path | Traversable, hint: str = "") -> str:
    """Return the text of a file; `hint` is advice if it cannot be opened.

    Raises EsxparseError: It cannot be read, or is not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise EsxparseError(f"{path} cannot be read: {error.strerror or error}{hint}") from None
    except UnicodeDecodeError:
        raise EsxparseError(f"{path} is not TOML, which is UTF-8; save it as such") from None
    except ValueError as error:
        raise EsxparseError(f"{path} cannot be read: {error}") from None


class Document:
    """The tables of a file, and the lines of their keys.

    `name`: the file, for messages.

    Raises EsxparseError: The text is not TOML, or is nested too deeply.
    """

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        try:
            self.tables = toml.parse(text)
        except tomllib.TOMLDecodeError as error:
            position = _POSITION.search(str(error))
            line = f":{position[1] or len(text.splitlines())}" if position else ""
            raise EsxparseError(f"{name}{line}: not TOML: {error}; correct it") from None
        self._text = text

    @classmethod
    def read(cls, path: Path | Traversable) -> Document:
        """Read a file."""
        return cls(read_text(path), str(path))

    @cached_property
    def _lines(self) -> Mapping[Place, int]:
        return index(self._text)

    def line(self, *place: str | int) -> int:
        """Return the line of the key at a place, or else of the nearest table around it."""
        return line_of(self._lines, *place) or 1

    def error(self, message: str, *place: str | int) -> EsxparseError:
        """Return an error about the key at a place, with file and line."""
        return EsxparseError(f"{self.name}:{self.line(*place)}: {message}")
