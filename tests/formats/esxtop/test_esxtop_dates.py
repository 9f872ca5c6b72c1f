"""Dates of captures with every cell in quotes, some swapped by a spreadsheet: they are judged as all others are."""

import datetime as dt
import gzip
import io
import zipfile

import compose
import pytest

import esxparse as ex

COLUMNS = [("Memory", "Free MBytes")]
APRIL = [dt.datetime(2026, 4, 9, 12, tzinfo=dt.UTC) + dt.timedelta(hours=12 * step) for step in range(16)]


def quoted(stamps, separator=","):
    header, *rows = compose.text(COLUMNS, [[str(at)] for at in range(len(stamps))]).splitlines()
    lines = [header, *(f'"{stamp}",{row.partition(",")[2]}' for stamp, row in zip(stamps, rows, strict=True))]
    return "\n".join(lines).replace('","', f'"{separator}"') + "\n"


def half_swapped(times):
    return [time.strftime("%d/%m/%Y %H:%M:%S" if time.day <= 12 else "%m/%d/%Y %H:%M:%S") for time in times]


def times_of(rec):
    return rec["memory"].collect()["time"].to_list()


def warnings(rec):
    return [str(note) for note in rec.notes if note.severity == "warning"]


@pytest.mark.parametrize("form", ["file", "lazy", "UTF-16", "semicolons", "gzip", "slice", "convert", "lake"])
@pytest.mark.parametrize("step", [1, -1])
def test_swapped_days_in_quotes_are_swapped_back(tmp_path, form, step):
    times = APRIL[::step]
    content = quoted(half_swapped(times), ";" if form == "semicolons" else ",")
    file = compose.write(tmp_path, content.encode("utf-16") if form == "UTF-16" else content)
    if form == "gzip":
        file = compose.write(tmp_path, gzip.compress(content.encode()), "capture.csv.gz")
    if form == "slice":
        assert "took days up to 12 for months" in str(ex.slice(file, tmp_path / "slice.csv").notes)
        rec = ex.open(tmp_path / "slice.csv")
    elif form == "convert":
        rec = ex.open(ex.convert(file, tmp_path / "out").folder)
    elif form == "lake":
        ex.lake(tmp_path / "lake").add([file])
        lake = ex.lake(tmp_path / "lake")
        rec = lake.recording(lake.captures[0].id)
    else:
        rec = ex.open(file, lazy=form == "lazy")
    # A lake has the days in order.
    found, times = (sorted(times_of(rec)), sorted(times)) if form == "lake" else (times_of(rec), times)
    assert found == times
    assert form == "slice" or "took days up to 12 for months" in str(warnings(rec))


def test_a_slice_of_swapped_days_keeps_what_its_window_holds(tmp_path):
    file = compose.write(tmp_path, quoted(half_swapped(APRIL)))
    ex.slice(file, tmp_path / "slice.csv", start="2026-04-11T00:00", end="2026-04-13T00:00")
    assert times_of(ex.open(tmp_path / "slice.csv")) == APRIL[3:8]


def test_a_stream_of_swapped_days_is_not_sliced(tmp_path):
    content = quoted(half_swapped(APRIL)).encode()
    with pytest.raises(ex.EsxparseError, match=r"took days up to 12 for months.*unpack"):
        ex.slice(io.BytesIO(content), tmp_path / "slice.csv")
    assert not (tmp_path / "slice.csv").exists()
    ex.slice(io.BytesIO(content), tmp_path / "slice.csv", date_order="mdy")
    assert times_of(ex.open(tmp_path / "slice.csv", date_order="mdy"))[0] == dt.datetime(2026, 9, 4, 12, tzinfo=dt.UTC)


def test_swapped_days_in_quotes_that_never_go_on_are_refused(tmp_path):
    stamps = half_swapped(APRIL)
    file = compose.write(tmp_path, quoted([*stamps[:4], *stamps[8:], *stamps[4:8]]))
    for run in (ex.open, lambda file: ex.slice(file, tmp_path / "slice.csv")):
        with pytest.raises(ex.EsxparseError, match=r"swapped in some dates.*set date_order="):
            run(file)
    assert not (tmp_path / "slice.csv").exists()
    assert len(times_of(ex.open(file, date_order="mdy"))) == len(APRIL)


# The 3rd and 4th of March and the 15th: with the first two swapped, time jumps ahead only.
AHEAD = [dt.datetime(2026, 4, day, hour, tzinfo=dt.UTC) for day in (2, 3, 15) for hour in (8, 9, 10)]


@pytest.mark.parametrize("is_quoted", [True, False])
def test_dates_that_only_jump_ahead_are_warned_about(tmp_path, is_quoted):
    content = quoted(half_swapped(AHEAD))
    file = compose.write(tmp_path, content if is_quoted else content.replace('"', ""))
    rec = ex.open(file)
    (warning,) = [text for text in warnings(rec) if "may have swapped" in text]
    assert "from '02/04/2026 10:00:00' to '03/04/2026 08:00:00'" in warning
    assert warning.startswith("line 5" if is_quoted else "line 2")
    assert "set date_order=" in warning
    assert not [text for text in warnings(ex.open(file, date_order="mdy")) if "swapped" in text]


def test_a_warning_about_dates_is_given_once_by_a_slice(tmp_path):
    sliced = ex.slice(compose.write(tmp_path, quoted(half_swapped(AHEAD))), tmp_path / "slice.csv")
    assert str(sliced.notes).count("may have swapped") == 1


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".zip"])
def test_a_slice_swaps_dates_back_whatever_the_capture_is_packed_in(tmp_path, ending):
    days = [dt.datetime(2026, 4, day, 8, tzinfo=dt.UTC) for day in range(8, 18)]
    content = quoted(half_swapped(days)).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as bundle:
        bundle.writestr("capture.csv", content)
    forms = {".csv": content, ".csv.gz": gzip.compress(content), ".zip": packed.getvalue()}
    file = compose.write(tmp_path, forms[ending], f"capture{ending}")
    ex.slice(file, tmp_path / "slice.csv")
    assert times_of(ex.open(file)) == times_of(ex.open(tmp_path / "slice.csv")) == days


@pytest.mark.parametrize(
    "stamps",
    [
        ["04/10/2026 08:00:00", "09/10/2026 08:00:05", "04/10/2026 08:00:10", "04/13/2026 08:00:15"],  # one is damaged
        ["07/13/2026 08:00:00", "07/14/2026 08:00:00", "04/13/2026 08:00:00", "04/14/2026 08:00:00"],  # glued
        ["03/03/2026 08:00:00", "03/04/2026 08:00:00", "09/20/2026 08:00:00", "10/02/2026 08:00:00"],  # a gap
        [f"04/{day:02d}/2026 08:00:00" for day in range(1, 31)],
        [f"{month:02d}/15/2026 08:00:00" for month in range(1, 13)],
    ],
)
def test_times_of_a_capture_that_jump_for_other_reasons_stay(tmp_path, stamps):
    rec = ex.open(compose.write(tmp_path, quoted(stamps)))
    assert [f"{time:%m/%d/%Y %H:%M:%S}" for time in times_of(rec)] == stamps
    assert "took days up to 12" not in str(rec.notes)


def test_days_first_in_quotes_are_refused_with_gaps_too(tmp_path):
    """Of the days that can be months there is one only: nothing but the others shows that it is none."""
    days = [dt.datetime(2026, 4, day, hour, tzinfo=dt.UTC) for day in (12, 20, 21) for hour in (8, 9)]
    file = compose.write(tmp_path, quoted([time.strftime("%d/%m/%Y %H:%M:%S") for time in days]))
    with pytest.raises(ex.EsxparseError, match="'20/04/2026 08:00:00' have the day first"):
        ex.open(file)
    with pytest.raises(ex.EsxparseError, match="have the day first"):
        ex.slice(file, tmp_path / "slice.csv")
    assert times_of(ex.open(file, date_order="dmy")) == days


def test_swapped_days_among_texts_with_the_day_first_are_refused_in_quotes(tmp_path):
    stamps = [time.strftime("%m/%d/%Y %H:%M:%S" if time.day <= 12 else "%d/%m/%Y %H:%M:%S") for time in APRIL]
    with pytest.raises(ex.EsxparseError, match="have the day first"):
        ex.open(compose.write(tmp_path, quoted(stamps)))
