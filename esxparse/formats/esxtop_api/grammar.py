"""The two replies of a host's Esxtop service, taken apart: `CounterInfo` and `FetchStats`.

`CounterInfo` has a line for each type of object, `|Type|Name,U32|Name,STR|...|`: the fields in the order of the values.
`FetchStats` has `==NUM-OF-OBJ==`, lines of the topology (`|Type|Property,value|...|`, parents before their children),
`==COUNTER-VALUE==`, and lines of values (`|Type|value|...|`). Nothing escapes a `|` in a name: a line with more or
fewer values than fields is left out.

Source: VMware's sample simplecommand-esxtop.py, and lines of ESXi 6.x in comments of NUMAlocality-esxtop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

import polars as pl

from esxparse.formats.kit.notes import Counted, Notes, excerpt

Fields = tuple[tuple[str, str], ...]
"""Name and type of each field of an object, in the order of the values."""
Info = Mapping[str, Fields]
"""The fields of each type of object."""

TOPOLOGY: Final = "==NUM-OF-OBJ=="
VALUES: Final = "==COUNTER-VALUE=="
SAMPLE: Final = "_sample"
LINE: Final = "_line"
TEXTS: Final = frozenset({"STR", "CSTR"})
NUMBERS: Final = frozenset({"U8", "U16", "U32", "U64", "S8", "S16", "S32", "S64", "B"})

_TOGETHER: Final = 16 << 20
"""Characters of values that are read at once."""

INFO_LINE: Final = re.compile(r"\|(?P<type>\w+)\|(?P<fields>(?:\w+,\w+\|)+)")


def counter_info(text: str) -> dict[str, Fields]:
    r"""Return the fields of each type of object, from a reply of `CounterInfo`; other lines do not count.

    >>> counter_info("|PCPU|NumOfLCPUs,U32|NumOfCores,U32|\n")
    {'PCPU': (('NumOfLCPUs', 'U32'), ('NumOfCores', 'U32'))}
    """
    found: dict[str, Fields] = {}
    for line in text.split("\n"):
        if match := INFO_LINE.fullmatch(line.strip()):
            named: dict[str, str] = {}
            for one in match["fields"].removesuffix("|").split("|"):
                name, _, kind = one.partition(",")
                named[_unused(name, named)] = kind
            found[match["type"]] = tuple(named.items())
    return found


def _unused(name: str, taken: Mapping[str, str]) -> str:
    """Return the name, with a number behind it if another field has it."""
    number, unused = 1, name
    while unused in taken:
        number += 1
        unused = f"{name}_{number}"
    return unused


@dataclass(frozen=True)
class _Values:
    """The values of a reply, before they become columns: its sample, the line it begins in, and its fields."""

    sample: int
    text: str
    info: Info
    line: int
    own_lines: bool
    """Whether each of its lines is a line of the file, which counts as unused if it is left out."""


@dataclass
class Objects:
    """The objects of all samples, collected reply by reply, and the groups and ports that the topology lists.

    `worlds` has `_topology`, `world_id`, `group_id`; `ports` has `_topology`, `port_id`, `switch`. `topology` is the
    number of the topology of each sample: it is usually the same one.
    """

    notes: Notes
    _waiting: list[_Values] = field(default_factory=list)
    _frames: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    _topologies: dict[str, int] = field(default_factory=dict)
    _worlds: list[tuple[int, str, str]] = field(default_factory=list)
    _ports: list[tuple[int, str, str]] = field(default_factory=list)
    topology: list[int] = field(default_factory=list)
    _odd: Counted = field(default_factory=Counted)
    _torn: Counted = field(default_factory=Counted)

    def add(self, sample: int, reply: str, info: Info, line: int, *, own_lines: bool) -> None:
        """Add the objects of a reply, the next sample; `own_lines`: its lines are lines of the file, from `line` on."""
        before, _, after = reply.partition(VALUES)
        topology = before.partition(TOPOLOGY)[2]
        self.topology.append(self._listed(topology))
        first = line + before.count("\n") if own_lines else line
        self._waiting.append(_Values(sample, after, info, first, own_lines))
        if sum(len(one.text) for one in self._waiting) >= _TOGETHER:
            self._read_waiting()

    def _read_waiting(self) -> None:
        """Make frames of the values that wait: of many replies at once, which takes a fifth of the time."""
        for _, together in groupby(self._waiting, lambda one: (id(one.info), one.own_lines)):
            self._read(list(together))
        self._waiting = []

    def _read(self, together: list[_Values]) -> None:
        info, own = together[0].info, together[0].own_lines
        rows = [(one.sample, one.line, one.text) for one in together]
        schema = {SAMPLE: pl.Int64(), LINE: pl.Int64(), "text": pl.String()}
        lines = pl.DataFrame(rows, schema=schema, orient="row").with_columns(pl.col("text").str.split("\n"))
        place = pl.int_ranges(0, pl.col("text").list.len())
        lines = lines.with_columns(place=place if own else place * 0).explode("text", "place")
        lines = lines.select(SAMPLE, pl.col(LINE) + pl.col("place"), pl.col("text").str.strip_suffix("\r"))
        lines = lines.filter(pl.col("text").str.strip_chars() != "")
        lines = lines.with_columns(
            type=pl.col("text").str.extract(r"^\|([^|]*)\|", 1),
            count=pl.col("text").str.count_matches("|", literal=True).cast(pl.Int64)
            - pl.when(pl.col("text").str.ends_with("|")).then(2).otherwise(1),
            whole=pl.col("text").str.ends_with("|"),
        )
        for (name,), mine in lines.partition_by("type", as_dict=True, maintain_order=True).items():
            if not isinstance(name, str):
                self._leave_out(self._odd, "a line that is no counter value, left out", mine, own=own)
            elif (fields := info.get(name)) is None:
                what = f"values of {excerpt(name)}, which CounterInfo does not list: left out"
                self._leave_out(self._torn, what, mine, own=own)
            else:
                fits = pl.col("whole") & (pl.col("count") == len(fields))
                for (count,), torn in mine.filter(~fits).partition_by("count", as_dict=True).items():
                    what = f"a line of {name} has {count:,} values for {len(fields):,} fields"
                    self._leave_out(self._torn, f"{what} (cut, or a name with a | in it): left out", torn, own=own)
                kept = mine.filter(fits)
                if kept.height:
                    self._frames.setdefault(name, []).append(self._frame(name, fields, kept))

    def _leave_out(self, notes: Counted, message: str, lines: pl.DataFrame, *, own: bool) -> None:
        for line in lines[LINE]:
            (notes.skip if own else notes.say)(message, line)

    def _listed(self, text: str) -> int:
        """Return the number of a topology, and keep its worlds and ports if it is new."""
        number = self._topologies.setdefault(text, len(self._topologies))
        if number < len(self._topologies) - 1 or number in self.topology:
            return number
        group = ""
        for name, values in _properties(text):
            if name == "SchedGroup":
                group = values.get("GroupID", "")
            elif name == "CPUClient":
                self._worlds.append((number, values.get("CPUClientID", ""), group))
            elif name == "NetPort":
                self._ports.append((number, values.get("PortID", ""), values.get("PortsetName", "")))
        return number

    def worlds(self) -> pl.DataFrame:
        """Return the group of each world."""
        names = ("_topology", "world_id", "group_id")
        made = pl.DataFrame(self._worlds, schema=dict.fromkeys(names, pl.String), orient="row", strict=False)
        return made.with_columns(pl.col(*names).cast(pl.Int64, strict=False)).unique(names[:2], maintain_order=True)

    def ports(self) -> pl.DataFrame:
        """Return the switch of each port."""
        names = ("_topology", "port_id", "switch")
        made = pl.DataFrame(self._ports, schema=dict.fromkeys(names, pl.String), orient="row", strict=False)
        made = made.with_columns(pl.col(*names[:2]).cast(pl.Int64, strict=False))
        return made.unique(names[:2], maintain_order=True)

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return the objects of each type: `_sample`, `_line` and the fields; and note what could not be used."""
        self._read_waiting()
        self.notes += [*self._torn.notes("warning"), *self._odd.notes()]
        return {name: pl.concat(parts, how="diagonal_relaxed", rechunk=True) for name, parts in self._frames.items()}

    def _frame(self, name: str, fields: Fields, rows: pl.DataFrame) -> pl.DataFrame:
        cells = rows["text"].str.slice(len(name) + 2).str.strip_suffix("|").str.split("|")
        columns = [
            self._column(name, cells.list.get(place).alias(field_name), kind, rows[LINE])
            for place, (field_name, kind) in enumerate(fields)
        ]
        return pl.DataFrame([rows[SAMPLE], rows[LINE], *columns])

    def _column(self, name: str, texts: pl.Series, kind: str, lines: pl.Series) -> pl.Series:
        if kind in TEXTS:
            return texts
        numbers = texts.cast(pl.Int64, strict=False)
        odd = (numbers.is_null() & (texts != "")).arg_true()
        if not len(odd):
            return numbers
        if kind not in NUMBERS:
            # A type that no source describes: numbers if all of it are, else texts.
            return texts
        count, first = len(odd), int(odd[0])
        what = f"{name}.{texts.name} is no whole number of 64 bits in {count:,} of {len(texts):,} values, such as "
        self.notes.warn(f"{what}{excerpt(texts[first])!r}: left out", lines[first])
        return numbers


def _properties(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield type and properties of each line of a topology; values may hold commas."""
    for line in text.split("\n"):
        name, *pairs = line.strip().removeprefix("|").removesuffix("|").split("|")
        yield name, {key: value for key, _, value in (pair.partition(",") for pair in pairs)}
