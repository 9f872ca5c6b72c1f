"""Runs of fio made up for the tests of its writers."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import strategies as st

from esxparse_simulator.measured import SHAPES, Access, Distribution, Measured, Side, Worker
from esxparse_simulator.writers.fio import VERSIONS, FioRun

START = datetime(2026, 3, 7, 8, tzinfo=UTC)


def side(iops: float, mean: float, block: int = 4096, shape: str = "disk") -> Side:
    return Side(iops, block, Distribution(mean, shape))


def run(
    *sides: tuple[Side | None, Side | None], seconds: float = 60.0, ramp: float = 5.0, depth: int = 16, **more
) -> FioRun:
    """A run with a job for each pair of sides; by default two jobs of 70 % reads."""
    sides = sides or ((side(7000.0, 1.5), side(3000.0, 1.9)),) * 2
    workers = tuple(Worker("oltp", "guest", "/dev/sdb", read, write) for read, write in sides)
    read, write = sides[0]
    read_pct = 70.0 if read and write else 100.0 if read else 0.0
    block = (read or write).block_bytes
    measured = Measured(Access("oltp", block, read_pct, 100.0, depth), START, ramp, seconds, workers)
    return FioRun(measured, **more)


def _sides():
    return st.builds(
        side,
        st.floats(5.0, 200_000.0),
        st.floats(0.02, 60.0),
        st.sampled_from([512, 4096, 8192, 65536, 1 << 20]),
        st.sampled_from(sorted(SHAPES)),
    )


def runs(*, versions: tuple[str, ...] = VERSIONS, most: int = 3) -> st.SearchStrategy[FioRun]:
    """Runs of any kind: both directions or one, one job or more, asynchronous or not."""
    pairs = st.one_of(st.tuples(_sides(), _sides()), st.tuples(_sides(), st.none()), st.tuples(st.none(), _sides()))
    return st.builds(
        lambda pair, jobs, **more: run(*[pair] * jobs, **more),
        pairs,
        st.integers(1, most),
        seconds=st.floats(0.6, 300.0),
        depth=st.sampled_from([1, 4, 16, 32, 256]),
        version=st.sampled_from(versions),
        seed=st.integers(0, 1 << 32),
        ioengine=st.sampled_from(["libaio", "psync"]),
        group_reporting=st.booleans(),
    )
