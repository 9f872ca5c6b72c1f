"""NTttcp of Windows and Linux: units, roles, and what is not measured."""

from __future__ import annotations

import pytest
from compose import figures, write

import esxparse as ex

SAMPLES = ex.datasets_dir() / "formats"


def test_megabytes_of_windows_are_mebibytes():
    rec = ex.open(SAMPLES / "ntttcp-windows.txt")
    found = figures(rec)
    # 1,069,440 buffers of 64 KiB in 60.005 s.
    mbit = 1_069_440 * 65_536 * 8 / 60.005 / 1e6
    assert found["send", "throughput"] == (pytest.approx(mbit, rel=1e-5), "Mbit/s")
    totals = rec["totals"].collect().row(0, named=True)
    assert totals["bytes"] == 1_069_440 * 65_536
    threads = rec["threads"].collect()
    assert threads["mbit_per_s"].sum() == pytest.approx(mbit, rel=0.001)


def test_one_long_table_of_an_older_release(tmp_path):
    text = (
        "Copyright Version 5.28\n#####  Totals:  #####\n"
        "   Bytes(MEG)    realtime(s) Throughput(MB/s) Packets Sent Avg. CPU %\n"
        "================ =========== ================ ============ ==========\n"
        "    33959.125000      30.016         1131.367     24450576      4.559\n"
    )
    found = figures(ex.open(write(tmp_path, text)))
    assert found["unknown", "throughput"][0] == pytest.approx(1131.367 * 2**20 * 8 / 1e6)
    assert found["unknown", "packets_sent"][0] == 24450576.0


def test_linux_text_prints_bits_in_powers_of_1000():
    found = figures(ex.open(SAMPLES / "ntttcp-linux.txt"))
    assert found["send", "throughput"] == (9400.0, "Mbit/s")
    assert found["send", "throughput"][0] == pytest.approx(70_500_000_000 * 8 / 60 / 1e6)


def test_the_xml_of_linux_has_zeros_that_nobody_measured_and_no_mbit():
    rec = ex.open(SAMPLES / "ntttcp-linux.xml")
    found = figures(rec)
    assert found["send", "throughput"] == (pytest.approx(899.985 * 2**20 * 8 / 1e6), "Mbit/s")
    assert ("send", "errors") not in found
    assert rec["threads"].collect()["mbit_per_s"].to_list() == pytest.approx([4194.304, 3355.4432])
