"""Readers of raw formats, one module each; the registry knows how to recognise them."""
