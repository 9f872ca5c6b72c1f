"""Work on many items as tasks of a Dask cluster: a few for each thread in flight, tried again where a worker dies."""

from __future__ import annotations

import asyncio
import logging
import pickle
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final
from uuid import uuid4

from esxparse.errors import EsxparseError
from esxparse.fleet.tasks import Done, own, said
from esxparse.version import __version__

_PATIENCE_S: Final = 10
_ALONE: Final = 3
"""How often in a row, that long apart, a cluster may be without workers: a nanny starts others in place of the dead."""
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
        _reached(address)
        return Client(address, timeout=_PATIENCE_S, set_as_default=False)  # type: ignore[no-untyped-call]
    except TypeError:
        # What Dask raises where it has no certificates for `tls://`.
        keys = "distributed.comm.tls.ca-file, client.cert and client.key"
        raise EsxparseError(f"{address} asks for certificates: name them in the settings of Dask ({keys})") from None
    except (OSError, ValueError, TimeoutError) as error:
        raise EsxparseError(f"no Dask scheduler answers at {address}: {said(error)}") from None


def _reached(address: str) -> None:
    """Asks a scheduler who it is, once.

    The client's own patience has an end only where nobody listens: a port that takes the call and says nothing it
    asks for ever.
    """
    from distributed import Security, rpc  # noqa: PLC0415

    async def asked() -> None:
        # For `tls://` the certificates of Dask's settings.
        known = Security().get_connection_args("client")  # type: ignore[no-untyped-call]
        async with rpc(address, timeout=_PATIENCE_S, connection_args=known) as scheduler:  # type: ignore[no-untyped-call]
            await asyncio.wait_for(scheduler.identity(), _PATIENCE_S)

    # A notebook's own thread has a loop already.
    with ThreadPoolExecutor(1) as other:
        other.submit(asyncio.run, asked()).result()


class BrokenError(Exception):
    """An error of an item that is not its own, in one line: as itself it might not travel."""


def _attempt(work: Callable[[Any], Any], place: int, item: Any) -> Done:
    """Does the work; what is not the item's own error is raised, so that Dask tries again."""
    try:
        done = own(work, place, item)
        pickle.dumps(done)
    except (Exception, SystemExit) as error:  # noqa: BLE001  SystemExit would end the worker
        why = said(error)
    else:
        return done
    # Not where it was caught: the first error would travel along.
    raise BrokenError(why)


def _why(error: BaseException) -> str:
    """Why an item has no result, in one line."""
    from distributed import KilledWorker  # noqa: PLC0415

    if isinstance(error, KilledWorker):
        return f"its worker was killed {error.allowed_failures + 1} times, perhaps for lack of memory"
    return str(error) if isinstance(error, BrokenError) else said(error)


def _named(work: Callable[[Any], Any]) -> str:
    """A new task's key; what is before the dash is how Dask's panels call all tasks of this work."""
    return f"{work.__module__.rpartition('.')[2]}.{work.__name__.strip('_')}-{uuid4().hex}"


def _next(client: Any, flying: dict[Any, int], address: str) -> list[Any]:
    """Futures that have ended, at least one; an error if no worker is left to end any."""
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
    """Threads of all workers, which have to have this version of esxparse, as the scheduler does."""
    there = client.ncores()
    if not there:
        raise EsxparseError(f"the Dask scheduler at {address} has no workers: start some with dask worker {address}")
    answers = client.run(_version, on_error="return")
    # What cannot be loaded there comes back as the text of an error.
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
    """What came of each item.

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
                future = client.submit(_attempt, work, place, items[place], key=_named(work), retries=retries)
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
