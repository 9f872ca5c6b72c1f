"""What happens to text files: cut, zeroed, lines lost and doubled, bytes of something else inside."""

from __future__ import annotations

from hypothesis import strategies as st

import esxparse as ex


@st.composite
def damaged(draw, text):
    """The bytes of a text after up to three accidents."""
    content = text.encode(draw(st.sampled_from(["utf-8", "utf-8", "utf-16"])), errors="replace")
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, max(len(content) - 1, 0)))
        kind = draw(st.sampled_from(["cut", "zeros", "lost", "doubled", "bytes", "digits"]))
        if kind == "cut":
            content = content[:place]
        elif kind == "zeros":
            content = content[:place] + b"\0" * draw(st.integers(1, 64)) + content[place + 16 :]
        elif kind == "bytes":
            content = content[:place] + draw(st.binary(max_size=16)) + content[place:]
        elif kind == "digits":
            content = content[:place] + b"9" * draw(st.integers(1, 400)) + content[place:]
        else:
            lines = content.split(b"\n")
            line = place % len(lines)
            lines[line : line + 1] = [] if kind == "lost" else [lines[line]] * 2
            content = b"\n".join(lines)
    return content


@st.composite
def spliced(draw, document):
    """A document of which a piece is cut out, doubled, or replaced by NULs or noise; or that ends there."""
    begin = draw(st.integers(0, len(document)))
    end = draw(st.integers(begin, min(len(document), begin + 400)))
    splice = draw(st.sampled_from([b"", b"\0" * 40, document[begin:end] * 2]) | st.binary(max_size=30))
    return document[:begin] + splice + (document[end:] if draw(st.booleans()) else b"")


def reads_or_refuses(path, form):
    """Whether a damaged file is read to its last table, or refused in one line."""
    try:
        rec = ex.open(path, format=form)
    except ex.EsxparseError as error:
        return "\n" not in str(error)
    return rec.format == form and all(rec[name].collect().height > 0 for name in rec)
