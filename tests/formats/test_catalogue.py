"""The catalogue of formats: true of what comes out of the samples, and the page of the documentation."""

from __future__ import annotations

import pytest
from checkout import DOCS

import esxparse as ex
from esxparse.cli import main
from esxparse.formats.catalogue import page
from esxparse.formats.kit.tables import tables_in
from esxparse.formats.registry import readers

SAMPLES = [path for path in sorted((ex.datasets_dir() / "formats").iterdir()) if path.suffix != ".pcapng"]


def test_the_page_is_made_of_the_readers():
    assert (DOCS / "formats.md").read_text(encoding="utf-8") == page(), "run make written"


def test_each_reader_is_in_it_with_its_tables_and_units():
    formats = {one.name: one for one in ex.catalogue()}
    assert list(formats) == [reader.name for reader in readers()]
    # Their tables are named as the file names its objects.
    assert [name for name, one in formats.items() if not one.tables] == ["esxtop", "esxtop_api", "perfmon"]
    assert formats["packets"].needs == ("tshark, for pcap and pcapng",)
    assert {"jobs", "series", "latency_bins_series"} <= set(formats["fio"].tables)
    assert "bandwidth_bytes_per_s" in formats["fio"].text
    assert "higher_is_better" in formats["stream"].text
    assert formats["stream"].tables == ("benchmark_results", "kernels")


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_every_table_that_a_reader_gives_is_in_the_catalogue(path):
    rec = ex.open(path)
    found = next(one for one in ex.catalogue() if one.name == rec.format)
    assert set(rec) <= set(found.tables) or not found.tables
    if found.columns:
        for name in rec:
            assert set(rec[name].collect_schema()) <= set(found.columns[name]), name


def test_the_command_lists_and_describes(capsys):
    assert main(["formats"]) == 0
    listed = capsys.readouterr().out
    assert "vscsistats: vscsiStats histograms\n    tables: histograms, summaries\n" in listed
    assert "    needs: tshark, for pcap and pcapng\n" in listed
    assert main(["formats", "sar", "vmstat"]) == 0
    described = capsys.readouterr().out
    assert "read_kib_per_s" in described
    assert "context_switches_per_s" in described
    assert main(["formats", "nonsense"]) == 1
    assert "unknown format 'nonsense'; the formats are: esxtop, esxtop_api, fio" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('about = "one"\ncolumn.a = ["i64"]', "unknown key 'column'; did you mean 'columns'?"),
        ('columns.a = ["i64"]', "has no about; write what a row is"),
        ('about = "one"\ncolumns.a = ["text"]', "a has the unknown type 'text'; choose from i64, f64, str"),
    ],
)
def test_a_mistake_in_the_columns_of_a_reader_is_one_clear_error(tmp_path, text, message):
    (tmp_path / "dd.toml").write_text(f"[tables.copies]\n{text}\n")
    with pytest.raises(ex.EsxparseError) as raised:
        list(tables_in(tmp_path / "dd.py"))
    assert str(raised.value).startswith("dd.toml: [tables.copies]")
    assert message in str(raised.value)
