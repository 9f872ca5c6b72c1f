"""How long tests look for counter-examples: a part of it in `make test`, all of it in `make search`.

`make search` runs what draws its examples (marked `hypothesis`) with all of them, and what is marked `search`: long
searches, whole sweeps, and single tests of seconds for one case more. `make test` leaves those out.
"""

from __future__ import annotations

import os

SEARCHING = os.environ.get("ESXPARSE_SEARCH") == "1"


def examples(count: int) -> int:
    """How many examples to draw where a whole search draws `count`."""
    return count if SEARCHING else max(count // 5, 5)
