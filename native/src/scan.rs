//! Lines of quoted short decimals to numbers, each written where the caller wants it.
//!
//! The plain Python twin is `esxparse/formats/esxtop/scan_twin.py`: what one does, the other does.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::number::{
    bytes_before_quote, decimal, is_printed, shape, short_decimal, trim, word_of, Word,
};

/// A place for one number. Threads that scan pieces of one file write to different places of the same table, so a place
/// is set without exclusive access to the table; that costs no more than a plain write.
#[repr(transparent)]
pub struct Slot(AtomicU64);

impl Slot {
    fn set(&self, number: f64) {
        self.0.store(number.to_bits(), Ordering::Relaxed);
    }
}

/// The numbers as places that can be shared; nobody else sees them meanwhile.
#[cfg(any(test, fuzzing))]
pub fn slots(numbers: &mut [f64]) -> &[Slot] {
    assert_eq!(align_of::<Slot>(), align_of::<f64>());
    // SAFETY: f64 and Slot have one size and, checked above, one alignment, and every bit pattern is a value of both;
    // the exclusive borrow lives as long as the slice made of it.
    unsafe { &*(std::ptr::from_mut(numbers) as *const [Slot]) }
}

/// What a scan tells besides the numbers it wrote. Rows and cells are counted from 0.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// For each line: offset of its first byte, offset after its last (line end not counted), number of cells.
    pub lines: Vec<i64>,
    /// For each wanted cell that is neither a number nor a word for one: row, cell, offset of its text, offset after it.
    pub odd: Vec<i64>,
    /// For each row with words in wanted cells, and each kind of them (0 no number, 1 yes or no): row, kind, how many
    /// they are, and of the first its cell, offset of its text, offset after it.
    pub words: Vec<i64>,
    /// For each column the shape of its first number: `UNKNOWN` where there is none, `MIXED` where shapes change too
    /// often to be told.
    pub shapes: Vec<u8>,
    /// For each number that is not of the shape of the one above it: row, cell, its shape.
    pub changes: Vec<i64>,
    /// For each column whether it has cells without a number.
    pub blank: Vec<u8>,
    /// Whether a number ends with a zero after its point: programs that shorten numbers leave none.
    pub padded: bool,
}

/// No number yet.
pub const UNKNOWN: u8 = 255;
/// More changes than are told.
pub const MIXED: u8 = 254;
/// Nothing but `"0.00"` so far, or no row: see `ZERO`.
const ASSUMED: u8 = 253;
/// What is added to the shape of a number without quotes.
pub const BARE: u8 = 16;
/// The shape of a cell with nothing in it, where a number in quotes should stand: with `BARE`.
pub const NOTHING: u8 = 11;
const TWO_DECIMALS: u8 = 2;
/// Changes of shape in one column that are told of.
pub const MOST_CHANGES: u8 = 64;

/// A cell found in a line: its text, whether more of the line follows, and where that begins.
struct Cell {
    start: usize,
    end: usize,
    next: usize,
    last: bool,
}

/// A cell that opens with the quote at `open`. The quote that closes it is followed by a comma or the end of the line:
/// esxtop escapes nothing. A cell that is never closed keeps its opening quote, so that its text, which may be cut in the
/// middle of a number, is no number.
fn quoted_cell(line: &[u8], open: usize) -> Cell {
    let start = open + 1;
    let mut from = start;
    while let Some(found) = line[from..].iter().position(|byte| *byte == b'"') {
        let quote = from + found;
        match line.get(quote + 1) {
            None => {
                return Cell {
                    start,
                    end: quote,
                    next: line.len(),
                    last: true,
                }
            }
            Some(b',') => {
                return Cell {
                    start,
                    end: quote,
                    next: quote + 2,
                    last: false,
                }
            }
            Some(_) => from = quote + 1,
        }
    }
    Cell {
        start: open,
        end: line.len(),
        next: line.len(),
        last: true,
    }
}

/// A bare cell ends at a comma, and at a quote where a number or a lone dash has come before it: release 6.5 prints
/// `    73.1"8.93"`, two cells without a comma between them.
fn bare_cell(line: &[u8], start: usize) -> Cell {
    for (offset, byte) in line[start..].iter().enumerate() {
        let at = start + offset;
        if *byte == b',' {
            return Cell {
                start,
                end: at,
                next: at + 1,
                last: false,
            };
        }
        if *byte == b'"' {
            let before = trim(&line[start..at]);
            if before.is_empty() {
                return quoted_cell(line, at);
            }
            if before == b"-" || decimal(before).is_some() {
                return Cell {
                    start,
                    end: at,
                    next: at,
                    last: false,
                };
            }
        }
    }
    Cell {
        start,
        end: line.len(),
        next: line.len(),
        last: true,
    }
}

fn any_cell(line: &[u8], start: usize) -> Cell {
    if line.get(start) == Some(&b'"') {
        quoted_cell(line, start)
    } else {
        bare_cell(line, start)
    }
}

#[inline(always)]
fn word_at(line: &[u8], at: usize) -> Option<u64> {
    let bytes: [u8; 8] = line.get(at..at + 8)?.try_into().ok()?;
    Some(u64::from_le_bytes(bytes))
}

/// A cell of at most eight bytes, quotes and comma included, and the number it writes.
///
/// Nine of ten cells of a capture are those of the row before: each column remembers one, and a comparison of one word
/// spares the parsing. What is remembered is true wherever the same bytes begin a cell.
#[derive(Clone, Copy)]
struct Seen {
    word: u64,
    value: f64,
    /// Bits to shift out of a word to have the cell's bytes left.
    shift: u32,
    length: u32,
}

const ZERO: Seen = Seen {
    word: u64::from_le_bytes(*b"\"0.00\",\0"),
    value: 0.0,
    shift: 8,
    length: 7,
};

/// What no line has: no cell is like it.
const NEVER: Seen = Seen {
    word: u64::from_le_bytes([b'\n'; 8]),
    value: 0.0,
    shift: 0,
    length: 0,
};

/// Where the numbers of a column go, and its last short cell.
struct Column {
    place: usize,
    step: usize,
    seen: Seen,
}

impl Column {
    /// A negative place is turned into an index that no slice has: `get_mut` then skips the cell.
    fn new(place: i64, step: i64) -> Self {
        match usize::try_from(place) {
            Ok(place) => Self {
                place,
                step: step as usize,
                seen: ZERO,
            },
            Err(_) => Self {
                place: usize::MAX,
                step: 0,
                seen: ZERO,
            },
        }
    }
}

/// A short quoted decimal: its value, its length with quotes and comma, and its shape.
struct Short {
    value: f64,
    length: usize,
    shape: u8,
    padded: bool,
}

/// The cell at `at` where it is a short quoted decimal with more cells after it. It is remembered where it fits.
#[inline(always)]
fn short_cell(line: &[u8], at: usize, seen: &mut Seen) -> Option<Short> {
    let head = word_at(line, at)?;
    if head & 0xff != u64::from(b'"') {
        return None;
    }
    let text = word_at(line, at + 1)?;
    let length = bytes_before_quote(text);
    let comma = 2 + length as usize;
    if length == 8 || line.get(at + comma) != Some(&b',') {
        return None;
    }
    let (value, point) = short_decimal(text, length)?;
    *seen = if comma < 8 {
        Seen {
            word: head,
            value,
            shift: 56 - 8 * comma as u32,
            length: comma as u32 + 1,
        }
    } else {
        // What was remembered may be of another shape.
        NEVER
    };
    Some(Short {
        value,
        length: comma + 1,
        shape: if point { TWO_DECIMALS } else { 0 },
        padded: point && (text >> (8 * (length - 1))) & 0xff == u64::from(b'0'),
    })
}

/// Number of cells from `at` on; none in an empty line.
fn count_cells(line: &[u8], mut at: usize) -> usize {
    let mut cells = 0;
    let mut more = !line.is_empty();
    while more {
        let cell = any_cell(line, at);
        at = cell.next;
        more = !cell.last;
        cells += 1;
    }
    cells
}

/// Passes over the cells at the start of `columns` that are like those before them; gives how many they are and where
/// the next begins. Most cells are such: this loop is what a capture is read with.
#[inline(always)]
fn scan_seen(
    line: &[u8],
    mut at: usize,
    row: usize,
    columns: &[Column],
    out: &[Slot],
) -> (usize, usize) {
    for (cells, column) in columns.iter().enumerate() {
        let seen = column.seen;
        match word_at(line, at) {
            Some(word) if (word ^ seen.word) << seen.shift == 0 => {
                if let Some(slot) = out.get(column.place.wrapping_add(row * column.step)) {
                    slot.set(seen.value);
                }
                at += seen.length as usize;
            }
            _ => return (cells, at),
        }
    }
    (columns.len(), at)
}

/// What is learnt of one row, until it is known whether it has all its cells: a row that lost one has all others under
/// wrong names.
#[derive(Default)]
struct Row {
    /// Cells whose number is of another shape than the one above it, and the shape that was.
    changes: Vec<(usize, u8)>,
    /// Of each kind of words: how many, and of the first its cell, start and end.
    words: [(i64, [i64; 3]); 2],
    padded: bool,
}

/// Where scanning writes to, but for the columns.
struct Scan<'a> {
    out: &'a [Slot],
    report: Report,
    row: Row,
    /// For each column the shape of its last number, and how often it changed: beside the columns, which stay small.
    shapes: Vec<u8>,
    told: Vec<u8>,
    /// Whether a row with all its cells has been met.
    begun: bool,
}

impl Scan<'_> {
    /// Remembers that a column's number is of this shape now.
    #[inline(always)]
    fn shaped(&mut self, cell: usize, shape: u8) {
        let last = &mut self.shapes[cell];
        if *last != shape && *last != MIXED {
            self.row.changes.push((cell, *last));
            *last = shape;
        }
    }

    /// The value of a cell that is no short decimal; what it is otherwise is told.
    fn slow_cell(
        &mut self,
        line: &[u8],
        place: (usize, usize, usize),
        column: &mut Column,
        cell: &Cell,
    ) -> f64 {
        let (row, number, base) = place;
        let text = &line[cell.start..cell.end];
        let unquoted = cell.start == 0 || line[cell.start - 1] != b'"';
        let where_it_is = [
            number as i64,
            (base + cell.start) as i64,
            (base + cell.end) as i64,
        ];
        // The bare numbers that ESXi 6.5 glues to the next cell have blanks before them.
        let glued = unquoted && !cell.last && cell.next == cell.end && !text.starts_with(b" ");
        if let Some(value) = decimal(text).filter(|_| !glued && is_printed(text)) {
            if trim(text) == b"-1" {
                self.unshaped(number, column);
            } else {
                let is = shape(text);
                self.shaped(number, is + if unquoted { BARE } else { 0 });
                self.row.padded |= (1..=9).contains(&is) && trim(text).ends_with(b"0");
            }
            column.seen = NEVER;
            return value;
        }
        let Some(word) = word_of(text) else {
            self.report.odd.push(row as i64);
            self.report.odd.extend(where_it_is);
            self.unshaped(number, column);
            return f64::NAN;
        };
        let kind = usize::from(word != Word::Absent);
        let (count, first) = &mut self.row.words[kind];
        *count += 1;
        if *count == 1 {
            *first = where_it_is;
        }
        match word {
            Word::Yes | Word::No => {
                self.unshaped(number, column);
                return if word == Word::Yes { 1.0 } else { 0.0 };
            }
            Word::Absent => {}
        }
        self.report.blank[number] = 1;
        let last = self.shapes[number];
        if unquoted && (last < BARE || last == ASSUMED && self.begun) {
            column.seen = NEVER;
            self.shaped(number, NOTHING + BARE);
        } else {
            self.unshaped(number, column);
        }
        f64::NAN
    }

    /// Remembers that there is no number of any shape yet, where nothing but this cell was met.
    fn unshaped(&mut self, cell: usize, column: &mut Column) {
        if self.shapes[cell] == ASSUMED && !self.begun {
            self.shaped(cell, UNKNOWN);
            column.seen = NEVER;
        }
    }

    /// Tells what was learnt of a row, or forgets it where the row does not have all its cells.
    fn end_row(&mut self, row: usize, whole: bool, columns: &mut [Column]) {
        for (cell, before) in self.row.changes.drain(..) {
            if !whole {
                self.shapes[cell] = before;
                continue;
            }
            let shape = self.shapes[cell];
            let first = &mut self.report.shapes[cell];
            match before {
                UNKNOWN => *first = shape,
                ASSUMED if !self.begun => *first = shape,
                ASSUMED if shape == TWO_DECIMALS => {
                    *first = TWO_DECIMALS;
                    self.report.padded = true;
                }
                _ => {
                    if before == ASSUMED {
                        *first = TWO_DECIMALS;
                        self.report.padded = true;
                    }
                    self.report
                        .changes
                        .extend([row as i64, cell as i64, i64::from(shape)]);
                    self.told[cell] += 1;
                    if self.told[cell] == MOST_CHANGES {
                        self.shapes[cell] = MIXED;
                    }
                }
            }
        }
        if whole {
            self.begun = true;
            self.report.padded |= self.row.padded;
        } else {
            // What they remember was met in this row alone, perhaps.
            for column in columns {
                column.seen = NEVER;
            }
        }
        self.row.padded = false;
        for (kind, (count, first)) in std::mem::take(&mut self.row.words).into_iter().enumerate() {
            if count > 0 {
                self.report.words.extend([row as i64, kind as i64, count]);
                self.report.words.extend(first);
            }
        }
    }
}

/// Scans one line (no line end in it) and gives the number of its cells; numbers go to their places.
fn scan_line(
    line: &[u8],
    row: usize,
    base: usize,
    columns: &mut [Column],
    scan: &mut Scan,
    count: bool,
) -> usize {
    let mut at = 0;
    let mut cells = 0;
    let mut more = !line.is_empty();
    while more {
        let (passed, next) = scan_seen(line, at, row, &columns[cells..], scan.out);
        at = next;
        cells += passed;
        let Some(column) = columns.get_mut(cells) else {
            break;
        };
        let slot = scan.out.get(column.place.wrapping_add(row * column.step));
        if let Some(short) = short_cell(line, at, &mut column.seen) {
            if let Some(slot) = slot {
                slot.set(short.value);
                // `"-1"` stands for what has no limit.
                if short.value.to_bits() == (-1.0_f64).to_bits() && short.shape == 0 {
                    scan.unshaped(cells, column);
                } else {
                    scan.shaped(cells, short.shape);
                    scan.row.padded |= short.padded;
                }
            }
            at += short.length;
        } else {
            let cell = any_cell(line, at);
            if let Some(slot) = slot {
                slot.set(scan.slow_cell(line, (row, cells, base), column, &cell));
            }
            at = cell.next;
            more = !cell.last;
        }
        cells += 1;
    }
    for column in columns.iter().skip(cells) {
        if let Some(slot) = scan.out.get(column.place.wrapping_add(row * column.step)) {
            slot.set(f64::NAN);
        }
    }
    if more && count {
        cells += count_cells(line, at);
    }
    cells
}

/// Whether a row has all its cells, and after them nothing but commas.
fn is_whole(line: &[u8], cells: usize, columns: usize) -> bool {
    let commas = line.iter().rev().take_while(|byte| **byte == b',').count();
    cells >= columns && commas >= cells - columns
}

/// The lines of `data`: offset of each and the line itself, without its line end.
fn lines(data: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut start = 0;
    std::iter::from_fn(move || {
        if start >= data.len() {
            return None;
        }
        let stop = memchr::memchr(b'\n', &data[start..]).map_or(data.len(), |found| start + found);
        let line = &data[start..stop];
        let ends = line.iter().rev().take_while(|byte| **byte == b'\r').count();
        let found = (start, &line[..line.len() - ends]);
        start = stop + 1;
        Some(found)
    })
}

/// Number of lines in `data`, and how many of them have at least `least` bytes.
pub fn count_lines(data: &[u8], least: usize) -> (usize, usize) {
    lines(data).fold((0, 0), |(all, rows), (_, line)| {
        (all + 1, rows + usize::from(line.len() >= least))
    })
}

/// Scans `data`, whole lines, and writes cell `j` of row `i` to `out[first[j] + i * step[j]]` (`first[j] < 0`: to
/// nowhere). A wanted cell that is missing or no number becomes NaN; yes and no become 1 and 0. A line of fewer than
/// `least` bytes is no row. Cells after the last of `first` are counted where `count` says so, and not looked at
/// otherwise.
pub fn scan(
    data: &[u8],
    first: &[i64],
    step: &[i64],
    out: &[Slot],
    least: usize,
    count: bool,
) -> Report {
    let mut columns: Vec<Column> = first
        .iter()
        .zip(step)
        .map(|(place, step)| Column::new(*place, *step))
        .collect();
    let mut scan = Scan {
        out,
        report: Report {
            shapes: vec![UNKNOWN; columns.len()],
            blank: vec![0; columns.len()],
            ..Report::default()
        },
        row: Row::default(),
        shapes: vec![ASSUMED; columns.len()],
        told: vec![0; columns.len()],
        begun: false,
    };
    let mut row = 0;
    for (start, line) in lines(data) {
        let cells = if line.len() >= least {
            let cells = scan_line(line, row, start, &mut columns, &mut scan, count);
            let whole = is_whole(line, cells, columns.len());
            scan.end_row(row, whole, &mut columns);
            row += 1;
            cells
        } else {
            count_cells(line, 0)
        };
        scan.report
            .lines
            .extend([start as i64, (start + line.len()) as i64, cells as i64]);
    }
    let ends = scan.shapes.iter().zip(&columns);
    for (first, (last, column)) in scan.report.shapes.iter_mut().zip(ends) {
        if *last == MIXED {
            *first = MIXED;
        } else if *last == ASSUMED && scan.begun && column.place != usize::MAX {
            *first = TWO_DECIMALS;
            scan.report.padded = true;
        }
    }
    scan.report
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // the numbers are to be exactly those
#[path = "scan/tests.rs"] // also where the fuzzed crate takes this file in
mod tests;
