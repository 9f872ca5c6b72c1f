"""Commands on another machine by the system's own `ssh`, which knows its user's keys, agent, configuration and hosts.

There are no prompts: a key or an agent logs in, and a host whose key is not known is refused. The remote command ends
with the connection: a shell beside it waits for the end of its input.
"""

from __future__ import annotations

import os
import queue
import re
import shlex
import shutil
import subprocess
import threading
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, cast

from esxparse import toml
from esxparse.collect.credentials import PASSWORDS
from esxparse.errors import EsxparseError
from esxparse.recording import printable

_FAILED: Final = 255
"""The exit code of ssh if ssh failed, not the command."""

_OPTIONS: Final = {
    "BatchMode": "yes",
    "StrictHostKeyChecking": "yes",
    "ConnectTimeout": "15",
    # A dead network is noticed after 15 s.
    "ServerAliveInterval": "5",
    "ServerAliveCountMax": "3",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "ClearAllForwardings": "yes",
    "RemoteCommand": "none",
    # Below this level ssh does not print why no algorithm fits.
    "LogLevel": "INFO",
}
_TARGET = re.compile(r"(?P<user>[^\s@:/-][^\s@:/]*@)?(?:(?P<name>\w[\w.-]*)|\[?(?P<ipv6>[0-9A-Fa-f:.]*:[\w:.%-]*)\]?)")
_PIECE: Final = 1 << 16
_WAITING: Final = 64
"""Most pieces that wait to be taken: a slow disk here slows esxtop down, instead of filling the memory."""
_SAID_LINES: Final = 20
_SAID_BYTES: Final = 1 << 13
"""Most bytes of a line of standard error: a host may never end its line."""
_FAREWELL_S: Final = 5.0

_RUN: Final = """exec 3<&0
trap : TERM
{command} </dev/null 3<&- &
running=$!
(cat <&3 >/dev/null 2>&1; kill -TERM -$$ || kill $running) >/dev/null 2>&1 &
watching=$!
wait $running
ended=$?
kill $watching 2>/dev/null
exit $ended"""
"""Ends the command when the input ends: with the client, or with the connection.

sshd gives each session a process group, so everything that the command started ends with it.
"""


class LostError(EsxparseError):
    """The connection failed or was lost; the next try may succeed."""


class RefusedError(EsxparseError):
    """The login or the host's key is refused: trying again would not help, and could lock the account."""


_REASONS: Final = tuple(
    (sign, kind, reason)
    for kind, signs in ((RefusedError, "refused"), (LostError, "lost"))
    for sign, reason in toml.beside(__file__, "reasons.toml")["ssh"][signs].items()
)


@dataclass(frozen=True)
class Login:
    """Target, key and configuration of a login."""

    target: str
    """`user@host`, or a name of the user's ssh configuration."""
    port: int | None = None
    identity: Path | None = None
    config: Path | None = None

    @classmethod
    def of(
        cls,
        target: str,
        port: int | None = None,
        identity: str | os.PathLike[str] | None = None,
        config: str | os.PathLike[str] | None = None,
    ) -> Login:
        """Return a login that has been checked.

        Raises:
            EsxparseError: The target is not valid, a file does not exist, or there is no ssh here.
        """
        if re.fullmatch(r"[^@\s]*:[^@]*@.*", target):
            shown = target.rpartition("@")[2]
            raise EsxparseError(f"a password in a target ({shown}) is visible to everyone: use a key or an agent")
        # A name that begins with - would be an option of ssh.
        parts = _TARGET.fullmatch(target)
        if parts is None:
            raise EsxparseError(f"{target!r} is no host to log in to: write it as root@esx.example.com")
        # ssh takes an IPv6 address without brackets.
        target = (parts["user"] or "") + (parts["name"] or parts["ipv6"])
        if port is not None and not 0 < port < 1 << 16:
            raise EsxparseError(f"port {port} does not exist: give one from 1 to 65535")
        files = [Path(name).expanduser() if name is not None else None for name in (identity, config)]
        for path in files:
            if path is not None and not path.is_file():
                raise EsxparseError(f"{path} does not exist: give a private key, or a configuration of ssh")
        if shutil.which("ssh") is None:
            raise EsxparseError("there is no ssh here: install the OpenSSH client")
        return cls(target, port, *files)

    @property
    def host(self) -> str:
        """The host's name."""
        return self.target.rpartition("@")[2]

    def command(self, script: str) -> list[str]:
        """Return the command line that runs a script of `sh` on the host."""
        options = [word for name, value in _OPTIONS.items() for word in ("-o", f"{name}={value}")]
        port = ["-p", str(self.port)] if self.port else []
        identity = ["-i", str(self.identity), "-o", "IdentitiesOnly=yes"] if self.identity else []
        config = ["-F", str(self.config)] if self.config else []
        return [
            "ssh",
            "-T",
            *config,
            *options,
            *port,
            *identity,
            "--",
            self.target,
            f"exec sh -c {shlex.quote(script)}",
        ]


class Remote:
    """A command that runs on another machine, and its output in pieces."""

    def __init__(self, login: Login, command: str) -> None:
        self._login = login
        try:
            self._process = subprocess.Popen(  # noqa: S603  the words are checked
                login.command(_RUN.format(command=command)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # Ctrl-C is for us: we end it properly.
                start_new_session=True,
                # A proxy's command, or SendEnv, could take the BMC's password along.
                env={name: value for name, value in os.environ.items() if name not in PASSWORDS} | {"LC_ALL": "C"},
            )
        except OSError as error:
            raise EsxparseError(f"ssh cannot be started: {error.strerror or error}") from None
        self._pieces: queue.Queue[bytes] = queue.Queue(_WAITING)
        self._said: deque[str] = deque(maxlen=_SAID_LINES)
        self._given_up = False
        self._heard = False
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._read, self._listen)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        stdout = cast("IO[bytes]", self._process.stdout)
        while piece := os.read(stdout.fileno(), _PIECE):
            self._heard = True
            if not self._given_up:
                self._pieces.put(piece)
        self._pieces.put(b"")

    def _listen(self) -> None:
        stderr = cast("IO[bytes]", self._process.stderr)
        while line := stderr.readline(_SAID_BYTES):
            if text := line.decode(errors="replace").strip():
                self._said.append(text)

    def piece(self, seconds: float) -> bytes | None:
        """Return the next output; None if nothing comes in this time, no bytes at the end."""
        try:
            return self._pieces.get(timeout=seconds)
        except queue.Empty:
            return None

    @property
    def said(self) -> list[str]:
        """The last lines of its standard error."""
        return list(self._said)

    def end(self) -> int:
        """End the command if it runs, on both machines; return its exit code."""
        self._given_up = True
        cast("IO[bytes]", self._process.stdin).close()
        while not self._pieces.empty():
            self._pieces.get_nowait()
        try:
            code = self._process.wait(_FAREWELL_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        # A child of ssh (a proxy, a shared connection) may hold its output open.
        for thread in self._threads:
            thread.join(1.0)
        return code

    def failure(self, code: int) -> EsxparseError | None:
        """Return why ssh itself failed, in words; None if the command ended."""
        if code != _FAILED:
            return None
        said = printable(self.said[-1]) if self._said else "the connection was lost"
        # After output the login was not refused: the messages are the command's own as well as ssh's.
        text = said if self._heard else "\n".join(self.said)
        for sign, kind, reason in _REASONS:
            if sign.lower() in text.lower() and not (self._heard and kind is RefusedError):
                return kind(f"{self._login.host}: {reason.format(target=self._login.target, said=said)}")
        return LostError(f"{self._login.host}: {said}")
