"""The rule that turns esxtop's names into names of tables and columns.

Lower case; `%` becomes `pct`; `?` goes; `/` becomes `per`; every other run of characters that are neither letters nor
digits becomes one `_`; none at either end. Letters of every script stay, so a name in them stays readable. No catalogue
is needed: an unknown counter gets its column by the same rule.
"""

from __future__ import annotations

import re

_SEPARATORS = re.compile(r"[\W_]+")
# Each is a word of its own: `%C-State C0` is `pct_c_state_c0`, not `pctc_state_c0`.
_WORDS = str.maketrans({"%": " pct ", "/": " per ", "?": None})


def _snake_case(text: str) -> str:
    return _SEPARATORS.sub("_", text.lower().translate(_WORDS)).strip("_")


def column_name(batch: str) -> str:
    """Return the name of the column that holds a counter, from the counter's name in a batch capture.

    Never empty: a name with no letter, digit, `%` or `/` in it becomes `counter`.

    >>> column_name("% Ready"), column_name("%C-State C0"), column_name("Link Up?")
    ('pct_ready', 'pct_c_state_c0', 'link_up')
    >>> column_name("Average Guest MilliSec/Command"), column_name("Link Speed (Mb/s)")
    ('average_guest_millisec_per_command', 'link_speed_mb_per_s')
    """
    return _snake_case(batch) or "counter"


def table_name(object_name: str) -> str:
    """Return the name of the table that holds an esxtop object, by the same rule; `object` if nothing is left.

    >>> table_name("Physical Disk Per-Device-Per-World"), table_name("PCPU Power State")
    ('physical_disk_per_device_per_world', 'pcpu_power_state')
    """
    return _snake_case(object_name) or "object"
