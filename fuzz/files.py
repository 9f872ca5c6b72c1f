"""Reads mutated files of every format, and counts what should never happen.

    python fuzz/files.py --cases 50000 --seed 1

Samples are those of `datasets/formats`, and real files where `ESXPARSE_REAL_DATA` names their directory. One file in
ten is packed (gzip, zip, tar), and mutated before or after. A mutated file is read, or refused by an error of ours that
names what is wrong with it; anything else is printed with the seed that makes it again, and the run ends with status 1.
So does a file that takes more than `--seconds-each` of processor time. What is found becomes a test.
"""

from __future__ import annotations

import argparse
import gzip
import io
import os
import random
import re
import resource
import signal
import sys
import tarfile
import tempfile
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import esxparse as ex
from esxparse.errors import EsxparseError
from esxparse.shipped import datasets_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LONGEST = 1 << 20
_LARGEST_SAMPLE = 64 << 10
"""Longer samples are mutated in their first bytes."""

_PACKED = 0.1
"""The share of files that are packed."""

_RARE = frozenset({".pcapng", ".pcap"})
"""tshark, a program of its own, decodes them: each takes as long as ten others."""

_RARELY = 0.02
_EVERY = 500
"""Files after which progress is told."""

_ODD = (
    b"\xff\xfe", b"\xfe\xff", b"\0", b"\xef\xbb\xbf", b'"\\ud800"', b"1e400", b"9" * 5000, b"-", b"nan", b"null", b"{}",
    b"[]", b'{"a":1}', b"[[[[" * 500, b"(" * 2000, b" " * 3000, b"\n" * 3000, b"\t", b'"', b"'", b"x" * 140_000, b"\r",
    b"</RIBCL>", b"<Results>", b"\x1b]0;x\x07", b"__proto__", b"99999999999999999999", b"\xe2\x80\xae", b"%n%s",
)  # fmt: skip


class LateError(BaseException):
    """A file took too long; no reader may catch it."""


def samples() -> list[tuple[str, bytes]]:
    """Name and beginning of every sample."""
    folders = [datasets_dir() / "formats", datasets_dir() / "busy-host"]
    real = os.environ.get("ESXPARSE_REAL_DATA")
    paths = [path for folder in folders for path in sorted(folder.iterdir())]
    paths += sorted(Path(real).rglob("*")) if real else []
    return [
        (path.name, path.read_bytes()[:_LARGEST_SAMPLE])
        for path in paths
        if path.is_file() and path.suffix not in {".md", ".toml"}
    ]


def _place(draw: random.Random, content: bytes) -> int:
    return draw.randrange(len(content) + 1)


def _cut(draw: random.Random, content: bytes) -> bytes:
    return content[: _place(draw, content)]


def _flipped(draw: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.choice((1, 3, 30))):
        if changed:
            changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)


def _inserted(draw: random.Random, content: bytes) -> bytes:
    at = _place(draw, content)
    return content[:at] + draw.choice(_ODD) + content[at:]


def _without_part(draw: random.Random, content: bytes) -> bytes:
    begin = _place(draw, content)
    return content[:begin] + content[begin + draw.choice((1, 10, 500)) :]


def _repeated_line(draw: random.Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    at = draw.randrange(len(lines))
    times = min(draw.choice((2, 30, 1000)), 1 + _LONGEST // (2 * len(lines[at]) + 2))
    return b"\n".join([*lines[:at], *[lines[at]] * times, *lines[at + 1 :]])


def _shuffled_lines(draw: random.Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    draw.shuffle(lines)
    return b"\n".join(lines)


def _other_value(draw: random.Random, content: bytes) -> bytes:
    values = list(re.finditer(rb'"[^"\n]{0,40}"|-?\d[\d.]*', content))
    if not values:
        return content
    found = draw.choice(values)
    return content[: found.start()] + draw.choice(_ODD) + content[found.end() :]


_MUTATIONS = (_cut, _flipped, _inserted, _without_part, _repeated_line, _shuffled_lines, _other_value, _other_value)


def _zipped(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("notes.txt", "none")
        bundle.writestr("member", content)
    return file.getvalue()


def _tarred(content: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as bundle:
        info = tarfile.TarInfo("folder/member")
        info.size = len(content)
        bundle.addfile(info, io.BytesIO(content))
    return file.getvalue()


_PACKINGS = (lambda content: gzip.compress(content, 1), _zipped, _tarred)


def _changed(draw: random.Random, content: bytes) -> bytes:
    for _ in range(draw.choice((1, 1, 2, 3))):
        change: Callable[[random.Random, bytes], bytes] = draw.choice(_MUTATIONS)
        content = change(draw, content)
    return content[:_LONGEST]


def mutated(draw: random.Random, whole: list[tuple[str, bytes]]) -> tuple[str, bytes]:
    """Name of a sample and what became of it: up to three mutations, at times with another sample behind it."""
    name, content = draw.choice(whole)
    while Path(name).suffix in _RARE and draw.random() > _RARELY:
        name, content = draw.choice(whole)
    if draw.random() >= _PACKED:
        content = _changed(draw, content)
        return name, (content + draw.choice(whole)[1] if draw.random() < 0.03 else content)[:_LONGEST]  # noqa: PLR2004
    pack = draw.choice(_PACKINGS)
    if draw.random() < 0.5:  # noqa: PLR2004  half of them inside
        return f"{name}, packed", pack(_changed(draw, content))
    return f"{name}, packed", _changed(draw, pack(content))


def read(path: Path) -> str:
    """Opens a file and all its tables; `read`, or the name of our error.

    Raises:
        Exception: What is not an error of ours.
    """
    try:
        rec = ex.open(path)
        for name in rec:
            rec[name].collect()
        str(rec)
        [str(one) for one in rec.notes]
    except EsxparseError as error:
        # What no reader foresaw is an error of ours too, and says so.
        return "unforeseen" if isinstance(error.__cause__, Exception) and _foreign(error) else type(error).__name__
    return "read"


def _foreign(error: BaseException) -> bool:
    cause = error.__cause__
    while isinstance(cause, EsxparseError):
        cause = cause.__cause__
    return cause is not None and "is a fault of esxparse" in str(error)


def _late(*_: object) -> None:
    raise LateError


def cases(first: int, number: int) -> Iterator[tuple[int, str, bytes]]:
    """Seed, sample and content of each case."""
    whole = samples()
    for seed in range(first, first + number):
        name, content = mutated(random.Random(seed), whole)  # noqa: S311  files, not secrets
        yield seed, name, content


def _peak() -> int:
    """MiB of memory at the highest."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def run(first: int, number: int, seconds_each: float, *, progress: bool = False) -> tuple[Counter[str], list[str]]:
    """Reads that many files; how many ended how, and what should not have happened."""
    ended: Counter[str] = Counter()
    wrong: list[str] = []
    signal.signal(signal.SIGPROF, _late)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        for seed, name, content in cases(first, number):
            path.write_bytes(content)
            try:
                signal.setitimer(signal.ITIMER_PROF, seconds_each)
                outcome = read(path)
            except LateError:
                outcome = "late"
            except Exception as error:  # noqa: BLE001  whatever it is, it was found
                outcome = f"foreign {type(error).__name__}: {str(error)[:200]}"
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            ended[outcome.split(":", 1)[0]] += 1
            if progress and not (seed - first + 1) % _EVERY:
                told = ", ".join(f"{count:,} {how}" for how, count in ended.most_common())
                print(f"{seed - first + 1:,} of {number:,}, {_peak()} MiB: {told}; {len(wrong)} wrong", flush=True)
            if outcome in {"late", "unforeseen"} or outcome.startswith("foreign"):
                wrong.append(f"seed {seed} ({name}, {len(content):,} bytes): {outcome}")
                if progress:
                    print(wrong[-1], file=sys.stderr, flush=True)
    return ended, wrong


def main() -> int:
    """Fuzzes, prints what was read, and gives the exit status."""
    parser = argparse.ArgumentParser(description="Read mutated files of every format.")
    parser.add_argument("--cases", type=int, default=50_000)
    parser.add_argument("--seconds-each", type=float, default=2.0, help="of processor time, per file")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**9, help="of the first case")
    arguments = parser.parse_args()
    begin = time.monotonic()
    ended, wrong = run(arguments.seed, arguments.cases, arguments.seconds_each, progress=True)
    tried, took = sum(ended.values()), time.monotonic() - begin
    print(f"{tried:,} files in {took:.0f} s, seeds from {arguments.seed}, {_peak()} MiB")
    for outcome, count in ended.most_common():
        print(f"  {count:>8,}  {outcome}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
