"""`runs`: the columns of fio's logs, of packet traces and of .vmx files."""

from __future__ import annotations

import shlex
import subprocess
from datetime import UTC, datetime, timedelta

import compose
import fio_outputs
import pytest
import studies
import wire

from esxparse.metrics import numa

BEGIN = datetime(2026, 3, 2, 8, 30, tzinfo=UTC)


def log(folder, metric, lines, name="vm", absolute=True):
    """Lines are (seconds since BEGIN, value, direction, size)."""
    zero = round(BEGIN.timestamp()) if absolute else 0
    text = "".join(f"{round(1000 * (zero + at))}, {value}, {way}, {size}\n" for at, value, way, size in lines)
    (folder / f"{name}_{metric}.1.log").write_text(text)


def averages(count=10, *, rate=1000, slope=100):
    """A line a second for reads and writes; the rate rises by `slope` a second."""
    return [(at, (rate + slope * at) // (1 + way), way, 0) for at in range(1, count + 1) for way in (0, 1)]


def one(folder, text):
    (row,) = studies.rows(studies.computed(folder, text))
    return row


def test_lines_of_logs_in_the_window_are_averaged_and_logs_are_added_up(tmp_path):
    for name in ("vm1", "vm2"):
        log(tmp_path, "iops", averages(), name)
        log(tmp_path, "bw", averages(rate=4000, slope=0), name)
        log(tmp_path, "lat", [(at, 2_000_000 * (way + 1), way, 0) for at, _, way, _ in averages()], name)
    row = one(tmp_path, '[[run]]\nfio = ["vm*_*.log"]\nwindow = { warmup = 3, measure = 4 }\n')
    assert row["gap"] is None
    assert row["throughput_from"] == "fio logs"
    assert row["latency_unit"] == "ns, a guess"
    # The first line ends the first second, and the logs tell nothing of what is before it: 4 s, from second 1 on.
    assert (row["start"], row["end"]) == (BEGIN + timedelta(seconds=4), BEGIN + timedelta(seconds=8))
    reads = sum(1000 + 100 * at for at in (5, 6, 7, 8)) / 4
    assert row["read_iops"] == pytest.approx(2 * reads)
    assert row["write_iops"] == pytest.approx(reads)
    assert row["iops"] == pytest.approx(3 * reads)
    assert row["read_mb_per_s"] == pytest.approx(2 * 4000 * 1024 / 1e6)
    assert row["mb_per_s"] == pytest.approx(3 * 4000 * 1024 / 1e6)
    assert row["read_latency_mean_ms"] == pytest.approx(2.0)
    assert row["latency_mean_ms"] == pytest.approx((2 * 2.0 + 4.0) / 3)
    assert row["outstanding_by_law"] == pytest.approx(row["iops"] * row["latency_mean_ms"] / 1000)
    # No percentile and no maximum of means.
    assert row["read_p95_ms"] is None
    assert row["latency_max_ms"] is None


def test_an_output_beside_the_logs_leaves_no_doubt_about_their_unit(tmp_path):
    log(tmp_path, "lat", [(at, 2_000_000 * (way + 1), way, 0) for at, _, way, _ in averages()])
    log(tmp_path, "iops", averages())
    sides = {
        way: fio_outputs.direction(4000, new=True, mean=round(mean * 1e6 / 1.1))
        for way, mean in (("read", 2), ("write", 4))
    }
    (tmp_path / "out.json").write_text(
        fio_outputs.document(fio_outputs.job("vm", new=True, **sides), release="fio-3.7")
    )
    row = one(tmp_path, '[[run]]\nfio = ["vm_*.log"]\nwindow = { warmup = 3, measure = 4 }\n')
    assert row["latency_mean_ms"] == pytest.approx(8 / 3)
    assert row["latency_unit"] is None


def test_a_line_for_each_io_is_counted_and_has_percentiles(tmp_path):
    every = [(at / 10, 1_000_000 * (1 + at % 10), 0, 8192) for at in range(1, 101)]
    log(tmp_path, "lat", every)
    log(tmp_path, "iops", [(at, 1, way, size) for at, _, way, size in every])
    text = "[run.window]\nstart = 2026-03-02T08:30:05Z\nend = 2026-03-02T08:30:10Z\n"
    row = one(tmp_path, f'[[run]]\nfio = ["vm_*.log"]\n{text}')
    assert row["iops"] == row["read_iops"] == pytest.approx(10)
    assert row["mb_per_s"] == pytest.approx(10 * 8192 / 1e6)
    assert row["latency_mean_ms"] == pytest.approx(5.5)
    assert row["latency_max_ms"] == 10
    assert row["read_p95_ms"] == pytest.approx(10)
    assert row["write_iops"] is None


@pytest.mark.search
def test_logs_are_cut_by_the_window_of_the_capture_and_go_before_the_output_of_the_whole_run(tmp_path):
    studies.write_capture(tmp_path / "c.csv", samples=31, interval=10)
    studies.write_fio(tmp_path / "fio.json")
    log(tmp_path, "iops", [(at, 100 if at <= 120 else 500, 0, 0) for at in range(10, 301, 10)])
    text = '[[run]]\nesxtop = "c.csv"\nfio = ["fio.json", "vm_iops.1.log"]\nwindow = {{ {} }}\n'
    early, late = one(tmp_path, text.format('measure = "2m"')), one(tmp_path, text.format('warmup = "2m"'))
    assert (early["read_iops"], late["read_iops"]) == (100, 500)
    assert (early["iops"], late["iops"]) == (100, 500)
    # What the logs do not tell is that of the output.
    assert early["read_latency_mean_ms"] == late["read_latency_mean_ms"] > 0
    shifted = text.replace('["fio.json", "vm_iops.1.log"]', '{{ file = ["vm_iops.1.log"], clock = "{}" }}')
    assert one(tmp_path, shifted.format("-125s", 'measure = "2m"'))["read_iops"] == 500
    row = one(tmp_path, shifted.format("-2h", 'measure = "2m"'))
    assert "no line in the measured span" in row["gap"]
    assert row["host_used_pct"] > 0


def test_logs_that_count_from_the_begin_of_the_job_are_placed_by_the_output_beside_them(tmp_path):
    studies.write_capture(tmp_path / "c.csv", samples=31, interval=10)
    log(tmp_path, "iops", [(at, 100 if at <= 60 else 500, 0, 0) for at in range(10, 121, 10)], absolute=False)
    alone = one(tmp_path, '[[run]]\nesxtop = "c.csv"\nfio = "vm_iops.1.log"\n')
    assert "the start time is unknown: add fio's output" in alone["gap"]
    assert alone["iops"] is None
    begin = round(1000 * (BEGIN + timedelta(seconds=60)).timestamp())
    side = fio_outputs.direction(20_000) | {"runtime": 120_000}
    job = fio_outputs.job(read=side, write=fio_outputs.direction(0)) | {"job_start": begin}
    (tmp_path / "fio.json").write_text(fio_outputs.document(job))
    window = "start = 2026-03-02T08:31:00Z, end = 2026-03-02T08:32:00Z"
    text = '[[run]]\nesxtop = "c.csv"\nfio = ["fio.json", "vm_iops.1.log"]\nwindow = {{ {} }}\n'
    assert one(tmp_path, text.format(window))["iops"] == 100
    assert one(tmp_path, text.format(window.replace(":32", ":33").replace(":31", ":32")))["iops"] == 500


def test_logs_that_count_from_the_begin_of_the_job_need_no_more_where_the_window_counts_too(tmp_path):
    log(tmp_path, "iops", averages(), absolute=False)
    row = one(tmp_path, '[[run]]\nfio = "vm_iops.1.log"\nwindow = { warmup = 3, measure = 4 }\n')
    assert row["read_iops"] == sum(1000 + 100 * at for at in (4, 5, 6, 7)) / 4
    assert one(tmp_path, '[[run]]\nfio = "vm_iops.1.log"\n')["read_iops"] == 1550
    long = one(tmp_path, '[[run]]\nfio = "vm_iops.1.log"\nwindow = { warmup = 30 }\n')
    assert "too short for 30 s of warm-up" in long["gap"]
    dated = one(tmp_path, '[[run]]\nfio = "vm_iops.1.log"\nwindow = { start = 2026-03-02T08:30:05Z }\n')
    assert "the start time is unknown" in dated["gap"]


def trace(folder, *, shift=63 * 512, name="trace.pcap"):
    """Ten reads and ten writes, a second apart, from a minute after BEGIN on; writes take 10 ms longer each."""
    tcp = wire.Tcp(2049)
    begin = BEGIN.timestamp() + 60
    tcp.shake(begin)
    for turn in range(20):
        at, offset, data, xid = begin + 1 + turn, shift + 4096 * turn, b"d" * 4096, 0x9000 + turn
        write = turn % 2
        call = wire.nfs3_write if write else wire.nfs3_read
        reply = wire.nfs3_write_reply(xid, 4096) if write else wire.nfs3_read_reply(xid, data)
        tcp.send(at, wire.marked(call(xid, b"handle", offset, data if write else 4096)), up=True)
        tcp.send(at + (0.010 * (turn + 1) if write else 0.001), wire.marked(reply), up=False)
    compose.write(folder, wire.pcap(sorted(tcp.frames, key=lambda pair: pair[0])), name)


@pytest.mark.needs("tshark")
def test_a_packet_trace_tells_response_times_and_alignment_in_the_window(tmp_path):
    trace(tmp_path)
    row = one(tmp_path, '[[run]]\npackets = "trace.pcap"\n')
    assert row["gap"] is None
    assert row["wire_read_p50_ms"] == row["wire_read_p95_ms"] == pytest.approx(1.0, abs=1e-6)
    assert row["wire_write_p50_ms"] == pytest.approx(110.0, abs=1e-6)
    assert row["wire_write_p95_ms"] == pytest.approx(191.0, abs=1e-6)
    assert (row["wire_read_misaligned_pct"], row["wire_write_misaligned_pct"]) == (100, 100)
    assert row["wire_write_size_bytes"] == 4096
    assert (row["wire_unanswered"], row["tcp_retransmissions"], row["tcp_retransmissions_pct"]) == (0, 0, 0)
    trace(tmp_path, shift=0, name="aligned.pcap")
    assert one(tmp_path, '[[run]]\npackets = "aligned.pcap"\n')["wire_write_misaligned_pct"] == 0


@pytest.mark.search
@pytest.mark.needs("tshark")
def test_a_packet_trace_is_cut_by_the_window_of_the_capture(tmp_path):
    trace(tmp_path)
    studies.write_capture(tmp_path / "c.csv", samples=31, interval=10)
    text = '[[run]]\nesxtop = "c.csv"\npackets = {{ file = "trace.pcap", clock = {} }}\n'
    text += "window = {{ warmup = {}, measure = 10 }}\n"
    row = one(tmp_path, text.format(0, 60))
    # Requests at 61 to 70 s: five of each.
    assert row["wire_write_per_s"] == row["wire_read_per_s"] == pytest.approx(0.5)
    assert row["wire_write_p50_ms"] == pytest.approx(60.0, abs=1e-6)
    outside = one(tmp_path, text.format(0, 200))
    assert "no reads or writes in the measured span" in outside["gap"]
    assert "clock" in outside["gap"]
    assert outside["host_used_pct"] > 0
    assert one(tmp_path, text.format(140, 200))["wire_write_p50_ms"] == row["wire_write_p50_ms"]


def vmx(folder, name, vcpus, memory, *, more=""):
    (folder / f"{name}.vmx").write_text(
        f'.encoding = "UTF-8"\nconfig.version = "8"\nvirtualHW.version = "13"\ndisplayName = "{name}"\n'
        f'numvcpus = "{vcpus}"\nmemSize = "{memory}"\n{more}'
    )


HOST = "[host]\ncores = 16\nnuma_nodes = 2\n"


def test_vms_lie_on_the_nodes_of_the_host(tmp_path):
    studies.write_capture(tmp_path / "c.csv", samples=3)
    vmx(tmp_path, "web", 4, 4096)
    vmx(tmp_path, "db", 12, 65536)
    text = HOST + '[[run]]\nesxtop = "c.csv"\nvmx = ["*.vmx"]\n'
    found = studies.computed(tmp_path, text)
    (row,) = studies.rows(found)
    assert (row["vmx_vms"], row["vmx_vcpus"], row["vmx_memory_mib"], row["vmx_hardware"]) == (2, 16, 69632, 13)
    assert (row["node_cores"], row["node_memory_mib"]) == (8, row["memory_mib"] / 2)
    assert row["vmx_fits_node"] is False
    assert (row["vmx_wide_vms"], row["vmx_nodes_needed"]) == (1, 2)
    assert row["vmx_node_headroom_mib"] == row["memory_mib"] / 2 - 65536
    seen = numa.vnuma(12, 13, row["esxi_release"], cores_per_node=8)
    assert (row["vmx_vnuma_vms"], row["vmx_vnuma_nodes"]) == (1, seen.nodes) == (1, 2)
    vmx(tmp_path, "db", 12, 65536, more='vcpu.hotadd = "TRUE"\n')
    found = studies.computed(tmp_path, text)
    assert studies.rows(found)[0]["vmx_vnuma_vms"] == 0
    assert any("db: it is split over 2 nodes that its guest does not see" in str(note) for note in found.notes)


def test_the_nodes_of_numactl_are_taken_before_an_even_share(tmp_path):
    vmx(tmp_path, "db", 8, 20000)
    (tmp_path / "n.txt").write_text(
        "available: 2 nodes (0-1)\nnode 0 cpus: 0 1 2 3 4 5 6 7\nnode 0 size: 24000 MB\n"
        "node 1 cpus: 8 9 10 11 12 13 14 15\nnode 1 size: 16000 MB\n"
    )
    text = '[[run]]\nvmx = "db.vmx"\nhardware = "n.txt"\nhost = {{ cores = {} }}\n'
    row = one(tmp_path, text.format(16))
    assert (row["node_cores"], row["node_memory_mib"]) == (8, 16000)
    assert (row["vmx_fits_node"], row["vmx_wide_vms"], row["vmx_node_headroom_mib"]) == (False, 0, -4000)
    # Two hyper-threads a core.
    assert one(tmp_path, text.format(8))["vmx_wide_vms"] == 1


def test_vms_of_a_host_that_is_not_known_have_their_size_and_a_note(tmp_path):
    vmx(tmp_path, "db", 8, 20000)
    found = studies.computed(tmp_path, '[[run]]\nvmx = "db.vmx"\n')
    (row,) = studies.rows(found)
    assert row["vmx_vcpus"] == 8
    assert row["vmx_fits_node"] is None
    assert row["gap"] is None
    assert any("numa_nodes" in str(note) for note in found.notes)
    (tmp_path / "db.vmx").write_text('virtualHW.version = "13"\nnumvcpus = "4"\n')
    assert "has no memSize" in one(tmp_path, '[[run]]\nvmx = "db.vmx"\n')["gap"]


def test_a_file_of_another_kind_is_named_as_what_it_is(tmp_path):
    vmx(tmp_path, "db", 8, 20000)
    row = one(tmp_path, '[[run]]\nhardware = "db.vmx"\n')
    assert "is a recording of vmx: name it as vmx = ..." in row["gap"]


@pytest.mark.parametrize("direction", [0, 1])
def test_jobs_that_share_a_log_are_added_up(tmp_path, direction):
    """With `per_job_logs=0` fio writes job after job, each from the beginning, at times that differ by little."""
    jobs = [[(at + job / 1000, 1000 * (job + 1) + 10 * at, direction, 0) for at in range(1, 11)] for job in range(3)]
    log(tmp_path, "iops", [line for job in jobs for line in job])
    log(tmp_path, "bw", [(at, 4 * value, way, size) for job in jobs for at, value, way, size in job])
    row = one(tmp_path, '[[run]]\nfio = ["vm_*.log"]\n')
    assert row["gap"] is None
    assert row["iops"] == pytest.approx(sum(line[1] for job in jobs for line in job) / 10, rel=0.01)
    assert row["mb_per_s"] == pytest.approx(row["iops"] * 4096 / 1e6)


@pytest.mark.needs("fio")
def test_jobs_of_fio_that_share_a_log_have_the_rate_of_its_output(tmp_path):
    command = (
        "fio --name=r --numjobs=3 --per_job_logs=0 --write_iops_log=r --log_avg_msec=100 --ioengine=null --size=1g "
    )
    command += (
        "--bs=4k --time_based --runtime=1 --rate_iops=1000 --rw=randread --output-format=json --output=r.json --thread"
    )
    subprocess.run(shlex.split(command), cwd=tmp_path, check=True, capture_output=True)
    logs, output = studies.rows(studies.computed(tmp_path, '[[run]]\nfio = "r_iops.log"\n[[run]]\nfio = "r.json"\n'))
    assert logs["iops"] == pytest.approx(output["iops"], rel=0.25)
