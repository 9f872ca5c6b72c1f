"""Hardware of an ESXi host, as esxcli and vim-cmd print it (ESXi 5.0 to 9.0).

`esxcli hardware cpu list`, `cpu global get`, `memory get`, `platform get`, and `vim-cmd hostsvc/hosthardware`, one or
several in a file.

meta: `sockets`, `cores`, `threads`, `numa_nodes`, `mhz`, `memory_bytes`, `model` (of vim-cmd), if the commands
in the file show them.

Source: captures of cpu list (5.x, 6.5, 9.0), memory get and cpu global get; `--formatter=xml` from the schema of one
capture; csv, json and keyvalue are assumed to write field names as XML does, without blanks (`CoreSpeed`).
hosthardware: the vSphere API reference (HostHardwareInfo); its layout as vim-cmd prints other objects (assumption).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from esxparse.errors import DamagedError
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.notes import Notes, left_out, reason
from esxparse.formats.kit.numbers import whole
from esxparse.formats.kit.tables import data, distinct, frames, known, picked, schemas
from esxparse.formats.source import Source
from esxparse.formats.topology import esxcli_forms as forms
from esxparse.formats.topology.esxcli_forms import UNSET, flattened
from esxparse.recording import Recording

FORMAT = "esxcli"

_MANAGED = re.compile(r"\(vim\.host\.HardwareInfo\)|(?m:^[ \t]*(?:cpuInfo|numaInfo) = \(vim\.host\.\w+\))")
_SCHEMAS = schemas(__file__)
_NUMBERS, _FACTS, _MANAGED_COUNTS = (data(__file__)[part] for part in ("processor", "said", "managed"))
_HZ = 1e6

_Path = tuple[str, ...]


def recognise(head: Head) -> bool:
    """Return whether a head has fields that only these commands print together."""
    begin = head.text
    return ("(vim.host." in begin and bool(_MANAGED.search(begin))) or forms.recognise(begin)


def read(source: Source) -> Recording:
    """Read one file, of one command or several."""
    text = source.text().without_cut_line()
    managed = _MANAGED.search(text.text)
    before = text.text[: managed.start()] if managed else text.text
    blocks, facts, notes = forms.read_forms(before)
    rows = [_processor(block) for block in blocks]
    meta = _machine_facts(facts)
    if managed:
        fields = [(path, value) for path, value in flattened(text.text[managed.start() :]) if value != UNSET]
        facts += [(".".join(path[:-1]) or None, path[-1], value) for path, value in fields if _worth(path)]
        rows += _managed_processors(fields) if not rows else []
        meta = _managed_meta(fields) | meta
        below = enumerate(text.text[managed.start() :].split("\n"), before.count("\n") + 1)
        notes += left_out([(line, one) for line, one in below if one.strip() and not _MANAGED_LINE.fullmatch(one)])
    if not rows and not facts:
        what = f"nothing complete about processors or memory in it{reason(notes)}"
        raise DamagedError(f"{source.name}: {what}: run the command again")
    tables = frames({"processors": (rows, _SCHEMAS["processors"]), "facts": (facts, _SCHEMAS["facts"])})
    return Recording(FORMAT, source.name, tables, known(_of_processors(rows, notes) | meta), text.notes + tuple(notes))


def _worth(path: _Path) -> bool:
    """Return whether a field of hosthardware is about processors, memory, NUMA, the system or its power."""
    return len(path) < _NESTED and not {"cpuFeature", "pciDevice", "otherIdentifyingInfo", "threadId", "cpuID"} & set(
        path
    )


_NESTED = 5
_MANAGED_LINE = re.compile(r'\s*(?:[\w.]+ = \S.*|\(.*[{\[]|[\])}]+,?|"[^"]*",?|[\w<>-]+,?)\s*')


def _processor(block: Mapping[str, str]) -> dict[str, Any]:
    speed = whole(block.get("corespeed"))
    numbers = {name: whole(block.get(field), 0 if field == "apicid" else 10) for name, field in _NUMBERS.items()}
    return {**numbers, "vendor": block.get("brand"), "mhz": None if speed is None else speed / _HZ}


def _of_processors(rows: Sequence[Mapping[str, Any]], notes: Notes) -> dict[str, Any]:
    if not rows:
        return {}
    numbers = [row["processor"] for row in rows]
    if len(set(numbers)) < len(numbers):
        notes.warn("processors are listed more than once")
    elif None not in numbers and max(numbers) + 1 != len(numbers):
        notes.say(f"{len(numbers)} processors are listed, the last is {max(numbers)}: some are missing")
    speeds = [row["mhz"] for row in rows if row["mhz"] is not None]
    return {
        "threads": len(set(numbers)),
        "sockets": distinct(row["socket"] for row in rows),
        "numa_nodes": distinct(row["node"] for row in rows),
        "mhz": round(max(speeds), 3) if speeds else None,
    }


def _machine_facts(facts: Sequence[tuple[str | None, str, str]]) -> dict[str, Any]:
    """Return facts of the whole machine from `memory get` and `cpu global get`."""
    values = {forms.plain(key): value for _, key, value in facts}
    memory = re.match(r"\d{1,18}", values.get("physicalmemory", ""))
    return known(picked(values, _FACTS, whole) | {"memory_bytes": int(memory[0]) if memory else None})


def _managed_meta(fields: Sequence[tuple[_Path, str]]) -> dict[str, Any]:
    last = {".".join(path[-2:]): value for path, value in reversed(fields)}
    hz = whole(last.get("cpuInfo.hz"))
    memory = next((value for path, value in fields if path[-1] == "memorySize"), None)
    model = next((value for path, value in fields if "cpuPkg" in path and path[-1] == "description"), None)
    found = {
        "mhz": None if hz is None else round(hz / _HZ, 3),
        "memory_bytes": whole(memory),
        "model": " ".join(model.split()) if model else None,
    }
    return known(picked(last, _MANAGED_COUNTS, whole) | found)


def _managed_processors(fields: Sequence[tuple[_Path, str]]) -> list[dict[str, Any]]:
    """Return the threads of each package, with their node."""
    nodes: dict[int, int | None] = {}
    sockets: dict[int, int | None] = {}
    index: dict[_Path, dict[str, str]] = {}
    for path, value in fields:
        if "cpuPkg" in path or "numaNode" in path:
            index.setdefault(path[:-1], {})[path[-1]] = value
    for path, value in fields:
        number = whole(value) if len(path) > 1 else None
        if number is None:
            continue
        if path[-2] == "threadId":
            sockets[number] = whole(index.get(path[:-2], {}).get("index"))
        elif path[-2] == "cpuID":
            nodes[number] = whole(index.get(path[:-2], {}).get("typeId"), 0)
    packages = {whole(one.get("index")): one for one in index.values() if "index" in one}
    rows = []
    for number, socket in sorted(sockets.items()):
        package = packages.get(socket, {})
        hz = whole(package.get("hz"))
        place = {"processor": number, "socket": socket, "node": nodes.get(number)}
        about = {"vendor": package.get("vendor"), "mhz": None if hz is None else hz / _HZ}
        rows.append(dict.fromkeys(_SCHEMAS["processors"]) | place | about)
    return rows
