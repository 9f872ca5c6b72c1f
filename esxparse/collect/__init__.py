"""Collecting while a capture runs: what other machines have to be asked for."""

from esxparse.collect.polling import Collected, power

__all__ = ["Collected", "power"]
