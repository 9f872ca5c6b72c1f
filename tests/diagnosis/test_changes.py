"""What changed, and what moved alike: against series whose answer is known."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest
from made_recordings import SAMPLES, moment, recording

import esxparse as ex
from esxparse.metrics import change_points

SPELL = slice(70, 95)


@pytest.fixture
def noise():
    random = np.random.default_rng(4)
    return lambda level=10.0: random.normal(level, level / 10, SAMPLES)


@pytest.fixture
def host(noise):
    slow, queue = noise(1.0), noise(5.0)
    slow[SPELL] += 12
    queue[SPELL.start + 2 : SPELL.stop] += 20
    devices = {f"naa.{number}": {"davg": noise(1.0), "iops": noise(300.0)} for number in range(20)}
    devices["naa.7"]["davg"] = slow
    vms = {f"vm-{number}": {"ready": noise(5.0), "steady": np.full(SAMPLES, 4.0)} for number in range(20)}
    vms["vm-3"]["ready"] = queue
    return recording({"device": devices, "vm": vms})


def test_what_changed_most_comes_first_with_its_time_and_who_was_first(host):
    found = ex.changes(host)
    assert found.series.select("table", "counter", "instance").rows()[:2] == [
        ("device", "davg", "naa.7"),
        ("vm", "ready", "vm-3"),
    ]
    assert found.series["onset"].to_list()[:2] == [moment(70), moment(72)]
    assert found.series["before"][0] == pytest.approx(1.0, abs=0.1)
    # Nobody else went beyond what the series of its counter do.
    assert found.series["beyond"][2] < 1.5 < found.series["beyond"][1]
    assert moment(69) <= found.at <= moment(73)
    assert found.events.row(0)[2:] == ("device", "davg", "naa.7")
    assert found.not_judged.rows() == [("vm", "never moves", 20)]


def test_a_time_of_ones_own_is_compared_with_what_was_before(host):
    found = ex.changes(host, at=moment(70))
    assert found.at == moment(70)
    quiet = ex.changes(host, at=moment(100))
    assert found.series["beyond"][0] > 5 > quiet.series["beyond"][0]
    with pytest.raises(ex.EsxparseError, match=r"2026-03-02 09:00:00 UTC is not within x\.csv"):
        ex.changes(host, at=datetime(2026, 3, 2, 9, tzinfo=UTC))
    assert ex.changes(host, at=f"{moment(70):%Y-%m-%dT%H:%M:%S}").at == found.at
    with pytest.raises(ex.EsxparseError, match="at 'noon' is not a time: write it as"):
        ex.changes(host, at="noon")


def test_a_capture_with_gaps_and_objects_that_come_and_go_is_compared_as_far_as_it_goes(host):
    some = {name: table.filter(pl.int_range(pl.len()) % 7 != 3) for name, table in host.tables.items()}
    found = ex.changes(ex.Recording("esxtop", "x.csv", {**some, "texts": pl.LazyFrame({"name": ["a"]})}))
    assert found.series.row(0)[:3] == ("device", "davg", "naa.7")
    assert ("texts", "no column time", 1) in found.not_judged.rows()


def test_too_few_samples_are_refused():
    with pytest.raises(ex.EsxparseError, match="has 5 samples: changes need 12"):
        ex.changes(recording({"vm": {"a": {"ready": range(5)}}}, samples=5))


def test_noise_alone_is_seldom_called_a_change():
    random = np.random.default_rng(9)
    steps = random.normal(size=(2000, 400)).astype(np.float32)
    alike = np.empty_like(steps)
    alike[:, 0] = steps[:, 0]
    for place in range(1, 400):
        alike[:, place] = 0.6 * alike[:, place - 1] + steps[:, place]
    for series in (steps, alike):
        assert (change_points.parts(series).statistic > 2).mean() < 0.02
    level = (np.arange(400) >= 250) * 2.0
    found = change_points.parts(steps + level.astype(np.float32))
    assert (found.statistic > 2).all()
    # Of the two ends of a part, one is an end of the series.
    onset = np.where(found.begin > 20, found.begin, found.end)
    assert np.quantile(np.abs(onset - 250), 0.99) <= 8


def test_what_moves_alike_is_found_with_its_lag():
    random = np.random.default_rng(5)
    lead = np.cumsum(random.normal(size=SAMPLES + 10))
    made = {"follows": lead[7 : SAMPLES + 7], "leads": lead[12:][:SAMPLES], "mirror": -lead[10:], "alone": lead[10:]}
    made = {name: values[:SAMPLES] for name, values in made.items() if len(values) >= SAMPLES}
    made["leads"] = np.concatenate([lead[12:], lead[-2:]])[:SAMPLES]
    made["other"] = random.normal(size=SAMPLES)
    rec = recording({"vm": {name: {"ready": values} for name, values in made.items()}})
    found = ex.similar(rec, ("vm", "ready", "alone"))
    told = {row["instance"]: row for row in found.to_dicts()}
    assert told["follows"]["lag_s"] == 15
    assert told["leads"]["lag_s"] == -10
    assert (told["mirror"]["correlation"], told["mirror"]["lag_s"]) == (pytest.approx(-1), 0)
    assert found["instance"].to_list()[-1] == "other"
    window = (moment(40), moment(100))
    inside = ex.similar(rec, ("vm", "ready", "alone"), window).filter(instance="mirror")
    assert inside["correlation"].item() == pytest.approx(-1)
    with pytest.raises(ex.EsxparseError, match="no series"):
        ex.similar(rec, ("vm", "ready", "nobody"))
    with pytest.raises(ex.EsxparseError, match="the window has 3 samples"):
        ex.similar(rec, ("vm", "ready", "alone"), (moment(0), moment(2)))


def test_samples_of_one_time_count_as_their_mean(noise):
    # A spreadsheet kept the minutes only. 10 +- 10 never moves, taken together.
    pair = np.tile([0.0, 20.0], SAMPLES // 2)
    whole = recording({"device": {"naa.1": {"davg": pair}, "naa.2": {"davg": noise()}}})
    minutes = whole["device"].with_columns(pl.col("time").dt.truncate("10s"))
    found = ex.changes(replace(whole, tables={"device": minutes}))
    assert found.series["instance"].to_list() == ["naa.2"]
    assert found.not_judged.rows() == [("device", "never moves", 1)]


def test_series_in_long_form_are_told_by_all_that_names_them(noise):
    # As a chart of vCenter is read: entity_id is null, the whole entity's instance is empty.
    names = [("web-01", "", "cpu.ready"), ("web-01", "0", "cpu.ready"), ("db-01", "", "cpu.usage")]
    frames = [
        pl.DataFrame({"time": [moment(place) for place in range(SAMPLES)], "value": noise()}).with_columns(
            pl.lit(entity).alias("entity"),
            pl.lit(None, pl.String).alias("entity_id"),
            pl.lit(instance).alias("instance"),
            pl.lit(counter).alias("counter"),
        )
        for entity, instance, counter in names
    ]
    rec = ex.Recording("vcenter", "x.csv", {"samples": pl.concat(frames).lazy()})
    found = ex.changes(rec).series
    assert set(found["instance"]) == {"web-01 cpu.ready", "web-01 0 cpu.ready", "db-01 cpu.usage"}
    assert len(ex.similar(rec, ("samples", "value", "db-01 cpu.usage"))) == 2
