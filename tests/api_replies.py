"""A simulated host's replies of the Esxtop service, and files that hold them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import esxparse as ex
import esxparse_simulator as simulate
from esxparse_simulator import Scenario
from esxparse_simulator.writers.esxtop_api import replies

HOST = "esx-07.lab.example"
HEADER = {"what": "esxtop over the vSphere API", "version": 1, "server": "vc.lab.example", "host": HOST}
HEADER |= {"release": "6.7.0", "build": "8169922", "interval": 5.0}


@dataclass(frozen=True)
class Replies:
    """The replies of a host, and the time of each."""

    info: str
    fetched: tuple[str, ...]
    times: tuple[datetime, ...]

    def changed(self, place: int, old: str, new: str) -> Replies:
        """The same replies but for a text in one of them."""
        assert old in self.fetched[place]
        fetched = [text.replace(old, new, 1) if n == place else text for n, text in enumerate(self.fetched)]
        return replace(self, fetched=tuple(fetched))

    def lines(self) -> list[str]:
        """The lines of a collected file."""
        stamps = [f"{time:%Y-%m-%dT%H:%M:%S.%fZ}" for time in self.times]
        entries = [{"operation": "CounterInfo", "before": stamps[0], "after": stamps[0], "reply": self.info}]
        entries += [
            {"operation": "FetchStats", "before": stamp, "after": stamp, "reply": reply}
            for stamp, reply in zip(stamps, self.fetched, strict=True)
        ]
        return [json.dumps(one, ensure_ascii=False) for one in (HEADER, *entries)]

    def opened(self, folder: Path, lines: Sequence[str] | None = None, **options: Any) -> ex.Recording:
        """The recording of a collected file with these replies, or of other lines."""
        file = folder / "esxtop-api.jsonl"
        file.write_text("\n".join([*(self.lines() if lines is None else lines), ""]), encoding="utf-8")
        return ex.open(file, **options)


def replies_of(scenario: Scenario, samples: int = 6) -> Replies:
    """The replies of a simulated host."""
    host = simulate.capture(scenario, samples=samples)
    info, fetched = replies(host)
    return Replies(info, tuple(fetched), tuple(now.time for now in host))
