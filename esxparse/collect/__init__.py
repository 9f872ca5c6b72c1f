"""Collecting from other machines: a host with esxtop, over ssh or the vSphere API, and its power from its BMC."""

from esxparse.collect.credentials import Account
from esxparse.collect.host import Captured, host
from esxparse.collect.polling import Collected, power
from esxparse.collect.vsphere import Fetched, vsphere

__all__ = ["Account", "Captured", "Collected", "Fetched", "host", "power", "vsphere"]
