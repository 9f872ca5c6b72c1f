"""`ex.compare`: compare two sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Unpack

from esxparse.comparison.result import Comparison
from esxparse.comparison.series import gather
from esxparse.comparison.sides import Edge, Given, Window, side
from esxparse.comparison.table import Options, compared
from esxparse.comparison.windows import apart, windows_of
from esxparse.errors import EsxparseError, choose_from
from esxparse.formats.opening import Opening
from esxparse.formats.opening import Options as OpeningOptions
from esxparse.metrics.interval import check_confidence, needs_scipy


def compare(
    before: Given | Sequence[Given],
    after: Given | Sequence[Given] | None = None,
    *,
    at: Edge = None,
    windows: Sequence[Window | None] = (),
    last: str | timedelta | None = None,
    vms: Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
    tables: Sequence[str] | None = None,
    confidence: float = 0.95,
    profile: str = "standard",
    **opening: Unpack[OpeningOptions],
) -> Comparison:
    r"""Compare two captures, or groups of captures: which series got better, worse or stayed the same.

    Objects are matched by name; the numbers of worlds, groups and ports do not matter. Neighbouring samples of a host
    are alike, so each series counts as fewer samples than it has (`esxparse.metrics.means`). The table shows if these
    are too few.

    Args:
        before: A path, a recording, a lake (`ex.lake(...).of(host, since=..., until=...)`), or a list of these.
        after: The same, after the change; by default `before` itself, split by `at`, `windows` or `last`.
        at: Time of the change, in UTC: `before` ends at it, and `after` begins.
        windows: The time of each side: two pairs of times in UTC, such as ("2026-03-11T09:00", "2026-03-11T09:30"). If
            both are of `before`, they may not overlap; a moment that both have belongs to the later one.
        last: For a lake, how long each side is: "7d" compares the last 7 days of the lake with the 7 days before.
        vms: Names of VMs: only these and the host are compared.
        rename: Names of objects before (a regular expression for the whole name) and after: {"web-(.*)": r"www-\1"}.
        tables: Tables to compare, of the capture or derived; by default all derived ones, or, for other formats than
            esxtop, all that have times.
        confidence: Of the intervals, and of `differs`.
        profile: Limits of the rules for `findings`.
        opening: Options of `ex.open`, for captures that are given as paths.

    Returns:
        A `Comparison`. Its `frame` has one row per series of both sides, the surest change first: `table`, `column`,
        `instance`; `name`, `unit`, `area`; `verdict` (better, worse, changed, small change, no difference shown, too
        few samples, no values on one side); `before`, `after` f64, means in `unit`, latencies weighted by commands;
        `change` in `unit`, `change_pct` in % of `before`; `change_low`, `change_high`, the interval of `change`; `p`
        after Benjamini and Hochberg; `effective_before`, `effective_after`, independent samples; `samples_needed`, if
        they are too few; `differs` bool; `size`, the change as a share of its level; `load`, table and column of the
        load, with `load_before`, `load_after`, `load_change_pct`; `load_explains` bool, whether the load changed in the
        same direction. Unknown values are null.

    Raises:
        EsxparseError: A capture cannot be read, a window holds no sample, windows overlap, a time or rule is wrong, or
            scipy is missing.

    >>> import esxparse as ex
    >>> file = ex.datasets_dir() / "busy-host" / "busy-host.csv"
    >>> found = ex.compare(file, at="2026-03-11T09:05")
    >>> found.verdict
    'No difference shown: CPU, Memory, Storage, Network, Power.'
    """
    needs_scipy()
    check_confidence(confidence)
    first, second = windows_of(before, at, windows, last)
    how = Opening.of(opening)
    if after is None:
        if first is None and second is None:
            raise EsxparseError("there is nothing to compare with: give a second capture, a time (at) or two windows")
        first, second = apart(first, second)
    elif last is not None:
        raise EsxparseError("last splits one lake: leave out the second side")
    # Captures are read and computed without the interpreter's lock.
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(lambda inputs, window: gather(side(inputs, window, how), tables), inputs, window)
            for inputs, window in ((before, first), (before if after is None else after, second))
        ]
        sides = [job.result() for job in jobs]
    options = Options(confidence, dict(rename or {}), tuple(vms))
    there = sorted({name for one in sides if "vm" in one.panels for name in one.panels["vm"].names})
    for name in vms:
        if name not in there:
            raise EsxparseError(f"no capture has a VM {name!r}: {choose_from(name, there)}")
    frame, unmatched = compared(sides[0], sides[1], options)
    return Comparison(frame, unmatched, sides[0], sides[1], profile, options.renamed)
