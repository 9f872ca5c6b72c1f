//! Cells of a line: where each ends, and short quoted decimals, the form of nearly all of them.

use crate::number::{bytes_before_quote, decimal, short_decimal, trim};

/// A cell found in a line: its text, whether more of the line follows, and where that begins.
pub struct Cell {
    pub start: usize,
    pub end: usize,
    pub next: usize,
    pub last: bool,
}

/// A cell that opens with the quote at `open`. The quote that closes it is followed by a comma or the end of the line:
/// esxtop escapes nothing. A cell that is never closed keeps its opening quote: its text may be cut in the middle of a
/// number, and must not be read as one.
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

pub fn any_cell(line: &[u8], start: usize) -> Cell {
    if line.get(start) == Some(&b'"') {
        quoted_cell(line, start)
    } else {
        bare_cell(line, start)
    }
}

/// Number of cells from `at` on; none in an empty line.
pub fn count_cells(line: &[u8], mut at: usize) -> usize {
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
pub struct Seen {
    word: u64,
    pub value: f64,
    /// Bits to shift out of a word to have the cell's bytes left.
    shift: u32,
    pub length: u32,
}

impl Seen {
    /// Whether the cell at `at` is this one.
    #[inline(always)]
    pub fn is_at(self, line: &[u8], at: usize) -> bool {
        word_at(line, at).is_some_and(|word| (word ^ self.word) << self.shift == 0)
    }
}

/// What no line has: no cell is like it.
pub const NEVER: Seen = Seen {
    word: u64::from_le_bytes([b'\n'; 8]),
    value: 0.0,
    shift: 0,
    length: 0,
};

/// A short quoted decimal: its value, its length with quotes and comma, and its shape.
pub struct Short {
    pub value: f64,
    pub length: usize,
    pub shape: u8,
    pub padded: bool,
}

/// The cell at `at` where it is a short quoted decimal with more cells after it. It is remembered where it fits.
#[inline(always)]
pub fn short_cell(line: &[u8], at: usize, seen: &mut Seen) -> Option<Short> {
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
        shape: if point { 2 } else { 0 },
        padded: point && (text >> (8 * (length - 1))) & 0xff == u64::from(b'0'),
    })
}
