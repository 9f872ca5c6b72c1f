"""DiskSpd: outputs composed with numbers of our own, in the layouts of the program's releases."""

from __future__ import annotations

import re

import pytest
from compose import write
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples
from strategies_of_text import reads_or_refuses, spliced

import esxparse as ex

HEAD = """<System>
<ComputerName>win-01</ComputerName>
<Tool><Version>2.0.21</Version><VersionDate>2018/9/21</VersionDate></Tool>
<RunTime>2026/03/02 08:00:07 UTC</RunTime>
</System>
"""


def xml_target(path, count, size, more):
    reads = count * 3 // 4
    writes = count - reads
    return f"""<Target>
<Path>{path}</Path>
<BytesCount>{count * size}</BytesCount>
<IOCount>{count}</IOCount>
<ReadBytes>{reads * size}</ReadBytes>
<ReadCount>{reads}</ReadCount>
<WriteBytes>{writes * size}</WriteBytes>
<WriteCount>{writes}</WriteCount>
<AverageReadLatencyMilliseconds>1.250</AverageReadLatencyMilliseconds>
<ReadLatencyStdev>0.125</ReadLatencyStdev>
<AverageWriteLatencyMilliseconds>2.500</AverageWriteLatencyMilliseconds>
<WriteLatencyStdev>0.250</WriteLatencyStdev>
<AverageLatencyMilliseconds>1.562</AverageLatencyMilliseconds>
<LatencyStdev>0.500</LatencyStdev>
{more}
</Target>"""


def xml_iops(values):
    buckets = "\n".join(
        f'<Bucket SampleMillisecond="{1000 * (place + 1)}" Read="{reads}" Write="0" Total="{reads}" '
        f'ReadMinLatencyMilliseconds="0.{place}00" ReadMaxLatencyMilliseconds="9.000" '
        'ReadAvgLatencyMilliseconds="1.000" '
        'ReadLatencyStdDev="0.125" WriteMinLatencyMilliseconds="0.000" WriteMaxLatencyMilliseconds="0.000" '
        'WriteAvgLatencyMilliseconds="0.000" WriteLatencyStdDev="0.000"/>'
        for place, reads in enumerate(values)
    )
    return f"<Iops>\n<ReadIopsStdDev>3.500</ReadIopsStdDev>\n<IopsStdDev>3.500</IopsStdDev>\n{buckets}\n</Iops>"


def xml_span(seconds, threads, size=8192, paths=("D:\\a.dat",), values=(500, 0, 700)):
    percentiles = "\n".join(
        f"<Bucket>\n<Percentile>{percentile}</Percentile>\n<ReadMilliseconds>{at:.3f}</ReadMilliseconds>\n"
        f"<WriteMilliseconds>{2 * at:.3f}</WriteMilliseconds>\n"
        f"<TotalMilliseconds>{1.5 * at:.3f}</TotalMilliseconds>\n</Bucket>"
        for percentile, at in ((0, 0.1), (50, 1.0), ("99.9999999", 7.5), (100, 8.0))
    )
    per_thread = "\n".join(
        f"<Thread>\n<Id>{place}</Id>\n"
        + "\n".join(xml_target(path, count, size, xml_iops(values)) for path in paths)
        + "\n</Thread>"
        for place, count in enumerate(threads)
    )
    return f"""<TimeSpan>
<TestTimeSeconds>{seconds:.2f}</TestTimeSeconds>
<ThreadCount>{len(threads)}</ThreadCount>
<CpuUtilization>
<CPU><Group>0</Group><Id>0</Id><UsagePercent>12.50</UsagePercent><UserPercent>2.50</UserPercent>
<KernelPercent>10.00</KernelPercent><IdlePercent>87.50</IdlePercent></CPU>
<Average><UsagePercent>12.50</UsagePercent><UserPercent>2.50</UserPercent>
<KernelPercent>10.00</KernelPercent><IdlePercent>87.50</IdlePercent></Average>
</CpuUtilization>
<Latency>
<AverageReadMilliseconds>1.300</AverageReadMilliseconds>
<ReadLatencyStdev>0.130</ReadLatencyStdev>
<AverageWriteMilliseconds>2.600</AverageWriteMilliseconds>
<WriteLatencyStdev>0.260</WriteLatencyStdev>
<AverageTotalMilliseconds>1.625</AverageTotalMilliseconds>
<LatencyStdev>0.520</LatencyStdev>
{percentiles}
</Latency>
{xml_iops(values)}
{per_thread}
</TimeSpan>"""


def xml_profile(paths=("D:\\a.dat",), spans=1, access="<Random>8192</Random>"):
    targets = "".join(
        f"<Target><Path>{path}</Path><BlockSize>8192</BlockSize><RandomAccess>false</RandomAccess>{access}"
        "<RequestCount>16</RequestCount><WriteRatio>25</WriteRatio><ThreadsPerFile>2</ThreadsPerFile></Target>\n"
        for path in paths
    )
    span = (
        "<TimeSpan><Duration>60</Duration><Warmup>5</Warmup><Cooldown>0</Cooldown><ThreadCount>0</ThreadCount>"
        f"<RequestCount>0</RequestCount>\n<Targets>{targets}</Targets></TimeSpan>\n"
    )
    return f"<Profile>\n<Progress>0</Progress>\n<TimeSpans>\n{span * spans}</TimeSpans>\n</Profile>\n"


def xml(*spans, profile=None):
    profile = xml_profile(spans=len(spans)) if profile is None else profile
    return f"<Results>\n{HEAD}{profile}{chr(10).join(spans)}\n</Results>"


TEXT_HEADER = "thread |  bytes   |   I/Os    |  MiB/s  |  I/O per s |  AvgLat  | IopsStdDev | LatStdDev |  file"


def text_section(title, seconds, threads, size, path="D:\\my data\\a.dat"):
    rows = [(f"{place:6} | ", count, f" | {path} (10GiB)") for place, count in enumerate(threads)]
    lines = []
    for head, count, tail in [*rows, ("total:   ", sum(threads), "")]:
        rates = f"{count * size / 2**20 / seconds:10.2f} | {count / seconds:10.2f}"
        latency = f"{1.25 if count else 0:8.3f} |       3.50 | {'    0.500' if count else '      N/A'}"
        lines.append(f"{head}{count * size:15} | {count:12} | {rates} | {latency}{tail}")
    return "\n".join([title, TEXT_HEADER, "-" * 60, *lines[:-1], "-" * 60, lines[-1]]) + "\n"


SHARES = "12.50%|   2.50%|  10.00%|  87.50%"
CPU = {
    "2.0": f"CPU |  Usage |  User  |  Kernel |  Idle\n---\n   0|  {SHARES}\n---\navg.|  {SHARES}\n",
    "2.1": f"Group | CPU |  Usage |  User  |  Kernel |  Idle\n---\n 1|  0| {SHARES}\n---\n     avg.| {SHARES}\n",
    "2.2": f"Socket | Core | Class | CPU |  Usage |  User  | Kernel |  Idle\n---\n 1| 3| 0P| 0|  {SHARES}\n---\n"
    f"                        avg.|  {SHARES}\n",
}


def text(seconds=60.0, threads=(6000, 3000), size=8192, release="2.1"):
    old = release == "2.0"
    byte_size = str(size) if old else f"{size >> 10}KiB"
    label = "Total latency distribution:" if release == "2.2" else "total:"
    reads = [count * 3 // 4 for count in threads]
    return f"""
Command Line: diskspd.exe -d60 -W5 -L -D -r -w25 -t2 -o16 -b8K "D:\\my data\\a.dat"

Input parameters:

\ttimespan:   1
\t-------------
\tduration: 60s
\twarm up time: 5s
\tmeasuring latency
\tgathering IOPS at intervals of 1000ms
\tpath: 'D:\\my data\\a.dat'
\t\tperforming mix test (read/write ratio: 75/25)
\t\tblock size: {byte_size}
\t\tusing random I/O (alignment: {byte_size})
\t\tnumber of outstanding I/O operations{"" if old else " per thread"}: 16
\t\tthreads per file: 2

System information:

\tcomputer name: win-01
\tstart time: 2026/03/02 08:00:07 UTC

Results for timespan 1:
*******************************************************************************

actual test time:\t{seconds:.2f}s
thread count:\t\t{len(threads)}

{CPU[release]}
{text_section("Total IO", seconds, threads, size)}
{text_section("Read IO", seconds, reads, size)}
{text_section("Write IO", seconds, [a - b for a, b in zip(threads, reads, strict=True)], size)}


{label}
  %-ile |  Read (ms) | Write (ms) | Total (ms)
----------------------------------------------
    min |      0.100 |      0.200 |      0.150
   25th |      0.500 |      1.000 |      0.750
3-nines |      5.000 |     10.000 |      7.500
9-nines |      7.500 |     15.000 |     11.250
    max |      8.000 |     16.000 |     12.000
"""


def opened(tmp_path, content):
    return ex.open(write(tmp_path, content, "diskspd.out"))


def rows(rec, table, *columns, **where):
    frame = rec[table].collect()
    for name, value in where.items():
        frame = frame.filter(frame[name].is_null() if value is None else frame[name] == value)
    return frame.select(columns).rows()


def test_xml_becomes_jobs_of_threads_and_totals(tmp_path):
    rec = opened(tmp_path, xml(xml_span(60, [6000, 3000])))
    assert rec.format == "diskspd"
    assert (rec.meta["host"], rec.meta["release"]) == ("win-01", "2.0.21")
    assert str(rec.meta["start"]) == "2026-03-02 08:00:07+00:00"
    assert not rec.notes
    assert rows(rec, "jobs", "thread", "direction", "ios", "bytes", "iops", "latency_mean_ms", level="thread") == [
        (0, "read", 4500, 36864000, 75.0, 1.25),
        (0, "write", 1500, 12288000, 25.0, 2.5),
        (0, "all", 6000, 49152000, 100.0, 1.562),
        (1, "read", 2250, 18432000, 37.5, 1.25),
        (1, "write", 750, 6144000, 12.5, 2.5),
        (1, "all", 3000, 24576000, 50.0, 1.562),
    ]
    totals = ("direction", "ios", "bandwidth_bytes_per_s", "latency_mean_ms", "latency_stddev_ms", "latency_max_ms")
    assert rows(rec, "jobs", *totals, level="total") == [
        ("read", 6750, 921600.0, 1.3, 0.13, 8.0),
        ("write", 2250, 307200.0, 2.6, 0.26, 16.0),
        ("all", 9000, 1228800.0, 1.625, 0.52, 12.0),
    ]
    settings_of_total = ("workers", "block_size_bytes", "queue_depth", "read_pct", "random_pct", "iops_stddev")
    assert rows(rec, "jobs", *settings_of_total, level="total", direction="all") == [(2, 8192, 16, 75.0, 100.0, 3.5)]


def test_xml_percentiles_cpu_and_series(tmp_path):
    rec = opened(tmp_path, xml(xml_span(60, [6000])))
    assert rows(rec, "percentiles", "percentile", "latency_ms", direction="read") == [
        (0.0, 0.1),
        (50.0, 1.0),
        (99.9999999, 7.5),
        (100.0, 8.0),
    ]
    assert rows(rec, "cpu", "group", "cpu", "cpu_pct", "user_pct", "kernel_pct", "idle_pct") == [
        (0, 0, 12.5, 2.5, 10.0, 87.5),
        (None, None, 12.5, 2.5, 10.0, 87.5),
    ]
    whole = {"thread": None, "direction": "read"}
    assert rows(rec, "series", "elapsed_s", "value", metric="iops", **whole) == [(1.0, 500), (2.0, 0), (3.0, 700)]
    assert rows(rec, "series", "elapsed_s", "value", metric="latency_min_ms", **whole) == [(1.0, 0.0), (3.0, 0.2)]
    assert len(rows(rec, "series", "value", metric="iops", thread=0)) == 9


@pytest.mark.parametrize(
    ("access", "random", "stride"),
    [
        ("<StrideSize>4096</StrideSize>", 0.0, 4096),
        ("<Random>512</Random><RandomRatio>20</RandomRatio>", 20.0, 512),
        ("<Random>8192</Random>", 100.0, 8192),
    ],
)
def test_how_targets_are_accessed(tmp_path, access, random, stride):
    rec = opened(tmp_path, xml(xml_span(60, [10]), profile=xml_profile(access=access)))
    assert rows(rec, "targets", "random_pct", "stride_bytes", "workers", "duration_s") == [(random, stride, 2, 60.0)]


def test_several_targets_that_differ_have_no_common_setting(tmp_path):
    other = xml_profile(("D:\\b.dat",)).replace("<BlockSize>8192", "<BlockSize>65536")
    target = re.search(r"<Target>.*</Target>", other)[0]
    profile = xml_profile().replace("</Targets>", f"{target}</Targets>")
    rec = opened(tmp_path, xml(xml_span(60, [100], paths=("D:\\a.dat", "D:\\b.dat")), profile=profile))
    assert rows(rec, "jobs", "target", "block_size_bytes", direction="all") == [
        ("D:\\a.dat", 8192),
        ("D:\\b.dat", 65536),
        (None, None),
    ]


def test_a_thread_pool_shares_its_queue(tmp_path):
    profile = xml_profile().replace("<ThreadCount>0", "<ThreadCount>4").replace("<RequestCount>0", "<RequestCount>8")
    rec = opened(tmp_path, xml(xml_span(60, [100]), profile=profile))
    assert rows(rec, "targets", "workers", "queue_depth") == [(4, 8)]


def test_several_time_spans_and_several_documents(tmp_path):
    one = xml(xml_span(60, [600]), xml_span(30, [600]))
    rec = opened(tmp_path, f"<?xml version='1.0'?>\nstarting\n{one}\n{one}\ndone\n")
    assert rows(rec, "jobs", "run", "timespan", "iops", level="total", direction="all") == [
        (1, 1, 10.0),
        (1, 2, 20.0),
        (2, 1, 10.0),
        (2, 2, 20.0),
    ]
    assert ["starting" in note.message or "done" in note.message for note in rec.notes] == [True, True]


def test_an_ampersand_in_a_path_is_what_the_program_writes(tmp_path):
    rec = opened(tmp_path, xml(xml_span(60, [60], paths=("D:\\R&D\\a.dat",)), profile=xml_profile(("D:\\R&D\\a.dat",))))
    assert rows(rec, "jobs", "target", "queue_depth", level="thread", direction="all") == [("D:\\R&D\\a.dat", 16)]
    assert [note.severity for note in rec.notes] == ["info"]


def test_what_powershell_redirects(tmp_path):
    content = xml(xml_span(60, [60])).replace("\n", "\r\n").encode("utf-16")
    assert rows(opened(tmp_path, content), "jobs", "iops", level="total", direction="all") == [(1.0,)]


@pytest.mark.parametrize("release", ["2.0", "2.1", "2.2"])
def test_text_becomes_the_same_tables(tmp_path, release):
    rec = opened(tmp_path, text(release=release))
    assert not rec.notes
    assert rec.meta["host"] == "win-01"
    assert rec.meta["command_line"].endswith('"D:\\my data\\a.dat"')
    assert rows(rec, "jobs", "thread", "target", "ios", "bytes", "iops", direction="read") == [
        (0, "D:\\my data\\a.dat", 4500, 36864000, 75.0),
        (1, "D:\\my data\\a.dat", 2250, 18432000, 37.5),
        (None, None, 6750, 55296000, 112.5),
    ]
    total = ("bandwidth_bytes_per_s", "latency_mean_ms", "latency_stddev_ms", "latency_min_ms", "latency_max_ms")
    assert rows(rec, "jobs", *total, level="total", direction="all") == [(1228800.0, 1.25, 0.5, 0.15, 12.0)]
    asked = ("workers", "block_size_bytes", "queue_depth", "read_pct", "random_pct", "iops_stddev", "run_time_s")
    assert rows(rec, "jobs", *asked, level="total", direction="all") == [(2, 8192, 16, 75.0, 100.0, 3.5, 60.0)]
    assert rows(rec, "percentiles", "percentile", "latency_ms", direction="all", target=None) == [
        (0.0, 0.15),
        (25.0, 0.75),
        (99.9, 7.5),
        (99.9999999, 11.25),
        (100.0, 12.0),
    ]
    places = {"2.0": (None, None, None), "2.1": (None, 1, None), "2.2": (1, None, 3)}[release]
    assert rows(rec, "cpu", "socket", "group", "core", "cpu", "cpu_pct", "idle_pct") == [
        (*places, 0, 12.5, 87.5),
        (None, None, None, None, 12.5, 87.5),
    ]


def test_several_runs_in_one_text(tmp_path):
    rec = opened(tmp_path, text() + "\n" + text(threads=(600,)))
    assert rows(rec, "jobs", "run", "iops", level="total", direction="all") == [(1, 150.0), (2, 10.0)]
    # Without I/O the program prints 0.000: no latency was seen.
    rec = opened(tmp_path, text(threads=(0,)))
    assert rows(rec, "jobs", "ios", "iops", "latency_mean_ms", level="total", direction="write") == [(0, 0.0, None)]


def test_an_interrupted_run_says_so(tmp_path):
    stopped = "The test was interrupted before the measurements began. No results are displayed.\n"
    rec = opened(tmp_path, text().split("actual test time")[0] + stopped)
    assert list(rec) == ["targets"]
    assert [note.severity for note in rec.notes] == ["warning", "warning"]
    error = f"<TimeSpan>\n<Error>{stopped}</Error>\n</TimeSpan>"
    assert "interrupted" in str(opened(tmp_path, xml(error)).notes[0])


def test_a_document_with_entities_is_refused(tmp_path):
    bomb = '<!DOCTYPE Results [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>\n'
    with pytest.raises(ex.DamagedError, match="entities") as caught:
        opened(tmp_path, bomb + xml(xml_span(60, [60])).replace("win-01", "&b;"))
    assert "\n" not in str(caught.value)


def test_a_cut_document_keeps_what_is_whole(tmp_path):
    whole = xml(xml_span(60, [600]), xml_span(60, [600, 300]))
    rec = opened(tmp_path, whole[: whole.rindex("<ReadBytes>") + 15])
    assert rows(rec, "jobs", "timespan", "level", "ios", direction="all") == [
        (1, "thread", 600),
        (1, "total", 600),
        (2, "thread", 600),
    ]
    assert {note.severity for note in rec.notes} == {"warning"}


def test_what_is_no_number_is_said(tmp_path):
    rec = opened(tmp_path, xml(xml_span(60, [600])).replace("<IOCount>600", "<IOCount>-nan(ind)"))
    assert rows(rec, "jobs", "ios", "iops", direction="all") == [(None, None), (None, None)]
    assert "IOCount '-nan(ind)' is not a number" in str(rec.notes[0])
    rec = opened(tmp_path, text().replace("     6000 |", "     6x00 |"))
    assert "6x00" in str(rec.notes[0])


@pytest.mark.parametrize(
    ("whole", "cut", "table"),
    [
        (f" 1|  0| {SHARES}", f" 1|  0| {SHARES.replace('  10.00%|', '')}", "cpu"),
        (f"avg.| {SHARES}", f"avg.| {SHARES.replace('  10.00%|', '')}", "cpu"),
        ("0.500 |      1.000 |      0.750", "0.500 |      0.750", "percentiles"),
        ("     1 |        24576000 |         3000 |", "     1 |        24576000 |", "jobs"),
        ("total:          73728000 |         9000 |", "total:          73728000 |", "jobs"),
    ],
)
def test_a_row_of_text_without_one_of_its_cells_is_left_out(tmp_path, whole, cut, table):
    assert whole in text()
    before, after = opened(tmp_path, text()), opened(tmp_path, text().replace(whole, cut, 1))
    kept = after[table].collect().rows()
    assert len(kept) < len(before[table].collect().rows())
    assert set(kept) <= set(before[table].collect().rows())
    (told,) = [note for note in after.notes if note.severity == "warning"]
    assert told.line


@pytest.mark.parametrize("content", ["<Results>\n<System>\n</System>\n</Results>", "Results for timespan 1:\n*****\n"])
def test_nothing_in_it_is_one_clear_error(tmp_path, content):
    with pytest.raises(ex.DamagedError, match="holds no DiskSpd result") as caught:
        opened(tmp_path, content)
    assert "\n" not in str(caught.value)


@settings(max_examples=examples(40), deadline=None)
@given(
    st.floats(0.5, 1e4).map(lambda value: round(value, 2)),
    st.lists(st.integers(0, 10**9), min_size=1, max_size=4),
    st.sampled_from([512, 4096, 65536]),
)
def test_numbers_written_are_read_back(tmp_path_factory, seconds, threads, size):
    folder = tmp_path_factory.mktemp("round")
    for content in (xml(xml_span(seconds, threads, size)), text(seconds, threads, size)):
        rec = opened(folder, content)
        got = rows(rec, "jobs", "ios", "bytes", direction="all")
        assert got == [(count, count * size) for count in [*threads, sum(threads)]]
        rate = rows(rec, "jobs", "iops", level="total", direction="all")[0][0]
        assert rate == pytest.approx(sum(threads) / seconds, abs=0.006)


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_damage_gives_a_recording_or_one_clear_error(tmp_path_factory, data):
    whole = data.draw(st.sampled_from([xml(xml_span(60, [600, 5])), text(), text(release="2.2")])).encode()
    file = write(tmp_path_factory.mktemp("damage"), data.draw(spliced(whole)))
    assert reads_or_refuses(file, "diskspd")


def test_a_truth_is_no_bad_number(tmp_path):
    span = xml_span(60.0, (6000, 3000))
    span = span.replace("<TimeSpan>", "<TimeSpan><CalculateIopsStdDev>false</CalculateIopsStdDev>", 1)
    rec = opened(tmp_path, xml(span))
    assert not [note for note in rec.notes if "CalculateIopsStdDev" in note.message]


@pytest.mark.parametrize(("cut", "cells"), [(0, 3), (1, 2), (2, 2)])
def test_of_a_last_row_without_an_end_only_a_cut_number_is_lost(tmp_path, cut, cells):
    whole = text().rstrip("\n")
    last = whole.rindex("max |")
    row = whole[last:].split("\n")[0]
    begin = whole[:last] + row
    rec = opened(tmp_path, begin[: len(begin) - cut])
    assert rec["percentiles"].filter(percentile=100.0).collect().height == cells
    assert bool([note for note in rec.notes if "ends in this line" in note.message]) == bool(cut)
