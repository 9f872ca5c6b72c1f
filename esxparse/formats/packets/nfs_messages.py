"""NFS messages: what the calls and replies in one frame say, version 3 and 4."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from esxparse.formats.packets.fields import can_be_told, counts, deal, first, names, number

if TYPE_CHECKING:
    from esxparse.formats.packets.fields import Frame

_READ, _WRITE, _COMMIT = 25, 38, 5
_IO_4 = {_READ: "READ", _WRITE: "WRITE", _COMMIT: "COMMIT"}
_IO_3 = ("READ", "WRITE", "COMMIT")

Row = dict[str, Any]


def _share(fields: Frame, field: str, wanted: list[int], *, cut: bool) -> list[list[str] | None]:
    return deal(fields.get(field, ()), wanted, cut=cut)


def _handle(share: list[str] | None) -> str | None:
    return share[0] if share else None


def calls_3(procedures: list[int | None], fields: Frame, *, cut: bool) -> list[list[Row]]:
    """A row for each call of version 3."""
    known = names()["nfs3"]
    offset, size, stable, handle = (
        _share(fields, field, counts(known["call"][field], procedures), cut=cut)
        for field in ("nfs.offset3", "nfs.count3", "nfs.write.stable", "nfs.fh.hash")
    )
    rows = []
    for place, procedure in enumerate(procedures):
        operation = named(known["procedures"], procedure)
        data = operation in _IO_3
        row: Row = {
            "operation": operation,
            "offset_bytes": first(offset[place]) if data else None,
            "size_bytes": first(size[place]) if data else None,
            "file": _handle(handle[place]),
            "stability": _stability(first(stable[place])),
            "told": procedure is not None and (not data or (can_be_told(offset[place]) and can_be_told(size[place]))),
        }
        rows.append([row])
    return rows


def named(table: list[str], procedure: int | None) -> str | None:
    """The name of a procedure."""
    if procedure is None:
        return None
    return table[procedure] if 0 <= procedure < len(table) else f"procedure {procedure}"


def _stability(how: int | None) -> str | None:
    return names()["stability"].get(str(how)) if how is not None else None


def _operations(fields: Frame, calls: list[bool], *, cut: bool) -> list[list[int]] | None:
    """The operations of each message of version 4; None where they cannot be told."""
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
    """For each field the values of each operation of each message."""
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
    """For each compound of version 4 a row for each READ, WRITE and COMMIT in it, or one for the whole."""
    compounds = [procedure == 1 for procedure in procedures]
    operations = _operations(fields, compounds, cut=cut)
    if operations is None:
        return [[{"operation": "COMPOUND" if one else "NULL", "told": not one}] for one in compounds]
    dealt = _by_operation(fields, "call", operations, cut=cut)
    return [
        _compound(codes, {field: shares[place] for field, shares in dealt.items()}) if compounds[place] else [_null()]
        for place, codes in enumerate(operations)
    ]


def _null() -> Row:
    return {"operation": "NULL", "told": True}


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
        rows.append(
            {
                "operation": _IO_4[code],
                "offset_bytes": first(shares["nfs.offset4"]),
                "size_bytes": first(size),
                "file": handle,
                "stability": _stability(first(shares["nfs.stable_how4"])),
                "compound": compound,
                "place": place,
                "told": can_be_told(shares["nfs.offset4"]) and can_be_told(size),
            }
        )
    whole = {"operation": _compound_name(codes) if codes else "COMPOUND", "file": handle, "compound": compound}
    return rows or [{**whole, "told": True}]


def _status(status: int | None) -> str | None:
    return None if status is None else names()["nfs_status"].get(str(status), str(status))


def replies_3(procedures: list[int | None], fields: Frame, accepted: list[bool], *, cut: bool) -> list[list[Row]]:
    """What each reply of version 3 says."""
    known, called = names()["nfs3"]["reply"], names()["nfs3"]["procedures"]
    has_status = [int(ok and procedure != 0) for ok, procedure in zip(accepted, procedures, strict=True)]
    status = [first(share) for share in _share(fields, "nfs.status3", has_status, cut=cut)]
    # An error comes without a count; a procedure that is none of the table has none either.
    done = [procedure if state == 0 else -1 for procedure, state in zip(procedures, status, strict=True)]
    size, committed = (
        _share(fields, field, counts(known[field], done), cut=cut) for field in ("nfs.count3", "nfs.write.committed")
    )
    return [
        [
            {
                "status": _status(status[place]),
                "done_bytes": first(size[place]) if named(called, procedure) in _IO_3 else None,
                "committed": _stability(first(committed[place])),
            }
        ]
        for place, procedure in enumerate(procedures)
    ]


def replies_4(procedures: list[int | None], fields: Frame, accepted: list[bool], *, cut: bool) -> list[list[Row]]:
    """What each reply of version 4 says: first of the whole, then of each operation, by its place."""
    compounds = [ok and procedure == 1 for ok, procedure in zip(accepted, procedures, strict=True)]
    operations = _operations(fields, compounds, cut=cut)
    if operations is None:
        return [[{}] for _ in compounds]
    with_status = [1 + len(codes) if one else 0 for one, codes in zip(compounds, operations, strict=True)]
    statuses = _share(fields, "nfs.nfsstat4", with_status, cut=cut)
    # What failed has no result.
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
            rows[-1].append(
                {
                    "status": _status(number(states[place + 1])) if place + 1 < len(states) else None,
                    "done_bytes": first(read) if read else first(written),
                    "committed": _stability(first(stable)),
                }
            )
    return rows


def _worked(states: list[str] | None, place: int) -> bool:
    return states is not None and place < len(states) and number(states[place]) == 0
