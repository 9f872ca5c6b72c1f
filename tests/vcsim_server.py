"""A vCenter or an ESXi host for tests: govmomi's simulator with a service manager (`tests/vcsim`), on loopback.

It is built once for each state of its source, into `.tools/`: 4 s if Go has compiled its modules before, else minutes.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import urllib.parse
import urllib.request
from pathlib import Path

import needs
from checkout import ROOT
from filelock import FileLock

SOURCE = ROOT / "tests" / "vcsim"
USER = "administrator@vsphere.local"
PASSWORD = "s3cret <&> pass"  # noqa: S105  of nobody
_MOST_S = 600


def program():
    """The path of the program; builds it first if it has changed."""
    files = [*sorted(SOURCE.glob("*.go")), SOURCE / "go.mod", SOURCE / "go.sum"]
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
    folder = ROOT / ".tools" / "vcsim"
    built = folder / f"{digest}{'.exe' if os.name == 'nt' else ''}"
    if not built.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / "lock"):
            if not built.exists():
                _build(built)
                for old in folder.iterdir():
                    if old not in {built, folder / "lock"}:
                        old.unlink()
    return built


def _build(path):
    go = needs.program("go") or needs.missing("go")
    new = path.with_name(f"new-{path.name}")
    # A checkout that git takes for another user's has no version to stamp.
    command = [go, "build", "-buildvcs=false", "-o", str(new), "."]
    environment = os.environ | {"PATH": needs.PATH}
    try:
        done = subprocess.run(
            command, cwd=SOURCE, env=environment, capture_output=True, text=True, check=False, timeout=_MOST_S
        )
    except subprocess.TimeoutExpired:
        needs.missing(f"the Go modules of tests/vcsim (no build in {_MOST_S} s)")
    if done.returncode:
        assert "proxy" in done.stderr or "dial" in done.stderr or "go.mod requires" in done.stderr, done.stderr
        needs.missing(f"the Go modules of tests/vcsim ({done.stderr.strip().splitlines()[-1]})")
    new.replace(path)


class Vcsim:
    """A running server: `server`, `user`, `password`, `thumbprint`, `sha1`, `certificate` (a file)."""

    def __init__(self, folder, replies=None, **options):
        self.folder = Path(folder)
        self.user, self.password = USER, PASSWORD
        self._replies = Path(replies or self.folder)
        self._options = options
        self._process = None
        self.start()

    def start(self, listen="127.0.0.1:0"):
        words = [str(program()), "-listen", listen, "-replies", str(self._replies)]
        words += ["-user", self.user, "-password", self.password]
        for name, value in self._options.items():
            words.append(f"-{name.replace('_', '-')}={str(value).lower()}")
        self._errors = (self.folder / "vcsim.log").open("ab")
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors)
        line = self._process.stdout.readline()
        assert line, (self.folder / "vcsim.log").read_text()
        about = json.loads(line)
        self.server, self._control = about["server"], about["control"]
        self.thumbprint, self.sha1 = about["thumbprint"], about["sha1"]
        self.certificate = self.folder / "vcsim.pem"
        self.certificate.write_text(about["certificate"])

    def stop(self):
        """Ends the server at once, with all connections."""
        if self._process:
            self._process.kill()
            self._process.communicate()
            self._errors.close()
        self._process = None

    def restart(self):
        """The same address again; nobody is logged in."""
        self.stop()
        self.start(self.server)

    @property
    def login(self):
        """Options of whatever logs in, apart from the password."""
        return {"username": self.user, "thumbprint": self.thumbprint}

    def trouble(self, kind, operation="FetchStats", *, after=0, times=1, milliseconds=1000):
        """`times` calls of an operation fail, `after` some that do not: tests/vcsim/trouble.go has the kinds.

        `operation` is a method's name, or the first argument of ExecuteSimpleCommand; empty means all.
        """
        order = {"kind": kind, "operation": operation, "after": after, "times": times, "milliseconds": milliseconds}
        self._ask(f"trouble?{urllib.parse.urlencode(order)}", data=b"")

    def calls(self):
        """How often each operation was called."""
        return json.loads(self._ask("calls"))

    def _ask(self, path, data=None):
        with urllib.request.urlopen(f"{self._control}/{path}", data) as answer:  # noqa: S310  ours
            return answer.read()
