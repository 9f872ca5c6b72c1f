"""The diagnosis of a capture: series, rules, cases, findings.

`series`: series of derived tables, for rules and cases; `rules`: limits as data; `symptoms`: rules that a capture
violates; `cases`: decision tables, one for each trouble; `engine`: spells, evidence, causes and symptoms; `diagnose`,
`findings`: the result; `changes`: the sharpest steps of all counters.
"""
