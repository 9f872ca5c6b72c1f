"""The table `nfs`: RPC calls to NFS servers and their replies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from esxparse.formats.packets.fields import (
    NFS_FIELDS,
    Frame,
    conversation,
    counts,
    deal,
    first,
    is_known,
    messages,
    names,
    number,
)

if TYPE_CHECKING:
    from collections import Counter

    import polars as pl

_READ, _WRITE, _COMMIT = 25, 38, 5
_IO_4 = {_READ: "READ", _WRITE: "WRITE", _COMMIT: "COMMIT"}
_IO_3 = ("READ", "WRITE", "COMMIT")

Row = dict[str, Any]


def _share(fields: Frame, field: str, wanted: list[int], *, cut: bool) -> list[list[str] | None]:
    return deal(fields.get(field, ()), wanted, cut=cut)


def _handle(share: list[str] | None) -> str | None:
    return share[0] if share else None


def calls_3(procedures: list[int | None], fields: Frame, *, cut: bool) -> list[list[Row]]:
    """Return a row for each call of version 3."""
    known = names()["nfs3"]
    offset, size, stable, handle = (
        _share(fields, field, counts(known["call"][field], procedures), cut=cut)
        for field in ("nfs.offset3", "nfs.count3", "nfs.write.stable", "nfs.fh.hash")
    )
    rows = []
    for place, procedure in enumerate(procedures):
        operation = procedure_name(known["procedures"], procedure)
        data = operation in _IO_3
        complete = procedure is not None and (not data or (is_known(offset[place]) and is_known(size[place])))
        row: Row = {"operation": operation, "file": _handle(handle[place]), "complete": complete}
        row |= {"offset_bytes": first(offset[place]), "size_bytes": first(size[place])} if data else {}
        rows.append([row | {"stability": _stability(first(stable[place]))}])
    return rows


def procedure_name(table: list[str], procedure: int | None) -> str | None:
    """Return the name of a procedure."""
    if procedure is None:
        return None
    return table[procedure] if 0 <= procedure < len(table) else f"procedure {procedure}"


def _stability(how: int | None) -> str | None:
    return names()["stability"].get(str(how)) if how is not None else None


def _operations(fields: Frame, calls: list[bool], *, cut: bool) -> list[list[int]] | None:
    """Return the operations of each message of version 4; None if they are unknown."""
    sizes = deal(fields.get("nfs.ops.count", ()), [1 if call else 0 for call in calls], cut=cut)
    if any(size is None for size in sizes):
        return None
    shares = deal(fields.get("nfs.opcode", ()), [first(size) or 0 for size in sizes], cut=cut)
    if any(share is None for share in shares):
        return None
    return [[code for text in share or () if (code := number(text)) is not None] for share in shares]


def _by_operation(
    fields: Frame, kind: str, operations: list[list[int]], *, cut: bool
) -> dict[str, list[list[list[str] | None]]]:
    """Return, for each field, the values of each operation of each message."""
    flat: list[int | None] = [code for codes in operations for code in codes]
    dealt = {}
    for field, table in names()["nfs4"][kind].items():
        shares = iter(deal(fields.get(field, ()), counts(table, flat), cut=cut) if flat else ())
        dealt[field] = [[next(shares) for _ in codes] for codes in operations]
    return dealt


def _compound_name(codes: list[int]) -> str:
    known = names()["nfs4"]
    called = [known["operations"].get(str(code), f"operation {code}") for code in codes]
    telling = [name for name in called if name not in known["housekeeping"]]
    return str((telling or called)[-1])


def calls_4(procedures: list[int | None], fields: Frame, *, cut: bool) -> list[list[Row]]:
    """Return, for each compound of version 4, a row for each READ, WRITE and COMMIT, or one for the whole."""
    compounds = [procedure == 1 for procedure in procedures]
    if (operations := _operations(fields, compounds, cut=cut)) is None:
        return [[{"operation": "COMPOUND" if one else "NULL", "complete": not one}] for one in compounds]
    dealt = _by_operation(fields, "call", operations, cut=cut)
    return [
        _compound(codes, {field: shares[place] for field, shares in dealt.items()})
        if compounds[place]
        else [{"operation": "NULL", "complete": True}]
        for place, codes in enumerate(operations)
    ]


def _compound(codes: list[int], dealt: dict[str, list[list[str] | None]]) -> list[Row]:
    every = names()["nfs4"]["operations"]
    compound = " ".join(every.get(str(code), str(code)) for code in codes)
    handle = None
    rows: list[Row] = []
    for place, code in enumerate(codes):
        shares = {field: values[place] for field, values in dealt.items()}
        handle = _handle(shares["nfs.fh.hash"]) or handle
        if code not in _IO_4:
            continue
        size = shares["nfs.write.data_length" if code == _WRITE else "nfs.count4"]
        offset, complete = first(shares["nfs.offset4"]), is_known(shares["nfs.offset4"]) and is_known(size)
        row = {"operation": _IO_4[code], "offset_bytes": offset, "size_bytes": first(size), "file": handle}
        row |= {"stability": _stability(first(shares["nfs.stable_how4"])), "compound": compound}
        rows.append(row | {"place": place, "complete": complete})
    whole = {"operation": _compound_name(codes) if codes else "COMPOUND", "file": handle, "compound": compound}
    return rows or [{**whole, "complete": True}]


def _status(status: int | None) -> str | None:
    return None if status is None else names()["nfs_status"].get(str(status), str(status))


def replies_3(procedures: list[int | None], fields: Frame, accepted: list[bool], *, cut: bool) -> list[list[Row]]:
    """Return the results in each reply of version 3."""
    known, called = names()["nfs3"]["reply"], names()["nfs3"]["procedures"]
    has_status = [int(ok and procedure != 0) for ok, procedure in zip(accepted, procedures, strict=True)]
    status = [first(share) for share in _share(fields, "nfs.status3", has_status, cut=cut)]
    # An error comes without a count; so does a procedure that is not in the table.
    done = [procedure if state == 0 else -1 for procedure, state in zip(procedures, status, strict=True)]
    size, committed = (
        _share(fields, field, counts(known[field], done), cut=cut) for field in ("nfs.count3", "nfs.write.committed")
    )
    return [
        [
            {
                "status": _status(status[place]),
                "done_bytes": first(size[place]) if procedure_name(called, procedure) in _IO_3 else None,
                "committed": _stability(first(committed[place])),
            }
        ]
        for place, procedure in enumerate(procedures)
    ]


def replies_4(procedures: list[int | None], fields: Frame, accepted: list[bool], *, cut: bool) -> list[list[Row]]:
    """Return the results in each reply of version 4: first of the whole, then of each operation, by its place."""
    compounds = [ok and procedure == 1 for ok, procedure in zip(accepted, procedures, strict=True)]
    if (operations := _operations(fields, compounds, cut=cut)) is None:
        return [[{}] for _ in compounds]
    with_status = [1 + len(codes) if one else 0 for one, codes in zip(compounds, operations, strict=True)]
    statuses = _share(fields, "nfs.nfsstat4", with_status, cut=cut)
    # Failed operations have no result.
    worked = [
        [code if _worked(states, place) else -1 for place, code in enumerate(codes, 1)]
        for codes, states in zip(operations, statuses, strict=True)
    ]
    dealt = _by_operation(fields, "reply", worked, cut=cut)
    rows: list[list[Row]] = []
    for message, codes in enumerate(worked):
        states = statuses[message] or []
        rows.append([{"status": _status(first(states))}])
        for place in range(len(codes)):
            read, written, stable = (
                dealt[field][message][place] for field in ("nfs.read.data_length", "nfs.count4", "nfs.stable_how4")
            )
            status = _status(number(states[place + 1])) if place + 1 < len(states) else None
            done = {"done_bytes": first(read) if read else first(written), "committed": _stability(first(stable))}
            rows[-1].append({"status": status, **done})
    return rows


def _worked(states: list[str] | None, place: int) -> bool:
    return states is not None and place < len(states) and number(states[place]) == 0


_NFS = 100003
_CALL, _REPLY = 0, 1
_V3, _V4 = 3, 4

Pending = dict[tuple[Any, ...], list["Row"]]
"""Calls that wait for their reply: a call of version 4 may request several reads and writes, with a row each."""


def _version(fields: Frame) -> int | None:
    there = [version for version in (2, _V3, _V4) if f"nfs.procedure_v{version}" in fields]
    return there[0] if len(there) == 1 else first(fields.get("rpc.programversion"))


_DONE = ("nfs.count3", "nfs.count4", "nfs.read.data_length")
"""The fields of a reply with the amount done."""


def pair(batch: pl.DataFrame, pending: Pending, tally: Counter[str]) -> Iterator[Row]:
    """Yield the calls of a batch whose reply is in it; the others stay in `pending`."""
    for facts, fields in messages(batch, NFS_FIELDS):
        xids = [number(text) for text in fields["rpc.xid"]]
        programs = [number(text) for text in fields.get("rpc.program", ())] or [_NFS] * len(xids)
        kinds = [number(text) for text in fields.get("rpc.msgtyp", ())]
        ours = [place for place, program in enumerate(programs) if program == _NFS]
        tally["other"] += len(programs) - len(ours)
        if not ours:
            continue
        if not len(xids) == len(programs) == len(kinds) or len({kinds[place] for place in ours}) != 1:
            tally["unreadable"] += len(ours)
        elif kinds[ours[0]] == _CALL:
            _ask(_Packet(facts, fields, ours, xids), pending, tally)
        elif kinds[ours[0]] == _REPLY:
            states = _accepted(fields, kinds, cut=facts["cut"])
            yield from _reply(_Packet(facts, fields, ours, xids), states, pending, tally)


def _procedures(fields: Frame, version: int | None, ours: list[int], messages: int) -> list[int | None]:
    everywhere = [number(text) for text in fields.get("rpc.procedure", ())]
    if len(everywhere) == messages:
        return [everywhere[place] for place in ours]
    of_nfs = [number(text) for text in fields.get(f"nfs.procedure_v{version}", ())]
    return of_nfs if len(of_nfs) == len(ours) else [None] * len(ours)


class _Packet(NamedTuple):
    """Facts of a packet, its fields, the places of NFS among its messages, and the transaction of each."""

    facts: dict[str, Any]
    fields: Frame
    ours: list[int]
    xids: list[int | None]


def _ask(packet: _Packet, pending: Pending, tally: Counter[str]) -> None:
    facts, fields, ours, xids = packet
    version, cut = _version(fields), facts["cut"]
    procedures = _procedures(fields, version, ours, len(xids))
    if version == _V4:
        calls, version_text = calls_4(procedures, fields, cut=cut), f"4.{first(fields.get('nfs.minorversion')) or 0}"
    elif version == _V3:
        calls, version_text = calls_3(procedures, fields, cut=cut), "3"
    else:
        table = names()["nfs2"]["procedures"]
        calls, version_text = (
            [[{"operation": procedure_name(table, one), "complete": True}] for one in procedures],
            str(version or ""),
        )
    for rows, place in zip(calls, ours, strict=True):
        key = conversation(facts, xids[place], asks=True)
        if key in pending:
            for row in pending[key]:
                row["calls"] += 1
            continue
        for row in rows:
            tally["unreadable"] += not row.pop("complete")
            row["direction"] = {"READ": "read", "WRITE": "write"}.get(row["operation"] or "")
            row |= {"ns": facts["ns"], "client": facts["src"], "server": facts["dst"], "version": version_text or None}
            row |= {"xid": xids[place], "calls": 1, "stream": facts["stream"], "frame": facts["number"]}
        pending[key] = rows


def _accepted(fields: Frame, kinds: list[int | None], *, cut: bool) -> list[int | None]:
    """Return the accept state of each message that is a reply: 0 if it was done; None if the call was denied."""
    replies = [int(kind == _REPLY) for kind in kinds]
    if "rpc.state_accept" not in fields and "rpc.replystat" not in fields:
        return [0] * len(kinds)
    denied = [first(share) for share in deal(fields.get("rpc.replystat", ()), replies, cut=cut)]
    states = deal(fields.get("rpc.state_accept", ()), [int(state == 0) for state in denied], cut=cut)
    return [first(share) for share in states]


def _reply(packet: _Packet, states: list[int | None], pending: Pending, tally: Counter[str]) -> Iterator[Row]:
    facts, fields, ours, xids = packet
    version, cut = _version(fields), facts["cut"]
    tally["unreadable"] += sum(number(text) is None for field in _DONE for text in fields.get(field, ()))
    procedures = _procedures(fields, version, ours, len(xids))
    accepted = [states[place] == 0 for place in ours]
    if version == _V4:
        replies = replies_4(procedures, fields, accepted, cut=cut)
    elif version == _V3:
        replies = replies_3(procedures, fields, accepted, cut=cut)
    else:
        replies = [[{}] for _ in ours]
    for words, place in zip(replies, ours, strict=True):
        if (rows := pending.pop(conversation(facts, xids[place], asks=False), None)) is None:
            tally["unmatched"] += 1
            continue
        state = states[place]
        refused = "RPC DENIED" if state is None else names()["rpc_accept"].get(str(state))
        _answer(rows, words, refused)
        for row in rows:
            yield row | {"reply_ns": facts["ns"], "reply_frame": facts["number"]}


def _answer(rows: list[Row], replies: list[Row], refused: str | None) -> None:
    """Add the results in a reply to the rows of its call."""
    for row in rows:
        place = row.get("place")
        own = replies[place + 1] if place is not None and place + 1 < len(replies) else replies[0]
        row.update(own)
        if place is not None and place + 1 >= len(replies):
            row["status"] = replies[0].get("status")
        if refused or row["operation"] == "NULL":
            # NULL has no status of its own: if it is accepted, it is done.
            row["status"] = refused or "OK"
