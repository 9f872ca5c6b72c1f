"""The gallery of the documentation shows every template, on files that are there."""

from __future__ import annotations

import tomllib

from checkout import DOCS

import esxparse as ex
from esxparse.reports import library


def test_the_gallery_has_every_template():
    shown_on = tomllib.loads((DOCS / "site" / "gallery.toml").read_text(encoding="utf-8"))
    assert list(shown_on) == [one.name for one in library.shipped()]
    missing = [name for files in shown_on.values() for name in files if not (ex.datasets_dir() / name).is_file()]
    assert missing == []
