"""The runs of a study.toml: labels, files by role, window and host, as far as the bundled studies use them."""

from __future__ import annotations

import itertools
import re
import tomllib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

ROLES = {"esxtop", "iometer", "fio", "power", "idle", "results_csv", "perf", "vmkperf", "vmx", "hardware", "packets"}
ROLES |= {"linpack", "stream", "netperf", "redis_benchmark", "vscsistats"}
PLAIN = {"window", "host", *ROLES}


def runs(folder: Path) -> list[dict]:
    """One dictionary per run: labels, window, host, and by role the paths of its files and the test or PCPU in them."""
    manifest = tomllib.loads((folder / "study.toml").read_text(encoding="utf-8"))
    found = []
    for table in manifest["run"]:
        labels = {name: value for name, value in table.items() if name not in PLAIN}
        lists = {name: value if isinstance(value, list) else [value] for name, value in labels.items()}
        for values in itertools.product(*lists.values()):
            found += _runs(folder, manifest, table, dict(zip(lists, values, strict=True)))
    return found


def _runs(folder: Path, manifest: dict, table: dict, labels: dict) -> list[dict]:
    templates = {role: _template(table[role]) for role in ROLES & table.keys()}
    lacking = {name for files, _ in templates.values() for one in files for name in re.findall(r"\{(\w+)", one)}
    every = [labels | more for more in _from_names(folder, templates, labels)] if lacking - labels.keys() else [labels]
    return [
        {
            "labels": {name: _number(value) for name, value in one.items()},
            "window": manifest.get("window", {}) | table.get("window", {}),
            "host": manifest.get("host", {}) | table.get("host", {}),
            "files": {
                role: (_paths(folder, files, one), test and test.format(**one))
                for role, (files, test) in templates.items()
            },
        }
        for one in every
    ]


def _template(said: object) -> tuple[list[str], str]:
    test = str(said.get("test", said.get("pcpus", ""))) if isinstance(said, dict) else ""
    files = said["file"] if isinstance(said, dict) else said
    return files if isinstance(files, list) else [files], test


def _paths(folder: Path, files: list[str], labels: dict) -> list[Path]:
    return [path for one in files for path in sorted(folder.glob(one.format(**labels)))]


def _from_names(folder: Path, templates: dict, labels: dict) -> list[dict]:
    """Labels that only the names of files tell."""
    (template, *_), _ = next(iter(templates.values()))
    pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^-.]+?)", re.escape(template))
    matches = (re.fullmatch(pattern, path.name) for path in sorted(folder.iterdir()))
    told = [match.groupdict() for match in matches if match]
    return [one for one in told if all(str(labels[name]) == one[name] for name in labels.keys() & one.keys())]


def _number(value: object) -> object:
    """A label out of a name of a file as the study has it: 01350 is 1350."""
    return int(value) if isinstance(value, str) and value.isdigit() else value


def seconds(said: object) -> float:
    """`"2m"`, `"60s"` or a number, in seconds."""
    if isinstance(said, str):
        return float(said[:-1]) * {"s": 1, "m": 60, "h": 3600}[said[-1]]
    return float(said)
