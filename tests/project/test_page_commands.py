"""The commands of README.md and of docs/ run as they are printed there, in the order of the page."""

from __future__ import annotations

import gzip
import re
import shlex
import shutil
from pathlib import Path

import pytest
from checkout import DOCS, ROOT
from s3_server import s3

import esxparse as ex
from esxparse import cli
from esxparse.quality import suites

PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
STUDY = {"case-studies": "case-alignment", "plan": "dense", "templates": "vdi", "study": "vaio"}
"""The bundled study that stands for `study.toml` of a page."""
OTHERS = "case-readahead"
FORMATS = {
    "b.json": "fio-json-plus.json",
    "db.vmx": "vmx-database.vmx",
    "esxcli.txt": "esxcli-settings.txt",
    "fio-run/jobs.json": "fio-json-plus.json",
    "ilo-a.xml": "ribcl-power-readings.xml",
    "ilo-b.xml": "ribcl-power-readings.xml",
    "iometer.csv": "iometer-1.1.0.csv",
    "runs/web.csv": "iometer-1.1.0.csv",
    "summary.txt": "esxcli-host.txt",
    "vmkperf.txt": "vmkperf-poll.txt",
    "vms/db.vmx": "vmx-database.vmx",
}
"""Files that pages name, and the bundled files that stand for them."""
HOSTD = """\
2026-03-11T09:00:05.100Z [FFDA info 'TaskManager' opID=2a] Task Created : haTask-12-vim.VirtualMachine.powerOn-344
2026-03-11T09:00:07.350Z [FFDA info 'Task'] Task Completed : haTask-12-vim.VirtualMachine.powerOn-344 Status success
"""
VMKERNEL = "2026-03-11T09:01:00.000Z cpu1:2097521)WARNING: NMP: naa.60060160 state in doubt: APD\n"
VOBD = "2026-03-11T09:02:06.737Z In(14) vobd[2097521]:  [scsiCorrelator] [esx.problem.storage.apd.start] naa.1 down\n"
TASKS = """\
run,step,target,start,end
before,Reconfigure virtual machine,web-01,2026-03-11 09:01:00,2026-03-11 09:01:03
before,Power On virtual machine,web-01,2026-03-11 09:03:03,2026-03-11 09:03:05
after,Power On virtual machine,web-01,2026-03-11 09:08:05,2026-03-11 09:08:08
"""
FILTERS = """\
baseline = { filter = "default" }
axis = ["vms"]
[host]
cores = 16
mhz = 2400
[[run]]
filter = ["default", "iofilter"]
vms = [1, 2, 8]
esxtop = "{filter}-1x{vms:02d}vm-128oio-1.csv.bz2"
iometer = "{filter}-1x{vms:02d}vm-128oio-1.iometer.csv"
"""
"""A manifest like the one on the page of studies."""
LAKES = (
    ("s3://captures/2026", "night/"),
    ("night/lake", "night/"),
    ("night/lake", "earlier/"),
    ("lake", "lake-a"),
    ("lake", "lake-b"),
)
"""Lakes that pages name, and the captures in them."""
ELSEWHERE = re.compile(
    r"^source |esxtop -b|esxparse collect|ssh host|esxparse lab|influx|promtool|pip install|dask|POLARS|make |papermill"
    r"|jupyter|podman|\bvc\b|audit h7|--on dask|--engine gx|--data-docs|--columns 100000|report auto study.toml"
    r"|report\.pdf"
)
"""Commands that need a host, a server, another program or minutes; other tests run what of them is ours."""


def commands(page: Path) -> list[str]:
    """The commands of a page, without what a comment says of them."""
    blocks = re.findall(r"^```console\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    return list(dict.fromkeys(re.split(r"\s+#\s", line)[0].strip() for line in lines))


def _captures(place: Path) -> None:
    """Captures with the names, VMs and times that pages speak of."""
    text = (ex.datasets_dir() / "busy-host" / "busy-host.csv").read_text(encoding="utf-8")
    named = text.replace("orders-app", "db-1").replace("report-batch", "web-1")
    header, _, body = text.partition("\n")
    days = {"lake-a": "11/12/2026", "lake-b": "11/19/2026"}
    made = {
        **dict.fromkeys(("capture.csv", "esx-07.csv", "a.csv", "mon.csv", "tue.csv", "wed.csv", "thu.csv"), text),
        **dict.fromkeys(("before.csv", "b.csv"), named),
        "after.csv": named.replace("web-1", "www-1"),
        "day.csv": f"{header}\n{body}{body.replace('11/2026 09:', '11/2026 10:')}",
        **{f"night/esx-{number}.csv": text.replace("esx-07.lab.example", f"esx-{number}") for number in ("07", "08")},
        "earlier/esx-07.csv": text.replace("esx-07.lab.example", "esx-07").replace("03/11/2026", "03/04/2026"),
        **{f"{name}/esx-1.csv": text.replace("esx-07.lab.example", "esx-1").replace("03/11/2026", day)
           for name, day in days.items()},
        "hostd.log": HOSTD, "vobd.log": VOBD, "vmkernel.log": VMKERNEL, "tasks.csv": TASKS,
    }  # fmt: skip
    for name, content in made.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(content, encoding="utf-8")
    for name in ("esx-07", "night/esx-07"):
        (place / f"{name}.csv.gz").write_bytes(gzip.compress((place / f"{name}.csv").read_bytes(), 1))


def furnish(place: Path, page: Path) -> None:
    """Put the files that a page names into a folder."""
    _captures(place)
    for name, bundled in FORMATS.items():
        (place / name).parent.mkdir(exist_ok=True)
        shutil.copy(ex.datasets_dir() / "formats" / bundled, place / name)
    shutil.copytree(ex.datasets_dir() / STUDY.get(page.stem, OTHERS), place, dirs_exist_ok=True)
    if page.stem == "study":
        (place / "study.toml").write_text(FILTERS, encoding="utf-8")
    (place / "datasets").symlink_to(ex.datasets_dir())
    profile = re.search(r"```toml\n(.*?)```", (DOCS / "diagnosis.md").read_text(encoding="utf-8"), re.DOTALL)
    assert profile
    (place / "mine.toml").write_text(profile[1], encoding="utf-8")
    shutil.copy(Path(suites.__file__).parent / "suites" / "esxtop.memory.json", place / "mine.json")
    view = (place / "vms/db.vmx").read_text(encoding="utf-8").replace("db-01 |22reports|22", "view-01")
    (place / "vms/view-01.vmx").write_text(view, encoding="utf-8")
    shutil.copy(next((ROOT / "simulator").rglob("busy-host.toml")), place / "my-lab.toml")


@pytest.mark.search
@pytest.mark.needs("obstore", "duckdb", "moto")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_run(page, tmp_path, monkeypatch, capsys):
    ours = [command for command in commands(page) if not ELSEWHERE.search(command)]
    # Each kind of command once; the list of all commands comes last, because other pages have most of them.
    pages = sorted(PAGES, key=lambda one: one.stem == "command-line")
    before = {kind(command) for other in pages[: pages.index(page)] for command in commands(other)}
    ours = [command for command in ours if kind(command) not in before]
    if not ours:
        pytest.skip("each command of this page needs a host or a server, or is on another page")
    furnish(tmp_path, page)
    monkeypatch.chdir(tmp_path)
    failed = []
    with s3() as server:
        server.bucket("captures")
        for name, value in server.env.items():
            monkeypatch.setenv(name, value)
        lakes = [
            f"esxparse lake add {files} --lake {lake}" for lake, files in LAKES if any(lake in one for one in ours)
        ]
        for command in [*lakes, *ours]:
            status = cli.main(words(command))
            # 3 is the answer of --fail-on.
            if status not in ({0, 3} if "--fail-on" in command else {0}):
                failed.append(f"{command}: {status}, {capsys.readouterr().err.strip()[-300:]}")
    assert not failed, "\n".join(failed)


def kind(command: str) -> tuple[str, ...]:
    """A command without its files and values."""
    return tuple(word for word in shlex.split(command)[:2] if "." not in word) + tuple(
        re.findall(r" (--?[a-z-]+)", command)
    )


def words(command: str) -> list[str]:
    """What a shell makes of a command's arguments; where its output goes is left out."""
    split = shlex.split(command.partition(" > ")[0])[1:]
    return [word for one in split for word in (sorted(map(str, Path().glob(one))) if "*" in one else []) or [one]]


def test_every_command_of_the_pages_is_tried_or_named():
    every = {command for page in PAGES for command in commands(page)}
    assert len([one for one in every if not ELSEWHERE.search(one)]) > 60
