"""Storage traffic on the wire: `pcap` (a capture) and `tshark` (the fields of one as text).

`protocol` is nfs or iscsi. The requests: `requests` of them, `rate_per_s`, `read_part` (0..1), `size_bytes`, `order`
(sequential or random, over `span_bytes`), `first_offset` (a file that begins off the blocks of the server: 512), and
`sent_again_part`; the trace begins `begins` seconds into the run (0). How long the server takes: `response_ms` in the
`shape` of `distribution.SHAPES`; without it, what the disks of the VMs `vms` showed (see `load.py` for `disk`, `ramp`
and `seconds`).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from esxparse_simulator.distribution import Distribution
from esxparse_simulator.instruments.load import measured, watch
from esxparse_simulator.instruments.model import Entry, Instrument, asked, one_run
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.writers import packets, pcap, tshark_fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from esxparse_simulator.model.layout import Layout
    from esxparse_simulator.observe import GuestIo

__all__ = ["INSTRUMENTS"]

_OPENED_S = 1.0  # the connection stands before the first request
_OPTIONS = frozenset(
    {
        "begins",
        "disk",
        "first_offset",
        "order",
        "protocol",
        "ramp",
        "rate_per_s",
        "read_part",
        "requests",
        "response_ms",
        "seconds",
        "sent_again_part",
        "shape",
        "size_bytes",
        "span_bytes",
        "vms",
    }
)


def _watch(layout: Layout | None, options: Mapping[str, Any]) -> GuestIo | None:
    return None if "response_ms" in options else watch(layout, options)


def _trace(entry: Entry) -> packets.Trace:
    latency = _latency(entry)
    begin = entry.run.start + timedelta(seconds=float(entry.options.get("begins", 0.0)))
    return packets.Trace(asked(entry, "protocol"), begin, tuple(_requests(entry, latency)))


def _latency(entry: Entry) -> Distribution:
    shape = str(entry.options.get("shape", "disk"))
    if entry.watch is None:
        return Distribution(float(asked(entry, "response_ms")), shape)
    workers = measured(entry).workers
    sides = [side for worker in workers for side in (worker.read, worker.write) if side]
    total = sum(side.iops for side in sides)
    return Distribution(sum(side.iops * side.latency.mean for side in sides) / total, shape)


def _requests(entry: Entry, latency: Distribution) -> Iterator[packets.Request]:
    noise = Noise(entry.run.seed)
    size = int(asked(entry, "size_bytes"))
    blocks = int(asked(entry, "span_bytes")) // size
    first = int(entry.options.get("first_offset", 0))
    reads = float(entry.options.get("read_part", 1.0))
    again = float(entry.options.get("sent_again_part", 0.0))
    gap = 1.0 / float(asked(entry, "rate_per_s"))
    random = entry.options.get("order", "sequential") == "random"
    for number in range(int(asked(entry, "requests"))):
        block = int(noise.uniform(f"{entry.name}/place") * blocks) if random else number % blocks
        yield packets.Request(
            at_s=_OPENED_S + number * gap,
            read=noise.uniform(f"{entry.name}/way") < reads,
            offset_bytes=first + block * size,
            size_bytes=size,
            response_ms=latency.quantile(noise.uniform(f"{entry.name}/response")),
            sent_again=noise.uniform(f"{entry.name}/again") < again,
        )


def _pcap(entries: list[Entry]) -> Iterator[tuple[str, Iterator[bytes]]]:
    (entry,) = one_run(entries)
    yield entry.name, pcap.lines(_trace(entry), entry.options.get("container", "pcapng"))


def _tshark(entries: list[Entry]) -> Iterator[tuple[str, Iterator[bytes]]]:
    (entry,) = one_run(entries)
    yield entry.name, tshark_fields.lines(_trace(entry), separator=entry.options.get("separator", "\t"))


INSTRUMENTS: dict[str, Instrument] = {
    "pcap": Instrument(_OPTIONS | {"container"}, _watch, _pcap),
    "tshark": Instrument(_OPTIONS | {"separator"}, _watch, _tshark),
}
