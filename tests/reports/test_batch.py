"""Batches: what is made of which inputs, under which names, by whom, and what a stop leaves."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import browser
import compose
import nbformat
import polars as pl
import psutil
import pytest

import esxparse as ex
from esxparse.cli import main
from esxparse.diagnosis import cases, rules
from esxparse.diagnosis.areas import AREAS, area_of
from esxparse.reports import batch_queue, batch_state, facts, forks, index, pick
from esxparse.reports.batch_items import Item, plan
from esxparse.reports.batch_queue import Bounds
from esxparse.shipped import templates_dir

EASY = Bounds(60, 1 << 34)


def planned(inputs, output, template="auto", known=None):
    return plan(inputs, template, {}, {}, known or {}, Path(output))


def names(found):
    return [one.name for one in found.items]


@pytest.mark.parametrize(
    ("formats", "template"),
    [
        ({"esxtop"}, "host_health"),
        ({"esxtop", "redfish"}, "power_profile"),
        ({"ipmi"}, "power_profile"),
        ({"fio"}, "storage_benchmark"),
        ({"fio", "iometer", "diskspd"}, "storage_benchmark"),
        ({"perf_stat"}, "hardware_events"),
        ({"vmkperf", "perf_stat"}, "hardware_events"),
        ({"study"}, "study"),
        ({"iostat"}, None),
        ({"esxtop", "fio"}, None),
    ],
)
def test_a_template_is_picked_by_what_the_inputs_are(formats, template):
    assert pick.reading(formats) == template


def test_the_bundled_recordings_are_told(busy_host_file):
    datasets = ex.datasets_dir()
    assert pick.picked([busy_host_file]) == "host_health"
    assert pick.picked([datasets / "mmu"]) == "mmu"
    assert pick.picked([datasets / "case-alignment" / "study.toml"]) == "case_study"
    with pytest.raises(ex.EsxparseError, match="no template can be chosen for standard input"):
        pick.picked(["-"])


def test_reports_of_inputs_that_one_template_takes_together_are_one(busy_host_file):
    samples = ex.datasets_dir() / "formats"
    fio = [str(samples / "fio-json-plus.json")] * 2
    assert pick.grouped(fio) == [("storage_benchmark", fio)]
    mixed = [*fio, str(busy_host_file)]
    assert [template for template, _ in pick.grouped(mixed)] == ["storage_benchmark"] * 2 + ["host_health"]


def test_one_input_that_no_template_reads_has_a_report_of_its_own_that_fails(tmp_path):
    samples = ex.datasets_dir() / "formats"
    fio = [str(samples / "fio-json-plus.json"), str(samples / "iometer-1.1.0.csv")]
    (tmp_path / "notes.txt").write_text("made at night")
    others = [str(tmp_path / "notes.txt"), str(tmp_path / "none.csv"), str(samples / "vmx-database.vmx")]
    assert pick.grouped([others[0], *fio, *others[1:]]) == [
        ("storage_benchmark", fio),
        *(("host_health", [path]) for path in others),
    ]
    with pytest.raises(ex.EsxparseError, match="not in a format esxparse reads"):
        pick.grouped(others[:1])


def test_what_begins_as_a_capture_is_reported_without_a_second_look(tmp_path, busy_host_file):
    saved = tmp_path / "resaved.csv"
    saved.write_text(busy_host_file.read_text(encoding="utf-8")[:9000], encoding="utf-16")
    iometer = ex.datasets_dir() / "formats" / "iometer-1.1.0.csv"
    for path, template in ((busy_host_file, "host_health"), (saved, "auto"), (iometer, "auto")):
        assert pick.usual([path]) == template
    for path in ("far.csv.gz", "https://host/day.csv", "no.csv", "-"):
        assert pick.usual([path]) == "host_health"
    assert pick.usual([busy_host_file, iometer]) == "auto"


@pytest.fixture
def night(tmp_path, busy_host_file):
    """A directory of captures as they lie about: two of one name, a study, strangers, one that is damaged."""
    head = busy_host_file.read_bytes()[:620_000]
    for name in ("a/cap.csv", "b/CAP.csv", "esx01.csv"):
        (tmp_path / "night" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "night" / name).write_bytes(head[: head.rfind(b"\n") + 1])
    (tmp_path / "night" / "broken.csv").write_bytes(b"\x00\x01 no capture")
    (tmp_path / "night" / "readme.txt").write_text("made at night")
    (tmp_path / "night" / "study").mkdir()
    (tmp_path / "night" / "study" / "study.toml").write_text('title = "t"\n[[run]]\nfiles = {esxtop = "x.csv"}\n')
    return tmp_path / "night"


def test_a_directory_gives_an_item_for_each_capture_and_study_and_loses_nothing(night, tmp_path):
    found = planned([night], tmp_path / "out")
    told = {one.name: (one.template, bool(one.why)) for one in found.items}
    assert told == {
        "a-cap": ("host_health", False),
        "b-CAP": ("host_health", False),
        "esx01": ("host_health", False),
        "broken": ("auto", True),
        "study": ("study", False),
    }
    assert [(Path(path).name, why) for path, why in found.left_out] == [
        ("readme.txt", "in no format that esxparse reads")
    ]


def test_names_stay_when_others_come(night, tmp_path):
    first = planned([night / "a" / "cap.csv"], tmp_path)
    known = {one.key: one.name for one in first.items}
    assert names(first) == ["cap"]
    both = planned([night / "a" / "cap.csv", night / "b" / "CAP.csv"], tmp_path, known=known)
    assert names(both) == ["cap", "b-CAP"]
    assert names(planned([night / "a" / "cap.csv"] * 2, tmp_path)) == ["cap"]


def test_a_named_item_and_one_of_several_files_keep_their_names(night, tmp_path):
    (night / "batch.toml").write_text('[[item]]\ninput = "a/cap.csv"\nname = "first"\n')
    sample = (ex.datasets_dir() / "formats" / "fio-json-plus.json").read_bytes()
    for name in ("one.json", "two.json"):
        (night / name).write_bytes(sample)

    def again(known):
        found = planned([night / "batch.toml", *sorted(night.glob("*.json"))], tmp_path / "out", known=known)
        assert names(found) == ["first", "night-fio"]
        return {one.key: one.name for one in found.items}

    known = again(again({}))
    (night / "three.json").write_bytes(sample)
    again(known)


def test_no_name_is_that_of_the_index(tmp_path, busy_host_file):
    for name in ("x/index.csv", "y/index.csv", "summary.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(busy_host_file.read_bytes()[:620_000])
    assert not {"index", "summary"} & set(names(planned([tmp_path], tmp_path / "out")))


def test_a_manifest_names_items(night, tmp_path):
    (night / "batch.toml").write_text(
        'template = "troubleshooting"\n[[item]]\ninput = "a/cap.csv"\nname = "first.host"\n'
        '[[item]]\ninputs = ["b/CAP.csv"]\ntemplate = "auto"\nparameters = {profile = "strict"}\n'
    )
    first, second = planned([night / "batch.toml"], tmp_path / "out").items
    assert (first.name, first.template, first.inputs) == ("first.host", "troubleshooting", (str(night / "a/cap.csv"),))
    assert (second.name, second.template, second.parameters) == ("CAP", "host_health", {"profile": "strict"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[item]]\ninputs = "a.csv"\n', 'toml:2: inputs is "a.csv"; write a list'),
        ('[[item]]\ninput = "a.csv"\ntempalte = "x"\n', 'toml:3: unknown key "tempalte"; .*"template"'),
        ('other = 1\n[[item]]\ninput = "a.csv"\n', 'toml:1: unknown key "other"; use one of item, template'),
        ("item = [1]\n", r"toml:1: item is 1; write a table: \[\[item\]\] above its keys"),
        ('[[item]]\ninput = "a.csv"\ntemplate = "none"\n', "unknown template 'none'"),
        ('[[item]]\ninput = "a.csv"\nparameters = 1\n', "toml:3: parameters is 1; write a table"),
    ],
)
def test_a_wrong_manifest_is_one_clear_error(tmp_path, text, message):
    (tmp_path / "batch.toml").write_text(text)
    with pytest.raises(ex.EsxparseError, match=message):
        planned([tmp_path / "batch.toml"], tmp_path / "out")


def job(what):
    """A job of the queue, by its name."""
    if what == "error":
        raise ex.EsxparseError("no such file: bring it")
    if what == "bug":
        raise ValueError("first line\nsecond")
    if what == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if what.startswith("sleeps"):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"], start_new_session=True)
        Path(what.partition(" ")[2]).write_text(str(child.pid))
        time.sleep(100)
    if what == "eats":
        # Until it is killed: what it began with is shared, and counts in part.
        held = []
        while len(held) < 100:
            held.append(bytearray(b"x") * (50 << 20))
            time.sleep(0.02)
        return len(held)
    return what * 100_000


def ended(pid):
    """Whether a process ends in the next ten seconds; a zombie has."""
    for _ in range(200):
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False


def ran(jobs, bounds=EASY, workers=2, **more):
    told = []
    batch_queue.run(jobs, job, workers, bounds, told.append, **more)
    assert sum("began" in event for event in told) >= len([one for one in told if "began" not in one])
    return {jobs[event["job"]].partition(" ")[0]: event for event in told if "began" not in event}


@pytest.mark.skipif(not forks.FORKS, reason="a job of a test module needs fork")
def test_one_failure_never_stops_the_rest():
    told = ran(["good", "error", "bug", "dies", "last"])
    assert told["good"]["result"] == "good" * 100_000
    assert told["last"]["result"] == "last" * 100_000
    assert told["error"]["why"] == "no such file: bring it"
    assert told["bug"]["why"] == "ValueError: first line"
    assert told["dies"]["why"] == "its process ended (signal 9)"


@pytest.mark.skipif(not forks.FORKS, reason="a job of a test module needs fork")
def test_a_job_past_its_time_is_killed_with_all_below_it(tmp_path):
    pid = tmp_path / "pid"
    told = ran([f"sleeps {pid}", "good"], Bounds(1, 1 << 34))
    assert told["sleeps"]["why"] == "it took more than 1 s: raise --timeout"
    assert "result" in told["good"]
    assert ended(int(pid.read_text()))


@pytest.mark.search
@pytest.mark.skipif(not forks.FORKS, reason="a job of a test module needs fork")
def test_a_job_past_its_memory_is_killed():
    held = batch_queue._resident(os.getpid(), "pss")
    told = ran(["eats", "good"], Bounds(60, held + (200 << 20)))
    assert "of memory: raise --memory" in told["eats"]["why"]
    assert "result" in told["good"]


@pytest.mark.skipif(not forks.FORKS, reason="a job of a test module needs fork")
def test_a_queue_that_is_ended_kills_what_runs(tmp_path):
    pid = tmp_path / "pid"
    assert ran([f"sleeps {pid}", "good"], workers=1, ended=lambda: pid.exists() and pid.read_text() != "") == {}
    assert ended(int(pid.read_text()))


def test_a_page_is_trusted_only_where_everything_holds(tmp_path):
    capture, page = tmp_path / "a.csv", tmp_path / "a.html"
    capture.write_text("1,2")
    page.write_text("<p>")
    asked = {"template": "host_health", "parameters": {}}
    state = {**asked, "files": batch_state.fingerprints([str(capture)]), "page": batch_state.sha256(page)}

    def holds(asked=asked):
        return batch_state.holds(state, asked, [str(capture)], page)

    assert holds()
    assert not holds({**asked, "parameters": {"profile": "strict"}})
    os.utime(capture, (1, 1))
    assert holds()
    capture.write_text("1,3")
    assert not holds()
    capture.write_text("1,2")
    page.write_text("<p>cut")
    assert not holds()
    page.unlink()
    assert not holds()
    assert not batch_state.holds({}, asked, [str(capture)], page)


def test_every_trouble_and_rule_has_an_area():
    every = {one.trouble for one in cases.load()} | set(rules.load("standard"))
    assert {one for one in every if area_of(one) is None} == {one for one in every if one.startswith("harmless.")}
    assert {area_of(one) for one in every} - {None} == set(AREAS)


def test_facts_of_the_busy_host(busy_host):
    found = ex.diagnose(busy_host)
    told = facts.facts([1, busy_host, found])
    assert told["areas"]["CPU"] == "critical"
    assert told["areas"]["Power"] == "ok"
    assert told["verdict"] == found.verdict
    assert len(told["findings"]) == len(found)
    whole = ex.metrics.host_cpu.imbalance(ex.metrics.host_cpu.pcpu(busy_host["physical_cpu"])).collect()
    assert sum(told["cpu_pct"]) / 48 == pytest.approx(whole["mean_pct"].mean(), rel=0.01)
    assert facts.facts([1]) == {}


HOSTILE = '<script>alert(1)</script>"&'


def drawn():
    """An index of three reports and a failure."""
    areas = dict.fromkeys(AREAS, "ok")
    bad = {"severity": "critical", "trouble": "cpu.limit", "confidence": 0.9, "entity": {"kind": "vm", "name": HOSTILE}}
    told = {
        "calm": {
            "facts": {"host": "calm", "areas": areas, "findings": [], "verdict": "Nothing found.", "cpu_pct": [1, 2]}
        },
        "hot": {
            "facts": {
                "host": HOSTILE,
                "areas": {**areas, "CPU": "critical"},
                "findings": [bad],
                "verdict": HOSTILE,
                "cpu_pct": [90, None, 80, 70],
            }
        },
        "disk": {"facts": {}},
        "lost": {"why": HOSTILE},
    }
    items = [Item((f"/x/{HOSTILE}.csv",), "host_health", name=name) for name in told]
    return index.page(items, told, [(HOSTILE.replace("/", "\\"), "unknown")])


def test_names_are_data_on_the_index():
    page = drawn()
    assert "<script>alert" not in page
    assert page.count("&lt;script&gt;alert(1)") >= 4
    assert page.index(">hot<") < page.index(">calm<") < page.index(">disk<")
    assert page.count("4 reports: 1 critical, 1 without troubles, 1 not judged, 1 failed<") == 2


def test_what_is_present_comes_before_what_stands_and_critical_before_both():
    """By name they would stand the other way round."""
    times = {"start": "2026-03-02T08:00:00+00:00", "end": "2026-03-02T09:00:00+00:00"}
    entity = {"kind": "vm", "name": "a"}
    since = {"standing": times["start"], "present": "2026-03-02T08:30:00+00:00"}
    told = {}
    for name, severity, kind in [
        ("a", "warning", "standing"),
        ("b", "warning", "present"),
        ("c", "critical", "standing"),
        ("d", "critical", "present"),
    ]:
        one = {"severity": severity, "trouble": "cpu.limit", "confidence": 0.9, "entity": entity, **times}
        told[name] = {"facts": {**times, "findings": [{**one, "start": since[kind]}], "verdict": name}}
    page = index.page([Item((f"/x/{name}.csv",), "host_health", name=name) for name in told], told)
    assert re.findall(r'\.html">(\w)</a>', page) == ["d", "c", "b", "a"]


@pytest.mark.search
def test_the_index_searches_and_sorts_and_asks_for_nothing(tmp_path, chromium):
    (tmp_path / "index.html").write_text(drawn())
    with browser.opened(chromium, tmp_path / "index.html") as seen:
        rows = "#items tbody tr:visible th a"
        assert seen.page.locator(rows).all_inner_texts() == ["hot", "calm", "disk"]
        seen.page.click("#items thead button:text('Report')")
        assert seen.page.locator(rows).all_inner_texts() == ["calm", "disk", "hot"]
        seen.page.click("#items thead button:text('CPU busy')")
        assert seen.page.locator(rows).all_inner_texts() == ["hot", "calm", "disk"]
        seen.page.fill("input[type=search]", "nothing FOUND")
        assert seen.page.locator(rows).all_inner_texts() == ["calm"]
        assert seen.page.inner_text(".ex-tools [role=status]") == "1 of 3 rows"
        assert len(seen.requests) == 1


@pytest.fixture
def marks(tmp_path):
    """A template that tells whether another report left something, and leaves it."""
    source = (
        "import builtins, os, sys\nfound = [hasattr(builtins, 'left'), 'LEFT' in os.environ, 'left' in sys.modules]\n"
        "builtins.left = sys.modules['left'] = os\nos.environ['LEFT'] = '1'\nprint('LEFT', found)\n"
        "print('CAPTURE', capture)"
    )
    cells = [
        nbformat.v4.new_code_cell('capture: str = ""  # path', metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell(source),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "marks.ipynb")
    return tmp_path / "marks.ipynb"


@pytest.mark.search
def test_a_batch_with_a_poisoned_input(night, tmp_path, marks, capsys):
    out = tmp_path / "new" / "out"
    command = ["batch", str(night), "-o", str(out), "--jobs", "1", "-t", str(marks)]
    (night / "study" / "study.toml").unlink()
    assert main(command) == 1
    said = capsys.readouterr()
    assert said.out.splitlines()[-1] == f"1 of 4 failed: broken; {out / 'index.html'}"
    assert "broken.csv is not in a format esxparse reads" in said.err
    index = (out / "index.html").read_text(encoding="utf-8")
    assert ">broken.csv is not in a format esxparse reads" in index
    assert str(tmp_path) not in index
    for name in ("a-cap", "b-CAP", "esx01"):
        text = (out / f"{name}.html").read_text()
        assert "LEFT [False, False, False]" in text
    assert str(night / "a" / "cap.csv") in (out / "a-cap.html").read_text()
    summary = pl.read_parquet(out / "summary.parquet")
    assert dict(summary.select("item", pl.col("failed").is_null()).iter_rows()) == {
        "a-cap": True,
        "b-CAP": True,
        "esx01": True,
        "broken": False,
    }
    assert {path.name for path in out.iterdir()} == {
        ".esxparse-batch",
        "a-cap.html",
        "b-CAP.html",
        "esx01.html",
        "index.html",
        "summary.parquet",
    }
    before = {path.name: path.stat().st_mtime_ns for path in out.glob("*-*.html")}
    again = ex.batch(night, out, template=marks)
    assert (again.items, again.reused, list(again.failed)) == (4, 3, ["broken"])
    assert {path.name: path.stat().st_mtime_ns for path in out.glob("*-*.html")} == before


@pytest.mark.search
@pytest.mark.skipif(os.name == "nt", reason="file names are bytes on other systems")
def test_file_names_that_are_not_utf_8_have_a_row_and_a_page(tmp_path, marks, busy_host_file):
    folder = tmp_path / "night"
    folder.mkdir()
    for name, content in ((b"good-\xff.csv", busy_host_file.read_bytes()[:620_000]), (b"bad-\xfe.csv", b"hello\n")):
        Path(os.fsdecode(bytes(folder) + b"/" + name)).write_bytes(content)
    out = tmp_path / "out"
    assert main(["batch", *map(str, sorted(folder.iterdir())), "-o", str(out), "-t", str(marks)]) == 1
    rows = pl.read_parquet(out / "summary.parquet").select("item", "inputs", pl.col("failed").is_null()).sort("item")
    assert [(item, inputs.rpartition("/")[2], made) for item, inputs, made in rows.iter_rows()] == [
        ("bad-_", r"bad-\xfe.csv", False),
        ("good-_", r"good-\xff.csv", True),
    ]
    page = (out / "index.html").read_text(encoding="utf-8")
    assert r"good-\xff.csv" in page
    assert r"bad-\xfe.csv" in page


def test_what_others_wrote_is_left_alone(night, tmp_path, marks):
    out = tmp_path / "out"
    out.mkdir()
    (out / "summary.parquet").write_text("mine")
    with pytest.raises(ex.EsxparseError, match=r"summary\.parquet already exists"):
        ex.batch(night, out, template=marks)
    (out / "summary.parquet").unlink()
    (out / "broken.html").write_text("mine")
    (out / "cap.html").write_text("mine")
    made = ex.batch([night / "broken.csv", night / "a" / "cap.csv"], out, template=marks)
    assert list(made.failed) == ["broken", "cap"]
    assert "cap.html already exists" in made.failed["cap"]
    assert (out / "broken.html").read_text() == (out / "cap.html").read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jobs": 0}, "jobs is 0"),
        ({"memory": "much"}, "memory 'much' is not a size"),
        ({"timeout": "soon"}, "timeout 'soon'"),
        ({"template": "none"}, "unknown template 'none'"),
        ({"inputs": []}, "nothing to report on"),
    ],
)
def test_a_wrong_batch_is_one_clear_error(night, tmp_path, options, message):
    with pytest.raises(ex.EsxparseError, match=message):
        ex.batch(**({"inputs": night, "output": tmp_path / "out"} | options))


@pytest.mark.search
def test_a_batch_that_is_killed_goes_on_where_it_was(night, tmp_path):
    out, whole = tmp_path / "out", tmp_path / "whole"
    for number in range(2):
        (night / f"more{number}.csv").write_bytes((night / "esx01.csv").read_bytes())
    command = [sys.executable, "-m", "esxparse", "batch", str(night), "--jobs", "2", "-q", "-o"]
    states = out / batch_state.FOLDER
    with subprocess.Popen([*command, str(out)]) as running:
        while len(list(states.glob("*.json"))) < 1 and running.poll() is None:
            time.sleep(0.05)
        below = psutil.Process(running.pid).children(recursive=True)
        running.kill()
    _, alive = psutil.wait_procs(below, timeout=10)
    assert alive == []
    finished = {path.name: path.stat().st_mtime_ns for path in states.glob("*.json")}
    assert 1 <= len(finished) < 5
    assert subprocess.run([*command, str(out)], check=False).returncode == 1
    assert {path.name: path.stat().st_mtime_ns for path in states.glob("*.json")}.items() >= finished.items()
    ex.batch(night, whole)
    assert pl.read_parquet(out / "summary.parquet").equals(pl.read_parquet(whole / "summary.parquet"))
    assert (out / "index.html").read_text() == (whole / "index.html").read_text()
    assert sorted(path.name for path in out.iterdir()) == sorted(path.name for path in whole.iterdir())


@pytest.mark.search
@pytest.mark.parametrize("shared", [True, False])
def test_a_manifest_runs_no_notebook_unless_it_is_trusted(tmp_path, capsys, shared):
    mark = tmp_path / "ran"
    cells = [
        nbformat.v4.new_code_cell("capture: str = ''\nopening: dict = {}", metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell(f"open({str(mark)!r}, 'w').close()"),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "theirs.ipynb")
    compose.write(tmp_path, compose.text([("Memory", "Free MBytes", "esx")], [["1024"], ["1024"]]), "a.csv")
    named = f"template = '{tmp_path / 'theirs.ipynb'}'"
    manifest = tmp_path / "batch.toml"
    manifest.write_text(f"{named if shared else ''}\n[[item]]\ninput = 'a.csv'\n{'' if shared else named}\n")
    words = ["batch", str(manifest), "-o", str(tmp_path / "out"), "-q"]
    assert main(words) == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert f"names the notebook {tmp_path / 'theirs.ipynb'}, which is code" in told
    assert "--trust" in told
    assert not mark.exists()
    assert not list((tmp_path / "out").glob("*.html"))
    assert main([*words, "--trust"]) == 0
    assert mark.exists()


def test_a_manifest_may_name_our_own_notebook_by_its_path(tmp_path):
    compose.write(tmp_path, compose.text([("Memory", "Free MBytes", "esx")], [["1024"], ["1024"]]), "a.csv")
    own = templates_dir() / "host_health.ipynb"
    (tmp_path / "batch.toml").write_text(f"[[item]]\ninput = 'a.csv'\ntemplate = '{own}'\n")
    assert [one.template for one in planned([tmp_path / "batch.toml"], tmp_path / "out").items] == [str(own)]
