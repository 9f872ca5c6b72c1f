"""The report on perf stat and vmkperf: what it gathers (`gather`), and shows of it (`tables`)."""
