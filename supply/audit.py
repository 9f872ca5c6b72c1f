"""Known vulnerabilities of the locked packages: fails if there is one.

    python supply/audit.py [--required] [--database URL]

pip-audit looks up the Python packages, cargo-audit (if installed) the crates. Without a connection to the database the
audit is skipped, with a line that says so; `--required`, which releases use, makes that a failure.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from licences import ROOT, UV

DATABASE = "https://api.osv.dev/v1/query"
_SECONDS = 20


def is_reachable(url: str) -> bool:
    """Return whether a server answers at this address, with whatever status."""
    try:
        urllib.request.urlopen(urllib.request.Request(url, data=b"{}"), timeout=_SECONDS).close()  # noqa: S310
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def audit_packages(database: str) -> int:
    """Return the exit code of pip-audit on everything in uv.lock."""
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder, "requirements.txt")
        export = [UV, "export", "--quiet", "--locked", "--all-groups", "--all-extras", "--no-emit-workspace"]
        subprocess.run([*export, "--output-file", str(listed)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        look = ["--requirement", str(listed), "--disable-pip", "--vulnerability-service", "osv", "--osv-url", database]
        return subprocess.run(
            [sys.executable, "-m", "pip_audit", "--progress-spinner=off", *look], check=False
        ).returncode


def audit_crates() -> int:
    """Return the exit code of cargo-audit on the crates of the scanner; 0 if it is not installed."""
    if shutil.which("cargo-audit") is None:
        sys.stdout.write("skipped: audit of crates (cargo install --locked cargo-audit)\n")
        return 0
    command = ["cargo", "audit", "--file", str(ROOT / "native" / "Cargo.lock")]
    return subprocess.run(command, check=False).returncode


def main(words: list[str]) -> int:
    """Audit, and return 0 if nothing was found."""
    parser = argparse.ArgumentParser(description="Known vulnerabilities of the locked packages.")
    parser.add_argument("--required", action="store_true", help="fail if the database does not answer")
    parser.add_argument("--database", default=DATABASE, metavar="URL", help="OSV's query interface")
    options = parser.parse_args(words)
    if not is_reachable(options.database):
        sys.stdout.write(f"skipped: audit of dependencies (no answer from {options.database})\n")
        return 1 if options.required else 0
    return audit_packages(options.database) or audit_crates()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
