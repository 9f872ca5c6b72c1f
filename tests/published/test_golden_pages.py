"""Text and chart data of finished reports, compared with golden texts (`make golden` writes them again)."""

from __future__ import annotations

import pytest
from golden import kept, texts
from page_oracle import page
from search import routine_of

import esxparse as ex
from esxparse import cli

DATA = ex.datasets_dir()
FORMATS = DATA / "formats"
STUDIES = sorted(
    (path.parent.name for path in DATA.glob("*/study.toml")), key=lambda name: len(list((DATA / name).iterdir()))
)
ROUTINE = {"mmu", "numa", "remote", "spark", "vdi", "vpmc"}
FILES = {
    "busy-host": ([DATA / "busy-host" / "busy-host.csv"], "auto"),
    "busy-host-power": ([DATA / "busy-host" / "busy-host.csv"], "power_profile"),
    "busy-host-troubles": ([DATA / "busy-host" / "busy-host.csv"], "troubleshooting"),
    "fio": ([FORMATS / "fio-json-plus.json"], "auto"),
    "fio-several": ([DATA / "baseline" / f"{name}.json" for name in ("randread-4k-1", "randread-4k-32")], "auto"),
    "iometer": ([FORMATS / "iometer-1.1.0.csv"], "auto"),
    "diskspd": ([FORMATS / "diskspd-2.0.21.xml"], "auto"),
    "outlets": ([FORMATS / "power-pdu-export.csv"], "auto"),
    "redfish": ([FORMATS / "redfish-collected.jsonl"], "auto"),
    "ipmi": ([FORMATS / "ipmi-sensor-loop.txt"], "auto"),
    "perf": ([FORMATS / "perf-plain.txt"], "auto"),
    "perf-per-cpu": ([FORMATS / "perf-per-cpu.csv"], "auto"),
    "perf-interval": ([FORMATS / "perf-interval.jsonl"], "auto"),
    "vmkperf": ([FORMATS / "vmkperf-poll.txt"], "auto"),
    "perf-two": ([FORMATS / "perf-interval.jsonl", FORMATS / "perf-per-cpu.csv"], "auto"),
}


def check(name, output):
    text = output.read_text(encoding="utf-8")
    # Pages are passed on: whose machine made them is nobody's business.
    assert [place for place in (str(DATA), str(output.parent)) if place in text] == []
    kept.check("pages", name, texts.of_page(page.read(text)))


@pytest.mark.parametrize("name", FILES)
def test_the_report_of_recordings(name, tmp_path):
    files, template = FILES[name]
    output = tmp_path / "page.html"
    assert cli.main(["report", *map(str, files), "-q", "-o", str(output), "-t", template]) == 0
    check(name, output)


@pytest.mark.parametrize("name", routine_of(STUDIES, ROUTINE))
def test_the_report_of_a_study(name, study_page):
    check(name, study_page(name))


@pytest.mark.search
@pytest.mark.needs("obstore")
def test_the_report_of_a_lake(tmp_path):
    captures = [DATA / "busy-host" / "busy-host.csv", *sorted((DATA / "power").glob("*.csv.bz2"))]
    lake = tmp_path / "lake"
    assert cli.main(["lake", "add", *map(str, captures), "--lake", str(lake), "-q"]) == 0
    output = tmp_path / "page.html"
    assert cli.main(["lake", "report", "--lake", str(lake), "-q", "-o", str(output)]) == 0
    check("lake", output)
