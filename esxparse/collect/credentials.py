"""The account of a BMC: from the environment, a netrc file or a prompt, never from an argument."""

from __future__ import annotations

import getpass
import netrc
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from esxparse.errors import EsxparseError

PASSWORD = "ESXPARSE_BMC_PASSWORD"  # noqa: S105  the name of a variable


@dataclass(frozen=True)
class Account:
    """A name and its password; the repr leaves the password out."""

    username: str
    password: str = field(repr=False)


def _of_netrc(host: str) -> tuple[str, str] | None:
    """Return login and password of the host in the user's netrc file."""
    file = Path(os.environ.get("NETRC") or Path.home() / ".netrc")
    if not file.exists():
        return None
    try:
        found = netrc.netrc(str(file)).authenticators(host)
    except (netrc.NetrcParseError, OSError, UnicodeDecodeError) as error:
        why = getattr(error, "msg", None) or getattr(error, "strerror", None) or "not readable"
        raise EsxparseError(f"{file} cannot be used for the password: {why}") from None
    return (found[0], found[2]) if found and found[2] is not None else None


def account(url: str, username: str | None = None) -> Account | None:
    """Return the account to use at this address; None without a user name: some BMCs answer without a login.

    The name is `username`, or the name in the netrc file. The password comes from the environment variable
    `ESXPARSE_BMC_PASSWORD`, the netrc file, or a prompt, in this order.
    """
    host = urlsplit(url).hostname or ""
    password = os.environ.get(PASSWORD)
    stored = _of_netrc(host) if username is None or password is None else None
    if username is None and stored:
        username = stored[0]
    if username is None:
        if password is not None:
            raise EsxparseError(f"{PASSWORD} is set, but there is no user name: give --username")
        return None
    if password is None and stored and stored[0] == username:
        password = stored[1]
    if password is None and sys.stdin is not None and sys.stdin.isatty():
        password = getpass.getpass(f"Password of {username} at {host}: ")
    if password is None:
        raise EsxparseError(f"no password for {username} at {host}: set {PASSWORD}, or add the host to ~/.netrc")
    return Account(username, password)
