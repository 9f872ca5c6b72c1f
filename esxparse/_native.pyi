# The compiled byte scanner: `esxparse.formats.esxtop.scan_twin` says what its functions promise.
import numpy as np
from numpy.typing import NDArray

def count_lines(data: bytes | bytearray | memoryview, least: int) -> tuple[int, int]: ...
def scan(
    data: bytes | bytearray | memoryview,
    first: NDArray[np.int64],
    step: NDArray[np.int64],
    out: NDArray[np.float64],
    least: int,
    count: bool,
) -> tuple[bytes, bytes]: ...
