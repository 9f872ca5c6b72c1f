"""The report on perf stat and vmkperf: gathers data (`gather`), and shows it (`tables`)."""
