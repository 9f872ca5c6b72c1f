"""The report on hardware events, made as users make it; its numbers are computed again here."""

from __future__ import annotations

import re

import polars as pl
import pytest
from templated import shown

import esxparse as ex
from esxparse.charts import events, theme
from esxparse.reports.hardware_events import gather

FORMATS = ex.datasets_dir() / "formats"


def perf_text(path, seconds, **counts):
    lines = [f"{count:>18,}      {event.replace('_', '-')}" for event, count in counts.items()]
    body = "\n".join(lines)
    path.write_text(
        f" Performance counter stats for './walk':\n\n{body}\n\n      {seconds:.9f} seconds time elapsed\n\n"
    )
    return path


@pytest.fixture(scope="module")
def modes(tmp_path_factory):
    """Nested paging against shadow page tables: the same work, counted in the guest."""
    folder = tmp_path_factory.mktemp("modes")
    nested = perf_text(folder / "nested.txt", 60.07, dTLB_load_misses=68456568, instructions=98377000000)
    shadow = perf_text(folder / "shadow.txt", 59.12, dTLB_load_misses=38750437, instructions=97900000000)
    return nested, shadow


def test_the_summary_of_an_interval_recording_is_not_counted_again(tmp_path):
    path = tmp_path / "interval.csv"
    lines = [f"{second}.000000000,{100 * second},,page-faults,1000,100.00,," for second in (1, 2, 3)]
    path.write_text("\n".join([*lines, "600,,page-faults,3000,100.00,,"]) + "\n")
    found = gather.gather([path])
    assert [one.whole["value"].to_list() for one in found.subjects] == [[600.0]]
    assert found.subjects[0].whole["per_s"].item() == 200.0
    (chart,) = shown("hardware_events", "events.over_time(", found=found).charts
    rows = [row for rows in chart["datasets"].values() for row in rows if row.get("event") == "page-faults"]
    assert sorted({(row["x"], row["value"]) for row in rows}) == [(1.0, 100.0), (2.0, 200.0), (3.0, 300.0)]


def test_an_interval_without_a_count_breaks_the_line_and_is_not_zero():
    found = gather.gather([FORMATS / "perf-interval.jsonl"])
    rates = gather.rates(found.subjects[0]).filter(pl.col("event") == "page-faults").sort("x").collect()
    assert rates["per_s"].null_count() == 3
    assert 0 not in rates["per_s"].to_list()
    assert gather.measured_s(found.subjects[0]) == pytest.approx(0.201336)


def test_counts_by_cpu_without_seconds_stay_counts():
    (subject,) = gather.gather([FORMATS / "perf-per-cpu.csv"]).subjects
    uneven = gather.differences(subject)
    assert uneven.select("event", "highest", "unit", "high").row(0) == ("page-faults", "CPU1", "events", 1630.0)
    assert "cycles" not in uneven["event"].to_list()
    assert (
        "CPU"
        in shown("hardware_events", "hardware_events.spread", found=gather.gather([FORMATS / "perf-per-cpu.csv"])).text
    )


def test_runs_of_different_commands_are_told_apart(tmp_path):
    one = perf_text(tmp_path / "one.txt", 2.0, instructions=1000)
    two = perf_text(tmp_path / "two.txt", 4.0, instructions=4000)
    both = tmp_path / "both.txt"
    both.write_text(one.read_text() + two.read_text().replace("./walk", "./run"))
    found = gather.gather([both])
    assert [one.name for one in found.subjects] == ["both, run 1", "both, run 2"]
    assert found.compared.collect()["value_ratio"].item() == 0.25


def test_other_recordings_are_refused():
    with pytest.raises(ex.EsxparseError, match="is ipmi: this report reads perf_stat, vmkperf"):
        gather.gather([FORMATS / "ipmi-dcmi-loop.txt"])


def test_hybrid_processors_have_instructions_per_cycle_of_one_kind_of_core(tmp_path):
    path = perf_text(tmp_path / "hybrid.txt", 1.0, a=1)
    names = {
        "cpu_atom/cycles/": 900,
        "cpu_core/cycles/": 2000,
        "cpu_atom/instructions/": 300,
        "cpu_core/instructions/": 5000,
    }
    lines = "\n".join(f"{count:>18,}      {event}" for event, count in names.items())
    path.write_text(re.sub(r"\n +1 +a\n", f"\n{lines}\n", path.read_text()))
    (subject,) = gather.gather([path]).subjects
    assert gather.per_cycle(subject) == 2.5


def rates(**means):
    rows = [(float(x), event, None, mean, False) for x in range(3) for event, mean in means.items()]
    schema = {"x": pl.Float64, "event": pl.String, "unit": pl.String, "per_s": pl.Float64, "by_poll": pl.Boolean}
    return pl.LazyFrame(rows, schema=schema, orient="row")


def test_events_of_like_size_share_a_chart_and_axes_say_their_unit():
    charts = [chart.to_dict() for chart in events.over_time(rates(cycles=4e9, instructions=2e9, faults=50.0), "a")]
    assert [chart["title"]["text"] for chart in charts] == ["cycles and 1 more", "faults"]
    assert [chart["title"]["subtitle"] for chart in charts] == [["Recording: a"], ["Recording: a"]]
    titles = [chart["layer"][0]["encoding"]["y"]["title"] for chart in charts]
    assert titles == ["billions of events per second", "events per second"]


def test_events_that_find_no_chart_are_named():
    many = rates(**{f"event{power:02}": 100.0**power for power in range(11)})
    charts = [chart.to_dict() for chart in events.over_time(many)]
    assert len(charts) == events.MAX_PANELS
    assert charts[-1]["title"]["subtitle"] == ["Not drawn: event02, event01, event00"]


def test_charts_without_anything_to_draw_are_none():
    assert events.over_time(rates(cycles=4e9).filter(pl.col("x") == 0)) == []
    assert events.over_time(rates(cycles=0.0)) == []
    counted = pl.LazyFrame({"event": ["e"], "aggregate": ["CPU0"], "value": [1.0], "unit": ["events"]})
    assert events.spread(counted, "e") is None
    empty = pl.DataFrame(schema={"event": pl.String, "subject": pl.String, "per_1k": pl.Float64})
    assert events.per_instruction(empty) is None
    nothing = pl.LazyFrame(
        {"event": ["e"], "value_ratio": [None], "rate_ratio": [None]},
        schema_overrides={"value_ratio": pl.Float64, "rate_ratio": pl.Float64},
    )
    assert events.ratios(nothing, "a", "b") is None


def test_only_colours_that_follow_dark_mode_are_drawn(modes):
    found = gather.gather(modes)
    charts = shown("hardware_events", "events.ratios(", "events.per_instruction(", found=found).charts
    assert len(charts) == 2
    drawn = {word for chart in charts for word in re.findall(r"#[0-9a-f]{6}", str(chart))}
    assert drawn <= set(theme.css_variables())


def per_cpu(folder, counts):
    """Intervals of a second in which CPUs count one event; None: not counted."""
    path = folder / "per-cpu.csv"
    lines = [
        f"{second}.000000000,CPU{cpu},{'<not counted>' if count is None else count},,cycles,1000,100.00,,"
        for second, row in enumerate(counts, 1)
        for cpu, count in enumerate(row)
    ]
    path.write_text("".join(f"{line}\n" for line in lines))
    return gather.gather([path])


def test_the_rest_of_the_cpus_is_not_the_sum_of_all(tmp_path):
    found = per_cpu(tmp_path, [(100, 900), (100, None), (300, 500), (200, 600)])
    rates = gather.rates(found.subjects[0]).sort("x").collect()
    assert rates["per_s"].to_list() == [1000, None, 800, 800]
    (chart,) = shown("hardware_events", "events.over_time(", found=found).charts
    assert chart["title"]["subtitle"] == ["Gaps: not counted on every CPU"]
    assert "Events; 1 not counted on every CPU or in every interval, so with a count that is too low" in str(
        shown("hardware_events", "hardware_events.listed", found=found)
    )


def test_one_event_that_was_not_counted_is_one(tmp_path):
    path = tmp_path / "two.csv"
    path.write_text(
        "".join(f"1.000000000,{count},,{event},1000,100.00,,\n" for count, event in ((5, "a"), ("<not counted>", "b")))
    )
    assert "1 was not counted" in str(shown("hardware_events", "tiles(items)", found=gather.gather([path])))


def test_a_metric_of_perf_is_its_mean_over_time(tmp_path):
    path = tmp_path / "topdown.csv"
    path.write_text(
        "".join(
            f"{end}.000100000,100,,cycles,1000,100.00,,\n{end}.000100000,,,1000,100.00,,,,TopdownL1\n"
            f"{end}.000100000,,,,,,{value},%  tma_backend_bound\n"
            for end, value in ((1, 10.0), (2, 10.0), (12, 70.0))
        )
    )
    assert f">{(2 * 10 + 10 * 70) / 12:.2f}<" in str(
        shown("hardware_events", "hardware_events.metrics", found=gather.gather([path])).html
    )


@pytest.mark.parametrize(("cycles", "instructions", "expected"), [(2000, 3000, 1.5), (0, 3000, None), (2000, 0, None)])
def test_an_event_that_did_not_happen_gives_no_instructions_per_cycle(tmp_path, cycles, instructions, expected):
    path = perf_text(tmp_path / "a.txt", 2.0, instructions=instructions, cycles=cycles)
    (subject,) = gather.gather([path]).subjects
    assert gather.per_cycle(subject) == expected
