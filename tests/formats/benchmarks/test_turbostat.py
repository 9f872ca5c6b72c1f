"""turbostat: figures of the whole system are those of its packages and CPUs."""

from __future__ import annotations

import esxparse as ex

SAMPLE = ex.datasets_dir() / "formats" / "turbostat-samples.txt"


def test_the_system_has_the_sum_of_its_packages_and_the_mean_of_its_cpus():
    rec = ex.open(SAMPLE)
    system = rec["system"].collect()
    packages = rec["packages"].collect().group_by("sample", maintain_order=True).sum()
    assert system["package_watts"].to_list() == packages["package_watts"].to_list()
    cpus = rec["cpus"].collect().group_by("sample", maintain_order=True).mean()
    assert system["busy_pct"].to_list() == cpus["busy_pct"].to_list()
