"""/proc/cpuinfo of Linux: one block a logical processor (x86, ARM, POWER, RISC-V).

meta: `threads`; `sockets` and `cores` if the file shows them; `mhz` nominal, from the model's name, else the highest
frequency printed (assumption); `model`.

Source: arch/*/kernel/cpu/proc.c and the like of Linux.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from esxparse.errors import DamagedError
from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.numbers import size_bytes, whole
from esxparse.formats.kit.tables import distinct, frames, known, schemas
from esxparse.formats.source import Source
from esxparse.recording import Recording

FORMAT = "cpuinfo"

_BLOCK = re.compile(r"processor\s*:\s*(\d{1,7})\s*")
_PAIR = re.compile(r"([^:\t]{1,64}?)\s*:\s?(.*)")
_S390 = re.compile(r"processor (\d{1,7}): (.*)")
_MODELS = ("model name", "cpu model", "cpu", "uarch", "Processor")
_FREQUENCIES = ("cpu MHz", "clock", "cpu MHz dynamic")
_SCHEMAS = schemas(__file__)
_NOMINAL = re.compile(r"@\s*([\d.]+)\s*([GM])Hz", re.IGNORECASE)


def read(source: Source) -> Recording:
    """Read one file."""
    text = source.text().without_cut_line()
    blocks, machine, notes = read_blocks(text.lines())
    if not blocks:
        raise DamagedError(f"{source.name}: no processor is described in it: copy /proc/cpuinfo again")
    if len({block["processor"] for block in blocks}) < len(blocks):
        notes.warn("processors are described more than once: the first of each is kept")
        blocks = list({block["processor"]: block for block in reversed(blocks)}.values())[::-1]
    rows = [_processor(block) for block in blocks]
    # `cpu` and `processor` always differ, frequencies change by the moment.
    common = [
        ("processor", key, value)
        for key, value in blocks[0].items()
        if key != "processor" and all(block.get(key) == value for block in blocks)
    ]
    everything = [*common, *(("machine", key, value) for key, value in machine)]
    tables = frames({"processors": (rows, _SCHEMAS["processors"]), "facts": (everything, _SCHEMAS["facts"])})
    return Recording(FORMAT, source.name, tables, known(_meta(rows, blocks)), text.notes + tuple(notes))


def read_blocks(lines: Sequence[str]) -> tuple[list[dict[str, str]], list[tuple[str, str]], Notes]:
    """Return the keys of each processor, the machine's keys, and notes."""
    blocks: list[dict[str, str]] = []
    machine: list[tuple[str, str]] = []
    notes = Notes()
    block: dict[str, str] | None = None
    for place, text in enumerate(lines, start=1):
        if not text.strip():
            block = None
        elif begin := _BLOCK.fullmatch(text):
            block = {"processor": begin[1]}
            blocks.append(block)
        elif s390 := _S390.fullmatch(text):
            pairs = (pair.partition("=") for pair in s390[2].split(","))
            blocks.append({"processor": s390[1]} | {key.strip(): value.strip() for key, _, value in pairs})
        elif pair := _PAIR.fullmatch(text):
            if block is None:
                machine.append((pair[1].strip(), pair[2].strip()))
            else:
                block[pair[1].strip()] = pair[2].strip()
        else:
            notes.skip(text, place, "warning")
    return blocks, machine, notes


def nominal_mhz(model: str | None) -> float | None:
    """Return the frequency in the name of a processor, MHz.

    >>> nominal_mhz("Intel(R) Xeon(R) CPU X5670 @ 2.93GHz"), nominal_mhz("AMD EPYC 7543")
    (2930.0, None)
    """
    if (found := _NOMINAL.search(model or "")) is None:
        return None
    try:
        return round(float(found[1]) * (1000 if found[2] in "Gg" else 1), 3)
    except ValueError:
        return None


def _frequency(block: dict[str, str]) -> float | None:
    text = next((block[key] for key in _FREQUENCIES if key in block), None)
    found = re.match(r"\d{1,9}(?:\.\d{1,9})?", text or "")
    return float(found[0]) if found else None


def _processor(block: dict[str, str]) -> dict[str, Any]:
    return {
        "processor": whole(block["processor"]),
        "socket": whole(block.get("physical id")),
        "core": whole(block.get("core id")),
        "apicid": whole(block.get("apicid")),
        "model": next((block[key] for key in _MODELS if key in block), None),
        "mhz": _frequency(block),
        "cache_bytes": size_bytes(block["cache size"]) if "cache size" in block else None,
    }


def _meta(rows: Sequence[dict[str, Any]], blocks: Sequence[dict[str, str]]) -> dict[str, Any]:
    model = rows[0]["model"]
    frequencies = [row["mhz"] for row in rows if row["mhz"] is not None]
    cores = distinct(
        None if row["core"] is None or row["socket"] is None else (row["socket"], row["core"]) for row in rows
    )
    return {
        "threads": len(blocks),
        "sockets": distinct(row["socket"] for row in rows),
        "cores": cores,
        "mhz": nominal_mhz(model) or max(frequencies, default=None),
        "model": model,
    }
