"""`Recording`, the result of every reader."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from esxparse.errors import bounded

if TYPE_CHECKING:
    import polars as pl

Severity = Literal["info", "warning"]

_VMS_SHOWN = 20
"""Most VMs in a summary; `meta["vms"]` has them all."""
_WHOLE_FROM = 100


@dataclass(frozen=True)
class Note:
    """Something odd in a file, and how the reader handled it."""

    message: str
    line: int | None = None
    """Physical line of the file, from 1."""
    column: int | None = None
    """Cell of that line, from 1."""
    severity: Severity = "info"
    """`warning`: something could not be used. `info`: it was repaired, or is only worth knowing."""
    unused: int = field(default=0, compare=False, repr=False)
    """Number of lines that the note reports as left out."""
    rows: int = field(default=0, compare=False, repr=False)
    """Rows of samples missing from the tables for this reason."""
    free_text: frozenset[int] = field(default=frozenset(), compare=False, repr=False)
    """Lines of the file that belong to a value such as a command, whatever they look like."""

    def __str__(self) -> str:
        """Return the note with its place, as the command line prints it."""
        place = ", ".join(
            f"{name} {number}" for name, number in (("line", self.line), ("column", self.column)) if number is not None
        )
        message = printable(bounded(self.message))
        return f"{place}: {message}" if place else message


def _frozen(mapping: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(dict(mapping))


def printable(text: str) -> str:
    r"""Return `text` without control characters: names come from files, and a terminal acts on escape sequences.

    >>> printable("web 01"), printable("web\x1b[31m"), printable("web\u202e10")
    ('web 01', 'web\ufffd[31m', 'web\ufffd10')
    """
    if text.isprintable():
        return text
    return "".join(character if unicodedata.category(character)[0] != "C" else "\ufffd" for character in text)


def as_html(text: str) -> str:
    """Return printable text as HTML."""
    return html.escape(printable(text))


def as_markdown(text: str) -> str:
    """Return printable text as Markdown, with special characters escaped."""
    return "".join(f"\\{one}" if one in "\\`*_[]<>#|" else one for one in printable(text))


def counted(count: int, thing: str) -> str:
    """Return a number of things in words.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def first_few(names: Sequence[str], most: int, *, separator: str = ", ") -> str:
    """Join the first names, and count the others.

    >>> first_few(["a", "b", "c"], 2), first_few(["a", "b"], 2)
    ('a, b and 1 more', 'a, b')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return separator.join(names[:most]) + more


def figure(value: float) -> str:
    """Return a number with three digits, or with all digits before the point.

    >>> figure(0.01234), figure(-1677.4)
    ('0.0123', '-1,677')
    """
    return f"{value:,.0f}" if abs(value) >= _WHOLE_FROM else f"{value:.3g}"


class Notes(tuple[Note, ...]):
    """Notes of a recording, one a line; a notebook shows them as a list."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "no notes"

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{one.severity}: {as_html(str(one))}</li>" for one in self)
        return f"<ul>{lines}</ul>" if self else "no notes"


@dataclass(frozen=True, repr=False, eq=False)
class Recording:
    """One raw recording, read: lazy tables, facts about it, and notes on anything odd.

    Nothing is dropped silently: `notes` lists everything that a reader could not use.
    """

    format: str
    """Name of the format, `esxtop` for instance."""
    source: str
    """The file it was read from."""
    tables: Mapping[str, pl.LazyFrame]
    """Table name to frame, as the file has them; `rec["vcpu"]` is short for `rec.tables["vcpu"]`."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    """Facts about the whole: host, start, end (aware, UTC), interval (seconds), samples ... (see the reader)."""
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", _frozen(self.tables))
        object.__setattr__(self, "meta", _frozen(self.meta))
        object.__setattr__(self, "notes", Notes(self.notes))

    # Attached by `esxparse.attached`: this module must not import their modules.
    __getitem__: ClassVar[Callable[..., pl.LazyFrame]]
    derived: ClassVar[property]
    missing: ClassVar[Callable[..., pl.DataFrame]]
    search: ClassVar[Callable[..., pl.DataFrame]]
    top: ClassVar[Callable[..., pl.DataFrame]]
    findings: ClassVar[Callable[..., Any]]
    plot: ClassVar[Callable[..., Any]]
    explore: ClassVar[Callable[..., Any]]

    def __contains__(self, table: object) -> bool:
        return table in self.tables

    def __iter__(self) -> Any:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def __reduce__(self) -> tuple[type[Recording], tuple[Any, ...]]:
        # Read-only mappings cannot be copied or sent to another process as they are.
        return Recording, (self.format, self.source, dict(self.tables), dict(self.meta), self.notes)

    def losses(self) -> list[str]:
        """Return the notes on rows that are missing from the tables, each with the file's name."""
        return [f"{self.source}: {note}" for note in self.notes if note.rows]

    def facts(self) -> list[tuple[str, str]]:
        """Return the known facts of `meta` as text: name and value."""
        meta = self.meta
        facts = [("file", self.source), ("format", self.format)]
        for key in ("host", "release"):
            if meta.get(key):
                evidence = f" ({meta['release_evidence']})" if key == "release" and meta.get("release_evidence") else ""
                facts.append((key, f"{meta[key]}{evidence}"))
        if meta.get("start") and meta.get("end"):
            facts.append(("time", f"{meta['start']:%Y-%m-%d %H:%M:%S} to {meta['end']:%Y-%m-%d %H:%M:%S} UTC"))
        if meta.get("interval") is not None:
            facts.append(("samples", f"{meta['samples']:,} every {meta['interval']:g} s"))
        elif meta.get("samples") is not None:
            facts.append(("samples", f"{meta['samples']:,}"))
        if meta.get("columns") is not None:
            facts.append(("columns", f"{meta['columns']:,}"))
        if meta.get("pcpus") is not None:
            facts.append(("PCPUs", str(meta["pcpus"])))
        vms = meta.get("vms", [])
        if vms:
            facts.append((counted(len(vms), "VM"), first_few(vms, _VMS_SHOWN)))
        return facts

    def __repr__(self) -> str:
        lines = [f"Recording({self.format})"]
        lines += [f"  {name}: {printable(text)}" for name, text in self.facts() if name != "format"]
        lines += [f"  tables: {', '.join(self.tables)}"]
        lines += [f"  notes: {len(self.notes)}"] if self.notes else []
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        def row(name: str, text: str) -> str:
            cell = "text-align:left;vertical-align:top"
            value = html.escape(printable(text))
            return f'<tr><th style="{cell}">{html.escape(name)}</th><td style="{cell}">{value}</td></tr>'

        sizes = self.meta.get("objects", {})
        tables = ", ".join(f"{name} ({sizes[name]:,})" if name in sizes else name for name in self.tables)
        rows = [row(name, text) for name, text in self.facts()]
        rows.append(row("tables (instances)" if sizes else "tables", tables))
        rows += [row("note", str(note)) for note in self.notes]
        return f"<table>{''.join(rows)}</table>"
