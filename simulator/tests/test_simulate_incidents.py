"""The incidents that the README of the bundled capture tells (sample n is second 5 n)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from sheet import mean

if TYPE_CHECKING:
    from sheet import Sheet

LUN = "naa.60000970000120070001533030334101"


def test_orders_app_is_ready_in_its_burst_and_only_there(busy_host_sheet: Sheet) -> None:
    ready = busy_host_sheet.per_vcpu("orders-app", "% Ready")
    assert 15.0 < mean(ready[24:43]) < 20.0
    assert min(ready[24:43]) > 10.0
    assert max(ready[:24] + ready[43:]) < 5.0
    assert max(busy_host_sheet.per_vcpu("orders-app", "% Max Limited")) == 0.0


def test_analytics_is_costopped_all_along(busy_host_sheet: Sheet) -> None:
    costop = busy_host_sheet.per_vcpu("analytics-8way", "% CoStop")
    assert mean(costop[:24] + costop[43:]) > 3.0
    assert mean(costop[24:43]) > 10.0
    assert max(busy_host_sheet.per_vcpu("analytics-8way", "% Ready")) < 6.0


def test_report_batch_is_held_by_its_limit_alone(busy_host_sheet: Sheet) -> None:
    ready, limited = (busy_host_sheet.per_vcpu("report-batch", counter) for counter in ("% Ready", "% Max Limited"))
    assert mean(limited) > 25.0
    assert max(r - m for r, m in zip(ready, limited, strict=True)) < 1.0
    vcpus = [name for name in busy_host_sheet.instances("Vcpu") if re.search(r":vmx-vcpu-\d:report-batch$", name)]
    used = mean(
        [
            sum(values)
            for values in zip(*(busy_host_sheet.column("Vcpu", name, "% Used") for name in vcpus), strict=True)
        ]
    )
    assert used == pytest.approx(100 * 2000 / 2600, rel=0.02)


def test_files_is_ballooned_and_swapped_while_the_host_has_memory(busy_host_sheet: Sheet) -> None:
    group = busy_host_sheet.group("files-02")
    balloon, swapped = (
        busy_host_sheet.column("Group Memory", group, name) for name in ("Memctl MBytes", "Swapped MBytes")
    )
    assert balloon[11] == swapped[11] == 0.0
    assert balloon[-1] > 600.0
    assert 400.0 < max(swapped) < 600.0
    assert busy_host_sheet.column("Group Memory", group, "Alloc Max")[0] == 10240.0
    assert max(busy_host_sheet.per_vcpu("files-02", "% Swap Wait")) > 10.0
    assert min(busy_host_sheet.column("Memory", None, "Free MBytes")) > 25_000
    others = [name for name in busy_host_sheet.instances("Group Memory") if name != group]
    assert all(max(busy_host_sheet.column("Group Memory", name, "Memctl MBytes")) == 0.0 for name in others)


def test_the_backup_slows_the_array_then_fills_the_queue(busy_host_sheet: Sheet) -> None:
    driver, kernel = (
        busy_host_sheet.column("Physical Disk SCSI Device", LUN, f"Average {part} MilliSec/Command")
        for part in ("Driver", "Kernel")
    )
    queued = busy_host_sheet.column("Physical Disk SCSI Device", LUN, "Queued Commands")
    assert max(driver[:60] + driver[108:]) < 1.5
    assert min(driver[60:108]) > 15.0
    assert min(kernel[84:96]) > 5.0
    assert min(queued[84:96]) > 10.0
    assert max(kernel[:84] + kernel[96:]) < 0.1
    ledger = busy_host_sheet.column("Virtual Disk", "ledger-db", "Commands/sec")
    assert mean(ledger[84:96]) < mean(ledger[:60]) / 2
    assert max(busy_host_sheet.column("Virtual Disk", "backup-proxy", "Commands/sec")[:60]) == 0.0


def test_web_drops_what_its_ring_cannot_take(busy_host_sheet: Sheet) -> None:
    dropped = busy_host_sheet.column(
        "Network Port", busy_host_sheet.port("web 01 (blue) v2.1"), "% Received Packets Dropped"
    )
    assert 2.0 < mean(dropped[48:60]) < 6.0
    assert max(dropped[:48] + dropped[60:]) == 0.0
    for name in busy_host_sheet.instances("Network Port"):
        if name != busy_host_sheet.port("web 01 (blue) v2.1"):
            assert max(busy_host_sheet.column("Network Port", name, "% Received Packets Dropped")) == 0.0
