"""Collecting while a capture runs: what other machines have to be asked for."""

from esxparse.collect.credentials import Account
from esxparse.collect.polling import Collected, power

__all__ = ["Account", "Collected", "power"]
