//! Lines of whole numbers, `1000, 4096, 0`, to columns, each number written where the caller wants it.
//!
//! The plain Python twin is `esxparse/formats/fio/integers_twin.py`: what one does, the other does.
//!
//! Lines are read in batches. First the ends of all their cells are found, 64 bytes at a time; then the batch is read
//! column by column, so that nothing waits for the length of the number before it. A batch in which a line is not as it
//! should be is read again, line by line.

use crate::columns::{cell, Column, Places};
use crate::vectors::{cell_ends, sixteen, word, Eights, BLOCK};

/// More columns than fio's logs have.
pub const MOST_COLUMNS: usize = 16;
pub const FEWEST_COLUMNS: usize = 2;

/// Lines of a batch: what is known of their cells stays in the first cache.
const BATCH: usize = 128;

/// Bytes that follow the last line of a batch, and come before the end of its first cell: eight are looked at together.
const MARGIN: usize = 8;

const COMMA_BLANK: [u8; 2] = *b", ";

/// What reading tells besides the numbers it wrote.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of lines read: all, unless there were fewer places or a column changed.
    pub lines: usize,
    /// For each line that does not fit: its number, offset of its first byte, offset after its last (without line feed).
    pub odd: Vec<i64>,
    /// A bit for each column of which a line has another number than the one that all were to be. Reading ends before
    /// that line.
    pub changed: u64,
}

/// A cell that is not just digits, or more of them than are read at once.
#[cold]
#[inline(never)]
fn other_cell(data: &[u8], start: usize, end: usize, column: &Column) -> Option<i64> {
    cell(data.get(start..end)?, column)
}

/// The numbers of a line by itself (no line feed in it), if it has as many as there are columns and all fit.
fn line_of(line: &[u8], columns: &[Column]) -> Option<[i64; MOST_COLUMNS]> {
    let mut numbers = [0; MOST_COLUMNS];
    let mut rest = line.strip_suffix(b"\r").unwrap_or(line);
    for (place, (number, column)) in numbers.iter_mut().zip(columns).enumerate() {
        let end = memchr::memchr(b',', rest).unwrap_or(rest.len());
        *number = cell(&rest[..end], column)?;
        rest = &rest[end..];
        if place + 1 < columns.len() {
            rest = rest.strip_prefix(&COMMA_BLANK)?;
        }
    }
    rest.is_empty().then_some(numbers)
}

/// A bit for each column that is to have one number and has another here.
fn changes(numbers: &[i64], columns: &[Column]) -> u64 {
    let changed = |(number, column): (&i64, &Column)| matches!(column.places, Places::Same(same) if same != *number);
    let columns = numbers.iter().zip(columns).map(changed).enumerate();
    columns.fold(0, |bits, (place, changed)| {
        bits | u64::from(changed) << place
    })
}

/// The ends of cells found from `from` on, in their order, at least `wanted` where there are as many in whole blocks.
/// Gives how many.
fn find_ends(data: &[u8], from: usize, wanted: usize, ends: &mut [usize]) -> usize {
    let mut found = 0;
    for (number, block) in data[from..].chunks_exact(BLOCK).enumerate() {
        let Some(room) = ends.get_mut(found..).and_then(<[usize]>::first_chunk_mut) else {
            break;
        };
        let block: &[u8; BLOCK] = block.try_into().unwrap_or(&[0; BLOCK]);
        found += put_ends(cell_ends(block), from + number * BLOCK, room);
        if found >= wanted {
            break;
        }
    }
    found
}

/// Writes the places of the bits, counted from `base`, and gives their number. More is written than that, to no harm.
#[inline(always)]
fn put_ends(mut bits: u64, base: usize, room: &mut [usize; BLOCK]) -> usize {
    let number = bits.count_ones() as usize;
    for eight in room.chunks_exact_mut(8) {
        for place in eight {
            *place = base + bits.trailing_zeros() as usize;
            bits &= bits.wrapping_sub(1);
        }
        if bits == 0 {
            break;
        }
    }
    number
}

/// How all lines end where the last columns have one number each: most logs have one block size and one priority. The
/// bytes themselves are compared; a line that writes these numbers in another way is read as all others are.
struct Tail {
    /// Columns in it.
    columns: usize,
    /// Bytes from the comma before the first of them to the line feed, at most 16.
    length: usize,
    /// The first eight of those bytes, or all, and the last eight.
    words: [u64; 2],
    /// What is compared of eight bytes that begin with the tail, and of eight that end with it.
    kept: [u64; 2],
}

impl Tail {
    /// The longest there is.
    fn of(columns: &[Column]) -> Option<Self> {
        let mut text = b"\n".to_vec();
        let mut alike = 0;
        for column in columns.iter().skip(1).rev() {
            let Some(same) = column.only_decimal() else {
                break;
            };
            let longer = [&COMMA_BLANK, same.to_string().as_bytes(), &text].concat();
            if longer.len() > 16 {
                break;
            }
            text = longer;
            alike += 1;
        }
        if alike == 0 {
            return None;
        }
        let length = text.len();
        let unused = 64 - 8 * length.min(8);
        let around = [&[0; 8], &text[..], &[0; 8]].concat();
        Some(Self {
            columns: alike,
            length,
            words: [word(&around, 8), word(&around, length)],
            kept: [u64::MAX >> unused, u64::MAX << unused],
        })
    }
}

/// Lines whose cells are known.
struct Batch<'a> {
    /// `MARGIN` bytes are there before the end of each cell, and after it.
    data: &'a [u8],
    /// Ends of cells. The first is that of the line before; after it come those of the lines, `width` for each.
    ends: &'a [usize],
    width: usize,
}

impl Batch<'_> {
    /// Starts and ends of the cells of a column, the `which`-th; a carriage return before a line feed is in no cell.
    /// `None` where what follows a cell is not what should.
    #[inline(always)]
    fn cells<const LAST: bool>(
        &self,
        which: usize,
    ) -> impl Iterator<Item = Option<(usize, usize)>> + '_ {
        let gap = if which == 0 { 1 } else { 2 };
        self.ends[which..].chunks(self.width).map(move |ends| {
            let start = ends[0].wrapping_add(gap);
            let end = ends[1];
            if LAST {
                let feed = self.data[end] == b'\n';
                feed.then(|| (start, end - usize::from(self.data[end - 1] == b'\r')))
            } else {
                (self.data[end..end + 2] == COMMA_BLANK).then_some((start, end))
            }
        })
    }

    /// The numbers of a column; false where a cell of it is none.
    #[inline(always)]
    fn long<const LAST: bool>(&self, which: usize, column: &Column, numbers: &mut [i64]) -> bool {
        for (place, number) in self.cells::<LAST>(which).zip(numbers) {
            let Some((start, end)) = place else {
                return false;
            };
            let short = if column.hexadecimal {
                None
            } else {
                sixteen(self.data, start, end)
            };
            match short.or_else(|| other_cell(self.data, start, end, column)) {
                Some(found) => *number = found,
                None => return false,
            }
        }
        true
    }

    /// The same where all of them have at most eight digits; false where they have not.
    #[inline(always)]
    fn short<const LAST: bool>(&self, which: usize, numbers: &mut [i32]) -> bool {
        let mut cells = self.cells::<LAST>(which);
        let mut eights = Eights::new(self.data);
        for four in numbers.chunks_exact_mut(4) {
            let mut places = [(0, 0); 4];
            for place in &mut places {
                match cells.next() {
                    Some(Some(cell)) => *place = cell,
                    _ => return false,
                }
            }
            four.copy_from_slice(&eights.four(places));
        }
        eights.sound()
    }

    /// Whether all lines end so.
    fn end_with(&self, tail: &Tail) -> bool {
        let mut wrong = 0;
        for ends in self.ends[self.width - tail.columns..].chunks(self.width) {
            let (before, end) = (ends[0], ends[tail.columns]);
            let words = [word(self.data, before), word(self.data, end - 7)];
            wrong |= (words[0] ^ tail.words[0]) & tail.kept[0];
            wrong |= (words[1] ^ tail.words[1]) & tail.kept[1];
            wrong |= u64::from(end - before + 1 != tail.length);
        }
        wrong == 0
    }

    /// Reads a column and puts its numbers to their places; false where one of them does not fit.
    fn column<const LAST: bool>(
        &self,
        which: usize,
        column: &Column,
        row: usize,
        lines: usize,
        long: &mut bool,
    ) -> bool {
        if !*long && !column.hexadecimal {
            let mut numbers = [0; BATCH];
            let numbers = &mut numbers[..lines];
            if self.short::<LAST>(which, numbers) {
                return column.take(row, numbers);
            }
        }
        let mut numbers = [0; BATCH];
        let numbers = &mut numbers[..lines];
        *long = self.long::<LAST>(which, column, numbers);
        *long && column.take(row, numbers)
    }
}

/// Number of lines in `data`.
pub fn count_lines(data: &[u8]) -> usize {
    let unfinished = data.last().is_some_and(|last| *last != b'\n');
    memchr::memchr_iter(b'\n', data).count() + usize::from(unfinished)
}

/// A run through lines.
struct Reader<'a> {
    data: &'a [u8],
    columns: &'a [Column<'a>],
    /// Lines there are places for.
    room: usize,
    /// Where the next line begins.
    at: usize,
    ends: Vec<usize>,
    tail: Option<Tail>,
    /// Columns that had numbers of more than eight digits a moment ago.
    long: [bool; MOST_COLUMNS],
    report: Report,
}

impl Reader<'_> {
    fn more(&self) -> bool {
        self.at < self.data.len() && self.report.lines < self.room && self.report.changed == 0
    }

    /// Finds the cells of the next lines and gives the number of lines that can be read together, a multiple of four.
    fn find(&mut self) -> usize {
        let width = self.columns.len();
        if self.at < MARGIN {
            return 0;
        }
        let found = find_ends(self.data, self.at, BATCH * width, &mut self.ends[1..]);
        // The first cell begins after the end of the line before.
        self.ends[0] = self.at - 1;
        let room = self.room - self.report.lines;
        let mut lines = (found / width).min(BATCH).min(room) & !3;
        while lines > 0 && self.ends[lines * width] + MARGIN >= self.data.len() {
            lines -= 4;
        }
        lines
    }

    /// Reads that many lines, whose cells were found, column by column; false where one of them does not fit.
    fn batch(&mut self, lines: usize) -> bool {
        let width = self.columns.len();
        let row = self.report.lines;
        let batch = Batch {
            data: self.data,
            ends: &self.ends[..=lines * width],
            width,
        };
        let known = self.tail.as_ref().filter(|tail| batch.end_with(tail));
        let unknown = width - known.map_or(0, |tail| tail.columns);
        let columns = self.columns.iter().zip(&mut self.long).enumerate();
        for (which, (column, long)) in columns.take(unknown) {
            let fits = if which + 1 == width {
                batch.column::<true>(which, column, row, lines, long)
            } else {
                batch.column::<false>(which, column, row, lines, long)
            };
            if !fits {
                return false;
            }
        }
        self.at = self.ends[lines * width] + 1;
        self.report.lines += lines;
        true
    }

    /// Reads the next line by itself.
    fn line(&mut self) {
        let rest = &self.data[self.at..];
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let row = self.report.lines;
        if let Some(numbers) = line_of(&rest[..end], self.columns) {
            self.report.changed = changes(&numbers, self.columns);
            if self.report.changed != 0 {
                return;
            }
            for (number, column) in numbers.iter().zip(self.columns) {
                column.put(row, &[*number]);
            }
        } else {
            let line = [row, self.at, self.at + end];
            self.report.odd.extend(line.map(|number| number as i64));
        }
        self.at += end + 1;
        self.report.lines += 1;
    }
}

/// Reads `data`, whole lines of as many cells as there are columns (`FEWEST_COLUMNS` to `MOST_COLUMNS`), and puts the
/// numbers of line `i` to place `i` of each column. See the Python twin.
pub fn read(data: &[u8], columns: &[Column]) -> Report {
    let room = columns.iter().map(|column| column.places.len()).min();
    let mut reader = Reader {
        data,
        columns,
        room: room.unwrap_or(0),
        at: 0,
        ends: vec![0; 1 + BATCH * columns.len() + 2 * BLOCK],
        tail: Tail::of(columns),
        long: [false; MOST_COLUMNS],
        report: Report::default(),
    };
    while reader.more() {
        let lines = reader.find();
        if lines > 0 && reader.batch(lines) {
            continue;
        }
        for _ in 0..lines.max(1) {
            if reader.more() {
                reader.line();
            }
        }
    }
    reader.report
}

#[cfg(test)]
mod tests;
