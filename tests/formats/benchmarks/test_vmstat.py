"""vmstat: real outputs, screens of titles, runs that follow each other, zones."""

from __future__ import annotations

import shutil
import subprocess
from datetime import UTC, datetime

import pytest

import esxparse as ex

TITLES = """procs -----------memory---------- ---swap-- -----io---- -system-- ----cpu---- ---timestamp---
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa                CEST
"""
ROW = " 1  0      0 100000  16188 147676    0    0  1714  4986  420 2142 55  7 37  1 2026-07-01 12:00:{second:02}\n"


def rows(count):
    return "".join(ROW.format(second=second) for second in range(count))


def opened(path, text):
    path.write_text(text)
    return ex.open(path)


@pytest.mark.needs("vmstat")
@pytest.mark.parametrize("options", [("-w",), ("-a", "-t", "1", "2")])
def test_samples_of_the_real_tool(tmp_path, options):
    done = subprocess.run([shutil.which("vmstat"), *options], capture_output=True, text=True, check=True)
    rec = opened(tmp_path / "a", done.stdout)
    frame = rec["vmstat"].collect()
    printed = [line.split() for line in done.stdout.splitlines()[2:]]
    assert frame["since_boot"].to_list() == [True, False][: len(printed)]
    assert frame["free_kib"].to_list() == [float(row[3]) for row in printed]
    assert frame["context_switches_per_s"].to_list() == [float(row[11]) for row in printed]
    assert ("time" in frame.columns) == ("-t" in options)


@pytest.mark.needs("vmstat")
def test_disks_and_counters_of_the_real_tool(tmp_path):
    def printed(option):
        return subprocess.run([shutil.which("vmstat"), option], capture_output=True, text=True, check=True).stdout

    rec = opened(tmp_path / "a", printed("-d"))
    assert rec["disk"].collect().height == len(printed("-d").splitlines()) - 2
    counters = opened(tmp_path / "b", printed("-s"))["counters"].collect()
    assert counters.row(0)[0] == "total memory"
    assert counters.row(0)[2] == "K"


def test_titles_that_come_again_before_a_screen_is_full_begin_another_run(tmp_path):
    screens = opened(tmp_path / "a", TITLES + rows(21) + TITLES + rows(21) + TITLES + rows(3))["vmstat"].collect()
    assert screens["since_boot"].sum() == 1
    runs = opened(tmp_path / "a", TITLES + rows(12) + TITLES + rows(12))["vmstat"].collect()
    assert runs["since_boot"].sum() == 2
    assert runs["report"].to_list() == [*range(1, 13)] * 2


def test_the_zone_of_the_clock_can_be_given(tmp_path):
    (tmp_path / "a").write_text(TITLES.replace("CEST", " IST") + rows(1))
    rec = ex.open(tmp_path / "a", zone="Asia/Kolkata")
    assert rec["vmstat"].collect()["time"][0] == datetime(2026, 7, 1, 6, 30, 0, tzinfo=UTC)


COLUMNS = (
    "runnable", "blocked", "swapped_kib", "free_kib", "buffers_kib", "cache_kib", "swapped_in_kib_per_s",
    "swapped_out_kib_per_s", "read_kib_per_s", "written_kib_per_s", "interrupts_per_s", "context_switches_per_s",
    "user_pct", "system_pct", "idle_pct", "iowait_pct", "steal_pct",
)  # fmt: skip
GROUPS = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----"
LANGUAGES = {
    "de": "r b swpd frei buff Cache si so bi bo in cs us sy id wa st",
    "fr": "r b swpd libre tampon cache si so bi bo in cs us sy id wa st",
    "ko": "r b 스왑 가용 버퍼 캐시 입 출 입 출 in cs us sy id wa st",
    "pl": "dz bl swap wolna bufor cache si so bi bo in cs uż sy be io sk",
    "sv": "k b växl fritt buff cache vi vu bi bu avb ktxb an sy ia vä st",
    "zh": "r b 交换 空闲 缓冲 缓存 si so bi bo in cs us sy id wa st",
}
NUMBERS = "2 1 3 18308524 201292 5128536 4 5 3561 6945 770 2750 60 12 28 6 7"


@pytest.mark.parametrize("titles", LANGUAGES.values(), ids=LANGUAGES)
def test_titles_of_any_language_are_the_columns_in_their_places(tmp_path, titles):
    rec = opened(tmp_path / "a", f"{GROUPS}\n{titles}\n{NUMBERS}\n")
    row = rec["vmstat"].collect().select(COLUMNS).row(0)
    assert row == tuple(map(float, NUMBERS.split()))
    assert not [note for note in rec.notes if note.severity == "warning"]


@pytest.mark.needs("vmstat")
@pytest.mark.parametrize("language", ["de", "fr", "ko", "pl", "ro", "sv", "uk", "vi", "zh_CN"])
@pytest.mark.parametrize("option", ["-w", "-wt", "-a", "-d", "-s"])
def test_the_real_tool_in_its_languages(tmp_path, language, option):
    env = {"LC_ALL": "C.UTF-8", "LANGUAGE": language, "TZ": "UTC"}
    done = subprocess.run([shutil.which("vmstat"), option], capture_output=True, text=True, check=True, env=env)
    lines = done.stdout.splitlines()
    rec = opened(tmp_path / "a", done.stdout)
    if option == "-s":
        counters = rec["counters"].collect()
        assert counters.height == len(lines)
        assert counters["unit"].to_list()[:10] == ["K"] * 10
    elif option == "-d":
        frame, last = rec["disk"].collect(), lines[-1].split()
        assert frame.height == len(lines) - 2
        assert frame.select("device", "reads", "written_sectors", "busy_s").row(-1) == (
            last[0], float(last[1]), float(last[7]), float(last[10]),
        )  # fmt: skip
    else:
        frame, cells = rec["vmstat"].collect(), [float(cell) for cell in lines[2].split()[:17]]
        names = [*COLUMNS[:4], "inactive_kib", "active_kib", *COLUMNS[6:]] if option == "-a" else COLUMNS
        assert frame.select(names).row(0) == tuple(cells)
        assert ("time" in frame.columns) == (option == "-wt")
