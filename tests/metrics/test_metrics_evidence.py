"""What comparisons show together: cutoffs, repetitions that are needed, and their words; by simulated studies."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
import scipy.stats

from esxparse.errors import EsxparseError
from esxparse.metrics import evidence, interval, ratio


@pytest.mark.parametrize(
    ("p_values", "comparisons", "cutoff"),
    [
        ([], 0, 0.05),
        ([None, math.nan], 0, 0.05),
        ([0.9], 1, 0.05),
        ([0.9, 0.8], 2, 0.025),
        ([0.04, 0.049], 2, 0.05),
        # The example of Benjamini and Hochberg (1995): of 15 p-values the first 4 are rejected at 5 %.
        (
            [
                0.0001,
                0.0004,
                0.0019,
                0.0095,
                0.0201,
                0.0278,
                0.0298,
                0.0344,
                0.0459,
                0.324,
                0.4262,
                0.5719,
                0.6528,
                0.759,
                1,
            ],
            15,
            4 * 0.05 / 15,
        ),
        # A larger p-value that meets its bound takes the smaller ones with it.
        ([0.03, 0.031, 0.032, 0.033], 4, 0.05),
    ],
)
def test_the_cutoff_is_that_of_benjamini_and_hochberg(p_values, comparisons, cutoff):
    found = evidence.find_family(reversed(p_values))
    assert (found.comparisons, found.cutoff) == (comparisons, pytest.approx(cutoff))


def test_the_cutoff_follows_the_confidence():
    assert evidence.find_family([0.04], 0.99).cutoff == pytest.approx(0.01)
    with pytest.raises(EsxparseError, match="confidence must lie between 0 and 1"):
        evidence.find_family([0.04], 95)


@pytest.mark.parametrize(("difference", "spread", "alpha"), [(2.0, 1.0, 0.05), (1.0, 1.0, 0.05), (-1.0, 1.0, 0.01)])
def test_the_repetitions_reach_80_percent_in_simulated_studies(difference, spread, alpha):
    runs = evidence.count_repetitions(difference, spread**2, spread**2, 8, alpha).runs
    random = np.random.default_rng(4)

    def power(count):
        one, other = random.normal(difference, spread, (20_000, count)), random.normal(0, spread, (20_000, count))
        return (scipy.stats.ttest_ind(one, other, axis=1, equal_var=False).pvalue <= alpha).mean()

    assert power(runs) > 0.785
    assert power(runs - 1) < 0.815


def test_uneven_scatter_and_its_uncertainty_widen_the_number():
    even, uneven = evidence.count_repetitions(1.0, 1.0, 1.0, 8), evidence.count_repetitions(1.0, 4.0, 0.0, 8)
    assert uneven.runs > even.runs > 2
    assert even.fewest < even.runs < even.most
    few = evidence.count_repetitions(1.0, 1.0, 1.0, 2)
    assert (few.runs, few.fewest < even.fewest, few.most > even.most) == (even.runs, True, True)
    # chi squared of 8 degrees: 2.18 and 17.53 at 2.5 and 97.5 %
    assert even.most == evidence.count_repetitions(1.0, 8 / 2.1797, 8 / 2.1797, 8).runs
    assert even.fewest == evidence.count_repetitions(1.0, 8 / 17.5345, 8 / 17.5345, 8).runs


def test_numbers_beyond_a_thousand_are_only_large():
    assert evidence.count_repetitions(0.001, 1.0, 1.0, 8).runs == evidence.MOST + 1
    for nothing in ((0.0, 1.0, 1.0), (1.0, 0.0, 0.0), (math.nan, 1.0, 1.0), (1.0, math.nan, 1.0)):
        assert evidence.count_repetitions(*nothing, 8) is None


SEVEN = evidence.Repetitions(7, 3, 40)


def describe(span=(-1.0, 7.0), needed=SEVEN, **more):
    return evidence.describe_undecided("higher", "+3 %", span, needed, target="3 %", **more)


def test_every_kind_of_not_significant_has_its_words():
    assert (
        describe()
        == "the data do not show which is higher (+3 % [-1, +7]): about 7 runs of each (3 to 40) would show 3 %"
    )
    assert describe((-1.9, 2.0)) == "equal within 2 % (+3 % [-1.9, +2])"
    assert describe((-2.1, 1.0)).startswith("the data do not show which is higher")
    assert describe((-1.0, 2.1)).startswith("the data do not show which is higher")
    assert describe(None, None, repeated=False).endswith("(+3 %): one run may be chance, repeat both")
    assert describe(needed=None).endswith(": the values are printed too coarsely for more repetitions to help")
    many = evidence.Repetitions(1001, 300, 1001)
    assert describe(needed=many).endswith(": more than 1,000 runs of each would show 3 %")
    assert "(3 to more than 1,000)" in describe(needed=evidence.Repetitions(7, 3, 1001))
    assert "among 20 comparisons chance alone leaves 0 out like this" in describe((0.5, 7.0), comparisons=20)
    assert "chance alone" not in describe((0.0, 7.0), comparisons=20)


def studied(random, effects, runs=3, shared=True):
    """A study of comparisons: `effects` times 1,000 with 2 % of noise, against one baseline or one of each."""
    rows = []
    for place, effect in enumerate(effects):
        for kind, factor in (("base", 1.0), ("new", effect)):
            if kind == "new" or not shared or place == 0:
                values = 1000 * factor * random.normal(1, 0.02, runs)
                rows += [
                    {"kind": f"new {place}" if shared and kind == "new" else kind, "at": 0 if shared else place, "v": v}
                    for v in values
                ]
    table = ratio.ratios(pl.LazyFrame(rows), "v", ["kind", "at"], {"kind": "base"}).collect()
    return table.filter(~pl.col("is_baseline"))


@pytest.mark.search
@pytest.mark.parametrize("shared", [True, False])
def test_twenty_comparisons_without_a_difference_seldom_show_one(shared):
    """It was 52 % of such studies."""
    random = np.random.default_rng(17)
    studies = 100
    wrong = sum(
        (studied(random, [1.0] * 20, shared=shared)["verdict"] != "no difference shown").any() for _ in range(studies)
    )
    # 5 % at most, and 2 standard errors.
    assert wrong / studies <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / studies)


@pytest.mark.search
def test_true_differences_are_shown_and_few_others():
    random = np.random.default_rng(18)
    false, found = [], []
    for _ in range(40):
        shown = (
            studied(random, [1.2] * 5 + [1.0] * 15, runs=5, shared=False)["verdict"] != "no difference shown"
        ).to_list()
        found.append(sum(shown[:5]) / 5)
        false.append(sum(shown[5:]) / max(sum(shown), 1))
    assert np.mean(found) > 0.95
    assert np.mean(false) < 0.1


def test_all_rows_of_a_table_are_of_one_family_unless_it_is_a_part():
    random = np.random.default_rng(3)
    table = studied(random, [1.04, 1.0, 1.0, 1.0])
    family = evidence.find_family(table["p_value"])
    assert table["comparisons"].to_list() == [4] * 4
    assert (table["p_value"] <= family.cutoff).to_list() == (table["verdict"] != "no difference shown").to_list()


@pytest.mark.parametrize("repetitions", [(3, 3), (2, 5), (3, 10)])
@pytest.mark.parametrize("noise", [(0.02, 0.02), (0.2, 0.02), (0.02, 0.2)])
def test_the_p_value_and_the_interval_of_the_ratio_give_one_verdict(noise, repetitions):
    random = np.random.default_rng(5)
    half = np.full(5000, 0.05)
    facts = []
    for mean, share, count in zip((103.0, 100.0), noise, repetitions, strict=True):
        values = random.normal(mean, mean * share, (5000, count)).round(1)
        facts += [values.mean(axis=1), values.var(axis=1, ddof=1), np.full(5000, float(count))]
    low, high = interval.fieller_bounds(*facts, halves=(half, half))
    found = interval.differences(*facts, halves=(half, half))
    bounded = ~np.isnan(low)
    leaves_1_out = ((low > 1) | (high < 1))[bounded]
    assert bounded.any()
    assert (leaves_1_out == (found.p_value <= 0.05)[bounded]).all()
    assert (leaves_1_out == ((found.low > 0) | (found.high < 0))[bounded]).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_a_p_value_is_that_of_welch_for_many_repetitions(sign):
    random = np.random.default_rng(9)
    one, other = sign * random.normal(103, 2, 40), sign * random.normal(102, 5, 60)
    facts = [
        np.array([number]) for some in (one, other) for number in (some.mean(), some.var(ddof=1), float(len(some)))
    ]
    welch = scipy.stats.ttest_ind(one, other, equal_var=False)
    assert interval.differences(*facts).p_value[0] == pytest.approx(welch.pvalue, rel=0.02)


@pytest.mark.parametrize(
    ("base", "new", "verdict"),
    [(-10.7, 20.7, "higher"), (-10.7, -20.7, "lower"), (0.0, 5.0, "higher"), (0.0, -5.0, "lower")],
)
def test_the_verdict_points_where_the_difference_does(base, new, verdict):
    frame = pl.LazyFrame([{"k": k, "v": v + step} for k, v in (("a", base), ("b", new)) for step in (-0.1, 0, 0.1)])
    row = ratio.ratios(frame, "v", ["k"], {"k": "a"}).collect().row(1, named=True)
    assert row["verdict"] == verdict
    assert row["difference"] == pytest.approx(new - base)
    assert row["difference_low"] < new - base < row["difference_high"]
    assert (row["ratio"], row["ratio_min"], row["change_pct"], row["ratio_low"]) == (None,) * 4
    assert "compare the difference" in row["gap"]


def test_worse_than_a_loss_is_no_percentage():
    for call in (
        lambda: ratio.percent_change(20.7, -10.7),
        lambda: ratio.performance(20.7, -10.7, higher_is_better=True),
        lambda: ratio.performance(-1.0, 2.0, higher_is_better=False),
    ):
        with pytest.raises(EsxparseError, match=r"a ratio to -\d+(.\d)? has no meaning"):
            call()


def compared(**values):
    """The rows of values against those of `base`."""
    frame = pl.LazyFrame([{"k": k, "iops": v} for k, some in values.items() for v in some])
    return ratio.ratios(frame, "iops", ["k"], {"k": "base"}).collect().filter(~pl.col("is_baseline")).to_dicts()


def test_the_runs_needed_are_more_than_there_are():
    """Three of these would show 2 % in 4 of 5 studies; in this one they did not."""
    (row,) = compared(base=[1001.0, 1000.0, 1002.0], new=[1003.0, 1001.0, 1002.0])
    variance = 1.0
    assert evidence.count_repetitions(20.0, variance, variance, 4).runs <= 3
    assert (row["verdict"], row["runs_needed"]) == ("no difference shown", 4)


def test_one_p_value_below_5_percent_of_two_is_no_difference():
    one, other = compared(base=[1000.0, 1010.0, 1020.0], new=[1029.0, 1039.0, 1049.0], same=[1001.0, 1010.0, 1019.0])
    assert 0.025 < one["p_value"] < 0.05 < other["p_value"]
    assert {one["verdict"], other["verdict"]} == {"no difference shown"}
    assert one["ratio_low"] > 1
    assert "among 2 comparisons chance alone leaves 0 out like this" in one["undecided"]


def test_times_are_faster_and_rates_higher():
    def open_question(name):
        frame = pl.LazyFrame({"k": ["a", "b"], name: [1.0, 2.0]})
        return ratio.ratios(frame, name, ["k"], {"k": "a"}).collect()["undecided"][1]

    assert open_question("elapsed_s").startswith("the data do not show which is faster")
    assert open_question("latency_mean_ms").startswith("the data do not show which is faster")
    for name in ("iops", "mb_per_s", "used_pct"):
        assert open_question(name).startswith("the data do not show which is higher"), name


@pytest.mark.parametrize(("low", "high", "equal"), [(0.98, 1.02, True), (0.979, 1.0, False), (1.0, 1.021, False)])
def test_equal_is_an_interval_within_the_margin_on_both_sides(low, high, equal):
    row = pl.DataFrame({"ratio_low": [low], "ratio_high": [high]})
    assert row.select(evidence.is_equal()).item() is equal


@pytest.mark.parametrize("repetitions", [(2, 7), (7, 2), (2, 2), (3, 10), (10, 3)])
@pytest.mark.parametrize("noise", [(0.1, 0.02), (0.02, 0.1), (0.04, 0.02), (0.02, 0.04)])
def test_intervals_hold_with_few_repetitions_on_the_noisy_side(noise, repetitions):
    """Welch's degrees of freedom held the truth in 86 % of studies with 7 and 2 repetitions."""
    random = np.random.default_rng(12)
    facts = []
    for mean, share, count in zip((90.0, 100.0), noise, repetitions, strict=True):
        values = random.normal(mean, mean * share, (20_000, count))
        facts += [values.mean(axis=1), values.var(axis=1, ddof=1), np.full(20_000, float(count))]
    low, high = interval.fieller_bounds(*facts)
    bounded = ~np.isnan(low)
    assert ((low <= 0.9) & (high >= 0.9))[bounded].mean() >= 0.935


def test_many_bounds_have_none_for_a_baseline_below_zero():
    five, one = np.full(3, 5.0), np.ones(3)
    low, high = interval.fieller_bounds(np.full(3, 20.0), one, five, np.array([-10.0, 0.0, 10.0]), one, five)
    assert np.isnan(low).tolist() == np.isnan(high).tolist() == [True, True, False]
