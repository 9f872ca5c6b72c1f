"""turbostat: samples, and what is of the whole system, of packages, of cores and of CPUs."""

from __future__ import annotations

import datetime as dt

import esxparse as ex

SAMPLE = ex.datasets_dir() / "formats" / "turbostat-samples.txt"


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
