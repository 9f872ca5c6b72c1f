"""Write the bill of materials of a release as CycloneDX 1.5: core, all extras, and the crates of the scanner.

    python supply/sbom.py sbom.cdx.json

uv lists the packages of its lock file with their hashes. This script adds the crates, and each licence as
docs/licences.md has it. It writes nothing if the result violates the schema.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from licences import ROOT, UV, recorded

from esxparse.version import __version__


def packages() -> dict[str, Any]:
    """Return the bill of the Python packages, as uv writes it."""
    command = [UV, "export", "--quiet", "--locked", "--no-default-groups", "--all-extras", "--format", "cyclonedx1.5"]
    bill: dict[str, Any] = json.loads(
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    )
    return bill


def crates() -> list[dict[str, Any]]:
    """Return the crates in native/Cargo.lock as components."""
    lock = tomllib.loads((ROOT / "native" / "Cargo.lock").read_text(encoding="utf-8"))
    return [
        {
            "type": "library",
            "bom-ref": f"crate-{one['name']}@{one['version']}",
            "name": one["name"],
            "version": one["version"],
            "purl": f"pkg:cargo/{one['name']}@{one['version']}",
            "hashes": [{"alg": "SHA-256", "content": one["checksum"]}],
        }
        for one in lock["package"]
        if "checksum" in one
    ]


def complete(bill: dict[str, Any]) -> dict[str, Any]:
    """Return a bill with the crates and with licences."""
    licences = {(name, version): licence for (_, name, version), (licence, _) in recorded().items()}
    components = [*bill["components"], *crates()]
    for one in components:
        if licence := licences.get((one["name"], one["version"])):
            one["licenses"] = [{"expression": licence}]
    own = {**bill["metadata"]["component"], "version": __version__, "licenses": [{"expression": "Apache-2.0"}]}
    return {**bill, "metadata": {**bill["metadata"], "component": own}, "components": components}


def write(bill: dict[str, Any], output: Path) -> str | None:
    """Write a bill, or return how it violates the schema."""
    text = json.dumps(bill, indent=1)
    if (problem := JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)) is not None:
        return str(problem)
    output.write_text(text + "\n", encoding="utf-8")
    return None


def main(output: str) -> int:
    """Write the bill of this version."""
    bill = complete(packages())
    if problem := write(bill, Path(output)):
        sys.stderr.write(f"{output} is not written: {problem}\n")
        return 1
    sys.stdout.write(f"{output}: {len(bill['components'])} components\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
