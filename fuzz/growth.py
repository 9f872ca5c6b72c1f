"""Measures how the time to read grows, for every part of every sample; prints what grows faster than the file.

python fuzz/growth.py [name of a sample ...]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import pumps

from esxparse.shipped import datasets_dir


def main() -> int:
    """Measures, prints what is steep, and gives the exit status."""
    samples = [path for path in sorted((datasets_dir() / "formats").iterdir()) if path.suffix not in {".md", ".pcapng"}]
    tried = steep = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in samples:
            if sys.argv[1:] and path.name not in sys.argv[1:]:
                continue
            for name, build in pumps.pumps(path.read_bytes()):
                power = pumps.exponent(Path(folder, "file"), build, 16_000)
                tried += 1
                if power > pumps.STEEPEST:
                    steep += 1
                    print(f"{path.name}: {name}: grows with the power {power:.2f} of the size", flush=True)
    print(f"{tried:,} parts, {steep} steep")
    return int(bool(steep))


if __name__ == "__main__":
    sys.exit(main())
