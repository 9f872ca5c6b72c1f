//! Lines of quoted short decimals to numbers, each written where the caller wants it.
//!
//! The plain Python twin is `esxparse/formats/esxtop/scan_twin.py`: what one does, the other does.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::cells::{any_cell, count_cells, short_cell, Seen, NEVER};
use crate::fours::{self, Four, Take, Wanted};
use crate::judge;
use crate::learnt::{Learnt, Report};
use crate::skip::{skip, FEWEST};

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

/// Where the numbers of a column go, and its last short cell. No slice has the places that stand for none.
struct Column {
    place: usize,
    step: usize,
    seen: Seen,
}

/// The place of numbers that are not looked at.
const NOWHERE: usize = usize::MAX;
/// The place of numbers that are judged and not kept.
const UNKEPT: usize = usize::MAX - 1;
/// How a caller says the same.
const JUDGED: i64 = -2;

impl Column {
    fn new(place: i64, step: i64) -> Self {
        let (place, step) = match usize::try_from(place) {
            Ok(place) => (place, step as usize),
            Err(_) if place == JUDGED => (UNKEPT, 0),
            Err(_) => (NOWHERE, 0),
        };
        Self {
            place,
            step,
            seen: NEVER,
        }
    }

    /// Where the number of a row goes, and whether the cell is looked at.
    #[inline(always)]
    fn slot<'a>(&self, row: usize, out: &'a [Slot]) -> (Option<&'a Slot>, bool) {
        let slot = out.get(self.place.wrapping_add(row * self.step));
        (slot, slot.is_some() || self.place == UNKEPT)
    }
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
        if !seen.is_at(line, at) {
            return (cells, at);
        }
        if let Some(slot) = out.get(column.place.wrapping_add(row * column.step)) {
            slot.set(seen.value);
        }
        at += seen.length as usize;
    }
    (columns.len(), at)
}

/// Columns next to each other whose numbers are kept nowhere, enough to be passed over together: the first, and the one
/// after them.
type Run = (usize, usize);

fn runs(columns: &[Column], place: usize) -> Vec<Run> {
    let mut runs = Vec::new();
    // Nothing stands before the first cell of a line.
    let mut begin = 1;
    for alike in columns
        .get(1..)
        .unwrap_or_default()
        .chunk_by(|one, next| (one.place == place) == (next.place == place))
    {
        let end = begin + alike.len();
        if alike.len() >= FEWEST && alike[0].place == place {
            runs.push((begin, end));
        }
        begin = end;
    }
    runs
}

/// How the columns of a line are scanned.
enum Plan {
    /// Many at a time: those that are looked at, and of them, runs of those that are judged and not kept.
    Together(Vec<Wanted>, Vec<Run>),
    /// One by one: runs of those that nobody wants.
    Alone(Vec<Run>),
}

impl Plan {
    fn new(columns: &[Column]) -> Self {
        if !judge::possible() {
            return Self::Alone(runs(columns, NOWHERE));
        }
        let numbered = columns.iter().enumerate();
        let looked_at = numbered.filter(|(_, column)| column.place != NOWHERE);
        let wanted = looked_at.map(|(cell, column)| Wanted {
            cell,
            place: column.place,
            step: column.step,
        });
        Self::Together(wanted.collect(), runs(columns, UNKEPT))
    }
}

/// Cells that are taken one by one where some that stand together cannot be read so.
const CLOSER: usize = 16;

/// A line (no line end in it) that is being scanned.
struct Line<'a> {
    bytes: &'a [u8],
    row: usize,
    /// Where it begins.
    base: usize,
    columns: &'a mut [Column],
    out: &'a [Slot],
    learnt: &'a mut Learnt,
}

impl Line<'_> {
    /// Takes the cell that begins at `at`; gives where the next one begins, and whether there is one.
    #[inline(always)]
    fn take(&mut self, cell: usize, at: usize) -> (usize, bool) {
        let column = &mut self.columns[cell];
        let (slot, looked_at) = column.slot(self.row, self.out);
        if let Some(short) = short_cell(self.bytes, at, &mut column.seen) {
            if looked_at {
                self.learnt.short_cell(cell, &short);
            }
            if let Some(slot) = slot {
                slot.set(short.value);
            }
            return (at + short.length, true);
        }
        let found = any_cell(self.bytes, at);
        if looked_at {
            let place = (self.row, cell, self.base);
            let seen = &mut column.seen;
            let value = self.learnt.slow_cell(self.bytes, place, seen, &found);
            if let Some(slot) = slot {
                slot.set(value);
            }
        }
        (found.next, !found.last)
    }

    /// Takes the cells of the line; gives how many they are, where the next begins, and whether there is one.
    fn together(&mut self, wanted: &[Wanted], judged: &[Run]) -> (usize, usize, bool) {
        // The first row says what is expected of the others.
        let judged = if self.learnt.begun { judged } else { &[] };
        let (mut cell, mut at, mut more) = (0, 0, !self.bytes.is_empty());
        // The time stamp is no number.
        let mut closer = 1;
        while more && cell < self.columns.len() {
            if cell < closer {
                (at, more) = self.take(cell, at);
                cell += 1;
                continue;
            }
            let run = judged[judged.partition_point(|run| run.1 <= cell)..].first();
            let &(begin, end) = run.unwrap_or(&(self.columns.len(), 0));
            let upto = if cell < begin { begin } else { end };
            if cell < begin {
                let place = |end| wanted.partition_point(|wanted| wanted.cell < end);
                let wanted = &wanted[place(cell)..place(begin)];
                (cell, at) = fours::pass(self.bytes, (cell, at), wanted, self);
            } else {
                let judged = self.learnt.judge(self.bytes, at, cell..end);
                (cell, at) = (cell + judged.cells, judged.next);
            }
            if cell < upto {
                // What stopped them is looked at closely.
                closer = cell + CLOSER;
            }
        }
        (cell, at, more)
    }

    /// The same, where no more than one can be taken at a time.
    fn alone(&mut self, unwanted: &[Run]) -> (usize, usize, bool) {
        let (mut cell, mut at, mut more) = (0, 0, !self.bytes.is_empty());
        let mut runs = unwanted.iter().copied().peekable();
        while more && cell < self.columns.len() {
            // Up to where the next run begins.
            let begin = runs.peek().map_or(self.columns.len(), |run| run.0);
            let columns = &self.columns[cell..begin];
            let (passed, next) = scan_seen(self.bytes, at, self.row, columns, self.out);
            (cell, at) = (cell + passed, next);
            let run = runs.next_if(|run| run.0 == cell);
            if let Some((end, next)) =
                run.and_then(|(_, end)| Some((end, skip(self.bytes, at, end - cell)?)))
            {
                (cell, at) = (end, next);
            } else if cell < self.columns.len() {
                (at, more) = self.take(cell, at);
                cell += 1;
            }
        }
        (cell, at, more)
    }

    /// Scans the line and gives the number of its cells; numbers go to their places.
    fn scan(mut self, plan: &Plan, count: bool) -> usize {
        let (mut cells, at, more) = match plan {
            Plan::Together(wanted, judged) => self.together(wanted, judged),
            Plan::Alone(unwanted) => self.alone(unwanted),
        };
        for column in self.columns.iter().skip(cells) {
            if let Some(slot) = self
                .out
                .get(column.place.wrapping_add(self.row * column.step))
            {
                slot.set(f64::NAN);
            }
        }
        if more && count {
            cells += count_cells(self.bytes, at);
        }
        cells
    }
}

impl Take for Line<'_> {
    #[inline(always)]
    fn four(&mut self, cells: &[Wanted; 4], numbers: &Four) -> bool {
        for (wanted, value) in cells.iter().zip(numbers.values) {
            let place = wanted.place.wrapping_add(self.row * wanted.step);
            if let Some(slot) = self.out.get(place) {
                slot.set(value);
            }
        }
        self.learnt.four(cells, numbers)
    }

    fn one(&mut self, cell: usize, at: usize) {
        self.take(cell, at);
    }
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
/// nowhere; -2: to nowhere, but it is judged all the same). A wanted cell that is missing or no number becomes NaN; yes
/// and no become 1 and 0. A line of fewer than `least` bytes is no row. Cells after the last of `first` are counted where `count` says so, and not looked at
/// otherwise.
pub fn scan(
    data: &[u8],
    first: &[i64],
    step: &[i64],
    out: &[Slot],
    least: usize,
    count: bool,
) -> Report {
    scan_as(Plan::new, data, (first, step, out), least, count)
}

fn scan_as(
    plan: impl Fn(&[Column]) -> Plan,
    data: &[u8],
    (first, step, out): (&[i64], &[i64], &[Slot]),
    least: usize,
    count: bool,
) -> Report {
    let mut columns: Vec<Column> = first
        .iter()
        .zip(step)
        .map(|(place, step)| Column::new(*place, *step))
        .collect();
    let plan = plan(&columns);
    let mut learnt = Learnt::new(columns.len());
    let mut row = 0;
    for (start, line) in lines(data) {
        let cells = if line.len() >= least {
            let scanned = Line {
                bytes: line,
                row,
                base: start,
                columns: &mut columns,
                out,
                learnt: &mut learnt,
            };
            let cells = scanned.scan(&plan, count);
            let whole = is_whole(line, cells, columns.len());
            learnt.end_row(row, whole);
            if !whole {
                // What columns remember was met in this row alone, perhaps.
                for column in &mut columns {
                    column.seen = NEVER;
                }
            }
            row += 1;
            cells
        } else {
            count_cells(line, 0)
        };
        learnt.line(start, line, cells);
    }
    learnt.report()
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // the numbers are to be exactly those
#[path = "scan/tests.rs"] // also where the fuzzed crate takes this file in
mod tests;
