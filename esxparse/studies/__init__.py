'''Studies: many runs, one manifest (`study.toml`), one row for each run.

>>> import tempfile, esxparse, polars as pl
>>> from pathlib import Path
>>> folder = Path(tempfile.mkdtemp())
>>> manifest = folder / "study.toml"
>>> capture = esxparse.datasets_dir() / "busy-host" / "busy-host.csv"
>>> _ = manifest.write_text(f"""
... title = "The bundled host, before and after 9:05"
... axis = "part"
... baseline = {{ part = "first" }}
... [host]
... cores = 8
... [[run]]
... part = "first"
... esxtop = '{capture}'
... window = {{ end = 2026-03-11T09:05:00Z }}
... [[run]]
... part = "second"
... esxtop = '{capture}'
... window = {{ start = 2026-03-11T09:05:00Z }}
... """)
>>> found = study(manifest, outside=True)
>>> found.runs.select("part", "samples", pl.col("host_used_pct").round(1), "mhz", "vcpus_per_core").collect().rows()
[('first', 61, 47.5, 2600.0, 3.125), ('second', 60, 47.7, 2600.0, 3.125)]
>>> found.compare("ready_pct").select("part", pl.col("ratio").round(2), "gap").collect().rows()
[('first', 1.0, None), ('second', 0.76, '1 repetition: an interval needs 2 or more')]

The manifest's grammar: docs/study.md; the columns: columns.csv. The path of the data: `study_file` (with `entries` and
`lines`) reads and checks. `expand` (with `patterns`) makes runs of it. `opened` opens their files and finds the
measured `span` and the host's `facts`. `capture`, `loads` and `results` compute the columns of a `row`, `runs`
combines the table, and `export` writes it. `draft` writes a first manifest from a directory of files.
'''

from __future__ import annotations

from esxparse.studies.model import Study, study

__all__ = ["Study", "study"]
