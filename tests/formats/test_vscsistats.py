"""vscsiStats: the real file number by number, and prints composed in both forms."""

from __future__ import annotations

import pytest
from compose import opened, real_data
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse_simulator.measured import Distribution
from esxparse_simulator.writers import vscsistats as writer

TITLES = {
    ("io_length", "all"): "IO lengths of commands",
    ("io_length", "read"): "IO lengths of Read commands",
    ("io_length", "write"): "IO lengths of Write commands",
    ("seek_distance", "all"): "distance (in LBNs) between successive commands",
    ("seek_distance", "read"): "distance (in LBNs) between successive Read commands",
    ("seek_distance", "write"): "distance (in LBNs) between successive Write commands",
    ("seek_distance_of_16", "all"): "distance (in LBNs) between each command from the closest of previous 16",
    ("latency", "all"): "latency of IOs in Microseconds (us)",
    ("latency", "read"): "latency of Read IOs in Microseconds (us)",
    ("latency", "write"): "latency of Write IOs in Microseconds (us)",
    ("outstanding", "all"): "number of outstanding IOs when a new IO is issued",
    ("outstanding", "read"): "number of outstanding Read IOs when a new Read IO is issued",
    ("outstanding", "write"): "number of outstanding Write IOs when a new Write IO is issued",
    ("interarrival", "all"): "latency of IO interarrival time in Microseconds (us)",
    ("interarrival", "read"): "latency of IO interarrival time for Reads in Microseconds (us)",
    ("interarrival", "write"): "latency of IO interarrival time for Writes in Microseconds (us)",
}
LIMITS = [512, 1024, 4095, 4096, 8192]


def csv(title, counts, limits=LIMITS, world=77):
    lines = [f"Histogram: {title},virtual machine worldGroupID,{world},virtual disk handleID,8194 (scsi0:1)"]
    lines += ["min,512", "max,8192", "mean,4000", f"count,{sum(counts)}", "Frequency,Histogram Bucket Limit"]
    lines += [f"{count},{limit}" for count, limit in zip(counts, [*limits, limits[-1]], strict=True)]
    return "\n".join(lines) + "\n"


def printed(title, counts, limits=LIMITS, world=77):
    lines = [f"Histogram: {title},virtual machine worldGroupID : {world},virtual disk handleID : 8194 (scsi0:1) {{"]
    lines += [" min : 512", " max : 8192", " mean : 4000", f" count : {sum(counts)}", "   {"]
    lines += [f"      {count:<15} (<= {limit:>18})" for count, limit in zip(counts[:-1], limits, strict=True)]
    lines += [f"      {counts[-1]:<15} (> {limits[-1]:>19})", "   }", "}"]
    return "\n".join(lines) + "\n"


def test_every_number_of_a_real_file():
    path = real_data("misc", "vscsistats_esxi7.csv")
    rec = ex.open(path)
    assert not rec.notes
    bins, sums, title, previous = [], [], None, None
    # Independently: one line after the other, a title begins a histogram.
    for line in path.read_text().splitlines():
        first, *rest = line.split(",")
        if first.startswith("Histogram: "):
            kind = next(kind for kind, text in TITLES.items() if first == f"Histogram: {text}")
            title, previous = (int(rest[1]), int(rest[3].split(" ")[0]), *kind), None
            sums.append([*title])
        elif first in {"min", "max", "mean", "count"}:
            sums[-1].append(float(rest[0]))
        elif first.isdecimal():
            limit = int(rest[0])
            bins.append((*title, previous, None if limit == previous else limit, int(first)))
            previous = limit
    whose = ("world_group_id", "handle_id", "histogram", "direction")
    assert len(bins) == len(path.read_text().splitlines()) - 16 * 6
    assert len(sums) == 16
    assert rec["histograms"].collect().select(*whose, "from", "to", "count").rows() == bins
    assert rec["summaries"].collect().select(*whose, "min", "max", "mean", "count").rows() == [
        tuple(one) for one in sums
    ]
    assert rec["histograms"].collect()["disk"].unique().to_list() == ["scsi0:0"]


@pytest.mark.parametrize("form", [csv, printed])
def test_each_histogram_is_told_by_its_title(tmp_path, form):
    rec = opened(tmp_path, "".join(form(title, [1, 2, 3, 4, 5, 6]) for title in TITLES.values()))
    assert not rec.notes
    found = rec["summaries"].collect()
    assert found.select("histogram", "direction").rows() == list(TITLES)
    assert dict(found.select("histogram", "unit").rows()) == {
        "io_length": "bytes",
        "seek_distance": "blocks",
        "seek_distance_of_16": "blocks",
        "latency": "us",
        "outstanding": "ios",
        "interarrival": "us",
    }
    assert found.select("world_group_id", "handle_id", "disk", "vm", "sample").unique().rows() == [
        (77, 8194, "scsi0:1", None, 1)
    ]


NUMBERS = st.lists(st.integers(0, 10**12), min_size=3, max_size=12)


@settings(max_examples=examples(60), deadline=None)
@given(NUMBERS, st.sampled_from(list(TITLES.items())), st.integers(1, 10**9), st.sampled_from([csv, printed]))
def test_numbers_written_are_read_back(tmp_path_factory, counts, title, world, form):
    limits = [-(2**place) for place in range(len(counts) // 2, 0, -1)]
    limits += [2**place for place in range(len(counts) - 1 - len(limits))]
    content = form(title[1], counts, limits, world=world)
    rec = opened(tmp_path_factory.mktemp("round"), content)
    assert not rec.notes
    got = rec["histograms"].collect()
    assert got["count"].to_list() == counts
    assert got["to"].to_list() == [*limits, None]
    assert got["from"].to_list() == [None, *limits]
    assert got.select("world_group_id", "histogram", "direction").unique().rows() == [(world, *title[0])]


@pytest.mark.parametrize("form", [csv, printed])
def test_a_bin_that_was_lost_widens_no_other(tmp_path, form):
    whole = [form(TITLES["io_length", direction], [1, 2, 0, 4, 5, 6]) for direction in ("all", "read", "write")]
    lost = "\n".join(line for line in whole[1].split("\n") if not line.strip().startswith(("0,", "0 ")))
    rec = opened(tmp_path, whole[0] + lost + whole[2])
    limits = {
        direction: rec["histograms"].filter(direction=direction).select("from", "to", "count").collect().rows()
        for direction in ("all", "read", "write")
    }
    assert limits["read"] == [row for row in limits["all"] if row[:2] != (1024, 4095)]
    assert (4095, 4096, 4) in limits["read"]
    assert limits["write"] == limits["all"]
    (note,) = rec.notes
    assert note.severity == "warning"
    assert "1 of the 6 bins that others of its kind have are missing" in note.message


def disks():
    """Two virtual disks as a load generator used them."""
    latency = Distribution(1.2, "disk")
    reads, writes = writer.Commands(1000, 4096, latency), writer.Commands(300, 8192, latency)
    return [
        writer.VirtualDisk(77, 8194, "scsi0:0", 20.0, reads, writes, 20.0, 8.0),
        writer.VirtualDisk(78, 8195, "scsi0:1", 20.0, reads, None),
    ]


def test_the_reply_of_the_api_has_the_histograms_that_the_program_prints(tmp_path):
    rec = opened(tmp_path, writer.reply(list(zip(("web, <1>", "db & co"), disks(), strict=True))), "reply.xml")
    printed = opened(tmp_path, b"".join(writer.lines(disks())))
    assert not rec.notes
    assert rec.meta == {"samples": 1, "disks": 2}
    assert rec["summaries"].collect()["vm"].unique(maintain_order=True).to_list() == ["web, <1>", "db & co"]
    for table in ("histograms", "summaries"):
        mine, expected = (one[table].drop("world_group_id", "handle_id", "vm").collect() for one in (rec, printed))
        published = mine.select("disk", "histogram", "direction").unique()
        assert published.height == 2 * 7
        expected = expected.join(published, on=published.columns, maintain_order="left")
        order = ["disk", "histogram", "direction", *(["from"] if "from" in mine.columns else [])]
        assert mine.sort(order).equals(expected.sort(order))


def test_vms_of_one_name_in_a_reply_are_told_apart_and_a_cut_list_is_not_used(tmp_path):
    text = writer.reply(list(zip(("web", "db"), disks(), strict=True)))
    rec = opened(tmp_path, text.replace("display name: db", "display name: web"), "same.xml")
    names = rec["summaries"].collect()["vm"].unique().to_list()
    assert len(names) == 2
    assert all(name.startswith("web (503c") for name in names)
    cut = text[: text.rindex("counts: ") + len("counts: 0,1")]
    rec = opened(tmp_path, cut, "cut.xml")
    assert any("cut" in note.message for note in rec.notes if note.severity == "warning")
    assert rec["summaries"].collect().height == 2 * 7 - 1
    with pytest.raises(ex.DamagedError, match="nothing was collected"):
        opened(tmp_path, "<vscsiStats>\n</vscsiStats>\n", "empty.xml")
