"""Which columns, words and notes a study's tables have, and the facts of a host that its files disagree about."""

from __future__ import annotations

import re

import polars as pl
import pytest
import studies

import esxparse as ex
from esxparse.errors import EsxparseError
from esxparse.recording import Note
from esxparse.reports.blocks import ABSENT
from esxparse.studies import export, facts
from esxparse.target import PAGE_MARK

RUNS = pl.DataFrame(
    {
        "mode": ["a", "a", "b"],
        "repetition": [1, 2, 1],
        "iops": [100.0, 110.0, None],
        "orders": [5.0, 6.0, 7.0],
        "latency_mean_ms": [None, None, None],
        "gap": [None, None, "lost"],
    },
    schema_overrides={"latency_mean_ms": pl.Float64},
)


def test_readers_see_labels_headlines_and_own_columns_that_have_values():
    assert export.chosen(RUNS, ["mode"], None) == ["mode", "repetition", "iops", "orders", "gap"]
    once = RUNS.filter(pl.col("repetition") == 1).with_columns(gap=pl.lit(None, dtype=pl.String))
    assert export.chosen(once, ["mode", "size"], None) == ["mode", "iops", "orders"]
    assert export.chosen(RUNS, ["mode"], ["gap", "iops"]) == ["gap", "iops"]
    with pytest.raises(EsxparseError, match="no column 'iop' to show; available: mode, repetition"):
        export.chosen(RUNS, ["mode"], ["iop"])


COMPARED = pl.DataFrame(
    {"mode": ["a", "b", "b"], "quantity": ["iops"] * 3, "is_baseline": [True, False, False], "ratio_low": [1.0] * 3}
)


def test_notes_below_a_table_name_the_baseline_and_count_those_left_out():
    warnings = [Note(f"w{number}", severity="warning") for number in range(14)]
    told = export.source_notes(COMPARED, {"mode": "a"}, [Note("fine"), *warnings])
    assert told[0] == "Baseline: mode=a (1 of 3 rows)."
    assert told[1].startswith("Ratio: mean / mean of the baseline")
    assert [line.rpartition(" ")[2] for line in told[2:-1]] == [f"w{number}" for number in range(12)]
    assert told[-1] == "and 2 more notes"
    assert len(export.source_notes(COMPARED, {"mode": "a"}, warnings[:12])) == 14
    (used,) = export.source_notes(pl.DataFrame({"used_mhz": [1.0]}), {"mode": "a"}, [])
    assert used.startswith("Used: work at nominal frequency")
    assert export.source_notes(RUNS, {}, []) == []


def test_the_subtitle_has_the_quantity_the_baseline_or_what_the_study_is_about():
    assert export.subtitle(COMPARED, {"mode": "a"}, "about", {}) == "IOPS: baseline mode=a"
    assert export.subtitle(RUNS, {}, "about", {}) == "about"
    assert export.subtitle(RUNS, {}, "", {}) == "no baseline"
    assert export.subtitle(COMPARED.head(0), {"mode": "a"}, "", {}) == "baseline mode=a"


@pytest.mark.parametrize(
    ("content", "ours"),
    [
        ("repetition,x,start,end,measured_s,iops\n", True),
        ("repetition,start,end,iops\n", False),
        ("gap,load\r\n1,2\n", True),
        ("a,quantity,ratio,verdict\n", True),
        ("<!DOCTYPE html>" + PAGE_MARK.decode(), True),
        (" " * (4096 - len(PAGE_MARK)) + PAGE_MARK.decode(), True),
        (" " * 4096 + PAGE_MARK.decode(), False),
        ("PAR1, but no Parquet", False),
    ],
)
def test_only_tables_of_studies_are_replaced_without_being_asked(tmp_path, content, ours):
    path = tmp_path / "table.csv"
    path.write_bytes(content.encode())
    if ours:
        export.place(path, [], replace=False)
    else:
        with pytest.raises(EsxparseError):
            export.place(path, [], replace=False)


def test_whole_numbers_have_no_decimals_in_a_published_table():
    frame = pl.DataFrame(
        {"vms": [1024], "runs": [2048], "iops": [12345.678], "lost": pl.Series([None], dtype=pl.Int64)}
    )
    made = export.great_table(frame, ["vms"], "t", "s", ["<n>"], {}).as_raw_html()
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", made)
    assert cells[2:6] == ["1024", "2,048", "12,350", ABSENT]
    assert "&lt;n&gt;" in made


@pytest.mark.parametrize(
    ("release", "guess", "fits"),
    [
        ("6.7", "6.7 or later", True),
        ("6.5", "6.7 or later", False),
        ("7.0", "6.7 or later", True),
        ("6.10", "6.7 or later", True),
        ("5.5", "6.0 or 5.x", True),
        ("4.1", "6.0 or 5.x", False),
        ("4.1", "5.x or earlier", True),
        ("5.1", "5.x or earlier", True),
        ("6.0", "5.x or earlier", False),
        ("6.0", "6", True),
        ("unknown", "6.5", True),
    ],
)
def test_a_release_fits_what_the_capture_betrays(release, guess, fits):
    told = [("esxtop", {"esxi_release": guess}), ("hardware", {"esxi_release": release})]
    found, against = facts.together(told)
    assert found["esxi_release"] == release
    assert bool(against) is not fits


@pytest.mark.parametrize(
    ("name", "first", "second", "same"),
    [
        ("host_name", "esx-07", "ESX-07.lab.example", True),
        ("host_name", "esx-07.a", "esx-08.a", False),
        ("mhz", 2400.0, 2424.24, True),  # by one in a hundred of the larger
        ("mhz", 2400.0, 2425.0, False),
        ("memory_mib", 1000.0, 990.0, True),
        ("memory_mib", 989.0, 1000.0, False),
        ("cores", 16, 17, False),
    ],
)
def test_facts_that_are_nearly_the_same_do_not_contradict(name, first, second, same):
    found, against = facts.together([("one", {name: first}), ("other", {name: second})])
    assert found == {name: first}
    assert (against == []) is same


HOST = {"cpus": 36, "cores": 18, "numa_nodes": 4, "memory_mib": 1000.0}


def test_a_node_is_an_even_share_of_the_host_or_what_numactl_says():
    assert facts.node(HOST, []) == (4, 250.0)
    assert facts.node(HOST | {"numa_nodes": 32}, [])[0] == 1
    assert facts.node({**HOST, "memory_mib": None}, []) == (4, None)
    assert facts.node({**HOST, "numa_nodes": None}, []) == (None, None)
    assert facts.node({**HOST, "cores": None}, []) == (None, None)
    # Eight CPUs of two threads in each node with CPUs; 32,108 MB is the smaller of these.
    listed = ex.open(studies.FORMATS / "numactl-hardware.txt")
    assert facts.node({"cpus": 16, "cores": 8}, [listed]) == (4, pytest.approx(32108))
    assert facts.node({"cores": 16}, [listed]) == (8, pytest.approx(32108))


def test_a_study_in_a_notebook_lists_levels_measures_and_its_first_runs(tmp_path):
    text = 'title = "Sweep"\nbaseline = { vms = 1 }\n'
    text += "".join(
        f"[[run]]\nvms = {vms}\nvalues = {{ iops = {1500.75 * vms}, orders = {vms}.5 }}\n" for vms in range(1, 13)
    )
    study = studies.computed(tmp_path, text)
    shown = dict(line.strip().split(": ", 1) for line in repr(study).splitlines()[1:])
    assert shown["label vms"] == "1, 2, 3, 4, 5, 6 and 6 more"
    assert shown["runs"] == "12"
    assert {"iops", "orders"} <= set(shown["measures"].split(", "))
    assert "vms" not in shown["measures"].split(", ")
    page = study._repr_html_()
    found = re.findall(r"<td[^>]*>([^<]*)</td>", page)
    # No decimals from 1,000 on; labels and whole numbers as they are.
    assert "1,501" in found
    assert "18,009" in found
    assert "The main columns of 12 runs" in page
    edge = "".join(f"[[run]]\nvms = {vms}\nvalues = {{ iops = {iops} }}\n" for vms, iops in ((1, 1000.0), (2, 999.9)))
    found = re.findall(r"<td[^>]*>([^<]*)</td>", studies.computed(tmp_path, edge)._repr_html_())
    assert {"1,000", "999.9"} <= set(found)


def test_headlines_come_in_the_order_in_which_people_read_them():
    """Rates and latencies, then what they cost the host, then waits and watts."""
    order = [
        "iops",
        "mb_per_s",
        "latency_mean_ms",
        "host_used_pct",
        "host_util_pct",
        "used_mhz_per_mbps",
        "ready_pct",
        "watts",
    ]
    frame = pl.DataFrame({"mode": ["a"]}).with_columns(pl.lit(1.0).alias(name) for name in reversed(order))
    assert export.chosen(frame, ["mode"], None) == ["mode", *order]
