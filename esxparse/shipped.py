"""The files that travel with the package: templates and datasets.

In the source tree both are at the top, beside `esxparse/`; in an installed wheel they are the data packages
`esxparse.templates` and `esxparse.datasets`. An editable install has only the former.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

from esxparse.errors import EsxparseError

_PACKAGE = Path(__file__).parent


def _find(name: str, sample: str) -> Path:
    places = [_PACKAGE / name, _PACKAGE.parent / name]
    for place in places:
        if any(place.glob(sample)):
            return place
    where = " or ".join(str(place) for place in places)
    raise EsxparseError(f"the {name} shipped with esxparse are missing from {where}: reinstall esxparse")


def templates_dir() -> Path:
    """Return the directory of the report templates (`*.ipynb`)."""
    return _find("templates", "*.ipynb")


def datasets_dir() -> Path:
    """Return the directory of the bundled recordings, one folder for each."""
    return _find("datasets", "*/README.md")


def is_checkout() -> bool:
    """Return whether this is a source tree (or an editable install of one), and not an installed wheel."""
    return not (_PACKAGE / "datasets").is_dir()


def simulator() -> ModuleType:
    """Return the package `esxparse_simulator`.

    Raises:
        EsxparseError: It is not installed.
    """
    try:
        return import_module("esxparse_simulator")
    except ModuleNotFoundError as error:
        if error.name != "esxparse_simulator":
            raise
        msg = "the simulator is not installed: run `pip install ./simulator` in an esxparse checkout"
        raise EsxparseError(msg) from None
