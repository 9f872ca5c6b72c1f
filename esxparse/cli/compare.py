"""`esxparse compare`: changes for better or worse from one capture to another."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from esxparse.cli.output import FOUND, add_format, add_opening, given_opening, in_shape, warn
from esxparse.cli.progress import Progress
from esxparse.errors import EsxparseError

if TYPE_CHECKING:
    from esxparse.lakes import Lake

_TWO: Final = 2
_OF_WINDOWS: Final = ("start", "end")
"""Options of opening that --window replaces."""


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "compare",
        help="say what got better or worse from one capture to another",
        description="Compares two captures, or two times of one: what got better or worse in each area, "
        "with the load beside it, findings that came and went, and series that could not be compared.",
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="BEFORE and AFTER; one capture with --at or --window")
    parser.add_argument("--before", nargs="+", default=[], metavar="FILE", help="several captures before the change")
    parser.add_argument("--after", nargs="+", default=[], metavar="FILE", help="several captures after it")
    parser.add_argument("--lake", metavar="URI", help="compare two times of a lake: a directory, or s3://bucket/prefix")
    parser.add_argument(
        "--host", action="append", default=[], metavar="NAME", help="only this host of the lake; may be repeated"
    )
    parser.add_argument("--at", metavar="TIME", help="split one capture at this time (UTC, 2026-03-11T09:02)")
    parser.add_argument(
        "--window",
        action="append",
        default=[],
        metavar="START/END",
        help="time to compare (UTC); give it twice for the time before and the time after",
    )
    parser.add_argument(
        "--last", metavar="LENGTH", help="compare the last 7d (12h, 30m) of the lake with as much time before"
    )
    parser.add_argument(
        "--vm", action="append", default=[], metavar="NAME", help="compare this VM only; may be repeated"
    )
    parser.add_argument(
        "--rename",
        action="append",
        default=[],
        metavar="OLD=NEW",
        help="what OLD (a regular expression) is called after",
    )
    add_format(parser, "json", "md", "html")
    parser.add_argument("--profile", default="standard", help="limits of findings: standard, strict, or a .toml file")
    parser.add_argument("--fail-on", choices=("worse",), help="exit with 3 if anything got worse at the same load")
    add_opening(parser, but=(*_OF_WINDOWS, "format", "time_column", "value_column"))
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare, print, and return the exit code."""
    before, after = (_lake(options), None) if options.lake else _sides(options)
    windows = [_window(text) for text in options.window]
    rename = dict(_rule(text) for text in options.rename)
    from esxparse.comparison.compare import compare  # noqa: PLC0415  polars is not for --help

    inputs = [options.lake] if options.lake else [*options.files, *options.before[:1], *options.after[:1]]
    names = " and ".join(Path(one).name for one in inputs)
    with Progress(f"comparing {names}"):
        found = compare(
            before,
            after,
            at=options.at,
            windows=windows * _TWO if len(windows) == 1 else windows,
            last=options.last,
            vms=options.vm,
            rename=rename,
            profile=options.profile,
            **given_opening(options),
        )
        output = in_shape(found, options.shape)
    recordings = {rec.source: rec for side in (found.before, found.after) for rec in side.side.recordings}
    for rec in recordings.values():
        warn(rec.losses())
    print(output)
    return FOUND if options.fail_on and found.is_worse else 0


def _lake(options: argparse.Namespace) -> Lake:
    """Return the hosts of the lake."""
    if options.files or options.before or options.after:
        raise EsxparseError("give either captures or --lake: a lake is compared with itself at another time")
    if options.at is None and options.last is None and len(options.window) != _TWO:
        raise EsxparseError("--lake takes its two times from --last LENGTH, --at TIME or --window twice")
    from esxparse.lakes import lake  # noqa: PLC0415

    return lake(options.lake, **({"timeout": options.timeout} if options.timeout else {})).of(*options.host)


def _sides(options: argparse.Namespace) -> tuple[list[str], list[str] | None]:
    """Return the captures of each side; None if one capture is compared with itself."""
    files, before, after = options.files, options.before, options.after
    if options.host or options.last is not None:
        raise EsxparseError(f"{'--host' if options.host else '--last'} is for lakes: name one with --lake")
    if before or after:
        if files or not (before and after):
            raise EsxparseError("give captures as BEFORE AFTER, or all of them with --before and --after")
        return before, after
    splits = options.at is not None or len(options.window) == _TWO
    if len(files) == 1 and splits:
        return files, None
    if len(files) != _TWO:
        have = "no capture" if not files else "1 capture" if len(files) == 1 else f"{len(files)} captures"
        raise EsxparseError(
            f"{have} given: compare takes BEFORE and AFTER, one capture with --at TIME or with --window twice, or "
            "several with --before and --after"
        )
    return files[:1], files[1:]


def _window(text: str) -> tuple[str, str]:
    start, slash, end = text.partition("/")
    if not slash:
        raise EsxparseError(f"window {text!r} has no slash: write it as 2026-03-11T09:00/2026-03-11T09:30 (UTC)")
    return start, end


def _rule(text: str) -> tuple[str, str]:
    old, sign, new = text.partition("=")
    if not sign:
        raise EsxparseError(f"the rule {text!r} has no equals sign: write it as OLD=NEW")
    return old, new
