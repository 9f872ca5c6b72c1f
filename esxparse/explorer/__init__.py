"""Exploring a recording: what it holds, who stands out, how it looks over time.

`held`: its counters by any name, and search; `rows`: one counter as rows of time, name and value, and who stands out in
it; `plots`: a chart of it; `app`: the widget, of which `panel` and `heat` do the numbers, `objects` the pages of VMs,
devices and uplinks, `guest` a guest beside its host, `drawer` and `judged` what is beside the charts, and `code` the
copy as code.
"""
