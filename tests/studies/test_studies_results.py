"""What a study gives beyond ratios: scaling, consolidation, virtual to native; in Python and on the command line."""

from __future__ import annotations

import polars as pl
import pytest
import studies

from esxparse.cli import main
from esxparse.errors import EsxparseError
from esxparse.metrics import consolidation, ratio, scaling

POINTS = {"default": {1: 1000, 2: 2000, 4: 3800, 8: 5000}, "filter": {1: 900, 2: 1800, 4: 3600, 8: 7200}}
P95 = {1: 10.0, 2: 20.0, 4: 60.0, 8: 180.0}


def manifest(folder, *, axis='axis = "vms"\n'):
    text = f'title = "t"\n{axis}baseline = {{ filter = "default" }}\n'
    for name, points in POINTS.items():
        for vms, iops in points.items():
            slower = 1.0 if name == "default" else 0.5
            text += f'[[run]]\nfilter = "{name}"\nvms = {vms}\n'
            text += f"[run.values]\niops = {iops}\nread_p95_ms = {P95[vms] * slower}\n"
    return studies.manifest(folder, text)


@pytest.fixture
def sweep(tmp_path):
    return studies.study(manifest(tmp_path))


def test_scaling_is_that_of_the_metric_for_each_sweep_by_itself(sweep):
    found = sweep.scaling("vms", "iops").collect()
    runs = sweep.runs.select("filter", "vms", "iops")
    assert found.equals(scaling.efficiency(runs, "vms", "iops", ["filter"]).collect())
    by = {row["filter"]: row["efficiency"] for row in found.filter(pl.col("vms") == 8).to_dicts()}
    assert by == {"default": pytest.approx(5000 / 8000), "filter": pytest.approx(1.0)}
    left = sweep.leaves_linear("vms", "iops").collect()
    assert left.select("filter", "linear_up_to", "leaves_at").rows() == [("default", 4, 8), ("filter", 8, None)]
    assert sweep.leaves_linear("vms", "iops", tolerance_pct=4).collect()["linear_up_to"].to_list() == [2, 8]


def test_the_largest_load_and_the_peak_are_those_of_the_metrics(sweep):
    found = sweep.consolidation("vms", {"read_p95_ms": 100}).collect()
    runs = sweep.runs.select("filter", "vms", "read_p95_ms")
    assert found.equals(consolidation.largest_loads(runs, "vms", {"read_p95_ms": 100}, ["filter"]).collect())
    by = dict(found.select("filter", "largest_load").iter_rows())
    assert by == {"default": pytest.approx(4 + 4 * 40 / 120), "filter": 8.0}
    rules = {"p95": pl.col("read_p95_ms") <= 100, "rate": pl.col("iops") / pl.col("vms") >= 700}
    peak = sweep.peak_load("vms", rules).collect()
    assert peak.select("filter", "peak_load", "failed_rules").rows() == [
        ("default", 4, "p95, rate"),
        ("filter", 8, None),
    ]


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda one: one.scaling("hosts", "iops"), "'hosts' is not a label of the runs"),
        (lambda one: one.scaling("vms", "iop"), "did you mean 'iops'"),
        (lambda one: one.scaling("filter", "iops"), "filter is not numeric"),
        (lambda one: one.scaling("vms", "gap"), "gap is not numeric"),
        (lambda one: one.consolidation("vms", {}), "needs a tolerance"),
        (lambda one: one.consolidation("vms", {"p95": 100}), "no column 'p95'"),
        (lambda one: one.consolidation("vms", {"iops": float("nan")}), "must be a number"),
        (lambda one: one.peak_load("vms", {}), "needs a rule"),
        (lambda one: one.peak_load("vms", {"a": pl.col("watt") < 3}), "no column 'watt'"),
        (lambda one: one.leaves_linear("vms", "iops", tolerance_pct=200), "tolerance"),
        (lambda one: one.virtual_to_native(), "no run has figures of a benchmark"),
    ],
)
def test_what_cannot_be_computed_is_said_in_one_line(sweep, call, why):
    with pytest.raises(EsxparseError, match=why) as raised:
        call(sweep).collect()
    assert "\n" not in str(raised.value)


def results(value, unit="MB/s", higher="true"):
    return f"benchmark,test,metric,value,unit,higher_is_better\nstream,triad,bandwidth,{value},{unit},{higher}\n"


def platforms(folder, baseline='{ platform = "native" }'):
    text = f"baseline = {baseline}\n"
    for platform, factor in (("native", 1.0), ("vm", 0.9)):
        for threads in (1, 8):
            for repetition in range(3):
                name = f"{platform}-{threads}-{repetition}.csv"
                (folder / name).write_text(results(factor * threads * (100 + repetition)))
            text += f'[[run]]\nplatform = "{platform}"\nthreads = {threads}\n'
            text += f'results_csv = "{platform}-{threads}-*.csv"\n'
    return studies.study(studies.manifest(folder, text))


def test_virtual_is_compared_with_native_of_the_same_other_labels(tmp_path):
    found = platforms(tmp_path)
    rows = found.virtual_to_native().collect().filter(pl.col("platform") == "vm")
    assert rows["configuration"].to_list() == ["threads=1", "threads=8"]
    assert rows["performance"].to_list() == pytest.approx([0.9, 0.9])
    assert rows["runs"].to_list() == [3, 3]
    assert set(rows["verdict"]) == {"worse"}
    one = found.results.filter(pl.col("threads") == 8)
    alone = ratio.virtual_to_native(one).collect().filter(pl.col("platform") == "vm")
    assert alone["performance_low"].item() == rows["performance_low"][1]


def test_virtual_to_native_needs_one_label_that_is_native(tmp_path):
    found = platforms(tmp_path, '{ platform = "native", threads = 1 }')
    with pytest.raises(EsxparseError, match="must name one label"):
        found.virtual_to_native()


def run(*arguments):
    try:
        return main([str(argument) for argument in ("study", "run", *arguments)])
    except SystemExit as stopped:
        return stopped.code


def test_scaling_on_the_command_line(tmp_path, capsys):
    path = manifest(tmp_path)
    out = tmp_path / "o.csv"
    assert run(path, "--scaling", "iops", "-o", out, "-o", tmp_path / "o.parquet") == 0
    printed = capsys.readouterr().out
    assert "efficiency" in printed
    assert "0.625" in printed
    assert (
        out.read_text().splitlines()[0]
        == "filter,vms,iops,linear,efficiency,efficiency_low,efficiency_high,speedup,per_unit"
    )
    assert pl.read_parquet(tmp_path / "o.parquet").height == 8


def test_the_largest_load_on_the_command_line(tmp_path, capsys):
    path = manifest(tmp_path, axis="")
    assert run(path, "--largest-load", "read_p95_ms<=100") == 1
    assert "choose the swept label with --load LABEL" in capsys.readouterr().err
    limits = ("--largest-load", "read_p95_ms<=100", "--largest-load", "iops <= 1000")
    assert run(path, *limits, "--load", "vms") == 0
    printed = capsys.readouterr().out
    assert "5.333" in printed
    assert "not reached" in printed
    assert "measured" in printed


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (["--largest-load", "p95"], 1, "is not a limit: write it as 'read_p95_ms<=100'"),
        (["--largest-load", "p95<=100"], 1, "no column 'p95'"),
        (["--scaling", "iops", "--load", "hosts"], 1, "is not a label"),
        (["--scaling", "iops", "--compare", "iops"], 2, "not allowed with"),
    ],
)
def test_what_the_command_line_asks_in_vain_is_one_line(tmp_path, capsys, arguments, code, why):
    assert run(manifest(tmp_path), *arguments) == code
    assert why in capsys.readouterr().err


def said(folder, text):
    return studies.warnings(studies.computed(folder, text))


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("[window]\nstart = 2026-03-02T10:00:00Z\n[[run]]\nx = 1\n{}", 3, "from 2026-03-02T10:00:00 on) is not within"),
        (
            "[window]\nend = 2026-03-02T08:00:00Z\n[[run]]\nx = 1\n{}",
            3,
            "is not within the capture (2026-03-02T08:30:00",
        ),
        ("baseline = {{ q = 1 }}\n[[run]]\nx = 1\n{}", 1, "the baseline's 'q' is not a label of any run"),
        ("[[run]]\nx = nan\n{}", 2, 'the label "x" is nan'),
        (
            "[[run]]\nx = 1\nrepetition = 2\n{0}[[run]]\nx = 1\nrepetition = 2\n{0}",
            5,
            "is repetition 2, and so is run 1",
        ),
    ],
)
def test_a_study_that_is_wrong_says_where_and_why_in_one_line(tmp_path, text, line, why):
    studies.write_capture(tmp_path / "c.csv", samples=31, interval=10)
    (message,) = said(tmp_path, text.format('esxtop = "c.csv"\n'))[-1:]
    assert f"line {line}:" in message
    assert why in message


def test_comparing_with_a_baseline_that_no_run_has_fails_on_the_command_line_with_or_without_its_table(
    tmp_path, capsys
):
    path = manifest(tmp_path)
    path.write_text(path.read_text().replace('{ filter = "default" }', '{ filter = "none" }'))
    for quiet in ([], ["-q"]):
        assert run(path, "--compare", "iops", *quiet) == 1
        assert "no run matches the baseline filter=none" in capsys.readouterr().err.splitlines()[-1]
    path.write_text(path.read_text().replace('{ filter = "none" }', "{ q = 1 }"))
    with pytest.raises(EsxparseError, match="the baseline's 'q' is not a label"):
        studies.study(path).compare("iops")
