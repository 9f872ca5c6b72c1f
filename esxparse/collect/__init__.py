"""Collecting from other machines: a host with esxtop over ssh, and its power from its BMC."""

from esxparse.collect.credentials import Account
from esxparse.collect.host import Captured, host
from esxparse.collect.polling import Collected, power

__all__ = ["Account", "Captured", "Collected", "host", "power"]
