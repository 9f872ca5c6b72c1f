"""Exploring a recording: its counters, the highest instances, and their course over time.

`counter_columns`: counters by any name, and search; `rows`: a counter as rows of time, name and value, and the highest
instances; `plots`: a chart of it; `app`: the widget. `panel` and `heat` compute its numbers, `objects` the pages of
VMs, devices and uplinks, `guest` a guest beside its host. `drawer` and `judged` fill the drawer beside the charts,
`code` writes the copy as code.
"""
