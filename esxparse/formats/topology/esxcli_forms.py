"""The forms of esxcli's output: text, and `--formatter=` csv, json, xml and keyvalue."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.text import cells_of

_TOKEN = re.compile(
    r"""
    (?P<blank>\s+|,)
    | (?P<type>\([\w.:\[\]]+\))
    | (?P<name>[A-Za-z_]\w*)\s*=(?!=)
    | (?P<open>[{\[])
    | (?P<close>[}\]])
    | "(?P<string>(?:[^"\\]|\\.)*)"
    | (?P<other>'(?:[^'\\]|\\.)*'|[^\s,{}\[\]()"=]+|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_DEEPEST = 64
UNSET = "<unset>"


def flattened(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield path and value of each field; members of a list are numbered in the path.

    Incomplete text is read as far as possible: paths need no closing brace.

    >>> list(flattened('a = (T) { b = 1, c = (int) [ 7, 8 ], d = "x" }'))
    [(('a', 'b'), '1'), (('a', 'c', '0'), '7'), (('a', 'c', '1'), '8'), (('a', 'd'), 'x')]
    """
    path: list[str] = []
    counts: list[int | None] = []
    name: str | None = None
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup
        if kind == "name":
            name = found["name"]
        elif kind == "open":
            path.append(_step(name, counts))
            counts.append(0 if found[0] == "[" else None)
            name = None
            if len(path) > _DEEPEST:
                return
        elif kind == "close":
            if path:
                path.pop()
                counts.pop()
            name = None
        elif kind in {"string", "other"}:
            value = found["string"] if kind == "string" else found["other"]
            if step := _step(name, counts):
                places = tuple(one for one in (*path, step) if one)
                yield places, _ESCAPED.sub(r"\1", value) if kind == "string" else value
            name = None


def _step(name: str | None, counts: list[int | None]) -> str:
    """Return the name of a value, or its place in its list."""
    if name is not None:
        return name
    place = counts[-1] if counts else None
    if place is None:
        return ""
    counts[-1] = place + 1
    return str(place)


Block = dict[str, str]
Facts = list[tuple[str | None, str, str]]

_CPU = re.compile(r"(?m)^[ \t]*CPU:\d+[ \t]*$")
_CPU_FIELDS = re.compile(r"(?mi)^[ \t]+(?:Package Id|Core Speed|APIC ID|Bus Speed): ")
_MEMORY = re.compile(r"(?m)^[ \t]*Physical Memory: \d+ Bytes[ \t]*$")
_GLOBAL = re.compile(r"(?m)^[ \t]*CPU Packages: \d+[ \t]*$")
_NAMES = ("CoreSpeed", "PhysicalMemory", "CPUPackages", "NUMANodeCount")
_ANY_NAME = "|".join(_NAMES)
_FIELDS = re.compile(rf'"(?:{_ANY_NAME})"')
_CSV = re.compile(rf"(?m)^(?:[A-Za-z0-9]+,)*(?:{_ANY_NAME})(?:,[A-Za-z0-9]*)*,?[ \t]*$")
_KEYVALUE = re.compile(r"(?m)^(\w+)(?:\[\d+\])?\.(\w+)\.(?:string|integer|boolean)=(.*)$")
_KEYVALUE_FIELDS = re.compile(rf"(?m)^\w+(?:\[\d+\])?\.(?:{_ANY_NAME})\.\w+=")
_LINE = re.compile(r"([ \t]*)([A-Za-z][\w /().-]{0,60}?):(?: (.*))?")
_SECTIONS = (
    ("memory", {"physicalmemory", "reliablememory", "numanodecount"}),
    ("cpu", {"cpupackages", "cpucores", "cputhreads", "hvsupport", "hyperthreadingactive"}),
    ("platform", {"uuid", "productname", "vendorname", "serialnumber", "ipmisupported", "biosassettag"}),
)
_CPU_PREFIXES = ("hyperthreading", "hv", "cpu")


def plain(key: str) -> str:
    """Return a name without blanks and case: text and formatters write them differently.

    >>> plain("L2 Cache Size"), plain("L2CacheSize")
    ('l2cachesize', 'l2cachesize')
    """
    return re.sub(r"[^a-z0-9]", "", key.lower())


def recognise(text: str) -> bool:
    """Return whether a text has fields that only these commands print."""
    if any(name in text for name in _NAMES) and (
        _is_json(text) or _is_xml(text) or _CSV.search(text) or _KEYVALUE_FIELDS.search(text)
    ):
        return True
    return bool(
        ("CPU:" in text and _CPU.search(text) and _CPU_FIELDS.search(text))
        or ("Physical Memory: " in text and _MEMORY.search(text))
        or ("CPU Packages: " in text and _GLOBAL.search(text))
    )


def _is_json(text: str) -> bool:
    return text.lstrip("\ufeff \t\r\n")[:1] in {"{", "["} and bool(_FIELDS.search(text))


def _is_xml(text: str) -> bool:
    return "vmware.com/Products/ESX" in text[:1000] and 'field name="' in text and bool(_FIELDS.search(text))


def read_forms(text: str) -> tuple[list[Block], Facts, Notes]:
    """Return processors, facts of the whole, and notes, whatever the form."""
    notes = Notes()
    if _is_json(text):
        return *_sorted(_json(text, notes)), notes
    if _is_xml(text):
        return *_sorted(_xml(text, notes)), notes
    if _KEYVALUE_FIELDS.search(text):
        return *_sorted(_keyvalue(text)), notes
    if _CSV.search(text):
        return *_sorted(_csv(text, notes)), notes
    blocks, facts = _text(text, notes)
    return blocks, facts, notes


def _sorted(structures: Iterable[Mapping[str, str]]) -> tuple[list[Block], Facts]:
    """Return structures with a core speed as processors, and the other ones as facts of the whole."""
    blocks: list[Block] = []
    facts: Facts = []
    for structure in structures:
        names = {plain(key): str(value) for key, value in structure.items()}
        if "corespeed" in names:
            blocks.append(names)
        else:
            facts += [(_section(key), key, str(value)) for key, value in structure.items()]
    return blocks, facts


def _section(key: str) -> str | None:
    name = plain(key)
    found = next((section for section, keys in _SECTIONS if name in keys), None)
    return found or ("cpu" if name.startswith(_CPU_PREFIXES) else None)


def _text(text: str, notes: Notes) -> tuple[list[Block], Facts]:
    blocks: list[Block] = []
    facts: Facts = []
    block: Block | None = None
    for place, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            block = None
        elif _CPU.fullmatch(line):
            block = {"id": line.strip().removeprefix("CPU:")}
            blocks.append(block)
        elif (found := _LINE.fullmatch(line.rstrip())) and (block is not None or _section(found[2])):
            value = (found[3] or "").strip()
            if block is not None and not _section(found[2]):
                block[plain(found[2])] = value
            else:
                block = None
                facts.append((_section(found[2]), found[2].strip(), value))
        elif "esxcli" in line or line.rstrip().endswith("Information"):
            block = None
        else:
            block = None
            notes.skip(line, place)
    short = [one for one in blocks if "corespeed" not in one]
    if short:
        notes.warn(f"{len(short)} processors have no core speed: cut there")
    return blocks, facts


def _json(text: str, notes: Notes) -> list[dict[str, str]]:
    try:
        content: Any = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        notes.warn(f"the JSON is not whole: {error}")
        return []
    every = content if isinstance(content, list) else [content]
    return [{str(key): value for key, value in one.items()} for one in every if isinstance(one, dict)]


def _xml(text: str, notes: Notes) -> list[dict[str, str]]:
    try:
        root = fromstring(text.strip().encode(), forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as error:
        notes.warn(f"the XML is not whole or not safe: {error or type(error).__name__}")
        return []
    structures = (one for one in root.iter() if one.tag.rpartition("}")[2] == "structure")
    fields = ([(one.get("name"), map(str.strip, one.itertext())) for one in structure] for structure in structures)
    return [{name: " ".join(filter(None, texts)) for name, texts in each if name} for each in fields]


def _keyvalue(text: str) -> list[dict[str, str]]:
    """Return the structures of a text: a repeated field begins another structure."""
    structures: list[dict[str, str]] = []
    names: set[str] = set()
    for found in _KEYVALUE.finditer(text):
        if not structures or found[2] in structures[-1] or found[1] not in names:
            structures.append({})
            names = {found[1]}
        structures[-1][found[2]] = found[3].strip()
    return structures


def _csv(text: str, notes: Notes) -> list[dict[str, str]]:
    structures: list[dict[str, str]] = []
    names: list[str] = []
    for place, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        if _CSV.fullmatch(line):
            names = line.strip().split(",")
            continue
        cells = cells_of(line)
        if names and len(cells) == len(names):
            structures.append({name: cell for name, cell in zip(names, cells, strict=True) if name})
        else:
            notes.skip(line, place, "warning")
    return structures
