"""What happens to files: cut, zeroed, lines lost and doubled, bytes of something else inside."""

from __future__ import annotations

from hypothesis import strategies as st

import esxparse as ex

NUMBERS = [b"nan", b"-inf", b"9" * 400, b"1e999", b"", b"-1", b"0x1f", b"1_0", b"null", b"{", b"[]"]


@st.composite
def damaged(draw, content):
    """The bytes of a file after up to three accidents."""
    for _ in range(draw(st.integers(1, 3))):
        at, length = draw(st.integers(0, max(len(content) - 1, 0))), draw(st.integers(1, 400))
        piece = content[at : at + length]
        match draw(
            st.sampled_from(["cut", "head", "nul", "lose", "twice", "splice", "line", "lines", "number", "utf-16"])
        ):
            case "cut":
                content = content[:at]
            case "head":
                content = content[at:]
            case "nul":
                content = content[:at] + b"\0" * min(length, 64) + content[at + 10 :]
            case "lose":
                content = content[:at] + content[at + length :]
            case "twice":
                content = content[:at] + piece * 2 + content[at + length :]
            case "splice":
                content = content[:at] + draw(st.binary(max_size=30)) + content[at:]
            case "number":
                digit = next((place for place in range(at, len(content)) if content[place : place + 1].isdigit()), at)
                content = content[:digit] + draw(st.sampled_from(NUMBERS)) + content[digit + 1 :]
            case "utf-16":
                content = content.decode(errors="replace").encode("utf-16")
            case kind:
                lines = content.split(b"\n")
                place = at % len(lines)
                lines[place : place + 1] = [] if kind == "line" else [lines[place]] * 2
                content = b"\n".join(lines)
    return content


def reads_or_refuses(path, form):
    """Whether a damaged file is read to its last table, or refused in one line."""
    try:
        rec = ex.open(path, format=form)
    except ex.EsxparseError as error:
        return "\n" not in str(error)
    return form in (rec.format, None) and all(rec[name].collect().height > 0 for name in rec)
