//! Lines of quoted short decimals to numbers, each written where the caller wants it.
//!
//! The plain Python twin is `esxparse/formats/esxtop/scan_twin.py`: what one does, the other does.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::cells::{any_cell, count_cells, short_cell, Seen, NEVER, ZERO};
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

/// Runs of columns that nobody wants, long enough to be passed over together: the first of each, and how many they are.
fn unwanted(columns: &[Column]) -> Vec<(usize, usize)> {
    let mut runs = Vec::new();
    // Nothing stands before the first cell of a line.
    let mut begin = 1;
    for end in 1..=columns.len() {
        if columns
            .get(end)
            .is_none_or(|column| column.place != usize::MAX)
        {
            if end >= begin + FEWEST {
                runs.push((begin, end - begin));
            }
            begin = end + 1;
        }
    }
    runs
}

/// Scans one line (no line end in it) and gives the number of its cells; numbers go to their places. `runs` are those
/// that are not wanted.
#[allow(clippy::too_many_arguments)] // each is a thing of its own
fn scan_line(
    line: &[u8],
    row: usize,
    base: usize,
    columns: &mut [Column],
    runs: &[(usize, usize)],
    out: &[Slot],
    learnt: &mut Learnt,
    count: bool,
) -> usize {
    let mut at = 0;
    let mut cells = 0;
    let mut more = !line.is_empty();
    let mut runs = runs.iter();
    let mut run = runs.next();
    while more {
        // Up to where the next run begins.
        let end = run.map_or(columns.len(), |(begin, _)| *begin);
        let (passed, next) = scan_seen(line, at, row, &columns[cells..end], out);
        at = next;
        cells += passed;
        if let Some((begin, length)) = run.filter(|(begin, _)| *begin == cells) {
            run = runs.next();
            if let Some(next) = skip(line, at, *length) {
                at = next;
                cells = begin + length;
            }
            continue;
        }
        let Some(column) = columns.get_mut(cells) else {
            break;
        };
        let slot = out.get(column.place.wrapping_add(row * column.step));
        if let Some(short) = short_cell(line, at, &mut column.seen) {
            if let Some(slot) = slot {
                slot.set(short.value);
                learnt.short_cell(cells, &short, &mut column.seen);
            }
            at += short.length;
        } else {
            let cell = any_cell(line, at);
            if let Some(slot) = slot {
                let place = (row, cells, base);
                slot.set(learnt.slow_cell(line, place, &mut column.seen, &cell));
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
    let runs = unwanted(&columns);
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
    learnt.report(columns.iter().map(|column| column.place != usize::MAX))
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // the numbers are to be exactly those
#[path = "scan/tests.rs"] // also where the fuzzed crate takes this file in
mod tests;
