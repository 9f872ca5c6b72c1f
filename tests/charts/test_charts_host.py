"""What charts of a host draw of memory, power and links given by hand."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from specs import subtitle_of, values_of

from esxparse.charts import cpu, memory, network, power, theme

vl_convert = pytest.importorskip("vl_convert")

START = datetime(2026, 3, 2, 8, tzinfo=UTC)


def timed(samples, **columns):
    times = pl.Series(
        [START + timedelta(seconds=5 * place) for place in range(samples)], dtype=pl.Datetime("us", "UTC")
    )
    return pl.DataFrame({"time": times, **columns}).lazy()


def test_memory_is_drawn_in_gib_with_what_is_to_stay_free_below_the_top():
    host = timed(
        3,
        other_mib=[20480.0, 30720.0, 25600.0],
        vmkernel_mib=[1024.0, 2048.0, 1024.0],
        free_mib=[43008.0, 30720.0, 36864.0],
        minfree_mib=[512.0, 1024.0, 768.0],
    )
    chart = memory.host(host)
    drawn = set(values_of(chart, "label", "value"))
    assert drawn == {
        ("VMs and other", 20.0), ("VMs and other", 30.0), ("VMs and other", 25.0),
        ("VMkernel", 1.0), ("VMkernel", 2.0), ("Free", 42.0), ("Free", 30.0), ("Free", 36.0),
    }  # fmt: skip
    # All of it is 63 GiB at most, and the most that is to stay free 1 GiB.
    assert values_of(chart, "at", "text") == [(63.0 - 1.0, "free memory target: 1.0 GiB")]
    assert values_of(memory.host(host.drop("minfree_mib")), "at") == []
    assert memory.host(timed(2, other_mib=pl.Series([None, None], dtype=pl.Float64))) is None


def test_memory_taken_back_once_is_a_chart_and_never_is_none():
    columns = {"balloon_mib": [0.0, 0.0, 0.0], "swap_used_mib": [0.0, 7.0, 0.0], "compressed_mib": [0.0, 0.0, 0.0]}
    assert 7.0 in {value for (value,) in values_of(memory.reclaimed(timed(3, **columns)), "value")}
    assert memory.reclaimed(timed(3, **columns | {"swap_used_mib": [0.0] * 3})) is None


def test_states_that_were_never_entered_are_left_out_and_pcpus_are_averaged():
    states = pl.concat(
        timed(2, pcpu=[pcpu] * 2, pct_c_state_c0=c0, pct_c_state_c1=[0.0, 0.0], pct_c_state_c2=c2)
        for pcpu, c0, c2 in ((0, [80.0, 20.0], [20.0, 80.0]), (1, [40.0, 30.0], [60.0, 70.0]))
    )
    chart = power.c_states(states)
    assert set(values_of(chart, "label", "pct")) == {("C0", 60.0), ("C0", 25.0), ("C2", 40.0), ("C2", 75.0)}
    assert power.c_states(states.select("time", "pcpu")) is None
    assert power.c_states(states.with_columns(pl.selectors.starts_with("pct").cast(pl.Float64) * 0)) is None


def test_the_clock_is_that_of_pcpus_that_ran():
    states = pl.concat(
        timed(2, pcpu=[pcpu] * 2, pct_of_aperf_per_mperf=values)
        for pcpu, values in ((0, [120.0, 0.0]), (1, [90.0, 110.0]), (2, [60.0, 70.0]))
    )
    chart = power.clock(states)
    assert {value for (value,) in values_of(chart, "pct_of_aperf_per_mperf")} == {90.0}
    lows = {(low, high) for low, high in values_of(chart, "pct_of_aperf_per_mperf_min", "pct_of_aperf_per_mperf_max")}
    assert lows == {(60.0, 120.0), (70.0, 110.0)}


SPEEDS = pl.LazyFrame({"client": ["vmnic0", "vmnic1"], "link_mbits": [10000.0, 1000.0]})


def traffic(highest):
    return pl.concat(
        timed(
            3,
            client=[client] * 3,
            port_id=[port] * 3,
            kind=["uplink"] * 3,
            tx_mbits=[1.0, most, 2.0],
            rx_mbits=[3.0] * 3,
        )
        for client, port, most in (("vmnic0", 2, 20.0), ("vmnic1", 4, highest))
    )


@pytest.mark.parametrize(("highest", "drawn"), [(499.0, False), (500.0, True)])
def test_the_slowest_link_is_drawn_from_half_of_its_speed_on(highest, drawn):
    chart = network.throughput(traffic(highest), "uplink", SPEEDS)
    assert "vmnic0 10,000, vmnic1 1,000 Mbit/s" in subtitle_of(chart)
    assert ("link speed 1,000 Mbit/s" in str(chart.to_dict()["datasets"])) is drawn
    same = network.throughput(traffic(highest), "uplink", SPEEDS.with_columns(link_mbits=1000.0))
    assert "1,000 Mbit/s each" in subtitle_of(same)


def test_ports_are_ranked_by_the_share_that_they_dropped():
    ports = pl.LazyFrame(
        [("a", 1, 0.5, 9.0), ("b", 2, 2.0, 3.0), ("c", 3, 0.0, 0.0), ("d", 4, None, 4.0), ("e", 5, 0.0, 1.0)],
        schema=("client", "port_id", "drop_rx_pct", "max_drop_rx_pct"),
        orient="row",
    )
    chart = network.drops_ranked(ports, "rx")
    assert values_of(chart, "label", "max") == [("b", 3.0), ("a", 9.0), ("e", 1.0), ("d", 4.0)]
    assert network.drops_ranked(ports.filter(pl.col("client") == "c"), "rx") is None


WAITS = {
    # vm: vcpus, use per vCPU, waits, and whether they are those of the group
    "a": (4, [10.0, 20.0, 60.0], [1.0, 2.0, 9.0], 0.0),
    "b": (1, [90.0, 80.0, 70.0], [5.0, 5.0, 5.0], 1.0),
    "c": (2, [30.0, 30.0, 45.0], [0.0, 0.0, 0.0], 0.0),
}


def waits(of_group=None):
    return pl.concat(
        timed(
            3,
            instance=[vm] * 3,
            vcpus=[vcpus] * 3,
            used_pct=used,
            contention_pct=waited,
            ready_pct=[one + 1 for one in waited],
            costop_pct=[0.0] * 3,
            max_limited_pct=[0.0] * 3,
            swap_wait_pct=[0.0] * 3,
            group_waits=[grouped if of_group is None else of_group] * 3,
        )
        for vm, (vcpus, used, waited, grouped) in WAITS.items()
    )


def test_vms_are_ranked_by_the_cores_that_they_use_in_the_mean():
    drawn = values_of(cpu.used_ranked(waits()), "label", "mean", "max")
    assert drawn == [("a", 1.2, 2.4), ("b", 0.8, 0.9), ("c", 0.7, 0.9)]


def test_waits_are_ranked_by_their_95th_percentile_and_say_whose_they_are():
    chart = cpu.wait_ranked(waits(), "ready")
    # Linear between the two highest of three: 0.95 x 2 = 1.9.
    assert values_of(chart, "label", "p95", "max") == [("a", pytest.approx(2 + 0.9 * 7), 9.0), ("b", 5.0, 5.0)]
    assert "1 more VM had none" in subtitle_of(chart)
    assert "group's sum / vCPUs of 1 of 3 VMs, including waits of helper worlds" in subtitle_of(chart).replace(
        "Group", "group"
    )
    assert cpu.helpers(waits(1.0)) == "group's sum / vCPUs, including waits of helper worlds"
    assert cpu.helpers(waits(0.0)) == ""


@pytest.mark.parametrize("count", [56, 64, 210, 512])
def test_hosts_of_many_physical_cpus_are_drawn(count):
    pcpu = pl.concat(timed(120, instance=[str(one)] * 120, util_pct=[float(one % 100)] * 120) for one in range(count))
    # Altair refuses more than 5,000 rows.
    assert {name for name, _ in values_of(cpu.pcpu_heat(pcpu), "pcpu", "util_pct_max")} == set(range(count))


def test_a_physical_cpu_has_the_colour_of_its_highest_sample():
    pcpu = pl.concat(
        timed(3, instance=[one] * 3, util_pct=values)
        for one, values in (("0", [0.0, 9.99, 10.0]), ("1", [100.0, 50.0, 89.0]))
    )
    chart = cpu.pcpu_heat(pcpu)
    theme.use()
    svg = vl_convert.vegalite_to_svg(chart.properties(width=300).to_dict())
    (drawn,) = re.findall(r'<g class="mark-rect role-mark.*?</g>', svg)
    shades = [shade.light for shade in theme.HEAT]
    fills = [shades.index(fill) for fill in re.findall(r'fill="([^"]+)"', drawn)]
    values = [value for _, value in values_of(chart, "pcpu", "util_pct_max")]
    assert dict(zip(values, fills, strict=True)) == {0.0: 0, 9.99: 0, 10.0: 1, 100.0: 5, 50.0: 3, 89.0: 4}
