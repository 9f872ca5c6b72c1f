"""lscpu of Linux: text in any language it knows, `-J`, `-e`, `-p`, `-C` (util-linux 2.19 to 2.41).

meta: `threads`, `sockets`, `cores`, `numa_nodes`, `mhz` (from the model's name, else the current, else the highest),
`model`.

Source: lscpu.c of util-linux: up to 2.33 sizes are of one cache (`32K`), later of all (`64 KiB`). Labels by language
are in lscpu.toml, with their sources.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from esxparse.errors import DamagedError
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.numbers import size_bytes, whole
from esxparse.formats.kit.objects import mappings
from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.tables import data, distinct, frames, known, schemas
from esxparse.formats.source import Source
from esxparse.formats.topology.cpuinfo import nominal_mhz
from esxparse.recording import Recording

FORMAT = "lscpu"

_SCHEMAS, _PATTERNS = schemas(__file__), kinds(__file__, "patterns")

_NAMES = {"processor": "cpu", "core": "core", "socket": "socket", "node": "node"}
_MHZ = {"max_mhz": "maxmhz", "min_mhz": "minmhz", "mhz": "mhz"}
_ONLINE = {"yes": True, "y": True, "true": True, "ja": True, "oui": True, "no": False, "n": False, "false": False}


def _has_columns(text: str) -> bool:
    """Return whether a text has the names of lscpu's columns."""
    return bool(
        (("CPU," in text or "the parsable format" in text) and _PATTERNS["parsable"].search(text))
        or (_PATTERNS["extended_names"].search(text) and _PATTERNS["extended"].search(text))
        or ("ONE-SIZE" in text and _PATTERNS["cache_names"].search(text))
    )


def read_columns(lines: Sequence[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]], Notes]:
    """Return processors, caches and notes; names of columns may be repeated with other columns."""
    rows: list[dict[str, Any]] = []
    caches: list[dict[str, Any]] = []
    notes = Notes()
    names: list[str] = []
    sep: str | None = None
    for place, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        if _PATTERNS["parsable"].match(text) and "," in text and " The" not in text:
            names, sep = text.lstrip("# ").strip().lower().split(","), ","
        elif _PATTERNS["extended"].match(text) or _PATTERNS["cache_names"].match(text):
            names, sep = text.lower().split(), None
        elif text.startswith("#"):
            continue
        else:
            cells = [cell.strip() for cell in text.split(sep)]
            if names and len(cells) == len(names) and names[0] == "name":
                caches.append(cache_row(dict(zip(names, cells, strict=True))))
                continue
            one = row(_cells_by_name(names, cells)) if names and len(cells) == len(names) else None
            if one is None or one["processor"] is None:
                notes.skip(text, place, "warning")
            else:
                rows.append(one)
    return rows, caches, notes


def _cells_by_name(names: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    row = dict(zip(names, cells, strict=True))
    if "" in names:
        # -p separates the caches from the rest by a column without a name.
        row["caches"] = ":".join(cells[names.index("") + 1 :])
    return row


def row(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Return one processor from named cells; `-` and empty cells are unknown."""
    caches = cells.get("caches") or next((str(cells[name]) for name in cells if name.startswith("l1")), None)
    online = cells.get("online")
    return {
        **{column: whole(cells.get(name)) for column, name in _NAMES.items()},
        "caches": caches or None,
        "online": online if isinstance(online, bool) else _ONLINE.get(str(online).lower()),
        **{column: _mhz(cells.get(name)) for column, name in _MHZ.items()},
    }


def _mhz(value: object) -> float | None:
    text = str(value).strip()
    return float(text.replace(",", ".")) if _PATTERNS["frequency"].fullmatch(text) else None


def cache_row(cells: Mapping[str, str]) -> dict[str, Any]:
    """Return one cache of `-C`."""
    one, every = size_bytes(cells.get("one-size", "")), size_bytes(cells.get("all-size", ""))
    return {
        "cache": cells.get("name"),
        "one_bytes": one,
        "all_bytes": every,
        "instances": every // one if one and every else None,
    }


def meta(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return facts of the whole from the processors, without offline ones."""
    there = [one for one in rows if one["online"] is not False]
    if not there:
        return {}
    return {
        "threads": len(there),
        "sockets": distinct(one["socket"] for one in there),
        "cores": distinct(None if one["core"] is None else (one["socket"], one["core"]) for one in there),
        "numa_nodes": distinct(one["node"] for one in there),
        "mhz": max((one["max_mhz"] for one in there if one["max_mhz"] is not None), default=None),
    }


_Fact = tuple[str | None, str, str]

_ENGLISH = {
    "Architecture", "Model name", "Thread(s) per core", "Core(s) per socket", "On-line CPU(s) list", "Socket(s)",
}  # fmt: skip
_SURE = 3
_LOOKED_AT = 1000
"""Lines within which its labels must appear; other content of such a file is shorter."""


@cache
def labels() -> Mapping[str, str]:
    """Return the fact for each printed label, in any language."""
    return {label: key for key, names in data(__file__)["labels"].items() for label in names}


def recognise(head: Head) -> bool:
    """Return whether a head has three labels, an architecture with byte order, JSON, or columns of lscpu."""
    begin = head.text
    if _PATTERNS["json"].search(begin) or _has_columns(begin):
        return True
    if " Endian" in begin and _PATTERNS["architecture"].search(begin) and _PATTERNS["endian"].search(begin):
        return True
    known = labels()
    pairs = [line.partition(":") for line in head.lines[:_LOOKED_AT]]
    if len(known.keys() & {label.strip() for label, _, _ in pairs}) < _SURE:
        return False
    return len({known.get(label.strip()) for label, _, value in pairs if value.strip()} - {None}) >= _SURE


def read(source: Source) -> Recording:
    """Read one file."""
    text = source.text().without_cut_line()
    found: list[_Fact] = []
    caches: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    notes = Notes()
    if _PATTERNS["json"].search(text.text):
        content = _loads(text.text, source.name)
        found = _json_facts(content.get("lscpu"))
        texts = ({key: str(value) for key, value in one.items()} for one in mappings(content.get("caches")))
        caches = [cache_row(one) for one in texts]
        rows = [row({str(key): value for key, value in one.items()}) for one in mappings(content.get("cpus"))]
    elif _has_columns(text.text):
        rows, caches, notes = read_columns(text.lines())
    else:
        found, notes = read_labelled(text.lines())
    caches += [one for fact in found if (one := _cache(fact))]
    fact_rows = [(section, labels().get(label, label), value) for section, label, value in found]
    facts, of_caches, processors = (_SCHEMAS[name] for name in ("facts", "caches", "processors"))
    tables = frames({"facts": (fact_rows, facts), "caches": (caches, of_caches), "processors": (rows, processors)})
    if not tables:
        raise DamagedError(f"{source.name}: lscpu describes no processor in it: record lscpu again")
    return Recording(FORMAT, source.name, tables, known(_meta(found, rows)), text.notes + tuple(notes))


def _loads(text: str, name: str) -> dict[str, Any]:
    begin = _PATTERNS["json"].search(text)
    try:
        content, _ = json.JSONDecoder().raw_decode(text[begin.start() if begin else 0 :])
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{name}: the JSON of lscpu is not whole ({error}): record lscpu -J again") from None
    return content if isinstance(content, dict) else {}


def _json_facts(content: object) -> list[_Fact]:
    """Return fields in order; fields inside others have the outer field as section."""
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


def read_labelled(lines: Sequence[str]) -> tuple[list[_Fact], Notes]:
    """Return lines of a label, a colon and a value; indented lines belong to the value or the heading above."""
    found: list[_Fact] = []
    notes = Notes()
    heading: tuple[int, str] | None = None
    for place, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        one = _PATTERNS["labelled"].fullmatch(text)
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
            notes.skip(text, place)
    if found and not _ENGLISH & {label for _, label, _ in found}:
        notes.say("labels are not in English: unknown ones are kept as they are")
    return found, notes


_DEEPEST = 12
"""Largest indent of a heading: a wrapped value is indented to the values."""


def _cache(fact: _Fact) -> dict[str, Any] | None:
    section, label, value = fact
    found = _PATTERNS["cache"].fullmatch(label)
    size = size_bytes(value)
    if found is None or size is None or (section is None and "ache" not in label and "эш" not in label):
        return None
    name = found[1][0].upper() + found[1][1:].lower()
    of_all = "iB" in value or value.endswith("B")
    instances = _PATTERNS["instances"].search(value)
    many = int(instances[1]) if instances else None
    return {
        "cache": name,
        "one_bytes": size // many if of_all and many else None if of_all else size,
        "all_bytes": size if of_all else None,
        "instances": many,
    }


def _number(value: str | None) -> float | None:
    found = re.match(r"\d{1,9}(?:[.,]\d{1,9})?", value or "")
    return float(found[0].replace(",", ".")) if found else None


def _meta(found: Sequence[_Fact], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    values: dict[str, str] = {}
    for _, label, value in found:
        # On machines with two kinds of cores the first value applies to the whole.
        values.setdefault(labels().get(label, label), value)
    sockets, per_socket = whole(values.get("sockets")), whole(values.get("cores_per_socket"))
    model = values.get("model")
    frequencies = (nominal_mhz(model), _number(values.get("mhz")), _number(values.get("max_mhz")))
    machine = {
        "threads": whole(values.get("threads")),
        "sockets": sockets,
        "cores": sockets * per_socket if sockets and per_socket else None,
        "numa_nodes": whole(values.get("numa_nodes")),
        "mhz": next((mhz for mhz in frequencies if mhz), None),
        "model": model,
    }
    return machine | {key: value for key, value in meta(rows).items() if machine.get(key) is None}
