"""esxtop's megabits are 2**20 bits, by the cells of a real capture; everything named Mbit/s is 10**6.

The cells are read here with a regular expression, and bounded by what rounding to the printed decimals allows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from fractions import Fraction

import compose
import pytest

import esxparse as ex
from esxparse.metrics import network

WAYS = ("Transmitted", "Received")


def cells(line: str) -> list[str]:
    """Cells of a line, quoted or, as the A/MPERF cells of ESXi 6.5, bare."""
    return [quoted or bare.strip() for quoted, bare in re.findall(r'"([^"]*)"|([^",]+)', line)]


def by_instance(text: str, table: str) -> dict[str, dict[str, list[str]]]:
    """Counters of an object, instance by instance, as printed."""
    header, *rows = map(cells, text.splitlines())
    found: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for place, name in enumerate(header):
        match = re.fullmatch(r"\\\\[^\\]+\\" + re.escape(table) + r"\((.*)\)\\([^\\]+)", name)
        if match:
            found[match[1]][match[2]] = [row[place] for row in rows]
    return found


def between(printed: str) -> tuple[Fraction, Fraction]:
    """What a printed number may have been before it was rounded."""
    decimals = len(printed.partition(".")[2])
    half = Fraction(1, 2 * 10**decimals)
    return Fraction(printed) - half, Fraction(printed) + half


def fits(ports: dict[str, dict[str, list[str]]], bits: int) -> tuple[int, int]:
    """Of the cells where packets passed, how many agree with packets x size x 8 in megabits of so many bits."""
    fitting = there = 0
    for counters in ports.values():
        for way in WAYS:
            printed = (
                counters[f"Packets {way}/sec"],
                counters[f"Average Packet Size  {way} (Bytes)"],
                counters[f"MBits {way}/sec"],
            )
            for packets, size, megabits in zip(*printed, strict=True):
                if not float(packets):
                    continue
                (fewest, most), (smallest, _), (low, high) = map(between, (packets, size, megabits))
                # A size is a whole number of bytes, rounded or cut off.
                there += 1
                fitting += fewest * smallest * 8 <= high * bits and low * bits <= most * (Fraction(size) + 1) * 8
    return fitting, there


def test_megabits_of_a_real_capture_are_2_to_the_20():
    ports = by_instance(compose.real_data("esxtop", "esxi65_all_counters.csv").read_text(), "Network Port")
    assert fits(ports, 2**20) == (49, 49)
    assert fits(ports, 10**6)[0] < 45


def test_links_of_a_real_capture_are_named_in_millions():
    ports = by_instance(compose.real_data("esxtop", "esxi65_all_counters.csv").read_text(), "Network Port")
    # Fast Ethernet. In 2**20 bits it would be 95.
    assert {
        port: counters["Link Speed (Mb/s)"] for port, counters in ports.items() if "vmnic" in port.split(":")[2][:5]
    } == {"vSwitch0:33554434:vmnic0": ["100"] * 3}


def test_megabytes_of_memory_of_a_real_capture_are_2_to_the_20():
    text = compose.real_data("esxtop", "esxi65_all_counters.csv").read_text().splitlines()[:2]
    header, first = map(cells, text)
    memory = {
        name.rpartition("\\")[2]: int(cell)
        for name, cell in zip(header, first, strict=True)
        if r"\Memory\Kernel M" in name
    }
    managed, kept = memory["Kernel Managed MBytes"], memory["Kernel MinFree MBytes"]

    def scale(megabyte: int) -> float:
        first_part = 4 * 2**30 / megabyte
        return 0.06 * first_part + 0.04 * (managed - first_part)

    assert int(scale(2**20)) == kept == 403
    assert int(scale(10**6)) == 407


def test_the_simulator_prints_the_megabits_of_the_tool(busy_host_file):
    ports = by_instance(busy_host_file.read_text(), "Network Port")
    good, there = fits(ports, 2**20)
    assert (good, there > 500) == (there, True)
    assert fits(ports, 10**6)[0] < there / 2


@pytest.mark.parametrize(("name", "way"), [("tx", "Transmitted"), ("rx", "Received")])
def test_what_is_named_mbit_is_10_to_the_6(busy_host, busy_host_file, name, way):
    raw = by_instance(busy_host_file.read_text(), "Network Port")
    one = network.ports(busy_host["network_port"]).filter(client="vmnic0").collect()
    printed = [
        float(cell)
        for port, counters in raw.items()
        if port.endswith(":vmnic0")
        for cell in counters[f"MBits {way}/sec"]
    ]
    assert one[f"{name}_mbits"].to_list() == pytest.approx([value * 1.048576 for value in printed])
    # Against packets and their size, which have no megabits in them: to the rounding of the size.
    packets, size = (
        [float(cell) for port, counters in raw.items() if port.endswith(":vmnic0") for cell in counters[counter]]
        for counter in (f"Packets {way}/sec", f"Average Packet Size  {way} (Bytes)")
    )
    for got, per_s, of_one in zip(one[f"{name}_mbits"], packets, size, strict=True):
        assert per_s * of_one * 8 / 1e6 * 0.999 <= got <= per_s * (of_one + 1) * 8 / 1e6 * 1.001


def test_the_catalogue_says_which_megabits():
    units = {name: ex.counter(name).unit for name in ("MbTX/s", "MbRX/s", "SPEED")}
    assert units == {"MbTX/s": "Mibit/s", "MbRX/s": "Mibit/s", "SPEED": "Mbit/s"}
