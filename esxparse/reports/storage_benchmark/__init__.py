"""The report on fio, Iometer, DiskSpd and vscsiStats: what it gathers (`gather`), and shows of it (`tables`)."""
