//! What a scan learns besides numbers: lines, cells that hold none, and how the numbers of each column are written.

use std::ops::Range;

use crate::cells::{Cell, Seen, Short, NEVER};
use crate::fours::{Four, Wanted};
use crate::judge::{judge, Expected, Judged};
use crate::number::{decimal, is_printed, shape, trim, word_of, Word};

/// What a scan tells besides the numbers it wrote. Rows and cells are counted from 0.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// For each line: offset of its first byte, offset after its last (line end not counted), number of cells.
    pub lines: Vec<i64>,
    /// For each wanted cell with a text that is neither a number nor a word for a missing one: row, cell, offset of its
    /// text, offset after it.
    pub odd: Vec<i64>,
    /// For each row with words for a missing number in wanted cells: row, how many, and of the first its cell, offset of
    /// its text, offset after it.
    pub absent: Vec<i64>,
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
    /// How many words for a missing number, and of the first its cell, start and end.
    absent: (i64, [i64; 3]),
    padded: bool,
}

/// What is learnt row after row.
pub struct Learnt {
    report: Report,
    row: Row,
    /// For each column the shape of its last number, and how often it changed: beside the columns, which stay small.
    shapes: Vec<u8>,
    told: Vec<u8>,
    expected: Expected,
    /// Whether a row with all its cells has been met: shapes are those of its numbers, and change from then on.
    pub begun: bool,
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
            shapes: vec![UNKNOWN; columns],
            told: vec![0; columns],
            expected: Expected::new(columns),
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
    pub fn short_cell(&mut self, number: usize, short: &Short) {
        // `"-1"` stands for what has no limit.
        if short.value.to_bits() != (-1.0_f64).to_bits() || short.shape != 0 {
            self.shaped(number, short.shape);
            self.row.padded |= short.padded;
        }
    }

    /// Remembers the shapes of four cells; false, and nothing, where one is not of the shape of the one above it.
    #[inline(always)]
    pub fn four(&mut self, cells: &[Wanted; 4], numbers: &Four) -> bool {
        let Four {
            points, unlimited, ..
        } = *numbers;
        if self.begun {
            let (decimals, whole) = self.expected_of(cells);
            let unexpected = points & !decimals | !(points | unlimited | whole);
            if unexpected & 0xf != 0 {
                return false;
            }
        } else {
            for (number, wanted) in cells.iter().enumerate() {
                if unlimited >> number & 1 == 0 {
                    self.shapes[wanted.cell] = (points >> number & 1) as u8 * TWO_DECIMALS;
                }
            }
        }
        self.row.padded |= numbers.padded != 0;
        true
    }

    /// What is expected of four columns, a bit for each.
    #[inline(always)]
    fn expected_of(&self, cells: &[Wanted; 4]) -> (u32, u32) {
        let from = |cell: usize| {
            let (decimals, whole) = self.expected.from(cell).unwrap_or_default();
            (decimals as u32, whole as u32)
        };
        if cells[3].cell - cells[0].cell == 3 {
            return from(cells[0].cell);
        }
        let each = cells.iter().enumerate().map(|(bit, wanted)| {
            let (decimals, whole) = from(wanted.cell);
            ((decimals & 1) << bit, (whole & 1) << bit)
        });
        each.fold((0, 0), |all, one| (all.0 | one.0, all.1 | one.1))
    }

    /// Passes over cells whose numbers are kept nowhere, as far as they are like those above them.
    #[inline(always)]
    pub fn judge(&mut self, line: &[u8], at: usize, cells: Range<usize>) -> Judged {
        let judged = judge(line, at, cells, &self.expected);
        self.row.padded |= judged.padded;
        judged
    }

    /// Remembers that a column's number is of this shape now.
    #[inline(always)]
    fn shaped(&mut self, cell: usize, shape: u8) {
        let last = self.shapes[cell];
        if last != shape && last != MIXED {
            if self.begun {
                self.row.changes.push((cell, last));
            }
            self.set(cell, shape);
        }
    }

    fn set(&mut self, cell: usize, shape: u8) {
        self.shapes[cell] = shape;
        if self.begun {
            self.expect(cell);
        }
    }

    fn expect(&mut self, cell: usize) {
        let shape = self.shapes[cell];
        let any = shape == MIXED;
        let decimals = any || shape == TWO_DECIMALS;
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
            if trim(text) != b"-1" {
                let is = shape(text);
                self.shaped(number, is + if unquoted { BARE } else { 0 });
                self.row.padded |= (1..=9).contains(&is) && trim(text).ends_with(b"0");
            }
            *seen = NEVER;
            return value;
        }
        let word = word_of(text);
        if word != Some(Word::Absent) {
            self.report.odd.push(row as i64);
            self.report.odd.extend(where_it_is);
            return match word {
                Some(Word::Yes) => 1.0,
                Some(Word::No) => 0.0,
                _ => f64::NAN,
            };
        }
        let (count, first) = &mut self.row.absent;
        *count += 1;
        if *count == 1 {
            *first = where_it_is;
        }
        self.report.blank[number] = 1;
        if unquoted && self.shapes[number] < BARE {
            *seen = NEVER;
            self.shaped(number, NOTHING + BARE);
        }
        f64::NAN
    }

    /// Tells what was learnt of a row, or forgets it where the row does not have all its cells.
    pub fn end_row(&mut self, row: usize, whole: bool) {
        if !self.begun {
            self.begin(whole);
        }
        let mut changes = std::mem::take(&mut self.row.changes);
        for (cell, before) in changes.drain(..) {
            let shape = self.shapes[cell];
            if !whole {
                self.set(cell, before);
            } else if before == UNKNOWN {
                self.report.shapes[cell] = shape;
            } else {
                let change = [row as i64, cell as i64, i64::from(shape)];
                self.report.changes.extend(change);
                self.told[cell] += 1;
                if self.told[cell] == MOST_CHANGES {
                    self.set(cell, MIXED);
                    self.report.shapes[cell] = MIXED;
                }
            }
        }
        self.row.changes = changes;
        if whole {
            self.report.padded |= self.row.padded;
        }
        self.row.padded = false;
        let (count, first) = std::mem::take(&mut self.row.absent);
        if count > 0 {
            self.report.absent.extend([row as i64, count]);
            self.report.absent.extend(first);
        }
    }

    /// Takes the shapes of the first row that has all its cells as those of its columns.
    fn begin(&mut self, whole: bool) {
        self.begun = whole;
        if whole {
            self.report.shapes.copy_from_slice(&self.shapes);
            (0..self.shapes.len()).for_each(|cell| self.expect(cell));
        } else {
            self.shapes.fill(UNKNOWN);
        }
    }

    /// All that was learnt.
    pub fn report(self) -> Report {
        self.report
    }
}
