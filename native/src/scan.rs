//! Lines of quoted short decimals to numbers, each written where the caller wants it.
//!
//! The plain Python twin is `esxparse/formats/esxtop/scan_twin.py`: what one does, the other does.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::cells::{any_cell, count_cells, short_cell, Seen, NEVER, ZERO};
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
            seen: ZERO,
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

/// Columns next to each other whose numbers are kept nowhere, enough to be passed over together.
#[derive(Clone, Copy)]
struct Run {
    begin: usize,
    end: usize,
    judged: bool,
}

/// Cells that are taken one by one where some that stand together are not like those above them.
const CLOSER: usize = 16;

fn runs(columns: &[Column]) -> Vec<Run> {
    let mut runs = Vec::new();
    // Nothing stands before the first cell of a line.
    let mut begin = 1;
    for alike in columns
        .get(1..)
        .unwrap_or_default()
        .chunk_by(|one, next| one.place == next.place && one.place >= UNKEPT)
    {
        let end = begin + alike.len();
        let judged = alike[0].place == UNKEPT;
        if alike.len() >= FEWEST && (!judged || judge::possible()) {
            runs.push(Run { begin, end, judged });
        }
        begin = end;
    }
    runs
}

/// Scans one line (no line end in it) and gives the number of its cells; numbers go to their places.
#[allow(clippy::too_many_arguments)] // each is a thing of its own
fn scan_line(
    line: &[u8],
    row: usize,
    base: usize,
    columns: &mut [Column],
    runs: &[Run],
    out: &[Slot],
    learnt: &mut Learnt,
    count: bool,
) -> usize {
    let mut at = 0;
    let mut cells = 0;
    let mut more = !line.is_empty();
    let mut runs = runs.iter().copied();
    let mut run = runs.next();
    while more {
        // Up to where the next run begins.
        let end = run.map_or(columns.len(), |run| run.begin);
        let (passed, next) = scan_seen(line, at, row, &columns[cells..end], out);
        at = next;
        cells += passed;
        if let Some(here) = run.filter(|run| run.begin == cells) {
            let mut begin = here.end;
            if here.judged {
                let judged = learnt.judge(line, at, cells..here.end);
                at = judged.next;
                cells += judged.cells;
                // What is odd is looked at closely, then the rest of the run goes on.
                begin = cells + CLOSER;
            } else if let Some(next) = skip(line, at, here.end - cells) {
                at = next;
                cells = here.end;
            }
            run = if begin < here.end {
                Some(Run { begin, ..here })
            } else {
                runs.next()
            };
            continue;
        }
        let Some(column) = columns.get_mut(cells) else {
            break;
        };
        let (slot, looked_at) = column.slot(row, out);
        if let Some(short) = short_cell(line, at, &mut column.seen) {
            if looked_at {
                learnt.short_cell(cells, &short, &mut column.seen);
            }
            if let Some(slot) = slot {
                slot.set(short.value);
            }
            at += short.length;
        } else {
            let cell = any_cell(line, at);
            if looked_at {
                let place = (row, cells, base);
                let value = learnt.slow_cell(line, place, &mut column.seen, &cell);
                if let Some(slot) = slot {
                    slot.set(value);
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
/// nowhere; -2: to nowhere, but it is judged all the same). A wanted cell that is missing or no number becomes NaN; yes and no become 1 and 0. A line of fewer than
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
    let runs = runs(&columns);
    let mut learnt = Learnt::new(columns.len());
    let mut row = 0;
    for (start, line) in lines(data) {
        let cells = if line.len() >= least {
            let cells = scan_line(
                line,
                row,
                start,
                &mut columns,
                &runs,
                out,
                &mut learnt,
                count,
            );
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
    learnt.report(columns.iter().map(|column| column.place != NOWHERE))
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // the numbers are to be exactly those
#[path = "scan/tests.rs"] // also where the fuzzed crate takes this file in
mod tests;
