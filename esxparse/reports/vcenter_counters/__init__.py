"""The report on counters of a vCenter: gathers data (`gather`)."""
