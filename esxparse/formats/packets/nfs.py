"""The table `nfs`: RPC calls to NFS servers and their replies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from esxparse.formats.kit.tables import schema
from esxparse.formats.packets.fields import NFS_FIELDS, deal, first, names, number
from esxparse.formats.packets.frames import messages
from esxparse.formats.packets.nfs_messages import calls_3, calls_4, named, replies_3, replies_4

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    import polars as pl

    from esxparse.formats.packets.fields import Frame
    from esxparse.formats.packets.nfs_messages import Row

_NFS = 100003
_CALL, _REPLY = 0, 1
_V3, _V4 = 3, 4

SCHEMA = schema(
    "ns reply_ns i64, client server version operation direction status str, "
    "offset_bytes size_bytes done_bytes i64, file stability committed str, xid calls i64, compound str, "
    "stream frame reply_frame i64"
)

Pending = dict[tuple[Any, ...], list["Row"]]
"""Calls that wait for their reply: a call of version 4 may ask for several reads and writes, a row each."""


def _version(fields: Frame) -> int | None:
    there = [version for version in (2, _V3, _V4) if f"nfs.procedure_v{version}" in fields]
    return there[0] if len(there) == 1 else first(fields.get("rpc.programversion"))


_DONE = ("nfs.count3", "nfs.count4", "nfs.read.data_length")
"""What says in a reply how much was done."""


def pair(batch: pl.DataFrame, pending: Pending, tally: Counter[str]) -> Iterator[Row]:
    """The calls of a batch that got their reply in it; those that wait for theirs stay in `pending`."""
    for facts, fields in messages(batch, NFS_FIELDS):
        xids = [number(text) for text in fields["rpc.xid"]]
        programs = [number(text) for text in fields.get("rpc.program", ())] or [_NFS] * len(xids)
        kinds = [number(text) for text in fields.get("rpc.msgtyp", ())]
        ours = [place for place, program in enumerate(programs) if program == _NFS]
        tally["other"] += len(programs) - len(ours)
        if not ours:
            continue
        if not len(xids) == len(programs) == len(kinds) or len({kinds[place] for place in ours}) != 1:
            tally["untold"] += len(ours)
        elif kinds[ours[0]] == _CALL:
            _ask(facts, fields, ours, xids, pending, tally)
        elif kinds[ours[0]] == _REPLY:
            yield from _reply(facts, fields, ours, xids, _accepted(fields, kinds, cut=facts["cut"]), pending, tally)


def _procedures(fields: Frame, version: int | None, ours: list[int], messages: int) -> list[int | None]:
    everywhere = [number(text) for text in fields.get("rpc.procedure", ())]
    if len(everywhere) == messages:
        return [everywhere[place] for place in ours]
    of_nfs = [number(text) for text in fields.get(f"nfs.procedure_v{version}", ())]
    return of_nfs if len(of_nfs) == len(ours) else [None] * len(ours)


def _key(facts: dict[str, Any], xid: int | None, *, call: bool) -> tuple[Any, ...]:
    ends = (facts["src"], facts["sport"]), (facts["dst"], facts["dport"])
    return (facts["stream"], *(ends if call else ends[::-1]), xid)


def _ask(
    facts: dict[str, Any],
    fields: Frame,
    ours: list[int],
    xids: list[int | None],
    pending: Pending,
    tally: Counter[str],
) -> None:
    version, cut = _version(fields), facts["cut"]
    procedures = _procedures(fields, version, ours, len(xids))
    if version == _V4:
        asked, shown = calls_4(procedures, fields, cut=cut), f"4.{first(fields.get('nfs.minorversion')) or 0}"
    elif version == _V3:
        asked, shown = calls_3(procedures, fields, cut=cut), "3"
    else:
        table = names()["nfs2"]["procedures"]
        asked, shown = [[{"operation": named(table, one), "told": True}] for one in procedures], str(version or "")
    for rows, place in zip(asked, ours, strict=True):
        key = _key(facts, xids[place], call=True)
        if key in pending:
            for row in pending[key]:
                row["calls"] += 1
            continue
        for row in rows:
            tally["untold"] += not row.pop("told")
            row["direction"] = {"READ": "read", "WRITE": "write"}.get(row["operation"] or "")
            row |= {"ns": facts["ns"], "client": facts["src"], "server": facts["dst"], "version": shown or None}
            row |= {"xid": xids[place], "calls": 1, "stream": facts["stream"], "frame": facts["number"]}
        pending[key] = rows


def _accepted(fields: Frame, kinds: list[int | None], *, cut: bool) -> list[int | None]:
    """The accept state of each message that is a reply: 0 where it was done; None where the call was denied."""
    replies = [int(kind == _REPLY) for kind in kinds]
    if "rpc.state_accept" not in fields and "rpc.replystat" not in fields:
        return [0] * len(kinds)
    denied = [first(share) for share in deal(fields.get("rpc.replystat", ()), replies, cut=cut)]
    states = deal(fields.get("rpc.state_accept", ()), [int(state == 0) for state in denied], cut=cut)
    return [first(share) for share in states]


def _reply(
    facts: dict[str, Any],
    fields: Frame,
    ours: list[int],
    xids: list[int | None],
    states: list[int | None],
    pending: Pending,
    tally: Counter[str],
) -> Iterator[Row]:
    version, cut = _version(fields), facts["cut"]
    tally["untold"] += sum(number(text) is None for field in _DONE for text in fields.get(field, ()))
    procedures = _procedures(fields, version, ours, len(xids))
    accepted = [states[place] == 0 for place in ours]
    if version == _V4:
        said = replies_4(procedures, fields, accepted, cut=cut)
    elif version == _V3:
        said = replies_3(procedures, fields, accepted, cut=cut)
    else:
        said = [[{}] for _ in ours]
    for words, place in zip(said, ours, strict=True):
        rows = pending.pop(_key(facts, xids[place], call=False), None)
        if rows is None:
            tally["unmatched"] += 1
            continue
        state = states[place]
        refused = "RPC DENIED" if state is None else names()["rpc_accept"].get(str(state))
        _answer(rows, words, refused)
        for row in rows:
            yield row | {"reply_ns": facts["ns"], "reply_frame": facts["number"]}


def _answer(rows: list[Row], said: list[Row], refused: str | None) -> None:
    """Adds to the rows of a call what its reply says."""
    for row in rows:
        place = row.get("place")
        own = said[place + 1] if place is not None and place + 1 < len(said) else said[0]
        row.update(own)
        if place is not None and place + 1 >= len(said):
            row["status"] = said[0].get("status")
        if refused or row["operation"] == "NULL":
            # NULL has no status of its own: what is accepted is done.
            row["status"] = refused or "OK"
