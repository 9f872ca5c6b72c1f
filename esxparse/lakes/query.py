"""`ex.lake`: the tables of many captures as one, by host and date."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import groupby
from typing import Any, Final, Unpack

import polars as pl

from esxparse import fleet
from esxparse.errors import DamagedError, EsxparseError, MissingTableError, choose_from
from esxparse.fleet import Crew
from esxparse.formats.opening import Opening, Options, moment
from esxparse.lakes import derived, entries, merged, segments, servers, sql
from esxparse.lakes.adding import Added, Job, add
from esxparse.lakes.entries import Entry
from esxparse.lakes.merged import Merged
from esxparse.lakes.store import Store
from esxparse.locations import is_url, legible, public
from esxparse.recording import Recording, counted
from esxparse.schema import schema

_QUOTED_URL: Final = re.compile(r"""['"]([^'"]*://[^'"]*)['"]""")
_UNKNOWN: Final = re.compile(r'Table with name "?(.+?)"? does not exist')
_PATTERN: Final = re.compile(r"([*?[])")
_DUCKDB: Final[dict[str, str | bool | int | float | list[str]]] = {
    "python_enable_replacements": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
"""A query sees the tables of the lake, not variables of this program, and downloads no extension."""
_CATALOGUE: Final = schema(
    "id host format release str, start end time, samples columns rows bytes source_bytes notes warnings i64, "
    "source sha256 esxparse str"
)
_HIVE: Final = {"table": pl.String(), "date": pl.Date(), "host": pl.String()}


def lake(uri: str | os.PathLike[str], **storage: str) -> Lake:
    """Open a lake: many captures as one dataset of Parquet files.

    Args:
        uri: A directory, or a bucket and prefix of an object store, such as `s3://captures/2026`.
        storage: Options of the object store, such as `aws_endpoint_url`, if they are not in the environment.
            `timeout`: seconds to wait for each answer (60).
    """
    return Lake(Store.of(uri, storage))


@dataclass(frozen=True, repr=False, eq=False)
class Lake:
    """The captures of a lake, or of some hosts and some time.

    `lake["vcpu"]` is the table `vcpu` of all captures, with `date` (UTC) and `host`. Columns missing from a capture are
    null. A query opens only the files of its hosts and dates, and reads only the columns it needs.
    """

    store: Store
    hosts: tuple[str, ...] = ()
    """The chosen hosts; empty for all."""
    since: datetime | None = None
    until: datetime | None = None
    known_entries: Sequence[Entry] | None = None
    """The entries, if they are known already."""
    stand_ins: Mapping[str, Sequence[Merged]] | None = None
    """Merged files by table, if they are known already."""

    @cached_property
    def captures(self) -> tuple[Entry, ...]:
        """The entries of the catalogue, by host and time, as of the first access."""
        return tuple(one for one in self._all if self._has(one))

    @cached_property
    def _all(self) -> Sequence[Entry]:
        return entries.load(self.store) if self.known_entries is None else self.known_entries

    @cached_property
    def _stand_ins(self) -> Mapping[str, Sequence[Merged]]:
        return merged.by_table(merged.load(self.store)) if self.stand_ins is None else self.stand_ins

    @property
    def whole(self) -> Lake:
        """The lake that this is a part of: all hosts and times."""
        return Lake(self.store, known_entries=self._all)

    def _has(self, entry: Entry) -> bool:
        start, end = entry.span
        return (
            (not self.hosts or entry.host in self.hosts)
            and not (self.since and end and end < self.since)
            and not (self.until and start and start >= self.until)
        )

    def of(self, *hosts: str, since: str | datetime | None = None, until: str | datetime | None = None) -> Lake:
        """Return part of the lake: some hosts (by default all), captures and rows from `since` to before `until`.

        Raises:
            EsxparseError: A time cannot be read, or a host is not in the lake.
        """
        there = {one.host for one in self.captures}
        if unknown := [one for one in hosts if one not in there]:
            raise EsxparseError(
                f"lake {self.store.uri} has no host {unknown[0]!r}: {choose_from(unknown[0], sorted(there))}"
            )
        begin, end = moment(since, "since") or self.since, moment(until, "until") or self.until
        if begin and end and end <= begin:
            raise EsxparseError(f"the time ends before it begins ({begin} to {end}): change since or until")
        part = replace(self, hosts=hosts or self.hosts, since=begin, until=end)
        return replace(part, known_entries=self._all, stand_ins=self._stand_ins)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The tables that some capture has."""
        return tuple(dict.fromkeys(name for one in self.captures for name in one.tables))

    @cached_property
    def _recordings(self) -> list[Recording]:
        return [self.recorded(one) for one in self.captures if one.format == "esxtop"]

    @property
    def derived(self) -> tuple[str, ...]:
        """The derived tables that some capture can give, "vm" for instance."""
        return derived.names(self._recordings, self.names)

    def __contains__(self, table: object) -> bool:
        return table in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __bool__(self) -> bool:
        """Return whether it has captures; a lake that is still to be made has none."""
        return bool(self.captures if self.known_entries is not None else entries.listed(self.store))

    def __getitem__(self, table: str) -> pl.LazyFrame:
        """Return a table of the captures or a derived one (`lake["vm"]`), with `date` and `host` as its last columns.

        Raises:
            MissingTableError: No capture has it; the message lists the tables.
        """
        if table not in self and table in self.derived:
            return derived.table(self._recordings, table, self.since, self.until)
        if table not in self:
            every = ", ".join([*self, *self.derived])
            raise MissingTableError(f"lake {self.store.uri} has no table {table!r}; it has: {every}")
        frames = [self.scan(files, schema) for files, schema in self._alike(table)]
        # Releases differ in columns, and in whether a counter has a fraction.
        frame = frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal_relaxed")
        frame = frame.select(pl.exclude("date", "host"), "date", "host")
        return derived.between(frame, self.since, self.until) if "time" in frame.collect_schema() else frame

    def _alike(self, table: str) -> Iterator[tuple[list[str], dict[str, Any]]]:
        """Yield the files of a table, grouped by columns."""
        having = [one for one in self.captures if table in one.tables]
        columns = {one.id: json.dumps(one.tables[table]["columns"]) for one in having}
        for _, group in groupby(sorted(having, key=lambda one: columns[one.id]), key=lambda one: columns[one.id]):
            alike = list(group)
            yield self._fewest(alike, table), alike[0].schema(table)

    def files(self, entry: Entry, table: str) -> list[str]:
        """Return the files of a capture's table that may have rows of the requested time."""
        return [self.store.names(path) for path in self._paths(entry, table)]

    def _fewest(self, captures: Iterable[Entry], table: str) -> list[str]:
        """Return the files of a table of several captures, merged ones if possible."""
        paths = [path for one in captures for path in self._paths(one, table)]
        return [self.store.names(path) for path in merged.instead(paths, self._stand_ins.get(table, ()))]

    def _paths(self, entry: Entry, table: str) -> list[str]:
        first = self.since.date().isoformat() if self.since else ""
        last = (self.until - timedelta(microseconds=1)).date().isoformat() if self.until else "~"
        return [one["path"] for one in entry.files(table) if first <= one["date"] <= last]

    def scan(self, files: Sequence[str], schema: Mapping[str, Any], *, hive: bool = True) -> pl.LazyFrame:
        """Return files of these columns as one table, with `date` and `host` if `hive` is true."""
        if not files:
            return pl.LazyFrame(schema=dict(schema) | ({"date": pl.Date(), "host": pl.String()} if hive else {}))
        frame = pl.scan_parquet(
            list(files),
            schema=dict(schema),
            glob=False,
            hive_partitioning=hive,
            hive_schema=_HIVE if hive else None,
            storage_options=servers.polars_options(self.store.options) if is_url(self.store.uri) else None,
            # The store provides the credentials; polars would look for its own.
            credential_provider=None,
        )
        return frame.drop("table") if hive else frame

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn a missing or damaged file into one error with advice, while tables are read."""
        try:
            yield
        except (pl.exceptions.PolarsError, OSError) as error:
            if broken := servers.network_error(self.store.uri, str(error)):
                raise broken from error
            raise DamagedError(self._unreadable(str(error).splitlines()[0])) from error

    def _unreadable(self, what: str) -> str:
        advice = f"esxparse lake verify --content --lake {self.store.uri} shows which files are missing or damaged"
        return f"lake {self.store.uri} cannot be read: {what.partition(' (set POLARS')[0]}; {advice}"

    @property
    def catalogue(self) -> pl.DataFrame:
        """One row per capture.

        `id`, `host`, `format`, `release`, `start`, `end` (UTC), `samples`, `columns`, `rows`, `bytes` (of its Parquet
        files), `source_bytes` (unpacked), `notes`, `warnings` (notes that warn), `source`, `sha256` (of its content),
        `esxparse` (the version that read it).
        """
        rows = [
            (
                one.id,
                one.host,
                one.format,
                one.meta.get("release"),
                *one.span,
                one.meta.get("samples"),
                one.meta.get("columns"),
                sum(table["rows"] for table in one.tables.values()),
                sum(table["bytes"] for table in one.tables.values()),
                one.origin["bytes"],
                len(one.notes),
                sum(note.severity == "warning" for note in one.notes),
                legible(one.source),
                one.origin["sha256"],
                one.esxparse,
            )
            for one in self.captures
        ]
        return pl.DataFrame(rows, schema=_CATALOGUE, orient="row")

    def capture(self, key: str) -> Entry:
        """Return the entry with an id that begins with `key`.

        Raises:
            EsxparseError: There is no such id, or several.
        """
        by_id = {one.id: one for one in self.captures}
        return by_id[entries.chosen(by_id, key, self.store.uri)]

    def recording(self, key: str) -> Recording:
        """Return one capture, as `ex.open` gives it; diagnosis, checks and metrics take it.

        Raises:
            EsxparseError: No id of a capture begins with these letters.
        """
        return self.recorded(self.capture(key))

    def recorded(self, entry: Entry) -> Recording:
        """Return the recording of an entry."""
        prefix = "" if entry.format == "esxtop" else f"{entry.format}."
        tables = {
            name.removeprefix(prefix): self.scan(self.files(entry, name), entry.schema(name), hive=False)
            for name in entry.tables
        }
        return Recording(entry.format, entry.source, tables, {**entry.meta, "host": entry.host}, entry.notes)

    def sql(self, query: str) -> pl.DataFrame:
        """Return the result of a query in DuckDB's SQL, over the lake's tables, `catalogue`, and derived tables.

        Derived tables (`vm`, `device`) are computed from every capture in the requested time; write them after FROM or
        JOIN.

        Raises:
            EsxparseError: The query is wrong, or DuckDB is not installed.
        """
        try:
            import duckdb  # noqa: PLC0415  an extra
        except ImportError:
            raise EsxparseError('SQL needs DuckDB: pip install "esxparse[lake]"') from None
        # DuckDB repeats them in its errors.
        for url in _QUOTED_URL.findall(query):
            public(url)
        # A table without rows in the requested time is empty.
        whole = self.whole
        # SQL ignores case.
        words = set(re.findall(r"\w+(?:\.\w+)?", query.replace('"', "").lower()))
        with duckdb.connect(config=_DUCKDB) as base:
            # Results go back through Arrow; the machine's time zone must not matter.
            base.execute("SET TimeZone = 'UTC'")
            if "catalogue" in words:
                base.register("catalogue", self.catalogue)
            if is_url(self.store.uri):
                from obstore.fsspec import FsspecStore  # noqa: PLC0415

                protocol: Any = self.store.uri.partition("://")[0]
                # A cached one would have the keys and the address of an earlier environment.
                options = {**servers.client(self.store.uri, self.store.options), "skip_instance_cache": True}
                base.register_filesystem(FsspecStore(protocol, **options))
            try:
                # Not EXPLAIN: with ANALYZE it runs the query.
                if [one.type for one in base.extract_statements(query)] != [duckdb.StatementType.SELECT]:
                    raise EsxparseError("a lake is asked by one query, which reads and changes nothing: SELECT ...")
                for table in (one for one in whole if one.lower() in words or sql.is_quoted(one, query)):
                    if files := self._fewest((one for one in self.captures if table in one.tables), table):
                        base.execute(self._view(table, files))
                    else:
                        base.register(table, whole[table].clear().collect())
                for table in derived.read_by(query).intersection(whole.derived):
                    base.register(table, derived.table(self._recordings, table, self.since, self.until).collect())
                found: pl.DataFrame = base.sql(query).pl()
            except (duckdb.Error, pl.exceptions.PolarsError) as error:
                raise self._wrong(error) from error
        return found

    def _wrong(self, error: Exception) -> EsxparseError:
        """Return DuckDB's refusal as an error with advice."""
        if unknown := _UNKNOWN.search(str(error)):
            tables = ["catalogue", *(f'"{one}"' if "." in one else one for one in self.whole), *self.whole.derived]
            return MissingTableError(f"no table {unknown[1]!r}: {choose_from(unknown[1], tables)}")
        if broken := servers.network_error(self.store.uri, str(error)):
            return broken
        what = servers.shortened(str(error))
        if self.store.uri in (short := what.partition(" LINE ")[0]):
            return DamagedError(self._unreadable(short))
        return EsxparseError(f"DuckDB: {what}")

    def _view(self, table: str, files: Iterable[str]) -> str:
        """Return the SQL of a view of a table."""
        # DuckDB takes each name for a pattern; a character in brackets is literal.
        paths = ", ".join(sql.text(_PATTERN.sub(r"[\1]", one)) for one in files)
        types = "hive_types = {'table': VARCHAR, 'date': DATE, 'host': VARCHAR}"
        rows = f"read_parquet([{paths}], hive_partitioning = true, {types}, union_by_name = true)"
        where = [f"time >= {sql.text(self.since.isoformat())}"] if self.since else []
        where += [f"time < {sql.text(self.until.isoformat())}"] if self.until else []
        chosen = f" WHERE {' AND '.join(where)}" if where else ""
        return f'CREATE VIEW {sql.name(table)} AS SELECT * EXCLUDE ("table") FROM {rows}{chosen}'  # noqa: S608  names are ours

    def add(
        self,
        captures: Sequence[str | os.PathLike[str]],
        *,
        host: str | None = None,
        replace: bool = False,
        crew: Crew | None = None,
        told: Callable[[str, Added | str], None] | None = None,
        **opening: Unpack[Options],
    ) -> list[Added]:
        """Add captures; existing ones are left as they are, and a failure does not stop the others.

        If a file holds several captures with different columns, all are added, unless `segment` chooses one.

        Args:
            captures: Recordings, as for `esxparse.open`.
            host: Overrides the host in the captures.
            replace: Whether to replace an existing one of another host, or read with other options.
            crew: Who does it: `Crew(jobs=4)`, `Crew(on="dask://scheduler:8786")`; by default this process.
            told: Called with each file and the result for a capture in it, or the reason why it failed.
            opening: Options of `esxparse.open`.

        Raises:
            EsxparseError: An option is wrong, or the cluster is lost; added captures stay.
        """
        if host is not None:
            entries.host_of(host, None, "the captures")
        options = Opening.of(opening).texts()
        sources = [public(os.fspath(one)) for one in captures]
        names = [one if is_url(one) or one == "-" else os.path.abspath(one) for one in sources]  # noqa: PTH100  links keep their names
        every = segments.wants_all(opening)
        jobs = [Job(name, self.store, host, replace, options, every) for name in names]
        made: list[Added] = []
        for done in fleet.run(add, jobs, crew):
            name = sources[done.place]
            added, failed = ([], [done.why_of(name)]) if done.why else done.result
            made += added
            if told is not None:
                for outcome in [*added, *failed]:
                    told(name, outcome)
        return made

    def __repr__(self) -> str:
        if not self:
            return f"Lake({self.store.uri})\n  no captures"
        hosts = {one.host for one in self.captures}
        rows = sum(table["rows"] for one in self.captures for table in one.tables.values())
        return "\n".join(
            [
                f"Lake({self.store.uri})",
                f"  {counted(len(self.captures), 'capture')} of {counted(len(hosts), 'host')}, {counted(rows, 'row')}",
                f"  tables: {', '.join(self)}",
            ]
        )
