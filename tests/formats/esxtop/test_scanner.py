"""The compiled byte scanner, its Python twin, and the standard library's csv.reader agree."""

from __future__ import annotations

import csv
import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from esxparse.formats.esxtop import scan as chosen
from esxparse.formats.esxtop import scan_twin

try:
    from esxparse import _native
except ImportError:
    _native = None

SCANNERS = [pytest.param(scan_twin, id="twin")]
if _native is not None:
    SCANNERS.append(pytest.param(_native, id="compiled"))


def scanned(module, data: bytes, cells: int, wanted=None, least=0, count=True):
    """Numbers (one list per line), lines and odd cells."""
    return everything(module, data, cells, wanted, least, count)[:3]


def everything(module, data: bytes, cells: int, wanted=None, least=0, count=True, *, others=-1):
    """Numbers (one list per line), lines, odd cells, absent numbers, shapes, their changes, blank columns, padded."""
    _, rows = module.count_lines(data, least)
    wanted = range(cells) if wanted is None else wanted
    first = np.full(cells, others, dtype=np.int64)
    first[list(wanted)] = np.arange(len(wanted))
    step = np.full(cells, len(wanted), dtype=np.int64)
    out = np.full(rows * len(wanted), -7.0)
    lines, odd, absent, shapes, changes, blank, padded = module.scan(data, first, step, out, least, count)
    numbers = out.reshape(rows, len(wanted)).tolist() if len(wanted) else [[] for _ in range(rows)]
    return (
        numbers,
        list(struct.iter_unpack("=3q", lines)),
        [(line, cell, data[start:end]) for line, cell, start, end in struct.iter_unpack("=4q", odd)],
        [(*numbers, data[start:end]) for *numbers, start, end in struct.iter_unpack("=5q", absent)],
        list(shapes),
        list(struct.iter_unpack("=3q", changes)),
        list(blank),
        padded,
    )


def bits(rows):
    return [[struct.pack("=d", value) if not math.isnan(value) else "nan" for value in row] for row in rows]


@pytest.mark.needs("native")
def test_the_compiled_scanner_is_used_where_it_was_built():
    assert chosen.COMPILED
    assert chosen.scan is _native.scan


@pytest.mark.parametrize("module", SCANNERS)
class TestEach:
    def test_plain_cells(self, module):
        numbers, lines, odd = scanned(module, b'"0.00","12.34","-1","123456789.25","7"\n"1","2","3","4","5"', 5)
        assert numbers == [[0.0, 12.34, -1.0, 123456789.25, 7.0], [1, 2, 3, 4, 5]]
        assert [cells for _, _, cells in lines] == [5, 5]
        assert odd == []

    def test_a_number_glued_to_a_quote_is_a_cell_of_its_own(self, module):
        numbers, lines, odd = scanned(module, b'"0.00",    68.5"8.02","89.84",   -"1.00",    73.9\r\n', 7)
        assert numbers[0][:4] == [0.0, 68.5, 8.02, 89.84]
        assert math.isnan(numbers[0][4])
        assert numbers[0][5:] == [1.0, 73.9]
        assert lines[0][2] == 7
        assert odd == []

    def test_bare_text_keeps_its_quotes(self, module):
        numbers, lines, odd = scanned(module, b'disk of 5",2,x"y\n', 3)
        assert lines[0][2] == 3
        assert numbers[0][1] == 2.0
        assert odd == [(0, 0, b'disk of 5"'), (0, 2, b'x"y')]

    def test_quotes_inside_a_cell_do_not_close_it(self, module):
        numbers, _, odd = scanned(module, b'"1","a "b", c","2"\n', 3)
        assert numbers[0][0] == 1.0
        assert odd[0] == (0, 1, b'a "b')

    def test_a_cell_cut_before_its_closing_quote_is_no_number(self, module):
        numbers, _, odd = scanned(module, b'"1.25","73', 2)
        assert numbers[0][0] == 1.25
        assert math.isnan(numbers[0][1])
        assert odd == [(0, 1, b'"73')]

    def test_short_long_and_blank_lines(self, module):
        numbers, lines, odd = scanned(module, b'"1","2"\n\n"3","4","5",\n', 3)
        assert numbers[0][:2] == [1.0, 2.0]
        assert math.isnan(numbers[0][2])
        assert all(math.isnan(value) for value in numbers[1])
        assert numbers[2] == [3.0, 4.0, 5.0]
        assert [cells for _, _, cells in lines] == [2, 0, 4]
        assert odd == []

    def test_unwanted_cells_are_passed_over_whatever_they_hold(self, module):
        numbers, _, odd = scanned(module, b'"no","0.00","x","5.25","y"\n', 5, wanted=[3])
        assert numbers == [[5.25]]
        assert odd == []

    @pytest.mark.parametrize("text", ["", " ", "-", "nan", "-NaN", "inf", "n/a", "1.#QNAN"])
    def test_words_for_no_number_are_counted(self, module, text):
        numbers, _, odd, absent, *_, blank, _ = everything(module, f'"1","{text}","2","{text}"\n'.encode(), 4)
        assert [numbers[0][0], numbers[0][2]] == [1.0, 2.0]
        assert math.isnan(numbers[0][1])
        assert odd == []
        assert absent == [(0, 2, 1, text.encode())]
        assert blank == [0, 1, 0, 1]

    def test_yes_and_no_are_odd_cells_with_numbers(self, module):
        numbers, _, odd, absent, *_, blank, _ = everything(module, b'"Yes","0","off"\n"no","1","TRUE"\n', 3)
        assert numbers == [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]
        assert odd == [(0, 0, b"Yes"), (0, 2, b"off"), (1, 0, b"no"), (1, 2, b"TRUE")]
        assert absent == []
        assert blank == [0, 0, 0]

    def test_a_bare_number_before_a_quote_is_odd_without_blanks_before_it(self, module):
        numbers, lines, odd = scanned(module, b'"1.00",5","2.00","3.00"\n', 4)
        assert lines[0][2] == 4
        assert odd == [(0, 1, b"5"), (0, 2, b',"2.00')]
        assert numbers[0][3] == 3.0

    def test_shapes_are_those_of_whole_rows(self, module):
        rows = [
            '"0.00","5","-1",   -',
            '"1.5","7","4",    73.1',
            '"9","9"',
            '"2.25",,"",    70.2',
            '"3.00","12","1e5",   -',
        ]
        *_, shapes, changes, _, padded = everything(module, "\n".join(rows).encode(), 4)
        assert shapes == [2, 0, 0, 17]
        assert changes == [(1, 0, 1), (3, 0, 2), (3, 1, 27), (4, 1, 0), (4, 2, 10)]
        assert padded
        assert not everything(module, b'"1.5","20","0.25"\n', 3)[-1]

    def test_carriage_returns_belong_to_the_line_end(self, module):
        numbers, lines, odd = scanned(module, b'"1","2"\r\r\n"3","4"\r\r\r\n', 2)
        assert numbers == [[1.0, 2.0], [3.0, 4.0]]
        assert [(start, end) for start, end, _ in lines] == [(0, 7), (10, 17)]
        assert odd == []

    @pytest.mark.parametrize(
        "text", ["1_000", "0x1f", "1e", "1.2.3", "1 2", "1e999", "٣", "00", "007", "01.25", "12.", ".5", "+1", "9" * 21]
    )
    def test_what_is_no_finite_decimal_as_programs_print_it_is_odd(self, module, text):
        data = f'"{text}","1"\n'.encode()
        numbers, _, odd = scanned(module, data, 2)
        assert math.isnan(numbers[0][0])
        assert odd == [(0, 0, text.encode())]

    def test_places_beyond_the_end_are_passed_over(self, module):
        out = np.zeros(1)
        module.scan(b'"1","2"\n"3","4"\n', np.array([0, 1]), np.array([1, 1]), out, 0, True)
        assert out.tolist() == [1.0]

    def test_first_and_step_of_two_lengths_are_refused(self, module):
        with pytest.raises(ValueError, match="one length"):
            module.scan(b"", np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64), np.zeros(1), 0, True)

    def test_lines_are_counted_with_and_without_a_last_line_end(self, module):
        counts = [module.count_lines(data, 1) for data in (b"", b"\n", b"a", b"a\n", b"a\r\n\r\nb")]
        assert counts == [(0, 0), (1, 0), (1, 1), (1, 1), (3, 2)]

    def test_a_line_too_short_for_its_cells_is_no_row(self, module):
        data = b'"1","2"\r\n\n;;\n"3","4"'
        out = np.zeros(4)
        lines, odd, *_ = module.scan(data, np.array([0, 1]), np.array([2, 2]), out, 4, True)
        assert out.tolist() == [1.0, 2.0, 3.0, 4.0]
        assert list(struct.iter_unpack("=3q", lines)) == [(0, 7, 2), (9, 9, 0), (10, 12, 1), (13, 20, 2)]
        assert odd == b""

    def test_a_cell_that_only_begins_like_the_one_before_it(self, module):
        data = b'"1.25","7","0"\n"1.25","77","0"\n"1.2","7","0"\n"1.25"x,"7","0"\n'
        numbers, _, odd = scanned(module, data, 3)
        assert numbers[:3] == [[1.25, 7.0, 0.0], [1.25, 77.0, 0.0], [1.2, 7.0, 0.0]]
        assert odd == [(3, 0, b'1.25"x,"7')]


plain_numbers = st.one_of(
    st.just("0.00"),
    st.integers(-(10**9), 10**12).map(str),
    st.decimals(-(10**9), 10**9, places=2).map(str),
    st.decimals(-1000, 1000, places=5).map(lambda number: format(number, "f")),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)


@given(st.lists(st.lists(plain_numbers, min_size=4, max_size=4), min_size=1, max_size=5), st.booleans())
@settings(deadline=None, max_examples=examples(300))
def test_clean_input_is_read_as_csv_reader_and_float_read_it(rows, last_line_end):
    data = "\n".join(",".join(f'"{cell}"' for cell in row) for row in rows) + ("\n" if last_line_end else "")
    expected = [[float(cell) for cell in row] for row in csv.reader(data.splitlines())]
    for param in SCANNERS:
        numbers, lines, odd = scanned(param.values[0], data.encode(), 4)
        assert bits(numbers) == bits(expected)
        assert [cells for _, _, cells in lines] == [4] * len(rows)
        assert odd == []


fragments = st.sampled_from(
    [
        b'"',
        b",",
        b"\n",
        b"\r\n",
        b" ",
        b"-",
        b".",
        b"0.00",
        b'"0.00",',
        b'"12.34",',
        b'"-1",',
        b"73.1",
        b"e5",
        b"nan",
        b"\x00",
        b"\xe6\x97",
        b'"",',
        b'"yes",',
        b'"7",',
        b'"1.5",',
        b'"007",',
        b",",
    ]
)


@pytest.mark.needs("native")
@given(
    st.one_of(st.binary(max_size=80), st.lists(fragments, max_size=30).map(b"".join)),
    st.integers(0, 6),
    st.integers(0, 9),
    st.booleans(),
    st.data(),
)
@settings(deadline=None, max_examples=examples(1500))
def test_compiled_and_twin_agree_on_anything(data, cells, least, count, draw):
    wanted = draw.draw(st.lists(st.integers(0, max(cells - 1, 0)), unique=True, max_size=cells)) if cells else []
    left, right = (
        everything(_native, data, cells, wanted, least, count),
        everything(scan_twin, data, cells, wanted, least, count),
    )
    assert bits(left[0]) == bits(right[0])
    assert left[1:] == right[1:]


@pytest.mark.needs("native")
@given(
    st.lists(st.sampled_from([b'"0.00"', b'"12.34"', b'""', b'"-1"', b'"1234567.25"']), min_size=60, max_size=60),
    st.lists(st.tuples(st.integers(0, 59), fragments), max_size=2),
    st.sets(st.integers(0, 59), max_size=3),
)
@settings(deadline=None, max_examples=examples(600))
def test_many_cells_that_nobody_wants_are_passed_over_as_one_by_one(cells, odd, wanted):
    for place, fragment in odd:
        cells[place] = fragment
    data = b",".join(cells) + b"\n" + b",".join(reversed(cells)) + b"\n"
    left, right = (everything(module, data, 60, sorted(wanted)) for module in (_native, scan_twin))
    assert bits(left[0]) == bits(right[0])
    assert left[1:] == right[1:]


@pytest.mark.search
@pytest.mark.needs("native")
@given(
    st.lists(
        st.sampled_from([b'"0.00"', b'"12.34"', b'"7"', b'"-1"', b'"100"', b'"1234567.25"', b'"123456789012345678"']),
        min_size=60,
        max_size=60,
    ),
    st.lists(
        st.tuples(
            st.integers(0, 239),
            fragments
            | st.sampled_from([b'"1.55"', b'"-7"', b'"-1.00"', b'"+1"', b'".25"', b'"1..25"', b'"00.5"', b'"1-1"'])
            | st.integers(0, 10**25).map(b'"%d"'.__mod__),
        ),
        max_size=4,
    ),
    st.sets(st.integers(0, 59), max_size=3),
)
@settings(deadline=None, max_examples=examples(1000))
def test_numbers_that_are_not_kept_are_judged_as_those_that_are(cells, odd, kept):
    rows = 4 * cells
    for place, fragment in odd:
        rows[place] = fragment
    data = b"".join(b",".join(rows[begin : begin + 60]) + b"\n" for begin in range(0, 240, 60))
    fast, slow = (
        everything(module, data, 60, sorted(kept), others=scan_twin.JUDGED) for module in (_native, scan_twin)
    )
    assert bits(fast[0]) == bits(slow[0])
    assert fast[1:] == slow[1:] == everything(_native, data, 60)[1:]


@pytest.mark.needs("native")
@given(
    st.lists(
        st.sampled_from([b'"0.00"', b'"12.34"', b'"7"', b'"-1"', b'"100"', b'"12345.25"', b'"123456789.50"']),
        min_size=60,
        max_size=60,
    ),
    st.lists(st.tuples(st.integers(0, 239), fragments | st.integers(0, 10**12).map(b'"%d"'.__mod__)), max_size=4),
    st.sets(st.integers(0, 59)),
)
@settings(deadline=None, max_examples=examples(1000))
def test_cells_read_together_are_those_read_one_by_one(cells, odd, unwanted):
    rows = 4 * cells
    for place, fragment in odd:
        rows[place] = fragment
    data = b"".join(b",".join(rows[begin : begin + 60]) + b"\n" for begin in range(0, 240, 60))
    wanted = sorted(set(range(60)) - unwanted)
    fast, slow = (everything(module, data, 60, wanted) for module in (_native, scan_twin))
    assert bits(fast[0]) == bits(slow[0])
    assert fast[1:] == slow[1:]
