"""What tools print of a simulated host or measurement; `texts.toml` has what of it never changes."""

import tomllib
from importlib.resources import files

TEXTS: dict[str, dict[str, str]] = tomllib.loads(
    (files("esxparse_simulator.writers") / "texts.toml").read_text(encoding="utf-8")
)
