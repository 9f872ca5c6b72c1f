"""Readers of micro-benchmarks, one module per format; all return the table `benchmark_results`."""
