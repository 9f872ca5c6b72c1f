"""The compiled reader of whole numbers and its Python twin agree, and read what `int` reads."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from esxparse.formats.fio import integers as chosen
from esxparse.formats.fio import integers_twin
from esxparse.formats.fio.integers_twin import Column

try:
    from esxparse import _native

    _native.read_integers  # noqa: B018  one built before it was there is none
except (ImportError, AttributeError):
    _native = None

READERS = [pytest.param(integers_twin, id="twin")]
if _native is not None:
    READERS.append(pytest.param(_native, id="compiled"))

LOW, HIGH = -(1 << 63), (1 << 63) - 1


def column(out, low=LOW, high=HIGH, *, hexadecimal=False, times=1, over=1):
    return Column(low, high, hexadecimal, times, over, out)


def result(module, data, columns):
    """Lines, odd lines as row and text, and columns that changed."""
    lines, odd, changed = module.read_integers(data, columns)
    return lines, [(row, data[start:end]) for row, start, end in struct.iter_unpack("=3q", odd)], changed


def whole(module, data, width, room=None):
    """The numbers of the lines that are not odd, and the result."""
    rows = module.number_of_lines(data) if room is None else room
    outs = [np.full(rows, 7, dtype=np.int64) for _ in range(width)]
    found = result(module, data, [column(out) for out in outs])
    odd = {row for row, _ in found[1]}
    return [row for place, row in enumerate(np.column_stack(outs)[: found[0]].tolist()) if place not in odd], found


@pytest.mark.needs("native")
def test_the_compiled_reader_is_used_where_it_was_built():
    assert chosen.COMPILED
    assert chosen.read_integers is _native.read_integers


@pytest.mark.parametrize("module", READERS)
class TestEach:
    def test_lines_are_read(self, module):
        data = b"".join(b"%d, %d, -%d\n" % (n, n * 1_000_003, n) for n in range(1000))
        assert whole(module, data, 3) == ([[n, n * 1_000_003, -n] for n in range(1000)], (1000, [], 0))

    @pytest.mark.parametrize("digits", range(1, 19))
    def test_numbers_of_every_length(self, module, digits):
        numbers = [10**digits - 1, 10 ** (digits - 1), int("123456789012345678"[:digits])] * 100
        data = b"".join(b"%d, 1\r\n" % number for number in numbers)
        assert whole(module, data, 2) == ([[number, 1] for number in numbers], (300, [], 0))

    def test_a_last_line_without_an_end(self, module):
        assert whole(module, b"1, 2\n3, 4", 2) == ([[1, 2], [3, 4]], (2, [], 0))
        assert [module.number_of_lines(data) for data in (b"", b"\n", b"a", b"a\n", b"a\r\n\r\nb")] == [0, 1, 1, 1, 3]

    @pytest.mark.parametrize("place", [0, 1, 150, 299])
    @pytest.mark.parametrize(
        "text",
        [
            *(b"", b"\r", b"1", b"1, 2, 3", b"1,2", b" 1, 2", b"1, 2 ", b"+1, 2", b"1, 0x2", b"--1, 2", b"1, -"),
            *(b"1, 2\r\r", b"1, 1234567890123456789", b"1, \xff", b"1, 2,", b"1.0, 2", b"\0\0\0"),
        ],
    )
    def test_an_odd_line_is_told(self, module, place, text):
        lines = [b"%d, 5" % n for n in range(300)]
        lines[place] = text
        read, found = whole(module, b"\n".join([*lines, b""]), 2)
        assert found == (300, [(place, text)], 0)
        assert read == [[n, 5] for n in range(300) if n != place]

    def test_what_numbers_become(self, module):
        data = b"6004, 1500, 3, 0x2003\n5, 1501, 2, ffff\n" * 100
        floats, whole_numbers, small, priority = np.zeros(200), np.zeros(200, np.int64), np.zeros(200, np.uint8), None
        priority = np.zeros(200, np.int64)
        columns = [column(floats, over=1000), column(whole_numbers, times=1000), column(small, 0, 3)]
        assert result(module, data, [*columns, column(priority, hexadecimal=True)]) == (200, [], 0)
        assert floats[:2].tolist() == [6.004, 0.005]
        assert whole_numbers[:2].tolist() == [1_500_000, 1_501_000]
        assert small[-2:].tolist() == [3, 2]
        assert priority[-2:].tolist() == [0x2003, 0xFFFF]

    def test_a_column_of_one_number_that_changes(self, module):
        lines = [b"%d, 4096, 0" % n for n in range(300)]
        out = np.zeros(300, dtype=np.int64)
        columns = [column(out), column(4096), column(0)]
        assert result(module, b"\n".join(lines), columns) == (300, [], 0)
        assert out.tolist() == list(range(300))
        lines[200] = b"200, 8192, 1"
        assert result(module, b"\n".join(lines), columns) == (200, [], 0b110)
        # It has no other number when the line is none.
        columns[2] = column(0, 0, 0)
        assert result(module, b"\n".join(lines), columns) == (300, [(200, b"200, 8192, 1")], 0)

    def test_lines_without_a_place_are_not_read(self, module):
        for room in (0, 1, 130):
            assert whole(module, b"1, 2\n" * 500, 2, room) == ([[1, 2]] * room, (room, [], 0))

    def test_what_cannot_be_written_to_is_refused(self, module):
        for width in (0, 1, 17):
            with pytest.raises(ValueError, match="2 to 16"):
                module.read_integers(b"1\n", [column(0)] * width)
        closed = np.zeros(1, dtype=np.int64)
        closed.flags.writeable = False
        with pytest.raises(ValueError, match=r"writable|read-only"):
            module.read_integers(b"1, 1\n", [column(closed), column(1)])


FRAGMENTS = [
    *(b", ", b",", b"\n", b"\r\n", b" ", b"-", b"0x", b"\r", b"x", b"\xff", b"\0"),
    *(b"0", b"1", b"007", b"4096", b"12345678", b"123456789", b"1234567890123", b"9" * 18, b"9" * 19, b"abc"),
    *(b"1, 2, 3\n", b"70000, 4096, 0\n", b"-1, 2, 3\r\n", b"1000, 52341, 0, 4096\n", b"5, 6\n"),
]
BLOCKS = st.tuples(st.sampled_from(FRAGMENTS), st.sampled_from([1, 1, 1, 2, 30])).map(lambda block: block[0] * block[1])
DATA = st.one_of(st.binary(max_size=200), st.lists(BLOCKS, max_size=40).map(b"".join))
SPECIFICATIONS = st.lists(
    st.tuples(
        st.sampled_from([LOW, -5, 0, 1, 1 << 40]),
        st.sampled_from([HIGH, 0, 3, 5000, 1 << 31]),
        st.sampled_from([False, False, False, True]),
        st.sampled_from([1, 1000, 1024]),
        st.sampled_from([1, 1000, 10**6]),
        st.sampled_from([np.float64, np.int64, np.uint8, 1, 3]),
    ),
    min_size=2,
    max_size=6,
)


@pytest.mark.needs("native")
@given(DATA, SPECIFICATIONS, st.integers(0, 3))
@settings(deadline=None, max_examples=examples(1500))
def test_compiled_and_twin_agree_on_anything(data, specifications, missing):
    rows = integers_twin.number_of_lines(data)
    assert _native.number_of_lines(data) == rows
    rows = max(rows - missing, 0)
    found, written = [], []
    for module in (_native, integers_twin):
        columns = [
            Column(*rest, out if isinstance(out, int) else np.zeros(rows, dtype=out)) for *rest, out in specifications
        ]
        found.append(result(module, data, columns))
        written.append([one.out for one in columns if not isinstance(one.out, int)])
    assert found[0] == found[1]
    lines, odd, changed = found[0]
    sound = np.setdiff1d(np.arange(lines), [row for row, _ in odd]) if not changed else []
    for compiled, twin in zip(*written, strict=True):
        assert compiled[sound].tobytes() == twin[sound].tobytes()


@given(
    st.integers(2, 8).flatmap(
        lambda width: st.lists(
            st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=width, max_size=width), min_size=1, max_size=300
        )
    ),
    st.sampled_from(["\n", "\r\n"]),
)
@settings(deadline=None, max_examples=examples(200))
def test_what_is_written_is_read(rows, line_end):
    data = "".join(", ".join(map(str, row)) + line_end for row in rows).encode()
    for param in READERS:
        assert whole(param.values[0], data, len(rows[0])) == (rows, (len(rows), [], 0))


BINS = [
    ('{"7" : 1,\n\t"80":0 }', "0\n         ", ([7, 80], [1, 0])),
    ('{"5": 6}', "0       ", ([5], [6])),
    ('{\r\n"5": 6\r\n\r\n}', "0\r\n\r\n\r\n ", ([5], [6])),
    ("{}", "0 ", ([], [])),
    ('{"999999999999999999": 123456789012345678}', f"0{' ' * 41}", ([999999999999999999], [123456789012345678])),
    *(
        (text, text, ([], []))
        for text in (
            "{", '{"1":2', '{"1":2,}', '{"1":2 "3":4}', '{"1":-2}', '{"1":2.5}', '{"01":2}', '{"1":02}',
            '{"2":1,"2":1}', '{"a":1}', "{1:2}", '{"1":"2"}', '{"1":1234567890123456789}', '{"1":\u00a02}',
            '{"\u0661":2}',
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("module", READERS)
@pytest.mark.parametrize(("text", "left", "pairs"), BINS)
def test_bins_are_taken_out_and_all_else_stays_where_it_is(module, text, left, pairs):
    slim, *numbers = module.take_bins(f'{{"a": {{}}, "bins" : {text}, "b": 1}}'.encode())
    assert slim.decode() == f'{{"a": {{}}, "bins" : {left}, "b": 1}}'
    keys, values, ends = (np.frombuffer(part, np.int64).tolist() for part in numbers)
    assert (keys, values) == pairs
    assert ends == ([len(keys)] if left != text else [])


@pytest.mark.parametrize("module", READERS)
@pytest.mark.parametrize("text", ['"bins"', '"bins": 0', '"bins": [1]', '{"x": "bins", "y": {}}'])
def test_nothing_is_taken_out_where_the_number_of_an_object_could_be_any_number(module, text):
    assert module.take_bins(text.encode()) is None
    assert module.take_bins(b'"bins": {"1": 2}, ' + text.encode()) is None


@pytest.mark.parametrize("module", READERS)
def test_more_bins_than_an_object_has_characters(module):
    slim, *_, ends = module.take_bins(b'"bins": {} ' * 101)
    assert slim == b"".join(b'"bins": %-2d ' % number for number in range(100)) + b'"bins": {} '
    assert len(ends) == 100 * 8


@pytest.mark.needs("native")
@settings(max_examples=examples(200))
@given(
    st.lists(st.sampled_from(['"bins"', ":", "{", "}", '"7"', '"80"', ",", " ", "\n", "\r", "1", "02"]), max_size=30)
)
def test_both_readers_of_bins_give_the_same(parts):
    text = "".join(parts).encode()
    assert _native.take_bins(text) == integers_twin.take_bins(text)
