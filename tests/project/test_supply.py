"""What esxparse depends on: licences, known vulnerabilities, and the bill of materials of a release."""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager

import needs
import pytest
from checkout import ROOT

sys.path.append(str(ROOT / "supply"))
import licences
import sbom

LOCKS = {"PyPI": "uv.lock", "crates.io": "native/Cargo.lock"}


@pytest.mark.parametrize("registry", LOCKS)
def test_the_page_lists_every_locked_package_and_no_other(registry):
    locked = {(name, one) for name, versions in licences.locked(LOCKS[registry]).items() for one in versions}
    listed = {(name, version) for kind, name, version in licences.recorded() if kind == registry}
    assert listed == locked, "run make licences"
    assert len(listed) > 15


def test_every_licence_is_compatible():
    refused = {key: licence for key, (licence, _) in licences.recorded().items() if not licences.is_compatible(licence)}
    assert refused == {}


def test_the_page_has_what_installed_packages_say():
    installed = licences.installed()
    stated = {
        name: (licence, licences.licence_of(installed[name]))
        for (kind, name, version), (licence, _) in licences.recorded().items()
        if kind == "PyPI" and name in installed and installed[name].version == version
    }
    assert {name: pair for name, pair in stated.items() if pair[0] != pair[1]} == {}
    assert len(stated) > 150


@pytest.mark.parametrize(
    ("expression", "compatible"),
    [
        ("MIT", True),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-or-later", False),
        ("AGPL-3.0-only", False),
        ("LGPL-2.1-only", False),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("SSPL-1.0", False),
        ("BUSL-1.1", False),
        ("Proprietary", False),
        ("BSD", False),
        ("unknown", False),
        ("", False),
    ],
)
def test_licences_that_are_not_listed_or_not_known_are_refused(expression, compatible):
    assert licences.is_compatible(expression) is compatible


@pytest.mark.parametrize(
    ("metadata", "licence"),
    [
        ("License-Expression: MIT\nLicense: GPL", "MIT"),
        ("License: Apache 2.0", "Apache-2.0"),
        ("License: BSD 3-Clause License\n        \n        Copyright", "BSD-3-Clause"),
        ("Classifier: License :: OSI Approved :: MIT License", "MIT"),
        ("License: GPL-3.0-only", "GPL-3.0-only"),
        ("License: BSD\nClassifier: License :: OSI Approved :: BSD License", "unknown"),
        ("Classifier: License :: OSI Approved :: MIT License\nClassifier: License :: Other", "unknown"),
        ("License: see the file", "unknown"),
        ("", "unknown"),
    ],
)
def test_a_licence_is_read_from_metadata(tmp_path, metadata, licence):
    info = tmp_path / "example-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.4\nName: example\nVersion: 1.0\n{metadata}\n")
    assert licences.licence_of(licences.installed(str(tmp_path))["example"]) == licence


def environment():
    uv = os.environ.get("UV") or shutil.which("uv", path=needs.PATH)
    if uv is None and (own := ROOT / ".tools" / "bin" / "uv").exists():
        uv = str(own)
    return {**os.environ, "UV": uv or needs.missing("uv"), "PATH": needs.PATH}


def run(script, *words):
    command = [sys.executable, str(ROOT / "supply" / script), *words]
    return subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)


@pytest.mark.search
def test_the_bill_of_materials_lists_what_may_be_installed(tmp_path):
    done = run("sbom.py", str(tmp_path / "sbom.json"))
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "sbom.json").read_text()
    bill = json.loads(text)
    assert bill["specVersion"] == "1.5"
    assert (bill["metadata"]["component"]["name"], bill["metadata"]["component"]["version"]) == ("esxparse", "0.1.0")
    found = {(one["name"], one["version"]): one for one in bill["components"]}
    used = {key[1:]: row for key, row in licences.recorded().items() if row[1] != "development"}
    assert found.keys() == used.keys()
    assert all(found[key]["licenses"] == [{"expression": licence}] for key, (licence, _) in used.items())
    assert all(one["purl"].startswith(("pkg:pypi/", "pkg:cargo/")) for one in bill["components"])
    assert set(re.findall(r'"https?://([^/"]+)', text)) <= {"files.pythonhosted.org"}


def test_a_bill_that_violates_the_schema_is_not_written(tmp_path):
    whole = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1}
    assert "type" in sbom.write({**whole, "components": [{"name": "no type"}]}, tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []
    component = {"type": "library", "name": "numpy", "licenses": [{"expression": "MIT"}]}
    assert sbom.write({**whole, "components": [component]}, tmp_path / "b.json") is None
    assert json.loads((tmp_path / "b.json").read_text())["components"] == [component]


class Database(http.server.BaseHTTPRequestHandler):
    """OSV as pip-audit asks it: one package of one name has a vulnerability."""

    vulnerable = ""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = asked.get("package", {}).get("name")
        affected = {"package": {"name": name, "ecosystem": "PyPI"}, "versions": [asked.get("version")], "ranges": []}
        finding = {"id": "PYSEC-2026-1", "published": "2026-01-01T00:00:00Z", "affected": [affected]}
        answer = json.dumps({"vulns": [finding]} if name == self.vulnerable else {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


@contextmanager
def database(vulnerable):
    handler = type("Handler", (Database,), {"vulnerable": vulnerable})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/query"
        server.shutdown()


@pytest.mark.search
@pytest.mark.parametrize(("vulnerable", "code"), [("jinja2", 1), ("", 0)])
def test_the_audit_fails_for_a_vulnerable_package_only(vulnerable, code):
    with database(vulnerable) as url:
        done = run("audit.py", "--database", url)
    assert done.returncode == code, done.stdout + done.stderr
    assert ("PYSEC-2026-1" in done.stdout) is bool(vulnerable)


@pytest.mark.search
@pytest.mark.parametrize(("words", "code"), [([], 0), (["--required"], 1)])
def test_an_audit_without_its_database_says_that_it_is_skipped(words, code):
    done = run("audit.py", "--database", "http://127.0.0.1:9/v1/query", *words)
    assert (done.returncode, done.stdout) == (
        code,
        "skipped: audit of dependencies (no answer from http://127.0.0.1:9/v1/query)\n",
    )
