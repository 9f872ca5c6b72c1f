"""Power as an iLO tells it, written: read back by our reader, and against a real reply."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import compose
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.errors import EsxparseError
from esxparse_simulator.writers.power import Readings, ribcl_lines, ribcl_reply

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
FEW = settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def readings(*watts, step=60.0):
    return Readings(tuple(NOON + timedelta(seconds=step * number) for number in range(len(watts))), watts)


@FEW
@given(watts=st.lists(st.floats(50, 900), min_size=3, max_size=150), generation=st.sampled_from(["ilo3", "ilo4"]))
def test_ribcl_gives_the_numbers_back(tmp_path, watts, generation):
    of = readings(*watts)
    content = b"".join(ribcl_lines(of, NOON + timedelta(seconds=60), 60.0, len(watts) - 1, generation))
    rec = ex.open(compose.write(tmp_path, content, "ribcl.txt"))
    assert not [str(note) for note in rec.notes if note.severity == "warning"]
    rows = rec["power"].collect().to_dicts()
    assert [row["watts"] for row in rows] == [round(one) for one in watts[1:]]
    assert [row["time"] for row in rows] == list(of.times[1:])
    average, least, most = of.window(of.times[-1].timestamp(), 1200.0 if generation == "ilo4" else 86_400.0)
    assert rows[-1]["watts_average"] == round(average)
    assert (rows[-1]["watts_minimum"], rows[-1]["watts_maximum"]) == (round(least), round(most))


def test_a_reply_of_an_ilo_3_is_that_of_a_real_one_but_for_its_numbers():
    real = compose.real_data("power", "ilo3_ribcl_power_readings.raw.xml").read_bytes()
    at = datetime.strptime(re.search(rb"\nDate: (.*) GMT", real)[1].decode(), "%a, %d %b %Y %H:%M:%S").replace(
        tzinfo=UTC
    )
    watts = [int(one) for one in re.findall(rb'READING VALUE="(\d+)"', real)]
    ours = ribcl_reply(Readings((at,), (float(watts[0]),)), at)

    def shape(reply):
        return re.sub(rb'VALUE="\d+"', b'VALUE="#"', reply)

    assert shape(ours) == shape(real)


def test_readings_weigh_by_their_time():
    of = Readings(tuple(NOON + timedelta(seconds=one) for one in (0, 10, 40)), (100.0, 100.0, 200.0))
    noon = NOON.timestamp()
    assert of.window(noon + 40, 40.0) == (175.0, 100.0, 200.0)
    assert of.window(noon + 40, 20.0) == (200.0, 200.0, 200.0)
    assert of.window(noon + 5 * 3600, 60.0) == (200.0, 200.0, 200.0)


@pytest.mark.parametrize("wrong", [(0.0, 1, "ilo3"), (60.0, 0, "ilo3"), (60.0, 1, "ilo1")])
def test_what_makes_no_sense_is_one_clear_line(wrong):
    with pytest.raises(EsxparseError, match=r"^[^\n]+$"):
        list(ribcl_lines(readings(100.0), NOON, *wrong))
