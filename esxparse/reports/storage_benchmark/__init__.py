"""The report on fio, Iometer, DiskSpd and vscsiStats: gathers data (`gather`), and shows it (`tables`)."""
