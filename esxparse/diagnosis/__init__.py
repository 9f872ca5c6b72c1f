"""Diagnosis: judging what the metrics measured.

Now: `thresholds`, the limits people quote, as data with a source for every number, in profiles a user can add to; and
`views`, every frame of metrics that a threshold can judge.
To come: rules as data (what must hold for how long, with what left out) and one engine that turns a recording and a set
of rules into findings with their evidence.
"""
