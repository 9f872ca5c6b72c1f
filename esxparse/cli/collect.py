"""`esxparse collect`: capture a host by esxtop, or a BMC's power readings, while something runs on it."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from esxparse.cli.output import add_force
from esxparse.cli.vsphere_login import add_login, login_of
from esxparse.recording import counted, printable

_POWER = """Polls the power readings of a BMC (iLO, iDRAC, XCC, OpenBMC) over Redfish, and writes each answer as
one line of JSON, with the time. The password is taken from the environment variable ESXPARSE_BMC_PASSWORD, from a netrc
file, or a prompt; it is never an argument. Failed requests are logged and retried; press Ctrl-C to stop. The
file opens like any other recording: esxparse info FILE."""
_HOST = """Captures an ESXi host with esxtop -b -a over the system's ssh, compressed as it comes, with its topology and
versions beside it, and its power if its BMC is given. The host's key must be known, and a key or an agent must log in:
nothing is asked for. A lost connection is tried again; the gap is noted. Press Ctrl-C to stop. The capture can be
opened while it is written."""

_VSPHERE = """Captures an ESXi host with esxtop through the vSphere API: no ssh, no shell. The raw replies of the host
are stored, compressed as they come. The account needs the privilege Global.ServiceManagers. The password is taken from
--password-file, the environment variable ESXPARSE_VSPHERE_PASSWORD, a netrc file or a prompt; it is never an argument.
A lost session is established again; the gap is noted. Press Ctrl-C to stop. The cost: for each sample the host's
management service collects all counters of all VMs. So captures end after 10 minutes, or after --duration, an hour at
most. With --vscsistats the host counts the I/O of every VM meanwhile. The capture can be opened while it is written.
Nothing of this was tried on a real host yet."""

_VCENTER = """Collects what a vCenter knows: counters, tasks, events and the inventory with snapshots, up to now. Hosts
and VMs have a value for every 20 s of the last hour. A longer time, datastores and clusters have the values that the
vCenter stores. A read-only account is enough; its password comes from where collect vsphere takes it. The directory
appears once it is complete, and opens like any other recording: esxparse info DIR."""

_OF_BOTH = ("interval", "duration", "username", "ca", "insecure", "auth")
_OF_HOST = (*_OF_BOTH, "port", "identity", "ssh_config", "redfish", "power_interval")
_OF_VSPHERE = ("host", "interval", "duration", "vscsistats", "reset")
_OF_VCENTER = ("cluster", "host", "vm", "last", "every_counter")
_OF_POWER = (*_OF_BOTH, "append", "timeout")


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    about = "capture a host with esxtop over ssh or the vSphere API, or poll a BMC's power readings"
    parser = subparsers.add_parser("collect", help=about, description=f"{about[:1].upper()}{about[1:]}.")
    kinds = parser.add_subparsers(dest="kind", metavar="WHAT", required=True, help="what to collect")
    _add_host(kinds.add_parser("host", help="an ESXi host, by esxtop over ssh", description=_HOST))
    _add_vsphere(kinds.add_parser("vsphere", help="an ESXi host, by esxtop without ssh", description=_VSPHERE))
    _add_vcenter(kinds.add_parser("vcenter", help="counters, tasks and events of a vCenter", description=_VCENTER))
    _add_power(kinds.add_parser("power", help="power readings of a BMC, over Redfish", description=_POWER))


def _given(options: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(options, name) for name in names}


def _add_host(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="USER@HOST", help="the host, such as root@esx.example.com")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="directory for the capture")
    _add_times(parser, "5s", "samples")
    parser.add_argument("-p", "--port", type=int, help="port of its SSH server")
    parser.add_argument("-i", "--identity", metavar="FILE", help="private key (default: of the agent, or ssh's own)")
    parser.add_argument("-F", "--ssh-config", metavar="FILE", help="configuration of ssh (default: the user's)")
    bmc = parser.add_argument_group("power of its BMC")
    bmc.add_argument("--redfish", metavar="URL", help="the BMC: https://bmc.example.com")
    bmc.add_argument(
        "--power-interval", metavar="LENGTH", default="10s", help="time between polls of the BMC (default: 10s)"
    )
    _add_account(bmc)
    parser.set_defaults(run=run_host)


def _add_vsphere(parser: argparse.ArgumentParser) -> None:
    add_login(parser)
    parser.add_argument("--host", metavar="NAME", help="the host's name in the vCenter (default: the only one)")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="directory for the capture")
    _add_times(parser, "5s", "samples, 2s at least", "10m")
    parser.add_argument(
        "--vscsistats", action="store_true", help="also fetch vscsiStats histograms of all VMs at the end"
    )
    parser.add_argument("--reset", action="store_true", help="set these histograms to zero at the start")
    parser.set_defaults(run=run_vsphere)


def _add_vcenter(parser: argparse.ArgumentParser) -> None:
    add_login(parser)
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="new directory for the files")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--cluster", metavar="NAME", help="only this cluster, its hosts, their VMs and datastores")
    part.add_argument("--host", metavar="NAME", help="only this host, its VMs and datastores")
    part.add_argument("--vm", metavar="NAME", help="only this VM, its host and datastores")
    parser.add_argument("--last", metavar="LENGTH", default="1h", help="how far back, such as 1h or 7d (default: 1h)")
    parser.add_argument(
        "--all", dest="every_counter", action="store_true", help="every counter of the server, not the usual ones"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print no steps and no summary")
    parser.set_defaults(run=run_vcenter)


def _add_power(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--redfish", metavar="URL", required=True, help="the BMC: https://bmc.example.com")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="output file; - is standard output")
    there = parser.add_mutually_exclusive_group()
    there.add_argument("--append", action="store_true", help="append to an existing file")
    add_force(there)
    _add_times(parser, "10s", "polls")
    _add_account(parser)
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=float,
        default=10.0,
        help="how long to wait for a complete answer (default: 10)",
    )
    parser.set_defaults(run=run_power)


def _add_times(parser: argparse.ArgumentParser, interval: str, what: str, duration: str | None = None) -> None:
    parser.add_argument(
        "--interval",
        metavar="LENGTH",
        default=interval,
        help=f"time between {what}, such as 10s or 1m (default: {interval})",
    )
    end = f"{duration}; 1h at most" if duration else "until Ctrl-C"
    parser.add_argument(
        "--duration", metavar="LENGTH", default=duration, help=f"how long to collect, such as 30m (default: {end})"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print no summary; gaps are still reported")


def _add_account(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--username", metavar="NAME", help="user name at the BMC (default: from the netrc file)")
    parser.add_argument("--ca", metavar="FILE", help="trust this CA certificate, or the BMC's own certificate")
    parser.add_argument("--insecure", action="store_true", help="do not verify the BMC's certificate")
    parser.add_argument(
        "--auth",
        choices=["auto", "session", "basic"],
        default="auto",
        help="authentication at the BMC (default: a session if it supports them)",
    )


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """Yield an event that a first Ctrl-C sets, or SIGTERM, or the end of the terminal.

    A second one ends at once: everything written so far is complete.
    """
    stop = threading.Event()

    def end(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        stop.set()

    numbers = {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}
    # Under nohup it goes on after the terminal ends.
    heeded = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in heeded}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say(text: str) -> None:
    # A terminal that is gone does not end a capture.
    with suppress(OSError):
        print(f"esxparse: {printable(text)}", file=sys.stderr, flush=True)


def run_host(options: argparse.Namespace) -> int:
    """Capture until the end or a signal; report losses on stderr, and print a summary."""
    from esxparse import collect  # noqa: PLC0415  not for --help

    with _stopping() as stop:
        captured = collect.host(options.target, options.output, **_given(options, _OF_HOST), stop=stop, say=_say)
    if not options.quiet:
        names = ", ".join(printable(str(path)) for path in captured.files)
        gaps = f", {counted(captured.gaps, 'gap')}" if captured.gaps else ""
        failed = f", BMC: {counted(captured.power_gaps, 'request')} failed" if captured.power_gaps else ""
        print(f"{names}: {counted(captured.samples, 'sample')}{gaps}{failed}", file=sys.stderr)
    return 1 if captured.power or captured.lost else 0


def run_vsphere(options: argparse.Namespace) -> int:
    """Capture until the end or a signal; report losses on stderr, and print a summary."""
    from esxparse import collect  # noqa: PLC0415  not for --help

    with _stopping() as stop:
        what = _given(options, _OF_VSPHERE) | login_of(options)
        fetched = collect.vsphere(options.server, options.output, **what, stop=stop, say=_say)
    if not options.quiet:
        names = ", ".join(printable(str(path)) for path in fetched.files)
        gaps = f", {counted(fetched.gaps, 'gap')}" if fetched.gaps else ""
        print(f"{names}: {counted(fetched.samples, 'sample')}{gaps}", file=sys.stderr)
    return 1 if fetched.lost or fetched.failed else 0


def run_vcenter(options: argparse.Namespace) -> int:
    """Collect; report steps and failures on stderr, and print a summary."""
    from esxparse import collect  # noqa: PLC0415  not for --help
    from esxparse.formats.vcenter import collection  # noqa: PLC0415  polars is not for --help

    say = (lambda _: None) if options.quiet else _say
    with _stopping() as stop:
        what = _given(options, _OF_VCENTER) | login_of(options)
        gathered = collect.vcenter(options.server, options.output, **what, stop=stop, say=say)
    for text in collection.not_collected(gathered.failed):
        _say(text)
    if not options.quiet:
        numbers = ", ".join(
            (
                counted(gathered.objects, "object"),
                f"{gathered.series:,} series",
                counted(gathered.tasks, "task"),
                counted(gathered.events, "event"),
            )
        )
        print(f"{printable(str(gathered.folder))}: {numbers}, in {gathered.seconds:.1f} s", file=sys.stderr)
    return 1 if gathered.failed else 0


def run_power(options: argparse.Namespace) -> int:
    """Collect until the end or a signal; report errors on stderr, and print a summary."""
    from esxparse import collect  # noqa: PLC0415  not for --help

    with _stopping() as stop:
        asked = _given(options, _OF_POWER)
        collected = collect.power(options.redfish, options.output, **asked, replace=options.force, stop=stop, say=_say)
    if not options.quiet:
        failed = f", {counted(collected.gaps, 'request')} failed" if collected.gaps else ""
        name = "standard output" if options.output == "-" else options.output
        print(f"{printable(name)}: {counted(collected.documents, 'document')}{failed}", file=sys.stderr)
    return 0
