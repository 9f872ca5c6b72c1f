"""DiskSpd: outputs composed with numbers of our own, in the layouts of the program's releases."""

from __future__ import annotations

import pytest
from compose import opened
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

HEAD = """<System>
<ComputerName>win-01</ComputerName>
<Tool><Version>2.0.21</Version><VersionDate>2018/9/21</VersionDate></Tool>
<RunTime>2026/03/02 08:00:07 UTC</RunTime>
</System>
"""


def xml_target(count, size):
    reads = count * 3 // 4
    writes = count - reads
    return f"""<Target>
<Path>D:\\a.dat</Path>
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
{IOPS}
</Target>"""


BUCKETS = "\n".join(
    f'<Bucket SampleMillisecond="{1000 * (place + 1)}" Read="{reads}" Write="0" Total="{reads}" '
    f'ReadMinLatencyMilliseconds="0.{place}00" ReadMaxLatencyMilliseconds="9.000" '
    'ReadAvgLatencyMilliseconds="1.000" '
    'ReadLatencyStdDev="0.125" WriteMinLatencyMilliseconds="0.000" WriteMaxLatencyMilliseconds="0.000" '
    'WriteAvgLatencyMilliseconds="0.000" WriteLatencyStdDev="0.000"/>'
    for place, reads in enumerate((500, 0, 700))
)
IOPS = f"<Iops>\n<ReadIopsStdDev>3.500</ReadIopsStdDev>\n<IopsStdDev>3.500</IopsStdDev>\n{BUCKETS}\n</Iops>"


def xml_span(seconds, threads, size=8192):
    percentiles = "\n".join(
        f"<Bucket>\n<Percentile>{percentile}</Percentile>\n<ReadMilliseconds>{at:.3f}</ReadMilliseconds>\n"
        f"<WriteMilliseconds>{2 * at:.3f}</WriteMilliseconds>\n"
        f"<TotalMilliseconds>{1.5 * at:.3f}</TotalMilliseconds>\n</Bucket>"
        for percentile, at in ((0, 0.1), (50, 1.0), ("99.9999999", 7.5), (100, 8.0))
    )
    per_thread = "\n".join(
        f"<Thread>\n<Id>{place}</Id>\n{xml_target(count, size)}\n</Thread>" for place, count in enumerate(threads)
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
{IOPS}
{per_thread}
</TimeSpan>"""


TARGET = (
    "<Target><Path>D:\\a.dat</Path><BlockSize>8192</BlockSize><RandomAccess>false</RandomAccess><Random>8192</Random>"
    "<RequestCount>16</RequestCount><WriteRatio>25</WriteRatio><ThreadsPerFile>2</ThreadsPerFile></Target>\n"
)
SPAN = (
    "<TimeSpan><Duration>60</Duration><Warmup>5</Warmup><Cooldown>0</Cooldown><ThreadCount>0</ThreadCount>"
    f"<RequestCount>0</RequestCount>\n<Targets>{TARGET}</Targets></TimeSpan>\n"
)


def xml(*spans):
    profile = f"<Profile>\n<Progress>0</Progress>\n<TimeSpans>\n{SPAN * len(spans)}</TimeSpans>\n</Profile>\n"
    return f"<Results>\n{HEAD}{profile}{chr(10).join(spans)}\n</Results>"


TEXT_HEADER = "thread |  bytes   |   I/Os    |  MiB/s  |  I/O per s |  AvgLat  | IopsStdDev | LatStdDev |  file"


def text_section(title, seconds, threads, size):
    rows = [(f"{place:6} | ", count, " | D:\\my data\\a.dat (10GiB)") for place, count in enumerate(threads)]
    lines = []
    for head, count, tail in [*rows, ("total:   ", sum(threads), "")]:
        rates = f"{count * size / 2**20 / seconds:10.2f} | {count / seconds:10.2f}"
        latency = f"{1.25 if count else 0:8.3f} |       3.50 | {'    0.500' if count else '      N/A'}"
        lines.append(f"{head}{count * size:15} | {count:12} | {rates} | {latency}{tail}")
    return "\n".join([title, TEXT_HEADER, "-" * 60, *lines[:-1], "-" * 60, lines[-1]]) + "\n"


SHARES = "12.50%|   2.50%|  10.00%|  87.50%"


def text(seconds=60.0, threads=(6000, 3000), size=8192):
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
\t\tblock size: {size >> 10}KiB
\t\tusing random I/O (alignment: {size >> 10}KiB)
\t\tnumber of outstanding I/O operations per thread: 16
\t\tthreads per file: 2

System information:

\tcomputer name: win-01
\tstart time: 2026/03/02 08:00:07 UTC

Results for timespan 1:
*******************************************************************************

actual test time:\t{seconds:.2f}s
thread count:\t\t{len(threads)}

Group | CPU |  Usage |  User  |  Kernel |  Idle
---
 1|  0| {SHARES}
---
     avg.| {SHARES}

{text_section("Total IO", seconds, threads, size)}
{text_section("Read IO", seconds, reads, size)}
{text_section("Write IO", seconds, [a - b for a, b in zip(threads, reads, strict=True)], size)}


total:
  %-ile |  Read (ms) | Write (ms) | Total (ms)
----------------------------------------------
    min |      0.100 |      0.200 |      0.150
   25th |      0.500 |      1.000 |      0.750
3-nines |      5.000 |     10.000 |      7.500
9-nines |      7.500 |     15.000 |     11.250
    max |      8.000 |     16.000 |     12.000
"""


def rows(rec, table, *columns, **where):
    frame = rec[table].collect()
    for name, value in where.items():
        frame = frame.filter(frame[name].is_null() if value is None else frame[name] == value)
    return frame.select(columns).rows()


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
