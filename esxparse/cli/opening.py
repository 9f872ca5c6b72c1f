"""Options of commands that open recordings: what a file does not tell itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

_NAMES = ("segment", "date_order", "format", "time_column", "value_column")


def add_capture_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that captures of esxtop have to a command."""
    parser.add_argument("--segment", type=int, default=1, metavar="N", help="which capture, where a file holds several")
    parser.add_argument("--date-order", choices=["mdy", "dmy", "ymd"], help="of dates that a spreadsheet saved")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of all formats to a command."""
    add_capture_options(parser)
    parser.add_argument(
        "--format",
        metavar="NAME",
        help="read it as power_csv (a meter's export), results_csv (any results)",
    )
    parser.add_argument("--time-column", metavar="NAME", help="which column of such a file holds the time")
    parser.add_argument(
        "--value-column",
        "--watts-column",
        metavar="NAME",
        help="which column holds the watts, or the results",
    )


def given(options: argparse.Namespace) -> dict[str, Any]:
    """What was given, as `esxparse.open` takes it."""
    return {name: getattr(options, name) for name in _NAMES}
