"""An ESXi host for tests: a real OpenSSH server on a loopback port, and stand-ins for esxtop, esxcli and vim-cmd.

The stand-in `esxtop` writes the rows of a simulated capture, one every tenth of a second, and goes on where the one
before it ended. What it does besides is told by files in the host's directory.
"""

from __future__ import annotations

import getpass
import gzip
import json
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import needs

import esxparse as ex
from esxparse.collect import host

OBJECTS = (b"\\Memory\\", b"\\Physical Cpu(", b"\\Physical Disk(vmhba0)")
HARDWARE = ex.datasets_dir() / "formats" / "esxcli-host.txt"
MANAGED = ex.datasets_dir() / "formats" / "esxcli-hosthardware.txt"

ESXTOP = f"""#!{sys.executable} -ES
import os, sys, time
from pathlib import Path
here = Path({{here!r}})
def said(name):
    return (here / name).read_text() if (here / name).exists() else ""
if said("refuses"):
    sys.exit(said("refuses"))
with open(here / "started", "a") as file:
    file.write(str(os.getpid()) + " " + " ".join(sys.argv[1:]) + "\\n")
lines = (here / "capture.csv").read_bytes().splitlines()
columns = int(said("columns") or 0) or None
count = int(sys.argv[sys.argv.index("-n") + 1]) if "-n" in sys.argv else None
at = int(said("at") or 1)
def write(line):
    sys.stdout.buffer.write(b'","'.join(line.split(b'","')[:columns]).rstrip(b'"') + b'"\\n')
    sys.stdout.buffer.flush()
print(said("chatter"), end="", flush=True)
write(lines[0])
while said("held"):
    time.sleep(0.02)
while at < len(lines) and count != 0:
    if said("cut") == str(at):
        sys.stdout.buffer.write(lines[at][:200]); sys.stdout.buffer.flush()
        (here / "cut").write_text("done")
        time.sleep(60)
    write(lines[at])
    at += 1
    (here / "at").write_text(str(at))
    count = None if count is None else count - 1
    time.sleep(float(said("pace") or 0.1))
"""
ESXCLI = """#!/bin/sh
case "$*" in
"hardware cpu list") sed -n '2,/^\\[root/p' "{hardware}" | grep -v '^\\[' ;;
"hardware cpu global get") sed -n '/global get/,/^\\[root.*memory/p' "{hardware}" | grep -v '^\\[' ;;
"hardware memory get") sed -n '/memory get/,$p' "{hardware}" | grep -v '^\\[' ;;
"system version get") printf '   Product: VMware ESXi\\n   Version: 8.0.2\\n' ;;
*) echo "Error: Unknown command or namespace $*" ; exit 1 ;;
esac
"""


def capture():
    """A capture of some columns of the bundled one."""
    lines = (ex.datasets_dir() / "busy-host" / "busy-host.csv").read_bytes().splitlines()
    names = lines[0].split(b'","')
    kept = [n for n, name in enumerate(names) if not n or any(one in name for one in OBJECTS)]
    rows = (line.strip(b'"').split(b'","') for line in lines)
    return b"".join(b'"' + b'","'.join(row[n] for n in kept) + b'"\n' for row in rows)


def keys(folder):
    """Keys of a host and of a user."""
    for name in ("host", "user"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(command, check=True)
    return folder


class Esxi:
    """The host: `config` is the configuration of ssh by which `esx` leads to it."""

    def __init__(self, folder, keys, lines):
        self.folder = folder
        self.keys = keys
        self._connections = []
        programs = folder / "bin"
        programs.mkdir()
        (folder / "capture.csv").write_bytes(lines)
        self.install("esxtop", ESXTOP.replace("{here!r}", repr(str(folder))))
        self.install("esxcli", ESXCLI.replace("{hardware}", str(HARDWARE)))
        self.install("vim-cmd", f'#!/bin/sh\n[ "$1" = hostsvc/hosthardware ] && cat "{MANAGED}"\n')
        self.install("vmware", "#!/bin/sh\necho 'VMware ESXi 8.0.2 build-22380479'\necho 'VMware ESXi 8.0 Update 2'\n")
        public = (keys / "user.pub").read_text()
        (folder / "authorized_keys").write_text(public)
        self._sshd = folder / "sshd_config"
        self._sshd.write_text(
            f"HostKey {keys}/host\nAuthorizedKeysFile {folder}/authorized_keys\nStrictModes no\nUsePAM no\n"
            f"PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\nLogLevel ERROR\n"
            # A shell below another one leaves out what the user's own files say, which may be anything.
            f"SetEnv PATH={programs}:/usr/bin:/bin SHLVL=2\nKexAlgorithms curve25519-sha256\n"
        )
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.know((keys / "host.pub").read_text())
        self.config = folder / "ssh_config"
        self.config.write_text(
            f"Host esx\n  HostName 127.0.0.1\n  Port {self.port}\n  User {getpass.getuser()}\n  HostKeyAlias esx\n"
            f"  IdentityFile {keys}/user\n  IdentitiesOnly yes\n  IdentityAgent none\n"
            f"  UserKnownHostsFile {folder}/known_hosts\n  GlobalKnownHostsFile none\n"
        )
        threading.Thread(target=self._serve, daemon=True).start()

    def install(self, name, text):
        program = self.folder / "bin" / name
        program.write_text(text)
        program.chmod(0o755)

    def know(self, key):
        (self.folder / "known_hosts").write_text(f"esx {key}" if key else "")

    def say(self, name, text=""):
        new = self.folder / f"{name}.new"
        new.write_text(str(text))
        new.replace(self.folder / name)

    def started(self):
        """Process and arguments of each esxtop."""
        log = self.folder / "started"
        return [line.split(" ", 1) for line in log.read_text().splitlines()] if log.exists() else []

    def runs(self):
        """The esxtop that run now."""
        return [pid for pid, _ in self.started() if alive(int(pid))]

    def _serve(self):
        # A session directory that a Debian package makes at boot.
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                # An absolute path: sshd starts itself again for each session.
                command = [needs.program("sshd"), "-i", "-f", str(self._sshd), "-E", str(self.folder / "sshd.log")]
                server = subprocess.Popen(command, stdin=connection, stdout=connection, start_new_session=True)
                self._connections.append((connection, server))

    def cut(self):
        """Cuts all connections, as a network does that loses them."""
        while self._connections:
            connection, server = self._connections.pop()
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
            server.wait(10)

    def close(self):
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self.cut()


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def until(true, seconds=60.0):
    """Waits until something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not become true"
        time.sleep(0.02)


class Collecting:
    """A capture that runs in a thread of its own."""

    def __init__(self, esx, folder, **options):
        self.stop = threading.Event()
        self.said = []
        self.captured = self.error = None
        self.folder = folder
        self.file = folder / "esx.csv.gz"
        options = {"interval": 2, "retry": 0.05, "ssh_config": esx.config} | options
        self._thread = threading.Thread(target=self._run, args=(options,))
        self._thread.start()

    def _run(self, options):
        try:
            self.captured = host("esx", self.folder, stop=self.stop, say=self.said.append, **options)
        except ex.EsxparseError as error:
            self.error = error

    def samples(self, file=None):
        file = file or self.file
        return rows(file) if file.exists() else []

    def end(self):
        self.stop.set()
        return self.join()

    def join(self):
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self.captured


def rows(file):
    return [line for line in gzip.decompress(file.read_bytes()).splitlines() if not line.startswith(b'"(PDH')]


def noted(folder, key):
    text = (folder / "collected.jsonl").read_text()
    assert text.endswith("\n")
    return [line[key] for line in map(json.loads, text.splitlines()) if key in line]
