"""Options of the commands that log in to a vCenter or an ESXi host."""

from __future__ import annotations

import argparse
from typing import Any, Final

_NAMES: Final = ("username", "password_file", "ca", "thumbprint", "insecure", "timeout")


def add_login(parser: argparse.ArgumentParser) -> None:
    """Add the server, the account and the trust to a parser."""
    parser.add_argument(
        "--server", metavar="NAME", required=True, help="the vCenter or ESXi host: vc.example.com, or with :PORT"
    )
    login = parser.add_argument_group("account and certificate")
    login.add_argument("--username", metavar="NAME", help="user name, with its domain (default: from the netrc file)")
    login.add_argument("--password-file", metavar="FILE", help="file whose only line is the password")
    trust = login.add_mutually_exclusive_group()
    trust.add_argument("--ca", metavar="FILE", help="trust this CA certificate, or the server's own certificate")
    trust.add_argument("--thumbprint", metavar="HEX", help="trust only the certificate with this SHA-256 or SHA-1")
    trust.add_argument("--insecure", action="store_true", help="do not verify the server's certificate")
    login.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=float,
        default=60.0,
        help="how long to wait for a complete answer (default: 60)",
    )


def login_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the account and the trust as keywords of a session."""
    return {name: getattr(options, name) for name in _NAMES}
