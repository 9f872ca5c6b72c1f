//! Lines of quoted short decimals to numbers, each written where the caller wants it.
//!
//! The plain Python twin is `esxparse/formats/esxtop/scan_twin.py`: what one does, the other does.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::number::{bytes_before_quote, decimal, short_decimal, trim};

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

/// What a scan tells besides the numbers it wrote.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// For each line: offset of its first byte, offset after its last (line end not counted), number of cells.
    pub lines: Vec<i64>,
    /// For each wanted cell that is no number: row, cell, offset of its text, offset after its text.
    pub odd: Vec<i64>,
}

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

/// The cell at `at` where it is a short quoted decimal with more cells after it: its value and its length. It is
/// remembered where it fits.
#[inline(always)]
fn short_cell(line: &[u8], at: usize, seen: &mut Seen) -> Option<(f64, usize)> {
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
    let value = short_decimal(text, length)?;
    if comma < 8 {
        *seen = Seen {
            word: head,
            value,
            shift: 56 - 8 * comma as u32,
            length: comma as u32 + 1,
        };
    }
    Some((value, comma + 1))
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

/// Scans one line (no line end in it) and gives the number of its cells; numbers go to `out`.
fn scan_line(
    line: &[u8],
    row: usize,
    base: usize,
    columns: &mut [Column],
    out: &[Slot],
    odd: &mut Vec<i64>,
    count: bool,
) -> usize {
    let mut at = 0;
    let mut cells = 0;
    let mut more = !line.is_empty();
    while more {
        let (passed, next) = scan_seen(line, at, row, &columns[cells..], out);
        at = next;
        cells += passed;
        let Some(column) = columns.get_mut(cells) else {
            break;
        };
        let slot = out.get(column.place.wrapping_add(row * column.step));
        if let Some((value, length)) = short_cell(line, at, &mut column.seen) {
            if let Some(slot) = slot {
                slot.set(value);
            }
            at += length;
        } else {
            let cell = any_cell(line, at);
            if let Some(slot) = slot {
                let value = decimal(&line[cell.start..cell.end]).unwrap_or(f64::NAN);
                slot.set(value);
                if value.is_nan() {
                    odd.extend([
                        row as i64,
                        cells as i64,
                        (base + cell.start) as i64,
                        (base + cell.end) as i64,
                    ]);
                }
            }
            at = cell.next;
            more = !cell.last;
        }
        cells += 1;
    }
    for column in columns.iter().skip(cells) {
        if let Some(slot) = out.get(column.place.wrapping_add(row * column.step)) {
            slot.set(f64::NAN);
        }
    }
    if more && count {
        cells += count_cells(line, at);
    }
    cells
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
        let found = (start, line.strip_suffix(b"\r").unwrap_or(line));
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
/// nowhere). A wanted cell that is missing or no number becomes NaN. A line of fewer than `least` bytes is no row.
/// Cells after the last of `first` are counted where `count` says so, and not looked at otherwise.
pub fn scan(
    data: &[u8],
    first: &[i64],
    step: &[i64],
    out: &[Slot],
    least: usize,
    count: bool,
) -> Report {
    let mut report = Report::default();
    let mut columns: Vec<Column> = first
        .iter()
        .zip(step)
        .map(|(place, step)| Column::new(*place, *step))
        .collect();
    let mut row = 0;
    for (start, line) in lines(data) {
        let cells = if line.len() >= least {
            row += 1;
            scan_line(
                line,
                row - 1,
                start,
                &mut columns,
                out,
                &mut report.odd,
                count,
            )
        } else {
            count_cells(line, 0)
        };
        report
            .lines
            .extend([start as i64, (start + line.len()) as i64, cells as i64]);
    }
    report
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // the numbers are to be exactly those
mod tests;
