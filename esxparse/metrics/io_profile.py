"""I/O profile of virtual disks: request sizes, reads, sequential share, and lengths in multiples of 4 KiB.

From the tables of a vscsiStats recording. A histogram bin holds the values above `from`, up to and including `to`;
`from` null is the first bin, `to` null the last. Shares are of commands, not of bytes. Histograms grow from the start
of the collection: each sample of a disk has its own rows here, and includes the earlier samples.

Source: I. Ahmad, "Easy and Efficient Disk I/O Workload Characterization in VMware ESX Server" (IISWC 2007), and A.
Gulati, C. Kumar, I. Ahmad, "Storage Workload Characterization and Consolidation in Virtualized Environments" (VPACT
2009). Seek distance counts from the last block of one command to the first of the next. So 1 is a command that begins
at the end of the previous one (general knowledge after these papers).
"""

from __future__ import annotations

import polars as pl

from .frames import finite, names, share_pct

_WHOSE = ("sample", "world_group_id", "handle_id", "disk", "vm")


def _by(histograms: pl.LazyFrame) -> list[str]:
    there = names(histograms)
    return [name for name in _WHOSE if name in there]


def size_mix(histograms: pl.LazyFrame) -> pl.LazyFrame:
    """Return the share of each I/O size, for all commands, reads and writes.

    share_pct = 100 x commands of the bin / commands of all bins of the same disk and direction.

    Works on the table `histograms`. Returns sample, world_group_id, handle_id, disk, vm (if present), and

    direction            str   all, read, write
    from_bytes, to_bytes i64   from < size <= to; null: open
    commands             i64
    share_pct            f64   null if there was no command

    >>> lengths = pl.LazyFrame({
    ...     "handle_id": [1, 1], "histogram": ["io_length"] * 2, "direction": ["all"] * 2,
    ...     "from": [None, 4095], "to": [4095, 4096], "count": [1, 3],
    ... })
    >>> size_mix(lengths).select("to_bytes", "share_pct").collect().rows()
    [(4095, 25.0), (4096, 75.0)]
    """
    histograms = finite(histograms)
    by = [*_by(histograms), "direction"]
    return histograms.filter(pl.col("histogram") == "io_length").select(
        *by,
        pl.col("from").alias("from_bytes"),
        pl.col("to").alias("to_bytes"),
        pl.col("count").alias("commands"),
        share_pct(pl.col("count"), pl.col("count").sum().over(by)).alias("share_pct"),
    )


def read_share(histograms: pl.LazyFrame) -> pl.LazyFrame:
    """Return the reads and writes of each disk.

    read_pct = 100 x reads / (reads + writes), from the histograms of I/O lengths of reads and of writes.

    Works on the table `histograms`. Returns sample, world_group_id, handle_id, disk, vm (if present), and

    reads, writes  i64   commands
    read_pct       f64   null without reads and writes

    >>> lengths = pl.LazyFrame({
    ...     "handle_id": [1] * 3, "histogram": ["io_length"] * 3, "direction": ["all", "read", "write"],
    ...     "count": [100, 70, 30],
    ... })
    >>> read_share(lengths).collect().rows()
    [(1, 70, 30, 70.0)]
    """
    histograms = finite(histograms)
    by = _by(histograms)

    def commands(direction: str) -> pl.Expr:
        return pl.col("count").filter(pl.col("direction") == direction).sum()

    return (
        histograms.filter(pl.col("histogram") == "io_length")
        .group_by(by, maintain_order=True)
        .agg(commands("read").alias("reads"), commands("write").alias("writes"))
        .with_columns(share_pct(pl.col("reads"), pl.col("reads") + pl.col("writes")).alias("read_pct"))
    )


def sequential_share(histograms: pl.LazyFrame, near_blocks: int = 128) -> pl.LazyFrame:
    """Return how many commands continue the previous one, are near it, or are elsewhere.

    sequential_pct = 100 x commands at a seek distance of exactly 1 (the bin 0 < distance <= 1) / all
    near_pct       = 100 x commands in the other bins that lie within -near_blocks .. near_blocks / all
    random_pct     = 100 - sequential_pct - near_pct
    interleaved_sequential_pct  as sequential_pct, of the distance from the closest of the last commands (16): several
                     interleaved sequential streams look random by sequential_pct, and sequential here

    The limit of "near" is our choice: 128 blocks of 512 bytes are 64 KiB. A bin that extends beyond the limit is not
    near. See the sources of this module for why a distance of 1 is sequential.

    Works on the table `histograms`. Returns sample, world_group_id, handle_id, disk, vm (if present), and

    direction       str   all, read, write; distances within one direction ignore commands of the other
    commands        i64
    sequential_pct, near_pct, random_pct, interleaved_sequential_pct   f64; the last for `all` only

    >>> distances = pl.LazyFrame({
    ...     "handle_id": [1] * 4, "histogram": ["seek_distance"] * 4, "direction": ["all"] * 4,
    ...     "from": [None, -64, 0, 1], "to": [-64, 0, 1, None], "count": [30, 10, 50, 10],
    ... })
    >>> sequential_share(distances).select("sequential_pct", "near_pct", "random_pct").collect().rows()
    [(50.0, 10.0, 40.0)]
    """
    histograms = finite(histograms)
    by = [*_by(histograms), "direction"]
    kind = pl.col("histogram")
    plain = kind == "seek_distance"
    closest = kind.str.starts_with("seek_distance_of_")
    sequential = ((pl.col("from") == 0) & (pl.col("to") == 1)).fill_null(value=False)
    inside = (pl.col("from") >= -near_blocks) & (pl.col("to") <= near_blocks)
    near = inside.fill_null(value=False) & ~sequential

    def commands(which: pl.Expr) -> pl.Expr:
        return pl.col("count").filter(which).sum()

    return (
        histograms.filter(plain | closest)
        .group_by(by, maintain_order=True)
        .agg(
            commands(plain).alias("commands"),
            share_pct(commands(plain & sequential), commands(plain)).alias("sequential_pct"),
            share_pct(commands(plain & near), commands(plain)).alias("near_pct"),
            share_pct(commands(plain & ~sequential & ~near), commands(plain)).alias("random_pct"),
            share_pct(commands(closest & sequential), commands(closest)).alias("interleaved_sequential_pct"),
        )
    )


def alignment_hints(histograms: pl.LazyFrame, multiple_bytes: int = 4096, sector_bytes: int = 512) -> pl.LazyFrame:
    """Return how many commands have a length that is a whole multiple of 4 KiB, as far as the bins show.

    A command of another length cannot begin and end at 4 KiB borders: on storage of 4 KiB blocks it costs a read
    before the write. The histograms do not show where commands begin. Multiples of 4 KiB may still be misaligned
    (check with a packet trace).

    Lengths are whole multiples of a sector, so a bin (from, to] holds this many lengths, and multiples among them:

        lengths = floor(to / sector) - floor(from / sector)
        multiples = floor(to / multiple) - floor(from / multiple)

    no_multiple_pct  share of the bins without any multiple
    multiple_pct     share of the bins with multiples only
    unknown_pct      share of the bins with both, and of the last, open one

    Works on the table `histograms`. Returns sample, world_group_id, handle_id, disk, vm (if present), and

    direction   str   all, read, write
    commands    i64
    multiple_pct, no_multiple_pct, unknown_pct   f64   null if there was no command

    >>> lengths = pl.LazyFrame({
    ...     "handle_id": [1] * 3, "histogram": ["io_length"] * 3, "direction": ["write"] * 3,
    ...     "from": [None, 4095, 8192], "to": [4095, 4096, 16383], "count": [10, 70, 20],
    ... })
    >>> alignment_hints(lengths).select("multiple_pct", "no_multiple_pct", "unknown_pct").collect().rows()
    [(70.0, 10.0, 20.0)]
    """
    histograms = finite(histograms)
    by = [*_by(histograms), "direction"]

    def within(size: int) -> pl.Expr:
        return pl.col("to") // size - pl.col("from").fill_null(0) // size

    lengths, multiples = within(sector_bytes), within(multiple_bytes)
    none = (multiples == 0).fill_null(value=False)
    all_of_it = ((lengths == multiples) & (multiples > 0)).fill_null(value=False)
    commands = pl.col("count")
    return (
        histograms.filter(pl.col("histogram") == "io_length")
        .group_by(by, maintain_order=True)
        .agg(
            commands.sum().alias("commands"),
            share_pct(commands.filter(all_of_it).sum(), commands.sum()).alias("multiple_pct"),
            share_pct(commands.filter(none).sum(), commands.sum()).alias("no_multiple_pct"),
            share_pct(commands.filter(~none & ~all_of_it).sum(), commands.sum()).alias("unknown_pct"),
        )
    )
