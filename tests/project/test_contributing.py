"""CONTRIBUTING.md's additions, made in a copy of the package: each works as soon as it is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT

CODE = """
import doctest, sys
import esxparse as ex
from esxparse.diagnosis import rules
from esxparse.diagnosis.diagnose import series_of
from esxparse.reports import find
from esxparse.reports.host_health import verdict

assert ex.__file__.startswith(sys.argv[1]), ex.__file__
assert not doctest.run_docstring_examples(ex.metrics.memory.free_share, vars(ex.metrics.memory))
capture = ex.datasets_dir() / "busy-host" / "busy-host.csv"
rec = ex.open(capture)
limits = {"memory.free": rules.load("standard")["memory.free"]}
found = verdict.judge(limits, series_of(rec))
assert found.select("id", "verdict").row(0) == ("memory.free", "ok"), found
row = ex.study(sys.argv[1], outside=True).runs.collect()
share = 100 * row["memory_free_mib"].item() / row["memory_mib"].item()
assert abs(row["memory_free_pct"].item() - share) < 1e-9, row
assert abs(rec.top("free_pct", table="host")["mean"].item() - share) < 1e-9
assert rec.search("free_pct")["meaning"].to_list() == ["of the machine's memory"]
assert "free_pct" in {one["column"] for one in ex.explore(rec).counters if one["table"] == "host"}
assert ex.changes(rec, derived=["host"]).series.filter(table="host", counter="free_pct").height == 1
lake = ex.lake(sys.argv[1] + "/lake")
lake.add([capture])
assert abs(lake.sql("SELECT avg(free_pct) AS mean FROM host")["mean"].item() - share) < 1e-9
copies = ex.open(sys.argv[1] + "/dd.txt")
assert copies.format == "dd"
assert copies["copies"].collect().rows() == [(4194304, 0.5, 8.388608)]
ex.report(capture, find("free_memory").name, sys.argv[1] + "/report.html")
"""
DD = """1+0 records in
1+0 records out
4194304 bytes (4.2 MB, 4.0 MiB) copied, 0.5 s, 8.4 MB/s
1+0 records in
1+0 records out
4194304 bytes (4.2 MB, 4.0 MiB) copied, 0.2"""


def added(text: str) -> dict[str, list[tuple[str, str]]]:
    """By file, what is to be added after which line; after the last where none is named."""
    found: dict[str, list[tuple[str, str]]] = {}
    for block in re.findall(r"```diff\n(.*?)```", text, re.DOTALL):
        for name, body in re.findall(r"^\+\+\+ b/(\S+)\n(.*?)(?=^\+\+\+ |\Z)", block, re.DOTALL | re.MULTILINE):
            lines = body.splitlines()[1:]
            after = "".join(line[1:] + "\n" for line in lines if line.startswith(" "))
            found.setdefault(name, []).append((after, "".join(line[1:] + "\n" for line in lines if line[:1] == "+")))
    return found


@pytest.fixture
def copy(tmp_path):
    for name in ("esxparse", "templates"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "datasets").symlink_to(ROOT / "datasets")
    return tmp_path


@pytest.mark.search
def test_a_reader_a_metric_a_rule_a_derived_column_one_of_studies_and_a_template_are_a_few_lines_each(copy):
    capture = ROOT / "datasets" / "busy-host" / "busy-host.csv"
    (copy / "study.toml").write_text(f"[[run]]\nesxtop = '{capture}'\n")
    (copy / "dd.txt").write_text(DD)
    changes = added((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert len(changes) == 9
    for name, hunks in changes.items():
        path = copy / name
        for after, lines in hunks:
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            assert after in text
            path.write_text(text.replace(after, after + lines) if after else text + lines, encoding="utf-8")
    ruff = Path(sys.executable).parent / "ruff"
    written = [copy / name for name in changes if name.endswith(".py")]
    config = ["--config", str(ROOT / "pyproject.toml")]
    checked = subprocess.run([ruff, "check", *config, *written], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
    # A doctest that fails prints what it got.
    env = os.environ | {"PYTHONPATH": str(copy)}
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(copy)], cwd=copy, env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
    assert "Free memory" in (copy / "report.html").read_text()


@pytest.mark.search
def test_the_metric_works_in_a_module_of_its_own_with_the_imports_that_the_guide_names(copy):
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    paragraph = guide[guide.index("**A metric**") : guide.index("```diff", guide.index("**A metric**"))]
    imports = [line for line in re.findall(r"`((?:from|import) [^`]+)`", paragraph) if "..." not in line]
    ((_, function),) = added(guide)["esxparse/metrics/memory.py"]
    module = copy / "esxparse" / "metrics" / "free.py"
    module.write_text('"""Free memory."""\n\n' + "\n\n".join(imports) + "\n" + function, encoding="utf-8")
    ruff = Path(sys.executable).parent / "ruff"
    checked = subprocess.run(
        [ruff, "check", "--config", str(ROOT / "pyproject.toml"), module], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout
    code = "import doctest, esxparse.metrics.free as free; assert not doctest.testmod(free).failed"
    env = os.environ | {"PYTHONPATH": str(copy)}
    subprocess.run([sys.executable, "-c", code], cwd=copy, env=env, check=True)
