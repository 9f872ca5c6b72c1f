"""netperf 2.4 and 2.6: the classic tables of TCP_STREAM, TCP_MAERTS, UDP_STREAM and TCP_RR, and omni CSV and key=value.

Evidence: the `printf` formats of nettest_bsd.c (2.4 and the ones that 2.5 and later call "migrated"), netlib.c
(`calc_thruput`: 10**6 bits are decimal), `print_omni_csv` and `print_omni_keyword` of nettest_omni.c, and captured
outputs. A file may hold several runs, one after another, as a shell loop appends them.

What follows from what is passed in: messages of UDP_STREAM = throughput x time / message; service demand = CPUs in use
x time / work (us per KB of 1024 bytes, or per transaction; netperf's `calc_service_demand`); the mean latency of a
request/response test = 1 / rate, one transaction being on its way.

Assumptions: the elapsed time is what was asked for (real ones differ in the second decimal); percentiles of latency are
those of a shape of `distribution.SHAPES`; the confidence was not asked for; the service demand of UDP_STREAM is for the
KB that arrived, on both sides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from esxparse.errors import EsxparseError
from esxparse_simulator.distribution import Distribution
from esxparse_simulator.writers.repetitions import needs, repeated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from esxparse_simulator.model.noise import Noise

__all__ = ["Cpu", "Form", "RequestResponse", "Stream", "UdpStream", "Version", "per_second", "runs", "text"]

Version = Literal["2.4", "2.6"]
Form = Literal["classic", "csv", "keyval"]
OMNI_LATENCIES: Final = ("MIN_LATENCY", "P50_LATENCY", "P90_LATENCY", "P99_LATENCY", "MAX_LATENCY")
_UNIT: Final = "10^6bits"


@dataclass(frozen=True, slots=True)
class Cpu:
    """What a machine used of its processors in the test (`-c`, `-C`): percent of all, and how many there are."""

    used_pct: float
    processors: int = 2


@dataclass(frozen=True, slots=True)
class Stream:
    """A run of TCP_STREAM, or of TCP_MAERTS (the other way), Mbit/s; socket sizes are the receiver's and sender's."""

    mbit_per_s: float
    seconds: float = 10.0
    message_bytes: int = 16384
    receive_socket_bytes: int = 87380
    send_socket_bytes: int = 16384
    local: Cpu | None = None
    remote: Cpu | None = None
    test: Literal["TCP_STREAM", "TCP_MAERTS"] = "TCP_STREAM"


@dataclass(frozen=True, slots=True)
class UdpStream:
    """A run of UDP_STREAM: what was sent and what arrived, Mbit/s."""

    mbit_per_s: float
    received_mbit_per_s: float
    seconds: float = 10.0
    message_bytes: int = 1472
    send_socket_bytes: int = 212992
    receive_socket_bytes: int = 212992
    errors: int = 0
    local: Cpu | None = None
    remote: Cpu | None = None
    test: Literal["UDP_STREAM"] = "UDP_STREAM"


@dataclass(frozen=True, slots=True)
class RequestResponse:
    """A run of TCP_RR, one transaction at a time: transactions per second (`per_second` of a round trip)."""

    per_s: float
    seconds: float = 10.0
    request_bytes: int = 1
    response_bytes: int = 1
    send_socket_bytes: int = 16384
    receive_socket_bytes: int = 87380
    local: Cpu | None = None
    remote: Cpu | None = None
    shape: str = "cached"
    test: Literal["TCP_RR", "UDP_RR"] = "TCP_RR"

    @property
    def round_trip_us(self) -> float:
        """The mean round trip, microseconds."""
        return 1e6 / self.per_s


Run = Stream | UdpStream | RequestResponse
_BANNERS: Final = {
    "TCP_STREAM": "TCP STREAM",
    "TCP_MAERTS": "TCP MAERTS",
    "UDP_STREAM": "UDP STREAM",
    "TCP_RR": "TCP REQUEST/RESPONSE",
    "UDP_RR": "UDP REQUEST/RESPONSE",
}


def per_second(round_trip_us: float) -> float:
    """Transactions per second of a mean round trip in microseconds.

    >>> per_second(40.0)
    25000.0
    """
    return 1e6 / needs("the round trip in microseconds", round_trip_us)


def runs(noise: Noise, label: str, mean: Stream | RequestResponse, spread: float, repetitions: int) -> tuple[Run, ...]:
    """So many runs around one (`spread` is relative): the mean of the rates is its, of a round trip the mean time."""
    if isinstance(mean, Stream):
        rates = repeated(noise, label, mean.mbit_per_s, spread, repetitions)
        return tuple(replace(mean, mbit_per_s=rate) for rate in rates)
    trips = repeated(noise, label, mean.round_trip_us, spread, repetitions)
    return tuple(replace(mean, per_s=per_second(trip)) for trip in trips)


def _rate(run: Run) -> float:
    return run.per_s if isinstance(run, RequestResponse) else run.mbit_per_s


def _check(run: Run) -> None:
    if run.test not in _BANNERS:
        msg = f"{run.test!r} is no test that is written here: choose one of {', '.join(_BANNERS)}"
        raise EsxparseError(msg)
    needs(f"the rate of {run.test}", _rate(run))
    needs(f"the seconds of {run.test}", run.seconds)
    if isinstance(run, RequestResponse):
        needs("the request in bytes", run.request_bytes)
        needs("the response in bytes", run.response_bytes)
    else:
        needs("the message in bytes", run.message_bytes)
    if isinstance(run, UdpStream) and not 0.0 <= run.received_mbit_per_s <= run.mbit_per_s:
        msg = f"of {run.mbit_per_s:g} Mbit/s {run.received_mbit_per_s!r} cannot arrive: give 0 up to what was sent"
        raise EsxparseError(msg)
    for cpu in (run.local, run.remote):
        if cpu is not None and not (0.0 <= cpu.used_pct <= 100.0 and cpu.processors > 0):  # noqa: PLR2004  percent
            msg = f"{cpu.used_pct!r} % of {cpu.processors} processors is no use of a CPU: give 0 to 100 % of 1 or more"
            raise EsxparseError(msg)


def _banner(run: Run, to: str, version: Version) -> str:
    if version == "2.4":
        start, address, options = "", f"{to} ({to})", ""
    else:
        start, address, options = "MIGRATED ", f"{to} ()", " : demo"
    options += " : first burst 0" if isinstance(run, RequestResponse) else ""
    return (
        f"{start}{_BANNERS[run.test]} TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to {address} port 0 AF_INET{options}\n"
    )


def _demand(cpu: Cpu | None, run: Run, rate: float) -> float:
    """Microseconds of CPU for a KB or a transaction; -1 where it was not measured."""
    if cpu is None:
        return -1.0
    work = rate if isinstance(run, RequestResponse) else rate * 1e6 / 8.0 / 1024.0
    return cpu.used_pct / 100.0 * cpu.processors * 1e6 / work if work else 0.0


def _used(cpu: Cpu | None) -> float:
    return -1.0 if cpu is None else cpu.used_pct


def _measured(run: Run) -> bool:
    return run.local is not None or run.remote is not None


def _method(cpu: Cpu | None) -> str:
    """How the CPU was measured: S by /proc/stat, U not at all."""
    return "U" if cpu is None else "S"


def _stream(run: Stream) -> str:
    sizes = f"{run.receive_socket_bytes:6d} {run.send_socket_bytes:6d} {run.message_bytes:6d}    {run.seconds:<6.2f}"
    if not _measured(run):
        titles = (
            "Recv   Send    Send                          \nSocket Socket  Message  Elapsed              \n"
            f"Size   Size    Size     Time     Throughput  \nbytes  bytes   bytes    secs.    {_UNIT}/sec  \n\n"
        )
        return f"{titles}{sizes}   {run.mbit_per_s:7.2f}   \n"
    titles = (
        "Recv   Send    Send                          Utilization       Service Demand\n"
        "Socket Socket  Message  Elapsed              Send     Recv     Send    Recv\n"
        "Size   Size    Size     Time     Throughput  local    remote   local   remote\n"
        f"bytes  bytes   bytes    secs.    {_UNIT:<8.8}/s  % {_method(run.local)}      % {_method(run.remote)}"
        "      us/KB   us/KB\n\n"
    )
    local, remote = (_demand(cpu, run, run.mbit_per_s) for cpu in (run.local, run.remote))
    cpu = f"{_used(run.local):<6.2f}   {_used(run.remote):<6.2f}   {local:<6.3f}  {remote:<6.3f}"
    return f"{titles}{sizes}     {run.mbit_per_s:7.2f}   {cpu} \n"


def _udp(run: UdpStream) -> str:
    sent, received = (
        round(rate * 1e6 / 8.0 * run.seconds / run.message_bytes) for rate in (run.mbit_per_s, run.received_mbit_per_s)
    )
    here = f"{run.send_socket_bytes:6d}  {run.message_bytes:6d}   {run.seconds:<7.2f}   {sent:7d} {run.errors:6d}    "
    there = f"{run.receive_socket_bytes:6d}           {run.seconds:<7.2f}   {received:7d}           "
    if not _measured(run):
        return (
            "Socket  Message  Elapsed      Messages                \nSize    Size     Time         Okay Errors   "
            f"Throughput\nbytes   bytes    secs            #      #   {_UNIT}/sec\n\n"
            f"{here}{run.mbit_per_s:7.2f}\n{there}{run.received_mbit_per_s:7.2f}\n\n"
        )
    titles = (
        "Socket  Message  Elapsed      Messages                   CPU      Service\n"
        "Size    Size     Time         Okay Errors   Throughput   Util     Demand\n"
        f"bytes   bytes    secs            #      #   {_UNIT}/sec % {_method(run.local)}{_method(run.remote)}"
        "     us/KB\n\n"
    )
    local = f"{_used(run.local):<6.2f}   {_demand(run.local, run, run.received_mbit_per_s):<6.3f}"
    remote = f"{_used(run.remote):<6.2f}   {_demand(run.remote, run, run.received_mbit_per_s):<6.3f}"
    return f"{titles}{here}{run.mbit_per_s:7.1f}     {local}\n{there}{run.received_mbit_per_s:7.1f}     {remote}\n\n"


def _request_response(run: RequestResponse) -> str:
    sockets = f"{run.send_socket_bytes:<6d} {run.receive_socket_bytes:<6d}"
    if not _measured(run):
        titles = (
            "Local /Remote\nSocket Size   Request  Resp.   Elapsed  Trans.\n"
            "Send   Recv   Size     Size    Time     Rate         \n"
            "bytes  Bytes  bytes    bytes   secs.    per sec   \n\n"
        )
        sizes = f"{run.request_bytes:<6d}   {run.response_bytes:<6d}  {run.seconds:<6.2f}"
        return f"{titles}{sockets} {sizes}   {run.per_s:7.2f}   \n{sockets}\n"
    titles = (
        "Local /Remote\nSocket Size   Request Resp.  Elapsed Trans.   CPU    CPU    S.dem   S.dem\n"
        "Send   Recv   Size    Size   Time    Rate     local  remote local   remote\n"
        f"bytes  bytes  bytes   bytes  secs.   per sec  % {_method(run.local)}    % {_method(run.remote)}"
        "    us/Tr   us/Tr\n\n"
    )
    local, remote = (_demand(cpu, run, run.per_s) for cpu in (run.local, run.remote))
    sizes = f"{run.request_bytes:<6d}  {run.response_bytes:<6d} {run.seconds:<6.2f}"
    cpu = f"{_used(run.local):<6.2f} {_used(run.remote):<6.2f} {local:<6.3f}  {remote:<6.3f}"
    return f"{titles}{sockets} {sizes}  {run.per_s:<6.2f}  {cpu} \n{sockets}\n"


def _classic(run: Run) -> str:
    if isinstance(run, RequestResponse):
        return _request_response(run)
    return _udp(run) if isinstance(run, UdpStream) else _stream(run)


_OMNI: Final = {
    "THROUGHPUT": "Throughput",
    "THROUGHPUT_UNITS": "Throughput Units",
    "ELAPSED_TIME": "Elapsed Time (sec)",
    "PROTOCOL": "Protocol",
    "REQUEST_SIZE": "Request Size Bytes",
    "RESPONSE_SIZE": "Response Size Bytes",
    "LOCAL_SEND_SIZE": "Local Send Size",
    "MEAN_LATENCY": "Mean Latency Microseconds",
    "STDDEV_LATENCY": "Stddev Latency Microseconds",
    "MIN_LATENCY": "Minimum Latency Microseconds",
    "P50_LATENCY": "50th Percentile Latency Microseconds",
    "P90_LATENCY": "90th Percentile Latency Microseconds",
    "P99_LATENCY": "99th Percentile Latency Microseconds",
    "MAX_LATENCY": "Maximum Latency Microseconds",
    "LOCAL_CPU_UTIL": "Local CPU Util %",
    "REMOTE_CPU_UTIL": "Remote CPU Util %",
    "LOCAL_SD": "Local Service Demand",
    "REMOTE_SD": "Remote Service Demand",
    "SD_UNITS": "Service Demand Units",
}
"""Output selectors of `-o` and `-k`, to their titles in CSV."""


def _omni(run: Run) -> Iterator[tuple[str, str]]:
    """Selectors and values, in the order in which they were asked for."""
    rate = _rate(run)
    yield "THROUGHPUT", f"{rate:.2f}"
    yield "THROUGHPUT_UNITS", "Trans/s" if isinstance(run, RequestResponse) else f"{_UNIT}/s"
    yield "ELAPSED_TIME", f"{run.seconds:.2f}"
    yield "PROTOCOL", run.test[:3]
    if isinstance(run, RequestResponse):
        yield "REQUEST_SIZE", str(run.request_bytes)
        yield "RESPONSE_SIZE", str(run.response_bytes)
        trip = Distribution(run.round_trip_us, run.shape)
        yield "MEAN_LATENCY", f"{trip.mean:.2f}"
        yield "STDDEV_LATENCY", f"{trip.stddev:.2f}"
        for name, part in zip(OMNI_LATENCIES, (0.0, 0.5, 0.9, 0.99, 1.0), strict=True):
            yield name, str(int(trip.quantile(part)))
    else:
        yield "LOCAL_SEND_SIZE", str(run.message_bytes)
    if _measured(run):
        yield "LOCAL_CPU_UTIL", f"{_used(run.local):.2f}"
        yield "REMOTE_CPU_UTIL", f"{_used(run.remote):.2f}"
        yield "LOCAL_SD", f"{_demand(run.local, run, rate):.3f}"
        yield "REMOTE_SD", f"{_demand(run.remote, run, rate):.3f}"
        yield "SD_UNITS", "usec/Tran" if isinstance(run, RequestResponse) else "usec/KB"


def _written(run: Run, form: Form) -> str:
    if form == "classic":
        return _classic(run)
    fields = tuple(_omni(run))
    if form == "keyval":
        return "".join(f"{name}={value}\n" for name, value in fields)
    return ",".join(_OMNI[name] for name, _ in fields) + "\n" + ",".join(value for _, value in fields) + "\n"


def text(runs: Sequence[Run], to: str = "192.0.2.20", version: Version = "2.6", form: Form = "classic") -> str:
    """What netperf prints of these runs against the host `to`, one after another.

    Raises:
        EsxparseError: There is no run, one makes no sense, or version and form do not go together.
    """
    known = {("2.4", "classic"), *(("2.6", one) for one in ("classic", "csv", "keyval"))}
    if (version, form) not in known:
        msg = f"netperf {version!r} {form!r} is not written: 2.4 is classic, 2.6 is classic, csv or keyval"
        raise EsxparseError(msg)
    if not runs:
        msg = "there is no run of netperf to write: give at least one"
        raise EsxparseError(msg)
    if not to or any(character.isspace() for character in to):
        msg = f"{to!r} is no address of a host: give one without blanks"
        raise EsxparseError(msg)
    for run in runs:
        _check(run)
    return "".join(_banner(run, to, version) + _written(run, form) for run in runs)
