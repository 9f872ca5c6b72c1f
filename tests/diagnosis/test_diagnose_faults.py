"""Every bundled trouble at full severity comes first, on an object that its truth names; healthy hosts have none."""

from __future__ import annotations

import pytest
from fault_hosts import FAULTS, HEALTHY, seen, truths

import esxparse as ex


@pytest.mark.parametrize("name", FAULTS)
def test_a_bundled_trouble_is_the_first_finding(name):
    found = ex.diagnose(seen(name).recording)
    wanted = truths(name)
    first = found[0]
    entity = "host" if first.entity["kind"] == "host" else f"{first.entity['kind']} {first.entity['name']}"
    assert (first.trouble, entity) in {(one["trouble"], one["where"]) for one in wanted}, found.text()


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_host_has_no_finding_but_what_is_harmless(name):
    found = ex.diagnose(seen(name, 0.0).recording)
    assert [one.trouble for one in found if one.severity != "info"] == []
    assert "Nothing found by the checks that were possible" in found.verdict
