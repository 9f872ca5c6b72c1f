"""Options of a job as fio took them: their texts, and the numbers in them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from esxparse.formats.kit.numbers import POWERS

DIRECTIONS = ("read", "write", "trim")
NANOSECONDS_SINCE = (2, 99)
"""The first release that measures latencies in nanoseconds."""

_DIRECTIONS_OF = {
    **{f"{how}{one}": (one,) for how in ("", "rand") for one in DIRECTIONS},
    **dict.fromkeys(("rw", "readwrite", "randrw"), ("read", "write")),
    **dict.fromkeys(("trimwrite", "randtrimwrite"), ("write", "trim")),
}
_SIZE = re.compile(
    r"(?P<number>0x[0-9a-f]{1,16}|\d{1,30}(?:\.\d{1,30})?)(?P<prefix>[kmgtp]?)(?P<binary>i?)b?", re.IGNORECASE
)
_DEFAULTS = {"rw": "read", "bs": "4k", "iodepth": "1", "numjobs": "1"}
"""fio's defaults for options that are not given (its options.c)."""

_ALIASES = {"readwrite": "rw", "blocksize": "bs", "blocksize_range": "bsrange"}
_HUGE = 1 << 62


def directions_of(rw: str | None) -> tuple[str, ...]:
    """Return the directions of an `rw=` option; the offset in `randread:8` and `rw:sequencer` does not matter."""
    return _DIRECTIONS_OF.get((rw or "").split(":")[0].lower(), ())


def size(text: str, kb_base: str = "1024") -> int | None:
    """Return the bytes of a size in an option.

    fio's `kb_base=1024`, the default, has k = 1024 and ki = 1000; `kb_base=1000` has them the other way round.

    >>> size("4k"), size("4ki"), size("4k", "1000"), size("0x200"), size("1m-2m")
    (4096, 4000, 4000, 512, None)
    """
    if not (match := _SIZE.fullmatch(text.strip())):
        return None
    digits = match["number"]
    amount = float(int(digits, 16)) if digits[:2].lower() == "0x" else float(digits)
    thousand = 1024 if (kb_base.strip() == "1000") == bool(match["binary"]) else 1000
    found = amount * thousand ** POWERS[match["prefix"].lower()]
    return int(found) if found < _HUGE else None


def _one_size(text: str, kb_base: str) -> int | None:
    low, _, high = text.partition("-")
    lowest = size(low, kb_base)
    return lowest if not high or size(high, kb_base) == lowest else None


def sizes(options: Mapping[str, str]) -> dict[str, int | None]:
    """Return the block size by direction, if it is one size: `8k`, or `8k,32k,4k` for read, write, trim."""
    names = list(options)
    written = "bsrange" if options.get("bsrange") else "bs"
    # fio takes options in order: a kb_base after the block size no longer changes it.
    before = "kb_base" in names and (written not in names or names.index("kb_base") < names.index(written))
    base = options["kb_base"] if before else "1024"
    if options.get("bssplit"):
        return dict.fromkeys((*DIRECTIONS, "all"))
    parts = (options.get(written) or "").split(",")
    default = size(_DEFAULTS["bs"])
    # The last size applies to the following directions, unless a comma ends the list.
    padded = parts + parts[-1:] * (len(DIRECTIONS) - len(parts))
    found = {
        direction: _one_size(part, base) if part.strip() else default
        for direction, part in zip(DIRECTIONS, padded, strict=False)
    }
    used = {found[direction] for direction in directions_of(options.get("rw")) or DIRECTIONS}
    found["all"] = used.pop() if len(used) == 1 else None
    return found


def effective(common: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a job in the order in which fio took them: global ones, its own, defaults for the rest."""
    taken = {name: value for name, value in common.items() if name not in own} | dict(own)
    options = {_ALIASES.get(name, name): value for name, value in taken.items()}
    if "bsrange" in options and "bs" in own and "bsrange" not in own:
        del options["bsrange"]
    return options | {name: value for name, value in _DEFAULTS.items() if name not in options}


def release_number(release: str | None) -> tuple[int, ...]:
    """Return the release number in `fio-3.19-10-g3bd2`: (3, 19).

    >>> release_number("fio-3.19-10-g3bd2")
    (3, 19)
    """
    match = re.search(r"(\d+(?:\.\d+)*)", release or "")
    return tuple(int(part[:6]) for part in match[1].split(".")) if match else ()
