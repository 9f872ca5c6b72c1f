"""Readers of raw formats, one module each; the registry recognises their files."""
