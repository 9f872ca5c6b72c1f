"""Collecting from other machines while a capture runs."""

from esxparse.collect.credentials import Account
from esxparse.collect.polling import Collected, power

__all__ = ["Account", "Collected", "power"]
