"""Exploring a recording: its counters, the instances that stand out, and their course over time.

`held`: counters by any name, and search; `rows`: one counter as rows of time, name and value, and the instances that
stand out; `plots`: a chart of it; `app`: the widget, with the numbers in `panel` and `heat`, pages of VMs, devices and
uplinks in `objects`, a guest beside its host in `guest`, the drawer beside the charts in `drawer` and `judged`, and the
copy as code in `code`.
"""
