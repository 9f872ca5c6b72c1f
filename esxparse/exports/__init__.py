"""Tables of recordings for other programs: CSV, Parquet, Excel, InfluxDB line protocol, OpenMetrics."""
