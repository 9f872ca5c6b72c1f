"""Exploring a recording: what it holds, who stands out, how it looks over time.

`held`: its counters by any name, and search; `rows`: one counter as rows of time, name and value, and who stands out in
it; `plots`: a chart of it; `app`: the widget, of which `panel` does the numbers and `code` the copy as code.
"""
