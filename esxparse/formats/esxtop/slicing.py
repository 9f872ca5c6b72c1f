r"""A part of a capture, written as a smaller capture: the columns and samples asked for, text as it stands.

Which columns are wanted is found from the header alone; then lines pass through one at a time, so that memory does not
grow with the file. Of a row only the places of its quotes are looked at, all at once; numbers are never parsed. What
the reader leaves out of a capture is left out here by the same rules, and a broken cell (the bare A/MPERF of ESXi 6.5,
cells saved without quotes) is written as esxtop writes all others, so that any program that reads captures reads it.
"""

from __future__ import annotations

import difflib
import io
import os
import re
import stat
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import polars as pl

from esxparse.counters.catalogue import UnknownCounterError, counter
from esxparse.counters.naming import column_name, table_name
from esxparse.errors import DamagedError, EsxparseError, UnknownFormatError, UnreadableError
from esxparse.formats.esxtop import header, instances, layout, times
from esxparse.formats.esxtop.scan_twin import _bare_cell, _quoted_cell, decimal
from esxparse.recording import Note
from esxparse.worlds import VCPU_WORLD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from esxparse.formats.esxtop.header import Header
    from esxparse.formats.esxtop.layout import Layout, TableShape

    Integers = NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Parts = Mapping[str, pl.DataFrame]

HOST_TABLES = ("memory", "physical_cpu_load", "physical_cpu", "numa_node", "power", "vsan")
"""What `keep_host` keeps: the tables about the host as a whole."""
