"""Derived tables: quantities computed from raw counters, with unit and meaning, one row per sample and object.

`catalogue`, `columns.csv`: all columns; `capture`: views, the functions that make them; `vms`, `devices`, `ports`,
`hosts`: the views; `tables`: lookups; `panels`: as matrices, for rules and cases; `of_recording`: as tables, for
people.
"""
