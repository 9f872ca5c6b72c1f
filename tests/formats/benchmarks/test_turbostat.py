"""turbostat: samples, and what is of the whole system, of packages, of cores and of CPUs."""

from __future__ import annotations

import datetime as dt

import pytest
from compose import write

import esxparse as ex

SAMPLE = ex.datasets_dir() / "formats" / "turbostat-samples.txt"
OLD = """\
     CPU Avg_MHz   Busy% Bzy_MHz TSC_MHz
       -       6    0.36    1596    3492
       0      10    0.59    1596    3492
       1       2    0.13    1597    3492
"""


def test_each_figure_is_of_the_system_a_package_a_core_or_a_cpu():
    rec = ex.open(SAMPLE)
    heights = {name: rec[name].collect().height for name in rec}
    assert heights == {"system": 3, "packages": 6, "cores": 12, "cpus": 24}
    packages = rec["packages"].collect()
    assert packages.filter(sample=2).select("package", "package_watts", "ram_watts").rows() == [
        (0, 80.0, 8.0),
        (1, 85.0, 9.0),
    ]
    system = rec["system"].collect()
    assert (
        system["package_watts"].to_list()
        == packages.group_by("sample", maintain_order=True).sum()["package_watts"].to_list()
    )
    assert system["time"][0] == dt.datetime(2026, 11, 22, 20, 40, 5, tzinfo=dt.UTC)
    cpus = rec["cpus"].collect()
    assert cpus["cpu"].to_list()[:8] == [0, 4, 1, 5, 2, 6, 3, 7]
    assert system["busy_pct"].to_list() == cpus.group_by("sample", maintain_order=True).mean()["busy_pct"].to_list()
    assert not {"package_watts", "core_celsius"} & set(cpus.columns)
    assert rec["cores"].collect().columns == ["sample", "time", "package", "core", "cpu_c6_pct", "core_celsius"]
    assert (rec.meta["release"], rec.meta["samples"], rec.notes) == ("2022.10.04", 3, ())


def test_an_old_release_puts_blanks_between_columns(tmp_path):
    rec = ex.open(write(tmp_path, OLD * 2))
    assert rec["system"].collect().rows() == [(1, 6.0, 0.36, 1596.0, 3492.0), (2, 6.0, 0.36, 1596.0, 3492.0)]
    assert rec["cpus"].collect()["cpu"].to_list() == [0, 1, 0, 1]


def test_summaries_alone_are_a_sample_each(tmp_path):
    rec = ex.open(write(tmp_path, "Avg_MHz\tBusy%\tBzy_MHz\tPkgWatt\n1\t0.04\t2095\t63.01\n2\t0.07\t2102\t62.98\n"))
    assert list(rec) == ["system"]
    assert rec["system"].collect()["package_watts"].to_list() == [63.01, 62.98]


def test_watts_of_cores_are_of_packages_where_packages_have_them(tmp_path):
    intel = "Core\tCPU\tBusy%\tBzy_MHz\tPkgWatt\tCorWatt\n-\t-\t1\t2000\t9\t4\n0\t0\t1\t2000\t9\t4\n1\t1\t1\t2000\n"
    rec = ex.open(write(tmp_path, intel))
    assert rec["packages"].collect()["cores_watts"].to_list() == [4.0]
    amd = intel.replace("1\t1\t1\t2000\n", "1\t1\t1\t2000\t\t2\n").replace("0\t0\t1\t2000\t9\t4", "0\t0\t1\t2000\t9\t2")
    rec = ex.open(write(tmp_path, amd))
    assert rec["cores"].collect().select("core", "cores_watts").rows() == [(0, 2.0), (1, 2.0)]
    assert rec["packages"].collect()["package_watts"].to_list() == [9.0]


def test_a_measured_command_says_its_seconds(tmp_path):
    rec = ex.open(write(tmp_path, f"5.003 sec\n{OLD}"))
    assert rec["system"].collect()["seconds"].item() == 5.003


@pytest.mark.parametrize(
    ("damage", "warning"),
    [
        (("10    0.59", "10    *.**"), "line 3: '*.**' is no number of Busy%: left out"),
        (("1       2", "turbostat: msr 0 offset 0x611 read failed\n       1       2"), "line 4: a line that is cut"),
        (("3492\n       1", "3492 7 7 7\n       1"), "line 3: a line that is cut or no row, left out"),
    ],
)
def test_what_is_no_row_is_told(tmp_path, damage, warning):
    told = [str(note) for note in ex.open(write(tmp_path, OLD.replace(*damage))).notes if note.severity == "warning"]
    assert len(told) == 1
    assert told[0].startswith(warning)


def test_titles_without_rows_are_one_error(tmp_path):
    with pytest.raises(ex.DamagedError, match="without a row"):
        ex.open(write(tmp_path, OLD[: OLD.index("\n") + 1]), format="turbostat")


def test_a_title_that_is_damaged_is_no_place(tmp_path):
    text = SAMPLE.read_text().replace("\tPackage\t", "\t..Package\t")
    cpus = ex.open(write(tmp_path, text))["cpus"].collect()
    assert "package" not in cpus.columns
    assert set(cpus["package_figure"]) <= {0.0, 1.0}


def test_lines_before_the_titles_are_counted(tmp_path):
    lines = (ex.datasets_dir() / "formats" / "turbostat-samples.txt").read_text()
    path = tmp_path / "a"
    path.write_text("Starting the run\nPreparing hosts\n" + lines)
    assert [(note.line, note.unused) for note in ex.open(path).notes] == [(1, 2)]


def test_each_domain_of_the_uncore_has_its_column(tmp_path):
    path = tmp_path / "a"
    path.write_text("Package\tCore\tCPU\tBusy%\tUMHz0.0\tUMHz1.0\n-\t-\t-\t5.00\t1200\t800\n0\t0\t0\t5.00\t1200\t800\n")
    frame = ex.open(path)["packages"].collect()
    assert frame.select("uncore_0_0_mhz", "uncore_1_0_mhz").row(0) == (1200.0, 800.0)


def test_two_titles_of_one_column_are_a_warning(tmp_path):
    path = tmp_path / "a"
    path.write_text("CPU\tBusy%\tC1-%\tC1%\n-\t5.00\t1.00\t2.00\n0\t5.00\t1.00\t2.00\n")
    rec = ex.open(path)
    assert rec["cpus"].collect()["c1_time_pct"].to_list() == [1.0]
    assert [note.line for note in rec.notes if "two titles are column c1_time_pct" in note.message] == [2]
