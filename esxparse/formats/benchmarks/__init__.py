"""What micro-benchmarks print, each format a module; all give the table `benchmark_results`."""
