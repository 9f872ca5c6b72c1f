"""The account of a server: from a file, the environment, a netrc file or a prompt, never from an argument."""

from __future__ import annotations

import getpass
import netrc
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from esxparse.errors import EsxparseError

BMC_PASSWORD: Final = "ESXPARSE_BMC_PASSWORD"  # noqa: S105  the name of a variable
VSPHERE_PASSWORD: Final = "ESXPARSE_VSPHERE_PASSWORD"  # noqa: S105  the same
PASSWORDS: Final = (BMC_PASSWORD, VSPHERE_PASSWORD)
"""Variables of the environment that other programs must not get."""

_LONGEST: Final = 4096


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


def _of_file(path: str | os.PathLike[str]) -> str:
    """Return the password in a file: its only line."""
    try:
        with Path(path).expanduser().open("rb") as file:
            content = file.read(_LONGEST + 1)
    except OSError as error:
        raise EsxparseError(f"{os.fspath(path)} cannot be read for the password: {error.strerror or error}") from None
    try:
        text = content.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        text = ""
    if not text or "\n" in text or len(content) > _LONGEST:
        raise EsxparseError(f"{os.fspath(path)} has no password: write it into the file, as the only line, in UTF-8")
    return text


def account(
    host: str,
    username: str | None = None,
    *,
    variable: str = BMC_PASSWORD,
    file: str | os.PathLike[str] | None = None,
) -> Account | None:
    """Return the account to use at this host; None without a user name: some BMCs answer without a login.

    The name is `username`, or the name in the netrc file. The password comes from `file`, the environment variable, the
    netrc file, or a prompt, in this order.
    """
    password = os.environ.get(variable) if file is None else _of_file(file)
    stored = _of_netrc(host) if username is None or password is None else None
    if username is None and stored:
        username = stored[0]
    if username is None:
        if password is not None:
            source = f"{variable} is set" if file is None else "there is a password"
            raise EsxparseError(f"{source}, but there is no user name: give --username")
        return None
    if password is None and stored and stored[0] == username:
        password = stored[1]
    if password is None and sys.stdin is not None and sys.stdin.isatty():
        password = getpass.getpass(f"Password of {username} at {host}: ")
    if password is None:
        raise EsxparseError(f"no password for {username} at {host}: set {variable}, or add the host to ~/.netrc")
    return Account(username, password)
