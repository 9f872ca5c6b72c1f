"""The planner of vSphere Replication: times, RPO and servers, with the formulas of `metrics.replication`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from esxparse.metrics import replication
from esxparse.metrics.units import factor
from esxparse.plans.captures import mean, series
from esxparse.plans.planner import Answer, Found
from esxparse.plans.values import Known

if TYPE_CHECKING:
    from esxparse.recording import Recording

PER_SERVER: Final = 200
"""Replications that one server handles (part 1 of the source, like the next three limits)."""
MOST_SERVERS: Final = 10
MOST: Final = 2000
SETTING_BEYOND: Final = 500
_SECONDS_PER_DAY: Final = 86_400


def answer(known: Mapping[str, Any]) -> Answer:
    """Return the results of one case."""
    vms, rpo, compression = known["vms"], known["rpo"], known["compression"]
    size = known["size"] if "size" in known else known["size_mib"] * factor("mib", "mb")
    rate = known["rate"] / 8 * compression
    changed = known.get("changed", replication.daily_change_mb(vms, size, known.get("change", 0.0)))
    fit = replication.rpo_fit(changed, rate, rpo)
    even = replication.rpo_fit(changed * replication.window_share(rpo), rate, rpo)
    shortest = max(2 * fit.needed_min, replication.SHORTEST_RPO_MIN)
    servers = -(-vms // PER_SERVER)
    results = {
        "initial_sync_h": replication.initial_sync_s(vms, size, rate) / 3600,
        "changed_mb": changed,
        "replication_min": fit.needed_min,
        "replication_even_min": even.needed_min,
        "allowed_min": fit.allowed_min,
        "headroom_min": fit.headroom_min,
        "fits": fit.fits,
        "fits_evenly": even.fits,
        "needed_mbit": fit.needed_mb_per_s * 8 / compression,
        "shortest_rpo_min": shortest if shortest <= replication.LONGEST_RPO_MIN else None,
        "servers": servers,
        "appliances": 1,
        "supported": vms <= MOST and servers <= MOST_SERVERS,
        "setting_beyond_500": vms > SETTING_BEYOND,
    }
    verdict = (
        "fits the RPO" if fit.fits else "fits only if the change is spread" if even.fits else "does not fit the RPO"
    )
    because = f"a day's change takes {fit.needed_min:,.1f} min at once, half the RPO is {fit.allowed_min:g} min"
    return Answer(results, verdict, because, _notes(known, supported=results["supported"]))


def _notes(known: Mapping[str, Any], *, supported: bool) -> tuple[str, ...]:
    notes = []
    if not supported:
        notes.append(f"More than {MOST:,} replications: one vCenter takes no more.")
    if known["compression"] > 1:
        notes.append("Compression was applied to all traffic; the rate must be the one measured with compression on.")
    if "changed" in known and "change" not in known:
        notes.append("The change of a day was taken as it is; it need not be the change of another day.")
    return tuple(notes)


def measure(rec: Recording, known: Mapping[str, Any]) -> Found:
    """Return the rate and the change of a day from a capture.

    Raises EsxparseError: The capture has no such table, port, VM or device.
    """
    found = {}
    if port := known.get("port"):
        rate = mean(series(rec, "port", "traffic_mbits", port))
        found["rate"] = Known(rate, f"{rec.source}: mean of {port}, busier direction")
    written = None
    if device := known.get("device"):
        written = mean(series(rec, "device", "write_mib_per_s", device))
    elif vm := known.get("vm"):
        written = mean(series(rec, "vm", "vdisk_write_mib", None if vm == "all" else vm))
    if written is not None:
        per_day = written * factor("mib", "mb") * _SECONDS_PER_DAY
        origin = f"{rec.source}: mean writes of {device or known['vm']} times 24 h, an upper bound"
        found["changed"] = Known(per_day, origin)
    return Found({"": found})
