"""Edits troubles into the cells of real captures.

Nothing here reads or knows `esxparse`: it parses the text itself, and each trouble comes from documentation or a
published incident. `capture` reads and writes, `stretch` makes samples, `wide` makes a larger host of a small one,
`host` finds objects and keeps their sums true, `cpu`, `memory`, `storage`, `network` and `platform` edit, `situations`
reads the troubles (`*.toml`), and `fields` leaves counters out.
"""
