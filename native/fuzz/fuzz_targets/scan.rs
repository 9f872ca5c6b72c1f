//! The scanner of whole lines against a reference: numbers to the bit, lines, odd cells, and what is not to be touched.
//!
//! The first four bytes of an input say how it is scanned, the rest is the data: see `Setting`.

#![no_main]

#[path = "../../src/number.rs"]
mod number;
mod reference;
#[path = "../../src/scan.rs"]
mod scan;

use libfuzzer_sys::fuzz_target;

const UNTOUCHED: f64 = -7.125;

/// How an input is scanned, told by printable bytes so that inputs can be written by hand.
struct Setting {
    /// Cells of a row that the caller knows of.
    cells: usize,
    /// Bytes a line needs to be a row.
    least: usize,
    /// Cells that are wanted, by bit.
    wanted: u8,
    /// Whether each column has a stretch of its own, as in a block, or each row.
    by_column: bool,
    /// Rows for which there is no room.
    rows_missing: usize,
    /// Whether cells beyond those known are counted.
    count: bool,
}

impl Setting {
    fn new(bytes: [u8; 4]) -> Self {
        Self {
            cells: usize::from(bytes[0] % 16),
            least: usize::from(bytes[1] % 16),
            wanted: bytes[2],
            by_column: bytes[3] & 1 == 0,
            rows_missing: usize::from(bytes[3] >> 1) % 4 / 3,
            count: bytes[3] & 8 == 0,
        }
    }

    fn wants(&self, cell: usize) -> bool {
        self.wanted >> (cell % 7) & 1 == 1
    }

    /// Place of each cell of the first row, step to the next, and the numbers there is room for.
    fn places(&self, rows: usize) -> (Vec<i64>, Vec<i64>, usize) {
        let (mut first, mut step) = (Vec::new(), Vec::new());
        let wanted = (0..self.cells).filter(|cell| self.wants(*cell)).count();
        let mut lane = 0;
        for cell in 0..self.cells {
            if !self.wants(cell) {
                first.push(-1);
                step.push(0);
            } else if self.by_column {
                first.push((lane * rows) as i64);
                step.push(1);
                lane += 1;
            } else {
                first.push(lane as i64);
                step.push(wanted as i64);
                lane += 1;
            }
        }
        (first, step, wanted * rows.saturating_sub(self.rows_missing))
    }
}

/// The scan, written plainly.
fn expected(
    data: &[u8],
    first: &[i64],
    step: &[i64],
    out: &mut [f64],
    setting: &Setting,
) -> scan::Report {
    let mut report = scan::Report::default();
    let mut row = 0;
    for (start, end) in reference::lines(data) {
        let line = &data[start..end];
        let cells = reference::cells(line);
        let is_row = line.len() >= setting.least;
        let counted = if is_row && !setting.count {
            cells.len().min(setting.cells)
        } else {
            cells.len()
        };
        report
            .lines
            .extend([start as i64, end as i64, counted as i64]);
        if !is_row {
            continue;
        }
        for (cell, (first, step)) in first.iter().zip(step).enumerate() {
            let Some(place) = usize::try_from(first + row * step)
                .ok()
                .filter(|place| *first >= 0 && *place < out.len())
            else {
                continue;
            };
            let text = cells.get(cell);
            let number = text.and_then(|&(from, to)| reference::number(&line[from..to]));
            out[place] = number.unwrap_or(f64::NAN);
            if let (Some(&(from, to)), None) = (text, number) {
                report
                    .odd
                    .extend([row, cell as i64, (start + from) as i64, (start + to) as i64]);
            }
        }
        row += 1;
    }
    report
}

fn bits(numbers: &[f64]) -> Vec<Option<u64>> {
    numbers
        .iter()
        .map(|number| (!number.is_nan()).then(|| number.to_bits()))
        .collect()
}

fuzz_target!(|input: &[u8]| {
    let Some((setting, data)) = input.split_first_chunk::<4>() else {
        return;
    };
    let setting = Setting::new(*setting);
    let lines = reference::lines(data);
    let rows = lines
        .iter()
        .filter(|(start, end)| end - start >= setting.least)
        .count();
    assert_eq!(scan::count_lines(data, setting.least), (lines.len(), rows));

    let (first, step, room) = setting.places(rows);
    let mut plain = vec![UNTOUCHED; room];
    let plain_report = expected(data, &first, &step, &mut plain, &setting);
    let mut fast = vec![UNTOUCHED; room];
    let fast_report = scan::scan(data, &first, &step, scan::slots(&mut fast), setting.least, setting.count);
    assert_eq!(fast_report, plain_report);
    assert_eq!(bits(&fast), bits(&plain));
});
