"""Imports without what a library looks for and a report never uses: half of what altair and papermill take."""

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
"""What jsonschema checks formats of text with; the schemas of charts and notebooks name none of those."""

_ours = False


def alone() -> None:
    """Says that this process makes reports and nothing else: nobody misses here what was left out."""
    global _ours  # noqa: PLW0603  of the process, as its modules are
    _ours = True


def is_alone() -> bool:
    """Whether that was said."""
    return _ours


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Modules that are imported inside find none of these."""
    absent = [name for name in names if name not in sys.modules]
    # None stands for what is not there.
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]
