"""What a capture shows, judged: series, rules, cases, findings.

`series`: what rules and cases read of derived tables; `rules`: limits as data;
`symptoms`: which of them are passed; `cases`: decision tables, one for each trouble; `engine`: spells, evidence, causes
and symptoms; `diagnose`, `findings`: what comes out; `changes`: the sharpest steps of all counters.
"""
