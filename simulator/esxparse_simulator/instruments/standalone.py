"""Instruments that need no host: the scenario has their numbers (power meters may watch one).

A result of a benchmark is a number, or `{ mean = , spread = }`; the mean of all `repetitions` is then exactly that.
With `around` for `mean` they are not moved to it: what one run measured of something that is near it. Options:

- `netperf`: `test`, `mbit_per_s` or (of TCP_RR, UDP_RR) `round_trip_us`, `seconds`, `to`;
- `stream`: `copy`, `scale`, `add`, `triad` in MB/s, `threads`, `array_elements`;
- `linpack`: `sizes = [{ equations = 45000, gflops = 430.0 }]`, `ghz`, `sockets`, `cores`, `threads`;
- `redis_benchmark`: `tests = [{ name = "SET", requests_per_s = 120e3 }]` with the fields of `RedisTest`;
- `results`: a list as people type it: `labels`, `metrics = [{ name = , unit = }]`, `rows = [{ ... }]` with a value for
  each of them, `benchmark`, `higher_is_better`; all runs that name the file put their rows into it;
- `activities`: `stretches = [{ name = , seconds = , volume_mb = }]`, `interval_s`, `measure` (bytes or kb_per_s);
- `perf`: `command`, `elapsed_s` (a list: one for each repetition), `version`, `events`: `{ name = , counts = [...] }`
  with `unit`, `running_pct` and `state` where they are not the usual;
- `vmkperf`: `event`, `pcpus`, `polls`, `interval_s`, `busy = { 23 = 4.1e6 }` (events per second of a PCPU),
  `background` (of the others), `spread` and `background_spread`;
- `numactl`, `cpuinfo`: the fields of `Topology`; `vmx`: the fields of `VmFile`, its name as `vm`;
- `ribcl`: the host's watts, or `watts` every `reading_s` seconds for `seconds`; `interval_s`, `count`, `generation`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any

from esxparse_simulator.instruments.model import Entry, Files, needed, single
from esxparse_simulator.limits import ScenarioError, need, positive
from esxparse_simulator.measured import repeated
from esxparse_simulator.model.layout import Layout
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.model.sample import Snapshot
from esxparse_simulator.writers import benchmarks, events, machines, results_csv
from esxparse_simulator.writers.power import Readings, ribcl_lines


def _drawn(entry: Entry, what: str, value: Any, count: int | None = None) -> tuple[float, ...]:
    """The value of each repetition."""
    times = int(entry.options.get("repetitions", 1)) if count is None else count
    noise, label = Noise(entry.run.seed), f"{entry.name}/{what}"
    if isinstance(value, dict) and "around" in value:
        middle = positive(f"the value around which {what} is", float(value["around"]))
        spread = float(value.get("spread", 0.0))
        return tuple(middle * (1.0 + spread * (2.0 * noise.uniform(label) - 1.0)) for _ in range(times))
    mean, spread = (value["mean"], value.get("spread", 0.0)) if isinstance(value, dict) else (value, 0.0)
    return repeated(noise, label, float(mean), float(spread), times)


def _netperf(entry: Entry) -> Iterator[bytes]:
    test = entry.text("test", "TCP_STREAM")
    if test.endswith("_RR"):
        # the mean that holds is that of the round trips, not of their reciprocals
        rates = tuple(1e6 / time for time in _drawn(entry, "round trip", entry.required("round_trip_us")))
    else:
        rates = _drawn(entry, "throughput", entry.required("mbit_per_s"))
    seconds = entry.number("seconds", 10.0)
    yield benchmarks.netperf_text(test, rates, seconds, entry.text("to", "192.0.2.20")).encode()


def _stream(entry: Entry) -> Iterator[bytes]:
    runs = list(zip(*(_drawn(entry, kernel, entry.required(kernel)) for kernel in benchmarks.KERNELS), strict=True))
    elements, threads = entry.number("array_elements", 80_000_000), entry.number("threads", 8)
    yield benchmarks.stream_text(runs, int(elements), int(threads), entry.run.seed).encode()


def _linpack(entry: Entry) -> Iterator[bytes]:
    sizes = [
        benchmarks.Size(int(row["equations"]), _drawn(entry, f"{row['equations']} equations", row["gflops"]))
        for row in entry.required("sizes")
    ]
    host = _made(entry, benchmarks.Processors)
    yield benchmarks.linpack_text(sizes, entry.run.start, host, entry.run.seed).encode()


def _redis(entry: Entry) -> Iterator[bytes]:
    """Each repetition is a run of the program, one after another in the file."""
    tests, known = entry.required("tests"), sorted(field.name for field in fields(benchmarks.RedisTest))
    rates = [_drawn(entry, row["name"], row["requests_per_s"]) for row in tests]
    for key in sorted({key for row in tests for key in row}):
        of_tests = f"file {entry.name}: a test of redis-benchmark has no {key!r}. Known: {', '.join(known)}."
        need(key in known, of_tests)
    for repetition in zip(*rates, strict=True):
        rows = [{**row, "requests_per_s": rate} for row, rate in zip(tests, repetition, strict=True)]
        yield benchmarks.redis_text([benchmarks.RedisTest(**row) for row in rows]).encode()


def _results(entries: list[Entry]) -> Files:
    first = entries[0]
    labels, metrics = tuple(first.required("labels")), first.required("metrics")
    table = results_csv.Results(
        labels,
        tuple(f"{one['name']} [{one['unit']}]" if one.get("unit") else one["name"] for one in metrics),
        tuple(row for entry in entries for row in _result_rows(entry, labels, [one["name"] for one in metrics])),
        benchmark=first.text("benchmark", ""),
        higher_is_better=first.options.get("higher_is_better"),
    )
    yield first.name, results_csv.lines(table, first.options.get("decimals"))


def _result_rows(
    entry: Entry, labels: tuple[str, ...], metrics: list[str]
) -> Iterator[tuple[tuple[str, ...], tuple[float, ...]]]:
    times = int(entry.options.get("repetitions", 1))
    for number, row in enumerate(entry.required("rows")):
        for name in (*labels, *metrics):
            there = name in row or name == "repetition"
            need(there, f"file {entry.name}: row {number + 1} has no {name!r}. Add it.")
        drawn = [_drawn(entry, f"{number}/{metric}", row[metric], times) for metric in metrics]
        for place in range(times):
            cells = {"repetition": place + 1, **row}
            yield tuple(str(cells[name]) for name in labels), tuple(values[place] for values in drawn)


def _activities(entry: Entry) -> Iterable[bytes]:
    stretches = [
        (str(row["name"]), float(row["seconds"]), round(float(row["volume_mb"]) * 1e6))
        for row in entry.required("stretches")
    ]
    measure, interval_s, spread = (
        entry.text("measure", "bytes"),
        entry.number("interval_s", 20),
        entry.number("spread", 0.2),
    )
    noise = Noise(entry.run.seed)
    table = results_csv.activities(noise, stretches, entry.run.start, interval_s, spread, measure)
    return results_csv.lines(table, 2 if measure == "kb_per_s" else None)


def _perf(entry: Entry) -> Iterator[bytes]:
    def each(what: str, values: list[Any]) -> tuple[float, ...]:
        return tuple(entry.about(f"{what} {number}", value) for number, value in enumerate(values, 1))

    rows = [{**row, "counts": each(f"{row['name']} counts", row["counts"])} for row in entry.required("events")]
    elapsed = each("elapsed_s", entry.required("elapsed_s"))
    run = events.Run(str(entry.required("command")), elapsed, tuple(events.Event(**row) for row in rows))
    yield events.perf_text(run, entry.text("version", "3.6")).encode()


def _vmkperf(entry: Entry) -> Iterator[bytes]:
    event, pcpus, polls = (entry.required(name) for name in ("event", "pcpus", "polls"))
    busy = {int(pcpu): float(rate) for pcpu, rate in entry.required("busy").items()}
    poll, spread = events.Poll(event, pcpus, int(entry.number("interval_s", 1)), polls), entry.number("spread", 0.3)
    background, around = entry.number("background", 0.0), entry.number("background_spread", spread)
    return events.poll_lines(poll, events.poll_rates(poll, busy, background, spread, around, entry.run.seed))


def _made(entry: Entry, kind: Any, **more: Any) -> Any:
    """A `kind` of those of its fields that the options have."""
    options = {field.name: entry.options[field.name] for field in fields(kind) if field.name in entry.options}
    try:
        return kind(**{key: tuple(one) if isinstance(one, list) else one for key, one in options.items()}, **more)
    except TypeError as error:
        msg = f"file {entry.name}: {error}. Give every field of {kind.__name__} that has no default."
        raise ScenarioError(msg) from error


def _vmx(entry: Entry) -> Iterator[bytes]:
    yield machines.vmx_text(_made(entry, machines.VmFile, name=entry.text("vm", "guest-01"))).encode()


class _Watts:
    """The host's power at every sample."""

    def __init__(self) -> None:
        self.readings: list[tuple[datetime, float]] = []

    def __call__(self, now: Snapshot) -> None:
        self.readings.append((now.time, now.watts))


def watch_power(layout: Layout | None, options: Mapping[str, Any]) -> _Watts | None:
    """The observer of a power meter; none if its watts are given."""
    if "watts" in options:
        return None
    needed(layout, "a power meter")
    return _Watts()


def _ribcl(entry: Entry) -> Iterator[bytes]:
    start = entry.run.start
    if entry.watch is None:
        value, step, noise = entry.options["watts"], entry.number("reading_s", 10.0), Noise(entry.run.seed)
        mean, spread = (value["mean"], value.get("spread", 0.0)) if isinstance(value, dict) else (value, 0.0)
        length = float(entry.required("seconds"))
        times = [start + timedelta(seconds=number * step) for number in range(1, round(length / step) + 1)]
        found = [(time, noise.around(f"{entry.name}/watts", float(mean), float(spread))) for time in times]
    else:
        found = entry.watch.readings
        length = (found[-1][0] - found[0][0]).total_seconds()
    step = entry.number("interval_s", 300.0)
    readings = Readings(tuple(time for time, _ in found), tuple(watts for _, watts in found))
    count = int(entry.options.get("count", max(1, int(length / step))))
    begin = start + timedelta(seconds=min(step, length))
    return ribcl_lines(readings, begin, step, count, entry.text("generation", "ilo3"))


STANDALONE = {
    "activities": single(_activities),
    "cpuinfo": single(lambda entry: machines.cpuinfo_lines(_made(entry, machines.Topology))),
    "linpack": single(_linpack),
    "netperf": single(_netperf),
    "numactl": single(lambda entry: [machines.numactl_text(_made(entry, machines.Topology)).encode()]),
    "perf": single(_perf),
    "redis_benchmark": single(_redis),
    "results": _results,
    "ribcl": single(_ribcl),
    "stream": single(_stream),
    "vmkperf": single(_vmkperf),
    "vmx": single(_vmx),
}
"""What writes a tool's files, by tool."""
