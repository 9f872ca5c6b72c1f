"""The report on one host from an esxtop capture: thresholds judged (`verdict`), and lists (`listing`)."""
