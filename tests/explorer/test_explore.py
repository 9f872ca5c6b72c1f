"""Search, ranking, rows and panels of the explorer, against the raw cells of the capture."""

from __future__ import annotations

import gc
import json
import os
import re
import shutil
import statistics
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from urllib.request import urlopen

import polars as pl
import pytest
from lab_server import lab

import esxparse as ex
from esxparse import toml
from esxparse.cli import main
from esxparse.derived.tables import declared
from esxparse.explorer import counter_columns
from esxparse.explorer.code import cell
from esxparse.explorer.panel import PanelRequest, Values, panel

BUSY = ex.datasets_dir() / "busy-host" / "busy-host.csv"
NUMA = ex.datasets_dir() / "numa" / "study.toml"


def cells(raw, object_, instance, counter):
    name = next(one for one in raw if one.endswith(f"\\{object_}({instance})\\{counter}"))
    return [float(cell) for cell in raw[name]]


def test_a_counter_has_all_its_names(rec):
    for name in ("%RDY", "% Ready", "pct_ready", " % rdy "):
        assert ex.rows(rec, name).counter.column == "ready_pct"
    # A counter of groups stands for their VMs, and groups come before worlds.
    assert ex.rows(rec, "%RDY").counter.table == "vm"
    assert ex.rows(rec, "%RDY", table="group_cpu").counter.column == "pct_ready"
    assert ex.rows(rec, "ready time").counter.column == "ready_pct"
    assert ex.rows(rec, "DAVG/cmd").counter.table == "physical_disk_scsi_device"
    assert ex.rows(rec, "DAVG/cmd", table="physical_disk_adapter").counter.table == "physical_disk_adapter"


def test_what_a_vm_waited_is_told_per_vcpu_and_with_a_table_as_the_capture_has_it(rec, raw):
    ready = rec.top("%RDY", 20)
    worlds = [
        one
        for one in raw
        if one.endswith("\\% Ready") and "\\Vcpu(" in one and ":orders-app:" in one and ":vmx-vcpu-" in one
    ]
    per_vcpu = [statistics.fmean(float(raw[one][at]) for one in worlds) for at in range(len(raw[worlds[0]]))]
    row = ready.row(by_predicate=pl.col("name") == "orders-app", named=True)
    assert row["mean"] == pytest.approx(statistics.fmean(per_vcpu))
    assert row["max"] == pytest.approx(max(per_vcpu))
    assert row["unit"] == "% of one core, per vCPU"
    assert set(ready["name"]) == set(rec.meta["vms"])
    group = rec.top("%RDY", 20, table="group_cpu")
    row = group.row(by_predicate=pl.col("name") == "orders-app", named=True)
    assert row["max"] == pytest.approx(max(cells(raw, "Group Cpu", "22739:orders-app", "% Ready")))
    assert "system" in set(group["name"])


def test_average_latency_is_weighted_by_commands(rec, raw):
    device = "naa.60000970000120070001533030334101"
    of = [cells(raw, "Physical Disk SCSI Device", device, name)[1:] for name in (
        "Average Driver MilliSec/Command", "Commands/sec")]  # fmt: skip
    mean = sum(ms * commands for ms, commands in zip(*of, strict=True)) / sum(of[1])
    row = rec.top("DAVG/cmd").row(by_predicate=pl.col("name") == device, named=True)
    assert row["mean"] == pytest.approx(mean)
    assert row["mean"] != pytest.approx(statistics.fmean(of[0]), rel=0.01)


def test_rows_that_add_up_others_stay_out(rec):
    assert rec.top("LAT/rd", 30)["instance"].str.contains(":").all()
    assert "PCPU _Total" not in set(rec.top("PCPU UTIL", 30)["name"])
    assert len(rec.top("PCPU UTIL", 30)) == rec.meta["pcpus"]


@pytest.mark.parametrize(
    ("order", "first"), [("p95", "report-batch"), ("max", "report-batch"), ("variability", "orders-app")]
)
def test_the_order_of_a_ranking(rec, order, first):
    assert rec.top("%RDY", 1, order)["name"].item() == first


def test_search_finds_counters_by_name_before_meaning_and_instances(rec):
    found = rec.search("ready|co.?stop")
    counters = found.filter(pl.col("kind") == "counter")
    assert counters["name"].to_list()[:2] == ["%RDY", "%CSTP"]
    assert {"%MLMTD", "%RDY", "%CSTP"} <= set(counters["name"])
    assert rec.search("ORDERS")["kind"].unique().to_list() == ["instance"]
    assert len(rec.search()) > 300


@pytest.mark.parametrize(
    ("word", "first"),
    [
        ("latency", ["GAVG/cmd", "DAVG/cmd", "KAVG/cmd"]),
        ("Lat", ["GAVG/cmd", "DAVG/cmd", "KAVG/cmd"]),
        ("iops", ["CMDS/s", "CMDS/s"]),
        ("cpu", ["%USED"]),
        ("swap", ["SWR/s", "SWW/s"]),
        ("drops", ["%DRPRX", "%DRPTX"]),
        ("memory", ["free"]),
    ],
)
def test_search_begins_with_what_people_mean_by_a_word(rec, word, first):
    found = rec.search(word)["name"].to_list()
    for name, screen in zip(found, first, strict=False):
        assert screen in name, found[: len(first)]


def test_words_of_the_search_name_columns_of_derived_tables():
    known = {f"{table}.{column}" for table, columns in declared().items() for column in columns}
    for each in toml.beside(counter_columns.__file__, "words.toml")["search"]:
        assert set(each["columns"]) <= known, each["words"]


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda rec: rec.top("%RDI"), r"no counter '%RDI'; the nearest are %RDY"),
        (
            lambda rec: rec.top("%RDY", vm="orders"),
            r"no VM 'orders' in vm; did you mean 'orders-app'\? there are .*ledger-db",
        ),
        (lambda rec: rec.top("%RDY", table="vcpux"), r"no table 'vcpux'; did you mean 'vcpu'\? it has"),
        (lambda rec: rec.top("PCPU UTIL", vm="orders-app"), r"not given by VM; choose with instance="),
        (lambda rec: rec.top("%RDY", instance="("), r"'\(' is not a regular expression"),
        (lambda rec: rec.top("%RDY", instance="zzz"), r"no instance of vm has 'zzz'"),
        (lambda rec: rec.top("%RDY", order="p99"), r"unknown order 'p99'"),
        (lambda rec: rec.search("("), r"'\(' is not a regular expression"),
        (lambda rec: rec.plot("%RDY", n=20), r"at most 8 series"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(rec, ask, said):
    with pytest.raises(ex.EsxparseError, match=said):
        ask(rec)


def test_a_chart_names_counter_unit_and_who_is_left_out(rec):
    spec = rec.plot("%RDY", n=3).to_dict()
    assert spec["title"]["text"] == "ready time (%RDY) of VMs"
    assert "the 3 of 8 VMs with the highest p95" in str(spec["title"]["subtitle"])
    assert "% of one core, per vCPU" in str(spec)


def test_charts_in_jupyterlab_need_no_network(rec):
    alt = pytest.importorskip("altair")
    with alt.renderers.enable("default"):
        bundle = rec.plot("%RDY")._repr_mimebundle_()
    bundle = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.vegalite.v5+json" in bundle
    assert "text/html" not in bundle


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"start": 1773219720000.0, "end": 1773219810000.0},
        {"smooth": 3},
        {"difference": True},
        {"normalise": True},
        {"buckets": 20},
    ],
    ids=str,
)
@pytest.mark.parametrize(("counter", "table"), [("%RDY", "group_cpu"), ("DAVG/cmd", "physical_disk_scsi_device")])
def test_the_copied_code_has_the_numbers_of_the_panel(rec, counter, table, options):
    asked = PanelRequest.of({"counter": counter, "table": table, "n": 3, **options})
    answer = panel(Values([rec]), asked)
    made: dict[str, pl.DataFrame] = {}
    exec(cell([(rec.source, timedelta())], [(asked, answer)]), made)  # noqa: S102 (the code is what is tested)
    for one in answer["series"]:
        mine = made["data_1"].filter(pl.col("instance") == one["instance"])
        assert mine["time"].dt.epoch("ms").to_list() == one["time"]
        assert mine["value"].to_list() == pytest.approx(one["mean"], abs=1e-4, nan_ok=True)
        if "low" in mine.columns:
            assert mine["high"].to_list() == pytest.approx(one["high"], abs=1e-4)


def test_copied_code_leaves_a_series_of_zeros_as_it_is(rec):
    asked = PanelRequest.of({"counter": "%MLMTD", "table": "group_cpu", "n": 8, "normalise": True})
    answer = panel(Values([rec]), asked)
    assert any(set(one["mean"]) == {0.0} for one in answer["series"])
    made: dict[str, pl.DataFrame] = {}
    exec(cell([(rec.source, timedelta())], [(asked, answer)]), made)  # noqa: S102 (the code is what is tested)
    for one in answer["series"]:
        mine = made["data_1"].filter(pl.col("instance") == one["instance"])
        assert mine["value"].to_list() == pytest.approx(one["mean"], abs=1e-4)


@pytest.mark.needs("anywidget")
def test_copied_code_is_as_fine_as_what_the_page_draws(rec):
    app = ex.explore(rec, view={"panels": [{"counter": "%RDY", "table": "group_cpu", "n": 1}]})
    sent = []
    app.send = sent.append
    app._answer(app, {"ask": "panel", "id": 1, "panel": {**app.view["panels"][0], "buckets": 30}}, [])
    app._answer(app, {"ask": "code", "id": 2, "buckets": 30}, [])
    made: dict[str, pl.DataFrame] = {}
    exec(sent[1]["answer"]["code"], made)  # noqa: S102 (the code is what is tested)
    (shown,) = sent[0]["answer"]["series"]
    assert len(shown["time"]) <= 30
    assert made["data_1"]["time"].dt.epoch("ms").to_list() == shown["time"]


@pytest.mark.needs("anywidget")
def test_a_view_may_say_less_than_all(rec):
    assert ex.explore(rec, view={"smooth": 3}).view["panels"] == ex.explore(rec).view["panels"]


@pytest.mark.search
@pytest.mark.needs("anywidget")
def test_the_widget_answers_and_says_what_is_wrong(rec):
    app = ex.explore(rec)
    sent = []
    app.send = sent.append
    assert [one["name"] for one in app.presets][:2] == ["Ready", "Co-stop"]
    app._answer(app, {"ask": "panel", "id": 1, "panel": {"counter": "%RDY", "table": "group_cpu"}}, [])
    app._answer(app, {"ask": "panel", "id": 2, "panel": {"counter": "%RDI", "table": "group_cpu"}}, [])
    app._answer(app, {"ask": "findings", "id": 3}, [])
    app._answer(app, {"ask": "changes", "id": 4, "start": app.about["start"] + 120_000}, [])
    start, end = app.about["start"], app.about["end"]
    ready = sent[0]["answer"]
    # The counter of groups is drawn as that of their VMs, and asked for as such.
    assert (ready["counter"], ready["table"]) == ("ready_pct", "vm")
    first = {"counter": ready["counter"], "table": ready["table"], "instance": ready["series"][0]["instance"]}
    memory = {"counter": "free_mbytes", "table": "memory", "instance": "host"}
    for at, series in enumerate((first, memory, first | {"instance": "nobody"}), 5):
        app._answer(app, {"ask": "similar", "id": at, **series, "start": start, "end": end}, [])
    app._answer(app, {"ask": "similar", "id": 8, **first, "start": start, "end": start + 30_000}, [])
    free = {"counter": "free_mib", "table": "host", "instance": "host"}
    app._answer(app, {"ask": "similar", "id": 9, **free, "start": start, "end": end}, [])
    good, bad, findings, changes, alike, host, nobody, short, derived = (one["answer"] for one in sent)
    assert good["series"][0]["label"] == "report-batch"
    assert "nearest" in bad["error"]
    assert any("report-batch" in one["verdict"] for one in findings["findings"])
    assert len(changes["rows"]) == 12
    # The VM waits for its limit.
    assert {"max_limited_pct", "pct_max_limited"} <= {one["counter"] for one in alike["rows"]}
    assert min(abs(one["correlation"]) for one in alike["rows"]) > 0.9
    assert len(host["rows"]) == 12
    assert derived["rows"][0]["counter"] in {"free_mbytes", "other_mib", "nonkernel_mbytes"}
    assert "no series" in nobody["error"]
    assert "samples" in short["error"]


@pytest.mark.needs("anywidget")
def test_an_error_of_any_kind_is_answered_in_words(rec):
    app = ex.explore(rec)
    sent = []
    app.send = sent.append
    app._answer(app, {"ask": "panel", "id": 1, "panel": {"counter": "%RDY", "table": "group_cpu", "n": "five"}}, [])
    app._answer(app, {"ask": "nothing", "id": 2}, [])
    app._answer(app, {"id": 3}, [])
    assert [one["id"] for one in sent] == [1, 2, 3]
    assert sent[0]["answer"] == {"error": "n is a whole number, not 'five'"}
    assert sent[1]["answer"] == {"error": "KeyError: 'nothing'"}


@pytest.mark.needs("anywidget")
def test_the_explorer_follows_a_capture_that_grows(tmp_path):
    lines = BUSY.read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "growing.csv"
    path.write_text("".join(lines[:41]), encoding="utf-8")
    app = ex.follow(path)
    assert app.about["samples"] == 40
    assert app.every > 0
    assert not app._grown()
    with path.open("a", encoding="utf-8") as file:
        # The last line is half written.
        file.write("".join(lines[41:61]) + lines[61][:300])
    assert app._grown()
    assert app.about["samples"] == 60


@pytest.mark.search
@pytest.mark.needs("anywidget")
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_an_hour_of_following_takes_no_more_memory_files_or_threads(tmp_path):
    """1,800 samples, as every 2 s for an hour, and four more at each look."""
    lines = BUSY.read_text(encoding="utf-8").splitlines(keepends=True)
    names = lines[0].split('","')
    kept = [0, *(at for at, name in enumerate(names) if "Memory" in name or "Physical Cpu(_Total)" in name)]
    narrow = ['"' + '","'.join(line.strip().strip('"').split('","')[at] for at in kept) + '"\n' for line in lines]
    path = tmp_path / "growing.csv"
    path.write_text(narrow[0] + narrow[1], encoding="utf-8")
    begin = datetime(2026, 3, 11, 9, tzinfo=UTC)
    app = ex.follow(path)

    def taken() -> tuple[int, int, int]:
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return (
            pages * os.sysconf("SC_PAGESIZE") >> 20,
            len(list(Path("/proc/self/fd").iterdir())),
            threading.active_count(),
        )

    seen = []
    for at in range(1, 1801):
        time = begin + timedelta(seconds=2 * at)
        row = narrow[1 + at % (len(narrow) - 1)].partition('",')[2]
        with path.open("a", encoding="utf-8") as file:
            file.write(f'"{time:%m/%d/%Y %H:%M:%S}",{row}')
        if at % 4 == 0:
            assert app._grown()
        if at % 300 == 0:
            seen.append(taken())
    assert app.about["samples"] == 1801
    (first, files, threads), *_, (last, files_at_end, threads_at_end) = seen[1:]
    # The numbers themselves: 1,200 rows more.
    assert last - first < 40, seen
    assert (files_at_end, threads_at_end) == (files, threads), seen


@pytest.mark.needs("anywidget")
def test_a_followed_file_that_grows_while_it_is_read_is_read_again(tmp_path, monkeypatch):
    lines = BUSY.read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "growing.csv"
    path.write_text("".join(lines[:11]), encoding="utf-8")
    module = import_module("esxparse.explorer.app")
    read = module.as_recording

    def slow(file):
        found = read(file)
        if file == path:
            with path.open("a", encoding="utf-8") as more:
                more.write(lines[11])
        return found

    with monkeypatch.context() as patched:
        patched.setattr(module, "as_recording", slow)
        app = ex.follow(path)
    assert app.about["samples"] == 10
    assert app._grown()
    assert app.about["samples"] == 11


@pytest.mark.search
@pytest.mark.needs("anywidget")
def test_a_followed_file_that_is_replaced_removed_or_goes_on_elsewhere(tmp_path):
    lines = BUSY.read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "esx.csv"
    path.write_text("".join(lines[:11]), encoding="utf-8")
    app = ex.follow(path)
    # Rotated: another file of the same name and size.
    new = tmp_path / "new.csv"
    new.write_text(path.read_text(encoding="utf-8").replace("esx-07", "esx-08"), encoding="utf-8")
    new.replace(path)
    assert app._grown()
    assert app.about["title"] == "esx-08.lab.example"
    path.unlink()
    with pytest.raises(ex.EsxparseError, match=r"esx.csv cannot be followed: No such file"):
        app._grown()
    path.write_text("".join(lines[:3]), encoding="utf-8")
    assert app._grown()
    assert app.about["samples"] == 2
    gap = {"before": "esx.csv", "file": "esx-2.csv", "from": "2026-03-11T09:00:10Z", "to": "2026-03-11T09:01:10Z"}
    log = [{"collector": "esxparse collect host"}, {"gap": {**gap, "why": "the connection was cut"}}]
    (tmp_path / "collected.jsonl").write_text("\n".join(map(json.dumps, log)), encoding="utf-8")
    with pytest.raises(ex.EsxparseError, match=r"esx.csv has ended: .* goes on with other columns in esx-2.csv"):
        app._grown()


@pytest.mark.search
@pytest.mark.needs("anywidget")
def test_what_has_no_times_is_shown_as_charts_and_tables(rec):
    formats = ex.datasets_dir() / "formats"
    results = ex.explore(formats / "fio-json-plus.json")
    titles = ["IOPS of each test", "Bandwidth of each test, MB/s", "Mean latency of each test, ms"]
    assert [chart.to_dict()["title"]["text"] for chart in results.charts] == titles
    assert any("percentiles" in page and "table" in page for page in results.tables)
    (logged,) = ex.explore(formats / "fio-mixed_bw.1.log").charts
    assert "Bandwidth" in str(logged.to_dict()["title"])
    study = ex.explore(NUMA)
    assert len(study.charts) == 2
    assert "numa_local_pct" in study.of.report_section.values
    # Times without numbers over them: limits, for instance.
    times = pl.LazyFrame({"time": [datetime(2026, 3, 11, tzinfo=UTC)], "limit": ["420 W"]})
    assert ex.explore(replace(rec, format="ribcl", tables={"limits": times})).charts == []
    with pytest.raises(ex.EsxparseError, match="explore it alone"):
        ex.explore(rec, formats / "fio-json-plus.json")
    with pytest.raises(ex.EsxparseError, match="nothing to follow"):
        ex.follow(formats / "fio-json-plus.json")


@pytest.mark.needs("anywidget")
def test_what_jupyterlab_opens_says_in_a_line_what_is_wrong(tmp_path, capsys):
    from esxparse.explorer.lab import present  # noqa: PLC0415

    path = tmp_path / "people.csv"
    path.write_text("name,age\nAnn,30\n", encoding="utf-8")
    present(str(path))
    assert "is not in a format esxparse reads" in capsys.readouterr().out


@pytest.mark.needs("jupyterlab")
def test_a_file_is_told_by_its_beginning_before_it_is_opened(tmp_path):
    from esxparse.explorer.server import kind  # noqa: PLC0415

    datasets = ex.datasets_dir()
    for path, expected in {
        datasets / "busy-host" / "busy-host.csv": "recording",
        datasets / "numa" / "wide-5.0.csv.bz2": "recording",
        datasets / "formats" / "fio-json-plus.json": "recording",
        datasets / "numa" / "study.toml": "study",
        datasets / "numa" / "scenario.toml": None,
        datasets / "numa": None,
        tmp_path / "none.csv": None,
    }.items():
        assert kind(path) == expected, path
    others = {"a.csv": "name,age\nAnn,30\n", "a.json": '{"a": 1}', "a.toml": 'run = "x"', "b.toml": "=", "a.gz": "x"}
    others |= {"empty.csv": "", "empty.toml": "", "other.toml": "[[run]]\ncommand = 'make'\n[tool]\n"}
    for name, text in others.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert kind(tmp_path / name) is None, name
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    assert kind(tmp_path / "bytes.toml") is None
    shutil.copy(datasets / "numa" / "study.toml", tmp_path / "sweep.toml")
    assert kind(tmp_path / "sweep.toml") == "study"


@pytest.mark.search
@pytest.mark.needs("jupyterlab")
def test_the_lab_starts_on_its_notebook_with_options_of_jupyterlabs_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ("esxparse", "lab", str(BUSY))
    with (
        lab(tmp_path, command=command, prefix="--jupyter=") as address,
        urlopen(f"http://{address.removeprefix('http://')}/api/contents/busy-host.ipynb") as answer,
    ):
        assert "ex.explore(" in answer.read().decode()


@pytest.mark.search
@pytest.mark.needs("anywidget")
def test_a_notebook_for_the_lab_runs_and_is_not_written_over(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["lab", str(BUSY), "--no-start"]) == 0
    path = tmp_path / "busy-host.ipynb"
    sources = [cell["source"] for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]
    made: dict[str, object] = {}
    for source in sources[1:]:
        exec(source, made)  # noqa: S102 (the notebook is what is tested)
    path.write_text("kept", encoding="utf-8")
    assert main(["lab", str(BUSY), "--no-start"]) == 0
    assert "as it is" in capsys.readouterr().out
    assert path.read_text(encoding="utf-8") == "kept"
    assert main(["lab", str(tmp_path / "none.csv"), "--no-start"]) == 1
    assert not (tmp_path / "none.ipynb").exists()


@pytest.mark.needs("anywidget")
def test_the_notebook_of_another_capture_of_the_same_name_is_not_opened(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        shutil.copy(BUSY, tmp_path / name / "x.csv")
    assert main(["lab", "a/x.csv", "--no-start"]) == 0
    first = (tmp_path / "x.ipynb").read_bytes()
    assert main(["lab", "b/x.csv", "--no-start"]) == 1
    said = capsys.readouterr().err
    assert f"x.ipynb is the notebook of {tmp_path / 'a' / 'x.csv'}: name another with -o" in said
    assert main(["lab", "a/x.csv", "b/x.csv", "--no-start"]) == 1
    assert main(["lab", "b/x.csv", "-o", "b.ipynb", "--no-start"]) == 0
    assert main(["lab", "a/x.csv", "--no-start"]) == 0
    assert (tmp_path / "x.ipynb").read_bytes() == first
    assert str(tmp_path / "b" / "x.csv") in (tmp_path / "b.ipynb").read_text(encoding="utf-8")


@pytest.mark.needs("anywidget")
def test_what_no_notebook_can_be_made_of_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copy(BUSY, "x.csv")
    for arguments, said in (
        (["."], ". is a directory of 1 esxtop: name a capture in it"),
        (["x.csv", "-o", "x.csv"], "x.csv is not the name of a notebook: end it in .ipynb"),
        (["x.csv", "-o", "."], ". is not the name of a notebook"),
        (["x.csv", "-o", "none/x.ipynb"], f"none/x.ipynb cannot be written: there is no directory {tmp_path}/none"),
        (["https://me:secret@esx/x.csv"], "https://***@esx/x.csv cannot be read again later: write it to a file"),
        (["-"], "- cannot be read again later"),
        ([str(NUMA), "x.csv"], f"{NUMA} is a study: explore it alone"),
    ):
        assert main(["lab", *arguments, "--no-start"]) == 1
        error = capsys.readouterr().err
        assert error.startswith(f"esxparse: {said}")
        assert error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


@pytest.mark.search
@pytest.mark.needs("anywidget")
def test_a_study_has_a_notebook_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["lab", str(NUMA), "--no-start"]) == 0
    cells = json.loads((tmp_path / "study.ipynb").read_text(encoding="utf-8"))["cells"][1:]
    shown = {}
    said = []
    for one in cells:
        *lines, last = one["source"].splitlines()
        exec("\n".join(lines), shown)  # noqa: S102
        said.append(eval(last, shown))  # noqa: S307
    study, explored, runs = said
    assert explored.of is study
    assert explored.charts
    assert runs.equals(study.runs.collect())


@pytest.mark.needs("anywidget")
def test_the_title_of_a_notebook_is_the_name_of_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(BUSY, "_*a*_ <b> #1.csv")
    assert main(["lab", "_*a*_ <b> #1.csv", "--no-start"]) == 0
    title = json.loads((tmp_path / "_*a*_ <b> #1.ipynb").read_text(encoding="utf-8"))["cells"][0]["source"]
    assert title.splitlines()[0] == r"# \_\*a\*\_ \<b\> \#1.csv"


def test_the_command_line_helps(capsys):
    with pytest.raises(SystemExit) as left:
        main([])
    assert left.value.code == 0
    assert "COMMAND" in capsys.readouterr().out
    with pytest.raises(SystemExit) as left:
        main(["reprot", "x"])
    assert left.value.code == 2
    assert "did you mean 'report'?" in capsys.readouterr().err
    for words, near in (
        (["collect", "hots"], "host"),
        (["lake", "ad"], "add"),
        (["collect", "power", "--auth", "sesion"], "session"),
    ):
        with pytest.raises(SystemExit) as left:
            main(words)
        assert left.value.code == 2
        assert f"did you mean '{near}'? choose from" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "command", "near"),
    [
        (["lake", "ls", "--lake", "x", "--hots", "a"], "esxparse lake ls", "--host"),
        (["info", "x.csv", "--lzy"], "esxparse info", "--lazy"),
        (["--verson"], "esxparse", "--version"),
    ],
)
def test_an_unknown_option_shows_the_usage_of_its_command_and_the_nearest(words, command, near, capsys):
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith(f"usage: {command} [")
    assert re.search(rf"^{command}: error: unrecognized arguments: .*did you mean '{near}'", said, re.MULTILINE)


def test_a_table_is_shown_as_rows_with_units_and_what_is_made_of_it_as_polars_does(rec):
    shown = rec["vcpu"]._repr_html_()
    assert "%RDY, % of one core" in shown
    assert "vmx-vcpu-0" in shown or "idle" in shown
    assert "query" not in shown.casefold()
    made = rec["vcpu"].filter(pl.col("pct_ready") > 1)
    assert made.collect().equals(rec.tables["vcpu"].filter(pl.col("pct_ready") > 1).collect())
    assert pl.concat([rec["vcpu"], rec["vcpu"]]).select(pl.len()).collect().item() == 2 * 83 * 121


def test_a_study_is_shown_by_what_it_is_of():
    study = ex.study(ex.datasets_dir() / "docker" / "study.toml")
    shown = repr(study)
    assert "  runs: " in shown
    assert "label platform: native, vm" in shown
    assert len(shown) < 1500
    page = study._repr_html_()
    assert 'class="esxparse-sort"' in page
    assert "<script" not in page
    assert len(page) < 40_000


@pytest.mark.needs("anywidget")
@pytest.mark.parametrize(
    "name",
    ["iperf3-bidir.json", "ioping-objects.json", "netperf-classic.txt", "turbostat-samples.txt", "vmstat-wide.txt"],
)
def test_the_explorer_begins_with_a_counter_over_time_and_knows_its_span(name):
    app = ex.explore(ex.datasets_dir() / "formats" / name)
    (asked,) = app.requests()
    answer = panel(app.values, asked)
    drawn = [time for one in answer["series"] for time in one["time"]]
    # What is drawn is in whole milliseconds.
    assert int(app.about["start"]) <= min(drawn) <= max(drawn) <= app.about["end"]
    assert all("time" in app.recordings[0][one["table"]].collect_schema() for one in app.counters)
    assert asked.counter not in {"interval_s", "elapsed_s", "start_s", "seconds", "sample", "report", "run"}
    assert app.about["samples"] in {None, len(set(drawn))}


@pytest.mark.needs("anywidget")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"align": "ofset"}, "unknown align 'ofset': did you mean 'offset'"),
        ({"view": {"panel": []}}, "a view has no 'panel': did you mean 'panels'"),
        ({"view": {"panels": ["%RDY"]}}, "a panel of a view is .*, not '%RDY'"),
        ({"view": {"panels": [{"counter": "%RYD"}]}}, "no counter '%RYD'; the nearest are %RDY"),
        ({"view": {"range": ["09:05", "09:06"]}}, "the range of a view is two times, not"),
    ],
)
def test_an_option_of_the_explorer_that_is_not_there_is_refused(rec, options, said):
    with pytest.raises(ex.EsxparseError, match=said):
        ex.explore(rec, **options)


@pytest.mark.needs("anywidget")
def test_a_view_may_be_written_by_hand(rec):
    (finding,) = [one for one in rec.findings() if one.trouble == "cpu.contention"]
    view = {"panels": [{"counter": "%RDY"}], "range": (finding.start, finding.end)}
    (asked,) = ex.explore(rec, view=view).requests()
    assert (asked.table, asked.start, asked.end) == ("vm", finding.start, finding.end)
    with pytest.raises(ex.EsxparseError, match="smooth is a whole number, not 'x'"):
        ex.explore(rec, view={"smooth": "x"}).requests()


@pytest.mark.parametrize("wrong", [None, 5, b"%RDY"], ids=str)
def test_what_is_no_text_is_refused_in_words(rec, wrong):
    for asked in (rec.top, rec.plot, lambda name: ex.rows(rec, name)):
        with pytest.raises(ex.EsxparseError, match="the name of a counter is text, not"):
            asked(wrong)
    with pytest.raises(ex.EsxparseError, match="a regular expression is text, not"):
        rec.search(wrong)


def test_a_wrong_number_or_vm_is_refused_in_words(rec):
    for asked in (rec.top, rec.plot):
        for n in (0, -1, 1.5, "3", None):
            with pytest.raises(ex.EsxparseError, match="a ranking needs n of 1 or more, not"):
                asked("%RDY", n=n)
        with pytest.raises(ex.EsxparseError, match="the name of a VM is text, not 5"):
            asked("%RDY", vm=5)
    assert rec.top("%RDY", vm=rec.top("%RDY", n=2)["name"]).height == 2


@pytest.mark.needs("anywidget")
def test_a_view_without_panels_has_no_code(rec):
    with pytest.raises(ex.EsxparseError, match="the view has no panel"):
        ex.explore(rec, view={"panels": []}).code()


@pytest.mark.needs("anywidget")
def test_what_changed_in_the_whole_time_is_told_for_when_most_changed_together(rec):
    app = ex.explore(rec)
    sent = []
    app.send = sent.append
    app._answer(app, {"ask": "changes", "id": 1, "start": None}, [])
    assert sent[0]["answer"]["at"] == ex.changes(rec).at.timestamp() * 1000
    assert len(sent[0]["answer"]["rows"]) == 12


@pytest.mark.needs("anywidget")
def test_a_name_that_objects_of_javascript_have_is_drawn(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text(BUSY.read_text(encoding="utf-8").replace("report-batch", "constructor"), encoding="utf-8")
    app = ex.explore(path, view={"panels": [{"counter": "%RDY", "table": "group_cpu", "n": 1}]})
    (asked,) = app.requests()
    (one,) = panel(app.values, asked)["series"]
    assert (one["full"], one["instance"]) == ("constructor", "constructor")
    assert one["label"] != "constructor"
    exec(app.code(), {})  # noqa: S102 (the code is what is tested)


def test_times_of_a_table_are_short_and_their_zone_is_in_the_head(rec):
    page = rec["memory"]._repr_html_()
    assert "time<br><small>UTC</small>" in page
    assert ">2026-03-11 09:00:00</td>" in page
