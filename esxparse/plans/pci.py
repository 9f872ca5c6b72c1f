"""The planner of network ports and their slots, with the line rates of `metrics.line_rate`.

usable bandwidth of a slot = lanes x GT/s x share of the encoding x payload / (payload + overhead of a packet)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from esxparse.metrics import line_rate
from esxparse.plans.planner import Answer

LANE_MBIT: Final = {
    "1": 2_500 * 8 / 10,
    "2": 5_000 * 8 / 10,
    "3": 8_000 * 128 / 130,
    "4": 16_000 * 128 / 130,
    "5": 32_000 * 128 / 130,
}
"""Mbit/s of a lane in each direction after encoding, by generation (PCI Express Base Specification)."""
_LANES: Final = (1, 2, 4, 8, 16, 32)
_LIMITS: Final = (
    "Descriptors, doorbells and completions take some of the slot too, and a slot may be wired with fewer lanes "
    "than it has room for: check the link width that the adapter reports."
)


def answer(known: Mapping[str, Any]) -> Answer:
    """Return the results of one adapter in one slot."""
    mtu, options, ports = int(known["mtu"]), int(known["tcp_options"]), known["ports"]
    data = line_rate.available_mbit_per_s(known["speed"], mtu, options)
    share = known["pci_payload"] / (known["pci_payload"] + known["pci_overhead"])
    lane = LANE_MBIT[known["generation"]]
    needed = ports * known["speed"]
    usable = int(known["lanes"]) * lane * share
    results: dict[str, Any] = {
        "data_mbit": data,
        "all_data_mbit": ports * data,
        "wire_packets": line_rate.packets_per_s(data, line_rate.payload_bytes(mtu, options)),
        "slot_mbit": int(known["lanes"]) * lane,
        "usable_mbit": usable,
        "needed_mbit": needed,
        "fits": usable >= needed,
        "lanes_needed": next((lanes for lanes in _LANES if lanes * lane * share >= needed), None),
    }
    if "host_packet" in known:
        results["host_packets"] = line_rate.packets_per_s(data, known["host_packet"])
        results["aggregated"] = line_rate.aggregated(known["host_packet"], mtu, options)
    verdict = "the slot carries line rate" if results["fits"] else "the slot is too narrow for line rate"
    return Answer(results, verdict, f"{usable:,.0f} Mbit/s usable, {needed:,.0f} needed in each direction", (_LIMITS,))
