"""Reports: a notebook template, run on a capture by papermill, exported as one HTML file.

`report(capture, output="report.html")` does all of it; `templates()` lists the templates. Code of a
template that is neither a metric nor a chart is in a folder of its name here; all share `page` and `blocks`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "Batch": "batch",
    "Parameter": "library",
    "Template": "library",
    "find": "library",
    "report": "run",
    "templates": "library",
}

__all__ = ["Batch", "Parameter", "Template", "find", "report", "templates"]


def __getattr__(name: str) -> Any:
    # Loaded on first use: the command line's help must not wait for Jupyter.
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
