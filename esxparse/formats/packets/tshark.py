"""Running tshark: what it is asked, what it says, and its output as it comes."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from esxparse.errors import DamagedError, EsxparseError
from esxparse.formats.packets.fields import FIELDS
from esxparse.recording import Note
from esxparse.whole import Scratch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from esxparse.formats.source import Source

_BLOCK = 4 << 20

# Whatever the user's own settings: messages longer than a segment are put together, connections are analysed, and what
# was sent again is not taken for a second request.
_SETTINGS = (
    "tcp.desegment_tcp_streams:TRUE",
    "tcp.analyze_sequence_numbers:TRUE",
    "rpc.desegment_rpc_over_tcp:TRUE",
    "rpc.defragment_rpc_over_tcp:TRUE",
    "iscsi.desegment_iscsi_messages:TRUE",
)
_SAYS_NOTHING = re.compile(r"Running as user|could be dangerous|^\s*$|packets? captured|^\*\*|Couldn't load")
_INVALID = re.compile(r"aren't valid", re.IGNORECASE)
_ELSEWHERE = 'tshark -n -r trace.pcap -T ek -J "frame ip ipv6 tcp udp rpc nfs iscsi scsi" > trace.json'


def command(capture: str, fields: Sequence[str] = FIELDS, program: str = "tshark") -> list[str]:
    """The command whose output is read: also what to run where tshark is installed, to read its output elsewhere.

    >>> " ".join(command("trace.pcap", fields=["frame.number"])).rpartition(" -o ")[2].partition(" ")[2]
    '-r trace.pcap -T fields -E header=y -E occurrence=a -e frame.number'
    """
    settings = [part for setting in _SETTINGS for part in ("-o", setting)]
    wanted = [part for field in fields for part in ("-e", field)]
    return [program, "-n", *settings, "-r", capture, "-T", "fields", "-E", "header=y", "-E", "occurrence=a", *wanted]


def program() -> str:
    """Where tshark is.

    Raises:
        EsxparseError: It is not on the PATH.
    """
    found = shutil.which("tshark")
    if found is None:
        msg = (
            "a packet capture is decoded by tshark, which is not on the PATH: install it (apt install tshark), "
            f"or where it is installed run {_ELSEWHERE} and open trace.json"
        )
        raise EsxparseError(msg)
    return found


@contextmanager
def plain_file(source: Source, notes: list[Note]) -> Iterator[Path]:
    """The path of a capture that tshark can read: its own, or that of a copy, unpacked."""
    if source.path is not None:
        yield source.path.absolute()
        return
    with Scratch() as folder:
        copy = folder / "capture"
        with source.open() as stream, copy.open("wb") as file:
            shutil.copyfileobj(stream, file, _BLOCK)
            notes += source.ended(stream)
        yield copy


def _unknown_fields(said: str) -> list[str]:
    lines = said.splitlines()
    begin = next((place for place, line in enumerate(lines) if _INVALID.search(line)), len(lines))
    return [line.strip() for line in lines[begin + 1 :] if line.strip() in FIELDS]


def _whole_lines(pipe: IO[bytes]) -> Iterator[bytes]:
    rest = b""
    while block := pipe.read(_BLOCK):
        head, newline, tail = block.rpartition(b"\n")
        if newline:
            yield rest + head + newline
            rest = tail
        else:
            rest += tail
    if rest:
        yield rest + b"\n"


def _said(stderr: str, path: Path, source: Source) -> list[str]:
    lines = [line.strip().removeprefix("tshark: ") for line in stderr.splitlines() if not _SAYS_NOTHING.search(line)]
    return [line.replace(str(path), source.name) for line in lines]


def output(found: str, path: Path, source: Source, fields: Sequence[str], notes: list[Note]) -> Iterator[bytes]:
    """The lines that tshark prints for a capture, a block of whole lines at a time; what it says becomes notes.

    Raises:
        DamagedError: It could decode nothing.
    """
    with tempfile.TemporaryFile() as errors:
        run = subprocess.Popen(  # noqa: S603  the program that the user has on the PATH
            command(str(path), fields, found), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
        )
        try:
            assert run.stdout is not None  # noqa: S101  it was asked for
            yield from _whole_lines(run.stdout)
        except BaseException:
            run.kill()
            raise
        finally:
            if run.stdout is not None:
                run.stdout.close()
            status = run.wait()
        errors.seek(0)
        said = _said(errors.read().decode(errors="replace"), path, source)
    unknown = _unknown_fields("\n".join(said)) if status else []
    if unknown:
        # It stops at once on a field it does not know: nothing was printed yet.
        notes.append(
            Note(f"this tshark does not know {', '.join(unknown)}: what they say is missing", severity="warning")
        )
        yield from output(found, path, source, [field for field in fields if field not in unknown], notes)
        return
    notes += [Note(f"tshark: {line}", severity="warning") for line in said]
    if status and not said:
        how = f"ended by signal {-status}" if status < 0 else f"ended with status {status}"
        notes.append(Note(f"tshark {how}: what came after is missing", severity="warning"))


def nothing(notes: Sequence[Note]) -> DamagedError:
    """The error for a capture of which nothing could be decoded."""
    why = next((note.message for note in notes if note.severity == "warning"), "it holds no packets")
    return DamagedError(f"no packet could be decoded ({why}): capture again, or try another copy of it")
