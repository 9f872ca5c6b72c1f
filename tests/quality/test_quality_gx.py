"""Great Expectations, unmodified, loads every suite and says what our own evaluator says."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import esxparse as ex
from esxparse.quality import gx, suites

# It takes seconds to import.
pytestmark = [pytest.mark.needs("great-expectations"), pytest.mark.search]
FORMATS = ex.datasets_dir() / "formats"


def told(found):
    return [(one.table, one.id, one.status, one.judged, one.failed, one.entity, one.time, one.value) for one in found]


@pytest.mark.parametrize("path", sorted(suites.SUITES.glob("*.json")), ids=lambda path: path.stem)
def test_it_loads_every_suite(path):
    config = json.loads(path.read_text(encoding="utf-8"))
    loaded = gx.expectation_suite(config["name"], config["expectations"])
    assert [one.expectation_type for one in loaded.expectations] == [one["type"] for one in config["expectations"]]
    assert [one.severity.value for one in loaded.expectations] == [one["severity"] for one in config["expectations"]]


def test_both_engines_agree_on_a_sound_and_on_a_damaged_recording():
    rec = ex.open(FORMATS / "fio-json-plus.json")
    rec = ex.Recording("fio", rec.source, {"jobs": rec["jobs"]}, rec.meta)
    jobs = rec["jobs"].collect()
    wrong = jobs.with_columns(iops=jobs["iops"] * 8, p50_ms=jobs["p99_9_ms"] + 1.0, slat_mean_ms=-1.0)
    bad = ex.Recording("fio", "bad.json", {**rec.tables, "jobs": wrong.lazy()}, rec.meta)
    for one, status in ((rec, "pass"), (bad, "fail")):
        quick, slow = ex.check(one), ex.check(one, engine="gx")
        assert quick.status == status
        assert told(quick) == told(slow)


def test_expectations_that_only_it_knows_are_run_by_it(tmp_path):
    mine = tmp_path / "mine.json"
    kwargs = {"column": "job", "value_set": ["absent"]}
    said = [
        {"type": "expect_column_distinct_values_to_contain_set", "kwargs": kwargs},
        {"type": "expect_table_row_count_to_be_between", "kwargs": {"min_value": 1}},
    ]
    meta = {"esxparse": {"format": "fio", "table": "jobs", "on": "table"}}
    mine.write_text(json.dumps({"name": "mine", "expectations": said, "meta": meta}))
    found = ex.check(ex.open(FORMATS / "fio-json-plus.json"), mine)
    assert sorted(one.status for one in found) == ["fail", "pass"]
    said[0]["type"] = "expect_column_to_sing"
    mine.write_text(json.dumps({"name": "mine", "expectations": said, "meta": meta}))
    with pytest.raises(ex.EsxparseError, match="knows no expect_column_to_sing"):
        ex.check(ex.open(FORMATS / "fio-json-plus.json"), mine)


def test_data_docs_are_pages_that_name_each_table(tmp_path):
    index = ex.quality.data_docs(ex.open(FORMATS / "power-pdu-export.csv", format="power_csv"), tmp_path)
    assert index == tmp_path / "index.html"
    assert "power" in index.read_text(encoding="utf-8")
    assert "power-pdu-export.csv power" not in index.read_text(encoding="utf-8")
    assert list(tmp_path.glob("validations/**/*.html"))


def test_without_it_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['great_expectations'] = None\n"
        "import esxparse as ex\n"
        "rec = ex.open(sys.argv[1])\n"
        "print(ex.check(rec).status)\n"
        "ex.check(rec, engine='gx')"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(FORMATS / "numactl-hardware.txt")], capture_output=True, text=True, check=False
    )
    assert run.stdout.strip() == "pass"
    assert run.stderr.strip().endswith("Great Expectations is not installed: pip install 'esxparse[quality]'")
