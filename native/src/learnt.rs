//! What a scan learns besides numbers: lines, cells that hold none, and how the numbers of each column are written.

use std::ops::Range;

use crate::cells::{Cell, Seen, Short, NEVER};
use crate::judge::{judge, Expected, Judged};
use crate::number::{decimal, is_printed, shape, trim, word_of, Word};

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

/// What is learnt row after row.
pub struct Learnt {
    report: Report,
    row: Row,
    /// For each column the shape of its last number, and how often it changed: beside the columns, which stay small.
    shapes: Vec<u8>,
    expected: Expected,
    told: Vec<u8>,
    /// Whether a row with all its cells has been met.
    begun: bool,
}

impl Learnt {
    pub fn new(columns: usize) -> Self {
        Self {
            report: Report {
                shapes: vec![UNKNOWN; columns],
                blank: vec![0; columns],
                ..Report::default()
            },
            row: Row::default(),
            shapes: vec![ASSUMED; columns],
            expected: Expected::new(columns),
            told: vec![0; columns],
            begun: false,
        }
    }

    /// Tells of a line, which begins at `start`.
    pub fn line(&mut self, start: usize, line: &[u8], cells: usize) {
        let ends = [start as i64, (start + line.len()) as i64, cells as i64];
        self.report.lines.extend(ends);
    }

    /// Remembers the shape of a short cell.
    #[inline(always)]
    pub fn short_cell(&mut self, number: usize, short: &Short, seen: &mut Seen) {
        // `"-1"` stands for what has no limit.
        if short.value.to_bits() == (-1.0_f64).to_bits() && short.shape == 0 {
            self.unshaped(number, seen);
        } else {
            self.shaped(number, short.shape);
            self.row.padded |= short.padded;
        }
    }

    /// Passes over cells whose numbers are kept nowhere, as far as they are like those above them.
    #[inline(always)]
    pub fn judge(&mut self, line: &[u8], at: usize, cells: Range<usize>) -> Judged {
        // The first row says what is expected.
        let cells = if self.begun { cells } else { 0..0 };
        let judged = judge(line, at, cells, &self.expected);
        self.row.padded |= judged.padded;
        judged
    }

    /// Remembers that a column's number is of this shape now.
    #[inline(always)]
    fn shaped(&mut self, cell: usize, shape: u8) {
        let last = self.shapes[cell];
        if last != shape && last != MIXED {
            self.row.changes.push((cell, last));
            self.set(cell, shape);
        }
    }

    fn set(&mut self, cell: usize, shape: u8) {
        self.shapes[cell] = shape;
        let any = shape == MIXED;
        let decimals = any || shape == TWO_DECIMALS || shape == ASSUMED;
        self.expected.set(cell, decimals, any || shape == 0);
    }

    /// The value of a cell that is no short decimal; what it is otherwise is told.
    pub fn slow_cell(
        &mut self,
        line: &[u8],
        place: (usize, usize, usize),
        seen: &mut Seen,
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
                self.unshaped(number, seen);
            } else {
                let is = shape(text);
                self.shaped(number, is + if unquoted { BARE } else { 0 });
                self.row.padded |= (1..=9).contains(&is) && trim(text).ends_with(b"0");
            }
            *seen = NEVER;
            return value;
        }
        let Some(word) = word_of(text) else {
            self.report.odd.push(row as i64);
            self.report.odd.extend(where_it_is);
            self.unshaped(number, seen);
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
                self.unshaped(number, seen);
                return if word == Word::Yes { 1.0 } else { 0.0 };
            }
            Word::Absent => {}
        }
        self.report.blank[number] = 1;
        let last = self.shapes[number];
        if unquoted && (last < BARE || last == ASSUMED && self.begun) {
            *seen = NEVER;
            self.shaped(number, NOTHING + BARE);
        } else {
            self.unshaped(number, seen);
        }
        f64::NAN
    }

    /// Remembers that the column has no number so far, where only this cell was met.
    fn unshaped(&mut self, cell: usize, seen: &mut Seen) {
        if self.shapes[cell] == ASSUMED && !self.begun {
            self.shaped(cell, UNKNOWN);
            *seen = NEVER;
        }
    }

    /// Tells what was learnt of a row, or forgets it where the row does not have all its cells.
    pub fn end_row(&mut self, row: usize, whole: bool) {
        let mut changes = std::mem::take(&mut self.row.changes);
        for (cell, before) in changes.drain(..) {
            if !whole {
                self.set(cell, before);
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
                        self.set(cell, MIXED);
                    }
                }
            }
        }
        self.row.changes = changes;
        if whole {
            self.begun = true;
            self.report.padded |= self.row.padded;
        }
        self.row.padded = false;
        for (kind, (count, first)) in std::mem::take(&mut self.row.words).into_iter().enumerate() {
            if count > 0 {
                self.report.words.extend([row as i64, kind as i64, count]);
                self.report.words.extend(first);
            }
        }
    }

    /// All that was learnt; `wanted` says of each column whether its numbers go anywhere.
    pub fn report(mut self, wanted: impl Iterator<Item = bool>) -> Report {
        let ends = self.shapes.iter().zip(wanted);
        for (first, (last, wanted)) in self.report.shapes.iter_mut().zip(ends) {
            if *last == MIXED {
                *first = MIXED;
            } else if *last == ASSUMED && self.begun && wanted {
                *first = TWO_DECIMALS;
                self.report.padded = true;
            }
        }
        self.report
    }
}
