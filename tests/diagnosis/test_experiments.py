"""Studies diagnosed: the two published case studies lead to their verdicts, and flip with their decisive evidence."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import polars as pl
import pytest
from checkout import DOCS

import esxparse as ex
from esxparse.cli import main
from esxparse.diagnosis import rules
from esxparse.diagnosis.engine import fill_text
from esxparse.diagnosis.experiments import captures, contrasts, facts, tables
from esxparse.diagnosis.experiments.differences import MEASURES, NONE
from esxparse.errors import EsxparseError
from esxparse.studies.columns import COLUMNS

SCHEMA = json.loads((DOCS / "diagnosis.schema.json").read_text(encoding="utf-8"))

READ_AHEAD = """
axis = ["size"]
[window]
span = "iometer"
[host]
mhz = 2600
"""
ON_ESX = """
[[run]]
machine = "esx"
disk = "{disk}"
size = [{sizes}]
repetition = [1, 2]
iometer = {{ file = "{{machine}}-{{disk}}-{{repetition}}.iometer.csv", test = "{{size}}k" }}
"""
NATIVE = ON_ESX.replace('"esx"', '"native"')
CAPTURED = """
esxtop = "{machine}-{disk}-{size}k-{repetition}.csv.bz2"
idle = "esx-idle.csv.bz2"
"""
PACKETS = """
packets = "{machine}-{disk}-{size}k-{repetition}.tshark.tsv"
"""
ALIGNMENT = """
baseline = { pattern = "sequential" }
[window]
span = "iometer"
"""
WRITES = """
[[run]]
machine = "{machine}"
disk = "{disk}"
op = "{op}"
pattern = ["random", "sequential"]
repetition = [1, 2]
iometer = {{ file = "{{machine}}-{{disk}}-{{repetition}}.iometer.csv", test = "1k {{pattern}} {{op}}" }}
"""
TRACED = 'packets = "{machine}-{disk}-{pattern}-{op}-{repetition}.tshark.tsv"\n'


def copied(folder: Path, dataset: str, *patterns: str) -> Path:
    for pattern in patterns:
        for path in ex.datasets.folder(dataset).glob(pattern):
            shutil.copy(path, folder)
    return folder


def diagnosed(folder: Path, text: str):
    (folder / "study.toml").write_text(text)
    return ex.diagnose(ex.study(folder))


@pytest.fixture
def lun(tmp_path):
    """The sweep over request sizes, where it is fast and where it is not, with captures and packets of 256 KB."""
    copied(tmp_path, "case-readahead", "*.iometer.csv", "esx-idle*", "esx-lun-256k-[12].*", "esx-cached-256k-[12].*")
    return tmp_path


@pytest.fixture
def vmdk(tmp_path):
    return copied(tmp_path, "case-alignment", "*.iometer.csv", "*-[12].tshark.tsv")


def read_ahead(*, cached=True, captures=False):
    text = READ_AHEAD + ON_ESX.format(disk="lun", sizes="128, 512")
    text += ON_ESX.format(disk="lun", sizes="256") + PACKETS + CAPTURED * captures
    if cached:
        text += ON_ESX.format(disk="cached", sizes="128, 512")
        text += ON_ESX.format(disk="cached", sizes="256") + CAPTURED * captures
    return text + NATIVE.format(disk="lun", sizes="128, 256, 512")


def alignment():
    text = ALIGNMENT + WRITES.format(machine="esx", disk="large", op="write") + TRACED
    text += WRITES.format(machine="esx", disk="large", op="read")
    text += WRITES.format(machine="esx", disk="cached", op="write")
    return text + WRITES.format(machine="native", disk="large", op="write") + TRACED


def like(folder: Path, one: str, other: str):
    """Makes runs give what other runs gave."""
    for path in folder.glob(f"{other}-*"):
        shutil.copy(path, folder / path.name.replace(other, one))


@pytest.mark.search
def test_reads_that_only_a_cache_makes_fast_natively_too_are_the_arrays(lun):
    found = diagnosed(lun, read_ahead(captures=True))
    (one,) = found
    assert (one.trouble, one.severity, one.against) == ("storage.read_ahead", "critical", ())
    assert one.entity == {"kind": "runs", "name": "machine = esx, disk = lun, size = 256 and 512"}
    assert re.match(
        r"Runs with size 256 and 512 reach 49\.\d* MB/s, 58 % less than with size 128 \(117\.7\)", found.verdict
    )
    for text in ("from the cache it is not slow (disk = cached: 117.7 MB/s)", "a native run is as slow"):
        assert any(text in each for each in one.evidence)
    answers = dict(found.table().select("question", "answer").rows())
    assert answers["Does the host's capture of a slow run show a trouble of its own?"] == "no"
    assert answers["Does the network lose packets?"] == "no"
    assert answers["Is the time spent beyond the wire, by the server or array?"] == "yes"
    assert answers["Does an I/O cost the host more CPU?"] == "no"
    # Only one of the two slow sizes was traced: it is compared with itself.
    assert answers["Do requests on the wire have another size than the guest's?"] == "no"
    assert answers["Is it slow with the array's read-ahead off?"] == "not known"


@pytest.mark.search
def test_a_cached_run_as_slow_takes_the_cache_out_of_the_verdict(lun):
    like(lun, "esx-cached", "esx-lun")
    (one,) = diagnosed(lun, read_ahead())
    assert one.trouble == "storage.array_slow"
    assert any("it is as slow from the cache" in text for text in one.against)


def test_without_a_cached_run_the_array_is_slow_and_the_run_is_asked_for(lun):
    found = diagnosed(lun, read_ahead(cached=False))
    assert found[0].trouble == "storage.array_slow"
    assert "Run it on a file or LUN that fits the array's or server's cache." in found[0].missing
    assert "cached" in {one["id"] for one in found.not_judged}


@pytest.mark.search
def test_a_native_run_that_is_fast_points_at_esx_and_not_at_the_array(lun):
    like(lun, "native-lun", "esx-cached")
    (one,) = diagnosed(lun, read_ahead())
    assert one.trouble == "storage.host_path"
    assert "in the guest or in ESX" in one.verdict


@pytest.mark.search
def test_random_writes_off_their_boundaries_are_the_guests_partition(vmdk):
    found = diagnosed(vmdk, alignment())
    (one,) = found
    assert (one.trouble, one.against) == ("storage.misaligned", ())
    assert "95 % less than with pattern sequential" in one.verdict
    assert any("100 % of the requests begin on no multiple of their own size" in text for text in one.evidence)
    assert any("the other direction is not slow (op = read" in text for text in one.evidence)


@pytest.mark.search
def test_a_native_run_equally_slow_acquits_the_partition(vmdk):
    for path in vmdk.glob("native-*.iometer.csv"):
        shutil.copy(vmdk / path.name.replace("native", "esx"), path)
    assert diagnosed(vmdk, alignment())[0].trouble == "storage.array_slow"


@pytest.mark.search
def test_aligned_offsets_acquit_the_partition(vmdk):
    for path in vmdk.glob("esx-large-*.tshark.tsv"):
        head, *lines = path.read_text().splitlines()
        place = head.split("\t").index("nfs.offset3")
        rows = [line.split("\t") for line in lines]
        for row in rows:
            if row[place]:
                row[place] = str(int(row[place]) - 63 * 512)
        path.write_text("\n".join([head, *("\t".join(row) for row in rows)]) + "\n")
    (one,) = diagnosed(vmdk, alignment())
    assert one.trouble == "storage.host_path"
    assert "0 % of the requests are off a multiple of their own size: they are aligned" in one.evidence


@pytest.mark.search
def test_a_study_names_what_its_labels_do_not_say(vmdk):
    text = alignment().replace('disk = "cached"', 'disk = "small"').replace("{disk}-{repetition}.iometer", "X")
    text = text.replace('file = "{machine}-X.csv"', 'file = "{machine}-{disk}-{repetition}.iometer.csv"')
    like(vmdk, "esx-small", "esx-cached")
    rows = diagnosed(vmdk, text).table().filter(question="Is it slow when the data fits the cache?")
    assert rows["answer"].item() == "not known"
    found = diagnosed(vmdk, 'experiments = { cached = { disk = "small" } }\n' + text)
    rows = found.table().filter(question="Is it slow when the data fits the cache?")
    assert rows.select("answer", "changed").rows() == [("no", "disk = small")]


@pytest.mark.parametrize(
    ("said", "why"),
    [('{ warm = { disk = "a" } }', 'unknown key "warm"; use one of'), ("{ cached = 3 }", "cached is 3; write a table")],
)
def test_experiments_that_are_none_are_refused_with_their_line(tmp_path, said, why):
    (tmp_path / "study.toml").write_text(f"experiments = {said}\n[[run]]\na = 1\n")
    with pytest.raises(EsxparseError, match=f"study.toml:1: {why}"):
        ex.study(tmp_path)


def test_the_command_prints_the_published_json_of_a_study(vmdk, capsys):
    (vmdk / "study.toml").write_text(alignment())
    assert main(["diagnose", str(vmdk / "study.toml"), "--format", "json", "--fail-on", "critical"]) == 3
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, SCHEMA)
    assert document["findings"][0]["trouble"] == "storage.misaligned"
    assert {one["finding"] for one in document["experiments"]} == {document["findings"][0]["id"]}


def test_other_work_is_no_symptom_and_runs_without_figures_are_named(tmp_path):
    """Requests of another size or direction have a throughput of their own."""
    frame = pl.DataFrame(
        {
            "test": ["small", "large", "large on disk 2", "written"],
            "mb_per_s": [4.0, 240.0, 60.0, 20.0],
            "iops": [1000.0, 900.0, 250.0, 80.0],
            "read_iops": [1000.0, 900.0, 250.0, 0.0],
            "block_size_bytes": [4096, 262144, 262144, 262144],
        }
    ).with_columns(start=None, end=None)
    study = SimpleNamespace(runs=frame.lazy(), labels=("test",), baseline={}, experiments={}, path=tmp_path)
    (one,) = ex.diagnose(study)
    assert one.entity["name"] == "test = large on disk 2"
    found = diagnosed(tmp_path, "[[run]]\na = [1, 2]\n[run.values]\nanswers_pct = 1.0\n")
    assert "Nothing could be compared" in found.verdict
    assert found.not_judged[0]["id"] == "slow_runs"


def test_single_runs_are_said_to_be_single_and_slow_runs_without_experiments_stay_open(tmp_path):
    rows = "".join(
        f"[[run]]\nvms = {vms}\n[run.values]\niops = {iops}\n" for vms, iops in ((1, 500.0), (2, 1000.0), (4, 600.0))
    )
    (one,) = diagnosed(tmp_path, rows)
    assert (one.trouble, one.start, one.confidence) == ("study.open", None, 0.0)
    assert "40 % less than with vms 2" in one.verdict
    assert any("single runs" in text for text in one.against)
    assert "at an unknown time" in ex.diagnose(ex.study(tmp_path)).text()


def test_every_cause_weighs_questions_that_are_asked_and_every_text_has_its_facts():
    asked = {one.id for one in tables.steps()}
    for cause in (*tables.causes(), tables.unknown()):
        assert set(cause.weigh) | set(cause.needs) <= asked
        assert fill_text(cause.verdict, {"seen": "x", "kavg_ms": 1.0, "retransmitted_pct": 1.0, "host_util_pct": 1.0})
    for step in (one.under({}) for one in tables.steps()):
        for text in (step.yes, step.no, step.value):
            assert text == "" if step.role else pl.sql_expr(text).meta.root_names()


def test_a_profile_moves_the_answers_of_a_study():
    bound = next(one for one in tables.steps() if one.id == "cpu_bound")
    ready = replace(rules.load()["cpu.host_util"], warn=50.0)
    asked = [bound.under(limits).yes for limits in ({}, {"cpu.host_util": ready})]
    row = pl.DataFrame({"host_util_pct": [60.0]})
    assert [row.select(pl.sql_expr(one)).item() for one in asked] == [False, True]


DIFFERENT = """
baseline = {{ filter = "default" }}
[[run]]
filter = "default"
vms = [{vms}]
repetition = [1, 2, 3]
[run.values]
iops = 1000.0
watts = 200.0
[[run]]
filter = "null"
vms = [{vms}]
repetition = [1, 2, 3]
[run.values]
iops = 1000.0
watts = {watts}
"""


def test_without_slow_runs_the_verdict_is_what_differs_from_the_baseline(tmp_path):
    found = diagnosed(tmp_path, DIFFERENT.format(vms="1, 2", watts=230.0))
    assert found.verdict == (
        "No run is a fifth slower than those that it is compared with. With filter = null instead of filter = default: "
        "power is 15 % higher (+15 to +15 % over 2 configurations); the energy of an I/O is 15 % higher "
        "(+15 to +15 % over 2 configurations); no difference is shown in the I/O rate."
    )
    jsonschema.validate(json.loads(found.json()), SCHEMA)
    rate, watts, _ = found.differences
    assert (rate["shown"], watts["shown"], watts["higher"], watts["configurations"]) == (NONE, "higher", 2, 2)


def test_one_configuration_that_differs_is_named_beside_those_that_do_not(tmp_path):
    text = DIFFERENT.format(vms="1, 2, 4", watts=200.0).replace("repetition", "vcpus = 1\nrepetition")
    rows = text.split("[[run]]")
    odd = rows[2].replace("[1, 2, 4]", "8").replace("1000.0", "1800.0")
    found = diagnosed(tmp_path, "[[run]]".join([*rows, rows[1].replace("[1, 2, 4]", "8"), odd]))
    assert found.differences[0]["but"] == "+80 % with vms = 8"
    assert "no difference is shown in the I/O rate (but +80 % with vms = 8)" in found.verdict


def test_one_run_each_shows_no_difference_unless_all_configurations_go_one_way(tmp_path):
    single = DIFFERENT.replace("repetition = [1, 2, 3]\n", "")
    assert diagnosed(tmp_path, single.format(vms="1, 2, 3", watts=230.0)).differences[1]["shown"] == NONE
    assert diagnosed(tmp_path, single.format(vms="1, 2, 3, 4, 5, 6", watts=230.0)).differences[1]["shown"] == "higher"
    assert diagnosed(tmp_path, single.format(vms="1, 2, 3, 4, 5, 6", watts=202.0)).differences[1]["shown"] == NONE


def test_figures_of_benchmarks_are_compared_each_by_itself():
    found = ex.diagnose(ex.datasets.load("vcenter"))
    clone = next(row for row in found.differences if row["column"] == "vcbench clone throughput")
    assert (clone["shown"], clone["better"], round(clone["change_pct"])) == ("higher", "higher", 101)
    assert "With release = 6.7 instead of release = 6.5: vcbench powerOn throughput is 101 % higher" in found.verdict


@pytest.mark.search
def test_a_trouble_in_the_hosts_capture_of_slow_runs_alone_is_told_and_what_fast_ones_have_too_is_not():
    """The bundled host's queue is full from 09:07 on; a CPU limit holds one of its VMs back all the time."""
    day = datetime(2026, 3, 11, 9, tzinfo=UTC)
    runs = pl.DataFrame(
        {
            "part": ["early", "late", "bare"],
            "iops": [1000.0, 500.0, 900.0],
            "files": ["esxtop=busy-host.csv", "esxtop=busy-host.csv, fio=late.json", "fio=bare.json"],
            "start": [day, day + timedelta(minutes=5), day],
            "end": [day + timedelta(minutes=2), day + timedelta(minutes=10), day],
        }
    )
    cells = contrasts.grid(runs, ["part"])
    seen = contrasts.Contrast("part", (("late",),), ("early",), sure=False)
    own = captures.own(cells, seen, ex.datasets.folder("busy-host"), ex.diagnose)
    assert own.answer == "yes"
    assert "The queue of a device is full" in own.means
    assert "storage." not in own.means
    assert "but the capture of a fast run does not" in own.means
    assert "cpu.limit" not in {one.trouble for one in own.findings}
    bare = replace(seen, bad=(("bare",),))
    assert captures.own(cells, bare, ex.datasets.folder("busy-host"), ex.diagnose).answer == "not known"


@pytest.mark.parametrize(
    ("label", "value", "role"),
    [
        ("disk", "Cached", "cached"),
        ("cached", True, "cached"),
        ("platform", "bare-metal", "native"),
        ("read_ahead", "off", "policy"),
        ("read_ahead", False, "policy"),
        ("partition", "aligned", "aligned"),
        ("partition", "misaligned", None),
        ("platform", "native-docker", None),
        ("cached", False, None),
    ],
)
def test_values_of_labels_make_experiments(label, value, role):
    runs = pl.DataFrame({label: [value, None], "iops": [1.0, 2.0]})
    found = facts.role_changes(contrasts.grid(runs, [label]), {})
    assert found == ({role: [{label: value}]} if role else {})


def test_a_vm_slower_than_the_native_baseline_is_a_symptom_itself(tmp_path):
    rows = "".join(
        f'[[run]]\nplatform = "{name}"\nrepetition = [1, 2]\n[run.values]\niops = {iops}\n'
        for name, iops in (("native", 1000.0), ("vm", 500.0))
    )
    (one,) = diagnosed(tmp_path, 'baseline = { platform = "native" }\n' + rows)
    assert (one.trouble, one.entity["name"]) == ("storage.host_path", "platform = vm")
    assert "50 % less than with platform native" in one.verdict


@pytest.mark.search
def test_read_ahead_switched_off_settles_it(lun):
    like(lun, "esx-off", "esx-cached")
    text = read_ahead() + ON_ESX.format(disk="off", sizes="128, 256, 512")
    (one,) = diagnosed(lun, 'experiments = { policy = { disk = "off" } }\n' + text)
    assert one.trouble == "storage.read_ahead"
    assert any("without read-ahead it is not slow (disk = off" in text for text in one.evidence)
    assert not any("read-ahead off" in text for text in one.missing)


@pytest.mark.parametrize(
    ("slow", "fast", "back", "why"),
    [
        (100.0, 100.0, 100.0, "not slow"),
        (60.0, 60.0, 100.0, "a weaker machine, but without the trouble"),
        (5.0, 5.0, 0.0, "as slow, whatever else is slow there"),
        (10.0, 200.0, 5.3, "hardly better"),
        (40.0, 800.0, 0.0, "a stronger machine with the trouble"),
        (50.0, 100.0, 47.4, "less slow"),
        (60.0, None, 57.9, "no fast run to compare with"),
    ],
)
def test_an_experiment_is_compared_with_fast_runs_of_its_own(slow, fast, back, why):
    rows = [("esx", "random", 5.0), ("esx", "sequential", 100.0), ("native", "random", slow)]
    rows += [("native", "sequential", fast)] if fast else []
    runs = pl.DataFrame(rows, schema=["machine", "pattern", "iops"], orient="row")
    cells = contrasts.grid(runs, ["machine", "pattern"])
    seen = contrasts.Contrast("pattern", (("esx", "random"),), ("esx", "sequential"), sure=False)
    (one,) = facts.experiments(cells, seen, {"native": [{"machine": "native"}]})
    assert one.role == "native"
    assert one.back_pct == pytest.approx(back, abs=0.1), why
    # The slow runs themselves reach 5 % of the fast ones.
    assert one.share_pct == pytest.approx(5 + 0.95 * back, abs=0.1)


def test_latency_counts_where_there_is_no_throughput_and_grows_with_load_without_being_a_symptom():
    rows = [(1, "a", 1.0), (2, "a", 5.0), (1, "b", 4.0), (2, "b", 20.0)]
    runs = pl.DataFrame(rows, schema=["vms", "path", "latency_mean_ms"], orient="row")
    (first, second) = contrasts.contrasts(contrasts.grid(runs, ["vms", "path"]), {}, set())
    assert (first.factor, first.bad, first.good) == ("path", ((1, "b"),), (1, "a"))
    assert second.bad == ((2, "b"),)


def test_cpu_cost_is_compared_between_ios_of_one_size():
    rows = [("lun", 128, 117.0, 100.0), ("lun", 256, 41.0, 210.0), ("cached", 256, 117.0, 200.0)]
    names = ["disk", "size", "mb_per_s", "used_above_idle_cycles_per_io"]
    runs = pl.DataFrame(rows, schema=names, orient="row").with_columns(block_size_bytes=pl.col("size") * 1024)
    cells = contrasts.grid(runs, ["disk", "size"])
    seen = contrasts.Contrast("size", (("lun", 256),), ("lun", 128), sure=False)
    done = facts.experiments(cells, seen, {"cached": [{"disk": "cached"}]})
    known = facts.facts(cells, seen, done)
    assert (known["cost_ratio"], known["cost_of"]) == (pytest.approx(1.05), "disk = cached")


def test_without_a_trace_nobody_is_told_that_writes_are_misaligned(vmdk):
    found = diagnosed(vmdk, alignment().replace(TRACED, ""))
    assert found[0].trouble == "storage.host_path"
    assert "off" in {one["id"] for one in found.not_judged}


def test_configurations_that_differ_both_ways_show_no_difference(tmp_path):
    text = DIFFERENT.format(vms="1", watts=300.0)
    other = DIFFERENT.format(vms="2", watts=170.0).partition("[[run]]")[2]
    (watts,) = [one for one in diagnosed(tmp_path, f"{text}[[run]]{other}").differences if one["column"] == "watts"]
    assert (watts["higher"], watts["lower"], watts["shown"]) == (1, 1, NONE)
    assert watts["but"] == ""


def test_measures_and_columns_of_studies_agree_on_what_is_better():
    told = {name: column.better for name, column in COLUMNS.items()}
    assert all(told[one["column"]] == one["better"] for one in MEASURES)


def test_sizes_of_requests_are_those_that_were_run():
    """A mean of 256 and 512 KiB is a size that no request has."""

    def sizes(*kib):
        rows = {(size,): pl.DataFrame({"block_size_bytes": [1024.0 * size] * 3}) for size in kib}
        return facts._sizes(contrasts.Grid(("size",), rows, contrasts.MERITS[0]), list(rows))

    assert sizes(256, 512) == "256 and 512"
    assert sizes(64) == "64"
    assert sizes(0.5, 8, 4) == "0.5, 4 and 8"
    assert sizes(4, 8, 16, 32) == "4 to 32"
    assert sizes() is None
