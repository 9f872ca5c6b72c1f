"""Samples of every format, whole and damaged, and small files of one form each, compared with golden texts.

`make golden` writes the texts again. A file below golden/forms is one form of a tool's output, written by hand.
Its text has every cell.
"""

from __future__ import annotations

import random
import tomllib

import pytest
from checkout import TESTS
from golden import kept, texts

import esxparse as ex
from esxparse.errors import EsxparseError

FORMATS = ex.datasets_dir() / "formats"
SAMPLES = sorted(path.name for path in FORMATS.iterdir() if path.is_file())
FORMS = TESTS / "golden" / "forms"
OPTIONS = tomllib.loads((FORMS / "options.toml").read_text(encoding="utf-8"))
"""Options of opening, for the few forms that need them."""
CUTS = (0.2, 0.5, 0.8, 0.97)
DAMAGES = 4


def damaged(content, seed):
    """A file with a few bytes changed, doubled or taken out."""
    chance, found = random.Random(seed), bytearray(content)  # noqa: S311  the same in every run
    for _ in range(5):
        place = chance.randrange(len(found))
        match chance.randrange(3):
            case 0:
                found[place] = chance.randrange(32, 127)
            case 1:
                found[place:place] = found[place : place + chance.randrange(1, 200)]
            case _:
                del found[place : place + chance.randrange(1, 200)]
    return bytes(found)


def of_variant(path, content):
    """A line for each table, and each note, of a damaged file; or its error."""
    path.write_bytes(content)
    try:
        rec = ex.open(path)
        yield from (f"  {texts.shortened(line)}" for line in texts.of_notes(rec) if not line.startswith("info"))
        for name in sorted(rec):
            _, *columns = texts.of_frame(rec[name])
            yield f"  {name}: {rec[name].collect().height} rows {texts.sum_of(columns)}"
        yield f"  facts {texts.sum_of(texts.of_meta(rec.meta))}"
    except EsxparseError as error:
        yield texts.shortened(f"  {texts.value(str(error))}")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.needs("tshark")] * name.startswith("packets")) for name in SAMPLES]
)
def test_a_sample_whole_cut_and_damaged(name, tmp_path):
    path, content = FORMATS / name, (FORMATS / name).read_bytes()

    def lines():
        yield from texts.of_recording(ex.open(path))
        for cut in CUTS:
            yield f"the first {cut:.0%}"
            yield from of_variant(tmp_path / name, content[: int(len(content) * cut)])
        for seed in range(DAMAGES):
            yield f"damage {seed}"
            yield from of_variant(tmp_path / name, damaged(content, seed))

    kept.check("formats", name, lines())


@pytest.mark.parametrize("form", sorted(str(path.relative_to(FORMS)) for path in FORMS.glob("*/*")))
def test_a_form_of_a_file_has_these_cells(form):
    def lines():
        try:
            yield from texts.of_small_recording(ex.open(FORMS / form, **OPTIONS.get(form, {})))
        except EsxparseError as error:
            # Without the list of all formats, which every new reader changes.
            message = str(error).replace(f"{FORMS}/", "").partition(": esxparse formats")[0]
            yield f"{type(error).__name__}: {message}"

    kept.check("forms", form, lines())
