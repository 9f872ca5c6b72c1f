"""The report on a study: its sentences say what the ratios, the sweeps and the limits say."""

from __future__ import annotations

import browser
import pytest
from studied import made

import esxparse as ex
from esxparse.reports.study import beside, gather, tables, words

STUDIES = sorted(path.parent.name for path in ex.datasets_dir().glob("*/study.toml"))


def repeated(labels, value, column="iops", count=3):
    return [(labels, {column: value + number}) for number in range(count)]


def told(path, **more):
    return words.answer(gather.gather(path, **more))


BASE = 'baseline = { filter = "none" }\n'


def test_a_difference_has_its_interval_and_whether_it_is_better(tmp_path):
    runs = repeated({"filter": "none"}, 1000.0) + repeated({"filter": "null"}, 1200.0)
    (sentence,) = told(made(tmp_path, runs, BASE))
    assert sentence.startswith("null against none: IOPS is 20 % higher [+19.6, +20.3]")
    assert sentence.endswith(", which is better.")


def test_lower_latency_is_better_and_one_run_has_no_interval(tmp_path):
    runs = [({"filter": "none"}, {"latency_mean_ms": 4.0}), ({"filter": "null"}, {"latency_mean_ms": 3.0})]
    (sentence,) = told(made(tmp_path, runs, BASE))
    assert sentence == (
        "null against none: latency mean: the data do not show which is faster (-25 %): one run may be chance, "
        "repeat both."
    )


def test_what_chance_explains_is_no_difference(tmp_path):
    runs = [({"filter": name}, {"iops": iops}) for name in ("none", "null") for iops in (900.0, 1000.0, 1100.0)]
    (sentence,) = told(made(tmp_path, runs, BASE))
    assert sentence == (
        "null against none: IOPS: the data do not show which is higher (+0 % [-20.6, +25.9]): "
        "about 394 runs of each (142 to more than 1,000) would show 2 %."
    )


def test_a_baseline_below_zero_keeps_the_direction_of_the_difference(tmp_path):
    """From -10.7 to 20.7 is no "294 % lower"."""
    runs = [
        ({"filter": name}, {"score": at + step})
        for name, at in (("none", -10.7), ("null", 20.7))
        for step in (-0.1, 0, 0.1)
    ]
    found = gather.gather(made(tmp_path, runs, BASE), values=["score"])
    (sentence,) = words.answer(found)
    assert sentence.startswith("null against none: score is 31.4 higher [+31.")
    assert sentence.endswith("(20.7 against -10.7).")
    assert "%" not in sentence
    row = found.compared["score"].row(0, named=True)
    assert (row["ratio"], row["change_pct"], row["verdict"]) == (None, None, "higher")
    assert row["gap"] == "the baseline's mean is below 0: no percentage of it, compare the difference"
    assert "31.4" in tables.compared(found).text


def test_several_baselines_below_zero_are_summed_up_without_a_percentage(tmp_path):
    runs = [
        ({"filter": name, "vms": vms}, {"score": at * vms + step})
        for vms in (1, 2)
        for name, at in (("none", -10.0), ("null", -30.0))
        for step in (-0.1, 0, 0.1)
    ]
    (sentence,) = told(made(tmp_path, runs, 'axis = "vms"\n' + BASE), values=["score"])
    assert sentence == "null against none: score is lower in 2 of 2 comparisons, by 20 to 40."


def test_differences_that_are_not_shown_still_have_their_size(tmp_path):
    runs = [
        ({"filter": name, "vms": vms}, {"iops": at * factor + step})
        for vms, factor in ((1, 1.03), (2, 1.04))
        for name, at in (("none", 1000.0 / factor), ("null", 1000.0))
        for step in (-30.0, 0.0, 30.0)
    ]
    (sentence,) = told(made(tmp_path, runs, 'axis = "vms"\n' + BASE))
    assert "the data do not show which is higher in any of 2 comparisons (+3 to +4 %; about " in sentence


def test_an_answer_says_how_many_comparisons_it_makes(tmp_path):
    runs = [run for name in ("none", "a", "b", "c") for run in repeated({"filter": name}, 1000.0)]
    found = gather.gather(made(tmp_path, runs, BASE))
    assert words.comparisons(found).startswith("The verdicts allow for 3 comparisons. Of the")
    assert "allow for 3 comparisons" in tables.answer(found).text
    (tmp_path / "one").mkdir()
    single = gather.gather(
        made(tmp_path / "one", repeated({"filter": "none"}, 1.0) + repeated({"filter": "x"}, 9.0), BASE)
    )
    assert words.comparisons(single) == ""


def test_all_kinds_of_results_are_one_family_of_comparisons(tmp_path):
    """Figures of benchmarks, results of load generators and counters of hosts: one answer, one number."""
    runs = [
        ({"filter": name, "kind": "load"}, {"iops": 1000.0 + step, "host_used_pct": 50.0 + step})
        for name in ("none", "null")
        for step in (0, 10, 20)
    ]
    runs += [
        ({"filter": name, "kind": "watched"}, {"host_used_pct": 50.0 + step})
        for name in ("none", "null")
        for step in (0, 1, 2)
    ]
    path = made(tmp_path, runs, BASE) / "study.toml"
    lines = [f"bench,copy,bandwidth,{100 + step},MB/s" for step in range(3)]
    (tmp_path / "figures.csv").write_text("\n".join(["benchmark,test,metric,value,unit", *lines, ""]))
    more = [f'[[run]]\nfilter = "{name}"\nkind = "bench"\nresults_csv = "figures.csv"\n' for name in ("none", "null")]
    path.write_text("\n".join([path.read_text(), *more]))
    found = gather.gather(path)
    assert found.figures is not None
    tables_of = [found.figures, *found.compared.values()]
    p_values = [p for one in tables_of for p in one["p_value"].drop_nulls()]
    assert {count for one in tables_of for count in one["comparisons"]} == {len(p_values)}
    assert words.comparisons(found).startswith(f"The verdicts allow for {len(p_values)} comparisons.")


def test_comparisons_without_a_difference_raise_what_the_others_must_show(tmp_path):
    """One comparison with a p-value of 0.02 is shown by itself, and not beside twenty others."""
    one, other = (1000.0, 1010.0, 1020.0), (1030.0, 1040.0, 1050.0)
    runs = [
        ({"filter": name, "kind": "load", "vms": 0}, {"iops": value})
        for name, values in (("none", one), ("null", other))
        for value in values
    ]
    runs += [
        ({"filter": name, "kind": "watched", "vms": vms}, {"host_used_pct": 50.0 + step})
        for name in ("none", "null")
        for vms in range(1, 21)
        for step in (0, 1, 2)
    ]
    path = made(tmp_path, runs, 'axis = ["vms"]\n' + BASE)
    alone, beside = (gather.gather(path, values=names) for names in (["iops"], ["iops", "host_used_pct"]))
    verdicts = [found.compared["iops"].row(0, named=True) for found in (alone, beside)]
    assert 0.01 < verdicts[0]["p_value"] < 0.05
    assert [(row["verdict"], row["comparisons"]) for row in verdicts] == [("higher", 1), ("no difference shown", 21)]


def test_an_interval_has_the_unit_of_its_ratio(tmp_path):
    runs = repeated({"filter": "none"}, 100.0) + repeated({"filter": "null"}, 400.0)
    (sentence,) = told(made(tmp_path, runs, BASE))
    assert sentence.startswith("null against none: IOPS is 3.97 times as high [3.86, 4.09]")


def test_the_verdicts_of_one_answer_allow_for_all_its_values(tmp_path):
    """One p-value of 0.02 alone is a difference; beside five values that show nothing it is none."""
    one, other = (1000.0, 1010.0, 1020.0), (1030.0, 1040.0, 1050.0)
    values = ["iops", "a", "b", "c", "d", "e"]
    runs = [
        ({"filter": name}, {value: (some if value == "iops" else one)[place] for value in values})
        for name, some in (("none", one), ("null", other))
        for place in range(3)
    ]
    path = made(tmp_path, runs, BASE)
    alone, together = (
        gather.gather(path, values=some).compared["iops"].row(0, named=True) for some in (["iops"], values)
    )
    assert 0.01 < alone["p_value"] == together["p_value"] < 0.05
    assert (alone["verdict"], together["verdict"]) == ("higher", "no difference shown")
    assert (alone["comparisons"], together["comparisons"]) == (1, 6)
    assert "among 6 comparisons chance alone leaves 0 out like this" in together["undecided"]


def test_the_one_configuration_that_differs_is_named(tmp_path):
    runs = [
        run
        for vms in (1, 2, 4)
        for name in ("none", "null")
        for run in repeated({"filter": name, "vms": vms}, 2000.0 if (name, vms) == ("null", 1) else 1000.0)
    ]
    (sentence,) = told(made(tmp_path, runs, 'axis = "vms"\n' + BASE))
    assert "IOPS is 99.9 % higher" in sentence or "IOPS is 100 % higher" in sentence
    assert "at 1 VM; equal within 2 % in 2 of 3." in sentence


def test_a_sweep_says_how_far_it_is_from_a_straight_line(tmp_path):
    runs = [({"hosts": hosts}, {"iops": iops}) for hosts, iops in ((4, 1000.0), (8, 2000.0), (16, 3600.0))]
    (sentence,) = told(made(tmp_path, runs, 'axis = "hosts"'))
    assert sentence == "IOPS grows from 1,000 at 4 to 3,600 at 16 hosts: 90 % of what a straight line gives."


def test_the_largest_loads_that_were_asked_for_come_first(tmp_path):
    head = 'axis = "vms"\n[report]\nquestion = "How many?"\nsweep = "vms"\ntolerances = { web_p95_ms = 100 }\n'
    head += 'rules = { web_p95_ms = "limit_ms" }\n'
    runs = [
        ({"vms": vms}, {"web_p95_ms": p95, "limit_ms": 110.0}) for vms, p95 in ((400, 40.0), (450, 80.0), (500, 130.0))
    ]
    found = gather.gather(made(tmp_path, runs, head))
    assert words.answer(found, words.largest_loads(found))[:2] == [
        "at web p95 of at most 100 ms, the largest number of VMs is 470 (interpolated).",
        "the largest number of VMs that keeps every rule is 450; 500 break web p95.",
    ]
    assert tables.headline(found).text == "How many?"


def test_runs_that_lack_something_are_told_before_the_answer(tmp_path):
    runs = [*repeated({"filter": "none"}, 1000.0), *repeated({"filter": "null"}, 1100.0)]
    path = made(tmp_path, runs, BASE)
    text = (path / "study.toml").read_text() + '\n[[run]]\nfilter = "null"\nfio = "lost.json"\n'
    (path / "study.toml").write_text(text)
    found = gather.gather(path)
    assert tables.answer(found).text.startswith("1 of 7 runs with something missing")
    assert "lost.json" in tables.quality(found).text


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ('[report]\nquestions = "?"\n', r'toml:2: unknown key "questions"; .* \(did you mean "question"\?\)'),
        ("[report]\nvalues = 3\n", "toml:2: values is 3; write a list of columns"),
        ("[report]\ntolerances = { iops = true }\n", "toml:2: iops is true; write a number"),
        ('[report]\ntolerances = { iops = "limit" }\n', 'toml:2: iops is "limit"; write a number'),
        ("[report]\nrules = { iops = nan }\n", "toml:2: iops is nan; write a finite number"),
        ('[[report.answer]]\nsql = "SELECT 1"\ntext = 3\n', "toml:3: text is 3; write text"),
        ('[[report.answer]]\nsql = "SELECT 1"\ntext = "{}"\n', 'toml:3: text is "{}"; write columns as'),
        ('[report]\nsweep = "vmz"\n', "'vmz' of \\[report\\] is no label of the runs"),
        ('[report]\nvalues = ["iopz"]\n', "no run has a number in column 'iopz'"),
    ],
)
def test_a_mistake_in_what_is_asked_is_one_clear_error(tmp_path, head, message):
    with pytest.raises(ex.EsxparseError, match=message):
        gather.gather(made(tmp_path, repeated({"filter": "none"}, 1000.0), head))


def test_names_of_runs_are_data_and_never_markup(tmp_path):
    name = "<img src=x onerror=alert(1)>"
    runs = repeated({"filter": "none"}, 1000.0) + repeated({"filter": name}, 1200.0)
    found = gather.gather(made(tmp_path, runs, BASE))
    page = "".join(one.html for one in (tables.answer(found), tables.compared(found), tables.measured(found)))
    assert name not in page
    assert "&lt;img src=x" in page


@pytest.mark.search
@pytest.mark.needs("chromium")
@pytest.mark.parametrize("name", STUDIES)
def test_the_report_of_every_study_is_drawn_in_a_browser(name, study_page, chromium):
    """By its template, which states what was published."""
    page = study_page(name)
    figures = ex.datasets.published(name)
    text = page.read_text()
    for kind, said in (("source", "published figures come back within"), ("assumed", "assumed figures come back;")):
        count = figures[kind].drop_nulls().len()
        assert (f"{count} of {count} {said}" in text) == bool(count)
    for width, scheme in ((1440, "light"), (390, "dark")):
        with browser.opened(chromium, page, width, scheme=scheme) as seen:
            sizes = seen.charts()
            assert sizes, "a report without a chart"
            assert all(0 < chart_width <= width and chart_height > 20 for chart_width, chart_height in sizes)
            assert seen.hidden_words() == []
            assert seen.overflow() <= 0
            assert seen.problems == []
            assert len(seen.requests) == 1
    assert page.stat().st_size < 4e6


SOURCE = 'source = "A paper, 2020, page 3"'


def published(folder, tables_told, here, figure="value = 1100.0\ntolerance = 0.02", kind=SOURCE):
    """A study whose published.toml has one figure."""
    text = f'[tables]\n{tables_told}\n[[figure]]\nfigure = "iops"\nclaim = "1,100 <b>IOPS</b>"\n{figure}\n{kind}\n'
    (folder / "published.toml").write_text(f'{text}unit = "IOPS"\nhere = "{here}"\n')
    return gather.gather(folder)


def test_published_figures_stand_beside_those_of_the_runs(tmp_path):
    runs = repeated({"filter": "none"}, 1000.0) + repeated({"filter": "null"}, 1100.0)
    folder = made(tmp_path, runs, BASE)
    query = "SELECT mean FROM against WHERE filter = 'null'"
    found = published(folder, 'against = { compare = "iops" }', query)
    assert found.published["here"].item() == (1100 + 1101 + 1102) / 3
    told = beside.sentences(found.published)
    assert told[0] == "1 of 1 published figures come back within their tolerance."
    assert told[1].startswith('The published study says 1,100 IOPS ("1,100 <b>IOPS</b>"); here ')
    assert told[1].endswith("within 2 %.")
    block = tables.published(found)
    assert "1,100 &lt;b&gt;IOPS&lt;/b&gt;" in block.html
    assert "A paper, 2020, page 3" in block.text
    missed = published(folder, 'against = { compare = "iops" }', query, "value = 2000.0\ntolerance = 0.02")
    assert beside.sentences(missed.published) == [
        "0 of 1 published figures come back within their tolerance.",
        'The published study says 2,000 IOPS ("1,100 <b>IOPS</b>"); here 1,101, which is not within 2 %.',
    ]


def test_an_assumed_figure_is_never_called_published(tmp_path):
    folder = made(tmp_path, repeated({"filter": "none"}, 1000.0), BASE)
    reason = 'assumed = "put into the scenario: 1,000 IOPS"'
    found = published(folder, "", "SELECT AVG(iops) FROM runs", "value = 1000.0\ntolerance = 0.02", reason)
    (told,) = beside.sentences(found.published)
    assert told.startswith(
        "No figure of this study was published. 1 of 1 assumed figures come back; no document prints"
    )
    answer, table = tables.answer(found).text, tables.published(found).text
    assert "The published study says" not in answer
    assert "Published figures" not in table
    assert "put into the scenario: 1,000 IOPS" in table
    missed = published(folder, "", "SELECT AVG(iops) FROM runs", "value = 1500.0\ntolerance = 0.02", reason)
    assert beside.sentences(missed.published)[1].startswith("Assumed were 1,500 IOPS")


@pytest.mark.parametrize(
    ("figure", "here", "within", "said"),
    [
        ("least = 10.0\nmost = 20.0", 10.0, True, "says 10 to 20 IOPS"),
        ("least = 10.0\nmost = 20.0", 20.1, False, "says 10 to 20 IOPS"),
        ("most = 1.0", 0.88, True, "says at most 1 IOPS"),
        ("most = 1.0", 1.01, False, "says at most 1 IOPS"),
        ("least = 70000.0", 72800.0, True, "says at least 70,000 IOPS"),
        ("least = 70000.0", 69999.0, False, "says at least 70,000 IOPS"),
        # Printed in whole numbers: 0 is anything below a half, and 3 anything that rounds to it.
        ("value = 0.0\nresolution = 1.0", 0.49, True, "says 0 IOPS"),
        ("value = 0.0\nresolution = 1.0", 0.5, False, "says 0 IOPS"),
        ("value = 3.0\nresolution = 1.0", 3.39, True, "says 3 IOPS"),
        ("value = 3.0", 3.39, False, "says 3 IOPS"),
    ],
)
def test_ranges_and_printed_digits_say_what_comes_back(tmp_path, figure, here, within, said):
    folder = made(tmp_path, [({"filter": "none"}, {"iops": here})], BASE)
    found = published(folder, "", "SELECT AVG(iops) FROM runs", figure)
    assert found.published["within"].item() is within
    assert said in beside.sentences(found.published)[1]


@pytest.mark.parametrize(
    ("figure", "kind", "message"),
    [
        ("value = 1.0", "", "toml:[0-9]+: a figure has either; write source = .* or assumed"),
        ("value = 1.0", f'{SOURCE}\nassumed = "both"', "write source = .* or assumed"),
        ("value = 1.0\nmost = 2.0", SOURCE, "write value, or a range"),
        ("", SOURCE, "write value, or a range"),
        ("value = nan", SOURCE, "value is nan; write a finite number"),
        ("value = true", SOURCE, "value is true; write a number"),
        ("value = 1.0\ntolerence = 0.1", SOURCE, 'unknown key "tolerence"; .* .did you mean "tolerance"'),
    ],
)
def test_a_figure_without_an_origin_or_a_number_is_one_clear_error(tmp_path, figure, kind, message):
    folder = made(tmp_path, repeated({"filter": "none"}, 1000.0), BASE)
    with pytest.raises(ex.EsxparseError, match=message):
        published(folder, "", "SELECT AVG(iops) FROM runs", figure, kind)


@pytest.mark.parametrize(
    ("told", "here", "message"),
    [
        ("", "SELECT iops FROM read_csv('/etc/passwd')", "reads tables, not files"),
        ("", "SELECT iops FROM '/etc/passwd'", "was not found"),
        ("", "SELECT iops FROM runs", "its query gives 6 rows and 1 column, not 1 number"),
        ("", "SELECT MAX(iopz) FROM runs", "unable to find column"),
        ('a = { open = "../*.csv", table = "x" }', "SELECT MAX(x) FROM a", "there is no file ../\\*.csv beside"),
        ('a = { metric = "os.system" }', "SELECT MAX(x) FROM a", "there is no function os.system in esxparse.metrics"),
        ('a = { metric = "ratio._checked" }', "SELECT MAX(x) FROM a", "there is no function ratio._checked"),
        ('a = { sql = "SELECT x FROM a" }', "SELECT MAX(x) FROM a", "table a: it is made of itself"),
        ("a = { compare = 3 }", "SELECT MAX(x) FROM a", "published.toml: table a"),
        ("a = { like = 3 }", "SELECT MAX(x) FROM a", "write compare, peak_load, study"),
    ],
)
def test_a_figure_that_cannot_be_computed_is_one_clear_error(tmp_path, told, here, message):
    runs = repeated({"filter": "none"}, 1000.0) + repeated({"filter": "null"}, 1100.0)
    (tmp_path / "outside.csv").write_text("x\n1\n")
    folder = tmp_path / "study"
    folder.mkdir()
    made(folder, runs, BASE)
    with pytest.raises(ex.EsxparseError, match=message):
        published(folder, told, here)


def test_what_falls_over_several_sweeps_has_the_range_of_both_ends_in_one_unit(tmp_path):
    ends = {"lun": (24_000.0, 20_000.0, 12_500.0), "cached": (40_000.0, 30_000.0, 18_000.0)}
    runs = [
        ({"disk": disk, "hosts": hosts}, {"mb_per_s": rate})
        for disk, rates in ends.items()
        for hosts, rate in zip((4, 8, 16), rates, strict=True)
    ]
    (sentence,) = told(made(tmp_path, runs, 'axis = "hosts"'))
    assert sentence == "throughput falls from 24 to 40 at 4 to 12.5 to 18 GB/s at 16 hosts, in 2 sweeps."
