"""lscpu of Linux: text in any language it knows, `-J`, `-e`, `-p`, `-C` (util-linux 2.19 to 2.41).

Tables
------
facts       one row per line or field
    section     str   the heading it stands under, in newer releases
    key         str   what the fact is in any language: `threads`, `sockets`, `max_mhz` ...; else the label as printed
    value       str   as printed
caches      one row per cache
    cache       str   `L1d`, `L1i`, `L2`, `L3`
    one_bytes   i64   bytes of one of them, where printed or told by the instances
    all_bytes   i64   bytes of all together, where printed (2.34 and later)
    instances   i64
processors  one row per logical processor (`-e`, `-p`)
    processor, core, socket, node   i64
    caches      str   numbers of its caches, as printed
    online      bool
    max_mhz, min_mhz, mhz   f64

meta: `threads`, `sockets`, `cores`, `numa_nodes`, `mhz` (of the model's name, else the current, else the highest),
`model`.

Source: lscpu.c of util-linux: up to 2.33 sizes are of one cache (`32K`), later of all (`64 KiB`). Labels by language
are in lscpu_labels.toml, which says where each is from.
"""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import polars as pl

from esxparse.errors import DamagedError
from esxparse.formats.kit.numbers import size_bytes, whole
from esxparse.formats.kit.objects import mappings
from esxparse.formats.kit.tables import known, schema
from esxparse.formats.topology import processors as tables_of
from esxparse.formats.topology.facts import facts, nominal_mhz
from esxparse.recording import Note, Recording

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from esxparse.formats.kit.head import Head
    from esxparse.formats.source import Source

FORMAT = "lscpu"

_Fact = tuple[str | None, str, str]

_LABELLED = re.compile(r"(\s*)([^:\s][^:]{0,60}?)\s*:(?:\s+(.*)|\s*)")
_CACHE = re.compile(r"(?:.*\s)?(L\d[di]?)(?:\s.*)?", re.IGNORECASE)
_INSTANCES = re.compile(r"\((\d{1,7})\s")
_ARCHITECTURE = re.compile(
    r"(?m)^[^:\n]{4,40}:\s+(?:x86_64|i[3-6]86|aarch64|armv\w+|ppc\w*|s390x?|riscv\d+|loongarch\d+|mips\w*|sparc\w*)\s*$"
)
_ENDIAN = re.compile(r"(?m)^[^:\n]{4,40}:\s+(?:Little|Big) Endian\s*$")
_JSON = re.compile(r'\{\s*"(?:lscpu"\s*:|cpus"\s*:\s*\[\s*\{\s*"cpu"\s*:|caches"\s*:\s*\[\s*\{\s*"name"\s*:\s*"L\d)')
_ENGLISH = {
    "Architecture",
    "Model name",
    "Thread(s) per core",
    "Core(s) per socket",
    "On-line CPU(s) list",
    "Socket(s)",
}
_SURE = 3
_CACHES = schema("cache str, one_bytes all_bytes instances i64")


@cache
def labels() -> Mapping[str, str]:
    """Label as printed, in any language, to what the fact is."""
    text = files("esxparse.formats.topology").joinpath("lscpu_labels.toml").read_text("utf-8")
    return {label: key for key, names in tomllib.loads(text).items() for label in names}


def recognise(head: Head) -> bool:
    """Three of its labels, an architecture with its byte order, JSON of it, or its columns."""
    begin = head.text
    if _JSON.search(begin) or tables_of.recognise(begin):
        return True
    if " Endian" in begin and _ARCHITECTURE.search(begin) and _ENDIAN.search(begin):
        return True
    pairs = (line.partition(":") for line in begin[: 1 << 16].split("\n"))
    return len({labels().get(label.strip()) for label, _, value in pairs if value.strip()} - {None}) >= _SURE


def read(source: Source) -> Recording:
    """Reads one file.

    Raises:
        DamagedError: There is nothing of a processor in it.
    """
    text = source.text().without_cut_line()
    found: list[_Fact] = []
    caches: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    notes: list[Note] = []
    if _JSON.search(text.text):
        content = _loads(text.text, source.name)
        found = _json_facts(content.get("lscpu"))
        caches = [_listed_cache(one) for one in mappings(content.get("caches"))]
        rows = [tables_of.row({str(key): value for key, value in one.items()}) for one in mappings(content.get("cpus"))]
    elif tables_of.recognise(text.text):
        rows, caches, notes = tables_of.read_columns(text.lines())
    else:
        found, notes = read_labelled(text.lines())
    caches += [one for fact in found if (one := _cache(fact))]
    tables = {}
    if found:
        tables["facts"] = facts([(section, labels().get(label, label), value) for section, label, value in found])
    if caches:
        tables["caches"] = pl.DataFrame(caches, schema=_CACHES).lazy()
    if rows:
        tables["processors"] = pl.DataFrame(rows, schema=tables_of.SCHEMA).lazy()
    if not tables:
        msg = f"{source.name}: lscpu says nothing of any processor in it: record lscpu again"
        raise DamagedError(msg)
    return Recording(FORMAT, source.name, tables, known(_meta(found, rows)), text.notes + tuple(notes))


def _loads(text: str, name: str) -> dict[str, Any]:
    begin = _JSON.search(text)
    try:
        content, _ = json.JSONDecoder().raw_decode(text[begin.start() if begin else 0 :])
    except (ValueError, RecursionError) as error:
        msg = f"{name}: the JSON of lscpu is not whole ({error}): record lscpu -J again"
        raise DamagedError(msg) from None
    return content if isinstance(content, dict) else {}


def _json_facts(content: object) -> list[_Fact]:
    """Fields in their order; those inside others have them for a section."""
    found: list[_Fact] = []
    waiting: list[tuple[str | None, dict[str, Any]]] = [(None, one) for one in reversed(mappings(content))]
    while waiting:
        section, one = waiting.pop()
        label = str(one.get("field", "")).strip().removesuffix(":").strip()
        data = one.get("data")
        if label and data is not None:
            found.append((section, label, str(data)))
        waiting += [(label, child) for child in reversed(mappings(one.get("children")))]
    return found


def read_labelled(lines: Sequence[str]) -> tuple[list[_Fact], list[Note]]:
    """Lines of a label, a colon and a value; lines further in belong to the value or the heading above."""
    found: list[_Fact] = []
    notes: list[Note] = []
    heading: tuple[int, str] | None = None
    for place, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        one = _LABELLED.fullmatch(text)
        indent = len(text) - len(text.lstrip())
        if one and not (found and indent > _DEEPEST):
            if heading and indent <= heading[0]:
                heading = None
            if one[3] is None or not one[3].strip():
                heading = (indent, one[2].strip())
            else:
                found.append((heading[1] if heading else None, one[2].strip(), one[3].strip()))
        elif found and indent:
            # Long flags are wrapped in a narrow terminal.
            section, label, value = found.pop()
            found.append((section, label, f"{value} {text.strip()}"))
        else:
            notes.append(Note(f"left out: {text.strip()[:60]!r}", line=place))
    if found and not _ENGLISH & {label for _, label, _ in found}:
        notes.append(Note("labels are in another language than English: facts not known there keep their own label"))
    return found, notes


_DEEPEST = 12
"""Headings are at most four columns in; a wrapped value stands under the values."""


def _cache(fact: _Fact) -> dict[str, Any] | None:
    section, label, value = fact
    found = _CACHE.fullmatch(label)
    size = size_bytes(value)
    if found is None or size is None or (section is None and "ache" not in label and "эш" not in label):
        return None
    name = found[1][0].upper() + found[1][1:].lower()
    of_all = "iB" in value or value.endswith("B")
    instances = _INSTANCES.search(value)
    many = int(instances[1]) if instances else None
    return {
        "cache": name,
        "one_bytes": size // many if of_all and many else None if of_all else size,
        "all_bytes": size if of_all else None,
        "instances": many,
    }


def _listed_cache(one: Mapping[str, Any]) -> dict[str, Any]:
    return tables_of.cache_row({str(key): str(value) for key, value in one.items()})


def _number(value: str | None) -> float | None:
    found = re.match(r"\d{1,9}(?:[.,]\d{1,9})?", value or "")
    return float(found[0].replace(",", ".")) if found else None


def _meta(found: Sequence[_Fact], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    said: dict[str, str] = {}
    for _, label, value in found:
        # On machines with two kinds of cores the first is the one for the whole.
        said.setdefault(labels().get(label, label), value)
    sockets, per_socket = whole(said.get("sockets")), whole(said.get("cores_per_socket"))
    model = said.get("model")
    frequencies = (nominal_mhz(model), _number(said.get("mhz")), _number(said.get("max_mhz")))
    said_so = {
        "threads": whole(said.get("threads")),
        "sockets": sockets,
        "cores": sockets * per_socket if sockets and per_socket else None,
        "numa_nodes": whole(said.get("numa_nodes")),
        "mhz": next((mhz for mhz in frequencies if mhz), None),
        "model": model,
    }
    return said_so | {key: value for key, value in tables_of.meta(rows).items() if said_so.get(key) is None}
