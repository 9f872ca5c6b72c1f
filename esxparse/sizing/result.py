"""What `ex.right_size` returns: a table, and the same for a terminal, as Markdown, JSON and CSV."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from esxparse import aligned
from esxparse.recording import Recording, as_markdown, counted, printable
from esxparse.schema import schema
from esxparse.sizing.suggestions import FULL, LIMITS, SHORT, UNKNOWN

VERSION: Final = 1
"""Of the JSON."""
COLUMNS: Final = {
    **schema("host vm str, vcpus vcpus_suggested i64, cpu cpu_evidence str"),
    **schema("running_mean running_p95 running_p99 wanted_p95 wanted_p99 f64"),
    "busiest_day": pl.Date(),
    **schema("costop_pct costop_p99_pct size_mib f64, size_suggested_mib i64, memory memory_evidence str"),
    **schema("granted_mib active_p99_mib swapped_mib balloon_mib f64, risk str, days i64, hours interval_s f64"),
    **schema("samples memory_samples i64"),
}
"""The columns of the table; `ex.right_size` explains them."""
_HEADS: Final = (
    *("VM", "vCPUs", "ran, mean", "ran, p99", "wanted, p99", "co-stop %", "CPU verdict"),
    *("memory GiB", "touched GiB", "active GiB, p99", "memory verdict"),
)
_GIB: Final = 1024


@dataclass(frozen=True, repr=False, eq=False)
class RightSizing:
    """Sizes of VMs, and suggestions. `frame` has one row per host and VM; `ex.right_size` explains its columns."""

    frame: pl.DataFrame
    label: str
    """The captures, for people."""
    recordings: tuple[Recording, ...] = ()

    @property
    def summary(self) -> str:
        """The result in a sentence."""
        fewer = self.frame.filter(pl.col("vcpus_suggested").is_not_null())
        less = self.frame.filter(pl.col("size_suggested_mib").is_not_null())
        freed = int((fewer["vcpus"] - fewer["vcpus_suggested"]).sum())
        freed_gib = (less["size_mib"] - less["size_suggested_mib"]).sum() / _GIB
        every = counted(self.frame.height, "VM")
        vcpus = f" ({freed:,} less)" if freed else ""
        gib = f" ({freed_gib:,.1f} GiB less)" if freed_gib else ""
        sizes = f"{fewer.height:,} of {every} could do with fewer vCPUs{vcpus}, {less.height:,} with less memory{gib}"
        seen = {
            "asked for nearly all their vCPUs": pl.col("cpu") == FULL,
            "had memory reclaimed": pl.col("memory") == SHORT,
            "cannot be judged completely": (pl.col("cpu") == UNKNOWN) | (pl.col("memory") == UNKNOWN),
        }
        counts = {words: self.frame.filter(which).height for words, which in seen.items()}
        return "; ".join([sizes, *(f"{count:,} {words}" for words, count in counts.items() if count)]) + "."

    def _rows(self) -> Iterator[tuple[str, ...]]:
        several = self.frame["host"].n_unique() > 1
        for row in self.frame.iter_rows(named=True):
            name = f"{row['host']}: {row['vm']}" if several else row["vm"]
            numbers = (row[name] for name in ("running_mean", "running_p99", "wanted_p99", "costop_pct"))
            sizes = (row[name] for name in ("size_mib", "granted_mib", "active_p99_mib"))
            yield (
                name,
                "?" if row["vcpus"] is None else str(row["vcpus"]),
                *(_number(one) for one in numbers),
                _verdict(row["cpu"], row["vcpus_suggested"]),
                *(_number(None if one is None else one / _GIB, 1) for one in sizes),
                _verdict(
                    row["memory"], None if row["size_suggested_mib"] is None else row["size_suggested_mib"] // _GIB
                ),
            )

    def _reasons(self) -> Iterator[tuple[str, list[str]]]:
        """For each VM with a suggestion: its name, the evidence and the risk."""
        for row in self.frame.iter_rows(named=True):
            lines = [
                f"{_change(row, suggested)}: {row[evidence]}"
                for suggested, evidence in (
                    ("vcpus_suggested", "cpu_evidence"),
                    ("size_suggested_mib", "memory_evidence"),
                )
                if row[suggested] is not None
            ]
            if lines:
                yield f"{row['vm']} ({row['host']})", [*lines, f"risk: {row['risk']}"]

    def text(self) -> str:
        """Everything for a terminal."""
        lines = [printable(self.label), printable(self.summary), "", *aligned.lines([_HEADS, *self._rows()])]
        for name, reasons in self._reasons():
            lines += ["", printable(name), *(f"  {printable(one)}" for one in reasons)]
        return "\n".join(lines)

    def markdown(self) -> str:
        """Everything as Markdown."""
        parts = [f"# {as_markdown(self.label)}", as_markdown(self.summary), aligned.markdown(_HEADS, self._rows())]
        for name, reasons in self._reasons():
            parts += [f"## {as_markdown(name)}", "\n".join(f"- {as_markdown(one)}" for one in reasons)]
        return "\n\n".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """As in the JSON."""
        rows = [{**row, "busiest_day": row["busiest_day"] and str(row["busiest_day"])} for row in self.frame.to_dicts()]
        return {"version": VERSION, "source": self.label, "summary": self.summary, "limits": LIMITS, "vms": rows}

    def json(self) -> str:
        """Everything as JSON, with the limits and their sources."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=2, allow_nan=False)

    def csv(self) -> str:
        """The table as CSV, with a header."""
        return self.frame.write_csv().rstrip("\n")

    def __repr__(self) -> str:
        return self.text()


def _number(value: float | None, digits: int = 2) -> str:
    return "?" if value is None else f"{value:,.{digits}f}"


def _verdict(verdict: str, suggested: int | None) -> str:
    return verdict if suggested is None else f"{verdict}: {suggested}"


def _change(row: Mapping[str, Any], suggested: str) -> str:
    if suggested == "vcpus_suggested":
        return f"{row['vcpus']} to {row[suggested]} vCPUs"
    return f"{row['size_mib'] / _GIB:,.1f} to {row[suggested] / _GIB:,.0f} GiB of memory"
