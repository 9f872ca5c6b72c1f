"""Questions of case studies that guest, host, wire, filters and vMotion answer: from files as the tools write them."""

from __future__ import annotations

import shutil
from datetime import timedelta

import fio_outputs
import pytest
from cells import START, capture
from guests import sar

import esxparse as ex
from esxparse.cli import main

DISK = "1001:web:scsi0:0"
SPAN = 24
SLOW_AND_FAST = """
baseline = {{ filter = "none" }}
[[run]]
filter = ["none", "cache"]
fio = "{{filter}}.json"
esxtop = "{{filter}}.csv"
{more}
"""


def host(folder, name, worlds, run=60.0, exclusive=0.0):
    """A capture of a VM with two vCPUs and one busy disk of two."""
    group = ("Group Cpu", "1001:web")
    cells = {
        ("Group Cpu", "1:idle", "Members"): 8.0,
        ("Group Cpu", "2:system", "Members"): 4.0,
        (*group, "Members"): worlds,
        (*group, "% Run"): 2 * run,
        (*group, "Exclusive Affinity"): exclusive,
        ("Virtual Disk", "web:scsi0:0", "Reads/sec"): 900.0,
        ("Virtual Disk", "web:scsi0:1", "Reads/sec"): 0.0,
    }
    for number in (0, 1):
        cells["Vcpu", f"1001:web:{2000 + number}:vmx-vcpu-{number}:web", "% Run"] = run
    return capture(folder, {key: [value] * SPAN for key, value in cells.items()}, name)


def load(folder, name, ios):
    job = fio_outputs.job(read=fio_outputs.direction(ios), write=fio_outputs.direction(0))
    (folder / name).write_text(fio_outputs.document(job))


def answers(folder, text):
    (folder / "study.toml").write_text(text)
    rows = ex.diagnose(ex.study(folder)).table().select("question", "answer", "means").rows()
    return {question: (answer, means) for question, answer, means in rows}


@pytest.fixture
def filtered(tmp_path):
    """Runs without and with an I/O filter; the filter is slow, and has a world of its own for the busy VMDK."""
    for name, worlds, ios in (("none", 8.0, 20_000), ("cache", 9.0, 8_000)):
        host(tmp_path, f"{name}.csv", worlds)
        load(tmp_path, f"{name}.json", ios)
    return tmp_path


def test_a_filter_adds_a_context_to_each_vmdk_in_use(filtered):
    found = answers(filtered, SLOW_AND_FAST.format(more=""))
    answer, means = found["Does an I/O filter add contexts to each VMDK?"]
    assert answer == "yes"
    assert "13.0 worlds for each VMDK with I/O, and 12.0 in the fast runs" in means
    host(filtered, "cache.csv", 8.0)
    answer, means = answers(filtered, SLOW_AND_FAST.format(more=""))["Does an I/O filter add contexts to each VMDK?"]
    assert (answer, "no filter adds any" in means) == ("no", True)


def test_worlds_of_runs_with_more_vms_are_not_compared(filtered):
    more = {
        ("Group Cpu", "1001:web", "Members"): 9.0,
        ("Group Cpu", "1002:db", "Members"): 9.0,
        ("Vcpu", "1001:web:2000:vmx-vcpu-0:web", "% Run"): 60.0,
        ("Vcpu", "1002:db:3000:vmx-vcpu-0:db", "% Run"): 60.0,
        ("Virtual Disk", "web:scsi0:0", "Reads/sec"): 900.0,
    }
    capture(filtered, {key: [value] * SPAN for key, value in more.items()}, "cache.csv")
    found = answers(filtered, SLOW_AND_FAST.format(more=""))
    assert found["Does an I/O filter add contexts to each VMDK?"][0] == "not known"


def test_the_guests_cpu_is_shown_beside_the_hosts(filtered):
    times = [START + timedelta(seconds=5 * place) for place in range(SPAN)]
    for name in ("none", "cache"):
        (filtered / f"{name}.sar").write_text(sar("web", [(time, 30.0) for time in times], timedelta(hours=1)))
    more = 'guest = { file = "{filter}.sar", clock = "-1h" }'
    answer, means = answers(filtered, SLOW_AND_FAST.format(more=more))["Does the guest's CPU % differ from the host's?"]
    assert answer == "yes"
    assert "the guest reports 30 % CPU, and the host ran its vCPUs 60 % of the time: do not trust" in means
    host(filtered, "cache.csv", 9.0, run=31.0)
    found = answers(filtered, SLOW_AND_FAST.format(more=more))
    assert found["Does the guest's CPU % differ from the host's?"][0] == "no"


def test_readings_of_a_guest_at_another_time_are_a_gap(filtered):
    times = [START + timedelta(hours=5, seconds=5 * place) for place in range(SPAN)]
    (filtered / "web.sar").write_text(sar("web", [(time, 30.0) for time in times], timedelta()))
    (filtered / "study.toml").write_text(SLOW_AND_FAST.format(more='guest = "web.sar"'))
    study = ex.study(filtered)
    (gap,) = set(study.runs.collect()["gap"])
    assert "web.sar has no reading in the measured span (2026-05-04 08:00:00 to 08:01:55 UTC)" in gap
    rows = dict(ex.diagnose(study).table().select("question", "answer").rows())
    assert rows["Does the guest's CPU % differ from the host's?"] == "not known"


def test_exclusive_affinity_shows_that_latency_sensitivity_is_in_effect(filtered):
    question = "Do vCPUs have PCPUs of their own (exclusive affinity)?"
    assert answers(filtered, SLOW_AND_FAST.format(more=""))[question][0] == "no"
    host(filtered, "cache.csv", 9.0, exclusive=1.0)
    answer, means = answers(filtered, SLOW_AND_FAST.format(more=""))[question]
    assert (answer, "latency sensitivity High is in effect" in means) == ("yes", True)


VMOTION = """\
2018-04-17T10:00:00.000Z| vmx| I125: MigrateSetState: Transitioning from state 0 to 8.
2018-04-17T10:00:32.300Z| vcpu-0| I125: Checkpoint_Unstun: vm stopped for {stopped} us
2018-04-17T10:00:{end}.000Z| vmx| I125: MigrateSetState: Transitioning from state 11 to 0.
"""


def test_a_vmotion_of_persistent_memory_that_stops_the_vm_is_shown_with_its_length(filtered):
    for name, stopped, end in (("none", 200_000, 33), ("cache", 1_900_000, 55)):
        (filtered / f"{name}.log").write_text(VMOTION.format(stopped=stopped, end=end))
    text = SLOW_AND_FAST.format(more='vmotion = "{filter}.log"')
    answer, means = answers(filtered, text)["Did vMotion stop the VM for longer than its goal of 500 ms?"]
    assert (answer, "stopped the VM for 1,900 ms" in means) == ("yes", True)
    rows = {row["measure"]: row for row in ex.diagnose(ex.study(filtered)).differences}
    assert rows["vmotion destination downtime"]["mean"] == pytest.approx(1900.0)
    assert rows["vmotion destination duration"]["mean"] == pytest.approx(55.0)


ONE_AT_A_TIME = """
baseline = { path = "plain" }
"""
DEPTH = """
[[run]]
path = "{path}"
oio = {oio}
repetition = [1, 2]
[run.values]
iops = {iops}
"""


@pytest.mark.parametrize(
    ("alone", "answer"), [((1000.0, 990.0), "no"), ((1000.0, 350.0), "yes"), ((1000.0, None), "not known")]
)
def test_one_outstanding_io_is_compared_with_fast_runs_of_one(tmp_path, alone, answer):
    """Either side does less with one I/O at a time: only the two with one compare."""
    rows = [("plain", 32, 20_000.0), ("slow", 32, 7_000.0), ("slow", 1, alone[1] or 350.0)]
    rows += [("plain", 1, alone[0])] if alone[1] else []
    text = ONE_AT_A_TIME + "".join(DEPTH.format(path=path, oio=oio, iops=iops) for path, oio, iops in rows)
    found = answers(tmp_path, text)
    assert found["Is it slow with one outstanding I/O?"][0] == answer


ORDERS = """
baseline = {{ server = "old" }}
[[run]]
server = ["old", "new"]
latency_sensitivity = ["normal", "high"]
repetition = [1, 2, 3]
results_csv = "{{server}}-{{latency_sensitivity}}.csv"
"""


@pytest.mark.parametrize(("sensitive", "answer"), [(39_000.0, "no"), (21_000.0, "yes")])
def test_orders_per_minute_are_compared_and_latency_sensitivity_is_an_experiment(tmp_path, sensitive, answer):
    """SQL Server measured by DVD Store: its one figure is what runs are slow by."""
    for name, orders in {
        "old-normal": 40_000.0,
        "old-high": 40_000.0,
        "new-normal": 20_000.0,
        "new-high": sensitive,
    }.items():
        lines = ["# esxparse benchmark results", "benchmark,test,metric,value,unit,higher_is_better"]
        (tmp_path / f"{name}.csv").write_text("\n".join([*lines, f"DVD Store,sql,orders,{orders},opm,true"]) + "\n")
    found = answers(tmp_path, ORDERS.format())
    assert found["Is it slow with latency sensitivity High?"][0] == answer
    assert found["Is it slow with CPU affinity?"][0] == "not known"


@pytest.mark.search
@pytest.mark.parametrize(("carried", "answer"), [(1024, "no"), (512, "yes")])
def test_sizes_on_the_wire_are_compared_with_those_of_the_guest(tmp_path, carried, answer):
    for pattern in ("esx-large*.iometer.csv", "esx-large-*-write-[12].tshark.tsv"):
        for path in ex.datasets.folder("case-alignment").glob(pattern):
            text = path.read_text(encoding="latin-1")
            text = text if path.suffix == ".csv" else text.replace("\t1024\n", f"\t{carried}\n")
            (tmp_path / path.name).write_text(text, encoding="latin-1")
    text = """
baseline = { pattern = "sequential" }
[window]
span = "iometer"
[[run]]
pattern = ["random", "sequential"]
repetition = [1, 2]
iometer = { file = "esx-large-{repetition}.iometer.csv", test = "1k {pattern} write" }
packets = "esx-large-{pattern}-write-{repetition}.tshark.tsv"
"""
    found = answers(tmp_path, text)
    assert found["Do requests on the wire have another size than the guest's?"][0] == answer
    shutil.copy(ex.datasets_dir() / "formats" / "vscsistats-web.csv", tmp_path)
    text += 'vscsistats = "vscsistats-web.csv"\n'
    means = answers(tmp_path, text)["Do requests on the wire have another size than the guest's?"][1]
    assert "the guest's requests are 15.8 KiB" in means


@pytest.mark.search
def test_the_case_study_page_has_the_questions(filtered, tmp_path):
    (filtered / "study.toml").write_text(SLOW_AND_FAST.format(more=""))
    page = tmp_path / "case.html"
    assert main(["report", str(filtered / "study.toml"), "-t", "case_study", "-o", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "13.0 worlds for each VMDK with I/O" in text
    assert "Did vMotion stop the VM for longer than its goal of 500 ms?" in text
