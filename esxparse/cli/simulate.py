"""`esxparse simulate`: raw files of a simulated host."""

from __future__ import annotations

import argparse
from typing import Any

from esxparse.cli.output import add_force
from esxparse.cli.progress import Progress
from esxparse.errors import EsxparseError
from esxparse.recording import printable
from esxparse.shipped import simulator

_DESCRIPTION = """Simulates the host of a scenario sample by sample and writes the files that esxtop, load generators,
power meters and other tools would have written. The same scenario and seed give the same bytes. Give the name of a
built-in scenario (see --list): busy and healthy hosts, and known faults, each with a severity. `random` draws a host
from --seed, as untidy as a real one; truth.toml says what is wrong with it, and since when that can be seen. Without a
scenario, --columns N simulates a healthy host with as many VMs as that takes, for test captures of any size."""
_RANDOM = "random"


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser("simulate", help="simulate a host and write its raw files", description=_DESCRIPTION)
    parser.add_argument("scenario", nargs="?", metavar="SCENARIO", help="a name (see --list) or a path ending in .toml")
    parser.add_argument("-o", "--output", metavar="DIR", help="directory to write to")
    parser.add_argument("--list", action="store_true", help="list the available scenarios")
    parser.add_argument(
        "--columns",
        type=int,
        metavar="N",
        help="simulate a host whose capture has at least N columns (2000 or more), instead of a scenario",
    )
    parser.add_argument("--seed", type=int, metavar="N", help="seed of the noise (default: the scenario's)")
    parser.add_argument("--samples", type=int, metavar="N", help="samples of each capture (default: the scenario's)")
    parser.add_argument("--interval", type=float, metavar="SECONDS", help="seconds between samples")
    parser.add_argument(
        "--severity",
        type=float,
        metavar="X",
        help="severity of a fault, from 0 (mild) to 1 (severe; default, but drawn for a random host)",
    )
    drawn = parser.add_argument_group("of a random host")
    drawn.add_argument(
        "--trouble",
        action="append",
        metavar="ID",
        help="trouble it has, as storage.array_slow (may be repeated; `none`: none; default: drawn, from none to two)",
    )
    drawn.add_argument(
        "--background", type=int, metavar="K", help="number of things it has that look like trouble only"
    )
    only = parser.add_argument_group("of the captures by esxtop, before what the scenario says of them")
    only.add_argument(
        "--release",
        metavar="X.Y",
        help="write as this ESXi release does, 3.5 to 8.0 (default: the scenario's, else 6.7)",
    )
    only.add_argument("--default-fields", action="store_true", help="write only what esxtop writes without -a")
    only.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help="object or counter to write (may be repeated; * matches anything)",
    )
    only.add_argument("--host", metavar="NAME", help="host name in the counter paths")
    only.add_argument(
        "--utc-offset", type=int, metavar="MINUTES", help="time zone offset of the printed clock (default: 0, UTC)"
    )
    only.add_argument("--zone", metavar="NAME", help="name of that time zone in the header")
    only.add_argument("--compress", choices=("gz", "bz2"), help="compress it")
    add_force(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress and no file names")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the files of a scenario.

    Raises EsxparseError: The simulator is not installed.
    """
    simulate = simulator()
    if options.list:
        for name, title in simulate.scenario_titles().items():
            print(f"{name:28} {title}")
        print(f"{_RANDOM:28} A host drawn by --seed, with --trouble: {', '.join(simulate.trouble_names())}")
        return 0
    with Progress(str(options.scenario or "large-host"), quiet=options.quiet) as progress:
        _check(options)
        experiment = _experiment(simulate, options)
        written = simulate.record(
            experiment,
            options.output,
            capture=_capture(options),
            replace=options.force,
            inputs=[options.scenario] if options.scenario and options.scenario != _RANDOM else [],
            progress=progress,
        )
    if not options.quiet:
        for file in written:
            print(printable(f"{file.path}: {file.tool}, {file.bytes / 1e6:,.2f} MB"))
    return 0


def _experiment(simulate: Any, options: argparse.Namespace) -> Any:
    settings = {name: getattr(options, name) for name in ("seed", "samples", "interval")}
    settings = {name: value for name, value in settings.items() if value is not None}
    if options.columns is not None:
        return simulate.large_experiment(options.columns, **settings)
    if options.scenario == _RANDOM:
        troubles = options.trouble and [name for name in options.trouble if name != "none"]
        seed = settings.pop("seed", 1)
        of = {"troubles": troubles, "severity": options.severity, "background": options.background}
        return simulate.random_experiment(seed, **of, **settings)
    severity = 1.0 if options.severity is None else options.severity
    return simulate.load_experiment(options.scenario, severity=severity, **settings)


def _capture(options: argparse.Namespace) -> dict[str, Any]:
    settings = {name: getattr(options, name) for name in ("release", "only", "host", "utc_offset", "zone", "compress")}
    if options.default_fields:
        settings["all_counters"] = False
    return {name: value for name, value in settings.items() if value is not None}


def _check(options: argparse.Namespace) -> None:
    """Reject invalid options before anything is read."""
    if not options.output or not (options.scenario or options.columns is not None):
        msg = "give a scenario and a directory: esxparse simulate busy-host -o DIR (--list shows the scenarios)"
        raise EsxparseError(msg)
    if options.scenario and options.columns is not None:
        raise EsxparseError(f"--columns simulates its own host: leave out {options.scenario}, or --columns")
    for name in ("trouble", "background"):
        if getattr(options, name) is not None and options.scenario != _RANDOM:
            raise EsxparseError(f"--{name} is of a random host: esxparse simulate random --{name} ... -o DIR")
    if options.samples is not None and options.samples < 1:
        raise EsxparseError(f"--samples {options.samples}: a capture needs 1 or more")
    if options.interval is not None and options.interval <= 0:
        raise EsxparseError(f"--interval {options.interval:g}: give a number of seconds above 0")
