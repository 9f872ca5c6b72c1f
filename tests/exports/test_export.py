"""Exported tables, read back by programs of others: openpyxl, polars, prometheus_client, line_protocol_parser."""

from __future__ import annotations

import csv
from datetime import UTC, datetime

import openpyxl
import polars as pl
import pytest
from line_protocol_parser import parse_line
from prometheus_client.openmetrics.parser import text_string_to_metric_families

import esxparse as ex
from esxparse.cli import main
from esxparse.exports import files, table
from esxparse.exports.export import KINDS

AT = [datetime(2026, 3, 2, 8, 0, second, 250_000, tzinfo=UTC) for second in (0, 5, 10)]
VMKPERF = ex.datasets_dir() / "formats" / "vmkperf-poll.txt"


def made(**columns):
    """A recording of another format, whose only table has these columns."""
    return ex.Recording("power_csv", "power.csv", {"power": pl.LazyFrame(columns)}, {"host": "esx 1"}, ())


def metrics(path):
    """Samples of a file of OpenMetrics: name and labels to time and value, in the order of the file."""
    found = {}
    for family in text_string_to_metric_families(path.read_text(encoding="utf-8")):
        assert family.type == "gauge"
        for sample in family.samples:
            found.setdefault((sample.name, *sorted(sample.labels.items())), []).append(
                (float(sample.timestamp), sample.value)
            )
    return found


def test_the_only_table_of_vmkperf_becomes_csv(tmp_path, capsys):
    out = tmp_path / "events.csv"
    assert main(["export", str(VMKPERF), "-o", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}: 12 rows of events\n"
    with out.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    # The first poll of PCPU 3, as the tool printed it.
    assert rows[3] == {
        "block": "1",
        "poll": "1",
        "elapsed_s": "5.0",
        "pcpu": "3",
        "event": "tlb_misses",
        "rate_per_s": "4811203.6",
        "count": "",
    }


def test_a_derived_table_in_every_kind_of_file(busy_host_file, tmp_path):
    busy_host = ex.open(busy_host_file, end="2026-03-11T09:00:40")
    rows = busy_host["vm"].collect()
    of_db = rows.filter(instance="ledger-db").sort("time")
    paths = {kind: tmp_path / f"vm{ending}" for kind, (ending, *_) in KINDS.items()}
    for path in paths.values():
        assert ex.export(busy_host, path, table="vm") == (path, "vm", rows.height)
    plain = pl.read_csv(paths["csv"], try_parse_dates=True)
    assert plain["ready_pct"].to_list() == rows["ready_pct"].to_list()
    assert plain["time"].dt.epoch("s").to_list() == rows["time"].dt.epoch("s").to_list()
    assert pl.read_parquet(paths["parquet"]).equals(rows.lazy().collect())
    assert pl.read_parquet_metadata(paths["parquet"])["unit.size_mib"] == "MiB"
    sheet = openpyxl.load_workbook(paths["xlsx"]).active
    heads = [cell.value for cell in sheet[1]]
    assert heads[:3] == ["time [UTC]", "instance", "ready_pct [% of one core, per vCPU]"]
    assert [cell.value for cell in sheet["C"]][1:] == pytest.approx(rows["ready_pct"].to_list())
    assert sheet["A2"].value == rows["time"][0].replace(tzinfo=None)
    lines = [parse_line(line) for line in paths["influx"].read_text(encoding="utf-8").splitlines()]
    ready = [line["fields"]["ready_pct"] for line in lines if line["tags"]["instance"] == "ledger-db"]
    assert ready == of_db["ready_pct"].to_list()
    assert lines[0]["time"] == rows["time"].dt.epoch("ns")[0]
    found = metrics(paths["openmetrics"])
    key = ("esxparse_vm_ready_pct", ("host", "esx-07.lab.example"), ("instance", "ledger-db"))
    assert found[key] == list(zip(of_db["time"].dt.epoch("s").to_list(), of_db["ready_pct"].to_list(), strict=True))


NAMES = ["plain", "a b,c=d", 'x"y\\', "two\nlines", ""]


def test_names_with_marks_of_the_formats_come_back(tmp_path):
    rec = made(time=AT[:1] * len(NAMES), outlet=NAMES, watts=[1.0, 2.0, 3.0, 4.0, 5.0])
    ex.export(rec, tmp_path / "a.lp")
    lines = [parse_line(line) for line in (tmp_path / "a.lp").read_text(encoding="utf-8").splitlines()]
    assert [line["tags"].get("outlet") for line in lines] == ["plain", "a b,c=d", 'x"y\ufffd', "two\ufffdlines", None]
    assert {line["tags"]["host"] for line in lines} == {"esx 1"}
    assert [line["fields"] for line in lines] == [{"watts": value} for value in (1.0, 2.0, 3.0, 4.0, 5.0)]
    ex.export(rec, tmp_path / "a.om")
    names = [dict(key[1:]).get("outlet") for key in metrics(tmp_path / "a.om")]
    assert sorted(names, key=str) == sorted([*NAMES[:4], None], key=str)


def test_values_that_a_format_cannot_hold(tmp_path):
    rec = made(
        time=[*AT, AT[0]],
        outlet=["a", "a", "a", "b"],
        watts=[float("nan"), float("-inf"), 1e300, None],
        count=[7, None, 9, None],
        on=[True, False, None, None],
    )
    ex.export(rec, tmp_path / "a.lp")
    lines = [parse_line(line) for line in (tmp_path / "a.lp").read_text().splitlines()]
    fields = [line["fields"] for line in lines]
    # A row without a number is no point at all.
    assert fields == [{"count": 7, "on": True}, {"on": False}, {"watts": 1e300, "count": 9}]
    assert [line["time"] for line in lines] == [1772438400250000000 + 5 * 10**9 * n for n in range(3)]
    ex.export(rec, tmp_path / "a.om")
    found = metrics(tmp_path / "a.om")
    (watts,) = [values for key, values in found.items() if key[0] == "esxparse_power_watts"]
    assert [time for time, _ in watts] == [1772438400.25, 1772438405.25, 1772438410.25]
    assert str([value for _, value in watts]) == "[nan, -inf, 1e+300]"
    ex.export(rec, tmp_path / "a.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx").active
    assert [[cell.value for cell in row[2:]] for row in sheet.iter_rows(min_row=2)] == [
        [None, 7, True],
        [None, None, False],
        [1e300, 9, None],
        [None, None, None],
    ]


def test_a_text_is_no_formula(tmp_path):
    ex.export(made(outlet=["=1+1", "https://x"], watts=[1.0, 2.0]), tmp_path / "a.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx").active
    assert [(cell.value, cell.data_type) for cell in sheet["A"][1:]] == [("=1+1", "s"), ("https://x", "s")]
    assert sheet["A3"].hyperlink is None


def test_numbers_identify_a_series_where_text_does_not(tmp_path):
    ex.export(made(time=AT[:1] * 2, pcpu=[0, 1], watts=[1.0, 2.0], count=[5, 5]), tmp_path / "a.lp")
    first = parse_line((tmp_path / "a.lp").read_text().splitlines()[0])
    assert (first["tags"], first["fields"]) == ({"host": "esx 1", "pcpu": "0", "count": "5"}, {"watts": 1.0})


def test_samples_of_a_series_are_in_order_of_time(tmp_path):
    rec = made(time=[AT[2], AT[0], AT[1], AT[1]], outlet=["a"] * 4, watts=[3.0, 1.0, 2.0, 9.0])
    ex.export(rec, tmp_path / "a.om")
    ((_, values),) = metrics(tmp_path / "a.om").items()
    assert [value for _, value in values] == [1.0, 2.0, 3.0]


def test_parts_of_a_table_are_put_together(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "_ROWS", 2)
    rec = made(time=AT, outlet=["a"] * 3, watts=[1.0, 2.0, 3.0])
    for name in ("a.csv", "a.lp", "a.xlsx"):
        ex.export(rec, tmp_path / name)
    assert pl.read_csv(tmp_path / "a.csv")["watts"].to_list() == [1.0, 2.0, 3.0]
    assert len((tmp_path / "a.lp").read_text().splitlines()) == 3
    assert openpyxl.load_workbook(tmp_path / "a.xlsx").active.max_row == 4


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["a.xls"], "must end in .csv, .parquet, .xlsx"),
        (["a.csv", "--table", "event"], "has no table 'event': did you mean 'events'"),
        (["a.lp"], "table 'events' has no column time, which influx needs: write csv, parquet or xlsx"),
        (["no/a.csv"], "there is no directory"),
        (["there.csv"], "already exists"),
    ],
)
def test_a_mistake_is_one_line(arguments, told, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.csv").write_text("mine")
    assert main(["export", str(VMKPERF), "-o", *arguments]) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert told in line
    assert [one.name for one in tmp_path.iterdir()] == ["there.csv"]


def test_the_table_has_to_be_chosen_where_there_are_several(busy_host_file, tmp_path, capsys):
    assert main(["export", str(busy_host_file), "-o", str(tmp_path / "a.csv")]) == 1
    assert "has several tables: choose one with --table: memory, " in capsys.readouterr().err


def test_more_rows_than_a_sheet_holds_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "EXCEL_ROWS", 3)
    with pytest.raises(
        ex.EsxparseError, match="has 3 rows and 1 columns, and an Excel sheet holds 2 rows below the hea"
    ):
        ex.export(made(watts=[1.0, 2.0, 3.0]), tmp_path / "a.xlsx")
    assert not (tmp_path / "a.xlsx").exists()


def test_an_input_is_not_overwritten(tmp_path):
    own = tmp_path / "a.csv"
    own.write_bytes(VMKPERF.read_bytes())
    with pytest.raises(ex.EsxparseError, match="is an input"):
        ex.export(own, own)
