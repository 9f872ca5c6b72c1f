"""Benchmarks whose results no model of a host gives: the scenario has them. They need no host.

A result is a number, or `{ mean = , spread = }`; the mean of all `repetitions` is then exactly that. With `around` for
`mean` they are not moved to it: what one run measured of something that is near it. Tools and options:

- `netperf`: `test`, `mbit_per_s` or (of TCP_RR, UDP_RR) `round_trip_us`, `seconds`, `version`, `form`;
- `stream`: `copy`, `scale`, `add`, `triad` in MB/s, `threads`, `array_elements`;
- `linpack`: `sizes = [{ equations = 45000, gflops = 430.0 }]`, `ghz`, `sockets`, `cores`, `threads`;
- `redis_benchmark`: `tests = [{ name = "SET", requests_per_s = 120e3 }]` with the fields of `writers.redis_benchmark`,
  `version`, `form`;
- `results`: a list as people type it: `labels`, `metrics = [{ name = , unit = }]`, `rows = [{ ... }]` with a value for
  each of them, `benchmark`, `higher_is_better`; all runs that name the file put their rows into it;
- `activities`: `stretches = [{ name = , seconds = , volume_mb = }]`, `interval_s`, `measure` (bytes or kb_per_s).
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from esxparse_simulator.instruments.model import Entry, Instrument, asked, one_run
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.variables import ScenarioError
from esxparse_simulator.writers import linpack, netperf, redis_benchmark, repetitions, results_csv, stream

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["INSTRUMENTS"]

_REDIS = frozenset(field.name for field in fields(redis_benchmark.Test)) - {"latency_ms"}
_KERNELS = ("copy", "scale", "add", "triad")


def _drawn(entry: Entry, what: str, value: Any, count: int | None = None) -> tuple[float, ...]:
    """The value of each repetition."""
    times = int(entry.options.get("repetitions", 1)) if count is None else count
    noise = Noise(entry.run.seed)
    if isinstance(value, dict) and "around" in value:
        middle = repetitions.needs(f"the value around which {what} is", float(value["around"]))
        label, spread = f"{entry.name}/{what}", float(value.get("spread", 0.0))
        return tuple(middle * (1.0 + spread * (2.0 * noise.uniform(label) - 1.0)) for _ in range(times))
    mean, spread = (value["mean"], value.get("spread", 0.0)) if isinstance(value, dict) else (value, 0.0)
    return repetitions.repeated(noise, f"{entry.name}/{what}", float(mean), float(spread), times)


def _netperf(entries: list[Entry]) -> Iterator[tuple[str, Iterator[bytes]]]:
    (entry,) = one_run(entries)
    test = str(entry.options.get("test", "TCP_STREAM"))
    seconds = float(entry.options.get("seconds", 10.0))
    runs: list[Any]
    if test.endswith("_RR"):
        # the mean that holds is that of the round trips, not of their reciprocals
        times = _drawn(entry, "round trip", asked(entry, "round_trip_us"))
        runs = [netperf.RequestResponse(netperf.per_second(time), seconds, test=test) for time in times]  # type: ignore[arg-type]
    else:
        rates = _drawn(entry, "throughput", asked(entry, "mbit_per_s"))
        runs = [netperf.Stream(rate, seconds, test=test) for rate in rates]  # type: ignore[arg-type]
    text = netperf.text(
        runs,
        to=str(entry.options.get("to", "192.0.2.20")),
        version=entry.options.get("version", "2.6"),
        form=entry.options.get("form", "classic"),
    )
    yield entry.name, iter([text.encode()])


def _stream(entries: list[Entry]) -> Iterator[tuple[str, Iterator[bytes]]]:
    (entry,) = one_run(entries)
    drawn = [_drawn(entry, kernel, asked(entry, kernel)) for kernel in _KERNELS]
    machine = stream.Machine(
        array_elements=int(entry.options.get("array_elements", 80_000_000)),
        threads=int(entry.options.get("threads", 8)),
    )
    rates = [stream.Rates(*values) for values in zip(*drawn, strict=True)]
    yield entry.name, iter([stream.text(rates, machine, seed=entry.run.seed).encode()])


def _linpack(entries: list[Entry]) -> Iterator[tuple[str, Iterator[bytes]]]:
    (entry,) = one_run(entries)
    sizes = [
        linpack.Size(int(row["equations"]), _drawn(entry, f"{row['equations']} equations", row["gflops"]))
        for row in asked(entry, "sizes")
    ]
    names = {field.name for field in fields(linpack.Host)} & set(entry.options)
    host = linpack.Host(**{name: entry.options[name] for name in names})
    yield entry.name, iter([linpack.text(sizes, entry.run.start, host, seed=entry.run.seed).encode()])


def _redis(entries: list[Entry]) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Each repetition is a run of the program, one after another in the file."""
    (entry,) = one_run(entries)
    rows = asked(entry, "tests")
    rates = [_drawn(entry, row["name"], row["requests_per_s"]) for row in rows]
    unknown = sorted({key for row in rows for key in row} - _REDIS)
    if unknown:
        msg = f"file {entry.name}: a test of redis-benchmark has no {unknown[0]!r}. Known: {', '.join(sorted(_REDIS))}."
        raise ScenarioError(msg)
    texts = []
    for repetition in zip(*rates, strict=True):
        tests = [
            redis_benchmark.Test(**{**row, "requests_per_s": rate}) for row, rate in zip(rows, repetition, strict=True)
        ]
        texts.append(
            redis_benchmark.text(
                tests, version=entry.options.get("version", "2.8"), form=entry.options.get("form", "text")
            )
        )
    yield entry.name, iter([text.encode() for text in texts])


def _results(entries: list[Entry]) -> Iterator[tuple[str, Iterator[bytes]]]:
    first = entries[0]
    labels = tuple(asked(first, "labels"))
    metrics = tuple(results_csv.Metric(row["name"], row.get("unit", "")) for row in asked(first, "metrics"))
    rows = [row for entry in entries for row in _result_rows(entry, labels, metrics)]
    table = results_csv.Results(
        labels,
        metrics,
        tuple(rows),
        benchmark=str(first.options.get("benchmark", "")),
        higher_is_better=first.options.get("higher_is_better"),
    )
    yield first.name, results_csv.lines(table, decimals=first.options.get("decimals"))


def _result_rows(
    entry: Entry, labels: tuple[str, ...], metrics: tuple[results_csv.Metric, ...]
) -> Iterator[results_csv.Row]:
    times = int(entry.options.get("repetitions", 1))
    for number, row in enumerate(asked(entry, "rows")):
        missing = [name for name in (*labels, *(metric.name for metric in metrics)) if name not in row]
        if set(missing) - {"repetition"}:
            msg = f"file {entry.name}: row {number + 1} has no {missing[0]!r}. Add it."
            raise ScenarioError(msg)
        drawn = [_drawn(entry, f"{number}/{metric.name}", row[metric.name], times) for metric in metrics]
        for place in range(times):
            told = {"repetition": place + 1, **row}
            yield results_csv.Row(tuple(str(told[name]) for name in labels), tuple(values[place] for values in drawn))


def _activities(entries: list[Entry]) -> Iterator[tuple[str, Iterator[bytes]]]:
    (entry,) = one_run(entries)
    stretches = [
        results_csv.Activity(str(row["name"]), float(row["seconds"]), round(float(row["volume_mb"]) * 1e6))
        for row in asked(entry, "stretches")
    ]
    table = results_csv.activities(
        Noise(entry.run.seed),
        stretches,
        entry.run.start,
        interval_s=float(entry.options.get("interval_s", 20.0)),
        spread=float(entry.options.get("spread", 0.2)),
        measure=entry.options.get("measure", "bytes"),
    )
    yield entry.name, results_csv.lines(table, decimals=2 if entry.options.get("measure") == "kb_per_s" else None)


INSTRUMENTS: dict[str, Instrument] = {
    "activities": Instrument(frozenset({"interval_s", "measure", "spread", "stretches"}), None, _activities),
    "linpack": Instrument(frozenset({"cores", "ghz", "repetitions", "sizes", "sockets", "threads"}), None, _linpack),
    "netperf": Instrument(
        frozenset({"form", "mbit_per_s", "repetitions", "round_trip_us", "seconds", "test", "to", "version"}),
        None,
        _netperf,
    ),
    "redis_benchmark": Instrument(frozenset({"form", "repetitions", "tests", "version"}), None, _redis),
    "results": Instrument(
        frozenset({"benchmark", "decimals", "higher_is_better", "labels", "metrics", "repetitions", "rows"}),
        None,
        _results,
    ),
    "stream": Instrument(frozenset({"array_elements", "repetitions", "threads", *_KERNELS}), None, _stream),
}
