"""How long people wait for the explorer, in real JupyterLab in Chromium; adds to RESULTS.md.

`python benchmarks/explore.py`: captures of 17,000 columns x 800 samples (92 MB), of 40,297 columns x 120, and of a host
with 300 VMs. First paint is from the call of `ex.explore(rec)` to the first panel drawn; a redraw from the choice of
another counter to its panel drawn. Needs chromium, which `.ci/run` installs.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

import sections

import esxparse_simulator as simulate

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from browser import chromium
from lab_server import lab, notebook, run_all

CASES = ((17_000, 800), (40_297, 120), (112_000, 60))
CHOSEN, WAIT_MS = 40, 180_000
PAINTED = """async () => {
    while (!document.querySelector('.ex-panel[data-drawn]')) await new Promise(requestAnimationFrame);
    return performance.timeOrigin + performance.now();
}"""
REDRAWN = """async place => {
    const search = document.querySelector('.ex-explorer input[type=search]');
    search.value = '.';
    search.dispatchEvent(new Event('input'));
    const hits = [...document.querySelectorAll('.ex-hit')];
    const panel = () => document.querySelector('.ex-panel');
    const before = panel().dataset.drawn;
    const start = performance.now();
    hits[place % hits.length].click();
    while (panel().dataset.drawn === before) {
        await new Promise(requestAnimationFrame);
        if (performance.now() - start > 30000) return null;
    }
    return performance.now() - start;
}"""


def measure(folder: Path, columns: int, samples: int) -> tuple[float, list[float]]:
    """Seconds to the first paint, and milliseconds of each redraw, sorted."""
    capture = folder / "large.csv"
    simulate.write_esxtop(capture, simulate.capture(simulate.large_host(columns), samples=samples))
    cells = [
        f"import time\nimport altair\nimport esxparse as ex\nrec = ex.open({str(capture)!r})\nex.explore",
        "began = time.time()\napp = ex.explore(rec)\nprint('began', began)\napp",
    ]
    (folder / "first.ipynb").write_text(notebook(cells), encoding="utf-8")
    with lab(folder) as address, chromium() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 1800})
        page.goto(f"{address}/lab/tree/first.ipynb?reset", wait_until="domcontentloaded")
        run_all(page, WAIT_MS)
        page.set_default_timeout(WAIT_MS)
        painted = page.evaluate(PAINTED) / 1000
        began = float(page.get_by_text("began 1").inner_text().split()[1])
        page.wait_for_selector(".ex-explorer[data-ready]", timeout=WAIT_MS)
        redrawn = [page.evaluate(REDRAWN, place) for place in range(CHOSEN)]
    return painted - began, sorted(one for one in redrawn if one is not None)


def main() -> None:
    """Measures and writes the section."""
    heads = [
        f"{columns:,} columns x {samples}, {len(simulate.large_host(columns).vms)} VMs" for columns, samples in CASES
    ]
    lines = [
        "Made by `python benchmarks/explore.py`: JupyterLab and Chromium. The goals are those for 17,000 columns.",
        "",
        f"| | {' | '.join(heads)} | goal |",
        "|---|" + "---:|" * (len(CASES) + 1),
    ]
    measured = []
    for columns, samples in CASES:
        with tempfile.TemporaryDirectory() as folder:
            measured.append(measure(Path(folder), columns, samples))
    rows = {
        "first paint of `ex.explore(rec)`": ([f"{first:.2f} s" for first, _ in measured], "1.5 s"),
        f"another counter, median of {CHOSEN}": ([f"{statistics.median(one):.0f} ms" for _, one in measured], "300 ms"),
        "another counter, 95th percentile": ([f"{one[int(0.95 * (len(one) - 1))]:.0f} ms" for _, one in measured], ""),
    }
    lines += [f"| {name} | {' | '.join(cells)} | {goal} |" for name, (cells, goal) in rows.items()]
    sections.put("The explorer", lines)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
