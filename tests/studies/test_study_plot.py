"""`Study.plot`: which label goes where, and what the marks are, checked against the runs by arithmetic of its own."""

from __future__ import annotations

import re
from statistics import mean

import pytest
from specs import drawn

import esxparse as ex

TESTS = {"max-read-iops": 34255.0, "max-write-iops": 36428.0}


def made(path, runs, more=""):
    """A study of figures that a manifest tells: labels and values of each run."""
    lines = ['title = "Figures"', more]
    for labels, values in runs:
        lines += ["[[run]]", *(f"{name} = {value!r}" for name, value in labels.items())]
        lines += ["[run.values]", *(f"{name} = {value}" for name, value in values.items())]
    (path / "study.toml").write_text("\n".join(lines))
    return ex.study(path)


@pytest.fixture
def iser(tmp_path):
    runs = [
        ({"protocol": protocol, "test": test}, {"iops": iops * times + 10 * number})
        for protocol, times in (("iscsi", 1.0), ("iser", 2.0))
        for test, iops in TESTS.items()
        for number in range(3)
    ]
    return made(tmp_path, runs, 'axis = "test"\nbaseline = { protocol = "iscsi" }')


def swept(path, machines=("esx", "native"), disks=("lun", "cached"), sizes=(1, 4, 8, 16, 512), more=()):
    runs = [
        ({"machine": machine, "disk": disk, "size": size}, {"mb_per_s": 10.0 * size + len(disk)})
        for machine in machines
        for disk in disks
        for size in sizes
    ]
    return made(path, [*runs, *more], 'axis = ["size", "disk"]\nbaseline = { machine = "esx" }')


def parts(chart):
    """Each panel: what it draws, and the rows of its points."""
    spec = chart.to_dict()
    made = []
    for one in spec.get("vconcat", [spec]):
        data = one["layer"][-1]["data"]["name"] if "data" in one["layer"][-1] else one["data"]["name"]
        made.append((drawn(one), one, spec["datasets"][data]))
    return made


def test_bars_are_means_of_the_repetitions_and_their_range(iser):
    ((title, spec, rows),) = parts(iser.plot("iops", where={"test": list(TESTS)}))
    assert title == "IOPS by test"
    runs = iser.runs.select("protocol", "test", "iops").collect().rows()
    for row in rows:
        seen = [iops for protocol, test, iops in runs if (protocol, test) == (row["label"], row["place"])]
        assert len(seen) == row["runs"] == 3
        assert row["value"] == pytest.approx(mean(seen))
        assert (row["low"], row["high"]) == (pytest.approx(min(seen)), pytest.approx(max(seen)))
    assert len(rows) == 4
    assert spec["title"]["text"] == "IOPS, max-write-iops: 72,866 (iser) against 36,438 (iscsi)"
    assert "higher is better" in spec["title"]["subtitle"][0]


def test_a_ratio_stands_beside_a_line_at_1_with_its_interval(iser):
    ((title, spec, rows),) = parts(iser.plot("iops", relative=True))
    assert title == "IOPS, ratio to iscsi by test"
    compared = {row["test"]: row for row in iser.compare("iops").filter(protocol="iser").collect().to_dicts()}
    assert {row["place"]: row["value"] for row in rows} == {
        test: pytest.approx(row["ratio"], abs=1e-6) for test, row in compared.items()
    }
    level = spec["layer"][0]["data"]["name"]
    assert iser.plot("iops", relative=True).to_dict()["datasets"][level] == [{"at": 1.0}]
    low, high = spec["layer"][-1]["encoding"]["x"]["scale"]["domain"]
    assert low < min(row["low"] for row in rows)
    assert high > max(row["high"] for row in rows)


def test_panels_share_their_scale_and_their_colours(tmp_path):
    panels = parts(swept(tmp_path).plot("mb_per_s"))
    assert [title for title, _, _ in panels] == ["Throughput by size: lun", "Throughput by size: cached"]
    points = [one["layer"][-1]["encoding"] for _, one, _ in panels]
    assert points[0]["y"]["scale"]["domain"] == points[1]["y"]["scale"]["domain"] == [0.0, 5126.0]
    assert points[0]["color"]["scale"]["domain"] == points[1]["color"]["scale"]["domain"] == ["esx", "native"]
    # Sizes over a factor of 512 stand at equal distances, in their order.
    assert points[1]["x"]["sort"] == ["1", "4", "8", "16", "512"]


def test_points_of_another_sweep_are_left_out_and_said(tmp_path):
    more = [({"machine": "esx", "disk": "old", "size": 8}, {"mb_per_s": 1.0})]
    panels = parts(swept(tmp_path, more=more).plot("mb_per_s"))
    assert [title.rsplit(" ", 1)[1] for title, _, _ in panels] == ["lun", "cached"]
    assert "1 point that varies something else is left out" in panels[0][1]["title"]["subtitle"][0]


def test_a_sweep_is_drawn_beside_the_straight_line_through_its_smallest_point(tmp_path):
    ((_, _, rows),) = parts(swept(tmp_path, disks=("lun",), sizes=(2, 4, 6)).plot("mb_per_s", "size", linear=True))
    assert {(row["label"], row["place"], row["linear"]) for row in rows} == {
        (machine, size, 23.0 / 2 * size) for machine in ("esx", "native") for size in (2, 4, 6)
    }


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"y": "iopz"}, "did you mean 'iops'"),
        ({"y": "files"}, "is not numeric"),
        ({"y": "iops", "x": "tset"}, "'tset' is not a label of the runs"),
        ({"y": "iops", "by": ["protocol", "vendor"]}, "'vendor' is not a label"),
        ({"y": "iops", "where": {"test": "none such"}}, "where test=none such: nothing to plot"),
        ({"y": "iops", "where": {"tests": "max-read-iops"}}, "'tests' is not a label"),
    ],
)
def test_what_cannot_be_drawn_is_said(iser, said, message):
    with pytest.raises(ex.EsxparseError, match=message):
        iser.plot(**said)


def test_more_panels_than_anybody_looks_at_are_refused(tmp_path):
    study = swept(tmp_path, disks=[f"disk-{number}" for number in range(13)], sizes=(1, 2, 3))
    with pytest.raises(ex.EsxparseError, match=r"13 panels, one for each disk: choose some with where=\{'disk'"):
        study.plot("mb_per_s")
    assert len(parts(study.plot("mb_per_s", where={"disk": ["disk-1", "disk-2"]}))) == 2


def test_labels_of_values_stand_apart_and_tell_every_tick(tmp_path):
    vl_convert = pytest.importorskip("vl_convert")
    runs = [({"platform": name, "test": "a"}, {"iops": value}) for name, value in (("vm", 74_000), ("native", 76_000))]
    svg = vl_convert.vegalite_to_svg(made(tmp_path, runs).plot("iops").to_json())
    # One pixel lower in the look of the reports, which another test of this process may have chosen.
    found = re.findall(r'text-anchor="(\w+)" transform="translate\(([\d.]+),1[56]\)"([^>]*)>([\d.,]+k?)<', svg)
    seen = [(anchor, float(x), text) for anchor, x, style, text in found if 'opacity="0"' not in style]
    assert [text for *_, text in seen][-1] == "80k"
    left = {"start": 0.0, "middle": 0.5, "end": 1.0}
    # Seven pixels a character are more than any takes.
    starts = [x - left[anchor] * 7 * len(text) for anchor, x, text in seen]
    ends = [start + 7 * len(text) for start, (*_, text) in zip(starts, seen, strict=True)]
    assert all(after > before for before, after in zip(ends, starts[1:], strict=False))
    assert len({text for *_, text in seen}) == len(seen)


def test_of_labels_with_many_values_those_with_few_are_the_series(tmp_path):
    """Ten hosts with two disks: twenty lines are too many for a chart, two in each of ten are not."""
    hosts = [f"esx-{number:02}" for number in range(10)]
    runs = [
        ({"server": host, "disk": disk, "size": size}, {"mb_per_s": 10.0 * size})
        for host in hosts
        for disk in ("lun", "cached")
        for size in (1, 4, 8)
    ]
    panels = parts(made(tmp_path, runs, 'axis = "size"').plot("mb_per_s"))
    assert [title.rsplit(" ", 1)[1] for title, _, _ in panels] == hosts
    assert all({row["label"] for row in rows} == {"lun", "cached"} for _, _, rows in panels)


def test_of_labels_with_few_values_the_one_with_most_is_the_series(tmp_path):
    runs = [
        ({"disk": disk, "mode": mode, "server": server, "size": size}, {"iops": 10.0 * size})
        for disk in ("lun", "cached")
        for mode in ("read", "write")
        for server in "abcde"
        for size in (1, 4, 8)
    ]
    panels = parts(made(tmp_path, runs, 'axis = "size"').plot("iops"))
    assert len(panels) == 4
    assert all({row["label"] for row in rows} == set("abcde") for _, _, rows in panels)
