"""An endpoint of a Jupyter server, called before a file is opened: can esxparse read it?

The extension of JupyterLab (`labextension/`) calls it. The beginning of the file decides, and no content is sent.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jupyter_core.utils import ensure_async
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from jupyter_server.services.contents.fileio import FileManagerMixin
from jupyter_server.utils import url_path_join
from tornado import web

from esxparse.errors import EsxparseError

if TYPE_CHECKING:
    from jupyter_server.serverapp import ServerApp


def kind(path: Path) -> Literal["recording", "study"] | None:
    """Return the kind of a file: a recording, a study, or None if esxparse does not read it."""
    # Imports polars and the readers: not when the server starts.
    from esxparse.formats.registry import recognised  # noqa: PLC0415
    from esxparse.studies.study_file import SUFFIX, is_manifest  # noqa: PLC0415

    if not path.is_file():
        return None
    try:
        if path.suffix == SUFFIX:
            return "study" if is_manifest(path) else None
        return "recording" if recognised(path) else None
    except EsxparseError:
        return None


class Kind(APIHandler):
    """`GET esxparse/kind?path=...`, a path as the contents API has it: `{"kind": "recording"}`."""

    auth_resource = "contents"

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Answer for a file that the contents API shows: inside the server's root, and not hidden."""
        path, manager = self.get_query_argument("path"), self.contents_manager
        found = None
        if isinstance(manager, FileManagerMixin):
            hidden = not manager.allow_hidden and await ensure_async(manager.is_hidden(path))  # type: ignore[no-untyped-call]
            # Raises 404 for paths outside the root.
            place = Path(manager._get_os_path(path))  # type: ignore[no-untyped-call]  # noqa: SLF001
            found = None if hidden else await asyncio.to_thread(kind, place)
        self.finish({"kind": found})


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(server: ServerApp) -> None:
    address = url_path_join(server.web_app.settings["base_url"], "esxparse", "kind")
    server.web_app.add_handlers(".*$", [(address, Kind)])  # type: ignore[no-untyped-call]
