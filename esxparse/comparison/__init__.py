"""Two captures or groups of captures, before and after: better, worse, or too few samples to decide.

`sides`: the two sides; `series`: the series of a side, one capture after another; `pairs`: objects of one name;
`loads`: the load behind each effect, listed in `loads.csv`; `table`: all differences; `troubles`: findings that came
and went; `result`, `wording`: output for people; `compare`: all of it.
"""
