"""A test finds the programs that it names on its PATH, and no other."""

from __future__ import annotations

import os
import shutil
import subprocess

import needs
import pytest


def test_a_test_that_names_none_finds_none():
    assert [name for name in ("sh", "ls", "python3", *needs.PROGRAMS) if shutil.which(name)] == []
    assert os.listdir(os.environ["PATH"]) == []  # noqa: PTH208  what a PATH is


@pytest.mark.needs("openssl")
def test_a_test_finds_what_it_names_and_no_more():
    assert [name for name in ("sh", *needs.PROGRAMS) if shutil.which(name)] == ["openssl"]
    done = subprocess.run(["openssl", "version"], check=True, capture_output=True, text=True)  # noqa: S607  as on the PATH
    assert done.stdout.lower().startswith(("openssl", "libressl"))


@pytest.mark.parametrize(("required", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)])
def test_what_is_missing_skips_a_test_and_fails_it_where_everything_is_promised(monkeypatch, required, outcome):
    monkeypatch.setenv("ESXPARSE_REQUIRE_ALL", required)
    monkeypatch.setitem(needs.PROGRAMS, "no-such-program", ("no-such-program", "nor-this"))
    monkeypatch.setitem(needs.PACKAGES, "no-such-package", "no.such.package")
    for name in ("no-such-program", "no-such-package"):
        with pytest.raises(outcome, match=name):
            needs.check(frozenset({name}))


def test_a_need_that_nobody_knows_fails():
    with pytest.raises(pytest.fail.Exception, match="knows no tsahrk"):
        needs.check(frozenset({"tsahrk"}))
