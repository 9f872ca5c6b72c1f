"""Every column of the report on hardware events, against arithmetic on the lines of recordings written for it."""

from __future__ import annotations

from statistics import mean, median

import polars as pl
import pytest
from templated import shown

from esxparse.reports.hardware_events import gather

ENDS = (1, 4, 6)
"""Seconds at which intervals end: they are 1, 3 and 2 s long."""
LENGTHS = (1, 3, 2)
COUNTS = {
    # by event and CPU, a count of each interval
    "cycles": {0: (400, 900, 500), 1: (300, 800, 200), 2: (100, 50, 20), 3: (700, 60, 40)},
    "instructions": {0: (200, 450, 100), 1: (600, 100, 100), 2: (50, 25, 10), 3: (90, 80, 30)},
    "dTLB-load-misses": {0: (7, 9, 2), 1: (1, 2, 0), 2: (0, 1, 0), 3: (4, 0, 1)},
}
SHARES = {"cycles": (100, 50, 80), "instructions": (100, 100, 100), "dTLB-load-misses": (25, 75, 60)}
"""% of the time in which each event was counted, by interval."""


def recorded(path, factor=1, lacking=()):
    """`perf stat -I -A -x,` of four CPUs; `lacking`: (event, CPU, interval) that were not counted."""
    lines = [
        f"{end:.9f},CPU{cpu},{count * factor},,{event},1000000,{SHARES[event][place]:.2f},,"
        if (event, cpu, place) not in lacking
        else f"{end:.9f},CPU{cpu},<not counted>,,{event},0,0.00,,"
        for place, end in enumerate(ENDS)
        for event, of in COUNTS.items()
        for cpu, counts in of.items()
        for count in counts[place : place + 1]
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def lines(block, after=2):
    return [line.split() for line in block.text.splitlines()[after:] if line]


def written(values):
    """A column of numbers: one decimal, none if all are 100 and more or whole."""
    digits = 0 if all(value >= 100 or value == round(value) for value in values) else 1
    return [f"{value:,.{digits}f}" for value in values]


def total(event):
    return sum(map(sum, COUNTS[event].values()))


@pytest.mark.search
def test_an_event_is_summed_over_cpus_and_intervals_and_its_share_is_one_of_the_time(tmp_path):
    found = gather.gather([recorded(tmp_path / "a.csv")])
    rows = {words[0]: words[1:] for words in lines(shown("hardware_events", "hardware_events.listed", found=found))}
    for event in COUNTS:
        share = sum(one * length for one, length in zip(SHARES[event], LENGTHS, strict=True)) / 6
        assert rows[event] == [
            f"{total(event):,}",
            f"{total(event) / 6:,.1f}",
            f"{1000 * total(event) / total('instructions'):,.3f}",
            f"{share:.1f}",
        ]
    text = " ".join(shown("hardware_events", "tiles(items)", found=found).text.split())
    assert "Events counted: 3" in text
    assert f"Instructions per cycle: {total('instructions') / total('cycles'):.2f}" in text
    assert f"TLB misses per 1,000 instructions: {1000 * total('dTLB-load-misses') / total('instructions'):.2f}" in text
    least = sum(one * length for one, length in zip(SHARES["dTLB-load-misses"], LENGTHS, strict=True)) / 6
    assert f"Lowest share counted: {least:.1f} %" in text
    estimates = shown("hardware_events", "hardware_events.estimates", found=found).text
    assert f"counted {least:.1f} % of the time" in estimates
    # The least counted first; what was counted all the time is none.
    assert [words[0] for words in lines(shown("hardware_events", "hardware_events.estimates", found=found))] == [
        "dTLB-load-misses",
        "cycles",
    ]


def test_the_cpu_that_differs_is_named_with_its_rate_and_the_median_of_all(tmp_path):
    found = gather.gather([recorded(tmp_path / "a.csv")])
    rows = lines(shown("hardware_events", "hardware_events.spread", found=found))
    expected = []
    for event, of in COUNTS.items():
        rates = {cpu: sum(counts) / 6 for cpu, counts in of.items()}
        high, low = max(rates.values()), min(rates.values())
        who = {rate: f"CPU{cpu}" for cpu, rate in rates.items()}
        times = high / median(rates.values())
        expected.append(
            (times, event, who[low], low, median(rates.values()), high, who[high], 100 * high / sum(rates.values()))
        )
    expected.sort(reverse=True)
    assert [words[0] for words in rows] == [one[1] for one in expected]
    columns = [written([one[place] for one in expected]) for place in (3, 4, 5)]
    for place, (words, (times, _, lowest, *_, highest, share)) in enumerate(zip(rows, expected, strict=True)):
        low, middle, high = (column[place] for column in columns)
        assert words[-8:] == ["4", lowest, low, middle, high, highest, f"{times:.2f}", f"{share:.1f}"]


def test_rates_over_intervals_add_the_cpus_and_have_gaps_where_one_was_not_counted(tmp_path):
    found = gather.gather([recorded(tmp_path / "a.csv", lacking={("cycles", 2, 1)})])
    (subject,) = found.subjects
    rates = {(row["event"], row["x"]): row["per_s"] for row in gather.rates(subject).collect().rows(named=True)}
    for event, of in COUNTS.items():
        for place, (end, length) in enumerate(zip(ENDS, LENGTHS, strict=True)):
            known = sum(counts[place] for counts in of.values()) / length
            expected = None if (event, place) == ("cycles", 1) else pytest.approx(known)
            assert rates[event, float(end)] == expected, (event, end)
    assert gather.measured_s(subject) == 6.0
    text = shown("hardware_events", "hardware_events.listed", found=found).text
    assert "1 not counted on every CPU or in every interval" in text
    assert "not counted in 1 of 12 lines" in shown("hardware_events", "hardware_events.estimates", found=found).text


def test_a_cpu_that_never_counts_an_event_is_no_part_of_its_rates(tmp_path):
    lacking = {("cycles", 2, place) for place in range(3)}
    (subject,) = gather.gather([recorded(tmp_path / "a.csv", lacking=lacking)]).subjects
    rates = {
        row["x"]: row["per_s"] for row in gather.rates(subject).collect().rows(named=True) if row["event"] == "cycles"
    }
    assert rates == {
        float(end): pytest.approx(sum(COUNTS["cycles"][cpu][place] for cpu in (0, 1, 3)) / LENGTHS[place])
        for place, end in enumerate(ENDS)
    }


def test_two_recordings_are_compared_the_largest_ratio_first(tmp_path):
    path = recorded(tmp_path / "b.csv", factor=2)
    path.write_text(path.read_text().replace(",,cycles,", ",,cpu-clock,").replace(",,dTLB-load-misses,", ",,branches,"))
    other = path.read_text().splitlines()
    # Of instructions twice as many; of branches one more in the first line alone.
    one = [line.replace(",,cpu-clock,", ",,task-clock,") for line in other]
    half = [
        ",".join([*cells[:2], str(int(cells[2]) // 2), *cells[3:]]) if "instructions" in cells else ",".join(cells)
        for cells in (line.split(",") for line in one)
    ]
    (tmp_path / "a.csv").write_text("\n".join(half) + "\n")
    found = gather.gather([tmp_path / "a.csv", path])
    block = shown("hardware_events", "hardware_events.compared", found=found)
    rows = lines(block)
    assert [words[0] for words in rows] == ["instructions", "branches"]
    count = total("instructions")
    rates = [written([rate, total("dTLB-load-misses") * 2 / 6])[0] for rate in (count / 6, 2 * count / 6)]
    assert rows[0][1:] == [f"{count:,}", f"{2 * count:,}", "0.500", rates[0], rates[1], "0.500"]
    assert rows[1][3] == rows[1][6] == "1.000"
    assert "; 2 more events were in only one recording, or 0" in block.text


def test_each_of_three_recordings_is_compared_with_the_first(tmp_path):
    factors = (2, 4, 5)
    paths = [recorded(tmp_path / f"{name}.csv", factor) for name, factor in zip("abc", factors, strict=True)]
    rows = lines(shown("hardware_events", "hardware_events.against_first", found=gather.gather(paths)))
    assert len(rows) == 9
    for place, (event, recording, *words) in enumerate(rows):
        factor = factors[place % 3]
        assert (event, recording) == (sorted(COUNTS)[place // 3], "abc"[place % 3])
        count = factor * total(event)
        assert words[:2] == [f"{count:,}", f"{factor / 2:.3f}"]
        assert float(words[2].replace(",", "")) == pytest.approx(count / 6, abs=0.5)
        assert words[3] == f"{factor / 2:.3f}"


def polled(path, rates):
    """`vmkperf poll` of two PCPUs, five seconds apart."""
    text = (
        "~ # vmkperf poll tlb_misses -i 5 -n 2\ntlb_misses per second per cpu\n----------------------\npcpu0 pcpu1 \n"
    )
    path.write_text(text + "".join(f"{one:.2f} {other:.2f} \n" for one, other in rates))
    return path


def test_polls_are_compared_by_their_rates(tmp_path):
    few, many = [(100, 300), (140, 260)], [(800, 700), (900, 600)]
    found = gather.gather([polled(tmp_path / "few.txt", few), polled(tmp_path / "many.txt", many)])
    (words,) = lines(shown("hardware_events", "hardware_events.compared", found=found))
    means = [sum(map(sum, rates)) / 2 for rates in (few, many)]
    assert words == ["tlb_misses", *(f"{mean:,.0f}" for mean in means), f"{means[0] / means[1]:.3f}"]
    rates = gather.rates(found.subjects[0]).collect().sort("x")
    assert rates["per_s"].to_list() == [sum(one) for one in few]


def test_a_poll_that_is_no_number_on_one_pcpu_is_a_gap_in_the_sum_of_all(tmp_path):
    path = polled(tmp_path / "polls.txt", [(100, 300), (140, 260), (150, 250)])
    path.write_text(path.read_text().replace("140.00 260.00", "140.00 1-2"))
    (subject,) = gather.gather([path]).subjects
    rates = gather.rates(subject).collect().sort("x")
    assert rates["x"].to_list() == [5.0, 10.0, 15.0]
    assert rates["per_s"].to_list() == [400.0, None, 400.0]


def test_a_pcpu_without_a_number_in_every_poll_is_no_part_of_the_sum(tmp_path):
    path = polled(tmp_path / "polls.txt", [(100, 300), (140, 260)])
    path.write_text(path.read_text().replace("300.00", "1-2").replace("260.00", "1-2"))
    (subject,) = gather.gather([path]).subjects
    assert gather.rates(subject).collect().sort("x")["per_s"].to_list() == [100.0, 140.0]


def test_runs_of_one_event_have_the_mean_of_their_rates(tmp_path):
    """Three runs of vmkperf in a file, and three of perf: neither their median nor their sum."""
    first = [[(100, 300), (140, 260)], [(10, 20), (30, 30)], [(0, 2), (4, 4)]]
    path = tmp_path / "polls.txt"
    path.write_text("".join(polled(path, rates).read_text() for rates in first))
    (subject,) = gather.gather([path]).subjects
    found = gather.rates(subject).collect().sort("x")["per_s"].to_list()
    assert found == [mean(sum(rates[poll]) for rates in first) for poll in range(2)]
    runs = [recorded(tmp_path / f"{factor}.csv", factor).read_text() for factor in (1, 2, 9)]
    started = "# started on Mon Mar  2 08:00:00 2026\n\n"
    (tmp_path / "runs.csv").write_text("".join(started + text for text in runs))
    one, _ = gather.gather([tmp_path / "runs.csv", recorded(tmp_path / "other.csv")]).subjects
    found = gather.rates(one).filter(pl.col("event") == "cycles").collect().sort("x")["per_s"].to_list()
    counts = [sum(of[place] for of in COUNTS["cycles"].values()) for place in range(3)]
    assert found == [
        pytest.approx(mean([1, 2, 9]) * count / length) for count, length in zip(counts, LENGTHS, strict=True)
    ]
