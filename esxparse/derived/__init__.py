"""Derived tables: quantities made of raw counters, with unit and meaning, one row per sample and object.

`model`: what a table and a column are; `columns.csv`: every column; `vms`, `devices`, `ports`, `hosts`: the functions;
`tables`: the catalogue; `panels`: as matrices, for rules and cases; `of_recording`: as tables, for people.
"""
