# Compiled functions. `esxparse.formats.esxtop.scan_twin` says what `count_lines` and `scan` promise,
# `esxparse.formats.fio.integers_twin` what the others do.
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from esxparse.formats.fio.integers_twin import Column

def count_lines(data: bytes | bytearray | memoryview, least: int) -> tuple[int, int]: ...
def scan(
    data: bytes | bytearray | memoryview,
    first: NDArray[np.int64],
    step: NDArray[np.int64],
    out: NDArray[np.float64],
    least: int,
    count: bool,
) -> tuple[bytes, bytes, bytes, bytes, bytes, bytes, bool]: ...
def number_of_lines(data: bytes | bytearray | memoryview) -> int: ...
def take_bins(json: bytes | memoryview) -> tuple[bytes, bytes, bytes, bytes] | None: ...
def read_integers(data: bytes | bytearray | memoryview, columns: Sequence[Column]) -> tuple[int, bytes, int]: ...
