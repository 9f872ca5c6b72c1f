"""Two captures or groups of captures, before and after: what got better, what got worse, what cannot be told.

`sides`: what is compared; `series`: its series, one capture after another; `pairs`: objects of one name; `loads`: the
load that each effect comes with, listed in `loads.csv`; `table`: all differences; `troubles`: findings that came and
went; `result`, `wording`: what people see; `compare`: all of it.
"""
