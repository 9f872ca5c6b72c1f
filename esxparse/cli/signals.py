"""Signals that end a command early: it cleans up first, and prints just one line."""

from __future__ import annotations

import _thread
import logging
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

_NUMBERS: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_SOON_S: Final = 0.05


class EndedError(KeyboardInterrupt):
    """A signal asked this process to end; it cleans up as after Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.code = 128 + number


def _end(number: int, _: object) -> None:
    # A second one ends the process at once.
    signal.signal(number, signal.SIG_DFL)
    raise EndedError(number)


def _interrupt_again(before: Callable[[Any], object], unraisable: Any) -> None:
    """Interrupt again after a callback was interrupted, as Python only prints that interrupt."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        number = unraisable.exc_value.code - 128 if isinstance(unraisable.exc_value, EndedError) else signal.SIGINT
        if number != signal.SIGINT:
            signal.signal(number, _end)
        again = threading.Timer(_SOON_S, _thread.interrupt_main, (number,))
        again.daemon = True
        again.start()
    else:
        before(unraisable)


@contextmanager
def heeded() -> Iterator[None]:
    """Let SIGTERM, and the end of the terminal, end the block as Ctrl-C does; ignored signals (nohup) stay ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    taken = [number for number in _NUMBERS if signal.getsignal(number) is signal.SIG_DFL]
    hook = sys.unraisablehook
    for number in taken:
        signal.signal(number, _end)
    sys.unraisablehook = partial(_interrupt_again, hook)
    try:
        yield
    except KeyboardInterrupt:
        # Otherwise each of Jupyter's tasks that end with the process would be logged.
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)
        raise
    finally:
        sys.unraisablehook = hook
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
