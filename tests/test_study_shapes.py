"""Shapes of studies: which fits, what each asks for, and what it says, against arithmetic of the tests' own."""

from __future__ import annotations

import dataclasses
import json

import pytest
from studied import made

import esxparse as ex
from esxparse import EsxparseError
from esxparse.reports import find, library, pick, templates
from esxparse.reports.study import gather, shape, shaped, tables, words
from esxparse.studies.expand import expand
from esxparse.studies.study_file import load

SHAPES = {one.name: one for one in shape.shapes()}


def found(folder, name, **given):
    return gather.gather(folder, shape=name, given={**shape.given(name, {}), **given})


def told(folder, name, **given):
    return shaped.sentences(found(folder, name, **given))


def titles(folder, name):
    return [one.to_dict()["title"]["text"] for one in tables.charts(found(folder, name))]


def test_the_twelve_shapes_are_templates_with_parameters_of_their_own():
    there = {one.name: one for one in templates()}
    assert len(SHAPES) == 12
    for name, one in SHAPES.items():
        assert there[name].title == one.title
        assert {*one.parameters} <= {parameter.name for parameter in there[name].parameters}
        assert not there[name].has("shape")
    cells = library.notebook(find("power_policy"))["cells"]
    (source,) = ["".join(one["source"]) for one in cells if "parameters" in one["metadata"].get("tags", [])]
    assert 'shape: str = "power_policy"' in source
    assert "price_per_kwh: float = 0.25  # price of a kWh" in source


@pytest.mark.parametrize("name", sorted(path.parent.name for path in ex.datasets_dir().glob("*/study.toml")))
def test_the_shape_of_a_study_is_told_from_what_it_varies(name):
    manifest = load(ex.datasets.folder(name))
    said = manifest.asked.shape
    silent = dataclasses.replace(manifest, asked=dataclasses.replace(manifest.asked, shape=""))
    # That a study is of a slowness, its manifest must say.
    assert shape.fitting(silent, expand(silent)) == {"case_study": "comparison"}.get(said, said)
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
        shape.check(SHAPES[name], manifest, expand(manifest))
    text = str(caught.value)
    assert f"template '{name}' needs {what}; its labels are " in text
    assert text.endswith("fits")
    assert "\n" not in text


def test_a_manifest_names_templates_and_never_a_notebook(tmp_path):
    folder = made(tmp_path, SWEEP, '[report]\nshape = "../evil.ipynb"\n')
    with pytest.raises(EsxparseError, match="shape must be the name of a template"):
        load(folder)


def test_scaling_says_where_the_line_is_left(tmp_path):
    folder = made(tmp_path, SWEEP, 'axis = "hosts"')
    assert told(folder, "scaling") == ["IOPS follows a straight line up to 8 hosts; at 16 it is 75 % of it."]
    assert told(folder, "scaling", tolerance_pct=30.0) == [
        "IOPS grows in a straight line as far as it was tried, to 16 hosts: 75 % of it."
    ]
    assert titles(folder, "scaling") == ["IOPS by hosts", "Efficiency, IOPS"]


def test_scaling_with_rules_is_of_the_largest_loads(tmp_path):
    runs = [
        ({"nodes": nodes, "users": users}, {"web_p95_ms": p95})
        for nodes, most in ((1, 100), (2, 200), (4, 300))
        for users, p95 in ((most, 90.0), (most + 10, 110.0))
    ]
    folder = made(tmp_path, runs, 'axis = "users"\n[report]\nsweep = "users"\nrules = { web_p95_ms = 100 }\n')
    assert told(folder, "scaling") == [
        "100 users keep every rule at 1 nodes, 300 at 4: 75 to 100 for each of the nodes.",
        "The largest users grow in a straight line up to 2 nodes (within 5 %): 75 % of it at 4, 75 % at the most.",
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
        "dense: within all tolerances 500 vms, +11.1 % against default (450).",
        "dense: Web p95 of at most 100 ms: 500 vms against 450 of default, +11.1 %.",
    ]


def test_replication_says_whether_the_change_fits(tmp_path):
    folder = made(tmp_path, [({"design": "a"}, {"tx_mbit_per_s": 800.0}), ({"design": "b"}, {"tx_mbit_per_s": 80.0})])
    lines = told(folder, "replication", vms=1, vm_size_mb=10_000.0, change_pct_per_day=10.0, rpo_min=2.0)
    # 1,000 MB at 100 MB/s take 10 s, at 10 MB/s 100 s; a minute is allowed.
    assert lines[0].endswith("takes 0.2 min of the 1 that an RPO of 2 min allows: it fits.")
    assert lines[1].endswith("takes 1.7 min of the 1 that an RPO of 2 min allows: the RPO is at risk.")


def test_power_policies_are_priced(tmp_path):
    runs = [({"policy": name}, {"watts": watts}) for name, watts in (("high", 200.0), ("low", 150.0))]
    folder = made(tmp_path, runs, 'baseline = { policy = "high" }')
    lines = told(folder, "power_policy", hosts=10, price_per_kwh=0.2, climate_factor=1.0)
    # 10 x 0.05 kW x 8,760 h x 0.2
    assert lines[0] == "low saves 876 EUR a year with 10 hosts, 25 % of high's cost: 150 W a host, 50 W less."


def test_protocols_are_also_held_against_the_first(tmp_path):
    runs = [
        ({"release": release, "protocol": protocol, "size": size}, {"mb_per_s": 100.0 * times})
        for release, factor in (("3.0", 1.0), ("3.5", 2.0))
        for protocol, times in (("fc", 1.0 * factor), ("nfs", 0.5 * factor))
        for size in (1, 2, 4)
    ]
    folder = made(tmp_path, runs, 'axis = ["size", "protocol"]\nbaseline = { release = "3.0" }')
    assert told(folder, "protocols") == [
        "3.5, nfs: Throughput -50 % against fc (geometric mean over size; -50 to -50 %)."
    ]
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
    (sentence,) = words.answer(found(folder, "comparison"))
    assert sentence.startswith("other {y} against " + name + ": IOPS is 50 % lower")
    assert "&lt;b&gt;" in tables.answer(found(folder, "comparison")).html


def test_a_shape_that_is_not_there_is_an_error():
    with pytest.raises(EsxparseError, match="there is no shape 'scalling' of studies: choose from"):
        shape.named("scalling")
