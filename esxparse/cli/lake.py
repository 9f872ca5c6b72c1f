"""`esxparse lake`: many captures as one dataset of Parquet."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from esxparse.cli.output import (
    add_crew,
    add_force,
    add_format,
    add_opening,
    counted_segments,
    fail,
    given_crew,
    given_opening,
)
from esxparse.cli.progress import Progress
from esxparse.errors import EsxparseError
from esxparse.formats.opening import period
from esxparse.recording import counted, printable

if TYPE_CHECKING:
    from esxparse.lakes import Lake
    from esxparse.lakes.adding import Added
    from esxparse.lakes.entries import Entry
    from esxparse.lakes.merged import Merged

_OF_ADD = ("member", "lazy")
_SHOWN = 20
_GB = 1e9


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "lake",
        help="keep the captures of many hosts as one dataset of Parquet, and ask it",
        description="A lake is one dataset of Parquet files by table, date and host, on a disk or in an object store, "
        "with a catalogue of its captures. docs/lake.md describes it.",
    )
    commands = parser.add_subparsers(dest="lake_command", metavar="COMMAND", required=True, help="what to do")
    one = _command(commands, "add", _add, "add captures; those that are there already are left as they are")
    one.add_argument("captures", nargs="+", metavar="CAPTURE", help="a recording, or a directory of recordings")
    one.add_argument("--host", metavar="NAME", help="the host, instead of the one that the captures name")
    one.add_argument("--force", action="store_true", help="replace captures read with other options")
    add_crew(one)
    add_opening(one, but=_OF_ADD)
    _span(_command(commands, "ls", _ls, "list captures"))
    one = _command(commands, "sql", _sql, "query in SQL (DuckDB): the tables of the lake, and catalogue")
    one.add_argument("query", metavar="QUERY", help="SELECT host, max(free_mbytes) FROM memory GROUP BY host")
    add_format(one, "csv", "json")
    _span(one)
    one = _command(commands, "rm", _rm, "take captures out")
    one.add_argument("ids", nargs="+", metavar="ID", help="id of a capture, or its beginning (`esxparse lake ls`)")
    one = _command(commands, "verify", _verify, "compare the catalogue with the files; 1 if something is wrong")
    one.add_argument("--content", action="store_true", help="read the files and compare their content, too")
    one = _command(commands, "compact", _compact, "take away what writers that were killed have left")
    one.add_argument("--older", default="1d", metavar="LENGTH", help="only files older than this (default: 1d)")
    one.add_argument(
        "--merge",
        action=argparse.BooleanOptionalAction,
        help="also write the small captures of one host and day once more as one file per table, which questions take "
        "instead; --no-merge takes such files away",
    )
    add_crew(one)
    one = _command(commands, "judge", _judge, "diagnose and check each capture, and keep what is said for reports")
    add_crew(one)
    one = _command(commands, "report", _report, "a report on the whole fleet; judges what is not judged yet")
    one.add_argument("-o", "--output", default="fleet.html", metavar="FILE", help="the report (default: fleet.html)")
    one.add_argument("--open", action="store_true", help="open what was written in the browser")
    add_force(one)
    add_crew(one)
    _span(one)


def _command(commands: Any, name: str, run: Any, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    parser.add_argument("--lake", required=True, metavar="URI", help="a directory, or s3://bucket/prefix")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress, and only what fails")
    if name != "add":
        parser.add_argument("--timeout", metavar="SECONDS", help="how long to wait for each answer of a server")
    parser.set_defaults(run=run)
    return parser


def _span(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", action="append", default=[], metavar="NAME", help="only this host; may be repeated")
    parser.add_argument("--since", metavar="TIME", help="only from this time on (UTC, 2026-11-20)")
    parser.add_argument("--until", metavar="TIME", help="only before this time")


def _whole(options: argparse.Namespace) -> Lake:
    from esxparse.lakes import lake  # noqa: PLC0415  polars is not for --help

    return lake(options.lake, **({"timeout": options.timeout} if options.timeout else {}))


def _opened(options: argparse.Namespace) -> Lake:
    found = _whole(options)
    if not hasattr(options, "since"):
        return found
    return found.of(*options.host, since=options.since, until=options.until)


def _readable(options: argparse.Namespace) -> tuple[Lake, dict[str, str]]:
    """Return the lake without unreadable entries, and the reason for each of these by id."""
    from esxparse.lakes import Lake, entries  # noqa: PLC0415

    store = _whole(options).store
    found, unreadable = entries.look(store)
    return Lake(store, known_entries=found), unreadable


def _add(options: argparse.Namespace) -> int:
    from esxparse.lakes import entries  # noqa: PLC0415
    from esxparse.lakes.adding import found  # noqa: PLC0415

    into = _whole(options)
    captures, left_out = found(options.captures)
    failed: list[str] = []
    done: list[str] = []
    with Progress("lake", quiet=options.quiet) as progress:

        def report(capture: str, made: Added | str) -> None:
            if capture not in done:
                done.append(capture)
            progress.clear()
            if isinstance(made, str):
                failed.append(capture)
                fail(EsxparseError(made))
            elif not options.quiet:
                print(printable(_added_text(capture, made)))
            progress(len(done), len(captures), f"{len(done):,} of {len(captures):,}")

        made = into.add(
            captures,
            host=options.host,
            replace=options.force,
            crew=given_crew(options),
            told=report,
            **given_opening(options),
        )
    if left_out and not options.quiet:
        files = counted(len(left_out), "file")
        print(f"{files} left out, in no format that esxparse reads: {', '.join(left_out[:_SHOWN])}")
    new = {one.id for one in made if not one.skipped}
    twice = [pair for pair in entries.overlaps(into.captures) if new & {one.id for one in pair}] if new else []
    if twice:
        more = f"; {counted(len(twice), 'pair')} in all: esxparse lake verify lists them" if len(twice) > 1 else ""
        print(printable(f"{_twice(twice[0])}{more}"), file=sys.stderr)
    if several := counted_segments([one.source for one in made]):
        print(printable(several), file=sys.stderr)
    return 1 if failed else 0


def _added_text(capture: str, made: Added) -> str:
    if made.skipped:
        return f"{capture}: already there ({made.id}, host {made.host})"
    sizes = f"{made.source_bytes / 1e6:,.1f} MB to {made.bytes / 1e6:,.1f} MB"
    content = f"{counted(made.tables, 'table')}, {counted(made.rows, 'row')}"
    return f"{capture}: {made.id}, host {made.host}, {content}, {sizes}"


def _twice(pair: tuple[Entry, Entry]) -> str:
    first, second = pair
    names = f"{first.source} ({first.id}) and {second.source} ({second.id})"
    same = f"warning: {names} cover the same time of host {first.host}"
    return f"{same}: if these are two hosts, set --host for one of them"


def _ls(options: argparse.Namespace) -> int:
    found, unreadable = _readable(options)
    for why in unreadable.values():
        fail(EsxparseError(why))
    found = found.of(*options.host, since=options.since, until=options.until)
    for one in found.catalogue.iter_rows(named=True):
        span = (
            f"{one['start']:%Y-%m-%d %H:%M:%S} to {one['end']:%Y-%m-%d %H:%M:%S}"
            if one["start"] and one["end"]
            else "no time"
        )
        content = f"{counted(one['rows'], 'row')}, {one['bytes'] / 1e6:,.1f} MB"
        warned = counted(one["warnings"], "warning")
        print(printable(f"{one['id']}  {one['host']}  {span}  {content}  {warned}  {one['source']}"))
    if not options.quiet:
        total = found.catalogue
        hosts, rows, size = total["host"].n_unique(), int(total["rows"].sum()), int(total["bytes"].sum())
        of = f"{counted(total.height, 'capture')} of {counted(hosts, 'host')}"
        print(f"{of}, {counted(rows, 'row')}, {size / _GB:,.2f} GB")
    return 1 if unreadable else 0


def _sql(options: argparse.Namespace) -> int:
    import polars as pl  # noqa: PLC0415

    found = _opened(options).sql(options.query)
    for name, kind in found.schema.items():
        if not _is_writable(kind, options.shape):
            what = f"column {name!r} is of type {kind}, which {options.shape.upper()} cannot hold"
            raise EsxparseError(f"{what}: cast it to VARCHAR")
    if options.shape == "csv":
        print(found.write_csv(), end="")
    elif options.shape == "json":
        print(found.write_json())
    else:
        with pl.Config(tbl_rows=-1, tbl_cols=-1, fmt_str_lengths=80, tbl_hide_dataframe_shape=True):
            print("\n".join(map(printable, str(found).split("\n"))))
    return 0


def _is_writable(kind: Any, shape: str) -> bool:
    """Return whether polars writes columns of a type as CSV or JSON: on some it panics."""
    import polars as pl  # noqa: PLC0415

    if shape not in {"csv", "json"}:
        return True
    if isinstance(kind, (pl.Binary, pl.Object, pl.Map)):
        return False
    inner = [one.dtype for one in kind.fields] if isinstance(kind, pl.Struct) else [getattr(kind, "inner", None)]
    return not kind.is_nested() or (shape == "json" and all(one is None or _is_writable(one, shape) for one in inner))


def _rm(options: argparse.Namespace) -> int:
    from esxparse.lakes import entries, upkeep  # noqa: PLC0415

    found, unreadable = _readable(options)
    there = {one.id: one for one in found.captures}
    keys = dict.fromkeys(entries.chosen([*there, *unreadable], key, found.store.uri) for key in options.ids)
    upkeep.remove(found.store, [there[key] for key in keys if key in there])
    for key in keys:
        if key in unreadable:
            upkeep.discard(found.store, key)
        if not options.quiet:
            what = f"{there[key].source} of host {there[key].host}" if key in there else "an entry that cannot be read"
            print(printable(f"{key}: {what} is taken out"))
    return 0


def _verify(options: argparse.Namespace) -> int:
    from esxparse.lakes import upkeep  # noqa: PLC0415

    state = upkeep.verify(_opened(options).store, content=options.content)
    for why in state.unreadable.values():
        fail(EsxparseError(why))
    for what in state.spoilt:
        fail(EsxparseError(f"{what}; take merged files away with esxparse lake compact --no-merge"))
    for entry, what in state.damaged:
        fail(EsxparseError(f"{entry.id} of host {entry.host}: {what}; add {entry.source} again with --force"))
    if not options.quiet:
        for pair in state.overlapping:
            print(printable(_twice(pair)))
        print(f"{counted(state.captures, 'capture')}, {counted(state.files, 'file')}, {state.bytes / _GB:,.2f} GB")
        if state.merged:
            merged = f"{counted(len(state.merged), 'merged file')}, {sum(state.merged.values()) / _GB:,.2f} GB"
            print(f"{merged}, instead of small ones of one host and day")
        if options.content and state.unsigned:
            early = counted(state.unsigned, "file")
            print(f"{early} of an early version without a checksum: only the size was compared")
        if state.left:
            size = sum(one.size for one in state.left) / 1e6
            left = f"{counted(len(state.left), 'file')} ({size:,.1f} MB)"
            print(f"{left} of no capture: esxparse lake compact removes what belongs to none")
    return 1 if state.damaged or state.unreadable or state.spoilt else 0


def _compact(options: argparse.Namespace) -> int:
    from esxparse.lakes import upkeep  # noqa: PLC0415

    older = timedelta(0) if options.older == "0" else period(options.older, "older") or upkeep.SAFE
    found = _opened(options)
    gone = upkeep.compact(found.store, older)
    if not options.quiet:
        print(f"{counted(len(gone), 'file')} removed, {sum(one.size for one in gone) / 1e6:,.1f} MB")
    if options.merge is None:
        return 0
    if options.merge:
        return _merge(found, options)
    from esxparse.lakes import merging  # noqa: PLC0415

    count = merging.undo(found.store)
    if not options.quiet:
        print(f"{count:,} merged files removed")
    return 0


def _merge(found: Lake, options: argparse.Namespace) -> int:
    from esxparse import fleet  # noqa: PLC0415
    from esxparse.lakes import merging  # noqa: PLC0415

    days = merging.days(found)
    made: list[Merged] = []
    failed = 0
    with Progress("merging", quiet=options.quiet) as progress:
        for number, done in enumerate(fleet.run(merging.merge, days, given_crew(options)), 1):
            progress(number, len(days), f"{number:,} of {len(days):,}")
            made += done.result or ()
            if done.why:
                failed += 1
                progress.clear()
                fail(EsxparseError(f"{days[done.place]}: {done.why}"))
    if not options.quiet:
        size = sum(one.bytes for one in made) / 1e6
        few = f"{counted(sum(len(one.of) for one in made), 'file')} of {counted(len(days) - failed, 'day')} of hosts"
        print(f"{few} are merged in {len(made):,}, {size:,.1f} MB")
    return 1 if failed else 0


def _judged(found: Lake, options: argparse.Namespace) -> int:
    from esxparse.lakes.judging import judge  # noqa: PLC0415

    failed = 0
    done = 0
    with Progress("judging", quiet=options.quiet) as progress:

        def report(entry: Entry, result: Mapping[str, Any] | str) -> None:
            nonlocal failed, done
            done += 1
            progress.clear()
            if isinstance(result, str):
                failed += 1
                fail(EsxparseError(f"{entry.id} of host {entry.host}: {result}"))
            elif not options.quiet:
                verdict = result.get("verdict", result["quality"]["verdict"])
                print(printable(f"{entry.host}: {verdict} Check: {result['quality']['status']}."))
            progress(done, len(found.captures), f"{done:,}")

        judge(found, given_crew(options), report)
    return failed


def _judge(options: argparse.Namespace) -> int:
    return 1 if _judged(_opened(options), options) else 0


def _report(options: argparse.Namespace) -> int:
    from esxparse.reports import report  # noqa: PLC0415  Jupyter is not for --help

    found = _opened(options)
    quiet, options.quiet = options.quiet, True
    failed = _judged(found, options)
    parameters = {"hosts": list(options.host), "since": options.since or "", "until": options.until or ""}
    with Progress(options.output, quiet=quiet) as progress:
        written = report(
            options.lake, "fleet", options.output, parameters, progress, replace=options.force, show=options.open
        )
    if not quiet:
        print(printable(str(written)))
    return 1 if failed else 0
