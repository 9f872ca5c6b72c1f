"""What leaves a study: files that spare its inputs and are whole, units, comparisons, and requests that are refused."""

from __future__ import annotations

import io
import resource
import signal
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import polars as pl
import pytest
import studies

import esxparse as ex
from esxparse.cli import main
from esxparse.errors import EsxparseError
from esxparse.metrics import consolidation, ratio, scaling
from esxparse.recording import Note
from esxparse.studies import export, results, runs, study
from esxparse.studies.expand import expand
from esxparse.studies.export import column_in_words
from esxparse.studies.study_file import load

TWO = """title = "Two"
baseline = { kind = "a" }
axis = "vms"
[[run]]
kind = ["a", "b"]
vms = [1, 2]
values = { orders_per_min = 500, read_p95_ms = 3 }
"""


def run(*arguments):
    return main(["study", "run", *map(str, arguments)])


@contextmanager
def files_of_at_most(size):
    """Files cannot grow beyond `size` bytes, as on a disk that is full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)


@pytest.mark.parametrize("way", ["itself", "symbolic", "hard"])
def test_a_capture_of_a_run_is_not_written_over(tmp_path, capsys, way):
    capture = tmp_path / "c.csv"
    studies.write_capture(capture, samples=5)
    studies.manifest(tmp_path, '[[run]]\nesxtop = "c.csv"\n')
    out = capture if way == "itself" else tmp_path / "out.csv"
    if way == "symbolic":
        out.symlink_to(capture)
    elif way == "hard":
        out.hardlink_to(capture)
    before = capture.read_bytes()
    assert run(tmp_path, "-q", "-o", out) == 1
    told = capsys.readouterr().err
    assert "is an input, and would be overwritten" in told
    assert len(told.splitlines()) == 1
    assert capture.read_bytes() == before
    assert out.exists()


def test_no_table_is_written_over_an_input_from_python(tmp_path):
    manifest = studies.manifest(tmp_path, TWO)
    found = study(manifest)
    for write in (found.to_csv, found.to_parquet, found.to_table):
        with pytest.raises(EsxparseError, match="is an input, and would be overwritten"):
            write(manifest)
    assert manifest.read_text() == TWO


def test_the_manifest_is_not_written_over(tmp_path, capsys):
    manifest = studies.manifest(tmp_path, TWO)
    (tmp_path / "out.html").symlink_to(manifest)
    assert run(tmp_path, "-q", "-o", tmp_path / "out.html") == 1
    assert "is an input, and would be overwritten" in capsys.readouterr().err
    assert manifest.read_text() == TWO


def test_an_output_in_a_directory_of_recordings_is_written_again_and_a_recording_is_not(tmp_path, capsys):
    folder = tmp_path / "fio"
    folder.mkdir()
    studies.write_fio(folder / "job.csv")
    studies.manifest(tmp_path, '[[run]]\nfio = "fio"\n')
    for _ in range(2):
        assert run(tmp_path, "-q", "-o", folder / "runs.csv") == 0
    before = (folder / "job.csv").read_text()
    assert run(tmp_path, "-q", "-o", folder / "job.csv") == 1
    assert "job.csv is in an input directory, and would be overwritten" in capsys.readouterr().err
    assert (folder / "job.csv").read_text() == before


@pytest.mark.parametrize("kind", ["csv", "html", "parquet"])
def test_on_a_full_disk_the_old_file_stays(tmp_path, capsys, kind):
    studies.manifest(tmp_path, TWO)
    out = tmp_path / f"keep.{kind}"
    out.write_text("OLD")
    out.chmod(0o600)
    with files_of_at_most(100):
        assert run(tmp_path, "-q", "-o", out, "--force") == 1
    assert f"keep.{kind} cannot be written: File too large" in capsys.readouterr().err
    assert out.read_text() == "OLD"
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"keep.{kind}", "study.toml"]
    assert run(tmp_path, "-q", "-o", out, "--force") == 0
    assert out.stat().st_size > 100
    assert out.stat().st_mode & 0o777 == 0o600


def test_a_device_is_written_to_and_a_link_stays_one(tmp_path, capsys):
    studies.manifest(tmp_path, TWO)
    for kind in ("csv", "html", "parquet"):
        full, kept = tmp_path / f"full.{kind}", tmp_path / f"link.{kind}"
        full.symlink_to("/dev/full")
        kept.symlink_to(tmp_path / f"target-{kind}")
        assert run(tmp_path, "-q", "-o", full) == 1
        assert f"full.{kind} cannot be written: No space left on device" in capsys.readouterr().err
        assert full.is_symlink()
        assert run(tmp_path, "-q", "-o", kept) == 0
        assert kept.is_symlink()
        assert (tmp_path / f"target-{kind}").stat().st_size


def test_a_directory_whose_name_is_no_text_has_its_tables(tmp_path):
    folder = tmp_path / "runs-\udcff"
    folder.mkdir()
    note = Note("nothing in runs-\udcff", severity="warning")
    found = replace(studies.computed(folder, TWO), title="runs-\udcff", baseline={"kind": "\udcff"}, notes=(note,))
    found.to_table(folder / "out.html")
    page = (folder / "out.html").read_text()
    assert "<title>runs-\ufffd</title>" in page
    assert "nothing in runs-\ufffd" in page
    found.to_parquet(folder / "out.parquet")
    assert pl.read_parquet_metadata(io.BytesIO((folder / "out.parquet").read_bytes()))["title"] == "runs-\ufffd"


@pytest.mark.parametrize("name", ["host_name", "kind", "start", "is_baseline"])
def test_what_is_no_number_is_not_compared(tmp_path, name):
    found = studies.computed(tmp_path, TWO)
    with pytest.raises(EsxparseError, match=rf"^{name} is not numeric and cannot be compared; .* orders_per_min"):
        found.compare(name)


def test_a_list_of_columns_to_compare_stays_short():
    table = pl.LazyFrame({"kind": ["a"], **{f"x{place}_ms": [1.0] for place in range(40)}})
    with pytest.raises(EsxparseError, match=r"x11_ms \.\.\.$"):
        ratio.ratios(table, "kind", ["kind"], {"kind": "a"})


@pytest.mark.parametrize("limit", ["x", None, True])
def test_a_limit_is_a_number(tmp_path, limit):
    found = studies.computed(tmp_path, TWO)
    with pytest.raises(EsxparseError, match=r"the limit of read_p95_ms must be a number, not"):
        found.consolidation("vms", {"read_p95_ms": limit})


@pytest.mark.parametrize("rule", ["p95", 3, pl.col("p95_ms") + 1])
def test_a_rule_is_true_or_false_of_a_row(rule):
    curve = pl.LazyFrame({"vms": [1, 2], "p95_ms": [3.0, 4.0]})
    with pytest.raises(EsxparseError, match=r"the rule 'x' must be true or false for each row"):
        scaling.peak_load(curve, "vms", {"x": rule})


def test_a_rule_of_a_study_is_an_expression(tmp_path):
    with pytest.raises(EsxparseError, match=r"the rule 'x' must be true or false for each row"):
        studies.computed(tmp_path, TWO).peak_load("vms", {"x": "p95"})


def test_a_rule_on_a_column_that_is_not_there_is_one_line():
    curve = pl.LazyFrame({"vms": [1, 2], "p95_ms": [3.0, 4.0]})
    with pytest.raises(EsxparseError, match=r"^the rule 'x' does not fit the table: [^\n]*p99"):
        scaling.peak_load(curve, "vms", {"x": pl.col("p99_ms") <= 1})


def test_two_limits_on_one_column_are_both_answered(tmp_path):
    studies.manifest(tmp_path, TWO)
    out = tmp_path / "out.csv"
    limits = ("--largest-load", "read_p95_ms<=0.5", "--largest-load", "read_p95_ms<=100")
    assert run(tmp_path, "-q", *limits, "-o", out) == 0
    table = pl.read_csv(out)
    assert table.select("kind", "limit", "status").rows() == [
        ("a", 0.5, "beyond from the start"),
        ("b", 0.5, "beyond from the start"),
        ("a", 100.0, "not reached"),
        ("b", 100.0, "not reached"),
    ]


@pytest.mark.parametrize(
    ("column", "text", "unit"),
    [
        ("orders_per_min", "Orders", "1/min"),
        ("orders_per_h", "Orders", "1/h"),
        ("copied_gb_per_min", "Copied", "GB/min"),
        ("cycles_per_us", "Cycles", "1/\u00b5s"),
        ("iops_per_watts", "IOPS", "1/W"),
        ("read_mb_per_s_per_watts", "Read throughput", "MB/s per W"),
        ("used_above_idle_mhz_per_mbps", "CPU cost above idle, used", "MHz per MB/s"),
        ("used_above_idle_pct_of_core_per_1k_iops", "CPU cost above idle, used", "% of a core per 1K IOPS"),
        ("util_above_idle_pct_of_pcpu_per_1k_iops", "CPU cost above idle, util", "% of a PCPU per 1K IOPS"),
        ("used_mhz_per_iops", "CPU cost, used", "MHz per IOPS"),
        ("util_cycles_per_io", "CPU cost, util", "cycles per I/O"),
        ("util_above_idle_cycles_per_byte", "CPU cost above idle, util", "cycles per byte"),
    ],
)
def test_headings_say_per_what(column, text, unit):
    assert export.heading(column) == (text, unit)


def test_units_stand_in_publications(tmp_path):
    found = studies.computed(tmp_path, TWO)
    found.to_table(tmp_path / "out.html")
    found.to_parquet(tmp_path / "out.parquet")
    assert "Orders<br><small>1/min</small>" in (tmp_path / "out.html").read_text()
    assert pl.read_parquet_metadata(tmp_path / "out.parquet")["unit.orders_per_min"] == "1/min"
    found.to_table(tmp_path / "out.html", found.compare("orders_per_min"))
    assert "Orders, 1/min: baseline kind=a" in (tmp_path / "out.html").read_text()


def test_figures_per_minute_and_per_hour_are_not_said_to_convert_by_name(tmp_path):
    found = studies.computed(tmp_path, TWO.replace("read_p95_ms", "orders_per_h"))
    (told,) = studies.warnings(found)
    assert told.startswith("unit mismatch: orders_per_min and orders_per_h are one figure")
    assert "in_unit" not in told


def test_a_baseline_against_itself_is_exactly_one():
    table = pl.LazyFrame({"kind": ["a", "b"], "x_ms": [49.0, 147.0]})
    found = ratio.ratios(table, "x_ms", ["kind"], {"kind": "a"}).collect()
    assert found["ratio"].to_list() == [1.0, 3.0]
    assert found["change_pct"].to_list() == [0.0, 200.0]


def test_labels_beyond_64_bits_are_text_and_a_note():
    several = [SimpleNamespace(labels={"seed": 2**70}, line=1), SimpleNamespace(labels={"seed": 1}, line=2)]
    columns, (note,) = runs.label_columns(several)
    assert columns["seed"].to_list() == [str(2**70), "1"]
    assert str(note) == "the label seed has numbers beyond 64 bits: it is kept as text"


def test_a_figure_with_the_name_of_a_label_is_left_out_and_said(tmp_path):
    manifest = load(studies.manifest(tmp_path, TWO))
    first, *others = expand(manifest)
    table, _, notes, _ = runs.table_of(manifest, [replace(first, values={"kind": 3.0, "": 4.0}), *others])
    assert table["kind"].to_list() == ["a", "a", "b", "b"]
    told = [str(note) for note in notes]
    assert told[-2:] == ["the figure 'kind' has the name of a label: left out", "the figure '' has no name: left out"]


@pytest.mark.parametrize(("name", "told"), [("iops", "the name of a column of the results"), ("", "no name")])
def test_a_label_whose_name_is_no_name_for_it_is_one_line(tmp_path, name, told):
    manifest = load(studies.manifest(tmp_path, TWO))
    several = [replace(one, labels={**one.labels, name: 1}) for one in expand(manifest)]
    with pytest.raises(EsxparseError, match=f"the label '{name}' has {told}"):
        runs.table_of(manifest, several)


def test_figures_of_benchmarks_stand_under_labels_of_several_types(tmp_path):
    file = studies.FORMATS / "stream-runs.txt"
    found = studies.computed(
        tmp_path, "".join(f"[[run]]\nkind = {kind}\nbenchmark = '{file}'\n" for kind in ("1", '"a"'))
    )
    assert set(found.results.collect()["kind"]) == {"1", "a"}


@pytest.mark.parametrize("name", ["limit", "status", "efficiency", "peak_load", "points"])
def test_a_label_with_the_name_of_a_result_is_one_line(name):
    curve = pl.LazyFrame({"vms": [1, 2], "x_ms": [3.0, 4.0], name: ["a", "a"]})
    call = {
        "efficiency": lambda: scaling.efficiency(curve, "vms", "x_ms", [name]),
        "points": lambda: scaling.leaves_linear(curve, "vms", "x_ms", [name]),
        "peak_load": lambda: scaling.peak_load(curve, "vms", {"x": pl.col("x_ms") <= 1}, [name]),
    }.get(name, lambda: consolidation.largest_loads(curve, "vms", {"x_ms": 3}, [name]))
    with pytest.raises(EsxparseError, match=f"the column '{name}' clashes with a result column: rename it"):
        call()


_TEXTS = {".csv", ".html", ".json", ".jsonl", ".txt", ".xml"}
FIGURES = [path for path in sorted((ex.datasets_dir() / "formats").iterdir()) if path.suffix in _TEXTS]
WRITTEN = {"us": "\u00b5s", "1": "", "usec/KB": "\u00b5s/KB", "us/KB": "\u00b5s/KB", "kb_per_s": "kB/s", "bytes": "B"}
"""Units that a heading writes otherwise than the program does."""


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.name)
def test_a_heading_has_the_unit_that_the_figure_declares(path):
    rec = ex.open(path)
    if "benchmark_results" not in rec:
        return
    rows = results.benchmark(rec, None)
    declared = export.declared(rows.lazy())
    for column, unit in rows.select("column", "unit").unique().iter_rows():
        assert export.heading(column, declared)[1] == WRITTEN.get(unit, unit or ""), column


@pytest.mark.parametrize(("unit", "end"), [("Mb/s", "mbit_per_s"), ("MB/s", "mb_per_s"), ("Gb/s", "gbit_per_s")])
def test_bits_and_bytes_do_not_become_one_column(tmp_path, unit, end):
    (tmp_path / "r.csv").write_text(f"run,throughput [{unit}]\n1,8.0\n")
    rows = results.benchmark(ex.open(tmp_path / "r.csv", format="results_csv"), None)
    assert [name.endswith(f"_throughput_{end}") for name in rows["column"]] == [True]


def test_files_of_a_study_have_the_unit_that_the_benchmark_declares(tmp_path):
    hpl = studies.computed(tmp_path, f'[[run]]\nlinpack = "{ex.datasets_dir() / "formats" / "hpl-netlib.txt"}"\n')
    hpl.to_parquet(tmp_path / "runs.parquet")
    units = {
        unit for name, unit in pl.read_parquet_metadata(tmp_path / "runs.parquet").items() if name.startswith("unit.")
    }
    assert units & {"GFlop/s", "1/s"} == {"GFlop/s"}
    hpl.to_table(tmp_path / "runs.html")
    for page in ((tmp_path / "runs.html").read_text(), hpl._repr_html_()):
        assert "<small>GFlop/s</small>" in page
        assert "<small>1/s</small>" not in page
    column = next(name for name in hpl.runs.collect_schema() if name.endswith("gflop_per_s"))
    found = column_in_words(hpl, column)
    assert found.unit == "GFlop/s"
    assert not found.name.endswith("gflop")
