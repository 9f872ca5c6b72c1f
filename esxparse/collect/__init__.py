"""Collecting from other machines: a host with esxtop (ssh, vSphere API), its power (BMC), a vCenter's counters."""

from esxparse.collect.credentials import Account
from esxparse.collect.host import Captured, host
from esxparse.collect.polling import Collected, power
from esxparse.collect.vcenter import Gathered, vcenter
from esxparse.collect.vsphere import Fetched, vsphere

__all__ = ["Account", "Captured", "Collected", "Fetched", "Gathered", "host", "power", "vcenter", "vsphere"]
