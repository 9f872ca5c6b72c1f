"""One number, one word: the verdict, the tables, the charts and the fleet call a series the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import hosts
import numpy as np
import pytest
from fault_hosts import seen

import esxparse as ex
from esxparse.derived.panels import Panel
from esxparse.diagnosis import evidence, levels, rules
from esxparse.diagnosis.areas import area_of
from esxparse.diagnosis.series import Series
from esxparse.diagnosis.symptoms import symptoms, values
from esxparse.lakes import judging
from esxparse.reports.fleet import gather, severity
from esxparse.reports.host_health import verdict

SAMPLES = 40
TIMES = [datetime(2026, 3, 2, 8, tzinfo=UTC) + timedelta(seconds=5 * one) for one in range(SAMPLES)]
RULES = rules.load()
MINE = "mine"


def own(**made):
    """Series of the object that is judged."""
    return {name: {MINE: value} for name, value in made.items()}


def beside(name, mine, *others):
    """A series of the object that is judged and of others."""
    return {name: {MINE: mine, **{f"other {place}": value for place, value in enumerate(others)}}}


RECIPES = {
    "capture.gap": lambda v: own(step_s=5 * v, interval_s=5),
    "cpu.vcpu_skew": lambda v: own(vcpus=4, worst_run_pct=100, least_run_pct=100 - v),
    "cpu.migrations": lambda v: own(vcpus=4, migrates_per_s=4 * v),
    "cpu.imbalance": lambda v: own(pcpus=8, pcpu_max_pct=100, pcpu_mean_pct=100 - v),
    "cpu.kernel": lambda v: own(pcpus=8, kernel_used_pct=8 * v),
    "interrupts.share": lambda v: beside("interrupts_per_s", 1e4 * v, *[1e3 * (100 - v)] * 10),
    "interrupts.pcpu_full": lambda v: own(interrupts_per_s=20_000, util_pct=v),
    "memory.balloon_target": lambda v: own(balloon_target_mib=v + 10, balloon_mib=10),
    "memory.at_limit": lambda v: own(memory_max_mib=1000, size_mib=2000, consumed_mib=10 * v),
    "memory.host_free": lambda v: own(free_mib=10 * v, minfree_mib=1000),
    "network.duplex": lambda v: own(link_up=1, is_uplink=1, duplex=v),
    "network.slow_link": lambda v: own(link_up=1, is_uplink=1, speed_mbits=10 * v, team_mbits=1000),
    "network.link_lost": lambda v: own(is_uplink=1, link_up=v),
    "network.all_drop": lambda v: {"vm drop_rx_pct": {"a": v, "b": v + 1}, **own(pcpus=8)},
    "network.vmkernel": lambda v: own(is_uplink=0, tx_mbits=v, rx_mbits=0),
    "numa.wide_vm": lambda v: {"host nodes": {"host": 2}, "host pcpus": {"host": 32}, **own(vcpus=v * 16 / 100)},
    "numa.large_vm": lambda v: {
        "host nodes": {"host": 2},
        "host machine_mib": {"host": 200_000},
        **own(size_mib=v * 1000),
    },
    "numa.node_load": lambda v: beside("node_used_pct", v, 0),
    "power.clock": lambda v: own(c0_pct=50, clock_pct=v),
    "power.slow_p_state": lambda v: own(c0_pct=50, slowest_p_pct=v),
    "power.at_cap": lambda v: own(watts=v, cap_watts=100),
    "power.no_deep_sleep": lambda v: own(c0_pct=20, deepest_c_pct=0.8 * v),
    "disk.davg_flash": lambda v: own(davg_ms=v),
    "disk.queue_full": lambda v: own(depth=100, queued=5, active=v),
    "disk.failed": lambda v: own(iops=100, good_iops=100, failed_per_s=v),
    "disk.retries": lambda v: own(kavg_all_ms=v + 1, qavg_all_ms=1),
    "path.latency_skew": lambda v: beside("davg_ms", 10 * v, 10),
}
"""Series that make the value of a rule that is an expression."""
GOOD = {"path.latency_skew": 1.0}


def made(rule, numbers):
    """Series in which the value of a rule is as given, sample by sample."""
    recipe = RECIPES.get(rule.id) or (lambda v: own(**{rule.value: v}))
    rows = [recipe(one) for one in numbers]
    if rule.floor_of:
        rows = [{**own(**{rule.floor_of: 10 * rule.floor}), **row} for row in rows]
    found: dict[str, dict[str, list[list[float]]]] = {}
    for name in rows[0]:
        kind, _, column = name.rpartition(" ")
        found.setdefault(kind or rule.kind, {})[column] = [list(row[name].values()) for row in rows]
    names = {
        kind: max((list(rows[0][n]) for n in rows[0] if (n.rpartition(" ")[0] or rule.kind) == kind), key=len)
        for kind in found
    }
    panels = {}
    for kind, columns in found.items():
        wide = (len(rows), len(names[kind]))
        whole = {name: np.broadcast_to(np.array(one, dtype=float), wide) for name, one in columns.items()}
        panels[kind] = Panel(kind, tuple(names[kind]), whole)
    return Series(panels, len(rows))


def past(rule, limit):
    """Just past a limit."""
    little = 1e-6 * max(abs(limit), 1)
    return limit - little if rule.direction == "below" else limit + little


def within(rule, limit):
    """Just within a limit; nothing is just within one of 0."""
    little = 1e-6 * max(abs(limit), 1)
    return limit + little if rule.direction == "below" else max(limit - little, 0.0)


def words(rule, numbers):
    """What the verdict, the table of symptoms, the charts and the severity of findings call the series."""
    series = made(rule, numbers)
    limits = {rule.id: rule}
    judged = values([rule], series)
    row = verdict.judge(limits, series).row(0, named=True)
    passed = [one for one in symptoms(limits, series, judged, TIMES) if one["name"] == MINE]
    table = min((one["severity"] for one in passed), key=levels.RANK.__getitem__, default="ok")
    raised = levels.levels(limits, judged, series).get((rule.kind, MINE, area_of(rule.id)), "ok")
    chart = evidence.level_of(rule, series, (MINE,))
    return {"ok" if row["verdict"] == "peaks" else row["verdict"], table, chart, raised}


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_just_past_a_limit_for_just_long_enough_is_one_word_everywhere(rule):
    good = GOOD.get(rule.id, 1e6 if rule.direction == "below" else 0.0)
    long, short = rule.persist, rule.persist - 1

    def spell(value, samples, around=good):
        return words(
            rule, [good] * 10 + [around] * 3 + [value] * samples + [around] * 3 + [good] * (SAMPLES - 16 - samples)
        )

    alike = rule.critical == rule.warn
    assert spell(within(rule, rule.warn), 20) == {"ok"}
    assert spell(past(rule, rule.warn), long) == {"critical" if alike else "warning"}
    if short:
        assert spell(past(rule, rule.warn), short) == {"ok"}
    if rule.critical is not None and not alike:
        assert spell(within(rule, rule.critical), 20) == {"warning"}
        assert spell(past(rule, rule.critical), long) == {"critical"}
        if short:
            # Critical for too short a time, past the other limit for long enough.
            assert spell(past(rule, rule.critical), short, past(rule, rule.warn)) == {"warning"}


@pytest.mark.needs("obstore")
@pytest.mark.parametrize(
    ("waits", "level"),
    [
        ((4.99,) * 20, "ok"),
        ((0,) * 9 + (5, 5) + (0,) * 9, "ok"),
        ((0,) * 9 + (5, 5, 5) + (0,) * 9, "warning"),
        ((0,) * 9 + (5, 10, 10, 5) + (0,) * 9, "warning"),
        ((0,) * 9 + (10, 10, 10) + (0,) * 9, "critical"),
    ],
)
def test_the_fleet_calls_a_vm_what_its_host_report_calls_it(tmp_path, waits, level):
    file = hosts.capture(tmp_path, "esx-01", waits)
    where = tmp_path / "lake"
    ex.lake(where).add([file])
    judging.judge(ex.lake(where))
    fleet = severity.vm_levels(gather.gather(str(where)))
    rec = ex.open(file)
    found = verdict.judge({"cpu.ready": RULES["cpu.ready"]}, ex.diagnose(rec).series)
    assert fleet["waits"].to_list() == [level]
    assert found["verdict"].to_list()[0].replace("peaks", "ok") == level


@pytest.mark.search
def test_the_chart_of_a_finding_says_how_bad_its_series_is():
    found = ex.diagnose(seen("cpu-limit").recording)
    (chart,) = found.charts(0)
    limited = [
        one["severity"] for one in found.symptoms if one["rule"] == "cpu.max_limited" and one["name"] == "logs-01"
    ]
    assert chart.usermeta["level"] == min(limited, key=levels.RANK.__getitem__) == found[0].severity == "critical"
    assert "; beyond its critical limit" in chart.to_dict()["title"]["subtitle"][0]


def test_a_worse_series_is_never_judged_better():
    ready = RULES["cpu.ready"]
    drawn = np.random.default_rng(7).uniform(0, 14, size=(30, 200)) * np.linspace(0, 1, 200)
    worse = drawn + np.random.default_rng(8).uniform(0, 3, size=drawn.shape)
    rank = [levels.RANK[one] for one in levels.of_objects(ready, drawn, None)]
    assert set(rank) == {0, 1, 2}
    assert all(
        after <= before
        for before, after in zip(rank, map(levels.RANK.get, levels.of_objects(ready, worse, None)), strict=True)
    )


def test_where_the_interval_changes_a_sample_counts_for_the_time_it_covers():
    ready = RULES["cpu.ready"]
    column = np.array([[1.0]] * 20 + [[12.0]])
    covered = np.array([0.0] + [5.0] * 19 + [300.0])
    assert levels.of_objects(ready, column, covered) == ["critical"]
    assert levels.of_objects(ready, column, None) == ["ok"]


@pytest.mark.parametrize(("seconds", "level"), [(6.1, "ok"), (6.3, "critical"), (7.0, "critical"), (5.4, "ok")])
def test_two_long_samples_last_as_long_as_a_spell_needs_from_half_a_step_less_on(seconds, level):
    """Ready time has to last for three steps of 5 s; as steps jitter, for more than 12.5 s."""
    ready = RULES["cpu.ready"]
    assert ready.persist == 3
    column = np.array([[1.0]] * 20 + [[12.0]] * 2 + [[1.0]] * 20)
    covered = np.array([5.0] * 20 + [seconds] * 2 + [5.0] * 20)
    assert levels.of_objects(ready, column, covered) == [level]
