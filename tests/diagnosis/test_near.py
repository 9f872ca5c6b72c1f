"""A name that is not quite right: wherever one is given, the error names the nearest."""

from __future__ import annotations

import polars as pl
import pytest

import esxparse as ex
import esxparse_simulator as simulate
from esxparse.cli import main
from esxparse.formats.opening import Opening
from esxparse.metrics import frames, interval, ranking, units
from esxparse.reports import library


@pytest.fixture(scope="module")
def rec():
    return ex.open(ex.datasets_dir() / "formats" / "esxcli-host.txt")


@pytest.mark.parametrize(
    ("ask", "near"),
    [
        (lambda rec: rec["processor"], "processors"),
        (lambda _: ex.counter("%RYD"), "%RDY"),
        (lambda _: ex.datasets.folder("busy-hots"), "busy-host"),
        (lambda _: Opening.of({"strat": "2026-03-11"}), "start"),
        (lambda rec: ex.open(rec.source, format="esxli"), "esxcli"),
        (lambda _: ex.rules("strickt"), "strict"),
        (lambda _: library.find("host-health"), "host_health"),
        (lambda _: units._unit("mib_per_sec"), "mib_per_s"),
        (lambda _: interval.check_method("fiellers"), "fieller"),
        (lambda _: frames.need(["used_pct"], "used_pc"), "used_pct"),
        (lambda _: ranking.top(pl.LazyFrame({"a": [1.0], "vm": ["x"]}), "vm", "a", order="maen"), "mean"),
        (lambda _: simulate.load_experiment("buzy-host"), "busy-host"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest(rec, ask, near):
    with pytest.raises(ex.EsxparseError) as caught:
        ask(rec)
    said = str(caught.value)
    assert f"ou mean {near!r}?" in said or f'ou mean "{near}"?' in said or f'the nearest are "{near}"' in said


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["reprot", "x"], "report"),
        (["report", "x", "--ouptut", "y"], "--output"),
        (["collect", "host", "x", "-o", "y", "--interval=5s", "--dration=5m"], "--duration"),
        (["study", "new", "x", "--focre"], "--force"),
    ],
)
def test_a_wrong_word_on_the_command_line_is_answered_with_the_nearest(capsys, words, near):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert f"did you mean {near!r}?" in capsys.readouterr().err


def test_a_name_that_is_near_to_nothing_gets_no_guess(rec):
    with pytest.raises(ex.MissingTableError) as caught:
        rec["zzz"]
    assert "mean" not in str(caught.value)
    with pytest.raises(AttributeError, match="did you mean 'open'"):
        ex.opne  # noqa: B018
