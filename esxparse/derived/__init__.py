"""Derived tables: quantities made of raw counters, with unit and meaning, one row per sample and object.

`catalogue`, `columns.csv`: every column; `capture`: what makes them; `vms`, `devices`, `ports`, `hosts`: the functions;
`tables`: what there is; `panels`: as matrices, for rules and cases; `of_recording`: as tables, for people.
"""
