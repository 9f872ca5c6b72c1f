"""How a study goes about its files: what is read once, what of a capture is kept, and in which order rows come."""

from __future__ import annotations

import compose
import polars as pl
import pytest
import studies

import esxparse as ex
from esxparse.formats.registry import open_recording
from esxparse.metrics import host
from esxparse.studies import capture, facts
from esxparse.studies.expand import expand
from esxparse.studies.opened import open_run
from esxparse.studies.runs import groups
from esxparse.studies.study_file import load

COLUMNS = [
    ("Memory", "Free MBytes"),
    ("Physical Cpu(0)", "% Util Time"),
    ("Physical Cpu(1)", "% Util Time"),
    ("Physical Cpu(1)", "% C1 Time"),
    ("Vcpu(7:db:100:vmx-vcpu-0:db)", "% Used"),
    ("Vcpu(7:db:101:vmx)", "% Used"),
    ("Vcpu(7:db:101:vmx)", "Numa Home Nodes"),
]


def rows(count):
    return [[f"{n}", f"{n}.5", "1", "2", f"{n}", "3", "-" if n % 2 else "0,1"] for n in range(count)]


def projected(path, names):
    return open_recording(path, numbers=names)


@pytest.mark.parametrize("names", [(), ("physical_cpu",), ("memory", "vcpu"), ("memory", "physical_cpu", "vcpu")])
def test_tables_whose_numbers_are_asked_for_have_them_and_the_others_have_their_keys(tmp_path, names):
    path = compose.write(tmp_path, compose.text(COLUMNS, rows(40))[:-9])
    whole, part = ex.open(path), projected(path, names)
    assert part.meta == whole.meta
    # What is odd in a table is said, whether its numbers are kept or not.
    assert part.notes == whole.notes
    assert len(part.notes) >= 2
    assert list(part) == list(whole)
    for name in whole:
        asked = whole[name].collect()
        keys = [column for column, kind in asked.schema.items() if kind != pl.Float64 and not column.endswith("_text")]
        assert part[name].collect().equals(asked if name in names else asked.select(keys)), name


def test_a_row_that_lost_its_middle_in_a_table_that_is_not_kept_is_no_sample_all_the_same(tmp_path):
    lines = compose.text(COLUMNS, rows(5)).splitlines()
    lines[3] = lines[3].replace('"2"', '"\0\0"')
    path = compose.write(tmp_path, "\n".join(lines) + "\n")
    assert projected(path, ["memory"]).meta["samples"] == ex.open(path).meta["samples"] == 4


def test_the_metrics_of_a_study_need_no_other_numbers_than_it_asks_for(busy_host_file):
    whole, part = ex.open(busy_host_file), projected(busy_host_file, capture.needed())
    # Of interrupts and power states nothing is asked.
    assert "vcpu" in capture.needed()
    assert "interrupt_cookie" not in capture.needed()
    asked = capture.metrics(whole.tables, "6.7")
    assert capture.metrics(part.tables, "6.7") == pytest.approx(asked, nan_ok=True)
    assert asked["ready_pct"] > 0
    assert asked["esxtop_watts"] > 0
    assert facts.of_capture(part) == facts.of_capture(whole)


def test_runs_of_one_capture_are_together_wherever_they_stand(tmp_path):
    for name in ("a", "b"):
        studies.write_capture(tmp_path / f"{name}.csv", samples=3)
    text = "".join(f'[[run]]\nx = {place}\nesxtop = "{name}.csv"\n' for place, name in enumerate("abab"))
    path = studies.manifest(tmp_path, text + "[[run]]\nx = 9\n[run.values]\nv = 1\n" * 2)
    assert groups(expand(load(path))) == [[0, 2], [1, 3], [4], [5]]


def test_a_sweep_recorded_in_one_capture_opens_it_once(tmp_path):
    studies.write_capture(tmp_path / "day.csv", samples=31, interval=10)
    text = 'esxtop = "day.csv"\nfio = { file = "fio.json" }\n'
    windows = ("08:31:00Z\nend = 2026-03-02T08:32:00Z", "08:33:00Z\nend = 2026-03-02T08:34:00Z")
    studies.write_fio(tmp_path / "fio.json")
    path = studies.manifest(
        tmp_path,
        "".join(
            f"[[run]]\nvms = {place}\n{text}[run.window]\nstart = 2026-03-02T{window}\n"
            for place, window in enumerate(windows)
        ),
    )
    kept = {}
    first, second = (open_run(run, kept) for run in expand(load(path)))
    assert first.recordings["esxtop"][0] is second.recordings["esxtop"][0]
    assert first.span.end < second.span.start
    found = studies.study(path)
    whole = ex.open(tmp_path / "day.csv")
    for row, opened in zip(studies.rows(found), (first, second), strict=True):
        cut = {name: table.filter(opened.span.inside()) for name, table in whole.tables.items()}
        assert row["samples"] == 6
        assert row["host_used_pct"] == capture.host_use(host.cpu(cut)).collect()["host_used_pct"].item()


def test_options_that_differ_make_another_recording_of_the_same_file(tmp_path):
    content = compose.text(COLUMNS, rows(3)) + compose.text(list(reversed(COLUMNS))[:2], [["1", "2"]] * 5, step=60)
    compose.write(tmp_path, content, "glued.csv")
    text = "".join(f'[[run]]\nesxtop = {{ file = "glued.csv", segment = {place} }}\nx = {place}\n' for place in (1, 2))
    kept = {}
    first, second = (open_run(run, kept) for run in expand(load(studies.manifest(tmp_path, text))))
    assert (first.recordings["esxtop"][0].meta["samples"], second.recordings["esxtop"][0].meta["samples"]) == (3, 5)


def test_rows_notes_and_progress_are_in_the_order_of_the_manifest(tmp_path):
    for name in ("a", "b"):
        studies.write_capture(tmp_path / f"{name}.csv", samples=13, seed=ord(name))
    names = ["a", "gone", "b", "a", "gone", "b"]
    text = "".join(f'[[run]]\nx = {place}\nesxtop = "{name}.csv"\n' for place, name in enumerate(names))
    told = []
    found = studies.study(studies.manifest(tmp_path, text), progress=lambda *step: told.append(step))
    assert [row["x"] for row in studies.rows(found)] == list(range(6))
    assert [row["files"] for row in studies.rows(found)] == [
        None if name == "gone" else f"esxtop={name}.csv" for name in names
    ]
    values = [row["host_used_pct"] for row in studies.rows(found)]
    assert values[0] == values[3] != values[2] == values[5]
    assert [text.split(":")[1].strip()[:5] for text in studies.warnings(found) if "no file" in text] == [
        "run 2",
        "run 5",
    ]
    assert told[0][:2] == (0, 6)
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)


def test_what_nobody_foresaw_in_one_run_ends_the_study_and_not_in_silence(tmp_path, monkeypatch):
    studies.write_capture(tmp_path / "a.csv", samples=3)
    monkeypatch.setattr(capture, "metrics", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        studies.computed(tmp_path, '[[run]]\nesxtop = "a.csv"\n')
