"""The view of the explorer as code: a short cell of polars and altair, with the words in `cell.py.j2`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader

from esxparse.charts.reduce import EVEN
from esxparse.explorer.panel import PanelRequest
from esxparse.metrics.energy import LONGEST_GAP

_RECORDINGS: Final = ("rec", "other")


def cell(
    captures: Sequence[tuple[str, timedelta]],
    panels: Sequence[tuple[PanelRequest, Mapping[str, Any]]],
    guest: tuple[str, str] | None = None,
) -> str:
    """Return the code that makes the charts of these panels.

    `captures`: path of each recording, and the shift of its times. `panels`: the content of each panel, and its answer
    (`panel.panel`). `guest`: path of a guest's readings, and its VM.
    """
    shifts = [shift // timedelta(microseconds=1) for _, shift in captures]
    drawn = [
        {
            "request": request,
            "answer": answer,
            "heat": answer["kind"] == "heat",
            "shifts": shifts[: max((one["capture"] for one in answer["series"]), default=1)],
            "instances": list(
                dict.fromkeys(one["instance"] for one in answer["rows" if "rows" in answer else "series"])
            ),
            "ends": any("piece" in one for one in answer["series"]),
            "title": f"{answer['name']}, {answer['unit']}" if answer["unit"] else answer["name"],
        }
        for request, answer in panels
    ]
    # The output is Python, which needs no escaping for HTML.
    words = Environment(  # noqa: S701
        loader=FileSystemLoader(Path(__file__).parent), trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    words.filters |= {"repr": repr, "moment": _moment}
    opened = [(name, source) for name, (source, _) in zip(_RECORDINGS, captures, strict=False)]
    made = words.get_template("cell.py.j2")
    return made.render(guest=guest, opened=opened, names=_RECORDINGS, panels=drawn, gap=LONGEST_GAP, even=EVEN)


def _moment(time: datetime) -> str:
    parts = [time.year, time.month, time.day, time.hour, time.minute, time.second, time.microsecond]
    return f'pl.datetime({", ".join(map(str, parts))}, time_zone="UTC")'
