"""Ports of the simulated host: what they add up to, what fits on a link and what is dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from io_host import guest, host, sample, volume
from search import examples

from esxparse_simulator.host import Nic, Switch
from esxparse_simulator.model.network import links_of, on_the_wire

if TYPE_CHECKING:
    from io_host import Sample

    from esxparse_simulator.host import Scenario, Vm

_packets = st.sampled_from([0.0, 1.0, 5e3, 4e5, 3e6])
_load = {
    "tx_pps": _packets,
    "rx_pps": _packets,
    "tx_bytes": st.floats(64.0, 20_000.0),
    "rx_bytes": st.floats(64.0, 20_000.0),
    "tcp": st.floats(0.0, 1.0),
    "vmotion_mb_per_s": st.sampled_from([0.0, 0.0, 500.0]),
    "read_iops": st.sampled_from([0.0, 1e5]),
    "write_iops": st.sampled_from([0.0, 2e3]),
    "rx_limit_pps": st.sampled_from([1e4, 4e5]),
    "tx_limit_pps": st.sampled_from([1e5, 2e6]),
}


@st.composite
def hosts(draw: st.DrawFn) -> Scenario:
    """Two switches with links of any kind, and one without."""

    def nic(name: str) -> Nic:
        speed = draw(st.sampled_from([10, 100, 1000, 10_000]))
        return Nic(name, speed, full_duplex=draw(st.booleans()), up=draw(st.sampled_from([True, True, False])))

    switches = (
        Switch("s0", (nic("vmnic0"), nic("vmnic1"), nic("vmnic2")), ("vmk0",)),
        Switch("s1", (nic("vmnic3"), nic("vmnic4")), ("vmk1", "vmk2"), vmotion=True),
        Switch("s2", ()),
    )
    where = ("s0", "s0", "s0", "s1", "s1", "s2")
    vms = [guest(f"v{n}", "nfs", switch=switch, **draw(st.fixed_dictionaries(_load))) for n, switch in enumerate(where)]
    return host(vms, switches=switches, nfs=(volume(),))


@settings(max_examples=examples(80), deadline=None)
@given(scenario=hosts(), ready=st.floats(0.0, 100.0))
def test_uplinks_carry_their_ports_and_no_more_than_their_line(scenario: Scenario, ready: float) -> None:
    now = sample(scenario, ready=ready)
    for name, values in now.tables["Network Port"].items():
        assert np.isfinite(values).all(), name
        assert np.min(values) >= 0.0, name
    links, of = links_of(now.layout), now.ports
    way_out, way_in = np.zeros(len(links.line)), np.zeros(len(links.line))
    for uplink, place in enumerate(p for p, port in enumerate(now.layout.ports) if port.kind == "uplink"):
        team = [port for port in links.carried if links.port_uplink[port] == uplink]
        came = of.rx[team] + of.rx_dropped[team]
        assert of.tx[place] == pytest.approx(sum(of.tx[team]))
        assert of.rx[place] == pytest.approx(sum(came))
        assert of.tx[place] * of.tx_bytes[place] == pytest.approx(sum(of.tx[team] * of.tx_bytes[team]))
        assert of.rx[place] * of.rx_bytes[place] == pytest.approx(sum(came * of.rx_bytes[team]))
        way_out[uplink] = of.tx[place] * of.tx_bytes[place]
        way_in[uplink] = of.rx[place] * of.rx_bytes[place]
    carried = np.where(links.full_duplex, np.maximum(way_out, way_in), way_out + way_in)
    assert (carried <= links.line * (1.0 + 1e-6) + 1e-6).all()


def _vm_on(mbits: int, vm: Vm, *, full_duplex: bool = True) -> Sample:
    return sample(host([vm], switches=(Switch("s0", (Nic("vmnic0", mbits, full_duplex=full_duplex),), ("vmk0",)),)))


def _mbits(now: Sample, port: str, way: str) -> float:
    return now.port(port, way) * now.port(port, f"{way}_bytes") * 8.0 / 1e6


def test_tcp_at_line_rate_slows_down_and_loses_nothing() -> None:
    now = _vm_on(10_000, guest("a", tx_pps=1e6, tx_bytes=1514.0))
    assert _mbits(now, "vmnic0", "tx") == pytest.approx(10_000 * 1514 / 1538)
    assert now.port("a", "tx_dropped") == 0.0


def test_large_packets_are_cut_into_frames_on_the_wire() -> None:
    now = _vm_on(10_000, guest("a", tx_pps=1e6, tx_bytes=10_066.0))
    payload = _mbits(now, "vmnic0", "tx") * 10_000 / 10_066
    assert payload == pytest.approx(9400.0, rel=0.005)
    assert now.port("vmnic0", "tx") == pytest.approx(117_600, rel=0.005)
    assert on_the_wire(np.array([1514.0])).tolist() == [1538.0]


def test_what_is_not_tcp_is_dropped_beyond_the_line_and_pushes_tcp_aside() -> None:
    udp = _vm_on(1000, guest("a", tx_pps=1e5, tx_bytes=1514.0, tcp=0.0))
    line = 125e6 / 1538
    assert udp.port("a", "tx") == pytest.approx(line)
    assert udp.port("a", "tx_dropped") == pytest.approx(1e5 - line)
    assert udp.tables["Network Port"]["% Outbound Packets Dropped"].max() == pytest.approx(100.0 * (1.0 - line / 1e5))
    vms = [guest("t", tx_pps=1e5, tx_bytes=1514.0), guest("u", tx_pps=6e4, tx_bytes=1514.0, tcp=0.0)]
    both = sample(host(vms, switches=(Switch("s0", (Nic("vmnic0", 1000),)),)))
    assert both.port("u", "tx") == pytest.approx(6e4)
    assert both.port("t", "tx") == pytest.approx(line - 6e4)


def test_what_does_not_fit_on_the_way_in_is_not_seen_by_the_host() -> None:
    now = _vm_on(1000, guest("a", rx_pps=2e5, rx_bytes=1514.0, tcp=0.0))
    assert now.port("a", "rx") == pytest.approx(125e6 / 1538)
    assert now.port("a", "rx_dropped") == now.port("vmnic0", "rx_dropped") == 0.0


def test_half_duplex_shares_the_line() -> None:
    vm = guest("a", tx_pps=1e5, rx_pps=1e5, tx_bytes=1514.0, rx_bytes=1514.0)
    full, half = _vm_on(100, vm), _vm_on(100, vm, full_duplex=False)
    assert _mbits(full, "vmnic0", "tx") == pytest.approx(2 * _mbits(half, "vmnic0", "tx"))
    assert _mbits(half, "vmnic0", "tx") + _mbits(half, "vmnic0", "rx") == pytest.approx(100 * 1514 / 1538)
    assert half.tables["Network Port"]["Full Duplex?"].tolist() == [0.0] * 5
    assert full.tables["Network Port"]["Full Duplex?"].tolist() == [0.0, 1.0, 0.0, 0.0, 0.0]


def test_rings_drop_what_they_cannot_take() -> None:
    vm = guest("a", tx_pps=3e5, rx_pps=3e5, tx_limit_pps=2e5, rx_limit_pps=2.5e5)
    now = sample(host([vm]))
    assert (now.port("a", "tx"), now.port("a", "tx_dropped")) == pytest.approx((2e5, 1e5))
    assert (now.port("a", "rx"), now.port("a", "rx_dropped")) == pytest.approx((2.5e5, 0.5e5))
    assert now.port("vmnic0", "rx") == pytest.approx(3e5)
    starved = sample(host([vm]), ready=50.0)
    assert starved.port("a", "rx") == pytest.approx(1.25e5)


def test_ports_of_a_link_that_is_down_move_to_the_others() -> None:
    vms = [guest(f"v{n}", tx_pps=100.0) for n in range(4)]
    nics = (Nic("vmnic0", 1000, up=False), Nic("vmnic1", 1000), Nic("vmnic2", 1000))
    now = sample(host(vms, switches=(Switch("s0", nics, ("vmk0",)),)))
    assert [now.port(nic.name, "tx") for nic in nics] == pytest.approx([0.0, 200.0, 200.0])
    table = now.tables["Network Port"]
    up = [place for place, port in enumerate(now.layout.ports) if port.kind == "uplink"]
    assert table["Link Up?"][up].tolist() == [0.0, 1.0, 1.0]
    assert table["Link Speed (Mb/s)"][up].tolist() == [0.0, 1000.0, 1000.0]
    dead = sample(host(vms, switches=(Switch("s0", nics[:1]),)))
    assert sum(dead.port(vm.name, "tx") + dead.port(vm.name, "rx") for vm in vms) == 0.0


def test_vmotion_leaves_by_its_port_and_takes_what_the_link_has() -> None:
    switches = (
        Switch("s0", (Nic("vmnic0", 10_000),), ("vmk0",)),
        Switch("s1", (Nic("vmnic1", 1000),), ("vmk1",), True),
    )
    small, large = (
        sample(host([guest("a", vmotion_mb_per_s=mb), guest("b", vmotion_mb_per_s=mb)], switches=switches))
        for mb in (20.0, 400.0)
    )
    assert small.port("vmk1", "tx") * 1448.0 / 2**20 == pytest.approx(40.0)
    assert small.port("vmk1", "rx") == pytest.approx(small.port("vmk1", "tx") / 4.0)
    assert _mbits(large, "vmk1", "tx") == pytest.approx(1000 * 1514 / 1538)
    assert large.port("vmk1", "tx_dropped") == large.port("vmk0", "tx") == 0.0


def test_a_port_without_packets_has_the_size_of_an_acknowledgement_and_listens_to_nobody() -> None:
    now = sample(host([guest("a", rx_pps=100.0)]))
    assert now.port("vmk0", "tx_bytes") == 66.0
    assert now.port("a", "broadcast") == 1.4
    assert now.port("Management", "rx") == 0.0


@pytest.mark.parametrize("switches", [(), (Switch("s0", (), ("vmk0",)),)], ids=["no switch", "no uplink"])
def test_a_host_without_uplinks_keeps_its_packets_to_itself(switches: tuple[Switch, ...]) -> None:
    vms = [guest("a", tx_pps=100.0)] if switches else []
    now = sample(host(vms, switches=switches))
    assert len(now.ports.tx) == len(now.layout.ports)
    assert sum(now.ports.tx_dropped) == 0.0
    assert not switches or now.port("a", "tx") == 100.0


def test_storage_without_devices_is_on_the_network_alone() -> None:
    vms = [guest("a", "nfs", read_iops=100.0)]
    now = sample(host(vms, devices=(), adapters=(), nfs=(volume(vmk="vmk0"),)))
    assert now.target().reads[0] == pytest.approx(100.0)
    assert now.tables["Physical Disk NFS Volume"]["Reads/sec"][0] == pytest.approx(100.0)
    assert now.port("vmk0", "rx_bytes") > 1000.0
