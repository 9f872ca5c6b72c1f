"""Work on many items as tasks of a Dask cluster: a few for each thread in flight, tried again where a worker dies."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Sequence
from typing import Any, Final

from esxparse.errors import EsxparseError
from esxparse.fleet.tasks import Done, own, said
from esxparse.version import __version__

_PATIENCE_S: Final = 10
_AHEAD: Final = 2
"""Tasks in flight for each thread of the workers: one in work, and one to go on with."""


def _client(address: str) -> Any:
    try:
        from distributed import Client  # noqa: PLC0415  an extra
    except ImportError:
        raise EsxparseError('a cluster needs dask and distributed: pip install "esxparse[fleet]"') from None
    # That a scheduler is gone is said here, in one line; the client has a level of its own.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        return Client(address, timeout=_PATIENCE_S, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TimeoutError) as error:
        raise EsxparseError(f"no Dask scheduler answers at {address}: {said(error)}") from None


def _version() -> str:
    return __version__


def _threads(client: Any, address: str) -> int:
    """Threads of all workers, which have to have this version of esxparse."""
    there = client.ncores()
    if not there:
        raise EsxparseError(f"the Dask scheduler at {address} has no workers: start some with dask worker {address}")
    answers = client.run(_version, on_error="return")
    other = {str(one) for one in answers.values()} - {__version__}
    if other:
        raise EsxparseError(f"workers of {address} have esxparse {', '.join(sorted(other))}, not {__version__}")
    return sum(there.values())


def run(work: Callable[[Any], Any], items: Sequence[Any], address: str, retries: int) -> Generator[Done]:
    """What came of each item.

    Raises:
        EsxparseError: The cluster cannot be reached, is lost, or has another version of esxparse.
    """
    from concurrent.futures import CancelledError  # noqa: PLC0415

    client = _client(address)
    places = iter(range(len(items)))
    left = len(items)
    try:
        from distributed import as_completed  # noqa: PLC0415

        flying: Any = as_completed(loop=client.loop)  # type: ignore[no-untyped-call]
        of: dict[str, int] = {}

        def submit() -> None:
            place = next(places, None)
            if place is not None:
                future = client.submit(own, work, place, items[place], retries=retries, pure=False)
                of[future.key] = place
                flying.add(future)

        for _ in range(_AHEAD * _threads(client, address)):
            submit()
        for future in flying:
            place = of.pop(future.key)
            if future.cancelled():
                raise CancelledError  # noqa: TRY301  as a lost connection is raised
            done = Done(place, why=said(future.exception())) if future.exception() else future.result()
            left -= 1
            future.release()
            submit()
            yield done
    except (CancelledError, OSError, TimeoutError) as error:
        what = f"the Dask cluster at {address} was lost before {left} of {len(items)} items were done"
        raise EsxparseError(f"{what}: run it again, what is done is kept") from error
    finally:
        client.close(timeout=_PATIENCE_S)
