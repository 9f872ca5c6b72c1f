"""netperf as the simulator writes it: what goes in comes out of the reader, in every form."""

from __future__ import annotations

import re
from statistics import fmean

import pytest
from compose import write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.errors import EsxparseError
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.writers import netperf
from esxparse_simulator.writers.netperf import Cpu, RequestResponse, Stream, UdpStream

rates = st.floats(0.01, 100_000)
cpus = st.none() | st.builds(Cpu, used_pct=st.floats(0.0, 100.0), processors=st.integers(1, 128))
durations = st.floats(1, 36_000)
sizes = st.integers(1, 999_999)
streams = st.builds(
    Stream,
    mbit_per_s=rates,
    seconds=durations,
    message_bytes=sizes,
    receive_socket_bytes=sizes,
    send_socket_bytes=sizes,
    local=cpus,
    remote=cpus,
    test=st.sampled_from(["TCP_STREAM", "TCP_MAERTS"]),
)
transactions = st.builds(
    RequestResponse,
    per_s=rates,
    seconds=durations,
    request_bytes=sizes,
    response_bytes=sizes,
    local=cpus,
    remote=cpus,
    test=st.sampled_from(["TCP_RR", "UDP_RR"]),
)
datagrams = st.builds(
    lambda sent, part, **rest: UdpStream(sent, sent * part, **rest),
    rates,
    st.floats(0, 1),
    seconds=durations,
    message_bytes=sizes,
    local=cpus,
    remote=cpus,
)
every = st.lists(streams | transactions | datagrams, min_size=1, max_size=4)
forms = st.sampled_from([("2.4", "classic"), ("2.6", "classic"), ("2.6", "csv"), ("2.6", "keyval")])
quick = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def opened(folder, content):
    return ex.open(write(folder, content, "netperf.txt"))


def metric(rec, name="throughput"):
    return rec["benchmark_results"].collect().filter(metric=name)


def rate(run):
    return run.per_s if isinstance(run, RequestResponse) else run.mbit_per_s


@quick
@given(runs=every, form=forms)
def test_rates_come_back_in_every_form(tmp_path, runs, form):
    rec = opened(tmp_path, netperf.text(runs, "192.0.2.77", *form))
    found = metric(rec)
    assert found["test"].to_list() == [run.test for run in runs]
    printed = 0.051 if form[1] == "classic" else 0.0051  # with the CPU, UDP_STREAM has one decimal
    assert found["value"].to_list() == pytest.approx([rate(run) for run in runs], abs=printed, rel=1e-12)
    units = ["transactions/s" if isinstance(run, RequestResponse) else "Mbit/s" for run in runs]
    assert found["unit"].to_list() == units
    assert not [note for note in rec.notes if note.severity == "warning"]
    assert not any("not part of a result" in note.message for note in rec.notes)


@quick
@given(run=streams | transactions)
def test_settings_and_cpu_of_the_classic_tables_come_back(tmp_path, run):
    rec = opened(tmp_path, netperf.text([run]))
    row = rec["settings"].collect().row(0, named=True)
    assert row["elapsed_s"] == pytest.approx(run.seconds, abs=0.0051)
    assert row["destination"] == "192.0.2.20"
    if isinstance(run, RequestResponse):
        assert (row["request_bytes"], row["response_bytes"]) == (run.request_bytes, run.response_bytes)
        assert (row["remote_send_socket_bytes"], row["remote_recv_socket_bytes"]) == (16384, 87380)
    else:
        assert row["message_bytes"] == run.message_bytes
    for side, cpu in (("local", run.local), ("remote", run.remote)):
        used = metric(rec, f"cpu_{side}")["value"].to_list()
        assert used == ([] if cpu is None else [pytest.approx(cpu.used_pct, abs=0.0051)])


def test_service_demand_is_cpu_by_work(tmp_path):
    """10 % of 8 processors at 8192 Mbit/s (1,000,000 KB/s): 0.8 us of CPU for each KB."""
    run = Stream(8192.0, local=Cpu(10.0, 8), remote=Cpu(20.0, 8))
    rec = opened(tmp_path, netperf.text([run]))
    assert metric(rec, "service_demand_local")["value"].to_list() == [0.8]
    assert metric(rec, "service_demand_remote")["value"].to_list() == [1.6]
    rec = opened(tmp_path, netperf.text([RequestResponse(20_000, local=Cpu(50.0, 2))]))
    assert metric(rec, "service_demand_local")["value"].to_list() == [50.0]
    assert metric(rec, "service_demand_remote").is_empty()


def test_messages_times_size_is_what_was_sent(tmp_path):
    run = UdpStream(9000.0, 8100.0, seconds=20.0)
    rec = opened(tmp_path, netperf.text([run]))
    row = rec["settings"].collect().row(0, named=True)
    assert row["messages_sent"] * 1472 * 8 / 20 / 1e6 == pytest.approx(9000)
    assert row["messages_received"] * 1472 * 8 / 20 / 1e6 == pytest.approx(8100)
    assert metric(rec, "throughput_received")["value"].to_list() == [8100.0]


@quick
@given(trip=st.floats(5, 5000), form=st.sampled_from(["csv", "keyval"]))
def test_omni_latencies_are_in_order_around_the_round_trip(tmp_path, trip, form):
    rec = opened(tmp_path, netperf.text([RequestResponse(netperf.per_second(trip))], form=form))
    value = {row["metric"]: row["value"] for row in rec["benchmark_results"].collect().to_dicts()}
    assert value["latency_mean"] == pytest.approx(trip, abs=0.0051)
    assert 1e6 / value["throughput"] == pytest.approx(trip, rel=1e-3)
    ordered = [value[f"latency_{name}"] for name in ("min", "p50", "p90", "p99", "max")]
    assert ordered == sorted(ordered)
    assert value["latency_min"] <= value["latency_mean"] <= value["latency_max"]


def test_classic_tables_have_the_columns_of_the_program():
    """Widths and blanks as nettest_bsd.c prints them."""
    text = netperf.text([Stream(9400.0), RequestResponse(25000.0)], "192.0.2.21")
    banner, *titles, blank, row = text.split("\n")[:7]
    assert (
        banner
        == "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.21 () port 0 AF_INET : demo"
    )
    assert titles[3] == "bytes  bytes   bytes    secs.    10^6bits/sec  "
    assert (blank, row) == ("", " 87380  16384  16384    10.00    9400.00   ")
    lines = text.split("\n")
    assert lines[7].endswith("AF_INET : demo : first burst 0")
    assert lines[-3:] == ["16384  87380  1        1       10.00    25000.00   ", "16384  87380 ", ""]
    old = netperf.text([Stream(9400.0)], "192.0.2.21", "2.4").split("\n")[0]
    assert old == "TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.21 (192.0.2.21) port 0 AF_INET"


def test_repetitions_have_the_mean_that_was_asked_for(tmp_path):
    """Six ways to run a server: 9.40 Gbit/s in all, and round trips that differ by a few microseconds."""
    trips = {"native": 30.0, "vm": 45.0, "native docker": 39.5, "vm docker": 54.5, "native host": 30.2, "vm host": 45.3}
    for name, trip in trips.items():
        noise = Noise(7)
        runs = [
            *netperf.runs(noise, f"{name} stream", Stream(9400.0), 0.001, 5),
            *netperf.runs(noise, f"{name} rr", RequestResponse(netperf.per_second(trip)), 0.02, 5),
        ]
        found = metric(opened(tmp_path, netperf.text(runs)))
        assert found.filter(test="TCP_STREAM")["value"].mean() == pytest.approx(9400, abs=0.01)
        assert found.filter(test="TCP_RR")["repetition"].to_list() == [1, 2, 3, 4, 5]
        assert fmean(1e6 / value for value in found.filter(test="TCP_RR")["value"]) == pytest.approx(trip, rel=1e-5)
        assert found.filter(test="TCP_RR")["value"].n_unique() == 5


def test_the_same_bytes_every_time():
    def once():
        return netperf.text(netperf.runs(Noise(3), "a", Stream(941.0), 0.05, 4), form="csv")

    assert once() == once()
    assert re.findall(r"\n(\d+\.\d\d),10\^6bits/s", once())


@pytest.mark.parametrize(
    ("runs", "options", "message"),
    [
        ([], {}, "at least one"),
        ([Stream(-1.0)], {}, "rate of TCP_STREAM"),
        ([Stream(float("nan"))], {}, "rate of TCP_STREAM"),
        ([Stream(1.0, seconds=0.0)], {}, "seconds"),
        ([Stream(1.0, message_bytes=0)], {}, "message"),
        ([UdpStream(1.0, 2.0)], {}, "cannot arrive"),
        ([RequestResponse(1.0, request_bytes=0)], {}, "request"),
        ([RequestResponse(1.0, local=Cpu(101.0))], {}, "no use of a CPU"),
        ([Stream(1.0, test="SCTP_STREAM")], {}, "SCTP_STREAM"),
        ([Stream(1.0)], {"version": "2.4", "form": "csv"}, "2.4"),
        ([Stream(1.0)], {"to": "two words"}, "address"),
    ],
)
def test_what_makes_no_sense_is_refused(runs, options, message):
    with pytest.raises(EsxparseError, match=message) as caught:
        netperf.text(runs, **options)
    assert "\n" not in str(caught.value)
