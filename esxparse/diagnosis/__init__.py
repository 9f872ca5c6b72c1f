"""Checking metrics against thresholds.

`thresholds`: limits as data, a source for every number; `views`: every frame of metrics that a threshold can judge.
"""
