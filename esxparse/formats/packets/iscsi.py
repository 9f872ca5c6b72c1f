"""The table `iscsi`: SCSI commands and the messages that ended them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from esxparse.formats.packets.fields import ISCSI_FIELDS, Frame, conversation, deal, first, messages, names, number

if TYPE_CHECKING:
    from collections import Counter

    import polars as pl

_COMMAND, _DATA_OUT, _RESPONSE, _DATA_IN, _REJECT, _EVENT = 0x01, 0x05, 0x21, 0x25, 0x3F, 0x32
_WITHOUT_TAG = (_REJECT, _EVENT)
_CDB = "SCSI CDB "
_ALL_OF_6 = 256

Row = dict[str, Any]
Pending = dict[tuple[Any, ...], Row]


def pair(batch: pl.DataFrame, pending: Pending, tally: Counter[str]) -> Iterator[Row]:
    """Yield the commands of a batch that ended in it; the others stay in `pending`."""
    for facts, fields in messages(batch, ISCSI_FIELDS):
        kinds = [number(text) for text in fields["iscsi.opcode"]]
        with_tag = [int(kind not in _WITHOUT_TAG) for kind in kinds]
        tags = [first(share) for share in deal(fields.get("iscsi.initiatortasktag", ()), with_tag, cut=facts["cut"])]
        if _COMMAND in kinds:
            for row in _commands(kinds, tags, fields, cut=facts["cut"]):
                tally["unreadable"] += not row.pop("complete")
                row |= {"ns": facts["ns"], "initiator": facts["src"], "target": facts["dst"]}
                row |= {"stream": facts["stream"], "frame": facts["number"]}
                key = conversation(facts, row["tag"], asks=True)
                if key in pending:
                    # The tag is in use again, so the earlier command was abandoned.
                    yield pending.pop(key)
                pending[key] = row
        for tag, status in _endings(kinds, tags, fields, cut=facts["cut"]):
            if (found := pending.pop(conversation(facts, tag, asks=False), None)) is None:
                tally["unmatched"] += 1
                continue
            reply = {"status": status, "reply_ns": facts["ns"], "reply_frame": facts["number"]}
            yield found | reply | _capacity(found, fields)


def _capacity(command: Row, fields: Frame) -> Row:
    block_sizes = {*fields.get("scsi_sbc.blocksize", ())}
    return (
        {"capacity_block": number(block_sizes.pop())} if len(block_sizes) == 1 and command["direction"] is None else {}
    )


def _endings(
    kinds: list[int | None], tags: list[int | None], fields: Frame, *, cut: bool
) -> Iterator[tuple[int | None, str | None]]:
    """Yield tag and status of each message that ends a command: a response, or the last data of a read."""
    if not {_RESPONSE, _DATA_IN} & {*kinds}:
        return
    flags = deal(fields.get("iscsi.scsidata.S", ()), [int(kind == _DATA_IN) for kind in kinds], cut=cut)
    ends = [
        kind == _RESPONSE or (kind == _DATA_IN and first(flag) == 1) for kind, flag in zip(kinds, flags, strict=True)
    ]
    states = deal(fields.get("iscsi.scsiresponse.status", ()), [int(end) for end in ends], cut=cut)
    for end, tag, state in zip(ends, tags, states, strict=True):
        if end:
            yield tag, _status(first(state))


def _status(state: int | None) -> str | None:
    return None if state is None else names()["scsi_status"].get(f"0x{state:02x}", f"0x{state:02x}")


def _opcodes(fields: Frame, commands: int) -> list[tuple[int | None, str | None]] | None:
    """Return operation code and name of each command of a frame, in order; None if they are unknown."""
    labels, codes = fields.get("scsi", []), fields.get("scsi_sbc.opcode", [])
    operations = [label.removeprefix(_CDB).upper().replace("0X", "0x") for label in labels if label.startswith(_CDB)]
    if len(labels) == len(codes):
        codes = [code for code, label in zip(codes, labels, strict=True) if label.startswith(_CDB)]
    if commands == 1:
        codes, operations = codes[:1], operations[:1]
    if len(codes) == commands:
        return [
            (number(code), operations[place] if len(operations) == commands else None)
            for place, code in enumerate(codes)
        ]
    return [(None, name) for name in operations] if len(operations) == commands else None


def _luns(kinds: list[int | None], fields: Frame, *, cut: bool) -> list[list[str] | None]:
    """Return the LUN of each message: twice in a command, once in other messages, and again before the data in it."""
    values = fields.get("scsi.lun", [])
    if len({*values}) == 1:
        return [values[:1]] * len(kinds)
    lengths = deal(fields.get("iscsi.datasegmentlength", ()), [1] * len(kinds), cut=cut)
    with_data = [int((first(length) or 0) > 0) for length in lengths]
    payloads = sum(not label.startswith(_CDB) for label in fields.get("scsi", ()))
    # tshark does not decode data of a command that is not in the trace.
    own = {_COMMAND: 2, _DATA_OUT: 1} if payloads == sum(with_data) else {_COMMAND: 2}
    wanted = [own[kind] + data if kind in own else -1 for kind, data in zip(kinds, with_data, strict=True)]
    return deal(values, wanted, cut=cut)


def _commands(kinds: list[int | None], tags: list[int | None], fields: Frame, *, cut: bool) -> Iterator[Row]:
    """Yield a row for each command of a frame."""
    places = [place for place, kind in enumerate(kinds) if kind == _COMMAND]
    sizes = deal(fields.get("iscsi.scsicommand.expecteddatatransferlength", ()), [1] * len(places), cut=cut)
    luns = _luns(kinds, fields, cut=cut)
    operations = _opcodes(fields, len(places))
    codes = [code for code, _ in operations] if operations else [None] * len(places)
    known = [{} if code is None else names()["scsi"].get(f"0x{code:02x}", {}) for code in codes]
    numbers = _numbers(known, fields, cut=cut)
    for turn, place in enumerate(places):
        code, name = operations[turn] if operations else (None, None)
        lba, blocks = numbers[turn]
        yield {
            "tag": tags[place],
            "lun": first(luns[place]),
            "opcode": code,
            "operation": known[turn].get("name", name),
            "direction": known[turn].get("direction"),
            "lba": lba,
            "blocks": _ALL_OF_6 if blocks == 0 and "rdwr6" in known[turn].get("blocks", "") else blocks,
            "size_bytes": first(sizes[turn]),
            "complete": operations is not None and not (lba is None and "lba" in known[turn]),
        }


def _numbers(known: list[dict[str, str]], fields: Frame, *, cut: bool) -> list[tuple[int | None, int | None]]:
    """Return address and number of blocks of each command, from the fields that commands of its kind have."""
    dealt = {
        field: deal(fields.get(field, ()), [int(field in kind.values()) for kind in known], cut=cut)
        for field in {field for kind in known for field in (kind.get("lba"), kind.get("blocks")) if field}
    }

    def value(field: str | None, turn: int) -> int | None:
        share = dealt[field][turn] if field else None
        if not share:
            return None
        # The only address that is printed as bytes.
        return number(f"0x{share[0]}") if field == "scsi_sbc.rdwr16.lba" else number(share[0])

    return [(value(kind.get("lba"), turn), value(kind.get("blocks"), turn)) for turn, kind in enumerate(known)]
