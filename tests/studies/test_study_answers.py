"""What a study's report answers first: each measure apart, the manifest's own sentences, the document's point."""

from __future__ import annotations

import pytest
from search import LARGE_STUDIES, routine_of
from studied import made
from templated import ran

import esxparse as ex
from esxparse import EsxparseError
from esxparse.diagnosis.experiments.differences import differences
from esxparse.formats.benchmarks.results import better
from esxparse.reports.study import gather, tables, words
from esxparse.reports.study.figures import change

HEAD = "benchmark,test,metric,value,unit,higher_is_better\n"
OLD = {
    ("ops", "clone"): 4.0,
    ("ops", "start"): 8.0,
    ("latency", "clone"): 10.0,
    ("latency", "start"): 6.0,
    ("memory", ""): 10.0,
}
TIMES = {
    ("ops", "clone"): 2.0,
    ("ops", "start"): 2.5,
    ("latency", "clone"): 0.5,
    ("latency", "start"): 0.25,
    ("memory", ""): 0.3,
}
UNITS = {"ops": ("1/s", True), "latency": ("s", False), "memory": ("GB", False)}


def results(factors):
    """Three runs of each figure, 0.1 % apart."""
    rows = [
        f"vcbench,{test},{metric},{OLD[metric, test] * factor * spread},{UNITS[metric][0]},{UNITS[metric][1]}"
        for (metric, test), factor in factors.items()
        for spread in (0.999, 1.0, 1.001)
    ]
    return HEAD + "\n".join(rows) + "\n"


def releases(folder, more=""):
    (folder / "a.csv").write_text(results(dict.fromkeys(OLD, 1.0)))
    (folder / "b.csv").write_text(results(TIMES))
    (folder / "study.toml").write_text(
        f'baseline = {{ release = "a" }}\n{more}\n[[run]]\nrelease = ["a", "b"]\nresults_csv = "{{release}}.csv"\n'
    )
    return folder


def answer(folder):
    return words.answer(gather.gather(folder))


def test_rates_latencies_and_memory_are_answered_apart(tmp_path):
    (sentence,) = answer(releases(tmp_path))
    assert sentence == (
        "b against a: vcbench ops is from 100 % higher (clone) to 150 % higher (start): 2 better; "
        "vcbench latency is from 75 % lower (start) to 50 % lower (clone): 2 better; "
        "vcbench memory is 70 % lower, better."
    )


def test_two_units_of_one_metric_are_two_measures(tmp_path):
    folder = releases(tmp_path)
    for name, factor in (("a", 1.0), ("b", 0.5)):
        text = (folder / f"{name}.csv").read_text()
        lines = [f"vcbench,{test},ops,{9.0 * factor},MB/s,True" for test in ("copy", "add")]
        (folder / f"{name}.csv").write_text(text + "\n".join(lines) + "\n")
    (sentence,) = answer(folder)
    assert "vcbench ops (1/s) is from 100 % higher (clone) to 150 % higher (start)" in sentence
    assert "vcbench ops (MB/s) is 50 % lower in 2 figures: 2 of single runs, which may be chance" in sentence


def test_a_time_that_only_repeats_its_rate_has_no_clause(tmp_path):
    for name, factor in (("a", 1.0), ("b", 0.8)):
        rows = [
            f"linpack,n,{metric},{value},{unit},{better}"
            for spread in (0.999, 1.0, 1.001)
            for metric, value, unit, better in (
                ("performance", 400 * factor * spread, "GFlop/s", True),
                ("time", 100 / (factor * spread), "s", False),
            )
        ]
        (tmp_path / f"{name}.csv").write_text(HEAD + "\n".join(rows) + "\n")
    (tmp_path / "study.toml").write_text(
        'baseline = { release = "a" }\n[[run]]\nrelease = ["a", "b"]\nresults_csv = "{release}.csv"\n'
    )
    assert answer(tmp_path) == ["b against a: linpack n performance is 20 % lower, worse."]


def test_figures_without_a_known_direction_are_no_single_runs(tmp_path):
    for name, factor in (("a", 1.0), ("b", 1.5)):
        rows = [
            f"vmmark,{test},work,{base * (factor if test == 'full' else 1.0) * spread},pages,"
            for test, base in (("full", 2.0), ("half", 1.0))
            for spread in (0.99, 1.0, 1.01)
        ]
        (tmp_path / f"{name}.csv").write_text(HEAD + "\n".join(rows) + "\n")
    (tmp_path / "study.toml").write_text(
        'baseline = { release = "a" }\n[[run]]\nrelease = ["a", "b"]\nresults_csv = "{release}.csv"\n'
    )
    (sentence,) = answer(tmp_path)
    assert sentence.startswith("b against a: vmmark work is from the same (half) to 50 % higher (full): 1 different, ")
    assert sentence.endswith("the data do not show which is higher in 1.")


@pytest.mark.parametrize(
    ("factor", "said"), [(1.0004, "the same"), (2.99, "199 % higher"), (3.0, "3 times as high"), (0.3, "70 % lower")]
)
def test_a_ratio_in_words(factor, said):
    assert change(factor) == said


OWN = '''
[report.tables]
figures = { study = "virtual_to_native" }
rates = { sql = "SELECT release, SUM(value) / 3 AS ops FROM results WHERE metric = 'ops' GROUP BY release" }
[[report.answer]]
sql = """SELECT b.ops / a.ops AS times, a.ops AS before FROM rates AS a CROSS JOIN rates AS b
    WHERE a.release = 'a' AND b.release = 'b'"""
text = "{times:.2f} times {before:.0f} operations."
[[report.answer]]
lead = "Less of: "
sql = """SELECT metric, 100 * (1 - ratio) AS less FROM figures
    WHERE NOT is_baseline AND metric <> 'ops' AND test <> 'start'"""
text = "{metric} {less:.0f} %"
'''


def test_the_manifest_answers_with_its_own_queries_first_and_instead_of_each_value(tmp_path):
    # 4 x 2 + 8 x 2.5 = 28 against 12
    assert answer(releases(tmp_path, OWN)) == ["2.33 times 12 operations.", "Less of: latency 50 %; memory 70 %."]
    assert "2.33 times 12 operations." in tables.answer(gather.gather(tmp_path)).text


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("[[report.answer]]\nsql = 'SELECT 1'", "toml:[0-9]+: text is missing; write text"),
        ("[[report.answer]]\nsql = 'SELECT 1'\ntext = '{a'", "text is .{a.: expected '}' before end of string"),
        ("[[report.answer]]\nsql = 'SELECT 1'\ntext = '{a.__class__}'", 'text is "{a.__class__}"; write columns as'),
        ("[[report.answer]]\nsql = 'SELECT 1'\ntext = '{a:>999999999}'", 'text is "{a:>999999999}"; write columns as'),
        ("[[report.answer]]\nsql = 'SELECT 1'\ntext = 'a'\nhere = 'b'", 'unknown key "here"; use one of'),
        ("[report]\ntables = 3", r"tables is 3; write a table: \[report.tables\]"),
        (
            "[[report.answer]]\nsql = \"SELECT * FROM read_csv('x')\"\ntext = 'a'",
            "study.toml: answer 1: .*reads tables",
        ),
        ("[[report.answer]]\nsql = 'SELECT iopz FROM runs'\ntext = 'a'", "study.toml: answer 1: "),
        ("[[report.answer]]\nsql = 'SELECT run FROM runs'\ntext = '{ran}'", "names 'ran': its rows have"),
        ("[[report.answer]]\nsql = 'SELECT release AS a FROM runs'\ntext = '{a:.1f}'", "the sentence '{a:.1f}': "),
    ],
)
def test_a_mistake_in_an_answer_is_one_clear_error(tmp_path, more, message):
    with pytest.raises(EsxparseError, match=message):
        answer(releases(tmp_path, more))


@pytest.mark.search
def test_load_generators_answer_beside_benchmarks_and_the_host_does_not():
    """Iometer's runs are results; what esxtop saw of the host under a benchmark is not."""
    told = answer(ex.datasets.folder("raid-pool"))
    assert "vmmark score" in told[0]
    # Beside 40 other comparisons three runs do not show it, but the answer has its size.
    open_ = (
        "pool against raid-group: IOPS: the data do not show which is higher in any of 2 comparisons (+2.96 to +3.57 %;"
    )
    assert told[1].startswith(open_)
    told = answer(ex.datasets.folder("sapiq"))
    assert len(told) == 1


HEADLINES = {
    "docker": [
        "A round trip of netperf, against native: vm: +15.0 us; native-docker: +9.4 us",
        "STREAM bandwidth in percent of native: vm: 97.4 to 97.6 (4 of 4 worse)",
        "LINPACK performance in percent of native: vm: 95 to 99.7 (1 of 2 worse)",
        "Redis requests in percent of native: vm: 97.6;",
        "Netperf streams reach 9.40 Gbit/s",
    ],
    "iser": [
        "Random reads: 2.08 times",
        "Random writes: 1.91 times",
        "Read throughput: 1.50 times",
        "no difference shown",
    ],
    "mmu": ["1.75 times the TLB misses", "1.96 times the TLB misses"],
    "monster": ["493,804", "96.2", "97.6"],
    "power": ["11,151 against 15,156 EUR", "within the targets of 3 % and 0 %"],
    "replication": ["rate -51.4 % against inside the host", "over the RPO"],
    "vcenter": [
        "2.0 times the operations per second",
        "vCenter's process takes 3.0 GB of memory. In 6.5 it takes 10.0 GB, 3.3 times as much.",
        "A power-on takes 2.8 s. In 6.5 it takes 9.5 s, 3.4 times as long.",
    ],
    "vpmc": ["68,456,568 against 38,750,437"],
}
"""What the source document of each data set concludes, as the first screen of its report says it."""


@pytest.mark.parametrize("name", routine_of(HEADLINES, HEADLINES.keys() - LARGE_STUDIES))
def test_the_first_screen_makes_the_point_of_the_document(name):
    folder = ex.datasets.folder(name)
    first = ran(ex.studies.study_file.load(folder).report_section.shape, folder).answer.text
    assert [text for text in HEADLINES[name] if text not in first] == []
    assert "geometric mean of" not in first


@pytest.mark.search
def test_an_answer_is_short_and_begins_with_the_point_of_the_document():
    told = ran("virtual_to_native", ex.datasets.folder("docker")).answers
    assert told[0].startswith("A round trip of netperf, against native: vm: +15.0 us")
    assert len(told) == 6


@pytest.mark.search
def test_values_beside_a_change_are_consistent_with_it():
    rows = differences(ex.datasets.load("case-alignment"))
    assert rows
    for row in rows:
        assert row["mean"] / row["baseline_mean"] == pytest.approx(1 + row["change_pct"] / 100), row["measure"]


def test_both_ends_of_a_range_that_are_printed_alike_are_one(tmp_path):
    head = (
        '[[report.answer]]\nsql = "SELECT MIN(iops) AS a, MAX(iops) AS b FROM runs"\ntext = "{a:.1f} to {b:.1f} IOPS"\n'
    )
    runs = [({"vms": vms}, {"iops": iops}) for vms, iops in ((1, 9.401), (2, 9.404))]
    assert answer(made(tmp_path, runs, head))[0] == "9.4 IOPS"
    runs = [({"vms": vms}, {"iops": iops}) for vms, iops in ((1, 9.4), (2, 19.4))]
    assert answer(made(tmp_path, runs, head))[0] == "9.4 to 19.4 IOPS"


def test_a_figure_that_differs_in_one_configuration_is_named_with_its_labels(tmp_path):
    """Ten figures of five counts of VMs: one release is faster with eight."""
    lines = ['baseline = { release = "a" }']
    for vms in (1, 2, 4, 6, 8):
        for release in ("a", "b"):
            factor = 1.8 if (vms, release) == (8, "b") else 1.0
            name = f"{release}-{vms}.csv"
            values = "".join(f"bench,copy,rate,{100 * factor * spread},1/s,True\n" for spread in (0.999, 1.0, 1.001))
            (tmp_path / name).write_text(HEAD + values)
            lines += ["[[run]]", f'release = "{release}"', f"vms = {vms}", f'results_csv = "{name}"']
    (tmp_path / "study.toml").write_text("\n".join(lines) + "\n")
    (row,) = [one for one in differences(ex.study(tmp_path)) if one["column"] == "bench copy rate"]
    assert (row["shown"], row["but"]) == ("no difference shown", "+80 % with vms = 8")


@pytest.mark.parametrize(
    ("metric", "unit", "higher_is_better"),
    [("score", "points", True), ("score", "", True), ("penalty", "points", None), ("response", "ms", False)],
)
def test_a_score_in_points_is_better_if_it_is_higher(metric, unit, higher_is_better):
    assert better(metric, unit) is higher_is_better
