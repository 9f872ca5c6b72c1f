"""Templates of studies: which fits, what each asks for, and what it says, against arithmetic of the tests' own."""

from __future__ import annotations

import dataclasses
import json
import re
from itertools import product
from pathlib import Path

import pytest
from studied import made
from templated import cells, ran

import esxparse as ex
from esxparse import EsxparseError
from esxparse.reports import library, pick
from esxparse.reports.study import needs
from esxparse.studies.expand import expand
from esxparse.studies.study_file import load

NEEDS = library.needs_of_studies()


def told(folder, name, **given):
    return ran(name, folder, **given).answers


def test_the_twelve_templates_say_when_they_serve_a_study_and_what_they_ask():
    assert len(NEEDS) == 12
    asks = {name: list(one.asks) for name, one in NEEDS.items() if one.asks}
    assert asks == {
        "linerate": ["line_mbit_per_s", "mtu"],
        "power_policy": ["hosts", "price_per_kwh", "currency"],
        "replication": ["vms", "vm_size_mb", "change_pct_per_day", "rpo_min"],
    }
    (source,) = [
        "".join(one["source"]) for one in cells("power_policy") if one["metadata"].get("tags") == ["parameters"]
    ]
    assert "price_per_kwh: float | None = None  # price of a kWh; no conclusion without it" in source
    assert "climate_factor: float | None = None  # what cooling adds" in source


ONLY_BY_NAME = {
    "case_study": "comparison",
    "linerate": "scaling",
    "power_policy": "comparison",
    "remote": "comparison",
    "replication": "comparison",
}
"""Shapes that a study must ask for, by what `auto` takes otherwise."""


@pytest.mark.parametrize("name", sorted(path.parent.name for path in ex.datasets_dir().glob("*/study.toml")))
def test_the_shape_of_a_study_is_told_from_what_it_varies(name):
    manifest = load(ex.datasets.folder(name))
    said = manifest.report_section.shape
    silent = dataclasses.replace(manifest, report_section=dataclasses.replace(manifest.report_section, shape=""))
    assert needs.fitting(silent, expand(silent), NEEDS) == ONLY_BY_NAME.get(said, said)
    assert pick.picked([manifest.path]) == said


SWEEP = [({"hosts": hosts}, {"iops": iops}) for hosts, iops in ((4, 1000.0), (8, 2000.0), (16, 3000.0))]


@pytest.mark.parametrize(
    ("name", "runs", "head", "what"),
    [
        ("scaling", [({"protocol": "fc"}, {"iops": 1.0})], "", "a label with three numbers or more"),
        ("comparison", SWEEP, "", "a baseline"),
        ("consolidation", SWEEP, "", "tolerances in [report]"),
        ("protocols", SWEEP, "baseline = { hosts = 4 }", "a label protocol"),
        ("power_policy", SWEEP, "baseline = { hosts = 4 }", "files of power"),
    ],
)
def test_a_study_of_another_shape_is_one_error_that_names_what_fits(tmp_path, name, runs, head, what):
    manifest = load(made(tmp_path, runs, head))
    with pytest.raises(EsxparseError) as caught:
        needs.check(name, NEEDS[name], manifest, expand(manifest), NEEDS)
    text = str(caught.value)
    assert f"template '{name}' needs {what}; its labels are " in text
    assert text.endswith("fits")
    assert "\n" not in text


def test_files_that_cannot_be_used_are_the_reason_and_no_template_is_suggested(tmp_path):
    (tmp_path / "study").mkdir()
    manifest = load(made(tmp_path / "study", [({"esxtop": "../away.csv"}, {})], '[report]\nshape = "baseline"\n'))
    with pytest.raises(EsxparseError, match=r"needs files of .*; run 1: .*away\.csv is outside .*study") as caught:
        needs.check("baseline", NEEDS["baseline"], manifest, expand(manifest), NEEDS)
    assert "fits" not in str(caught.value)


def test_a_manifest_names_templates_and_never_a_notebook(tmp_path):
    folder = made(tmp_path, SWEEP, '[report]\nshape = "../evil.ipynb"\n')
    with pytest.raises(EsxparseError, match=r'toml:2: shape is "\.\./evil\.ipynb"; write the name of a template'):
        load(folder)


def test_scaling_says_where_the_line_is_left(tmp_path):
    folder = made(tmp_path, SWEEP, 'axis = "hosts"')
    assert told(folder, "scaling") == ["IOPS: a straight line up to 8 hosts, 75 % of it at 16."]
    assert told(folder, "scaling", tolerance_pct=30.0) == [
        "IOPS: a straight line as far as it was tried, to 16 hosts (75 % of it)."
    ]
    assert ran("scaling", folder).titles == ["IOPS by hosts", "Efficiency, IOPS"]


def test_scaling_with_rules_is_of_the_largest_loads(tmp_path):
    runs = [
        ({"nodes": nodes, "users": users}, {"web_p95_ms": p95})
        for nodes, most in ((1, 100), (2, 200), (4, 300))
        for users, p95 in ((most, 90.0), (most + 10, 110.0))
    ]
    folder = made(tmp_path, runs, 'axis = "users"\n[report]\nsweep = "users"\nrules = { web_p95_ms = 100 }\n')
    assert told(folder, "scaling") == [
        "With 1 to 4 nodes, 100 to 300 users keep every rule: 75 to 100 for each of the nodes.",
        "The peak load grows in a straight line up to 2 nodes (within 5 %): 75 % of it at 4, 75 % at the most.",
    ]


def test_consolidation_interpolates_and_compares(tmp_path):
    runs = [
        ({"mode": mode, "vms": vms}, {"web_p95_ms": p95})
        for mode, points in (
            ("default", ((400, 80.0), (500, 120.0))),
            ("dense", ((400, 60.0), (500, 100.0), (600, 140.0))),
        )
        for vms, p95 in points
    ]
    head = 'axis = "vms"\nbaseline = { mode = "default" }\n[report]\nsweep = "vms"\ntolerances = { web_p95_ms = 100 }\n'
    folder = made(tmp_path, runs, head)
    assert told(folder, "consolidation") == [
        "dense: within all tolerances 500 VMs, +11.1 % against default (450).",
        "dense: Web p95 of at most 100 ms: 500 VMs against 450 of default, +11.1 %.",
    ]


RATES = [({"design": "a"}, {"tx_mbit_per_s": 800.0}), ({"design": "b"}, {"tx_mbit_per_s": 80.0})]
SCENARIO = {"vms": 6, "vm_size_mb": 10_000.0, "change_pct_per_day": 10.0, "rpo_min": 15.0}


def test_replication_says_whether_the_change_fits(tmp_path):
    lines = told(made(tmp_path, RATES), "replication", **SCENARIO)
    # 6,000 MB at 100 MB/s take a minute, at 10 MB/s ten; seven and a half are allowed.
    assert lines[0].endswith("takes 1.0 min; an RPO of 15 min allows 7.5 min, half of it: it fits.")
    assert lines[1].endswith(
        "takes 10.0 min; an RPO of 15 min allows 7.5 min, half of it: within the RPO, but over half of it: at risk."
    )
    lines = told(tmp_path, "replication", **{**SCENARIO, "vms": 12})
    assert lines[1].endswith("takes 20.0 min; an RPO of 15 min allows 7.5 min, half of it: over the RPO.")


@pytest.mark.parametrize(("rpo_min", "bound"), [(5.0, "at least 15"), (3000.0, "at most 1440")])
def test_an_rpo_that_cannot_be_set_is_refused(tmp_path, rpo_min, bound):
    with pytest.raises(EsxparseError, match=f"rpo_min is {rpo_min}: it must be a number of {bound}"):
        told(made(tmp_path, RATES), "replication", **{**SCENARIO, "rpo_min": rpo_min})


POLICIES = [({"policy": name}, {"watts": watts}) for name, watts in (("high", 200.0), ("low", 150.0))]
HIGH = 'baseline = { policy = "high" }'
PRICED = {"hosts": 10, "price_per_kwh": 0.2, "currency": "CHF"}


def test_power_policies_are_priced(tmp_path):
    folder = made(tmp_path, POLICIES, HIGH)
    lines = told(folder, "power_policy", **PRICED)
    # 10 x 0.05 kW x 8,760 h x 0.2
    assert lines[0] == (
        "low saves 876 CHF a year with 10 hosts, 25 % less than high: 2,628 against 3,504 CHF, 150 W a host, 50 W less."
    )
    lines = told(folder, "power_policy", **PRICED, climate_factor=2.0)
    assert lines[0].startswith("low saves 1,752 CHF a year")
    dearer = told(made(tmp_path, POLICIES, 'baseline = { policy = "low" }'), "power_policy", **PRICED)
    assert dearer[0].startswith(
        "high costs 876 CHF a year with 10 hosts, 33.3 % more than low: 3,504 against 2,628 CHF"
    )


INVENTED = re.compile(r"EUR|CHF|\bRPO\b|\bVMs\b|\ba year\b|\bMTU\b|first copy|day's change|\d hosts")
"""What no page may state a figure of unless the user gave it."""


@pytest.mark.parametrize(
    ("name", "runs", "head", "measured"),
    [
        ("replication", RATES, "", "80 to 800 Mbit/s in 2 runs"),
        ("power_policy", POLICIES, HIGH, "which is higher (-25 %)"),
    ],
)
def test_nothing_is_concluded_from_numbers_that_nobody_gave(tmp_path, name, runs, head, measured):
    inputs = NEEDS[name].asks
    page = ran(name, made(tmp_path, runs, head))
    assert not INVENTED.search(" ".join(page.answers))
    assert not INVENTED.search(page.tables)
    answer = page.answer.text
    assert measured in answer
    assert answer.startswith("This page shows what was measured and draws no conclusion. No file has ")
    for one in inputs:
        assert f"{one} (" in answer
    assert f"with -p {inputs[0]}=VALUE." in answer
    # One number short of all is not enough.
    given = {**(SCENARIO if name == "replication" else PRICED)}
    del given[inputs[-1]]
    page = ran(name, made(tmp_path, runs, head), **given)
    assert not INVENTED.search(" ".join(page.answers))
    assert f"No file has {inputs[-1]} (" in page.answer.text


def test_the_answer_names_the_origin_of_each_number(tmp_path):
    head = 'baseline = { policy = "high" }\n[report]\nshape = "power_policy"\n'
    head += 'inputs = { hosts = 10, price_per_kwh = 0.2, currency = "CHF" }\n'
    page = ran("power_policy", made(tmp_path, POLICIES, head), hosts=20)
    answer = page.answer.text
    # The command line takes precedence: 20 x 0.05 kW x 8,760 h x 0.2
    assert "low saves 1,752 CHF a year with 20 hosts" in answer
    assert "Given in study.toml: price_per_kwh = 0.2, currency = CHF." in answer
    assert "Given with -p: hosts = 20." in answer
    assert "By default: climate_factor = 1 (what cooling adds" in answer
    assert "hosts = '20 (-p)'" in page.blocks[-1].text


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ("{ host = 3 }", "template 'power_policy' has no input 'host': did you mean 'hosts'"),
        ("{ hosts = 2.5 }", "hosts is 2.5: it must be a whole number"),
        ("{ hosts = -15 }", "hosts is -15: it must be a whole number above 0"),
        ("{ price_per_kwh = 'cheap' }", "price_per_kwh is 'cheap': it must be a number"),
        ("{ climate_factor = 0.5 }", "climate_factor is 0.5: it must be a number of at least 1"),
        ("{ hosts = nan }", "hosts is nan; write a finite number"),
        ("{ hosts = [1] }", r"hosts is \[1\]; write a number or text"),
    ],
)
def test_an_impossible_input_is_one_clear_error(tmp_path, inputs, message):
    folder = made(tmp_path, POLICIES, f'{HIGH}\n[report]\nshape = "power_policy"\ninputs = {inputs}\n')
    with pytest.raises(EsxparseError, match=message):
        ran("power_policy", folder)


def wanted(one):
    return [one.needs, *one.fits]


NAMES = sorted(
    {
        name
        for one in NEEDS.values()
        for want in wanted(one)
        for name in (*want.get("labels", ()), *want.get("apart", ()))
    }
    | {"access", "client", "design", "mode", "nics", "policy", "ports", "replication", "route", "rpo", "server", "way"}
)
OTHERWISE = [["raid1", "raid5"], ["A/B", "C"], ["Firefox", "Chrome", "Edge"], ["nested", "shadow"], [1, 2, 4]]
"""What else such labels are used for: RAID levels, designs of experiments, browsers, modes, counts."""
DATA = ex.datasets_dir()
FILES = {
    "esxtop": ["replication/inside.csv.bz2", "replication/routed.csv.bz2", "numa/wide-4.0.csv.bz2"],
    "power": ["power/dynamic-1.ilo.xml", "power/static-high-1.ilo.xml", "power/dynamic-2.ilo.xml"],
    "results_csv": ["spark/cloud.results.csv", "spark/on-premises.results.csv", "vcenter/6.5-vpxd.results.csv"],
    "perf": ["mmu/nested-1.perf.txt", "mmu/shadow-1.perf.txt", "mmu/nested-2.perf.txt"],
    "fio": ["pmem/vm-read-512k-1.json", "pmem/native-read-512k-1.json", "pmem/vm-write-512k-1.json"],
}


def of_files(folder, label, values, role, *, baseline):
    lines = [f"baseline = {{ {label} = {json.dumps(values[0])} }}"] if baseline else []
    for value, file in zip(values, FILES[role], strict=False):
        copy = folder / Path(file).name
        copy.write_bytes((DATA / file).read_bytes())
        lines += ["[[run]]", f"{label} = {json.dumps(value)}", f'{role} = "{copy.name}"']
    (folder / "study.toml").write_text("\n".join(lines))
    return folder


@pytest.mark.parametrize("role", FILES)
def test_auto_never_takes_a_template_that_needs_numbers_by_the_name_of_a_label(tmp_path, role):
    for number, (label, values, baseline) in enumerate(product(NAMES, OTHERWISE, (False, True))):
        folder = tmp_path / str(number)
        folder.mkdir()
        manifest = load(of_files(folder, label, values, role, baseline=baseline))
        taken = needs.fitting(manifest, expand(manifest), NEEDS)
        assert taken == "study" or not NEEDS[taken].asks, (label, values, baseline, taken)


@pytest.mark.parametrize("baseline", [False, True])
@pytest.mark.parametrize(
    ("label", "values", "role"),
    [
        ("design", OTHERWISE[0], "esxtop"),
        ("route", OTHERWISE[0], "esxtop"),
        ("rpo", OTHERWISE[4], "esxtop"),
        ("ports", OTHERWISE[4], "esxtop"),
        ("server", ["DL380", "R720"], "power"),
        ("policy", OTHERWISE[4], "power"),
        ("client", OTHERWISE[2], "results_csv"),
        ("access", OTHERWISE[1], "results_csv"),
        ("protocol", OTHERWISE[4], "fio"),
        ("size", OTHERWISE[4], "fio"),
        ("mode", OTHERWISE[3], "perf"),
    ],
)
def test_every_page_answers_from_what_was_measured(tmp_path, label, values, role, baseline):
    manifest = load(of_files(tmp_path, label, values, role, baseline=baseline))
    taken = needs.fitting(manifest, expand(manifest), NEEDS)
    page = ran(taken, tmp_path)
    assert page.answers
    assert not INVENTED.search(f"{page.blocks[0].text} {page.answer.text} {page.tables}")


@pytest.mark.search
def test_a_label_called_client_gets_a_report(tmp_path):
    page = ex.report(
        of_files(tmp_path, "client", OTHERWISE[2], "results_csv", baseline=False), "auto", tmp_path / "a.html"
    )
    assert "spark" in page.read_text()


def test_protocols_are_also_held_against_the_first(tmp_path):
    runs = [
        ({"release": release, "protocol": protocol, "size": size}, {"mb_per_s": 100.0 * times})
        for release, factor in (("3.0", 1.0), ("3.5", 2.0))
        for protocol, times in (("fc", 1.0 * factor), ("nfs", 0.5 * factor))
        for size in (1, 2, 4)
    ]
    folder = made(tmp_path, runs, 'axis = ["size", "protocol"]\nbaseline = { release = "3.0" }')
    release, other = told(folder, "protocols")
    assert release == (
        "Throughput of 3.5 against 3.0, geometric mean over size: fc: no difference shown; nfs: no difference shown."
    )
    assert other == "Throughput of 3.5 against fc, geometric mean over size: nfs: -50 %."
    method = ran("protocols", folder).blocks[-2].text
    assert "Ratios to fc compare runs of one size and one release; below 1, fc has more." in method
    assert "{" not in method
    with pytest.raises(EsxparseError, match="has protocol=ib: choose one of fc, nfs"):
        told(folder, "protocols", reference="ib")


def test_names_in_a_manifest_are_data_in_queries_and_sentences(tmp_path):
    name = 'o\'k "{x}" <b>'
    runs = [({"mode": one}, {"iops": iops}) for one, iops in ((name, 100.0), ("other {y}", 50.0)) for _ in range(2)]
    folder = made(tmp_path, [], "")
    lines = [f"baseline = {{ mode = {json.dumps(name)} }}"]
    for labels, values in runs:
        lines += ["[[run]]", f"mode = {json.dumps(labels['mode'])}", "[run.values]", f"iops = {values['iops']}"]
    (folder / "study.toml").write_text("\n".join(lines))
    page = ran("comparison", folder)
    (sentence,) = page.answers
    assert sentence.startswith("other {y} against " + name + ": IOPS is 50 % lower")
    assert "&lt;b&gt;" in page.answer.html


def test_a_template_that_is_not_there_is_an_error(tmp_path):
    folder = made(tmp_path, SWEEP, '[report]\nshape = "scalling"\n')
    with pytest.raises(EsxparseError, match="unknown template 'scalling': did you mean 'scaling'"):
        ex.report(folder, "auto", tmp_path / "a.html")


def test_scaling_is_of_what_should_grow_and_not_of_latencies(tmp_path):
    rates = {1: 99.0, 2: 196.0, 4: 384.0, 8: 736.0}
    runs = [({"vms": vms}, {"mb_per_s": rate, "read_latency_ms": 1 + vms / 10}) for vms, rate in rates.items()]
    folder = made(tmp_path, runs)
    share = 100 * rates[8] / (8 * rates[1])
    assert told(folder, "scaling") == [f"Throughput: a straight line up to 4 VMs, {share:.3g} % of it at 8."]
    assert ran("scaling", folder).titles == ["Throughput by VMs", "Efficiency, Throughput"]


@pytest.mark.parametrize(
    ("loads", "swept"),
    [([1, 4, 8], ["load"]), ([1, 4, 8, "all"], []), ([1, 4], []), (["1", "4", "8"], []), ([1.5, 4, 8], ["load"])],
)
def test_a_label_is_swept_if_all_its_values_are_numbers(tmp_path, loads, swept):
    folder = made(
        tmp_path, [({"load": one, "repetition": number}, {"iops": 9.0}) for number, one in enumerate(loads, 1)]
    )
    runs = expand(load(folder))
    assert needs.sweeps(runs) == swept
    # A run without the label does not count.
    assert needs.sweeps([*runs, dataclasses.replace(runs[0], labels={"load": None})]) == swept


TOLERANCE = 'axis = "vms"\nbaseline = { mode = "default" }\n[report]\ntolerances = { read_p95_ms = 100 }\n'


def loads(default, dense):
    return [
        ({"mode": mode, "vms": vms}, {"read_p95_ms": value, "iops": 10.0 * vms})
        for mode, values in (("default", default), ("dense", dense))
        for vms, value in zip((100, 200, 300), values, strict=True)
    ]


def test_a_tolerance_that_no_load_passed_gives_a_lower_bound_and_no_percentage(tmp_path):
    answers = told(made(tmp_path, loads((20.0, 30.0, 150.0), (20.0, 30.0, 40.0)), TOLERANCE), "consolidation")
    text = " ".join(answers)
    assert "dense: Read p95 of at most 100 ms: at least 300 VMs, the most tried." in text
    assert "against" not in text
    (tmp_path / "both").mkdir()
    passed = told(made(tmp_path / "both", loads((20.0, 50.0, 150.0), (20.0, 75.0, 125.0)), TOLERANCE), "consolidation")
    assert "dense: Read p95 of at most 100 ms: 250 VMs against 250 of default, +0 %." in passed


def test_columns_without_numbers_are_named_and_the_others_reported(tmp_path):
    head = 'baseline = { mode = "default" }\n[report]\nvalues = ["iops", "ready_pct"]\n'
    runs = [({"mode": mode}, {"iops": iops}) for mode, iops in (("default", 100.0), ("dense", 90.0))]
    page = ran("comparison", made(tmp_path, runs, head)).answer.text
    assert page.startswith("No run has a number for: Ready per vCPU")
    assert "IOPS" in page
    (tmp_path / "none").mkdir()
    with pytest.raises(EsxparseError, match="no run has a number in column 'ready_pct'; it comes from files of esxtop"):
        told(made(tmp_path / "none", runs, head.replace('"iops", ', "")), "comparison")
