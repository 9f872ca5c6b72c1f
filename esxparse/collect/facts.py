"""The hardware and the versions of a host, read over one connection before a capture begins."""

from __future__ import annotations

import re
import secrets
import threading
import time
from dataclasses import dataclass
from typing import Final

from esxparse.collect.ssh import Login, LostError, Remote
from esxparse.errors import EsxparseError
from esxparse.recording import printable

_TOPOLOGY: Final = (
    "esxcli hardware cpu list",
    "esxcli hardware cpu global get",
    "esxcli hardware memory get",
    "esxcli hardware platform get",
    "vim-cmd hostsvc/hosthardware",
)
_VERSIONS: Final = (
    "vmware -v -l",
    "esxcli system version get",
    "esxcli software profile get",
    "esxcli network nic list",
    "esxcli storage core adapter list",
    "esxcli system settings advanced list -o /Power/CpuPolicy",
    "vim-cmd vmsvc/getallvms",
)
FILES: Final = {"topology.txt": _TOPOLOGY, "versions.txt": _VERSIONS}
"""Files and the commands whose answers they hold; `esxparse.formats.topology.esxcli` reads the first."""

_WORLD: Final = ("command -v esxtop", "date -u +%s")
# vim-cmd waits for hostd, forever if hostd hangs: it comes last.
_ASKED: Final = (*_WORLD, *sorted((*_TOPOLOGY, *_VERSIONS), key=lambda command: command.startswith("vim-cmd")))
_MOST_BYTES: Final = 16 << 20


@dataclass(frozen=True)
class Facts:
    """A host's answers about itself."""

    files: dict[str, str]
    """Answers as text, by the name of their file; commands that failed are left out."""
    failed: tuple[str, ...]
    """Commands without an answer."""
    release: str | None
    """The output of `vmware -v -l`."""
    clock_offset_s: float | None
    """The host's clock less this machine's, s; the host reports whole seconds."""


def _script(mark: str) -> str:
    """Return a script that prints each command's answer between marks, with its exit code at the end."""
    steps = [
        f"echo; echo {mark} {number}; {command} 2>&1; code=$?; echo; echo {mark} = $code"
        for number, command in enumerate(_ASKED)
    ]
    return f"sh -c '{'; '.join(steps)}'"


def ask(login: Login, patience: float, stop: threading.Event) -> Facts | None:
    """Read the facts of a host; None if `stop` was set meanwhile. Answers that come too late are left out.

    Raises:
        EsxparseError: It cannot be reached, refuses the login, or is not an ESXi host.
    """
    mark = f"esxparse-{secrets.token_hex(8)}"
    begun = time.time()
    remote = Remote(login, _script(mark))
    text = b""
    until = time.monotonic() + patience
    clock, late = None, False
    try:
        while (piece := remote.piece(0.1)) != b"":
            if stop.is_set():
                return None
            if piece:
                text += piece
                if clock is None and mark.encode() + b" 2" in text:
                    clock = (begun + time.time()) / 2
            if time.monotonic() > until or len(text) > _MOST_BYTES:
                late = True
                break
    finally:
        code = remote.end()
    said = text.decode(errors="replace").replace("\r\n", "\n")
    answers = _answers(said, mark)
    if late and not answers:
        raise LostError(f"{login.host}: no answer within {patience:g} s when asked for its hardware")
    if not late and (failure := remote.failure(code)) is not None:
        raise failure
    return _facts(login.host, answers, clock, [*said.split("\n"), *remote.said])


def _answers(text: str, mark: str) -> dict[str, tuple[str, int]]:
    """Return answer and exit code by command."""
    found = re.findall(rf"(?ms)^{mark} (\d+)\n(.*?)\n?^{mark} = (\d+)$", text)
    return {_ASKED[int(number)]: (answer, int(code)) for number, answer, code in found}


def _facts(host: str, answers: dict[str, tuple[str, int]], clock: float | None, said: list[str]) -> Facts:
    if not answers:
        shown = next((printable(line) for line in said if line.strip()), "no word")
        raise EsxparseError(f"{host} runs no commands of a shell ({shown[:120]}): is it an ESXi host?")
    if answers.get("command -v esxtop", ("", 1))[1]:
        raise EsxparseError(f"{host} has no esxtop: is it an ESXi host?")
    # If a program is missing, the answer is the shell's error, with its exit code.
    given = {command: text.strip("\n") for command, (text, code) in answers.items() if not code and text.strip()}
    files = {
        name: "".join(f"[esx:~] {command}\n{given[command]}\n\n" for command in commands if command in given)
        for name, commands in FILES.items()
    }
    failed = tuple(command for commands in FILES.values() for command in commands if command not in given)
    theirs = given.get("date -u +%s", "")
    offset = round(float(theirs) - clock, 1) if clock is not None and theirs.isdecimal() else None
    release = given.get("vmware -v -l")
    return Facts(
        {name: text for name, text in files.items() if text}, failed, release and " ".join(release.split()), offset
    )
