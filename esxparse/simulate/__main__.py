"""`python -m esxparse.simulate SCENARIO -o FOLDER`: write the scenario's capture as FOLDER/SCENARIO.csv.

The same scenario and seed give the same bytes on every run and machine.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from esxparse.errors import EsxparseError
from esxparse.simulate.model.engine import capture
from esxparse.simulate.esxtop.writer import write_esxtop
from esxparse.simulate.scenario import load_scenario, scenario_names
from esxparse.simulate.model.worlds import WORLD_BASE

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; gives the exit code (0 fine, 1 could not, 2 usage)."""
    parser = argparse.ArgumentParser(
        prog="python -m esxparse.simulate", description="Write a simulated esxtop capture."
    )
    parser.add_argument("scenario", help=f"one of {', '.join(scenario_names())}, or a path ending in .toml")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="where to put the capture")
    parser.add_argument("--samples", type=int, help="how many samples (default: the scenario's)")
    parser.add_argument("--interval", type=float, help="seconds between samples (default: the scenario's)")
    parser.add_argument("--seed", type=int, help="seed of the noise (default: the scenario's)")
    parser.add_argument("--release", choices=tuple(WORLD_BASE), default="6.7", help="whose grammar (default: 6.7)")
    parser.add_argument("--default-fields", action="store_true", help="what esxtop writes without -a")
    options = parser.parse_args(arguments)
    try:
        scenario = load_scenario(options.scenario)
        made = capture(scenario, samples=options.samples, interval=options.interval, seed=options.seed)
        options.output.mkdir(parents=True, exist_ok=True)
        target = options.output / f"{scenario.name}.csv"
        size = write_esxtop(target, made, release=options.release, all_counters=not options.default_fields)
    except (EsxparseError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{target}: {made.samples} samples, {size} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
