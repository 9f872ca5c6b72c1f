//! Lines of quoted short decimals to numbers, each written where the caller wants it.
//!
//! The plain Python twin is `esxparse/formats/esxtop/scan_twin.py`: what one does, the other does.

use crate::number::{bytes_before_quote, decimal, short_decimal, trim};

/// What a scan tells besides the numbers it wrote.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// For each line: offset of its first byte, offset after its last (line end not counted), number of cells.
    pub lines: Vec<i64>,
    /// For each wanted cell that is no number: line, cell, offset of its text, offset after its text.
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
            None => return Cell { start, end: quote, next: line.len(), last: true },
            Some(b',') => return Cell { start, end: quote, next: quote + 2, last: false },
            Some(_) => from = quote + 1,
        }
    }
    Cell { start: open, end: line.len(), next: line.len(), last: true }
}

/// A bare cell ends at a comma, and at a quote where a number or a lone dash has come before it: ESXi 6.5 prints
/// `    73.1"8.93"`, two cells without a comma between them.
fn bare_cell(line: &[u8], start: usize) -> Cell {
    for (offset, byte) in line[start..].iter().enumerate() {
        let at = start + offset;
        if *byte == b',' {
            return Cell { start, end: at, next: at + 1, last: false };
        }
        if *byte == b'"' {
            let before = trim(&line[start..at]);
            if before.is_empty() {
                return quoted_cell(line, at);
            }
            if before == b"-" || decimal(before).is_some() {
                return Cell { start, end: at, next: at, last: false };
            }
        }
    }
    Cell { start, end: line.len(), next: line.len(), last: true }
}

fn any_cell(line: &[u8], start: usize) -> Cell {
    if line.get(start) == Some(&b'"') {
        quoted_cell(line, start)
    } else {
        bare_cell(line, start)
    }
}

const ZERO_CELL: u64 = u64::from_le_bytes(*b"\"0.00\",\0");
const ZERO_CELL_MASK: u64 = 0x00ff_ffff_ffff_ffff;

#[inline(always)]
fn word_at(line: &[u8], at: usize) -> Option<u64> {
    let bytes: [u8; 8] = line.get(at..at + 8)?.try_into().ok()?;
    Some(u64::from_le_bytes(bytes))
}

/// The cell at `at` where it is a short quoted decimal with more cells after it: its value and where the next begins.
#[inline(always)]
fn short_cell(line: &[u8], at: usize) -> Option<(f64, usize)> {
    let head = word_at(line, at)?;
    if head & ZERO_CELL_MASK == ZERO_CELL {
        return Some((0.0, at + 7));
    }
    if head & 0xff != u64::from(b'"') {
        return None;
    }
    let text = word_at(line, at + 1)?;
    let length = bytes_before_quote(text);
    let after = at + 2 + length as usize;
    if length == 8 || line.get(after) != Some(&b',') {
        return None;
    }
    short_decimal(text, length).map(|value| (value, after + 1))
}

/// Scans one line (no line end in it) and gives the number of its cells; numbers go to `out`.
fn scan_line(line: &[u8], row: usize, base: usize, first: &[i64], step: &[i64], out: &mut [f64], odd: &mut Vec<i64>) -> usize {
    let mut at = 0;
    let mut cells = 0;
    let mut more = !line.is_empty();
    let row_number = row as i64;
    for (place, width) in first.iter().zip(step) {
        // A negative place is turned into an index no slice has: `get_mut` then skips the cell.
        let index = if *place < 0 { usize::MAX } else { (*place + row_number * *width) as usize };
        if !more {
            if let Some(slot) = out.get_mut(index) {
                *slot = f64::NAN;
            }
            continue;
        }
        if let Some((value, next)) = short_cell(line, at) {
            if let Some(slot) = out.get_mut(index) {
                *slot = value;
            }
            at = next;
        } else {
            let cell = any_cell(line, at);
            if let Some(slot) = out.get_mut(index) {
                *slot = decimal(&line[cell.start..cell.end]).unwrap_or(f64::NAN);
                if slot.is_nan() {
                    odd.extend([row_number, cells as i64, (base + cell.start) as i64, (base + cell.end) as i64]);
                }
            }
            at = cell.next;
            more = !cell.last;
        }
        cells += 1;
    }
    while more {
        let cell = any_cell(line, at);
        at = cell.next;
        more = !cell.last;
        cells += 1;
    }
    cells
}

/// Number of lines in `data`; a last one without a line end counts.
pub fn count_lines(data: &[u8]) -> usize {
    let ends = memchr::memchr_iter(b'\n', data).count();
    ends + usize::from(!data.is_empty() && !data.ends_with(b"\n"))
}

/// Scans `data`, whole lines, and writes cell `j` of line `i` to `out[first[j] + i * step[j]]` (`first[j] < 0`: to
/// nowhere). A wanted cell that is missing or no number becomes NaN.
pub fn scan(data: &[u8], first: &[i64], step: &[i64], out: &mut [f64]) -> Report {
    let mut report = Report::default();
    let mut start = 0;
    let mut row = 0;
    while start < data.len() {
        let stop = memchr::memchr(b'\n', &data[start..]).map_or(data.len(), |found| start + found);
        let line = &data[start..stop];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let cells = scan_line(line, row, start, first, step, out, &mut report.odd);
        report.lines.extend([start as i64, (start + line.len()) as i64, cells as i64]);
        row += 1;
        start = stop + 1;
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(data: &[u8], cells: usize) -> (Vec<f64>, Report) {
        let rows = data.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        let first: Vec<i64> = (0..cells as i64).collect();
        let step = vec![cells as i64; cells];
        let mut out = vec![-7.0; rows * cells];
        let report = scan(data, &first, &step, &mut out);
        (out, report)
    }

    #[test]
    fn short_and_long_cells() {
        let (out, report) = numbers(b"\"0.00\",\"12.34\",\"-1\",\"123456789.25\",\"7\"\n", 5);
        assert_eq!(out, [0.0, 12.34, -1.0, 123_456_789.25, 7.0]);
        assert_eq!(report, Report { lines: vec![0, 38, 5], odd: vec![] });
    }

    #[test]
    fn a_number_glued_to_a_quote_is_two_cells() {
        let (out, report) = numbers(b"\"1.00\",    73.1\"8.93\",\"2.00\",   -\"3.00\",    77.6\r\n", 7);
        assert_eq!(&out[..4], [1.0, 73.1, 8.93, 2.0]);
        assert!(out[4].is_nan());
        assert_eq!(&out[5..], [3.0, 77.6]);
        assert_eq!(report.lines[2], 7);
        assert_eq!(report.odd, [0, 4, 29, 33]);
    }

    #[test]
    fn short_and_long_lines_are_counted() {
        let (out, report) = numbers(b"\"1\",\"2\"\n\"3\",\"4\",\"5\",\n", 3);
        assert_eq!(&out[..2], [1.0, 2.0]);
        assert!(out[2].is_nan());
        assert_eq!(&out[3..], [3.0, 4.0, 5.0]);
        assert_eq!(report.lines, [0, 7, 2, 8, 20, 4]);
    }

    #[test]
    fn a_cell_that_is_never_closed_is_no_number() {
        let (out, report) = numbers(b"\"1.00\",\"73", 2);
        assert_eq!(out[0].to_bits(), 1.0_f64.to_bits());
        assert!(out[1].is_nan());
        assert_eq!(report.odd, [0, 1, 7, 10]);
    }

    #[test]
    fn unwanted_cells_are_passed_over() {
        let data = b"\"a\",\"0.00\",\"x\",\"5.25\"\n";
        let mut out = [0.0];
        let report = scan(data, &[-1, -1, -1, 0], &[0, 0, 0, 1], &mut out);
        assert_eq!(out, [5.25]);
        assert!(report.odd.is_empty());
    }
}
