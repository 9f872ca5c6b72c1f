"""Options of commands that open recordings: those of `esxparse.open`, the same for every command."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final, cast

from esxparse.formats.memory import DEFAULT, shown
from esxparse.formats.opening import DATE_ORDERS, NAMES, PATIENCE_S

if TYPE_CHECKING:
    from esxparse.formats.opening import Options

_HELP: Final[dict[str, tuple[str, str]]] = {
    "member": ("NAME", "which capture of a bundle that holds several; BUNDLE:NAME says the same"),
    "start": ("TIME", "leave out what is before this time (UTC, 2026-03-02T08:05)"),
    "end": ("TIME", "leave out what is after this time"),
    "every": ("LENGTH", "keep the first sample of each period of this length (30s, 5m, 1h); nothing is averaged"),
    "lazy": ("", "leave the numbers in the file (by default above 256 MB), or --no-lazy: read them at once"),
    "segment": ("N", "which capture, where a file holds several with columns of their own"),
    "date_order": ("ORDER", f"of dates that another program saved: {', '.join(DATE_ORDERS)}"),
    "date": ("DAY", "of the first sample, where time stamps were saved without one (2026-03-11)"),
    "format": ("NAME", "read it as power_csv (a meter's export), results_csv (any results), or another format"),
    "time_column": ("NAME", "which column of such a file holds the time"),
    "value_column": ("NAME", "which column holds the watts, or the results"),
    "timeout": ("SECONDS", f"how long to wait for each answer of a server, {PATIENCE_S:g} without"),
    "memory_limit": ("SIZE", f"how much memory reading may take (8GiB); {shown(DEFAULT)} without"),
}
_ALSO: Final = {"value_column": ("--watts-column",)}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `esxparse.open` to a command, as one group of its help."""
    group = parser.add_argument_group("how a recording is opened")
    for name in NAMES:
        metavar, text = _HELP[name]
        flags = [f"--{name.replace('_', '-')}", *_ALSO.get(name, ())]
        if name == "lazy":
            group.add_argument(*flags, action=argparse.BooleanOptionalAction, help=text)
        else:
            group.add_argument(*flags, metavar=metavar, help=text)


def given(options: argparse.Namespace) -> Options:
    """What was given, as `esxparse.open` takes it; every option is checked where it is used."""
    said: dict[str, Any] = {name: value for name in NAMES if (value := getattr(options, name)) is not None}
    return cast("Options", said)
