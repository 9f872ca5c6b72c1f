"""Recordings as Parquet: `convert` writes them, `esxparse.open` reads them back.

    DIR/<recording>/<table>.parquet    one file per table, zstd, the rows of one instance together and in time order
    DIR/<recording>/recording.json     provenance, facts and notes (`esxparse.formats.manifest`)

A counter's column has its `unit`, esxtop's name (`counter`) and the name on the screen (`screen`) in its metadata.
"""

from __future__ import annotations

from esxparse.lakes.conversion import Converted, convert
from esxparse.lakes.entries import is_lake
from esxparse.lakes.query import Lake, lake

__all__ = ["Converted", "Lake", "convert", "is_lake", "lake"]
