"""What a capture shows, judged: series, rules, cases, findings.

`hosts`, `signals`, `vm_signals`, `panels`, `series`: what rules and cases read of a capture; `rules`: limits as data;
`symptoms`: which of them are passed; `cases`: decision tables, one for each trouble; `engine`: spells, evidence, causes
and symptoms; `diagnose`, `findings`: what comes out; `changes`: the sharpest steps of all counters.
"""
