"""The cells of templates on many recordings, compared with golden texts (`make golden` writes them again)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from fault_hosts import experiment
from golden import cells, kept, texts
from search import routine_of

import esxparse as ex
import esxparse_simulator as simulate
from esxparse.errors import EsxparseError

DATA = ex.datasets_dir()
FORMATS = DATA / "formats"
BUSY = DATA / "busy-host" / "busy-host.csv"
POWER = DATA / "power"
FAULTS = (
    *("array-slow", "balloon", "cpu-limit", "cpu-overcommit", "interrupt-on-one-pcpu", "link-flapping", "nfs-slow"),
    *("numa-remote", "oversized-smp", "power-cap", "power-policy-c-states", "queue-full-device", "receive-ring-drops"),
    *("swap", "transmit-drops", "vsan-congestion"),
)
"""Some of every area."""
SEVERITY = {"vsan-congestion": 0.9}
"""At 1 a mean lies where the order in which threads add decides how it is rounded."""
START = datetime(2026, 5, 4, 8, 0, tzinfo=UTC)


def check(name, template, **parameters):
    def shown():
        try:
            yield from cells.outputs(template, **parameters)
        except EsxparseError as error:
            yield texts.shortened(f"error: {texts.value(str(error))}")

    kept.check("templates", name, shown())


def some(*paths):
    return [str(path) for path in paths]


def written(scenario, path):
    simulate.write_esxtop(path, simulate.capture(scenario))
    return str(path)


def simulated(name, folder):
    (run,) = experiment(name, SEVERITY.get(name, 1.0)).runs
    return written(run.scenario, folder / f"{name}.csv")


@pytest.mark.parametrize("name", routine_of(FAULTS, {"cpu-overcommit"}))
def test_a_host_with_a_fault(name, tmp_path):
    path = simulated(name, tmp_path)
    check(f"{name}-health", "host_health", capture=path)
    check(f"{name}-troubles", "troubleshooting", capture=path)


@pytest.mark.search
def test_a_host_of_more_vms_and_devices_than_a_chart_draws(tmp_path):
    path = written(simulate.large_host(30_000, samples=6, interval=25.0), tmp_path / "large.csv")
    check("large-health", "host_health", capture=path)
    check("large-power", "power_profile", captures=[path])


@pytest.mark.search
@pytest.mark.parametrize("seed", [3, 8, 21])
def test_a_random_host(seed, tmp_path):
    (run,) = simulate.random_experiment(seed, samples=20, interval=30.0, background=2).runs
    path = written(run.scenario, tmp_path / "random.csv")
    check(f"random-{seed}-health", "host_health", capture=path)
    check(f"random-{seed}-troubles", "troubleshooting", capture=path)


HOSTS = {
    "window": {"capture": str(BUSY), "start": "2026-03-11T09:03:00", "end": "2026-03-11T09:06:30"},
    "strict": {"capture": str(BUSY), "profile": "strict"},
    "power-study": {"capture": str(POWER / "dynamic-1.csv.bz2")},
    "one-sample": {"capture": str(BUSY), "start": "2026-03-11T09:03:00", "end": "2026-03-11T09:03:05"},
}


@pytest.mark.search
@pytest.mark.parametrize("name", HOSTS)
def test_a_capture(name):
    check(f"{name}-health", "host_health", **HOSTS[name])
    check(f"{name}-troubles", "troubleshooting", **HOSTS[name])


def meter(folder, name, sensors, *, seconds=(0, 10, 20, 30, 90, 100, 110), times=True):
    """Readings of a meter: one of `sensors` a column of watts, at these seconds, among which is a gap."""
    lines = ["time,sensor,watts" if times else "elapsed_s,sensor,watts"]
    for sensor, watts in sensors.items():
        for second, value in zip(seconds, watts, strict=True):
            time = f"{START + timedelta(seconds=second):%Y-%m-%dT%H:%M:%SZ}" if times else second
            lines.append(f"{time},{sensor},{value}")
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder / name


OUTLETS = {"a": (100, 140, 260, 300, 500, 620, 700), "b": (50, 40, 90, 70, 20, 10, 130)}
SUMS = {"Total": (150, 180, 350, 370, 520, 630, 830), **OUTLETS}
METERS = {
    "outlets": lambda folder: [meter(folder, "a.csv", OUTLETS)],
    "outlets-and-their-sum": lambda folder: [meter(folder, "a.csv", SUMS)],
    "two-meters-of-equal-names": lambda folder: [meter(folder, "a.csv", OUTLETS), meter(folder, "b.csv", SUMS)],
    "no-watts": lambda folder: [meter(folder, "a.csv", {"a": (0,) * 7})],
    "two-captures": lambda _: [BUSY, POWER / "dynamic-1.csv.bz2"],
    "capture": lambda _: [POWER / "static-high-1.csv.bz2"],
    "capture-and-bmc": lambda _: [POWER / "dynamic-1.csv.bz2", POWER / "dynamic-1.ilo.xml"],
    "capture-and-another-day": lambda folder: [BUSY, meter(folder, "a.csv", OUTLETS)],
    "capture-and-two-meters": lambda folder: [
        *(POWER / f"dynamic-2{end}" for end in (".csv.bz2", ".ilo.xml")),
        meter(folder, "a.csv", OUTLETS),
    ],
    "bmc": lambda _: [POWER / "dynamic-1.ilo.xml"],
    "bmcs": lambda _: [POWER / "dynamic-1.ilo.xml", POWER / "static-high-1.ilo.xml"],
    "fast-power-meter": lambda _: [FORMATS / "redfish-ilo5-fast-power-meter.json"],
    "power-document": lambda _: [FORMATS / "redfish-ilo5-power.json"],
    "ribcl": lambda _: [FORMATS / "ribcl-power-readings.xml"],
    "dcmi": lambda _: [FORMATS / "ipmi-dcmi-loop.txt"],
    "sensors": lambda _: [FORMATS / "ipmi-sensor-loop.txt"],
    "redfish-and-ipmi": lambda _: [FORMATS / "redfish-collected.jsonl", FORMATS / "ipmi-sensor-loop.txt"],
}


@pytest.mark.parametrize("name", METERS)
def test_power(name, tmp_path):
    captures = some(*METERS[name](tmp_path))
    check(f"power-{name}", "power_profile", captures=captures, price_per_kwh=0.31)


@pytest.mark.search
@pytest.mark.parametrize("offset", ["-90s", "2h", "soon"])
def test_power_with_an_offset(offset):
    captures = some(POWER / "dynamic-3.csv.bz2", POWER / "dynamic-3.ilo.xml")
    check(f"power-offset-{offset}", "power_profile", captures=captures, offset=offset)


VAIO = DATA / "vaio"
BENCHMARKS = {
    "fio-json": [FORMATS / "fio-json-plus.json"],
    "fio-text": [FORMATS / "fio-normal.txt"],
    "fio-terse": [FORMATS / "fio-terse-v5.txt"],
    "fio-logs": [FORMATS / f"fio-mixed_{kind}.1.log" for kind in ("bw", "lat", "clat_hist")],
    "fio-offsets": [FORMATS / "fio-offsets_lat.1.log"],
    "iometer": [FORMATS / "iometer-1.1.0.csv"],
    "iometer-old": [FORMATS / "iometer-2006.csv"],
    "iometer-sweep": [VAIO / f"default-1x{vms}vm-128oio-1.iometer.csv" for vms in ("01", "04", "16")],
    "diskspd": [FORMATS / "diskspd-2.0.21.xml"],
    "diskspd-text": [FORMATS / "diskspd-2.1.txt"],
    "vscsistats": [FORMATS / "vscsistats-web.csv"],
    "vscsistats-printed": [FORMATS / "vscsistats-web-printed.txt"],
    "programs": [FORMATS / "fio-json-plus.json", FORMATS / "iometer-1.1.0.csv", FORMATS / "diskspd-2.0.21.xml"],
    "sweep": sorted((DATA / "baseline").glob("randread-4k-*.json")),
    "repetitions": sorted((DATA / "pmem").glob("native-randrw-4k-*.json")),
    "kinds": [DATA / "pmem" / f"native-{kind}-1.json" for kind in ("randread-4k", "randrw-4k", "read-512k")],
}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmarks_of_storage(name):
    check(f"storage-{name}", "storage_benchmark", captures=some(*BENCHMARKS[name]))


EVENTS = {
    "text": ["perf-plain.txt"],
    "per-cpu": ["perf-per-cpu.csv"],
    "intervals": ["perf-interval.jsonl"],
    "vmkperf": ["vmkperf-poll.txt"],
    "two": ["perf-plain.txt", "perf-per-cpu.csv"],
    "three": ["perf-plain.txt", "perf-per-cpu.csv", "perf-interval.jsonl"],
    "perf-and-vmkperf": ["perf-interval.jsonl", "vmkperf-poll.txt"],
    "twice": ["perf-interval.jsonl", "perf-interval.jsonl"],
}


@pytest.mark.parametrize("name", EVENTS)
def test_hardware_events(name):
    check(f"events-{name}", "hardware_events", captures=some(*(FORMATS / file for file in EVENTS[name])))


@pytest.mark.search
@pytest.mark.needs("obstore")
def test_a_fleet(tmp_path):
    lake = ex.lake(tmp_path / "lake")
    faults = ("cpu-overcommit", "cpu-limit", "swap", "nfs-slow", "healthy-web")
    lake.add([BUSY, *(simulated(name, tmp_path) for name in faults)])
    check("fleet", "fleet", lake=str(tmp_path / "lake"))
    check("fleet-hosts", "fleet", lake=str(tmp_path / "lake"), hosts=["esx-db-01.lab.example"])
    check("fleet-since", "fleet", lake=str(tmp_path / "lake"), since="2026-05-01")
