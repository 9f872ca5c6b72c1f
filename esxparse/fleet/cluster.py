"""Work on many items as tasks of a Dask cluster: a few for each thread in flight, tried again if a worker dies."""

from __future__ import annotations

import asyncio
import logging
import pickle
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final
from uuid import uuid4

from esxparse.errors import EsxparseError
from esxparse.fleet.tasks import Done, error_text, own
from esxparse.version import __version__

_PATIENCE_S: Final = 10
_ALONE: Final = 3
"""How many times in a row a cluster may be without workers, at this interval: a nanny replaces dead ones."""
_AHEAD: Final = 2
"""Tasks in flight for each thread of the workers: one running, and one to follow."""


def _client(address: str) -> Any:
    try:
        from distributed import Client  # noqa: PLC0415  an extra
    except ImportError:
        raise EsxparseError('a cluster needs dask and distributed: pip install "esxparse[fleet]"') from None
    # We report a missing scheduler, in one line; the client has a level of its own.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        _reached(address)
        return Client(address, timeout=_PATIENCE_S, set_as_default=False)  # type: ignore[no-untyped-call]
    except TypeError:
        # Dask raises this without certificates for `tls://`.
        keys = "distributed.comm.tls.ca-file, client.cert and client.key"
        raise EsxparseError(f"{address} asks for certificates: name them in the settings of Dask ({keys})") from None
    except (OSError, ValueError, TimeoutError) as error:
        raise EsxparseError(f"no Dask scheduler answers at {address}: {error_text(error)}") from None


def _reached(address: str) -> None:
    """Ask a scheduler for its identity, once.

    The client's own patience ends only if nobody listens: it waits forever for a port that accepts the connection but
    never answers.
    """
    from distributed import Security, rpc  # noqa: PLC0415

    async def identify() -> None:
        # For `tls://`, the certificates in Dask's settings.
        known = Security().get_connection_args("client")  # type: ignore[no-untyped-call]
        async with rpc(address, timeout=_PATIENCE_S, connection_args=known) as scheduler:  # type: ignore[no-untyped-call]
            await asyncio.wait_for(scheduler.identity(), _PATIENCE_S)

    # A notebook's own thread already has a loop.
    with ThreadPoolExecutor(1) as other:
        other.submit(asyncio.run, identify()).result()


class BrokenError(Exception):
    """An error that is not the item's own, in one line: the original exception might not travel."""


def _attempt(work: Callable[[Any], Any], place: int, item: Any) -> Done:
    """Do the work; raise errors that are not the item's own, so that Dask tries again."""
    try:
        done = own(work, place, item)
        pickle.dumps(done)
    except (Exception, SystemExit) as error:  # noqa: BLE001  SystemExit would end the worker
        why = error_text(error)
    else:
        return done
    # Raised outside the handler: otherwise the first error would travel along.
    raise BrokenError(why)


def _why(error: BaseException) -> str:
    """Return why an item has no result, in one line."""
    from distributed import KilledWorker  # noqa: PLC0415

    if isinstance(error, KilledWorker):
        return f"its worker was killed {error.allowed_failures + 1} times, perhaps for lack of memory"
    return str(error) if isinstance(error, BrokenError) else error_text(error)


def _work_name(work: Callable[[Any], Any]) -> str:
    """Return a new task's key; Dask's panels show the part before the dash for all tasks of this work."""
    return f"{work.__module__.rpartition('.')[2]}.{work.__name__.strip('_')}-{uuid4().hex}"


def _next(client: Any, flying: dict[Any, int], address: str) -> list[Any]:
    """Return futures that have ended, at least one; raise an error if no worker is left."""
    from distributed import wait  # noqa: PLC0415

    alone = 0
    while alone < _ALONE:
        try:
            with client.as_current():
                ended = wait(list(flying), timeout=_PATIENCE_S, return_when="FIRST_COMPLETED")  # type: ignore[no-untyped-call]
            return list(ended.done)
        except TimeoutError:
            alone = 0 if client.ncores() else alone + 1
    what = f"the Dask cluster at {address} has had no worker for {_ALONE * _PATIENCE_S} s"
    raise EsxparseError(f"{what}: start some and run it again, what is done is kept")


def _version() -> str:
    return __version__


def _threads(client: Any, address: str) -> int:
    """Return the threads of all workers; workers and scheduler must have this version of esxparse."""
    there = client.ncores()
    if not there:
        raise EsxparseError(f"the Dask scheduler at {address} has no workers: start some with dask worker {address}")
    answers = client.run(_version, on_error="return")
    # An import error on a worker comes back as text.
    if any(ModuleNotFoundError.__name__ in repr(one) for one in answers.values()):
        raise EsxparseError(f"workers of {address} have no esxparse: start them where esxparse[fleet] is installed")
    other = {str(one) for one in answers.values()} - {__version__}
    if other:
        raise EsxparseError(f"workers of {address} have esxparse {', '.join(sorted(other))}, not {__version__}")
    try:
        scheduler = client.run_on_scheduler(_version)
    except ModuleNotFoundError:
        scheduler = None
    if scheduler != __version__:
        has = f"esxparse {scheduler}, not {__version__}" if scheduler else "no esxparse"
        raise EsxparseError(f"the scheduler at {address} has {has}: start it where esxparse[fleet] is installed")
    return sum(there.values())


def run(work: Callable[[Any], Any], items: Sequence[Any], address: str, retries: int) -> Generator[Done]:
    """Yield the result for each item.

    Raises:
        EsxparseError: The cluster cannot be reached, is lost, or has another version of esxparse.
    """
    from concurrent.futures import CancelledError  # noqa: PLC0415

    client = _client(address)
    places = iter(range(len(items)))
    left = len(items)
    try:
        flying: dict[Any, int] = {}

        def submit() -> None:
            place = next(places, None)
            if place is not None:
                future = client.submit(_attempt, work, place, items[place], key=_work_name(work), retries=retries)
                flying[future] = place

        for _ in range(_AHEAD * _threads(client, address)):
            submit()
        while flying:
            for future in _next(client, flying, address):
                place = flying.pop(future)
                error = future.exception()
                done = Done(place, why=_why(error)) if error else future.result()
                left -= 1
                future.release()
                submit()
                yield done
    except (CancelledError, OSError, TimeoutError) as error:
        what = f"the Dask cluster at {address} was lost before {left} of {len(items)} items were done"
        raise EsxparseError(f"{what}: run it again, what is done is kept") from error
    finally:
        client.close(timeout=_PATIENCE_S)
