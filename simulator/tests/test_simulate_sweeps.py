"""Several tests of a load generator in one capture, packets of one of them, and LUNs behind the software initiator."""

from __future__ import annotations

import tomllib
from datetime import timedelta

import polars as pl
import pytest

import esxparse as ex
from esxparse_simulator.experiment import parse_experiment
from esxparse_simulator.recorder import record

SWEEP = """
name = "sweep"
title = "Two request sizes, one after the other, on a LUN of the software initiator"
start = 2026-01-05T08:00:00Z
samples = 20
interval = 10.0
seed = 5

[host]
name = "esx-sweep"
sockets = 1
cores_per_socket = 4
threads_per_core = 1
mhz = 2400
turbo_mhz = 2400
all_core_mhz = 2400
p_states_mhz = [2400]
t_states = 0
memory_mb = 16384
kernel_mb = 800
idle_watts = 100.0
core_watts = 10.0
cap_watts = 400

[[adapter]]
name = "vmhba32"
queue_depth = 256

[[device]]
name = "naa.6000000000000001"
paths = ["vmhba32:C0:T0:L0"]
queue_depth = 64
partitions = 1
read_ms = 0.2
write_ms = 0.2
service_ms = 0.002
mb_per_s = 2000.0
vmk = "vmk1"

[[switch]]
name = "vSwitch1"
vmkernel = ["vmk1"]
uplinks = [{ name = "vmnic1", mbits = 1000 }]

[[vm]]
name = "reader"
vcpus = 1
memory_mb = 1024
node = 0
switch = "vSwitch1"
disks = [{ slot = "scsi0:0", target = "naa.6000000000000001" }]
load = { read_iops = 50000.0, read_kb = 4, outstanding = 8.0, sequential = 1.0 }
phase = [{ start = 95, end = 200, read_kb = 64 }]

[[file]]
tool = "esxtop"
name = "sweep.csv"

[[file]]
tool = "iometer"
name = "sweep.iometer.csv"
access = "4k"
after = 5
ramp = 25
seconds = 60

[[file]]
tool = "iometer"
name = "sweep.iometer.csv"
access = "64k"
block_bytes = 65536
after = 95
ramp = 25
seconds = 60

[[file]]
tool = "tshark"
name = "sweep.tsv"
protocol = "iscsi"
requests = 20
rate_per_s = 500.0
size_bytes = 65536
span_bytes = 1073741824
begins = 130
ramp = 120
seconds = 60
"""


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    record(parse_experiment(tomllib.loads(SWEEP)), folder)
    return folder


def test_tests_of_one_capture_each_have_their_own_time_and_their_own_part_of_it(sweep):
    capture, iometer = ex.open(sweep / "sweep.csv"), ex.open(sweep / "sweep.iometer.csv")
    tests = iometer["results"].filter(row_type="ALL").collect()
    assert tests["access_spec"].to_list() == ["4k", "64k"]
    begin = capture.meta["start"]
    assert [time - begin for time in tests["time"]] == [timedelta(seconds=90), timedelta(seconds=180)]
    for number, end in enumerate(tests["time"]):
        mine = pl.col("time").is_between(end - timedelta(seconds=60), end, closed="right")
        seen = capture["virtual_disk"].filter(mine).select(pl.col("reads_per_sec").mean()).collect().item()
        assert tests["iops"][number] == pytest.approx(seen, rel=1e-3)


def test_a_lun_of_the_software_initiator_gets_what_its_uplink_carries_and_the_port_shows_it(sweep):
    mib = ex.open(sweep / "sweep.iometer.csv")["results"].filter(row_type="ALL", access_spec="64k").collect()
    assert mib["bandwidth_bytes_per_s"].item() == pytest.approx(125e6 * 1448 / 1538, rel=2e-3)
    ports = ex.open(sweep / "sweep.csv")["network_port"].filter(client="vmk1").collect()
    assert ports["mbits_received_per_sec"].tail(5).min() * 1.048576 > 950


def test_a_trace_begins_when_it_is_told_to(sweep):
    trace = ex.open(sweep / "sweep.tsv")
    assert trace.meta["start"] == ex.open(sweep / "sweep.csv").meta["start"] + timedelta(seconds=130)
