"""esxparse reads esxtop batch captures and computes the figures of VMware performance work.

>>> import esxparse as ex
>>> rec = ex.open(ex.datasets_dir() / "busy-host" / "busy-host.csv")
>>> rec.format, len(rec.meta["vms"])
('esxtop', 8)

`__init__.pyi` lists every public name; each is loaded on first use, so the import itself costs little.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

from esxparse import attached as _attached  # noqa: F401  (gives recordings their methods)
from esxparse.version import __version__ as __version__


def _listed() -> dict[str, tuple[str, str]]:
    """Return the module of each public name, and its name in the module."""
    tree = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    return {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


_NAMES = _listed()
# Without the simulator, which is optional: `from esxparse import *` has to work.
__all__ = list(_NAMES)


def __getattr__(name: str) -> Any:
    if name == "simulate":
        from esxparse.shipped import simulator  # noqa: PLC0415

        return simulator()
    if name not in _NAMES:
        raise AttributeError(_missing(name))
    module, own = _NAMES[name]
    value = import_module(f"{module}.{own}") if module == __name__ else getattr(import_module(module), own)
    globals()[name] = value
    return value


def _missing(name: str) -> str:
    """Return the error for an unknown name; notebooks ask for many private ones."""
    what = f"module 'esxparse' has no attribute {name!r}"
    if name.startswith("_"):
        return what
    from esxparse.errors import did_you_mean  # noqa: PLC0415

    return f"{what}; {did_you_mean(name, __all__)}".rstrip("; ")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
