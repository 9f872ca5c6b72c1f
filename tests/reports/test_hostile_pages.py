"""Pages other than reports, opened in Chromium with every name of `hostile.NAMES`: nothing in a name runs or loads."""

from __future__ import annotations

import re
import subprocess
import sys

import compose
import hostile
import nbformat
import pytest
from lab_server import lab, notebook, run_all
from test_reports_hostile import hostile_capture

import esxparse as ex
from esxparse.cli import main
from esxparse.recording import printable
from esxparse.reports import facts, index
from esxparse.reports.batch_items import Item

pytestmark = [pytest.mark.search, pytest.mark.needs("chromium", "playwright")]
CONTROL = "<img src=x onerror=hit(1)>"
LAB_WAIT_MS = 60_000


def file_name(name):
    """The name as that of a file, which has no slash and which a directory does not hide."""
    return name.replace("/", "\N{BIG SOLIDUS}").replace("..", "a..")[:80] + ".csv"


def waiting(folder, name, samples=30):
    """A capture whose host, VM and file have a hostile name; the VM waits, so that findings name it."""
    owner = f"Vcpu(7:{name}:8:vmx-vcpu-0:{name})"
    columns = [(owner, f"% {counter}", name) for counter in ("Ready", "Used", "Run")]
    columns += [("Physical Cpu(_Total)", f"% {counter} Time", name) for counter in ("Util", "Processor")]
    return compose.write(folder, compose.text(columns, [["40", "50", "50", "60", "60"]] * samples), file_name(name))


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("captures")
    return [waiting(folder, name) for name in hostile.NAMES]


def add_all(lake, captures):
    """Fills a lake. The host is named: one with markup or a slash in it cannot be a directory of a lake."""
    for number, capture in enumerate(captures):
        assert len(ex.lake(lake).add([str(capture)], host=f"esx-{number:03d}")) == 1


def missing_in(watched, names):
    """Names that the page does not show; of what no font draws only the rest of the name counts."""
    text = watched.page.evaluate("document.body.textContent")
    return [name for name in names if not all(part in text for part in re.split("[\x00-\x1f\u202e\ufffd]", name))]


def assert_names_are_text(chromium, page, names):
    """With its policy and without, the page shows each name and no sign of an attack; the control shows one."""
    for copy in (page, hostile.without_policy(page)):
        with hostile.opened(chromium, copy) as watched:
            assert watched.signs() == []
            assert missing_in(watched, names) == []
    with hostile.opened(chromium, hostile.with_one_name_as_markup(page, CONTROL)) as watched:
        signs = watched.signs()
        assert "call of hit" in signs
        assert any(sign.startswith("IMG onerror") for sign in signs)


def test_the_index_of_a_batch_shows_names_of_files_as_text(chromium, tmp_path):
    place = tmp_path / "in"
    place.mkdir()
    names = [file_name(name) for name in hostile.NAMES]
    for name in names:
        (place / name).write_text("neither a capture nor anything else that a reader knows\n")
    read = waiting(place, f"{CONTROL} host")
    made = ex.batch(place, tmp_path / "out", jobs=1)
    assert (made.items, len(made.failed)) == (len(names) + 1, len(names))
    assert_names_are_text(chromium, made.index, [*names, read.name])


def test_the_index_of_a_batch_shows_hosts_verdicts_and_reasons_as_text(chromium, captures, tmp_path):
    told, items = {}, []
    for name, capture in zip(hostile.NAMES, captures, strict=True):
        rec = ex.open(capture)
        # The page leaves out a host that is the name of its item.
        made, failed = f"report {name}", f"failed {name}"
        items += [Item((str(capture),), "host_health", name=made), Item((str(capture),), name=failed)]
        told[made] = {"facts": facts.facts([rec, ex.diagnose(rec)])}
        told[failed] = {"why": f"{name} cannot be read"}
        assert name in told[made]["facts"]["verdict"]
        assert told[made]["facts"]["host"] == name
    page = tmp_path / "index.html"
    page.write_text(index.page(items, told, [(one.name, one.name) for one in captures]), encoding="utf-8")
    verdicts = [f"{name} waited" for name in hostile.NAMES]
    assert_names_are_text(chromium, page, [*verdicts, *(f"{name} cannot be read" for name in hostile.NAMES)])


@pytest.mark.needs("obstore")
def test_the_page_of_a_fleet_shows_names_as_text(chromium, captures, tmp_path):
    add_all(tmp_path / "lake", captures)
    page = tmp_path / "fleet.html"
    assert main(["lake", "report", "--lake", str(tmp_path / "lake"), "-o", str(page)]) == 0
    assert_names_are_text(chromium, page, hostile.NAMES)


CELLS = [
    "import polars as pl\npl.Config.set_tbl_rows(-1)\npl.Config.set_fmt_str_lengths(200)",
    "import esxparse as ex\nrec = ex.open({capture!r})\nrec",
    "rec['vcpu'].collect()",
    "rec.search('ready'), rec.top('%RDY', 117)",
    "rec.top('%RDY', 117)",
    "ex.diagnose(rec)",
    "ex.check(rec)",
    "rec.plot('%RDY', n=8)",
    "ex.explore(rec)",
    "study = ex.study({study!r})\nstudy",
    "study.runs.collect()",
    "ex.lake({lake!r}).catalogue",
    "ex.lake({lake!r})",
    "rec.notes",
]


def executed(folder, cells):
    """A notebook of these cells, run in its kernel and rendered by nbconvert."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    nbformat.write(book, folder / "book.ipynb")
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", "--allow-errors", "book.ipynb"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "book.html"


def rendered(notebook):
    command = [sys.executable, "-m", "nbconvert", "--to", "html", notebook.name]
    subprocess.run(command, cwd=notebook.parent, capture_output=True, check=True)
    return notebook.with_suffix(".html")


def assert_outputs_are_text(chromium, page, names):
    """As `assert_names_are_text`; nbconvert's page has no policy, and loads its own scripts."""
    html = page.read_text(encoding="utf-8")
    own = page.with_name(f"own-{page.name}")
    theirs = r'<script src="https://[^"]*"[^>]*></script>|https://(?:cdnjs|unpkg)[^"\']*'
    own.write_text(re.sub(theirs, "", html), encoding="utf-8")
    with hostile.opened(chromium, own) as watched:
        assert watched.signs() == []
        assert missing_in(watched, names) == []
    with hostile.opened(chromium, hostile.with_one_name_as_markup(own, CONTROL)) as watched:
        assert "call of hit" in watched.signs()


@pytest.mark.needs("obstore")
def test_outputs_in_a_notebook_show_names_as_text(chromium, captures, tmp_path):
    capture = hostile_capture(tmp_path, hostile.NAMES)
    add_all(tmp_path / "lake", captures)
    study = tmp_path / "study"
    study.mkdir()
    runs = []
    for number, name in enumerate(hostile.NAMES):
        (study / f"{number}.csv").write_text(waiting(tmp_path, name, 3).read_text())
        quoted = "".join(f"\\u{ord(one):04x}" for one in name)
        runs.append(f'[[run]]\nname = "{quoted}"\nesxtop = "{number}.csv"\n')
    (study / "study.toml").write_text("\n".join(runs))
    words = {"capture": str(capture), "study": str(study / "study.toml"), "lake": str(tmp_path / "lake")}
    page = executed(tmp_path, [cell.format(**words) for cell in CELLS])
    assert "Traceback" not in page.read_text(encoding="utf-8")
    assert_outputs_are_text(chromium, page, hostile.NAMES)


def test_a_report_as_a_notebook_shows_names_as_text(chromium, tmp_path):
    page = rendered(ex.report(hostile_capture(tmp_path, hostile.NAMES), output=tmp_path / "page.ipynb"))
    assert_outputs_are_text(chromium, page, hostile.NAMES)


@pytest.mark.needs("anywidget", "jupyterlab")
def test_the_explorer_shows_names_as_text(chromium, tmp_path):
    capture = hostile_capture(tmp_path, hostile.NAMES).rename(tmp_path / file_name(CONTROL))
    # A panel shows eight at most.
    parts = [hostile.NAMES[at : at + 8] for at in range(0, len(hostile.NAMES), 8)]
    patterns = [f":({'|'.join(map(re.escape, part))})$" for part in parts]
    panels = [{"counter": "pct_ready", "table": "vcpu", "n": 8, "pattern": pattern} for pattern in patterns]
    source = f"import esxparse as ex\nex.explore(ex.open({str(capture)!r}), view={{'panels': {panels!r}}})"
    (tmp_path / "book.ipynb").write_text(notebook([source]), encoding="utf-8")
    with lab(tmp_path) as address:
        context = chromium.new_context(viewport={"width": 1440, "height": 1800})
        watched = hostile.watch(context)
        page = watched.page
        context.route(re.compile(r"^https?://(?!127\.0\.0\.1)"), lambda route: route.abort())
        page.goto(f"{address}/lab/tree/book.ipynb?reset", wait_until="domcontentloaded")
        run_all(page, LAB_WAIT_MS)
        drawn = f"document.querySelectorAll('.ex-panel[data-drawn]').length === {len(panels)}"
        page.wait_for_function(drawn, timeout=LAB_WAIT_MS)
        # Their text is shortened where names differ late.
        titles = page.eval_on_selector_all(".ex-legend button", "all => all.map(one => one.title)")
        assert sorted(titles) == sorted(f"What moved like vmx-vcpu-0:{printable(name)}" for name in hostile.NAMES)
        assert CONTROL in page.locator(".ex-explorer").inner_text()
        page.get_by_role("button", name="Hotspots").click()
        page.locator(".ex-below .ex-hit", has_text="hit(1)").first.wait_for(timeout=LAB_WAIT_MS)
        page.locator(".ex-chart").first.hover()
        assert watched.signs() == []
        assert not re.search("[\x07\x1b\u202e]", page.locator(".ex-explorer").inner_html())
        # The positive control: one name that the page takes for markup.
        page.eval_on_selector(".ex-legend button", "(one, name) => { one.innerHTML = name }", CONTROL)
        assert "call of hit" in watched.signs()
