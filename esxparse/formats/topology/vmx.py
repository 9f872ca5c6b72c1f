r""".vmx of VMware: the configuration of a VM (ESX 3 to ESXi 8, Workstation).

meta: `name` (displayName), `guest`, `hardware` (virtualHW.version), `numvcpus`, `memsize_mib`, `cores_per_socket`,
`numa` (all settings that begin with numa., as a mapping) and `cpu_affinity` if set; for comparison with a host:
`threads` (= numvcpus), `sockets`, `memory_bytes`, and `numa_nodes` if `numa.autosize.vcpu.maxPerVirtualNode` shows
it.

Source: real files. Assumptions (general knowledge): numvcpus and cpuid.coresPerSocket are 1 if not written. Memory
is in MiB. Characters are escaped as | and two hexadecimal digits. The last of two equal keys counts.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping, Sequence
from typing import Any

from esxparse.errors import DamagedError
from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.numbers import whole
from esxparse.formats.kit.tables import frames, known, schemas
from esxparse.formats.kit.text import Text, decode
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording

FORMAT = "vmx"

_SETTING = re.compile(r'\s*([^\s="#][^="]{0,200}?)\s*=\s*"(.*)"\s*')
_BARE = re.compile(r"\s*([^\s=\"#][^=\"]{0,200}?)\s*=\s*+((?:[^\"]*[^\"\s])?)\s*+")
_ESCAPE = re.compile(r"\|([0-9A-Fa-f]{2})")
_ENCODING = re.compile(rb'(?m)^[ \t]*\.encoding\s*=\s*"([\w.:-]{1,40})"')
_MOST_MB = 1 << 40


def read(source: Source) -> Recording:
    """Read one file."""
    text = _decoded(source)
    settings, notes = read_settings(text.lines())
    if not settings:
        raise DamagedError(f'{source.name}: no complete setting (key = "value") in it: copy the .vmx again')
    values = {key.lower(): value for key, value, _ in settings}
    if len(values) < len(settings):
        seen: set[str] = set()
        again = [(key, line) for key, _, line in settings if key.lower() in seen or seen.add(key.lower())]  # type: ignore[func-returns-value]
        notes.warn(f"{len(again)} settings are written twice, {again[0][0]!r} first: the last counts", again[0][1])
    tables = frames({"settings": (settings, schemas(__file__)["settings"])})
    return Recording(FORMAT, source.name, tables, known(_meta(values, notes)), text.notes + tuple(notes))


def _decoded(source: Source) -> Text:
    """Return the text, in the encoding stated in the file."""
    content, ended = source.content()
    notes = tuple(ended)
    declared = _ENCODING.search(content)
    name = declared[1].decode("ascii", "replace") if declared else "UTF-8"
    try:
        encoding = codecs.lookup(name).name
    except LookupError:
        notes += (Note(f"unknown encoding {name!r}: read as UTF-8 or Windows-1252", severity="warning"),)
        encoding = "utf-8"
    if encoding == "utf-8" or not getattr(codecs.lookup(encoding), "_is_text_encoding", True):
        text = decode(content)
        return Text(text.text, notes + text.notes)
    try:
        decoded = content.decode(encoding)
    except UnicodeError:
        decoded = content.decode(encoding, errors="replace")
        notes += (Note(f"not all of it is valid {name}: invalid bytes are shown as \ufffd", severity="warning"),)
    if lost := decoded.count("\0"):
        notes += (Note(f"{lost:,} NUL characters left out: part of the file was lost", severity="warning"),)
    return Text(decoded.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n"), notes)


def unescaped(value: str) -> str:
    """Return the text with each | and two hexadecimal digits replaced by their character.

    >>> unescaped("|22quoted|22 a|7Cb")
    '"quoted" a|b'
    """
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), value)


def read_settings(lines: Sequence[str]) -> tuple[list[tuple[str, str, int]], Notes]:
    """Return key, value and line of each setting."""
    settings: list[tuple[str, str, int]] = []
    notes = Notes()
    for place, text in enumerate(lines, start=1):
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        if found := _SETTING.fullmatch(text) or _BARE.fullmatch(text):
            settings.append((found[1], unescaped(found[2]), place))
        else:
            message = f"not a setting: {text.strip()[:60]!r}"
            notes.append(Note(message, place, severity="warning", unused=1))
    return settings, notes


def _meta(values: Mapping[str, str], notes: Notes) -> dict[str, Any]:
    def number(key: str, default: int | None) -> int | None:
        text = values.get(key)
        value = default if text is None else whole(text)
        if value is not None and 0 < value < _MOST_MB:
            return value
        if text is not None:
            notes.warn(f"{key} = {text[:40]!r} is not a valid number here")
        return None

    vcpus, per_socket = number("numvcpus", 1), number("cpuid.corespersocket", 1)
    per_node, memory = number("numa.autosize.vcpu.maxpervirtualnode", None), number("memsize", None)
    numa = {key: value for key, value in values.items() if key.startswith("numa.")}
    return {
        "name": values.get("displayname"),
        "guest": values.get("guestos"),
        "hardware": values.get("virtualhw.version"),
        "numvcpus": vcpus,
        "memsize_mib": memory,
        "cores_per_socket": per_socket,
        "numa": numa or None,
        "cpu_affinity": values.get("sched.cpu.affinity"),
        "threads": vcpus,
        "sockets": -(-vcpus // per_socket) if vcpus and per_socket else None,
        "cores": vcpus,
        "numa_nodes": -(-vcpus // per_node) if vcpus and per_node else None,
        "memory_bytes": memory << 20 if memory else None,
    }
