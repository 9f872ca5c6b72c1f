"""Licences of everything in the lock files: writes docs/licences.md, which tests/project/test_supply.py checks.

    python supply/licences.py ENVIRONMENT > docs/licences.md

ENVIRONMENT is the site-packages of an environment with every group and extra, as `make licences` makes it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import Distribution, PackageMetadata, distributions
from pathlib import Path

from license_expression import ExpressionError, LicenseExpression, get_spdx_licensing

ROOT = Path(__file__).parents[1]
RULES = tomllib.loads(Path(__file__).with_name("licences.toml").read_text(encoding="utf-8"))
UV = os.environ.get("UV", "uv")
"""`uv run` sets the variable."""
UNKNOWN = "unknown"
PAGE = ROOT / "docs" / "licences.md"
OWN = frozenset({"esxparse", "esxparse-simulator", "esxparse-native"})
_SPDX = get_spdx_licensing()
_ROW = re.compile(r"\| (PyPI|crates\.io) \| (\S+) \| (\S+) \| (.+?) \| (.+?) \|")
_HEAD = """# Licences of dependencies

esxparse is under Apache-2.0. `make licences` writes this page from `uv.lock`, `native/Cargo.lock` and the metadata of
each package. A test fails if a locked package is missing here or if its licence is not compatible.

The wheel contains only esxparse and the crates of the scanner. pip installs everything else as separate packages.
Reports contain Vega, Vega-Lite and Vega-Embed (BSD-3-Clause) as vl-convert-python bundles them. Wheels such as numpy's
include more libraries; their own licence files list these.

Use: *core* is installed with `pip install esxparse`, *extra* with an extra such as `esxparse[report]`. *scanner* is
compiled into the wheel or used to compile it. *development* is for developers only.

| Compatible licence | It asks for |
| --- | --- |
{compatible}

| From | Package | Version | Licence | Use |
| --- | --- | --- | --- | --- |
"""


def locked(name: str) -> dict[str, tuple[str, ...]]:
    """Return the packages of a lock file: name to versions, without our own."""
    table = tomllib.loads((ROOT / name).read_text(encoding="utf-8"))
    found: dict[str, tuple[str, ...]] = {}
    for package in table["package"]:
        if package["name"] not in OWN:
            found[package["name"]] = (*found.get(package["name"], ()), package["version"])
    return found


def is_compatible(expression: str) -> bool:
    """Return whether a licence expression leaves a choice of compatible licences.

    Unknown identifiers are not compatible.
    """
    parsed = _parsed(expression)
    if parsed is None:
        return False
    judged = {one: _SPDX.TRUE if str(one) in RULES["compatible"] else _SPDX.FALSE for one in parsed.symbols}
    return bool(parsed.subs(judged).simplify() == _SPDX.TRUE)


def _parsed(expression: str) -> LicenseExpression | None:
    # Whole licence texts are common in the metadata of packages.
    if not re.fullmatch(r"[\w.+() -]{2,200}", expression):
        return None
    try:
        return _SPDX.parse(expression, validate=True)
    except ExpressionError:
        return None


def _said(metadata: PackageMetadata, field: str) -> str:
    """Return a field of metadata; empty without one, where the standard library and its backport differ."""
    return next(iter(metadata.get_all(field) or ()), "")


def licence_of(package: Distribution) -> str:
    """Return the licence of an installed package as an SPDX expression, or "unknown"."""
    metadata = package.metadata
    classifiers = [one for one in metadata.get_all("Classifier") or () if one.startswith("License ::")]
    first_line = _said(metadata, "License").strip().partition("\n")[0]
    words = [first_line, *(one.rpartition(" :: ")[2] for one in classifiers if len(classifiers) == 1)]
    stated = (RULES["words"].get(one, one) for one in (_said(metadata, "License-Expression"), *words))
    first = next((one for one in stated if _parsed(one) is not None), UNKNOWN)
    return str(RULES["read"].get(normal(metadata["Name"]), first))


def normal(name: str) -> str:
    """Return the name of a package as lock files write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def installed(*places: str) -> dict[str, Distribution]:
    """Return the packages of an environment, of this one by default."""
    found = distributions(path=list(places)) if places else distributions()
    return {normal(one.metadata["Name"]): one for one in found}


def recorded() -> dict[tuple[str, str, str], tuple[str, str]]:
    """Return the rows of the page: registry, package and version to licence and use."""
    rows = _ROW.findall(PAGE.read_text(encoding="utf-8"))
    return {(kind, name, version): (licence, use) for kind, name, version, licence, use in rows}


def crates() -> dict[str, str]:
    """Return the licences of the crates of the scanner, as Cargo states them."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--manifest-path", "native/Cargo.toml"]
    told = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    # Before SPDX expressions, Cargo had a slash between licences to choose from.
    return {one["name"]: (one["license"] or UNKNOWN).replace("/", " OR ") for one in json.loads(told)["packages"]}


def used_by(*options: str) -> set[str]:
    """Return the names of the packages that `uv export` lists with these options."""
    command = [UV, "export", "--quiet", "--locked", "--no-default-groups", "--no-hashes", "--no-annotate", *options]
    text = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"(?m)^([\w.-]+)==", text))


def main(place: str) -> None:
    """Print the page."""
    here, stated = installed(place), crates()
    core, extra = used_by(), used_by("--all-extras")
    rows = []
    for name, versions in sorted(locked("uv.lock").items()):
        use = "core" if name in core else "extra" if name in extra else "development"
        licence = licence_of(here[name]) if name in here else str(RULES["read"].get(name, UNKNOWN))
        rows += [f"| PyPI | {name} | {version} | {licence} | {use} |" for version in versions]
    for name, versions in sorted(locked("native/Cargo.lock").items()):
        rows += [f"| crates.io | {name} | {version} | {stated.get(name, UNKNOWN)} | scanner |" for version in versions]
    compatible = "\n".join(f"| {name} | {asks} |" for name, asks in RULES["compatible"].items())
    sys.stdout.write(_HEAD.format(compatible=compatible) + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
