"""The tools of sysstat: sar and sadf, iostat, mpstat, pidstat. `tables.toml` has their tables, columns and units."""
