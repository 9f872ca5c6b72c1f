"""Imports without optional dependencies that a report never uses: halves the import time of altair and papermill."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

FORMATS: Final = (
    "fqdn",
    "isoduration",
    "jsonpointer",
    "rfc3339_validator",
    "rfc3986_validator",
    "uri_template",
    "webcolors",
)
"""Modules with which jsonschema checks formats of text; the schemas of charts and notebooks use none of them."""

_ours = False


def alone() -> None:
    """Declare that this process only makes reports: nobody misses the modules left out here."""
    global _ours  # noqa: PLW0603  of the process, as its modules are
    _ours = True


def is_alone() -> bool:
    """Return whether `alone` was called."""
    return _ours


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Hide these modules from imports inside the context."""
    absent = [name for name in names if name not in sys.modules]
    # None marks a module as missing.
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]
