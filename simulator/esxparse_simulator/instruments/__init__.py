"""Instruments: what a scenario's `[[file]]` may ask for, by the name that `tool` has in it."""

from __future__ import annotations

import tomllib
from importlib.resources import files

from esxparse_simulator.instruments.load import LOAD, watch_guests
from esxparse_simulator.instruments.model import Entry, Instrument
from esxparse_simulator.instruments.standalone import STANDALONE, watch_power

__all__ = ["INSTRUMENTS", "Entry", "Instrument"]

_OPTIONS = tomllib.loads((files("esxparse_simulator.instruments") / "options.toml").read_text(encoding="utf-8"))
_OF_ALL = {tool: () if tool == "tshark" else _OPTIONS["load"] for tool in LOAD}

INSTRUMENTS = {
    tool: Instrument(frozenset([*_OPTIONS[tool], *_OF_ALL.get(tool, ())]), write, watch)
    for tool, write, watch in (
        *((tool, write, watch_power if tool == "ribcl" else None) for tool, write in STANDALONE.items()),
        *((tool, write, watch_guests) for tool, write in LOAD.items()),
    )
}
