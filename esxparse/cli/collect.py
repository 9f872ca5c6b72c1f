"""`esxparse collect`: polls other machines while a capture runs."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from types import FrameType

from esxparse.cli.output import add_force
from esxparse.recording import printable

_DESCRIPTION = """Polls the power readings of a BMC (iLO, iDRAC, XCC, OpenBMC) over Redfish, and writes each answer as
one line of JSON, with the time. The password is taken from the environment variable ESXPARSE_BMC_PASSWORD, from a netrc
file, or a prompt; it is never an argument. Failed requests are logged and retried; press Ctrl-C to stop. The
file opens like any other recording: esxparse info FILE."""


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command to the parser."""
    about = "poll a BMC's power readings while a capture runs"
    parser = subparsers.add_parser("collect", help=about, description=f"{about[:1].upper()}{about[1:]}.")
    kinds = parser.add_subparsers(dest="kind", metavar="WHAT", required=True, help="what to collect")
    power = kinds.add_parser("power", help="power readings of a BMC, over Redfish", description=_DESCRIPTION)
    power.add_argument("--redfish", metavar="URL", required=True, help="the BMC: https://bmc.example.com")
    power.add_argument("-o", "--output", metavar="FILE", required=True, help="output file; - is standard output")
    there = power.add_mutually_exclusive_group()
    there.add_argument("--append", action="store_true", help="append to an existing file")
    add_force(there)
    power.add_argument("--username", metavar="NAME", help="user name (default: from the netrc file)")
    power.add_argument(
        "--interval", metavar="LENGTH", default="10s", help="time between polls, such as 10s or 1m (default: 10s)"
    )
    power.add_argument(
        "--duration", metavar="LENGTH", help="how long to poll, such as 30m or 1h (default: until Ctrl-C)"
    )
    power.add_argument("--ca", metavar="FILE", help="trust this CA certificate, or the BMC's own certificate")
    power.add_argument("--insecure", action="store_true", help="do not verify the BMC's certificate")
    power.add_argument(
        "--auth",
        choices=["auto", "session", "basic"],
        default="auto",
        help="authentication (default: a session if the BMC supports it)",
    )
    power.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=float,
        default=10.0,
        help="how long to wait for a complete answer (default: 10)",
    )
    power.add_argument("-q", "--quiet", action="store_true", help="print no summary; gaps are still reported")
    power.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Collects until the end or a signal; reports errors on stderr, and prints a summary."""
    from esxparse import collect  # noqa: PLC0415  not for --help

    stop = threading.Event()

    def end(number: int, _: FrameType | None) -> None:
        # A second signal ends at once: every line written so far is whole.
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        stop.set()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        collected = collect.power(
            options.redfish,
            options.output,
            username=options.username,
            interval=options.interval,
            duration=options.duration,
            append=options.append,
            replace=options.force,
            ca=options.ca,
            insecure=options.insecure,
            auth=options.auth,
            timeout=options.timeout,
            stop=stop,
            say=lambda text: print(f"esxparse: {printable(text)}", file=sys.stderr, flush=True),
        )
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if not options.quiet:
        failed = f", {collected.gaps:,} requests failed" if collected.gaps else ""
        name = "standard output" if options.output == "-" else options.output
        print(f"{printable(name)}: {collected.documents:,} documents{failed}", file=sys.stderr)
    return 0
